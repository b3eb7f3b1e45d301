package lab

import (
	"context"
	"net/netip"
	"strings"
)

// A Zone is what a node that is a zone of its own has in its databases.
type Zone struct {
	Northbound [][]string // ovn-nbctl commands, run as one transaction
	Southbound [][]string // ovn-sbctl commands that follow: the other zones' chassis and what is bound there
}

// Interconnect is a three-node cluster as ovn-kubernetes' interconnect mode builds it: each node is a zone, with a
// Northbound and a Southbound that only its own unix sockets reach. A transit switch joins them; its ports of the other
// zones are remote. TCP port 9090 of shop/web-2 is closed by an ACL, which node2 alone knows.
func Interconnect() Topology {
	t := Topology{Name: "interconnect", OVN: true, Bridge: "br-int", Zones: true, Contents: map[string]Zone{}}
	for i := 1; i <= 3; i++ {
		n := underlayNode(i)
		n.Vswitch = append(n.Vswitch, words("set Open_vSwitch . external_ids:ovn-is-interconn=true"))
		t.Nodes = append(t.Nodes, n)
	}
	for _, p := range []struct {
		node, host int
		pod        string
	}{{1, 5, "web-1"}, {1, 6, "client"}, {2, 5, "web-2"}, {3, 5, "web-3"}} {
		pod := okPod(p.node, p.host, "shop", p.pod)
		pod.IPv6, pod.Gateway6 = netip.Prefix{}, netip.Addr{}
		pod.Interface["ip_addresses"] = pod.IPv4.String()
		t.Pods = append(t.Pods, pod)
	}
	for i, n := range t.Nodes {
		t.Contents[n.Name] = icZone(t, i+1)
	}
	return t
}

// icZone writes the zone of node i.
func icZone(t Topology, i int) Zone {
	var z Zone
	nb, sb := &northbound{}, &northbound{}
	own := t.Nodes[i-1].Name
	nb.add("set NB_Global . name=%s", own)
	nb.add("lr-add ovn_cluster_router")
	nb.add("ls-add %[1]s -- set Logical_Switch %[1]s other_config:subnet=10.244.%[2]d.0/24", own, i)
	nb.add("lrp-add ovn_cluster_router rtos-%s %s 10.244.%d.1/24", own, privateMAC(netip.AddrFrom4([4]byte{10, 244, byte(i), 1})), i)
	nb.add("lsp-add %[1]s stor-%[1]s -- lsp-set-type stor-%[1]s router -- lsp-set-addresses stor-%[1]s router -- lsp-set-options stor-%[1]s router-port=rtos-%[1]s", own)
	for _, p := range t.Pods {
		if p.Node == own {
			nb.add("lsp-add %[1]s %[2]s -- lsp-set-addresses %[2]s '%[3]s %[4]s' -- set Logical_Switch_Port %[2]s external_ids:namespace=%[5]s external_ids:pod=true options:requested-chassis=%[1]s",
				own, p.Name, p.MAC, p.IPv4.Addr(), p.Namespace)
		}
	}
	if own == "node2" {
		nb.add("acl-add %s to-lport 1000 'outport==\"shop_web-2\" && ip4 && tcp.dst==9090' drop", own)
	}
	nb.add("ls-add transit_switch -- set Logical_Switch transit_switch other_config:interconn-ts=transit_switch other_config:requested-tnl-key=16711683")
	for j, n := range t.Nodes {
		port, addr := "tstor-"+n.Name, netip.AddrFrom4([4]byte{100, 88, 0, byte(j + 2)})
		nb.add("lsp-add transit_switch %[1]s -- lsp-set-options %[1]s requested-tnl-key=%[2]d", port, j+2)
		if n.Name == own {
			nb.add("lrp-add ovn_cluster_router rtots-%s %s %s/16", n.Name, privateMAC(addr), addr)
			nb.add("lsp-set-type %[1]s router -- lsp-set-addresses %[1]s router -- set Logical_Switch_Port %[1]s options:router-port=rtots-%[2]s", port, n.Name)
			continue
		}
		nb.add("lsp-set-type %[1]s remote -- lsp-set-addresses %[1]s '%[2]s %[3]s/16' -- set Logical_Switch_Port %[1]s options:requested-chassis=%[4]s", port, privateMAC(addr), addr, n.Name)
		nb.add("lr-route-add ovn_cluster_router 10.244.%d.0/24 %s", j+1, addr)
		sb.add("chassis-add %[1]s geneve %[2]s -- set Chassis %[1]s hostname=%[3]s other_config:is-remote=true", n.SystemID, n.IPv4.Addr(), n.Name)
		sb.add("--may-exist lsp-bind %s %s", port, n.SystemID)
	}
	z.Northbound, z.Southbound = nb.commands, sb.commands
	return z
}

// zoneTool returns the start of an ovn-nbctl or ovn-sbctl command for the database of a node's zone.
func (s *State) zoneTool(node, db string) []string {
	return []string{"ovn-" + db + "ctl", "--timeout=60", "--db=" + s.socket(node, db)}
}

// writeZones writes the topology into the databases of each zone.
func (s *State) writeZones(ctx context.Context) error {
	for node, z := range s.Topology.Contents {
		if _, err := s.Run(ctx, node, transact(append(s.zoneTool(node, "nb"), "--wait=sb"), z.Northbound)...); err != nil {
			return err
		}
		if _, err := s.Run(ctx, node, transact(s.zoneTool(node, "sb"), z.Southbound)...); err != nil {
			return err
		}
	}
	return nil
}

// ZoneCtl runs an ovn-nbctl or ovn-sbctl command, by the database "nb" or "sb", in the zone of a node.
func (s *State) ZoneCtl(ctx context.Context, node, db, command string) (string, error) {
	return s.Run(ctx, node, append(s.zoneTool(node, db), strings.Fields(command)...)...)
}
