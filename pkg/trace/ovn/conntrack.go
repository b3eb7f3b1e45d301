package ovn

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// The actions of conntrack. Most end the pass of a packet through the switch: it comes back from conntrack in the next
// table with the connection's state. One that does not forgets the state, and a translation that it made shows in the
// packet only when it comes back the next time.

// Bits of ct_mark that load balancers write, of ct_label before 22.06.
const (
	natted    = 1 << 1
	skipSNAT  = 1 << 2
	forceSNAT = 1 << 3
)

// zone is the conntrack table that actions without a zone use: of a switch the port's, of a router that for
// destination addresses.
func (w *walker) zone() Zone {
	v := w.visit
	z := Zone{Chassis: v.Chassis, Datapath: v.Datapath}
	if v.Datapath.Router {
		return z
	}
	if z.Port = v.Inport; v.Pipeline == logicalflow.Egress {
		z.Port = v.Outport
	}
	return z
}

// named is the zone that an action names. Switches have such zones too, for backends that are their own clients.
func (w *walker) named(name string) Zone {
	if name == "" {
		return w.zone()
	}
	return Zone{Chassis: w.visit.Chassis, Datapath: w.visit.Datapath, SNAT: name == "snat"}
}

// common is the zone of a router for both directions of translation.
func (w *walker) common() Zone {
	if _, requested := w.visit.Datapath.Row.ExternalIDs["snat-ct-zone"]; requested {
		return w.named("snat")
	}
	return w.named("dnat")
}

// look shows the packet to a zone and gives it the state that conntrack answers with. With nat, a connection that is
// translated translates it.
func (w *walker) look(z Zone, nat bool) (*Connection, State) {
	w.settle()
	f, p := w.run.fields, &w.packet
	t := f.tuple(p)
	state := StateTracked | StateNew
	known := t
	if w.about != nil && isICMPError(f, p) {
		known, state = *w.about, StateTracked|StateInvalid
	} else if startsNothing(f, p, t) {
		state = StateTracked | StateInvalid
	}
	c, reply := w.run.connections.find(z, known)
	if c != nil {
		state = c.state(reply)
		if w.about != nil && isICMPError(f, p) {
			state = state&^(StateNew|StateEstablished) | StateRelated
		} else if reply {
			c.replied = true
		}
	}
	if c != nil && nat && w.about == nil {
		state |= w.translate(t, c.translated(reply))
	}
	w.setConntrack(c, t, state)
	w.note(Note{Kind: Tracked, Zone: z, State: state, Connection: c})
	return c, state
}

// state is that of a packet of the connection.
func (one *Connection) state(reply bool) State {
	switch {
	case reply:
		return StateTracked | StateEstablished | StateReply
	case one.replied:
		return StateTracked | StateEstablished
	}
	return StateTracked | StateNew
}

// startsNothing reports whether no connection begins with a packet: a TCP segment that answers, ICMP that is no request.
func startsNothing(f *fields, p *packet.Flow, t Tuple) bool {
	switch t.Proto {
	case packet.ProtoTCP:
		flags := f.tcpFlags.Get(p).Lo
		return flags&0x12 == 0x12 || flags&4 != 0 // SYN and ACK, or RST
	case packet.ProtoICMP:
		kind := f.icmpType.Get(p).Lo
		return kind != 8 && kind != 13 && kind != 15 && kind != 17 // requests
	case packet.ProtoICMPv6:
		return f.icmp6Type.Get(p).Lo != 128
	}
	return false
}

// isICMPError reports whether a packet tells of another.
func isICMPError(f *fields, p *packet.Flow) bool {
	switch f.proto.Get(p).Lo {
	case packet.ProtoICMP:
		kind := f.icmpType.Get(p).Lo
		return isIPv4(f, p) && (kind == 3 || kind == 11 || kind == 12)
	case packet.ProtoICMPv6:
		return isIPv6(f, p) && f.icmp6Type.Get(p).Lo < 128
	}
	return false
}

// translate changes the packet's addresses and ports, and says what it did.
func (w *walker) translate(t, now Tuple) (did State) {
	f := w.run.fields
	if now.Src != t.Src {
		did |= StateSNAT
		w.set(f.source(&w.packet), value(now.Src.Addr()))
		if now.Src.Port() != t.Src.Port() {
			w.set(f.srcPort, packet.Uint(uint64(now.Src.Port())))
		}
	}
	if now.Dst != t.Dst {
		did |= StateDNAT
		w.set(f.destination(&w.packet), value(now.Dst.Addr()))
		if now.Dst.Port() != t.Dst.Port() {
			w.set(f.dstPort, packet.Uint(uint64(now.Dst.Port())))
		}
	}
	return did
}

