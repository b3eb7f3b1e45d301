package logicalflow

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// What a key says is necessary for the match, and nothing is said of what cannot be read at a glance.
func TestKeyOf(t *testing.T) {
	tests := []struct{ match, field, want string }{
		{`ip4.dst == 10.0.0.1`, "ip4.dst", "10.0.0.1"},
		{`ct.new && ip4.dst == 10.96.0.1 && tcp.dst == 80`, "ip4.dst", "10.96.0.1"},
		{`reg0[8] == 1 && (outport == @pg && ip4.src == $as)`, "outport", "@pg"},
		{`outport == "rtos-n1" && reg0 == 10.244.0.5`, "reg0", "10.244.0.5"},
		{`inport == {"a", "b"} && eth.src == 0a:00:00:00:00:01`, "inport", `"a" "b"`},
		{`ip6.dst == {fd00::1, fd00::2,} && icmp6`, "ip6.dst", "fd00::1 fd00::2"},
		{`ip4.src == 10.0.0.0/8 && eth.dst == 0a:00:00:00:00:01`, "eth.dst", "0a:00:00:00:00:01"},
		{`ip4.src == 10.1.2.3/8`, "ip4.src", "10.0.0.0/8"},
		{`(eth.dst == 0a:00:00:00:00:01)`, "eth.dst", "0a:00:00:00:00:01"},
		{`1`, "", ""},
		{`ip4.dst == 10.0.0.1 || ip4.dst == 10.0.0.2`, "", ""},
		{`(ip4.dst == 10.0.0.1 || ip4.dst == 10.0.0.2) && tcp`, "", ""},
		{`!(ip4.dst == 10.0.0.1)`, "", ""},
		{`ip4.dst != 10.0.0.1`, "", ""},
		{`ip4.dst == $set`, "", ""},
		{`ip4.dst == {10.0.0.1, $set}`, "", ""},
		{`ip4.dst == ^vip`, "", ""},
		{`ip4.dst == 10.0.0.1/255.0.255.0`, "", ""},
		{`reg0[0..7] == 1`, "", ""},
		{`inport == "a\"b"`, "", ""},
		{`ip /* ip4.dst == 10.0.0.1 && */ && tcp`, "", ""},
		{`inport == "x && ip4.dst == 10.0.0.1"`, "inport", `"x && ip4.dst == 10.0.0.1"`},
		{`ip4.dst == 10.0.0.1) && (tcp`, "", ""},
		{``, "", ""},
	}
	for _, test := range tests {
		got, ok := keyOf(test.match)
		want := key{}
		if test.field != "" {
			want = wantedKey(t, test.field, test.want)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{}, number{})); diff != "" || ok != (test.field != "") {
			t.Errorf("%s: %v (-want +got)\n%s", test.match, ok, diff)
		}
	}
}

// wantedKey is a key of constants that are separated by spaces.
func wantedKey(t *testing.T, field, constants string) key {
	t.Helper()
	k := key{field: field, mask: allBits}
	if strings.HasPrefix(constants, `"x &&`) {
		k.ports = []string{strings.Trim(constants, `"`)}
		return k
	}
	for _, c := range strings.Fields(constants) {
		if !k.constant(c) {
			t.Fatal(c)
		}
	}
	return k
}

