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
	bfdPort       = 3784
	addrCCM       = "01:80:c2:00:00:30" // of CFM
	addrExtended  = "01:23:20:00:00:30" // of CFM with more intervals than the standard has
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

func (x *translation) isTo(mac string) bool {
	x.touch(ethDst, ethDst.Mask())
	return ethDst.Print(x.packet.Get(ethDst)) == mac
}
