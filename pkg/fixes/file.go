package fixes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/secret"
)

// Summary shows an editor: no classic command changes a line of a file.
func (s File) Summary() StepSummary {
	command := "vi "
	if s.After == nil {
		command = "rm "
	}
	return StepSummary{What: s.What, Diff: s.lines(), Commands: []string{command + s.Path}, on: []string{"file " + s.Path}, lasts: true}
}

// lines returns the lines that change.
func (s File) lines() []string {
	switch {
	case s.held != nil:
		return lineDiff([]byte(s.held.Was), []byte(s.held.Now))
	case s.Before == nil:
		return append([]string{"+ " + s.Path + " (new)"}, lineDiff(nil, s.After)...)
	case s.After == nil:
		return append([]string{"- " + s.Path + " (removed)"}, lineDiff(s.Before, nil)...)
	}
	return append([]string{"  " + s.Path}, lineDiff(s.Before, s.After)...)
}

// A patch is the journal's record of a file change: the part that differs, and checksums of the whole, so that a secret
// elsewhere in the file stays out.
type patch struct {
	Path      string      `json:"path"`
	What      string      `json:"what"`
	Head      int         `json:"head"` // unchanged bytes before Was
	Was       string      `json:"was"`
	Now       string      `json:"now"`
	SumBefore string      `json:"sumBefore,omitempty"` // SHA-256; empty if no file
	SumAfter  string      `json:"sumAfter,omitempty"`
	Dir       bool        `json:"dir,omitempty"` // its directory is created
	Mode      fs.FileMode `json:"mode"`
	UID       int         `json:"uid"`
	GID       int         `json:"gid"`
}

// MarshalJSON writes the change as a patch.
func (s File) MarshalJSON() ([]byte, error) { return json.Marshal(s.patch()) }

// UnmarshalJSON reads a patch.
func (s *File) UnmarshalJSON(text []byte) error {
	var p patch
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	*s = File{Path: p.Path, What: p.What, held: &p}
	return nil
}

func (s File) patch() *patch {
	if s.held != nil {
		return s.held
	}
	head := bytes.LastIndexByte(s.Before[:commonHead(s.Before, s.After)], '\n') + 1 // whole lines, so that a secret is recognised
	tail := commonTail(s.Before[head:], s.After[head:])
	if line := bytes.IndexByte(s.Before[len(s.Before)-tail:], '\n'); line >= 0 {
		tail -= line + 1
	} else {
		tail = 0
	}
	return &patch{
		Path: s.Path, What: s.What, Head: head, Mode: 0o644,
		Was: string(s.Before[head : len(s.Before)-tail]), Now: string(s.After[head : len(s.After)-tail]),
		SumBefore: sum(s.Before), SumAfter: sum(s.After),
	}
}

func sum(text []byte) string {
	if text == nil {
		return ""
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// ready notes the file's mode and owner.
func (s File) ready(_ context.Context, t *Target) (Step, error) {
	p := *s.patch()
	if secret.In(p.Was) || secret.In(p.Now) {
		return nil, Refuse("edit it by hand", "the lines of %s that would change hold a secret, which ovnctl neither shows nor keeps", p.Path)
	}
	if p.SumBefore == p.SumAfter {
		return nil, fmt.Errorf("%s would not change", p.Path)
	}
	name, err := t.path(p.Path)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err := os.Stat(filepath.Dir(name))
		p.Dir = errors.Is(err, fs.ErrNotExist)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", p.Path)
	default:
		p.Mode = info.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)
		p.UID, p.GID = owner(info)
	}
	s.held = &p
	return s, nil
}

func (s File) look(_ context.Context, t *Target) (stage, string, error) {
	p := s.patch()
	now, name, err := t.readFile(p.Path)
	if err != nil {
		return moved, "", err
	}
	switch sum(now) {
	case p.SumBefore, p.SumAfter:
		at := untouched
		if sum(now) == p.SumAfter {
			at = done
		}
		if info, err := os.Lstat(name); err == nil && s.held != nil {
			if uid, gid := owner(info); info.Mode().Perm() != p.Mode.Perm() || uid != p.UID || gid != p.GID {
				return moved, fmt.Sprintf("the mode or owner of %s has changed", p.Path), nil
			}
		}
		return at, "", nil
	}
	if now == nil {
		return moved, p.Path + " is gone", nil
	}
	return moved, p.Path + " has changed", nil
}