// FuzzKeyOf holds keys against evaluation: a packet that meets a match has its key.
func FuzzKeyOf(f *testing.F) {
	for _, seed := range []string{
		`ip4.dst == 10.0.0.1 && tcp`, `ct.new && ip4.dst == {10.96.0.1, 10.96.0.2} && tcp.dst == 80`,
		`reg0[8] == 1 && (outport == @pg && ip4.src == $as)`, `outport == "a" && reg0 == 10.0.0.1`,
		`inport == {"a", "b"}`, `ip6.dst == fd:12:34::1:2:3:4`, `ip6.dst == {fd00::/64, fd01::/64}`, `eth.dst == 0a:00:00:00:00:01`,
		`ip4.src == 10.1.2.3/8 || ip4.dst == 10.0.0.1`, `(ip4.dst == 10.0.0.1 || tcp) && ip4`, `!(ip4.dst == 10.0.0.1)`,
		`10.0.0.1 == ip4.dst`, `10.0.0.0 <= ip4.dst <= 10.0.0.9`, `ip4.dst == 10.0.0.1/255.0.255.0`, `ip4 && !(inport == "a && ip4.dst == 10.0.0.1")`,
		`ip4.dst == 10.0.0.1 // && tcp`, `ip4.dst /* == 10.0.0.1 && */ == 10.0.0.2`, `inport == "ip4.dst == 10.0.0.1 && " && ip4`,
		`ip4.dst == {10.0.0.1, $as}`, `inport == {@pg, "b"}`, `xxreg0 == ::ffff:10.0.0.1`, `ip4.dst == 0.0.0.0/0`, `reg1 == 10.0.0.1 && (((ip4.dst == 10.0.0.1)))`,
		`((ip4.dst == 10.0.0.1) && (ip4.src == 10.0.0.2))`, `outport == "none"`, `ip6.dst[0..31] == 1`, `(inport == "a") && (outport == "b")`,
	} {
		f.Add(seed, uint64(1))
	}
	symbols := ovnexpr.SymbolsOf(ovnexpr.Profile{})
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		k, ok := keyOf(text)
		m, err := ovnexpr.ParseMatch(text)
		if !ok || err != nil {
			return
		}
		c, err := m.Annotate(symbols, someSets{})
		if err != nil {
			return
		}
		ref, err := symbols.Resolve(ovnexpr.Field{Name: k.field}, k.field)
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		for range 50 {
			p := somePacket(random, symbols, m)
			if c.Matches(&p, somePorts{}) && !k.has(ref.Get(&p)) {
				t.Fatalf("%s: the packet %s meets it, and has not %+v", text, &p, k)
			}
		}
	})
}

// has reports whether the value of the field is one of the key's.
func (k key) has(v packet.Value) bool {
	if k.values != nil {
		return slices.Contains(k.values, number{v.Hi & k.mask.hi, v.Lo & k.mask.lo})
	}
	name, ok := somePorts{}.PortName(v.Lo)
	return ok && (slices.Contains(k.ports, name) || name == "a" && slices.Contains(k.groups, "pg"))
}

// somePacket has what the leaves of a match ask for, most of it.
func somePacket(random *rand.Rand, symbols *ovnexpr.Symbols, m *ovnexpr.Match) packet.Flow {
	var p packet.Flow
	set := func(field ovnexpr.Field, v packet.Value) {
		if r, err := symbols.Resolve(field, field.Name); err == nil && r.Field != nil {
			r.Set(&p, v)
		}
	}
	set(ovnexpr.Field{Name: "eth.type"}, packet.Uint([]uint64{packet.EthIPv4, packet.EthIPv4, packet.EthIPv6, packet.EthARP}[random.IntN(4)]))
	set(ovnexpr.Field{Name: "ip.proto"}, packet.Uint([]uint64{packet.ProtoTCP, packet.ProtoUDP}[random.IntN(2)]))
	set(ovnexpr.Field{Name: "ct_state"}, packet.Uint(uint64(random.IntN(256))))
	set(ovnexpr.Field{Name: "inport"}, packet.Uint(uint64(random.IntN(4))))
	set(ovnexpr.Field{Name: "outport"}, packet.Uint(uint64(random.IntN(4))))
	for _, leaf := range m.Leaves() {
		if c, ok := leaf.(*ovnexpr.Compare); ok && random.IntN(8) > 0 {
			if v := c.Values.Items[random.IntN(len(c.Values.Items))]; v.Kind == ovnexpr.Integer {
				set(c.Field, v.Value)
			}
		}
	}
	return p
}

type somePorts struct{}

func (somePorts) PortName(key uint64) (string, bool) {
	name, ok := map[uint64]string{0: "none", 1: "a", 2: "b"}[key]
	return name, ok
}

func (somePorts) Resident(string) bool { return true }

type someSets struct{}

func (someSets) AddressSet(name string) (*ovnexpr.AddressSet, bool) {
	return ovnexpr.NewAddressSet(name, []string{"10.0.0.1", "10.1.0.0/16"}), name == "as"
}

func (someSets) PortGroup(name string) (*ovnexpr.PortGroup, bool) {
	return ovnexpr.NewPortGroup(name, []string{"a"}), name == "pg"
}
