//go:build lab

package logicalflow_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// What Lookup answers is what a reading of all flows of the table one by one gives, from a server and from its file.
func TestLookup(t *testing.T) {
	t.Run("nodes", func(t *testing.T) {
		l := labtest.Shared(t, lab.OVNKubernetes())
		agrees(t, ovsdbtest.Dial(t, "OVN_Southbound", l.SB()), 2000)
	})
	t.Run("deployment", func(t *testing.T) {
		d := scale.Start(t, scale.Size{Nodes: 3, Pods: 12, Services: 20, NodePorts: 2, Policies: 6})
		db := ovsdbtest.Dial(t, "OVN_Southbound", d.SB.Remote())
		agrees(t, db, 2000)
		n, err := logicalflow.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		if err := n.Preload(t.Context(), func(done, total int) { steps = total - done }, nil); err != nil || steps != 0 {
			t.Fatal(steps, err)
		}
		compare(t, n, db, 1000)
		file, err := ovsdb.OpenFile(d.SB.File)
		if err != nil {
			t.Fatal(err)
		}
		agrees(t, file, 500)
	})
}

// agrees looks packets up that are made to hit flows.
func agrees(t *testing.T, db ovsdb.Reader, packets int) {
	t.Helper()
	n, err := logicalflow.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, n, db, packets)
}

func compare(t *testing.T, n *logicalflow.Network, db ovsdb.Reader, packets int) {
	t.Helper()
	all := readAll(t, db, n.Version())
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	hits, ties := 0, 0
	for range packets {
		row := all.rows[random.IntN(len(all.rows))]
		d := n.Datapath(all.datapathOf(row, random))
		p := all.packet(random, d, row)
		table := logicalflow.Table{Datapath: d, Pipeline: row.Pipeline, ID: row.TableID}
		resident := func(port string) bool { return len(port)%2 == 0 }
		got, err := n.Lookup(t.Context(), table, &p, resident)
		if err != nil {
			t.Fatal(err)
		}
		want := all.lookup(table, &p, resident)
		if diff := cmp.Diff(want, uuids(got)); diff != "" {
			t.Fatalf("seed %d: %s %s %d, packet %s for %s (-one by one +lookup):\n%s", seed, d, row.Pipeline, row.TableID, &p, row.Match, diff)
		}
		if len(want) > 0 {
			hits++
		}
		if len(want) > 1 {
			ties++
		}
	}
	t.Logf("%d packets, %d hit a flow, %d several of the same priority", packets, hits, ties)
	cookies(t, n, all)
	if hits < packets/2 {
		t.Errorf("only %d of %d packets hit a flow", hits, packets)
	}
}

