package microflow_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A microflow is what ovn-trace is asked: its options, the datapath if one is named, and the conditions that are joined
// to the packet's description.
type generated struct {
	options    []string
	datapath   string
	conditions []string
	broken     string // instead of the conditions, a text that is no microflow
}

func (m generated) text() string {
	if m.broken != "" {
		return m.broken
	}
	return strings.Join(m.conditions, " && ")
}

// args are the arguments of ovn-trace.
func (m generated) args() []string {
	args := slices.Clone(m.options)
	if m.datapath != "" {
		args = append(args, m.datapath)
	}
	return append(args, m.text())
}

// A world is a Southbound as the generator sees it: who is there, and what flows ask for.
type world struct {
	places    []place
	dps       map[ovsdb.UUID]sb.DatapathBinding
	flows     map[ovsdb.UUID]map[string][]want // by datapath and stage
	macs      []string
	ip4, ip6  []string
	constants map[string][]string // of the fields of a packet
	stages    map[string]bool     // that do something to some packet
	services  []want              // what load balancers serve
}

// A place is a port where a packet can begin, with the addresses of what is attached there.
type place struct {
	name, friendly string
	peer           string // of a port between a switch and a router
	datapath       ovsdb.UUID
	router         bool // a port of a router
	mac            string
	ip4, ip6       []string
}

// A want is what one flow asks for, as far as fields are compared with constants.
type want struct {
	kind   string // of packet, empty: any
	inport string
	state  string // of conntrack, empty: any
	fields map[string]string
}

