package northbound

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var NBDuplicateOrConflictingConfig = &doctor.Check{
	Name:     "nb-duplicate-or-conflicting-config",
	Category: "nb",
	Doc: `Two rows of the Northbound conflict

ovn-nbctl refuses many of these; a CMS that writes rows directly is not stopped. Of two rows
that claim the same thing OVN uses one, and which one is undefined.`,
	Settle: true,
	Run: func(p *doctor.Pass) {
		for z, l := range p.Northbounds() {
			sameName(p, l)
			onTwo(p, l)
			sameTunnelKey(p, l)
			natOf := floating(l)
			for i := range l.Switches {
				s := segment{Pass: p, l: l, s: &l.Switches[i]}
				s.gather(natOf)
				s.report()
			}
			sameExternal(p, l, natOf)
			sameVIP(p, z, l)
		}
	},
}

// sameName reports a switch port and a router port with the same name.
func sameName(p *doctor.Pass, l *facts.Logical) {
	for rp := range doctor.Each(l.RouterPorts) {
		sp := l.SwitchPort[rp.Name]
		if sp == nil {
			continue
		}
		p.Report(doctor.Finding{
			Object: doctor.PortObject(rp.Name),
			Reason: "name",
			Title:  fmt.Sprintf("a switch port and a router port are both named %s", rp.Name),
			Evidence: []doctor.Evidence{
				doctor.NBRow("Logical_Switch_Port", sp.UUID, "name=%s, type=%s, addresses=%v", sp.Name, cmp.Or(sp.Type, `""`), []string(sp.Addresses)),
				doctor.NBRow("Logical_Router_Port", rp.UUID, "name=%s, networks=%v", rp.Name, []string(rp.Networks)),
			},
			Cause:  "names of logical ports must be unique over all switches and routers",
			Effect: ignoresOne,
			Next:   "recreate one of the two under another name",
		})
	}
}

const ignoresOne = "ovn-northd ignores one of the two (its log: duplicate logical port)"

// onTwo reports ports that are on two switches, or on two routers.
func onTwo(p *doctor.Pass, l *facts.Logical) {
	report := func(kind, table, port string, id ovsdb.UUID, a, b string) {
		p.Report(doctor.Finding{
			Object:   doctor.PortObject(port),
			Also:     []doctor.Object{{Kind: kind, Name: a}, {Kind: kind, Name: b}},
			Reason:   "two-datapaths",
			Title:    fmt.Sprintf("port %s is on %s %s and %s", port, map[string]string{"switch": "switches", "router": "routers"}[kind], a, b),
			Evidence: []doctor.Evidence{doctor.NBRow(table, id, "name=%s, in the column ports of both", port)},
			Cause:    "a port can be on one " + kind + " only",
			Effect:   ignoresOne,
			Next:     fixes.Command("remove it from the wrong one: ovn-nbctl remove Logical_%s %s ports %s", strings.ToUpper(kind[:1])+kind[1:], b, id),
		})
	}
	for s := range doctor.Each(l.Switches) {
		for _, port := range l.PortsOf[s.UUID] {
			if first := l.SwitchOf[port.UUID]; first != s {
				report("switch", "Logical_Switch_Port", port.Name, port.UUID, first.Name, s.Name)
			}
		}
	}
	for r := range doctor.Each(l.Routers) {
		for _, port := range l.RouterPortsOf[r.UUID] {
			if first := l.RouterOf[port.UUID]; first != r {
				report("router", "Logical_Router_Port", port.Name, port.UUID, first.Name, r.Name)
			}
		}
	}
}

const tunnelKey = "requested-tnl-key"

