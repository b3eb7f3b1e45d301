//go:build lab

package ovn

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
)

// examples are one text for each action that a release's documentation lists, by the action's name.
var examples = map[string]string{
	"output": "output;", "next": "next;", "field": "reg0 = 1;", "ovn_field": "icmp4.frag_mtu = 1400;",
	"field1": "reg0 = reg1;", "push": "push(reg0);", "pop": "pop(reg0);", "ip.ttl": "ip.ttl--;",
	"ct_next": "ct_next;", "ct_commit": "ct_commit { ct_mark.blocked = 1; };", "ct_commit_to_zone": "ct_commit_to_zone(dnat);",
	"ct_commit_nat": "ct_commit_nat;", "ct_dnat": "ct_dnat(10.0.0.1);", "ct_snat": "ct_snat(10.0.0.1);",
	"ct_dnat_in_czone": "ct_dnat_in_czone(10.0.0.1);", "ct_snat_in_czone": "ct_snat_in_czone(10.0.0.1);", "ct_clear": "ct_clear;",
	"ct_lb": "ct_lb(backends=10.0.0.1:80);", "ct_lb_mark": "ct_lb_mark(backends=10.0.0.1:80);",
	"ct_lb_mark_local": `ct_lb_mark_local(backends="lsp1":10.0.0.1:80);`, "clone": "clone { next; };",
	"arp": "arp { output; };", "get_arp": "get_arp(outport, reg0);", "put_arp": "put_arp(inport, arp.spa, arp.sha);",
	"lookup_arp": "reg0[0] = lookup_arp(inport, arp.spa, arp.sha);", "lookup_arp_ip": "reg0[0] = lookup_arp_ip(inport, arp.spa);",
	"get_fdb": "outport = get_fdb(eth.dst);", "put_fdb": "put_fdb(inport, eth.src);", "lookup_fdb": "reg0[0] = lookup_fdb(inport, eth.src);",
	"get_remote_fdb": "remote_outport = get_remote_fdb(eth.dst);",
	"nd_ns":          "nd_ns { output; };", "nd_na": "nd_na { output; };", "nd_na_router": "nd_na_router { output; };",
	"get_nd": "get_nd(outport, xxreg0);", "put_nd": "put_nd(inport, nd.target, nd.tll);",
	"lookup_nd": "reg0[0] = lookup_nd(inport, ip6.src, nd.sll);", "lookup_nd_ip": "reg0[0] = lookup_nd_ip(inport, ip6.src);",
	"put_dhcp_opts":   "reg0[0] = put_dhcp_opts(offerip = 10.0.0.2, router = 10.0.0.1);",
	"put_dhcpv6_opts": "reg0[0] = put_dhcpv6_opts(ia_addr = fd00::2);",
	"put_nd_ra_opts":  `reg0[0] = put_nd_ra_opts(addr_mode = "slaac", prefix = fd00::/64, slla = 0a:00:00:00:00:01);`,
	"set_queue":       "set_queue(5);", "dns_lookup": "reg0[0] = dns_lookup();", "set_meter": "set_meter(100);",
	"log": "log(verdict=drop);", "icmp4": "icmp4 { output; };", "icmp6": "icmp6 { output; };", "icmp4_error": "icmp4_error { output; };",
	"icmp6_error": "icmp6_error { output; };", "tcp_reset": "tcp_reset { output; };", "sctp_abort": "sctp_abort { output; };",
	"reject": "reject { output; };", "trigger_event": `trigger_event(event = "empty_lb_backends", vip = "10.0.0.1:80");`,
	"igmp": "igmp;", "bind_vport": `bind_vport("v", inport);`, "handle_svc_check": "handle_svc_check(inport);",
	"handle_dhcpv6_reply": "handle_dhcpv6_reply;", "handle_bfd_msg": "handle_bfd_msg();", "select": "reg8[0..15] = select(1, 2);",
	"fwd_group": `fwd_group(childports="a", "b");`, "check_pkt_larger": "reg0[0] = check_pkt_larger(1500);",
	"ct_snat_to_vip": "ct_snat_to_vip;", "chk_lb_hairpin": "reg0[0] = chk_lb_hairpin();", "chk_lb_hairpin_reply": "reg0[0] = chk_lb_hairpin_reply();",
	"check_in_port_sec": "reg0[0] = check_in_port_sec();", "check_out_port_sec": "reg0[0] = check_out_port_sec();",
	"commit_ecmp_nh": "commit_ecmp_nh(ipv6 = false, proto = tcp);", "chk_ecmp_nh_mac": "reg0[0] = chk_ecmp_nh_mac();", "chk_ecmp_nh": "reg0[0] = chk_ecmp_nh();",
	// The page has these two by names that OVN's parser refuses.
	"check_ecmp_nh_mac": "reg0[0] = chk_ecmp_nh_mac();", "check_ecmp_nh": "reg0[0] = chk_ecmp_nh();",
	"commit_lb_aff": `commit_lb_aff(vip = "10.0.0.1:80", backend = "10.0.0.2:80", proto = tcp, timeout = 60);`, "chk_lb_aff": "reg0[0] = chk_lb_aff();",
	"sample": "sample(probability=1,collector_set=1,obs_domain=1,obs_point=1);", "mac_cache_use": "mac_cache_use;",
	"flood_remote": "flood_remote;", "mirror": `mirror("a");`, "ct_nw_dst": "reg4 = ct_nw_dst();", "ct_ip6_dst": "xxreg1 = ct_ip6_dst();",
	"ct_tp_dst": "reg8[0..15] = ct_tp_dst();", "ct_proto": "reg1[0..7] = ct_proto();", "ct_state_save": "reg4[0..7] = ct_state_save();",
	"dhcp_relay_req_chk":  "reg0[0] = dhcp_relay_req_chk(10.0.0.1, 10.0.0.2);",
	"dhcp_relay_resp_chk": "reg0[0] = dhcp_relay_resp_chk(10.0.0.1, 10.0.0.2);",
}

