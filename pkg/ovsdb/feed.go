package ovsdb

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ovnctl/ovnctl/pkg/memory"
)

// A Feed is the changes of a database as one server sends them, in order, until the connection breaks or the server
// stops to be the right one: it no longer leads its cluster, or is cut off from it. The next Feed continues where this
// one ended, if the server still knows that state.
type Feed struct {
	client  *Client
	session *session // of its own
	schema  []byte
	batches chan Batch
	stop    context.CancelFunc
}

// A Batch is what one transaction changed, or several if the reader lags.
type Batch struct {
	// Rows has the notation of update2, ovsdb-server(7): {TABLE:{UUID:{"initial|insert|modify|delete":ROW}}}.
	Rows []byte
	// Last identifies the state after the batch.
	Last string
	// Whole means that the rows are all rows, not the changes since a state.
	Whole bool
	// Time is when the batch came, however long the reader lags.
	Time time.Time
}

const (
	// backlog is how many batches wait for the reader before the server has to.
	backlog = 64
	// probe is how often a silent server is asked whether it is there.
	probe = 5 * time.Second
)

var (
	errDeposed = errors.New("the server no longer leads its cluster")
	errCutOff  = errors.New("the server is cut off from its cluster")
)

// Feed connects to the leader or, if there is none, to the server in use. Close it.
func (c *Client) Feed(ctx context.Context) (*Feed, error) {
	ctx, cancel := context.WithTimeout(ctx, max(c.config.Timeout, patience))
	defer cancel()
	s, err := c.leader(ctx)
	if err != nil {
		if s, err = c.reach(ctx, nil, false); err != nil {
			return nil, err
		}
	}
	own, err := c.open(ctx, s.remote)
	if err != nil {
		return nil, c.failure(s.remote.text, err)
	}
	f := &Feed{client: c, session: own, batches: make(chan Batch, backlog), stop: func() {}}
	if f.schema, err = own.conn.call(ctx, "get_schema", []any{own.schema.Name}); err != nil {
		own.conn.close()
		return nil, c.failure(s.remote.text, err)
	}
	return f, nil
}

// Between two connections that break at once: at first firstPause, then twice as long each time, up to longPause.
const (
	firstPause = 100 * time.Millisecond
	longPause  = 5 * time.Second
)

// Follow calls follow with a Feed, and with another whenever that has failed, until the context ends; it pauses between
// them. Follow says with began that the Feed's Start has succeeded. Lost is told why a connection broke, once until the
// next has begun. It is an error if the first does not begin, or the client is closed.
func (c *Client) Follow(ctx context.Context, follow func(f *Feed, began func()) error, lost func(error)) error {
	ever, pause := false, firstPause
	for {
		f, err := c.Feed(ctx)
		if err == nil {
			err = follow(f, func() { ever, pause = true, firstPause })
			f.Close()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case !ever || errors.Is(err, ErrClosed):
			return err
		case pause == firstPause:
			lost(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, longPause)
	}
}

// Schema returns the server's schema, RFC 7047 section 3.2, as of the connection.
func (f *Feed) Schema() []byte { return f.schema }

// Origin returns the remote of the server.
func (f *Feed) Origin() string { return f.session.remote.text }

// Clustered reports whether the server is a member of a cluster, and whether it leads that.
func (f *Feed) Clustered() (clustered, leader bool) {
	st := f.session.state()
	return st.Clustered, st.Leader
}

// Start asks for rows and their changes: those since a state, or all rows if the server does not know that.
func (f *Feed) Start(ctx context.Context, since string, tables ...Lookup) (Batch, error) {
	return f.start(ctx, since, nil, tables)
}

// StartChanges asks for the changes from now on alone: the server sends no rows that stay as they are.
func (f *Feed) StartChanges(ctx context.Context, tables ...Lookup) error {
	_, err := f.start(ctx, "", map[string]bool{"initial": false}, tables)
	return err
}

// start is Start for the kinds of changes in selected, RFC 7047 section 4.1.5; nil: all.
func (f *Feed) start(ctx context.Context, since string, selected map[string]bool, tables []Lookup) (Batch, error) {
	if memory.Left() <= 0 {
		return Batch{}, f.failure(ErrNoMemory)
	}
	requests := map[string]any{}
	for _, t := range tables {
		where, err := wireWhere(t.Where)
		if err != nil {
			return Batch{}, err
		}
		request := map[string]any{"columns": t.Columns}
		if len(where) > 0 {
			request["where"] = where
		}
		if selected != nil {
			request["select"] = selected
		}
		requests[t.Table] = []any{request}
	}
	if since == "" {
		since = "00000000-0000-0000-0000-000000000000"
	}
	alive, stop := context.WithCancel(context.Background())
	f.stop = stop
	f.session.conn.mu.Lock()
	f.session.conn.updated = func(method string, params []byte) { f.updated(alive, method, params) }
	f.session.conn.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, max(f.client.config.Timeout, patience))
	defer cancel()
	asked := []request{{"monitor_cond_since", []any{f.session.schema.Name, feedID, requests, since}}}
	if f.session.state().Clustered {
		role := map[string]any{"Database": map[string]any{"columns": []string{"name", "leader", "connected"}}}
		asked = append(asked, request{"monitor", []any{serverDB, roleID, role}})
	}
	replies := f.session.conn.calls(ctx, asked...)
	for _, r := range replies {
		if r.err != nil {
			return Batch{}, f.failure(r.err)
		}
	}
	var found bool
	var b Batch
	if err := elements(replies[0].result, &found, &b.Last, (*json.RawMessage)(&b.Rows)); err != nil {
		return Batch{}, f.failure(err)
	}
	b.Whole, b.Time = !found, time.Now()
	if len(replies) > 1 {
		f.role(replies[1].result)
	}
	go f.probe(alive)
	return b, nil
}

