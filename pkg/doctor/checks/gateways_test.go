//go:build lab

package checks

import (
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// chassis12 are two chassis, n1 and n2.
const chassis12 = `
	chassis-add id1 geneve 192.0.2.1 -- set Chassis id1 hostname=n1
	chassis-add id2 geneve 192.0.2.2 -- set Chassis id2 hostname=n2`

// bound is a datapath with a port on a chassis.
func bound(port, chassis, up string) string {
	return `
	--id=@d create Datapath_Binding tunnel_key=7 -- --id=@p create Port_Binding logical_port=` + port + ` datapath=@d tunnel_key=1
	lsp-bind ` + port + ` ` + chassis + `
	set Port_Binding ` + port + ` up=` + up
}

// TestGateways holds checks of gateways and tunnels against rows alone. What wants nothing is healthy.
func TestGateways(t *testing.T) {
	tests := []struct {
		check, name string
		nb, sb      string
		want        []string // a part of each title
		fix         string   // of the first; "-": none
	}{
		{"gateway-router-without-chassis", "two hosts of one name", "lr-add gw -- set Logical_Router gw options:chassis=n1", chassis12 + `
			chassis-add id3 geneve 192.0.2.3 -- set Chassis id3 hostname=n1`, []string{"router gw is on chassis n1"}, "-"},
		{"gateway-router-without-chassis", "fully qualified", "lr-add gw -- set Logical_Router gw options:chassis=n1.example.com", chassis12, []string{"router gw is on chassis n1.example.com"}, "router-chassis"},
		{"gateway-router-without-chassis", "nobody", "lr-add gw -- set Logical_Router gw options:chassis=elsewhere", chassis12, []string{"router gw is on chassis elsewhere"}, "-"},
		{"gateway-router-without-chassis", "another zone's", "lr-add gw -- set Logical_Router gw options:chassis=far", chassis12 + `
			chassis-add far geneve 192.0.2.9 -- set Chassis far other_config:is-remote=true`, nil, ""},
		{"gateway-router-without-chassis", "distributed router", "lr-add r\nlrp-add r p 00:00:00:00:00:01 10.0.0.1/24", chassis12, nil, ""},
		{"dgp-chassis-not-bound", "nobody", "lr-add r\nlrp-add r p 00:00:00:00:00:01 10.0.0.1/24\nlrp-set-gateway-chassis p gone 1", chassis12, []string{"port p has gateway chassis gone"}, "-"},
		{"dgp-chassis-not-bound", "router that is off", "lr-add r\nlrp-add r p 00:00:00:00:00:01 10.0.0.1/24\nlrp-set-gateway-chassis p gone 1\nset Logical_Router r enabled=false", chassis12, nil, ""},
		{"dgp-chassis-not-bound", "another zone's", "lr-add r\nlrp-add r p 00:00:00:00:00:01 10.0.0.1/24\nlrp-set-gateway-chassis p far 1", chassis12 + `
			chassis-add far geneve 192.0.2.9 -- set Chassis far other_config:is-remote=true`, nil, ""},
		{"tunnel-missing-to-chassis", "VTEP", "", chassis12 + `
			chassis-add tor vxlan 192.0.2.8 -- set Chassis tor other_config:is-vtep=true`, nil, ""},
		{"tunnel-missing-to-chassis", "one type in common", "", chassis12 + `
			chassis-add id3 geneve,vxlan 192.0.2.3 -- set Chassis id3 hostname=n3`, nil, ""},
		{"tunnel-missing-to-chassis", "no type in common", "", chassis12 + `
			chassis-add id3 vxlan 192.0.2.3 -- set Chassis id3 hostname=n3`, []string{"n3 and n1, n2 have no common tunnel type"}, "-"},
		{"tunnel-missing-to-chassis", "zones that are meant", "", chassis12 + `
			set Chassis id1 transport_zones=a
			set Chassis id2 transport_zones=b`, nil, ""},
		{"vxlan-encap-limits", "all VXLAN", "ls-add s", `
			chassis-add id1 vxlan 192.0.2.1
			chassis-add id2 vxlan 192.0.2.2`, nil, ""},
		{"vxlan-encap-limits", "VTEP", "ls-add s", chassis12 + `
			chassis-add tor vxlan 192.0.2.8 -- set Chassis tor other_config:is-vtep=true`, nil, ""},
		{"vxlan-encap-limits", "one of three, needless", "ls-add s", chassis12 + `
			chassis-add id3 geneve,vxlan 192.0.2.3 -- set Chassis id3 hostname=n3`, []string{"n3 offers VXLAN, which is unused"}, "-"},
		{"neutron-port-down-ovn-up", "up on both sides", `ls-add neutron-1
			lsp-add neutron-1 p1 -- set Logical_Switch_Port p1 up=true external_ids:'"neutron:device_owner"'='"compute:nova"'`, chassis12 + bound("p1", "id1", "true"), nil, ""},
		{"neutron-port-down-ovn-up", "down for Neutron", `ls-add neutron-1
			lsp-add neutron-1 p1 -- set Logical_Switch_Port p1 up=false external_ids:'"neutron:device_owner"'='"compute:nova"'`, chassis12 + bound("p1", "id1", "true"), []string{"port p1 is up on its chassis, but down for Neutron"}, "-"},
		{"neutron-port-down-ovn-up", "down on both sides", `ls-add neutron-1
			lsp-add neutron-1 p1 -- set Logical_Switch_Port p1 up=false external_ids:'"neutron:device_owner"'='"compute:nova"'`, chassis12 + bound("p1", "id1", "false"), nil, ""},
		{"neutron-port-down-ovn-up", "agent that does not follow", "ls-add neutron-1", chassis12 + `
			set SB_Global . nb_cfg=100
			create Chassis_Private name=id1 external_ids:'"neutron:ovn-metadata-id"'=a external_ids:'"neutron:ovn-metadata-sb-cfg"'='"80"'`, []string{"the metadata agent on n1 does not keep up"}, "-"},
	}
	for _, test := range tests {
		t.Run(test.check+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			d := rowsOf(t, test.nb, test.sb)
			var got []string
			var first *fixes.Call
			for _, f := range doctor.Examine(d, []*doctor.Check{Find(test.check)}, nil).Findings {
				switch {
				case f.Result == doctor.Skipped:
				case f.Result.Fault():
					if len(got) == 0 {
						first = f.Fix
					}
					got = append(got, f.Title)
				default:
					t.Errorf("%s: %s", f.Result, f.Title)
				}
			}
			ok := len(got) == len(test.want)
			for _, want := range test.want {
				ok = ok && slices.ContainsFunc(got, func(title string) bool { return strings.Contains(title, want) })
			}
			if !ok {
				t.Errorf("found %q, want %q", got, test.want)
			}
			switch {
			case test.fix == "" || !ok:
			case test.fix == "-" && first != nil:
				t.Errorf("proposes %s", first.Repair)
			case test.fix != "-" && (first == nil || first.Repair != test.fix):
				t.Errorf("does not propose %s", test.fix)
			}
		})
	}
}