// settle makes the packet what conntrack has made of it already.
func (w *walker) settle() {
	if w.pending != nil {
		w.translate(w.run.fields.tuple(&w.packet), *w.pending)
		w.pending = nil
	}
}

// setConntrack writes what a packet carries that comes back from conntrack.
func (w *walker) setConntrack(c *Connection, t Tuple, state State) {
	f := w.run.fields
	var mark uint32
	var label packet.Value
	original := t
	if c != nil {
		mark, label, original = c.Mark, c.Label, c.Original
	}
	w.set(f.ctState, packet.Uint(uint64(state)))
	w.set(f.ctMark, packet.Uint(uint64(mark)))
	w.set(f.ctLabel, label)
	w.set(f.ctProto, packet.Uint(uint64(original.Proto)))
	src, dst := f.ctSrc4, f.ctDst4
	if original.Src.Addr().Is6() {
		src, dst = f.ctSrc6, f.ctDst6
	}
	w.set(src, value(original.Src.Addr()))
	w.set(dst, value(original.Dst.Addr()))
	w.set(f.ctSrcPort, packet.Uint(uint64(original.Src.Port())))
	w.set(f.ctDstPort, packet.Uint(uint64(original.Dst.Port())))
}

// forget takes from the packet what conntrack gave it.
func (w *walker) forget() {
	f := w.run.fields
	if f.ctState.Get(&w.packet).IsZero() {
		return // nothing but a packet from conntrack has the other fields
	}
	for _, r := range [...]ovnexpr.Ref{f.ctState, f.ctMark, f.ctLabel, f.ctProto, f.ctSrc4, f.ctDst4, f.ctSrc6, f.ctDst6, f.ctSrcPort, f.ctDstPort} {
		w.set(r, packet.Value{})
	}
}

// comeBack goes on in the next table, where a packet comes back from conntrack. What the action left to be done
// goes on with a packet without a state.
func (w *walker) comeBack(in *instruction) control {
	if in.last {
		return w.resume(in, w.visit.Pipeline, w.here()+1)
	}
	copied := w.open(Cloned, in.action.String())
	copied.start(w.here() + 1)
	w.forget()
	return proceed
}

func (w *walker) ctClear(*instruction) control {
	w.forget()
	return proceed
}

func (w *walker) ctNext(in *instruction) control {
	w.look(w.named(in.action.(*ovnexpr.CTNext).Zone), false)
	return w.comeBack(in)
}

// commit enters the packet's connection into a zone, translated to now, unless it is there already.
func (w *walker) commit(z Zone, t, now Tuple) (c *Connection, reply bool) {
	if c, reply = w.run.connections.find(z, t); c == nil {
		c = w.run.connections.enter(z, t, now)
		w.run.entered = append(w.run.entered, z)
	}
	w.note(Note{Kind: Committed, Zone: z, Connection: c})
	return c, reply
}

// ctCommit commits the connection; its body writes the connection's mark and label.
func (w *walker) ctCommit(in *instruction) control {
	w.settle()
	f := w.run.fields
	t := f.tuple(&w.packet)
	c, _ := w.commit(w.zone(), t, t)
	// The body runs on the fields of the packet, which stand for the connection's.
	mark, label := f.ctMark.Get(&w.packet), f.ctLabel.Get(&w.packet)
	f.ctMark.Set(&w.packet, packet.Uint(uint64(c.Mark)))
	f.ctLabel.Set(&w.packet, c.Label)
	w.silent = true
	w.execute(in.body)
	w.silent = false
	c.Mark, c.Label = uint32(f.ctMark.Get(&w.packet).Lo), f.ctLabel.Get(&w.packet)
	f.ctMark.Set(&w.packet, mark)
	f.ctLabel.Set(&w.packet, label)
	for _, p := range in.action.(*ovnexpr.CTCommit).Old {
		c.commitOld(p)
	}
	w.forget()
	return proceed
}

// commitOld writes a parameter of ct_commit(ct_mark=…, ct_label=…).
func (one *Connection) commitOld(p ovnexpr.Parameter) {
	v := p.Values.Items[0]
	mask := packet.Ones(128)
	if v.Masked {
		mask = v.Mask
	}
	if p.Name == "ct_mark" {
		one.Mark = one.Mark&^uint32(mask.Lo) | uint32(v.Value.Lo&mask.Lo)
		return
	}
	one.Label = one.Label.AndNot(mask).Or(v.Value.And(mask))
}

