package scale

import (
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// MaxPods is how many pods a node's subnet has room for.
const MaxPods = 250

// A Size is the size of a deployment. It is built in the style of ovn-kubernetes, dual-stack: a cluster router with a
// switch for every node, a gateway router with SNAT and an external switch for every node, and one load balancer group
// shared by all.
type Size struct {
	Nodes     int
	Pods      int // on each node, up to MaxPods
	Services  int // each with two backends
	NodePorts int // number of services that every node also offers on its own address
	Policies  int // network policies: a port group with a default deny and one allow rule
}

// Small and Large are deployments of some 56,000 and 610,000 logical flows. Large takes minutes to build and gigabytes of
// memory.
var (
	Small = Size{Nodes: 50, Pods: 40, Services: 2000, NodePorts: 17, Policies: 100}
	Large = Size{Nodes: 250, Pods: 40, Services: 6000, NodePorts: 206, Policies: 3000}
)

// A Pod is a pod of a deployment.
type Pod struct {
	Namespace, Name string
	Node            string
	Port            string // of the node's switch
	MAC             string
	IPv4, IPv6      netip.Addr
}

// podsInNamespace is how many pods share a namespace.
const podsInNamespace = 10

// Pod is pod k of node n, both from 0.
func (s Size) Pod(n, k int) Pod {
	p := Pod{
		Namespace: fmt.Sprintf("team-%d", (k*s.Nodes+n)/podsInNamespace),
		Name:      fmt.Sprintf("app-%d-%d", n, k),
		Node:      nodeName(n),
		IPv4:      at("10.128.0.0", n<<8+3+k),
		IPv6:      at("fd00:10:128::", n<<8+3+k),
	}
	p.Port, p.MAC = p.Namespace+"_"+p.Name, mac(p.IPv4)
	return p
}

// number returns Pod by one number; neighbours are on different nodes.
func (s Size) number(i int) Pod {
	i %= s.Nodes * s.Pods
	return s.Pod(i%s.Nodes, i/s.Nodes)
}

// servicePorts maps the TCP ports of every service to its pods' ports.
var servicePorts = map[uint16]uint16{80: 8080, 443: 8443}

// firstNodePort is the first service's node port.
const firstNodePort = 30000

// VIP returns the IPv4 address of a service, from 0; it listens on TCP ports 80 and 443.
func (Size) VIP(service int) netip.Addr { return at("10.96.0.0", 1+service) }

func nodeName(n int) string { return fmt.Sprintf("worker-%d", n) }
func tunnelIP(n int) string { return at("172.30.0.0", 10+n).String() }
func mac(a netip.Addr) string {
	b := a.As4()
	return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}

// at returns the address n after base.
func at(base string, n int) netip.Addr {
	b := netip.MustParseAddr(base).AsSlice()
	for i := len(b) - 1; n > 0; i-- {
		n += int(b[i])
		b[i] = byte(n)
		n >>= 8
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

// A northbound collects the rows of OVN_Northbound.
type northbound struct {
	Size
	ops   []ovsdb.Operation
	ports map[string]ovsdb.UUID // pods' by name
	group ovsdb.UUID            // of load balancers
	local []ovsdb.UUID          // load balancers of the current node
	join  []ovsdb.UUID          // ports of the join switch
	trunk routerRows            // of the cluster router
}

type routerRows struct{ ports, routes, policies []ovsdb.UUID }

// Northbound returns what a CMS writes into an empty OVN_Northbound, one transaction.
func (s Size) Northbound() []ovsdb.Operation {
	nb := &northbound{Size: s, ports: map[string]ovsdb.UUID{}}
	nb.loadBalancers()
	nb.trunk.ports = append(nb.trunk.ports, nb.routerPort("rtoj-ovn_cluster_router", nil, joinAddr(0)...))
	nb.join = append(nb.join, nb.toRouter("jtor-ovn_cluster_router", "rtoj-ovn_cluster_router"))
	for n := range s.Nodes {
		nb.nodePorts(n)
		nb.node(n)
		nb.gateway(n)
	}
	nb.add("Logical_Switch", map[string]any{"name": "join", "ports": nb.join})
	for _, f := range []struct{ family, pods string }{{"ip4", "10.128.0.0/9"}, {"ip6", "fd00:10:128::/96"}} {
		nb.trunk.policies = append(nb.trunk.policies, nb.add("Logical_Router_Policy", map[string]any{
			"priority": 102, "action": "allow", "match": fmt.Sprintf("%s.src == %s && %[1]s.dst == %s", f.family, f.pods, f.pods),
		}))
	}
	nb.add("Logical_Router", map[string]any{
		"name": "ovn_cluster_router", "ports": nb.trunk.ports, "static_routes": nb.trunk.routes, "policies": nb.trunk.policies,
		"options": map[string]string{"always_learn_from_arp_request": "false"},
	})
	nb.networkPolicies()
	return nb.ops
}

func (nb *northbound) add(table string, row map[string]any) ovsdb.UUID {
	id := ovsdb.Named(fmt.Sprintf("row%d", len(nb.ops)))
	nb.ops = append(nb.ops, ovsdb.Insert(table, id, row))
	return id
}

// joinAddr returns the addresses on the join switch: 0 is the cluster router.
func joinAddr(i int) []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(at("100.64.0.0", 1+i), 16), netip.PrefixFrom(at("fd98::", 1+i), 64)}
}

func (nb *northbound) routerPort(name string, more map[string]any, networks ...netip.Prefix) ovsdb.UUID {
	row := map[string]any{"name": name, "mac": mac(networks[0].Addr())}
	var texts []string
	for _, n := range networks {
		texts = append(texts, n.String())
	}
	row["networks"] = texts
	for column, value := range more {
		row[column] = value
	}
	return nb.add("Logical_Router_Port", row)
}

// toRouter returns the switch port that faces a router's port.
func (nb *northbound) toRouter(name, routerPort string) ovsdb.UUID {
	return nb.add("Logical_Switch_Port", map[string]any{
		"name": name, "type": "router", "addresses": []string{"router"}, "options": map[string]string{"router-port": routerPort},
	})
}

func (nb *northbound) loadBalancers() {
	var members []ovsdb.UUID
	for i := range nb.Services {
		a, b := nb.number(2*i), nb.number(2*i+1)
		name := fmt.Sprintf("%s/svc-%d", a.Namespace, i)
		vips := map[string]string{}
		for port, target := range servicePorts {
			vips[netip.AddrPortFrom(nb.VIP(i), port).String()] = backends(target, a.IPv4, b.IPv4)
			vips[netip.AddrPortFrom(at("fd00:10:96::", 1+i), port).String()] = backends(target, a.IPv6, b.IPv6)
		}
		members = append(members, nb.add("Load_Balancer", map[string]any{
			"name": "Service_" + name + "_TCP_cluster", "protocol": "tcp",
			"vips":         vips,
			"options":      map[string]string{"event": "false", "reject": "true", "skip_snat": "false", "hairpin_snat_ip": "169.254.169.5 fd69::5"},
			"external_ids": map[string]string{"k8s.ovn.org/kind": "Service", "k8s.ovn.org/owner": name},
		}))
	}
	nb.group = nb.add("Load_Balancer_Group", map[string]any{"name": "clusterLBGroup", "load_balancer": members})
}

// nodePorts writes a node's own load balancers.
func (nb *northbound) nodePorts(n int) {
	nb.local = nil
	for i := range nb.NodePorts {
		a, b := nb.number(2*i), nb.number(2*i+1)
		vips := map[string]string{}
		for f, own := range outsideAddr(n) {
			target := backends(servicePorts[80], a.IPv4, b.IPv4)
			if f > 0 {
				target = backends(servicePorts[80], a.IPv6, b.IPv6)
			}
			vips[netip.AddrPortFrom(own.Addr(), uint16(firstNodePort+i)).String()] = target
		}
		name := fmt.Sprintf("%s/svc-%d", a.Namespace, i)
		nb.local = append(nb.local, nb.add("Load_Balancer", map[string]any{
			"name": "Service_" + name + "_TCP_node_router+switch_" + nodeName(n), "protocol": "tcp", "vips": vips,
			"options":      map[string]string{"event": "false", "reject": "true", "skip_snat": "false", "hairpin_snat_ip": "169.254.169.5 fd69::5"},
			"external_ids": map[string]string{"k8s.ovn.org/kind": "Service", "k8s.ovn.org/owner": name},
		}))
	}
}

// outsideAddr returns the addresses of a node on the physical network.
func outsideAddr(n int) []netip.Prefix {
	return []netip.Prefix{netip.PrefixFrom(at("172.30.128.0", 10+n), 16), netip.PrefixFrom(at("fd00:172:30::8000", 10+n), 64)}
}

func backends(port uint16, a, b netip.Addr) string {
	return netip.AddrPortFrom(a, port).String() + "," + netip.AddrPortFrom(b, port).String()
}

// node writes a node's switch with its pods.
func (nb *northbound) node(n int) {
	name := nodeName(n)
	gateway := []netip.Prefix{netip.PrefixFrom(at("10.128.0.0", n<<8+1), 24), netip.PrefixFrom(at("fd00:10:128::", n<<8+1), 120)}
	chassis := nb.add("Gateway_Chassis", map[string]any{"name": "rtos-" + name + "-" + name, "chassis_name": name, "priority": 1})
	nb.trunk.ports = append(nb.trunk.ports, nb.routerPort("rtos-"+name, map[string]any{"gateway_chassis": []ovsdb.UUID{chassis}}, gateway...))
	ports := []ovsdb.UUID{nb.toRouter("stor-"+name, "rtos-"+name)}
	for k := range nb.Pods {
		p := nb.Pod(n, k)
		address := []string{fmt.Sprintf("%s %s %s", p.MAC, p.IPv4, p.IPv6)}
		id := nb.add("Logical_Switch_Port", map[string]any{
			"name": p.Port, "addresses": address, "port_security": address,
			"options":      map[string]string{"requested-chassis": name},
			"external_ids": map[string]string{"namespace": p.Namespace, "pod": "true"},
		})
		nb.ports[p.Port] = id
		ports = append(ports, id)
	}
	nb.add("Logical_Switch", map[string]any{
		"name": name, "ports": ports, "load_balancer_group": []ovsdb.UUID{nb.group}, "load_balancer": nb.local,
		"other_config": map[string]string{"subnet": gateway[0].Masked().String()},
	})
	for i, hop := range joinAddr(1 + n) {
		nb.trunk.routes = append(nb.trunk.routes, nb.add("Logical_Router_Static_Route", map[string]any{
			"ip_prefix": gateway[i].Masked().String(), "nexthop": hop.Addr().String(), "policy": "src-ip",
		}))
	}
}

// gateway writes a node's gateway router with its external switch.
func (nb *northbound) gateway(n int) {
	name := nodeName(n)
	router, outside := "GR_"+name, outsideAddr(n)
	ports := []ovsdb.UUID{nb.routerPort("rtoj-"+router, nil, joinAddr(1+n)...), nb.routerPort("rtoe-"+router, nil, outside...)}
	nb.join = append(nb.join, nb.toRouter("jtor-"+router, "rtoj-"+router))
	var routes, nats []ovsdb.UUID
	for i, f := range []struct{ pods, all, hop string }{{"10.128.0.0/9", "0.0.0.0/0", "172.30.0.1"}, {"fd00:10:128::/96", "::/0", "fd00:172:30::1"}} {
		routes = append(routes,
			nb.add("Logical_Router_Static_Route", map[string]any{"ip_prefix": f.pods, "nexthop": joinAddr(0)[i].Addr().String()}),
			nb.add("Logical_Router_Static_Route", map[string]any{"ip_prefix": f.all, "nexthop": f.hop, "output_port": "rtoe-" + router}))
		nats = append(nats, nb.add("NAT", map[string]any{"type": "snat", "external_ip": outside[i].Addr().String(), "logical_ip": f.pods}))
	}
	nb.add("Logical_Router", map[string]any{
		"name": router, "ports": ports, "static_routes": routes, "nat": nats, "load_balancer_group": []ovsdb.UUID{nb.group}, "load_balancer": nb.local,
		"options": map[string]string{"chassis": name, "lb_force_snat_ip": "router_ip", "snat-ct-zone": "0", "always_learn_from_arp_request": "false", "dynamic_neigh_routers": "true"},
	})
	nb.add("Logical_Switch", map[string]any{"name": "ext_" + name, "ports": []ovsdb.UUID{
		nb.toRouter("etor-"+router, "rtoe-"+router),
		nb.add("Logical_Switch_Port", map[string]any{
			"name": "br-ex_" + name, "type": "localnet", "addresses": []string{"unknown"}, "options": map[string]string{"network_name": "physnet"},
		}),
	}})
}

// networkPolicies writes an address set for each namespace, and policies that deny ingress to a namespace's pods except
// TCP port 8080 from the next one.
func (nb *northbound) networkPolicies() {
	if nb.Policies == 0 {
		return
	}
	members := map[int][]ovsdb.UUID{}
	addresses := map[int][]string{}
	namespaces := (nb.Nodes*nb.Pods + podsInNamespace - 1) / podsInNamespace
	for i := range nb.Nodes * nb.Pods {
		p := nb.number(i)
		members[i/podsInNamespace] = append(members[i/podsInNamespace], nb.ports[p.Port])
		addresses[i/podsInNamespace] = append(addresses[i/podsInNamespace], p.IPv4.String())
	}
	for i := range namespaces {
		nb.add("Address_Set", map[string]any{"name": fmt.Sprintf("team_%d_v4", i), "addresses": addresses[i]})
	}
	for i := range nb.Policies {
		name, own, peer := fmt.Sprintf("policy_%d", i), i%namespaces, (i+1)%namespaces
		acl := func(priority int, action, match string) ovsdb.UUID {
			return nb.add("ACL", map[string]any{"direction": "to-lport", "priority": priority, "action": action, "match": match})
		}
		nb.add("Port_Group", map[string]any{
			"name": name, "ports": members[own],
			"acls": []ovsdb.UUID{
				acl(1000, "drop", "outport == @"+name),
				acl(1001, "allow-related", fmt.Sprintf("outport == @%s && ip4.src == $team_%d_v4 && tcp.dst == 8080", name, peer)),
			},
			"external_ids": map[string]string{"k8s.ovn.org/owner-type": "NetworkPolicy", "k8s.ovn.org/name": fmt.Sprintf("team-%d:policy-%d", own, i)},
		})
	}
}
