package catalog

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Each of these closes one gap in what kube-ovn has written.
var (
	KubeOVNDefaultRoute = kubeRepair("kube-ovn-default-route",
		"Lead what no subnet holds to the join switch again\n\nAdds the static routes 0.0.0.0/0 and ::/0 of kube-ovn's default router, to the router's own address on the join switch.")
	KubeOVNNodePort = kubeRepair("kube-ovn-node-port",
		"Give a node its port on the join switch back\n\nAdds the port node-NODE with the MAC and the addresses of ovn0 as the node itself has them.", kubeNodeParam)
	KubeOVNNodePolicy = kubeRepair("kube-ovn-node-policy",
		"Lead packets for a node's own address to its ovn0\n\nAdds the policies 30000 of a node, of both families, or corrects where they lead. The\naddress is that of the rules which let the node talk to its pods, else the tunnel's if it is so on\nall other nodes; where it is neither, it must be given.", kubeNodeParam,
		fixes.Param{Name: "ADDRESS", Doc: "the node's own address, where it is not known", Optional: true})
	KubeOVNNodeGroup = kubeRepair("kube-ovn-node-group",
		"Give a node its port group back\n\nAdds node.NODE with the pods that are on it and the rules that the groups of other nodes have.", kubeNodeParam)
	KubeOVNSubnetPolicy = kubeRepair("kube-ovn-subnet-policy",
		"Route packets for a subnet as its routes say\n\nAdds the policies 31000 of a subnet, of both families.", kubeSubnetParam)
	KubeOVNGatewayPolicy = kubeRepair("kube-ovn-gateway-policy",
		"Lead what pods send out to the ovn0 of their gateway\n\nAdds the policies 29000 of a subnet's pods on a node, of both families, or corrects where they lead.", kubeSubnetParam,
		fixes.Param{Name: "NODE", Doc: "the node; of a centralized subnet none", Optional: true})
	KubeOVNPortGroup = kubeRepair("kube-ovn-port-group",
		"Put the pods of a node into their port group\n\nAdds the port group SUBNET.NODE if it is missing, puts the pods that run on the node into it and takes\nthem out of those of other nodes.", kubeSubnetParam, kubeNodeParam)
)

var (
	kubeNodeParam   = fixes.Param{Name: "NODE", Doc: "the node, as Kubernetes names it"}
	kubeSubnetParam = fixes.Param{Name: "SUBNET", Doc: "the subnet"}
)

// kubeOwner is who will see to these rows, too.
const kubeOwner = "kube-ovn-controller owns this row and writes it by itself when it starts: where it can be restarted, `kubectl -n kube-system rollout restart deployment kube-ovn-controller` is the better way"

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
			return nil, fixes.Refuse("", "nothing of it is missing")
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

// Advice is what to do where the repair does not know enough.
func (g *KubeGap) Advice() string {
	if g.Repair == "kube-ovn-node-policy" {
		return fmt.Sprintf("give the address: ovnctl fix %s %s ADDRESS", g.Repair, g.Node)
	}
	return fmt.Sprintf("run ovnctl on %s, or give --node-exec 'PREFIX {hostname}'", g.Node)
}

// checkNames says what there is, where a name is not known.
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

// giveAddress adds the policy for an address that a person has named.
func (k *KubeOVN) giveAddress(g *KubeGap, a fixes.Args) error {
	addr, err := netip.ParseAddr(a["ADDRESS"])
	if err != nil {
		return fmt.Errorf("ADDRESS: %w", err)
	}
	i := slices.IndexFunc(k.Nodes, func(n KubeNode) bool { return n.Name == a["NODE"] })
	n := &k.Nodes[i]
	join, ok := n.IPs[family(addr)]
	if !ok {
		return fmt.Errorf("node %s has no address of that family on switch %s", n.Name, k.Join.Name)
	}
	if p, there := k.nodePolicy(n, family(addr)); there {
		return fixes.Refuse("", "policy '%s' of node %s is there", p.Match, n.Name)
	}
	g.changes, g.classic, g.guards = nil, nil, nil
	g.policy(k, nb.Policy{}, kubeNodePolicy, fmt.Sprintf("ip%d.dst == %s", family(addr), addr), "reroute", []string{join.String()},
		map[string]string{"node": n.Name, "address-family": fmt.Sprint(family(addr))})
	return nil
}

// Known says whether what closes the gap is known without asking anybody.
func (g *KubeGap) Known() bool { return len(g.changes) > 0 }
