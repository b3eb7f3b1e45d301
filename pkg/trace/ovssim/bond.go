package ovssim

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// memberOf returns a port's part in its bond; nil if bond/show did not name it.
func memberOf(b *openflow.Bond, p *port) *openflow.BondMember {
	if i := slices.IndexFunc(b.Members, func(m openflow.BondMember) bool { return m.Name == p.name }); i >= 0 {
		return &b.Members[i]
	}
	return nil
}

// bondMode returns by which rules a bond works, "" for one that passes nothing: without an agreement with the other end, that of the bond is of no use.
func bondMode(b *openflow.Bond) string {
	switch {
	case b.LACP == "configured" && !b.Fallback, b.Mode == "balance-tcp" && b.LACP == "off":
		return ""
	case b.LACP == "configured":
		return "active-backup"
	}
	return b.Mode
}

// admitsBonded reports whether a bond takes a packet that one of its members received (ovs-vswitchd.conf.db(5), "Bonding Configuration").
func (x *translation) admitsBonded(u *bundle, in *port, vlan uint16) bool {
	b, m := u.bond, memberOf(u.bond, in)
	admitted := false
	switch mode := bondMode(b); {
	case m == nil || mode == "":
	case b.LACP == "negotiated": // the other end knows of the bond
		admitted = m.Enabled
	case mode == "active-backup", x.packet.number(ethDst)>>40&1 == 1:
		admitted = m.Active
	case mode == "balance-slb": // what the bond itself sent may come back
		moved := x.bridge.fdb[fdbKey{vlan, ethSrc.Print(x.packet.Get(ethSrc))}]
		if moved != nil && moved != u && !x.gratuitous() {
			x.detail("SLB bond thinks this packet looped back, dropping")
			return false
		}
		admitted = true
	}
	if !admitted {
		x.detail("bonding refused admissibility, dropping")
	}
	return admitted
}

// balances reports whether the datapath chooses the member of a bond.
func (x *translation) balances(u *bundle) bool {
	return bondMode(u.bond) == "balance-tcp" && (u.bond.Recirc != 0 || u.bond.Output != 0)
}

// sendBalanced has the datapath choose the member.
func (x *translation) sendBalanced(b *openflow.Bond) {
	x.commit()
	if b.Output != 0 {
		x.emit(fmt.Sprintf("lb_output(%d)", b.Output))
		return
	}
	x.emit(fmt.Sprintf("hash(l4(%d))", b.Basis))
	x.emit("recirc(" + hex(uint64(b.Recirc)) + ")")
}

// member returns the port by which the packet leaves; nil: by none. Of a bond that balances, bond/show lists only what sent
// much of late: for the rest it is the active member here, and any in ovs-vswitchd.
func (x *translation) member(u *bundle, vlan uint16) *port {
	if u.bond == nil {
		live := max(0, slices.IndexFunc(u.ports, func(p *port) bool { return p.live }))
		return u.ports[live]
	}
	mode := bondMode(u.bond)
	if mode == "" {
		return nil
	}
	if mode == "balance-slb" {
		x.touch(ethSrc, ethSrc.Mask())
		hash := bondHash(x.packet.Get(ethSrc), vlan, u.bond.Basis)
		if p := u.find(func(m *openflow.BondMember) bool { return m.Enabled && slices.Contains(m.Hashes, hash) }); p != nil {
			return p
		}
	}
	if p := u.find(func(m *openflow.BondMember) bool { return m.Enabled && m.Active }); p != nil || mode == "active-backup" {
		return p
	}
	return u.find(func(m *openflow.BondMember) bool { return m.Enabled })
}

// find returns a member of the bond.
func (u *bundle) find(is func(*openflow.BondMember) bool) *port {
	for _, p := range u.ports {
		if m := memberOf(u.bond, p); m != nil && is(m) {
			return p
		}
	}
	return nil
}

// bondHash is the number under which a bond keeps by which member a source sends.
func bondHash(mac packet.Value, vlan uint16, basis uint32) uint8 {
	word := mac.Lo | uint64(vlan)<<48
	return uint8(hashFinish(hashAdd(hashAdd(basis, uint32(word)), uint32(word>>32)), 8))
}
