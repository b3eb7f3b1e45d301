package openflow

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DefaultPriority is the priority of a flow without one.
const defaultPriority = 32768

// A FlowEntry is a flow of a table: a line of ovs-ofctl dump-flows.
type FlowEntry struct {
	Cookie   uint64
	Table    Table // NoTable: the line has none, which means 0
	Priority int
	Match    Match
	Actions  Actions

	Stats                    *FlowStats // nil: the line has none (--no-stats)
	IdleTimeout, HardTimeout int        // seconds; 0: never
	Importance               int
	Flags                    []string // "send_flow_rem", "check_overlap"
}

// AddFlow adds a flow to a list as ovs-ofctl add-flow adds it to a switch: it takes the place of one of its table and priority with
// the same match. The list itself is not changed.
func AddFlow(list []FlowEntry, e FlowEntry) []FlowEntry {
	key := e.Match.Key()
	kept := slices.DeleteFunc(slices.Clone(list), func(old FlowEntry) bool {
		return max(old.Table.Number, 0) == max(e.Table.Number, 0) && old.Table.Name == e.Table.Name && old.Priority == e.Priority && old.Match.Key() == key
	})
	return append(kept, e)
}

// FlowStats are a flow's usage counters.
type FlowStats struct {
	Duration         time.Duration // since it was added
	Packets, Bytes   uint64
	IdleAge, HardAge int // seconds; -1: not printed
}

var flowFlags = []string{"send_flow_rem", "check_overlap", "reset_counts", "no_packet_counts", "no_byte_counts"}

// property reads a word that is not in the match.
func (e *FlowEntry) property(key, value string, hasValue bool) (known bool, err error) {
	if !hasValue {
		if slices.Contains(flowFlags, key) {
			e.Flags = append(e.Flags, key)
			return true, nil
		}
		return false, nil
	}
	switch key {
	case "cookie":
		err = read(&e.Cookie, value, 0)
	case "table", "table_id":
		e.Table, err = word{name: key}.table(value)
	case "priority":
		e.Priority, err = atoi(value)
	case "idle_timeout":
		e.IdleTimeout, err = atoi(value)
	case "hard_timeout":
		e.HardTimeout, err = atoi(value)
	case "importance":
		e.Importance, err = atoi(value)
	case "duration", "n_packets", "n_bytes", "idle_age", "hard_age":
		err = e.stat(key, value)
	default:
		return false, nil
	}
	return true, err
}

func (e *FlowEntry) stat(key, value string) (err error) {
	if e.Stats == nil {
		e.Stats = &FlowStats{IdleAge: -1, HardAge: -1}
	}
	s := e.Stats
	switch key {
	case "duration":
		if s.Duration, err = time.ParseDuration(value); err != nil {
			return fault(0, "bad duration "+strconv.Quote(value))
		}
	case "n_packets":
		err = read(&s.Packets, value, 0)
	case "n_bytes":
		err = read(&s.Bytes, value, 0)
	case "idle_age":
		s.IdleAge, err = atoi(value)
	case "hard_age":
		s.HardAge, err = atoi(value)
	}
	return err
}

func atoi(s string) (int, error) {
	n, err := number(s, 31, 0)
	return int(n), err
}

// String writes the line as ovs-ofctl(8) does, without the leading space.
func (e FlowEntry) String() string {
	var b strings.Builder
	add := func(ok bool, format string, args ...any) {
		if ok {
			fmt.Fprintf(&b, format, args...)
		}
	}
	s := e.Stats
	add(s != nil || e.Cookie != 0, "cookie=0x%x, ", e.Cookie)
	if s != nil {
		add(true, "duration=%s, ", seconds(s.Duration))
	}
	add(e.Table != NoTable, "table=%s, ", e.Table)
	if s != nil {
		add(true, "n_packets=%d, n_bytes=%d, ", s.Packets, s.Bytes)
	}
	add(e.IdleTimeout != 0, "idle_timeout=%d, ", e.IdleTimeout)
	add(e.HardTimeout != 0, "hard_timeout=%d, ", e.HardTimeout)
	for _, f := range e.Flags {
		add(true, "%s ", f)
	}
	add(e.Importance != 0, "importance=%d, ", e.Importance)
	if s != nil {
		add(s.IdleAge >= 0, "idle_age=%d, ", s.IdleAge)
		add(s.HardAge >= 0, "hard_age=%d, ", s.HardAge)
	}
	match := e.Match.String()
	if e.Priority != defaultPriority {
		match = strings.TrimSuffix(fmt.Sprintf("priority=%d,%s", e.Priority, match), ",")
	}
	add(match != "", "%s ", match)
	add(true, "actions=%s", e.Actions)
	return b.String()
}

// seconds writes a duration as ovs-ofctl does: with 0, 3 or 9 decimals.
func seconds(d time.Duration) string {
	whole, rest := d/time.Second, d%time.Second
	switch {
	case rest == 0:
		return fmt.Sprintf("%ds", whole)
	case rest%time.Millisecond == 0:
		return fmt.Sprintf("%d.%03ds", whole, rest/time.Millisecond)
	}
	return fmt.Sprintf("%d.%09ds", whole, rest)
}
