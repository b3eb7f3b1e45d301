package topology

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// A Kind is the kind of object that a name refers to.
type Kind string

// The kinds, each with the prefix that selects it: "pod:shop/web".
const (
	KindPod      Kind = "pod"
	KindPort     Kind = "lsp"  // a logical switch port that is not a pod's
	KindRPort    Kind = "lrp"  // a logical router port
	KindVM       Kind = "vm"   // a Neutron port
	KindNode     Kind = "node" // a chassis, or a node that was read
	KindSwitch   Kind = "switch"
	KindRouter   Kind = "router"
	KindService  Kind = "svc"
	KindBalancer Kind = "lb"
	KindBridge   Kind = "bridge"
	KindNAT      Kind = "nat"      // a translated address: a floating IP, an egress IP
	KindObject   Kind = "object"   // an object of the CMS with the rows made for it: a NetworkPolicy, a security group
	KindExternal Kind = "external" // an address of no known port
)

// Endpoints are the kinds that can send or receive a packet.
var Endpoints = []Kind{KindPod, KindPort, KindRPort, KindVM, KindNode, KindService, KindNAT, KindExternal}

// Objects are the kinds that are in the Topology.
var Objects = []Kind{KindPod, KindPort, KindRPort, KindVM, KindNode, KindSwitch, KindRouter, KindService, KindBalancer, KindBridge, KindNAT, KindObject}

// A Match is one object that a name refers to.
type Match struct {
	Kind Kind
	// Name is unambiguous: "pod:shop/web".
	Name string
	Zone string

	Port    *Port    // of a pod, VM or port; for a node its own overlay port, if any
	Switch  *Switch  // of Port, or the one named
	Router  *Router  // of Port, or the one named
	Chassis *Chassis // that claims the port; for a node its own
	Node    *Node    // of the chassis, if read
	Bridge  *Bridge

	Balancers []*LoadBalancer // of a service or virtual address
	NATs      []*NAT          // of a translated address
	Owner     decode.Owner    // the object that Rows were made for; zero for a plain port group
	Rows      []any           // objects of the Topology
	L4Port    int             // NAME:PORT

	MACs      []string
	Addresses []netip.Addr // IPv4 first; for a node those of its overlay port, then its tunnel addresses
}

// UUIDs returns the UUIDs of the matched objects: for a node its own and its chassis'.
func (m Match) UUIDs() []string {
	var out []string
	switch m.Kind {
	case KindSwitch:
		out = append(out, m.Switch.UUID)
	case KindRouter:
		out = append(out, m.Router.UUID)
	case KindBridge:
		out = append(out, m.Bridge.UUID)
	case KindNode:
		if m.Chassis != nil {
			out = append(out, m.Chassis.UUID)
		}
		if m.Node != nil {
			out = append(out, m.Node.UUID)
		}
	case KindService, KindBalancer:
		for _, lb := range m.Balancers {
			out = append(out, lb.UUID)
		}
	case KindNAT:
		for _, n := range m.NATs {
			out = append(out, n.UUID)
		}
	case KindObject:
		for _, row := range m.Rows {
			if uuid := uuidOf(row); uuid != "" {
				out = append(out, uuid)
			}
		}
	default:
		if m.Port != nil {
			out = append(out, m.Port.UUID)
		}
	}
	return out
}

