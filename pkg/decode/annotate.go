package decode

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// Context is what a number's meaning depends on besides its field. Unknown parts are zero.
type Context struct {
	Bridge   string // of in_port and output
	OVN      bool   // the flow matches on or sets a datapath, so it is OVN's
	Metadata uint64 // the datapath of reg14 and reg15
	TunID    uint64 // the datapath of the tunnel option
	VXLAN    bool   // the packet arrives or leaves by VXLAN
}

// Annotate describes the value of a field, such as "switch node1" for metadata; empty if there is nothing to add to
// the number.
func (n *Names) Annotate(f *packet.Field, value packet.Value, at Context) string {
	if f == nil || n == nil {
		return ""
	}
	if index, ok := strings.CutPrefix(f.Name, "tun_metadata"); ok {
		if n.haveOption && index == fmt.Sprint(n.option) {
			return n.option32(value, at)
		}
		return ""
	}
	switch f.Name {
	case "metadata":
		return n.datapathText(value.Lo)
	case "reg14", "reg15":
		return n.portText(at.Metadata, value.Lo)
	case "reg10":
		return strings.Join(release.FlagNames(uint32(value.Lo), n.Version), ",")
	case "ct_zone":
		return n.zoneText(int(value.Lo & 0xffff))
	case "reg11", "reg12":
		return n.zoneIn(value.Lo)
	case "reg13":
		return n.reg13Text(value.Lo)
	case "tun_id":
		return n.tunIDText(value.Lo, at)
	case "in_port", "in_port_oxm", "actset_output":
		if p, ok := n.OFPort(at.Bridge, int(value.Lo)); ok {
			return p.String()
		}
	case "ct_mark":
		return release.CtMark(value, n.Version)
	case "ct_label":
		return release.CtLabel(value, n.Version)
	}
	return ""
}

func (n *Names) datapathText(key uint64) string {
	if d := n.Datapath(key); d != nil {
		return d.String()
	}
	return ""
}

// evpnKey marks a key in reg14 or reg15 as an EVPN VTEP's (26.03).
const evpnKey = 1 << 31

func (n *Names) portText(datapath, key uint64) string {
	if key&evpnKey != 0 {
		return fmt.Sprintf("EVPN VTEP %d", key&^evpnKey)
	}
	if p := n.Port(datapath, key); p != nil {
		return p.String()
	}
	if g := n.Group(datapath, key); g != nil {
		return g.String()
	}
	return ""
}

func (n *Names) zoneText(number int) string {
	var words []string
	for _, z := range n.Zones(number) {
		words = append(words, z.String())
	}
	return strings.Join(words, ", ")
}

// zoneIn decodes a zone held in a register; 0 nearly always means that none is set, not zone 0.
func (n *Names) zoneIn(value uint64) string {
	if value == 0 {
		return ""
	}
	return n.zoneText(int(value & 0xffff))
}

// reg13Text decodes the zone and, since 24.03, the encap ID in the upper half.
func (n *Names) reg13Text(value uint64) string {
	zone := n.zoneIn(value & 0xffff)
	id := int(value >> 16 & 0xffff)
	if id == 0 {
		return zone
	}
	encap := fmt.Sprintf("encap %d", id)
	if id < len(n.encaps) {
		encap = "encap " + n.encaps[id]
	}
	if zone == "" {
		return encap
	}
	return zone + ", " + encap
}

func (n *Names) tunIDText(vni uint64, at Context) string {
	if !at.VXLAN {
		return n.datapathText(vni)
	}
	datapath, outport := SplitVNI(vni)
	text := n.datapathText(datapath)
	if to := n.portText(datapath, outport); to != "" {
		text += ", to " + to
	}
	return text
}

// option32 decodes OVN's Geneve option, for example "port a to port b".
func (n *Names) option32(value packet.Value, at Context) string {
	datapath := at.TunID
	if datapath == 0 {
		datapath = at.Metadata
	}
	inport, outport := SplitOption(uint32(value.Lo))
	from, to := n.portText(datapath, inport), n.portText(datapath, outport)
	if from == "" && to == "" {
		return ""
	}
	if from == "" {
		from = fmt.Sprintf("port %d", inport)
	}
	if to == "" {
		to = fmt.Sprintf("port %d", outport)
	}
	return from + " to " + to
}
