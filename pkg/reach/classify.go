package reach

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// classify sorts a plan's workloads into classes, and reads all that decides what becomes of packets.
func classify(ctx context.Context, c *cluster.Cluster, g *topology.Graph, w *trace.Walker, p *Plan, beneath *Beneath, progress func(done, total int)) (*Classes, error) {
	sorter := newClassifier(g, p, beneath)
	for _, zone := range c.Zones {
		net := w.Network(zone.Name)
		if net == nil {
			continue
		}
		if err := net.Preload(ctx, progress, sorter.flow); err != nil {
			return nil, err
		}
		if err := sorter.tables(ctx, zone, net); err != nil {
			return nil, err
		}
	}
	return sorter.classes(), nil
}

// A classifier sorts workloads into classes while it is shown the logical flows.
type classifier struct {
	ports  []*topology.Port
	names  map[identity]role
	asked  map[identity]map[int]string // solicited-node groups: the places that they have for each of those who are asked there
	marks  [][]uint64                  // of each port: its likes have the same
	alone  []bool
	sets   map[string]int32
	in     [][]member
	ranges map[span]bool // that matches and sets compare addresses with
	seed   maphash.Seed
	flows  map[ovsdb.UUID]naming
	odd    bool // something compares addresses in a way that this does not understand
}

// An identity is a name or an address.
type identity struct {
	format ovnexpr.Format // of an address
	value  packet.Value
	name   string
}

// A role is what an identity is to its workload; it takes the identity's place where two workloads are compared.
type role struct {
	port  int // an index; several: it is that of several workloads
	place string
}

const several = -1

// A span is the addresses with some bits in common.
type span struct {
	format      ovnexpr.Format
	value, mask packet.Value
}

// newClassifier returns a classifier of the workloads of a plan, before it has seen any flow.
func newClassifier(g *topology.Graph, p *Plan, beneath *Beneath) *classifier {
	c := &classifier{names: map[identity]role{}, asked: map[identity]map[int]string{}, ranges: map[span]bool{}, seed: maphash.MakeSeed(), sets: map[string]int32{}, flows: map[ovsdb.UUID]naming{}}
	seen := map[*topology.Port]bool{}
	for _, party := range p.from {
		port := party.match.Port
		if port == nil || seen[port] || port.Kind != topology.SwitchPort || port.Switch == nil || port.Type != "" || port.Parent != "" {
			continue
		}
		seen[port] = true
		c.add(g, port, party, beneath)
	}
	for _, port := range g.Ports {
		for _, text := range port.Networks {
			if n, err := netip.ParsePrefix(text); err == nil {
				c.addRange(n)
			}
		}
		if !seen[port] { // who has the address of another makes it one that is not like others
			c.shareWith(port)
		}
	}
	return c
}

func (c *classifier) add(g *topology.Graph, port *topology.Port, party *Party, beneath *Beneath) {
	i := len(c.ports)
	c.ports, c.marks, c.alone, c.in = append(c.ports, port), append(c.marks, nil), append(c.alone, false), append(c.in, nil)
	c.name(i, identity{name: port.Name}, "name")
	for n, text := range port.MACs {
		if mac, ok := packet.ParseMAC(text); ok {
			c.address(i, ovnexpr.Ethernet, mac, "mac"+strconv.Itoa(n))
			c.derived(i, packet.LinkLocal(mac), "local"+strconv.Itoa(n))
		}
	}
	families := ""
	for n, text := range port.Addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			c.ip(i, a, "ip"+strconv.Itoa(n))
			families += strconv.Itoa(a.BitLen()) + " "
		}
	}
	for _, a := range party.match.Addresses {
		families += c.word(i, a.String()) + " "
	}
	c.mark(i, "port", port.Switch.UUID, port.Chassis, port.State, strconv.FormatBool(port.Enabled), strconv.FormatBool(port.UnknownAddresses),
		strconv.Itoa(len(port.MACs)), families, trace.KindNames.Get()[party.match.Kind], c.words(i, port.PortSecurity))
	c.mark(i, slices.Concat([]string{"chassis"}, port.RequestedChassis, []string{"and"}, port.AdditionalChassis)...)
	for _, n := range g.NetworksOf(port) { // the first hop is by them
		c.addRange(n)
	}
	for _, d := range []*topology.DHCP{port.DHCPv4, port.DHCPv6} {
		if d == nil {
			c.mark(i, "no DHCP")
			continue
		}
		c.mark(i, "DHCP", d.UUID)
		for _, text := range strings.FieldsFunc(d.Options["classless_static_route"], func(r rune) bool { return strings.ContainsRune("{}, ", r) }) {
			if n, err := netip.ParsePrefix(text); err == nil {
				c.addRange(n)
			}
		}
	}
	if beneath != nil {
		if l, ok := beneath.ports[port.Name]; ok {
			c.mark(i, "lost", l.Words)
		}
	}
	if g.PortByName(port.Name) != port { // of two zones
		c.alone[i] = true
	}
}

