package ovssim

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// vlanMode is what a port does with VLAN tags (ovs-vswitchd.conf.db(5), column vlan_mode of table Port).
type vlanMode uint8

const (
	trunk vlanMode = iota
	access
	nativeTagged
	nativeUntagged
	dot1qTunnel
)

// A tag is a VLAN tag as NORMAL sees it; one without a type is none.
type tag struct {
	ethType  uint16
	id       uint16
	priority uint16 // at the same bits as in vlan_tci
}

type tags [2]tag

// carries reports whether a port that forwards whole VLANs carries one.
func (u *bundle) carries(id uint16) bool {
	return u.mode != access && (u.trunks == nil || u.trunks[id])
}

// admits reports whether a packet with a tag may come in.
func (x *translation) admits(u *bundle, id uint16) bool {
	switch u.mode {
	case access:
		if id != 0 {
			x.fault("dropping VLAN %d tagged packet received on port %s configured as VLAN %d access port", id, u.name, u.vlan)
			return false
		}
		return true
	case dot1qTunnel:
		if u.cvlans != nil && !u.cvlans[id] {
			x.fault("dropping VLAN %d packet received on dot1q-tunnel port %s that excludes this VLAN", id, u.name)
			return false
		}
		return true
	case nativeTagged, nativeUntagged:
		if id == 0 {
			return true
		}
	}
	if !u.carries(id) {
		x.fault("dropping VLAN %d packet received on port %s not configured for trunking VLAN %d", id, u.name, id)
		return false
	}
	return true
}

// has reports whether a VLAN's packets leave by a port.
func (u *bundle) has(t tags) bool {
	switch u.mode {
	case access:
		return t[0].id == u.vlan && t[1].id == 0
	case dot1qTunnel:
		return t[0].id == u.vlan && (u.cvlans == nil || u.cvlans[t[1].id])
	}
	return u.carries(t[0].id)
}

// received returns a packet's tags inside the bridge.
func (u *bundle) received(t tags) tags {
	ethType := t[0].ethType
	if ethType == 0 {
		ethType = 0x8100
	}
	switch {
	case u.mode == access:
		return tags{{ethType, u.vlan, t[0].priority}}
	case u.mode == dot1qTunnel:
		return tags{{u.ethType, u.vlan, 0}, t[0]}
	case u.mode != trunk && t[0].id == 0:
		t[0] = tag{ethType, u.vlan, t[0].priority}
	}
	return t
}

// sent returns the tags with which a packet leaves.
func (u *bundle) sent(t tags) tags {
	switch {
	case u.mode == access:
		return tags{}
	case u.mode == dot1qTunnel, u.mode == nativeUntagged && t[0].id == u.vlan:
		return tags{t[1]}
	}
	return t
}

func (p *frame) vlans() tags {
	var t tags
	for i, f := range []*packet.Field{outer, inner} {
		tci := uint16(p.number(f))
		if tci&tagPresent == 0 {
			break
		}
		t[i] = tag{p.tagTypes[i], tci & 0xfff, tci & 0xe000}
	}
	return t
}

func (p *frame) setVLANs(t tags, always bool) {
	for i, f := range []*packet.Field{outer, inner} {
		tci := t[i].id | t[i].priority
		p.tagTypes[i] = 0
		if tci != 0 || always && t[i].ethType != 0 {
			tci |= tagPresent
			if p.tagTypes[i] = t[i].ethType; p.tagTypes[i] == 0 {
				p.tagTypes[i] = 0x8100
			}
		}
		p.set(f, uint64(tci))
	}
}

