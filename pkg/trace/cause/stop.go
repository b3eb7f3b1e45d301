package cause

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// A stop is where a packet was stopped, and what stopped it.
type stop struct {
	kind  journey.CauseKind
	end   *ovn.End
	visit *ovn.Visit
	step  int // the deciding step, one of visit's; -1 if there is none
	flow  *logicalflow.Flow
	by    decode.Object     // zero if there is none
	port  *logicalflow.Port // that it concerns; nil if none
}

func (s *stop) object() *decode.Object {
	if s.by.UUID == "" {
		return nil
	}
	return ObjectOf(s.by)
}

// packet returns the packet as it met the deciding step.
func (s *stop) packet() packet.Flow { return s.visit.Before(max(s.step, 0)) }

func (s *stop) stage() string {
	if s.flow == nil {
		return ""
	}
	return s.flow.Stage()
}

// stopOf finds what stopped a path's packet; false if it was delivered or its fate is unknown.
func (e *Explainer) stopOf(ctx context.Context, w *ovn.Path) (*stop, bool) {
	v := w.End()
	if v == nil || v.End == nil || v.End.Outcome == journey.Delivered || v.End.Outcome == journey.Unknown {
		return nil, false
	}
	s := &stop{end: v.End, visit: v, step: len(v.Steps) - 1, port: v.End.Port}
	if s.step >= 0 {
		s.flow = v.Steps[s.step].Flow
	}
	kinds := map[ovn.Reason]journey.CauseKind{
		ovn.NotBound: journey.Unbound, ovn.NotHere: journey.Unbound, ovn.SameOutport: journey.SameOutport, ovn.NoPeer: journey.NoPeer,
		ovn.NoTunnel: journey.NoTunnel, ovn.NotCarried: journey.NoTunnel, ovn.TTLExceeded: journey.TTLExpired, ovn.Resolving: journey.NextHopUnknown,
	}
	if k, ok := kinds[v.End.Reason]; ok {
		s.kind = k
		if s.port == nil {
			s.port = e.outport(ctx, s)
		}
	} else {
		e.byStage(ctx, s)
	}
	p := s.packet()
	switch {
	case s.kind == "":
		s.kind = e.byFlow(s)
	case s.kind == journey.NextHopUnknown && e.disabledAt(NextHop(&p)) != nil:
		s.kind = journey.NextHopDisabled
	}
	return s, true
}

// byFlow returns the cause for a packet stopped in a stage without special handling.
func (e *Explainer) byFlow(s *stop) journey.CauseKind {
	switch {
	case s.end.Reason == ovn.Controller && s.end.Detail != "":
		return journey.Controller
	case s.by.UUID != "":
		return journey.ByObject
	case s.flow != nil && s.end.Reason == ovn.DropAction:
		return journey.FlowDrops
	case s.flow != nil:
		return journey.FlowEnds
	case !e.enabled(s.visit.Datapath):
		return journey.RouterDisabled
	case s.step >= 0:
		return journey.NoLogicalFlow
	}
	return journey.NothingSendsItOn
}

// byStage finds what stopped a packet from the stage of its last step.
func (e *Explainer) byStage(ctx context.Context, s *stop) {
	stage := e.stageAt(ctx, s.visit, s.step)
	s.by, _ = e.objectOf(ctx, s.flow)
	switch {
	case (strings.Contains(stage, "larger_pkts") || stage == "lr_in_ip_input" && !s.tests("ip.ttl")) && packetLimit(s) > 0:
		s.kind, s.port = journey.TooLarge, e.outport(ctx, s)
		if s.port == nil {
			s.port = s.visit.Inport
		}
	case strings.Contains(stage, "_acl"):
		e.byACL(ctx, s)
	case strings.HasSuffix(stage, "_port_sec"):
		e.byPortSecurity(ctx, s)
	case s.end.Reason == ovn.NoLocalBackend:
		s.kind = journey.NoLocalBackends
	case s.by.Kind == "load balancer":
		s.kind = journey.NoBackends
	case strings.Contains(stage, "l2_lkup"), strings.Contains(stage, "l2_unknown"):
		e.byLookup(ctx, s)
	case s.by.Kind == "policy", s.by.Kind == "route":
		s.kind = journey.Discarded
	case strings.Contains(stage, "ip_routing"):
		s.kind = journey.NoRoute
	case strings.HasPrefix(stage, "lr_in_admission") && e.byDisabled(ctx, s, s.visit.Inport),
		stage == "lr_out_delivery" && e.byDisabled(ctx, s, e.outport(ctx, s)):
	case strings.HasPrefix(stage, "lr_in_admission"):
		s.kind, s.port = journey.WrongMAC, s.visit.Inport
	case strings.Contains(stage, "arp_resolve"), strings.Contains(stage, "arp_request"):
		s.kind, s.port = journey.NextHopUnknown, e.outport(ctx, s)
	case stage == "lr_in_ip_input" && s.tests("ip.ttl"):
		s.kind = journey.TTLExpired
	}
}

// outport returns the port that the packet was about to leave by; nil if it had none.
func (e *Explainer) outport(ctx context.Context, s *stop) *logicalflow.Port {
	if s.visit.Outport != nil {
		return s.visit.Outport
	}
	p := s.packet()
	port, err := s.visit.Datapath.PortByKey(ctx, int(p.Uint("reg15")))
	if err != nil {
		return nil
	}
	return port
}

// tests reports whether the deciding flow tests a field.
func (s *stop) tests(field string) bool {
	return s.flow != nil && strings.Contains(s.flow.Row.Match, field)
}

