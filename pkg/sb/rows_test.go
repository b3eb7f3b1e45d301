//go:build lab

package sb_test

import (
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

var rows = []ovsdb.Row{
	sb.DatapathBinding{}, sb.PortBinding{}, sb.MulticastGroup{}, sb.IGMPGroup{}, sb.IPMulticast{},
	sb.Chassis{}, sb.ChassisPrivate{}, sb.Encap{}, sb.GatewayChassis{}, sb.HAChassisGroup{},
	sb.HAChassis{}, sb.ChassisTemplateVar{}, sb.LogicalFlow{}, sb.LogicalDPGroup{}, sb.Global{},
	sb.Connection{}, sb.SSL{}, sb.RBACRole{}, sb.RBACPermission{}, sb.AddressSet{}, sb.PortGroup{},
	sb.MACBinding{}, sb.StaticMACBinding{}, sb.FDB{}, sb.BFD{}, sb.ECMPNexthop{}, sb.LearnedRoute{},
	sb.AdvertisedRoute{}, sb.LoadBalancer{}, sb.ServiceMonitor{}, sb.DNS{}, sb.DHCPOptions{},
	sb.DHCPv6Options{}, sb.Meter{}, sb.MeterBand{}, sb.Mirror{},
}

var projections = []ovsdb.Row{
	sb.PortBindingBrief{}, sb.PortBindingPlace{}, sb.PortBindingWorkload{}, sb.PortBindingHome{}, sb.PortBindingListed{}, sb.PortBindingNames{}, sb.PortBindingResidence{}, sb.LogicalFlowBrief{},
	sb.LogicalFlowRule{}, sb.LogicalFlowHints{}, sb.LogicalFlowMatch{}, sb.LogicalFlowOwned{}, sb.LogicalFlowNames{}, sb.LogicalFlowRest{},
	sb.LoadBalancerName{}, sb.ChassisIdentity{}, sb.ChassisName{}, sb.GlobalNBCfg{}, sb.PortGroupName{},
}

// otherRelease lists the columns that the installed release lacks.
var otherRelease = []string{
	"Advertised_Route.datapath", "Advertised_Route.external_ids", "Advertised_Route.ip_prefix", "Advertised_Route.logical_port", "Advertised_Route.tracked_port",
	"BFD.chassis_name",
	"DNS.options",
	"Datapath_Binding.nb_uuid", "Datapath_Binding.type",
	"ECMP_Nexthop.datapath", "ECMP_Nexthop.external_ids", "ECMP_Nexthop.mac", "ECMP_Nexthop.nexthop", "ECMP_Nexthop.port",
	"FDB.timestamp",
	"IGMP_Group.chassis_name", "IGMP_Group.protocol",
	"Learned_Route.datapath", "Learned_Route.external_ids", "Learned_Route.ip_prefix", "Learned_Route.logical_port", "Learned_Route.nexthop",
	"Load_Balancer.lr_datapath_group", "Load_Balancer.ls_datapath_group",
	"Logical_Flow.flow_desc",
	"Port_Binding.mirror_port",
	"SSL.ssl_ciphersuites",
	"Service_Monitor.chassis_name", "Service_Monitor.ic_learned", "Service_Monitor.logical_input_port", "Service_Monitor.mac", "Service_Monitor.remote", "Service_Monitor.type",
}

func TestRows(t *testing.T) {
	ovsdbtest.CheckRows(t, ovsdbtest.Southbound, otherRelease, rows, projections)
}

// TestSources lets ovn-northd fill a database and reads it in every way.
func TestSources(t *testing.T) {
	north := ovsdbtest.Start(t, ovsdbtest.Northbound)
	south := ovsdbtest.Start(t, ovsdbtest.Southbound)
	nbctl := func(args ...string) {
		t.Helper()
		ovsdbtest.Run(t, "ovn-nbctl", append([]string{"--db=" + north.Remote(), "--timeout=20"}, args...)...)
	}
	sbctl := func(args ...string) {
		t.Helper()
		ovsdbtest.Run(t, "ovn-sbctl", append([]string{"--db=" + south.Remote(), "--timeout=20"}, args...)...)
	}
	stop := ovsdbtest.Northd(t, north, south)
	sbctl("init", "--", "chassis-add", "node1", "geneve,vxlan", "172.30.0.11", "--", "chassis-add", "node2", "geneve", "172.30.0.12")
	sbctl("create", "Chassis_Private", "name=node1", "nb_cfg=3", "nb_cfg_timestamp=1700000000000")
	nbctl("ls-add", "a", "--", "lsp-add", "a", "a-1", "--", "lsp-set-addresses", "a-1", "00:00:00:00:00:01 10.0.0.1 fd00::1", "--", "lsp-set-type", "a-1", "")
	nbctl("lr-add", "r", "--", "lrp-add", "r", "r-a", "00:00:00:00:01:01", "10.0.0.254/24", "--", "lrp-set-gateway-chassis", "r-a", "node1", "20", "--", "lrp-set-gateway-chassis", "r-a", "node2", "10")
	nbctl("lsp-add", "a", "a-r", "--", "lsp-set-type", "a-r", "router", "--", "lsp-set-addresses", "a-r", "router", "--", "lsp-set-options", "a-r", "router-port=r-a")
	nbctl("lb-add", "lb", "10.96.0.1:80", "10.0.0.1:8080", "--", "ls-lb-add", "a", "lb", "--", "lr-nat-add", "r", "snat", "10.0.0.254", "10.0.0.0/24")
	nbctl("pg-add", "pg", "a-1", "--", "create", "Address_Set", "name=as", "addresses=10.0.0.1", "--", "acl-add", "pg", "to-lport", "1001", "ip4.src == $as", "drop")
	nbctl("meter-add", "m", "drop", "100", "pktps", "--", "--id=@d", "create", "DNS", "records={a=10.0.0.1}", "--", "set", "Logical_Switch", "a", "dns_records=@d", "other_config:mcast_snoop=true")
	nbctl("mirror-add", "mir", "gre", "1", "to-lport", "10.0.0.99", "--", "static-mac-binding-add", "r-a", "10.0.0.77", "00:00:00:00:00:77", "--", "create", "Chassis_Template_Var", "chassis=node1", "variables={x=1}")
	nbctl("ha-chassis-group-add", "ha", "--", "ha-chassis-group-add-chassis", "ha", "node1", "10", "--", "lsp-add", "a", "ext", "--", "lsp-set-type", "ext", "external", "--", "set", "Logical_Switch_Port", "ext", "ha_chassis_group=[]")
	nbctl("--wait=sb", "sync")
	stop() // it would delete the rows that only chassis write
	sbctl("lsp-bind", "a-1", "node1", "--", "set", "Port_Binding", "a-1", "up=true", "tag=5", "nat_addresses=x,y")
	sbctl("lsp-unbind", "a-1", "--", "lsp-bind", "a-1", "node2")
	sbctl("set", "Port_Binding", "a-1", "up=false", "--", "remove", "Port_Binding", "a-1", "nat_addresses", "x", "--", "clear", "Port_Binding", "a-1", "tag")
	sbctl("set-connection", "role=ovn-controller", "ptcp:0:127.0.0.1", "--", "set-ssl", "key", "cert", "ca")
	c, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: south.DB, Remotes: south.Remote(), Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	datapaths, err := ovsdb.Find[sb.DatapathBinding](t.Context(), c)
	if err != nil || len(datapaths) != 2 {
		t.Fatalf("datapaths %v, %v", datapaths, err)
	}
	dp := datapaths[0].UUID
	if _, err := c.Transact(t.Context(),
		ovsdb.Insert("MAC_Binding", "", map[string]any{"logical_port": "r-a", "ip": "10.0.0.9", "mac": "00:00:00:00:00:09", "datapath": dp, "timestamp": 1700000000000}),
		ovsdb.Insert("FDB", "", map[string]any{"mac": "00:00:00:00:00:08", "dp_key": 1, "port_key": 2}),
		ovsdb.Insert("IGMP_Group", "", map[string]any{"address": "239.0.0.1", "datapath": dp}),
		ovsdb.Insert("BFD", "", map[string]any{"src_port": 49152, "disc": 1, "logical_port": "r-a", "dst_ip": "10.0.0.9", "min_tx": 1, "min_rx": 1, "detect_mult": 5, "status": "down"}),
		ovsdb.Insert("Service_Monitor", "", map[string]any{"ip": "10.0.0.1", "port": 80, "logical_port": "a-1", "protocol": "tcp"}),
		ovsdb.Insert("Controller_Event", "", map[string]any{"event_type": "empty_lb_backends", "seq_num": 1}),
	); err != nil {
		t.Fatal(err)
	}
	counts := ovsdbtest.SameEverywhere(t, south, rows...)
	if counts["Logical_Flow"] < 100 {
		t.Errorf("%d flows", counts["Logical_Flow"])
	}
	for _, row := range rows {
		// northd writes HA_Chassis_Group instead of Gateway_Chassis.
		if !c.Has(row.Table(), "") || row.Table() == "Gateway_Chassis" {
			continue
		}
		if counts[row.Table()] == 0 {
			t.Errorf("no rows of %s were compared", row.Table())
		}
	}
}
