package decode

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// opcodes names ovn-controller's packet-in operations by their number in a controller action's userdata. Numbers were
// only ever added (the last two in 24.09).
var opcodes = []string{
	"ARP", "PUT_ARP", "PUT_DHCP_OPTS", "ND_NA", "PUT_ND", "PUT_DHCPV6_OPTS", "DNS_LOOKUP", "LOG",
	"PUT_ND_RA_OPTS", "ND_NS", "ICMP", "TCP_RESET", "ND_NA_ROUTER", "PUT_ICMP4_FRAG_MTU",
	"ICMP4_ERROR", "EVENT", "IGMP", "BIND_VPORT", "HANDLE_SVC_CHECK", "DHCP6_SERVER",
	"ICMP6_ERROR", "PUT_ICMP6_FRAG_MTU", "REJECT", "BFD_MSG", "SCTP_ABORT", "PUT_FDB",
	"ACTIVATION_STRATEGY", "MG_SPLIT_BUF", "DHCP_RELAY_REQ_CHK", "DHCP_RELAY_RESP_CHK",
}

// effects describes what happens to the packet, for operations that operators ask about.
var effects = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"ARP":                 "asks for the next hop's MAC by ARP",
		"ND_NS":               "asks for the next hop's MAC by neighbour solicitation",
		"PUT_ARP":             "learns the sender's MAC",
		"PUT_ND":              "learns the sender's MAC",
		"PUT_FDB":             "learns the source MAC",
		"ND_NA":               "replies to the neighbour solicitation",
		"ND_NA_ROUTER":        "replies to the neighbour solicitation as a router",
		"PUT_DHCP_OPTS":       "replies to the DHCP request",
		"PUT_DHCPV6_OPTS":     "replies to the DHCPv6 request",
		"DHCP6_SERVER":        "takes the DHCPv6 server's reply",
		"DHCP_RELAY_REQ_CHK":  "relays the DHCP request",
		"DHCP_RELAY_RESP_CHK": "relays the DHCP response",
		"DNS_LOOKUP":          "replies to the DNS query",
		"PUT_ND_RA_OPTS":      "sends a router advertisement",
		"LOG":                 "logs the packet",
		"ICMP":                "replies with an ICMP error",
		"ICMP4_ERROR":         "replies with an ICMP error",
		"ICMP6_ERROR":         "replies with an ICMPv6 error",
		"PUT_ICMP4_FRAG_MTU":  "writes the MTU into the ICMP error",
		"PUT_ICMP6_FRAG_MTU":  "writes the MTU into the ICMPv6 error",
		"TCP_RESET":           "replies with a TCP reset",
		"SCTP_ABORT":          "replies with an SCTP abort",
		"REJECT":              "rejects the packet: TCP reset, or ICMP unreachable",
		"EVENT":               "raises an event for the CMS",
		"IGMP":                "learns the multicast membership",
		"BIND_VPORT":          "binds the virtual port here",
		"HANDLE_SVC_CHECK":    "takes the reply to a health check",
		"BFD_MSG":             "takes the BFD message",
		"ACTIVATION_STRATEGY": "activates the migrated port here",
		"MG_SPLIT_BUF":        "continues with the rest of the multicast group",
	}
}}

// severities maps the numbers in the userdata of an ACL's log, as in RFC 5424.
var severities = lazy.Value[map[byte]string]{Make: func() map[byte]string {
	return map[byte]string{1: "alert", 4: "warning", 5: "notice", 6: "info", 7: "debug"}
}}

// verdicts maps the numbers in the userdata of an ACL's log.
var verdicts = lazy.Value[map[byte]string]{Make: func() map[byte]string { return map[byte]string{0: "allow", 1: "drop", 2: "reject", 3: "pass"} }}

// Userdata is what a controller action asks ovn-controller to do with the
// packet.
type Userdata struct {
	Opcode string // "REJECT"; "opcode 77" if unknown
	Effect string // "rejects the packet: TCP reset, or ICMP unreachable"; may be empty

	// Of a LOG: what the ACL's log line will hold.
	ACL      string // NB ACL.name, may be empty
	Verdict  string // allow, drop, reject or pass
	Severity string // alert, warning, notice, info or debug

	// Options are those of a DHCP reply (the offered address first), of a router
	// advertisement or of an event, the servers of a DHCP relay, or the MTU of an ICMP
	// error: "router=10.0.0.1".
	Options []string

	// Result is the bit that tells the pipeline whether ovn-controller succeeded,
	// "reg0[3]"; may be empty.
	Result string

	// Port is the tunnel key of the virtual port of a BIND_VPORT, in the packet's
	// datapath.
	Port uint64

	// Nested are the actions for the packet that the controller makes. Unread:
	// more follow that could not be read.
	Nested openflow.Actions
	Unread bool
}

