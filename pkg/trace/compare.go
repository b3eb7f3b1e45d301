package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A lookup is one table lookup on the actual or the expected path.
type lookup struct {
	hop   *journey.Hop
	step  *journey.Step
	place decode.Place // in the logical pipeline; outside it, Pipeline is empty
	after *packet.Flow // the packet at the next table of any kind; nil if there is none
	into  string       // the datapath of that table
}

// same reports whether two lookups are in the same table of the same datapath. The chassis may differ: a distributed
// router's ingress may end, and its egress begin, on different ones.
func (l lookup) same(other lookup) bool {
	return l.hop.Place() == other.hop.Place() && l.place.Pipeline == other.place.Pipeline && l.place.Table == other.place.Table
}

// samePacket reports whether both lookups see the same packet.
func (l lookup) samePacket(other lookup) bool {
	return !slices.ContainsFunc(append([]string{"ct_state", "ct_mark", "tp_src", "tp_dst"}, carried...), func(name string) bool {
		f, ok := packet.Lookup(name)
		return ok && l.step.Before.Get(f) != other.step.Before.Get(f)
	})
}

// row returns the logical flow that was hit; empty if none was.
func (l lookup) row() string {
	if l.step.Logical == nil {
		return ""
	}
	return string(l.step.Logical.UUID)
}

