package decode

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

func TestExplain(t *testing.T) {
	for stage, want := range map[string]string{
		"ls_in_acl":                 "ACL ingress", // up to 23.03
		"ls_in_acl_eval":            "ACL ingress", // 23.06
		"ls_out_acl_eval":           "ACL egress",
		"ls_out_acl_sample":         "ACL sampling egress", // 24.09
		"ls_in_acl_after_lb_eval":   "ACL after load balancing",
		"ls_in_acl_after_lb_action": "ACL verdict after load balancing",
		"ls_in_acl_hint":            "what the connection's state means to ACLs",
		"ls_in_port_sec_l2":         "port security: MAC address", // up to 22.03
		"ls_out_check_port_sec":     "port security egress",
		"ls_in_qos_mark":            "QoS marking ingress", // up to 24.03
		"ls_out_qos":                "QoS egress",
		"ls_out_lookup_fdb":         "is the source MAC learned?", // 25.09
		"ls_in_lb":                  "load balancer",
		"lr_in_ip_routing":          "routing",
		"lr_in_ip_routing_ecmp":     "choice among equal routes",
		"lr_in_dhcp_relay_req":      "DHCP relay",
		"lr_out_snat":               "SNAT",
		"lr_in_brand_new":           "lr_in_brand_new",
		"ls_in_":                    "ls_in_",
		"ls__acl":                   "ls__acl",
		"":                          "",
		"xx_in_acl":                 "xx_in_acl",
	} {
		if got := explainStage(stage); got != want {
			t.Errorf("Explain(%q) = %q, want %q", stage, got, want)
		}
	}
}

func TestExplainFlow(t *testing.T) {
	row := sb.LogicalFlowNames{ExternalIDs: map[string]string{"stage-name": "lr_in_ip_input"}}
	if got := explainFlow(row); got != "packets for the router itself" {
		t.Errorf("a flow without description: %q", got)
	}
	row.FlowDesc = ovsdb.Set[string]{"Drop IP with multicast source"}
	if got := explainFlow(row); got != "packets for the router itself: Drop IP with multicast source" {
		t.Errorf("a flow with description: %q", got)
	}
	for table := range calibrate(nil, release.Parse("26.09.0")).tables {
		if table.Explain() == "" {
			t.Errorf("no words for %s", table)
		}
	}
}

func TestUserdata(t *testing.T) {
	for text, want := range map[string]string{
		"0000000700000000" + "0105" + "776562": `logs the packet ACL "web", drop, notice`,
		"0000000700000000" + "0006":            "logs the packet allow, info",
		"0000000700000000" + "ff09":            "logs the packet",
		"0000000700000000":                     "logs the packet",
		"0000001600000000" + "0019":            "rejects the packet: TCP reset, or ICMP unreachable",
		"0000000000000000":                     "asks for the next hop's MAC by ARP",
		"0000000900000000":                     "asks for the next hop's MAC by neighbour solicitation",
		"0000000100000000":                     "learns the sender's MAC",
		"0000001d00000000":                     "relays the DHCP response",
		"0000ffff00000000":                     "sends the packet to ovn-controller: opcode 65535",
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		u, ok := ParseUserdata(data)
		if got := u.String(); !ok || got != want {
			t.Errorf("userdata %s: %q, %t, want %q", text, got, ok, want)
		}
	}
	for text, want := range map[string]string{
		// A field with a mask, one that is copied in part, two that are swapped, and a table.
		"0000000000000000" + "001900100001150800000001" + "00000001":                 "reg10=0x1/0x1",
		"0000000000000000" + "001c00180030004000000000" + "0001de108000080600000000": "eth_src=xreg0[0..47]",
		"0000001600000000" + "ffff001800002320001b000000011c040020000000000000" + "ffff001800002320001b000000011e040020000000000000" +
			"ffff001800002320001c000000011c040020000000000000" + "ffff001800002320001c000000011e040020000000000000" +
			"ffff001000002320000efff82f000000": "reg14 and reg15 swapped, resubmit(,47)",
		"0000001600000000" + "ffff001000002320000efff82f000000" + "ffff00100000232000ff000000000000": "resubmit(,47), …",
		"0000000000000000" + "0019ffff0001150800000001":                                              "…",
		// put_dhcp_opts(offerip = 10.1.1.11, classless_static_route = {169.254.169.254/32,10.1.1.2, 0.0.0.0/0,10.1.1.1},
		// dns_server = {203.0.113.53, 203.0.113.54}, domain_name = "cloud.example", lease_time = 43200, mtu = 1442,
		// netmask = 255.255.255.0, router = 10.1.1.1, server_id = 10.1.1.1) as ovn-controller 23.03.1 wrote it.
		"0000000200000000" + "0001de10000000630a01010b790e20a9fea9fe0a010102000a0101010608cb007135cb0071360f0d" +
			"636c6f75642e6578616d706c6533040000a8c01a0205a20104ffffff0003040a01010136040a010101": "offerip=10.1.1.11, " +
			"classless_static_route=169.254.169.254/32 via 10.1.1.2 0.0.0.0/0 via 10.1.1.1, dns_server=203.0.113.53 203.0.113.54, " +
			`domain_name="cloud.example", lease_time=43200, mtu=1442, netmask=255.255.255.0, router=10.1.1.1, server_id=10.1.1.1`,
		"0000000200000000" + "0001de10000000630a01010b" + "4201":     "offerip=10.1.1.11, …",
		"0000000200000000" + "0001de10000000630a01010b" + "77020161": "offerip=10.1.1.11, domain_search_list=0x0161",
		"0000000200000000" + "0001de10":                              "…",
		"0000001200000000":                                           "",
	} {
		data, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := ParseUserdata(data); !ok || u.Then(func(any) string { return "" }) != want {
			t.Errorf("userdata %s: %q, %t, want %q", text, u.Then(func(any) string { return "" }), ok, want)
		}
	}
	if u, ok := ParseUserdata([]byte{0, 0, 0, 7}); ok {
		t.Errorf("4 bytes are userdata: %v", u)
	}
	for i, opcode := range opcodes {
		if effects.Get()[opcode] == "" {
			t.Errorf("opcode %d %s: no effect in words", i, opcode)
		}
	}
	for opcode := range effects.Get() {
		if !slices.Contains(opcodes, opcode) {
			t.Errorf("effect of %s, which is no opcode", opcode)
		}
	}
}
