package ovnexpr

import (
	"github.com/ovnctl/ovnctl/pkg/release"
)

// A definition is a line of the symbol table. Exactly one of field, bits and predicate is given.
type definition struct {
	name      string
	field     string // from pkg/packet, whole
	bits      string // a symbol and a range: "ct_state[1]"
	predicate string // a match
	needs     string // prerequisite, a match

	text         bool           // the field holds the key of a port
	commit       bool           // writable in ct_commit only
	crossed      bool           // alternatives are written out instead of made clauses of a conjunction
	since, until release.Series // until is the first release without it; 0: from the beginning, or still present
	writeOnly    int            // bits of what only an action can write; no field
}

// definitions is the symbol table of ovn-sb(5), without the registers. Symbols follow those they are made of. Where a
// name has several lines, one applies to each release.
var definitions = []definition{
	{name: "inport", field: "reg14", text: true},
	{name: "outport", field: "reg15", text: true},
	{name: "remote_outport", field: "reg1", text: true, since: 2509},
	{name: "__inport", field: "reg14", since: 2603},
	{name: "__outport", field: "reg15", since: 2603},
	{name: "from_evpn_vtep", bits: "__inport[31]", since: 2603},
	{name: "to_evpn_vtep", bits: "__outport[31]", since: 2603},

	{name: "flags", field: "reg10"},
	{name: "flags.loopback", bits: "flags[0]"},
	{name: "flags.force_snat_for_dnat", bits: "flags[2]"},
	{name: "flags.force_snat_for_lb", bits: "flags[3]"},
	{name: "flags.skip_snat_for_lb", bits: "flags[9]", since: 2106},
	{name: "flags.use_snat_zone", bits: "flags[11]", since: 2112},
	{name: "flags.localnet", bits: "flags[15]", since: 2303},
	{name: "flags.tunnel_rx", bits: "flags[16]", since: 2309},
	{name: "flags.icmp_snat", bits: "flags[17]", since: 2309},
	{name: "flags.from_ctrl", bits: "flags[19]", since: 2403},
	{name: "flags.unsnat_new", bits: "flags[20]", since: 2503},
	{name: "flags.unsnat_not_tracked", bits: "flags[21]", since: 2503},
	{name: "flags.igmp_loopback", bits: "flags[22]", since: 2509},
	{name: "flags.pkt_sampled", bits: "flags[23]", since: 2603},
	{name: "flags.network_id", bits: "flags[28..31]", since: 2403},

	{name: "ct_mark", field: "ct_mark", commit: true},
	{name: "ct_mark.blocked", bits: "ct_mark[0]", commit: true, since: 2112},
	{name: "ct_mark.natted", bits: "ct_mark[1]", commit: true, since: 2112},
	{name: "ct_mark.skip_snat", bits: "ct_mark[2]", commit: true, since: 2203},
	{name: "ct_mark.force_snat", bits: "ct_mark[3]", commit: true, since: 2203},
	{name: "ct_mark.obs_stage", bits: "ct_mark[4..5]", commit: true, since: 2409},
	{name: "ct_mark.allow_established", bits: "ct_mark[6]", commit: true, since: 2503},
	{name: "ct_mark.ecmp_reply_port", bits: "ct_mark[16..31]", commit: true, since: 2203},
	{name: "ct_mark.obs_collector_id", bits: "ct_mark[16..23]", commit: true, since: 2409},

	{name: "ct_label", field: "ct_label", commit: true},
	{name: "ct_label.blocked", bits: "ct_label[0]", commit: true, until: release.WithoutLabelBits},
	{name: "ct_label.natted", bits: "ct_label[1]", commit: true, until: release.WithoutLabelBits},
	{name: "ct_label.skip_snat", bits: "ct_label[2]", commit: true, since: 2203, until: release.WithoutLabelBits},
	{name: "ct_label.force_snat", bits: "ct_label[3]", commit: true, since: 2203, until: release.WithoutLabelBits},
	{name: "ct_label.nf", bits: "ct_label[7]", commit: true, since: 2509},
	{name: "ct_label.tun_if", bits: "ct_label[8]", commit: true, since: 2603},
	{name: "ct_label.nf_id", bits: "ct_label[17..24]", commit: true, since: 2509},
	{name: "ct_label.ecmp_reply_eth", bits: "ct_label[32..79]", commit: true},
	{name: "ct_label.ecmp_reply_port", bits: "ct_label[80..95]", commit: true, until: release.WithoutLabelBits},
	{name: "ct_label.tun_if_id", bits: "ct_label[80..95]", commit: true, since: 2603},
	{name: "ct_label.acl_id", bits: "ct_label[80..95]", commit: true, since: 2503},
	{name: "ct_label.label", bits: "ct_label[96..127]", commit: true, since: 2112},
	{name: "ct_label.obs_point_id", bits: "ct_label[96..127]", commit: true, since: 2409},
	{name: "ct_label.obs_unused", bits: "ct_label[0..95]", commit: true, since: 2409},

	{name: "ct_state", field: "ct_state"},
	{name: "ct.trk", bits: "ct_state[5]"},
	{name: "ct.new", bits: "ct_state[0]", needs: "ct.trk"},
	{name: "ct.est", bits: "ct_state[1]", needs: "ct.trk"},
	{name: "ct.rel", bits: "ct_state[2]", needs: "ct.trk"},
	{name: "ct.rpl", bits: "ct_state[3]", needs: "ct.trk"},
	{name: "ct.inv", bits: "ct_state[4]", needs: "ct.trk"},
	{name: "ct.snat", bits: "ct_state[6]", needs: "ct.trk"},
	{name: "ct.dnat", bits: "ct_state[7]", needs: "ct.trk"},

	{name: "eth.src", field: "eth_src"},
	{name: "eth.dst", field: "eth_dst"},
	{name: "eth.type", field: "eth_type", crossed: true},
	{name: "eth.bcast", predicate: "eth.dst == ff:ff:ff:ff:ff:ff"},
	{name: "eth.mcast", bits: "eth.dst[40]"},
	{name: "eth.mcastv6", predicate: "eth.dst[32..47] == 0x3333"},

	{name: "vlan.tci", field: "vlan_tci"},
	{name: "vlan.present", predicate: "vlan.tci[12]"},
	{name: "vlan.pcp", bits: "vlan.tci[13..15]", needs: "vlan.present"},
	{name: "vlan.vid", bits: "vlan.tci[0..11]", needs: "vlan.present"},

	{name: "ip4", predicate: "eth.type == 0x800"},
	{name: "ip6", predicate: "eth.type == 0x86dd"},
	{name: "ip", predicate: "ip4 || ip6"},
	{name: "ip.proto", field: "nw_proto", needs: "ip", crossed: true},
	{name: "ip.dscp", field: "ip_dscp", needs: "ip"},
	{name: "ip.ecn", field: "nw_ecn", needs: "ip"},
	{name: "ip.ttl", field: "nw_ttl", needs: "ip"},
	{name: "ip.frag", field: "ip_frag", needs: "ip"},
	{name: "ip.is_frag", predicate: "ip.frag[0]"},
	{name: "ip.later_frag", predicate: "ip.frag[1]"},
	{name: "ip.first_frag", predicate: "ip.is_frag && !ip.later_frag"},

	{name: "ip4.src", field: "ip_src", needs: "ip4"},
	{name: "ip4.dst", field: "ip_dst", needs: "ip4"},
	{name: "ip4.src_mcast", predicate: "ip4.src[28..31] == 0xe"},
	{name: "ip4.mcast", predicate: "eth.mcast && ip4.dst[28..31] == 0xe"},
	{name: "icmp4", predicate: "ip4 && ip.proto == 1"},
	{name: "icmp4.type", field: "icmp_type", needs: "icmp4"},
	{name: "icmp4.code", field: "icmp_code", needs: "icmp4"},
	{name: "icmp4.frag_mtu", writeOnly: 16},
	{name: "icmp4.inner_ip4.src", writeOnly: 32, since: 2609},
	{name: "igmp", predicate: "ip4 && ip.proto == 2", until: 2409},
	{name: "igmp", predicate: "ip4.mcast && ip.proto == 2", since: 2409},

	{name: "ip6.src", field: "ipv6_src", needs: "ip6"},
	{name: "ip6.dst", field: "ipv6_dst", needs: "ip6"},
	{name: "ip6.label", field: "ipv6_label", needs: "ip6"},
	{name: "ip6.mcast_rsvd", predicate: "ip6.dst[116..127] == 0xff0 && ip6.dst[0..111] == 0x0", until: 2509},
	{name: "ip6.mcast_rsvd", predicate: "ip6.dst == {ff00::, ff01::, ff02::, ff03::, ff04::, ff05::, ff06::, ff07::, " +
		"ff08::, ff09::, ff0a::, ff0b::, ff0c::, ff0d::, ff0e::, ff0f::}", since: 2509}, // the same in fewer conjunctions
	{name: "ip6.mcast_all_nodes", predicate: "ip6.dst == ff01::1 || ip6.dst == ff02::1"},
	{name: "ip6.mcast_all_rtrs", predicate: "ip6.dst == ff01::2 || ip6.dst == ff02::2 || ip6.dst == ff05::2"},
	{name: "ip6.mcast_sol_node", predicate: "ip6.dst == ff02::1:ff00:0000/104"},
	{name: "ip6.mcast_flood", predicate: "eth.mcastv6 && (ip6.mcast_rsvd || ip6.mcast_all_nodes || ip6.mcast_all_rtrs || ip6.mcast_sol_node)"},
	{name: "ip6.mcast", predicate: "eth.mcastv6 && ip6.dst[120..127] == 0xff"},
	{name: "icmp6", predicate: "ip6 && ip.proto == 58"},
	{name: "icmp6.type", field: "icmpv6_type", needs: "icmp6", crossed: true},
	{name: "icmp6.code", field: "icmpv6_code", needs: "icmp6", crossed: true},
	{name: "icmp6.frag_mtu", writeOnly: 32},
	{name: "icmp", predicate: "icmp4 || icmp6"},

	{name: "arp", predicate: "eth.type == 0x806"},
	{name: "arp.op", field: "arp_op", needs: "arp"},
	{name: "arp.spa", field: "arp_spa", needs: "arp"},
	{name: "arp.sha", field: "arp_sha", needs: "arp"},
	{name: "arp.tpa", field: "arp_tpa", needs: "arp"},
	{name: "arp.tha", field: "arp_tha", needs: "arp"},
	{name: "rarp", predicate: "eth.type == 0x8035", since: 2209},
	{name: "rarp.op", field: "arp_op", needs: "rarp", since: 2209},
	{name: "rarp.spa", field: "arp_spa", needs: "rarp", since: 2209},
	{name: "rarp.sha", field: "arp_sha", needs: "rarp", since: 2209},
	{name: "rarp.tpa", field: "arp_tpa", needs: "rarp", since: 2209},
	{name: "rarp.tha", field: "arp_tha", needs: "rarp", since: 2209},

	{name: "nd", predicate: "icmp6.type == {135, 136} && icmp6.code == 0 && ip.ttl == 255"},
	{name: "nd_ns", predicate: "icmp6.type == 135 && icmp6.code == 0 && ip.ttl == 255"},
	{name: "nd_ns_mcast", predicate: "ip6.mcast && icmp6.type == 135 && icmp6.code == 0 && ip.ttl == 255", since: 2403},
	{name: "nd_na", predicate: "icmp6.type == 136 && icmp6.code == 0 && ip.ttl == 255"},
	{name: "nd_rs", predicate: "icmp6.type == 133 && icmp6.code == 0 && ip.ttl == 255"},
	{name: "nd_ra", predicate: "icmp6.type == 134 && icmp6.code == 0 && ip.ttl == 255"},
	{name: "nd.target", field: "nd_target", needs: "nd"},
	{name: "nd.sll", field: "nd_sll", needs: "nd_ns"},
	{name: "nd.tll", field: "nd_tll", needs: "nd_na"},
	{name: "mldv1", predicate: "ip6.src == fe80::/10 && icmp6.type == {130, 131, 132}", until: 2409},
	{name: "mldv1", predicate: "eth.mcastv6 && ip6.src == fe80::/10 && icmp6.type == {130, 131, 132}", since: 2409},
	{name: "mldv2", predicate: "ip6.dst == ff02::16 && icmp6.type == 143", until: 2409},
	{name: "mldv2", predicate: "eth.mcastv6 && ip6.dst == ff02::16 && icmp6.type == 143", since: 2409},

	{name: "tcp", predicate: "ip.proto == 6"},
	{name: "tcp.src", field: "tcp_src", needs: "tcp"},
	{name: "tcp.dst", field: "tcp_dst", needs: "tcp"},
	{name: "tcp.flags", field: "tcp_flags", needs: "tcp"},
	{name: "udp", predicate: "ip.proto == 17"},
	{name: "udp.src", field: "udp_src", needs: "udp"},
	{name: "udp.dst", field: "udp_dst", needs: "udp"},
	{name: "sctp", predicate: "ip.proto == 132"},
	{name: "sctp.src", field: "sctp_src", needs: "sctp"},
	{name: "sctp.dst", field: "sctp_dst", needs: "sctp"},
	{name: "pkt.mark", field: "pkt_mark"},
}

// conntrackDefinitions replace their namesakes in flows tagged acl_ct_translation (26.03): ports are looked up in
// conntrack, so that they are known for later fragments too.
var conntrackDefinitions = []definition{
	{name: "ct_proto", field: "ct_nw_proto"},
	{name: "tcp", predicate: "ct.trk && !ct.inv && ct_proto == 6"},
	{name: "tcp.src", field: "ct_tp_src", needs: "tcp"},
	{name: "tcp.dst", field: "ct_tp_dst", needs: "tcp"},
	{name: "udp", predicate: "ct.trk && !ct.inv && ct_proto == 17"},
	{name: "udp.src", field: "ct_tp_src", needs: "udp"},
	{name: "udp.dst", field: "ct_tp_dst", needs: "udp"},
	{name: "sctp", predicate: "ct.trk && !ct.inv && ct_proto == 132"},
	{name: "sctp.src", field: "ct_tp_src", needs: "sctp"},
	{name: "sctp.dst", field: "ct_tp_dst", needs: "sctp"},
}
