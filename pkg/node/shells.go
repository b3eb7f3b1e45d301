package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// The most shells per node, how long an idle one waits for the next script before it ends, and how many wait on all nodes
// together. A shell is a login, which costs more than most scripts, and as long as it waits a process here.
const (
	maxShells = 3
	shellIdle = 5 * time.Second
	maxIdle   = 128
)

// shells run scripts on a node, reusing the shells of earlier ones.
type shells struct {
	enter Entry
	by    string        // what the entry is called in errors: "ssh"
	slots chan struct{} // one per shell that may run

	mu     sync.Mutex
	idle   []*shell
	closed bool
}

func newShells(enter Entry, by string) *shells {
	return &shells{enter: enter, by: by, slots: make(chan struct{}, maxShells)}
}

// A shell reads scripts from standard input, one after the other.
type shell struct {
	of      *shells
	session Session
	in      *os.File
	out     *os.File
	said    *bounded // standard error
	waits   sync.Once
	gone    chan struct{}
	err     error // of its end, once it has exited
	used    bool
	timer   *time.Timer // ends an idle shell
	waiting string      // the boundary of the script whose ovnctl still runs, and waits for the next batch; empty if none does
}

// A script is what a shell runs: text that calls part. An ovnctl that waits there answers the requests instead, if there are any.
type script struct {
	text     string
	requests []request
}

// How what a script prints ends, behind its boundary: once its ovnctl waits for a batch, or once it has ended.
const (
	waitsSuffix = " waits\n"
	doneSuffix  = " done\n"
)

// exited returns a channel that is closed once the shell has ended. To wait for a process takes a thread, which hundreds of shells that
// wait for a script do without.
func (sh *shell) exited() <-chan struct{} {
	sh.waits.Do(func() {
		go func() {
			sh.err = sh.session.Wait()
			close(sh.gone)
		}()
	})
	return sh.gone
}

// run runs a script that no ovnctl answers.
func (s *shells) run(ctx context.Context, body string, each, total time.Duration) (map[string]part, error) {
	return s.ask(ctx, script{text: body}, each, total)
}

// ask runs a script. Its time starts once a shell is free. Complete parts are returned even if the command failed or time or space ran
// out during the others.
func (s *shells) ask(ctx context.Context, what script, each, total time.Duration) (map[string]part, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: no reply in time: %w", s.by, ctx.Err())
	}
	ctx, cancel := context.WithTimeout(ctx, total)
	defer cancel()
	for {
		sh, err := s.take()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.by, err)
		}
		reused := sh.used
		parts, err := sh.run(ctx, what, each)
		if err == nil {
			s.put(sh)
			return parts, nil
		}
		sh.end()
		if reused && len(parts) == 0 && ctx.Err() == nil {
			continue // it ended while idle: take another
		}
		return parts, fmt.Errorf("%s: %w", s.by, err)
	}
}

// take is an idle shell, else a new one.
func (s *shells) take() (*shell, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		sh := s.idle[n-1]
		s.idle = s.idle[:n-1]
		everyIdle.remove(sh)
		s.mu.Unlock()
		sh.timer.Stop()
		return sh, nil
	}
	s.mu.Unlock()
	return startShell(s.enter, nil)
}

func (s *shells) put(sh *shell) {
	sh.of, sh.used = s, true
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		sh.end()
		return
	}
	s.idle = append(s.idle, sh)
	sh.timer = time.AfterFunc(shellIdle, func() { s.expire(sh) })
	longest := everyIdle.add(sh)
	s.mu.Unlock()
	if longest != nil {
		longest.of.expire(longest)
	}
}

// expire ends a shell that is still idle.
func (s *shells) expire(sh *shell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.idle {
		if other == sh {
			s.idle = append(s.idle[:i:i], s.idle[i+1:]...)
			sh.timer.Stop()
			everyIdle.remove(sh)
			sh.end()
			return
		}
	}
}

// close ends idle shells now and the others when their script ends.
func (s *shells) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, sh := range s.idle {
		sh.timer.Stop()
		everyIdle.remove(sh)
		sh.end()
	}
	s.idle = nil
}

// everyIdle has the idle shells of all nodes.
var everyIdle idlers

// idlers are idle shells, those that wait longest first.
type idlers struct {
	mu     sync.Mutex
	shells []*shell
}

// add adds a shell, and returns the one to end if they are too many.
func (i *idlers) add(sh *shell) (longest *shell) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shells = append(i.shells, sh)
	if len(i.shells) > maxIdle {
		longest = i.shells[0]
		i.shells = slices.Delete(i.shells, 0, 1) // another one that is added meanwhile must not name it, too
	}
	return longest
}

