package ovssim

import (
	"math/bits"

	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// What ovs-vswitchd itself handles: packets by which it monitors a port, or agrees with its neighbour about it
// (ovs-vswitchd.conf.db(5)).
const (
	etherTypeCFM  = 0x8902
	etherTypeLACP = 0x8809
	etherTypeLLDP = 0x88cc
	etherTypeNone = 0x05ff // in OpenFlow, of a frame with a length in its place
	bfdPort       = 3784
	addrCCM       = "01:80:c2:00:00:30" // of CFM
	addrExtended  = "01:23:20:00:00:30" // of CFM with more intervals than the standard has
	addrTree      = "01:80:c2:00:00:00" // of spanning trees
)

// monitors are what ovs-vswitchd watches a port by.
type monitors struct {
	bfd        bool
	bfdMAC     string // required destination MAC address of BFD; "": any
	bfdUnkeyed bool   // BFD only without a tunnel key
	cfm        string // destination MAC address of CFM; "": none
	lldp       bool
}

func newMonitors(i *vswitch.Interface) monitors {
	m := monitors{bfd: i.BFD["enable"] == "true", bfdMAC: i.BFD["bfd_remote_dst_mac"], bfdUnkeyed: i.BFD["check_tnl_key"] == "true", lldp: i.LLDP["enable"] == "true"}
	if len(i.CFMMPID) > 0 {
		m.cfm = addrCCM
		if i.OtherConfig["cfm_extended"] == "true" {
			m.cfm = addrExtended
		}
	}
	return m
}

// owns reports whether ovs-vswitchd itself handles the packet, which comes in by a port.
func (x *translation) owns(p *port) bool {
	kind := x.packet.number(ethType)
	name := ""
	switch {
	case x.ownCFM(p):
		name = "CFM"
	case x.ownBFD(p):
		name = "BFD"
	case p.bundle != nil && p.bundle.lacp && kind == etherTypeLACP:
		name = "LACP"
	case p.bridge.tree != "" && x.ownTree():
		name = "STP"
	case p.lldp && kind == etherTypeLLDP:
		name = "LLDP"
	default:
		return false
	}
	x.slow = append(x.slow, "Consists of "+name+" packets")
	return true
}

func (x *translation) ownCFM(p *port) bool {
	return p.cfm != "" && x.packet.number(ethType) == etherTypeCFM && x.isTo(p.cfm)
}

// ownBFD reports whether the packet is of a BFD session, which is over IPv4 only.
func (x *translation) ownBFD(p *port) bool {
	q := &x.packet
	if !p.bfd || p.bfdMAC != "" && !x.isTo(p.bfdMAC) || q.number(ethType) != packet.EthIPv4 {
		return false
	}
	x.touch(nwProto, nwProto.Mask())
	if q.number(nwProto) != packet.ProtoUDP || q.laterFragment() {
		return false
	}
	// Of another port, the highest bit that differs says that it is another.
	if other := q.number(tpDst) ^ bfdPort; other != 0 {
		x.touch(tpDst, packet.Uint(1<<(bits.Len64(other)-1)))
		return false
	}
	x.touch(tpDst, tpDst.Mask())
	if !p.bfdUnkeyed {
		return true
	}
	x.touch(tunID, tunID.Mask())
	return q.number(tunID) == 0
}

// ownTree reports whether the packet is of a spanning tree: a frame with a length in place of a type.
func (x *translation) ownTree() bool { return x.isTo(addrTree) && x.packet.isTree() }

func (x *translation) isTo(mac string) bool {
	x.touch(ethDst, ethDst.Mask())
	return ethDst.Print(x.packet.Get(ethDst)) == mac
}

func (p *frame) isTree() bool {
	return p.number(ethType) == etherTypeNone && ethDst.Print(p.Get(ethDst)) == addrTree
}

// A treeState is what a spanning tree has a port do.
type treeState struct {
	forwards bool
	learns   bool
	answers  bool // it sends packets of the tree
}

// freeState is the state of a port without a spanning tree.
var freeState = treeState{forwards: true, learns: true, answers: true}

// newTreeState returns the state of a port in the tree of its bridge: "STP", "RSTP" or "". A port that takes no part in it, as an
// internal one, forwards.
func newTreeState(tree string, row *vswitch.Port) treeState {
	s := freeState
	switch state := row.Status["stp_state"]; {
	case tree == "STP" && state != "":
		s = treeState{state == "forwarding" || state == "disabled", state == "forwarding" || state == "learning", state != "blocking"}
	case tree == "RSTP":
		state = row.RSTPStatus["rstp_port_state"]
		s.answers = state != "" && state != "Disabled"
		s.forwards = !s.answers || state == "Forwarding"
		s.learns = s.forwards || state == "Learning"
	}
	return s
}

// receives reports whether a port lets the packet in, if only to learn from it.
func (x *translation) receives(p *port) bool {
	closed := p.noReceive
	if x.packet.isTree() {
		closed = p.noTree
	}
	return !closed && (p.tree.forwards || p.tree.learns)
}

// passesTree reports whether the spanning tree lets the packet out of a port.
func (x *translation) passesTree(p *port) bool {
	switch {
	case x.base.isTree():
		if !p.tree.answers {
			x.warn("%s", map[string]string{"STP": "STP not in listening state, skipping bpdu output", "RSTP": "RSTP not managing BPDU in this state, skipping bpdu output"}[x.bridge.tree])
		}
		return p.tree.answers
	case !p.tree.forwards:
		x.warn("%s not in forwarding state, skipping output", x.bridge.tree)
	}
	return p.tree.forwards
}
