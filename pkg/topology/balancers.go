package topology

import (
	"cmp"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

func (b *zoneBuilder) loadBalancers() {
	found := map[ovsdb.UUID]*LoadBalancer{}
	for _, row := range b.nb.LoadBalancers {
		lb := b.loadBalancer(row.UUID, row.Name, row.Protocol, row.VIPs, row.Options, row.ExternalIDs)
		lb.SelectBy = list(row.SelectionFields...)
		slices.Sort(lb.SelectBy)
		found[row.UUID] = lb
	}
	groups := b.balancerGroups(found)
	for _, row := range b.nb.Switches {
		ref := Ref{UUID: string(row.UUID), Name: row.Name}
		for lb := range those(row.LoadBalancer, found) {
			lb.Switches = append(lb.Switches, ref)
		}
		for g := range those(row.LoadBalancerGroup, groups) {
			g.Switches = append(g.Switches, ref)
		}
	}
	for _, row := range b.nb.Routers {
		ref := Ref{UUID: string(row.UUID), Name: row.Name}
		for lb := range those(row.LoadBalancer, found) {
			lb.Routers = append(lb.Routers, ref)
		}
		for g := range those(row.LoadBalancerGroup, groups) {
			g.Routers = append(g.Routers, ref)
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
		for lb := range those(row.LoadBalancer, found) {
			g.LoadBalancers = append(g.LoadBalancers, lb.Name)
			lb.Groups = append(lb.Groups, g.Name)
		}
		b.LoadBalancerGroups = append(b.LoadBalancerGroups, g)
		groups[row.UUID] = g
	}
	return groups
}

// services adds the Southbound's load balancers, for a zone without a Northbound.
func (b *zoneBuilder) services(t *sbServices) {
	groups := byID(t.Groups, func(r *sb.LogicalDPGroup) ovsdb.UUID { return r.UUID })
	for _, row := range t.LoadBalancers {
		lb := b.loadBalancer(row.UUID, row.Name, row.Protocol, row.VIPs, row.Options, row.ExternalIDs)
		datapaths := slices.Clone(row.Datapaths)
		for _, ref := range []ovsdb.Set[ovsdb.UUID]{row.DatapathGroup, row.LSDatapathGroup, row.LRDatapathGroup} {
			for group := range those(ref, groups) {
				datapaths = append(datapaths, group.Datapaths...)
			}
		}
		for s := range those(datapaths, b.switchOf) {
			lb.Switches = append(lb.Switches, Ref{UUID: s.UUID, Name: s.Name})
		}
		for r := range those(datapaths, b.routerOf) {
			lb.Routers = append(lb.Routers, Ref{UUID: r.UUID, Name: r.Name})
		}
		sortRefs(lb.Switches)
		sortRefs(lb.Routers)
	}
}

// loadBalancer adds a load balancer row of either database; the columns have the same names.
func (b *zoneBuilder) loadBalancer(id ovsdb.UUID, name string, protocol ovsdb.Set[string], addresses, options, ids map[string]string) *LoadBalancer {
	lb := &LoadBalancer{
		UUID: string(id), Name: name, Zone: b.zone,
		Protocol: cmp.Or(protocol.Get(), "tcp"),
		Service:  serviceOf(name, ids),
		Owner:    decode.OwnerOf(ids),
		VIPs:     vips(addresses),
		Switches: []Ref{}, Routers: []Ref{}, Groups: []string{}, SelectBy: []string{},
		Options: secret.Map(options), ExternalIDs: secret.Map(ids),
	}
	b.LoadBalancers = append(b.LoadBalancers, lb)
	return lb
}

func sortRefs(refs []Ref) {
	slices.SortFunc(refs, func(a, b Ref) int {
		return cmp.Or(CompareNames(a.Name, b.Name), strings.Compare(a.UUID, b.UUID))
	})
}

// serviceOf returns NAMESPACE/NAME of the service behind OVN-Kubernetes' load balancer: its owner, else parsed from
// its name.
func serviceOf(name string, ids map[string]string) string {
	if owner := ids["k8s.ovn.org/owner"]; owner != "" && ids["k8s.ovn.org/kind"] == "Service" {
		return owner
	}
	rest, ok := strings.CutPrefix(name, "Service_")
	if !ok || !strings.Contains(rest, "/") {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "_") // names of Kubernetes objects contain none
	return rest
}

func vips(column map[string]string) []*VIP {
	out := []*VIP{}
	for vip, backends := range column {
		v := &VIP{Backends: list(names(backends)...)}
		v.Address, v.Port = splitVIP(vip)
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b *VIP) int {
		return cmp.Or(compareVIPAddresses(a.Address, b.Address), cmp.Compare(a.Port, b.Port))
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

// splitVIP splits ADDRESS[:PORT]; IPv6 with a port is in brackets.
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

// String formats the VIP as in the database.
func (v *VIP) String() string {
	if v.Port == 0 {
		return v.Address
	}
	return net.JoinHostPort(v.Address, strconv.Itoa(v.Port))
}
