package node

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	udp := FilterPacket{Protocol: "udp", Src: netip.MustParseAddr("172.30.0.11"), Dst: netip.MustParseAddr("172.30.0.12"), SrcPort: 50000, DstPort: 6081, In: "eth0"}
	reply := udp
	reply.Established = true
	v6 := FilterPacket{Protocol: "tcp", Src: netip.MustParseAddr("fd00::1"), Dst: netip.MustParseAddr("fd00::2"), DstPort: 80, In: "eth0"}
	base := func(rules string) string {
		return `table inet f {
	set nodes {
		type ipv4_addr
		flags interval
		elements = { 172.30.0.1, 172.30.0.5-172.30.0.20 comment "all, but one",
			     172.30.1.0/24 timeout 1h expires 59m59s }
	}
	set others {
		type ipv4_addr
	}
	set ways {
		typeof ip saddr . udp dport
		counter
		elements = { 172.30.0.11 . 6081 counter packets 3 bytes 180 }
	}
	map verdicts {
		type ipv4_addr : verdict
		elements = { 172.30.0.11 : goto allowed }
	}
` + " chain in {\n  type filter hook input priority 0; policy drop;\n" + rules + "\n }\n chain allowed {\n  udp dport 6081 accept\n }\n}"
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
		{"ip saddr @nodes accept", udp, FilterPasses},
		{"ip saddr != @nodes accept", udp, FilterDrops},
		{"ip saddr @others accept", udp, FilterDrops},
		{"ip saddr . udp dport @ways accept", udp, FilterPasses},
		{"ip daddr . udp dport @ways accept", udp, FilterDrops},
		{"ip saddr . udp dport { 172.30.0.11 . 6080-6090, 172.30.0.12 . 53 } accept", udp, FilterPasses},
		{"udp dport vmap { 53 : drop, 6081 : accept }", udp, FilterPasses},
		{"udp dport vmap { 53 : accept, 6081 : jump allowed }", udp, FilterPasses},
		{"udp dport vmap { 53 : accept }", udp, FilterDrops},
		{"ct state vmap { invalid : drop, established : accept, related : accept }", reply, FilterPasses},
		{"ip saddr vmap @verdicts", udp, FilterPasses},
		{"ip saddr vmap @unlisted\n accept", udp, FilterUnsure},
		{"iifname . udp dport vmap { \"eth1\" . 6081 : drop, \"eth*\" . 6081 : accept }", udp, FilterPasses},
		{"ip ttl vmap { 1 : drop }\n accept", udp, FilterUnsure},
		{"meta mark set 0x1 accept", udp, FilterPasses},
		{"queue num 1\n accept", udp, FilterUnsure},
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

// TestFilterARP holds that frames of ARP pass the tables of their own family alone, and that rules of the family netdev tell them from
// other packets.
func TestFilterARP(t *testing.T) {
	ask := FilterPacket{Protocol: "arp", Src: netip.MustParseAddr("172.30.0.11"), Dst: netip.MustParseAddr("172.30.0.12"), In: "eth0"}
	answer := ask
	answer.Established = true
	udp := FilterPacket{Protocol: "udp", Src: ask.Src, Dst: ask.Dst, DstPort: 6081, In: "eth0"}
	framed := udp
	framed.SrcMAC, framed.DstMAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
	arp := func(rules string) string {
		return "table arp f {\n\tchain i {\n\t\ttype filter hook input priority 0; policy accept;\n\t\t" + rules + "\n\t}\n}\n"
	}
	netdev := func(rules string) string {
		return "table netdev f {\n\tchain i {\n\t\ttype filter hook ingress device \"eth0\" priority 0; policy accept;\n\t\t" + rules + "\n\t}\n}\n"
	}
	tests := []struct {
		rules  string
		packet FilterPacket
		want   FilterVerdict
	}{
		{arp("drop"), ask, FilterDrops},
		{arp("drop"), udp, FilterPasses},
		{arp("arp operation request drop"), ask, FilterDrops},
		{arp("arp operation request drop"), answer, FilterPasses},
		{arp("arp operation reply drop"), answer, FilterDrops},
		{arp("arp saddr ip 172.30.0.11 drop"), ask, FilterDrops},
		{arp("arp daddr ip 172.30.0.0/24 arp operation request drop"), ask, FilterDrops},
		{arp("arp daddr ip != 172.30.0.12 drop"), ask, FilterPasses},
		{arp("arp saddr ether 02:00:00:00:00:01 drop"), ask, FilterUnsure},
		{arp("iifname \"eth1\" drop"), ask, FilterPasses},
		{netdev("meta protocol arp drop"), ask, FilterDrops},
		{netdev("ether type arp drop"), ask, FilterDrops},
		{netdev("ether type arp drop"), udp, FilterPasses},
		{netdev("meta protocol ip drop"), ask, FilterPasses},
		{netdev("ether saddr 02:00:00:00:00:01 drop"), udp, FilterUnsure},
		{netdev("ether saddr 02:00:00:00:00:01 drop"), framed, FilterDrops},
		{netdev("ether saddr 02:00:00:00:00:02 drop"), framed, FilterPasses},
		{netdev("ether daddr != 02:00:00:00:00:02 drop"), framed, FilterPasses},
		{netdev("ether saddr { 02:00:00:00:00:01, 02:00:00:00:00:03 } drop"), framed, FilterDrops},
		{netdev("meta protocol ip drop"), udp, FilterDrops},
		{netdev("meta protocol vlan drop"), udp, FilterUnsure},
		{netdev("arp operation request drop"), udp, FilterPasses},
		{netdev("udp dport 6081 drop"), ask, FilterPasses},
		{"table inet f {\n\tchain i {\n\t\ttype filter hook input priority 0; policy drop;\n\t}\n}\n", ask, FilterPasses},
	}
	for _, test := range tests {
		if got, by := Filter(parseNFT(test.rules), test.packet, "ingress", "input"); got != test.want {
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

// TestUntracked takes packets past conntrack: the chain that says so is listed last, and comes first.
func TestUntracked(t *testing.T) {
	p := FilterPacket{Protocol: "tcp", Src: netip.MustParseAddr("10.244.1.6"), Dst: netip.MustParseAddr("10.244.2.5"), SrcPort: 40000, DstPort: 8080, In: "eth0"}
	for _, test := range []struct {
		rule, accept string
		want         FilterVerdict
	}{
		{"notrack", "ct state new,established accept", FilterDrops},
		{"notrack", "ct state new,established,untracked accept", FilterPasses},
		{"tcp dport 8081 notrack", "ct state new,established accept", FilterPasses},
		{"meta mark 0x1 notrack", "ct state new,established accept", FilterUnsure},
		{"jump raw", "ct state new,established accept", FilterDrops},
	} {
		text := "table ip f {\n\tchain in {\n\t\ttype filter hook input priority filter; policy drop;\n" + test.accept + "\n}\nchain raw {\nnotrack\n}\n" +
			"chain pre {\n\t\ttype filter hook prerouting priority raw; policy accept;\n" + test.rule + "\n}\n}\n"
		if got, by := Filter(parseNFT(text), p, "prerouting", "input"); got != test.want {
			t.Errorf("%s; %s: %s by %s, want %s", test.rule, test.accept, got, by, test.want)
		}
	}
	for rule, want := range map[string]FilterVerdict{"-A PREROUTING -p tcp -j CT --notrack": FilterDrops, "-A PREROUTING -j NOTRACK": FilterDrops, "-A PREROUTING -j CT --zone 5": FilterPasses} {
		text := "*filter\n:INPUT DROP\n-A INPUT -m conntrack --ctstate NEW,ESTABLISHED -j ACCEPT\nCOMMIT\n*raw\n:PREROUTING ACCEPT\n" + rule + "\nCOMMIT\n"
		if got, by := Filter(parseIptables("ip", text), p, "prerouting", "input"); got != want {
			t.Errorf("%s: %s by %s, want %s", rule, got, by, want)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("ip saddr != { 10.0.0.0/8, @x } udp dport 1-2 jump a", false)
	f.Add("-A INPUT ! -s 10.0.0.0/8 -p udp --dport 1:2 -j DROP", true)
	f.Add("notrack", false)
	f.Add("tcp flags & (syn | ack) != syn meta mark set meta mark | 0x1", false)
	f.Add("-A INPUT -p tcp --tcp-flags SYN,ACK SYN -j MARK --set-xmark 0x1/0x3", true)
	f.Add("dnat ip to [fd00::1]:80-90", false)
	f.Add("-A PREROUTING -j DNAT --to-destination 10.0.0.1:80-90", true)
	f.Fuzz(func(t *testing.T, rule string, legacy bool) {
		c := []Chain{{Family: "inet", Name: "a", Type: "filter", Hook: "input", Policy: "accept", Legacy: legacy, Rules: []FilterRule{{Text: rule}}}}
		p := FilterPacket{Protocol: "udp", Dst: netip.MustParseAddr("10.0.0.1")}
		Filter(c, p, "input")
		Marked(c, p, "input")
		c[0].Type, c[0].Hook = "nat", "prerouting"
		Translate(c, p, "prerouting")
		p.Protocol = "tcp"
		Translate(c, p, "prerouting")
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
		if got := len(Receivers(sockets, "tcp", netip.MustParseAddrPort(to), "eth0")) > 0; got != want {
			t.Errorf("%s: %v, want %v of %v", to, got, want, sockets)
		}
	}
	if len(Receivers(sockets, "udp", netip.MustParseAddrPort("10.244.1.5:8080"), "eth0")) > 0 {
		t.Error("a TCP socket receives UDP")
	}
}

// TestSS reads what ss(8) of iproute2 6.1 prints.
func TestSS(t *testing.T) {
	const text = `udp UNCONN 0 0 0.0.0.0:8080 0.0.0.0:*
udp UNCONN 0 0 127.0.0.53%lo:53 0.0.0.0:*
udp UNCONN 0 0 [fe80::1]%eth0:546 [::]:*
tcp LISTEN 0 4096 *:9090 *:*
tcp LISTEN 0 5 [::]:9998 [::]:*
tcp LISTEN 0 5 0.0.0.0%lo:9997 0.0.0.0:*
tcp LISTEN 0 5 10.244.1.5:9996 0.0.0.0:*
tcp LISTEN 2 1 10.244.1.5:9995 0.0.0.0:*
nonsense
`
	sockets := parseSS(text)
	if len(sockets) != 8 || slices.ContainsFunc(sockets, func(s Socket) bool { return s.Full != (s.Local.Port() == 9995) }) {
		t.Errorf("%d sockets: %v", len(sockets), sockets)
	}
	for _, test := range []struct {
		protocol, to, link string
		want               bool
	}{
		{"udp", "10.244.1.5:8080", "eth0", true},
		{"tcp", "10.244.1.5:8080", "eth0", false},
		{"tcp", "10.244.1.5:9090", "eth0", true},
		{"tcp", "[fd00::1]:9090", "eth0", true},
		{"tcp", "[fd00::1]:9998", "eth0", true},
		{"tcp", "10.244.1.5:9998", "eth0", false},
		{"tcp", "10.244.1.5:9997", "eth0", false},
		{"tcp", "127.0.0.1:9997", "lo", true},
		{"tcp", "10.244.1.5:9996", "eth0", true},
		{"tcp", "10.244.1.6:9996", "eth0", false},
		{"udp", "[fe80::1]:546", "eth0", true},
		{"udp", "[fe80::1]:546", "eth1", false},
	} {
		if got := len(Receivers(sockets, test.protocol, netip.MustParseAddrPort(test.to), test.link)) > 0; got != test.want {
			t.Errorf("%s %s by %s: %v, want %v", test.protocol, test.to, test.link, got, test.want)
		}
	}
}

// TestSources reads rules as nft and iptables-save print them.
func TestSourcesTranslated(t *testing.T) {
	packet := func(src, dst string) FilterPacket {
		return FilterPacket{Protocol: "tcp", Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst), DstPort: 80, In: "ovn0", Out: "br-ex"}
	}
	out, inside := packet("10.16.0.11", "203.0.113.10"), packet("10.16.0.11", "100.64.0.9")
	out6 := packet("fd00:10:16::b", "2001:db8::10")
	const none = "none"
	tests := []struct {
		name, family, rules string
		packet              FilterPacket
		want                string
	}{
		{"everything", "ip", "masquerade", out, "invalid IP"},
		{"source", "ip", "ip saddr 10.16.0.0/16 masquerade", out, "invalid IP"},
		{"other source", "ip", "ip saddr 10.17.0.0/16 masquerade", out, none},
		{"not to a set", "ip", `ip saddr 10.16.0.0/16 ip daddr != { 10.16.0.0/16, 100.64.0.0/16 } oifname "br-ex" masquerade`, out, "invalid IP"},
		{"into the set", "ip", `ip saddr 10.16.0.0/16 ip daddr != { 10.16.0.0/16, 100.64.0.0/16 } oifname "br-ex" masquerade`, inside, none},
		{"range", "ip", "ip daddr { 1.1.1.1, 203.0.113.1-203.0.113.20 } snat to 192.0.2.1", out, "192.0.2.1"},
		{"out of the range", "ip", "ip daddr 203.0.113.11-203.0.113.20 masquerade", out, none},
		{"a set that is not listed may hold it", "ip", "ip saddr @pods masquerade", out, "invalid IP"},
		{"other link", "ip", `oifname "eth1" masquerade`, out, none},
		{"links", "ip", `iifname "ovn*" oifname { "eth1", "br-ex" } masquerade`, out, "invalid IP"},
		{"other conditions hold", "ip", "meta mark 0x4000 ct state new masquerade", out, "invalid IP"},
		{"a return that may be taken", "ip", "meta mark 0x3f0 return\nsnat to 192.0.2.1", out, "192.0.2.1"},
		{"a return that is taken", "ip", "ip saddr 10.16.0.0/16 return\nsnat to 192.0.2.1", out, none},
		{"the chain that it jumps to", "ip", "ip saddr 10.16.0.0/16 jump egress", out, "192.0.2.7"},
		{"family", "ip", "masquerade", out6, none},
		{"IPv6", "ip6", "ip6 saddr fd00:10:16::/112 ip6 daddr != { fd00:10:16::/112, fd00:100:64::/112 } masquerade", out6, "invalid IP"},
		{"inet", "inet", "ip6 saddr fd00:10:16::/112 snat ip6 to [2001:db8::1]:1024-2048", out6, "2001:db8::1"},
		{"inet, other family", "inet", "ip saddr 10.16.0.0/16 snat ip to 1.1.1.1", out6, none},
		{"addresses", "ip", "snat ip to 192.0.2.1-192.0.2.9", out, "192.0.2.1"},
		{"ports", "ip", "snat to 192.0.2.1:1024-2048", out, "192.0.2.1"},
		{"map", "inet", "snat ip to ip saddr map @services", out, "192.0.2.3"},
		{"not in the map", "inet", "snat ip to ip daddr map @services\nip saddr 10.0.0.0/8 masquerade", out, "invalid IP"},
		{"map without a name", "ip", "snat to ip saddr map { 10.16.0.11 : 192.0.2.4 }", out, "192.0.2.4"},
		{"destination", "ip", "dnat to 10.0.0.1", out, none},
		{"iptables by nft", "ip", `meta l4proto tcp xt match "comment" xt target "MASQUERADE"`, out, "invalid IP"},
		{"cut off", "ip", "ip saddr", out, none},
		{"open set", "ip", "ip daddr { 203.0.113.10,", out, none},
	}
	for _, test := range tests {
		text := "table " + test.family + ` nat {
	map services {
		type ipv4_addr : ipv4_addr
		elements = { 10.16.0.10 comment "shop/web" : 192.0.2.2, 10.16.0.11 comment "bank: ledger" : 192.0.2.3 }
	}
	chain egress {
		snat to 192.0.2.7
	}
	chain post {
		type nat hook postrouting priority srcnat; policy accept;
` + test.rules + "\n}\n}\n"
		checkSource(t, test.name, parseNFT(text), test.packet, test.want)
	}
	for _, test := range []struct {
		rules string
		want  string
	}{
		{"-A POSTROUTING -s 10.16.0.0/16 -o br+ -j MASQUERADE", "invalid IP"},
		{"-A POSTROUTING -s 10.16.0.0/16 -o eth1 -j MASQUERADE", none},
		{"-A POSTROUTING -s 10.16.0.0/16 ! -d 203.0.113.0/24 -j MASQUERADE", none},
		{"-A POSTROUTING -m mark --mark 0x1 -j SNAT --to-source 192.0.2.1:1024-2048", "192.0.2.1"},
		{"-A POSTROUTING -j OVN\n-A OVN -d 203.0.113.10 -j SNAT --to-source 192.0.2.5", "192.0.2.5"},
	} {
		checkSource(t, test.rules, parseIptables("ip", "*nat\n:POSTROUTING ACCEPT\n:OVN - [0:0]\n"+test.rules+"\nCOMMIT\n"), out, test.want)
	}
	ordered := `table ip a {
 chain late { type nat hook postrouting priority srcnat + 5; policy accept;
  snat to 192.0.2.2
 }
}
table ip b {
 chain early {
  type nat hook postrouting priority 100; policy accept;
  snat to 192.0.2.1
 }
}`
	checkSource(t, "by priority", parseNFT(strings.Replace(ordered, "late { ", "late {\n", 1)), out, "192.0.2.1")
}

// TestDestinationsTranslated reads what meshes and container engines write in pods.
func TestDestinationsTranslated(t *testing.T) {
	p := FilterPacket{Protocol: "tcp", Src: netip.MustParseAddr("10.244.1.6"), Dst: netip.MustParseAddr("10.244.2.5"), SrcPort: 40000, DstPort: 8080, In: "eth0"}
	const none = "none"
	for _, test := range []struct{ name, rules, want string }{
		{"redirected", "tcp dport 8080 redirect to :15006", "redirect invalid IP:15006 sure"},
		{"another port", "tcp dport 8081 redirect to :15006", none},
		{"the same port", "tcp dport 8080 redirect", "redirect invalid IP:0 sure"},
		{"elsewhere", "ip daddr 10.244.2.5 dnat to 10.244.3.9:9090", "dnat 10.244.3.9:9090 sure"},
		{"an address alone", "dnat to 10.244.3.9", "dnat 10.244.3.9:0 sure"},
		{"but for a user", "meta skuid 1337 return\ntcp dport 8080 redirect to :15001", "redirect invalid IP:15001 may"},
		{"but for a port", "tcp dport 15090 return\nmeta l4proto tcp redirect to :15006", "redirect invalid IP:15006 sure"},
		{"but for this port", "tcp dport 8080 return\nmeta l4proto tcp redirect to :15006", none},
		{"in a chain for some", "meta mark 0x1 jump mesh", "redirect invalid IP:15006 may"},
		{"in a chain for all", "jump mesh", "redirect invalid IP:15006 sure"},
		{"a source", "masquerade", none},
		{"by iptables", `xt target "REDIRECT"`, "redirect invalid IP:0 may"},
	} {
		text := "table ip nat {\n\tchain mesh {\n\t\tredirect to :15006\n\t}\n\tchain pre {\n\t\ttype nat hook prerouting priority dstnat; policy accept;\n" + test.rules + "\n}\n}\n"
		checkDestination(t, test.name, parseNFT(text), p, test.want)
	}
	for _, test := range []struct{ name, rules, want string }{
		{"redirected", "-A PREROUTING -p tcp -j IN\n-A IN -p tcp --dport 15008 -j RETURN\n-A IN -p tcp -j REDIRECT --to-ports 15006", "redirect invalid IP:15006 sure"},
		{"but for a user", "-A PREROUTING -p tcp -j IN\n-A IN -m owner --uid-owner 1337 -j RETURN\n-A IN -p tcp -j REDIRECT --to-ports 15001", "redirect invalid IP:15001 may"},
		{"elsewhere", "-A PREROUTING -p tcp --dport 8080 -j DNAT --to-destination 10.244.3.9:9090", "dnat 10.244.3.9:9090 sure"},
		{"a network", "-A PREROUTING -d 10.244.2.0/24 -j NETMAP --to 10.9.0.0/24", "dnat invalid IP:0 may"},
	} {
		checkDestination(t, test.name, parseIptables("ip", "*nat\n:PREROUTING ACCEPT\n:IN - [0:0]\n"+test.rules+"\nCOMMIT\n"), p, test.want)
	}
}

func checkDestination(t *testing.T, name string, chains []Chain, p FilterPacket, want string) {
	t.Helper()
	got := "none"
	if rule, ok := Translate(chains, p, "prerouting"); ok {
		got = fmt.Sprintf("%s %s:%d %s", rule.Action, rule.To, rule.Port, map[bool]string{true: "sure", false: "may"}[rule.Sure])
	}
	if got != want {
		t.Errorf("%s: %s, want %s", name, got, want)
	}
}

func checkSource(t *testing.T, name string, chains []Chain, p FilterPacket, want string) {
	t.Helper()
	rule, ok := Translate(chains, p, "postrouting")
	got := rule.To.String()
	if !ok {
		got = "none"
	}
	if got != want {
		t.Errorf("%s: %s by %q, want %s", name, got, rule.Rule, want)
	}
}

// TestFilterFlags holds that the flags of TCP are those of a connection's first packet and of its reply.
func TestFilterFlags(t *testing.T) {
	first := FilterPacket{Protocol: "tcp", Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), DstPort: 80, In: "eth0"}
	reply, udp := first, first
	reply.Established, udp.Protocol = true, "udp"
	tests := []struct {
		nft, legacy       string
		first, reply, udp FilterVerdict
	}{
		{"tcp flags syn / fin,syn,rst,ack", "-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN", FilterDrops, FilterPasses, FilterPasses},
		{"tcp flags != syn / fin,syn,rst,ack", "-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN", FilterPasses, FilterDrops, FilterPasses},
		{"tcp flags & (fin | syn | rst | ack) == syn", "", FilterDrops, FilterPasses, FilterPasses},
		{"tcp flags & (syn|ack) == (syn|ack)", "-p tcp -m tcp --tcp-flags SYN,ACK SYN,ACK", FilterPasses, FilterDrops, FilterPasses},
		{"tcp flags & (syn | ack) != syn", "", FilterPasses, FilterDrops, FilterPasses},
		{"tcp flags syn / syn,rst", "-p tcp -m tcp --tcp-flags SYN,RST SYN", FilterDrops, FilterDrops, FilterPasses},
		{"tcp flags & rst == 0x0", "-p tcp -m tcp --tcp-flags RST NONE", FilterDrops, FilterDrops, FilterPasses},
		{"tcp flags == syn", "-p tcp -m tcp --tcp-flags ALL SYN", FilterDrops, FilterPasses, FilterPasses},
		{"tcp flags ack", "", FilterPasses, FilterDrops, FilterPasses},
		{"tcp flags rst,fin", "", FilterPasses, FilterPasses, FilterPasses},
		{"tcp flags { syn, ack }", "", FilterUnsure, FilterUnsure, FilterPasses},
		{"tcp flags vmap { syn : drop }", "", FilterUnsure, FilterUnsure, FilterPasses},
		{"tcp flags != ack", "", FilterUnsure, FilterUnsure, FilterPasses},
	}
	for _, test := range tests {
		for kind, chains := range map[string][]Chain{
			"nft":    parseNFT("table ip f {\n\tchain i {\n\t\ttype filter hook input priority 0; policy accept;\n\t\t" + test.nft + " drop\n\t}\n}\n"),
			"legacy": parseIptables("ip", "*filter\n:INPUT ACCEPT [0:0]\n-A INPUT "+test.legacy+" -j DROP\nCOMMIT\n"),
		} {
			if kind == "legacy" && test.legacy == "" {
				continue
			}
			for i, want := range []FilterVerdict{test.first, test.reply, test.udp} {
				if got, by := Filter(chains, []FilterPacket{first, reply, udp}[i], "input"); got != want {
					t.Errorf("%s %q, packet %d: %s by %q, want %s", kind, cmp.Or(test.legacy, test.nft), i, got, by, want)
				}
			}
		}
	}
}

// TestMarked follows the mark that rules set, and leaves open what they do not tell.
func TestMarked(t *testing.T) {
	p := FilterPacket{Protocol: "tcp", Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), DstPort: 80, In: "eth0"}
	for rules, want := range map[string]string{
		"":                               "0x0",
		"meta mark set 0x00000009":       "0x9",
		"tcp dport 81 meta mark set 0x9": "0x0",
		"meta mark set 0x9 accept\nmeta mark set 0x1":             "0x9",
		"meta mark set 0x8\nmeta mark set meta mark | 0x00000001": "0x9",
		"meta mark set 0xff\nmeta mark set mark and 0x0f xor 0x1": "0xe",
		"meta mark set ct mark":                                   "?",
		"ip ttl 5 meta mark set 0x9":                              "?",
		"jump other":                                              "0x7",
		"meta mark set 9 counter packets 0 bytes 0":               "0x9",
	} {
		text := "table ip f {\nchain other {\nmeta mark set 0x7\n}\nchain p {\ntype filter hook prerouting priority mangle; policy accept;\n" + rules + "\n}\n}\n"
		checkMark(t, rules, parseNFT(text), p, want)
	}
	for rules, want := range map[string]string{
		"-A PREROUTING -i eth0 -j MARK --set-xmark 0x9/0xffffffff":                                      "0x9",
		"-A PREROUTING -i eth1 -j MARK --set-xmark 0x9/0xffffffff":                                      "0x0",
		"-A PREROUTING -j MARK --set-xmark 0xf0/0xffffffff\n-A PREROUTING -j MARK --set-xmark 0x1/0x10": "0xe1",
		"-A PREROUTING -j MARK": "?",
	} {
		checkMark(t, rules, parseIptables("ip", "*mangle\n:PREROUTING ACCEPT\n"+rules+"\nCOMMIT\n"), p, want)
	}
}

func checkMark(t *testing.T, rules string, chains []Chain, p FilterPacket, want string) {
	t.Helper()
	mark, sure := Marked(chains, p, "prerouting")
	got := fmt.Sprintf("%#x", mark)
	if !sure {
		got = "?"
	}
	if got != want {
		t.Errorf("%q: %s, want %s", rules, got, want)
	}
}

// TestFilterParts holds that a part of a hook is the chains before, or after, what translates there, and that conntrack passes over what an
// earlier hook said it should not see.
func TestFilterParts(t *testing.T) {
	p := FilterPacket{Protocol: "tcp", Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), DstPort: 80, In: "eth0", Out: "eth1"}
	for _, test := range []struct{ hook, priority, before, after string }{
		{"prerouting", "raw", "drops", "passes"}, {"prerouting", "mangle", "drops", "passes"}, {"prerouting", "dstnat", "passes", "drops"}, {"prerouting", "filter", "passes", "drops"},
		{"output", "-101", "drops", "passes"}, {"output", "0", "passes", "drops"},
		{"postrouting", "security", "drops", "passes"}, {"postrouting", "srcnat", "passes", "drops"}, {"input", "filter", "drops", "passes"}, {"input", "101", "passes", "drops"},
	} {
		chains := parseNFT("table ip f {\n\tchain c {\n\t\ttype filter hook " + test.hook + " priority " + test.priority + "; policy accept;\n\t\ttcp dport 80 drop\n\t}\n}\n")
		before, _ := Filter(chains, p, test.hook+BeforeNAT)
		after, _ := Filter(chains, p, test.hook+AfterNAT)
		all, _ := Filter(chains, p, test.hook)
		if string(before) != test.before || string(after) != test.after || all != FilterDrops {
			t.Errorf("%s %s: before %s, after %s, all %s", test.hook, test.priority, before, after, all)
		}
	}
	chains := parseNFT("table ip f {\n\tchain c {\n\t\ttype filter hook prerouting priority raw; policy accept;\n\t\tnotrack\n\t}\n\tchain i {\n\t\ttype filter hook input priority filter; policy accept;\n\t\tct state new drop\n\t}\n}\n")
	if did, by := p.Pass(chains, "prerouting"); did != FilterPasses {
		t.Errorf("%s by %s", did, by)
	}
	if did, by := p.Pass(chains, "input"); did != FilterPasses {
		t.Errorf("untracked: %s by %s", did, by)
	}
}
