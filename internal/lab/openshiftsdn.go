package lab

import (
	"fmt"
	"net/netip"
	"strings"
)

// Networks of the OpenShift SDN topology.
const (
	sdnPods     = "10.128.0.0/14"
	sdnServices = "172.31.0.0/16"
)

// OpenShiftSDN is three nodes with Open vSwitch and no OVN, like OpenShift SDN: each has a bridge br0 with a VXLAN port
// whose remote is set by flows, the host's port tun0, the pods, and flow tables that carry a project's number in reg0
// and in the VXLAN key. Like the original it is IPv4 only.
//
// Pods of one project reach each other; project shop is 0x64, bank is 0xc8, and ops is 0, which reaches and is reached
// by all.
func OpenShiftSDN() Topology {
	t := Topology{Name: "openshift-sdn", Bridge: "br0"}
	for i, name := range []string{
		"shop web-1", "shop client", "bank vault-1",
		"shop web-2", "ops toolbox", "bank vault-2",
		"shop web-3", "ops debug", "bank ledger",
	} {
		w := words(name)
		t.Pods = append(t.Pods, sdnPod(i/3+1, i%3, w[0], w[1]))
	}
	for i := 1; i <= 3; i++ {
		t.Nodes = append(t.Nodes, sdnNode(i, t.Pods))
	}
	return t
}

var sdnProjects = map[string]int{"shop": 0x64, "bank": 0xc8, "ops": 0}

// sdnSubnet returns a node's pod network, and its first address, that of tun0.
func sdnSubnet(i int) (netip.Prefix, netip.Addr) {
	p := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 128, byte(2 * (i - 1)), 0}), 23)
	return p, p.Addr().Next()
}

func sdnPod(node, k int, namespace, pod string) Pod {
	subnet, gateway := sdnSubnet(node)
	a := subnet.Addr().As4()
	a[3] = byte(5 + k)
	ip := netip.AddrFrom4(a)
	p := Pod{
		Name:      namespace + "_" + pod,
		Namespace: namespace,
		Pod:       pod,
		Node:      fmt.Sprintf("node%d", node),
		MAC:       privateMAC(ip),
		IPv4:      netip.PrefixFrom(ip, 23),
		Gateway4:  gateway,
		OnLink:    []netip.Prefix{netip.MustParsePrefix(sdnPods)},
		OFPort:    3 + k,
	}
	sandbox := strings.ReplaceAll(stableUUID("sandbox "+p.Name), "-", "")
	p.Link = "veth" + sandbox[:8]
	p.Interface = map[string]string{"sandbox": sandbox, "ip": ip.String()}
	return p
}

func sdnNode(i int, pods []Pod) Node {
	n := underlayNode(i)
	subnet, gateway := sdnSubnet(i)
	n.Vswitch = append(n.Vswitch,
		words("add-br br0"),
		words("set Bridge br0 datapath_type=netdev fail_mode=secure protocols=OpenFlow10,OpenFlow13,OpenFlow15"),
		words("add-port br0 vxlan0"),
		append(words("set Interface vxlan0 type=vxlan ofport_request=1 options:remote_ip=flow options:key=flow"), key("options", "dst_port", "4789")),
		words("add-port br0 tun0"),
		words("set Interface tun0 type=internal ofport_request=2 mtu_request=1400"))
	n.Network = append(n.Network, forwarding,
		fmt.Sprintf("ip addr add %s/23 dev tun0", gateway),
		"ip link set tun0 up",
		"ip route add "+sdnPods+" dev tun0 scope link",
		masquerade("ip", sdnPods, sdnServices))
	n.OpenFlow = map[string][]string{"br0": sdnFlows(i, subnet, gateway, pods)}
	return n
}

