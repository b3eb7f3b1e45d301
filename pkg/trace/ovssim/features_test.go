//go:build lab

package ovssim_test

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

// TestFeatures takes features from a datapath by dpif/set-dp-features (ovs-vswitchd(8)), and compares traces with the real
// ovs-vswitchd's. What dpif/show-dp-features prints does not change with that, so the test does it.
func TestFeatures(t *testing.T) { compareFeatures(t, "") }

func compareFeatures(t *testing.T, release string) {
	c := newBridgeComparison(t, release)
	const (
		tcp  = "tcp,in_port=1,dl_src=00:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=9,nw_tos=32,tcp_src=1,tcp_dst=2"
		tcp6 = "tcp6,in_port=1,dl_src=00:00:00:00:00:02,ipv6_src=fd00::1,ipv6_dst=fd00::2,nw_ttl=9,ipv6_label=5"
		arp  = "arp,in_port=1,dl_src=00:00:00:00:00:02,arp_op=1,arp_spa=10.0.0.1"
	)
	for _, test := range []struct{ feature, less, usual, line, actions, packet string }{
		{"clone", "false", "true", "Clone action: Yes", "clone(ct(commit),2),dec_ttl,2", tcp},
		{"clone", "false", "true", "Clone action: Yes", "clone(dec_ttl,2),2", tcp},
		{"sample_nesting", "3", "10", "Sample nesting: 10", "clone(ct(commit),2),dec_ttl,2", tcp},
		{"check_pkt_len", "false", "true", "Check pkt length action: Yes", "check_pkt_larger(100)->reg0[0],resubmit(,1),2", tcp},
		{"check_pkt_len", "false", "true", "Check pkt length action: Yes", "load:1->reg0[0],check_pkt_larger(100)->reg0[0],resubmit(,1)", tcp},
		{"trunc", "false", "true", "Truncate action: Yes", "output(port=2,max_len=100),2", tcp},
		{"ct_clear", "false", "true", "Conntrack clear: Yes", "ct(table=2)", tcp},
		{"masked_set_action", "false", "true", "Masked set action: Yes", "set_field:8/0xff->pkt_mark,set_field:0.0.0.5/0.0.0.255->ip_src,2", tcp},
		{"masked_set_action", "false", "true", "Masked set action: Yes", "set_field:00:00:00:00:00:05/00:00:00:00:00:ff->eth_dst,dec_ttl,set_field:80->tcp_dst,2,set_field:81->tcp_src,2", tcp},
		{"masked_set_action", "false", "true", "Masked set action: Yes", "set_field:::5/::ff->ipv6_src,2,set_field:9->ipv6_label,2", tcp6},
		{"masked_set_action", "false", "true", "Masked set action: Yes", "set_field:2->arp_op,2", arp},
		{"max_hash_alg", "0", "1", "Max dp_hash algorithm: 1", "group:1", tcp},
		{"", "", "", "", "clone(ct(commit),2),check_pkt_larger(100)->reg0[0],output(port=2,max_len=100)", tcp},
		{"", "", "", "", "group:1", tcp},
	} {
		protocol, _, _ := strings.Cut(test.packet, ",")
		b := &drawnBridge{flows: []string{"cookie=1," + protocol + ",actions=" + test.actions, "cookie=2,table=1,reg0=1/1,actions=3", "cookie=3,table=2,ip,actions=ct_clear,2", "cookie=4,table=1,priority=1,actions=LOCAL"},
			groups: []string{"group_id=1,type=select,bucket=actions=output:2,bucket=actions=output:3"}}
		flows, ok := c.load(b)
		if !ok || len(flows) != len(b.flows) {
			t.Fatalf("%s: added only %q", test.actions, flows)
		}
		set := func(value string) {
			if test.feature == "" {
				return
			}
			if _, err := c.host.Control(t.Context(), "ovs-vswitchd", "dpif/set-dp-features", "br-draw", test.feature, value); err != nil {
				t.Fatal(err)
			}
		}
		set(test.less)
		name, _, _ := strings.Cut(test.line, ": ")
		problem := c.differs(test.packet, func(ask func()) {
			set(test.less)
			ask()
			set(test.usual)
		}, func(b *ovssim.BridgeSource) {
			if !strings.Contains(b.Features, test.line+"\n") {
				t.Errorf("the datapath has no %q:\n%s", test.line, b.Features)
			}
			b.Features = strings.Replace(b.Features, test.line, name+": "+strings.Replace(test.less, "false", "No", 1), 1)
		})
		if problem != "" {
			t.Errorf("%s=%s, %s: %s", test.feature, test.less, test.actions, problem)
		}
	}
}
