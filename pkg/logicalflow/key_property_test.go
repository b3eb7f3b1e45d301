package logicalflow

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// named is where the key of a port is its place in the list of names. A port named in:G is in the group G, and every
// address set has the same two members.
type named []string

func (n named) PortName(key uint64) (string, bool) {
	if key >= uint64(len(n)) {
		return "", false
	}
	return n[key], true
}

func (n named) Resident(string) bool { return true }

func (n named) AddressSet(name string) (*ovnexpr.AddressSet, error) {
	return ovnexpr.NewAddressSet(name, []string{"10.0.0.1", "10.1.0.0/16"}), nil
}

func (n named) InGroup(port, group string) (bool, error) { return port == "in:"+group, nil }

// portsOf are the ports that a match can tell apart.
func portsOf(m *ovnexpr.Match) named {
	names := named{"none", "another"}
	names = append(names, namesIn(m, ovnexpr.String)...)
	for _, g := range namesIn(m, ovnexpr.PortGroups) {
		names = append(names, "in:"+g)
	}
	return names
}

// meet changes a packet until it meets a condition, by what is missing; false if that does not get there.
func meet(r *rand.Rand, c *ovnexpr.Condition, p *packet.Flow, env named) bool {
	for range 12 {
		missing := c.Missing(p, env)
		if missing == nil {
			return true
		}
		for _, d := range missing {
			for _, t := range d.Tests {
				mend(r, t, p, env)
			}
		}
	}
	return false
}

// mend makes one comparison hold, as a guess.
func mend(r *rand.Rand, t ovnexpr.Test, p *packet.Flow, env named) {
	constants := t.Constants()
	if t.Ref.Field == nil || len(constants) == 0 {
		return
	}
	c := constants[r.IntN(len(constants))]
	switch c.Kind {
	case ovnexpr.String:
		t.Ref.Set(p, packet.Uint(uint64(slices.Index(env, c.Text))))
	case ovnexpr.PortGroups:
		t.Ref.Set(p, packet.Uint(uint64(slices.Index(env, "in:"+c.Text))))
	case ovnexpr.AddressSets:
		t.Ref.Set(p, packet.Uint([]uint64{0x0a000001, 0x0a010203}[r.IntN(2)]))
	default:
		v, mask := c.Value, packet.Ones(128)
		if c.Masked {
			mask = c.Mask
		}
		switch t.Op() {
		case ovnexpr.NotEqual, ovnexpr.Less, ovnexpr.LessEqual:
			v = packet.Value{Hi: v.Hi, Lo: v.Lo - r.Uint64N(3)}
		case ovnexpr.Greater, ovnexpr.GreaterEqual:
			v = packet.Value{Hi: v.Hi, Lo: v.Lo + r.Uint64N(3)}
		}
		t.Ref.SetMasked(p, v, mask)
	}
}

// fits reports whether a packet has what a key asks for.
func (k key) fits(p *packet.Flow, env named) bool {
	s, ok := ovnexpr.SymbolsOf(ovnexpr.Profile{}).Lookup(k.field)
	if !ok {
		return false
	}
	v := ovnexpr.Ref{Symbol: s, Field: s.Field, Lo: s.Lo, Bits: s.Bits}.Get(p)
	if !s.IsString() {
		return slices.Contains(k.values, number{v.Hi & k.mask.hi, v.Lo & k.mask.lo})
	}
	name, ok := env.PortName(v.Lo)
	return ok && (slices.Contains(k.ports, name) ||
		slices.ContainsFunc(k.groups, func(g string) bool { in, _ := env.InGroup(name, g); return in }))
}

// checkKey holds the key of a match against packets that meet it. It returns how many packets there were.
func checkKey(t *testing.T, r *rand.Rand, text string) (packets int) {
	t.Helper()
	k, ok := keyOf(text)
	if !ok {
		return 0
	}
	m, err := ovnexpr.ParseMatch(text)
	if err != nil {
		return 0 // whatever it is, no packet is known to meet it
	}
	c, err := m.Annotate(ovnexpr.SymbolsOf(ovnexpr.Profile{}), ovnexpr.Lazy)
	if err != nil {
		return 0
	}
	env := portsOf(m)
	for range 8 {
		p := new(packet.Flow)
		if !meet(r, c, p, env) {
			continue
		}
		packets++
		if holds, err := c.Holds(p, env); holds && err == nil && !k.fits(p, env) {
			t.Fatalf("%q has the key %+v, and is met without it by\n%s", text, k, p)
		}
	}
	return packets
}

