package fixes

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// MarshalJSON writes the values in OVSDB's notation, and null for no key.
func (r Row) MarshalJSON() ([]byte, error) {
	if r == nil {
		return []byte("null"), nil
	}
	out := make(map[string]*ovsdb.Value, len(r))
	for column, v := range r {
		if v == nil {
			out[column] = nil
			continue
		}
		value, err := ovsdb.NewValue(v)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column, err)
		}
		out[column] = &value
	}
	return json.Marshal(out)
}

// UnmarshalJSON gives each column an ovsdb.Value, or nil.
func (r *Row) UnmarshalJSON(text []byte) error {
	var in map[string]*ovsdb.Value
	if err := json.Unmarshal(text, &in); err != nil || in == nil {
		*r = nil
		return err
	}
	*r = make(Row, len(in))
	for column, v := range in {
		if v != nil {
			(*r)[column] = *v
		} else {
			(*r)[column] = nil
		}
	}
	return nil
}

// columns returns the columns of the rows, without keys, each once.
func columns(rows ...Row) []string {
	seen := map[string]bool{}
	for _, r := range rows {
		for name := range r {
			column, _, _ := strings.Cut(name, ":")
			seen[column] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// difference returns how a row that was read differs from r; empty if not at all.
func (r Row) difference(is ovsdb.Raw) string {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		column, key, one := strings.Cut(name, ":")
		have, ok := is[column]
		if one {
			have, ok = is[column].Key(key)
		}
		want, _ := r.value(name)
		if one && r[name] == nil {
			if ok {
				return fmt.Sprintf("%s is %s, and was absent", name, shown(name, have))
			}
			continue
		}
		if !ok || !have.Equal(want) {
			now := "absent"
			if ok {
				now = shown(name, have)
			}
			return fmt.Sprintf("%s is %s, and was %s", name, now, shown(name, want))
		}
	}
	return ""
}

func (r Row) value(name string) (ovsdb.Value, error) {
	v, err := ovsdb.NewValue(r[name])
	if err != nil {
		return "", fmt.Errorf("column %s: %w", name, err)
	}
	return v, nil
}

// ready determines what the journal must record before the change: the UUIDs of new rows, so that they are found again
// whatever happens.
func (s Rows) ready(ctx context.Context, t *Target) (Step, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	db, err := t.database(s.DB, s.Zone)
	if err != nil {
		return nil, err
	}
	s.Changes = slices.Clone(s.Changes)
	names := map[ovsdb.UUID]ovsdb.UUID{}
	for i, c := range s.Changes {
		if c.Before != nil || validUUID(c.UUID) {
			continue
		}
		if !s.Chosen {
			if s.Chosen, err = chooses(ctx, db, c.Table); err != nil {
				return nil, err
			}
		}
		if c.UUID == "" { // only In refers to it
			s.Changes[i].UUID = newUUID()
		} else {
			names[c.UUID] = newUUID()
		}
	}
	for i, c := range s.Changes {
		if s.Changes[i], err = c.renamed(names); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func chooses(ctx context.Context, db database, table string) (bool, error) {
	c, ok := db.(interface {
		ChoosesUUIDs(context.Context, string) (bool, error)
	})
	if !ok {
		return false, nil
	}
	return c.ChoosesUUIDs(ctx, table)
}

// renamed returns the change with some UUIDs replaced: new rows' in place of their names in the transaction, or the
// names in place of the UUIDs. Its values are in OVSDB's notation.
func (c Change) renamed(names map[ovsdb.UUID]ovsdb.UUID) (Change, error) {
	c.UUID = cmp.Or(names[c.UUID], c.UUID)
	c.In = slices.Clone(c.In)
	for i, ref := range c.In {
		c.In[i].UUID = cmp.Or(names[ref.UUID], ref.UUID)
	}
	var pairs []string
	for from, to := range names {
		for _, id := range []ovsdb.UUID{from, to} {
			value, err := ovsdb.NewValue(id)
			if err != nil {
				return Change{}, err
			}
			pairs = append(pairs, string(value))
		}
	}
	var err error
	replacer := strings.NewReplacer(pairs...)
	if c.Before, err = c.Before.replaced(replacer); err != nil {
		return Change{}, err
	}
	c.After, err = c.After.replaced(replacer)
	return c, err
}

// replaced returns the values in OVSDB's notation, after replacements.
func (r Row) replaced(by *strings.Replacer) (Row, error) {
	if r == nil {
		return nil, nil
	}
	out := make(Row, len(r))
	for column, v := range r {
		if v == nil {
			out[column] = nil
			continue
		}
		value, err := r.value(column)
		if err != nil {
			return nil, err
		}
		out[column] = ovsdb.Value(by.Replace(string(value)))
	}
	return out, nil
}

// check refuses what must not be planned.
func (s Rows) check() error {
	for _, c := range s.Changes {
		if c.Before == nil && c.After == nil {
			return fmt.Errorf("%s %s: a change without a row before and after", c.Table, c.UUID)
		}
		for _, row := range []Row{c.Before, c.After} {
			key, err := row.secret()
			if err != nil {
				return err
			}
			if key != "" {
				return Refuse("change it with the classic commands",
					"%s %.8s holds a secret in %s, which ovnctl neither shows nor keeps", c.Table, c.UUID, key)
			}
		}
	}
	return nil
}

// secret returns the first column or key that holds a secret; empty if none.
func (r Row) secret() (string, error) {
	for _, name := range slices.Sorted(maps.Keys(r)) {
		v, err := r.value(name)
		if r[name] == nil {
			v, err = "", nil
		}
		if err != nil {
			return "", err
		}
		if key := secretIn(name, v); key != "" {
			return key, nil
		}
	}
	return "", nil
}

// look reads all rows in one transaction.
func (s Rows) look(ctx context.Context, t *Target) (stage, string, error) {
	rows, guards, err := s.read(ctx, t)
	if err != nil {
		return moved, "", err
	}
	before, after := true, true
	why := ""
	for i, c := range s.Changes {
		if d := c.is(c.Before, rows[i]); d != "" {
			before = false
			why = fmt.Sprintf("%s %.8s: %s", c.Table, c.UUID, d)
		}
		if c.is(c.After, rows[i]) != "" {
			after = false
		}
	}
	switch {
	case after:
		return done, "", nil
	case !before:
		return moved, why, nil
	}
	for i, g := range s.Guards {
		c := Change{Table: g.Table, UUID: g.UUID}
		want := g.Columns
		if want == nil {
			want = Row{}
		}
		if d := c.is(want, guards[i]); d != "" {
			return moved, fmt.Sprintf("%s %.8s: %s", g.Table, g.UUID, d), nil
		}
	}
	return untouched, "", nil
}

// is returns how the rows with c's UUID differ from one side of c; empty if not at all.
func (c Change) is(want Row, rows []ovsdb.Raw) string {
	switch {
	case want == nil && len(rows) == 0:
		return ""
	case want == nil:
		return "the row exists"
	case len(rows) == 0:
		return "the row is gone"
	}
	d := ""
	for _, row := range rows {
		if d = want.difference(row); d == "" {
			return ""
		}
	}
	return d
}

func (s Rows) read(ctx context.Context, t *Target) (rows, guards [][]ovsdb.Raw, err error) {
	r, err := t.reader(s.DB, s.Zone)
	if err != nil {
		return nil, nil, err
	}
	db, ok := r.(rawReader)
	if !ok {
		return nil, nil, fmt.Errorf("%s at %s is not a server", s.DB, r.Origin())
	}
	var lookups []ovsdb.Lookup
	for _, c := range s.Changes {
		l := ovsdb.Lookup{Table: c.Table, Columns: columns(c.Before, c.After), Where: row(c.UUID)}
		if c.Before == nil && !s.Chosen { // the server chose its UUID
			l.Where = nil
			for name := range c.After {
				l.Where = append(l.Where, ovsdb.Where(name, "==", c.After[name]))
			}
		}
		lookups = append(lookups, l)
	}
	for _, g := range s.Guards {
		lookups = append(lookups, ovsdb.Lookup{Table: g.Table, Columns: columns(g.Columns), Where: row(g.UUID)})
	}
	all, err := db.Raw(ctx, lookups...)
	if err != nil {
		return nil, nil, err
	}
	return all[:len(s.Changes)], all[len(s.Changes):], nil
}

// A rawReader reads rows in OVSDB's notation.
type rawReader interface {
	Raw(ctx context.Context, lookups ...ovsdb.Lookup) ([][]ovsdb.Raw, error)
}

func row(id ovsdb.UUID) []ovsdb.Condition { return []ovsdb.Condition{ovsdb.Where("_uuid", "==", id)} }

func (s Rows) do(ctx context.Context, t *Target) error {
	changes := s.Changes
	if !s.Chosen {
		var err error
		if changes, err = named(changes, func(c Change) bool { return c.Before == nil }); err != nil {
			return err
		}
	}
	var ops []ovsdb.Operation
	for _, g := range s.Guards {
		ops = append(ops, holds(g.Table, g.UUID, g.Columns)...)
	}
	for _, c := range changes {
		ops = append(ops, c.operations(c.Before, c.After)...)
	}
	return s.transact(ctx, t, ops, done)
}

func (s Rows) undo(ctx context.Context, t *Target) error {
	db, err := t.database(s.DB, s.Zone)
	if err != nil {
		return err
	}
	changes := slices.Clone(s.Changes)
	chosen := true
	for i, c := range changes {
		switch {
		case c.After == nil:
			if chosen, err = chooses(ctx, db, c.Table); err != nil {
				return err
			}
		case c.Before == nil && !s.Chosen: // which row is it?
			rows, _, err := s.read(ctx, t)
			if err != nil {
				return err
			}
			if len(rows[i]) != 1 {
				return fmt.Errorf("%s: %d rows equal the inserted one", c.Table, len(rows[i]))
			}
			changes[i].UUID = rows[i][0].UUID()
		}
	}
	if !chosen {
		if changes, err = named(changes, func(c Change) bool { return c.After == nil }); err != nil {
			return err
		}
	}
	slices.Reverse(changes)
	var ops []ovsdb.Operation
	for _, c := range changes {
		ops = append(ops, c.operations(c.After, c.Before)...)
	}
	return s.transact(ctx, t, ops, untouched)
}

// named returns the changes with names in place of some rows' UUIDs, for servers that choose a new row's UUID
// themselves.
func named(changes []Change, which func(Change) bool) ([]Change, error) {
	names := map[ovsdb.UUID]ovsdb.UUID{}
	for i, c := range changes {
		if which(c) {
			names[c.UUID] = ovsdb.Named(fmt.Sprintf("row%d", i))
		}
	}
	out := slices.Clone(changes)
	for i, c := range out {
		var err error
		if out[i], err = c.renamed(names); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// transact sends the operations once. After a lost reply it reads the rows to find out what happened.
func (s Rows) transact(ctx context.Context, t *Target, ops []ovsdb.Operation, want stage) error {
	db, err := t.database(s.DB, s.Zone)
	if err != nil {
		return err
	}
	ops = append([]ovsdb.Operation{ovsdb.Comment("ovnctl: " + s.What)}, ops...)
	_, err = db.Transact(ctx, ops...)
	if !errors.Is(err, ovsdb.ErrUnknownOutcome) {
		return err
	}
	var at stage
	var unread error
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostReply)
	defer cancel()
	lost := wait(within, 100*time.Millisecond, func() (bool, error) {
		at, _, unread = s.look(within, t)
		return at == want && unread == nil, nil
	})
	switch {
	case lost == nil:
		return nil
	case unread != nil:
		return fmt.Errorf("%w; the rows could not be read back: %w", err, unread)
	}
	return fmt.Errorf("%w; the rows were read back and are %s", err, at)
}

// lostReply is how long the rows are reread after a lost reply: the server may still be working.
const lostReply = 3 * time.Second

// operations change a row from one state to another, guarded by the first.
func (c Change) operations(from, to Row) []ovsdb.Operation {
	switch {
	case from == nil:
		ops := []ovsdb.Operation{ovsdb.Insert(c.Table, c.UUID, to)}
		for _, ref := range c.In {
			if validUUID(ref.UUID) {
				ops = append(ops, holds(ref.Table, ref.UUID, nil)...)
				ops = append(ops, c.mutate(ref, "insert"))
			}
		}
		return ops
	case to == nil:
		ops := holds(c.Table, c.UUID, from)
		for _, ref := range c.In {
			ops = append(ops, c.mutate(ref, "delete"))
		}
		return append(ops, ovsdb.Delete(c.Table, row(c.UUID)...))
	}
	ops := holds(c.Table, c.UUID, from)
	whole := map[string]any{}
	var keys []ovsdb.Mutation
	set := Row{} // inserting leaves an existing key as it is, so these are checked afterwards
	for _, name := range slices.Sorted(maps.Keys(to)) {
		column, key, one := strings.Cut(name, ":")
		if !one {
			whole[name] = to[name]
			continue
		}
		if old := from[name]; old != nil {
			keys = append(keys, ovsdb.Mutation{Column: column, Mutator: "delete", Value: pair(key, old)})
		}
		if to[name] != nil {
			keys = append(keys, ovsdb.Mutation{Column: column, Mutator: "insert", Value: pair(key, to[name])})
			set[name] = to[name]
		}
	}
	if len(whole) > 0 {
		ops = append(ops, ovsdb.Update(c.Table, whole, row(c.UUID)...))
	}
	if len(keys) > 0 {
		ops = append(ops, ovsdb.Mutate(c.Table, keys, row(c.UUID)...))
		ops = append(ops, holds(c.Table, c.UUID, set)...)
	}
	return ops
}

// mutate inserts a reference to c's row, or deletes it.
func (c Change) mutate(ref Ref, mutator string) ovsdb.Operation {
	return ovsdb.Mutate(ref.Table, []ovsdb.Mutation{{Column: ref.Column, Mutator: mutator, Value: ovsdb.Set[ovsdb.UUID]{c.UUID}}}, row(ref.UUID)...)
}

// holds makes a transaction fail unless the row exists with these columns. It cannot
// wait for the absence of a key: operations checks keys after inserting them.
func holds(table string, id ovsdb.UUID, columns Row) []ovsdb.Operation {
	exists := map[string]any{"_uuid": id}
	ops := []ovsdb.Operation{ovsdb.Wait(table, []string{"_uuid"}, []map[string]any{exists}, row(id)...)}
	whole, names := map[string]any{}, []string{}
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		column, key, one := strings.Cut(name, ":")
		switch {
		case !one:
			whole[name] = columns[name]
			names = append(names, name)
		case columns[name] != nil:
			where := append(row(id), ovsdb.Where(column, "includes", pair(key, columns[name])))
			ops = append(ops, ovsdb.Wait(table, []string{"_uuid"}, []map[string]any{exists}, where...))
		}
	}
	if len(names) > 0 {
		ops = append(ops, ovsdb.Wait(table, names, []map[string]any{whole}, row(id)...))
	}
	return ops
}

// pair returns a map with one key, in OVSDB's notation.
func pair(key string, v any) ovsdb.Value {
	value, err := ovsdb.NewValue(v)
	if err != nil {
		return ovsdb.Value(`["map",[]]`)
	}
	quoted, _ := json.Marshal(key)
	return ovsdb.Value(`["map",[[` + string(quoted) + `,` + string(value) + `]]]`)
}

func validUUID(id ovsdb.UUID) bool { return len(id) == 36 }

// newUUID returns a random UUID, RFC 9562 version 4.
func newUUID() ovsdb.UUID {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return ovsdb.UUID(fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]))
}
