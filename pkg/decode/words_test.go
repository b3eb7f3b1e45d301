package decode

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
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
	row := LogicalFlow{ExternalIDs: map[string]string{"stage-name": "lr_in_ip_input"}}
	if got := explainFlow(row); got != "packets for the router itself" {
		t.Errorf("a flow without description: %q", got)
	}
	row.FlowDesc = ovsdb.Set[string]{"Drop IP with multicast source"}
	if got := explainFlow(row); got != "packets for the router itself: Drop IP with multicast source" {
		t.Errorf("a flow with description: %q", got)
	}
	for table := range calibrate(nil, ParseVersion("26.09.0")).tables {
		if table.explain() == "" {
			t.Errorf("no words for %s", table)
		}
	}
}

func TestFlagNames(t *testing.T) {
	for _, test := range []struct {
		value   uint32
		release string
		want    string
	}{
		{0, "23.03.1", ""},
		{1, "23.03.1", "loopback"},
		{1 << 12, "22.03.8", "from_ctrl"},
		{1 << 12, "22.03.7", "bit 12"},
		{1 << 12, "23.03.1", "check_port_sec"},
		{1 << 12, "", "bit 12"},
		{1 << 18, "24.03.2", "igmp_snoop_inject"},
		{1 << 18, "24.03.3", "bit 18"},
		{1 << 18, "24.03.5", "override_local_only"},
		{1 << 18, "23.09.4", "igmp_snoop_inject"},
		{1 << 18, "25.03.0", "override_local_only"},
		{0x8001, "24.03.0", "loopback localnet"},
		{3<<28 | 1<<10, "25.03.1", "localport network_id=3"},
		{1 << 27, "25.03.1", "bit 27"},
	} {
		if got := strings.Join(flagNames(test.value, ParseVersion(test.release)), " "); got != test.want {
			t.Errorf("flags %#x of %s: %q, want %q", test.value, test.release, got, test.want)
		}
	}
}

func TestCtBits(t *testing.T) {
	old, v23, v25, v26 := ParseVersion("22.03.0"), ParseVersion("23.03.1"), ParseVersion("25.03.0"), ParseVersion("26.03.0")
	for _, test := range []struct {
		mark    packet.Value
		version Version
		want    string
	}{
		{packet.Uint(0), v23, ""},
		{packet.Uint(1), v23, "blocked"},
		{packet.Uint(0xa), v23, "natted,force_snat"},
		{packet.Uint(0x40), v23, "0x40"},
		{packet.Uint(0x40), v25, "allow_established"},
		{packet.Uint(0x80), v26, "nf"},
		{packet.Uint(0x50002), v23, "natted,ecmp_reply_port=5"},
	} {
		if got := ctMark(test.mark, test.version); got != test.want {
			t.Errorf("ct_mark %s of %s: %q, want %q", test.mark, test.version, got, test.want)
		}
	}
	port := packet.Uint(7).Shl(80)
	for _, test := range []struct {
		label   packet.Value
		version Version
		want    string
	}{
		{packet.Uint(3), old, "blocked,natted"},
		{packet.Uint(2), v25, "0x2"},
		{port, old, "ecmp_reply_port=7"},
		{port, v25, "acl_id=7"},
		{packet.Uint(0x0a580af40102).Shl(32), v23, "ecmp_reply_eth=0a:58:0a:f4:01:02"},
		{packet.Uint(9).Shl(96), v23, "acl_label=9"},
	} {
		if got := ctLabel(test.label, test.version); got != test.want {
			t.Errorf("ct_label %s of %s: %q, want %q", test.label, test.version, got, test.want)
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
		if u, ok := ParseUserdata(data); !ok || u.Then() != want {
			t.Errorf("userdata %s: %q, %t, want %q", text, u.Then(), ok, want)
		}
	}
	if u, ok := ParseUserdata([]byte{0, 0, 0, 7}); ok {
		t.Errorf("4 bytes are userdata: %v", u)
	}
	for i, opcode := range opcodes {
		if effects[opcode] == "" {
			t.Errorf("opcode %d %s: no effect in words", i, opcode)
		}
	}
	for opcode := range effects {
		if !slices.Contains(opcodes, opcode) {
			t.Errorf("effect of %s, which is no opcode", opcode)
		}
	}
}
