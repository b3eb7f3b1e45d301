package cms

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var OVNKZonesDiffer = &doctor.Check{
	Name:     "ovnk-zones-differ",
	Category: "ovn-kubernetes",
	Doc: `A zone differs from all others in a policy or a service

With interconnect, the ovnkube of each node writes the policies, egress firewalls and services of
the whole cluster into its own zone. What all other zones have alike, and one has not, was not
written there, or was changed.`,
	Causes: []string{"db-disk-full-or-corrupt"},
	Settle: true, // the nodes' ovnkubes are not equally fast
	Run: func(p *doctor.Pass) {
		var zones []clusterRows
		for z := range p.EachZone() {
			rows, err := clusterRowsOf(z)
			if err != nil {
				p.Unknown(doctor.Object{Kind: "zone", Name: z.Name}, err)
			} else if len(rows.says) > 0 {
				zones = append(zones, rows)
			}
		}
		if len(zones) < enoughZones {
			p.Skip("fewer than three zones of OVN-Kubernetes were read: nothing shows which of them differs")
			return
		}
		for i := range zones {
			zones[i].compare(p, slices.Concat(zones[:i], zones[i+1:]))
		}
	},
}

// enoughZones is how many zones show which one differs.
const enoughZones = 3

// clusterRows holds the rows of a zone that are alike in all zones of a cluster.
type clusterRows struct {
	zone string
	says map[clusterRow]string // what the row must say in all zones
	of   map[clusterRow]ovsdb.UUID
}

// A clusterRow is a row by what is the same in all zones.
type clusterRow struct {
	owner decode.Owner
	table string
	id    string
}

