package replay

import (
	"cmp"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// addPods adds what is attached to a node: an interface of the host's own making with an iface-id is a pod's or VM's.
func (d *deployment) addPods(n *node) {
	z := d.zoneOf(n)
	first := map[string]int{} // of a pod's interfaces, by its sandbox: the index in Pods
	for _, i := range sorted(n.Interfaces) {
		port, ok := z.port(i.ExternalIDs["iface-id"])
		if i.Type != "" || !ok {
			continue
		}
		p := d.pod(z, port, i)
		if p.MAC == "" {
			continue // of any address
		}
		p.Node = n.name
		at, further := first[i.ExternalIDs["sandbox"]]
		if further {
			// The network that joined last is the pod's main one.
			p.In = d.topology.Pods[at].Name
			d.topology.Pods[at].Gateway4, d.topology.Pods[at].Gateway6 = netip.Addr{}, netip.Addr{}
		} else if sandbox := i.ExternalIDs["sandbox"]; sandbox != "" {
			first[sandbox] = len(d.topology.Pods)
		}
		d.topology.Pods = append(d.topology.Pods, p)
	}
}

// sorted returns interfaces by their names in the pod, so that eth0 precedes the others.
func sorted(all []vswitch.Interface) []vswitch.Interface {
	return slices.SortedFunc(slices.Values(all), func(a, b vswitch.Interface) int {
		return cmp.Or(cmp.Compare(a.ExternalIDs["pod-if-name"], b.ExternalIDs["pod-if-name"]), cmp.Compare(a.Name, b.Name))
	})
}

func (z *zone) port(name string) (nb.LogicalSwitchPortBrief, bool) {
	i := slices.IndexFunc(z.Ports, func(p nb.LogicalSwitchPortBrief) bool { return p.Name == name })
	if i < 0 || name == "" {
		return nb.LogicalSwitchPortBrief{}, false
	}
	return z.Ports[i], true
}

func (d *deployment) pod(z *zone, port nb.LogicalSwitchPortBrief, i vswitch.Interface) lab.Pod {
	p := lab.Pod{Name: port.Name, Link: i.Name, Device: i.ExternalIDs["pod-if-name"]}
	p.Namespace, p.Pod = podName(port, i)
	mac, addrs := portAddresses(port)
	p.MAC = mac
	for _, a := range addrs {
		prefix, gateway := d.attachment(z, port, a)
		if a.Is4() && !p.IPv4.IsValid() {
			p.IPv4, p.Gateway4 = prefix, gateway
		}
		if a.Is6() && !p.IPv6.IsValid() {
			p.IPv6, p.Gateway6 = prefix, gateway
		}
	}
	for _, b := range z.learned.Bindings {
		if virtual, err := netip.ParseAddr(b.Options["virtual-ip"]); err == nil && b.VirtualParent.Get() == port.Name {
			p.Virtual = append(p.Virtual, virtual)
		}
	}
	return p
}

// podName returns the name that people know a port's pod or VM by.
func podName(port nb.LogicalSwitchPortBrief, i vswitch.Interface) (namespace, name string) {
	ids := port.ExternalIDs
	if namespace, name, ok := strings.Cut(ids["pod"], "/"); ok { // Kube-OVN
		return namespace, name
	}
	if namespace = ids["namespace"]; namespace != "" { // OVN-Kubernetes
		return namespace, port.Name[max(0, strings.LastIndex(port.Name, namespace+"_")+len(namespace)+1):]
	}
	return "", cmp.Or(ids["neutron:port_name"], i.Name)
}

// portAddresses returns the addresses of a port, fixed or given by OVN.
func portAddresses(p nb.LogicalSwitchPortBrief) (mac string, addrs []netip.Addr) {
	for _, text := range slices.Concat(p.DynamicAddresses, p.Addresses) {
		f := strings.Fields(text)
		if len(f) == 0 {
			continue
		}
		if _, err := net.ParseMAC(f[0]); err != nil {
			continue
		}
		mac = cmp.Or(mac, f[0])
		for _, word := range f[1:] {
			word, _, _ = strings.Cut(word, "/") // ports of transit switches are written with a length
			if a, err := netip.ParseAddr(word); err == nil {
				addrs = append(addrs, a)
			}
		}
	}
	return mac, addrs
}

// attachment returns a port's address with the length of its network, and the gateway there: as DHCP has it, else the
// underlay's router, else a router on the switch.
func (d *deployment) attachment(z *zone, port nb.LogicalSwitchPortBrief, a netip.Addr) (netip.Prefix, netip.Addr) {
	var prefix netip.Prefix
	var gateway netip.Addr
	for _, p := range z.routersOn(port.UUID) {
		if p.Contains(a) && !prefix.IsValid() {
			prefix, gateway = netip.PrefixFrom(a, p.Bits()), p.Addr()
		}
	}
	if router := d.router(a); router.IsValid() {
		gateway = router
	}
	for _, o := range z.DHCP {
		network, err := netip.ParsePrefix(o.Cidr)
		if err != nil || !network.Contains(a) || !port.DHCPv4Options.Has(o.UUID) && !port.DHCPv6Options.Has(o.UUID) {
			continue
		}
		prefix = netip.PrefixFrom(a, network.Bits())
		if router, err := netip.ParseAddr(o.Options["router"]); err == nil {
			gateway = router
		}
	}
	if !prefix.IsValid() {
		prefix = netip.PrefixFrom(a, map[bool]int{true: 24, false: 64}[a.Is4()])
	}
	return prefix, gateway
}

// routersOn returns the addresses of routers on the switch of a port.
func (z *zone) routersOn(port ovsdb.UUID) []netip.Prefix {
	var all []netip.Prefix
	for _, s := range z.Switches {
		if !s.Ports.Has(port) {
			continue
		}
		for _, p := range z.Ports {
			if s.Ports.Has(p.UUID) {
				all = append(all, z.routerPort(p)...)
			}
		}
	}
	return all
}

// routerPort returns the addresses of the router port that a switch port leads to; none if it leads to no router.
func (z *zone) routerPort(p nb.LogicalSwitchPortBrief) []netip.Prefix {
	name := cmp.Or(p.Options["router-port"], p.Peer.Get())
	for _, rp := range z.RouterPorts {
		if rp.Name == name && p.Type == "router" {
			return networks(rp)
		}
	}
	return nil
}

// addServices adds the virtual addresses of services that load balancers name as their owner.
func (d *deployment) addServices() {
	for _, dir := range slices.Sorted(maps.Keys(d.zones)) {
		for _, b := range d.zones[dir].Balancers {
			for vip := range b.VIPs {
				d.addService(b, vip)
			}
		}
	}
}

func (d *deployment) addService(b nb.LoadBalancer, vip string) {
	s := lab.Service{Name: b.ExternalIDs["k8s.ovn.org/owner"], Protocol: cmp.Or(b.Protocol.Get(), "tcp")}
	at, err := netip.ParseAddrPort(vip)
	if err != nil || s.Name == "" || at.Addr().IsLinkLocalUnicast() || d.router(at.Addr()).IsValid() || !at.Addr().Is4() {
		return // of a template, a node, or a load balancer of the cloud
	}
	if _, known := d.topology.Service(s.Name, s.Protocol); !known {
		s.VIP4, s.Port = at.Addr(), int(at.Port())
		d.topology.Services = append(d.topology.Services, s)
	}
}

// openFlowPorts returns the numbers of a node's interfaces.
func (n *node) openFlowPorts(bridge vswitch.BridgeBrief) map[string]int {
	ports := map[string]int{}
	for _, i := range n.interfacesOf(bridge) {
		if number := i.OFPort.Get(); number > 0 {
			ports[i.Name] = number
		}
	}
	return ports
}
