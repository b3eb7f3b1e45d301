package node

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A request is a question in the form that ovnctl answers on the node that is asked, if the same version is installed there: it
// reads sockets and the kernel itself, where a script starts a process for each command. One of the first five fields is set, or the first two.
type request struct {
	Database bool     `json:"database,omitempty"` // the Open_vSwitch database, in a part
	State    bool     `json:"state,omitempty"`    // the kernel's, in two parts; with the database it is one question
	Control  []string `json:"control,omitempty"`  // a daemon, a command and its arguments
	Dump     []string `json:"dump,omitempty"`     // a bridge and what of it
	Pod      string   `json:"pod,omitempty"`      // a link

	Prefix string `json:"prefix,omitempty"` // before the names of its parts, if it goes ahead
}

// The parts that only ovnctl gives, as JSON.
const (
	ownNetworkPart  = "network"
	ownFirewallPart = "chains"
	ownPodPart      = "pod"
)

// own is the request as a question has it. It is empty with text that JSON cannot have: the tools answer that.
func (q request) own() string {
	if !utf8.ValidString(strings.Join(slices.Concat(q.Control, q.Dump, []string{q.Pod}), "")) {
		return ""
	}
	return string(marshal(q))
}

// marshal is of requests, which hold only text and numbers.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// requests are a question and those that go ahead as ovnctl reads them; nil if one of them has no such form.
func (q question) requests(ahead []question) (list []request) {
	for i, also := range append([]question{q}, ahead...) {
		if also == (question{}) { // only what goes ahead is asked
			continue
		}
		var r request
		if json.Unmarshal([]byte(also.own), &r) != nil { // also if it is empty
			return nil
		}
		if i > 0 {
			r.Prefix = aheadName(i - 1)
		}
		list = append(list, r)
	}
	return list
}

// mostRequests bounds the text of requests, in bytes: the first ones are one argument of a command.
const mostRequests = 64 << 10

// A batch is requests that are asked together of an ovnctl that has answered others and waits.
type batch struct {
	Boundary string    `json:"boundary"` // between what it prints
	Each     int       `json:"each"`     // seconds for one reply
	Requests []request `json:"requests"`
}

// noBatch ends an ovnctl that waits. What follows it, the shell reads.
const noBatch = "00000000\n"

// text is the batch as an ovnctl that waits reads it: its length, and a line. Should that ovnctl have died, the shell reads the line: it
// has nothing in it that a shell acts on.
func (b batch) text() string {
	line := base64.StdEncoding.EncodeToString(marshal(b)) + "\n"
	return fmt.Sprintf("%08d\n%s", len(line), line)
}

// next reads a batch, and not a byte that follows; io.EOF if there is none.
func (b *batch) next(in io.Reader) error {
	head := make([]byte, len(noBatch))
	if _, err := io.ReadFull(in, head); err != nil {
		return err
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(string(head), "\n"), 10, 32)
	switch {
	case err != nil:
		return errors.New("a batch has no length")
	case n == 0:
		return io.EOF
	case n > 2*mostRequests:
		return fmt.Errorf("a batch of %d bytes", n)
	}
	line := make([]byte, n)
	if _, err := io.ReadFull(in, line); err != nil {
		return err
	}
	text, err := base64.StdEncoding.DecodeString(string(line))
	if err != nil {
		return fmt.Errorf("a batch: %w", err)
	}
	return json.Unmarshal(text, b)
}