// sameTunnelKey reports two requests for the same tunnel key.
func sameTunnelKey(p *doctor.Pass, l *facts.Logical) {
	type request struct {
		object doctor.Object
		table  string
		id     ovsdb.UUID
		column string
	}
	among := func(what string, seen map[string]request, key string, a request) {
		if key == "" {
			return
		}
		first, taken := seen[key]
		if !taken {
			seen[key] = a
			return
		}
		row := func(a request) doctor.Evidence {
			return doctor.NBRow(a.table, a.id, "name=%s, %s:%s=%s", a.object.Name, a.column, tunnelKey, key)
		}
		p.Report(doctor.Finding{
			Object:   first.object,
			Also:     []doctor.Object{a.object},
			Reason:   "tunnel-key",
			Title:    fmt.Sprintf("%s and %s request the same tunnel key %s", first.object, a.object, key),
			Evidence: []doctor.Evidence{row(first), row(a)},
			Cause:    "a tunnel key must be unique among " + what,
			Effect:   "one of the two gets another key than it requests (the log of ovn-northd: requests same tunnel key); between zones of an interconnect its packets are lost",
			Next:     "give one of the two another key",
		})
	}
	datapaths := map[string]request{}
	for s := range doctor.Each(l.Switches) {
		among("switches and routers", datapaths, s.OtherConfig[tunnelKey], request{doctor.SwitchObject(s), "Logical_Switch", s.UUID, "other_config"})
		ports := map[string]request{}
		for _, port := range l.PortsOf[s.UUID] {
			among("the ports of a switch", ports, port.Options[tunnelKey], request{doctor.PortObject(port.Name), "Logical_Switch_Port", port.UUID, "options"})
		}
	}
	for r := range doctor.Each(l.Routers) {
		among("switches and routers", datapaths, r.Options[tunnelKey], request{doctor.RouterObject(r), "Logical_Router", r.UUID, "options"})
		ports := map[string]request{}
		for _, port := range l.RouterPortsOf[r.UUID] {
			among("the ports of a router", ports, port.Options[tunnelKey], request{doctor.PortObject(port.Name), "Logical_Router_Port", port.UUID, "options"})
		}
	}
}

// floating returns, by router, the NAT rows whose address the router replies to ARP for.
func floating(l *facts.Logical) map[ovsdb.UUID][]*nb.NAT {
	rows := make(map[ovsdb.UUID]*nb.NAT, len(l.NAT))
	for n := range doctor.Each(l.NAT) {
		if n.Type == "dnat_and_snat" && n.ExternalPortRange == "" && n.Match == "" && len(n.AllowedExtIPs) == 0 && len(n.ExemptedExtIPs) == 0 {
			rows[n.UUID] = n
		}
	}
	out := map[ovsdb.UUID][]*nb.NAT{}
	for r := range doctor.Each(l.Routers) {
		for _, id := range r.NAT {
			if n := rows[id]; n != nil {
				out[r.UUID] = append(out[r.UUID], n)
			}
		}
	}
	return out
}

// sameExternal reports two NAT rows of a router with the same external address.
func sameExternal(p *doctor.Pass, l *facts.Logical, natOf map[ovsdb.UUID][]*nb.NAT) {
	for r := range doctor.Each(l.Routers) {
		seen := map[string]*nb.NAT{}
		for _, n := range natOf[r.UUID] {
			first := seen[n.ExternalIP]
			if first == nil {
				seen[n.ExternalIP] = n
				continue
			}
			if first.LogicalIP == n.LogicalIP {
				continue
			}
			p.Report(doctor.Finding{
				Object:   doctor.RouterObject(r),
				Reason:   "external-address",
				Title:    fmt.Sprintf("router %s translates %s to two addresses, %s and %s", doctor.RouterLabel(r), n.ExternalIP, first.LogicalIP, n.LogicalIP),
				Evidence: []doctor.Evidence{natRow(first), natRow(n)},
				Cause:    "two NAT rows have the same external address",
				Effect:   "packets to " + n.ExternalIP + " reach one of the two; which one is undefined",
				Next:     fixes.Command("delete the wrong one: ovn-nbctl remove Logical_Router %s nat %s", r.Name, n.UUID),
			})
		}
	}
}

// A claim is a port or router on a switch that replies to ARP for an address.
type claim struct {
	object doctor.Object
	row    func() doctor.Evidence // rarely needed
	owner  string                 // claims of one owner do not conflict
	mac    string
	port   *nb.LogicalSwitchPortBrief // of a switch port
	router bool                       // a router's own
}

// A segment is a switch and the address claims on it.
type segment struct {
	*doctor.Pass
	l      *facts.Logical
	s      *nb.LogicalSwitch
	byIP   map[netip.Addr]*claim
	byMAC  map[string]*claim
	shared map[[2]string]*conflict
	order  []*conflict
}

