package release

import (
	"fmt"
	"math/bits"
	"net"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Flag is a bit of reg10, OVN's logical flags.
type Flag struct {
	Bit  int
	Name string
	// Some bits changed meaning between releases: spans, as in [Version], and all from a release on. If both are
	// empty: in all.
	spans string
	from  Version
}

func (f Flag) in(v Version) bool {
	always := f.spans == "" && f.from == (Version{})
	return always || v.in(f.spans) || f.from != (Version{}) && v.atLeast(f.from)
}

// Releases names the releases in which a flag has its meaning, if not all.
func (f Flag) Releases() string {
	var in []string
	if f.spans != "" {
		in = strings.Fields(f.spans)
	}
	if f.from != (Version{}) {
		in = append(in, "from "+f.from.String()+" on")
	}
	if in == nil {
		return ""
	}
	return " (" + strings.Join(in, ", ") + ")"
}

// Flags are in bit order; of several meanings, the first that fits a release holds.
var Flags = []Flag{
	{Bit: 0, Name: "loopback"}, {Bit: 1, Name: "rcv_from_ramp"}, {Bit: 2, Name: "force_snat_for_dnat"},
	{Bit: 3, Name: "force_snat_for_lb"}, {Bit: 4, Name: "local_only"}, {Bit: 5, Name: "nested_container"},
	{Bit: 6, Name: "lookup_mac"}, {Bit: 7, Name: "lookup_lb_hairpin"}, {Bit: 8, Name: "lookup_fdb"},
	{Bit: 9, Name: "skip_snat_for_lb"}, {Bit: 10, Name: "localport"}, {Bit: 11, Name: "use_snat_zone"},
	{Bit: 12, Name: "from_ctrl", spans: "22.03.8+"},
	{Bit: 12, Name: "check_port_sec", from: Version{22, 6, 0}},
	{Bit: 13, Name: "lookup_commit_ecmp_nh"}, {Bit: 14, Name: "use_lb_aff_session"}, {Bit: 15, Name: "localnet"},
	{Bit: 16, Name: "rx_from_tunnel"}, {Bit: 17, Name: "icmp_snat"},
	{Bit: 18, Name: "igmp_snoop_inject", spans: "23.06.4+ 23.09.4+ 24.03.2"},
	{Bit: 18, Name: "override_local_only", spans: "24.03.5+ 24.09.2+", from: Version{25, 3, 0}},
	{Bit: 19, Name: "from_ctrl"}, {Bit: 20, Name: "unsnat_new"}, {Bit: 21, Name: "unsnat_not_tracked"},
	{Bit: 22, Name: "igmp_snoop_inject"}, {Bit: 23, Name: "pkt_sampled"}, {Bit: 24, Name: "recirc"},
	{Bit: 25, Name: "evpn_lookup"},
}

// NetworkIDShift is the first of the upper four bits of reg10, which hold the network_id of the router port's network
// (since 24.03.6, 24.09.3 and 25.03.1).
const NetworkIDShift = 28

// FlagNames returns the names of the bits set in a value of reg10, lowest first, for the release of the chassis; a
// bit whose meaning is unclear in that release is "bit 18".
func FlagNames(value uint32, v Version) []string {
	var names []string
	for rest := value; rest != 0; rest &= rest - 1 {
		bit := bits.TrailingZeros32(rest)
		if bit >= NetworkIDShift {
			names = append(names, fmt.Sprintf("network_id=%d", value>>NetworkIDShift))
			break
		}
		name := fmt.Sprintf("bit %d", bit)
		if i := slices.IndexFunc(Flags, func(f Flag) bool { return f.Bit == bit && f.in(v) }); i >= 0 {
			name = Flags[i].Name
		}
		names = append(names, name)
	}
	return names
}

// A CtField is a run of bits with a meaning in ct_mark or ct_label.
type CtField struct {
	Name     string
	Lsb, Len int
	Since    Version // the first release with it; zero: all
	Until    Version // the first without it; zero: none
}

func (f CtField) in(v Version) bool {
	old := f.Until != (Version{}) && v.atLeast(f.Until)
	return v.atLeast(f.Since) && !old
}

// CtMarkFields are the fields of ct_mark, lowest first.
var CtMarkFields = []CtField{
	{Name: "blocked", Lsb: 0, Len: 1},
	{Name: "natted", Lsb: 1, Len: 1},
	{Name: "skip_snat", Lsb: 2, Len: 1},
	{Name: "force_snat", Lsb: 3, Len: 1},
	{Name: "obs_stage", Lsb: 4, Len: 2, Since: Version{24, 9, 0}},
	{Name: "allow_established", Lsb: 6, Len: 1, Since: Version{25, 3, 0}},
	{Name: "ecmp_reply_port", Lsb: 16, Len: 16},
}

// CtLabelFields are the fields of ct_label, lowest first.
var CtLabelFields = []CtField{
	{Name: "blocked", Lsb: 0, Len: 1, Until: Version{24, 9, 0}},
	{Name: "natted", Lsb: 1, Len: 1, Until: Version{24, 9, 0}},
	{Name: "skip_snat", Lsb: 2, Len: 1, Until: Version{24, 9, 0}},
	{Name: "force_snat", Lsb: 3, Len: 1, Until: Version{24, 9, 0}},
	{Name: "nf", Lsb: 7, Len: 1, Since: Version{25, 9, 0}},
	{Name: "tun_if", Lsb: 8, Len: 1, Since: Version{26, 3, 0}},
	{Name: "nf_id", Lsb: 17, Len: 8, Since: Version{26, 3, 0}},
	{Name: "ecmp_reply_eth", Lsb: 32, Len: 48},
	{Name: "ecmp_reply_port", Lsb: 80, Len: 16, Until: Version{22, 6, 0}},
	{Name: "acl_id", Lsb: 80, Len: 16, Since: Version{25, 3, 0}},
	{Name: "acl_label", Lsb: 96, Len: 32},
}

// CtMark names what OVN keeps in a conntrack mark, as in "blocked" or "natted,force_snat". Up to 22.03 these bits are
// in the label; releases up to 24.03 use either, as the deployment's chassis allow. Bits without a meaning in release
// v appear as a number; the zero Version knows all meanings, the older if two collide.
func CtMark(mark packet.Value, v Version) string { return ctText(CtMarkFields, mark, v) }

// CtLabel is CtMark for the 128 bits of a conntrack label.
func CtLabel(label packet.Value, v Version) string { return ctText(CtLabelFields, label, v) }

func ctText(fields []CtField, rest packet.Value, v Version) string {
	var words []string
	for _, f := range fields {
		if v != (Version{}) && !f.in(v) {
			continue
		}
		value := rest.Shr(f.Lsb).And(packet.Ones(f.Len))
		if value.IsZero() {
			continue
		}
		rest = rest.AndNot(value.Shl(f.Lsb))
		switch f.Len {
		case 1:
			words = append(words, f.Name)
		case 48: // a MAC address
			words = append(words, f.Name+"="+net.HardwareAddr(value.Bytes(6)).String())
		default:
			words = append(words, f.Name+"="+value.Decimal())
		}
	}
	if !rest.IsZero() {
		words = append(words, rest.Hex())
	}
	return strings.Join(words, ",")
}
