package decode

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// HasNames reports whether a field's values may have names.
func HasNames(f *packet.Field) bool {
	switch f.Name {
	case "metadata", "reg10", "reg11", "reg12", "reg13", "reg14", "reg15", "tun_id", "in_port", "ct_zone", "ct_mark", "ct_label":
		return true
	}
	return strings.HasPrefix(f.Name, "tun_metadata")
}

// Value describes the bits of a field covered by mask, at a place. lo is the lowest written bit.
func (n *Namer) Value(f *packet.Field, value, mask packet.Value, lo int, at Context) string {
	switch f.Name {
	case "reg10":
		return flagsText(value, mask, n.Version)
	case "ct_mark":
		return connectionText(release.CtMark, packet.Ones(32), value, mask, n.Version)
	case "ct_label":
		return connectionText(release.CtLabel, packet.Ones(128), value, mask, n.Version)
	}
	if value.IsZero() {
		return ""
	}
	if strings.HasPrefix(f.Name, "tun_metadata") {
		return n.optionText(f, uint32(value.Lo), lo, at)
	}
	text := n.Annotate(f, value, at)
	switch {
	case text == "" && n.plain && !at.VXLAN: // a VXLAN VNI may not be OVN's
		return plainField(f.Name, value.Lo)
	case text != "" && (f.Name == "reg14" || f.Name == "reg15"):
		if port := n.Port(at.Metadata, value.Lo); port != nil {
			text += ownerText(port)
		}
	}
	return text
}

// Written is Value for a write to a field. For the tunnel's fields, the datapath may become known only with the
// write.
func (n *Namer) Written(f *packet.Field, value, mask packet.Value, lo int, at Context) string {
	if at.Metadata == 0 && strings.HasPrefix(f.Name, "tun_") {
		at.Metadata = at.TunID
	}
	return n.Value(f, value, mask, lo, at)
}

// ownerText returns a logical port's owner, unless the port's name already shows it.
func ownerText(port *Port) string {
	if port.Owner == (Owner{}) || port.Owner.Kind == "Pod" {
		return ""
	}
	return " (" + port.Owner.String() + ")"
}

// flagsText names the bits of reg10 that are set, and with ! those that must be clear.
func flagsText(value, mask packet.Value, v release.Version) string {
	names := release.FlagNames(uint32(value.Lo), v)
	if mask != packet.Ones(32) {
		for _, name := range release.FlagNames(uint32(mask.AndNot(value).Lo), v) {
			if !strings.HasPrefix(name, "network_id") {
				names = append(names, "!"+name)
			}
		}
	}
	return strings.Join(names, ",")
}

// connectionText is flagsText for ct_mark and ct_label; full is the mask of all
// their bits.
func connectionText(text func(packet.Value, release.Version) string, full, value, mask packet.Value, v release.Version) string {
	var words []string
	if !value.IsZero() {
		words = append(words, text(value, v))
	}
	if clear := mask.AndNot(value); mask != full && clear.BitLen() <= 8 && !clear.IsZero() {
		for word := range strings.SplitSeq(text(clear, v), ",") {
			words = append(words, "!"+word)
		}
	}
	if len(words) == 1 && strings.Contains(words[0], "0x") && !strings.ContainsAny(words[0], "=,") {
		return "" // none of its bits has a meaning
	}
	return strings.Join(words, ",")
}

// optionText decodes OVN's tunnel option, or the part of it from bit lo on.
func (n *Namer) optionText(f *packet.Field, value uint32, lo int, at Context) string {
	field := "tun_metadata0" // nearly always
	if index, ok := n.OptionField(); ok {
		field = "tun_metadata" + strconv.Itoa(index)
	}
	if f.Name != field {
		return ""
	}
	return n.Option(value, lo < 16, at)
}

// Option describes which logical port a packet in a tunnel comes from and, if the value is whole, which one it goes
// to.
func (n *Namer) Option(value uint32, whole bool, at Context) string {
	inport, outport := SplitOption(value)
	datapath := at.TunID
	if datapath == 0 {
		datapath = at.Metadata
	}
	var words []string
	if inport != 0 {
		words = append(words, "from "+n.logicalPort(datapath, inport))
	}
	if outport != 0 && whole {
		words = append(words, "to "+n.logicalPort(datapath, outport))
	}
	return strings.Join(words, " ")
}

// logicalPort names a port or a multicast group of a datapath.
func (n *Namer) logicalPort(datapath, key uint64) string {
	if port := n.Port(datapath, key); port != nil {
		return port.String()
	}
	if group := n.Group(datapath, key); group != nil {
		return group.String()
	}
	return plainPort(key)
}

// PortName describes what is behind a bridge's OpenFlow port; empty if the bridge is unknown.
func (n *Namer) PortName(bridge string, port packet.PortID) string {
	if port.Name != "" {
		return n.InterfaceName(port.Name)
	}
	if bridge == "" || port.Number >= packet.PortMax {
		return ""
	}
	if p, ok := n.OFPort(bridge, int(port.Number)); ok {
		return n.behind(p)
	}
	return ""
}

