package ovsdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
)

// An Operation is one step of a transaction, RFC 7047 section 5.2. Create it with Insert, Update, Mutate,
// Delete, Wait or Comment.
type Operation struct {
	op        string
	table     string
	uuid      UUID
	row       map[string]any
	rows      []map[string]any
	columns   []string
	mutations []Mutation
	where     []Condition
	until     string
	comment   string
}

// A Mutation changes a column in place: Mutator is +=, -=, *=, /=, %=, insert
// or delete.
type Mutation struct {
	Column  string
	Mutator string
	Value   any
}

// Insert adds a row. The id is empty, Named for other operations to refer to, or the row's UUID (Open vSwitch
// 3.0 and later).
func Insert(table string, id UUID, row map[string]any) Operation {
	return Operation{op: "insert", table: table, uuid: id, row: row}
}

// Update sets columns of the rows for which all conditions hold. Like Mutate and Delete it needs a condition,
// so that no whole table is changed by accident.
func Update(table string, row map[string]any, where ...Condition) Operation {
	return Operation{op: "update", table: table, row: row, where: where}
}

// Mutate changes columns of the rows for which all conditions hold.
func Mutate(table string, mutations []Mutation, where ...Condition) Operation {
	return Operation{op: "mutate", table: table, mutations: mutations, where: where}
}

// Delete removes the rows for which all conditions hold.
func Delete(table string, where ...Condition) Operation {
	return Operation{op: "delete", table: table, where: where}
}

// Wait guards the transaction: unless the matching rows have exactly these columns now, nothing is done and
// the error is ErrGuard. Empty rows require that none match.
func Wait(table string, columns []string, rows []map[string]any, where ...Condition) Operation {
	return Operation{op: "wait", table: table, columns: columns, rows: rows, where: where, until: "=="}
}

// Comment leaves a line in the server's database file.
func Comment(text string) Operation { return Operation{op: "comment", comment: escape.Line(text)} }

// Result is what one operation did.
type Result struct {
	UUID  UUID // of the row that Insert added
	Count int  // rows that Update, Mutate or Delete touched
}

var (
	// ErrGuard is a Wait that did not hold: the database has changed.
	ErrGuard = errors.New("the database has changed meanwhile, nothing was done")
	// ErrConstraint is a value that the schema does not allow.
	ErrConstraint = errors.New("constraint violation")
	// ErrReference is a reference to a missing row, or the deletion of a row that is referred to.
	ErrReference = errors.New("referential integrity violation")
)

// An OperationError is a transaction that the server refused; nothing was done.
type OperationError struct {
	Index   int    // of the operation, or their number if the commit failed
	Op      string // insert
	Table   string
	Name    string // "constraint violation", as RFC 7047 has it
	Details string // the server's words
}

func (e *OperationError) Error() string {
	text := e.Name
	if errors.Is(e, ErrGuard) {
		text = ErrGuard.Error()
	}
	if e.Op != "" {
		text = fmt.Sprintf("%s in %s: %s", e.Op, e.Table, text)
	}
	if e.Details != "" {
		text += ": " + e.Details
	}
	return screen(text)
}

// Is matches ErrGuard, ErrConstraint and ErrReference.
func (e *OperationError) Is(target error) bool {
	switch target {
	case ErrGuard:
		return e.Op == "wait" && e.Name == "timed out"
	case ErrConstraint:
		return e.Name == "constraint violation"
	case ErrReference:
		return e.Name == "referential integrity violation"
	}
	return false
}

// Transact runs the operations as one transaction, on the leader of a cluster.
// It is sent once. An error that is ErrUnknownOutcome means that the reply was
// lost: read the rows back. After any other error nothing was changed.
func (c *Client) Transact(ctx context.Context, ops ...Operation) ([]Result, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	remote, text, err := c.write(ctx, ops)
	var lost *errLost
	if errors.As(err, &lost) && !lost.sent && ctx.Err() == nil {
		remote, text, err = c.write(ctx, ops) // the connection had broken before
	}
	var results []Result
	if err == nil {
		results, err = opResults(text, ops)
	}
	if err != nil {
		return nil, c.failure(remote, err)
	}
	return results, nil
}