// survey reads a Southbound.
func survey(ctx context.Context, t testing.TB, db ovsdb.Reader) *world {
	t.Helper()
	var rows struct {
		Datapaths []sb.DatapathBinding
		Ports     []sb.PortBinding
		Flows     []sb.LogicalFlow
		Groups    []sb.LogicalDPGroup
		Balancers []sb.LoadBalancer
	}
	if err := ovsdb.Load(ctx, db, &rows); err != nil {
		t.Fatal(err)
	}
	w := &world{dps: map[ovsdb.UUID]sb.DatapathBinding{}, flows: map[ovsdb.UUID]map[string][]want{}, constants: map[string][]string{}, stages: map[string]bool{}}
	for _, d := range rows.Datapaths {
		w.dps[d.UUID] = d
	}
	for _, p := range rows.Ports {
		w.port(p)
	}
	groups := map[ovsdb.UUID][]ovsdb.UUID{}
	for _, g := range rows.Groups {
		groups[g.UUID] = g.Datapaths
	}
	for _, f := range rows.Flows {
		at := slices.Clone([]ovsdb.UUID(f.LogicalDatapath))
		for _, g := range f.LogicalDPGroup {
			at = append(at, groups[g]...)
		}
		w.flow(f, at)
	}
	for _, b := range rows.Balancers {
		w.balancer(b)
	}
	// Map order and the order of rows must not change what a seed draws.
	slices.SortFunc(w.services, func(a, b want) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	slices.SortFunc(w.places, func(a, b place) int { return strings.Compare(a.name, b.name) })
	for _, list := range []*[]string{&w.macs, &w.ip4, &w.ip6} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	for field, list := range w.constants {
		slices.Sort(list)
		w.constants[field] = slices.Compact(list)
	}
	for _, stages := range w.flows {
		for _, list := range stages {
			slices.SortFunc(list, func(a, b want) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	return w
}

func (w *world) port(p sb.PortBinding) {
	at := place{name: p.LogicalPort, datapath: p.Datapath, peer: p.Options["peer"], friendly: p.ExternalIDs["neutron:port_name"]}
	at.router = w.dps[p.Datapath].ExternalIDs["logical-router"] != ""
	if at.friendly == "" {
		at.friendly = p.ExternalIDs["name"]
	}
	for _, text := range append(slices.Clone([]string(p.MAC)), p.PortSecurity...) {
		for i, word := range strings.Fields(text) {
			addr, err := netip.ParsePrefix(word)
			if err != nil {
				if a, err := netip.ParseAddr(word); err == nil {
					addr = netip.PrefixFrom(a, a.BitLen())
				}
			}
			switch {
			case i == 0 && strings.Count(word, ":") == 5:
				if at.mac == "" {
					at.mac = word
				}
				w.macs = append(w.macs, word)
			case addr.IsValid() && addr.Addr().Is4():
				at.ip4, w.ip4 = append(at.ip4, addr.Addr().String()), append(w.ip4, addr.Addr().String())
			case addr.IsValid():
				at.ip6, w.ip6 = append(at.ip6, addr.Addr().String()), append(w.ip6, addr.Addr().String())
			}
		}
	}
	w.places = append(w.places, at)
}

func (w *world) balancer(b sb.LoadBalancer) {
	kind := strings.Join(b.Protocol, "")
	if kind == "" {
		kind = "tcp"
	}
	for vip := range b.VIPs {
		to, err := netip.ParseAddrPort(vip)
		if err != nil {
			a, err := netip.ParseAddr(vip)
			if err != nil {
				continue // a template
			}
			to = netip.AddrPortFrom(a, 80)
		}
		field := map[bool]string{true: "ip4.dst", false: "ip6.dst"}[to.Addr().Is4()]
		w.services = append(w.services, want{kind: kind, state: "new", fields: map[string]string{field: to.Addr().String(), kind + ".dst": fmt.Sprint(to.Port())}})
	}
}

var (
	// compared finds FIELD == CONSTANT and FIELD == {CONSTANT, ...} in a match.
	compared = regexp.MustCompile(`(!?[a-z][a-z0-9_.]*) == (\{[^}]*\}|"[^"]*"|[0-9a-fA-F:./]+)`)
	// Later releases match load balancers by ports and protocols that they saved in registers.
	savedPort  = regexp.MustCompile(`reg[0-9]\[0\.\.15\] == ([0-9]+)`)
	savedProto = regexp.MustCompile(`reg[0-9]\[16\.\.23\] == (6|17|132)`)
	word       = regexp.MustCompile(`[a-z][a-z0-9_.]*`)
)

// kindOf tells by a word of a match which kind of packet is meant.
var kindOf = map[string]string{
	"arp": "arp", "nd": "nd_ns", "nd_ns": "nd_ns", "nd_na": "nd_na", "nd_rs": "nd_rs", "nd_ra": "nd_ra", "tcp": "tcp", "udp": "udp", "sctp": "sctp",
	"icmp4": "icmp4", "icmp6": "icmp6", "igmp": "igmp", "mldv1": "mldv1", "mldv2": "mldv2", "rarp": "rarp",
}

func (w *world) flow(f sb.LogicalFlow, at []ovsdb.UUID) {
	stage := f.ExternalIDs["stage-name"]
	if f.Match != "1" || f.Actions != "next;" {
		w.stages[stage] = true
	}
	asked := want{fields: map[string]string{}}
	for _, name := range word.FindAllString(f.Match, -1) {
		kind := kindOf[name]
		if kind == "" {
			kind = kindOf[strings.Split(name, ".")[0]]
		}
		if kind != "" && asked.kind == "" {
			asked.kind = kind
		}
	}
	for _, m := range compared.FindAllStringSubmatch(f.Match, -1) {
		field, values := m[1], strings.Split(strings.Trim(m[2], "{}"), ", ")
		switch {
		case field == "inport":
			asked.inport = strings.Trim(values[0], `"`)
		case packetField(field):
			w.constants[field] = append(w.constants[field], values...)
			asked.fields[field] = values[len(f.Match)%len(values)]
		}
	}
	if m := savedPort.FindStringSubmatch(f.Match); m != nil && asked.kind == "" {
		asked.kind = "tcp"
		if p := savedProto.FindStringSubmatch(f.Match); p != nil {
			asked.kind = map[string]string{"6": "tcp", "17": "udp", "132": "sctp"}[p[1]]
		}
		asked.fields[asked.kind+".dst"] = m[1]
	}
	if asked.inport == "" && len(asked.fields) == 0 && asked.kind == "" {
		return
	}
	for _, state := range []string{"new", "est", "rel", "rpl"} {
		if strings.Contains(" "+f.Match, " ct."+state) || strings.Contains(f.Match, "(ct."+state) {
			asked.state = strings.TrimPrefix(asked.state+","+state, ",")
		}
	}
	for _, d := range at {
		if w.flows[d] == nil {
			w.flows[d] = map[string][]want{}
		}
		w.flows[d][stage] = append(w.flows[d][stage], asked)
	}
}

// packetField reports whether a field is of the packet itself, not of its way.
func packetField(name string) bool {
	group, _, _ := strings.Cut(name, ".")
	return slices.Contains([]string{"eth", "ip4", "ip6", "ip", "tcp", "udp", "sctp", "arp", "rarp", "nd", "icmp4", "icmp6", "vlan"}, group) && name != "ip4" && name != "ip6"
}

// A draw makes microflows.
type draw struct {
	*world
	r      *rand.Rand
	names  []ovsdb.UUID
	fields map[string]string
}

func newDraw(w *world, r *rand.Rand) *draw {
	names := slices.SortedFunc(maps.Keys(w.dps), func(a, b ovsdb.UUID) int { return w.dps[a].TunnelKey - w.dps[b].TunnelKey })
	return &draw{world: w, r: r, names: names}
}

func (d *draw) chance(percent int) bool { return d.r.IntN(100) < percent }

// one draws a member, or nothing if there is none.
func one[T any](r *rand.Rand, list []T) (v T) {
	if len(list) > 0 {
		v = list[r.IntN(len(list))]
	}
	return v
}

// kinds of packets, the frequent ones more than once.
var kinds = strings.Fields(`tcp tcp tcp tcp tcp tcp tcp tcp udp udp udp udp udp icmp4 icmp4 icmp4 icmp6 icmp6 icmp6 sctp sctp arp arp nd_ns nd_ns nd_na nd_rs nd_ra dhcp dhcp dhcp6 dns igmp mldv1 mldv2 rarp
	ip4 ip6 other multicast4 multicast6 broadcast fragment bfd traceroute error4 error6`)

// draw makes one microflow.
func (d *draw) draw() generated {
	at, via, asked := d.aim()
	d.fields = map[string]string{}
	predicate := d.packet(asked.fit(one(d.r, kinds)), at, asked)
	maps.Copy(d.fields, asked.fields)
	if via != "" {
		d.fields["eth.dst"] = via
	}
	for _, field := range slices.Sorted(maps.Keys(d.fields)) {
		if list := d.constants[field]; len(list) > 0 && d.chance(3) {
			d.fields[field] = one(d.r, list)
		}
	}
	if d.chance(2) {
		d.fields["vlan.vid"] = one(d.r, []string{"42", "100", "7"})
	}
	m := generated{options: d.options(asked.state), conditions: append([]string{`inport == "` + at.name + `"`}, predicate...)}
	for _, field := range slices.Sorted(maps.Keys(d.fields)) {
		m.conditions = append(m.conditions, field+" == "+d.fields[field])
	}
	if m.datapath = d.datapath(at); m.datapath != "" && at.friendly != "" && d.chance(20) {
		m.conditions[0] = `inport == "` + at.friendly + `"` // known in a datapath only
	}
	if d.chance(4) {
		d.spoil(&m, at)
	}
	return m
}

// aim draws where a packet begins, by whose MAC address it goes (empty: any) and what it should have: mostly what some
// flow of some stage asks for, or what goes to a service or another switch.
func (d *draw) aim() (at place, via string, asked want) {
	switch n := d.r.IntN(100); {
	case n < 45:
		stage := one(d.r, slices.Sorted(maps.Keys(d.stages)))
		var there []ovsdb.UUID
		for _, id := range d.names {
			if len(d.flows[id][stage]) > 0 {
				there = append(there, id)
			}
		}
		if len(there) == 0 {
			return d.place(), "", want{}
		}
		id := one(d.r, there)
		at, via, asked = d.entry(id, one(d.r, d.flows[id][stage]))
	case n < 75:
		var routers []ovsdb.UUID
		for _, id := range d.names {
			if d.dps[id].ExternalIDs["logical-router"] != "" {
				routers = append(routers, id)
			}
		}
		asked = want{}
		if d.chance(55) {
			asked = one(d.r, d.services)
		}
		at, via, asked = d.entry(one(d.r, routers), asked)
	default:
		at = d.place()
	}
	if at.name == "" {
		return d.place(), "", asked
	}
	return at, via, asked
}

// entry draws where a packet begins that is to come to a datapath with what is asked for.
func (d *draw) entry(id ovsdb.UUID, asked want) (at place, via string, _ want) {
	var here, beside []place
	for _, p := range d.places {
		if p.datapath == id && !strings.HasPrefix(p.name, "cr-") {
			here = append(here, p)
		}
	}
	at = one(d.r, here)
	for _, p := range here {
		if p.name == asked.inport {
			at = p
		}
	}
	if !at.router {
		return at, "", asked
	}
	for _, p := range d.neighbours(d.named(at.peer)) {
		if !d.named(p.peer).router {
			beside = append(beside, p)
		}
	}
	if len(beside) > 0 && d.chance(65) {
		via = at.mac
		at, asked.inport, asked.fields = one(d.r, beside), "", maps.Clone(asked.fields)
		delete(asked.fields, "eth.dst")
		delete(asked.fields, "eth.src")
		return at, via, asked
	}
	return at, at.mac, asked
}

// fit is a kind of packet that can have what is asked for: the one drawn if it can.
func (w want) fit(kind string) string {
	if w.kind != "" {
		return w.kind
	}
	transport := []string{"tcp", "udp", "sctp"}
	switch {
	case w.fields["ip.proto"] != "" && w.asksFor("ip6"):
		return "ip6"
	case w.fields["ip.proto"] != "":
		return "ip4"
	case w.asksFor("ip6") && !slices.Contains(append(transport, "icmp6", "nd_ns", "nd_na", "nd_rs", "ip6", "mldv1", "mldv2", "dhcp6", "multicast6"), kind):
		return "icmp6"
	case w.asksFor("ip4") && !slices.Contains(append(transport, "icmp4", "ip4", "igmp", "dhcp", "dns", "bfd", "fragment", "traceroute", "multicast4"), kind):
		return "tcp"
	case w.asksFor("ip") && !slices.Contains(append(transport, "icmp4", "icmp6"), kind):
		return "udp"
	}
	return kind
}

// asksFor reports whether there is a condition on a field of a group.
func (w want) asksFor(group string) bool {
	for field := range w.fields {
		if strings.HasPrefix(field, group+".") {
			return true
		}
	}
	return false
}

// place draws a datapath, mostly a switch, and then one of its ports, so that the big ones do not get all the packets.
func (d *draw) place() place {
	router := d.chance(25)
	for {
		id := one(d.r, d.names)
		var here []place
		for _, p := range d.places {
			if p.datapath == id && p.router == router && !strings.HasPrefix(p.name, "cr-") {
				here = append(here, p)
			}
		}
		if len(here) > 0 {
			return one(d.r, here)
		}
	}
}

// datapath names the datapath of a port in one of the ways that ovn-trace knows, or not at all.
func (d *draw) datapath(at place) string {
	row := d.dps[at.datapath]
	switch d.r.IntN(8) {
	case 0:
		return string(row.UUID)
	case 1:
		return string(row.UUID)[:4+d.r.IntN(8)]
	case 2:
		if name := row.ExternalIDs["name2"]; name != "" {
			return name
		}
		return row.ExternalIDs["name"]
	case 3, 4:
		return row.ExternalIDs["name"]
	}
	return ""
}

func (d *draw) options(state string) []string {
	var options []string
	switch d.r.IntN(12) {
	case 0:
		options = append(options, "--summary")
	case 1:
		options = append(options, "--minimal")
	case 2:
		options = append(options, "--all")
	case 3:
		options = append(options, "--detailed", "--minimal")
	case 4:
		options = append(options, "--detailed")
	}
	switch d.r.IntN(12) {
	case 0:
		options = append(options, "--no-friendly-names")
	case 1:
		options = append(options, "--friendly-names")
	}
	if state != "" && d.chance(75) {
		for range 1 + d.r.IntN(3) {
			options = append(options, "--ct="+state)
		}
	} else if d.chance(45) {
		for range 1 + d.r.IntN(5) {
			options = append(options, "--ct="+one(d.r, states))
		}
	}
	switch d.r.IntN(10) {
	case 0:
		options = append(options, "--lb-dst="+one(d.r, d.ip4)+one(d.r, []string{"", ":8080", ":1"}))
	case 1:
		options = append(options, fmt.Sprintf("--select-id=%d", 1+d.r.IntN(3)))
	}
	return options
}

// states are answers of conntrack; new and est are the usual ones.
var states = strings.Fields("new new new est est trk est,rpl new,rel est,rpl,dnat est,snat inv trk,new rel,rpl est,dnat")

// spoil makes a microflow wrong in one of the ways that people get it wrong.
func (d *draw) spoil(m *generated, at place) {
	text := m.text()
	switch d.r.IntN(14) {
	case 0:
		m.broken = strings.Replace(text, at.name, "nope", 1)
	case 1:
		m.datapath, m.broken = "", strings.Join(m.conditions[1:], " && ")+" && ip.ttl == 3"
	case 2:
		m.datapath = "no-such-datapath"
	case 3:
		m.broken = text + " && ip4 && ip6"
	case 4:
		m.broken = m.conditions[0] + " && ip"
	case 5:
		m.broken = text + " && ip.bogus == 1"
	case 6:
		m.broken = text + " &&"
	case 7:
		m.broken = m.conditions[0] + ` && ip4 && ip4.src == {10.1.1.1, 10.1.1.2} && ip.ttl == 64`
	case 8:
		m.broken = m.conditions[0] + ` && (tcp || udp) && ip4`
	case 9:
		m.broken = text + ` && inport == "` + one(d.r, d.places).name + `"`
	case 10:
		m.broken = m.conditions[0] + ` && ip4 && ip4.dst == $no_such_set`
	case 11:
		m.broken = m.conditions[0] + " && ip4.src == 10.0.0.0/8 && ip.ttl > 3"
	case 12:
		m.broken = strings.Replace(text, " && ", " || ", 1)
	case 13:
		m.broken = m.conditions[0] + " && tcp.dst == 99999 && eth.src == 1.2.3.4"
	}
}

// own are the addresses of a sender: its own, seldom those of another. At a router that is a neighbour of the port.
func (d *draw) own(at place) (mac, ip4, ip6 string) {
	mac, ip4, ip6 = at.mac, one(d.r, at.ip4), one(d.r, at.ip6)
	if at.router {
		peer := d.named(at.peer)
		from := one(d.r, d.neighbours(peer))
		mac, ip4, ip6 = from.mac, one(d.r, from.ip4), one(d.r, from.ip6)
	} else if peer := d.named(at.peer); peer.router { // the router's own, or what it forwards
		mac, ip4, ip6 = peer.mac, one(d.r, peer.ip4), one(d.r, peer.ip6)
		if behind := one(d.r, d.behind(peer.datapath)); d.chance(70) {
			ip4, ip6 = one(d.r, behind.ip4), one(d.r, behind.ip6)
		}
	}
	if mac == "" || d.chance(4) {
		mac = one(d.r, d.macs)
	}
	if ip4 == "" || d.chance(4) {
		ip4 = one(d.r, d.ip4)
	}
	if ip6 == "" || d.chance(4) {
		ip6 = one(d.r, d.ip6)
	}
	return mac, ip4, ip6
}

// named is the port of a name, the zero place if there is none.
func (d *draw) named(name string) place {
	i := slices.IndexFunc(d.places, func(p place) bool { return p.name == name && name != "" })
	if i < 0 {
		return place{}
	}
	return d.places[i]
}

// neighbours are the other ports of a port's datapath.
func (d *draw) neighbours(at place) (near []place) {
	for _, p := range d.places {
		if p.datapath == at.datapath && p.name != at.name && p.mac != "" {
			near = append(near, p)
		}
	}
	return near
}

// behind are the ports of the switches of a router, and the router's own.
func (d *draw) behind(router ovsdb.UUID) (all []place) {
	for _, p := range d.places {
		if p.datapath != router {
			continue
		}
		all = append(all, p)
		if sw := d.named(p.peer); sw.name != "" {
			all = append(all, d.neighbours(sw)...)
		}
	}
	return all
}

// elsewhere are addresses behind no port: of nobody, or of the world outside.
var (
	elsewhere4 = strings.Fields("203.0.113.10 203.0.113.10 203.0.113.99 10.80.1.2 10.81.0.1 10.82.0.1 192.0.2.20 192.0.2.10 198.18.5.5 198.51.100.7 10.60.1.1 10.70.0.7 172.30.0.1")
	elsewhere6 = strings.Fields("2001:db8:113::10 2001:db8:113::10 fd00:80::1 2001:db8:99::9 fe80::1")
)

// far are the addresses of a receiver: a neighbour on the switch, or somebody behind a router, by its MAC address.
func (d *draw) far(at place) (mac, ip4, ip6 string) {
	near := d.neighbours(at)
	to := one(d.r, near)
	mac, ip4, ip6 = to.mac, one(d.r, to.ip4), one(d.r, to.ip6)
	via := at
	if !at.router && d.chance(65) {
		for _, i := range d.r.Perm(len(near)) {
			if peer := d.named(near[i].peer); peer.router {
				via = peer
			}
		}
	}
	if via.router {
		mac, to = via.mac, one(d.r, d.behind(via.datapath))
		ip4, ip6 = one(d.r, to.ip4), one(d.r, to.ip6)
	}
	switch d.r.IntN(12) {
	case 0, 1, 2: // addresses that flows ask for: of services, of translations, of routers
		ip4, ip6 = one(d.r, d.constants["ip4.dst"]), one(d.r, d.constants["ip6.dst"])
	case 3, 4:
		ip4, ip6 = one(d.r, elsewhere4), one(d.r, elsewhere6)
	}
	switch {
	case mac == "" || d.chance(3):
		mac = one(d.r, append([]string{"00:00:5e:00:53:99"}, d.macs...))
	case d.chance(3):
		mac, ip4 = "ff:ff:ff:ff:ff:ff", "255.255.255.255"
	}
	if ip4 == "" || strings.Contains(ip4, "/") {
		ip4 = one(d.r, elsewhere4)
	}
	if ip6 == "" || strings.Contains(ip6, "/") {
		ip6 = one(d.r, elsewhere6)
	}
	return mac, ip4, ip6
}

// packet fills in the fields of a packet of a kind and says which predicates come before them.
func (d *draw) packet(kind string, at place, asked want) []string {
	mac, src4, src6 := d.own(at)
	far, dst4, dst6 := d.far(at)
	f := d.fields
	f["eth.src"], f["eth.dst"] = mac, far
	v4 := func() {
		f["ip4.src"], f["ip4.dst"] = src4, dst4
		d.ttl()
	}
	v6 := func() {
		f["ip6.src"], f["ip6.dst"] = src6, dst6
		d.ttl()
	}
	switch kind {
	case "tcp", "udp", "sctp":
		f[kind+".src"], f[kind+".dst"] = fmt.Sprint(1024+d.r.IntN(60000)), one(d.r, d.ports(kind))
		if asked.asksFor("ip6") || !asked.asksFor("ip4") && d.chance(35) {
			v6()
			return []string{"ip6", kind}
		}
		v4()
		if kind == "tcp" && d.chance(20) {
			f["tcp.flags"] = one(d.r, []string{"2", "0x12", "4", "0x10"})
		}
		return []string{"ip4", kind}
	case "icmp4", "error4", "traceroute":
		v4()
		f["icmp4.type"], f["icmp4.code"] = one(d.r, []string{"8", "8", "0", "3", "11"}), "0"
		if kind == "traceroute" {
			f["ip.ttl"] = one(d.r, []string{"1", "0", "2"})
		}
		return []string{"ip4", "icmp4"}
	case "icmp6", "error6":
		v6()
		f["icmp6.type"], f["icmp6.code"] = one(d.r, []string{"128", "128", "129", "1", "2"}), "0"
		return []string{"icmp6"}
	}
	if p := d.discovery(kind, mac, far, src4, dst4, src6, dst6); p != nil {
		return p
	}
	return d.service(kind, v4, v6)
}

func (d *draw) ttl() {
	if !d.chance(6) { // without it the time to live is 0
		d.fields["ip.ttl"] = one(d.r, []string{"64", "64", "64", "64", "64", "64", "64", "64", "1", "2", "255"})
	}
}

func (d *draw) ports(kind string) []string {
	return append(slices.Clone(d.constants[kind+".dst"]), "80", "53", "22", "8080", "443", "5001")
}

// discovery fills in packets by which neighbours and routers find each other.
func (d *draw) discovery(kind, mac, far, src4, dst4, src6, dst6 string) []string {
	f := d.fields
	switch kind {
	case "arp", "rarp":
		f[kind+".op"] = one(d.r, []string{"1", "1", "1", "2"})
		f[kind+".sha"], f[kind+".spa"], f[kind+".tpa"] = mac, src4, dst4
		if f[kind+".op"] == "1" && d.chance(80) {
			f["eth.dst"] = "ff:ff:ff:ff:ff:ff"
		} else {
			f[kind+".tha"] = far
		}
		return []string{kind}
	case "nd_ns":
		f["ip6.src"], f["nd.target"], f["nd.sll"], f["ip.ttl"] = src6, dst6, mac, "255"
		f["ip6.dst"], f["eth.dst"] = solicited(dst6)
		if d.chance(15) {
			f["ip6.dst"], f["eth.dst"] = dst6, far
		}
		return []string{kind}
	case "nd_na":
		f["ip6.src"], f["ip6.dst"], f["nd.target"], f["nd.tll"], f["ip.ttl"] = src6, dst6, src6, mac, "255"
		return []string{kind}
	case "nd_rs":
		f["ip6.src"], f["ip6.dst"], f["eth.dst"], f["ip.ttl"] = src6, "ff02::2", "33:33:00:00:00:02", "255"
		return []string{kind}
	case "nd_ra":
		f["ip6.src"], f["ip6.dst"], f["eth.dst"], f["ip.ttl"] = src6, "ff02::1", "33:33:00:00:00:01", "255"
		return []string{kind}
	}
	return nil
}

// solicited is the solicited-node address of an IPv6 address with its MAC address, RFC 4291 section 2.7.1.
func solicited(text string) (ip, mac string) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		a = netip.IPv6Unspecified()
	}
	b := a.As16()
	return fmt.Sprintf("ff02::1:ff%02x:%02x%02x", b[13], b[14], b[15]), fmt.Sprintf("33:33:ff:%02x:%02x:%02x", b[13], b[14], b[15])
}

// service fills in what talks to a service of the network itself, and what is rare.
func (d *draw) service(kind string, v4, v6 func()) []string {
	f := d.fields
	switch kind {
	case "dhcp":
		v4()
		f["udp.src"], f["udp.dst"] = "68", "67"
		if d.chance(75) {
			f["ip4.src"], f["ip4.dst"], f["eth.dst"] = "0.0.0.0", "255.255.255.255", "ff:ff:ff:ff:ff:ff"
		}
		return []string{"ip4", "udp"}
	case "dhcp6":
		v6()
		f["udp.src"], f["udp.dst"], f["ip6.dst"], f["eth.dst"] = "546", "547", "ff02::1:2", "33:33:00:01:00:02"
		return []string{"ip6", "udp"}
	case "dns", "bfd":
		v4()
		f["udp.src"], f["udp.dst"] = "40000", map[string]string{"dns": "53", "bfd": "3784"}[kind]
		return []string{"ip4", "udp"}
	case "igmp", "multicast4":
		v4()
		f["ip4.dst"] = one(d.r, []string{"224.0.0.1", "224.0.0.22", "239.1.1.5", "239.9.9.9"})
		f["eth.dst"] = "01:00:5e:01:01:05"
		if kind == "igmp" {
			return []string{"igmp"}
		}
		f["udp.dst"] = "5001"
		return []string{"ip4", "udp"}
	case "mldv1", "mldv2", "multicast6":
		v6()
		f["ip6.dst"] = one(d.r, []string{"ff02::16", "ff02::1", "ff1e::5", "ff05::9", "ff0e::101"})
		f["eth.dst"] = "33:33:00:00:00:16"
		if kind == "multicast6" {
			f["udp.dst"] = "5001"
			return []string{"ip6", "udp"}
		}
		f["ip.ttl"], f["icmp6.type"] = "1", map[string]string{"mldv1": "131", "mldv2": "143"}[kind]
		return []string{"icmp6"}
	case "fragment":
		v4()
		f["ip.frag"] = one(d.r, []string{"1", "3"})
		f["udp.dst"] = "53"
		return []string{"ip4", "udp"}
	case "broadcast":
		v4()
		f["eth.dst"], f["udp.dst"] = "ff:ff:ff:ff:ff:ff", "137"
		return []string{"ip4", "udp"}
	case "ip6":
		v6()
		f["ip.proto"] = one(d.r, []string{"47", "89", "50"})
		return []string{"ip6"}
	case "other":
		f["eth.type"] = one(d.r, []string{"0x88cc", "0x1234", "0x8847", "0x8100"})
		return nil
	}
	v4()
	f["ip.proto"] = one(d.r, []string{"47", "89", "50"})
	if d.chance(50) {
		f["ip.dscp"] = one(d.r, []string{"10", "46", "0"})
	}
	return []string{"ip4"}
}
