package decode

import (
	"fmt"
	"math/bits"
	"net"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// flagNames names the bits of reg10, OVN's logical flags. Bits 12 and 18 meant
// different things in different releases; collidingFlag has them.
var flagNames = [32]string{
	0: "loopback", 1: "rcv_from_ramp", 2: "force_snat_for_dnat", 3: "force_snat_for_lb",
	4: "local_only", 5: "nested_container", 6: "lookup_mac", 7: "lookup_lb_hairpin",
	8: "lookup_fdb", 9: "skip_snat_for_lb", 10: "localport", 11: "use_snat_zone",
	13: "lookup_commit_ecmp_nh", 14: "use_lb_aff_session", 15: "localnet",
	16: "rx_from_tunnel", 17: "icmp_snat", 19: "from_ctrl", 20: "unsnat_new",
	21: "unsnat_not_tracked", 22: "igmp_snoop_inject", 23: "pkt_sampled", 24: "recirc",
	25: "evpn_lookup",
}

// The upper four bits of reg10 hold the network_id of the router port's
// network (since 24.03.6, 24.09.3 and 25.03.1).
const networkIDShift = 28

// collidingFlag names bits 12 and 18 where release v is known.
func collidingFlag(bit int, v Version) string {
	switch {
	case bit == 12 && v.in("22.03.8+"):
		return "from_ctrl"
	case bit == 12 && v.atLeast(22, 6, 0):
		return "check_port_sec"
	case bit == 18 && v.in("23.06.4+ 23.09.4+ 24.03.2"):
		return "igmp_snoop_inject"
	case bit == 18 && (v.in("24.03.5+ 24.09.2+") || v.atLeast(25, 3, 0)):
		return "override_local_only"
	}
	return ""
}

// FlagNames returns the names of the bits set in a value of reg10, lowest
// first, for the release of the chassis; a bit whose meaning that release does
// not settle comes out as "bit 18".
func FlagNames(value uint32, v Version) []string {
	var names []string
	for rest := value; rest != 0; rest &= rest - 1 {
		bit := bits.TrailingZeros32(rest)
		if bit >= networkIDShift {
			names = append(names, fmt.Sprintf("network_id=%d", value>>networkIDShift))
			break
		}
		name := flagNames[bit]
		if name == "" {
			name = collidingFlag(bit, v)
		}
		if name == "" {
			name = fmt.Sprintf("bit %d", bit)
		}
		names = append(names, name)
	}
	return names
}

// A ctField is a run of bits with a meaning in ct_mark or ct_label.
type ctField struct {
	name     string
	lsb, len int
	since    func(Version) bool // the releases that have it; nil for all
	until    func(Version) bool // the releases that have it no more; nil for none
}

var ctMarkFields = []ctField{
	{name: "blocked", lsb: 0, len: 1},
	{name: "natted", lsb: 1, len: 1},
	{name: "skip_snat", lsb: 2, len: 1},
	{name: "force_snat", lsb: 3, len: 1},
	{name: "obs_stage", lsb: 4, len: 2, since: since(24, 9, 0)},
	{name: "allow_established", lsb: 6, len: 1, since: since(25, 3, 0)},
	{name: "nf", lsb: 7, len: 1, since: since(26, 3, 0)},
	{name: "ecmp_reply_port", lsb: 16, len: 16},
}

var ctLabelFields = []ctField{
	{name: "blocked", lsb: 0, len: 1, until: since(24, 9, 0)},
	{name: "natted", lsb: 1, len: 1, until: since(24, 9, 0)},
	{name: "skip_snat", lsb: 2, len: 1, until: since(24, 9, 0)},
	{name: "force_snat", lsb: 3, len: 1, until: since(24, 9, 0)},
	{name: "tun_if", lsb: 8, len: 1, since: since(26, 3, 0)},
	{name: "nf_id", lsb: 17, len: 8, since: since(26, 3, 0)},
	{name: "ecmp_reply_eth", lsb: 32, len: 48},
	{name: "ecmp_reply_port", lsb: 80, len: 16, until: since(22, 6, 0)},
	{name: "acl_id", lsb: 80, len: 16, since: since(25, 3, 0)},
	{name: "acl_label", lsb: 96, len: 32},
}

// CtMark names what OVN keeps in a conntrack mark, as in "blocked" or
// "natted,force_snat". Up to 22.03 the same bits lie in the label, and releases
// up to 24.03 use either, as the chassis of the deployment allow. Bits without
// a meaning in release v come out as a number; the zero Version knows all
// meanings, the older where two collide.
func CtMark(mark flow.Value, v Version) string { return ctText(ctMarkFields, mark, v) }

// CtLabel is CtMark for the 128 bits of a conntrack label.
func CtLabel(label flow.Value, v Version) string { return ctText(ctLabelFields, label, v) }

func ctText(fields []ctField, rest flow.Value, v Version) string {
	var words []string
	for _, f := range fields {
		if v != (Version{}) && (f.since != nil && !f.since(v) || f.until != nil && f.until(v)) {
			continue
		}
		value := rest.Shr(f.lsb).And(flow.Ones(f.len))
		if value.IsZero() {
			continue
		}
		rest = rest.AndNot(value.Shl(f.lsb))
		switch f.len {
		case 1:
			words = append(words, f.name)
		case 48: // a MAC address
			words = append(words, f.name+"="+net.HardwareAddr(value.Bytes(6)).String())
		default:
			words = append(words, f.name+"="+value.Decimal())
		}
	}
	if !rest.IsZero() {
		words = append(words, rest.Hex())
	}
	return strings.Join(words, ",")
}
