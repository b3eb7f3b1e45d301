package flowtable

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/desired"
	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// A Flow is a flow of a bridge with its meaning and its rate between two dumps.
type Flow struct {
	Entry openflow.FlowEntry
	// Decoded is what the flow means; nil if the bridge is not OVN's.
	Decoded *decode.Flow
	Match   string // without the priority
	Drop    bool   // matching packets go nowhere, or it judges so

	Packets, Bytes uint64
	Idle           time.Duration // since the last packet; negative: unknown
	Rate           float64       // packets per second between two dumps; see [Rates]

	// Difference is how the flow differs from those that ovn-controller would install, Desired; empty if it was not
	// compared. Of a flow that is missing, Entry is the first of those.
	Difference desired.Difference
	Desired    []*openflow.FlowEntry
}

// Parse parses the flows of a bridge from a dump. Lines that are not flows are counted in skipped, except reply
// headers.
func Parse(ctx context.Context, dump, bridge string, n *decode.Namer) (flows []Flow, skipped int) {
	var r openflow.Reader
	for line := range strings.Lines(dump) {
		if !strings.Contains(line, "actions=") {
			continue
		}
		e, err := r.FlowEntry(strings.TrimRight(line, "\r\n"))
		if err != nil {
			skipped++
			continue
		}
		n.Learn(decode.SeenIn(&e))
		flows = append(flows, newFlow(e))
	}
	n.Calibrate(ctx)
	for i := range flows {
		flows[i].decode(ctx, bridge, n)
	}
	return flows, skipped
}

// verdictDrop is how the flow of an ACL notes its verdict since OVN 23.06: one flow of a switch carries out those of all.
const verdictDrop = "reg8[17] = 1;"

// decode says what the flow means.
func (f *Flow) decode(ctx context.Context, bridge string, n *decode.Namer) {
	f.Decoded = n.Entry(ctx, bridge, &f.Entry)
	if d := f.Decoded; d != nil && d.Flow != nil && strings.HasSuffix(d.StageName(), "_eval") && strings.Contains(d.Flow.Actions, verdictDrop) {
		f.Drop = true
	}
}

func newFlow(e openflow.FlowEntry) Flow {
	f := Flow{Entry: e, Match: e.Match.String(), Drop: drops(e.Actions), Idle: -1}
	if s := e.Stats; s != nil {
		f.Packets, f.Bytes = s.Packets, s.Bytes
		if s.IdleAge >= 0 {
			f.Idle = time.Duration(s.IdleAge) * time.Second
		}
	}
	return f
}

