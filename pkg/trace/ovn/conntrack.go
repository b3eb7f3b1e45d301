package ovn

import (
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// The actions of conntrack. Most end the packet's pass through the switch: it comes back from conntrack in the next
// table with the connection's state. One that does not loses the state, and its translation shows in the packet only
// when it comes back the next time.

// Bits of ct_mark (before 22.06 of ct_label) that load balancers write.
const (
	natted    = 1 << 1
	skipSNAT  = 1 << 2
	forceSNAT = 1 << 3
)

// synACK are the flags of the reply to a connection's first segment.
const synACK = packet.TCPSYN | packet.TCPACK

// zone returns the zone for actions that name none: a switch port's, or a router's zone for destination addresses.
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

// named returns the zone that an action names. Switches have such zones too, for backends that are their own clients.
func (w *walker) named(name string) Zone {
	if name == "" {
		return w.zone()
	}
	return Zone{Chassis: w.visit.Chassis, Datapath: w.visit.Datapath, SNAT: name == "snat"}
}

// common returns a router's zone for both directions of translation.
func (w *walker) common() Zone {
	if _, requested := w.visit.Datapath.Row.ExternalIDs["snat-ct-zone"]; requested {
		return w.named("snat")
	}
	return w.named("dnat")
}

// look shows the packet to a zone and sets the state that conntrack finds. With nat, a translated connection translates
// the packet.
func (w *walker) look(z Zone, nat bool) (*packet.Connection, uint32) {
	w.settle()
	f, p := w.run.fields, &w.packet
	t := w.tuple()
	state := uint32(packet.CTTracked | packet.CTNew)
	known := t
	if w.about != nil && isICMPError(f, p) {
		known, state = *w.about, packet.CTTracked|packet.CTInvalid
	} else if startsNothing(f, p, t) {
		state = packet.CTTracked | packet.CTInvalid
	}
	c, reply := w.run.connections.zones.Find(z, known)
	if c != nil {
		state = c.State(reply)
		if w.about != nil && isICMPError(f, p) {
			state = state&^(packet.CTNew|packet.CTEstablished) | packet.CTRelated
		} else if reply {
			c.Replied = true
		}
	}
	if c != nil && nat && w.about == nil {
		state |= w.translate(t, c.Translated(reply))
	}
	w.setConntrack(c, t, state)
	w.note(Note{Kind: Tracked, Zone: z, State: state, Connection: c})
	return c, state
}

// startsNothing reports whether a packet cannot start a connection: a TCP reply segment, or ICMP other than a request.
func startsNothing(f *fields, p *packet.Flow, t packet.Tuple) bool {
	switch t.Proto {
	case packet.ProtoTCP:
		flags := f.tcpFlags.Get(p).Lo
		return flags&synACK == synACK || flags&packet.TCPReset != 0
	case packet.ProtoICMP:
		kind := f.icmpType.Get(p).Lo
		return kind != 8 && kind != 13 && kind != 15 && kind != 17 // requests
	case packet.ProtoICMPv6:
		return f.icmp6Type.Get(p).Lo != 128
	}
	return false
}

// isICMPError reports whether a packet is an ICMP error about another.
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

// translate changes the packet's addresses and ports, and returns the matching bits of ct_state.
func (w *walker) translate(t, now packet.Tuple) (did uint32) {
	f := w.run.fields
	if now.From() != t.From() {
		did |= packet.CTSourceNAT
		w.set(f.source(&w.packet), packet.FromAddr(now.Src))
		if now.SrcPort != t.SrcPort {
			w.set(f.srcPort, packet.Uint(uint64(now.SrcPort)))
		}
	}
	if now.To() != t.To() {
		did |= packet.CTDestinationNAT
		w.set(f.destination(&w.packet), packet.FromAddr(now.Dst))
		if now.DstPort != t.DstPort {
			w.set(f.dstPort, packet.Uint(uint64(now.DstPort)))
		}
	}
	return did
}

// settle applies conntrack's pending changes to the packet.
func (w *walker) settle() {
	if w.pending != nil {
		w.translate(w.tuple(), *w.pending)
		w.pending = nil
	}
}

// setConntrack writes the fields of a packet that comes back from conntrack.
func (w *walker) setConntrack(c *packet.Connection, t packet.Tuple, state uint32) {
	f := w.run.fields
	var mark uint32
	var label packet.Value
	original := t
	if c != nil {
		mark, label, original = c.Mark, c.Label, c.Orig
	}
	w.set(f.ctState, packet.Uint(uint64(state)))
	w.set(f.ctMark, packet.Uint(uint64(mark)))
	w.set(f.ctLabel, label)
	w.set(f.ctProto, packet.Uint(uint64(original.Proto)))
	src, dst := f.ctSrc4, f.ctDst4
	if original.Src.Is6() {
		src, dst = f.ctSrc6, f.ctDst6
	}
	w.set(src, packet.FromAddr(original.Src))
	w.set(dst, packet.FromAddr(original.Dst))
	w.set(f.ctSrcPort, packet.Uint(uint64(original.SrcPort)))
	w.set(f.ctDstPort, packet.Uint(uint64(original.DstPort)))
}

// forget removes the packet's conntrack fields.
func (w *walker) forget() {
	f := w.run.fields
	if f.ctState.Get(&w.packet).IsZero() {
		return // only packets from conntrack have the other fields
	}
	for _, r := range [...]ovnexpr.Ref{f.ctState, f.ctMark, f.ctLabel, f.ctProto, f.ctSrc4, f.ctDst4, f.ctSrc6, f.ctDst6, f.ctSrcPort, f.ctDstPort} {
		w.set(r, packet.Value{})
	}
}

// comeBack continues in the next table, where a packet returns from conntrack. The action's remaining steps get a
// packet without a state.
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

// commit adds the packet's connection to a zone, translated to now, unless it is already there.
func (w *walker) commit(z Zone, t, now packet.Tuple) (c *packet.Connection, reply bool) {
	if c, reply = w.run.connections.zones.Find(z, t); c == nil {
		c = w.run.connections.zones.Enter(z, t, now)
		w.run.entered = append(w.run.entered, z)
	}
	w.note(Note{Kind: Committed, Zone: z, Connection: c})
	return c, reply
}

// ctCommit commits the connection; its body writes the connection's mark and label.
func (w *walker) ctCommit(in *instruction) control {
	w.settle()
	f := w.run.fields
	t := w.tuple()
	c, _ := w.commit(w.zone(), t, t)
	// The body works on the packet's fields, which stand for the connection's.
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
		commitOld(c, p)
	}
	w.forget()
	return proceed
}