// A conflict is two claims of the same addresses.
type conflict struct {
	a, b      *claim
	addresses []string
}

func (s *segment) gather(natOf map[ovsdb.UUID][]*nb.NAT) {
	ports := s.l.PortsOf[s.s.UUID]
	s.byIP, s.byMAC, s.shared = make(map[netip.Addr]*claim, 2*len(ports)), make(map[string]*claim, len(ports)), map[[2]string]*conflict{}
	for _, port := range ports {
		if facts.Off(port.Enabled) {
			continue
		}
		if name := facts.RouterPortOf(port); name != "" {
			if rp := s.l.RouterPort[name]; rp != nil {
				s.router(rp, natOf)
			}
			continue
		}
		switch port.Type {
		case "", "localport", "external", "remote":
			s.port(port)
		}
	}
}

func (s *segment) port(port *nb.LogicalSwitchPortBrief) {
	row := func() doctor.Evidence {
		row := doctor.NBRow("Logical_Switch_Port", port.UUID, "%s: addresses=%q", port.Name, []string(port.Addresses))
		if slices.ContainsFunc(port.Addresses, func(a string) bool { return strings.Contains(a, "dynamic") }) {
			row.Says += fmt.Sprintf(", dynamic_addresses=%q", port.DynamicAddresses.Get())
		}
		return row
	}
	for _, a := range facts.PortAddresses(port) {
		c := &claim{object: doctor.PortObject(port.Name), owner: port.Name, mac: a.MAC, port: port, row: row}
		s.claimMAC(c)
		for _, ip := range a.IPs {
			s.claimIP(ip.Addr(), c)
		}
	}
}

func (s *segment) router(rp *nb.LogicalRouterPort, natOf map[ovsdb.UUID][]*nb.NAT) {
	r := s.l.RouterOf[rp.UUID]
	if r == nil || facts.Off(r.Enabled) || facts.Off(rp.Enabled) {
		return
	}
	networks := facts.Networks(rp)
	c := &claim{object: doctor.PortObject(rp.Name), owner: "router " + string(r.UUID), mac: strings.ToLower(rp.MAC), router: true,
		row: func() doctor.Evidence {
			return doctor.NBRow("Logical_Router_Port", rp.UUID, "%s of router %s: mac=%s, networks=%v", rp.Name, r.Name, rp.MAC, []string(rp.Networks))
		}}
	if len(networks) > 0 {
		first, taken := s.byIP[networks[0].Addr()]
		if !taken || first.mac != c.mac { // several routers share an address on purpose with one MAC
			s.claimMAC(c)
		}
	}
	for _, n := range networks {
		s.claimIP(n.Addr(), c)
	}
	for _, nat := range natOf[r.UUID] {
		a, err := netip.ParseAddr(nat.ExternalIP)
		if err != nil || !slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) }) {
			continue
		}
		s.claimIP(a, &claim{object: doctor.RouterObject(r), owner: c.owner, mac: c.mac, row: func() doctor.Evidence {
			row := natRow(nat)
			row.Says += " of router " + r.Name
			return row
		}})
	}
}

func (s *segment) claimIP(a netip.Addr, c *claim) {
	first, taken := s.byIP[a]
	if !taken {
		s.byIP[a] = c
		return
	}
	if first.router && c.router && first.mac == c.mac {
		return // several routers share the address on purpose
	}
	s.conflict(first, c, a.String())
}

func (s *segment) claimMAC(c *claim) {
	first, taken := s.byMAC[c.mac]
	if !taken {
		s.byMAC[c.mac] = c
		return
	}
	s.conflict(first, c, c.mac)
}

func (s *segment) conflict(a, b *claim, address string) {
	if a.owner == b.owner || a.port != nil && b.port != nil && (sameVM(a.port, b.port) || nested(a.port, b.port)) {
		return
	}
	key := [2]string{a.object.String(), b.object.String()}
	c := s.shared[key]
	if c == nil {
		c = &conflict{a: a, b: b}
		s.shared[key] = c
		s.order = append(s.order, c)
	}
	if !slices.Contains(c.addresses, address) {
		c.addresses = append(c.addresses, address)
	}
}

