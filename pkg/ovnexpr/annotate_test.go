package ovnexpr

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// groups are the sets of the tests.
type groups struct{}

var (
	testAddresses = map[string][]string{
		"as4": {"10.0.0.1", "10.0.1.0/24", "10.0.2.0/24", "192.168.0.1"}, "as6": {"fd00::1", "fd01::/64"}, "empty": {},
		"macs": {"0a:00:00:00:00:01"},
	}
	testGroups = map[string][]string{"pg": {"a", "b", "x"}, "none": {}}
)

func (groups) AddressSet(name string) (*AddressSet, bool) {
	addresses, ok := testAddresses[name]
	return NewAddressSet(name, addresses), ok
}

func (groups) PortGroup(name string) (*PortGroup, bool) {
	ports, ok := testGroups[name]
	return NewPortGroup(name, ports), ok
}

// ports are the keys of the tests' ports.
type ports map[uint64]string

func (p ports) PortName(key uint64) (string, bool) { name, ok := p[key]; return name, ok }

func (p ports) Resident(port string) bool { return port == "a" }

var testPorts = ports{1: "a", 2: "b", 3: "c"}

func TestAnnotate(t *testing.T) {
	for in, want := range map[string]string{
		"1":                         "1",
		"ip4":                       "eth.type == 0x800",
		"tcp":                       "(eth.type == 0x800 || eth.type == 0x86dd) && ip.proto == 6",
		"!(tcp.dst == 80)":          "(eth.type == 0x800 || eth.type == 0x86dd) && ip.proto == 6 && tcp.dst != 80",
		"ct.new":                    "ct.trk && ct.new",
		"!ct.new":                   "ct.trk && !ct.new",
		"vlan.vid == 5":             "vlan.tci[12] && vlan.vid == 5",
		"!vlan.present":             "!(vlan.tci[12])",
		"reg0[3]":                   "reg0[3]",
		"!reg0[3]":                  "!reg0[3]",
		"!reg0":                     "reg0 == 0x0",
		"!(reg0 != {1, 2})":         "reg0 == {1, 2}",
		"5 < reg0 <= 9":             "reg0 > 5 && reg0 <= 9",
		"!(5 < reg0 <= 9)":          "reg0 <= 5 || reg0 > 9",
		"!(reg0 == 1 && reg1 == 2)": "reg0 != 1 || reg1 != 2",
		"inport == {\"q\", @pg}":    "inport == {\"q\", @pg}",
		"is_chassis_resident(\"a\") && !is_chassis_resident(\"b\")": "is_chassis_resident(\"a\") && !is_chassis_resident(\"b\")",
	} {
		m, err := ParseMatch(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		c, err := m.Annotate(SymbolsOf(Profile{Version: 2303}), groups{})
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got := c.String(); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// Every release has its own table, and the symbols say the same of a field as pkg/packet does.
func TestSymbolsOfReleases(t *testing.T) {
	for _, c := range []struct {
		name      string
		version   release.Series
		known     bool
		predicate string
		bits      int
	}{
		{"igmp", 2303, true, "ip4 && ip.proto == 2", 1},
		{"igmp", 2603, true, "ip4.mcast && ip.proto == 2", 1},
		{"igmp", 0, true, "ip4.mcast && ip.proto == 2", 1},
		{"mldv1", 2012, true, "ip6.src == fe80::/10 && icmp6.type == {130, 131, 132}", 1},
		{"rarp.op", 2012, false, "", 0},
		{"rarp.op", 2303, true, "", 16},
		{"ct_label.natted", 2303, true, "", 1},
		{"ct_label.natted", 2503, false, "", 0},
		{"ct_label.natted", 0, true, "", 1},
		{"remote_outport", 2303, false, "", 0},
		{"remote_outport", 2603, true, "", 0},
		{"reg9", 0, true, "", 32},
	} {
		s, ok := SymbolsOf(Profile{Version: c.version}).Lookup(c.name)
		if ok != c.known {
			t.Errorf("%s in %v: known %v, want %v", c.name, c.version, ok, c.known)
		} else if ok && (s.Predicate != c.predicate || s.Bits != c.bits) {
			t.Errorf("%s in %v: %q, %d bits, want %q, %d bits", c.name, c.version, s.Predicate, s.Bits, c.predicate, c.bits)
		}
	}
	var p packet.Flow
	p.Set(packet.Reg(1), packet.Uint(0x1234))
	for _, text := range []string{"xxreg0[64..95]", "xreg0[0..31]", "reg1", "reg1[0..31]"} {
		l := newLexer(text)
		r, err := SymbolsOf(Profile{}).Resolve(l.field(), text)
		if err != nil || r.Get(&p) != packet.Uint(0x1234) {
			t.Errorf("%s is %v (%v), want 0x1234", text, r.Get(&p), err)
		}
	}
}

func TestConntrackSymbols(t *testing.T) {
	var p packet.Flow
	for name, v := range map[string]uint64{"eth_type": packet.EthIPv4, "nw_proto": 17, "ct_state": 1 << 5, "ct_nw_proto": 6, "ct_tp_dst": 80} {
		f, _ := packet.Lookup(name)
		p.Set(f, packet.Uint(v))
	}
	m, err := ParseMatch("tcp.dst == 80")
	if err != nil {
		t.Fatal(err)
	}
	for profile, want := range map[Profile]bool{{2603, true}: true, {2603, false}: false} {
		c, err := m.Annotate(SymbolsOf(profile), nil)
		if err != nil || c.Matches(&p, nil) != want {
			t.Errorf("%v: %v, %v, want %v", profile, c, err, want)
		}
	}
}

func TestNeedsOfActions(t *testing.T) {
	for text, want := range map[string]string{
		"next;":           "",
		"ip.ttl--; next;": "eth.type == 0x800 || eth.type == 0x86dd",
		"icmp4 { eth.src = 00:00:00:00:00:01; icmp4.type = 3; };": "eth.type == 0x800",
		"clone { tcp.dst = 5; };":                                 "(eth.type == 0x800 || eth.type == 0x86dd) && ip.proto == 6",
		"ip4.dst = 1.2.3.4;":                                      "eth.type == 0x800",
		"arp { arp.op = 1; };":                                    "eth.type == 0x800",
		"reg0[0] = dns_lookup();":                                 "(eth.type == 0x800 || eth.type == 0x86dd) && ip.proto == 17",
		"ct_commit { ct_mark = 5; };":                             "eth.type == 0x800 || eth.type == 0x86dd",
	} {
		a, err := ParseActions(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		c, err := a.Annotate(text, SymbolsOf(Profile{Version: 2303}))
		got := ""
		if c != nil {
			got = c.String()
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got != want && got != "("+want+")" {
			t.Errorf("%s needs\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestExpand(t *testing.T) {
	values := func(name string) (string, bool) {
		v, ok := map[string]string{"VIP": "10.0.0.1", "B": "10.0.0.2:80,10.0.0.3:80"}[name]
		return v, ok
	}
	for in, want := range map[string]string{
		"ip4.dst == ^VIP && tcp":        "ip4.dst == 10.0.0.1 && tcp",
		"ct_lb_mark(backends=^B,^C);":   "ct_lb_mark(backends=10.0.0.2:80,10.0.0.3:80,^C);",
		"inport == \"^VIP\" /* ^VIP */": "inport == \"^VIP\" /* ^VIP */",
		"inport == \"^VIP":              "inport == \"^VIP",
		"reg1 = ^VIP; ^VIP ^":           "reg1 = ^VIP; ^VIP ^",
	} {
		if got := Expand(in, values); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

// decides says of each case which leaves decide, and by which test.
func TestDecisions(t *testing.T) {
	var p packet.Flow
	for name, v := range map[string]uint64{"eth_type": packet.EthIPv4, "nw_proto": 6, "tcp_dst": 22, "reg14": 1} {
		f, _ := packet.Lookup(name)
		p.Set(f, packet.Uint(v))
	}
	for text, want := range map[string]struct {
		holds bool
		leaf  string
		test  string
	}{
		"ip4 && tcp.dst == 80":                    {false, "tcp.dst == 80", "tcp.dst == 80"},
		"ip4 && udp.dst == 22 && inport == \"a\"": {false, "udp.dst == 22", "ip.proto == 17"},
		"ip6 || (ip4 && tcp.dst == 22)":           {true, "ip4|tcp.dst == 22", "eth.type == 0x800"},
		"ip6 || arp":                              {false, "ip6|arp", "eth.type == 0x86dd"},
		"ip6 || tcp || inport == \"b\"":           {true, "tcp", "eth.type == 0x800|ip.proto == 6"},
		"!(tcp.dst == 22) && ip4":                 {false, "tcp.dst == 22", "tcp.dst != 22"},
	} {
		m, err := ParseMatch(text)
		if err != nil {
			t.Fatal(err)
		}
		c, err := m.Annotate(SymbolsOf(Profile{}), groups{})
		if err != nil {
			t.Fatal(err)
		}
		holds, decisions := c.Evaluate(&p, testPorts)
		leaves, tests := "", ""
		for i, d := range decisions {
			at := d.Leaf.Range()
			leaves += word(i > 0, "|", "") + text[at.Start:at.End]
			for j, one := range d.Tests {
				if i == 0 {
					tests += word(j > 0, "|", "") + one.String()
				}
			}
		}
		if holds != want.holds || leaves != want.leaf || tests != want.test {
			t.Errorf("%s: %v, decided by %s, in it %s; want %v, %s, %s", text, holds, leaves, tests, want.holds, want.leaf, want.test)
		}
	}
}
