package ovs_test

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// TestReply turns a packet as it arrived into its reply.
func TestReply(t *testing.T) {
	tests := []struct{ packet, want string }{
		{"tcp,in_port=5,metadata=0x7,reg0=1,ct_state=trk|new,eth_src=00:00:00:00:00:01,eth_dst=00:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=61,tp_src=1000,tp_dst=80,tcp_flags=syn",
			"tcp,eth_src=00:00:00:00:00:02,eth_dst=00:00:00:00:00:01,nw_src=10.0.0.2,nw_dst=10.0.0.1,nw_ttl=64,tp_src=80,tp_dst=1000,tcp_flags=syn|ack"},
		{"udp6,eth_src=00:00:00:00:00:01,eth_dst=00:00:00:00:00:02,ipv6_src=fd00::1,ipv6_dst=fd00::2,nw_ttl=61,tp_src=1000,tp_dst=53",
			"udp6,eth_src=00:00:00:00:00:02,eth_dst=00:00:00:00:00:01,ipv6_src=fd00::2,ipv6_dst=fd00::1,nw_ttl=64,tp_src=53,tp_dst=1000"},
		{"icmp,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=61,icmp_type=8,icmp_code=0", "icmp,nw_src=10.0.0.2,nw_dst=10.0.0.1,nw_ttl=64,icmp_type=0,icmp_code=0"},
		{"icmp6,ipv6_src=fd00::1,ipv6_dst=fd00::2,nw_ttl=61,icmp_type=128,icmp_code=0", "icmp6,ipv6_src=fd00::2,ipv6_dst=fd00::1,nw_ttl=64,icmp_type=129,icmp_code=0"},
	}
	for _, test := range tests {
		got, ok := ovs.Reply(parse(t, test.packet))
		want := parse(t, test.want)
		if !ok || got.String() != want.String() {
			t.Errorf("%s\n got %s\nwant %s", test.packet, got.String(), want.String())
		}
	}
	if _, ok := ovs.Reply(parse(t, "arp")); ok {
		t.Error("a reply to ARP was made up")
	}
}