// Resolve returns every object of these kinds that text refers to, all kinds if none are given. Text is NAME,
// NAMESPACE/POD, NAMESPACE/POD@NETWORK, an address, a MAC address, the name of an interface, a UUID or at least its
// first four digits, or one of these after TYPE: or TYPE/, which docs/topology.md lists; any of them may have :PORT
// behind. A UUID is that of a row, or what Neutron calls the object. If nothing is found the error is an *NameError.
func (g *Graph) Resolve(text string, kinds ...Kind) ([]Match, error) {
	if len(kinds) == 0 {
		kinds = append(slices.Clone(Objects), KindExternal)
	}
	r := resolver{Graph: g, text: text, kinds: kinds}
	r.resolve()
	if name, port := cutPort(text); len(r.matches) == 0 && port != 0 {
		sub := resolver{Graph: g, text: name, kinds: kinds}
		sub.resolve()
		r.matches = sub.matches
		for i := range r.matches {
			r.matches[i].L4Port = port
		}
	}
	if len(r.matches) == 0 {
		return nil, &NameError{Text: text, Reason: cmp.Or(r.reason, g.portless(text)), Nearest: g.Nearest(text, kinds...)}
	}
	slices.SortStableFunc(r.matches, func(a, b Match) int {
		return cmp.Or(CompareNames(a.Name, b.Name), strings.Compare(a.Zone, b.Zone))
	})
	distinguish(r.matches)
	return r.matches, nil
}

// portless says that a port, or a pod's, is missing from OVN while an interface has its iface-id; empty if none has.
func (g *Graph) portless(text string) string {
	names := []string{text}
	if namespace, pod, ok := strings.Cut(text, "/"); ok {
		names = []string{namespace + "_" + pod, pod + "." + namespace} // of OVN-Kubernetes, of Kube-OVN
	}
	for _, b := range g.Bridges {
		for _, p := range b.Ports {
			if p.Role != RoleVIF || !slices.Contains(names, p.LogicalPort) {
				continue
			}
			if !g.knowsPorts() {
				return fmt.Sprintf("interface %s on %s has iface-id %s, but neither the Northbound nor the Southbound was read: its logical port is unknown", p.Name, b.Node, p.LogicalPort)
			}
			return fmt.Sprintf("interface %s on %s has iface-id %s, but OVN has no such logical port\nhint: ovnctl doctor --only iface-id-without-binding", p.Name, b.Node, p.LogicalPort)
		}
	}
	return ""
}

// knowsPorts reports whether a database that has logical ports was read.
func (g *Graph) knowsPorts() bool {
	return slices.Contains(slices.Concat(slices.Collect(maps.Values(g.hasNorthbound)), slices.Collect(maps.Values(g.hasSouthbound))), true)
}

// ResolveOne is Resolve for a text that must be unambiguous: several matches are an *NameError.
func (g *Graph) ResolveOne(text string, kinds ...Kind) (Match, error) {
	matches, err := g.Resolve(text, kinds...)
	if err != nil {
		return Match{}, err
	}
	if len(matches) > 1 {
		return Match{}, &NameError{Text: text, Matches: matches}
	}
	return matches[0], nil
}

type resolver struct {
	*Graph
	text    string
	kinds   []Kind
	owners  []string // of KindObject: the kinds of owner, all if empty
	matches []Match
	reason  string
}

// cutPort splits NAME:PORT; the port is 0 if there is none.
func cutPort(text string) (name string, port int) {
	i := strings.LastIndexByte(text, ':')
	if _, err := netip.ParseAddr(text); err == nil || i < 1 {
		return text, 0
	}
	n, err := strconv.ParseUint(text[i+1:], 10, 16)
	if err != nil {
		return text, 0
	}
	return strings.Trim(text[:i], "[]"), int(n)
}

func (r *resolver) resolve() {
	if r.text == "" {
		r.reason = "the name is empty"
		return
	}
	if isMAC(r.text) {
		r.mac(strings.ToLower(r.text))
		return
	}
	if addr, ok := parseAddr(r.text); ok {
		r.address(addr)
		return
	}
	if namespace, slash := strings.CutSuffix(r.text, "/"); slash && r.namespaces[namespace] {
		r.prefixed("ns", namespace)
		return
	}
	word, rest, typed := r.typed(r.text)
	if !typed || strings.Contains(r.text, "/") { // a switch may be called svc/web
		r.named(r.text)
	}
	switch {
	case len(r.matches) > 0:
	case typed:
		r.prefixed(word, rest)
	default:
		r.loose(r.text)
	}
}

