package doctor

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/evidence"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

var nbDuplicateOrConflictingConfig = &Check{
	Name:     "nb-duplicate-or-conflicting-config",
	Category: "nb",
	Doc: `Two rows of the Northbound contradict each other

ovn-nbctl refuses many of these; a management system that writes rows by itself is not
stopped. Of two rows that claim the same thing OVN takes one, and which one is left to
chance.`,
	Run: func(p *Pass) {
		p.persistent(func(p *Pass) {
			p.logicals(func(z *evidence.Zone, l *evidence.Logical) {
				p.sameName(l)
				p.onTwo(l)
				p.sameTunnelKey(l)
				natOf := floating(l)
				for i := range l.Switches {
					s := segment{Pass: p, l: l, s: &l.Switches[i]}
					s.gather(natOf)
					s.report()
				}
				p.sameExternal(l, natOf)
				p.sameVIP(z, l)
			})
		})
	},
}

// sameName reports a name that a switch port and a router port have.
func (p *Pass) sameName(l *evidence.Logical) {
	for i := range l.RouterPorts {
		rp := &l.RouterPorts[i]
		sp := l.SwitchPort[rp.Name]
		if sp == nil {
			continue
		}
		p.Report(Finding{
			Object: Object{Kind: "port", Name: rp.Name},
			Title:  fmt.Sprintf("a switch port and a router port are both named %s", rp.Name),
			Evidence: []Evidence{
				nbRow("Logical_Switch_Port", sp.UUID, "name=%s, type=%s, addresses=%v", sp.Name, orEmpty(sp.Type), []string(sp.Addresses)),
				nbRow("Logical_Router_Port", rp.UUID, "name=%s, networks=%v", rp.Name, []string(rp.Networks)),
			},
			Cause:  "names of logical ports have to be unique over switches and routers",
			Effect: "ovn-northd passes one of the two over (its log says: duplicate logical port)",
			Next:   "make one of the two again under another name",
		})
	}
}

// onTwo reports ports that two switches, or two routers, have.
func (p *Pass) onTwo(l *evidence.Logical) {
	report := func(kind, table, port string, id ovsdb.UUID, a, b string) {
		p.Report(Finding{
			Object: Object{Kind: "port", Name: port},
			Also:   []Object{{Kind: kind, Name: a}, {Kind: kind, Name: b}},
			Title:  fmt.Sprintf("port %s is on two: %s %s and %s", port, map[string]string{"switch": "switches", "router": "routers"}[kind], a, b),
			Evidence: []Evidence{
				nbRow(table, id, "name=%s, is in the column ports of both", port),
			},
			Cause:  "a port can be on one " + kind + " only",
			Effect: "ovn-northd passes one of the two over (its log says: duplicate logical port)",
			Next:   fmt.Sprintf("take it off the wrong one: ovn-nbctl remove Logical_%s %s ports %s", strings.ToUpper(kind[:1])+kind[1:], b, id),
		})
	}
	for i := range l.Switches {
		s := &l.Switches[i]
		for _, port := range l.PortsOf[s.UUID] {
			if first := l.SwitchOf[port.UUID]; first != s {
				report("switch", "Logical_Switch_Port", port.Name, port.UUID, first.Name, s.Name)
			}
		}
	}
	for i := range l.Routers {
		r := &l.Routers[i]
		for _, port := range l.RouterPortsOf[r.UUID] {
			if first := l.RouterOf[port.UUID]; first != r {
				report("router", "Logical_Router_Port", port.Name, port.UUID, first.Name, r.Name)
			}
		}
	}
}

const tunnelKey = "requested-tnl-key"

