package ovsdb

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/memory"
)

// A conn speaks JSON-RPC 1.0 with one server, RFC 7047 section 4. Replies stay text: rows are parsed from it
// straight into structs. One goroutine reads, and replies to the server's echo requests.
//
// No library client is used, so that replies are bounded, a value of unexpected shape is an error and never a
// panic, and rows need no intermediate maps, which cost six times the CPU time.
type conn struct {
	net   net.Conn
	limit int // bytes per message

	write sync.Mutex

	mu      sync.Mutex
	last    int
	pending map[int]chan<- message
	retired bool                               // closes after the last call
	updated func(method string, params []byte) // handles monitor updates; nil if none were requested
	err     error

	done chan struct{} // closed when the reader has exited
}

// message is a request or reply; its fields are parts of its text.
type message struct {
	id, method, params, result, err []byte
}

// lastWords is how long to wait for the reason why a connection broke.
const lastWords = 100 * time.Millisecond

// echoTimeout bounds the echo reply to a server that does not read.
const echoTimeout = 5 * time.Second

func newConn(c net.Conn, limit int) *conn {
	n := &conn{net: c, limit: limit, pending: map[int]chan<- message{}, done: make(chan struct{})}
	go n.read()
	return n
}

// close closes the connection without waiting for the server, and waits for the reader goroutine.
func (n *conn) close() {
	n.fail(ErrClosed)
	<-n.done
}

// retire closes the connection once no call is in progress.
func (n *conn) retire() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.retired = true
	n.rest()
}

// rest closes a retired connection that is idle. Needs n.mu.
func (n *conn) rest() {
	if n.retired && len(n.pending) == 0 {
		n.breakOff(errReplaced)
	}
}

// fail breaks the connection; callers see the first error.
func (n *conn) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.breakOff(err)
}

func (n *conn) breakOff(err error) {
	if n.err != nil {
		return
	}
	n.err = err
	hangUp(n.net)
	for id, reply := range n.pending {
		close(reply)
		delete(n.pending, id)
	}
}

// hangUp closes c at once: TLS would wait to write its close alert.
func hangUp(c net.Conn) {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	_ = c.Close()
}

// A request is a method with its parameters.
type request struct {
	method string
	params []any
}

// A reply is the text of a request's result, or why there is none.
type reply struct {
	result []byte
	err    error
}

// call sends a request and returns the text of the result. If ctx ends first, the connection is dropped, since
// the reply may be half received. An errLost is a broken connection; other errors are the server's.
func (n *conn) call(ctx context.Context, method string, params []any) ([]byte, error) {
	r := n.calls(ctx, request{method, params})[0]
	return r.result, r.err
}

// calls is call for several requests sent together, at the cost of one round trip.
func (n *conn) calls(ctx context.Context, requests ...request) []reply {
	if len(requests) == 0 {
		return nil
	}
	replies := make([]reply, len(requests))
	fail := func(err error) []reply {
		for i := range replies {
			replies[i] = reply{err: err}
		}
		return replies
	}
	n.mu.Lock()
	if n.err != nil || n.retired {
		defer n.mu.Unlock()
		return fail(&errLost{err: cmp.Or(n.err, errReplaced)})
	}
	first := n.last + 1
	answers := make([]chan message, len(requests))
	for i := range requests {
		n.last++
		answers[i] = make(chan message, 1)
		n.pending[n.last] = answers[i]
	}
	n.mu.Unlock()

	var text []byte
	for i, r := range requests {
		one, err := json.Marshal(map[string]any{"id": first + i, "method": r.method, "params": r.params})
		if err != nil {
			n.forget(first, len(requests))
			return fail(fmt.Errorf("%s: %w", r.method, err))
		}
		text = append(text, one...)
	}
	stop := context.AfterFunc(ctx, func() { n.fail(ctx.Err()) })
	defer stop()
	if written, err := n.send(text); err != nil {
		// The server may have said why before it hung up.
		select {
		case <-n.done:
		case <-time.After(lastWords):
		}
		n.fail(err)
		return fail(&errLost{err: n.cause(), sent: written == len(text)})
	}
	for i, r := range requests {
		m, ok := <-answers[i]
		switch {
		case !ok:
			replies[i].err = &errLost{err: n.cause(), sent: true}
		case len(m.err) > 0 && string(m.err) != "null":
			replies[i].err = fmt.Errorf("%s: %w", r.method, remoteError(m.err))
		default:
			replies[i].result = m.result
		}
	}
	return replies
}

// forget drops consecutive requests that were not sent.
func (n *conn) forget(first, count int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for id := first; id < first+count; id++ {
		delete(n.pending, id)
	}
	n.rest()
}

func (n *conn) cause() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

func (n *conn) send(text []byte) (int, error) {
	n.write.Lock()
	defer n.write.Unlock()
	return n.net.Write(text)
}

func (n *conn) read() {
	defer close(n.done)
	var f framer
	chunk := make([]byte, 64<<10)
	for {
		count, err := n.net.Read(chunk)
		for part := chunk[:count]; len(part) > 0; {
			message, rest, err := f.add(part, n.limit)
			if err == nil && message != nil {
				err = n.handle(message)
			}
			if err != nil {
				n.fail(err)
				return
			}
			part = rest
		}
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)
		}
		if err != nil {
			n.fail(err)
			return
		}
	}
}

