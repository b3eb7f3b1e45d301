package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

func (l *local) Dirs(context.Context) (Dirs, error) { return l.dirs(), nil }

func (l *local) dirs() Dirs {
	known := Dirs{OVSRun: HostPath(l.HostRoot, l.OVSRunDir), OVNRun: HostPath(l.HostRoot, l.OVNRunDir)}
	getenv := func(name string) string { return HostPath(l.HostRoot, l.Getenv(name)) }
	return findDirs(known, getenv, func(path string) bool {
		_, err := os.Stat(Resolve(l.HostRoot, path))
		return err == nil
	})
}

func (l *local) Daemons(ctx context.Context) ([]Daemon, error) {
	var list []Daemon
	dirs := []string{l.OVSRunDir}
	if !sameFile(l.OVSRunDir, l.OVNRunDir) {
		dirs = append(dirs, l.OVNRunDir)
	}
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("control sockets of %s: %w", l.Name(), err)
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return modTime(b).Compare(modTime(a)) })
		for _, e := range entries {
			d, socket, ok := daemonOf(e.Name())
			if !ok || len(list) == maxDaemons {
				continue
			}
			d.Path = filepath.Join(dir, e.Name())
			fi, err := os.Stat(d.Path)
			switch {
			case err != nil || socket != (fi.Mode().Type() == fs.ModeSocket):
				continue
			case !socket:
				d.State = NoSocket
				d.PID, _ = readPid(d.Path)
			}
			list = append(list, d)
		}
	}
	var wg sync.WaitGroup
	for i := range list {
		if list[i].State == "" {
			wg.Go(func() { l.askVersion(ctx, &list[i]) })
		}
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("control sockets of %s: %w", l.Name(), err)
	}
	for i := range list {
		list[i].Path = HostPath(l.HostRoot, list[i].Path)
	}
	list = dropPidfiles(list)
	sortDaemons(list)
	return list, nil
}

// askVersion asks the daemon behind a control socket for its version and waits half the deadline, since other
// requests need time too. If another of our commands keeps the daemon busy, it asks again afterwards.
func (l *local) askVersion(ctx context.Context, d *Daemon) {
	reply, err := l.version(ctx, d)
	if errors.Is(err, context.DeadlineExceeded) && l.busy.held(d.Name) {
		leave, gaveUp := l.busy.enter(ctx, d.Name)
		if gaveUp != nil {
			return // caller gave up
		}
		defer leave()
		reply, err = l.version(ctx, d)
	}
	switch {
	case err == nil || isRefusal(err): // a reply either way
		d.State, d.Version = Answers, versionOf(reply)
	case errors.Is(err, context.DeadlineExceeded):
		d.State = Hung
	default:
		d.State = Refused
	}
}

func (l *local) version(ctx context.Context, d *Daemon) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout/2)
	defer cancel()
	return unixctl(ctx, d.Path, d.Name, "version", nil)
}

func isRefusal(err error) bool {
	_, ok := errors.AsType[*ControlError](err)
	return ok
}

func (l *local) Log(_ context.Context, daemon string) (string, error) {
	if err := checkName("log", daemon); err != nil {
		return "", err
	}
	files := l.dirs().logFiles(daemon)
	newest, at := "", time.Time{}
	for _, name := range files {
		name = Resolve(l.HostRoot, name)
		if fi, err := os.Stat(name); err == nil && fi.Mode().IsRegular() && fi.ModTime().After(at) {
			newest, at = name, fi.ModTime()
		}
	}
	if newest == "" {
		return "", noLog(daemon, files)
	}
	return tail(newest)
}

func noLog(daemon string, files []string) error {
	return fmt.Errorf("log of %s: neither of %s: %w", daemon, strings.Join(files, ", "), fs.ErrNotExist)
}

// tail reads the last lines of a regular file.
func tail(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	start := max(0, fi.Size()-maxLog)
	var text strings.Builder
	text.Grow(int(fi.Size() - start))
	if _, err := io.Copy(&text, io.NewSectionReader(f, start, fi.Size()-start)); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return lastLines(text.String(), start > 0), nil
}

func (l *local) Glob(_ context.Context, pattern string) ([]string, error) {
	return glob(pattern, func(dir, part string) (names []string) {
		at := Resolve(l.HostRoot, dir)
		if !strings.ContainsAny(part, `*?[\`) { // it may be in a directory that cannot be listed
			if _, err := os.Lstat(filepath.Join(at, part)); err == nil {
				names = append(names, part)
			}
			return names
		}
		entries, _ := os.ReadDir(at) // no directory: nothing in it matches
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	})
}

// glob returns the paths that match a pattern. in lists a directory's names; it may omit those that cannot match.
func glob(pattern string, in func(dir, part string) []string) ([]string, error) {
	parts, err := globParts(pattern)
	if err != nil {
		return nil, err
	}
	found := []string{"/"}
	for _, part := range parts {
		var next []string
		for _, dir := range found {
			next = append(next, matching(dir, part, in(dir, part))...)
		}
		if len(next) > maxGlob {
			return nil, fmt.Errorf("%s: more than %d paths match", pattern, maxGlob)
		}
		found = next
	}
	slices.Sort(found)
	return found, nil
}

// matching are the paths of the names in a directory that match an element.
func matching(dir, part string, names []string) []string {
	var paths []string
	for _, name := range names {
		if matchPart(part, name) {
			paths = append(paths, path.Join(dir, name))
		}
	}
	return paths
}

// globParts splits an absolute path pattern into its elements.
func globParts(pattern string) ([]string, error) {
	if _, err := path.Match(pattern, ""); err != nil || !strings.HasPrefix(pattern, "/") || strings.ContainsAny(pattern, "\x00\n") {
		return nil, fmt.Errorf("%q is not a pattern of absolute paths", pattern)
	}
	return strings.Split(strings.Trim(path.Clean(pattern), "/"), "/"), nil
}

func matchPart(part, name string) bool {
	ok, _ := path.Match(part, name)
	return ok && (name[0] != '.' || part[0] == '.') && !strings.Contains(name, "\n")
}

func (l *local) Unit(ctx context.Context, name string) (Unit, error) {
	if err := checkName("service", name); err != nil {
		return Unit{}, err
	}
	if _, err := os.Stat(Resolve(l.HostRoot, "/run/systemd/system")); err != nil {
		return Unit{}, noSystemd(name)
	}
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	out, err := l.run(ctx, "systemctl", append(slices.Clone(unitProperties), "--", name)...)
	if errors.Is(err, exec.ErrNotFound) {
		return Unit{}, unavailable("systemctl is not installed here")
	}
	if err != nil {
		return Unit{}, fmt.Errorf("service %s: %w", name, err)
	}
	return parseUnit(name, string(out)), nil
}

func noSystemd(name string) error {
	return unavailable("service %s: systemd is not running here", name)
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

func badName(what, name string) error { return fmt.Errorf("%q is not the name of a %s", name, what) }
