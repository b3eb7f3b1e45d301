//go:build lab

package nb_test

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

var rows = []ovsdb.Row{
	nb.ACL{}, nb.PortGroup{}, nb.AddressSet{}, nb.Meter{}, nb.MeterBand{}, nb.Sample{},
	nb.SampleCollector{}, nb.NetworkFunctionGroup{}, nb.NetworkFunction{}, nb.GatewayChassis{},
	nb.HAChassisGroup{}, nb.HAChassis{}, nb.ChassisTemplateVar{}, nb.Global{}, nb.Connection{},
	nb.SSL{}, nb.LoadBalancer{}, nb.LoadBalancerGroup{}, nb.LoadBalancerHealthCheck{},
	nb.LogicalRouter{}, nb.LogicalRouterPort{}, nb.StaticRoute{}, nb.StaticRouteListed{}, nb.Policy{}, nb.NAT{},
	nb.StaticMACBinding{}, nb.BFD{}, nb.Copp{}, nb.LogicalSwitch{}, nb.LogicalSwitchPort{},
	nb.ForwardingGroup{}, nb.DHCPOptions{}, nb.DHCPRelay{}, nb.DNS{}, nb.QoS{}, nb.Mirror{},
}

var projections = []ovsdb.Row{
	nb.ACLBrief{}, nb.LogicalSwitchPortBrief{}, nb.LogicalSwitchPortBare{}, nb.LoadBalancerName{}, nb.LoadBalancerOwner{}, nb.LoadBalancerVIPs{}, nb.LogicalSwitchBare{}, nb.LogicalSwitchContents{}, nb.LogicalRouterBare{},
	nb.LogicalRouterContents{}, nb.PortGroupContents{}, nb.GlobalName{},
}

// otherRelease lists the columns that the installed release lacks.
var otherRelease = []string{
	"ACL.network_function_group", "ACL.sample_est", "ACL.sample_new", "ACL.tier",
	"DHCP_Relay.external_ids", "DHCP_Relay.name", "DHCP_Relay.options", "DHCP_Relay.servers",
	"DNS.options",
	"Logical_Router_Policy.bfd_sessions", "Logical_Router_Policy.chain", "Logical_Router_Policy.jump_chain", "Logical_Router_Policy.output_port",
	"Logical_Router_Port.dhcp_relay", "Logical_Router_Port.status",
	"Logical_Router_Static_Route.selection_fields",
	"Logical_Switch_Port.health_checks", "Logical_Switch_Port.peer",
	"Mirror.mirror_rules",
	"NAT.match", "NAT.priority",
	"Network_Function.external_ids", "Network_Function.health_check", "Network_Function.id", "Network_Function.inport", "Network_Function.name", "Network_Function.outport",
	"Network_Function_Group.external_ids", "Network_Function_Group.fallback", "Network_Function_Group.id", "Network_Function_Group.mode", "Network_Function_Group.name", "Network_Function_Group.network_function", "Network_Function_Group.network_function_active",
	"SSL.ssl_ciphersuites",
	"Sample.collectors", "Sample.metadata",
	"Sample_Collector.external_ids", "Sample_Collector.id", "Sample_Collector.name", "Sample_Collector.probability", "Sample_Collector.set_id",
}

func TestRows(t *testing.T) {
	ovsdbtest.CheckRows(t, ovsdbtest.Northbound, otherRelease, rows, projections)
}

