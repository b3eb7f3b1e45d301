package ovsdb

import (
	"context"
	"encoding/json"
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

// suits reports whether the member is the leader or, if any member will do, is in touch with it.
func (s *session) suits(leader bool) bool {
	st := s.state()
	if leader {
		return st.Leader
	}
	return st.Connected
}

// lag records how far the member is behind the newest known index.
func (s *session) lag(index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Behind = max(0, index-s.status.Index)
}

// remember copies from an earlier session with the same member when that was in touch with its cluster.
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

// open connects to r and reads the schema and the member's state.
func (c *Client) open(ctx context.Context, r remote) (*session, error) {
	nc, err := r.dial(ctx, c.tls, c.config.Socket)
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

// learn asks for everything at once. An old server has no _Server; its error is ignored. _Server also has the
// schema, and cheaper, but still the old one after a conversion.
func (s *session) learn(ctx context.Context, db string) error {
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
	err := schema.err
	if err != nil {
		return err
	}
	if s.schema, err = parseSchema(schema.result); err != nil {
		return err
	}
	s.schema.Name = db
	if s.told = slices.Contains(served, serverDB); !s.told {
		s.note(Status{Leader: true, Connected: true})
		return nil
	}
	return s.stands(standing)
}

// serverDB describes the server itself; ovsdb-server(5). Open vSwitch before 2.9 lacks it, and cannot be
// clustered.
const serverDB = "_Server"

// member is a row of _Server about one database.
type member struct {
	Name      string   `ovsdb:"name"`
	Model     string   `ovsdb:"model"`
	Connected bool     `ovsdb:"connected"`
	Leader    bool     `ovsdb:"leader"`
	Index     Set[int] `ovsdb:"index"`
}

func (member) Table() string { return "Database" }

var memberColumns = []string{"_uuid", "name", "model", "connected", "leader", "index"}

// memberOf asks for a server's role in a database's cluster.
func memberOf(db string) request {
	return request{"transact", []any{serverDB, selectOp("Database", memberColumns, []any{[]any{"name", "==", db}})}}
}

// refresh asks for the member's role in its cluster, or only whether the server is there if it has no _Server.
func (s *session) refresh(ctx context.Context) error {
	if !s.told {
		_, err := s.conn.call(ctx, "echo", []any{})
		s.note(Status{Leader: true, Connected: true})
		return err
	}
	return s.stands(s.conn.calls(ctx, memberOf(s.schema.Name))[0])
}

// stands records the server's reply about its role in the cluster.
func (s *session) stands(said reply) error {
	if said.err != nil {
		return said.err
	}
	var rows []member
	k, err := newSink(&Query{Rows: &rows})
	if err != nil {
		return err
	}
	if err := readResults(said.result, []results{k}); err != nil {
		return err
	}
	k.store()
	st := Status{Leader: true, Connected: true}
	if len(rows) > 0 && rows[0].Model == "clustered" {
		m := rows[0]
		st = Status{Clustered: true, Leader: m.Leader && m.Connected, Connected: m.Connected, Index: m.Index.Get(), Stale: !m.Connected}
	}
	s.note(st)
	return nil
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

// read runs the queries in one transaction and returns the function that stores their rows. A cluster member's
// role comes in its next reply.
func (s *session) read(ctx context.Context, queries []*Query) (store func(), err error) {
	sinks, err := selects(s.schema, queries)
	if err != nil {
		return nil, err
	}
	params := []any{s.schema.Name}
	var asked []results
	for i, k := range sinks {
		if k == nil {
			continue
		}
		where, err := wireWhere(queries[i].Where)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", k.plan.table, err)
		}
		columns, sparse := k.plan.known(s.schema)
		if slices.ContainsFunc(queries[i].Where, named) {
			columns, sparse = append(columns, sparse...), nil
		}
		params = append(params, selectOp(k.plan.table, columns, where))
		asked = append(asked, k)
		for _, c := range sparse {
			params = append(params, selectOp(k.plan.table, []string{"_uuid", c}, append(slices.Clip(where), []any{c, "!=", k.plan.empty(c)})))
			asked = append(asked, &supplement{sink: k})
		}
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
		if err := s.stands(replies[len(replies)-1]); err != nil {
			return nil, err
		}
	}
	return func() { fill(sinks, queries) }, nil
}

// named reports whether a condition asks for a row by its UUID or name: to read all columns of one row costs the server less than to
// look for it again for each column that may be empty.
func named(c Condition) bool {
	return c.Function == "==" && (c.Column == "_uuid" || c.Column == "name" || c.Column == "logical_port")
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

// results parses the rows of one select.
type results interface {
	add(s *scanner, id UUID) error
	blame(err error, column string, id UUID) error
}

// readResults parses each result into its entry of asked.
func readResults(text []byte, asked []results) error {
	s := scanner{b: text, seen: internText(len(text))}
	n := 0
	err := s.array(func() error {
		if n >= len(asked) || s.peek() != '{' {
			raw, err := s.raw()
			if err != nil || string(raw) == "null" {
				return err
			}
			return remoteError(raw)
		}
		k := asked[n]
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
	if n < len(asked) {
		return fmt.Errorf("reply with %d results, want %d", n, len(asked))
	}
	return nil
}