func (c *classifier) ip(i int, a netip.Addr, place string) {
	if a.Is4() {
		c.address(i, ovnexpr.IPv4, packet.FromAddr(a), place)
		return
	}
	c.derived(i, a, place)
}

// derived adds an IPv6 address and the group in which its owner is asked for its MAC address, RFC 4291 section 2.7.1.
func (c *classifier) derived(i int, a netip.Addr, place string) {
	c.address(i, ovnexpr.IPv6, packet.FromAddr(a), place)
	b := a.As16()
	group := netip.AddrFrom16([16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff, 13: b[13], 14: b[14], 15: b[15]})
	c.group(i, identity{format: ovnexpr.IPv6, value: packet.FromAddr(group)}, place+" asked")
	c.group(i, identity{format: ovnexpr.Ethernet, value: packet.Uint(0x3333_ff00_0000 | uint64(b[13])<<16 | uint64(b[14])<<8 | uint64(b[15]))}, place+" asked by MAC")
}

func (c *classifier) address(i int, f ovnexpr.Format, v packet.Value, place string) {
	c.name(i, identity{format: f, value: v}, place)
}

// name gives an identity to a workload. One that two have is not like any other, and neither are they.
func (c *classifier) name(i int, id identity, place string) {
	if other, ok := c.names[id]; ok && other.port != i {
		c.alone[i] = true
		if other.port != several {
			c.alone[other.port] = true
		}
		c.names[id] = role{port: several}
	} else if !ok {
		c.names[id] = role{i, place}
	}
}

// group gives a workload a multicast address, which several may have: no connection is opened to it.
func (c *classifier) group(i int, id identity, place string) {
	if c.asked[id] == nil {
		c.asked[id] = map[int]string{}
	}
	c.asked[id][i] = place
}

// shareWith has the workloads alone that share an address with another port.
func (c *classifier) shareWith(port *topology.Port) {
	for _, text := range slices.Concat(port.MACs, port.Addresses) {
		if r, ok := c.role(text); ok && r.port != several {
			c.alone[r.port] = true
		}
	}
}

// role returns what an address is in text.
func (c *classifier) role(text string) (role, bool) {
	id := identity{format: ovnexpr.Ethernet}
	mac, ok := packet.ParseMAC(text)
	id.value = mac
	if !ok {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return role{}, false
		}
		id.format, id.value = ovnexpr.IPv6, packet.FromAddr(a)
		if a.Is4() {
			id.format = ovnexpr.IPv4
		}
	}
	r, ok := c.names[id]
	return r, ok
}

// word returns a word, or the place of the workload's own address.
func (c *classifier) word(i int, text string) string {
	if r, ok := c.role(text); ok && r.port == i {
		return "<" + r.place + ">"
	}
	return text
}

// words returns texts of addresses with the workload's own replaced.
func (c *classifier) words(i int, texts []string) string {
	var out []string
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
			out = append(out, c.word(i, word))
		}
		out = append(out, ";")
	}
	return strings.Join(out, " ")
}

// mark adds a mark to a workload: its likes have it, too.
func (c *classifier) mark(i int, parts ...string) { c.marks[i] = append(c.marks[i], c.hash(parts...)) }

