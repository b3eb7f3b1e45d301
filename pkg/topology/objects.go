package topology

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// An owned is an object of the CMS that is no row itself, with the rows made for it: a NetworkPolicy and its port
// group, an EgressIP and its translations.
type owned struct {
	owner decode.Owner
	rowSet
}

// A rowSet holds objects of the Topology, each once, in the order in which they were added. There may be as many as pods.
type rowSet struct {
	rows []any
	has  map[any]bool
}

func (s *rowSet) add(row any) {
	if s.has[row] {
		return
	}
	if s.has == nil {
		s.has = map[any]bool{}
	}
	s.rows, s.has[row] = append(s.rows, row), true
}

// name returns the name of an object as an operator types it: egressip:exit-ip.
func (o *owned) name() string { return typeWords.Get()[o.owner.Kind] + ":" + o.owner.FullName() }

// addOwned indexes the rows by the object of the CMS that they were made for.
func (g *Graph) addOwned() {
	for _, pg := range g.PortGroups {
		g.own(pg.Owner, pg)
		g.ownACLs(pg.ACLs, pg)
		for _, a := range pg.ACLs {
			if slices.Contains(groupKinds, pg.Owner.Kind) { // an ACL's own is the rule
				g.own(pg.Owner, a)
			}
		}
	}
	for _, s := range g.Switches {
		g.ownACLs(s.ACLs, s)
		for _, q := range s.QoSRules {
			g.own(q.Owner, s)
			g.own(q.Owner, q)
		}
		g.own(networkOf(s.ExternalIDs), s)
	}
	for _, r := range g.Routers {
		g.own(networkOf(r.ExternalIDs), r)
	}
	for _, n := range g.NAT {
		g.own(n.Owner, n)
	}
	for _, p := range g.Policies {
		g.own(p.Owner, p)
	}
	for _, p := range g.Ports {
		if namespace, _, ok := strings.Cut(p.Pod, "/"); ok && !g.standsIn(p) {
			g.own(decode.Owner{CMS: decode.OVNKubernetes, Kind: "Namespace", Name: namespace}, p)
		}
	}
	slices.SortFunc(g.owned, func(a, b *owned) int { return CompareNames(a.name(), b.name()) })
}

// ownACLs indexes ACLs together with what they belong to.
func (g *Graph) ownACLs(acls []*ACL, holder any) {
	for _, a := range acls {
		g.own(a.Owner, holder)
		g.own(a.Owner, a)
	}
}

// own adds a row to an object. The default deny of a namespace's policies is part of each of them.
func (g *Graph) own(owner decode.Owner, row any) {
	if owner.Role == decode.DefaultDeny && owner.Namespace != "" {
		if g.defaultDeny[owner.Namespace] == nil {
			g.defaultDeny[owner.Namespace] = new(rowSet)
		}
		g.defaultDeny[owner.Namespace].add(row)
	}
	if _, known := typeWords.Get()[owner.Kind]; !known || owner.Kind == "" || owner.Role != decode.Own || owner.Name == "" {
		return
	}
	owner.CMS = "" // of the namespaces of either
	o := g.ownedBy[owner]
	if o == nil {
		o = &owned{owner: owner}
		g.ownedBy[owner], g.owned = o, append(g.owned, o)
	}
	o.add(row)
}

// objectMatch returns the Match of an object.
func (g *Graph) objectMatch(o *owned) Match {
	m := Match{Kind: KindObject, Name: o.name(), Owner: o.owner, Rows: slices.Clone(o.rows)}
	if deny := g.defaultDeny[o.owner.Namespace]; o.owner.Kind == "NetworkPolicy" && deny != nil {
		m.Rows = append(m.Rows, slices.DeleteFunc(slices.Clone(deny.rows), func(row any) bool { return o.has[row] })...)
	}
	return m
}

// groupMatch returns the Match of a port group: the object that it was made for, if that is one.
func (g *Graph) groupMatch(pg *PortGroup) Match {
	owner := pg.Owner
	owner.CMS = ""
	if o := g.ownedBy[owner]; o != nil && owner.Kind != "Namespace" {
		return g.objectMatch(o)
	}
	return Match{Kind: KindObject, Name: "pg:" + pg.Name, Zone: pg.Zone, Rows: []any{pg}}
}

// uuidOf returns the UUID of a row of an object; empty for a pod of a namespace, which is not shown in detail.
func uuidOf(row any) string {
	switch row := row.(type) {
	case *PortGroup:
		return row.UUID
	case *ACL:
		return row.UUID
	case *QoS:
		return row.UUID
	case *Switch:
		return row.UUID
	case *Router:
		return row.UUID
	case *NAT:
		return row.UUID
	case *Policy:
		return row.UUID
	}
	return ""
}

