package decode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
)

// The tables that hints may refer to.
var (
	acls          = &rowsOf[nb.ACL]{describeACL, []reference{groupACLs, switchACLs}}
	loadBalancers = &rowsOf[nb.LoadBalancer]{describeLoadBalancer, nil}
	nats          = &rowsOf[nb.NAT]{describeNAT, []reference{routerNAT}}
	policies      = &rowsOf[nb.Policy]{describePolicy, []reference{routerPolicies}}
	routes        = &rowsOf[nb.StaticRoute]{describeRoute, []reference{routerRoutes}}
	qoses         = &rowsOf[nb.QoS]{describeQoS, []reference{switchQoS}}
	switchPorts   = &rowsOf[nb.LogicalSwitchPort]{describeSwitchPort, []reference{portsOfSwitch}}
	routerPorts   = &rowsOf[nb.LogicalRouterPort]{describeRouterPort, []reference{portsOfRouter}}
	dhcpOptions   = &rowsOf[nb.DHCPOptions]{describeDHCP, nil}
	portGroups    = &rowsOf[nb.PortGroup]{describePortGroup, nil}
	staticMACs    = &rowsOf[nb.StaticMACBinding]{describeStaticMAC, nil}
	forwarding    = &rowsOf[nb.ForwardingGroup]{describeForwardingGroup, nil}
	dnses         = &rowsOf[nb.DNS]{describeDNS, nil}
	addressSets   = &rowsOf[nb.AddressSet]{describeAddressSet, nil}
	meters        = &rowsOf[nb.Meter]{describeMeter, nil}
)

// Datapaths are only searched.
var (
	switches = &rowsOf[nb.LogicalSwitch]{}
	routers  = &rowsOf[nb.LogicalRouter]{}
)

// tables are all of them, smaller and likelier ones first.
var tables = []table{
	loadBalancers, nats, routes, policies, routerPorts, switchPorts, acls, qoses, dhcpOptions,
	portGroups, staticMACs, forwarding, dnses, meters,
}

// stageTables maps parts of stage names to the tables that their hints refer to. The first match wins.
var stageTables = []struct {
	part   string
	tables []table
}{
	{"_pre_acl", []table{switchPorts}},
	{"_acl", []table{acls}},
	{"lr_in_policy", []table{policies}},
	{"_ip_routing", []table{routes, routerPorts}},
	{"_arp_resolve", []table{switchPorts, routerPorts, nats, loadBalancers}},
	{"_arp_request", []table{routes, routerPorts}},
	{"ls_in_lb", []table{loadBalancers}},
	{"_lb_aff", []table{loadBalancers}},
	{"_hairpin", []table{loadBalancers}},
	{"_pre_lb", []table{switchPorts, loadBalancers}},
	{"_pre_stateful", []table{loadBalancers}},
	{"nat", []table{loadBalancers, nats}},
	{"_defrag", []table{loadBalancers, nats}},
	{"_egr_loop", []table{nats}},
	{"_qos", []table{qoses}},
	{"_dhcp", []table{switchPorts, dhcpOptions, routerPorts}},
	{"lr_", []table{routerPorts, nats, loadBalancers}},
	{"ls_", []table{switchPorts, nats, loadBalancers}},
}

// tablesOf returns the tables that a stage's hints refer to.
func tablesOf(stage string) []table {
	for _, s := range stageTables {
		if strings.Contains(stage, s.part) {
			return s.tables
		}
	}
	return nil
}

func describeACL(row nb.ACL, h *holders) Object {
	o := Object{Kind: "ACL", Name: row.Name.Get()}
	var owner Owner
	if group := h.of(groupACLs, row.UUID); group.name != "" {
		o.Holder, owner = Holder{GroupHolder, group.name}, OwnerOf(group.ids)
	} else {
		o.Holder, owner = h.onSwitch(switchACLs, row.UUID)
	}
	o.Owner = ACLOwner(row.ExternalIDs, o.Holder, owner)
	head, tier := "ACL", ""
	if o.Name != "" {
		head = fmt.Sprintf("ACL %q", o.Name)
	}
	if row.Tier != 0 {
		tier = fmt.Sprintf("tier %d", row.Tier)
	}
	o.Text = line(head, cmp.Or(o.Owner.String(), o.Holder.String()), fmt.Sprintf("%s %d", row.Direction, row.Priority), tier, row.Action)
	if o.Name == "" {
		// OVN-Kubernetes leaves the name empty for ACLs it does not log.
		_, id, _ := strings.Cut(row.ExternalIDs["k8s.ovn.org/id"], ":")
		o.Name = cmp.Or(id, shortName(row.UUID))
	}
	return o
}

func describeLoadBalancer(row nb.LoadBalancer, _ *holders) Object {
	o := Object{Kind: "load balancer", Name: row.Name, Owner: cmp.Or(OwnerOf(row.ExternalIDs), serviceOf(row.Name))}
	o.Text = line(fmt.Sprintf("load balancer %q", row.Name), o.Owner.String(), cmp.Or(row.Protocol.Get(), "tcp"))
	return o
}

// serviceOf parses the name that OVN-Kubernetes gives a service's load balancer: Service_NAMESPACE/NAME_TCP_….
func serviceOf(name string) Owner {
	rest, ok := strings.CutPrefix(name, "Service_")
	if !ok {
		return Owner{}
	}
	for _, protocol := range []string{"_TCP_", "_UDP_", "_SCTP_"} {
		if service, _, ok := strings.Cut(rest, protocol); ok && strings.Count(service, "/") == 1 {
			return namespaced(OVNKubernetes, "Service", "/", service)
		}
	}
	return Owner{}
}

