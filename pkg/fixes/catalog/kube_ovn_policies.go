package catalog

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

func policyKey(priority int, match string) string {
	return fmt.Sprint(priority, " ", strings.ReplaceAll(match, " ", ""))
}

// policy is the policy of the default router with a priority and a match; without UUID: there is none.
func (k *KubeOVN) policy(priority int, match string) nb.Policy {
	return k.byMatch[policyKey(priority, match)]
}

// reroute says what a policy lacks that leads to a node's port, and adds or corrects it.
func (g *KubeGap) reroute(k *KubeOVN, is nb.Policy, priority int, match, hop string, ids map[string]string) {
	if is.UUID == "" {
		g.says("no policy %d '%s' reroute %s", priority, match, hop)
	} else if w := wrong(is, "reroute", []string{hop}); w != "" {
		g.says("policy %d '%s' %s, and the node's port has %s", priority, match, w, hop)
	} else {
		return
	}
	g.policy(k, is, priority, match, "reroute", []string{hop}, ids)
}

// policy adds a policy to the default router, or corrects the one that exists.
func (g *KubeGap) policy(k *KubeOVN, is nb.Policy, priority int, match, action string, nexthops []string, ids map[string]string) {
	g.guards = append(g.guards, fixes.Guard{Table: "Logical_Router", UUID: k.Router.UUID, Columns: fixes.Row{"policies": []ovsdb.UUID(k.Router.Policies)}})
	words := fmt.Sprintf("lr-policy-add %s %d '%s' %s", k.Router.Name, priority, match, action)
	if len(nexthops) > 0 {
		words += " " + strings.Join(nexthops, ",")
	}
	if is.UUID != "" {
		g.changes = append(g.changes, fixes.Change{
			Table: "Logical_Router_Policy", UUID: is.UUID,
			Before: fixes.Row{"action": is.Action, "nexthops": []string(is.Nexthops)},
			After:  fixes.Row{"action": action, "nexthops": nexthops},
		})
		g.classic = append(g.classic, fixes.Command("ovn-nbctl lr-policy-del %s %d %s -- ", k.Router.Name, priority, is.Match)+words)
		return
	}
	ids["vendor"] = kubeVendor
	row := fixes.Row{"priority": priority, "match": match, "action": action, "external_ids": ids}
	if len(nexthops) > 0 {
		row["nexthops"] = nexthops
	}
	g.changes = append(g.changes, fixes.Change{
		Table: "Logical_Router_Policy", UUID: ovsdb.Named(fmt.Sprintf("policy%d", len(g.changes))), After: row,
		In: []fixes.Ref{{Table: "Logical_Router", UUID: k.Router.UUID, Column: "policies"}},
	})
	g.classic = append(g.classic, "ovn-nbctl "+words)
}

// wrong is how a policy differs from what it should do; empty: it does not.
func wrong(p nb.Policy, action string, nexthops []string) string {
	if p.Action != action {
		return "action is " + p.Action
	}
	is := slices.Sorted(slices.Values(p.Nexthops))
	if len(is) == 0 {
		is = p.Nexthop
	}
	if action == "reroute" && !slices.Equal(is, slices.Sorted(slices.Values(nexthops))) {
		return "has next hop " + strings.Join(is, ",")
	}
	return ""
}

// encap is the tunnel address of a chassis, of a family.
func (k *KubeOVN) encap(c *sb.Chassis, f int) netip.Addr {
	if c == nil {
		return netip.Addr{}
	}
	return k.encaps[nodeFamily{c.Name, f}]
}

// nodePolicy is the policy for a node's own address.
func (k *KubeOVN) nodePolicy(n *KubeNode, f int) (nb.Policy, bool) {
	if i, ok := k.ofNode[nodeFamily{n.Name, f}]; ok {
		return k.policies[i], true
	}
	if i, ok := k.toHop[n.IPs[f]]; ok {
		return k.policies[i], true
	}
	return nb.Policy{}, false
}

// matchAddress reads "ip4.dst == A".
func matchAddress(match string) (netip.Addr, bool) {
	for _, f := range families {
		if text, ok := strings.CutPrefix(strings.ReplaceAll(match, " ", ""), fmt.Sprintf("ip%d.dst==", f)); ok {
			a, err := netip.ParseAddr(text)
			return a, err == nil && family(a) == f
		}
	}
	return netip.Addr{}, false
}

var aclNode = regexp.MustCompile(`^ip[46]\.(?:src|dst) == ([0-9a-f.:]+) && ip[46]\.(?:src|dst) == \$`)