// drops reports whether actions send the packet nowhere: samples and notes do not.
func drops(list openflow.Actions) bool {
	for _, a := range list {
		switch a := a.(type) {
		case openflow.Drop, openflow.Note:
		case openflow.Other:
			if a.Name != "sample" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// does returns in a few words what happens to a packet that matches the flow; names are those of its actions.
func (f *Flow) does(names []decode.Name) string {
	if f.Drop {
		return "drop"
	}
	var words []string
	for _, n := range names {
		switch n.Field {
		case "output":
			words = append(words, "output "+n.Name)
		case "userdata", "group":
			words = append(words, n.Name)
		}
	}
	if len(words) > 0 {
		return strings.Join(slices.Compact(words), "; ")
	}
	return f.goesTo(names)
}

// goesTo returns where a packet is sent on to by actions that do nothing else.
func (f *Flow) goesTo(names []decode.Name) string {
	for _, a := range slices.Backward(f.Entry.Actions) {
		switch a := a.(type) {
		case openflow.Resubmit:
			return "→ " + tableText(a.Table, names)
		case openflow.GotoTable:
			return "→ " + tableText(a.Table, names)
		case openflow.CT:
			if a.Table.Number >= 0 {
				return "conntrack, → " + tableText(a.Table, names)
			}
		case openflow.Output:
			return "output " + a.String()
		case openflow.Controller:
			return "to the controller"
		case openflow.Clone:
			if i := slices.IndexFunc(names, func(n decode.Name) bool { return n.Field == "metadata" }); i >= 0 {
				return "→ " + names[i].Name // the datapath that the packet moves to
			}
		case openflow.Conjunction:
			return fmt.Sprintf("clause %d of %d of conjunction %d", a.Clause, a.N, a.ID)
		}
	}
	return "sets fields"
}

func tableText(t openflow.Table, names []decode.Name) string {
	number := t.String()
	for _, n := range slices.Backward(names) {
		if n.Field == "table" && n.Value == number {
			return number + " " + n.Name
		}
	}
	return number
}

// Expect returns the flows of logical pipelines beside those that ovn-controller would install. Those of the logical flows
// that were not compiled are left out.
func Expect(ctx context.Context, flows []Flow, wanted []openflow.FlowEntry, problems []desired.Problem, bridge string, n *decode.Namer) []Flow {
	byEntry := make(map[*openflow.FlowEntry]*Flow, len(flows))
	installed := make([]openflow.FlowEntry, len(flows))
	for i := range flows {
		installed[i] = flows[i].Entry
		byEntry[&installed[i]] = &flows[i]
	}
	var all []Flow
	uncompiled := map[uint32]bool{}
	for _, p := range problems {
		if cookie, ok := decode.Prefix(p.Row.UUID); ok {
			uncompiled[cookie] = true
		}
	}
	for _, p := range desired.Compare(wanted, installed) {
		if p.Difference == desired.Foreign && uncompiled[uint32(p.Installed.Cookie)] {
			continue
		}
		var f Flow
		if p.Installed != nil {
			f = *byEntry[p.Installed]
		} else {
			f = newFlow(*p.Desired[0])
			f.decode(ctx, bridge, n)
		}
		f.Difference, f.Desired = p.Difference, p.Desired
		all = append(all, f)
	}
	return all
}

// Count counts compared flows by their difference.
func Count(flows []Flow, problems []desired.Problem) *Expected {
	e := &Expected{NotCompiled: []Uncompiled{}}
	for i := range flows {
		*map[desired.Difference]*int{desired.Equal: &e.Equal, desired.Edited: &e.Edited, desired.Missing: &e.Missing, desired.Foreign: &e.Foreign}[flows[i].Difference]++
	}
	for _, p := range problems {
		e.NotCompiled = append(e.NotCompiled, Uncompiled{string(p.Row.UUID), p.Err.Error()})
	}
	return e
}

// Order sorts flows: by "difference" (those that differ from what is expected first), by "trouble" (those that drop packets first, the busiest of them first, then by table), "packets",
// "bytes", "rate", "idle" or "table".
func Order(flows []Flow, by string) {
	table := func(a, b Flow) int {
		return cmp.Or(cmp.Compare(max(a.Entry.Table.Number, 0), max(b.Entry.Table.Number, 0)),
			cmp.Compare(b.Entry.Priority, a.Entry.Priority), cmp.Compare(a.Match, b.Match))
	}
	first := map[string]func(a, b Flow) int{
		"trouble":    func(a, b Flow) int { return cmp.Compare(b.lost(), a.lost()) },
		"difference": func(a, b Flow) int { return b.differs() - a.differs() },
		"packets":    func(a, b Flow) int { return cmp.Compare(b.Packets, a.Packets) },
		"bytes":      func(a, b Flow) int { return cmp.Compare(b.Bytes, a.Bytes) },
		"rate":       func(a, b Flow) int { return cmp.Compare(b.Rate, a.Rate) },
		"idle":       func(a, b Flow) int { return cmp.Compare(a.Idle, b.Idle) },
	}[by]
	slices.SortStableFunc(flows, func(a, b Flow) int {
		if first == nil {
			return table(a, b)
		}
		return cmp.Or(first(a, b), table(a, b))
	})
}

// differs is 1 for a flow that differs from what is expected.
func (f *Flow) differs() int {
	if f.Difference == "" || f.Difference == desired.Equal {
		return 0
	}
	return 1
}

// Orders returns the supported orders.
func Orders() []string { return []string{"trouble", "packets", "bytes", "rate", "idle", "table"} }

// lost returns how many packets the flow dropped.
func (f *Flow) lost() uint64 {
	if f.Drop {
		return f.Packets
	}
	return 0
}

// Rates sets the rate of each flow that was also in an earlier dump.
func Rates(before, now []Flow, elapsed time.Duration) {
	rates(before, now, elapsed, (*Flow).key, func(f *Flow) (uint64, *float64) { return f.Packets, &f.Rate })
}

// rates sets the rates of entries that two dumps have under the same key, from their packet counts.
func rates[T any, K comparable](before, now []T, elapsed time.Duration, key func(*T) K, counted func(*T) (packets uint64, rate *float64)) {
	was := make(map[K]uint64, len(before))
	for i := range before {
		was[key(&before[i])], _ = counted(&before[i])
	}
	for i := range now {
		packets, rate := counted(&now[i])
		if n, ok := was[key(&now[i])]; ok && packets >= n && elapsed > 0 {
			*rate = float64(packets-n) / elapsed.Seconds()
		}
	}
}

type flowKey struct {
	table, priority int
	cookie          uint64
	match           string
}

func (f *Flow) key() flowKey {
	return flowKey{f.Entry.Table.Number, f.Entry.Priority, f.Entry.Cookie, f.Match}
}
