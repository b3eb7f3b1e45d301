package catalog

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A KubeGap is something kube-ovn writes that is missing or wrong.
type KubeGap struct {
	Repair string // closes it; empty if only kube-ovn can
	Args   []string
	Kind   string // what is missing, as an Object's kind: "router policy", "port group", …
	Name   string
	Node   string // empty if not about one node
	Subnet string
	Title  string
	Says   []string
	Effect string
	Minor  bool // works for now
	// Sets are the address sets missing with it.
	Sets []string

	changes []fixes.Change
	guards  []fixes.Guard
	classic []string
	touches string
}

var (
	kubeNodeParam   = fixes.Param{Name: "NODE", Doc: "the node, as Kubernetes names it"}
	kubeSubnetParam = fixes.Param{Name: "SUBNET", Doc: "the subnet"}
)

// kubeOwner warns that kube-ovn also writes these rows.
const kubeOwner = "kube-ovn-controller owns this row and writes it when it starts: if you can restart it, `kubectl -n kube-system rollout restart deployment kube-ovn-controller` is better"

func kubeRepair(name, doc string, params ...fixes.Param) *fixes.Repair {
	r := &fixes.Repair{Name: name, Doc: doc, Params: params, Class: fixes.Ask, Risk: fixes.Medium, Check: "kube-ovn-join-gap"}
	r.Plan = func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) { return planKubeGap(d, r, a) }
	return r
}

func planKubeGap(d *snapshot.Deployment, r *fixes.Repair, a fixes.Args) (*fixes.Plan, error) {
	var args []string
	for _, p := range r.Params {
		if v := a[p.Name]; v != "" && p.Name != "ADDRESS" {
			args = append(args, v)
		}
	}
	var errs []error
	for _, z := range d.Zones {
		k, err := ReadKubeOVN(d, z)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if err := k.checkNames(a); err != nil {
			errs = append(errs, err)
			continue
		}
		i := slices.IndexFunc(k.Gaps, func(g KubeGap) bool { return g.Repair == r.Name && slices.Equal(g.Args, args) })
		if i < 0 {
			return nil, fixes.Refuse("", "nothing is missing")
		}
		g := &k.Gaps[i]
		if a["ADDRESS"] != "" {
			if err := k.giveAddress(g, a); err != nil {
				return nil, err
			}
		}
		if len(g.changes) == 0 {
			return nil, fixes.Refuse(g.Advice(), "%s", strings.Join(g.Says, "; "))
		}
		what := fmt.Sprintf("%s (%s)", r.Title(), strings.Join(append([]string{k.Router.Name}, g.Args...), " "))
		return &fixes.Plan{
			Title: what, Touches: g.touches, Warnings: []string{kubeOwner},
			Steps: []fixes.Step{fixes.Rows{DB: "OVN_Northbound", Zone: z.Name, What: what, Changes: g.changes, Guards: g.guards, Classic: g.classic}},
		}, nil
	}
	return nil, errors.Join(errs...)
}

// Advice returns what to do if the repair lacks information.
func (g *KubeGap) Advice() string {
	if g.Repair == "kube-ovn-node-policy" {
		return fixes.Command("give the address: ovnctl fix %s %s ADDRESS", g.Repair, g.Node)
	}
	return fmt.Sprintf("run ovnctl on %s, or give --via ssh or --node-exec 'PREFIX {hostname}'", g.Node)
}