// sameVM reports whether two ports are the two sides of a live migration: pods of one VM, with the same addresses.
func sameVM(a, b *nb.LogicalSwitchPortBrief) bool {
	vm := func(name string) string {
		if !strings.Contains(name, "virt-launcher-") {
			return ""
		}
		return name[:strings.LastIndexByte(name, '-')]
	}
	name := vm(a.Name)
	return name != "" && name == vm(b.Name)
}

// nested reports whether one port is nested in the other, or both in the same one.
func nested(a, b *nb.LogicalSwitchPortBrief) bool {
	return a.ParentName.Get() == b.Name || b.ParentName.Get() == a.Name || len(a.ParentName) > 0 && a.ParentName.Get() == b.ParentName.Get()
}

func (s *segment) report() {
	for _, c := range s.order {
		a, b := c.a, c.b
		switch {
		case b.router && !a.router: // between a router and a port, the port is wrong
			a, b = b, a
		case a.router == b.router && a.object.Name < b.object.Name:
			a, b = b, a
		}
		s.Report(doctor.Finding{
			Object:   b.object,
			Also:     []doctor.Object{a.object, doctor.SwitchObject(s.s)},
			Reason:   "address",
			Title:    fmt.Sprintf("%s and %s on switch %s have the same address: %s", a.object, b.object, doctor.SwitchLabel(s.s), strings.Join(c.addresses, ", ")),
			Evidence: []doctor.Evidence{a.row(), b.row()},
			Cause:    "an address was given to two ports",
			Effect:   "packets to this address reach one of the two; which one is undefined",
			Next:     "give one of the two another address, in the CMS that owns it",
		})
	}
}

// A vipKey is a virtual IP as packets name it: protocol, address and port.
type vipKey struct {
	protocol string // empty: all protocols, for an address without a port
	at       netip.AddrPort
	text     string // for an invalid address
}

func vipKeyOf(lb *nb.LoadBalancer, v *facts.VIP) vipKey {
	switch protocol := cmp.Or(lb.Protocol.Get(), "tcp"); {
	case !v.Addr.IsValid():
		return vipKey{protocol: protocol, text: v.Key}
	case v.Port == 0:
		return vipKey{at: netip.AddrPortFrom(v.Addr, 0)}
	default:
		return vipKey{protocol: protocol, at: netip.AddrPortFrom(v.Addr, v.Port)}
	}
}

// String returns the protocol and the virtual IP.
func (k vipKey) String() string {
	switch {
	case k.text != "":
		return k.protocol + " " + k.text
	case k.at.Port() == 0:
		return k.at.Addr().String()
	}
	return k.protocol + " " + k.at.String()
}

// A vipOwner is a load balancer and the key in its column vips.
type vipOwner struct {
	lb  *nb.LoadBalancer
	vip string
}

// A vipIndex maps virtual IPs to their owners, for a group or for a switch's or router's load balancers.
type vipIndex map[vipKey]vipOwner

// sameVIP reports two load balancers of a switch or router with the same virtual IP and different backends.
func sameVIP(p *doctor.Pass, z *snapshot.Zone, l *facts.Logical) {
	at, ok := doctor.Need(p, doctor.NorthboundObject, func() (*facts.Placement, error) { return facts.PlacementOf(z) })
	if !ok {
		return
	}
	v := vipConflicts{Pass: p, at: at, groups: map[ovsdb.UUID]vipIndex{}, compared: map[[2]ovsdb.UUID]bool{}, found: map[[2]ovsdb.UUID]*vipConflict{}}
	for g := range doctor.Each(at.Groups) {
		v.groups[g.UUID] = v.index(g.LoadBalancer, doctor.Object{Kind: "load balancer group", Name: g.Name})
	}
	for s := range doctor.Each(l.Switches) {
		v.datapath(s.LoadBalancer, s.LoadBalancerGroup, doctor.SwitchObject(s))
	}
	for r := range doctor.Each(l.Routers) {
		v.datapath(r.LoadBalancer, r.LoadBalancerGroup, doctor.RouterObject(r))
	}
	slices.SortFunc(v.order, func(a, b *vipConflict) int {
		return cmp.Or(cmp.Compare(a.a.lb.Name, b.a.lb.Name), cmp.Compare(a.b.lb.Name, b.b.lb.Name), cmp.Compare(a.a.lb.UUID, b.a.lb.UUID), cmp.Compare(a.b.lb.UUID, b.b.lb.UUID))
	})
	for _, c := range v.order {
		v.report(c)
	}
}

