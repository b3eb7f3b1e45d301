package ovn

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Next hops whose MAC address is in no row: what would reply to the router's request.

// somebody is the MAC address of an unknown host outside.
var somebody = packet.Uint(0x02_00_5e_00_53_01)

// An arpReply is what a router learns from a request for an address.
type arpReply struct {
	port *logicalflow.Port // the switch port that leads to its holder; nil if that is outside or not one port
	mac  packet.Value      // 0 if there is no reply
}

// owner finds what replies when a router asks behind one of its ports for an address: an OVN port, a router that
// translates it, either also over a physical network, or a host outside where one is possible.
func (r *run) owner(p *logicalflow.Port, a netip.Addr, here *logicalflow.Chassis) (arpReply, error) {
	key := neighbour{p, a}
	if known, ok := r.engine.resolved.Load(key); ok {
		return known.(arpReply), nil
	}
	found, err := r.seek(p, a, here)
	if err == nil {
		r.engine.resolved.Store(key, found)
	}
	return found, err
}

func (r *run) seek(p *logicalflow.Port, a netip.Addr, here *logicalflow.Chassis) (arpReply, error) {
	peer, err := p.Peer(r.ctx)
	if err != nil || peer == nil || peer.Datapath.Router || r.asking {
		return arpReply{}, err
	}
	known, err := r.holders(peer.Datapath)
	if err != nil {
		return arpReply{}, err
	}
	if h := known.address[a]; h != nil && h.port != peer {
		return arpReply{h.port, h.mac}, nil
	}
	home, err := r.home(p, here)
	if err != nil {
		return arpReply{}, err
	}
	if m, err := r.ask(p, a, entry{peer, home}); err != nil || !m.IsZero() {
		return arpReply{mac: m}, err
	}
	carrier, err := r.carrier(peer.Datapath, home)
	if err != nil {
		return arpReply{}, err
	}
	if carrier != nil {
		if found, err := r.seekBeside(p, a, carrier, home); err != nil || !found.mac.IsZero() {
			return found, err
		}
	}
	outside, err := r.outside(peer.Datapath)
	if err != nil || !outside {
		return arpReply{}, err
	}
	return arpReply{mac: somebody}, nil
}

// home returns the chassis from which a router port sends its requests.
func (r *run) home(p *logicalflow.Port, here *logicalflow.Chassis) (*logicalflow.Chassis, error) {
	redirect, err := r.port("cr-" + p.Name())
	if err != nil {
		return nil, err
	}
	if redirect != nil {
		return r.engine.net.Chassis(redirect.Row.Chassis.Get()), nil
	}
	if bound(p) {
		return r.engine.net.Chassis(p.Row.Chassis.Get()), nil
	}
	return here, nil
}

// seekBeside finds what replies on a physical network's other switches.
func (r *run) seekBeside(p *logicalflow.Port, a netip.Addr, carrier *logicalflow.Port, home *logicalflow.Chassis) (arpReply, error) {
	w, err := r.engine.wires(r.ctx)
	if err != nil {
		return arpReply{}, err
	}
	for _, g := range w.address[a] {
		at, err := r.entryOf(w, g, carrier, home)
		if err != nil || at.port != nil {
			return arpReply{mac: g.mac}, err
		}
	}
	for _, id := range w.beside(carrier) {
		d := r.engine.net.Datapath(id)
		if d == nil || d == carrier.Datapath {
			continue
		}
		known, err := r.holders(d)
		if err != nil {
			return arpReply{}, err
		}
		if h := known.address[a]; h != nil {
			return arpReply{h.port, h.mac}, nil
		}
		for _, at := range r.routersOn(w, d, carrier, home) {
			if m, err := r.ask(p, a, at); err != nil || !m.IsZero() {
				return arpReply{mac: m}, err
			}
		}
	}
	return arpReply{}, nil
}

// An entry is where a packet enters a switch.
type entry struct {
	port    *logicalflow.Port
	chassis *logicalflow.Chassis
}

