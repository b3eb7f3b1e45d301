package text

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// canonical names the fields that have glosses by what matches call them; empty
// for all others.
func canonical(key string) string {
	switch key {
	case "metadata", "reg10", "reg11", "reg12", "reg13", "reg14", "reg15", "tun_id", "in_port", "ct_zone", "ct_mark", "ct_label":
		return key
	case "OXM_OF_METADATA":
		return "metadata"
	case "NXM_NX_REG10", "NXM_NX_REG11", "NXM_NX_REG12", "NXM_NX_REG13", "NXM_NX_REG14", "NXM_NX_REG15":
		return "reg" + key[len("NXM_NX_REG"):]
	case "NXM_NX_TUN_ID":
		return "tun_id"
	case "NXM_OF_IN_PORT":
		return "in_port"
	case "NXM_NX_CT_ZONE", "zone":
		return "ct_zone"
	case "NXM_NX_CT_MARK", "mark":
		return "ct_mark"
	case "NXM_NX_CT_LABEL", "labels":
		return "ct_label"
	}
	if n, ok := strings.CutPrefix(key, "NXM_NX_TUN_METADATA"); ok {
		return "tun_metadata" + n
	}
	if strings.HasPrefix(key, "tun_metadata") {
		return key
	}
	return ""
}

// field glosses the value of a field.
func (a *Annotator) field(t token, p place) {
	name := canonical(t.key)
	switch name {
	case "":
		return
	case "in_port":
		a.add(t.end, name, t.value, a.port(p.bridge, t.value))
		return
	}
	f, ok := packet.Lookup(name)
	if !ok || t.value == "NP" {
		return
	}
	value, mask, err := f.ParseValue(t.value)
	if err != nil {
		return
	}
	if t.bits > 0 {
		mask = packet.Ones(t.bits).Shl(t.lo)
		value = value.Shl(t.lo).And(mask)
	}
	if t.form == written || t.form == now {
		if p.at.Metadata == 0 && strings.HasPrefix(name, "tun_") {
			p.at.Metadata = p.at.TunID
		}
	}
	a.add(t.end, name, t.value, a.valueText(f, name, value, mask, t.lo, p))
}

// valueText says what the value of a field means in a place.
func (a *Annotator) valueText(f *packet.Field, name string, value, mask packet.Value, lo int, p place) string {
	switch name {
	case "reg10":
		return flagsText(value, mask, a.decoder.Names.Version)
	case "ct_mark", "ct_label":
		return bitsText(name, value, mask, a.decoder.Names.Version)
	}
	if !value.IsZero() {
		if strings.HasPrefix(name, "tun_metadata") {
			return a.optionText(name, uint32(value.Lo), lo, p)
		}
		if text := a.decoder.Names.Annotate(f, value, p.at); text != "" {
			if port := a.decoder.Names.Port(p.at.Metadata, value.Lo); port != nil && (name == "reg14" || name == "reg15") {
				text += ownerText(port)
			}
			return text
		}
		if a.plain && !p.at.VXLAN { // whose VNI may be anybody's
			return plainField(name, value.Lo)
		}
	}
	return ""
}

// ownerText says who made a logical port, unless its name does.
func ownerText(port *decode.Port) string {
	if port.Owner == "" || strings.HasPrefix(port.Owner, "Pod ") {
		return ""
	}
	return " (" + port.Owner + ")"
}

// flagsText names the bits of reg10 that are set, and with ! those that are
// asked to be clear.
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

// bitsText does so for ct_mark and ct_label.
func bitsText(name string, value, mask packet.Value, v release.Version) string {
	text, full := release.CtMark, packet.Ones(32)
	if name == "ct_label" {
		text, full = release.CtLabel, packet.Ones(128)
	}
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
		return "" // no bit of it has a meaning
	}
	return strings.Join(words, ",")
}

// optionText reads OVN's tunnel option, or the part of it from a bit on.
func (a *Annotator) optionText(name string, value uint32, lo int, p place) string {
	if index, ok := a.decoder.Names.OptionField(); ok && name != "tun_metadata"+strconv.Itoa(index) || !ok && name != "tun_metadata0" {
		return ""
	}
	return a.option(value, lo < 16, p)
}

// option says in words from which logical port a packet in a tunnel comes, and
// to which it goes.
func (a *Annotator) option(value uint32, whole bool, p place) string {
	inport, outport := decode.SplitOption(value)
	datapath := p.at.TunID
	if datapath == 0 {
		datapath = p.at.Metadata
	}
	var words []string
	if inport != 0 {
		words = append(words, "from "+a.logicalPort(datapath, inport))
	}
	if outport != 0 && whole {
		words = append(words, "to "+a.logicalPort(datapath, outport))
	}
	return strings.Join(words, " ")
}

// logicalPort names a port or a multicast group of a datapath.
func (a *Annotator) logicalPort(datapath, key uint64) string {
	if port := a.decoder.Names.Port(datapath, key); port != nil {
		return port.String()
	}
	if group := a.decoder.Names.Group(datapath, key); group != nil {
		return group.String()
	}
	return plainPort(key)
}

// plainPort names a port or a multicast group by its number; the numbers of the
// first two groups are the same everywhere.
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

// plainField says what a value is for where no database has its name.
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

// plainTable says what a table is for where neither flows nor release are known:
// what all releases up to 26.03 have in common.
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

// userdata says what ovn-controller is asked to do by "00.00.00.12.…", and in braces
// what with the packet that it makes, in the place of the packet.
func (a *Annotator) userdata(ctx context.Context, text string, p place) string {
	data, err := hex.DecodeString(strings.ReplaceAll(text, ".", ""))
	if err != nil {
		return ""
	}
	u, ok := decode.ParseUserdata(data)
	if !ok {
		return ""
	}
	text = u.String()
	if !strings.Contains(text, u.Opcode) {
		text = strings.ToLower(u.Opcode) + ": " + text
	}
	if u.Result != "" {
		text += ", " + u.Result + " says whether"
	}
	switch {
	case u.Port != 0:
		text += " {" + a.logicalPort(p.at.Metadata, u.Port) + "}"
	case len(u.Nested) > 0:
		text += " {" + a.nested(ctx, u.Then(), p) + "}"
	case u.Then() != "":
		text += " {" + u.Then() + "}"
	}
	return text
}

// nested glosses actions that stand in a gloss, in brackets of another form.
func (a *Annotator) nested(ctx context.Context, text string, p place) string {
	glosses := a.glosses
	a.glosses = nil
	for _, t := range scan(text, nil) {
		if t.form == assigned {
			a.field(t, p)
		} else {
			a.action(ctx, t, &p, nil)
		}
	}
	text = Brackets.Replace(Text{text, a.glosses}.String())
	a.glosses = glosses
	return text
}