// checkNames lists the existing names if a name does not exist.
func (k *KubeOVN) checkNames(a fixes.Args) error {
	if name := a["NODE"]; name != "" {
		if names := k.nodeNames(); !slices.Contains(names, name) {
			return fmt.Errorf("no node %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	if name := a["SUBNET"]; name != "" {
		var names []string
		for _, s := range k.Subnets {
			names = append(names, s.Name)
		}
		if !slices.Contains(names, name) {
			return fmt.Errorf("no subnet %q; router %s has %s", name, k.Router.Name, strings.Join(names, ", "))
		}
	}
	return nil
}

func (k *KubeOVN) nodeNames() []string {
	var names []string
	for _, n := range k.Nodes {
		names = append(names, n.Name)
	}
	return names
}

// Known reports whether the gap can be closed without arguments.
func (g *KubeGap) Known() bool { return len(g.changes) > 0 }

func (k *KubeOVN) findGaps() {
	k.defaultRouteGaps()
	for i := range k.Nodes {
		n := &k.Nodes[i]
		switch {
		case n.Port == nil:
			k.nodePortGap(n)
		case n.Bound || n.chassis != nil:
			k.nodePolicyGap(n)
			k.nodeGroupGap(n)
		}
	}
	for i := range k.Subnets {
		s := &k.Subnets[i]
		if s.Underlay && !s.known {
			continue // its gateway is in the physical network
		}
		k.subnetPolicyGap(s)
		switch {
		case s.join:
		case s.Distributed:
			k.distributedGaps(s)
		case s.Centralized:
			k.centralizedGap(s)
		default:
			k.noGatewayGap(s)
		}
	}
}

func (g *KubeGap) says(format string, args ...any) {
	g.Says = append(g.Says, fmt.Sprintf(format, args...))
}

// pods returns the ports of a subnet's pods.
func (k *KubeOVN) pods(s *KubeSubnet) []*nb.LogicalSwitchPortBrief {
	var out []*nb.LogicalSwitchPortBrief
	for _, u := range s.ls.Ports {
		if p := k.ports[u]; p != nil && p.Type == "" && p.ExternalIDs["pod"] != "" {
			out = append(out, p)
		}
	}
	return out
}

// where returns a pod's nodes: the one that bound its port, then others while it migrates. None if it is not up
// anywhere.
func (k *KubeOVN) where(p *nb.LogicalSwitchPortBrief) []string {
	b := k.binding[p.Name]
	if b == nil || len(b.Chassis) == 0 || len(b.Up) > 0 && !b.Up.Get() {
		return nil
	}
	at := slices.Concat(b.Chassis, b.AdditionalChassis)
	for _, c := range facts.ChassisNamed(k.sb, b.Options["requested-chassis"]) {
		at = append(at, c.UUID)
	}
	var out []string
	for _, u := range at {
		if n := k.nodeOf[u]; n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// ownEgress returns the addresses of pods that leave the cluster with their own NAT or route.
func (k *KubeOVN) ownEgress() map[string]bool {
	own := map[string]bool{}
	for _, n := range k.rows.NAT {
		own[n.LogicalIP] = true
	}
	for _, r := range k.rows.StaticRoutes {
		if r.Policy.Get() == "src-ip" {
			own[strings.TrimSuffix(strings.TrimSuffix(r.IPPrefix, "/32"), "/128")] = true
		}
	}
	return own
}

var (
	routers = kind[nb.LogicalRouter]{"router",
		func(_ *snapshot.Zone, l *facts.Logical) ([]nb.LogicalRouter, error) { return l.Routers, nil },
		func(r *nb.LogicalRouter) (string, ovsdb.UUID) { return r.Name, r.UUID }}
	routerPorts = kind[nb.LogicalRouterPort]{"logical router port",
		func(_ *snapshot.Zone, l *facts.Logical) ([]nb.LogicalRouterPort, error) { return l.RouterPorts, nil },
		func(p *nb.LogicalRouterPort) (string, ovsdb.UUID) { return p.Name, p.UUID }}
	dhcpOptions = kind[nb.DHCPOptions]{"row of DHCP_Options",
		func(_ *snapshot.Zone, l *facts.Logical) ([]nb.DHCPOptions, error) { return l.DHCPOptions, nil },
		func(o *nb.DHCPOptions) (string, ovsdb.UUID) { return o.Cidr, o.UUID }}
	loadBalancers = kind[nb.LoadBalancer]{"load balancer",
		func(z *snapshot.Zone, _ *facts.Logical) ([]nb.LoadBalancer, error) {
			b, err := z.Balancers()
			if err != nil {
				return nil, err
			}
			return b.LoadBalancers, nil
		},
		func(lb *nb.LoadBalancer) (string, ovsdb.UUID) { return lb.Name, lb.UUID }}
	loadBalancerGroups = kind[nb.LoadBalancerGroup]{"load balancer group",
		func(z *snapshot.Zone, _ *facts.Logical) ([]nb.LoadBalancerGroup, error) {
			b, err := z.Balancers()
			if err != nil {
				return nil, err
			}
			return b.Groups, nil
		},
		func(g *nb.LoadBalancerGroup) (string, ovsdb.UUID) { return g.Name, g.UUID }}
)

func policyKey(priority int, match string) string {
	return fmt.Sprint(priority, " ", strings.ReplaceAll(match, " ", ""))
}

// policy returns the default router's policy with a priority and match; without UUID if there is none.
func (k *KubeOVN) policy(priority int, match string) nb.Policy {
	return k.byMatch[policyKey(priority, match)]
}

// reroute reports what a policy to a node's port lacks, and adds or corrects it.
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

// policy adds a policy to the default router, or corrects the existing one.
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

// wrong returns how a policy differs from its purpose; empty if it does not.
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

// encap returns a chassis' tunnel address of a family.
func (k *KubeOVN) encap(c *sb.Chassis, f int) netip.Addr {
	if c == nil {
		return netip.Addr{}
	}
	return k.encaps[nodeFamily{c.Name, f}]
}

// nodePolicy returns the policy for a node's own address.
func (k *KubeOVN) nodePolicy(n *KubeNode, f int) (nb.Policy, bool) {
	if i, ok := k.ofNode[nodeFamily{n.Name, f}]; ok {
		return k.policies[i], true
	}
	if i, ok := k.toHop[n.IPs[f]]; ok {
		return k.policies[i], true
	}
	return nb.Policy{}, false
}

// matchAddress parses "ip4.dst == A".
func matchAddress(match string) (netip.Addr, bool) {
	for _, f := range families {
		if text, ok := strings.CutPrefix(strings.ReplaceAll(match, " ", ""), fmt.Sprintf("ip%d.dst==", f)); ok {
			a, err := netip.ParseAddr(text)
			return a, err == nil && family(a) == f
		}
	}
	return netip.Addr{}, false
}

var aclNode = pattern.New(`^ip[46]\.(?:src|dst) == ([0-9a-f.:]+) && ip[46]\.(?:src|dst) == \$`)
