package compare

import (
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// A kind defines how the rows of a table, or the things of a node, are compared.
type kind struct {
	group Group
	name  string     // what people call one
	rows  func() any // a new *[]T for ovsdb; nil: not a row
	// keys identify one, the strictest first: columns, COLUMN:KEY of a map, and holder for what holds it. No columns:
	// there is only one.
	keys  [][]string
	title string   // contains {COLUMN} and {COLUMN:KEY}
	more  string   // appended to the title if only one side has it
	holds []string // columns with rows that are compared themselves
	quiet []string // columns that change by themselves, or are allocated numbers
	// copies are columns that ovn-northd copies from the other database; they are compared there if it is available.
	copies []string
	part   bool // it is added and removed with what holds it
}

// holder stands for the titles of a row's holders in keys.
const holder = "^"

func rowsOf[T ovsdb.Row]() any { return new([]T) }

// only is the key of a table with one row.
var only = [][]string{{}}

func by(columns ...string) []string { return columns }

// northbound are the tables of OVN_Northbound.
var northbound = lazy.Value[[]*kind]{Make: func() []*kind {
	return []*kind{
		{group: Configuration, name: "switch", rows: rowsOf[nb.LogicalSwitch], keys: [][]string{by("name")}, title: "{name}",
			holds: []string{"ports", "acls", "qos_rules", "forwarding_groups"}},
		{group: Configuration, name: "router", rows: rowsOf[nb.LogicalRouter], keys: [][]string{by("name")}, title: "{name}",
			holds: []string{"ports", "static_routes", "policies", "nat"}},
		{group: Configuration, name: "port", rows: rowsOf[nb.LogicalSwitchPort], keys: [][]string{by("name")}, copies: []string{"up"}, title: "{name}", more: "{addresses}"},
		{group: Configuration, name: "router port", rows: rowsOf[nb.LogicalRouterPort], keys: [][]string{by("name")}, title: "{name}",
			holds: []string{"gateway_chassis"}},
		{group: Configuration, name: "port group", rows: rowsOf[nb.PortGroup], keys: [][]string{by("name")}, title: "{name}",
			holds: []string{"acls"}},
		{group: Configuration, name: "ACL", rows: rowsOf[nb.ACL], title: "{name} {direction} {priority} {action} if {match}",
			keys: [][]string{by(holder, "tier", "direction", "priority", "match", "action", "name"), by(holder, "direction", "priority", "match"), by(holder, "direction", "match"), by(holder, "name")}},
		{group: Configuration, name: "address set", rows: rowsOf[nb.AddressSet], keys: [][]string{by("name")}, title: "{name}"},
		{group: Configuration, name: "route", rows: rowsOf[nb.StaticRoute], title: "{ip_prefix} {route_table}", more: "via {nexthop} {output_port}",
			keys: [][]string{by(holder, "ip_prefix", "policy", "route_table", "nexthop", "output_port"), by(holder, "ip_prefix", "policy", "route_table")}},
		{group: Configuration, name: "policy", rows: rowsOf[nb.Policy], title: "{priority} {action} if {match}", more: "to {nexthops} {nexthop}",
			keys: [][]string{by(holder, "priority", "match", "action", "nexthop", "nexthops"), by(holder, "priority", "match")}},
		{group: Configuration, name: "NAT", rows: rowsOf[nb.NAT], title: "{type} {logical_ip} as {external_ip}",
			keys: [][]string{by(holder, "type", "logical_ip", "external_ip", "logical_port", "external_port_range"), by(holder, "type", "logical_ip", "logical_port"), by(holder, "type", "external_ip")}},
		{group: Configuration, name: "load balancer", rows: rowsOf[nb.LoadBalancer], title: "{name}", holds: []string{"health_check"},
			keys: [][]string{by("name", "protocol", "vips"), by("name", "protocol"), by("name")}},
		{group: Configuration, name: "load balancer group", rows: rowsOf[nb.LoadBalancerGroup], keys: [][]string{by("name")}, title: "{name}"},
		{group: Configuration, name: "health check", rows: rowsOf[nb.LoadBalancerHealthCheck], keys: [][]string{by(holder, "vip")}, title: "{vip}", part: true},
		{group: Configuration, name: "static neighbour", rows: rowsOf[nb.StaticMACBinding], keys: [][]string{by("logical_port", "ip")}, title: "{ip} behind {logical_port}", more: "at {mac}"},
		{group: Configuration, name: "DHCP options", rows: rowsOf[nb.DHCPOptions], keys: [][]string{by("cidr", "external_ids"), by("cidr")}, title: "{cidr}"},
		{group: Configuration, name: "DHCP relay", rows: rowsOf[nb.DHCPRelay], keys: [][]string{by("name")}, title: "{name}"},
		{group: Configuration, name: "DNS records", rows: rowsOf[nb.DNS], keys: [][]string{by("external_ids", "records"), by("external_ids"), by("records")}, title: "{external_ids}"},
		{group: Configuration, name: "QoS rule", rows: rowsOf[nb.QoS], keys: [][]string{by(holder, "direction", "priority", "match")}, title: "{direction} {priority} if {match}"},
		{group: Configuration, name: "gateway chassis", rows: rowsOf[nb.GatewayChassis], keys: [][]string{by(holder, "chassis_name"), by("name")}, title: "{chassis_name}", part: true},
		{group: Configuration, name: "HA chassis group", rows: rowsOf[nb.HAChassisGroup], keys: [][]string{by("name")}, title: "{name}", holds: []string{"ha_chassis"}},
		{group: Configuration, name: "HA chassis", rows: rowsOf[nb.HAChassis], keys: [][]string{by(holder, "chassis_name")}, title: "{chassis_name}", part: true},
		{group: Configuration, name: "forwarding group", rows: rowsOf[nb.ForwardingGroup], keys: [][]string{by(holder, "name")}, title: "{name}"},
		{group: Configuration, name: "BFD session", rows: rowsOf[nb.BFD], keys: [][]string{by("logical_port", "dst_ip")}, title: "{dst_ip} behind {logical_port}"},
		{group: Configuration, name: "mirror", rows: rowsOf[nb.Mirror], keys: [][]string{by("name")}, title: "{name}"},
		{group: Configuration, name: "meter", rows: rowsOf[nb.Meter], keys: [][]string{by("name")}, title: "{name}", holds: []string{"bands"}},
		{group: Configuration, name: "meter band", rows: rowsOf[nb.MeterBand], keys: [][]string{by(holder, "action")}, title: "{action} {rate}", part: true},
		{group: Configuration, name: "control plane protection", rows: rowsOf[nb.Copp], keys: [][]string{by("name")}, title: "{name}"},
		{group: Configuration, name: "template variables", rows: rowsOf[nb.ChassisTemplateVar], keys: [][]string{by("chassis")}, title: "of {chassis}"},
		{group: Configuration, name: "sample", rows: rowsOf[nb.Sample], keys: [][]string{by("metadata")}, title: "{metadata}"},
		{group: Configuration, name: "sample collector", rows: rowsOf[nb.SampleCollector], keys: [][]string{by("id")}, title: "{name}"},
		{group: Configuration, name: "network function group", rows: rowsOf[nb.NetworkFunctionGroup], keys: [][]string{by("name")}, title: "{name}"},
		{group: Configuration, name: "network function", rows: rowsOf[nb.NetworkFunction], keys: [][]string{by("name")}, title: "{name}"},
		{group: Configuration, name: "Northbound", rows: rowsOf[nb.Global], keys: only, holds: []string{"connections", "ssl"},
			quiet: []string{"hv_cfg", "hv_cfg_timestamp", "nb_cfg", "nb_cfg_timestamp", "sb_cfg", "sb_cfg_timestamp"}},
		{group: Configuration, name: "Northbound connection", rows: rowsOf[nb.Connection], keys: [][]string{by("target")}, title: "{target}", quiet: connection},
		{group: Configuration, name: "Northbound TLS", rows: rowsOf[nb.SSL], keys: only},
	}
}}

// connection are the status columns of a Connection, Manager or Controller.
var connection = []string{"is_connected", "status"}

// southbound are the tables of OVN_Southbound except flows and datapath groups, which are part of flows.
var southbound = lazy.Value[[]*kind]{Make: func() []*kind {
	return []*kind{
		{group: Nodes, name: "chassis", rows: rowsOf[sb.Chassis], keys: [][]string{by("name"), by("hostname")}, title: "{hostname}", holds: []string{"encaps"}, quiet: []string{"nb_cfg"}},
		{group: Nodes, name: "encapsulation", rows: rowsOf[sb.Encap], keys: [][]string{by("chassis_name", "type", "ip"), by("chassis_name", "type"), by("chassis_name")}, title: "{type} {ip}", part: true},
		{group: Bindings, name: "port", rows: rowsOf[sb.PortBinding], keys: [][]string{by("logical_port")}, title: "{logical_port}", more: "on {chassis}",
			copies: []string{"mac", "nat_addresses", "parent_port", "port_security", "tag", "type", "options", "external_ids", "mirror_rules", "mirror_port", "gateway_chassis", "ha_chassis_group", "requested_chassis", "requested_additional_chassis"}},
		{group: Learned, name: "neighbour", rows: rowsOf[sb.MACBinding], keys: [][]string{by("logical_port", "ip")}, title: "{ip} behind {logical_port}", more: "at {mac}", quiet: []string{"timestamp"}},
		{group: Learned, name: "MAC address", rows: rowsOf[sb.FDB], keys: [][]string{by("dp_key", "mac")}, title: "{mac} in datapath {dp_key}", quiet: []string{"timestamp"}},
		{group: Learned, name: "multicast member", rows: rowsOf[sb.IGMPGroup], keys: [][]string{by("datapath", "address", "chassis")}, title: "{address} on {chassis}"},
		{group: Learned, name: "ECMP next hop", rows: rowsOf[sb.ECMPNexthop], keys: [][]string{by("datapath", "port", "nexthop")}, title: "{nexthop} behind {port}"},
		{group: Learned, name: "learned route", rows: rowsOf[sb.LearnedRoute], keys: [][]string{by("datapath", "logical_port", "ip_prefix", "nexthop")}, title: "{ip_prefix} via {nexthop} behind {logical_port}"},
		{group: Learned, name: "service monitor", rows: rowsOf[sb.ServiceMonitor], keys: [][]string{by("logical_port", "ip", "port", "protocol")}, title: "{ip} {protocol} {port}"},
		{group: Learned, name: "BFD session", rows: rowsOf[sb.BFD], keys: [][]string{by("logical_port", "dst_ip")}, title: "{dst_ip} behind {logical_port}", quiet: []string{"disc", "src_port"}},
		{group: Derived, name: "advertised route", rows: rowsOf[sb.AdvertisedRoute], keys: [][]string{by("datapath", "logical_port", "ip_prefix")}, title: "{ip_prefix} behind {logical_port}"},
		datapathKind,
		{group: Derived, name: "multicast group", rows: rowsOf[sb.MulticastGroup], keys: [][]string{by("datapath", "name")}, title: "{name} of {datapath}"},
		{group: Derived, name: "multicast settings", rows: rowsOf[sb.IPMulticast], keys: [][]string{by("datapath")}, title: "of {datapath}", quiet: []string{"seq_no"}},
		{group: Derived, name: "private row of chassis", rows: rowsOf[sb.ChassisPrivate], keys: [][]string{by("name")}, title: "{name}", quiet: []string{"nb_cfg", "nb_cfg_timestamp"}},
		{group: Derived, name: "gateway chassis", rows: rowsOf[sb.GatewayChassis], keys: [][]string{by("name")}, title: "{name}"},
		{group: Derived, name: "HA chassis group", rows: rowsOf[sb.HAChassisGroup], keys: [][]string{by("name")}, title: "{name}", holds: []string{"ha_chassis"}},
		{group: Derived, name: "HA chassis", rows: rowsOf[sb.HAChassis], keys: [][]string{by(holder, "chassis")}, title: "{chassis}", part: true},
		{group: Derived, name: "template variables", rows: rowsOf[sb.ChassisTemplateVar], keys: [][]string{by("chassis")}, title: "of {chassis}"},
		{group: Derived, name: "address set", rows: rowsOf[sb.AddressSet], keys: [][]string{by("name")}, title: "{name}"},
		{group: Derived, name: "port group", rows: rowsOf[sb.PortGroup], keys: [][]string{by("name")}, title: "{name}"},
		{group: Derived, name: "load balancer", rows: rowsOf[sb.LoadBalancer], keys: [][]string{by("name", "protocol", "vips"), by("name", "protocol"), by("name")}, title: "{name}",
			quiet: []string{"datapath_group", "lr_datapath_group", "ls_datapath_group"}},
		{group: Derived, name: "DNS records", rows: rowsOf[sb.DNS], keys: [][]string{by("datapaths", "records"), by("datapaths"), by("records")}, title: "{external_ids}"},
		{group: Derived, name: "static neighbour", rows: rowsOf[sb.StaticMACBinding], keys: [][]string{by("logical_port", "ip")}, title: "{ip} behind {logical_port}"},
		{group: Derived, name: "DHCP option", rows: rowsOf[sb.DHCPOptions], keys: [][]string{by("name")}, title: "{name}"},
		{group: Derived, name: "DHCPv6 option", rows: rowsOf[sb.DHCPv6Options], keys: [][]string{by("name")}, title: "{name}"},
		{group: Derived, name: "meter", rows: rowsOf[sb.Meter], keys: [][]string{by("name")}, title: "{name}", holds: []string{"bands"}},
		{group: Derived, name: "meter band", rows: rowsOf[sb.MeterBand], keys: [][]string{by(holder, "action")}, title: "{action} {rate}", part: true},
		{group: Derived, name: "mirror", rows: rowsOf[sb.Mirror], keys: [][]string{by("name")}, title: "{name}"},
		{group: Derived, name: "RBAC role", rows: rowsOf[sb.RBACRole], keys: [][]string{by("name")}, title: "{name}"},
		{group: Derived, name: "RBAC permission", rows: rowsOf[sb.RBACPermission], keys: [][]string{by("table")}, title: "{table}"},
		southboundKind,
		{group: Configuration, name: "Southbound connection", rows: rowsOf[sb.Connection], keys: [][]string{by("target")}, title: "{target}", quiet: connection},
		{group: Configuration, name: "Southbound TLS", rows: rowsOf[sb.SSL], keys: only},
	}
}}

// Kinds that are referred to by name.
var datapathKind = &kind{group: Derived, name: "datapath", rows: rowsOf[sb.DatapathBinding], title: "{external_ids:name}", quiet: []string{"load_balancers"},
	keys: [][]string{by("external_ids:logical-switch", "external_ids:logical-router", "nb_uuid"), by("external_ids:name")}}
var southboundKind = &kind{group: Configuration, name: "Southbound", rows: rowsOf[sb.Global], keys: only, holds: []string{"connections", "ssl"}, quiet: []string{"nb_cfg"}, copies: []string{"options", "ipsec"}}

// openVswitch are the tables of a node's Open_vSwitch.
var openVswitch = lazy.Value[[]*kind]{Make: func() []*kind {
	return []*kind{
		{group: Nodes, name: "Open vSwitch", rows: rowsOf[vswitch.OpenvSwitch], keys: only, holds: []string{"bridges", "datapaths", "manager_options", "ssl"}, quiet: []string{"cur_cfg", "next_cfg", "statistics"}},
		bridgeKind,
		{group: Nodes, name: bridgePort, rows: rowsOf[vswitch.Port], keys: [][]string{by("name")}, title: "{name}", holds: []string{"interfaces", "qos"}, quiet: []string{"rstp_statistics", "statistics"}},
		{group: Nodes, name: "interface", rows: rowsOf[vswitch.Interface], keys: [][]string{by("name")}, title: "{name}", quiet: []string{"statistics", "ifindex", "link_resets", "cfm_flap_count"}, part: true},
		{group: Nodes, name: "controller", rows: rowsOf[vswitch.Controller], keys: [][]string{by(holder, "target")}, title: "{target}", quiet: connection, part: true},
		{group: Nodes, name: "mirror", rows: rowsOf[vswitch.Mirror], keys: [][]string{by(holder, "name")}, title: "{name}", quiet: []string{"statistics"}, part: true},
		{group: Nodes, name: "flow table", rows: rowsOf[vswitch.FlowTable], keys: [][]string{by(holder, "name")}, title: "{name}", part: true},
		{group: Nodes, name: "QoS", rows: rowsOf[vswitch.QoS], keys: [][]string{by(holder, "type")}, title: "{type}", holds: []string{"queues"}, part: true},
		{group: Nodes, name: "queue", rows: rowsOf[vswitch.Queue], keys: [][]string{by(holder, "other_config"), by(holder)}, part: true},
		{group: Nodes, name: "datapath", rows: rowsOf[vswitch.Datapath], keys: only, quiet: []string{"ct_zones"}},
		{group: Nodes, name: "manager", rows: rowsOf[vswitch.Manager], keys: [][]string{by("target")}, title: "{target}", quiet: connection},
		{group: Nodes, name: "TLS", rows: rowsOf[vswitch.SSL], keys: only},
	}
}}

var bridgeKind = &kind{group: Nodes, name: "bridge", rows: rowsOf[vswitch.Bridge], keys: [][]string{by("name")}, title: "{name}", holds: []string{"ports", "controller", "mirrors", "flow_tables"}}

const bridgePort = "bridge port"

// State of a node's kernel and daemons.
var (
	versionKind   = &kind{group: Nodes, name: "release", keys: [][]string{by("daemon")}, title: "of {daemon}"}
	linkKind      = &kind{group: Nodes, name: "link", keys: [][]string{by("name")}, title: "{name}"}
	addressKind   = &kind{group: Nodes, name: "address", keys: [][]string{by("address", "link")}, title: "{address}", part: true}
	routeKind     = &kind{group: Nodes, name: "kernel route", keys: [][]string{by("dst", "table", "metric", "type", "via", "dev"), by("dst", "table", "metric", "type")}, title: "{dst} {table}", more: "via {via} {hops}", part: true}
	ruleKind      = &kind{group: Nodes, name: "routing rule", keys: [][]string{by("family", "priority", "rule"), by("family", "priority")}, title: "IPv{family} {priority}", more: "{rule}"}
	settingKind   = &kind{group: Nodes, name: "setting", keys: [][]string{by("key")}, title: "{key}", part: true}
	neighbourKind = &kind{group: Nodes, name: "kernel neighbour", keys: [][]string{by("address", "link")}, title: "{address} on {link}", part: true}

	host = []*kind{versionKind, linkKind, addressKind, routeKind, ruleKind, settingKind, neighbourKind}
)

// moving matches map keys whose values change by themselves or are numbers that a node assigns: timestamps,
// configuration progress, conntrack zones.
var moving = pattern.New(`(?i)(^|[-_:])ts$|timestamp|(nb|sb)[-_]cfg|liveness|revision_number|^ct-zone-`)