// loose finds what is not called exactly so: a part of a UUID, an interface, a pod without its namespace.
func (r *resolver) loose(text string) {
	for _, find := range []func(string){r.uuid, r.interfaces, r.bare} {
		if len(r.matches) == 0 {
			find(text)
		}
	}
}

// prefixed finds the NAME of TYPE:NAME.
func (r *resolver) prefixed(word, name string) {
	t := nameTypes.Get()[word]
	switch word {
	case "ip", "external":
		addr, ok := parseAddr(name)
		if !ok {
			r.reason = "not an IP address"
			return
		}
		if word == "external" {
			r.add(r.external(addr))
			return
		}
		r.address(addr)
		return
	case "svc", "service", "services":
		r.service(name, true)
		return
	}
	usable := func(k Kind) bool {
		return slices.Contains(r.kinds, k) || word == "vm" || word == "server"
	}
	wanted := slices.DeleteFunc(slices.Clone(t.kinds), func(k Kind) bool { return !usable(k) })
	if len(wanted) == 0 {
		r.reason = "a " + word + " cannot be used here"
		if slices.Contains(t.owners, "Namespace") {
			r.reason = fmt.Sprintf("a namespace is several pods\nhint: name one, or: ovnctl reach ns:%s TO", name)
		}
		return
	}
	sub := resolver{Graph: r.Graph, text: name, kinds: wanted, owners: t.owners}
	if addr, ok := parseAddr(name); ok {
		sub.address(addr)
	} else {
		sub.named(name)
	}
	if len(sub.matches) == 0 {
		sub.loose(name)
	}
	r.matches, r.reason = sub.matches, cmp.Or(sub.reason, r.unwritten(word))
}

// unwritten returns why a name may be right and not be found: the CMS does not write it into OVN.
func (r *resolver) unwritten(word string) string {
	t := nameTypes.Get()[word]
	neutron := slices.ContainsFunc(r.PortGroups, func(pg *PortGroup) bool { return pg.Name == "neutron_pg_drop" })
	switch {
	case slices.Equal(t.owners, groupKinds) && neutron:
		return "Neutron writes no names of security groups into OVN\nhint: its UUID: openstack security group show NAME -f value -c id"
	case slices.Contains(t.kinds, KindNAT) && !slices.Contains(t.owners, "EgressIP"):
		return "no NAT or load balancer is for it, and its name is not written into OVN\nhint: give its address"
	}
	return ""
}

func (r *resolver) add(m Match) {
	if !slices.Contains(r.kinds, m.Kind) {
		return
	}
	for _, have := range r.matches {
		if have.Kind == m.Kind && have.Port == m.Port && have.Switch == m.Switch && have.Router == m.Router &&
			have.Chassis == m.Chassis && have.Node == m.Node && have.Bridge == m.Bridge && slices.Equal(have.Balancers, m.Balancers) && slices.Equal(have.NATs, m.NATs) && slices.Equal(have.Rows, m.Rows) {
			return
		}
	}
	r.matches = append(r.matches, m)
}

// named finds objects with exactly this name.
func (r *resolver) named(name string) {
	for _, p := range r.ports(name) {
		r.add(r.port(p))
	}
	for _, s := range r.Switches {
		if s.Name == name || s.DisplayName == name || s.Name == neutronPrefix+name {
			r.add(Match{Kind: KindSwitch, Name: label(KindSwitch, s.Name, s.UUID), Zone: s.Zone, Switch: s})
		}
	}
	for _, router := range r.Routers {
		if router.Name == name || router.DisplayName == name || router.Name == neutronPrefix+name {
			r.add(Match{Kind: KindRouter, Name: label(KindRouter, router.Name, router.UUID), Zone: router.Zone, Router: router})
		}
	}
	for _, c := range r.Chassis {
		if c.Name == name || c.Hostname == name || c.Node != "" && c.Node == name {
			r.add(r.chassisMatch(c))
		}
	}
	for _, n := range r.Nodes {
		if n.Chassis == "" && (n.Name == name || n.SystemID == name) {
			r.add(Match{Kind: KindNode, Name: label(KindNode, n.Name, n.UUID), Node: n})
		}
	}
	for _, lb := range r.LoadBalancers {
		if lb.Name == name {
			r.add(balancerMatch(lb))
		}
	}
	for _, b := range r.Bridges {
		if b.Name == name || b.Node+"/"+b.Name == name {
			r.add(Match{Kind: KindBridge, Name: "bridge:" + b.Node + "/" + b.Name, Bridge: b, Node: r.nodes[b.Node]})
		}
	}
	r.service(name, false)
	r.object(name)
	r.floating(func(id string) bool { return id == name })
}