// sameTunnelKey reports requests for one tunnel key by two of a kind.
func (p *Pass) sameTunnelKey(l *evidence.Logical) {
	type asker struct {
		object Object
		row    Evidence
	}
	among := func(what string, seen map[string]asker, key string, a asker) {
		if key == "" {
			return
		}
		first, taken := seen[key]
		if !taken {
			seen[key] = a
			return
		}
		p.Report(Finding{
			Object:   first.object,
			Also:     []Object{a.object},
			Title:    fmt.Sprintf("%s and %s ask for the same tunnel key %s", first.object, a.object, key),
			Evidence: []Evidence{first.row, a.row},
			Cause:    "a tunnel key has to be unique among " + what,
			Effect:   "one of the two gets another key than it asks for (ovn-northd's log says: requests same tunnel key); between zones of an interconnect its packets go astray",
			Next:     "give one of the two another key",
		})
	}
	datapaths := map[string]asker{}
	for i := range l.Switches {
		s := &l.Switches[i]
		key := s.OtherConfig[tunnelKey]
		among("switches and routers", datapaths, key, asker{Object{Kind: "switch", Name: s.Name}, nbRow("Logical_Switch", s.UUID, "name=%s, other_config:%s=%s", s.Name, tunnelKey, key)})
		ports := map[string]asker{}
		for _, port := range l.PortsOf[s.UUID] {
			key := port.Options[tunnelKey]
			among("the ports of a switch", ports, key, asker{Object{Kind: "port", Name: port.Name}, nbRow("Logical_Switch_Port", port.UUID, "name=%s, options:%s=%s", port.Name, tunnelKey, key)})
		}
	}
	for i := range l.Routers {
		r := &l.Routers[i]
		key := r.Options[tunnelKey]
		among("switches and routers", datapaths, key, asker{Object{Kind: "router", Name: r.Name}, nbRow("Logical_Router", r.UUID, "name=%s, options:%s=%s", r.Name, tunnelKey, key)})
		ports := map[string]asker{}
		for _, port := range l.RouterPortsOf[r.UUID] {
			key := port.Options[tunnelKey]
			among("the ports of a router", ports, key, asker{Object{Kind: "port", Name: port.Name}, nbRow("Logical_Router_Port", port.UUID, "name=%s, options:%s=%s", port.Name, tunnelKey, key)})
		}
	}
}

// floating are the NAT rows by which a router answers for an address, by router.
func floating(l *evidence.Logical) map[ovsdb.UUID][]*nb.NAT {
	rows := make(map[ovsdb.UUID]*nb.NAT, len(l.NAT))
	for i := range l.NAT {
		if n := &l.NAT[i]; n.Type == "dnat_and_snat" && n.ExternalPortRange == "" && n.Match == "" && len(n.AllowedExtIPs) == 0 && len(n.ExemptedExtIPs) == 0 {
			rows[n.UUID] = n
		}
	}
	out := map[ovsdb.UUID][]*nb.NAT{}
	for i := range l.Routers {
		r := &l.Routers[i]
		for _, id := range r.NAT {
			if n := rows[id]; n != nil {
				out[r.UUID] = append(out[r.UUID], n)
			}
		}
	}
	return out
}

// sameExternal reports two rows of NAT of a router for one external address.
func (p *Pass) sameExternal(l *evidence.Logical, natOf map[ovsdb.UUID][]*nb.NAT) {
	for i := range l.Routers {
		r := &l.Routers[i]
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
			p.Report(Finding{
				Object:   Object{Kind: "router", Name: r.Name},
				Title:    fmt.Sprintf("router %s translates %s to two addresses, %s and %s", namedRouter(r), n.ExternalIP, first.LogicalIP, n.LogicalIP),
				Evidence: []Evidence{natRow(first), natRow(n)},
				Cause:    "two rows of NAT have the same external address",
				Effect:   "which of the two is reached under " + n.ExternalIP + " is left to chance",
				Next:     fixes.Command("delete the wrong one: ovn-nbctl remove Logical_Router %s nat %s", r.Name, n.UUID),
			})
		}
	}
}

// A claim is somebody on a switch who answers for an address.
type claim struct {
	object Object
	row    Evidence
	owner  string // claims of one owner do not conflict
	mac    string
	port   *evidence.LogicalSwitchPort // of a switch port
	router bool                        // a router's own
	only   bool                        // for its IP address alone: NAT
}

