//go:build lab

package checks

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks/loadbalancer"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks/northbound"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// twoSwitches is a router with two switches and a port on each.
const twoSwitches = `
	lr-add r
	ls-add a
	ls-add b
	lrp-add r r-a 00:00:00:00:0a:01 10.0.1.1/24 fd00:1::1/64
	lrp-add r r-b 00:00:00:00:0b:01 10.0.2.1/24
	lsp-add a a-r -- lsp-set-type a-r router -- lsp-set-addresses a-r router -- lsp-set-options a-r router-port=r-a
	lsp-add b b-r -- lsp-set-type b-r router -- lsp-set-addresses b-r 00:00:00:00:0B:01 -- lsp-set-options b-r router-port=r-b
	lsp-add a a1 -- lsp-set-addresses a1 '00:00:00:00:0a:11 10.0.1.11 fd00:1::11'
	lsp-add b b1 -- lsp-set-addresses b1 '00:00:00:00:0b:11 10.0.2.11'
`

// TestLogical holds checks of the Northbound against rows as ovn-nbctl writes them. What wants nothing is
// healthy: management systems write it.
func TestLogical(t *testing.T) {
	tests := []struct {
		check, name, rows string
		want              []string // a part of each title
	}{
		{"port-administratively-disabled", "of Octavia", `ls-add s
			lsp-add s vip -- lsp-set-addresses vip '00:00:00:00:00:01 10.0.0.1' -- lsp-set-enabled vip disabled -- set Logical_Switch_Port vip external_ids:'"neutron:device_owner"'=Octavia`, nil},
		{"port-administratively-disabled", "source of a live migration", `ls-add s
			lsp-add s old -- lsp-set-addresses old '00:00:00:00:00:01 10.0.0.1' -- lsp-set-enabled old disabled
			lsp-add s new
			set Logical_Switch_Port new addresses='"00:00:00:00:00:01 10.0.0.1"'`, nil},
		{"port-administratively-disabled", "all three", twoSwitches + `
			lsp-set-enabled a1 disabled
			lrp-set-enabled r-b disabled
			set Logical_Router r enabled=false`, []string{"port a1 is disabled", "port r-b of router r is disabled", "router r is disabled"}},

		{"nb-duplicate-or-conflicting-config", "nothing twice", twoSwitches, nil},
		{"nb-duplicate-or-conflicting-config", "one gateway of two routers", twoSwitches + `
			lr-add r2
			lrp-add r2 r2-a 00:00:00:00:0a:01 10.0.1.1/24
			lsp-add a a-r2 -- lsp-set-type a-r2 router -- lsp-set-addresses a-r2 router -- lsp-set-options a-r2 router-port=r2-a`, nil},
		{"nb-duplicate-or-conflicting-config", "virtual, nested, guest", twoSwitches + `
			lsp-add a vip -- lsp-set-type vip virtual
			set Logical_Switch_Port vip addresses='"00:00:00:00:0a:11 10.0.1.11"'
			lsp-add a child a1 7
			set Logical_Switch_Port child addresses='"00:00:00:00:0a:11 10.0.1.12"'
			lsp-add a ns_virt-launcher-vm1-abcde
			lsp-add a ns_virt-launcher-vm1-fghij
			set Logical_Switch_Port ns_virt-launcher-vm1-abcde addresses='"00:00:00:00:0a:13 10.0.1.13"'
			set Logical_Switch_Port ns_virt-launcher-vm1-fghij addresses='"00:00:00:00:0a:13 10.0.1.13"'`, nil},
		{"nb-duplicate-or-conflicting-config", "floating IP and port", twoSwitches + `
			lrp-set-gateway-chassis r-b node1 1
			lr-nat-add r dnat_and_snat 10.0.2.11 10.0.1.11`, []string{"10.0.2.11"}},
		{"nb-duplicate-or-conflicting-config", "one external address for two", twoSwitches + `
			set Logical_Router r options:chassis=node1
			--id=@n create NAT type=dnat_and_snat external_ip=1.1.1.1 logical_ip=10.0.1.11
			--id=@n create NAT type=dnat_and_snat external_ip=1.1.1.1 logical_ip=10.0.1.12`, nil}, // on no router: the server deletes them
		{"nb-duplicate-or-conflicting-config", "dynamic", `ls-add s -- set Logical_Switch s other_config:subnet=10.0.0.0/24
			lsp-add s p -- lsp-set-addresses p '00:00:00:00:00:01 10.0.0.5'
			lsp-add s q -- lsp-set-addresses q dynamic
			set Logical_Switch_Port q dynamic_addresses='"00:00:00:00:00:02 10.0.0.5"'`, []string{"10.0.0.5"}},
		{"nb-duplicate-or-conflicting-config", "same VIP, same backends", twoSwitches + `
			lb-add one 10.96.0.1:80 10.0.1.11:80,10.0.2.11:80
			lb-add two 10.96.0.1:80 10.0.2.11:80,10.0.1.11:80
			lb-add three 10.96.0.1:80 10.0.2.12:80 udp
			ls-lb-add a one -- ls-lb-add a two -- ls-lb-add a three`, nil},

		{"dangling-router-link", "fine", twoSwitches, nil},
		{"dangling-router-link", "two candidates", twoSwitches + `
			lsp-del a-r -- lsp-del b-r
			ls-add c
			lsp-add c c-r -- lsp-set-type c-r router -- lsp-set-addresses c-r router`, []string{"c-r", "r-a of router r is not connected, and switch a", "r-b of router r is not connected, and switch b"}},
		{"dangling-router-link", "remote port of another zone", twoSwitches + `
			lsp-add a far -- lsp-set-type far remote -- lsp-set-addresses far '00:00:00:00:0a:21 10.0.1.21' -- lsp-set-options far router-port=elsewhere`, nil},
		{"dangling-router-link", "spare router port", twoSwitches + `
			lrp-add r spare 00:00:00:00:0c:01 10.0.3.1/24`, []string{"spare of router r is not connected"}},

		{"static-route-or-nat-unrealised", "fine", twoSwitches + `
			lr-route-add r 10.9.0.0/16 10.0.1.11
			lr-route-add r 10.8.0.0/16 discard
			lr-route-add r fd00:9::/64 fe80::1 r-a
			lr-route-add r 10.7.0.0/16 192.0.2.1 r-b
			lr-policy-add r 10 'ip4.src == 10.0.1.11' reroute 10.0.2.11
			lrp-set-gateway-chassis r-b node1 1
			lr-nat-add r snat 10.0.2.1 10.0.1.0/24
			lr-nat-add r dnat_and_snat 10.0.2.77 10.0.1.11 a1 00:00:00:00:0a:77`, nil},
		{"static-route-or-nat-unrealised", "floating IP of a port that is gone", twoSwitches + `
			lrp-set-gateway-chassis r-b node1 1
			lr-nat-add r dnat_and_snat 10.0.2.77 10.0.1.11 a1 00:00:00:00:0a:77
			lsp-del a1
			lsp-add a a2 -- lsp-set-addresses a2 '00:00:00:00:0a:11 10.0.1.11'`, []string{"10.0.1.11 to 10.0.2.77"}},
		{"static-route-or-nat-unrealised", "table of nobody", twoSwitches + `
			--route-table=blue lr-route-add r 10.9.0.0/16 10.0.1.11`, []string{"10.9.0.0/16"}},

		{"lb-on-wrong-switch", "on some switches on purpose", twoSwitches + `
			lb-add one 10.96.0.1:80 203.0.113.5:80
			ls-lb-add a one`, nil},
		{"lb-on-wrong-switch", "on no switch, without backends", twoSwitches + `
			lb-add one 10.96.0.1:80 ""
			create Load_Balancer name=two`, nil},
		{"lb-on-wrong-switch", "on no switch", twoSwitches + `
			lb-add one 10.96.0.1:80 10.0.1.11:80`, []string{"load balancer one is on no switch"}},
		{"lb-on-wrong-switch", "families mixed", twoSwitches + `
			create Load_Balancer name=one vips:10.96.0.1=fd00\:1\:\:11
			ls-lb-add a one`, []string{"cannot use the virtual IP 10.96.0.1"}},
		{"lb-on-wrong-switch", "all others have it", twoSwitches + `
			ls-add c
			lrp-add r r-c 00:00:00:00:0c:01 10.0.3.1/24
			lsp-add c c-r -- lsp-set-type c-r router -- lsp-set-addresses c-r router -- lsp-set-options c-r router-port=r-c
			lsp-add c c1
			lb-add one 10.96.0.1:80 203.0.113.5:80
			ls-lb-add a one
			ls-lb-add b one`, []string{"switch c does not have the load balancer one"}},

		{"acl-drops", "policy without pods", twoSwitches + `
			pg-add empty
			--type=port-group acl-add empty to-lport 1000 'outport == @empty && ip4.src == $empty_ip4' drop
			create Address_Set name=set
			acl-add a to-lport 1000 'ip4.src == {$set, 10.0.0.0/8} /* $none */ && inport == "$no@name"' allow`, nil},
		{"acl-drops", "missing", twoSwitches + `
			acl-add a to-lport 1000 'ip4.src == $gone && outport == @away' allow
			lr-policy-add r 10 'ip4.src == $gone' drop`, []string{"2 rules name the address set gone", "port group away"}},

		{"dhcp-options-incomplete", "isolated network", `ls-add s
			--id=@d create DHCP_Options cidr=10.0.0.0/24 options:server_id=10.0.0.1 options:server_mac=00\:00\:00\:00\:00\:fe options:lease_time=60 -- lsp-add s p -- lsp-set-addresses p '00:00:00:00:00:01 10.0.0.5' -- set Logical_Switch_Port p dhcpv4_options=@d`, nil},
		{"dhcp-options-incomplete", "no fixed address", `ls-add s
			--id=@d create DHCP_Options cidr=10.0.0.0/24 options:server_id=10.0.0.1 options:server_mac=00\:00\:00\:00\:00\:fe options:lease_time=60 -- lsp-add s p -- lsp-set-addresses p unknown -- set Logical_Switch_Port p dhcpv4_options=@d`, []string{"port p has no address in 10.0.0.0/24"}},
		{"dhcp-options-incomplete", "unused", `create DHCP_Options cidr=10.0.0.0/24`, nil},
	}
	for _, test := range tests {
		t.Run(test.check+"/"+test.name, func(t *testing.T) {
			t.Parallel()
			nb, sb := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
			ovsdbtest.Run(t, "ovn-nbctl", "--db="+nb.Remote(), "--no-wait", "init")
			for line := range strings.Lines(test.rows) {
				if line = strings.TrimSpace(line); line != "" {
					ovsdbtest.Run(t, "sh", "-ec", "ovn-nbctl --db="+nb.Remote()+" --no-wait "+line+" >/dev/null")
				}
			}
			r := doctor.Examine(lookAt(t, nb.Remote(), sb.Remote()), []*doctor.Check{Find(test.check)}, nil)
			var got []string
			for _, f := range r.Findings {
				if f.Result.Fault() {
					got = append(got, f.Title)
				} else {
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
		})
	}
}

// lookAt looks at two databases alone.
func lookAt(tb testing.TB, nb, sb string) *snapshot.Deployment {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	tb.Cleanup(cancel)
	c, err := cluster.Open(ctx, cluster.Config{NB: nb, SB: sb, Timeout: time.Minute})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return snapshot.Look(ctx, c, snapshot.Options{})
}

// logicalChecks read the Northbound alone.
var logicalChecks = []*doctor.Check{northbound.PortAdministrativelyDisabled, northbound.NBDuplicateOrConflictingConfig, northbound.DanglingRouterLink, northbound.StaticRouteOrNATUnrealised,
	loadbalancer.LBOnWrongSwitch, loadbalancer.LBHealthCheckDead, northbound.ACLDrops, northbound.DHCPOptionsIncomplete}

// BenchmarkLogical runs the checks of the Northbound on one of 10,000 ports and 8,500 load balancers.
func BenchmarkLogical(b *testing.B) {
	nb, sb := ovsdbtest.Start(b, ovsdbtest.Northbound), ovsdbtest.Start(b, ovsdbtest.Southbound)
	db, err := ovsdb.Dial(b.Context(), ovsdb.Config{DB: "OVN_Northbound", Remotes: nb.Remote(), Timeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := db.Transact(b.Context(), scale.Size{Nodes: 250, Pods: 40, Services: 6000, NodePorts: 10, Policies: 1000}.Northbound()...); err != nil {
		b.Fatal(err)
	}
	_ = db.Close()
	d := lookAt(b, nb.Remote(), sb.Remote())
	doctor.Examine(d, logicalChecks, nil) // reads the rows
	for _, c := range logicalChecks {
		b.Run(c.Name, func(b *testing.B) {
			for b.Loop() {
				if r := doctor.Examine(d, []*doctor.Check{c}, nil); r.Worst().Fault() {
					b.Fatalf("found on a healthy deployment: %s", r.Findings[0].Title)
				}
			}
		})
	}
}