type vipConflicts struct {
	*doctor.Pass
	at       *facts.Placement
	groups   map[ovsdb.UUID]vipIndex
	compared map[[2]ovsdb.UUID]bool // pairs of groups
	found    map[[2]ovsdb.UUID]*vipConflict
	order    []*vipConflict
}

// A vipConflict is two load balancers of a switch or router, and the first virtual IP they share.
type vipConflict struct {
	a, b  vipOwner
	key   string
	where doctor.Object
}

// index maps virtual IPs to owners; it records conflicts among the load balancers themselves.
func (v *vipConflicts) index(ids []ovsdb.UUID, where doctor.Object) vipIndex {
	index := make(vipIndex, 2*len(ids))
	for _, id := range ids {
		lb := v.at.LB[id]
		vips := v.at.VIPs[lb]
		for i := range vips {
			key, owner := vipKeyOf(lb, &vips[i]), vipOwner{lb, vips[i].Key}
			if first, taken := index[key]; taken {
				v.compare(first, owner, key, where)
			} else {
				index[key] = owner
			}
		}
	}
	return index
}

func (v *vipConflicts) datapath(own, groups []ovsdb.UUID, where doctor.Object) {
	if len(own) > 0 {
		index := v.index(own, where)
		for _, g := range groups {
			v.both(index, v.groups[g], where)
		}
	}
	for i, a := range groups {
		for _, b := range groups[i+1:] {
			if !v.compared[[2]ovsdb.UUID{a, b}] {
				v.compared[[2]ovsdb.UUID{a, b}] = true
				v.both(v.groups[a], v.groups[b], where)
			}
		}
	}
}

// both compares the owners of virtual IPs present in two indexes.
func (v *vipConflicts) both(a, b vipIndex, where doctor.Object) {
	if len(a) > len(b) {
		a, b = b, a
	}
	for key, owner := range a {
		if other, ok := b[key]; ok {
			v.compare(owner, other, key, where)
		}
	}
}

func (v *vipConflicts) compare(a, b vipOwner, key vipKey, where doctor.Object) {
	if a.lb == b.lb || sortedList(a.lb.VIPs[a.vip]) == sortedList(b.lb.VIPs[b.vip]) {
		return
	}
	if cmp.Or(cmp.Compare(a.lb.Name, b.lb.Name), cmp.Compare(a.lb.UUID, b.lb.UUID)) > 0 {
		a, b = b, a
	}
	pair := [2]ovsdb.UUID{a.lb.UUID, b.lb.UUID}
	c := v.found[pair]
	if c == nil {
		c = &vipConflict{a, b, key.String(), where}
		v.found[pair] = c
		v.order = append(v.order, c)
	}
	if text := key.String(); text < c.key {
		c.a, c.b, c.key = a, b, text
	}
}

func (v *vipConflicts) report(c *vipConflict) {
	a, b := c.a.lb, c.b.lb
	v.Report(doctor.Finding{
		Object: doctor.LoadBalancerObject(a),
		Also:   []doctor.Object{doctor.LoadBalancerObject(b), c.where},
		Reason: "vip",
		Title:  fmt.Sprintf("load balancers %s and %s of %s have the same virtual IP %s and different backends", a.Name, b.Name, c.where, c.key),
		Evidence: []doctor.Evidence{
			doctor.NBRow("Load_Balancer", a.UUID, "%s: vips:%s=%s", a.Name, c.a.vip, cmp.Or(a.VIPs[c.a.vip], `""`)),
			doctor.NBRow("Load_Balancer", b.UUID, "%s: vips:%s=%s", b.Name, c.b.vip, cmp.Or(b.VIPs[c.b.vip], `""`)),
		},
		Cause:  "the virtual IP was written twice; often one is left over",
		Effect: "a connection to " + c.key + " reaches the backends of one of the two; which one is undefined",
		Next:   fixes.Command("delete the one that is left over: ovn-nbctl lb-del %s %s", b.UUID, c.b.vip),
	})
}

// sortedList sorts a comma-separated list.
func sortedList(list string) string {
	words := strings.Split(list, ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}
