package ovssim_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A drawing makes up bridges, flow by flow, as somebody could write them by hand, and packets that meet them.
type drawing struct {
	*rand.Rand
	kind   string // what most flows of the bridge are about
	tables int
	groups int
}

// A drawnBridge is flows and groups as text, a line for each. Every flow has a cookie of its own.
type drawnBridge struct {
	kind          string
	flows, groups []string
	drawing       *drawing
}

// drawnKinds are what bridges are about.
var drawnKinds = []string{"fields", "vlan", "mpls", "tunnel", "conntrack", "group", "bundle", "conjunction", "learn", "normal", "set", "action set", "nsh", "length", "written", "mixed"}

// Ports of the drawn bridge: 1 and 2 are up, 3 is down, 4 leads to another bridge, 5 to 18 are tunnels.
const drawnPorts = 18

func drawBridge(r *rand.Rand, kind string) *drawnBridge {
	g := &drawing{Rand: r, kind: kind, tables: 1 + r.IntN(4)}
	b := &drawnBridge{kind: kind, drawing: g}
	if g.is("group", "action set") {
		g.groups = 1 + r.IntN(3)
		for i := range g.groups {
			b.groups = append(b.groups, g.group(i+1))
		}
	}
	for table := range g.tables {
		if g.is("conjunction") && g.IntN(2) == 0 {
			b.flows = append(b.flows, g.conjunction(table)...)
		}
		for range 1 + r.IntN(6) {
			b.flows = append(b.flows, g.flow(table))
		}
		if r.IntN(2) == 0 {
			b.flows = append(b.flows, fmt.Sprintf("table=%d,priority=0,actions=%s", table, g.actions(table, false)))
		}
	}
	for i, f := range b.flows {
		b.flows[i] = fmt.Sprintf("cookie=0x%x,%s", i+1, f)
	}
	return b
}

// is reports whether the bridge is about something: a mixed one is, at times, about everything.
func (g *drawing) is(kinds ...string) bool {
	for _, k := range kinds {
		if g.kind == k || g.kind == "mixed" && g.IntN(3) == 0 {
			return true
		}
	}
	return false
}

func (g *drawing) one(list ...string) string { return list[g.IntN(len(list))] }

// some joins a few of a list, each with the same chance.
func (g *drawing) some(n int, list ...string) []string {
	var chosen []string
	for _, i := range g.Perm(len(list))[:min(n, len(list))] {
		chosen = append(chosen, list[i])
	}
	return chosen
}