// compare finds where the actual path diverges from the expected one, and why.
func (t *tracer) compare(ctx context.Context, actual, expected *journey.Walk) []journey.Disagreement {
	var found []suspicion
	var all []journey.Disagreement
	suspect := func(list ...suspicion) {
		for _, s := range list {
			if !slices.ContainsFunc(found, func(f suspicion) bool { return f.Disagreement == s.Disagreement }) {
				found = append(found, s)
			}
		}
	}
	for _, pair := range pairs(actual, expected) {
		if s := t.divergence(ctx, pair[0], pair[1]); s != nil {
			suspect(*s)
		}
	}
	for _, d := range actual.Directions() {
		sure, flows := t.neighbours(ctx, d)
		suspect(flows...)
		for _, x := range sure {
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	all = append(all, t.lasting(ctx, found)...)
	for _, d := range t.behind(ctx) {
		known := slices.ContainsFunc(all, func(x journey.Disagreement) bool { return x.Kind == d.Kind && x.Node == d.Node })
		if !known { // the rows tell more
			all = append(all, d)
		}
	}
	return all
}

// pairs matches the directions of two walks that carry the same packet.
func pairs(actual, expected *journey.Walk) [][2]*journey.Direction {
	var all [][2]*journey.Direction
	add := func(a, b *journey.Direction) {
		if a != nil && b != nil {
			all = append(all, [2]*journey.Direction{a, b})
		}
	}
	if len(actual.Branches) == 0 && len(expected.Branches) == 0 {
		add(actual.Forward, expected.Forward)
		add(actual.Reply, expected.Reply)
		return all
	}
	for _, a := range actual.Branches {
		i := slices.IndexFunc(expected.Branches, func(b journey.Branch) bool { return a.Backend == b.Backend && slices.Equal(a.Through, b.Through) })
		if i >= 0 {
			add(a.Forward, expected.Branches[i].Forward)
			add(a.Reply, expected.Branches[i].Reply)
		}
	}
	return all
}

// stages returns a direction's lookups in the logical pipelines.
func (t *tracer) stages(d *journey.Direction) []lookup {
	var all []lookup
	last := false // the previous step was the very last
	for i := range d.Hops {
		h := &d.Hops[i]
		v := t.viewNamed(h.Node)
		for j := range h.Steps {
			s := &h.Steps[j]
			if last {
				all[len(all)-1].after, all[len(all)-1].into = s.Before, h.Place()
			}
			last = false
			l := lookup{hop: h, step: s}
			switch {
			case s.Table >= 0 && v != nil && h.Kind != "bridge":
				l.place = v.decoder.Calibration.Table(s.Table, decode.Kind(h.Kind))
			case s.Table < 0 && s.Logical != nil:
				l.place = decode.Place{Pipeline: decode.Pipeline(s.Pipeline), Table: s.Logical.TableID}
			}
			if l.place.Pipeline != "" {
				all, last = append(all, l), true
			}
		}
	}
	return all
}

// divergence returns where two paths diverge; nil if they do not or no fault shows there.
func (t *tracer) divergence(ctx context.Context, actual, expected *journey.Direction) *suspicion {
	a, b := t.stages(actual), t.stages(expected)
	n := 0
	for n < len(a) && n < len(b) && a[n].same(b[n]) && a[n].row() == b[n].row() {
		n++
	}
	if n == len(b) { // the logical flows do nothing more
		if expected.Verdict.Outcome == journey.Delivered {
			return t.lostOutside(ctx, actual)
		}
		return nil
	}
	var s *suspicion
	switch {
	case n < len(a) && a[n].same(b[n]):
		if a[n].samePacket(b[n]) { // else an earlier flow changed it, or it differed from the start
			s = t.otherFlow(ctx, a[n], b[n])
		}
	case n > 0:
		s = t.otherTarget(ctx, a[n-1], b[n-1], b[n])
	}
	if s == nil {
		s = t.otherPacket(ctx, a[:min(n+1, len(a))], b)
	}
	if s == nil && (n == len(a) || n == 0) {
		s = t.lostOutside(ctx, actual)
	}
	return s
}

// otherFlow handles a table where a different flow than the logical one was hit, or none.
func (t *tracer) otherFlow(ctx context.Context, a, b lookup) *suspicion {
	v, row := t.viewNamed(a.hop.Node), b.step.Logical
	flows := v.flowsOf(ctx)
	cookie, ok := decode.Prefix(row.UUID)
	if !ok || flows == nil {
		return nil
	}
	hit := v.entry(flows, a)
	if hit != nil && a.step.Logical == nil {
		s := t.extraFlow(a, b.step.Stage, hit, "a flow without a row in the Southbound is hit instead of logical flow "+rowText(row))
		s.Row = "Logical_Flow " + short(row.UUID)
		return s
	}
	made := func(flows []openflow.FlowEntry) []openflow.FlowEntry { return ofRow(flows, cookie, a) }
	matches := func(f openflow.FlowEntry) bool {
		return f.Priority == row.Priority && f.Match.Matches(a.step.Before) || slices.ContainsFunc(f.Actions, isConjunction)
	}
	all := made(flows)
	if slices.ContainsFunc(all, matches) {
		return nil // it is installed: why another was hit is unknown
	}
	if hit != nil && hit.Priority == row.Priority {
		return nil // of flows with equal matches, ovn-controller installs one, with the cookie of any of their rows
	}
	s := t.suspect(journey.MissingFlow, a, b.step.Stage)
	s.rows = []ovsdb.UUID{row.UUID}
	s.Row = "Logical_Flow " + short(row.UUID)
	s.Sentence = fmt.Sprintf("logical flow %s has no flow cookie=0x%x in table %d of %s for this packet", rowText(row), cookie, a.step.Table, v.names.Bridge)
	if len(all) == 1 {
		s.Kind, s.Flow = journey.EditedFlow, flowText(&all[0])
		s.Sentence = fmt.Sprintf("the OpenFlow flow of logical flow %s does not match what the logical flow does", rowText(row))
	}
	s.in = func(flows []openflow.FlowEntry) bool { return !slices.ContainsFunc(made(flows), matches) }
	return s
}

// extraFlow returns the suspicion that the flow of a lookup was made from no row.
func (t *tracer) extraFlow(l lookup, stage string, hit *openflow.FlowEntry, sentence string) *suspicion {
	s := t.suspect(journey.ExtraFlow, l, stage)
	s.Flow, s.alien, s.Sentence = flowText(hit), hit.Cookie, sentence
	s.in = still(hit, func(*openflow.FlowEntry) bool { return true })
	return s
}

// editedFlow returns the suspicion that a lookup's flow is not what its logical flow produced, as wrong reports.
func (t *tracer) editedFlow(l lookup, hit *openflow.FlowEntry, sentence string, wrong func(*openflow.FlowEntry) bool) *suspicion {
	s := t.suspect(journey.EditedFlow, l, l.step.Stage)
	s.rows = []ovsdb.UUID{l.step.Logical.UUID}
	s.Row, s.Flow, s.Sentence = "Logical_Flow "+short(l.step.Logical.UUID), flowText(hit), sentence
	s.in = still(hit, wrong)
	return s
}

// still returns a function that reports whether a flow is still in a table and still wrong.
func still(hit *openflow.FlowEntry, wrong func(*openflow.FlowEntry) bool) func([]openflow.FlowEntry) bool {
	key := identity(hit)
	return func(flows []openflow.FlowEntry) bool {
		return slices.ContainsFunc(flows, func(f openflow.FlowEntry) bool { return identity(&f) == key && wrong(&f) })
	}
}

// otherTarget handles a flow after which the paths diverge: a is the actual lookup, next where the logical flow leads.
func (t *tracer) otherTarget(ctx context.Context, a, b, next lookup) *suspicion {
	v, row := t.viewNamed(a.hop.Node), a.step.Logical
	if row == nil || v == nil {
		return nil
	}
	hit := v.entry(v.flowsOf(ctx), a)
	if hit == nil || !plain(hit.Actions) {
		return nil
	}
	table := 0 // where it must lead; 0: anywhere
	if next.hop.Place() == b.hop.Place() && next.place.Pipeline == b.place.Pipeline {
		table = a.step.Table + next.place.Table - b.place.Table
	}
	leads := func(f *openflow.FlowEntry) bool {
		return slices.ContainsFunc(f.Actions, func(x openflow.Action) bool { return leadsTo(x, table) })
	}
	if leads(hit) {
		return nil
	}
	sentence := fmt.Sprintf("the OpenFlow flow of logical flow %s does not lead where the logical flow does: %s", rowText(row), row.Actions)
	return t.editedFlow(a, hit, sentence, func(f *openflow.FlowEntry) bool { return !leads(f) })
}

// otherPacket finds a flow that changed the packet differently than its logical flow, which only sets fields.
func (t *tracer) otherPacket(ctx context.Context, a, b []lookup) *suspicion {
	for i := range min(len(a), len(b)) {
		row := a[i].step.Logical
		if row == nil || !a[i].same(b[i]) || a[i].row() != b[i].row() || a[i].after == nil || b[i].after == nil || !onlySets(row.Actions) {
			continue
		}
		if a[i].into != b[i].into { // into another zone, the logical path skips the transit switch there
			continue
		}
		for _, name := range kept(row.Actions) {
			f, ok := packet.Lookup(name)
			if !ok || a[i].step.Before.Get(f) != b[i].step.Before.Get(f) || a[i].after.Get(f) == b[i].after.Get(f) {
				continue
			}
			v := t.viewNamed(a[i].hop.Node)
			hit := v.entry(v.flowsOf(ctx), a[i])
			if hit == nil {
				return nil
			}
			actions := hit.Actions.String()
			sentence := fmt.Sprintf("the OpenFlow flow of logical flow %s does not set %s as the logical flow does: %s", rowText(row), name, row.Actions)
			return t.editedFlow(a[i], hit, sentence, func(f *openflow.FlowEntry) bool { return f.Actions.String() == actions })
		}
	}
	return nil
}

// kept returns the fields that must be the same in both walks after a logical flow. After output, the egress pipeline
// sees only one register: the output port, unless that is a group.
func kept(actions string) []string {
	switch {
	case !strings.Contains(actions, "output;"):
		return carried
	case strings.Contains(actions, "outport = ") && !strings.Contains(actions, `outport = "_MC_`):
		return []string{"eth_src", "eth_dst", "reg15"}
	}
	return nil
}

// carried lists the fields that mean the same to logical flows and to OpenFlow.
var carried = []string{
	"eth_src", "eth_dst", "nw_src", "nw_dst", "ipv6_src", "ipv6_dst", "nw_ttl", "reg15",
	"reg0", "reg1", "reg2", "reg3", "reg4", "reg5", "reg6", "reg7", "reg8", "reg9",
}

// onlySets reports whether a logical flow's actions only assign constants and go to the next table.
func onlySets(actions string) bool {
	return !strings.ContainsAny(strings.ReplaceAll(actions, "next(", ""), "({")
}

// lostOutside handles a packet that ends in ovn-controller's own tables, before or after the pipelines.
func (t *tracer) lostOutside(ctx context.Context, actual *journey.Direction) *suspicion {
	if len(actual.Hops) == 0 || actual.Verdict.Outcome != journey.Dropped || actual.Verdict.Because.Place != "" {
		return nil
	}
	h := &actual.Hops[len(actual.Hops)-1]
	v := t.viewNamed(h.Node)
	if v == nil || len(h.Steps) == 0 || v.bridgeOf(*h) != v.names.Bridge {
		return nil
	}
	last := lookup{hop: h, step: &h.Steps[len(h.Steps)-1]}
	flows := v.flowsOf(ctx)
	place := v.decoder.Calibration.Table(last.step.Table, decode.Kind(h.Kind))
	if flows == nil || place.Physical == "" {
		return nil
	}
	if hit := v.entry(flows, last); hit != nil && !takesRest(hit) {
		_, byPort := hit.Match.Field("in_port")
		if hit.Cookie == 0 && !(last.step.Table == 0 && byPort) || hit.Cookie != 0 && len(v.names.Rows(hit.Cookie, place.Physical)) > 0 {
			return nil
		}
		return t.extraFlow(last, last.step.Stage, hit, "a flow without a row in the Southbound ends the path")
	}
	p := t.graph.PortByName(t.portText(v, last.step.Before.Uint("metadata"), last.step.Before.Uint("reg15")))
	if last.step.Table == 0 {
		if port, iface := t.bridgePort(v.Name, v.names.Bridge, last.step.Before.InPort().Number); port != nil && iface != nil {
			p = t.graph.PortByName(port.LogicalPort)
		}
	}
	if p == nil || p.Chassis != v.SystemID {
		return nil
	}
	s := t.suspect(journey.MissingFlow, last, last.step.Stage)
	s.Row = "Port_Binding " + p.Name
	s.Sentence = fmt.Sprintf("port %s is bound here and has no flow in table %d of %s for this packet", p.Name, last.step.Table, v.names.Bridge)
	s.in = func(flows []openflow.FlowEntry) bool {
		return !slices.ContainsFunc(flows, func(f openflow.FlowEntry) bool {
			return max(f.Table.Number, 0) == last.step.Table && !takesRest(&f) && f.Match.Matches(last.step.Before)
		})
	}
	return s
}
