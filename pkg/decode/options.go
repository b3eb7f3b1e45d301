package decode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A form is the encoding of an option's value.
type form int

const (
	formBytes form = iota
	formAddress
	formAddress6
	formMAC
	formNumber
	formText
	formHost    // an address or a name
	formRoutes  // RFC 3442
	formDomains // RFC 1035, names in sequence
)

// An option is one that OVN puts in a reply.
type option struct {
	name string // ovn-northd's name
	form form
}

// dhcpOptions4 maps codes to DHCP options, as in the Southbound's DHCP_Options.
var dhcpOptions4 = lazy.Value[map[int]option]{Make: func() map[int]option {
	return map[int]option{
		1: {"netmask", formAddress}, 3: {"router", formAddress}, 6: {"dns_server", formAddress}, 7: {"log_server", formAddress},
		9: {"lpr_server", formAddress}, 12: {"hostname", formText}, 15: {"domain_name", formText}, 16: {"swap_server", formAddress},
		19: {"ip_forward_enable", formNumber}, 21: {"policy_filter", formAddress}, 23: {"default_ttl", formNumber}, 26: {"mtu", formNumber},
		28: {"broadcast_address", formAddress}, 31: {"router_discovery", formNumber}, 32: {"router_solicitation", formAddress},
		35: {"arp_cache_timeout", formNumber}, 36: {"ethernet_encap", formNumber}, 37: {"tcp_ttl", formNumber},
		38: {"tcp_keepalive_interval", formNumber}, 41: {"nis_server", formAddress}, 42: {"ntp_server", formAddress},
		44: {"netbios_name_server", formAddress}, 46: {"netbios_node_type", formNumber}, 51: {"lease_time", formNumber},
		54: {"server_id", formAddress}, 58: {"T1", formNumber}, 59: {"T2", formNumber}, 66: {"tftp_server", formHost},
		67: {"bootfile_name", formText}, 119: {"domain_search_list", formDomains}, 121: {"classless_static_route", formRoutes},
		150: {"tftp_server_address", formAddress}, 210: {"path_prefix", formText}, 249: {"ms_classless_static_route", formRoutes},
		252: {"wpad", formText}, 253: {"next_server", formAddress}, 254: {"bootfile_name_alt", formText},
	}
}}

// dhcpOptions6 maps codes to DHCPv6 options.
var dhcpOptions6 = lazy.Value[map[int]option]{Make: func() map[int]option {
	return map[int]option{
		2: {"server_id", formMAC}, 5: {"ia_addr", formAddress6}, 23: {"dns_server", formAddress6}, 24: {"domain_search", formText},
		39: {"fqdn", formDomains}, 59: {"bootfile_name", formText}, 254: {"bootfile_name_alt", formText},
	}
}}

// eventNames maps codes to event options, all for load balancers without backends.
var eventNames = lazy.Value[map[int]option]{Make: func() map[int]option {
	return map[int]option{1: {"vip", formText}, 2: {"protocol", formText}, 3: {"load_balancer", formText}}
}}

// dhcpReply parses the reply to a DHCP request: the offered address, then options with one byte each for code and
// length (RFC 2132).
func dhcpReply(b []byte) (list []string, whole bool) {
	if len(b) < 4 {
		return nil, false
	}
	list = append(list, "offerip="+addresses(b[:4], 4))
	for b = b[4:]; len(b) >= 2; {
		size := 2 + int(b[1])
		if len(b) < size {
			break
		}
		list = append(list, optionText(dhcpOptions4.Get(), int(b[0]), b[2:size]))
		b = b[size:]
	}
	return list, len(b) == 0
}

// dhcpv6Options parses options with two bytes each for code and length (RFC 8415).
func dhcpv6Options(b []byte) ([]string, bool) { return wideOptions(b, dhcpOptions6.Get()) }

// eventOptions parses an event number and its options.
func eventOptions(b []byte) ([]string, bool) {
	if len(b) < 4 {
		return nil, false
	}
	event := fmt.Sprint("event ", binary.BigEndian.Uint32(b))
	if event == "event 0" {
		event = "empty_lb_backends"
	}
	list, whole := wideOptions(b[4:], eventNames.Get())
	return slices.Concat([]string{event}, list), whole
}

func wideOptions(b []byte, known map[int]option) (list []string, whole bool) {
	for len(b) >= 4 {
		size := 4 + int(binary.BigEndian.Uint16(b[2:]))
		if len(b) < size {
			break
		}
		list = append(list, optionText(known, int(binary.BigEndian.Uint16(b)), b[4:size]))
		b = b[size:]
	}
	return list, len(b) == 0
}

// fragMTU parses the MTU of an ICMP error, two or four bytes.
func fragMTU(b []byte) ([]string, bool) {
	switch len(b) {
	case 2, 4:
		return []string{"frag_mtu=" + formNumber.text(b)}, true
	}
	return nil, false
}

// relayServers parses the addresses of the relay and of the server.
func relayServers(b []byte) ([]string, bool) {
	if len(b) != 8 {
		return nil, false
	}
	return []string{"relay=" + addresses(b[:4], 4), "server=" + addresses(b[4:], 4)}, true
}