var (
	font = regexp.MustCompile(`\\f[BIR]`)
	// heading is a line of the manual page that lists an action: ct_next; or R = lookup_arp(P, A, M); or clone { ... };
	heading = regexp.MustCompile(`^(?:[A-Z] = )?([a-z][a-z_0-9.]*)(?:;| ?[({].*[;})]| (?:=|<->) .*;|--;)$`)
)

// documented are the names of the actions that a release's ovn-sb(5) lists.
func documented(t *testing.T, root string) []string {
	t.Helper()
	f, err := os.Open(filepath.Join("/", root, "usr/share/man/man5/ovn-sb.5.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	page, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "\n.IP \"\\fBactions\\fR: string\"\n")
	if !found {
		t.Fatal("the page has no column actions")
	}
	text, _, _ = strings.Cut(text, "\n.IP \"\\fB") // the next column
	var names []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, `\fB`) {
			continue
		}
		line = strings.NewReplacer(`\-`, "-", `\[char46]`, ".", `\(dq`, `"`, `\(cq`, "'").Replace(font.ReplaceAllString(line, ""))
		m := heading.FindStringSubmatch(line)
		if m == nil || slices.Contains(names, m[1]) {
			continue
		}
		if _, field := ovnexpr.SymbolsOf(ovnexpr.Profile{}).Lookup(m[1]); field && strings.Contains(line, " = ") {
			continue // what a reply begins with: tcp.flags = RST;
		}
		names = append(names, m[1])
	}
	return names
}

// TestDocumentedActions walks the actions that the manual page of the installed release lists.
func TestDocumentedActions(t *testing.T) { testDocumented(t, lab.System) }

// testDocumented holds that each documented action is known to the parser and followed by the engine.
func testDocumented(t *testing.T, release string) {
	r, err := lab.Install(t.Context(), release)
	if err != nil {
		t.Fatal(err)
	}
	strange := reflect.ValueOf((*walker).strange).Pointer()
	table := ovnexpr.SymbolsOf(ovnexpr.Profile{})
	names := documented(t, r.Root)
	for _, name := range names {
		text, ok := examples[name]
		if !ok {
			t.Errorf("%s: documented, and not known here", name)
			continue
		}
		actions, err := ovnexpr.ParseActions(text)
		if err == nil {
			_, err = actions.Annotate(text, table)
		}
		if err != nil || len(actions) != 1 {
			t.Errorf("%s: %s: %v", name, text, err)
			continue
		}
		in := (&compiler{text: text, table: table}).compile(actions)
		if reflect.ValueOf(in[0].run).Pointer() == strange {
			t.Errorf("%s: %s is not followed", name, text)
		}
	}
	if len(names) < 50 {
		t.Errorf("%d actions, fewer than any release has: %v", len(names), names)
	}
	t.Logf("%s: %d documented actions, all known: %v", r, len(names), names)
}