// routersOn returns the entries of a switch where a router receives requests from the physical network.
func (r *run) routersOn(w *wires, d *logicalflow.Datapath, carrier *logicalflow.Port, here *logicalflow.Chassis) []entry {
	var all []entry
	for _, m := range slices.SortedFunc(maps.Keys(w.mac), func(a, b packet.Value) int { return cmp.Compare(a.Lo, b.Lo) }) {
		for _, g := range w.mac[m] {
			if g.access.Datapath != d.Row.UUID {
				continue
			}
			if at, err := r.entryOf(w, g, carrier, here); err == nil && at.port != nil && !slices.Contains(all, at) {
				all = append(all, at)
			}
		}
	}
	return all
}

// ask follows the router's request through a switch, and returns the MAC address in the reply; 0 if there is none.
func (r *run) ask(p *logicalflow.Port, a netip.Addr, at entry) (packet.Value, error) {
	pkt, ok := r.request(p, a)
	if !ok {
		return packet.Value{}, nil
	}
	question := &run{engine: r.engine, fields: r.fields, ctx: r.ctx, path: &Path{}, connections: &Connections{}, asking: true}
	question.enter(Start{Port: at.port, Chassis: at.chassis, Packet: pkt})
	if question.err != nil {
		return packet.Value{}, question.err
	}
	for _, v := range question.path.Visits {
		back := v.Origin == Crossed && v.Inport == p || v.End != nil && v.End.Reason == ToNetwork && v.End.Port == at.port
		if !back {
			continue
		}
		q := v.Packet
		if v.End != nil && v.End.Reason == ToNetwork {
			q = v.Before(len(v.Steps))
		}
		if m := r.told(&q, a); !m.IsZero() {
			return m, nil
		}
	}
	return packet.Value{}, nil
}

// request returns the packet by which a router port asks for an address; false if it has no address of that family.
func (r *run) request(p *logicalflow.Port, a netip.Addr) (packet.Flow, bool) {
	w := &walker{run: r}
	f := r.fields
	for _, text := range p.Row.MAC {
		s, _ := holdingOf(text)
		for _, n := range s.addresses {
			if n.Addr().Is4() != a.Is4() || s.mac.IsZero() {
				continue
			}
			f.ethSrc.Set(&w.packet, s.mac)
			if a.Is4() {
				w.put(f.ethType, packet.EthIPv4)
				f.src4.Set(&w.packet, packet.FromAddr(n.Addr()))
				f.dst4.Set(&w.packet, packet.FromAddr(a))
				w.makeARP()
				f.ethDst.Set(&w.packet, packet.Ones(48))
				return w.packet, true
			}
			f.src6.Set(&w.packet, packet.FromAddr(n.Addr()))
			f.dst6.Set(&w.packet, packet.FromAddr(a))
			w.makeSolicitation()
			return w.packet, true
		}
	}
	return packet.Flow{}, false
}

// told returns the MAC address that a reply gives for an address; 0 if it is no such reply.
func (r *run) told(p *packet.Flow, a netip.Addr) packet.Value {
	f := r.fields
	switch {
	case isARP(f, p) && f.arpOp.Get(p).Lo == 2 && address(f.arpSPA, p) == a:
		return f.arpSHA.Get(p)
	case isIPv6(f, p) && f.proto.Get(p).Lo == packet.ProtoICMPv6 && f.icmp6Type.Get(p).Lo == 136 && address(f.ndTarget, p) == a:
		return f.ndTLL.Get(p)
	}
	return packet.Value{}
}

// outside reports whether a switch may have hosts that OVN does not know.
func (r *run) outside(d *logicalflow.Datapath) (bool, error) {
	ports, err := d.Ports(r.ctx)
	return slices.ContainsFunc(ports, func(p *logicalflow.Port) bool {
		switch p.Row.Type {
		case "localnet", "l2gateway", "vtep":
			return true
		}
		return slices.ContainsFunc(p.Row.MAC, func(text string) bool { return strings.HasPrefix(text, "unknown") })
	}), err
}
