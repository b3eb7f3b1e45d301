//go:build lab

package vswitch_test

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

var rows = []ovsdb.Row{
	vswitch.Bridge{}, vswitch.Controller{}, vswitch.Mirror{}, vswitch.FlowTable{}, vswitch.Port{},
	vswitch.Interface{}, vswitch.QoS{}, vswitch.Queue{}, vswitch.FlowSampleCollectorSet{}, vswitch.OpenvSwitch{}, vswitch.Manager{},
	vswitch.SSL{}, vswitch.Datapath{}, vswitch.CTZone{},
}

var projections = []ovsdb.Row{
	vswitch.BridgeBrief{}, vswitch.BridgeName{}, vswitch.PortBrief{}, vswitch.InterfaceBrief{}, vswitch.OpenvSwitchIDs{}, vswitch.SSLFiles{}, vswitch.Versions{},
}

// otherRelease lists the columns that the installed release lacks.
var otherRelease = []string{
	"CT_Zone.limit",
	"Datapath.ct_zone_default_limit",
	"Mirror.filter",
}

func TestRows(t *testing.T) {
	ovsdbtest.CheckRows(t, ovsdbtest.OpenvSwitch, otherRelease, rows, projections)
}

// TestSources fills a database with ovs-vsctl and reads it in every way.
func TestSources(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.OpenvSwitch)
	vsctl := func(args ...string) {
		t.Helper()
		ovsdbtest.Run(t, "ovs-vsctl", append([]string{"--db=" + s.Remote(), "--no-wait"}, args...)...)
	}
	vsctl("init", "--", "set", "Open_vSwitch", ".", "external_ids:system-id=node1", "external_ids:ovn-remote=ssl:[fd00::1]:6642", "ovs_version=3.1.0")
	vsctl("add-br", "br-int", "--", "set-fail-mode", "br-int", "secure", "--", "set-controller", "br-int", "tcp:127.0.0.1:6653")
	vsctl("add-port", "br-int", "tun0", "--", "set", "Interface", "tun0", "type=geneve", "options:remote_ip=flow", "options:key=flow", "ofport=-1", "error=no")
	vsctl("add-port", "br-int", "p1", "tag=7", "--", "set", "Interface", "p1", "external_ids:iface-id=a-1", "ofport=5", "mac_in_use=\"00:00:00:00:00:01\"", "statistics={rx_bytes=1000000000000000000}", "link_state=up")
	vsctl("add-bond", "br-int", "bond0", "e0", "e1", "--", "set", "Port", "bond0", "trunks=1,2,10", "vlan_mode=trunk", "lacp=active")
	vsctl("--id=@q", "create", "Queue", "dscp=4", "--", "--id=@qos", "create", "QoS", "type=linux-htb", "queues={0=@q}", "--", "set", "Port", "p1", "qos=@qos")
	vsctl("--id=@m", "create", "Mirror", "name=m", "select_all=true", "--", "set", "Bridge", "br-int", "mirrors=@m")
	vsctl("--id=@t", "create", "Flow_Table", "name=t", "flow_limit=10", "--", "set", "Bridge", "br-int", "flow_tables={3=@t}")
	vsctl("--id=@z", "create", "CT_Zone", "external_ids:a=b", "--", "--id=@d", "create", "Datapath", "datapath_version=1", "ct_zones={5=@z}", "--", "set", "Open_vSwitch", ".", "datapaths={system=@d}")
	vsctl("--id=@b", "get", "Bridge", "br-int", "--", "--id=@i", "create", "IPFIX", `targets="127.0.0.1:4739"`, "--", "create", "Flow_Sample_Collector_Set", "bridge=@b", "id=1", "ipfix=@i")
	vsctl("set-manager", "ptcp:0:127.0.0.1", "--", "set-ssl", "key", "cert", "ca")
	vsctl("set", "Port", "bond0", "trunks=2,10,100", "--", "clear", "Port", "p1", "tag", "--", "set", "Interface", "tun0", "ofport=3", "--", "clear", "Interface", "tun0", "error")
	vsctl("del-port", "br-int", "p1", "--", "add-port", "br-int", "p1", "--", "set", "Interface", "p1", "ofport=6", "--", "remove", "Bridge", "br-int", "flow_tables", "3")
	vsctl("--id=@t", "create", "Flow_Table", "name=u", "--", "set", "Bridge", "br-int", "flow_tables={4=@t}", "--", "--id=@q", "create", "Queue", "dscp=5", "--", "--id=@qos", "create", "QoS", "type=linux-htb", "queues={1=@q}", "--", "set", "Port", "p1", "qos=@qos")
	counts := ovsdbtest.SameEverywhere(t, s, rows...)
	for _, row := range rows {
		if counts[row.Table()] == 0 {
			t.Errorf("no rows of %s were compared", row.Table())
		}
	}
}