// stageAt returns the stage of a step's table, even if the packet hit no flow there.
func (e *Explainer) stageAt(ctx context.Context, v *ovn.Visit, step int) string {
	if step < 0 {
		return ""
	}
	if f := v.Steps[step].Flow; f != nil {
		return f.Stage()
	}
	flows, err := e.net.Flows(ctx, tableOf(v, step))
	if err != nil || len(flows) == 0 {
		return ""
	}
	return flows[0].Stage()
}

func tableOf(v *ovn.Visit, step int) logicalflow.Table {
	return logicalflow.Table{Datapath: v.Datapath, Pipeline: v.Pipeline, ID: v.Steps[step].Table, Chassis: v.Chassis}
}

// earlier yields the steps of the same run through a pipeline, backwards from a step; it includes the steps that clones
// share with their parent visit.
func earlier(v *ovn.Visit, step int) iter.Seq2[*ovn.Visit, int] {
	return func(yield func(*ovn.Visit, int) bool) {
		for v != nil {
			for i := step; i >= 0; i-- {
				if !yield(v, i) {
					return
				}
			}
			if v.Origin != ovn.Cloned {
				return
			}
			v, step = v.Parent, v.At
		}
	}
}

// byACL finds the ACL behind a step in the stages that carry ACLs out. Since OVN 23.06 one table finds the ACL and
// writes its verdict into a register, and the next acts on that.
func (e *Explainer) byACL(ctx context.Context, s *stop) {
	s.kind = journey.NotAllowed
	for v, i := range earlier(s.visit, s.step) {
		f := v.Steps[i].Flow
		if f == nil || !strings.Contains(f.Stage(), "_acl") {
			continue
		}
		o, known := e.objectOf(ctx, f)
		if !known && f.Row.ExternalIDs["stage-hint"] != "" { // of a removed ACL
			s.kind, s.visit, s.step, s.flow = journey.FlowDrops, v, i, f
			break
		}
		acl, ok := o.Row.(nb.ACL)
		if ok && !allows(o) && acl.Action != "pass" {
			s.kind, s.visit, s.step, s.flow, s.by = journey.Denied, v, i, f, o
		}
		if ok {
			break // an ACL let it pass its tier: none denied it
		}
	}
	if p := s.packet(); s.kind == journey.NotAllowed && p.Uint("ct_state")&uint64(packet.CTInvalid) != 0 {
		s.kind = journey.ConnectionUnseen
	}
	s.port = portAt(s.visit)
}

// portAt returns the port whose rules a pipeline carries out: the inport, or the outport about to be used.
func portAt(v *ovn.Visit) *logicalflow.Port {
	if v.Pipeline == logicalflow.Ingress {
		return v.Inport
	}
	return v.Outport
}

// byPortSecurity tells port security from a disabled port: the preceding flow does the check.
func (e *Explainer) byPortSecurity(ctx context.Context, s *stop) {
	if port := e.secured(s.visit, s.step); port != nil {
		s.kind, s.port, s.by = journey.PortSecurity, port, e.portObject(ctx, port)
		return
	}
	if port := portAt(s.visit); port != nil {
		e.byDisabled(ctx, s, port)
	}
}

// byDisabled reports whether a port is disabled, which is then what stopped the packet.
func (e *Explainer) byDisabled(ctx context.Context, s *stop, port *logicalflow.Port) bool {
	if port == nil {
		return false
	}
	o := e.portObject(ctx, port)
	var enabled ovsdb.Set[bool]
	switch row := o.Row.(type) {
	case nb.LogicalSwitchPort:
		enabled = row.Enabled
	case nb.LogicalRouterPort:
		enabled = row.Enabled
	}
	if len(enabled) == 0 || enabled.Get() {
		return false
	}
	s.kind, s.port, s.by = journey.PortDisabled, port, o
	return true
}

// secured returns the port whose port security a step acts on; nil if there is none.
func (e *Explainer) secured(v *ovn.Visit, step int) *logicalflow.Port {
	f := v.Steps[step].Flow
	if f == nil || !strings.HasSuffix(f.Stage(), "apply_port_sec") || f.Row.Priority == 0 {
		return nil
	}
	for v, i := range earlier(v, step-1) {
		for _, note := range v.Steps[i].Notes {
			call, ok := note.Action.(*ovnexpr.Call)
			if !ok || note.Kind != ovn.Tested || !note.Result {
				continue
			}
			switch call.Name {
			case "check_in_port_sec":
				return v.Inport
			case "check_out_port_sec":
				return v.Outport
			}
		}
	}
	return nil
}

// byLookup finds why a switch knows no port for a frame: none has the MAC address, or the port with it is disabled.
func (e *Explainer) byLookup(ctx context.Context, s *stop) {
	s.kind = journey.UnknownMAC
	ports, err := s.visit.Datapath.Ports(ctx)
	if err != nil {
		return
	}
	packet := s.packet()
	mac := macOf(&packet, "eth_dst")
	for _, p := range ports {
		has := slices.ContainsFunc(p.Row.MAC, func(text string) bool { return strings.HasPrefix(strings.ToLower(text), mac) })
		if has && e.byDisabled(ctx, s, p) {
			return
		}
	}
}

func macOf(p *packet.Flow, field string) string {
	f := packet.MustField(field)
	return f.Print(p.Get(f))
}

// rule returns the flow that stopped a packet, with why it matched.
func (e *Explainer) rule(ctx context.Context, s *stop) *journey.Rule {
	if s.flow == nil {
		return nil
	}
	return &journey.Rule{
		Object: s.object(), Stage: s.flow.Stage(), Priority: s.flow.Row.Priority, Match: s.flow.Row.Match,
		Decided: e.Decided(ctx, s.visit, s.step),
	}
}
