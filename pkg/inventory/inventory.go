// Package inventory lists the objects of a deployment, one kind at a time: its pods, ports, switches, rules, tunnels.
package inventory

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A Document is what `ovnctl get -o json` prints: kind List.
type Document struct {
	document.Envelope
	Of    string `json:"of"`    // name of the Kind
	Items []any  `json:"items"` // of the type that the Kind says
}

// A Kind is what can be listed.
type Kind struct {
	Name    string   // plural
	Aliases []string // other names, the shortest first: singular, those of the databases' tools
	About   string   // what is listed, after "List"
	// Databases are those that a table needs beside the Northbound.
	Southbound, Nodes bool
	// Attached is whether an object in full also has what the nodes know of it.
	Attached bool

	word string // before a name, as other commands take it
	list func(*topology.Graph) []Item
}

// Word returns the word that names one object of the kind as TYPE/NAME: "pod".
func (k *Kind) Word() string { return k.word }

// Items returns all objects of the kind, in order.
func (k *Kind) Items(g *topology.Graph) []Item { return k.list(g) }

// An Item is an object of a Kind.
type Item struct {
	Name      string            // that other commands take, after the Kind's word
	Also      []string          // what else it is called: its UUID, the name in a database, that of a CMS
	Namespace string            // of Kubernetes: that of the object, or of what it was made for
	Labels    map[string]string // external_ids
	Object    any               // of package topology, or a type of this package
}

