package ovsdb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A session is a connection to one server whose schema is known.
type session struct {
	remote remote
	conn   *conn
	schema *schema
	told   bool // the server has a _Server database

	mu     sync.Mutex
	status Status
	seen   time.Time // when the member was last seen in touch with its cluster
}

// suits reports whether the member is the leader, or in touch with it if any
// member will do.
func (s *session) suits(leader bool) bool {
	st := s.state()
	if leader {
		return st.Leader
	}
	return st.Connected
}

// lag notes how far the member is behind the newest index of any.
func (s *session) lag(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Behind = max(0, index-s.status.Index)
}

// remember takes over from an earlier session with the same member when that
// was in touch with its cluster.
func (s *session) remember(old *session) {
	if s.remote != old.remote {
		return
	}
	old.mu.Lock()
	seen := old.seen
	old.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen.IsZero() {
		s.seen = seen
	}
}

// open connects to r and learns the schema and the member's state.
func (c *Client) open(ctx context.Context, r remote) (*session, error) {
	nc, err := r.dial(ctx, c.tls)
	if err != nil {
		return nil, err
	}
	s := &session{remote: r, conn: newConn(breakable(nc), c.config.MaxReply)}
	if err := s.learn(ctx, c.config.DB); err != nil {
		s.conn.close()
		return nil, err
	}
	return s, nil
}

// learn asks what the database is and how the server stands: _Server has both in one row, its text of the schema ready
// to be sent.
func (s *session) learn(ctx context.Context, db string) error {
	m, err := readMember(s.conn.calls(ctx, memberOf(db, "schema"))[0])
	var lost *errLost
	switch {
	case errors.As(err, &lost):
		return err
	case err != nil || m == nil || m.Schema.Get() == "":
		return s.learnApart(ctx, db)
	}
	s.told = true
	return s.knows(db, []byte(m.Schema.Get()), m)
}

// learnApart is learn with a server of old, which has no _Server, or with one that has no such row, or no schema in it:
// the member of a cluster that it joins. What a server of old says of _Server is not looked at.
func (s *session) learnApart(ctx context.Context, db string) error {
	replies := s.conn.calls(ctx, request{"list_dbs", []any{}}, request{"get_schema", []any{db}}, memberOf(db))
	dbs, schema, standing := replies[0], replies[1], replies[2]
	if dbs.err != nil {
		return dbs.err
	}
	var served []string
	if err := json.Unmarshal(dbs.result, &served); err != nil {
		return fmt.Errorf("list_dbs: %w", err)
	}
	if !slices.Contains(served, db) {
		return fmt.Errorf("%w, it has %s", ErrNotServed, strings.Join(served, ", "))
	}
	if schema.err != nil {
		return schema.err
	}
	var m *member
	var err error
	if s.told = slices.Contains(served, serverDB); s.told {
		if m, err = readMember(standing); err != nil {
			return err
		}
	}
	return s.knows(db, schema.result, m)
}

// knows takes over what was learned.
func (s *session) knows(db string, schema []byte, m *member) (err error) {
	if s.schema, err = parseSchema(schema); err != nil {
		return err
	}
	s.schema.Name = db
	s.stands(m)
	return nil
}

// serverDB tells of the server itself; ovsdb-server(5). Open vSwitch before
// 2.9 lacks it, and cannot be clustered.
const serverDB = "_Server"

// member is a row of _Server about one database.
type member struct {
	Name      string      `ovsdb:"name"`
	Model     string      `ovsdb:"model"`
	Connected bool        `ovsdb:"connected"`
	Leader    bool        `ovsdb:"leader"`
	Index     Set[int]    `ovsdb:"index"`
	Schema    Set[string] `ovsdb:"schema"` // if it was asked for
}

func (member) Table() string { return "Database" }

// memberOf asks how a server stands in the cluster of a database, and for more of its row.
func memberOf(db string, more ...string) request {
	columns := append([]string{"_uuid", "name", "model", "connected", "leader", "index"}, more...)
	return request{"transact", []any{serverDB, selectOp("Database", columns, []any{[]any{"name", "==", db}})}}
}

