package cause

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// words say what stopped a packet.
func (e *Explainer) words(ctx context.Context, s *stop) string {
	p := s.packet()
	t := trafficOf(&p)
	switch s.kind {
	case denied:
		return e.deniedWords(s, t)
	case closed:
		return fmt.Sprintf("no ACL of %s allows %s, and NB_Global options:default_acl_drop drops what none allows", s.visit.Datapath, e.asked(t))
	case insecure:
		return e.insecureWords(s, &p, t)
	case disabled:
		return fmt.Sprintf("the port %s is disabled in the Northbound (enabled=false)", s.port.Name())
	case unknownMAC:
		return fmt.Sprintf("no port of the switch has the MAC address %s", macOf(&p, "eth_dst"))
	case notForUs:
		return fmt.Sprintf("the frame is for %s, which is no address of the router's port %s", macOf(&p, "eth_dst"), portName(s.port))
	case noRoute:
		return fmt.Sprintf("the router has no route to %s", t.dst)
	case discarded:
		return s.by.Text
	case noBackends:
		return fmt.Sprintf("%s has no endpoints for %s", s.by.Text, endpoint(t.dst, t.dstPort))
	case expired:
		return fmt.Sprintf("its TTL is used up: %s does not send it on", s.visit.Datapath)
	case tooLarge:
		return fmt.Sprintf("it is larger than the %d bytes that may leave by %s", packetLimit(s), portName(s.port))
	case unresolved:
		if r := e.disabledAt(nextHop(&p)); r != nil {
			return fmt.Sprintf("the next hop %s is router %s, which is disabled", nextHop(&p), r.Name)
		}
		return fmt.Sprintf("the MAC address of the next hop %s is not known (no MAC_Binding): ovn-controller asks for it, and the packet waits", nextHop(&p))
	}
	return e.placeWords(s)
}

// placeWords say why a packet that all flows let pass does not get out.
func (e *Explainer) placeWords(s *stop) string {
	name := portName(s.port)
	switch s.kind {
	case notBound:
		return e.unboundWords(name)
	case sameOutport:
		return fmt.Sprintf("it would go back out of the port that it came in by, %s, which OVN does not do", name)
	case noPeer:
		return fmt.Sprintf("the port %s has no other end", name)
	case noTunnel:
		return fmt.Sprintf("no tunnel leads from its chassis to that of the port %s", name)
	}
	switch {
	case s.end.Reason == ovn.Controller && s.end.Detail != "":
		return "ovn-controller takes it: " + s.end.Detail
	case s.by.UUID != "":
		return s.by.Text
	case s.flow != nil && s.end.Reason == ovn.DropAction:
		return fmt.Sprintf("the logical flow %q drops it", s.flow.Row.Match)
	case s.flow != nil:
		return fmt.Sprintf("the logical flow %q does nothing more with it", s.flow.Row.Match)
	case !e.enabled(s.visit.Datapath):
		return s.visit.Datapath.String() + " is disabled"
	case s.step >= 0:
		return fmt.Sprintf("no flow of %s matches it in %s table %d", s.visit.Datapath, s.visit.Pipeline, s.visit.Steps[s.step].Table)
	}
	return "nothing sends it on"
}

// unboundWords say why no chassis holds a port: what is known of it, or of the port at the other end of a patch.
func (e *Explainer) unboundWords(name string) string {
	if p := e.graph.PortByName(name); p != nil {
		if peer := e.graph.PeerOf(p); peer != nil && peer.Why != "" {
			p = peer
		}
		if p.Why != "" {
			return fmt.Sprintf("no chassis holds the port %s: %s", p.Name, p.Why)
		}
	}
	return "no chassis holds the port " + name
}

func (e *Explainer) deniedWords(s *stop, t traffic) string {
	how := "dropped"
	if s.end.Outcome == journey.Rejected {
		how = "rejected with an ICMP unreachable"
		if t.proto == packet.ProtoTCP {
			how = "rejected with a TCP reset"
		}
	}
	text := how + " by " + toJourney(s.by).Text
	if defaultDeny(s) {
		text += "; no rule allows " + e.asked(t)
	}
	return text
}

func (e *Explainer) insecureWords(s *stop, p *packet.Flow, t traffic) string {
	if s.visit.Pipeline == logicalflow.Ingress {
		return fmt.Sprintf("port security does not let the port %s send from %s %s: it may from %s", s.port.Name(),
			macOf(p, "eth_src"), t.src, strings.Join(s.port.Row.PortSecurity, ", "))
	}
	return fmt.Sprintf("port security does not let the port %s receive for %s %s: it may for %s", s.port.Name(),
		macOf(p, "eth_dst"), t.dst, strings.Join(s.port.Row.PortSecurity, ", "))
}

