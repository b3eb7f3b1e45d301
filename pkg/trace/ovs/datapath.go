package ovs

import (
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A sentTo is a datapath port that a packet is sent to, and the VLAN tag that it then has.
type sentTo struct {
	number int
	vlan   uint16 // as in vlan_tci; 0: none
	choice string // "recirc" or "lb_output": number is that by which the datapath chooses a member of a bond
}

// outputs returns where datapath actions send a packet of this length (odp actions as ovs-dpctl(8) prints them): the bare
// numbers between commas and bonds, also within clone(…) and, where the length is checked, within gt(…) or le(…). The packet has a
// VLAN tag, 0 for none, which the actions may change.
func outputs(actions string, vlan uint16, length int) []sentTo {
	sent, _ := appendOutputs(nil, actions, vlan, length)
	return sent
}

func appendOutputs(sent []sentTo, actions string, vlan uint16, length int) ([]sentTo, uint16) {
	before := ""
	for action := range split(actions) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(action, ")"), "(")
		hashed := before == "hash"
		before = name
		if n, err := strconv.Atoi(action); err == nil {
			sent = append(sent, sentTo{number: n, vlan: vlan})
			continue
		}
		switch name {
		case "push_vlan":
			vlan = pushed(rest)
		case "pop_vlan":
			vlan = 0
		case "clone":
			if !strings.HasPrefix(rest, "tnl_push(") { // the outer packet's port
				sent, _ = appendOutputs(sent, rest, vlan, length)
			}
		case "recirc", "lb_output": // of a group, no bond has the number
			n, err := strconv.ParseInt(rest, 0, 32)
			if err == nil && n > 0 && (hashed || name == "lb_output") { // without a hash, it is conntrack's
				sent = append(sent, sentTo{int(n), vlan, name})
			}
		case "check_pkt_len":
			sent, _ = appendOutputs(sent, ofSize(rest, length), vlan, length)
		}
	}
	return sent, vlan
}

// ofSize returns the actions of "size=N,gt(…),le(…)" for a packet of this length.
func ofSize(arguments string, length int) string {
	result := "le("
	for argument := range split(arguments) {
		if size, found := strings.CutPrefix(argument, "size="); found {
			if n, err := strconv.Atoi(size); err == nil && length > n {
				result = "gt("
			}
		}
		if actions, found := strings.CutPrefix(argument, result); found {
			return strings.TrimSuffix(actions, ")")
		}
	}
	return ""
}

// split yields the actions between the commas outside of parentheses.
func split(actions string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		depth, start := 0, 0
		for i := 0; i <= len(actions); i++ {
			switch {
			case i == len(actions) || actions[i] == ',' && depth == 0:
				if !yield(strings.TrimSpace(actions[start:i])) {
					return
				}
				start = i + 1
			case actions[i] == '(':
				depth++
			case actions[i] == ')':
				depth--
			}
		}
	}
}

// pushed returns the tag of "vid=100,pcp=0".
func pushed(arguments string) uint16 {
	tci := uint16(0x1000)
	for word := range strings.SplitSeq(arguments, ",") {
		name, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseUint(value, 0, 16)
		switch {
		case err != nil:
		case name == "vid":
			tci |= uint16(n) & 0xfff
		case name == "pcp":
			tci |= uint16(n) << 13
		}
	}
	return tci
}

// vlanOf returns a packet's VLAN tag, as in vlan_tci.
func vlanOf(p *packet.Flow) uint16 { return uint16(p.Uint("vlan_tci")) }

// decapsulates reports whether datapath actions take the packet for a tunnel of Open vSwitch.
func decapsulates(actions string) bool {
	for action := range split(actions) {
		if strings.HasPrefix(action, "tnl_pop(") {
			return true
		}
	}
	return false
}