func (g *drawing) mac() string {
	return g.one("00:00:00:00:00:01", "00:00:00:00:00:02", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:05", "0a:58:0a:01:02:03")
}
func (g *drawing) ip() string {
	return g.one("10.0.0.1", "10.0.0.2", "10.0.1.7", "10.128.0.9", "192.0.2.5", "224.0.0.5")
}
func (g *drawing) ip6() string  { return g.one("fd00::1", "fd00::2", "fd00:1::7", "2001:db8::9") }
func (g *drawing) port() string { return g.one("80", "81", "443", "53", "1000", "8080") }
func (g *drawing) num(bits int) string {
	n := g.Uint64() >> (64 - bits)
	if g.IntN(2) == 0 {
		n &= 7
	}
	if g.IntN(2) == 0 {
		return fmt.Sprintf("0x%x", n)
	}
	return fmt.Sprint(n)
}
func (g *drawing) masked(bits int) string {
	if g.IntN(3) > 0 {
		return g.num(bits)
	}
	m := g.Uint64()>>(64-bits) | 1
	return fmt.Sprintf("0x%x/0x%x", g.Uint64()&m, m)
}
func (g *drawing) network() string {
	return g.ip() + g.one("", "", "/8", "/24", "/16", "/255.255.255.255", "/28", "/255.0.0.255")
}
func (g *drawing) network6() string { return g.ip6() + g.one("", "", "/64", "/16", "/32", "/127") }
func (g *drawing) out() string      { return fmt.Sprint(1 + g.IntN(4)) }
func (g *drawing) later(table int) int {
	if table+1 >= g.tables {
		return table + 1
	}
	return table + 1 + g.IntN(g.tables-table-1)
}

// Fields that packets of a protocol have, as conditions.
func (g *drawing) conditions(kind string) []string {
	list := []string{"in_port=" + fmt.Sprint(1+g.IntN(drawnPorts)), "reg0=" + g.masked(32), "metadata=" + g.masked(64), "pkt_mark=" + g.masked(32),
		"dl_src=" + g.mac(), "dl_dst=" + g.mac(), "dl_dst=01:00:00:00:00:00/01:00:00:00:00:00", "reg1=" + g.masked(3), "xreg1=" + g.masked(64), "xxreg1=" + g.masked(64)}
	if g.is("vlan", "normal") {
		list = append(list, "dl_vlan="+g.one("5", "7", "0xffff"), "vlan_tci="+g.one("0", "0x1000/0x1000", "0x1007", "0x1005/0x1fff"), "dl_vlan_pcp="+g.one("0", "3"), "vlan_vid="+g.one("0x1000/0x1000", "0x1007", "0"))
	}
	if g.is("tunnel") {
		list = append(list, "tun_id="+g.masked(24), "tun_src=172.30.0.12", "tun_dst=172.30.0.0/24", "tun_metadata0="+g.masked(32), "tun_metadata1", "tun_flags=+oam", "tun_gbp_id="+g.num(4), "tun_ipv6_dst=fd00::/16", "tun_metadata1=0")
	}
	if g.is("conntrack") {
		list = append(list, "ct_state="+g.one("+trk", "-trk", "+trk+new", "+trk+est-rpl", "+inv"), "ct_mark="+g.masked(32), "ct_zone="+g.num(4), "ct_label="+g.masked(64), "ct_mark=0/0x1")
	}
	switch kind {
	case "ip", "tcp", "udp", "icmp", "sctp":
		list = append(list, "nw_src="+g.network(), "nw_dst="+g.network(), "nw_dst="+g.network(), "nw_tos="+g.one("0", "4", "252"), "nw_ttl="+g.one("64", "1"), "nw_ecn=0", "ip_frag="+g.one("no", "yes", "first", "later", "not_later"), "ip_dscp=1")
		if g.is("conntrack") {
			list = append(list, "ct_state=+trk,ct_nw_dst="+g.ip(), "ct_state=+trk-inv,ct_nw_proto=6,ct_tp_dst=80")
		}
	case "ipv6", "tcp6", "udp6", "icmp6", "sctp6":
		list = append(list, "ipv6_src="+g.network6(), "ipv6_dst="+g.network6(), "ipv6_dst="+g.network6(), "nw_ttl=64", "ipv6_label="+g.one("0", "5"), "ip_frag=no")
	case "arp":
		list = append(list, "arp_op="+g.one("1", "2"), "arp_spa="+g.network(), "arp_tpa="+g.network(), "arp_sha="+g.mac(), "arp_tha="+g.mac())
	case "mpls":
		list = append(list, "mpls_label="+g.one("16", "17"), "mpls_ttl=64", "mpls_bos=1", "mpls_tc=0")
	}
	switch kind {
	case "tcp", "tcp6":
		list = append(list, "tp_src="+g.port(), "tp_dst="+g.port(), "tp_dst="+g.one("80/0xfff0", "0x50/0xff", "8000/0xf000"), "tcp_flags="+g.one("+syn-ack", "+ack", "syn", "0x2/0x3f"), "tcp_dst="+g.port())
	case "udp", "udp6":
		list = append(list, "tp_src="+g.port(), "tp_dst="+g.port(), "udp_dst="+g.port())
	case "sctp", "sctp6":
		list = append(list, "tp_dst="+g.port(), "sctp_src="+g.port())
	case "icmp":
		list = append(list, "icmp_type="+g.one("8", "0"), "icmp_type=3,icmp_code=4")
	case "icmp6":
		list = append(list, "icmp_type="+g.one("128", "135"), "icmpv6_type=135,icmpv6_code=0,nd_target="+g.ip6(), "icmp_type=136,icmp_code=0,nd_tll="+g.mac())
	case "nsh":
		list = append(list, "nsh_spi="+g.num(4), "nsh_si="+g.one("254", "255"), "nsh_mdtype=1,nsh_c1="+g.masked(32), "nsh_flags=0", "nsh_mdtype=1", "nsh_ttl=63", "nsh_np=3")
	}
	return list
}

func (g *drawing) protocol() string {
	switch {
	case g.is("mpls") && g.IntN(2) == 0:
		return "mpls"
	case g.is("nsh") && g.IntN(2) == 0:
		return "nsh"
	}
	return g.one("", "", "ip", "tcp", "tcp", "udp", "icmp", "ipv6", "tcp6", "udp6", "icmp6", "arp", "sctp", "ip")
}

func (g *drawing) match() (kind, text string) {
	kind = g.protocol()
	var terms []string
	switch kind {
	case "":
	case "nsh":
		terms = append(terms, "dl_type=0x894f")
	default:
		terms = append(terms, kind)
	}
	seen := map[string]bool{}
	for _, c := range g.some(g.IntN(g.IntN(3)+1), g.conditions(kind)...) {
		name, _, _ := strings.Cut(c, "=")
		if !seen[name] {
			terms = append(terms, c)
		}
		seen[name] = true
	}
	return kind, strings.Join(terms, ",")
}

func (g *drawing) flow(table int) string {
	kind, match := g.match()
	head := fmt.Sprintf("table=%d,priority=%d", table, g.one10())
	if match != "" {
		head += "," + match
	}
	return head + ",actions=" + g.actionsOf(kind, table, false)
}

// one10 draws a priority. Each is rare: flows of one priority that a packet meets are a matter of luck.
func (g *drawing) one10() int { return 1 + g.IntN(60000) }

// conjunction draws flows that are clauses.
func (g *drawing) conjunction(table int) []string {
	id, n := 1+g.IntN(1000), 2+g.IntN(2)
	priority := g.one10()
	var flows []string
	dimensions := [][]string{{"nw_src=10.0.0.0/24", "nw_src=10.0.0.1", "nw_src=10.0.1.7"}, {"nw_dst=10.0.0.2", "nw_dst=10.0.0.0/8"}, {"tcp_dst=80", "tcp_dst=81", "tcp_dst=0x50/0xfff0"}}
	for i := range n {
		for _, term := range g.some(1+g.IntN(3), dimensions[i]...) {
			action := fmt.Sprintf("conjunction(%d,%d/%d)", id, i+1, n)
			if g.IntN(4) == 0 {
				action += fmt.Sprintf(",conjunction(%d,%d/%d)", id+1, 1+g.IntN(2), 2)
			}
			flows = append(flows, fmt.Sprintf("table=%d,priority=%d,tcp,%s,actions=%s", table, priority, term, action))
		}
	}
	return append(flows, fmt.Sprintf("table=%d,priority=%d,conj_id=%d,tcp,actions=%s", table, priority, id, g.actions(table, false)),
		fmt.Sprintf("table=%d,priority=%d,conj_id=%d,ip,actions=%s", table, priority, id+1, g.actions(table, false)))
}

func (g *drawing) group(id int) string {
	kind := g.one("all", "select", "select", "indirect", "ff")
	text := fmt.Sprintf("group_id=%d,type=%s", id, kind)
	if kind == "select" {
		text += g.one("", ",selection_method=dp_hash", ",selection_method=hash,fields(ip_src,ip_dst)", ",selection_method=hash,fields=eth_src", ",selection_method=hash,selection_method_param=7,fields(ip_dst,nw_proto,tcp_dst,udp_dst)")
	}
	n := 1 + g.IntN(3)
	if kind == "indirect" {
		n = 1
	}
	for i := range n {
		text += ",bucket="
		if g.IntN(2) == 0 && kind != "indirect" {
			text += fmt.Sprintf("bucket_id:%d,", 10+i)
		}
		if kind == "select" && g.IntN(2) == 0 {
			text += fmt.Sprintf("weight:%d,", g.IntN(4)*50)
		}
		if kind == "ff" {
			text += "watch_port:" + g.one("1", "2", "3") + ","
		}
		text += "actions=" + strings.Join(g.some(1+g.IntN(2), g.bucketActions()...), ",")
	}
	return text
}

func (g *drawing) bucketActions() []string {
	return []string{g.out(), "output:" + g.out(), "set_field:" + g.mac() + "->eth_dst", "dec_ttl", "LOCAL", "load:" + g.num(3) + "->NXM_NX_REG3[]"}
}

// Actions by what they are about.
// A dump by OpenFlow 1.5 does not tell mod_vlan_vid, which adds a tag if there is none, from push_vlan and set_field; so
// these are not drawn.
func (g *drawing) vlanActions() []string {
	return []string{"strip_vlan", "push_vlan:0x8100", "push_vlan:0x88a8", "pop_vlan", "set_field:" + g.one("4101", "4103") + "->vlan_vid", "set_field:3->vlan_pcp", "load:" + g.num(12) + "->OXM_OF_VLAN_VID[0..11]",
		"push_vlan:0x8100,set_field:4103->vlan_vid", "load:0x1->NXM_OF_VLAN_TCI[12]", "move:NXM_OF_VLAN_TCI[0..11]->NXM_NX_REG0[0..11]"}
}

func (g *drawing) setActions() []string {
	return []string{"mod_dl_src:" + g.mac(), "mod_dl_dst:" + g.mac(), "mod_nw_src:" + g.ip(), "mod_nw_dst:" + g.ip(), "mod_nw_tos:" + g.one("4", "252"), "mod_tp_src:" + g.port(), "mod_tp_dst:" + g.port(), "mod_nw_ttl:" + g.one("1", "7"), "mod_nw_ecn:" + g.one("1", "3"),
		"set_field:" + g.mac() + "->eth_src", "set_field:00:00:00:00:00:0" + g.one("1", "5") + "/00:00:00:00:00:ff->eth_dst", "set_field:" + g.masked(32) + "->reg" + g.one("0", "1", "2"), "set_field:" + g.masked(64) + "->metadata", "set_field:" + g.masked(64) + "->xreg1", "set_field:" + g.num(60) + "->xxreg1",
		"load:" + g.num(8) + "->NXM_NX_REG0[0..7]", "load:" + g.num(1) + "->reg1[3]", "load:" + g.num(16) + "->NXM_NX_REG2[16..31]", "load:" + g.num(32) + "->NXM_NX_PKT_MARK[]", "load:" + g.num(48) + "->NXM_OF_ETH_DST[]", "load:" + g.num(64) + "->OXM_OF_METADATA[]",
		"move:NXM_NX_REG0[]->NXM_NX_REG1[]", "move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]", "move:NXM_OF_ETH_SRC[0..31]->reg2", "move:reg0[0..15]->reg1[16..31]", "move:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15]", "push:NXM_NX_REG0[],pop:NXM_NX_REG1[]", "push:NXM_OF_IN_PORT[],load:0xffff->NXM_OF_IN_PORT[],output:" + g.out() + ",pop:NXM_OF_IN_PORT[]", "set_field:0x8/0xff->pkt_mark", "dec_ttl"}
}

// ofKind are actions that need a packet of a kind: ovs-ofctl refuses them elsewhere.
func (g *drawing) ofKind(kind string) []string {
	var list []string
	switch kind {
	case "ip", "tcp", "udp", "icmp", "sctp":
		list = []string{"set_field:" + g.ip() + "->ip_dst", "set_field:0.0.0." + g.one("5", "9") + "/0.0.0.255->ip_src", "load:" + g.num(32) + "->NXM_OF_IP_DST[]", "load:" + g.num(8) + "->NXM_OF_IP_SRC[0..7]", "move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[]", "dec_ttl", "set_field:5->ip_dscp", "set_field:1->nw_ecn", "load:63->NXM_NX_IP_TTL[]", "push:NXM_OF_IP_SRC[],pop:NXM_OF_IP_DST[]"}
	case "ipv6", "tcp6", "udp6", "icmp6", "sctp6":
		list = []string{"set_field:" + g.ip6() + "->ipv6_dst", "set_field:fd00:" + g.one("5", "9") + "::/64->ipv6_src", "set_field:5->ipv6_label", "dec_ttl", "set_field:fd00::77->nd_target", "set_field:" + g.mac() + "->nd_sll", "set_field:" + g.mac() + "->nd_tll", "set_field:5->ip_dscp", "move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[]", "move:NXM_NX_IPV6_SRC[0..63]->NXM_NX_XXREG1[0..63]"}
	case "arp":
		list = []string{"set_field:2->arp_op", "load:0x2->NXM_OF_ARP_OP[]", "move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]", "set_field:" + g.ip() + "->arp_spa", "set_field:" + g.mac() + "->arp_sha", "move:NXM_OF_ARP_TPA[]->NXM_OF_ARP_SPA[]"}
	case "mpls":
		list = []string{"set_field:17->mpls_label", "dec_mpls_ttl", "pop_mpls:0x0800", "pop_mpls:0x0800,resubmit(,1)", "push_mpls:0x8847", "set_mpls_ttl:9", "set_mpls_label:20", "pop_mpls:0x8847", "set_field:2->mpls_tc", "set_mpls_tc:3"}
	case "nsh":
		list = []string{"set_field:5->nsh_spi", "set_field:7->nsh_si", "dec_nsh_ttl", "decap()", "set_field:0x1234->nsh_c1", "set_field:2->nsh_flags"}
	}
	switch kind {
	case "tcp", "tcp6":
		list = append(list, "set_field:"+g.port()+"->tcp_dst", "load:"+g.num(16)+"->NXM_OF_TCP_SRC[]", "load:"+g.num(8)+"->NXM_OF_TCP_DST[0..7]", "move:NXM_OF_TCP_SRC[]->NXM_OF_TCP_DST[]")
	case "udp", "udp6":
		list = append(list, "set_field:"+g.port()+"->udp_dst", "move:NXM_OF_UDP_SRC[]->NXM_NX_REG0[0..15]")
	case "icmp":
		list = append(list, "set_field:0->icmp_type", "load:0x3->NXM_OF_ICMP_CODE[]")
	case "icmp6":
		list = append(list, "set_field:129->icmpv6_type")
	}
	return list
}

func (g *drawing) actionsOf(kind string, table int, nested bool) string {
	list := append(g.setActions(), g.ofKind(kind)...)
	list = append(list, g.ofKind(kind)...)
	later := fmt.Sprint(g.later(table))
	outs := []string{g.out(), "output:" + g.out(), "LOCAL", "IN_PORT", "resubmit(," + later + ")", "resubmit(," + later + ")", "resubmit(" + g.out() + "," + later + ")", "output:NXM_NX_REG0[0..15]", "drop"}
	if g.is("vlan", "normal") {
		list = append(append(list, g.vlanActions()...), g.vlanActions()...)
	}
	if g.is("mpls") {
		list = append(list, "push_mpls:0x8847", "push_mpls:0x8847,set_field:18->mpls_label", "push_mpls:0x8848")
	}
	if g.is("nsh") {
		list = append(list, "encap(nsh(md_type=1))", "encap(nsh(md_type=2,tlv(0x1000,10,0x12345678)))", "encap(nsh(md_type=1)),set_field:0x1234->nsh_spi,encap(ethernet)", "decap", "decap()", "encap(nsh)", "encap(ethernet)")
	}
	if g.is("tunnel") {
		list = append(list, "set_field:172.30.0.12->tun_dst", "set_field:172.30.0.12->tun_dst,set_field:172.30.0.11->tun_src,output:16", "set_field:fd99::12->tun_ipv6_dst", "set_field:fd99::12->tun_ipv6_dst,output:5", "set_field:172.30.0.11->tun_src", "set_field:"+g.num(24)+"->tun_id", "set_tunnel:"+g.num(16), "set_field:"+g.num(32)+"->tun_metadata0", "set_field:"+g.num(60)+"->tun_metadata1", "move:NXM_NX_TUN_ID[0..15]->NXM_NX_REG0[0..15]", "load:"+g.num(16)+"->NXM_NX_TUN_METADATA0[0..15]", "move:NXM_NX_TUN_METADATA0[0..31]->NXM_NX_REG1[]", "set_tunnel64:"+g.num(60), "load:"+g.num(8)+"->NXM_NX_TUN_ID[0..7]", "delete_field:tun_metadata0", "set_field:5->tun_gbp_id")
		for range 3 {
			outs = append(outs, fmt.Sprintf("output:%d", 5+g.IntN(drawnPorts-4)))
		}
	}
	if g.is("conntrack") && (kind != "" && kind != "arp" && kind != "mpls" && kind != "nsh") {
		outs = append(outs, g.ct(kind, later), g.ct(kind, later), "ct_clear,resubmit(,"+later+")", "resubmit(,"+later+",ct)")
	}
	if g.is("group") && g.groups > 0 && !nested {
		outs = append(outs, fmt.Sprintf("group:%d", 1+g.IntN(g.groups)), fmt.Sprintf("group:%d", 1+g.IntN(g.groups)))
	}
	if g.is("bundle") {
		list = append(list, fmt.Sprintf("bundle_load(%s,%d,%s,ofport,NXM_NX_REG%s[0..15],members:%s,%s)", g.hashFields(), g.IntN(100), g.one("hrw", "active_backup"), g.one("0", "1"), g.out(), g.out()),
			fmt.Sprintf("multipath(%s,%d,%s,%d,%d,NXM_NX_REG%s[%s])", g.hashFields(), g.IntN(2000), g.one("modulo_n", "hash_threshold", "hrw", "iter_hash"), 1+g.IntN(9), g.IntN(20), g.one("0", "1"), g.one("0..7", "", "16..31")))
		outs = append(outs, fmt.Sprintf("bundle(%s,%d,%s,ofport,members:%s,%s,%s)", g.hashFields(), g.IntN(100), g.one("hrw", "active_backup"), g.out(), g.out(), g.out()))
	}
	if g.is("learn") {
		list = append(list, "learn(table="+later+",idle_timeout=10,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[])", "learn(table="+later+",hard_timeout=60,priority=9,eth_type=0x800,NXM_OF_VLAN_TCI[0..11],load:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15],load:5->NXM_NX_REG1[])")
	}
	if g.is("normal") {
		outs = append(outs, "NORMAL", "FLOOD", "ALL", "NORMAL")
	}
	if g.is("length") {
		list = append(list, "check_pkt_larger("+g.one("100", "1400")+")->reg0["+g.one("0", "4")+"]", "clone("+g.one("dec_ttl", "set_field:"+g.mac()+"->eth_dst", "mod_nw_dst:"+g.ip())+","+g.out()+")", "note:01.02.03", "sample(probability="+g.one("1234", "65535", "1")+",collector_set_id=1,obs_domain_id=2,obs_point_id=3"+g.one("", ",sampling_port="+g.out(), ",sampling_port=1,ingress", ",egress")+")", "set_queue:"+g.one("0", "5"), "pop_queue", "exit", "controller(userdata=01.02,pause)", "controller(reason=no_match,max_len=128,id=5)",
			"clone(resubmit(,"+later+"))", "debug_recirc", "output(port="+g.out()+",max_len=100)", "fin_timeout(idle_timeout=5)", "CONTROLLER:200", "dec_ttl(1,2)")
	}
	if g.is("written") {
		list = append(list, g.written()...)
		outs = append(outs, "output("+g.out()+")", "output:in_port", "output:reg0", "in_port", "local", "all", "output:LOCAL", "output:normal", "resubmit("+g.out()+")", "output:reg1[0..15]", "controller", "output:NXM_NX_REG0[]", "resubmit:"+g.out())
	}
	n := 1 + g.IntN(3)
	chosen := append(g.some(n, list...), g.some(1+g.IntN(2), outs...)...)
	if g.IntN(3) == 0 {
		chosen = append(chosen, g.some(1, list...)...)
		chosen = append(chosen, g.some(1, outs...)...)
	}
	for i, a := range chosen {
		if a == "drop" && len(chosen) > 1 {
			chosen[i] = g.out()
		}
	}
	if g.is("action set") && !nested {
		chosen = append(chosen, "write_actions("+strings.Join(g.some(1+g.IntN(3), "output:"+g.out(), "set_field:"+g.mac()+"->eth_dst", "dec_ttl", "push_vlan:0x8100", "group:1", "load:5->NXM_NX_REG3[]", "pop_vlan"), ",")+")")
		if g.IntN(4) == 0 {
			chosen = append(chosen[:len(chosen)-1], "clear_actions", chosen[len(chosen)-1])
		}
	}
	if g.IntN(8) == 0 {
		chosen = append(chosen, "write_metadata:"+g.masked(64))
	}
	if g.IntN(5) == 0 && table+1 < g.tables && !nested {
		chosen = append(chosen, fmt.Sprintf("goto_table:%s", later))
	}
	if g.kind == "length" && g.IntN(8) == 0 {
		chosen = append([]string{"meter:1"}, chosen...)
	}
	return strings.Join(chosen, g.one(",", ",", ",", " , "))
}

// written are actions as people write them, not as ovs-ofctl prints them.
func (g *drawing) written() []string {
	return []string{"load:0x1->reg0", "load(5->reg1)", "move(reg0->reg1)", "set_field(7->reg0)", "mod_dl_src=" + g.mac(), "mod_nw_dst(" + g.ip() + ")", "load:0x1->reg2[4]", "note:", "set_field:10.1.1.1->nw_dst", "move:eth_src->eth_dst", "push:reg0[],pop:reg1[]", "push(reg0[0..3]),pop(reg1[0..3])", "strip_vlan()", "dec_ttl()", "set_queue=3", "mod_tp_dst=80", "load:10.0.0.9->NXM_OF_IP_DST[]", "set_field:" + g.mac() + "->dl_dst", "move:nw_src->reg0", "bundle_load(eth_src,0,hrw,ofport,reg0,members:1,2)", "bundle_load(eth_src,0,active_backup,ofport,reg1[],slaves:[1,2])", "multipath(eth_src,0,modulo_n,4,0,reg0[0..3])"}
}

func (g *drawing) hashFields() string {
	return g.one("eth_src", "symmetric_l4", "symmetric_l3l4", "symmetric_l3l4+udp", "nw_src", "nw_dst", "symmetric_l3")
}

func (g *drawing) actions(table int, nested bool) string { return g.actionsOf("", table, nested) }

func (g *drawing) ct(kind, later string) string {
	var args []string
	commit := g.IntN(2) == 0
	if commit {
		args = append(args, "commit")
		if g.IntN(4) == 0 {
			args = append(args, "force")
		}
	}
	if g.IntN(3) > 0 {
		args = append(args, "table="+later)
	}
	if g.IntN(2) == 0 {
		args = append(args, "zone="+g.one("1", "9", "NXM_NX_REG0[0..15]", "reg1[0..15]"))
	}
	switch {
	case g.IntN(3) > 0:
	case commit && strings.HasSuffix(kind, "6"):
		args = append(args, "nat("+g.one("src", "dst")+"="+g.one("fd00::5", "fd00::5-fd00::9", "[fd00::5]:80", "[fd00::5]-[fd00::9]:100-200")+")")
	case commit:
		args = append(args, "nat("+g.one("src", "dst")+"="+g.one("10.5.5.5", "10.5.5.5-10.5.5.9", "10.5.5.5:80", "10.5.5.5-10.5.5.9:100-200,random", "10.5.5.1-10.5.5.9:5-10,hash", "10.5.5.5-10.5.5.9,persistent")+")")
	default:
		args = append(args, "nat")
	}
	if commit && g.IntN(2) == 0 {
		args = append(args, "exec("+strings.Join(g.some(1+g.IntN(2), "set_field:"+g.masked(32)+"->ct_mark", "set_field:"+g.masked(64)+"->ct_label", "load:"+g.num(8)+"->NXM_NX_CT_MARK[0..7]", "load:"+g.num(16)+"->NXM_NX_CT_LABEL[64..95]", "move:NXM_NX_REG0[]->NXM_NX_CT_MARK[]"), ",")+")")
	}
	return "ct(" + strings.Join(args, ",") + ")"
}

// packet draws a packet of the values that the flows ask for, and the states of connection tracking that it meets.
func (g *drawing) packet() (text string, next []string) {
	kind := g.protocol()
	for kind == "" {
		kind = g.one("tcp", "udp", "tcp6", "icmp6", "arp", "dl_type=0x88cc", "ip")
	}
	port := 1 + g.IntN(4)
	if g.is("tunnel") {
		port = 1 + g.IntN(drawnPorts)
	}
	if kind == "nsh" {
		kind = "dl_type=0x894f,nsh_mdtype=1,nsh_np=" + g.one("3", "1") + ",nsh_spi=" + g.num(4) + ",nsh_si=" + g.one("254", "255") + ",nsh_ttl=" + g.one("63", "1") + ",nsh_c1=" + g.num(32)
	}
	terms := []string{kind, fmt.Sprintf("in_port=%d", port), "dl_src=" + g.one("00:00:00:00:00:01", "00:00:00:00:00:02"), "dl_dst=" + g.mac()}
	switch word, _, _ := strings.Cut(kind, ","); word {
	case "ip", "tcp", "udp", "icmp", "sctp":
		terms = append(terms, "nw_src="+g.ip(), "nw_dst="+g.ip(), "nw_ttl="+g.one("64", "64", "1", "2"), "nw_tos="+g.one("0", "0", "4"), "nw_ecn="+g.one("0", "0", "0", "3"))
	case "ipv6", "tcp6", "udp6", "icmp6", "sctp6":
		terms = append(terms, "ipv6_src="+g.ip6(), "ipv6_dst="+g.ip6(), "nw_ttl="+g.one("64", "64", "1"))
	case "arp":
		terms = append(terms, "arp_op="+g.one("1", "2"), "arp_spa="+g.ip(), "arp_tpa="+g.ip(), "arp_sha="+g.mac())
	case "mpls":
		terms = append(terms, "mpls_label="+g.one("16", "17"), "mpls_bos=1", "mpls_ttl="+g.one("64", "1"))
	}
	switch kind {
	case "tcp", "tcp6":
		terms = append(terms, "tcp_src="+g.port(), "tcp_dst="+g.port())
		if g.IntN(2) == 0 {
			terms = append(terms, "tcp_flags="+g.one("syn", "ack", "0"))
		}
	case "udp", "udp6":
		terms = append(terms, "udp_src="+g.port(), "udp_dst="+g.port())
	case "sctp":
		terms = append(terms, "sctp_src="+g.port(), "sctp_dst="+g.port())
	case "icmp":
		terms = append(terms, "icmp_type="+g.one("8", "0", "3"))
	case "icmp6":
		terms = append(terms, g.one("icmpv6_type=128", "icmpv6_type=135,icmpv6_code=0,nd_target="+g.ip6(), "icmpv6_type=136,nd_target="+g.ip6()+",nd_tll="+g.mac()))
	}
	switch {
	case g.is("vlan", "normal") && g.IntN(2) == 0:
		terms = append(terms, "dl_vlan="+g.one("5", "7", "0", "9"), "dl_vlan_pcp="+g.one("0", "3"))
	case g.is("conntrack") && g.IntN(4) == 0 && (strings.HasPrefix(kind, "tcp") || kind == "udp"):
		terms = append(terms, "ct_state="+g.one("trk|new", "trk|est", "trk|inv"), "ct_zone="+g.num(4), "ct_mark="+g.num(8))
		if kind == "tcp" {
			terms = append(terms, "ct_nw_proto=6,ct_nw_src="+g.ip()+",ct_nw_dst="+g.ip()+",ct_tp_src="+g.port()+",ct_tp_dst="+g.port())
		}
	case g.is("group") && g.IntN(2) == 0:
		terms = append(terms, "dp_hash="+fmt.Sprint(1+g.IntN(200)))
	case kind == "tcp" && g.IntN(8) == 0, kind == "ip" && g.IntN(8) == 0:
		terms = append(terms, "ip_frag="+g.one("first", "later"))
	}
	if port > 4 {
		terms = append(terms, "tun_id="+g.num(16), "tun_src=172.30.0.12", "tun_dst=172.30.0.11")
		if g.IntN(2) == 0 && port != 5 {
			terms = append(terms, "tun_metadata0="+g.num(32))
		}
		if g.IntN(8) == 0 {
			terms = append(terms, "tun_metadata1="+g.num(60))
		}
		if g.IntN(4) == 0 {
			terms = append(terms, "tun_tos="+g.one("1", "2", "3", "3", "7"))
		}
	}
	if g.IntN(6) == 0 {
		terms = append(terms, "reg0="+g.num(8))
	}
	if g.IntN(8) == 0 {
		terms = append(terms, "pkt_mark="+g.num(8))
	}
	for range g.IntN(3) {
		if g.is("conntrack") {
			next = append(next, g.one("trk,new", "trk,est", "trk,est,rpl", "trk,inv", "trk,new,dnat"))
		}
	}
	return strings.Join(terms, ","), next
}

// drawnFlow is the packet as a value.
func drawnFlow(text string) (packet.Flow, error) { return packet.Parse(text) }