// readMember reads the answer to memberOf: nil if the server has no such database.
func readMember(said reply) (*member, error) {
	if said.err != nil {
		return nil, said.err
	}
	var rows []member
	k, err := newSink(&Query{Rows: &rows})
	if err != nil {
		return nil, err
	}
	if err := readResults(said.result, []*sink{k}); err != nil {
		return nil, err
	}
	k.store()
	if len(rows) == 0 {
		return nil, nil
	}
	return &rows[0], nil
}

// refresh asks how the member stands in its cluster, or whether the server is
// there if it cannot tell.
func (s *session) refresh(ctx context.Context) error {
	if !s.told {
		_, err := s.conn.call(ctx, "echo", []any{})
		s.note(Status{Leader: true, Connected: true})
		return err
	}
	m, err := readMember(s.conn.calls(ctx, memberOf(s.schema.Name))[0])
	if err != nil {
		return err
	}
	s.stands(m)
	return nil
}

// stands notes what a server said of how it stands in its cluster; one that has no row of it stands alone.
func (s *session) stands(m *member) {
	st := Status{Leader: true, Connected: true}
	if m != nil && m.Model == "clustered" {
		st = Status{Clustered: true, Leader: m.Leader && m.Connected, Connected: m.Connected, Index: m.Index.Get(), Stale: !m.Connected}
	}
	s.note(st)
}

func (s *session) note(st Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st.Connected {
		s.seen = time.Now()
	} else {
		st.Behind = s.status.Behind
	}
	s.status = st
}

func (s *session) state() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	if st.Stale && !s.seen.IsZero() {
		st.Age = time.Since(s.seen)
	}
	return st
}

// read runs the queries in one transaction and returns what gives them their rows. A
// member of a cluster says with its next answer how it stands there.
func (s *session) read(ctx context.Context, queries []*Query) (store func(), err error) {
	sinks, err := selects(s.schema, queries)
	if err != nil {
		return nil, err
	}
	params := []any{s.schema.Name}
	var asked []*sink
	for i, k := range sinks {
		if k == nil {
			continue
		}
		where, err := wireWhere(queries[i].Where)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", k.plan.table, err)
		}
		params = append(params, selectOp(k.plan.table, k.plan.known(s.schema), where))
		asked = append(asked, k)
	}
	requests := []request{{"transact", params}}
	if len(asked) == 0 {
		requests = nil
	}
	clustered := s.state().Clustered
	if clustered {
		requests = append(requests, memberOf(s.schema.Name))
	}
	replies := s.conn.calls(ctx, requests...)
	if len(asked) > 0 {
		if replies[0].err != nil {
			return nil, replies[0].err
		}
		if err := readResults(replies[0].result, asked); err != nil {
			return nil, err
		}
	}
	if clustered {
		m, err := readMember(replies[len(replies)-1])
		if err != nil {
			return nil, err
		}
		s.stands(m)
	}
	return func() { fill(sinks, queries) }, nil
}

func selectOp(table string, columns []string, where []any) map[string]any {
	return map[string]any{"op": "select", "table": table, "columns": columns, "where": where}
}

func wireWhere(conditions []Condition) ([]any, error) {
	where := make([]any, 0, len(conditions))
	for _, c := range conditions {
		v, err := wire(c.Value)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Column, err)
		}
		where = append(where, []any{c.Column, c.Function, v})
	}
	return where, nil
}

// readResults gives each sink the rows of its result.
func readResults(text []byte, sinks []*sink) error {
	s := scanner{b: text, seen: map[string]string{}}
	n := 0
	err := s.array(func() error {
		if n >= len(sinks) || s.peek() != '{' {
			raw, err := s.raw()
			if err != nil || string(raw) == "null" {
				return err
			}
			return remoteError(raw)
		}
		k := sinks[n]
		n++
		start := s.i
		found := false
		err := s.object(nil, func(key string) error {
			switch key {
			case "rows":
				found = true
				return s.array(func() error { return k.add(&s, "") })
			case "error":
				raw := scanner{b: s.b, i: start}
				whole, err := raw.raw()
				if err != nil {
					return err
				}
				return k.blame(remoteError(whole), "", "")
			}
			return s.skip()
		})
		if err == nil && !found {
			return k.blame(fmt.Errorf("reply without rows"), "", "")
		}
		return err
	})
	if err != nil {
		return err
	}
	if n < len(sinks) {
		return fmt.Errorf("reply with %d results, want %d", n, len(sinks))
	}
	return nil
}