// routerAdvertisement parses the reply to a router solicitation (RFC 4861), using OVN's terms.
func routerAdvertisement(b []byte) (list []string, whole bool) {
	const header = 16
	if len(b) < header {
		return nil, false
	}
	mode := "slaac"
	switch flags := b[5]; {
	case flags&0x80 != 0:
		mode = "dhcpv6_stateful"
	case flags&0x40 != 0:
		mode = "dhcpv6_stateless"
	}
	list = append(list, "addr_mode="+strconv.Quote(mode))
	if preference := b[5] >> 3 & 3; preference != 0 {
		list = append(list, "router_preference="+strconv.Quote(preferences[preference]))
	}
	var routes []string
	for b = b[header:]; len(b) >= 8; {
		size := 8 * int(b[1])
		if size == 0 || size > len(b) {
			break
		}
		if b[0] == 24 {
			routes = append(routes, preferences[b[3]>>3&3]+"-"+prefix6(b[8:size], b[2]))
		} else {
			list = append(list, advertised(b[:size]))
		}
		b = b[size:]
	}
	if routes != nil {
		list = append(list, "route_info="+strconv.Quote(strings.Join(routes, ",")))
	}
	return list, len(b) == 0
}

// preferences are the values of router and route preference (RFC 4191).
var preferences = [4]string{"MEDIUM", "HIGH", "reserved", "LOW"}

// advertised parses an option of a router advertisement, at least 8 bytes; routes are collected separately.
func advertised(b []byte) string {
	switch kind := b[0]; {
	case kind == 1:
		return "slla=" + formMAC.text(b[2:8])
	case kind == 3 && len(b) == 32:
		return "prefix=" + prefix6(b[16:], b[2])
	case kind == 5:
		return "mtu=" + formNumber.text(b[4:8])
	case kind == 25:
		return "rdnss=" + formAddress6.text(b[8:])
	case kind == 31:
		return "dnssl=" + formDomains.text(b[8:])
	}
	return fmt.Sprintf("option %d=0x%x", b[0], b[2:])
}

// prefix6 returns a prefix whose address may be truncated.
func prefix6(address []byte, length byte) string {
	var full [16]byte
	copy(full[:], address)
	return fmt.Sprintf("%s/%d", netip.AddrFrom16(full), length)
}

func optionText(known map[int]option, code int, value []byte) string {
	o, ok := known[code]
	if !ok {
		o.name = fmt.Sprint("option ", code)
	}
	return o.name + "=" + o.form.text(value)
}

// text decodes the value of an option; a malformed one is printed as bytes.
func (f form) text(b []byte) string {
	switch {
	case f == formText:
		return strconv.Quote(string(b))
	case f == formHost && len(b) == 4 && bytes.ContainsFunc(b, func(r rune) bool { return r <= ' ' || r > '~' }):
		return addresses(b, 4)
	case f == formHost:
		return strconv.Quote(string(b))
	case f == formAddress && len(b)%4 == 0:
		return addresses(b, 4)
	case f == formAddress6 && len(b)%16 == 0:
		return addresses(b, 16)
	case f == formMAC && len(b) == 6:
		return net.HardwareAddr(b).String()
	case f == formNumber && len(b) > 0 && len(b) <= 8:
		var wide [8]byte
		copy(wide[8-len(b):], b)
		return strconv.FormatUint(binary.BigEndian.Uint64(wide[:]), 10)
	case f == formRoutes:
		if text, ok := classlessRoutes(b); ok {
			return text
		}
	case f == formDomains:
		if text, ok := domains(b); ok {
			return strconv.Quote(text)
		}
	}
	return fmt.Sprintf("0x%x", b)
}

// addresses returns a sequence of addresses of size bytes each.
func addresses(b []byte, size int) string {
	var list []string
	for a := range slices.Chunk(b, size) {
		list = append(list, net.IP(a).String())
	}
	return strings.Join(list, " ")
}

// classlessRoutes parses routes as in RFC 3442: prefix length, the significant bytes of the prefix, the next hop.
func classlessRoutes(b []byte) (string, bool) {
	var list []string
	for len(b) > 0 {
		length := int(b[0])
		size := (length + 7) / 8
		if length > 32 || len(b) < 1+size+4 {
			return "", false
		}
		var prefix [4]byte
		copy(prefix[:], b[1:1+size])
		list = append(list, fmt.Sprintf("%s/%d via %s", net.IP(prefix[:]), length, net.IP(b[1+size:5+size])))
		b = b[5+size:]
	}
	return strings.Join(list, " "), true
}

// maxDomains limits the text of domain names.
const maxDomains = 1 << 10

// domains parses a sequence of RFC 1035 names; empty ones are padding.
func domains(b []byte) (string, bool) {
	var text []byte
	for at := 0; at < len(b); {
		name, next, ok := domain(b, at)
		if !ok || len(text) > maxDomains {
			return "", false
		}
		if name != "" && text != nil {
			text = append(text, ',')
		}
		text, at = append(text, name...), next
	}
	return string(text), true
}

// domain parses the name at an offset: labels that end with an empty one, or with the offset where the name
// continues. It returns the offset after it.
func domain(b []byte, at int) (name string, next int, ok bool) {
	var labels []string
	for i, size := at, 0; i < len(b) && size <= 255; {
		switch length := int(b[i]); {
		case length == 0:
			return strings.Join(labels, "."), max(next, i+1), true
		case length >= 0xc0 && i+1 < len(b):
			to := (length&0x3f)<<8 | int(b[i+1])
			if to >= i {
				return "", 0, false
			}
			next, i = max(next, i+2), to
		case i+1+length > len(b):
			return "", 0, false
		default:
			labels = append(labels, string(b[i+1:i+1+length]))
			i, size = i+1+length, size+1+length
		}
	}
	return "", 0, false
}
