package facts

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Servers of OVN's databases say nothing about how Open vSwitch is started, nor where: on a node of ovn-kubernetes they run in
// containers beside the host's Open vSwitch.
func TestSwitchProcesses(t *testing.T) {
	byPackage := node.Process{Name: "ovsdb-server", Args: []string{"ovsdb-server", "/etc/openvswitch/conf.db", "-vconsole:emer", "--remote=punix:/var/run/openvswitch/db.sock"}}
	byScript := node.Process{Name: "ovs-vswitchd", Args: []string{"ovs-vswitchd", "unix:/run/openvswitch/db.sock", "-vconsole:off"}}
	contained := byScript
	contained.Container = true
	northbound := node.Process{Name: "ovsdb-server", Args: []string{"ovsdb-server", "-vconsole:off", "--unixctl=/var/run/ovn/ovnnb_db.ctl", "/var/lib/ovn/ovnnb_db.db"}}
	containedNorthbound := northbound
	containedNorthbound.Container = true
	interconnect := node.Process{Name: "ovsdb-server", Container: true, Args: []string{"ovsdb-server", "-vconsole:off", "/var/lib/ovn/ovn_ic_nb_db.db"}}
	for _, test := range []struct {
		name                 string
		processes            []node.Process
		otherwise, contained bool
	}{
		{name: "nothing runs"},
		{name: "of the package", processes: []node.Process{byPackage, northbound}},
		{name: "of a script", processes: []node.Process{byScript, northbound}, otherwise: true},
		{name: "in a container", processes: []node.Process{contained}, otherwise: true, contained: true},
		{name: "down, on a host with databases", processes: []node.Process{northbound}},
		{name: "of the package, beside databases in containers", processes: []node.Process{byPackage, containedNorthbound, interconnect}},
	} {
		if got := startedOtherwise(test.processes); got != test.otherwise {
			t.Errorf("%s: started otherwise: %v", test.name, got)
		}
		if got, _ := inContainer(test.processes); got != test.contained {
			t.Errorf("%s: contained: %v", test.name, got)
		}
	}
}
