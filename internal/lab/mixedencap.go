package lab

import (
	"fmt"
	"net/netip"
)

// MixedEncapsulation is OVN on three nodes with different tunnel types: node1 and node3 geneve and VXLAN, node2 VXLAN
// only. Two switches joined by a router, one pod of each on every node, and no policies: a VXLAN tunnel does not carry
// the inport.
func MixedEncapsulation() Topology {
	t := Topology{Name: "mixed-encapsulation", OVN: true, Bridge: "br-int"}
	nb := &northbound{}
	nb.add("lr-add lr0")
	for sw := range 2 {
		nb.add("ls-add sw%d", sw)
		nb.add("lrp-add lr0 lr0-sw%[1]d 00:00:00:00:ff:%02[1]x 10.0.%[1]d.1/24 fd00:0:0:%[1]d::1/64", sw)
		nb.add("lsp-add sw%[1]d sw%[1]d-lr0 -- lsp-set-type sw%[1]d-lr0 router -- lsp-set-addresses sw%[1]d-lr0 router -- lsp-set-options sw%[1]d-lr0 router-port=lr0-sw%[1]d", sw)
	}
	for i := 1; i <= 3; i++ {
		n := underlayNode(i)
		n.Encap = "geneve,vxlan"
		if i == 2 {
			n.Encap = "vxlan"
		}
		t.Nodes = append(t.Nodes, n)
		for sw := range 2 {
			p := mixedPod(i, sw)
			t.Pods = append(t.Pods, p)
			nb.add("lsp-add sw%d %s -- lsp-set-addresses %s '%s %s %s'", sw, p.Name, p.Name, p.MAC, p.IPv4.Addr(), p.IPv6.Addr())
		}
	}
	t.Northbound = nb.commands
	return t
}

func mixedPod(node, sw int) Pod {
	ip := netip.AddrFrom4([4]byte{10, 0, byte(sw), byte(10 + node)})
	name := fmt.Sprintf("sw%d-p%d", sw, node)
	return Pod{
		Name: name, Pod: name, Namespace: "default", Node: fmt.Sprintf("node%d", node), Link: name,
		MAC:       privateMAC(ip),
		IPv4:      netip.PrefixFrom(ip, 24),
		IPv6:      netip.MustParsePrefix(fmt.Sprintf("fd00:0:0:%d::1%d/64", sw, node)),
		Gateway4:  netip.AddrFrom4([4]byte{10, 0, byte(sw), 1}),
		Gateway6:  netip.MustParseAddr(fmt.Sprintf("fd00:0:0:%d::1", sw)),
		Interface: map[string]string{"iface-id": name},
	}
}
