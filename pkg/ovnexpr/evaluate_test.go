package ovnexpr

import (
	"errors"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// fetched are the tests' sets, brought when they are asked for.
type fetched struct {
	ports
	asked []string
	err   error
}

func (f *fetched) AddressSet(name string) (*AddressSet, error) {
	f.asked = append(f.asked, "$"+name)
	set, ok := groups{}.AddressSet(name)
	if f.err != nil || !ok {
		return nil, f.err
	}
	return set, nil
}

func (f *fetched) InGroup(port, group string) (bool, error) {
	f.asked = append(f.asked, "@"+group)
	g, ok := groups{}.PortGroup(group)
	if f.err == nil && !ok {
		return false, ErrNoGroup
	}
	return g.Has(port), f.err
}

// packetOf makes a packet of fields of pkg/packet.
func packetOf(fields map[string]uint64) *packet.Flow {
	p := new(packet.Flow)
	for name, v := range fields {
		f, _ := packet.Lookup(name)
		p.Set(f, packet.Uint(v))
	}
	return p
}

func mustAnnotate(t *testing.T, text string, sets Sets) *Condition {
	t.Helper()
	m, err := ParseMatch(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Annotate(SymbolsOf(Profile{}), sets)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

// Sets are asked for only where the rest does not decide, and a set that cannot be had is an error. A set that a field must
// not be in is asked for twice: without members it is met by any packet.
func TestLazySets(t *testing.T) {
	p := packetOf(map[string]uint64{"eth_type": packet.EthIPv4, "ip_src": 0x0a000001, "nw_proto": 6, "tcp_dst": 80, "reg14": 1})
	broken := errors.New("connection lost")
	for text, want := range map[string]struct {
		holds bool
		asked string
		err   string
		fails error
	}{
		"ip4.src == $as4":                               {holds: true, asked: "$as4"},
		"ip4.src == $as4 && tcp.dst == 81":              {},
		"ip4.src == $as4 && inport == @pg":              {holds: true, asked: "$as4 @pg"},
		"ip4.src == {10.0.0.1, $as4}":                   {holds: true},
		"inport == @pg || ip4":                          {holds: true},
		"ip4.src != $empty":                             {holds: true, asked: "$empty"},
		"ip6.src != $empty":                             {holds: true, asked: "$empty"},
		"ip6.src == $empty":                             {},
		"ip6.src != $as6":                               {asked: "$as6"},
		"ip4.src == $as6":                               {asked: "$as6", err: "128-bit constant is not compatible with 32-bit field ip4.src."},
		"ip4.src == $nope":                              {asked: "$nope", err: "Syntax error at `$nope' expecting address set name."},
		"inport == @nope":                               {asked: "@nope", err: "Syntax error at `@nope' expecting port group name."},
		"ip4.src == $as4 || inport == @pg || ip6":       {holds: true, asked: "$as4"},
		"!(ip4.src == $as4)":                            {asked: "$as4 $as4"},
		"ip4.src == $as4 /* broken */":                  {asked: "$as4", fails: broken, err: "address set as4: connection lost"},
		"(inport == @pg && tcp.dst == 80) /* broken */": {asked: "@pg", fails: broken, err: "port group pg: connection lost"},
	} {
		env := &fetched{ports: testPorts, err: want.fails}
		c := mustAnnotate(t, text, Lazy)
		holds, err := c.Holds(p, env)
		if holds != want.holds || strings.Join(env.asked, " ") != want.asked || word(err == nil, "", errText(err)) != want.err {
			t.Errorf("%s: %v, asked %v, error %v; want %+v", text, holds, env.asked, err, want)
		}
		if want.fails != nil && !errors.Is(err, want.fails) {
			t.Errorf("%s: error %v does not wrap what happened", text, err)
		}
		if c.Matches(p, env) != (want.holds && err == nil) {
			t.Errorf("%s: Matches says otherwise", text)
		}
		if _, err := c.Holds(p, testPorts); want.asked != "" && err == nil {
			t.Errorf("%s: no error without a Fetcher", text)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// What is missing is the smallest change, and of equal ones that of what the match says itself.
func TestMissing(t *testing.T) {
	p := packetOf(map[string]uint64{"eth_type": packet.EthIPv4, "nw_proto": 6, "tcp_dst": 22, "reg14": 1, "ip_src": 0x0a000909})
	for text, want := range map[string]string{
		"ip4 && tcp.dst == 22":                                            "",
		"ip4 && tcp.dst == 80":                                            "tcp.dst == 80",
		"tcp.dst == 80 && inport == \"b\"":                                "tcp.dst == 80|inport == \"b\"",
		"(tcp.dst == 80 && inport == \"b\") || tcp.src == 7":              "tcp.src == 7",
		"ip6.src == $as6 || ip4.src == $as4":                              "ip4.src == $as4",
		"(ip4.src == $as4 && tcp.dst == 80) || (ip6 && udp.dst == 22)":    "ip4.src == $as4|tcp.dst == 80",
		"udp.dst == 22 || (tcp.dst == 80 && ip4)":                         "tcp.dst == 80",
		"0 || tcp.dst == 80":                                              "tcp.dst == 80",
		"!(tcp.dst == 22)":                                                "tcp.dst == 22",
		"is_chassis_resident(\"b\") && ip4":                               "is_chassis_resident(\"b\")",
		"inport == \"a\" && (ip4.src == 10.0.0.1 || ip4.src == 10.0.0.2)": "ip4.src == 10.0.0.1",
	} {
		c := mustAnnotate(t, text, groups{})
		var got []string
		for _, d := range c.Missing(p, testPorts) {
			at := d.Leaf.Range()
			got = append(got, text[at.Start:at.End])
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s misses %q, want %q", text, got, want)
		}
	}
	a, err := ParseActions("ip6.src = fd00::1;")
	if err != nil {
		t.Fatal(err)
	}
	needs, err := a.Annotate("ip6.src = fd00::1;", SymbolsOf(Profile{}))
	if err != nil {
		t.Fatal(err)
	}
	m := Both(mustAnnotate(t, "tcp", nil), needs).Missing(p, nil)
	if len(m) != 1 || m[0].Leaf != nil || m[0].Tests[0].String() != "eth.type == 0x86dd" {
		t.Errorf("the actions miss %v", m)
	}
}

// A test says of itself what is compared with what.
func TestTests(t *testing.T) {
	p := packetOf(map[string]uint64{"eth_type": packet.EthIPv4, "nw_proto": 17, "ip_src": 0x0a000909})
	for text, want := range map[string]string{
		"tcp.dst == 80":                    "ip.proto == 6, implied",
		"tcp":                              "ip.proto == 6, implied",
		"ip4.src == {$as4, 10.0.0.1}":      "ip4.src == 10.0.0.1 $as4",
		"!(ip4.src != 10.0.0.1)":           "ip4.src == 10.0.0.1",
		"inport == {\"a\", @pg}":           "inport == \"a\" @pg",
		"ip.ttl == 5":                      "ip.ttl == 5",
		"is_chassis_resident(\"nowhere\")": " ==",
	} {
		_, decisions := mustAnnotate(t, text, groups{}).Evaluate(p, testPorts)
		first := decisions[0].Tests[0]
		got := first.Ref.String() + " " + first.Op().String()
		for _, c := range first.Constants() {
			got += " " + c.String()
		}
		if got += word(first.Implied(), ", implied", ""); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