// handle processes a message.
func (n *conn) handle(o *object) error {
	var m message
	for _, member := range o.members {
		text := o.text[member.from:member.to]
		s := scanner{b: text}
		key, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.fail("a colon")
		}
		value := bytes.TrimSpace(text[s.i:])
		switch key {
		case "id":
			m.id = value
		case "method":
			m.method = value
		case "params":
			m.params = value
		case "result":
			m.result = value
		case "error":
			m.err = value
		}
	}
	if len(m.method) > 0 {
		if string(m.method) == `"echo"` && len(m.params) > 0 && len(m.id) > 0 {
			return n.echo(m)
		}
		n.mu.Lock()
		updated := n.updated
		n.mu.Unlock()
		if method := strings.Trim(string(m.method), `"`); updated != nil && (method == "update" || method == "update3") {
			updated(method, m.params)
		}
		return nil // otherwise an unrequested notification
	}
	id := scanner{b: m.id}
	number, err := id.integer()
	if err != nil {
		return fmt.Errorf("reply without a request: id %.40q", m.id)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if reply, ok := n.pending[int(number)]; ok {
		delete(n.pending, int(number))
		reply <- m
	}
	n.rest()
	return nil
}

func (n *conn) echo(m message) error {
	reply := fmt.Appendf(nil, `{"id":%s,"result":%s,"error":null}`, m.id, m.params)
	if err := n.net.SetWriteDeadline(time.Now().Add(echoTimeout)); err != nil {
		return err
	}
	if _, err := n.send(reply); err != nil {
		return err
	}
	return n.net.SetWriteDeadline(time.Time{})
}

// An object is the text of a JSON object and the positions of its members: each is parsed only once, by the
// code that knows its type.
type object struct {
	text    []byte
	members []span
}

// mostMembers exceeds the members of any object in a stream: a message, RFC 7047 section 4, or a dumped table.
const mostMembers = 16

// mostString exceeds any string that a daemon writes, in bytes: a match is the longest.
const mostString = 16 << 20

// large is a reply that needs a look at how much memory is left, in bytes.
const large = 1 << 20

// A span is a part of a text.
type span struct{ from, to int }

// A framer splits a stream into JSON objects, which have no separator.
type framer struct {
	object
	string  int // start of the string
	from    int // start of the member
	depth   int
	quoted  bool
	escaped bool
}

// add consumes part until an object is complete; it returns that and the rest.
func (f *framer) add(part []byte, limit int) (whole *object, rest []byte, err error) {
	for i := 0; i < len(part); i++ {
		if f.quoted && !f.escaped { // most of a reply is strings
			end := bytes.IndexByte(part[i:], '"')
			if escape := bytes.IndexByte(part[i:][:max(end, 0)], '\\'); escape >= 0 {
				end = escape
			} else if end < 0 {
				end = bytes.IndexByte(part[i:], '\\')
			}
			if end < 0 {
				if len(f.text)+len(part)-f.string > mostString {
					return nil, nil, fmt.Errorf("a string of more than %d bytes: %w", mostString, ErrTooLarge)
				}
				break
			}
			i += end
		}
		switch c := part[i]; {
		case f.escaped:
			f.escaped = false
		case f.quoted:
			f.quoted = c != '"'
			f.escaped = c == '\\'
		case f.depth == 0 && c != '{':
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return nil, nil, fmt.Errorf("%w: the peer does not speak OVSDB (%.20q)", errSyntax, part[i:])
			}
		case c == '"':
			f.quoted, f.string = true, len(f.text)+i
		case c == '{' || c == '[':
			if f.depth++; f.depth == 1 {
				f.from = len(f.text) + i + 1
			}
		case c == ',' && f.depth == 1:
			if f.cut(len(f.text) + i); len(f.members) == mostMembers {
				return nil, nil, fmt.Errorf("%w: an object of more than %d members", errSyntax, mostMembers)
			}
		case c == '}' || c == ']':
			if f.depth--; f.depth > 0 {
				continue
			}
			f.cut(len(f.text) + i)
			if err := f.take(part[:i+1], limit); err != nil {
				return nil, nil, err
			}
			whole = &object{f.text, f.members}
			*f = framer{}
			return whole, part[i+1:], nil
		}
	}
	return nil, nil, f.take(part, limit)
}

// cut ends a member.
func (f *framer) cut(at int) {
	f.members = append(f.members, span{f.from, at})
	f.from = at + 1
}

// take appends to the text.
func (f *framer) take(part []byte, limit int) error {
	need := len(f.text) + len(part)
	if need > limit {
		return fmt.Errorf("a reply of more than %d bytes: %w", limit, ErrNoMemory)
	}
	if need > cap(f.text) && len(f.text) > 0 {
		// The rows of a reply take about as much as its text.
		if need >= large && memory.Left() < int64(need) {
			return fmt.Errorf("a reply of %d bytes so far: %w", need, ErrNoMemory)
		}
		// Doubled, since append would copy a large reply more often.
		f.text = append(make([]byte, 0, min(2*need, limit)), f.text...)
	}
	f.text = append(f.text, part...)
	return nil
}

// remoteError is the error member of a reply or of one operation's result.
func remoteError(text []byte) error {
	var full struct {
		Error   string `json:"error"`
		Details string `json:"details"`
	}
	if json.Unmarshal(text, &full) == nil && full.Error != "" {
		if full.Details != "" {
			return fmt.Errorf("%s: %s", screen(full.Error), screen(full.Details))
		}
		return errors.New(screen(full.Error))
	}
	return errors.New(screen(string(text)))
}

// screen cuts a server's words to what a person reads, on one line.
func screen(text string) string {
	const most = 500
	if len(text) <= most {
		return escape.Line(text)
	}
	return escape.Line(strings.ToValidUTF8(text[:most], "")) + "…"
}
