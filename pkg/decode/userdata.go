package decode

import (
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// opcodes names the operations of ovn-controller's packet-in handling, by
// their number in a controller action's userdata. Numbers were only ever
// added (the last two in 24.09).
var opcodes = []string{
	"ARP", "PUT_ARP", "PUT_DHCP_OPTS", "ND_NA", "PUT_ND", "PUT_DHCPV6_OPTS", "DNS_LOOKUP", "LOG",
	"PUT_ND_RA_OPTS", "ND_NS", "ICMP", "TCP_RESET", "ND_NA_ROUTER", "PUT_ICMP4_FRAG_MTU",
	"ICMP4_ERROR", "EVENT", "IGMP", "BIND_VPORT", "HANDLE_SVC_CHECK", "DHCP6_SERVER",
	"ICMP6_ERROR", "PUT_ICMP6_FRAG_MTU", "REJECT", "BFD_MSG", "SCTP_ABORT", "PUT_FDB",
	"ACTIVATION_STRATEGY", "MG_SPLIT_BUF", "DHCP_RELAY_REQ_CHK", "DHCP_RELAY_RESP_CHK",
}

// effects says what becomes of the packet for the operations that an operator
// asks about.
var effects = map[string]string{
	"ARP":                 "asks for the next hop's MAC by ARP",
	"ND_NS":               "asks for the next hop's MAC by neighbour solicitation",
	"PUT_ARP":             "learns the sender's MAC",
	"PUT_ND":              "learns the sender's MAC",
	"PUT_FDB":             "learns the source MAC",
	"ND_NA":               "answers the neighbour solicitation",
	"ND_NA_ROUTER":        "answers the neighbour solicitation as a router",
	"PUT_DHCP_OPTS":       "answers the DHCP request",
	"PUT_DHCPV6_OPTS":     "answers the DHCPv6 request",
	"DHCP6_SERVER":        "takes the DHCPv6 server's answer",
	"DHCP_RELAY_REQ_CHK":  "relays the DHCP request",
	"DHCP_RELAY_RESP_CHK": "relays the DHCP response",
	"DNS_LOOKUP":          "answers the DNS query",
	"PUT_ND_RA_OPTS":      "sends a router advertisement",
	"LOG":                 "logs the packet",
	"ICMP":                "answers with an ICMP error",
	"ICMP4_ERROR":         "answers with an ICMP error",
	"ICMP6_ERROR":         "answers with an ICMPv6 error",
	"PUT_ICMP4_FRAG_MTU":  "writes the MTU into the ICMP error",
	"PUT_ICMP6_FRAG_MTU":  "writes the MTU into the ICMPv6 error",
	"TCP_RESET":           "answers with a TCP reset",
	"SCTP_ABORT":          "answers with an SCTP abort",
	"REJECT":              "rejects the packet: TCP reset, or ICMP unreachable",
	"EVENT":               "raises an event for the controller",
	"IGMP":                "learns the multicast membership",
	"BIND_VPORT":          "binds the virtual port here",
	"HANDLE_SVC_CHECK":    "takes the answer to a health check",
	"BFD_MSG":             "takes the BFD message",
	"ACTIVATION_STRATEGY": "activates the migrated port here",
	"MG_SPLIT_BUF":        "goes on with the rest of the multicast group",
}

// severities are those of an ACL's log, by their number in the userdata,
// which is that of RFC 5424.
var severities = map[byte]string{1: "alert", 4: "warning", 5: "notice", 6: "info", 7: "debug"}

// verdicts are those of an ACL's log, by their number in the userdata.
var verdicts = map[byte]string{0: "allow", 1: "drop", 2: "reject", 3: "pass"}

// Userdata is what a controller action asks ovn-controller to do with the
// packet.
type Userdata struct {
	Opcode string // "REJECT"; "opcode 77" when it is a number that is not known
	Effect string // "rejects the packet: TCP reset, or ICMP unreachable"; may be empty

	// Of a LOG: what the ACL's log line will hold.
	ACL      string // NB ACL.name, may be empty
	Verdict  string // allow, drop, reject or pass
	Severity string // alert, warning, notice, info or debug

	// Options are those of the answer to a DHCP request, "router=10.0.0.1", the
	// address that is offered first.
	Options []string

	// Nested are the actions for the packet that the controller makes; Unread
	// says that more follow which could not be read.
	Nested openflow.Actions
	Unread bool
}

// ParseUserdata reads the userdata of a controller action. It reports false
// for bytes that are no OVN userdata.
func ParseUserdata(data []byte) (Userdata, bool) {
	// An opcode of 32 bits, then 32 bits of padding.
	if len(data) < 8 {
		return Userdata{}, false
	}
	opcode, body := binary.BigEndian.Uint32(data), data[8:]
	u := Userdata{Opcode: fmt.Sprintf("opcode %d", opcode)}
	if opcode < uint32(len(opcodes)) {
		u.Opcode = opcodes[opcode]
	}
	u.Effect = effects[u.Opcode]
	switch u.Opcode {
	case "LOG":
		u.log(body)
	case "PUT_DHCP_OPTS":
		u.dhcp(body)
	case "ARP", "ND_NA", "ND_NA_ROUTER", "ND_NS", "ICMP", "ICMP4_ERROR", "ICMP6_ERROR", "TCP_RESET", "REJECT", "SCTP_ABORT":
		var whole bool
		u.Nested, whole = openflow.ParseWireActions(body)
		u.Unread = !whole
	}
	return u, true
}

// log reads the body of a LOG: verdict and severity in a byte each, then the
// ACL's name to the end.
func (u *Userdata) log(body []byte) {
	if len(body) < 2 {
		return
	}
	u.Verdict, u.Severity = verdicts[body[0]], severities[body[1]]
	u.ACL = string(body[2:])
}

// dhcp reads the body of a PUT_DHCP_OPTS: the header and the bit of the field that
// takes the result, the address that is offered, then the options, each with its
// code and length in a byte (RFC 2132).
func (u *Userdata) dhcp(body []byte) {
	if len(body) < 12 {
		u.Unread = true
		return
	}
	u.Options = append(u.Options, "offerip="+addresses(body[8:12]))
	for body = body[12:]; len(body) >= 2; {
		code, size := body[0], int(body[1])
		if len(body) < 2+size {
			break
		}
		u.Options = append(u.Options, dhcpOption(code, body[2:2+size]))
		body = body[2+size:]
	}
	u.Unread = len(body) > 0
}

// dhcpNames are the options that operators ask about, as OVN calls them.
var dhcpNames = map[byte]string{
	1: "netmask", 3: "router", 6: "dns_server", 15: "domain_name", 26: "mtu", 42: "ntp_server", 51: "lease_time", 54: "server_id",
	66: "tftp_server", 67: "bootfile_name", 121: "classless_static_route", 150: "tftp_server_address",
}

func dhcpOption(code byte, value []byte) string {
	name, ok := dhcpNames[code]
	if !ok {
		name = fmt.Sprintf("option %d", code)
	}
	text := fmt.Sprintf("0x%x", value)
	switch code {
	case 1, 3, 6, 42, 54, 150:
		if len(value)%4 == 0 {
			text = addresses(value)
		}
	case 15, 66, 67:
		text = strconv.Quote(string(value))
	case 26, 51:
		text = flow.FromBytes(value[:min(len(value), 4)]).Decimal()
	case 121:
		if r, ok := classlessRoutes(value); ok {
			text = r
		}
	}
	return name + "=" + text
}

// addresses are IPv4 addresses one after another.
func addresses(b []byte) string {
	var list []string
	for a := range slices.Chunk(b, 4) {
		list = append(list, net.IP(a).String())
	}
	return strings.Join(list, " ")
}

// classlessRoutes reads routes as RFC 3442 writes them: the length of the prefix, as
// many bytes of it as it has, the next hop.
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

// String says in words what happens to the packet.
func (u Userdata) String() string {
	if u.Opcode == "LOG" {
		var words []string
		if u.ACL != "" {
			words = append(words, fmt.Sprintf("ACL %q", u.ACL))
		}
		for _, w := range []string{u.Verdict, u.Severity} {
			if w != "" {
				words = append(words, w)
			}
		}
		return strings.TrimSpace("logs the packet " + strings.Join(words, ", "))
	}
	if u.Effect != "" {
		return u.Effect
	}
	return "sends the packet to ovn-controller: " + u.Opcode
}

// Then says what the nested actions do to the packet that the controller makes, as
// in "eth_src=0a:00:00:00:00:01, reg15=reg14, resubmit(,37)", or with which options
// it answers; empty if there are none.
func (u Userdata) Then() string {
	words := slices.Clone(u.Options)
	for rest := u.Nested; len(rest) > 0; {
		if a, b, ok := swapped(rest); ok {
			words, rest = append(words, a.Name+" and "+b.Name+" swapped"), rest[4:]
			continue
		}
		text := fmt.Sprint(rest[0])
		switch a := rest[0].(type) {
		case openflow.SetField:
			text = a.Field.Name + "=" + a.Field.PrintMasked(a.Value, a.Mask)
		case openflow.Move:
			text = bitsText(a.Dst) + "=" + bitsText(a.Src)
		}
		words, rest = append(words, text), rest[1:]
	}
	if u.Unread {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

func bitsText(s flow.Subfield) string {
	if s.Lo == 0 && s.Bits == s.Field.Bits {
		return s.Field.Name
	}
	return fmt.Sprintf("%s[%d..%d]", s.Field.Name, s.Lo, s.Lo+s.Bits-1)
}

// swapped finds the two fields that actions begin to swap: OVN puts both on the
// stack, and takes them off in the same order.
func swapped(actions openflow.Actions) (a, b *flow.Field, ok bool) {
	if len(actions) < 4 {
		return nil, nil, false
	}
	push, ok1 := actions[0].(openflow.Push)
	push2, ok2 := actions[1].(openflow.Push)
	pop, ok3 := actions[2].(openflow.Pop)
	pop2, ok4 := actions[3].(openflow.Pop)
	if !ok1 || !ok2 || !ok3 || !ok4 || push.Src != pop.Dst || push2.Src != pop2.Dst {
		return nil, nil, false
	}
	return push.Src.Field, push2.Src.Field, true
}