// normal forwards the packet as a learning switch does (ovs-actions(7), "The output action").
func (x *translation) normal(last bool) {
	x.touch(ethSrc, ethSrc.Mask())
	x.touch(ethDst, ethDst.Mask())
	x.touch(outer, packet.Uint(0x1fff))
	number := uint32(x.packet.number(inPort))
	in := x.bridge.ports[number]
	from := &bundle{} // for a packet from the controller: a trunk
	switch {
	case in != nil && in.bundle != nil:
		from = in.bundle
	case number != packet.PortController && number != packet.PortAny:
		x.fault("received packet on unknown port %d", number)
		x.warn("no input bundle, dropping")
		return
	}
	if from.mirrored {
		x.warn("input port is mirror output port, dropping")
		return
	}
	arrived := x.packet.vlans()
	if from.name != "" && !x.admits(from, arrived[0].id) {
		x.warn("disallowed VLAN VID for this input port, dropping")
		return
	}
	vlans := from.received(arrived)
	mac := ethDst.Print(x.packet.Get(ethDst))
	if in != nil && !x.bridge.bpdu && reserved(mac) {
		x.detail("packet has reserved destination MAC, dropping")
		return
	}
	if in != nil && from.bond != nil && !x.admitsBonded(from, in, vlans[0].id) {
		return
	}
	x.gratuitous()
	if source := x.packet.Get(ethSrc); x.generate && in != nil && source.Lo>>40&1 == 0 {
		x.bridge.fdb[fdbKey{vlans[0].id, ethSrc.Print(source)}] = from
	}
	multicast := x.packet.number(ethDst)>>40&1 == 1
	if x.bridge.snooping && multicast && mac != broadcast && x.packet.ip() {
		x.detail("unregistered multicast, flooding")
		x.normalFlood(from, vlans, last)
		return
	}
	to, ok := x.bridge.fdb[fdbKey{vlans[0].id, mac}]
	switch {
	case !ok:
		x.detail("no learned MAC for destination, flooding")
		x.normalFlood(from, vlans, last)
	case to.mirrored:
		x.warn("learned port is a mirror port, dropping")
	case to == from:
		x.detail("learned port is input port, dropping")
	default:
		x.detail("forwarding to learned port")
		x.forward(to, vlans, last)
	}
}

const broadcast = "ff:ff:ff:ff:ff:ff"

// reserved reports whether switches do not forward an address.
func reserved(mac string) bool {
	if strings.HasPrefix(mac, "01:80:c2:00:00:0") {
		return true
	}
	switch mac {
	case "00:e0:2b:00:00:00", "00:e0:2b:00:00:04", "00:e0:2b:00:00:06", "01:00:0c:00:00:00", "01:00:0c:cc:cc:cc", "01:00:0c:cc:cc:cd",
		"01:00:0c:cd:cd:cd", "01:00:0c:cc:cc:c0", "01:00:0c:cc:cc:c1", "01:00:0c:cc:cc:c2", "01:00:0c:cc:cc:c3", "01:00:0c:cc:cc:c4",
		"01:00:0c:cc:cc:c5", "01:00:0c:cc:cc:c6", "01:00:0c:cc:cc:c7":
		return true
	}
	return false
}

// gratuitous reports whether the packet is gratuitous ARP: a broadcast that answers nobody, or asks for its own address.
func (x *translation) gratuitous() bool {
	p := &x.packet
	if !p.Meets(packet.NeedsARP) || ethDst.Print(p.Get(ethDst)) != broadcast {
		return false
	}
	x.touch(arpOp, arpOp.Mask())
	if p.number(arpOp) != 1 {
		return p.number(arpOp) == 2
	}
	x.touch(ipSrc, ipSrc.Mask())
	x.touch(ipDst, ipDst.Mask())
	return p.Get(ipSrc) == p.Get(ipDst)
}

func (x *translation) normalFlood(from *bundle, vlans tags, last bool) {
	var list []*bundle
	for _, u := range x.bridge.bundles {
		if u != from && u.has(vlans) && !u.mirrored && !u.ports[0].noFlood && !u.layer3() {
			list = append(list, u)
		}
	}
	for i, u := range list {
		x.forward(u, vlans, last && i == len(list)-1)
	}
}

// layer3 reports whether the ports carry no Ethernet.
func (u *bundle) layer3() bool { return u.ports[0].tunnel != nil && u.ports[0].tunnel.layer3 }

// forward sends the packet out of a bundle, with the bundle's tags.
func (x *translation) forward(to *bundle, vlans tags, last bool) {
	if to.mode == dot1qTunnel && to.cvlans != nil {
		x.touch(inner, packet.Uint(0xffff))
	}
	out := to.sent(vlans)
	if to.priorityTags == "if-nonzero" || to.priorityTags == "always" {
		out[0].priority = uint16(x.packet.number(outer)) & 0xe000
	}
	balanced := to.bond != nil && x.balances(to)
	p := x.member(to, vlans[0].id)
	if p == nil && !balanced {
		return
	}
	outerTag, innerTag, types := x.packet.Get(outer), x.packet.Get(inner), x.packet.tagTypes
	x.packet.setVLANs(out, to.priorityTags == "always")
	if balanced {
		x.sendBalanced(to.bond)
	} else {
		x.send(p.number, last, false)
	}
	x.packet.Set(outer, outerTag)
	x.packet.Set(inner, innerTag)
	x.packet.tagTypes = types
}
