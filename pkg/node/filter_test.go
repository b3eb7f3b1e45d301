package node

import (
	"net/netip"
	"testing"
)

func TestFilter(t *testing.T) {
	udp := FilterPacket{Protocol: "udp", Src: netip.MustParseAddr("172.30.0.11"), Dst: netip.MustParseAddr("172.30.0.12"), SrcPort: 50000, DstPort: 6081, In: "eth0"}
	reply := udp
	reply.Established = true
	v6 := FilterPacket{Protocol: "tcp", Src: netip.MustParseAddr("fd00::1"), Dst: netip.MustParseAddr("fd00::2"), DstPort: 80, In: "eth0"}
	base := func(rules string) string {
		return "table inet f {\n chain in {\n  type filter hook input priority 0; policy drop;\n" + rules + "\n }\n chain allowed {\n  udp dport 6081 accept\n }\n}"
	}
	tests := []struct {
		rules  string
		packet FilterPacket
		want   FilterVerdict
	}{
		{"", udp, FilterDrops},
		{"udp dport 6081 accept", udp, FilterPasses},
		{"udp dport { 53, 6000-7000 } accept", udp, FilterPasses},
		{"udp dport != 6081 accept", udp, FilterDrops},
		{"ip saddr 172.30.0.0/24 accept", udp, FilterPasses},
		{"ip saddr { 172.30.0.1, 172.30.0.5-172.30.0.20 } counter packets 1 bytes 2 accept", udp, FilterPasses},
		{"ip6 saddr fd00::/8 accept", udp, FilterDrops},
		{"ip6 saddr fd00::/8 accept", v6, FilterPasses},
		{"tcp dport 80 accept", v6, FilterPasses},
		{"ct state established,related accept", udp, FilterDrops},
		{"ct state { established, related } accept", reply, FilterPasses},
		{"iifname \"eth0\" accept", udp, FilterPasses},
		{"iifname \"eth1\" accept", udp, FilterDrops},
		{"jump allowed", udp, FilterPasses},
		{"jump nowhere", udp, FilterUnsure},
		{"udp dport 6081 reject with icmp port-unreachable", udp, FilterRejects},
		{"ip saddr @peers accept", udp, FilterUnsure},
		{"ip saddr @peers drop\n accept", udp, FilterUnsure},
		{"meta l4proto udp accept", udp, FilterPasses},
		{"limit rate 1/second drop\n accept", udp, FilterUnsure},
		{"log prefix \"no drop\" accept", udp, FilterPasses},
	}
	for _, test := range tests {
		if got, by := Filter(parseNFT(base(test.rules)), test.packet, "input"); got != test.want {
			t.Errorf("%q: %s by %q, want %s", test.rules, got, by, test.want)
		}
	}
}

func TestFilterIptables(t *testing.T) {
	udp := FilterPacket{Protocol: "udp", Src: netip.MustParseAddr("172.30.0.11"), Dst: netip.MustParseAddr("172.30.0.12"), DstPort: 6081, In: "eth0"}
	tests := []struct {
		rules string
		want  FilterVerdict
	}{
		{"", FilterPasses},
		{"-A INPUT -p udp -m udp --dport 6081 -j DROP", FilterDrops},
		{"-A INPUT -p udp -m multiport --dports 53,6081 -m comment --comment \"no tunnels\" -j REJECT --reject-with icmp-port-unreachable", FilterRejects},
		{"-A INPUT ! -s 172.30.0.0/24 -j DROP", FilterPasses},
		{"-A INPUT -p udp -j DEEPER\n-A DEEPER -i eth+ -j DROP", FilterDrops},
		{"-A INPUT -m set --match-set peers src -j DROP", FilterUnsure},
	}
	for _, test := range tests {
		chains := parseIptables("ip", "*filter\n:INPUT ACCEPT [0:0]\n:DEEPER - [0:0]\n"+test.rules+"\nCOMMIT\n")
		if got, by := Filter(chains, udp, "input"); got != test.want {
			t.Errorf("%q: %s by %q, want %s", test.rules, got, by, test.want)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("ip saddr != { 10.0.0.0/8, @x } udp dport 1-2 jump a", false)
	f.Add("-A INPUT ! -s 10.0.0.0/8 -p udp --dport 1:2 -j DROP", true)
	f.Fuzz(func(t *testing.T, rule string, legacy bool) {
		c := []Chain{{Family: "inet", Name: "a", Type: "filter", Hook: "input", Policy: "accept", Legacy: legacy, Rules: []FilterRule{{Text: rule}}}}
		Filter(c, FilterPacket{Protocol: "udp", Dst: netip.MustParseAddr("10.0.0.1")}, "input")
	})
}

func TestSockets(t *testing.T) {
	const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0501F40A:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0100007F:2382 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0
   2: 0501F40A:9C40 0601F40A:1F90 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0
`
	const tcp6 = "   0: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0 0\n"
	sockets := append(parseSockets(tcp, "tcp", "0A"), parseSockets(tcp6, "tcp", "0A")...)
	for to, want := range map[string]bool{"10.244.1.5:8080": true, "10.244.1.5:9090": false, "127.0.0.1:9090": true, "10.244.1.5:40000": false, "10.244.1.5:80": true, "[fd00::1]:80": true} {
		if got := Receives(sockets, "tcp", netip.MustParseAddrPort(to)); got != want {
			t.Errorf("%s: %v, want %v of %v", to, got, want, sockets)
		}
	}
	if Receives(sockets, "udp", netip.MustParseAddrPort("10.244.1.5:8080")) {
		t.Error("a TCP socket receives UDP")
	}
}