const (
	feedID = "rows"
	roleID = "role"
)

// elements parses an array of fixed length.
func elements(text []byte, into ...any) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	if len(parts) != len(into) {
		return fmt.Errorf("array of %d elements, want %d", len(parts), len(into))
	}
	for i, part := range parts {
		if err := json.Unmarshal(part, into[i]); err != nil {
			return err
		}
	}
	return nil
}

// updated handles a notification. It blocks while the reader lags, so that the server merges later changes.
func (f *Feed) updated(alive context.Context, method string, params []byte) {
	var id string
	if method == "update" {
		var rows json.RawMessage
		if elements(params, &id, &rows) == nil && id == roleID {
			f.role(rows)
		}
		return
	}
	b := Batch{Time: time.Now()}
	if err := elements(params, &id, &b.Last, (*json.RawMessage)(&b.Rows)); err != nil {
		f.session.conn.fail(err)
		return
	}
	b.Rows = bytes.Clone(b.Rows)
	select {
	case f.batches <- b:
	case <-alive.Done():
	}
}

// role breaks the connection when another member is to be asked: rows of _Server's Database say so.
func (f *Feed) role(rows []byte) {
	var tables map[string]map[string]struct {
		New *struct {
			Name              string
			Leader, Connected bool
		}
	}
	if json.Unmarshal(rows, &tables) != nil {
		return
	}
	for _, row := range tables["Database"] {
		switch {
		case row.New == nil || row.New.Name != f.session.schema.Name:
		case !row.New.Connected:
			f.session.conn.fail(errCutOff)
		case !row.New.Leader && f.session.state().Leader:
			f.session.conn.fail(errDeposed)
		}
	}
}

// probe breaks the connection to a server that does not reply: a host without power says no goodbye.
func (f *Feed) probe(alive context.Context) {
	tick := time.NewTicker(probe)
	defer tick.Stop()
	for {
		select {
		case <-alive.Done():
			return
		case <-f.session.conn.done:
			return
		case <-tick.C:
		}
		if len(f.batches) > 0 {
			continue // the reader is behind, and the echo with it
		}
		ctx, cancel := context.WithTimeout(alive, max(f.client.config.Timeout, probe))
		_, _ = f.session.conn.call(ctx, "echo", []any{})
		cancel()
	}
}

// Next returns the next changes. The error of a broken connection is an *Error.
func (f *Feed) Next(ctx context.Context) (Batch, error) {
	select {
	case b := <-f.batches:
		return b, nil
	default:
	}
	select {
	case b := <-f.batches:
		return b, nil
	case <-ctx.Done():
		return Batch{}, ctx.Err()
	case <-f.session.conn.done:
	}
	select {
	case b := <-f.batches:
		return b, nil
	default:
		return Batch{}, f.failure(f.session.conn.cause())
	}
}

func (f *Feed) failure(err error) error { return f.client.failure(f.session.remote.text, err) }

// Close ends the connection.
func (f *Feed) Close() {
	f.stop()
	f.session.conn.close()
}
