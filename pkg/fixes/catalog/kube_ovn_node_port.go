package catalog

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// KubeOVNNodePort adds a node's port on the join switch.
var KubeOVNNodePort = kubeRepair("kube-ovn-node-port",
	"Restore a node's port on the join switch\n\nAdds the port node-NODE with the MAC address and the addresses that ovn0 has on the node.", kubeNodeParam)

// nodePortGap adds a node without its port on the join switch. The node's own ovn0 has the port's addresses.
func (k *KubeOVN) nodePortGap(n *KubeNode) {
	port := "node-" + n.Name
	g := KubeGap{
		Repair: "kube-ovn-node-port", Args: []string{n.Name}, Kind: "port", Name: port, Node: n.Name, Subnet: k.Join.Name,
		Title:   fmt.Sprintf("node %s has no port on the switch %s", n.Name, k.Join.Name),
		Effect:  "pods and this node cannot reach each other, and what leaves the cluster through it is lost",
		touches: "traffic of pods with node " + n.Name + ", and what they send out through it",
	}
	g.says("switch %s has no port %s", k.Join.Name, port)
	mac, ips := k.ovn0(n)
	if mac == "" || len(ips) == 0 {
		g.says("its MAC address and addresses are those of ovn0 on %s, which was not read", n.Name)
		k.Gaps = append(k.Gaps, g)
		return
	}
	addresses := strings.Join(append([]string{mac}, ips...), " ")
	g.says("ovn0 on %s has %s", n.Name, addresses)
	g.guards = []fixes.Guard{{Table: "Logical_Switch", UUID: k.Join.UUID, Columns: fixes.Row{"ports": []ovsdb.UUID(k.Join.Ports)}}}
	g.changes = []fixes.Change{{
		Table: "Logical_Switch_Port", UUID: ovsdb.Named("port"),
		After: fixes.Row{"name": port, "addresses": []string{addresses}, "external_ids": map[string]string{"vendor": kubeVendor}},
		In:    []fixes.Ref{{Table: "Logical_Switch", UUID: k.Join.UUID, Column: "ports"}},
	}}
	g.classic = []string{fixes.Command("ovn-nbctl lsp-add %s %s -- lsp-set-addresses %s %s -- set Logical_Switch_Port %s external_ids:vendor=%s", k.Join.Name, port, port, addresses, port, kubeVendor)}
	k.Gaps = append(k.Gaps, g)
}

// ovn0 returns the MAC address and addresses of a node's interface to the join switch, from its own Open_vSwitch
// database.
func (k *KubeOVN) ovn0(n *KubeNode) (string, []string) {
	h := k.d.Host(n.Name)
	if h == nil && n.chassis != nil {
		h = k.d.Host(n.chassis.Name)
	}
	if h == nil {
		return "", nil
	}
	s, err := h.Switch()
	if err != nil {
		return "", nil
	}
	for _, i := range s.Interfaces {
		if i.ExternalIDs["iface-id"] != "node-"+n.Name {
			continue
		}
		mac := i.MAC.Get()
		if mac == "" {
			mac = i.MACInUse.Get()
		}
		var ips []string
		for ip := range strings.SplitSeq(i.ExternalIDs["ip"], ",") {
			if a, err := netip.ParseAddr(ip); err == nil {
				ips = append(ips, a.String())
			}
		}
		return mac, ips
	}
	return "", nil
}
