package ovn

import (
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// End returns the visit in which the packet of a path ended: of a packet for one receiver the one end that it has, of
// copies the best, the first among equals. Replies of OVN and mirrored copies do not count.
func (w *Path) End() *Visit {
	var best *Visit
	for _, v := range w.Visits {
		if v.End == nil || v.aside() {
			continue
		}
		if best == nil || rank(v.End) < rank(best.End) {
			best = v
		}
	}
	return best
}

// rank orders ends from the best to the worst: what is not known may be better than what is.
func rank(e *End) int {
	return slices.Index([]journey.Outcome{journey.Delivered, journey.Unknown, journey.Rejected, journey.Consumed, journey.Dropped}, e.Outcome)
}

// aside reports whether the visit is of a reply that OVN made, or of a mirrored copy.
func (v *Visit) aside() bool {
	for ; v != nil; v = v.Parent {
		if v.Origin == Answered || v.Origin == Mirrored {
			return true
		}
	}
	return false
}

// Ends are all visits in which the packet, a copy of it or a reply of OVN ended, in the order of the path.
func (w *Path) Ends() []*Visit {
	return slices.DeleteFunc(slices.Clone(w.Visits), func(v *Visit) bool { return v.End == nil })
}

// Path are the visits from the root to v.
func (v *Visit) Visits() []*Visit {
	var path []*Visit
	for ; v != nil; v = v.Parent {
		path = append(path, v)
	}
	slices.Reverse(path)
	return path
}

// Before returns the packet as it met a step; with i the number of steps, as it left the last.
func (v *Visit) Before(i int) packet.Flow {
	p := v.Packet
	for _, s := range v.Steps[:min(i, len(v.Steps))] {
		for _, c := range s.Changes {
			c.Field.Set(&p, c.To)
		}
	}
	return p
}

// Table is the table of a step.
func (v *Visit) Table(s *Step) logicalflow.Table {
	return logicalflow.Table{Datapath: v.Datapath, Pipeline: v.Pipeline, ID: s.Table, Chassis: v.Chassis}
}

// Resident says for an evaluation by [logicalflow.Flow.Explain] which ports reside on the chassis of a visit. A port that
// cannot be read resides nowhere.
func (e *Engine) Resident(v *Visit) logicalflow.Resident {
	return func(name string) bool {
		p, err := e.net.Port(context.Background(), name)
		return err == nil && resides(p, v.Chassis)
	}
}

// Reply returns the reply of the receiver of a delivered packet, and where it enters; false if there is
// none: the packet was not delivered, went to another zone, or is none that a host replies to.
func (e *Engine) Reply(v *Visit) (Start, bool) {
	if v == nil || v.End == nil || v.End.Outcome != journey.Delivered || v.End.Reason == ToZone || v.End.Reason == ToVTEP {
		return Start{}, false
	}
	s := Start{Port: v.End.Port, Chassis: v.Chassis, Packet: v.Before(len(v.Steps))}
	return s, reply(e.fields, &s.Packet)
}