// Answer answers what a [Remote] of the same version asks of this host: first requests, in JSON, whose answers it prints between
// boundaries, as a script would have; then each batch that comes from in, until that ends.
func Answer(ctx context.Context, c LocalConfig, requests, boundary string, in io.Reader, out io.Writer) error {
	b := batch{Boundary: boundary}
	if err := json.Unmarshal([]byte(requests), &b.Requests); err != nil {
		return fmt.Errorf("requests: %w", err)
	}
	for {
		if err := b.answer(ctx, c, out); err != nil {
			return err
		}
		b = batch{}
		if err := b.next(in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		c.Timeout = time.Duration(b.Each) * time.Second
	}
}

// answer asks a host of its own: nothing that an earlier batch found is kept.
func (b batch) answer(ctx context.Context, c LocalConfig, out io.Writer) error {
	var daemons, kernel []request
	for _, r := range b.Requests {
		if r.State || r.Pod != "" {
			kernel = append(kernel, r)
		}
		if !r.State && r.Pod == "" || r.Database {
			r.State = false
			daemons = append(daemons, r)
		}
	}
	a := answering{host: Local(c).(*local), out: out, boundary: b.Boundary}
	var side sync.WaitGroup
	side.Go(func() {
		for _, r := range kernel {
			a.kernel(ctx, r)
		}
	})
	a.daemons(ctx, daemons)
	side.Wait()
	if a.err != nil {
		return a.err
	}
	_, err := io.WriteString(out, b.Boundary+waitsSuffix)
	return err
}

// answering writes answers, from two sides.
type answering struct {
	host     *local
	boundary string

	mu  sync.Mutex
	out io.Writer
	err error
}

// give writes the parts that answer a request.
func (a *answering) give(r request, parts map[string]part) {
	named := map[string]part{}
	for name, p := range parts {
		named[r.Prefix+name] = p
	}
	if r.Prefix != "" {
		named[r.Prefix+aheadEnd] = part{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, err := a.out.Write(frame(named, a.boundary)); err != nil && a.err == nil {
		a.err = err
	}
}

// daemons asks one after the other, until one gives no reply in time: what is not answered is asked again when it is needed.
func (a *answering) daemons(ctx context.Context, list []request) {
	for _, r := range list {
		var name string
		var p part
		switch {
		case r.Database:
			name = databasePart
			p = partOf(a.host.dump(ctx))
		case len(r.Control) >= 2:
			name = "control"
			text, err := a.host.Control(ctx, r.Control[0], r.Control[1], r.Control[2:]...)
			if p = partOf([]byte(text), err); p.code == codeNotThere {
				p.err = "no control socket in " + a.host.socketDir(r.Control[0])
			}
		case len(r.Dump) == 2:
			name = "dump"
			text, err := a.host.Dump(ctx, r.Dump[0], DumpKind(r.Dump[1]))
			p = partOf([]byte(text), err)
		default:
			continue
		}
		a.give(r, map[string]part{name: p})
		if p.code == codeLate {
			return
		}
	}
}

func (a *answering) kernel(ctx context.Context, r request) {
	if r.Pod != "" {
		pod, err := a.host.pod(ctx, r.Pod)
		a.give(r, map[string]part{ownPodPart: jsonPart(pod, err)})
		return
	}
	n, err := a.host.Network(ctx)
	parts := map[string]part{ownNetworkPart: jsonPart(n, err)}
	chains, err := a.host.Firewall(ctx)
	parts[ownFirewallPart] = jsonPart(chains, err)
	a.give(r, parts)
}

// The exit statuses by which an answer tells errors apart, as those of a script do.
const (
	codeRefused   = 2   // ovs-appctl: the daemon refused the command
	codeNotThere  = 3   // of our scripts: there is no such socket
	codeLate      = 124 // timeout(1)
	codeNoProgram = 127 // sh
)

// partOf is what a command would have left behind.
func partOf(out []byte, err error) part {
	if err == nil {
		return part{out: out}
	}
	refusal, refused := errors.AsType[*ControlError](err)
	switch {
	case refused:
		return part{code: codeRefused, err: refusal.Text + "\novnctl" + refusedSuffix}
	case errors.Is(err, context.DeadlineExceeded):
		return part{code: codeLate, err: err.Error()}
	case errors.Is(err, ErrUnavailable):
		return part{code: codeNoProgram, err: err.Error()}
	case errors.Is(err, fs.ErrNotExist):
		return part{code: codeNotThere, err: err.Error()}
	}
	return part{code: 1, err: err.Error()}
}

func jsonPart(v any, err error) part {
	if err != nil {
		return partOf(nil, err)
	}
	b, err := json.Marshal(v)
	return partOf(b, err)
}

// ownPart reads what ovnctl there printed of a part. Its errors are of the kinds that they are there.
func (r *remote) ownPart(p part, v any) error {
	switch p.code {
	case 0:
		if err := json.Unmarshal(p.out, v); err != nil {
			return r.fail(fmt.Errorf("cannot read what ovnctl printed there: %w", err))
		}
		return nil
	case codeLate:
		return r.fail(fmt.Errorf("no reply in time: %w", context.DeadlineExceeded))
	case codeNoProgram:
		return r.fail(unavailable("%s", strings.TrimSuffix(p.err, ": "+ErrUnavailable.Error())))
	case codeNotThere:
		return r.fail(&notThereError{p.err})
	}
	return r.fail(errors.New(p.err))
}

var errNoNetwork = errors.New("ovnctl printed no network there")

// A notThereError is an fs.ErrNotExist of another node.
type notThereError struct{ text string }

func (e *notThereError) Error() string        { return e.text }
func (e *notThereError) Is(target error) bool { return target == fs.ErrNotExist }