// rowsOf looks at databases with these rows, one ovn-nbctl or ovn-sbctl command a line.
func rowsOf(t *testing.T, north, south string) *snapshot.Deployment {
	t.Helper()
	nb, sb := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	for _, db := range []struct{ tool, remote, lines string }{{"ovn-nbctl", nb.Remote(), "init\n" + north}, {"ovn-sbctl", sb.Remote(), "init\n" + south}} {
		for line := range strings.Lines(db.lines) {
			if line = strings.TrimSpace(line); line != "" {
				ovsdbtest.Run(t, "sh", "-c", db.tool+" --no-leader-only --timeout=20 --db="+db.remote+" "+line)
			}
		}
	}
	return lookAt(t, nb.Remote(), sb.Remote())
}

// TestGatewayRefusals holds that repairs of gateways do not make things worse.
func TestGatewayRefusals(t *testing.T) {
	const gateway = "lr-add r -- set Logical_Router r options:chassis=id1\nlr-add neutron-r\nlrp-add neutron-r lrp-1 00:00:00:00:00:01 10.0.0.1/24\nlrp-set-gateway-chassis lrp-1 gone 1\n" +
		"lr-add x -- set Logical_Router x options:chassis=same"
	d := rowsOf(t, gateway, chassis12+"\n\tchassis-add id3 vxlan 192.0.2.3 -- set Chassis id3 hostname=same\n\tchassis-add id4 geneve,vxlan 192.0.2.4 -- set Chassis id4 hostname=same")
	tests := []struct {
		repair *fixes.Repair
		args   fixes.Args
		want   string
	}{
		{catalog.RouterChassis, fixes.Args{"ROUTER": "r"}, "which exists"},
		{catalog.RouterChassis, fixes.Args{"ROUTER": "x"}, "nothing shows which chassis is meant"},
		{catalog.RouterChassis, fixes.Args{"ROUTER": "y"}, `no router "y"; there are`},
		{catalog.RouterChassis, fixes.Args{"ROUTER": "r", "CHASSIS": "n9"}, `no chassis "n9"; there are`},
		{catalog.GatewayChassisOf, fixes.Args{"PORT": "lrp-1"}, "scheduled by Neutron"},
		{catalog.GatewayChassisOf, fixes.Args{"PORT": "p"}, `no distributed gateway port "p"; there are lrp-1`},
		{catalog.VXLANModeOff, fixes.Args{}, "has only VXLAN"},
		{catalog.DeleteEgressRow, fixes.Args{"UUID": "12345678"}, `no row "12345678" of an egress IP`},
		{catalog.KubeOVNNodePolicy, fixes.Args{"NODE": "n1"}, "no router of kube-ovn"},
	}
	for _, test := range tests {
		plan, err := test.repair.Plan(d, test.args)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %v: plan %v, error %v, want %q", test.repair.Name, test.args, plan, err, test.want)
		}
	}
}
