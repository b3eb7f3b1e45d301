package ofctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// maxFlow bounds a flow's text.
const maxFlow = 1 << 16

// Names are the ports and tables of a bridge that a flow may name.
type Names struct{ Ports, Tables []string }

// ParseFlow reads a flow as ovs-ofctl add-flow takes it. An error is an [*Error], unless package openflow cannot read what
// ovs-ofctl takes.
func ParseFlow(text string, names Names) (openflow.FlowEntry, error) {
	understood, bad := read(text, names)
	if bad != nil {
		bad.Text = text
		return openflow.FlowEntry{}, bad
	}
	e, err := new(openflow.Reader).FlowEntry(understood)
	if err != nil {
		return e, fmt.Errorf("ovs-ofctl takes this flow, but it is not understood here: %w", err)
	}
	return e, nil
}

// A reader is what is known of a flow while its text is read.
type reader struct {
	names Names
	head  []string // what is not in the match
	match match
	table uint64 // anyTable: not given
	depth int    // of nested actions
	newer bool   // only OpenFlow 1.1 or later has what is before the actions
	later bool   // only OpenFlow 1.1 or later has an action; ovs-ofctl forgets that where a clone begins
}

// anyTable is the table of a flow without one.
const anyTable = 0xff

// read reads a flow and returns it as ovs-ofctl understands it, in a form that package openflow reads.
func read(text string, names Names) (string, *Error) {
	if len(text) > maxFlow {
		return "", &Error{Msg: "flow too long"}
	}
	head, actions, at, ok := cutActions(text)
	if !ok {
		return "", &Error{Offset: len(text), Msg: "must specify an action"}
	}
	r := &reader{names: names, table: anyTable}
	for _, a := range args(head, 0) {
		if err := r.term(a); err != nil {
			return "", err
		}
	}
	r.match.finish()
	list, err := r.actions(args(actions, at), instructions)
	if err == nil {
		err = r.consistent(list)
	}
	return strings.TrimPrefix(strings.Join(append(r.head, r.match.words()...), ",")+" actions="+texts(list), " "), err
}

// cutActions splits a flow at "actions=", or whatever else begins with "action".
func cutActions(text string) (head, actions string, at int, ok bool) {
	start := strings.Index(text, "action")
	if start < 0 {
		return "", "", 0, false
	}
	equals := strings.IndexByte(text[start:], '=')
	if equals < 0 {
		return "", "", 0, false
	}
	at = start + equals + 1
	return text[:start], text[at:], at, true
}

// term reads a word before the actions.
func (r *reader) term(a arg) *Error {
	if r.match.protocol(a.key) {
		return nil
	}
	switch a.key {
	case "eth", "no_readonly_table", "allow_hidden_fields":
		return nil
	case "send_flow_rem", "check_overlap":
		r.head = append(r.head, a.key)
		return nil
	case "reset_counts", "no_packet_counts", "no_byte_counts":
		r.head, r.newer = append(r.head, a.key), true
		return nil
	}
	if f, ok := field(a.key); ok {
		return r.condition(f, a)
	}
	if strings.Contains(a.key, "[") {
		return r.part(a)
	}
	if a.value == "" {
		return a.fault("field %s missing value", a.key)
	}
	return r.property(a)
}

// property reads what is not in the match.
func (r *reader) property(a arg) *Error {
	switch a.key {
	case "table":
		table, ok := r.tableNumber(a.value)
		if !ok {
			return a.bad("unknown table %q", a.value)
		}
		if r.table = table; table != anyTable {
			r.head = append(r.head, "table="+r.tableText(a.value, table))
		}
	case "priority", "idle_timeout", "hard_timeout", "importance":
		n, err := a.small(a.key, 16)
		r.head = append(r.head, fmt.Sprintf("%s=%d", a.key, n))
		return err
	case "cookie":
		if strings.Contains(a.value, "/") {
			return a.bad("flow additions cannot use a cookie mask")
		}
		n, err := a.number()
		r.head = append(r.head, fmt.Sprintf("cookie=%#x", n))
		return err
	case "duration", "n_packets", "n_bytes", "idle_age", "hard_age": // of a dump
	default:
		return a.fault("unknown keyword %s", a.key)
	}
	return nil
}

// consistent checks actions against the match, and that some version of OpenFlow has all of the flow.
func (r *reader) consistent(list []action) *Error {
	s := newState(r)
	if err := s.run(list); err != nil {
		return err
	}
	if s.inconsistent != nil && s.newer || r.match.internal {
		e := &Error{Msg: "actions are invalid with specified match (" + inconsistent + ")", Why: "no version of OpenFlow has all of it"}
		if s.inconsistent != nil {
			e.Offset, e.Length = s.inconsistent.at, s.inconsistent.length()
		}
		return e
	}
	return nil
}

// tableNumber reads a table: a decimal number or a name.
func (r *reader) tableNumber(s string) (uint64, bool) {
	if n, ok := decimal(s); ok {
		return n, n <= anyTable
	}
	return 0, slices.Contains(r.names.Tables, strings.Trim(s, `"`))
}

// tableText is a table as package openflow reads it.
func (r *reader) tableText(s string, number uint64) string {
	if _, ok := decimal(s); ok {
		return fmt.Sprint(number)
	}
	return s
}