// behind describes what is behind a bridge's port, and its interface.
func (n *Namer) behind(p OFPort) string {
	text := p.String()
	if p.LogicalPort != "" && p.Peer == "" {
		if port := n.byName[p.LogicalPort]; port != nil {
			text += ownerText(port)
		}
	}
	if text != p.Interface && p.Peer == "" && p.Tunnel == nil {
		text += ", interface " + p.Interface
	}
	return text
}

// openFlowName is the maximum length of an interface name in OpenFlow.
const openFlowName = 15

// interfaceNamed finds an interface by name, or by OpenFlow's truncated name if it is unique.
func (n *Namer) interfaceNamed(name string) (OFPort, bool) {
	p, ok := n.interfaceCalled(name)
	if ok || len(name) != openFlowName {
		return p, ok
	}
	for _, q := range n.OFPorts("") {
		if strings.HasPrefix(q.Interface, name) {
			if ok {
				return OFPort{}, false
			}
			p, ok = q, true
		}
	}
	return p, ok
}

// InterfaceName describes what is behind an interface; empty if it is just the interface.
func (n *Namer) InterfaceName(name string) string {
	p, ok := n.interfaceNamed(name)
	if !ok || p.String() == name {
		return ""
	}
	return p.String()
}

// DatapathPort names an OVS datapath port, written as its number there or as a name.
func (n *Namer) DatapathPort(text string) string {
	name := text
	if number, err := strconv.ParseUint(text, 10, 16); err == nil {
		if name = n.datapathPorts()[int(number)]; name == "" {
			return ""
		}
	}
	switch { // one OVS datapath port serves all tunnels of a type
	case strings.HasPrefix(name, "genev"):
		return "Geneve tunnels"
	case strings.HasPrefix(name, "vxlan"):
		return "VXLAN tunnels"
	}
	p, ok := n.interfaceCalled(name)
	switch {
	case !ok && name == text:
		return ""
	case !ok:
		return name
	case name != text:
		return n.behind(p)
	}
	return n.InterfaceName(name)
}

// UserdataText describes what ovn-controller is asked to do with a packet, followed in braces by what it does with
// the packet that it makes.
func (n *Namer) UserdataText(ctx context.Context, data []byte, at Context) string {
	u, ok := ParseUserdata(data)
	if !ok {
		return ""
	}
	text := u.String()
	if !strings.Contains(text, u.Opcode) {
		text = strings.ToLower(u.Opcode) + ": " + text
	}
	if u.Result != "" {
		text += ", " + u.Result + " reports whether it worked"
	}
	then := ""
	if u.Port != 0 {
		then = n.logicalPort(at.Metadata, u.Port)
	} else {
		w := writer{Namer: n, ctx: ctx}
		then = u.Then(func(action any) string {
			if _, _, name := w.nameOf(action, &at); name != "" {
				return brackets.Get().Replace("<" + name + ">")
			}
			return ""
		})
	}
	if then != "" {
		text += " {" + then + "}"
	}
	return text
}

// plainPort names a port or multicast group by number; the first two groups have the same number everywhere.
func plainPort(key uint64) string {
	switch {
	case key == 0x8000:
		return "multicast group 32768, all ports"
	case key == 0x8001:
		return "multicast group 32769, ports of unknown addresses"
	case key > 0x8000 && key <= 0xffff:
		return fmt.Sprintf("multicast group %d", key)
	}
	return fmt.Sprintf("logical port %d", key)
}

// plainField explains a value that no database names.
func plainField(name string, n uint64) string {
	switch name {
	case "metadata":
		return fmt.Sprintf("logical switch or router %d", n)
	case "tun_id":
		return fmt.Sprintf("VNI, logical switch or router %d", n)
	case "reg14":
		return "came in by " + plainPort(n)
	case "reg15":
		return "goes out by " + plainPort(n)
	case "reg11":
		return fmt.Sprintf("conntrack zone %d for DNAT", n&0xffff)
	case "reg12":
		return fmt.Sprintf("conntrack zone %d for SNAT", n&0xffff)
	case "reg13":
		return fmt.Sprintf("conntrack zone %d of the logical port", n&0xffff)
	}
	return ""
}

// plainTable explains a table if neither flows nor release are known, from what all releases up to 26.03 have in
// common.
func plainTable(of int) string {
	switch {
	case of == 0:
		return release.PhyToLog.Explain()
	case of >= 8 && of < 32:
		return "logical ingress pipeline"
	case of >= 50 && of < 64:
		return "logical egress pipeline"
	case of == 64:
		return release.SaveInport.Explain()
	case of == 65:
		return release.LogToPhy.Explain()
	}
	return ""
}