// sdnFlows is the pipeline of br0. Table 0 dispatches by source, 10 checks the tunnel's sender, 20 the pod's addresses
// and loads its project into reg0, 30 routes, 40 and 50 handle ARP, 70 and 80 deliver, 90 and 100 leave the node.
func sdnFlows(i int, subnet netip.Prefix, gateway netip.Addr, pods []Pod) []string {
	f := &flows{}
	f.add(0, 200, "in_port=1,arp,nw_src=%s,nw_dst=%s actions=move:NXM_NX_TUN_ID[0..31]->NXM_NX_REG0[],goto_table:10", sdnPods, subnet)
	f.add(0, 200, "in_port=1,ip,nw_src=%s actions=move:NXM_NX_TUN_ID[0..31]->NXM_NX_REG0[],goto_table:10", sdnPods)
	f.add(0, 150, "in_port=1 actions=drop")
	f.add(0, 250, "in_port=2,ip,nw_dst=224.0.0.0/4 actions=drop")
	f.add(0, 200, "in_port=2,arp,nw_src=%s,nw_dst=%s actions=goto_table:30", gateway, sdnPods)
	f.add(0, 200, "in_port=2,ip actions=goto_table:30")
	f.add(0, 150, "in_port=2 actions=drop")
	f.add(0, 100, "arp actions=goto_table:20")
	f.add(0, 100, "ip actions=goto_table:20")
	f.add(0, 0, "actions=drop")
	for k := 1; k <= 3; k++ {
		if k != i {
			f.add(10, 100, "tun_src=172.30.0.%d actions=goto_table:30", 10+k)
		}
	}
	f.add(10, 0, "actions=drop")
	f.add(20, 0, "actions=drop")
	f.add(21, 0, "actions=goto_table:30")
	f.add(30, 300, "arp,nw_dst=%s actions=output:2", gateway)
	f.add(30, 200, "arp,nw_dst=%s actions=goto_table:40", subnet)
	f.add(30, 100, "arp,nw_dst=%s actions=goto_table:50", sdnPods)
	f.add(30, 300, "ip,nw_dst=%s actions=output:2", gateway)
	f.add(30, 200, "ip,nw_dst=%s actions=goto_table:70", subnet)
	f.add(30, 100, "ip,nw_dst=%s actions=goto_table:60", sdnServices)
	f.add(30, 100, "ip,nw_dst=%s actions=goto_table:90", sdnPods)
	f.add(30, 0, "ip actions=goto_table:100")
	f.add(30, 0, "arp actions=drop")
	f.add(40, 0, "actions=drop")
	f.add(50, 0, "actions=drop")
	f.add(60, 0, "actions=drop")
	f.add(70, 0, "actions=drop")
	f.add(80, 300, "ip,nw_src=%s actions=output:NXM_NX_REG2[]", gateway)
	f.add(80, 200, "reg0=0 actions=output:NXM_NX_REG2[]")
	f.add(80, 200, "reg1=0 actions=output:NXM_NX_REG2[]")
	for _, project := range []int{0x64, 0xc8} {
		f.add(80, 100, "reg0=%#x,reg1=%#x actions=output:NXM_NX_REG2[]", project, project)
	}
	f.add(80, 0, "actions=drop")
	f.add(90, 0, "actions=drop")
	f.add(100, 0, "actions=goto_table:101")
	f.add(101, 0, "actions=output:2")
	for k := 1; k <= 3; k++ {
		if remote, _ := sdnSubnet(k); k != i {
			to := fmt.Sprintf("actions=move:NXM_NX_REG0[]->NXM_NX_TUN_ID[0..31],set_field:172.30.0.%d->tun_dst,output:1", 10+k)
			f.add(50, 100, "arp,nw_dst=%s %s", remote, to)
			f.add(90, 100, "ip,nw_dst=%s %s", remote, to)
		}
	}
	for _, p := range pods {
		if p.Node == fmt.Sprintf("node%d", i) {
			f.pod(p)
		}
	}
	return f.lines
}

// flows collects OpenFlow flows.
type flows struct{ lines []string }

func (f *flows) add(table, priority int, format string, args ...any) {
	f.lines = append(f.lines, fmt.Sprintf("table=%d,priority=%d,", table, priority)+fmt.Sprintf(format, args...))
}

func (f *flows) pod(p Pod) {
	ip, project := p.IPv4.Addr(), sdnProjects[p.Namespace]
	f.add(20, 100, "in_port=%d,arp,nw_src=%s,arp_sha=%s actions=load:%#x->NXM_NX_REG0[],goto_table:21", p.OFPort, ip, p.MAC, project)
	f.add(20, 100, "in_port=%d,ip,nw_src=%s actions=load:%#x->NXM_NX_REG0[],goto_table:21", p.OFPort, ip, project)
	f.add(40, 100, "arp,nw_dst=%s actions=output:%d", ip, p.OFPort)
	f.add(70, 100, "ip,nw_dst=%s actions=load:%#x->NXM_NX_REG1[],load:%#x->NXM_NX_REG2[],goto_table:80", ip, project, p.OFPort)
}
