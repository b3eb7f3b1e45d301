package topology

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
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
	KindExternal Kind = "external" // an address of no known port
)

// Endpoints are the kinds that can send or receive a packet.
var Endpoints = []Kind{KindPod, KindPort, KindRPort, KindVM, KindNode, KindService, KindExternal}

// Objects are the kinds that are in the Topology.
var Objects = []Kind{KindPod, KindPort, KindRPort, KindVM, KindNode, KindSwitch, KindRouter, KindService, KindBalancer, KindBridge}

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
	L4Port    int             // svc:NAMESPACE/NAME:PORT

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
	default:
		if m.Port != nil {
			out = append(out, m.Port.UUID)
		}
	}
	return out
}

// Resolve returns every object of these kinds that text refers to, all kinds if none are given. Text is NAME,
// NAMESPACE/POD, NAMESPACE/POD@NETWORK, ADDRESS, a UUID or at least its first four digits, or one of these after
// KIND:; also external:ADDRESS, ip:ADDRESS and svc:NAMESPACE/NAME[:PORT]. If nothing is found the error is an
// *NameError.
func (g *Graph) Resolve(text string, kinds ...Kind) ([]Match, error) {
	if len(kinds) == 0 {
		kinds = append(slices.Clone(Objects), KindExternal)
	}
	r := resolver{Graph: g, text: text, kinds: kinds}
	r.resolve()
	if len(r.matches) == 0 {
		return nil, &NameError{Text: text, Reason: r.reason, Nearest: g.Nearest(text, kinds...)}
	}
	slices.SortStableFunc(r.matches, func(a, b Match) int {
		return cmp.Or(CompareNames(a.Name, b.Name), strings.Compare(a.Zone, b.Zone))
	})
	distinguish(r.matches)
	return r.matches, nil
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
	matches []Match
	reason  string
}

// prefixes maps the word before the colon to the kinds it selects.
var prefixes = map[string][]Kind{
	"pod": {KindPod}, "lsp": {KindPod, KindPort, KindVM}, "port": {KindPod, KindPort, KindVM, KindRPort},
	"lrp": {KindRPort}, "vm": {KindVM}, "node": {KindNode}, "chassis": {KindNode},
	"switch": {KindSwitch}, "ls": {KindSwitch}, "router": {KindRouter}, "lr": {KindRouter},
	"svc": {KindService}, "service": {KindService}, "lb": {KindBalancer}, "bridge": {KindBridge},
	"ip": nil, "external": {KindExternal},
}

func (r *resolver) resolve() {
	if r.text == "" {
		r.reason = "the name is empty"
		return
	}
	if word, rest, ok := strings.Cut(r.text, ":"); ok && rest != "" {
		kinds, known := prefixes[word]
		if _, err := netip.ParseAddr(r.text); known && err != nil {
			r.prefixed(word, rest, kinds)
			return
		}
	}
	if addr, ok := parseAddr(r.text); ok {
		r.address(addr)
		return
	}
	r.named(r.text)
	if len(r.matches) == 0 {
		r.uuid(r.text)
	}
	if len(r.matches) == 0 {
		r.bare(r.text)
	}
}

func (r *resolver) prefixed(word, rest string, kinds []Kind) {
	switch word {
	case "ip", "external":
		addr, ok := parseAddr(rest)
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
	case "svc", "service":
		r.service(rest)
		return
	}
	wanted := slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return !slices.Contains(r.kinds, k) })
	if word == "vm" {
		wanted = []Kind{KindVM, KindPort, KindPod} // whatever the port is, its device identifies the VM
	}
	if len(wanted) == 0 {
		r.reason = "a " + word + " cannot be used here"
		return
	}
	sub := resolver{Graph: r.Graph, text: rest, kinds: wanted}
	if addr, ok := parseAddr(rest); ok {
		sub.address(addr)
	} else {
		sub.named(rest)
	}
	if len(sub.matches) == 0 {
		sub.uuid(rest)
	}
	if len(sub.matches) == 0 {
		sub.bare(rest)
	}
	r.matches = sub.matches
}

