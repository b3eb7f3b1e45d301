package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A suspicion is a disagreement between two paths. To count, it must show in the flow table and last.
type suspicion struct {
	journey.Disagreement
	view *nodeView
	rows []ovsdb.UUID // of its logical flows, which must still be in the Southbound
	// alien is a cookie that no row of the datapath has; 0: none.
	alien    uint64
	datapath ovsdb.UUID
	in       func([]openflow.FlowEntry) bool // whether the flow table shows it
}

// suspect returns a suspicion about a lookup on a node.
func (t *tracer) suspect(kind journey.DisagreementKind, l lookup, stage string) *suspicion {
	v := t.viewNamed(l.hop.Node)
	if v == nil {
		return nil
	}
	s := &suspicion{view: v}
	if d := v.names.Datapath(l.step.Before.Uint("metadata")); d != nil {
		s.datapath = d.UUID
	}
	s.Kind, s.Node, s.Datapath, s.Stage = kind, v.Name, l.hop.Datapath, stage
	s.Repair = "ovnctl fix restart-controller  # on " + v.Name
	return s
}

// settling is how long a disagreement must last: flows are installed some time after their rows.
const settling = time.Second

// lasting takes a second sample of what two paths showed and keeps what persists.
func (t *tracer) lasting(ctx context.Context, found []suspicion) []journey.Disagreement {
	wait := settling
	switch {
	case t.standing != nil:
		found, wait = t.standing.lasting(found), 0
	case t.cluster.Offline():
		wait = 0 // a capture does not change
	}
	if len(found) == 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(wait):
	}
	var all []journey.Disagreement
	again := map[*nodeView][]openflow.FlowEntry{}
	for _, s := range found {
		if _, ok := again[s.view]; !ok {
			again[s.view] = s.view.readFlows(ctx)
		}
		if flows := again[s.view]; flows == nil || !s.in(flows) || !t.stillIn(ctx, s) {
			continue
		}
		t.blameController(ctx, &s)
		all = append(all, s.Disagreement)
	}
	return all
}

// stillIn reports whether the Southbound still has a suspicion's rows and still none with its alien cookie.
func (t *tracer) stillIn(ctx context.Context, s suspicion) bool {
	south := t.southbound(s.view.Zone)
	if south == nil {
		return false
	}
	for _, id := range s.rows {
		rows, err := ovsdb.Find[sb.LogicalFlow](ctx, south, ovsdb.Where("_uuid", "==", id))
		if err != nil || len(rows) == 0 {
			return false
		}
	}
	if s.alien == 0 {
		return true
	}
	if known, err := decode.ReadLogical(ctx, south); err != nil || len(known.Rows(s.alien, "")) > 0 {
		return false
	}
	if s.datapath == "" {
		return true
	}
	return decode.NewLogicalFlows(south).Lacks(ctx, decode.FlowKey{Datapath: s.datapath, Cookie: s.alien})
}

// blameController checks whether a node's flows differ because its ovn-controller does not work.
func (t *tracer) blameController(ctx context.Context, s *suspicion) {
	v := s.view
	if v.controller == nil {
		v.controller = v.askController(ctx)
	}
	if c := v.controller; c.why != "" {
		s.Kind = journey.ControllerBehind
		s.Sentence = fmt.Sprintf("ovn-controller %s, so its flows are out of date: %s", c.why, s.Sentence)
		s.Repair = c.repair + "  # on " + s.Node
	}
}

// A controllerState is why an ovn-controller does not work, and the repair; empty if it works.
type controllerState struct{ why, repair string }