// cookies looks all flows up by the first digits of their UUIDs, in datapaths that packets have been through.
func cookies(t *testing.T, n *logicalflow.Network, all *everything) {
	t.Helper()
	found := 0
	for _, row := range all.rows {
		datapaths := slices.Clone(row.LogicalDatapath)
		for _, g := range row.LogicalDPGroup {
			datapaths = append(datapaths, all.groups[g]...)
		}
		cookie, err := strconv.ParseUint(string(row.UUID[:8]), 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range datapaths {
			rows, known, err := n.ByCookie(t.Context(), d, uint32(cookie))
			if err != nil {
				t.Fatal(err)
			}
			if !known {
				continue
			}
			found++
			if !slices.ContainsFunc(rows, func(r sb.LogicalFlow) bool { return cmp.Equal(r, row) }) {
				t.Fatalf("%s %s: cookie %#x: %+v", n.Datapath(d), row.UUID, cookie, rows)
			}
		}
	}
	if found < len(all.rows)/2 {
		t.Errorf("only %d of %d flows are known by their cookies", found, len(all.rows))
	}
	if rows, known, err := n.ByCookie(t.Context(), "no-such-datapath", 1); known || err != nil {
		t.Errorf("of no datapath: %v, %v", rows, err)
	}
}

func uuids(h logicalflow.Hit) []ovsdb.UUID {
	var ids []ovsdb.UUID
	if h.Flow != nil {
		ids = append(ids, h.Flow.Row.UUID)
	}
	for _, f := range append(h.Ties, h.Unknown...) {
		ids = append(ids, f.Row.UUID)
	}
	slices.Sort(ids)
	return ids
}

// everything is a Southbound as it is read by heart.
type everything struct {
	rows       []sb.LogicalFlow
	byOwner    map[ovsdb.UUID][]sb.LogicalFlow
	groups     map[ovsdb.UUID][]ovsdb.UUID // datapaths
	names      map[ovsdb.UUID]map[uint64]string
	symbols    *ovnexpr.Symbols
	conditions map[ovsdb.UUID]*ovnexpr.Condition
	addresses  map[string]*ovnexpr.AddressSet
	ports      map[string]*ovnexpr.PortGroup
	members    map[string][]string       // of address sets
	values     map[string][]packet.Value // that matches compare a field with
}

func readAll(t *testing.T, db ovsdb.Reader, v release.Series) *everything {
	t.Helper()
	var tables struct {
		Flows     []sb.LogicalFlow
		Groups    []sb.LogicalDPGroup
		Ports     []sb.PortBinding
		Multicast []sb.MulticastGroup
		Addresses []sb.AddressSet
		Members   []sb.PortGroup
	}
	if err := ovsdb.Load(t.Context(), db, &tables); err != nil {
		t.Fatal(err)
	}
	a := &everything{
		rows: tables.Flows, byOwner: map[ovsdb.UUID][]sb.LogicalFlow{}, groups: map[ovsdb.UUID][]ovsdb.UUID{},
		names: map[ovsdb.UUID]map[uint64]string{}, symbols: ovnexpr.SymbolsOf(ovnexpr.Profile{Version: v}),
		conditions: map[ovsdb.UUID]*ovnexpr.Condition{}, addresses: map[string]*ovnexpr.AddressSet{}, ports: map[string]*ovnexpr.PortGroup{},
		members: map[string][]string{}, values: map[string][]packet.Value{},
	}
	for _, g := range tables.Groups {
		a.groups[g.UUID] = g.Datapaths
	}
	for _, p := range tables.Ports {
		a.name(p.Datapath, p.TunnelKey, p.LogicalPort)
	}
	for _, g := range tables.Multicast {
		a.name(g.Datapath, g.TunnelKey, g.Name)
	}
	for _, s := range tables.Addresses {
		a.members[s.Name] = s.Addresses
		a.addresses[s.Name] = ovnexpr.NewAddressSet(s.Name, s.Addresses)
	}
	members := map[string][]string{}
	for _, g := range tables.Members {
		_, name, _ := strings.Cut(g.Name, "_")
		members[name] = append(members[name], g.Ports...)
	}
	for name, ports := range members {
		a.ports[name] = ovnexpr.NewPortGroup(name, ports)
	}
	for _, row := range tables.Flows {
		for _, owner := range append(row.LogicalDatapath, row.LogicalDPGroup...) {
			a.byOwner[owner] = append(a.byOwner[owner], row)
		}
		a.understand(t, row)
	}
	return a
}

func (a *everything) name(datapath ovsdb.UUID, key int, name string) {
	if a.names[datapath] == nil {
		a.names[datapath] = map[uint64]string{0: "none"}
	}
	a.names[datapath][uint64(key)] = name
}

func (a *everything) understand(t *testing.T, row sb.LogicalFlow) {
	t.Helper()
	m, err := ovnexpr.ParseMatch(row.Match)
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Annotate(a.symbols, a)
	if err != nil {
		t.Fatal(err)
	}
	actions, err := ovnexpr.ParseActions(row.Actions)
	if err != nil {
		t.Fatal(err)
	}
	needs, err := actions.Annotate(row.Actions, a.symbols)
	if err != nil {
		t.Fatal(err)
	}
	a.conditions[row.UUID] = ovnexpr.Both(c, needs)
	for _, leaf := range m.Leaves() {
		if c, ok := leaf.(*ovnexpr.Compare); ok {
			for _, v := range c.Values.Items {
				a.values[c.Field.Name] = append(a.values[c.Field.Name], v.Value)
			}
		}
	}
}

// AddressSet and PortGroup make it the sets of conditions.
func (a *everything) AddressSet(name string) (*ovnexpr.AddressSet, bool) {
	s, ok := a.addresses[name]
	return s, ok
}

func (a *everything) PortGroup(name string) (*ovnexpr.PortGroup, bool) {
	g, ok := a.ports[name]
	return g, ok
}

func (a *everything) datapathOf(row sb.LogicalFlow, random *rand.Rand) ovsdb.UUID {
	if d := row.LogicalDatapath.Get(); d != "" {
		return d
	}
	members := a.groups[row.LogicalDPGroup.Get()]
	return members[random.IntN(len(members))]
}

// packet makes a packet of what a flow asks for, and now and then of what others ask for.
func (a *everything) packet(random *rand.Rand, d *logicalflow.Datapath, row sb.LogicalFlow) packet.Flow {
	var p packet.Flow
	a.set(&p, "eth.type", packet.Uint([]uint64{packet.EthIPv4, packet.EthIPv4, packet.EthIPv6, packet.EthARP}[random.IntN(4)]))
	a.set(&p, "ip.proto", packet.Uint([]uint64{packet.ProtoTCP, packet.ProtoUDP, packet.ProtoICMP}[random.IntN(3)]))
	keys := slices.Sorted(maps.Keys(a.names[d.Row.UUID]))
	a.set(&p, "inport", packet.Uint(keys[random.IntN(len(keys))]))
	a.set(&p, "outport", packet.Uint(keys[random.IntN(len(keys))]))
	fields := slices.Sorted(maps.Keys(a.values))
	for range random.IntN(4) {
		name := fields[random.IntN(len(fields))]
		a.set(&p, name, a.values[name][random.IntN(len(a.values[name]))])
	}
	if random.IntN(5) > 0 {
		a.satisfy(&p, random, d, row.Match)
	}
	return p
}

// satisfy sets the fields of a packet to what a match compares them with.
func (a *everything) satisfy(p *packet.Flow, random *rand.Rand, d *logicalflow.Datapath, match string) {
	m, err := ovnexpr.ParseMatch(match)
	if err != nil {
		panic(err)
	}
	for _, leaf := range m.Leaves() {
		switch l := leaf.(type) {
		case *ovnexpr.Bare:
			a.satisfyField(p, random, d, l.Field, packet.Uint(1))
		case *ovnexpr.Compare:
			c := l.Values.Items[random.IntN(len(l.Values.Items))]
			v := c.Value
			switch c.Kind {
			case ovnexpr.String, ovnexpr.PortGroups:
				v = a.key(d, func(name string) bool {
					return name == c.Text || c.Kind == ovnexpr.PortGroups && a.ports[c.Text].Has(name)
				})
			case ovnexpr.AddressSets:
				texts := a.members[c.Text]
				if len(texts) == 0 {
					continue
				}
				member, err := ovnexpr.ParseMatch("xxreg0 == " + texts[random.IntN(len(texts))])
				if err != nil {
					panic(err)
				}
				v = member.Root.(*ovnexpr.Compare).Values.Items[0].Value
			}
			a.satisfyField(p, random, d, l.Field, v)
		}
	}
}

func (a *everything) satisfyField(p *packet.Flow, random *rand.Rand, d *logicalflow.Datapath, f ovnexpr.Field, v packet.Value) {
	r, err := a.symbols.Resolve(f, f.Name)
	if err != nil {
		panic(err)
	}
	kind, _, _ := strings.Cut(f.Name, ".")
	if s, ok := a.symbols.Lookup(kind); ok && s.Predicate != "" {
		a.satisfy(p, random, d, s.Predicate) // what the field needs: ip4 of ip4.dst
	}
	if r.Field != nil {
		r.Set(p, v)
	} else if r.Symbol.Predicate != "" {
		a.satisfy(p, random, d, r.Symbol.Predicate)
	}
}

// key is that of a port or group of a datapath whose name will do; 0 if there is none.
func (a *everything) key(d *logicalflow.Datapath, will func(name string) bool) packet.Value {
	for _, key := range slices.Sorted(maps.Keys(a.names[d.Row.UUID])) {
		if will(a.names[d.Row.UUID][key]) {
			return packet.Uint(key)
		}
	}
	return packet.Value{}
}

func (a *everything) set(p *packet.Flow, name string, v packet.Value) {
	if r, err := a.symbols.Resolve(ovnexpr.Field{Name: name}, name); err == nil && r.Field != nil {
		r.Set(p, v)
	}
}

// lookup is Lookup one by one: the flows of the highest priority that match.
func (a *everything) lookup(t logicalflow.Table, p *packet.Flow, resident logicalflow.Resident) []ovsdb.UUID {
	env := names{a.names[t.Datapath.Row.UUID], resident}
	owners := []ovsdb.UUID{t.Datapath.Row.UUID}
	for g, members := range a.groups {
		if slices.Contains(members, t.Datapath.Row.UUID) {
			owners = append(owners, g)
		}
	}
	var found []ovsdb.UUID
	highest := -1
	for _, owner := range owners {
		for _, row := range a.byOwner[owner] {
			if row.Pipeline != t.Pipeline || row.TableID != t.ID || row.Priority < highest || !a.conditions[row.UUID].Matches(p, env) {
				continue
			}
			if row.Priority > highest {
				found, highest = nil, row.Priority
			}
			found = append(found, row.UUID)
		}
	}
	slices.Sort(found)
	return found
}

// names are the ports and multicast groups of a datapath by key.
type names struct {
	byKey    map[uint64]string
	resident logicalflow.Resident
}

func (n names) PortName(key uint64) (string, bool) {
	name, ok := n.byKey[key]
	return name, ok
}

func (n names) Resident(port string) bool { return n.resident(port) }

func symbolsOf(n *logicalflow.Network) *ovnexpr.Symbols {
	return ovnexpr.SymbolsOf(ovnexpr.Profile{Version: n.Version()})
}