func (r *resolver) add(m Match) {
	if !slices.Contains(r.kinds, m.Kind) {
		return
	}
	for _, have := range r.matches {
		if have.Kind == m.Kind && have.Port == m.Port && have.Switch == m.Switch && have.Router == m.Router &&
			have.Chassis == m.Chassis && have.Node == m.Node && have.Bridge == m.Bridge && slices.Equal(have.Balancers, m.Balancers) {
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
		if s.Name == name || s.DisplayName == name {
			r.add(Match{Kind: KindSwitch, Name: label(KindSwitch, s.Name, s.UUID), Zone: s.Zone, Switch: s})
		}
	}
	for _, router := range r.Routers {
		if router.Name == name || router.DisplayName == name {
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
	r.service(name)
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
		if p.Pod == name || p.DisplayName == name || p.Device == name {
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

// bare finds a pod by name, without namespace.
func (r *resolver) bare(name string) {
	for _, p := range r.Ports {
		if _, pod, ok := strings.Cut(p.Pod, "/"); ok && pod == name && r.isMain(p) {
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
		if hasPrefix(p.UUID, prefix) || hasPrefix(p.Binding, prefix) {
			r.add(r.port(p))
		}
	}
	for _, s := range r.Switches {
		if hasPrefix(s.UUID, prefix) || hasPrefix(s.Datapath, prefix) {
			r.add(Match{Kind: KindSwitch, Name: label(KindSwitch, s.Name, s.UUID), Zone: s.Zone, Switch: s})
		}
	}
	for _, router := range r.Routers {
		if hasPrefix(router.UUID, prefix) || hasPrefix(router.Datapath, prefix) {
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
}

// address finds objects with an address: ports, virtual addresses, tunnel endpoints; any other address is external.
func (r *resolver) address(addr netip.Addr) {
	addr = addr.Unmap()
	for _, p := range home(r.PortsAt(addr)) {
		r.add(r.port(p))
	}
	var vip []*LoadBalancer
	for _, lb := range r.LoadBalancers {
		if slices.ContainsFunc(lb.VIPs, func(v *VIP) bool { return sameAddr(v.Address, addr) }) {
			vip = append(vip, lb)
		}
	}
	if len(vip) > 0 && len(r.matches) == 0 {
		name := "svc:" + addr.String()
		if vip[0].Service != "" {
			name = "svc:" + vip[0].Service
		}
		r.add(Match{Kind: KindService, Name: name, Zone: vip[0].Zone, Balancers: vip, Addresses: []netip.Addr{addr}})
	}
	for _, c := range r.Chassis {
		if slices.ContainsFunc(c.Encaps, func(e Encap) bool { return sameAddr(e.IP, addr) }) {
			r.add(r.chassisMatch(c))
		}
	}
	if len(r.matches) == 0 {
		r.add(r.external(addr))
		r.reason = "no port, service or chassis has this address"
	}
}

func sameAddr(text string, addr netip.Addr) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Unmap() == addr
}

func (r *resolver) external(addr netip.Addr) Match {
	return Match{Kind: KindExternal, Name: "external:" + addr.String(), Addresses: []netip.Addr{addr}}
}

// service finds NAMESPACE/NAME[:PORT], or a virtual address ADDRESS[:PORT].
func (r *resolver) service(text string) {
	name, port := text, 0
	if host, n := splitVIP(text); n != 0 {
		name, port = host, n
	}
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		sub := resolver{Graph: r.Graph, kinds: []Kind{KindService}}
		sub.address(addr)
		for _, m := range sub.matches {
			m.L4Port = port
			r.add(m)
		}
		return
	}
	lbs := r.balancersOf(name)
	if len(lbs) == 0 {
		if strings.HasPrefix(r.text, "svc:") || strings.HasPrefix(r.text, "service:") {
			r.reason = "no load balancer belongs to this service: give its address, as svc:10.96.0.10:80"
		}
		return
	}
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
	r.add(m)
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
	case p.Device != "":
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