// A segment is a switch and who has which address on it.
type segment struct {
	*Pass
	l      *evidence.Logical
	s      *nb.LogicalSwitch
	byIP   map[netip.Addr]claim
	byMAC  map[string]claim
	shared map[[2]string]*conflict
	order  []*conflict
}

// A conflict is two claims of the same addresses.
type conflict struct {
	a, b      claim
	addresses []string
}

func (s *segment) gather(natOf map[ovsdb.UUID][]*nb.NAT) {
	s.byIP, s.byMAC, s.shared = map[netip.Addr]claim{}, map[string]claim{}, map[[2]string]*conflict{}
	for _, port := range s.l.PortsOf[s.s.UUID] {
		if evidence.Off(port.Enabled) {
			continue
		}
		if name := evidence.RouterPortOf(port); name != "" {
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

func (s *segment) port(port *evidence.LogicalSwitchPort) {
	c := claim{object: Object{Kind: "port", Name: port.Name}, owner: port.Name, port: port,
		row: nbRow("Logical_Switch_Port", port.UUID, "%s: addresses=%q", port.Name, []string(port.Addresses))}
	if slices.ContainsFunc(port.Addresses, func(a string) bool { return strings.Contains(a, "dynamic") }) {
		c.row.Says += fmt.Sprintf(", dynamic_addresses=%q", port.DynamicAddresses.Get())
	}
	for _, a := range evidence.PortAddresses(port) {
		c.mac = a.MAC
		s.claimMAC(a.MAC, c)
		for _, ip := range a.IPs {
			s.claimIP(ip.Addr(), c)
		}
	}
}

func (s *segment) router(rp *nb.LogicalRouterPort, natOf map[ovsdb.UUID][]*nb.NAT) {
	r := s.l.RouterOf[rp.UUID]
	if r == nil || evidence.Off(r.Enabled) || evidence.Off(rp.Enabled) {
		return
	}
	networks := evidence.Networks(rp)
	c := claim{object: Object{Kind: "port", Name: rp.Name}, owner: "router " + string(r.UUID), mac: strings.ToLower(rp.MAC), router: true,
		row: nbRow("Logical_Router_Port", rp.UUID, "%s of router %s: mac=%s, networks=%v", rp.Name, r.Name, rp.MAC, []string(rp.Networks))}
	if len(networks) > 0 && s.byIP[networks[0].Addr()].mac != c.mac { // an address that several routers have on purpose has one MAC
		s.claimMAC(c.mac, c)
	}
	for _, n := range networks {
		s.claimIP(n.Addr(), c)
	}
	for _, nat := range natOf[r.UUID] {
		a, err := netip.ParseAddr(nat.ExternalIP)
		if err != nil || !slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) }) {
			continue
		}
		row := natRow(nat)
		row.Says += " of router " + r.Name
		s.claimIP(a, claim{object: Object{Kind: "router", Name: r.Name}, owner: c.owner, mac: c.mac, only: true, row: row})
	}
}

func (s *segment) claimIP(a netip.Addr, c claim) {
	first, taken := s.byIP[a]
	if !taken {
		s.byIP[a] = c
		return
	}
	if first.router && c.router && first.mac == c.mac {
		return // one address of several routers, on purpose
	}
	s.conflict(first, c, a.String())
}

func (s *segment) claimMAC(mac string, c claim) {
	first, taken := s.byMAC[mac]
	if !taken {
		s.byMAC[mac] = c
		return
	}
	s.conflict(first, c, mac)
}