func (s File) do(_ context.Context, t *Target) error {
	p := s.patch()
	return t.replace(p, p.SumBefore, p.SumAfter, p.Was, p.Now)
}

func (s File) undo(_ context.Context, t *Target) error {
	p := s.patch()
	return t.replace(p, p.SumAfter, p.SumBefore, p.Now, p.Was)
}

// replace turns the file with checksum from into the one with checksum to. Any other
// file stays.
func (t *Target) replace(p *patch, from, to, was, now string) error {
	have, name, err := t.readFile(p.Path)
	if err != nil {
		return err
	}
	if err := t.sweep(name); err != nil {
		return err
	}
	switch {
	case sum(have) == to:
		return nil
	case sum(have) != from:
		return fmt.Errorf("%s has changed", p.Path)
	}
	dir := filepath.Dir(name)
	if to == "" {
		if err := os.Remove(name); err != nil {
			return err
		}
		if p.Dir && os.Remove(dir) == nil { // empty again
			dir = filepath.Dir(dir)
		}
		return syncDir(dir)
	}
	if p.Dir && from == "" {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	next := now
	if from != "" {
		if len(have) < p.Head+len(was) || string(have[p.Head:p.Head+len(was)]) != was {
			return fmt.Errorf("%s has changed", p.Path)
		}
		next = string(have[:p.Head]) + now + string(have[p.Head+len(was):])
	}
	if sum([]byte(next)) != to && (next != "" || to != sum([]byte{})) {
		return fmt.Errorf("%s: the part in the journal does not make up the file", p.Path)
	}
	temp := t.temporary(name)
	if err := writeWhole(temp, []byte(next), p, name, from != ""); err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(temp)))
	}
	failpoint("file written")
	if from == "" { // a file created meanwhile stays
		err = errors.Join(os.Link(temp, name), os.Remove(temp))
	} else {
		err = os.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(temp)))
	}
	failpoint("file renamed")
	return syncDir(dir)
}

// temporary returns the name under which a file is written before it is renamed.
func (t *Target) temporary(name string) string {
	return filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".ovnctl-"+t.process)
}

// sweep removes what an interrupted run left half written.
func (t *Target) sweep(name string) error {
	return ignoreMissing(os.Remove(t.temporary(name)))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeWhole creates a file with the mode and owner of the change, and the
// attributes of the file that it will replace.
func writeWhole(name string, text []byte, p *patch, like string, replaces bool) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && os.Geteuid() == 0 {
		err = f.Chown(p.UID, p.GID)
	}
	if err == nil {
		err = f.Chmod(p.Mode)
	}
	if err == nil && replaces {
		err = copyAttributes(like, name)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// readFile returns a host file, nil if it does not exist, and its name as this process sees it.
func (t *Target) readFile(path string) ([]byte, string, error) {
	name, err := t.path(path)
	if err != nil {
		return nil, "", err
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, name, nil
	}
	if text == nil && err == nil {
		text = []byte{}
	}
	return text, name, err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// path returns a host path as this process sees it. Symbolic links are resolved below the host's root, so none leads
// out of it.
func (t *Target) path(name string) (string, error) {
	root := t.Root
	if root == "" {
		root = "/"
	}
	rest := strings.Split(path.Clean("/"+name), "/")[1:]
	at := "/"
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		target, err := os.Readlink(filepath.Join(root, next))
		if err != nil { // not a link, or missing
			at = next
			continue
		}
		if links++; links > 40 {
			return "", fmt.Errorf("%s: too many symbolic links", name)
		}
		if !path.IsAbs(target) {
			target = path.Join(at, target)
		}
		rest = append(strings.Split(path.Clean("/"+target), "/")[1:], rest...)
		at = "/"
	}
	return filepath.Join(root, at), nil
}

// equalText reports whether a file of the kernel holds a value.
func equalText(have []byte, want string) bool {
	return string(bytes.TrimSpace(have)) == strings.TrimSpace(want)
}