// neutronPrefix is what Neutron writes before the UUIDs of networks and routers.
const neutronPrefix = "neutron-"

// object finds objects of the CMS, and port groups. A namespaced one may be called without its namespace.
func (r *resolver) object(name string) {
	wanted := func(o *owned) bool { return len(r.owners) == 0 || slices.Contains(r.owners, o.owner.Kind) }
	for _, o := range r.owned {
		if wanted(o) && (o.owner.FullName() == name || len(r.owners) > 0 && o.owner.Name == name) {
			r.add(r.objectMatch(o))
		}
	}
	if len(r.owners) > 0 && !slices.Contains(r.owners, "") {
		return
	}
	for _, pg := range r.PortGroups {
		if pg.Name == name {
			r.add(r.groupMatch(pg))
		}
	}
}

// floating finds floating IPs by their UUIDs in Neutron: translations, or a load balancer of its port forwardings.
func (r *resolver) floating(is func(id string) bool) {
	byAddress := map[string][]*NAT{}
	for _, n := range r.NAT {
		if id := n.ExternalIDs["neutron:fip_id"]; id != "" && is(id) {
			byAddress[n.ExternalIP] = append(byAddress[n.ExternalIP], n)
		}
	}
	for _, nats := range byAddress {
		r.add(natMatch(nats))
	}
	for _, lb := range r.LoadBalancers {
		if id := lb.ExternalIDs["neutron:fip_id"]; id == "" || !is(id) {
			continue
		}
		for _, v := range lb.VIPs {
			if a, err := netip.ParseAddr(v.Address); err == nil {
				r.virtual(a, 0)
			}
		}
	}
}

// mac finds the ports with a MAC address.
func (r *resolver) mac(mac string) {
	var found []*Port
	for _, p := range r.Ports {
		if slices.Contains(p.MACs, mac) && p.Type != "chassisredirect" {
			found = append(found, p)
		}
	}
	for _, p := range home(found) {
		r.add(r.port(p))
	}
	if len(r.matches) == 0 {
		r.reason = "no port has this MAC address"
	}
}

// interfacePrefixes are what Nova and Neutron write before the first 11 characters of a port's UUID.
var interfacePrefixes = []string{"tap", "qvo", "qvb", "qbr", "vhu"}

// interfaces finds ports by the interface that carries them: as nodes have it, else as Neutron makes its name.
func (r *resolver) interfaces(name string) {
	for _, p := range r.Ports {
		if slices.ContainsFunc(p.Interfaces, func(a *Attachment) bool { return a.Interface == name || a.Node+"/"+a.Interface == name }) {
			r.add(r.port(p))
		}
	}
	if len(r.matches) > 0 || len(name) != 14 || !slices.Contains(interfacePrefixes, name[:3]) {
		return
	}
	for _, p := range r.Ports {
		if hasPrefix(p.Name, name[3:]) {
			r.add(r.port(p))
		}
	}
}

