package cause

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// A miss is a flow that would have let a packet pass if it had matched.
type miss struct {
	visit   *ovn.Visit
	step    int // where it could have been hit
	flow    *logicalflow.Flow
	object  decode.Object
	missing []ovnexpr.Decision // the parts of its match that would have to change
	cost    int
	rule    journey.Rule
}

// How far a rule is from letting a packet pass, by which parts of it would have to change. A rule for another family or
// kind of packet never would.
const (
	costAddress  = 1
	costPort     = 1
	costProtocol = 2
	costTarget   = 3 // the port that the rule is for
	costGeneral  = 4 // for a rule about all ports: it names something in particular, such as a node
	costNever    = 100
)

// maxNear is how many near rules are shown.
const maxNear = 3

// near returns the rules that come nearest to allowing a packet that an ACL denied, or that none allowed.
func (e *Explainer) near(ctx context.Context, s *stop) []miss {
	if s.kind != journey.Denied && s.kind != journey.NotAllowed {
		return nil
	}
	var misses []miss
	for v, i := range earlier(s.visit, s.step) {
		if f := v.Steps[i].Flow; f != nil && strings.Contains(f.Stage(), "_acl") {
			misses = append(misses, e.missesAt(ctx, v, i)...)
		}
	}
	slices.SortStableFunc(misses, func(a, b miss) int {
		return cmp.Or(a.cost-b.cost, b.flow.Row.Priority-a.flow.Row.Priority, cmp.Compare(a.flow.Row.UUID, b.flow.Row.UUID))
	})
	var nearest []miss
	for _, m := range misses {
		o, ok := e.objectOf(ctx, m.flow)
		if !ok || !allows(o) || o.Owner.Role == decode.Internal || slices.ContainsFunc(nearest, func(n miss) bool { return n.object.UUID == o.UUID }) {
			continue
		}
		m.object = o
		m.rule = journey.Rule{
			Object: ObjectOf(o), Stage: m.flow.Stage(), Priority: m.flow.Row.Priority, Match: m.flow.Row.Match,
			Decided: e.decided(ctx, m.visit, m.flow, m.missing),
		}
		if nearest = append(nearest, m); len(nearest) == maxNear {
			break
		}
	}
	return nearest
}

// missesAt returns the rules that could have been hit at a step instead of the one that was.
func (e *Explainer) missesAt(ctx context.Context, v *ovn.Visit, step int) []miss {
	flows, err := e.net.Flows(ctx, tableOf(v, step))
	if err != nil {
		return nil
	}
	hit, packet, resident := v.Steps[step].Flow, v.Before(step), e.engine.Resident(v)
	var misses []miss
	for _, f := range flows {
		if f.Row.Priority <= hit.Row.Priority || f.Err() != nil || f.Row.ExternalIDs["stage-hint"] == "" || !letsPass(f) {
			continue
		}
		missing := f.Missing(v.Datapath, &packet, resident)
		cost := distance(missing)
		if !strings.Contains(f.Row.Match, choose(v.Pipeline == logicalflow.Egress, "outport", "inport")) {
			cost += costGeneral
		}
		if cost < costNever {
			misses = append(misses, miss{visit: v, step: step, flow: f, missing: missing, cost: cost})
		}
	}
	return misses
}

// letsPass reports whether a flow of an ACL table looks like an allowing one; only its object is certain.
func letsPass(f *logicalflow.Flow) bool {
	actions := f.Row.Actions
	return strings.Contains(actions, "next;") && !strings.Contains(actions, "reject") && !strings.Contains(actions, "drop")
}

// distance returns how much of a rule would have to change.
func distance(missing []ovnexpr.Decision) int {
	if len(missing) == 0 {
		return costNever // it matches but was not hit: another flow of its priority was
	}
	total := 0
	for _, d := range missing {
		if d.Leaf == nil || len(d.Tests) == 0 {
			return costNever // of the flow's actions, or independent of the packet
		}
		before := total
		for _, t := range d.Tests {
			if !t.Holds {
				total += cost(t)
			}
		}
		if total == before {
			total += costProtocol // a predicate that must be false but is true
		}
	}
	return total
}

func cost(t ovnexpr.Test) int {
	if t.Ref.Symbol == nil {
		return costNever
	}
	switch t.Ref.Symbol.Name {
	case "ip4.src", "ip4.dst", "ip6.src", "ip6.dst":
		return costAddress
	case "tcp.dst", "udp.dst", "sctp.dst", "tcp.src", "udp.src", "sctp.src", "icmp4.type", "icmp4.code", "icmp6.type", "icmp6.code":
		return costPort
	case "ip.proto":
		return costProtocol
	case "inport", "outport":
		return costTarget
	}
	return costNever
}