// clusterPolicies are the owners of policies that each zone has in full. Those of nodes and user-defined networks differ by zone.
var clusterPolicies = []string{"NetworkPolicy", "NetpolNamespace", "AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "EgressFirewall"}

func clusterRowsOf(z *snapshot.Zone) (clusterRows, error) {
	rows := clusterRows{z.Name, map[clusterRow]string{}, map[clusterRow]ovsdb.UUID{}}
	lists, err := z.AccessLists()
	if err != nil {
		return rows, err
	}
	balancers, err := z.Balancers()
	if err != nil {
		return rows, err
	}
	policy := func(table string, row ovsdb.UUID, ids map[string]string, says string) {
		if id := ids["k8s.ovn.org/id"]; id != "" && slices.Contains(clusterPolicies, ids["k8s.ovn.org/owner-type"]) {
			rows.add(clusterRow{decode.OwnerOf(ids), table, id}, row, says)
		}
	}
	for g := range doctor.Each(lists.PortGroups) {
		policy("Port_Group", g.UUID, g.ExternalIDs, "") // its ports and rules are the zone's own
	}
	for acl := range doctor.Each(lists.ACLs) {
		policy("ACL", acl.UUID, acl.ExternalIDs, fmt.Sprintf("direction=%s, priority=%d, tier=%d, action=%s, match=%s", acl.Direction, acl.Priority, acl.Tier, acl.Action, acl.Match))
	}
	for lb := range doctor.Each(balancers.LoadBalancers) {
		if lb.ExternalIDs["k8s.ovn.org/kind"] == "Service" && strings.HasSuffix(lb.Name, "_cluster") {
			rows.add(clusterRow{decode.OwnerOf(lb.ExternalIDs), "Load_Balancer", lb.Name}, lb.UUID, vipsText(lb.VIPs))
		}
	}
	return rows, nil
}

func (c *clusterRows) add(key clusterRow, row ovsdb.UUID, says string) {
	c.says[key], c.of[key] = says, row
}

// vipsText formats the virtual IPs of a load balancer, and their backends in any order.
func vipsText(vips map[string]string) string {
	var out []string
	for _, vip := range slices.Sorted(maps.Keys(vips)) {
		backends := strings.Split(vips[vip], ",")
		slices.Sort(backends)
		out = append(out, vip+"="+strings.Join(backends, ","))
	}
	return strings.Join(out, " ")
}

// compare reports the owners whose rows all the other zones have alike, and this one has not.
func (c *clusterRows) compare(p *doctor.Pass, others []clusterRows) {
	lacks, differs, left := map[decode.Owner][]clusterRow{}, map[decode.Owner][]clusterRow{}, map[decode.Owner][]clusterRow{}
	for key, says := range others[0].says {
		if slices.ContainsFunc(others[1:], func(o clusterRows) bool { there, has := o.says[key]; return !has || there != says }) {
			continue
		}
		if here, has := c.says[key]; !has {
			lacks[key.owner] = append(lacks[key.owner], key)
		} else if here != says {
			differs[key.owner] = append(differs[key.owner], key)
		}
	}
	for key := range c.says {
		if !slices.ContainsFunc(others, func(o clusterRows) bool { _, has := o.says[key]; return has }) {
			left[key.owner] = append(left[key.owner], key)
		}
	}
	const restart = "restart ovnkube on its node: it writes the rows of its zone again"
	for owner, rows := range sorted(lacks) {
		f := c.finding(owner, "lacks", append(rows, differs[owner]...), others)
		f.Title = fmt.Sprintf("%s lacks %s in zone %s; the other %d zones have it", owner, rowsText(rows), c.zone, len(others))
		f.Cause = "somebody deleted the rows, or the zone's ovnkube failed to write them"
		f.Effect = "there, what it allows or denies is not carried out"
		if owner.Kind == "Service" {
			f.Effect = "clients in that zone do not reach the service"
		}
		f.Next = restart
		p.Report(f)
		delete(differs, owner)
		delete(left, owner)
	}
	for owner, rows := range sorted(differs) {
		f := c.finding(owner, "differs", rows, others)
		f.Title = fmt.Sprintf("%s has another %s in zone %s than in the other %d zones", owner, rowsText(rows), c.zone, len(others))
		f.Cause = "somebody changed the rows, or the zone's ovnkube does not follow"
		f.Effect = "in that zone, packets are treated otherwise than in the rest of the cluster"
		f.Next = restart
		p.Report(f)
		delete(left, owner)
	}
	for owner, rows := range sorted(left) {
		f := c.finding(owner, "left", rows, others)
		f.Result = doctor.Warning
		f.Title = fmt.Sprintf("zone %s has %s of %s; the other %d zones have not", c.zone, rowsText(rows), owner, len(others))
		f.Cause = "it was deleted or changed while the zone's ovnkube was down, or the other zones do not follow"
		f.Effect = "in that zone, packets are treated otherwise than in the rest of the cluster"
		f.Next = restart
		p.Report(f)
	}
}

// sorted yields owners with their rows in the order of their names.
func sorted(of map[decode.Owner][]clusterRow) iter.Seq2[decode.Owner, []clusterRow] {
	return func(yield func(decode.Owner, []clusterRow) bool) {
		for _, owner := range slices.SortedFunc(maps.Keys(of), func(a, b decode.Owner) int { return strings.Compare(a.String(), b.String()) }) {
			if rows, has := of[owner]; has && !yield(owner, rows) {
				return
			}
		}
	}
}

// finding begins a finding about rows of an owner.
func (c *clusterRows) finding(owner decode.Owner, reason string, rows []clusterRow, others []clusterRows) doctor.Finding {
	slices.SortFunc(rows, func(a, b clusterRow) int { return strings.Compare(a.table+a.id, b.table+b.id) })
	f := doctor.Finding{Object: doctor.Object{Kind: "policy", Name: owner.String()}, Reason: reason, Also: []doctor.Object{{Kind: "zone", Name: c.zone}}}
	for _, key := range rows[:min(len(rows), 4)] {
		if says, has := c.says[key]; has {
			f.Evidence = append(f.Evidence, doctor.NBRow(key.table, c.of[key], "in zone %s: %s %s", c.zone, key.id, says))
		} else {
			f.Evidence = append(f.Evidence, doctor.NB(key.table, "").Says(fmt.Sprintf("zone %s has no row %s", c.zone, key.id)))
		}
		if says, has := others[0].says[key]; has {
			f.Evidence = append(f.Evidence, doctor.NBRow(key.table, others[0].of[key], "in zone %s: %s %s", others[0].zone, key.id, says))
		}
	}
	return f
}

// rowsText counts rows in the words of the field: "port group and 2 rules".
func rowsText(rows []clusterRow) string {
	count := map[string]int{}
	for _, r := range rows {
		count[r.table]++
	}
	var out []string
	for _, t := range []struct{ table, one string }{{"Port_Group", "port group"}, {"ACL", "rule"}, {"Load_Balancer", "load balancer"}} {
		switch n := count[t.table]; {
		case n == 1:
			out = append(out, t.one)
		case n > 1:
			out = append(out, fmt.Sprintf("%d %ss", n, t.one))
		}
	}
	return strings.Join(out, " and ")
}