func (c *classifier) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for _, p := range parts {
		_, _ = h.WriteString(p)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// joins notes that a workload is in a set, by its name or one of its addresses.
func (c *classifier) joins(r role, set string) {
	n, ok := c.sets[set]
	if !ok {
		n = int32(len(c.sets))
		c.sets[set] = n
	}
	c.in[r.port] = append(c.in[r.port], member{n, c.hash(r.place)})
}

func (c *classifier) addRange(n netip.Prefix) {
	f, width := ovnexpr.IPv6, 128
	if n.Addr().Is4() {
		f, width = ovnexpr.IPv4, 32
	}
	mask := packet.Ones(n.Bits()).Shl(width - n.Bits())
	c.ranges[span{f, packet.FromAddr(n.Addr()).And(mask), mask}] = true
}

// identify returns whom a constant names; ok is false for nobody of the plan. A constant with a mask is a range.
func (c *classifier) identify(k ovnexpr.Constant) (r role, ok bool) {
	id := identity{format: k.Format, value: k.Value}
	switch {
	case k.Kind == ovnexpr.String:
		id = identity{name: k.Text}
	case k.Kind != ovnexpr.Integer || k.Format < ovnexpr.IPv4:
		return role{}, false
	case k.Masked && k.Mask != packet.Ones(addressBits(k.Format)):
		c.ranges[span{k.Format, k.Value.And(k.Mask), k.Mask}] = true
		return role{}, false
	}
	r, ok = c.names[id]
	return r, ok
}

// addressBits is the width of an address; 0 of what is none.
func addressBits(f ovnexpr.Format) int {
	switch f {
	case ovnexpr.IPv4:
		return 32
	case ovnexpr.IPv6:
		return 128
	case ovnexpr.Ethernet:
		return 48
	}
	return 0
}

// A mention is a place in a match that names a workload.
type mention struct {
	ovnexpr.Span
	role
	list int // where the list begins that it is in; -1: none
}

// flow marks the workloads that a logical flow names.
func (c *classifier) flow(f *sb.LogicalFlowRule, translated bool) {
	m, err := ovnexpr.ParseMatch(f.Match)
	if err != nil {
		return // for every packet it may be the one that is hit
	}
	var named []mention
	for _, leaf := range m.Leaves() {
		named = c.mentions(named, leaf)
	}
	one := theOne(named)
	names := naming{single: int32(one)}
	var actions string
	actions, names.foreign, names.open = c.actions(f.Actions, one)
	if one != several || len(names.foreign) > 0 || names.open {
		c.flows[f.UUID] = names
	}
	if one != several {
		where := fmt.Sprint(f.Pipeline, f.TableID, f.Priority, translated, f.LogicalDatapath, f.LogicalDPGroup)
		c.mark(one, "own flow", where, replaced(f.Match, c.withGroups(f.Match, named, one)), actions)
		return
	}
	for _, n := range named {
		switch {
		case n.port == several:
		case n.list >= 0:
			c.mark(n.port, "listed in", string(f.UUID), strconv.Itoa(n.list), n.place)
		default:
			c.mark(n.port, "named in", string(f.UUID), strconv.Itoa(n.Start))
		}
	}
}

// theOne returns the only workload that is mentioned; several if there is none, or more than one.
func theOne(named []mention) int {
	if len(named) == 0 || slices.ContainsFunc(named, func(n mention) bool { return n.port != named[0].port }) {
		return several
	}
	return named[0].port
}

// withGroups adds the mentions of a workload's multicast groups in a text.
func (c *classifier) withGroups(text string, named []mention, one int) []mention {
	constants, err := ovnexpr.Constants(text)
	if err != nil {
		return named
	}
	for _, k := range constants {
		if place, ok := c.asked[identity{format: k.Format, value: k.Value}][one]; ok && k.Kind == ovnexpr.Integer {
			named = append(named, mention{Span: k.Span, role: role{one, place}})
		}
	}
	slices.SortFunc(named, func(a, b mention) int { return cmp.Compare(a.Start, b.Start) })
	return named
}

// mentions adds a leaf's to a list.
func (c *classifier) mentions(named []mention, leaf ovnexpr.Node) []mention {
	switch n := leaf.(type) {
	case *ovnexpr.Resident:
		if r, ok := c.names[identity{name: n.Port}]; ok {
			named = append(named, mention{n.Span, r, -1})
		}
	case *ovnexpr.Bare:
		c.odd = c.odd || n.Field.Bits && isAddress(n.Field.Name) && !isMulticastBit(n.Field)
	case *ovnexpr.Between:
		c.odd = c.odd || isAddress(n.Field.Name)
	case *ovnexpr.Compare:
		list := -1
		if n.Values.Braces {
			list = n.Values.Start
		}
		if isAddress(n.Field.Name) && (n.Op != ovnexpr.Equal && n.Op != ovnexpr.NotEqual || n.Field.Bits && !isMulticastBit(n.Field)) {
			c.odd = true
		}
		for _, k := range n.Values.Items {
			if k.Kind == ovnexpr.Integer && k.Format < ovnexpr.IPv4 && isAddress(n.Field.Name) && !n.Field.Bits && !k.Value.IsZero() {
				c.odd = true
			}
			if r, ok := c.identify(k); ok {
				named = append(named, mention{k.Span, r, list})
			}
		}
	}
	return named
}

// isAddress reports whether a field holds an address. Registers do, too, but OVN compares these with whole addresses.
func isAddress(field string) bool {
	switch field {
	case "eth.src", "eth.dst", "ip4.src", "ip4.dst", "ip6.src", "ip6.dst", "arp.spa", "arp.tpa", "arp.sha", "arp.tha",
		"nd.target", "nd.sll", "nd.tll", "ct_nw_src", "ct_nw_dst", "ct_ip6_src", "ct_ip6_dst":
		return true
	}
	return false
}

func isMulticastBit(f ovnexpr.Field) bool {
	return strings.HasPrefix(f.Name, "eth.") && f.Bits && f.Lo == 40 && f.Hi == 40
}

// replaced returns a text with roles in place of identities.
func replaced(text string, named []mention) string {
	var b strings.Builder
	at := 0
	for _, n := range named {
		b.WriteString(text[at:n.Start])
		b.WriteString("<" + n.place + ">")
		at = n.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// actions returns a flow's actions with roles in place of the identities of the workload that its match names, which others they
// name, and whether they may name any.
func (c *classifier) actions(text string, one int) (own string, foreign []int32, open bool) {
	constants, err := ovnexpr.Constants(text)
	if err != nil {
		return text, nil, true
	}
	var named []mention
	for _, k := range constants {
		id := identity{format: k.Format, value: k.Value}
		switch {
		case k.Kind == ovnexpr.String:
			id = identity{name: k.Text}
		case k.Kind == ovnexpr.Template: // whatever its value is
			open = true
		case k.Kind != ovnexpr.Integer || k.Format < ovnexpr.IPv4:
			continue
		}
		switch r, ok := c.names[id]; {
		case !ok:
		case r.port == one && one != several:
			named = append(named, mention{Span: k.Span, role: r})
		case r.port == several:
			// They are alone.
		default:
			foreign = append(foreign, int32(r.port))
		}
	}
	return replaced(text, c.withGroups(text, named, one)), foreign, open
}

// tables marks what a zone's tables beside its flows say of workloads.
func (c *classifier) tables(ctx context.Context, z *cluster.Zone, net *logicalflow.Network) error {
	var rows struct {
		Sets     []sb.AddressSet
		Groups   []sb.PortGroup
		Learned  []sb.MACBinding
		Static   []sb.StaticMACBinding
		Switched []sb.FDB
	}
	if err := ovsdb.Load(ctx, z.SB, &rows); err != nil {
		return err
	}
	for _, s := range rows.Sets {
		c.set(s)
	}
	for _, g := range rows.Groups {
		for _, name := range g.Ports {
			if r, ok := c.names[identity{name: name}]; ok && r.port != several {
				c.joins(r, "@"+logicalflow.GroupName(g.Name))
			}
		}
	}
	for _, b := range rows.Learned {
		c.row("learned", string(b.Datapath), b.LogicalPort, b.IP, b.MAC)
	}
	for _, b := range rows.Static {
		c.row("static", string(b.Datapath), strconv.FormatBool(b.OverrideDynamicMAC), b.LogicalPort, b.IP, b.MAC)
	}
	for _, b := range rows.Switched {
		key := strconv.Itoa(b.PortKey)
		if r, ok := c.role(b.MAC); ok && r.port != several && c.ports[r.port].TunnelKey == b.PortKey {
			key = "<key>"
		}
		c.row("FDB", strconv.Itoa(b.DPKey), key, b.MAC)
	}
	for i, port := range c.ports {
		p, err := net.Port(ctx, port.Name)
		if err != nil {
			return err
		}
		c.binding(i, z.Name, p)
	}
	return nil
}

// set marks the members of an address set.
func (c *classifier) set(s sb.AddressSet) {
	for _, text := range s.Addresses {
		constants, err := ovnexpr.Constants(text)
		if err != nil {
			continue // ovn-controller skips it, too
		}
		for _, k := range constants {
			if r, ok := c.identify(k); ok && r.port != several {
				c.joins(r, "$"+s.Name)
			}
		}
	}
}

// row marks the workloads that a row names.
func (c *classifier) row(words ...string) {
	own := map[int][]string{}
	for n, text := range words {
		r, ok := c.role(text)
		if !ok {
			r, ok = c.names[identity{name: text}]
		}
		if !ok || r.port == several {
			continue
		}
		if own[r.port] == nil {
			own[r.port] = slices.Clone(words)
		}
		own[r.port][n] = "<" + r.place + ">"
	}
	for i, w := range own {
		c.mark(i, w...)
	}
}

// binding marks what a Port_Binding says.
func (c *classifier) binding(i int, zone string, p *logicalflow.Port) {
	if p == nil {
		c.mark(i, "no binding", zone)
		return
	}
	row := p.Row
	options := ""
	for _, key := range slices.Sorted(maps.Keys(row.Options)) {
		if key != "iface-id-ver" { // which interface, not what is done with its packets
			options += key + "=" + c.word(i, row.Options[key]) + " "
		}
	}
	c.mark(i, "binding", zone, string(row.Datapath), fmt.Sprint(row.Chassis, row.AdditionalChassis, row.Encap, row.AdditionalEncap, row.MirrorRules, row.MirrorPort),
		row.Type, options, c.words(i, row.MAC), c.words(i, row.PortSecurity), c.words(i, row.NATAddresses), fmt.Sprint(row.ParentPort, row.Tag, row.VirtualParent, row.HAChassisGroup))
}

// classes returns the classes of all workloads, once it has seen every flow; nil if something compares addresses in a way that is
// not understood.
func (c *classifier) classes() *Classes {
	if c.odd {
		return nil
	}
	c.markRanges()
	found := &Classes{of: map[string]int32{}, numbers: map[string]int32{}, sets: c.sets, members: c.in, flows: c.flows}
	classes := map[string]int32{}
	for i, port := range c.ports {
		found.numbers[port.Name] = int32(i)
		slices.SortFunc(c.in[i], func(a, b member) int { return cmp.Or(cmp.Compare(a.set, b.set), cmp.Compare(a.by, b.by)) })
		if c.alone[i] {
			continue
		}
		slices.Sort(c.marks[i])
		key := make([]byte, 0, 8*len(c.marks[i]))
		for _, m := range c.marks[i] {
			key = binary.LittleEndian.AppendUint64(key, m)
		}
		n, ok := classes[string(key)]
		if !ok {
			n = int32(len(classes))
			classes[string(key)] = n
		}
		found.of[port.Name] = n
	}
	return found
}

// markRanges marks which ranges each workload's addresses are in.
func (c *classifier) markRanges() {
	masks := map[span]bool{}
	for s := range c.ranges {
		masks[span{format: s.format, mask: s.mask}] = true
	}
	for id, r := range c.names {
		if r.port == several || id.name != "" {
			continue
		}
		for m := range masks {
			s := span{id.format, id.value.And(m.mask), m.mask}
			if m.format == id.format && c.ranges[s] {
				c.mark(r.port, "in", fmt.Sprint(s), r.place)
			}
		}
	}
}