func (s *segment) conflict(a, b claim, address string) {
	if a.owner == b.owner || a.port != nil && b.port != nil && (sameGuest(a.port, b.port) || nested(a.port, b.port)) {
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

// sameGuest says whether two ports are the two sides of a live migration: pods of one
// virtual machine, with the same addresses.
func sameGuest(a, b *evidence.LogicalSwitchPort) bool {
	guest := func(name string) string {
		if !strings.Contains(name, "virt-launcher-") {
			return ""
		}
		i := strings.LastIndexByte(name, '-')
		return name[:i]
	}
	g := guest(a.Name)
	return g != "" && g == guest(b.Name)
}

// nested says whether one of two ports is in the other.
func nested(a, b *evidence.LogicalSwitchPort) bool {
	return a.ParentName.Get() == b.Name || b.ParentName.Get() == a.Name || len(a.ParentName) > 0 && a.ParentName.Get() == b.ParentName.Get()
}

func (s *segment) report() {
	for _, c := range s.order {
		a, b := c.a, c.b
		switch {
		case b.router && !a.router: // of a router and a port it is the port that is wrong
			a, b = b, a
		case a.router == b.router && a.object.Name < b.object.Name:
			a, b = b, a
		}
		s.Report(Finding{
			Object:   b.object,
			Also:     []Object{a.object, {Kind: "switch", Name: s.s.Name}},
			Title:    fmt.Sprintf("%s and %s on switch %s have the same address: %s", a.object, b.object, namedSwitch(s.s), strings.Join(c.addresses, ", ")),
			Evidence: []Evidence{a.row, b.row},
			Cause:    "an address was given to two",
			Effect:   "packets to this address reach one of the two; which one is left to chance",
			Next:     "give one of the two another address, with the management system that owns it",
		})
	}
}

// A vipKey is what a load balancer answers for: protocol and virtual address.
type vipKey struct{ protocol, vip string }

// vipKeys are those of a load balancer with their backends; of templates there are none.
func vipKeys(lb *nb.LoadBalancer) map[vipKey]string {
	if lb.Options["template"] == "true" {
		return nil
	}
	out := make(map[vipKey]string, len(lb.VIPs))
	for vip, backends := range lb.VIPs {
		key := vipKey{cmp.Or(lb.Protocol.Get(), "tcp"), vip}
		if ap, err := netip.ParseAddrPort(vip); err == nil {
			key.vip = ap.String()
		} else if a, err := netip.ParseAddr(vip); err == nil {
			key = vipKey{"", a.String()}
		}
		out[key] = backends
	}
	return out
}

// vipIndex is who has which virtual address, of a group or of what a switch or router has by itself.
type vipIndex map[vipKey]*nb.LoadBalancer

// sameVIP reports two load balancers of one switch or router with the same virtual address and other backends.
func (p *Pass) sameVIP(z *evidence.Zone, l *evidence.Logical) {
	rows, err := z.Balancers()
	if err != nil {
		p.Unknown(Object{Kind: "database", Name: "OVN_Northbound"}, err)
		return
	}
	v := vipConflicts{Pass: p, byID: map[ovsdb.UUID]*nb.LoadBalancer{}, groups: map[ovsdb.UUID]vipIndex{}, compared: map[[2]ovsdb.UUID]bool{}, found: map[[2]ovsdb.UUID]*vipConflict{}}
	for i := range rows.LoadBalancers {
		v.byID[rows.LoadBalancers[i].UUID] = &rows.LoadBalancers[i]
	}
	for i := range rows.Groups {
		g := &rows.Groups[i]
		v.groups[g.UUID] = vipIndex{}
		v.add(v.groups[g.UUID], g.LoadBalancer, Object{Kind: "load balancer group", Name: g.Name})
	}
	for i := range l.Switches {
		s := &l.Switches[i]
		v.datapath(s.LoadBalancer, s.LoadBalancerGroup, Object{Kind: "switch", Name: s.Name})
	}
	for i := range l.Routers {
		r := &l.Routers[i]
		v.datapath(r.LoadBalancer, r.LoadBalancerGroup, Object{Kind: "router", Name: r.Name})
	}
	slices.SortFunc(v.order, func(a, b *vipConflict) int {
		return cmp.Or(cmp.Compare(a.a.Name, b.a.Name), cmp.Compare(a.b.Name, b.b.Name), cmp.Compare(a.a.UUID, b.a.UUID), cmp.Compare(a.b.UUID, b.b.UUID))
	})
	for _, c := range v.order {
		v.report(c)
	}
}

type vipConflicts struct {
	*Pass
	byID     map[ovsdb.UUID]*nb.LoadBalancer
	groups   map[ovsdb.UUID]vipIndex
	compared map[[2]ovsdb.UUID]bool // pairs of groups
	found    map[[2]ovsdb.UUID]*vipConflict
	order    []*vipConflict
}

// A vipConflict is two load balancers of one switch or router, and the first of the virtual
// addresses that they both have.
type vipConflict struct {
	a, b  *nb.LoadBalancer
	key   vipKey
	where Object
}

// add puts load balancers into an index, and reports those that are in each other's way.
func (v *vipConflicts) add(index vipIndex, ids []ovsdb.UUID, where Object) {
	for _, id := range ids {
		lb := v.byID[id]
		if lb == nil {
			continue
		}
		for key := range vipKeys(lb) {
			if first := index[key]; first != nil {
				v.compare(first, lb, key, where)
			} else {
				index[key] = lb
			}
		}
	}
}

func (v *vipConflicts) datapath(own, groups []ovsdb.UUID, where Object) {
	if len(own) > 0 {
		index := vipIndex{}
		v.add(index, own, where)
		for _, g := range groups {
			for key, lb := range index {
				if other := v.groups[g][key]; other != nil {
					v.compare(other, lb, key, where)
				}
			}
		}
	}
	for i, a := range groups {
		for _, b := range groups[i+1:] {
			if v.compared[[2]ovsdb.UUID{a, b}] {
				continue
			}
			v.compared[[2]ovsdb.UUID{a, b}] = true
			small, large := v.groups[a], v.groups[b]
			if len(small) > len(large) {
				small, large = large, small
			}
			for key, lb := range small {
				if other := large[key]; other != nil {
					v.compare(other, lb, key, where)
				}
			}
		}
	}
}

func (v *vipConflicts) compare(a, b *nb.LoadBalancer, key vipKey, where Object) {
	if a == b || sortedList(vipKeys(a)[key]) == sortedList(vipKeys(b)[key]) {
		return
	}
	if cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UUID, b.UUID)) > 0 {
		a, b = b, a
	}
	pair := [2]ovsdb.UUID{a.UUID, b.UUID}
	c := v.found[pair]
	if c == nil {
		c = &vipConflict{a, b, key, where}
		v.found[pair] = c
		v.order = append(v.order, c)
	}
	if cmp.Or(cmp.Compare(key.vip, c.key.vip), cmp.Compare(key.protocol, c.key.protocol)) < 0 {
		c.key = key
	}
}