// object keeps the rows of an object and the ports that they apply to.
func (n *narrower) object(m Match) {
	for _, row := range m.Rows {
		switch row := row.(type) {
		case *PortGroup:
			n.group(row)
		case *Switch:
			n.keep[row] = true
			if m.Owner.Kind == networkKind {
				n.wholeSwitch(row)
			}
		case *Router:
			n.wholeRouter(row)
		case *NAT:
			n.nat(row)
		case *Policy:
			n.keep[row] = true
			n.keep[n.routers[row.Router.UUID]] = true
			for word := range strings.FieldsSeq(row.Match) {
				n.at(word)
			}
		case *Port:
			n.placed(row)
		}
	}
}

// group keeps a port group with its ports.
func (n *narrower) group(pg *PortGroup) {
	if len(pg.Ports) == 0 && len(pg.ACLs) == 0 {
		return // OVN-Kubernetes makes one for each namespace on each network
	}
	n.keep[pg] = true
	for _, name := range pg.Ports {
		for _, p := range n.portsByName[name] {
			if p.Zone == pg.Zone {
				n.placed(p)
			}
		}
	}
}

// nat keeps a translation with its router and who has its addresses.
func (n *narrower) nat(nat *NAT) {
	n.keep[nat] = true
	n.keep[n.routers[nat.Router.UUID]] = true
	n.at(nat.LogicalIP)
	if p := n.PortByName(nat.LogicalPort); p != nil {
		n.placed(p)
	}
	for _, p := range n.onRouter[nat.Router.UUID] {
		if slices.ContainsFunc(p.Prefixes(), func(prefix netip.Prefix) bool { return prefix.Contains(nat.external()) }) {
			n.placed(p)
		}
	}
}

func (nat *NAT) external() netip.Addr {
	a, _ := netip.ParseAddr(nat.ExternalIP)
	return a
}

// at keeps the ports with an address.
func (n *narrower) at(text string) {
	if a, err := netip.ParseAddr(text); err == nil {
		for _, p := range home(n.PortsAt(a)) {
			n.placed(p)
		}
	}
}

// placed keeps a port, its switch or router, its chassis and node.
func (n *narrower) placed(p *Port) {
	n.keep[p] = true
	n.home(p)
	n.whereabouts(p)
}

// natsAt returns the translations to an address, those that let packets in first.
func (g *Graph) natsAt(addr netip.Addr) []*NAT {
	var out []*NAT
	for _, n := range g.NAT {
		if n.external() == addr {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b *NAT) int { return compareBools(a.Type == "snat", b.Type == "snat") })
	return out
}

// natMatch returns the Match of the translations to one address.
func natMatch(nats []*NAT) Match {
	m := Match{Kind: KindNAT, Name: "nat:" + nats[0].ExternalIP, Zone: nats[0].Zone, NATs: nats}
	if a := nats[0].external(); a.IsValid() {
		m.Addresses = []netip.Addr{a.Unmap()}
	}
	return m
}

// networkOf returns the user-defined network of a row of OVN-Kubernetes, which writes its NetworkAttachmentDefinition's
// name with _ for /, and that of a ClusterUserDefinedNetwork after a prefix; the zero value for the default network.
func networkOf(ids map[string]string) decode.Owner {
	name := ids["k8s.ovn.org/network"]
	owner := decode.Owner{CMS: decode.OVNKubernetes, Kind: networkKind}
	if cluster, ok := strings.CutPrefix(name, "cluster_udn_"); ok {
		owner.Name = cluster
		return owner
	}
	namespace, rest, ok := strings.Cut(name, "_")
	if !ok {
		return decode.Owner{}
	}
	owner.Namespace, owner.Name = namespace, rest
	return owner
}

// networkName returns the name of a row of a user-defined network as NAME@NETWORK, as pods are called on one; empty for
// other rows. OVN-Kubernetes writes the network into the name, with . for -.
func networkName(name string, ids map[string]string) string {
	owner := networkOf(ids)
	if owner == (decode.Owner{}) {
		return ""
	}
	prefix := strings.ReplaceAll(ids["k8s.ovn.org/network"], "-", ".") + "_"
	before, after, ok := strings.Cut(name, prefix)
	if !ok {
		return ""
	}
	return cmp.Or(before+after, name) + "@" + owner.FullName()
}