func describeNAT(row nb.NAT, h *holders) Object {
	holder, owner := h.onRouter(routerNAT, row.UUID)
	o := Object{Kind: "NAT", Owner: cmp.Or(OwnerOf(row.ExternalIDs), owner), Holder: holder}
	o.Name = fmt.Sprintf("%s %s as %s", row.Type, row.LogicalIP, row.ExternalIP)
	if row.Type == "dnat" {
		o.Name = fmt.Sprintf("%s %s to %s", row.Type, row.ExternalIP, row.LogicalIP)
	}
	o.Text = line("NAT "+o.Name, o.Owner.String(), holder.String())
	return o
}

func describePolicy(row nb.Policy, h *holders) Object {
	holder, owner := h.onRouter(routerPolicies, row.UUID)
	o := Object{Kind: "policy", Owner: cmp.Or(OwnerOf(row.ExternalIDs), owner), Holder: holder}
	o.Name = fmt.Sprintf("%d %s", row.Priority, row.Match)
	action := row.Action
	if hops := slices.Concat(row.Nexthops, row.Nexthop); len(hops) > 0 {
		action += " to " + strings.Join(hops, ", ")
	}
	o.Text = line(fmt.Sprintf("routing policy %d: %s, if %s", row.Priority, action, row.Match), o.Owner.String(), holder.String())
	return o
}

func describeRoute(row nb.StaticRoute, h *holders) Object {
	holder, owner := h.onRouter(routerRoutes, row.UUID)
	o := Object{Kind: "route", Name: row.IPPrefix, Owner: cmp.Or(OwnerOf(row.ExternalIDs), owner), Holder: holder}
	var port, from, table string
	if p := row.OutputPort.Get(); p != "" {
		port = "out of " + p
	}
	if row.Policy.Get() == "src-ip" {
		from = "by source"
	}
	if row.RouteTable != "" {
		table = "table " + row.RouteTable
	}
	o.Text = line(fmt.Sprintf("route %s via %s", row.IPPrefix, row.Nexthop), o.Owner.String(), from, port, table, holder.String())
	return o
}

func describeQoS(row nb.QoS, h *holders) Object {
	holder, owner := h.onSwitch(switchQoS, row.UUID)
	o := Object{Kind: "QoS", Name: shortName(row.UUID), Owner: cmp.Or(OwnerOf(row.ExternalIDs), owner), Holder: holder}
	o.Text = line("QoS rule, if "+row.Match, o.Owner.String(), fmt.Sprintf("%s %d", row.Direction, row.Priority), holder.String())
	return o
}

func describeSwitchPort(row nb.LogicalSwitchPort, h *holders) Object {
	holder, _ := h.onSwitch(portsOfSwitch, row.UUID)
	o := Object{Kind: "switch port", Name: row.Name, Owner: PortOwner(row.Name, row.ExternalIDs), Holder: holder}
	o.Text = line("port "+row.Name, o.Owner.String(), row.Type, holder.String())
	return o
}

func describeRouterPort(row nb.LogicalRouterPort, h *holders) Object {
	holder, _ := h.onRouter(portsOfRouter, row.UUID)
	o := Object{Kind: "router port", Name: row.Name, Owner: OwnerOf(row.ExternalIDs), Holder: holder}
	o.Text = line("port "+row.Name, o.Owner.String(), strings.Join(row.Networks, " "), holder.String())
	return o
}

func describeDHCP(row nb.DHCPOptions, _ *holders) Object {
	o := Object{Kind: "DHCP options", Name: row.Cidr, Owner: OwnerOf(row.ExternalIDs)}
	if subnet := row.ExternalIDs["subnet_id"]; o.Owner == (Owner{}) && subnet != "" {
		o.Owner = Owner{CMS: Neutron, Kind: "neutron subnet", Name: subnet}
	}
	o.Text = line("DHCP options for "+row.Cidr, o.Owner.String())
	return o
}

func describePortGroup(row nb.PortGroup, _ *holders) Object {
	o := Object{Kind: "port group", Name: row.Name, Owner: GroupOwner(row.Name, row.ExternalIDs)}
	o.Text = line("port group "+row.Name, o.Owner.String())
	return o
}

func describeAddressSet(row nb.AddressSet, _ *holders) Object {
	o := Object{Kind: "address set", Name: row.Name, Owner: OwnerOf(row.ExternalIDs)}
	o.Text = line("address set "+row.Name, o.Owner.String(), fmt.Sprintf("%d addresses", len(row.Addresses)))
	return o
}

func describeStaticMAC(row nb.StaticMACBinding, _ *holders) Object {
	o := Object{Kind: "static MAC binding", Name: row.IP}
	o.Text = fmt.Sprintf("%s is at %s behind %s (static)", row.IP, row.MAC, row.LogicalPort)
	return o
}

func describeForwardingGroup(row nb.ForwardingGroup, _ *holders) Object {
	o := Object{Kind: "forwarding group", Name: row.Name, Owner: OwnerOf(row.ExternalIDs)}
	o.Text = line("forwarding group "+row.Name, o.Owner.String(), row.VIP)
	return o
}

func describeDNS(row nb.DNS, _ *holders) Object {
	o := Object{Kind: "DNS", Name: shortName(row.UUID), Owner: OwnerOf(row.ExternalIDs)}
	o.Text = line(fmt.Sprintf("DNS, %d names", len(row.Records)), o.Owner.String())
	return o
}

func describeMeter(row nb.Meter, _ *holders) Object {
	return Object{Kind: "meter", Name: row.Name, Owner: OwnerOf(row.ExternalIDs), Text: "meter " + row.Name}
}