// ParseUserdata parses the userdata of a controller action. It returns false if the bytes are not OVN userdata.
func ParseUserdata(data []byte) (Userdata, bool) {
	// A 32-bit opcode, then 32 bits of padding.
	if len(data) < 8 {
		return Userdata{}, false
	}
	opcode, body := binary.BigEndian.Uint32(data), data[8:]
	u := Userdata{Opcode: fmt.Sprintf("opcode %d", opcode)}
	if opcode < uint32(len(opcodes)) {
		u.Opcode = opcodes[opcode]
	}
	u.Effect = effects.Get()[u.Opcode]
	switch u.Opcode {
	case "LOG":
		u.log(body)
	case "PUT_DHCP_OPTS":
		u.withResult(body, dhcpReply)
	case "PUT_DHCPV6_OPTS":
		u.withResult(body, dhcpv6Options)
	case "PUT_ND_RA_OPTS":
		u.withResult(body, routerAdvertisement)
	case "DHCP_RELAY_REQ_CHK", "DHCP_RELAY_RESP_CHK":
		u.withResult(body, relayServers)
	case "DNS_LOOKUP":
		u.withResult(body, nil)
	case "EVENT":
		u.take(body, eventOptions)
	case "PUT_ICMP4_FRAG_MTU", "PUT_ICMP6_FRAG_MTU":
		u.take(body, fragMTU)
	case "BIND_VPORT":
		if len(body) >= 4 {
			u.Port = uint64(binary.BigEndian.Uint32(body))
		}
	case "MG_SPLIT_BUF":
		u.rest(body)
	case "ARP", "ND_NA", "ND_NA_ROUTER", "ND_NS", "ICMP", "ICMP4_ERROR", "ICMP6_ERROR", "TCP_RESET", "REJECT", "SCTP_ABORT":
		var whole bool
		u.Nested, whole = openflow.ParseWireActions(body)
		u.Unread = !whole
	}
	return u, true
}

// log parses the body of a LOG: verdict and severity in a byte each, then the ACL's name.
func (u *Userdata) log(body []byte) {
	if len(body) < 2 {
		return
	}
	u.Verdict, u.Severity = verdicts.Get()[body[0]], severities.Get()[body[1]]
	u.ACL = string(body[2:])
}

// withResult parses the body of an operation with a result bit: the header of its field and the bit number, then
// options.
func (u *Userdata) withResult(body []byte, options func([]byte) ([]string, bool)) {
	if len(body) < 8 {
		u.Unread = true
		return
	}
	if f, ok := openflow.WireField(body); ok {
		if bit := binary.BigEndian.Uint32(body[4:]); bit < uint32(f.Bits) {
			u.Result = bitsText(packet.Subfield{Field: f, Lo: int(bit), Bits: 1})
		}
	}
	if options != nil {
		u.take(body[8:], options)
	}
}

// take parses as many options as it can.
func (u *Userdata) take(body []byte, options func([]byte) ([]string, bool)) {
	list, whole := options(body)
	u.Options, u.Unread = list, !whole
}

// rest parses the body of an MG_SPLIT_BUF: where in the multicast group to continue, the group, the table to continue
// in.
func (u *Userdata) rest(body []byte) {
	if len(body) < 9 {
		u.Unread = true
		return
	}
	at, group := packet.Reg(6), packet.Reg(15)
	u.Nested = openflow.Actions{
		openflow.SetField{Field: at, Value: packet.FromBytes(body[:4]), Mask: at.Mask()},
		openflow.SetField{Field: group, Value: packet.FromBytes(body[4:8]), Mask: group.Mask()},
		openflow.Resubmit{Table: openflow.Table{Number: int(body[8])}},
	}
}

// String describes what happens to the packet.
func (u Userdata) String() string {
	if u.Opcode == "LOG" {
		words := []string{u.Verdict, u.Severity}
		if u.ACL != "" {
			words = slices.Insert(words, 0, fmt.Sprintf("ACL %q", u.ACL))
		}
		words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
		return strings.TrimSpace("logs the packet " + strings.Join(words, ", "))
	}
	if u.Effect != "" {
		return u.Effect
	}
	return "sends the packet to ovn-controller: " + u.Opcode
}