// TestSources fills a database with ovn-nbctl and reads it in every way.
func TestSources(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	nbctl := func(args ...string) {
		t.Helper()
		ovsdbtest.Run(t, "ovn-nbctl", append([]string{"--db=" + s.Remote(), "--no-wait"}, args...)...)
	}
	nbctl("init")
	nbctl("ls-add", "a", "--", "ls-add", "b", "--", "lr-add", "r")
	nbctl("lsp-add", "a", "a-1", "--", "lsp-set-addresses", "a-1", "00:00:00:00:00:01 10.0.0.1 fd00::1", "unknown")
	nbctl("lsp-add", "a", "a-2", "--", "lsp-set-enabled", "a-2", "disabled", "--", "lsp-set-port-security", "a-2", "00:00:00:00:00:02 10.0.0.2")
	nbctl("lsp-add", "b", "b-1", "a-1", "7", "--", "set", "Logical_Switch_Port", "b-1", "up=true", "tag_request=3")
	nbctl("lrp-add", "r", "r-a", "00:00:00:00:01:01", "10.0.0.254/24", "fd00::ffff/64", "--", "lrp-set-gateway-chassis", "r-a", "node1", "20")
	nbctl("lr-route-add", "r", "0.0.0.0/0", "10.0.0.9", "--", "lr-route-add", "r", "::/0", "fd00::9", "r-a")
	nbctl("lr-policy-add", "r", "100", "ip4.src == 10.0.0.0/8", "reroute", "10.0.0.3,10.0.0.4")
	nbctl("lr-nat-add", "r", "snat", "172.16.0.1", "10.0.0.0/24", "--", "lr-nat-add", "r", "dnat_and_snat", "172.16.0.2", "10.0.0.1", "a-1", "00:00:00:00:02:02")
	nbctl("acl-add", "a", "to-lport", "1001", "ip4 && \"quoted\\\" \u00e9\u65e5", "drop", "--", "--log", "--name=deny", "--severity=info", "acl-add", "a", "from-lport", "1002", "ip6", "allow-related")
	nbctl("pg-add", "pg", "a-1", "a-2", "--", "--type=port-group", "acl-add", "pg", "to-lport", "1", "1", "reject")
	nbctl("create", "Address_Set", "name=as", "addresses=10.0.0.1,10.0.0.10,10.0.0.2")
	nbctl("lb-add", "lb", "10.96.0.1:80", "10.0.0.1:8080,10.0.0.2:8080", "tcp", "--", "lb-add", "lb", "[fd00::96]:80", "[fd00::1]:80", "--", "ls-lb-add", "a", "lb")
	nbctl("--id=@h", "create", "Load_Balancer_Health_Check", "vip=10.96.0.1\\:80", "options:interval=5", "--", "set", "Load_Balancer", "lb", "health_check=@h")
	nbctl("--id=@g", "create", "Load_Balancer_Group", "name=group", "--", "add", "Logical_Router", "r", "load_balancer_group", "@g", "--", "add", "Logical_Switch", "b", "load_balancer_group", "@g")
	nbctl("ha-chassis-group-add", "ha", "--", "ha-chassis-group-add-chassis", "ha", "node1", "10", "--", "ha-chassis-group-add-chassis", "ha", "node2", "20")
	nbctl("meter-add", "m", "drop", "100", "pktps", "10", "--", "copp-add", "c", "arp", "m", "--", "lr-copp-add", "c", "r")
	nbctl("qos-add", "a", "from-lport", "10", "ip4", "rate=100", "burst=200", "dscp=7")
	nbctl("dhcp-options-create", "10.0.0.0/24", "--", "create", "DNS", "records={a=10.0.0.1,b=10.0.0.2}")
	nbctl("mirror-add", "mir", "gre", "1", "to-lport", "10.0.0.99", "--", "static-mac-binding-add", "r-a", "10.0.0.77", "00:00:00:00:00:77")
	nbctl("create", "Chassis_Template_Var", "chassis=node1", "variables={x=1}", "--", "create", "BFD", "logical_port=r-a", "dst_ip=10.0.0.9", "min_tx=100")
	nbctl("fwd-group-add", "fg", "a", "10.0.0.50", "00:00:00:00:00:50", "a-1", "--", "set-connection", "ptcp:0:127.0.0.1", "--", "set-ssl", "key", "cert", "ca")

	// What changes, goes or comes back later is recorded as a difference.
	nbctl("lsp-set-addresses", "a-1", "00:00:00:00:00:11 10.0.0.11", "--", "lsp-set-options", "a-1", "k=1", "l=2")
	nbctl("lsp-set-options", "a-1", "l=3", "m=4", "--", "clear", "Logical_Switch_Port", "b-1", "tag", "up", "--", "set", "Logical_Switch_Port", "b-1", "enabled=true")
	nbctl("set", "Logical_Switch_Port", "b-1", "up=false", "enabled=false")
	nbctl("remove", "Address_Set", "as", "addresses", "10.0.0.10", "--", "add", "Address_Set", "as", "addresses", "10.0.0.100,9.9.9.9")
	nbctl("lb-del", "lb", "10.96.0.1:80", "--", "lb-add", "lb", "10.96.0.2:443", "")
	nbctl("ls-del", "b", "--", "acl-del", "a", "to-lport", "--", "lr-route-del", "r", "::/0")
	nbctl("set", "NB_Global", ".", "nb_cfg=5", "options:x=y", "ipsec=true", "--", "set", "NB_Global", ".", "nb_cfg=6")
	nbctl("set", "Logical_Router_Port", "r-a", "networks=10.0.0.254/24")

	counts := ovsdbtest.SameEverywhere(t, s, rows...)
	for _, row := range rows {
		if s := row.Table(); counts[s] == 0 && s != "DHCP_Relay" && s != "Sample" && s != "Sample_Collector" && s != "Network_Function" && s != "Network_Function_Group" {
			t.Errorf("no rows of %s were compared", s)
		}
	}
}
