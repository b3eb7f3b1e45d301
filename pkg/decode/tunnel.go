package decode

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// multicastKey is the first tunnel key of multicast groups; ports' keys are lower.
const multicastKey = 0x8000

// OVNOption returns the index of the tun_metadata field that holds OVN's Geneve option; false if the map has none,
// because ovn-controller has not set up the bridge or was not asked.
func OVNOption(tlvs []openflow.TLV) (int, bool) {
	for _, t := range tlvs {
		if t.Class == openflow.OVNTunnelOption.Class && t.Type == openflow.OVNTunnelOption.Type {
			index, err := strconv.Atoi(strings.TrimPrefix(t.Field.Name, "tun_metadata"))
			return index, err == nil
		}
	}
	return 0, false
}

// SplitOption decodes OVN's Geneve option: the tunnel keys of the logical inport (15 bits) and outport or multicast
// group (16 bits), ovn-architecture(7), "Tunnel Encapsulations".
func SplitOption(value uint32) (inport, outport uint64) {
	return uint64(value >> 16 & 0x7fff), uint64(value & 0xffff)
}

// SplitVNI decodes the VNI of a VXLAN tunnel between chassis: 12 bits of datapath, 11 of outport, and one that marks
// a multicast group. There is no room for the inport. (The VNI of a VTEP tunnel is the datapath alone.)
func SplitVNI(vni uint64) (datapath, outport uint64) {
	datapath, outport = vni&0xfff, vni>>12&0x7ff
	if vni&(1<<23) != 0 {
		outport |= multicastKey
	}
	return datapath, outport
}

// A TunnelEnd is the far end of a tunnel port of the integration bridge.
type TunnelEnd struct {
	Chassis string     // Chassis.name
	Node    string     // Chassis.hostname, empty while unknown to the Southbound
	Remote  netip.Addr // its encapsulation address
	Local   netip.Addr // our address, since 24.03; else invalid
}

// parseTunnelID parses Port.external_ids:ovn-chassis-id, CHASSIS@REMOTE up to 23.09 and CHASSIS@REMOTE%LOCAL from
// 24.03 on. A chassis name may contain @ and %, addresses contain neither.
func parseTunnelID(text string) (TunnelEnd, bool) {
	i := strings.LastIndexByte(text, '@')
	if i <= 0 {
		return TunnelEnd{}, false
	}
	remote, local, both := strings.Cut(text[i+1:], "%")
	end := TunnelEnd{Chassis: text[:i]}
	var err error
	if end.Remote, err = netip.ParseAddr(remote); err != nil {
		return TunnelEnd{}, false
	}
	if both {
		if end.Local, err = netip.ParseAddr(local); err != nil {
			return TunnelEnd{}, false
		}
	}
	return end, true
}