// ports returns the ports with this name, or of this pod, or with this CMS name. For a pod on several networks it is
// the port on the main one, unless the name includes the network: NAMESPACE/POD@NETWORK.
func (r *resolver) ports(name string) []*Port {
	if pod, network, ok := strings.Cut(name, "@"); ok {
		return r.onNetwork(pod, network)
	}
	out := slices.Clone(r.portsByName[name])
	if ns, pod, ok := strings.Cut(name, "/"); ok {
		for _, p := range slices.Concat(r.portsByName[ns+"_"+pod], r.portsByName[pod+"."+ns]) {
			if p.Pod == "" || p.Pod == name {
				out = append(out, p)
			}
		}
	}
	for _, p := range r.Ports {
		if p.Pod == name || p.DisplayName == name || p.Device == name && p.IsVM() {
			out = append(out, p)
		}
	}
	return r.main(home(out))
}

// onNetwork returns a pod's ports on one of its networks.
func (r *resolver) onNetwork(pod, network string) []*Port {
	var found []*Port
	var networks []string
	for _, p := range r.portsOf(pod) {
		networks = append(networks, p.Network())
		if p.Network() == network {
			found = append(found, p)
		}
	}
	if len(found) == 0 && len(networks) > 0 {
		r.reason = fmt.Sprintf("pod %s is not on network %s; its networks are %s", pod, network, strings.Join(slices.Sorted(slices.Values(networks)), ", "))
	}
	return found
}

// main omits pods' ports on secondary networks.
func (g *Graph) main(ports []*Port) []*Port {
	return slices.DeleteFunc(ports, func(p *Port) bool { return p.Pod != "" && !g.isMain(p) })
}

// isMain reports whether a port is on the network of its pod's address: OVN-Kubernetes' primary network, which may be
// user-defined, or else the default network.
func (g *Graph) isMain(p *Port) bool {
	all := g.portsOf(p.Pod)
	if len(all) < 2 {
		return true
	}
	primary := func(p *Port) bool {
		s := g.SwitchOf(p)
		return s != nil && s.ExternalIDs["k8s.ovn.org/role"] == "primary"
	}
	if slices.ContainsFunc(all, primary) {
		return primary(p)
	}
	return p.Network() == defaultNetwork || !slices.ContainsFunc(all, func(p *Port) bool { return p.Network() == defaultNetwork })
}

