package node

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"
)

// An Errand is a program that is run on another node, behind the command prefix.
type Errand struct{ r *remote }

// NewErrand returns the errands to a node behind a command prefix.
func NewErrand(h Host) (*Errand, error) {
	switch h := h.(type) {
	case *recorder:
		return NewErrand(h.Host)
	case *remote:
		if h.InPod {
			return nil, fmt.Errorf("node %s: what runs in a pod ends with it, and could not take anything back", h.Name())
		}
		return &Errand{h}, nil
	}
	return nil, fmt.Errorf("node %s is not behind a command prefix", h.Name())
}

// A Station is what a node is to a program that comes from elsewhere.
type Station struct {
	System, Machine string // as uname(1) prints them: "Linux", "x86_64"
	Root            bool   // commands run as root
	Program         string // the program of the same name that is installed there; empty if there is none
	Sum             string // its SHA-256
	Unpacks         bool   // it has gzip
}

// Look finds out what a node is. A program called name may be installed there.
func (e *Errand) Look(ctx context.Context, name string) (*Station, error) {
	parts, err := e.r.shells.run(ctx, fmt.Sprintf(`
installed() {
	p=$(command -v %s) || return 0
	echo "$p"
	sha256sum "$p"
}
part system uname -sm
part user id -u
part installed installed
part gzip command -v gzip
`, shellQuote(name)), e.r.Timeout/2, e.r.Timeout)
	system, ok := parts["system"]
	if !ok {
		return nil, e.r.fail(cmp.Or(err, errors.New("no reply from its shell")))
	}
	s := &Station{Root: strings.TrimSpace(string(parts["user"].out)) == "0", Unpacks: parts["gzip"].code == 0}
	if words := strings.Fields(string(system.out)); len(words) == 2 {
		s.System, s.Machine = words[0], words[1]
	}
	if p, sum, ok := strings.Cut(string(parts["installed"].out), "\n"); ok && parts["installed"].code == 0 {
		s.Program = p
		s.Sum, _, _ = strings.Cut(strings.TrimSpace(sum), " ")
	}
	return s, nil
}

// carryTime is how long a program may take to get there.
const carryTime = 10 * time.Minute

// Copy copies a file into a directory that only root can enter, under a name of its own, and compares its SHA-256 there. It
// returns the path. If anything fails nothing is left.
func (e *Errand) Copy(ctx context.Context, file, sum, dir string, packed bool) (string, error) {
	to := path.Join(dir, path.Base(file)+"-"+strings.ToLower(rand.Text()[:12]))
	from, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer from.Close()
	ctx, cancel := context.WithTimeout(ctx, carryTime)
	defer cancel()
	unpack := "cat"
	if packed {
		unpack = "gzip -dc"
	}
	s, err := e.r.begin(ctx, fmt.Sprintf(`umask 077
d=%s; f=%s
fail() { rm -f "$f"; rmdir "$d" 2>/dev/null; exit 9; }
mkdir -p "$d" || exit 9
`, shellQuote(dir), shellQuote(to)), fmt.Sprintf(`%s >"$f" || fail
s=$(sha256sum "$f") || fail
[ "${s%%%% *}" = %s ] || { echo "what arrived is not what was sent" >&2; fail; }
chmod 700 "$f" || fail
exit 0`, unpack, shellQuote(sum)), nil)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, s.sh.end)
	defer stop()
	var in io.Writer = s.sh.in
	if packed {
		z, _ := gzip.NewWriterLevel(s.sh.in, gzip.BestSpeed) // the level is valid
		if _, err = io.Copy(z, from); err == nil {
			err = z.Close()
		}
	} else {
		_, err = io.Copy(in, from)
	}
	s.sh.in.Close()
	_, _ = io.Copy(io.Discard, s.from)
	<-s.sh.exited()
	s.sh.out.Close()
	if text := strings.TrimSpace(string(s.sh.said.kept)); text != "" && s.sh.err != nil {
		err = errors.New(text)
	}
	if err = cmp.Or(ctx.Err(), err, s.sh.err); err != nil {
		return "", e.r.fail(fmt.Errorf("copy the program to %s: %w", dir, err))
	}
	return to, nil
}

// Remove removes a copy and, if nothing else is in it, its directory.
func (e *Errand) Remove(ctx context.Context, file string) error {
	_, err := e.r.shells.run(ctx, fmt.Sprintf("part remove rm -f %s\npart directory rmdir %s\n", shellQuote(file), shellQuote(path.Dir(file))), e.r.Timeout/2, e.r.Timeout)
	return err
}

// ErrLost means that a program's connection ended before the program did, or before it said so.
var ErrLost = errors.New("the connection was lost")

// Run runs a program there and joins it to the streams. It returns the program's exit status, which must be below
// [LostStatus]; an error wraps [ErrLost] if the program began. The end of ctx ends the connection.
func (e *Errand) Run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, program ...string) (int, error) {
	words := make([]string, len(program))
	for i, w := range program {
		words[i] = shellQuote(w)
	}
	begun, cancel := context.WithTimeout(ctx, e.r.Timeout)
	s, err := e.r.begin(begun, "", "exec "+strings.Join(words, " "), stderr)
	cancel()
	if err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, s.sh.end)
	defer stop()
	go func() { // it may wait for the person until the process ends
		_, _ = io.Copy(s.sh.in, stdin)
		s.sh.in.Close()
	}()
	_, copied := io.Copy(stdout, s.from)
	<-s.sh.exited()
	s.sh.out.Close()
	if code, ok := exitCode(s.sh.err); ok && code < LostStatus && copied == nil {
		return code, nil
	}
	return 0, e.r.fail(fmt.Errorf("%w: %w", ErrLost, cmp.Or(ctx.Err(), s.sh.err, copied)))
}

// LostStatus is the first exit status that is not the program's own: of a shell, or of what the prefix runs.
const LostStatus = 100