func (i *idlers) remove(sh *shell) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shells = slices.DeleteFunc(i.shells, func(other *shell) bool { return other == sh })
}

// startShell enters a node. What the shell says on standard error is kept, and written to stderr unless that is nil.
func startShell(enter Entry, stderr io.Writer) (*shell, error) {
	sh := &shell{said: &bounded{limit: 4096}, gone: make(chan struct{})}
	said := io.Writer(sh.said)
	if stderr != nil {
		said = io.MultiWriter(sh.said, stderr)
	}
	// Our own pipes: the output must survive the command's end.
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		in.Close()
		return nil, err
	}
	session, err := enter(stdin, stdout, said)
	if err != nil {
		stdin.Close()
		stdout.Close()
		in.Close()
		out.Close()
		return nil, err
	}
	sh.session, sh.in, sh.out = session, in, out
	return sh, nil
}

// end ends a shell and everything it started.
func (sh *shell) end() {
	sh.session.Kill()
	sh.in.Close()
	sh.out.Close()
	sh.exited() // leaves no zombie
}

// run runs one script. After an error the shell is unusable.
func (sh *shell) run(ctx context.Context, what script, each time.Duration) (map[string]part, error) {
	boundary, seconds := rand.Text(), max(1, int(each/time.Second))
	// The last two commands are one line: who runs the first on the shell's own input must not find the second there.
	text := fmt.Sprintf("main() {\nB=%s\nSECONDS_EACH=%d\n%s%s}\nmain; printf '%%s done\\n' %[1]s\n", boundary, seconds, preamble.Get(), what.text)
	done, waits := boundary+doneSuffix, boundary+waitsSuffix
	batched := sh.waiting != "" && what.requests != nil
	switch {
	case batched:
		text, done = batch{boundary, seconds, what.requests}.text(), sh.waiting+doneSuffix
	case sh.waiting != "":
		text, sh.waiting = noBatch+text, ""
	}
	stop := context.AfterFunc(ctx, func() { // reading and writing end with it
		sh.session.Kill()
		_ = sh.out.SetReadDeadline(time.Unix(1, 0))
		_ = sh.in.SetWriteDeadline(time.Unix(1, 0))
	})
	defer stop()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = sh.in.WriteString(text) // the reply shows if nobody reads it
	}()
	most := int(mostReply())
	answer, end := sh.read(most, done, waits)
	parts, whole := parseParts(answer, boundary), end != ""
	switch {
	case end == waits && !batched:
		sh.waiting = boundary
	case end == done && batched && ctx.Err() == nil: // what waited has died, and the script that ran it is done
		<-written
		sh.waiting = ""
		return sh.run(ctx, what, each)
	}
	switch {
	case whole && ctx.Err() == nil:
		<-written
		return parts, nil
	case len(answer) >= most:
		return parts, fmt.Errorf("printed more than %d MiB", most>>20)
	case ctx.Err() != nil:
		return parts, fmt.Errorf("no reply in time: %w", ctx.Err())
	}
	var err error
	select {
	case <-sh.exited():
		err = sh.err
	case <-time.After(2 * time.Second): // output closed, still running
	case <-ctx.Done():
	}
	if len(parts) > 0 {
		return parts, errors.New("ended in the middle of its reply")
	}
	if err == nil {
		err = errors.New("ran no script: the prefix must run the command that follows it, sh, with standard input")
	}
	if text := strings.TrimSpace(string(sh.said.kept)); text != "" {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return nil, err
}

// answers are buffers for what shells print, of which most is dropped once it is parsed.
var answers = sync.Pool{New: func() any { return new([]byte) }}

// read reads the shell's output up to one of the lines that may end it, or most bytes of it. The end that it found is empty if it
// found none.
func (sh *shell) read(most int, ends ...string) (answer []byte, end string) {
	pooled := answers.Get().(*[]byte)
	buffer := (*pooled)[:0]
	defer func() {
		*pooled = buffer
		answers.Put(pooled)
	}()
	for len(buffer) < most {
		buffer = slices.Grow(buffer, 16<<10)
		n, err := sh.out.Read(buffer[len(buffer):cap(buffer)])
		before := len(buffer)
		buffer = buffer[:before+n]
		for _, end := range ends {
			from := max(0, before-len(end))
			if i := bytes.Index(buffer[from:], []byte(end)); i >= 0 {
				return bytes.Clone(buffer[:from+i]), end
			}
		}
		if err != nil {
			break
		}
	}
	return bytes.Clone(buffer), ""
}
