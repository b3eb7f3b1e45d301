package desired

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
)

// options encodes a reply to DHCP, DHCPv6 or a router solicitation.
func (e *encoder) options(a *ovnexpr.PutOptions) {
	switch a.Name {
	case "put_dhcp_opts":
		e.ask(opPutDHCP, true, e.meter, append(e.result(a.Result), e.dhcp(a.Options)...))
	case "put_dhcpv6_opts":
		e.ask(opPutDHCPv6, true, e.meter, append(e.result(a.Result), e.dhcpv6(a.Options)...))
	default:
		e.ask(opPutRA, true, e.meter, append(e.result(a.Result), routerAdvertisement(a.Options)...))
	}
}

// firstOptions are the codes of the DHCP options that come first, in this order.
var firstOptions = []int{67, 254, 253}

func (e *encoder) dhcp(list []ovnexpr.Parameter) []byte {
	var offer []byte
	encoded := map[int][]byte{}
	var rest []byte
	for _, o := range list {
		if o.Name == "offerip" {
			offer = o.Values.Items[0].Value.Bytes(4)
			continue
		}
		option, ok := e.Options4[o.Name]
		if !ok {
			e.fail("no DHCP option %s", o.Name)
		}
		data := e.dhcpValue(option.Type, o.Values.Items)
		text := append([]byte{byte(option.Code), byte(len(data))}, data...)
		if slices.Contains(firstOptions, option.Code) {
			encoded[option.Code] = text
		} else {
			rest = append(rest, text...)
		}
	}
	b := offer
	for _, code := range firstOptions {
		b = append(b, encoded[code]...)
	}
	return append(b, rest...)
}

func (e *encoder) dhcpValue(kind string, values []ovnexpr.Constant) []byte {
	var b []byte
	switch kind {
	case "bool", "uint8":
		return values[0].Value.Bytes(1)
	case "uint16":
		return values[0].Value.Bytes(2)
	case "uint32":
		return values[0].Value.Bytes(4)
	case "ipv4":
		for _, v := range values {
			b = append(b, v.Value.Bytes(4)...)
		}
		return b
	case "static_routes":
		for i := 0; i+1 < len(values); i += 2 {
			length := 32
			if values[i].Masked {
				length = bits.OnesCount64(values[i].Mask.Lo)
			}
			b = append(append(b, byte(length)), values[i].Value.Bytes(4)[:(length+7)/8]...)
			b = append(b, values[i+1].Value.Bytes(4)...)
		}
		return b
	case "str":
		return []byte(values[0].Text)
	case "host_id":
		if values[0].Kind == ovnexpr.String {
			return []byte(values[0].Text)
		}
		return values[0].Value.Bytes(4)
	case "domains":
		return domains(values[0].Text)
	}
	e.fail("no encoding known of DHCP options of type %s", kind)
	return nil
}

// domains encodes names as RFC 1035 does, with what a name shares with the end of an earlier one as a pointer to it.
func domains(list string) []byte {
	var b []byte
	at := map[string]int{}
	for name := range strings.SplitSeq(list, ",") {
		labels := strings.Split(strings.Trim(strings.TrimSpace(name), "."), ".")
		pointed := false
		for i, label := range labels {
			suffix := strings.Join(labels[i:], ".")
			if p, ok := at[suffix]; ok {
				b = binary.BigEndian.AppendUint16(b, 0xc000|uint16(p))
				pointed = true
				break
			}
			at[suffix] = len(b)
			b = append(append(b, byte(len(label))), label...)
		}
		if !pointed {
			b = append(b, 0)
		}
	}
	return b
}

func (e *encoder) dhcpv6(list []ovnexpr.Parameter) []byte {
	var b []byte
	for _, o := range list {
		option, ok := e.Options6[o.Name]
		if !ok {
			e.fail("no DHCPv6 option %s", o.Name)
		}
		var data []byte
		for _, v := range o.Values.Items {
			switch option.Type {
			case "ipv6":
				data = append(data, v.Value.Bytes(16)...)
			case "mac":
				data = append(data, v.Value.Bytes(6)...)
			case "domain":
				data = append(data, domains(v.Text)...)
			default:
				data = append(data, v.Text...)
			}
		}
		b = binary.BigEndian.AppendUint16(b, uint16(option.Code))
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(data))), data...)
	}
	return b
}

// routerAdvertisement encodes a whole message (RFC 4861) but its checksum.
func routerAdvertisement(list []ovnexpr.Parameter) []byte {
	b := []byte{134, 0, 0, 0, 255, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0}
	stateful := false
	for _, o := range list {
		v := o.Values.Items[0]
		switch o.Name {
		case "addr_mode":
			switch v.Text {
			case "dhcpv6_stateful":
				stateful = true
				b[5] |= 0x80
			case "dhcpv6_stateless":
				b[5] |= 0x40
			}
		case "router_preference":
			b[5] |= map[string]byte{"HIGH": 0x08, "LOW": 0x18}[v.Text]
		case "slla":
			b = append(append(b, 1, 1), v.Value.Bytes(6)...)
		case "mtu":
			b = append(append(b, 5, 1, 0, 0), v.Value.Bytes(4)...)
		case "prefix":
			flags := byte(0xc0)
			if stateful {
				flags = 0x80
			}
			length := 128
			if v.Masked {
				length = bits.OnesCount64(v.Mask.Hi) + bits.OnesCount64(v.Mask.Lo)
			}
			b = append(b, 3, 4, byte(length), flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)
			b = append(b, v.Value.Bytes(16)...)
		}
	}
	return b
}
