package ovssim

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// conntrack sends the packet to connection tracking. With a table, a copy comes back there; what continues here is
// untracked.
func (x *translation) conntrack(a openflow.CT, inside []op, last bool) {
	zone := a.Zone
	if a.ZoneSrc != nil {
		zone = uint16(a.ZoneSrc.Get(&x.packet.Flow).Lo)
	}
	x.commit()
	mark, label := x.mask.Get(ctMark), x.mask.Get(ctLabel)
	x.mask.Set(ctMark, packet.Value{})
	x.mask.Set(ctLabel, packet.Value{})
	x.nat = nil
	x.do(inside, last, false)
	var args []string
	if a.Commit {
		word := "commit"
		if a.Force {
			word = "force_commit"
		}
		args = append(args, word)
	}
	if zone != 0 {
		args = append(args, fmt.Sprintf("zone=%d", zone))
	}
	if m := x.mask.Get(ctMark); !m.IsZero() {
		args = append(args, "mark="+x.packet.Get(ctMark).And(m).Hex()+"/"+m.Hex())
	}
	if m := x.mask.Get(ctLabel); !m.IsZero() {
		text := x.packet.Get(ctLabel).And(m).Hex()
		if m != ctLabel.Mask() {
			text += "/" + m.Hex()
		}
		args = append(args, "label="+text)
	}
	switch a.Alg {
	case "ftp", "tftp":
		args = append(args, "helper="+a.Alg)
	case "":
	default:
		x.fault("cannot serialize ct_helper %s", a.Alg)
	}
	if x.nat != nil {
		args = append(args, natAction(*x.nat))
	}
	action := "ct"
	if len(args) > 0 {
		action += "(" + join(args) + ")"
	}
	x.emit(action)
	if a.Table != openflow.NoTable {
		x.tracked = true
		x.fork(a, zone)
	}
	x.mask.Set(ctMark, mark)
	x.mask.Set(ctLabel, label)
	x.nat = nil
	x.packet.ClearConntrack()
	x.detail("Sets the packet to an untracked state, and clears all the conntrack fields.")
	x.tracked = false
}

// hex128 formats a number as the datapath writes labels: with 0x even for 0.
func hex128(v packet.Value) string { return "0x" + strings.TrimPrefix(v.Hex(), "0x") }

// fork lets a copy of the packet come back in a table. The bits of ct_mark and ct_label in the mask were written inside
// of ct.
func (x *translation) fork(a openflow.CT, zone uint16) {
	table := a.Table.Number
	x.freezing = true
	id := x.recirculate(table)
	if id == 0 {
		return
	}
	copied := x.packet
	copied.set(recircID, uint64(id))
	r := &resumption{packet: copied, bridge: x.bridge, table: table, id: id, zone: zone, nat: x.nat,
		stack: append([]saved(nil), x.stack...), set: append([]op(nil), x.set...)}
	r.packet.set(actsetOutput, 0)
	if left := len(x.next) - len(x.queue); left <= 0 && x.bridge.tracker != nil { // the user gave no state
		r.connection = x.bridge.tracker.find(zone, &x.packet, a.Commit && a.Force)
		r.remark(x.mask.Get(ctMark), x.mask.Get(ctLabel))
	}
	x.queue = append(x.queue, r)
	x.detail("A clone of the packet is forked to recirculate. The forked pipeline will be resumed at table %d.", table)
}

// remark gives the packet its connection's mark and label, except for bits that were written.
func (r *resumption) remark(mark, label packet.Value) {
	var c openflow.Connection
	if r.connection != nil {
		c = *r.connection.Connection
	}
	r.packet.SetMasked(ctMark, packet.Uint(uint64(c.Mark)), ctMark.Mask().AndNot(mark))
	r.packet.SetMasked(ctLabel, c.Labels, ctLabel.Mask().AndNot(label))
}

func (x *translation) untrack() {
	x.tracked = false
	x.packet.ClearConntrack()
}

// natAction formats a translation as the datapath writes it.
func natAction(n openflow.NAT) string {
	if !n.Src && !n.Dst {
		return "nat"
	}
	if !n.Min.Less(n.Max) {
		n.Max = n.Min
	}
	n.Dst, n.MaxPort, n.Random = !n.Src, max(n.MinPort, n.MaxPort), n.Random && !n.Hash
	return n.String()
}

// translate gives the packet the first address and port of a range, as a trace assumes, and returns those before and
// after; nothing if there is no range.
func translate(p *frame, n *openflow.NAT) (before, after string) {
	if !n.Min.IsValid() || !p.ip() || !n.Src && !n.Dst {
		return "", ""
	}
	if p.Meets(packet.NeedsIPv4) != n.Min.Is4() {
		return "", ""
	}
	before = addresses(p)
	src, addr := p.AddrFields()
	tp := tpDst
	if n.Src {
		addr, tp = src, tpSrc
	}
	p.Set(addr, packet.FromAddr(n.Min))
	if n.MinPort != 0 {
		p.set(tp, uint64(n.MinPort))
	}
	return before, addresses(p)
}

func addresses(p *frame) string {
	src, dst := p.AddrFields()
	return fmt.Sprintf("%s=%s,tp_src=%d,%s=%s,tp_dst=%d", src.Label(), src.Print(p.Get(src)), p.number(tpSrc), dst.Label(), dst.Print(p.Get(dst)), p.number(tpDst))
}

func join(list []string) string { return strings.Join(list, ",") }
