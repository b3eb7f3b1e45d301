package flowtable

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decode/text"
	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// A Flow is a flow of a bridge, joined with what it was made from.
type Flow struct {
	Entry openflow.FlowEntry
	// Decoded is what the flow means; nil where the bridge is not OVN's.
	Decoded *text.Flow
	Match   text.Text // without the priority
	Actions text.Text
	Drop    bool // packets that match it go nowhere

	Packets, Bytes uint64
	Idle           time.Duration // since the last packet; negative: not known
	Rate           float64       // packets a second between two dumps; see [Rates]
}

// Parse reads the flows of a dump. The lines that are no flow are counted in
// skipped, but for the heads of replies.
func Parse(ctx context.Context, dump string, a *text.Annotator) (flows []Flow, skipped int) {
	for line := range strings.Lines(dump) {
		a.Learn(line)
	}
	a.Calibrate(ctx)
	var r openflow.Reader
	for line := range strings.Lines(dump) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.Contains(line, "actions=") {
			continue
		}
		e, err := r.FlowEntry(line)
		if err != nil {
			skipped++
			continue
		}
		flows = append(flows, newFlow(e, line, a.Line(ctx, line)))
	}
	return flows, skipped
}

func newFlow(e openflow.FlowEntry, line string, g text.Line) Flow {
	f := Flow{Entry: e, Decoded: g.Flow, Drop: drops(e.Actions), Idle: -1}
	if s := e.Stats; s != nil {
		f.Packets, f.Bytes = s.Packets, s.Bytes
		if s.IdleAge >= 0 {
			f.Idle = time.Duration(s.IdleAge) * time.Second
		}
	}
	actions := strings.Index(line, "actions=")
	match := strings.LastIndex(line[:actions], ", ") + len(", ")
	if priority := fmt.Sprintf("priority=%d", e.Priority); strings.HasPrefix(line[match:], priority) {
		match += len(priority)
		if match < actions && line[match] == ',' {
			match++
		}
	}
	end := len(strings.TrimRight(line[:actions], " "))
	f.Match = g.Part(line, min(match, end), end)
	f.Actions = g.Part(line, actions+len("actions="), len(line))
	return f
}

// drops reports whether actions send the packet nowhere: samples and notes do
// not.
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

// Does says in a few words what becomes of a packet that matches the flow.
func (f *Flow) Does() string {
	if f.Drop {
		return "drop"
	}
	words := []string{}
	for _, g := range f.Actions.Glosses {
		switch g.Field {
		case "output":
			words = append(words, "output "+g.Text)
		case "userdata":
			words = append(words, g.Text)
		case "group":
			words = append(words, g.Text)
		}
	}
	if len(words) > 0 {
		return strings.Join(slices.Compact(words), "; ")
	}
	return f.goesTo()
}

// goesTo says where a packet is sent on to by actions that say nothing more.
func (f *Flow) goesTo() string {
	for _, a := range slices.Backward(f.Entry.Actions) {
		switch a := a.(type) {
		case openflow.Resubmit:
			return "→ " + tableText(a.Table, f.Actions.Glosses)
		case openflow.GotoTable:
			return "→ " + tableText(a.Table, f.Actions.Glosses)
		case openflow.CT:
			if a.Table.Number >= 0 {
				return "conntrack, → " + tableText(a.Table, f.Actions.Glosses)
			}
		case openflow.Output:
			return "output " + a.String()
		case openflow.Controller:
			return "to the controller"
		case openflow.Clone:
			if into := f.into(); into != "" {
				return "→ " + into
			}
		case openflow.Conjunction:
			return fmt.Sprintf("clause %d of %d of conjunction %d", a.Clause, a.N, a.ID)
		}
	}
	return "sets fields"
}

// into is the datapath that the actions move the packet to.
func (f *Flow) into() string {
	for _, g := range f.Actions.Glosses {
		if g.Field == "metadata" {
			return g.Text
		}
	}
	return ""
}

func tableText(t openflow.Table, glosses []text.Gloss) string {
	number := t.String()
	for _, g := range slices.Backward(glosses) {
		if g.Field == "table" && g.Value == number {
			return number + " " + g.Text
		}
	}
	return number
}

// Order puts the flows in an order: "trouble" (those that drop packets first,
// the busiest of them first, then by table), "packets", "bytes", "rate", "idle"
// or "table".
func Order(flows []Flow, by string) {
	table := func(a, b Flow) int {
		return cmp.Or(cmp.Compare(max(a.Entry.Table.Number, 0), max(b.Entry.Table.Number, 0)),
			cmp.Compare(b.Entry.Priority, a.Entry.Priority), cmp.Compare(a.Match.Text, b.Match.Text))
	}
	first := map[string]func(a, b Flow) int{
		"trouble": func(a, b Flow) int {
			return cmp.Or(cmp.Compare(b.lost(), a.lost()), 0)
		},
		"packets": func(a, b Flow) int { return cmp.Compare(b.Packets, a.Packets) },
		"bytes":   func(a, b Flow) int { return cmp.Compare(b.Bytes, a.Bytes) },
		"rate":    func(a, b Flow) int { return cmp.Compare(b.Rate, a.Rate) },
		"idle":    func(a, b Flow) int { return cmp.Compare(a.Idle, b.Idle) },
	}[by]
	slices.SortStableFunc(flows, func(a, b Flow) int {
		if first == nil {
			return table(a, b)
		}
		return cmp.Or(first(a, b), table(a, b))
	})
}

// Orders are the orders that there are.
func Orders() []string { return []string{"trouble", "packets", "bytes", "rate", "idle", "table"} }

// lost is how many packets the flow dropped.
func (f *Flow) lost() uint64 {
	if f.Drop {
		return f.Packets
	}
	return 0
}

// Rates sets the rate of each flow that an earlier dump had too.
func Rates(before, now []Flow, elapsed time.Duration) {
	was := make(map[flowKey]uint64, len(before))
	for i := range before {
		was[before[i].key()] = before[i].Packets
	}
	for i := range now {
		if n, ok := was[now[i].key()]; ok && now[i].Packets >= n && elapsed > 0 {
			now[i].Rate = float64(now[i].Packets-n) / elapsed.Seconds()
		}
	}
}

type flowKey struct {
	table, priority int
	cookie          uint64
	match           string
}

func (f *Flow) key() flowKey {
	return flowKey{f.Entry.Table.Number, f.Entry.Priority, f.Entry.Cookie, f.Match.Text}
}
