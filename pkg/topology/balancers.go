package topology

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

func (b *zoneBuilder) loadBalancers() {
	found := map[ovsdb.UUID]*LoadBalancer{}
	for _, row := range b.nb.LoadBalancers {
		lb := &LoadBalancer{
			UUID: string(row.UUID), Name: row.Name, Zone: b.zone,
			Protocol: protocol(row.Protocol),
			Service:  serviceOf(row.Name, row.ExternalIDs),
			VIPs:     vips(row.VIPs),
			Switches: []Ref{}, Routers: []Ref{}, Groups: []string{},
			SelectBy:    list(row.SelectionFields...),
			Options:     secret.Map(row.Options),
			ExternalIDs: secret.Map(row.ExternalIDs),
		}
		slices.Sort(lb.SelectBy)
		b.LoadBalancers = append(b.LoadBalancers, lb)
		found[row.UUID] = lb
	}
	groups := b.balancerGroups(found)
	for _, row := range b.nb.Switches {
		ref := Ref{UUID: string(row.UUID), Name: row.Name}
		for _, id := range row.LoadBalancer {
			if lb := found[id]; lb != nil {
				lb.Switches = append(lb.Switches, ref)
			}
		}
		for _, id := range row.LoadBalancerGroup {
			if g := groups[id]; g != nil {
				g.Switches = append(g.Switches, ref)
			}
		}
	}
	for _, row := range b.nb.Routers {
		ref := Ref{UUID: string(row.UUID), Name: row.Name}
		for _, id := range row.LoadBalancer {
			if lb := found[id]; lb != nil {
				lb.Routers = append(lb.Routers, ref)
			}
		}
		for _, id := range row.LoadBalancerGroup {
			if g := groups[id]; g != nil {
				g.Routers = append(g.Routers, ref)
			}
		}
	}
	for _, lb := range found {
		sortRefs(lb.Switches)
		sortRefs(lb.Routers)
		slices.SortFunc(lb.Groups, CompareNames)
	}
	for _, g := range groups {
		sortRefs(g.Switches)
		sortRefs(g.Routers)
		slices.SortFunc(g.LoadBalancers, CompareNames)
	}
}

func (b *zoneBuilder) balancerGroups(found map[ovsdb.UUID]*LoadBalancer) map[ovsdb.UUID]*LoadBalancerGroup {
	groups := map[ovsdb.UUID]*LoadBalancerGroup{}
	for _, row := range b.nb.Groups {
		g := &LoadBalancerGroup{
			UUID: string(row.UUID), Name: row.Name, Zone: b.zone,
			LoadBalancers: []string{}, Switches: []Ref{}, Routers: []Ref{},
		}
		for _, id := range row.LoadBalancer {
			if lb := found[id]; lb != nil {
				g.LoadBalancers = append(g.LoadBalancers, lb.Name)
				lb.Groups = append(lb.Groups, g.Name)
			}
		}
		b.LoadBalancerGroups = append(b.LoadBalancerGroups, g)
		groups[row.UUID] = g
	}
	return groups
}

// services adds the Southbound's load balancers, for a zone without Northbound.
func (b *zoneBuilder) services(t *sbServices) {
	groups := byID(t.Groups, func(r sb.LogicalDPGroup) ovsdb.UUID { return r.UUID })
	for _, row := range t.LoadBalancers {
		lb := &LoadBalancer{
			UUID: string(row.UUID), Name: row.Name, Zone: b.zone,
			Protocol: protocol(row.Protocol),
			Service:  serviceOf(row.Name, row.ExternalIDs),
			VIPs:     vips(row.VIPs),
			Switches: []Ref{}, Routers: []Ref{}, Groups: []string{}, SelectBy: []string{},
			Options:     secret.Map(row.Options),
			ExternalIDs: secret.Map(row.ExternalIDs),
		}
		datapaths := slices.Clone(row.Datapaths)
		for _, ref := range []ovsdb.Set[ovsdb.UUID]{row.DatapathGroup, row.LSDatapathGroup, row.LRDatapathGroup} {
			datapaths = append(datapaths, groups[ref.Get()].Datapaths...)
		}
		for _, id := range datapaths {
			if s := b.switchOf[id]; s != nil {
				lb.Switches = append(lb.Switches, Ref{UUID: s.UUID, Name: s.Name})
			}
			if r := b.routerOf[id]; r != nil {
				lb.Routers = append(lb.Routers, Ref{UUID: r.UUID, Name: r.Name})
			}
		}
		sortRefs(lb.Switches)
		sortRefs(lb.Routers)
		b.LoadBalancers = append(b.LoadBalancers, lb)
	}
}

func sortRefs(refs []Ref) {
	slices.SortFunc(refs, func(a, b Ref) int {
		if c := CompareNames(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.UUID, b.UUID)
	})
}

// protocol is tcp where the column is empty, as OVN reads it.
func protocol(column ovsdb.Set[string]) string {
	if len(column) == 0 {
		return "tcp"
	}
	return column[0]
}

// serviceOf is NAMESPACE/NAME of the service that OVN-Kubernetes made a load
// balancer for: its owner, else the name it gives it.
func serviceOf(name string, ids map[string]string) string {
	if owner := ids["k8s.ovn.org/owner"]; owner != "" && ids["k8s.ovn.org/kind"] == "Service" {
		return owner
	}
	rest, ok := strings.CutPrefix(name, "Service_")
	if !ok || !strings.Contains(rest, "/") {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "_") // no name of a Kubernetes object holds one
	return rest
}

func vips(column map[string]string) []*VIP {
	out := []*VIP{}
	for vip, backends := range column {
		v := &VIP{Backends: names(backends)}
		v.Address, v.Port = splitVIP(vip)
		if v.Backends == nil {
			v.Backends = []string{}
		}
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b *VIP) int {
		if c := compareVIPAddresses(a.Address, b.Address); c != 0 {
			return c
		}
		return a.Port - b.Port
	})
	return out
}

func compareVIPAddresses(a, b string) int {
	x, errx := netip.ParseAddr(a)
	y, erry := netip.ParseAddr(b)
	if errx != nil || erry != nil {
		return strings.Compare(a, b)
	}
	return x.Compare(y)
}

// splitVIP splits ADDRESS[:PORT], IPv6 in brackets when it has a port.
func splitVIP(vip string) (address string, port int) {
	if _, err := netip.ParseAddr(vip); err == nil {
		return vip, 0
	}
	host, service, err := net.SplitHostPort(vip)
	if err != nil {
		return vip, 0
	}
	port, err = strconv.Atoi(service)
	if err != nil {
		return vip, 0
	}
	return host, port
}

// String is the VIP as the database writes it.
func (v *VIP) String() string {
	if v.Port == 0 {
		return v.Address
	}
	return net.JoinHostPort(v.Address, strconv.Itoa(v.Port))
}