// commitOld writes a parameter of ct_commit(ct_mark=…, ct_label=…).
func commitOld(c *packet.Connection, p ovnexpr.Parameter) {
	v := p.Values.Items[0]
	mask := packet.Ones(128)
	if v.Masked {
		mask = v.Mask
	}
	if p.Name == "ct_mark" {
		c.Mark = c.Mark&^uint32(mask.Lo) | uint32(v.Value.Lo&mask.Lo)
		return
	}
	c.Label = c.Label.AndNot(mask).Or(v.Value.And(mask))
}

// ctCommitTo commits the connection as conntrack translated it.
func (w *walker) ctCommitTo(in *instruction) control {
	a := in.action.(*ovnexpr.CTCommitTo)
	z := w.named(a.Zone)
	w.settle()
	t := w.tuple()
	w.commit(z, t, t)
	w.look(z, a.Name == "ct_commit_nat")
	return w.comeBack(in)
}

// ctNAT translates one of the addresses, or translates as the known connection does.
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
	t := w.tuple()
	now := towards(t, a.To, a.Lo)
	if snat {
		now = towards(t.Reverse(), a.To, a.Lo).Reverse()
	}
	w.commit(z, t, now)
	w.look(z, true)
	return w.comeBack(in)
}

// towards returns t with another destination; the port stays if none is given or the protocol has none.
func towards(t packet.Tuple, to netip.Addr, port uint16) packet.Tuple {
	t.Dst = to
	if port != 0 && t.DstPort != 0 {
		t.DstPort = port
	}
	return t
}

// untranslate translates a packet of a known connection. On a gateway router the packet does not come back from
// conntrack: its flow continues at once and does not see the translation.
func (w *walker) untranslate(in *instruction, z Zone) control {
	if in.last {
		w.look(z, true)
		return w.comeBack(in)
	}
	w.settle()
	t := w.tuple()
	c, reply := w.run.connections.zones.Find(z, t)
	if c != nil {
		if reply {
			c.Replied = true
		}
		if now := c.Translated(reply); now != t {
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
	t := w.tuple()
	c, _ := w.run.connections.zones.Find(z, t)
	if c == nil {
		able, err := w.able(a)
		switch {
		case err != nil:
			return w.run.fail(err)
		case len(able.Backends) == 0:
			return w.end(journey.Dropped, NoLocalBackend, nil)
		}
		b := able.Backends[w.choose(able, len(able.Backends))]
		if b.Var != "" || !b.Addr.IsValid() {
			return w.strange(in)
		}
		c, _ = w.commit(z, t, towards(t, b.Addr, b.Port))
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

// able returns the action with the backends that the packet's chassis can choose: of those with a port, the ones whose
// port resides there.
func (w *walker) able(a *ovnexpr.CTLB) (*ovnexpr.CTLB, error) {
	if !slices.ContainsFunc(a.Backends, func(b ovnexpr.Backend) bool { return b.LogicalPort != "" }) {
		return a, nil
	}
	able := *a
	able.Backends = nil
	for _, b := range a.Backends {
		p, err := w.run.port(b.LogicalPort)
		if err != nil {
			return nil, err
		}
		if resides(p, w.visit.Chassis) {
			able.Backends = append(able.Backends, b)
		}
	}
	return &able, nil
}

// ctSNATToVIP shows a backend that is its own client the load balancer's address as the client's.
func (w *walker) ctSNATToVIP(in *instruction) control {
	vip, err := w.hairpinAddress()
	if err != nil {
		return w.run.fail(err)
	}
	if !vip.IsValid() {
		w.note(Note{Kind: Ignored, Action: in.action})
		return proceed
	}
	t := w.tuple()
	now := t
	now.Src = vip
	z := w.named("snat")
	c, reply := w.commit(z, t, now)
	now = c.Translated(reply)
	w.pending = &now
	w.note(Note{Kind: Translated, Action: in.action, Zone: z, Connection: c})
	w.forget()
	return proceed
}
