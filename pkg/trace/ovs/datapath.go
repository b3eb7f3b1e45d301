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
}

// outputs returns where datapath actions send an ordinary-size packet (odp actions as ovs-dpctl(8) prints them): the bare
// numbers between commas, also within clone(…) and, where the packet length is checked, within le(…). The packet has a
// VLAN tag, 0 for none, which the actions may change.
func outputs(actions string, vlan uint16) []sentTo {
	sent, _ := appendOutputs(nil, actions, vlan)
	return sent
}

func appendOutputs(sent []sentTo, actions string, vlan uint16) ([]sentTo, uint16) {
	for action := range split(actions) {
		if n, err := strconv.Atoi(action); err == nil {
			sent = append(sent, sentTo{n, vlan})
			continue
		}
		name, rest, _ := strings.Cut(strings.TrimSuffix(action, ")"), "(")
		switch name {
		case "push_vlan":
			vlan = pushed(rest)
		case "pop_vlan":
			vlan = 0
		case "clone", "check_pkt_len", "le":
			if !strings.HasPrefix(rest, "tnl_push(") { // the outer packet's port
				sent, _ = appendOutputs(sent, rest, vlan)
			}
		}
	}
	return sent, vlan
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