func (v *nodeView) askController(ctx context.Context) *controllerState {
	status, err := v.Host.Control(ctx, "ovn-controller", "connection-status")
	if err != nil {
		return &controllerState{"does not reply", "ovnctl fix start-controller"}
	}
	if status = strings.TrimSpace(status); status != "connected" {
		return &controllerState{"is " + status, "ovs-vsctl get Open_vSwitch . external_ids:ovn-remote"}
	}
	paused, err := v.Host.Control(ctx, "ovn-controller", "debug/status")
	if err == nil && strings.TrimSpace(paused) == "paused" {
		return &controllerState{"is paused", "ovn-appctl -t ovn-controller debug/resume"}
	}
	return &controllerState{}
}

// readFlows reads the flows of a node's integration bridge; nil if they cannot be read.
func (v *nodeView) readFlows(ctx context.Context) []openflow.FlowEntry {
	text, err := v.Host.Dump(ctx, v.names.Bridge, node.Flows)
	if err != nil {
		return nil
	}
	dump, _ := openflow.ParseDumpLines(text) // a line that cannot be read costs only itself
	return openflow.Entries[openflow.FlowEntry](dump)
}

// flowsOf returns the same flows, read once.
func (v *nodeView) flowsOf(ctx context.Context) []openflow.FlowEntry {
	if v.flows == nil {
		v.flows = v.readFlows(ctx)
	}
	return v.flows
}

// entry returns the flow that a lookup hit; nil if none.
func (v *nodeView) entry(flows []openflow.FlowEntry, l lookup) *openflow.FlowEntry {
	name, ok := v.name(*l.hop, *l.step)
	if !ok {
		return nil
	}
	for i := range flows {
		if f := &flows[i]; max(f.Table.Number, 0) == name.table && f.Priority == name.priority && cookieText(f.Cookie) == name.cookie && f.Match.String() == name.match {
			return f
		}
	}
	return nil
}

// ofRow returns the flows made from a row in a lookup's table and datapath.
func ofRow(flows []openflow.FlowEntry, cookie uint32, l lookup) []openflow.FlowEntry {
	var all []openflow.FlowEntry
	for _, f := range flows {
		term, ok := f.Match.Field("metadata")
		if uint32(f.Cookie) == cookie && max(f.Table.Number, 0) == l.step.Table && (!ok || term.Value.Lo == l.step.Before.Uint("metadata")) {
			all = append(all, f)
		}
	}
	return all
}

// takesRest reports whether a flow matches everything that no other flow of its table matches.
func takesRest(f *openflow.FlowEntry) bool { return f.Priority == 0 && len(f.Match.Terms) == 0 }

func isConjunction(a openflow.Action) bool {
	_, ok := a.(openflow.Conjunction)
	return ok
}

// plain reports whether actions alone show where they lead.
func plain(actions openflow.Actions) bool {
	return !slices.ContainsFunc(actions, func(a openflow.Action) bool {
		switch a.(type) {
		case openflow.SetField, openflow.Load, openflow.Move, openflow.Modify, openflow.Resubmit, openflow.CT, openflow.Output, openflow.Drop:
			return false
		}
		return true
	})
}

// leadsTo reports whether an action sends a packet to a table; to any table for 0.
func leadsTo(a openflow.Action, table int) bool {
	switch a := a.(type) {
	case openflow.Resubmit:
		return table == 0 || a.Table.Number == table
	case openflow.CT:
		return table == 0 || a.Table.Number == table
	case openflow.Output:
		return table == 0
	}
	return false
}

func identity(f *openflow.FlowEntry) string {
	return fmt.Sprintf("%x %d %d %s", f.Cookie, max(f.Table.Number, 0), f.Priority, f.Match)
}

func flowText(f *openflow.FlowEntry) string {
	return fmt.Sprintf("cookie=0x%x, table=%d, priority=%d,%s actions=%s", f.Cookie, max(f.Table.Number, 0), f.Priority, f.Match, f.Actions)
}

func rowText(l *decode.LogicalFlow) string {
	return fmt.Sprintf("%s (priority %d, %s)", short(l.UUID), l.Priority, l.Match)
}

func short[S ~string](uuid S) string { return string(uuid[:min(8, len(uuid))]) }