// ctCommitTo commits the connection as conntrack has translated it.
func (w *walker) ctCommitTo(in *instruction) control {
	a := in.action.(*ovnexpr.CTCommitTo)
	z := w.named(a.Zone)
	w.settle()
	t := w.run.fields.tuple(&w.packet)
	w.commit(z, t, t)
	w.look(z, a.Name == "ct_commit_nat")
	return w.comeBack(in)
}

// ctNAT translates one of the addresses, or as the connection is known to be translated.
func (w *walker) ctNAT(in *instruction) control {
	a := in.action.(*ovnexpr.CTNAT)
	var z Zone
	snat := false
	switch a.Name {
	case "ct_snat":
		z, snat = w.named("snat"), true
	case "ct_dnat":
		z = w.named("dnat")
	case "ct_snat_in_czone":
		z, snat = w.common(), true
	default:
		z = w.common()
	}
	if a.Var != "" {
		return w.strange(in)
	}
	if !a.To.IsValid() {
		return w.untranslate(in, z)
	}
	w.settle()
	t := w.run.fields.tuple(&w.packet)
	now := t
	if snat {
		now.Src = replaced(t.Src, a.To, a.Lo)
	} else {
		now.Dst = replaced(t.Dst, a.To, a.Lo)
	}
	w.commit(z, t, now)
	w.look(z, true)
	return w.comeBack(in)
}

// replaced is an address with another in its place, and another port if one is given.
func replaced(old netip.AddrPort, to netip.Addr, port uint16) netip.AddrPort {
	if port == 0 || old.Port() == 0 {
		port = old.Port()
	}
	return netip.AddrPortFrom(to, port)
}

// untranslate translates a packet of a known connection. A gateway router does not wait for the packet to come back:
// its flow goes on at once, without seeing what the translation did.
func (w *walker) untranslate(in *instruction, z Zone) control {
	if in.last {
		w.look(z, true)
		return w.comeBack(in)
	}
	w.settle()
	t := w.run.fields.tuple(&w.packet)
	c, reply := w.run.connections.find(z, t)
	if c != nil {
		if reply {
			c.replied = true
		}
		if now := c.translated(reply); now != t {
			w.pending = &now
			w.note(Note{Kind: Translated, Action: in.action, Zone: z, Connection: c})
		}
	}
	w.forget()
	return proceed
}

// ctLB chooses a backend for a new connection.
func (w *walker) ctLB(in *instruction) control {
	a := in.action.(*ovnexpr.CTLB)
	z := w.zone()
	if len(a.Backends) == 0 {
		w.look(z, true)
		return w.comeBack(in)
	}
	w.settle()
	t := w.run.fields.tuple(&w.packet)
	c, _ := w.run.connections.find(z, t)
	if c == nil {
		b := a.Backends[w.choose(a, len(a.Backends))]
		if b.Var != "" || !b.Addr.IsValid() {
			return w.strange(in)
		}
		now := t
		now.Dst = replaced(t.Dst, b.Addr, b.Port)
		c, _ = w.commit(z, t, now)
	}
	bits := uint32(natted)
	switch a.Flag {
	case "skip_snat":
		bits |= skipSNAT
	case "force_snat":
		bits |= forceSNAT
	}
	if a.Name == "ct_lb" {
		c.Label.Lo |= uint64(bits)
	} else {
		c.Mark |= bits
	}
	w.look(z, true)
	return w.comeBack(in)
}

// ctSNATToVIP lets a backend that is its own client see the load balancer's address as that of the client.
func (w *walker) ctSNATToVIP(in *instruction) control {
	vip, err := w.hairpinAddress()
	if err != nil {
		return w.run.fail(err)
	}
	if !vip.IsValid() {
		w.note(Note{Kind: Ignored, Action: in.action})
		return proceed
	}
	t := w.run.fields.tuple(&w.packet)
	now := t
	now.Src = netip.AddrPortFrom(vip, t.Src.Port())
	z := w.named("snat")
	c, reply := w.commit(z, t, now)
	now = c.translated(reply)
	w.pending = &now
	w.note(Note{Kind: Translated, Action: in.action, Zone: z, Connection: c})
	w.forget()
	return proceed
}
