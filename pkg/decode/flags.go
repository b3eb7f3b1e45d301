package decode

import (
	"fmt"
	"math/bits"
	"net"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A flag is a bit of reg10, OVN's logical flags.
type flag struct {
	bit  int
	name string
	// Some bits meant different things in different releases: spans, as
	// Version.in has them, and all from a release on. Empty and zero: in all.
	spans string
	from  Version
}

func (f flag) in(v Version) bool {
	always := f.spans == "" && f.from == (Version{})
	return always || v.in(f.spans) || f.from != (Version{}) && v.atLeast(f.from.Year, f.from.Month, f.from.Patch)
}

// flags are in the order of their bits; of several meanings the first that fits
// a release holds.
var flags = []flag{
	{bit: 0, name: "loopback"}, {bit: 1, name: "rcv_from_ramp"}, {bit: 2, name: "force_snat_for_dnat"},
	{bit: 3, name: "force_snat_for_lb"}, {bit: 4, name: "local_only"}, {bit: 5, name: "nested_container"},
	{bit: 6, name: "lookup_mac"}, {bit: 7, name: "lookup_lb_hairpin"}, {bit: 8, name: "lookup_fdb"},
	{bit: 9, name: "skip_snat_for_lb"}, {bit: 10, name: "localport"}, {bit: 11, name: "use_snat_zone"},
	{bit: 12, name: "from_ctrl", spans: "22.03.8+"},
	{bit: 12, name: "check_port_sec", from: Version{22, 6, 0}},
	{bit: 13, name: "lookup_commit_ecmp_nh"}, {bit: 14, name: "use_lb_aff_session"}, {bit: 15, name: "localnet"},
	{bit: 16, name: "rx_from_tunnel"}, {bit: 17, name: "icmp_snat"},
	{bit: 18, name: "igmp_snoop_inject", spans: "23.06.4+ 23.09.4+ 24.03.2"},
	{bit: 18, name: "override_local_only", spans: "24.03.5+ 24.09.2+", from: Version{25, 3, 0}},
	{bit: 19, name: "from_ctrl"}, {bit: 20, name: "unsnat_new"}, {bit: 21, name: "unsnat_not_tracked"},
	{bit: 22, name: "igmp_snoop_inject"}, {bit: 23, name: "pkt_sampled"}, {bit: 24, name: "recirc"},
	{bit: 25, name: "evpn_lookup"},
}

// The upper four bits of reg10 hold the network_id of the router port's
// network (since 24.03.6, 24.09.3 and 25.03.1).
const networkIDShift = 28

// flagNames returns the names of the bits set in a value of reg10, lowest
// first, for the release of the chassis; a bit whose meaning that release does
// not settle comes out as "bit 18".
func flagNames(value uint32, v Version) []string {
	var names []string
	for rest := value; rest != 0; rest &= rest - 1 {
		bit := bits.TrailingZeros32(rest)
		if bit >= networkIDShift {
			names = append(names, fmt.Sprintf("network_id=%d", value>>networkIDShift))
			break
		}
		name := fmt.Sprintf("bit %d", bit)
		if i := slices.IndexFunc(flags, func(f flag) bool { return f.bit == bit && f.in(v) }); i >= 0 {
			name = flags[i].name
		}
		names = append(names, name)
	}
	return names
}

// A ctField is a run of bits with a meaning in ct_mark or ct_label.
type ctField struct {
	name     string
	lsb, len int
	since    Version // the first release that has it; zero: all
	until    Version // the first that has it no more; zero: none
}

func (f ctField) in(v Version) bool {
	old := f.until != (Version{}) && v.atLeast(f.until.Year, f.until.Month, f.until.Patch)
	return v.atLeast(f.since.Year, f.since.Month, f.since.Patch) && !old
}

var ctMarkFields = []ctField{
	{name: "blocked", lsb: 0, len: 1},
	{name: "natted", lsb: 1, len: 1},
	{name: "skip_snat", lsb: 2, len: 1},
	{name: "force_snat", lsb: 3, len: 1},
	{name: "obs_stage", lsb: 4, len: 2, since: Version{24, 9, 0}},
	{name: "allow_established", lsb: 6, len: 1, since: Version{25, 3, 0}},
	{name: "nf", lsb: 7, len: 1, since: Version{26, 3, 0}},
	{name: "ecmp_reply_port", lsb: 16, len: 16},
}

var ctLabelFields = []ctField{
	{name: "blocked", lsb: 0, len: 1, until: Version{24, 9, 0}},
	{name: "natted", lsb: 1, len: 1, until: Version{24, 9, 0}},
	{name: "skip_snat", lsb: 2, len: 1, until: Version{24, 9, 0}},
	{name: "force_snat", lsb: 3, len: 1, until: Version{24, 9, 0}},
	{name: "tun_if", lsb: 8, len: 1, since: Version{26, 3, 0}},
	{name: "nf_id", lsb: 17, len: 8, since: Version{26, 3, 0}},
	{name: "ecmp_reply_eth", lsb: 32, len: 48},
	{name: "ecmp_reply_port", lsb: 80, len: 16, until: Version{22, 6, 0}},
	{name: "acl_id", lsb: 80, len: 16, since: Version{25, 3, 0}},
	{name: "acl_label", lsb: 96, len: 32},
}

// ctMark names what OVN keeps in a conntrack mark, as in "blocked" or
// "natted,force_snat". Up to 22.03 the same bits lie in the label, and releases
// up to 24.03 use either, as the chassis of the deployment allow. Bits without
// a meaning in release v come out as a number; the zero Version knows all
// meanings, the older where two collide.
func ctMark(mark packet.Value, v Version) string { return ctText(ctMarkFields, mark, v) }

// ctLabel is ctMark for the 128 bits of a conntrack label.
func ctLabel(label packet.Value, v Version) string { return ctText(ctLabelFields, label, v) }

func ctText(fields []ctField, rest packet.Value, v Version) string {
	var words []string
	for _, f := range fields {
		if v != (Version{}) && !f.in(v) {
			continue
		}
		value := rest.Shr(f.lsb).And(packet.Ones(f.len))
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
