package ovn

import (
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Load balancer state: backends that are their own clients, and clients that keep their backend.

// A balanced packet is one that a backend sent to its own service.
type balanced struct {
	row ovsdb.UUID
	to  netip.Addr // replaces the backend's address as client
}

// loopedBack finds the load balancer of a packet that a backend sends to itself; the address is not valid if there is
// none.
func (w *walker) loopedBack() (found balanced, err error) {
	f, p := w.run.fields, &w.packet
	if f.source(p).Get(p) != f.destination(p).Get(p) {
		return found, nil
	}
	if f.ctMark.Get(p).Lo&natted == 0 && f.ctLabel.Get(p).Lo&natted == 0 {
		return found, nil
	}
	t := w.tuple()
	vip := w.visited()
	rows, err := w.visit.Datapath.LoadBalancers(w.run.ctx)
	if err != nil {
		return found, err
	}
	for _, row := range rows {
		if !sameProtocol(row, t.Proto) {
			continue
		}
		for key, backends := range row.VIPs {
			at, ok := endpoint(key)
			if ok && at.Addr() == vip.Addr() && (at.Port() == 0 || at.Port() == vip.Port()) && holds(backends, t.To(), at.Port() != 0) {
				return balanced{row.UUID, hairpinSource(row, at.Addr())}, nil
			}
		}
	}
	return found, nil
}

// visited returns the destination of the packet's connection before load balancing.
func (w *walker) visited() netip.AddrPort {
	f, p := w.run.fields, &w.packet
	dst := f.ctDst4
	if isIPv6(f, p) {
		dst = f.ctDst6
	}
	return netip.AddrPortFrom(address(dst, p), uint16(f.ctDstPort.Get(p).Lo))
}

func sameProtocol(row sb.LoadBalancer, proto uint8) bool {
	switch row.Protocol.Get() {
	case "udp":
		return proto == packet.ProtoUDP
	case "sctp":
		return proto == packet.ProtoSCTP
	}
	return proto == packet.ProtoTCP
}

// holds reports whether a list of backends contains an endpoint; a VIP without a port has backends without ports.
func holds(backends string, at netip.AddrPort, withPort bool) bool {
	for text := range strings.SplitSeq(backends, ",") {
		b, ok := endpoint(strings.TrimSpace(text))
		if ok && b.Addr() == at.Addr() && (!withPort || b.Port() == at.Port()) {
			return true
		}
	}
	return false
}

// endpoint parses an address with or without a port, as load balancers write it.
func endpoint(text string) (netip.AddrPort, bool) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at, true
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return netip.AddrPortFrom(a, 0), err == nil
}

// hairpinSource returns the load balancer's address as a client of its backends.
func hairpinSource(row sb.LoadBalancer, vip netip.Addr) netip.Addr {
	for text := range strings.FieldsSeq(row.Options["hairpin_snat_ip"]) {
		if a, err := netip.ParseAddr(text); err == nil && a.Is4() == vip.Is4() {
			return a
		}
	}
	return vip
}

// hairpinAddress returns the address that ct_snat_to_vip translates the packet's source to.
func (w *walker) hairpinAddress() (netip.Addr, error) {
	found, err := w.loopedBack()
	return found.to, err
}

// checkHairpin checks whether a backend sends the packet to itself, and remembers the reply to it.
func (w *walker) checkHairpin(in *instruction) control {
	found, err := w.loopedBack()
	if err != nil {
		return w.run.fail(err)
	}
	if found.to.IsValid() {
		t := w.tuple()
		remember(&w.run.connections.hairpins, hairpin{w.visit.Datapath, t.Proto, t.To(), found.to}, true)
	}
	return w.result(in, found.to.IsValid(), Note{Table: "Load_Balancer", Row: found.row})
}

// checkHairpinReply checks whether the packet is such a reply.
func (w *walker) checkHairpinReply(in *instruction) control {
	t := w.tuple()
	return w.result(in, w.run.connections.hairpins[hairpin{w.visit.Datapath, t.Proto, t.From(), t.Dst}], Note{})
}

// commitAffinity remembers a client's backend.
func (w *walker) commitAffinity(in *instruction) control {
	a := in.action.(*ovnexpr.CommitAffinity)
	t := w.tuple()
	key := affinity{w.visit.Datapath, t.Src, t.Proto, netip.AddrPortFrom(a.VIP.Addr, a.VIP.Port)}
	remember(&w.run.connections.affinities, key, netip.AddrPortFrom(a.Backend.Addr, a.Backend.Port))
	w.note(Note{Kind: Learned, Action: in.action})
	if in.last {
		w.end(journey.Dropped, Learning, nil)
	}
	return proceed
}

// checkAffinity checks whether the client has a backend, and writes it where the release's flows expect it.
func (w *walker) checkAffinity(in *instruction) control {
	t := w.tuple()
	key := affinity{w.visit.Datapath, t.Src, t.Proto, t.To()}
	backend, ok := w.run.connections.affinities[key]
	if !ok {
		key.vip = netip.AddrPortFrom(t.Dst, 0)
		backend, ok = w.run.connections.affinities[key]
	}
	if ok {
		address, port := w.affinityRegisters(backend.Addr().Is6())
		w.set(address, packet.FromAddr(backend.Addr()))
		w.set(port, packet.Uint(uint64(backend.Port())))
	}
	return w.result(in, ok, Note{})
}

// affinityRegisters returns the fields where chk_lb_aff puts the backend's address and port.
func (w *walker) affinityRegisters(ipv6 bool) (address, port ovnexpr.Ref) {
	net := w.run.engine.net
	newer := net.Version().Has(release.AffinityInReg2)
	names := struct{ address, port string }{"reg4", "reg8"}
	if newer {
		names.port = "reg2"
	}
	if ipv6 {
		names.address = "xxreg1"
		if !newer && !w.visit.Datapath.Router {
			names.address = "xxreg0"
		}
	}
	port = w.run.register(names.port)
	port.Bits = 16
	return w.run.register(names.address), port
}

func (r *run) register(name string) ovnexpr.Ref {
	s, _ := symbols(r.engine.net).Lookup(name)
	return ovnexpr.Ref{Symbol: s, Field: s.Field, Lo: s.Lo, Bits: s.Bits}
}