// Then describes what the nested actions do to the packet that the controller makes, for example
// "eth_src=0a:00:00:00:00:01, reg15=reg14, resubmit(,37)", or its reply's options; may be empty. Each action is
// followed by what name returns for it; a write is passed as a [openflow.SetField].
func (u Userdata) Then(name func(action any) string) string {
	words := slices.Clone(u.Options)
	for rest := u.Nested; len(rest) > 0; {
		if a, b, ok := swapped(rest); ok {
			words, rest = append(words, a.Name+" and "+b.Name+" swapped"), rest[4:]
			continue
		}
		text := fmt.Sprint(rest[0])
		switch a := rest[0].(type) {
		case openflow.SetField:
			a = narrowed(a)
			text = a.Field.Name + "=" + a.Field.PrintMasked(a.Value, a.Mask) + name(a)
		case openflow.Controller:
			if v, ok := ParseUserdata(a.Userdata); ok {
				text = cmp.Or(v.Then(name), v.String())
			}
		case openflow.Note:
			if mtu, ok := notedMTU(a.Data); ok {
				text = mtu
			}
		case openflow.Move:
			text = bitsText(a.Dst) + "=" + bitsText(a.Src)
		default:
			text += name(a)
		}
		words, rest = append(words, text), rest[1:]
	}
	if u.Unread {
		words = append(words, "…")
	}
	return strings.Join(words, ", ")
}

// notedMTU parses the MTU of an ICMP error that a note passes to ovn-controller, as in releases after 23.03: a mark,
// the number of one of OVN's own fields, two bytes of padding, the value.
func notedMTU(b []byte) (string, bool) {
	const mark, icmp4, icmp6 = "ovn\x00", 0, 1
	if len(b) < 12 || string(b[:4]) != mark {
		return "", false
	}
	var mtu []string
	switch binary.BigEndian.Uint16(b[4:]) {
	case icmp4:
		mtu, _ = fragMTU(b[8:10])
	case icmp6:
		mtu, _ = fragMTU(b[8:12])
	}
	return strings.Join(mtu, ""), mtu != nil
}

func bitsText(s packet.Subfield) string {
	s = inRegister(s)
	switch {
	case s.Lo == 0 && s.Bits == s.Field.Bits:
		return s.Field.Name
	case s.Bits == 1:
		return fmt.Sprintf("%s[%d]", s.Field.Name, s.Lo)
	}
	return fmt.Sprintf("%s[%d..%d]", s.Field.Name, s.Lo, s.Lo+s.Bits-1)
}

// inRegister maps part of xxreg0 or xreg4 to the smallest register that contains it, as logical flows name it: reg0
// is xxreg0[96..127].
func inRegister(s packet.Subfield) packet.Subfield {
	for _, wide := range []struct{ from, to string }{{"xxreg", "xreg"}, {"xreg", "reg"}} {
		text, ok := strings.CutPrefix(s.Field.Name, wide.from)
		n, err := strconv.Atoi(text)
		half := s.Field.Bits / 2
		if !ok || err != nil || s.Lo/half != (s.Lo+s.Bits-1)/half {
			continue
		}
		f, known := packet.Lookup(fmt.Sprint(wide.to, 2*n+1-s.Lo/half))
		if !known {
			return s
		}
		s = packet.Subfield{Field: f, Lo: s.Lo % half, Bits: s.Bits}
	}
	return s
}

// narrowed maps a SetField on part of a wide register to the smaller register.
func narrowed(a openflow.SetField) openflow.SetField {
	lo, hi := 0, a.Mask.BitLen()
	for lo < hi && !a.Mask.Bit(lo) {
		lo++
	}
	if lo == hi {
		return a
	}
	s := inRegister(packet.Subfield{Field: a.Field, Lo: lo, Bits: hi - lo})
	if s.Field == a.Field {
		return a
	}
	down := lo - s.Lo
	return openflow.SetField{Field: s.Field, Value: a.Value.Shr(down), Mask: a.Mask.Shr(down)}
}

// swapped finds the two fields that the actions begin to swap: OVN pushes both, and pops them in the same order.
func swapped(actions openflow.Actions) (a, b *packet.Field, ok bool) {
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