// asked is what somebody asks for: "tcp 8080 from 10.244.1.6 (shop/client) to 10.244.3.7 (bank/ledger)".
func (e *Explainer) asked(t traffic) string {
	return fmt.Sprintf("%s from %s to %s", t.service(), e.named(t.src), e.named(t.dst))
}

// defaultDeny says whether an ACL denies whatever is not allowed: its match asks for the port, and for IP, and nothing else.
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

// A traffic is what people know a packet by.
type traffic struct {
	src, dst netip.Addr
	proto    uint8
	dstPort  uint16
}

func trafficOf(p *packet.Flow) traffic {
	t := traffic{proto: uint8(p.Uint("nw_proto")), dstPort: uint16(p.Uint("tp_dst"))}
	switch p.Uint("eth_type") {
	case packet.EthIPv4:
		t.src, t.dst = address(p, "ip_src", 4), address(p, "ip_dst", 4)
	case packet.EthIPv6:
		t.src, t.dst = address(p, "ipv6_src", 16), address(p, "ipv6_dst", 16)
	case packet.EthARP:
		t.src, t.dst = address(p, "arp_spa", 4), address(p, "arp_tpa", 4)
	}
	if !t.l4() {
		t.dstPort = 0
	}
	return t
}

// l4 says whether the packet has ports.
func (t traffic) l4() bool {
	return t.proto == packet.ProtoTCP || t.proto == packet.ProtoUDP || t.proto == packet.ProtoSCTP
}

// protocol is the name of the protocol: tcp, udp, sctp, icmp, or its number.
func (t traffic) protocol() string {
	switch t.proto {
	case packet.ProtoTCP:
		return "tcp"
	case packet.ProtoUDP:
		return "udp"
	case packet.ProtoSCTP:
		return "sctp"
	case packet.ProtoICMP, packet.ProtoICMPv6:
		return "icmp"
	}
	return fmt.Sprintf("protocol %d", t.proto)
}

func (t traffic) service() string {
	if t.l4() {
		return fmt.Sprintf("%s %d", t.protocol(), t.dstPort)
	}
	return t.protocol()
}

// ip is the language's name of the family: ip4 or ip6.
func (t traffic) ip() string { return choose(t.dst.Is6(), "ip6", "ip4") }

func address(p *packet.Flow, field string, size int) netip.Addr {
	f, ok := packet.Lookup(field)
	if !ok {
		return netip.Addr{}
	}
	a, _ := netip.AddrFromSlice(p.Get(f).Bytes(size))
	return a
}

// nextHop is the address that a router resolves: OVN keeps it in reg0, or xxreg0 for IPv6.
func nextHop(p *packet.Flow) netip.Addr {
	if p.Uint("eth_type") == packet.EthIPv6 {
		return address(p, "xxreg0", 16)
	}
	return address(p, "reg0", 4)
}

func endpoint(a netip.Addr, port uint16) string {
	if port == 0 {
		return a.String()
	}
	return netip.AddrPortFrom(a, port).String()
}

func portName(p *logicalflow.Port) string {
	if p == nil {
		return "that it would leave by"
	}
	return p.Name()
}

// packetLimit is the size that a router found the packet to be beyond, 0 if it did not look.
func packetLimit(s *stop) int {
	for v, i := range earlier(s.visit, s.step) {
		for _, note := range v.Steps[i].Notes {
			if check, ok := note.Action.(*ovnexpr.CheckPacketLarger); ok {
				return check.Bytes
			}
		}
	}
	return 0
}

// enabled says whether a datapath is switched on, as far as that is known.
func (e *Explainer) enabled(d *logicalflow.Datapath) bool {
	r := e.router(d)
	return r == nil || r.Enabled
}

// disabledAt is the router that has an address and is switched off, nil if there is none.
func (e *Explainer) disabledAt(a netip.Addr) *topology.Router {
	for _, p := range e.graph.PortsAt(a) {
		if r := e.graph.RouterOf(p); r != nil && !r.Enabled {
			return r
		}
	}
	return nil
}

// router is the row of a router, nil if it is not known.
func (e *Explainer) router(d *logicalflow.Datapath) *topology.Router {
	r, _ := e.graph.Object(string(d.NBUUID)).(*topology.Router)
	return r
}