// write sends the operations to the leader and returns its name and reply.
func (c *Client) write(ctx context.Context, ops []Operation) (remote string, reply []byte, err error) {
	s, err := c.leader(ctx)
	if err != nil {
		return c.config.Remotes, nil, err
	}
	params := []any{s.schema.Name}
	for i, op := range ops {
		text, err := op.wire()
		if err != nil {
			return s.remote.text, nil, fmt.Errorf("operation %d: %w", i, err)
		}
		params = append(params, text)
	}
	reply, err = s.conn.call(ctx, "transact", params)
	var lost *errLost
	if errors.As(err, &lost) && lost.sent {
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	return s.remote.text, reply, err
}

// leader returns a session with the current leader.
func (c *Client) leader(ctx context.Context) (*session, error) {
	s, err := c.reach(ctx, nil, true)
	if err != nil {
		return nil, err
	}
	first, cancel := c.first(ctx)
	defer cancel()
	if err := s.refresh(first); err == nil && s.suits(true) {
		return s, nil
	}
	return c.reach(ctx, s, true)
}

// wire returns the operation as encoding/json writes it.
func (o Operation) wire() (map[string]any, error) {
	text := map[string]any{"op": o.op}
	if o.op == "comment" {
		text["comment"] = o.comment
		return text, nil
	}
	if o.op == "abort" {
		return text, nil
	}
	text["table"] = o.table
	if o.op != "insert" {
		if len(o.where) == 0 && o.op != "wait" {
			return nil, fmt.Errorf("%s in %s: no condition", o.op, o.table)
		}
		where, err := wireWhere(o.where)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", o.op, o.table, err)
		}
		text["where"] = where
	}
	var err error
	switch o.op {
	case "insert":
		if name, ok := strings.CutPrefix(string(o.uuid), namedPrefix); ok {
			text["uuid-name"] = name
		} else if o.uuid != "" {
			text["uuid"] = string(o.uuid)
		}
		text["row"], err = wireRow(o.row)
	case "update":
		text["row"], err = wireRow(o.row)
	case "mutate":
		text["mutations"], err = wireMutations(o.mutations)
	case "wait":
		rows := make([]any, len(o.rows))
		for i, row := range o.rows {
			if rows[i], err = wireRow(row); err != nil {
				break
			}
		}
		text["rows"], text["columns"], text["until"], text["timeout"] = rows, o.columns, o.until, 0
	}
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", o.op, o.table, err)
	}
	return text, nil
}

func wireMutations(mutations []Mutation) ([]any, error) {
	out := make([]any, len(mutations))
	for i, m := range mutations {
		v, err := wire(m.Value)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", m.Column, err)
		}
		out[i] = []any{m.Column, m.Mutator, v}
	}
	return out, nil
}

func asOperationError(err error) (*OperationError, bool) {
	return errors.AsType[*OperationError](err)
}

// opResults parses the reply: a result for each operation, null for those not reached, and one more if the
// commit failed.
func opResults(text []byte, ops []Operation) ([]Result, error) {
	var results []Result
	var failed *OperationError
	s := scanner{b: text}
	err := s.array(func() error {
		if s.peek() != '{' {
			return s.skip()
		}
		var r Result
		var name, details string
		err := s.object(nil, func(key string) (err error) {
			switch key {
			case "uuid":
				r.UUID, err = s.uuid()
			case "count":
				r.Count, err = s.int()
			case "error":
				name, err = s.str()
			case "details":
				details, err = s.str()
			default:
				err = s.skip()
			}
			return err
		})
		if err == nil && name != "" && failed == nil {
			failed = &OperationError{Index: len(results), Name: name, Details: details}
			if i := len(results); i < len(ops) {
				failed.Op, failed.Table = ops[i].op, ops[i].table
			}
		}
		results = append(results, r)
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	case failed != nil:
		return nil, failed
	case len(results) < len(ops):
		return nil, fmt.Errorf("%w: %d results for %d operations", ErrUnknownOutcome, len(results), len(ops))
	}
	return results, nil
}