// drawn is a random match of the fields that make keys, and others.
func drawn(r *rand.Rand, depth int) string {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	if depth > 0 && r.IntN(3) > 0 {
		op := pick(" && ", "&&", " && ", " || ", " /* && */ && ")
		parts := make([]string, 2+r.IntN(2))
		for i := range parts {
			parts[i] = drawn(r, depth-1)
			if strings.ContainsAny(parts[i], "&|") || r.IntN(4) == 0 {
				parts[i] = pick("", "", "!") + "(" + parts[i] + ")"
			}
		}
		return strings.Join(parts, op)
	}
	v4 := func() string {
		return pick("10.0.0.1", "10.0.0.2", "10.1.2.3", "10.0.0.0/8", "10.1.2.3/16", "10.0.0.1/255.0.0.255", "0.0.0.0/0", "$as")
	}
	v6 := func() string {
		return pick("fd00::1", "fd00::/64", "ab:cd:1::2:3:4", "ab:cd::1:2:3:4567", "aa:bb:cc:dd:1:2:3:4", "::", "::/0", "ff02::1:ff00:1/104", "::ffff:10.0.0.1")
	}
	port := func() string {
		return pick(`"a"`, `"b"`, `"a && b"`, `"a, b"`, `"}"`, `"ip4.dst == 10.0.0.9"`, `"a\"b"`, "@pg", "@pg2")
	}
	mac := func() string {
		return pick("0a:00:00:00:00:01", "0A:00:00:00:00:02", "01:00:00:00:00:00/01:00:00:00:00:00")
	}
	fields := []struct {
		names    []string
		constant func() string
	}{
		{[]string{"ip4.src", "ip4.dst", "reg0", "reg1", "arp.tpa"}, v4},
		{[]string{"ip6.src", "ip6.dst", "xxreg0", "nd.target"}, v6},
		{[]string{"inport", "outport"}, port},
		{[]string{"eth.src", "eth.dst"}, mac},
		{[]string{"tcp.dst", "reg1[0..7]", "ct_mark"}, func() string { return pick("80", "0x51", "3") }},
	}
	f := fields[r.IntN(len(fields))]
	name := f.names[r.IntN(len(f.names))]
	switch r.IntN(8) {
	case 0:
		return pick("1", "ip4", "!ct.new", "ct.est", "tcp", `is_chassis_resident("a && b")`, "0x5 == reg4")
	case 1:
		return f.constant() + pick(" == ", " != ") + name
	case 2, 3:
		return name + pick(" == ", "==", " != ") + "{" + f.constant() + pick(", ", ",", " ") + f.constant() + pick("}", ",}")
	}
	return name + pick(" == ", "==", " == ", " != ", " >= ") + f.constant()
}

// A packet that meets a match has its key, whatever the match.
func TestKeyIsNecessary(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	keys, packets, draws := 0, 0, 60_000
	if testing.Short() {
		draws = 6_000
	}
	for range draws {
		n := checkKey(t, r, drawn(r, 2))
		packets += n
		if n > 0 {
			keys++
		}
	}
	t.Logf("seed %d: %d matches with keys, %d packets that meet them", seed, keys, packets)
	if keys < draws/60 {
		t.Error("the test does not test")
	}
}

// namesIn are the constants of one kind that a match compares with, each once.
func namesIn(m *ovnexpr.Match, of ovnexpr.ConstantKind) []string {
	var names []string
	for _, leaf := range m.Leaves() {
		var items []ovnexpr.Constant
		switch n := leaf.(type) {
		case *ovnexpr.Compare:
			items = n.Values.Items
		case *ovnexpr.Between:
			items = append(items, n.Left.Items...)
			items = append(items, n.Right.Items...)
		}
		for _, c := range items {
			if c.Kind == of && !slices.Contains(names, c.Text) {
				names = append(names, c.Text)
			}
		}
	}
	return names
}