// Called reports whether a text names the item: one of its names, the first four or more digits of its UUID, a namespace
// as NAMESPACE/, or a pattern with * and ?.
func (i *Item) Called(text string) bool {
	if namespace, ok := strings.CutSuffix(text, "/"); ok {
		return namespace != "" && i.Namespace == namespace
	}
	pattern := strings.ContainsAny(text, "*?")
	for n, name := range append([]string{i.Name}, i.Also...) {
		switch {
		case name == "":
		case name == text, n == 1 && len(text) >= 4 && strings.HasPrefix(name, text):
			return true
		case pattern:
			if ok, err := path.Match(strings.NewReplacer(`\`, `\\`, `[`, `\[`).Replace(text), name); ok && err == nil {
				return true
			}
		}
	}
	return false
}

// A Route is a static route with its router.
type Route struct {
	Router topology.Ref `json:"router"`
	Zone   string       `json:"zone"`
	*topology.Route
}

// An ACL is an ACL with what it applies to.
type ACL struct {
	On   topology.Ref `json:"on"`   // the switch or port group
	Kind string       `json:"kind"` // of On: "switch" or "portGroup"
	Zone string       `json:"zone"`
	*topology.ACL
}

// An Interface is an Open vSwitch interface with its port, bridge and node.
type Interface struct {
	Node        string `json:"node"`
	Bridge      string `json:"bridge"`
	Port        string `json:"port"`
	Role        string `json:"role"` // of the port
	Tag         int    `json:"tag,omitempty"`
	LogicalPort string `json:"logicalPort,omitempty"`
	*topology.Interface
}

// InterfaceOf returns an interface with its bridge and port.
func InterfaceOf(b *topology.Bridge, p *topology.BridgePort, i *topology.Interface) *Interface {
	return &Interface{Node: b.Node, Bridge: b.Name, Port: p.Name, Role: p.Role, Tag: p.Tag, LogicalPort: p.LogicalPort, Interface: i}
}

// Kinds are all that can be listed, in the order of help.
var Kinds = []*Kind{
	{Name: "pods", Aliases: []string{"po", "pod"}, About: "pods, a line for each port", Southbound: true, Attached: true, word: "pod", list: pods},
	{Name: "vms", Aliases: []string{"vm", "servers"}, About: "virtual machines, a line for each port", Southbound: true, Attached: true, word: "vm", list: machines},
	{Name: "ports", Aliases: []string{"lsp", "lrp", "port"}, About: "logical switch and router ports", Southbound: true, Attached: true, word: "lsp", list: ports},
	{Name: "switches", Aliases: []string{"ls", "switch", "networks", "network", "subnets", "subnet"}, About: "logical switches", Southbound: true, word: "switch", list: switches},
	{Name: "routers", Aliases: []string{"lr", "router", "vpcs", "vpc"}, About: "logical routers", Southbound: true, word: "router", list: routers},
	{Name: "services", Aliases: []string{"svc", "service", "lb", "loadbalancers", "loadbalancer"}, About: "load balancers with their addresses and backends", word: "svc", list: services},
	{Name: "acls", Aliases: []string{"acl"}, About: "ACLs of switches and port groups", word: "acl", list: acls},
	{Name: "portgroups", Aliases: []string{"pg", "portgroup"}, About: "port groups", word: "pg", list: portGroups},
	{Name: "nat", Aliases: []string{"nats"}, About: "address translations of routers", word: "nat", list: nats},
	{Name: "routes", Aliases: []string{"route"}, About: "static routes", word: "route", list: routes},
	{Name: "policies", Aliases: []string{"policy"}, About: "routing policies", word: "policy", list: policies},
	{Name: "chassis", Aliases: []string{"ch"}, About: "chassis with their encaps and physical networks", Southbound: true, Nodes: true, word: "chassis", list: chassis},
	{Name: "nodes", Aliases: []string{"no", "node", "hosts", "host"}, About: "hosts that could be read", Southbound: true, Nodes: true, word: "node", list: nodes},
	{Name: "bridges", Aliases: []string{"br", "bridge"}, About: "bridges of the nodes", Nodes: true, word: "bridge", list: bridges},
	{Name: "interfaces", Aliases: []string{"if", "interface", "iface"}, About: "interfaces of the bridges", Nodes: true, word: "interface", list: interfaces},
	{Name: "tunnels", Aliases: []string{"tunnel"}, About: "tunnels between chassis", Southbound: true, Nodes: true, word: "tunnel", list: tunnels},
}

// KindOf returns the kind with a name or alias, in any case; nil if there is none.
func KindOf(name string) *Kind {
	name = strings.ToLower(name)
	for _, k := range Kinds {
		if k.Name == name || slices.Contains(k.Aliases, name) {
			return k
		}
	}
	return nil
}

// each makes items of a list.
func each[T any](list []T, item func(T) Item) []Item {
	out := make([]Item, 0, len(list))
	for _, x := range list {
		out = append(out, item(x))
	}
	return out
}

// namespaceOf returns the namespace in NAMESPACE/NAME, empty if there is none.
func namespaceOf(name string) string {
	namespace, _, ok := strings.Cut(name, "/")
	if !ok {
		return ""
	}
	return namespace
}

// port returns how a port of a graph is listed.
func port(g *topology.Graph) func(p *topology.Port) Item {
	return func(p *topology.Port) Item {
		also := []string{p.UUID, p.Name, p.DisplayName, p.Device}
		if s := g.SwitchOf(p); s != nil {
			also = append(also, s.Name, s.DisplayName)
		}
		if r := g.RouterOf(p); r != nil {
			also = append(also, r.Name, r.DisplayName)
		}
		return Item{Name: p.Label(), Also: also, Namespace: namespaceOf(p.Pod), Labels: p.ExternalIDs, Object: p}
	}
}

// workloads lists the ports of workloads that are wanted. A port that stands for one of another zone yields to it.
func workloads(g *topology.Graph, wanted func(*topology.Port) bool) []Item {
	var out []*topology.Port
	for _, p := range g.Ports {
		if wanted(p) && (p.Type != "remote" || g.PortByName(p.Name) == p) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *topology.Port) int { return topology.CompareNames(a.Label(), b.Label()) })
	return each(out, port(g))
}

func pods(g *topology.Graph) []Item {
	return workloads(g, func(p *topology.Port) bool { return p.Pod != "" })
}

func machines(g *topology.Graph) []Item {
	return workloads(g, func(p *topology.Port) bool { return p.Pod == "" && p.IsVM() && p.Type == "" })
}

func ports(g *topology.Graph) []Item { return each(g.Ports, port(g)) }

func switches(g *topology.Graph) []Item {
	return each(g.Switches, func(s *topology.Switch) Item {
		return Item{Name: cmp.Or(s.DisplayName, s.Name), Also: []string{s.UUID, s.Name}, Labels: s.ExternalIDs, Object: s}
	})
}

func routers(g *topology.Graph) []Item {
	return each(g.Routers, func(r *topology.Router) Item {
		return Item{Name: cmp.Or(r.DisplayName, r.Name), Also: []string{r.UUID, r.Name}, Labels: r.ExternalIDs, Object: r}
	})
}

func services(g *topology.Graph) []Item {
	return each(g.LoadBalancers, func(lb *topology.LoadBalancer) Item {
		return Item{Name: cmp.Or(lb.Service, lb.Name), Also: []string{lb.UUID, lb.Name}, Namespace: namespaceOf(lb.Service), Labels: lb.ExternalIDs, Object: lb}
	})
}

func acls(g *topology.Graph) []Item {
	var out []Item
	add := func(on topology.Ref, kind, zone string, rules []*topology.ACL) {
		for _, a := range rules {
			out = append(out, Item{
				Name: a.UUID, Also: []string{a.UUID, a.Name, a.Owner.String(), a.Owner.FullName(), on.Name}, Namespace: a.Owner.Namespace, Labels: a.ExternalIDs,
				Object: &ACL{On: on, Kind: kind, Zone: zone, ACL: a},
			})
		}
	}
	for _, s := range g.Switches {
		add(topology.Ref{UUID: s.UUID, Name: s.Name}, "switch", s.Zone, s.ACLs)
	}
	for _, pg := range g.PortGroups {
		add(topology.Ref{UUID: pg.UUID, Name: pg.Name}, "portGroup", pg.Zone, pg.ACLs)
	}
	return out
}

func portGroups(g *topology.Graph) []Item {
	return each(g.PortGroups, func(pg *topology.PortGroup) Item {
		return Item{Name: pg.Name, Also: []string{pg.UUID, pg.Owner.String(), pg.Owner.FullName()}, Namespace: pg.Owner.Namespace, Labels: pg.ExternalIDs, Object: pg}
	})
}

// routerNames are what users call the routers, by UUID.
func routerNames(g *topology.Graph) map[string]string {
	names := map[string]string{}
	for _, r := range g.Routers {
		names[r.UUID] = r.DisplayName
	}
	return names
}

func nats(g *topology.Graph) []Item {
	called := routerNames(g)
	return each(g.NAT, func(n *topology.NAT) Item {
		return Item{Name: n.UUID, Also: []string{n.UUID, n.Name, n.Owner.String(), n.Owner.FullName(), n.Router.Name, called[n.Router.UUID], n.ExternalIP, n.LogicalIP}, Namespace: n.Owner.Namespace, Labels: n.ExternalIDs, Object: n}
	})
}

func routes(g *topology.Graph) []Item {
	var out []Item
	for _, r := range g.Routers {
		router := topology.Ref{UUID: r.UUID, Name: r.Name}
		for _, route := range r.Routes {
			out = append(out, Item{
				Name: route.UUID, Also: []string{route.UUID, r.Name, r.DisplayName, route.Prefix},
				Object: &Route{Router: router, Zone: r.Zone, Route: route},
			})
		}
	}
	return out
}

func policies(g *topology.Graph) []Item {
	called := routerNames(g)
	return each(g.Policies, func(p *topology.Policy) Item {
		return Item{Name: p.UUID, Also: []string{p.UUID, p.Name, p.Owner.String(), p.Owner.FullName(), p.Router.Name, called[p.Router.UUID]}, Namespace: p.Owner.Namespace, Labels: p.ExternalIDs, Object: p}
	})
}

func chassis(g *topology.Graph) []Item {
	return each(g.Chassis, func(c *topology.Chassis) Item {
		return Item{Name: cmp.Or(c.Hostname, c.Name), Also: []string{c.UUID, c.Name}, Labels: c.ExternalIDs, Object: c}
	})
}

func nodes(g *topology.Graph) []Item {
	return each(g.Nodes, func(n *topology.Node) Item {
		return Item{Name: n.Name, Also: []string{n.UUID, n.SystemID}, Labels: n.ExternalIDs, Object: n}
	})
}

func bridges(g *topology.Graph) []Item {
	return each(g.Bridges, func(b *topology.Bridge) Item {
		return Item{Name: b.Name, Also: []string{b.UUID, b.Node}, Labels: b.ExternalIDs, Object: b}
	})
}

func interfaces(g *topology.Graph) []Item {
	var out []Item
	for _, b := range g.Bridges {
		for _, p := range b.Ports {
			for _, i := range p.Interfaces {
				out = append(out, Item{
					Name: i.Name, Also: []string{i.UUID, p.Name, b.Name, b.Node, p.LogicalPort}, Labels: i.ExternalIDs,
					Object: InterfaceOf(b, p, i),
				})
			}
		}
	}
	return out
}

func tunnels(g *topology.Graph) []Item {
	labels := g.Labels()
	return each(g.Tunnels, func(t *topology.Tunnel) Item {
		also := []string{t.UUID}
		for _, c := range t.Chassis {
			also = append(also, c, labels[c])
		}
		return Item{Name: t.Name, Also: also, Object: t}
	})
}
