package facts

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// An EgressRow is a row that OVN-Kubernetes wrote for a pod's egress IP.
type EgressRow struct {
	Table    string // NAT or Logical_Router_Policy
	UUID     ovsdb.UUID
	Router   *nb.LogicalRouter
	Name     string // of the EgressIP
	Pod      string // NAMESPACE/POD; empty if not in the row
	PodIP    string
	Egress   string // the source address, or the next hop
	Says     string
	Stale    string     // why it is not needed; empty if needed or unknown
	Conflict *EgressRow // another row that gives the pod another address
	Foreign  bool       // the pod may be in another zone
	Unserved *Unserved  // of a policy: where it leads is no row for its pod; nil if there is, or unknown
}

// An Unserved is a next hop of an egress IP's policy that translates nothing for the pod.
type Unserved struct {
	Nexthop, Port, Zone string
}

// EgressRows returns the rows of a zone's egress IPs, with stale ones marked.
func EgressRows(d *snapshot.Deployment, north *snapshot.Northbound) []EgressRow {
	routerOf := map[ovsdb.UUID]*nb.LogicalRouter{}
	for i := range north.Routers {
		r := &north.Routers[i]
		for _, u := range slices.Concat([]ovsdb.UUID(r.NAT), []ovsdb.UUID(r.Policies)) {
			routerOf[u] = r
		}
	}
	var rows []EgressRow
	for _, n := range north.NAT {
		name, pod, ok := egressOwner(n.ExternalIDs)
		if ok && n.Type == "snat" && routerOf[n.UUID] != nil {
			rows = append(rows, EgressRow{Table: "NAT", UUID: n.UUID, Router: routerOf[n.UUID], Name: name, Pod: pod, PodIP: n.LogicalIP, Egress: n.ExternalIP,
				Says: fmt.Sprintf("type=snat logical_ip=%s external_ip=%s external_ids %s", n.LogicalIP, n.ExternalIP, egressText(n.ExternalIDs))})
		}
	}
	for _, p := range north.Policies {
		name, pod, ok := egressOwner(p.ExternalIDs)
		ip, single := sourceOf(p.Match)
		if ok && single && p.Action == "reroute" && routerOf[p.UUID] != nil {
			rows = append(rows, EgressRow{Table: "Logical_Router_Policy", UUID: p.UUID, Router: routerOf[p.UUID], Name: name, Pod: pod, PodIP: ip, Egress: strings.Join(p.Nexthops, ","),
				Says: fmt.Sprintf("%d '%s' reroute %s external_ids %s", p.Priority, p.Match, strings.Join(p.Nexthops, ","), egressText(p.ExternalIDs))})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	pods, subnets := podAddresses(d, north), podSubnets(north)
	for i := range rows {
		rows[i].judge(pods, subnets)
	}
	findConflicts(rows)
	findUnserved(d, north, rows)
	return rows
}

// findUnserved finds policies that lead to the gateway of a node that was read, and that has no row of the egress IP for
// the pod. A next hop that no router of the network has is on a host, which translates itself.
func findUnserved(d *snapshot.Deployment, own *snapshot.Northbound, rows []EgressRow) {
	at := map[hop]hopPlace{}
	for _, z := range d.Zones {
		if north, err := z.Northbound(); err == nil && north != own {
			addHops(at, z.Name, north)
		}
	}
	addHops(at, "", own)
	for i := range rows {
		r := &rows[i]
		if r.Table == "NAT" || r.Stale != "" {
			continue
		}
		for text := range strings.SplitSeq(r.Egress, ",") {
			a, err := netip.ParseAddr(text)
			to, known := at[hop{networkOf(r.Router), a}]
			if err == nil && known && !translates(to.north, r) {
				r.Unserved = &Unserved{text, to.port, to.zone}
				break
			}
		}
	}
}

// A hop is a next hop: the same addresses are used again in each user-defined network.
type hop struct {
	network string
	address netip.Addr
}

type hopPlace struct {
	port, zone string
	north      *snapshot.Northbound
}

// networkOf returns the network that OVN-Kubernetes made a router for; empty for the default one.
func networkOf(r *nb.LogicalRouter) string { return r.ExternalIDs["k8s.ovn.org/network"] }

// addHops adds the addresses of a zone's router ports.
func addHops(at map[hop]hopPlace, zone string, north *snapshot.Northbound) {
	ports := map[ovsdb.UUID]*nb.LogicalRouterPort{}
	for i := range north.RouterPorts {
		ports[north.RouterPorts[i].UUID] = &north.RouterPorts[i]
	}
	for i := range north.Routers {
		r := &north.Routers[i]
		for _, id := range r.Ports {
			if ports[id] == nil {
				continue
			}
			for _, n := range Networks(ports[id]) {
				at[hop{networkOf(r), n.Addr()}] = hopPlace{ports[id].Name, zone, north}
			}
		}
	}
}

// translates reports whether a Northbound has the NAT of a policy's egress IP for its pod.
func translates(north *snapshot.Northbound, r *EgressRow) bool {
	return slices.ContainsFunc(north.NAT, func(n nb.NAT) bool {
		name, _, ok := egressOwner(n.ExternalIDs)
		return ok && name == r.Name && n.Type == "snat" && n.LogicalIP == r.PodIP
	})
}

// egressOwner parses the external_ids of an egress IP's row: owner-type and EGRESSIP_NAMESPACE/POD, or before
// OVN-Kubernetes 4.13 a name.
func egressOwner(ids map[string]string) (name, pod string, ok bool) {
	if ids["k8s.ovn.org/owner-type"] == "EgressIP" {
		name, pod, found := strings.Cut(ids["k8s.ovn.org/name"], "_")
		if !found || !strings.Contains(pod, "/") {
			pod = ""
		}
		return name, pod, name != ""
	}
	if len(ids) == 1 && ids["name"] != "" {
		return ids["name"], "", true
	}
	return "", "", false
}

func egressText(ids map[string]string) string {
	var out []string
	for _, key := range []string{"name", "k8s.ovn.org/name", "k8s.ovn.org/owner-type"} {
		if ids[key] != "" {
			out = append(out, key+"="+ids[key])
		}
	}
	return strings.Join(out, " ")
}

// sourceOf parses "ip4.src == A".
func sourceOf(match string) (string, bool) {
	text := strings.ReplaceAll(match, " ", "")
	for _, prefix := range []string{"ip4.src==", "ip6.src=="} {
		if a, ok := strings.CutPrefix(text, prefix); ok {
			_, err := netip.ParseAddr(a)
			return a, err == nil
		}
	}
	return "", false
}

// podAddresses returns the port names of all zones read, by address.
func podAddresses(d *snapshot.Deployment, north *snapshot.Northbound) map[netip.Addr]string {
	out := map[netip.Addr]string{}
	add := func(rows *snapshot.Northbound) {
		for _, p := range rows.SwitchPorts {
			for w := range strings.FieldsSeq(strings.Join(slices.Concat([]string(p.Addresses), []string(p.DynamicAddresses)), " ")) {
				if a, err := netip.ParseAddr(w); err == nil {
					out[a] = p.Name
				}
			}
		}
	}
	for _, z := range d.Zones {
		if rows, err := z.Northbound(); err == nil {
			add(rows)
		}
	}
	add(north)
	return out
}

// podSubnets returns the networks of this Northbound's switches.
func podSubnets(north *snapshot.Northbound) []netip.Prefix {
	var out []netip.Prefix
	for _, ls := range north.Switches {
		for _, key := range []string{"subnet", "ipv6_prefix"} {
			text := ls.OtherConfig[key]
			if key == "ipv6_prefix" && text != "" && !strings.Contains(text, "/") {
				text += "/64"
			}
			if p, err := netip.ParsePrefix(text); err == nil {
				out = append(out, p.Masked())
			}
		}
	}
	return out
}

// judge determines whether a row's pod still exists.
func (r *EgressRow) judge(pods map[netip.Addr]string, subnets []netip.Prefix) {
	a, err := netip.ParseAddr(r.PodIP)
	if err != nil {
		return
	}
	r.Foreign = !slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(a) })
	port, there := pods[a]
	switch want := strings.ReplaceAll(r.Pod, "/", "_"); {
	case !there && r.Foreign: // a pod in a zone that was not read
	case !there:
		r.Stale = "no pod has the address " + r.PodIP
	case r.Pod != "" && port != want && !strings.HasSuffix(port, "_"+want):
		r.Stale = fmt.Sprintf("%s is now the address of %s, not of %s", r.PodIP, port, r.Pod)
	}
}

// findConflicts finds pairs of rows on one router that give a pod two addresses.
func findConflicts(rows []EgressRow) {
	first := map[string]int{}
	for i := range rows {
		r := &rows[i]
		if r.Table != "NAT" || r.Stale != "" {
			continue
		}
		key := string(r.Router.UUID) + " " + r.PodIP
		if j, ok := first[key]; ok && rows[j].Egress != r.Egress {
			r.Conflict = &rows[j]
		} else {
			first[key] = i
		}
	}
}