func (v *vipConflicts) report(c *vipConflict) {
	vip := strings.TrimSpace(c.key.protocol + " " + c.key.vip)
	v.Report(Finding{
		Object: Object{Kind: "load balancer", Name: c.a.Name},
		Also:   []Object{{Kind: "load balancer", Name: c.b.Name}, c.where},
		Title:  fmt.Sprintf("load balancers %s and %s of %s have the same virtual address %s and other backends", c.a.Name, c.b.Name, c.where, vip),
		Evidence: []Evidence{
			nbRow("Load_Balancer", c.a.UUID, "%s: vips:%s=%s", c.a.Name, c.key.vip, orEmpty(vipKeys(c.a)[c.key])),
			nbRow("Load_Balancer", c.b.UUID, "%s: vips:%s=%s", c.b.Name, c.key.vip, orEmpty(vipKeys(c.b)[c.key])),
		},
		Cause:  "a virtual address was written twice; often one is left over",
		Effect: "which backends a connection to " + vip + " reaches is left to chance",
		Next:   fixes.Command("delete the one that is left over: ovn-nbctl lb-del %s %s", c.b.UUID, c.key.vip),
	})
}

// sortedList is a comma list in order.
func sortedList(list string) string {
	words := strings.Split(list, ",")
	for i := range words {
		words[i] = strings.TrimSpace(words[i])
	}
	slices.Sort(words)
	return strings.Join(words, ",")
}