// home omits remote ports whose original is present, and duplicates.
func home(ports []*Port) []*Port {
	var out []*Port
	for _, p := range ports {
		remote := p.Type == "remote" && slices.ContainsFunc(ports, func(o *Port) bool { return o.Name == p.Name && o.Type != "remote" })
		if !remote && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// bare finds a pod by name, without namespace, also POD@NETWORK.
func (r *resolver) bare(name string) {
	name, network, named := strings.Cut(name, "@")
	for _, p := range r.Ports {
		_, pod, ok := strings.Cut(p.Pod, "/")
		if ok && pod == name && (named && p.Network() == network || !named && r.isMain(p)) && !r.standsIn(p) {
			r.add(r.port(p))
		}
	}
}

// uuid finds objects by UUID or a prefix of it.
func (r *resolver) uuid(prefix string) {
	if len(prefix) < 4 || len(prefix) > 36 || strings.Trim(strings.ToLower(prefix), "0123456789abcdef-") != "" {
		return
	}
	for _, p := range r.Ports {
		if hasPrefix(p.UUID, prefix) || hasPrefix(p.Binding, prefix) || hasPrefix(p.Name, prefix) || p.IsVM() && hasPrefix(p.Device, prefix) {
			r.add(r.port(p))
		}
	}
	for _, s := range r.Switches {
		if hasPrefix(s.UUID, prefix) || hasPrefix(s.Datapath, prefix) || hasPrefix(strings.TrimPrefix(s.Name, neutronPrefix), prefix) {
			r.add(Match{Kind: KindSwitch, Name: label(KindSwitch, s.Name, s.UUID), Zone: s.Zone, Switch: s})
		}
	}
	for _, router := range r.Routers {
		if hasPrefix(router.UUID, prefix) || hasPrefix(router.Datapath, prefix) || hasPrefix(strings.TrimPrefix(router.Name, neutronPrefix), prefix) {
			r.add(Match{Kind: KindRouter, Name: label(KindRouter, router.Name, router.UUID), Zone: router.Zone, Router: router})
		}
	}
	for _, c := range r.Chassis {
		if hasPrefix(c.UUID, prefix) || hasPrefix(c.Name, prefix) {
			r.add(r.chassisMatch(c))
		}
	}
	for _, lb := range r.LoadBalancers {
		if hasPrefix(lb.UUID, prefix) {
			r.add(balancerMatch(lb))
		}
	}
	for _, n := range r.NAT {
		if hasPrefix(n.UUID, prefix) {
			r.add(natMatch([]*NAT{n}))
		}
	}
	r.floating(func(id string) bool { return hasPrefix(id, prefix) })
	for _, pg := range r.PortGroups {
		if hasPrefix(pg.UUID, prefix) || pg.Owner.Kind == groupKinds[0] && hasPrefix(pg.Owner.Name, prefix) {
			r.add(r.groupMatch(pg))
		}
	}
}

// address finds objects with an address: ports, virtual addresses, tunnel endpoints, translated addresses; any other
// address is external.
func (r *resolver) address(addr netip.Addr) {
	addr = addr.Unmap()
	for _, c := range r.Chassis {
		if slices.ContainsFunc(c.Encaps, func(e Encap) bool { return sameAddr(e.IP, addr) }) {
			r.add(r.chassisMatch(c))
		}
	}
	ofNode := len(r.matches) > 0
	for _, p := range home(r.PortsAt(addr)) {
		if !ofNode || p.Kind != RouterPort { // OVN-Kubernetes' gateway routers share the address of their node
			r.add(r.port(p))
		}
	}
	if len(r.matches) == 0 {
		r.virtual(addr, 0)
	}
	if nats := r.natsAt(addr); len(r.matches) == 0 && len(nats) > 0 {
		r.add(natMatch(nats))
	}
	if len(r.matches) == 0 {
		r.add(r.external(addr))
		r.reason = "no port, service, chassis or NAT has this address"
	}
}

// virtual finds the load balancers of a virtual address, with a port those of that port.
func (r *resolver) virtual(addr netip.Addr, port int) {
	addr = addr.Unmap()
	is := func(v *VIP) bool { return sameAddr(v.Address, addr) && (port == 0 || v.Port == 0 || v.Port == port) }
	var vip []*LoadBalancer
	for _, lb := range r.LoadBalancers {
		if slices.ContainsFunc(lb.VIPs, is) {
			vip = append(vip, lb)
		}
	}
	if len(vip) == 0 {
		return
	}
	name := "svc:" + addr.String()
	if vip[0].Service != "" {
		name = "svc:" + vip[0].Service
	}
	r.add(Match{Kind: KindService, Name: name, Zone: vip[0].Zone, Balancers: vip, Addresses: []netip.Addr{addr}, L4Port: port})
}

func sameAddr(text string, addr netip.Addr) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Unmap() == addr
}

func (r *resolver) external(addr netip.Addr) Match {
	return Match{Kind: KindExternal, Name: "external:" + addr.String(), Addresses: []netip.Addr{addr}}
}

// service finds NAMESPACE/NAME[:PORT], or a virtual address ADDRESS[:PORT]. With typed, a service may be called without
// its namespace.
func (r *resolver) service(text string, typed bool) {
	name, port := text, 0
	if host, n := splitVIP(text); n != 0 {
		name, port = host, n
	}
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		r.virtual(addr, port)
		return
	}
	called := []string{name}
	if typed && !strings.Contains(name, "/") {
		called = r.servicesCalled(name)
	}
	for _, service := range called {
		if lbs := r.balancersOf(service); len(lbs) > 0 {
			r.add(serviceMatch(service, port, lbs))
		}
	}
	if len(r.matches) == 0 && typed {
		r.reason = "no load balancer belongs to this service: give its address, as svc:10.96.0.10:80"
	}
}

