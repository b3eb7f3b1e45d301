package cause

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// groupsInWords returns which security groups the port has whose traffic they stopped; empty if they did not.
func (e *Explainer) groupsInWords(s *stop) string {
	if s.by.Owner.CMS != decode.Neutron && s.by.Owner.Kind != "SecurityGroup" || s.port == nil {
		return ""
	}
	port := e.graph.PortByName(s.port.Name())
	if port == nil {
		return ""
	}
	switch groups := port.SecurityGroups(); len(groups) {
	case 0:
		return port.Label() + " has no security group"
	case 1:
		return port.Label() + " has security group " + groups[0]
	default:
		return port.Label() + " has security groups " + strings.Join(groups, ", ")
	}
}

// cause returns a stop's cause.
func (e *Explainer) cause(s *stop) journey.Cause {
	p := s.packet()
	t := trafficOf(&p)
	c := journey.Cause{Kind: s.kind, Object: s.object(), Datapath: s.visit.Datapath.String(), MAC: macOf(&p, "eth_dst")}
	if s.port != nil {
		c.Port = s.port.Name()
	}
	switch s.kind {
	case journey.Denied:
		if c.Reply = refusalOf(s.end.Outcome, t.proto); defaultDeny(s) {
			c.Traffic = e.asked(t)
		}
		c.Groups = e.groupsInWords(s)
	case journey.NotAllowed:
		c.Traffic = e.asked(t)
	case journey.PortSecurity:
		c.Detail = strings.Join(s.port.Row.PortSecurity, ", ")
		if c.Inbound, c.Address = s.visit.Pipeline == logicalflow.Egress, t.dst; !c.Inbound {
			c.MAC, c.Address = macOf(&p, "eth_src"), t.src
		}
	case journey.NoRoute:
		c.Address = t.dst
	case journey.Discarded, journey.ByObject:
		c.Reply = refusalOf(s.end.Outcome, t.proto)
	case journey.NoLocalBackends:
		c.Node, _ = e.ends(s)
		c.Detail = endpoint(t.dst, t.dstPort)
	case journey.NoBackends:
		c.Detail = endpoint(t.dst, t.dstPort)
	case journey.TooLarge:
		c.Detail = fmt.Sprint(packetLimit(s))
	case journey.NextHopUnknown:
		c.Address = NextHop(&p)
	case journey.NextHopDisabled:
		c.Address = NextHop(&p)
		c.Datapath = "router " + e.disabledAt(c.Address).Name
	case journey.Unbound:
		c.Port, c.Detail = e.unbound(c.Port)
	case journey.NoTunnel:
		c.Node, c.Chassis = e.ends(s)
	case journey.Controller:
		c.Detail, c.Object = s.end.Detail, nil
	case journey.FlowDrops, journey.FlowEnds:
		c.Detail = s.flow.Row.Match
	case journey.NoLogicalFlow:
		c.Table = fmt.Sprintf("%s table %d", s.visit.Pipeline, s.visit.Steps[s.step].Table)
	}
	return c
}

// refusalOf returns what the sender of a packet is told.
func refusalOf(o journey.Outcome, proto uint8) journey.Refusal {
	switch {
	case o != journey.Rejected:
		return journey.Silent
	case proto == packet.ProtoTCP:
		return journey.TCPReset
	}
	return journey.Unreachable
}

// unbound returns the port that no chassis holds, which may be a patch port's peer, and why.
func (e *Explainer) unbound(name string) (port, why string) {
	p := e.graph.PortByName(name)
	if p == nil {
		return name, ""
	}
	if peer := e.graph.PeerOf(p); peer != nil && peer.Why != "" {
		p = peer
	}
	if p.Why == "" {
		return name, ""
	}
	return p.Name, p.Why
}

// ends returns the node that a packet is on and the one that holds its port; empty if unknown.
func (e *Explainer) ends(s *stop) (from, to string) {
	hostname := func(chassis string) string {
		if c := e.graph.ChassisByName(chassis); c != nil {
			return cmp.Or(c.Hostname, c.Name)
		}
		return chassis
	}
	if s.visit.Chassis != nil {
		from = hostname(s.visit.Chassis.Row.Name)
	}
	if s.port != nil {
		if p := e.graph.PortByName(s.port.Name()); p != nil {
			to = hostname(p.Chassis)
		}
	}
	return from, to
}

// asked returns the traffic that no rule allows.
func (e *Explainer) asked(t traffic) *journey.Traffic {
	return &journey.Traffic{Service: t.service(), Src: t.src, Dst: t.dst, From: e.who(t.src), To: e.who(t.dst)}
}

// defaultDeny reports whether an ACL denies everything not allowed: its match tests the port and IP, and nothing else.
func defaultDeny(s *stop) bool {
	m, err := ovnexpr.ParseMatch(s.flow.Row.Match)
	if err != nil {
		return false
	}
	for _, leaf := range m.Leaves() {
		var name string
		switch n := leaf.(type) {
		case *ovnexpr.Bare:
			name = n.Field.Name
		case *ovnexpr.Compare:
			name = n.Field.Name
		case *ovnexpr.Literal:
			continue
		default:
			return false
		}
		switch {
		case name == "inport", name == "outport", name == "ip", name == "ip4", name == "ip6", strings.HasPrefix(name, "reg"), strings.HasPrefix(name, "ct"):
		default:
			return false
		}
	}
	return true
}

// packetLimit returns the length in bytes that a router found exceeded, for which it rejects the packet; 0 if there is
// none.
func packetLimit(s *stop) int {
	if s.end.Outcome != journey.Rejected || !s.visit.Datapath.Router {
		return 0
	}
	for v, i := range earlier(s.visit, s.step) {
		for _, note := range v.Steps[i].Notes {
			if check, ok := note.Action.(*ovnexpr.CheckPacketLarger); ok && note.Result {
				return check.Bytes
			}
		}
	}
	return 0
}

// enabled reports whether a datapath is enabled, as far as known.
func (e *Explainer) enabled(d *logicalflow.Datapath) bool {
	r := e.router(d)
	return r == nil || r.Enabled
}

// disabledAt returns the disabled router that has an address; nil if there is none.
func (e *Explainer) disabledAt(a netip.Addr) *topology.Router {
	for _, p := range e.graph.PortsAt(a) {
		if r := e.graph.RouterOf(p); r != nil && !r.Enabled {
			return r
		}
	}
	return nil
}

// router returns a router's row; nil if unknown.
func (e *Explainer) router(d *logicalflow.Datapath) *topology.Router {
	r, _ := e.graph.Object(string(d.NBUUID)).(*topology.Router)
	return r
}
