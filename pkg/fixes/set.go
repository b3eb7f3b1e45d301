package fixes

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// Set gives columns of one row new values. Previous values, guard and classic command follow from the row as read.
type Set struct {
	DB      string // OVN_Northbound, OVN_Southbound or Open_vSwitch
	Zone    string
	Row     ovsdb.Row // as read
	Columns Row       // the new values; nil removes a key
	What    string    // "let port web-1 be bound on any chassis"
	// Name is the row's name in the classic command; its UUID if empty.
	Name    string
	Guards  []Guard
	Classic []string // replaces the derived command, if people use another one
}

// Step returns the step that does it.
func (s Set) Step() Rows { return s.rows(Changed(s.Row, s.Columns)) }

// Back returns the step that reverts it within the same plan.
func (s Set) Back(what string) Rows {
	c := Changed(s.Row, s.Columns)
	c.Before, c.After = c.After, c.Before
	s.What = what
	return s.rows(c)
}

func (s Set) rows(c Change) Rows {
	if s.Classic == nil {
		s.Classic = []string{s.command(c)}
	}
	return Rows{DB: s.DB, Zone: s.Zone, What: s.What, Changes: []Change{c}, Guards: s.Guards, Classic: s.Classic}
}

// Changed returns the change that gives columns of a row, as read, new values. It panics for a column that the row's
// type lacks.
func Changed(row ovsdb.Row, columns Row) Change {
	c := Change{Table: row.Table(), Before: Row{}, After: columns}
	fields := maps.Collect(ovsdb.Columns(reflect.Indirect(reflect.ValueOf(row))))
	c.UUID = fields["_uuid"].Interface().(ovsdb.UUID)
	for name := range columns {
		column, key, one := strings.Cut(name, ":")
		field, ok := fields[column]
		switch {
		case !ok:
			panic(fmt.Sprintf("%T has no column %s", row, column))
		case !one:
			c.Before[name] = field.Interface()
		default:
			c.Before[name] = nil
			if value := field.MapIndex(reflect.ValueOf(key)); value.IsValid() {
				c.Before[name] = value.Interface()
			}
		}
	}
	return c
}

// command returns the ovs-vsctl(8), ovn-nbctl(8) or ovn-sbctl(8) command that makes a change.
func (s Set) command(c Change) string {
	name := s.Name
	if name == "" {
		name = string(c.UUID)
	}
	var set, remove []string
	for _, column := range slices.Sorted(maps.Keys(c.After)) {
		value := c.After[column]
		column, key, one := strings.Cut(column, ":")
		switch {
		case one && value == nil:
			remove = append(remove, Command(" -- remove %s %s %s %s", c.Table, name, column, quotedIn(key)))
		case one:
			set = append(set, Word(column+":"+quotedIn(key))+"="+Word(ofKey(value)))
		default:
			set = append(set, Word(column)+"="+Word(ofColumn(value)))
		}
	}
	text := strings.Join(remove, "")
	if len(set) > 0 {
		text = Command(" -- set %s %s ", c.Table, name) + strings.Join(set, " ") + text
	}
	return tools.Get()[s.DB] + strings.TrimPrefix(text, " --")
}

var tools = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{"Open_vSwitch": "ovs-vsctl", "OVN_Northbound": "ovn-nbctl", "OVN_Southbound": "ovn-sbctl"}
}}

// ofKey formats a key's value for these commands: all that follows the equals sign.
func ofKey(value any) string {
	text := fmt.Sprint(value)
	if text == "" || text[0] == '"' {
		return quoted(text)
	}
	return text
}

// ofColumn formats a column's value for these commands: a set has brackets unless it holds one value.
func ofColumn(value any) string {
	v := reflect.ValueOf(value)
	if v.Kind() != reflect.Slice {
		return quotedIn(fmt.Sprint(value))
	}
	var all []string
	for i := range v.Len() {
		all = append(all, quotedIn(fmt.Sprint(v.Index(i))))
	}
	if len(all) == 1 {
		return all[0]
	}
	return "[" + strings.Join(all, ",") + "]"
}

// quotedIn quotes a word that would not be read as one, ovs-vsctl(8).
func quotedIn(text string) string {
	if text == "" || strings.ContainsAny(text, ":=, []{}!<>\"\\\t\n") {
		return quoted(text)
	}
	return text
}

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}