// servicesCalled returns the services of any namespace with this name.
func (g *Graph) servicesCalled(name string) []string {
	var out []string
	for _, lb := range g.LoadBalancers {
		if _, last, _ := strings.Cut(lb.Service, "/"); last == name && !slices.Contains(out, lb.Service) {
			out = append(out, lb.Service)
		}
	}
	return out
}

func serviceMatch(name string, port int, lbs []*LoadBalancer) Match {
	m := Match{Kind: KindService, Name: "svc:" + name, Zone: lbs[0].Zone, Balancers: lbs, L4Port: port}
	if port != 0 {
		m.Name += ":" + strconv.Itoa(port)
	}
	for _, lb := range lbs {
		for _, v := range lb.VIPs {
			if a, err := netip.ParseAddr(v.Address); err == nil && !slices.Contains(m.Addresses, a.Unmap()) {
				m.Addresses = append(m.Addresses, a.Unmap())
			}
		}
	}
	slices.SortFunc(m.Addresses, netip.Addr.Compare)
	return m
}

func balancerMatch(lb *LoadBalancer) Match {
	return Match{Kind: KindBalancer, Name: label(KindBalancer, lb.Name, lb.UUID), Zone: lb.Zone, Balancers: []*LoadBalancer{lb}}
}

// port returns the Match of a logical port.
func (r *resolver) port(p *Port) Match {
	m := Match{
		Kind: KindPort, Name: "lsp:" + p.Name, Zone: p.Zone, Port: p,
		Switch: r.SwitchOf(p), Router: r.RouterOf(p), Chassis: r.chassis[p.Chassis], Node: r.NodeOf(p),
		MACs: p.MACs, Addresses: p.addrs(),
	}
	switch {
	case p.Kind == RouterPort:
		m.Kind, m.Name = KindRPort, "lrp:"+p.Name
	case p.Pod != "":
		m.Kind, m.Name = KindPod, "pod:"+p.Pod
		if !r.isMain(p) {
			m.Name += "@" + p.Network()
		}
	case p.IsVM():
		m.Kind, m.Name = KindVM, "vm:"+p.Name
	}
	return m
}

// portsOf returns the ports of a pod, one per network.
func (g *Graph) portsOf(pod string) []*Port { return home(g.portsByPod[pod]) }

// chassisMatch returns the Match of a chassis, with its host's overlay port.
func (r *resolver) chassisMatch(c *Chassis) Match {
	m := Match{
		Kind: KindNode, Name: label(KindNode, chassisLabel(c), c.Name), Zone: c.Zone,
		Chassis: c, Node: r.nodes[c.Node],
	}
	if p := r.HostPort(c); p != nil {
		m.Port, m.Switch = p, r.SwitchOf(p)
		m.MACs, m.Addresses = p.MACs, p.addrs()
	}
	for _, e := range c.Encaps {
		if a, err := netip.ParseAddr(e.IP); err == nil && !slices.Contains(m.Addresses, a) {
			m.Addresses = append(m.Addresses, a)
		}
	}
	return m
}

// HostPort returns the logical port that connects a chassis' host to the overlay: OVN-Kubernetes' k8s-NODE,
// Kube-OVN's node-NODE. It is nil if there is none.
func (g *Graph) HostPort(c *Chassis) *Port {
	for _, host := range []string{c.Hostname, c.Name, c.Node} {
		for _, prefix := range []string{"k8s-", "node-"} {
			if p := g.PortByName(prefix + host); host != "" && p != nil && p.Kind == SwitchPort && p.Pod == "" {
				return p
			}
		}
	}
	return nil
}

// label returns a text that selects one object: by name if it has one.
func label(kind Kind, name, uuid string) string {
	return string(kind) + ":" + cmp.Or(name, uuid)
}
