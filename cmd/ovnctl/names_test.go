package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// typedNames are names as the users of a CMS type them, and what ovnctl calls the object. A + stands before a name that
// completion offers, a = before one that it does not: a part of a UUID, ADDRESS:PORT, a pod without its namespace.
var typedNames = map[string]struct{ sender, names string }{
	"neutron-21.0.0-ovn-23.03": {"vm:web-2", `
+ 198.51.100.107 nat:198.51.100.107
+ ede8356d-263d-4ec7-ba9e-735db78058c3 nat:198.51.100.107
= ede8356d nat:198.51.100.107
= fip/ede8356d-263d-4ec7-ba9e-735db78058c3 nat:198.51.100.107
+ floatingip/198.51.100.107 nat:198.51.100.107
+ 198.51.100.160 svc:198.51.100.160
+ 232b7c0a-b122-4013-82fc-a20e1096e66f svc:198.51.100.160
+ fip/198.51.100.160 svc:198.51.100.160
= 198.51.100.160:8080 svc:198.51.100.160
+ web-net switch:neutron-3c7ad278-3a40-43a9-9df4-f1e8a2017508
+ network/web-net switch:neutron-3c7ad278-3a40-43a9-9df4-f1e8a2017508
+ 3c7ad278-3a40-43a9-9df4-f1e8a2017508 switch:neutron-3c7ad278-3a40-43a9-9df4-f1e8a2017508
= neutron-3c7ad278-3a40-43a9-9df4-f1e8a2017508 switch:neutron-3c7ad278-3a40-43a9-9df4-f1e8a2017508
= 3c7ad278 switch:neutron-3c7ad278-3a40-43a9-9df4-f1e8a2017508
+ edge router:neutron-4f452f38-615b-43a6-b1a2-63d57b7848e7
+ router/edge router:neutron-4f452f38-615b-43a6-b1a2-63d57b7848e7
+ 4f452f38-615b-43a6-b1a2-63d57b7848e7 router:neutron-4f452f38-615b-43a6-b1a2-63d57b7848e7
= router/4f452f38 router:neutron-4f452f38-615b-43a6-b1a2-63d57b7848e7
+ 77afd218-7ce8-4caf-9dfc-5e3a4d6a033a sg:77afd218-7ce8-4caf-9dfc-5e3a4d6a033a
+ sg/77afd218-7ce8-4caf-9dfc-5e3a4d6a033a sg:77afd218-7ce8-4caf-9dfc-5e3a4d6a033a
= sg/77afd218 sg:77afd218-7ce8-4caf-9dfc-5e3a4d6a033a
= securitygroup/77afd218 sg:77afd218-7ce8-4caf-9dfc-5e3a4d6a033a
= 77afd218 sg:77afd218-7ce8-4caf-9dfc-5e3a4d6a033a
= pg_77afd218_7ce8_4caf_9dfc_5e3a4d6a033a sg:77afd218-7ce8-4caf-9dfc-5e3a4d6a033a
= neutron_pg_drop pg:neutron_pg_drop
+ web-1 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
+ vm/web-1 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
+ server/web-1 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
+ port/web-1 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
+ 54be6977-33bd-4996-ae26-f24e3aa207ec vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= 54be6977 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= tap54be6977-33 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= qvo54be6977-33 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= compute-1/tap54be6977-33 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
+ fa:16:3e:ef:bd:37 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= FA:16:3E:EF:BD:37 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
+ 9b08ce1d-f79c-5684-b0e3-ace33c4f9355 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= 9b08ce1d vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= 10.1.0.176 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= fd00:1::eb vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= 10.1.0.176:80 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= web-1:80 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
= [fd00:1::eb]:80 vm:54be6977-33bd-4996-ae26-f24e3aa207ec
+ ha-vip lsp:fb723d41-4ac3-41c9-be05-7faafc2b135b
= d066f2b9 vm:d066f2b9-bc7d-486e-9e25-a8b51b41dae8
+ trunk-sub lsp:b39baa7c-d413-4071-9f28-706fb8bedd4d
= 10.1.0.200 lsp:fb723d41-4ac3-41c9-be05-7faafc2b135b
+ compute-1 node:compute-1
+ node/compute-1 node:compute-1
= 172.31.0.11 node:compute-1
+ provnet-9e095d78-9f7c-445d-9f85-272159e8b0f1 lsp:provnet-9e095d78-9f7c-445d-9f85-272159e8b0f1
= 198.51.100.152 lrp:lrp-1c868feb-ad40-41f9-b060-37ad91a7b8fb
`},
	"ovnk-1.3-ic": {"shop/web-1", `
= pod/client pod:shop/client
+ pod/shop/client pod:shop/client
+ pods/shop/client pod:shop/client
= po/client pod:shop/client
+ shop/client pod:shop/client
= client pod:shop/client
= pod/web-2:8080 pod:shop/web-2
= 10.244.1.3:8080 pod:shop/web-2
= svc/web svc:shop/web
+ svc/shop/web svc:shop/web
= service/web svc:shop/web
+ services/shop/web svc:shop/web
= svc/web:80 svc:shop/web:80
= 10.96.206.37 svc:shop/web
= 10.96.206.37:80 svc:shop/web
= 172.19.0.200 svc:shop/sticky
= 172.19.0.200:80 svc:shop/sticky
+ blue/b svc:blue/b
+ node/ovn-worker node:ovn-worker
+ no/ovn-worker node:ovn-worker
= ovn-worker:30080 node:ovn-worker switch:ovn-worker
= 172.19.0.12 node:ovn-worker
= 172.19.0.12:30080 node:ovn-worker
= 172.19.0.12:30081 svc:shop/web-local
+ ns/shop ns:shop
+ namespace/bank ns:bank
+ netpol/bank/allow-shop networkpolicy:bank/allow-shop
= networkpolicy/allow-shop networkpolicy:bank/allow-shop
+ NetworkPolicy/bank/default-deny networkpolicy:bank/default-deny
= networkpolicies.networking.k8s.io/out-only-shop networkpolicy:quiet/out-only-shop
= bank/allow-shop networkpolicy:bank/allow-shop
+ anp/no-ops anp:no-ops
+ adminnetworkpolicy/no-ops anp:no-ops
+ adminnetworkpolicy.policy.networking.k8s.io/no-ops anp:no-ops
+ banp/default banp:default
+ egressip/exit-ip egressip:exit-ip
+ eip/exit-ip egressip:exit-ip
= exit-ip egressip:exit-ip
+ egressip:exit-ip egressip:exit-ip
+ 172.19.0.100 nat:172.19.0.100
+ egressfirewall/fence/default egressfirewall:fence/default
= egressfirewall/default egressfirewall:fence/default
= udn/blue-net network:blue/blue-net
+ udn/blue/blue-net network:blue/blue-net
+ userdefinednetwork/blue/blue-net network:blue/blue-net
+ network/blue/blue-net network:blue/blue-net
= blue/blue-net network:blue/blue-net
+ cudn/green-net network:green-net
+ clusteruserdefinednetwork/green-net network:green-net
= green-net network:green-net
= ops/side network:ops/side
+ GR_ovn-worker@green-net router:GR_cluster_udn_green.net_ovn-worker
+ ovn-worker@blue/blue-net switch:blue_blue.net_ovn-worker
= b-1@blue/blue-net pod:blue/b-1
= blue/b-1@default pod:blue/b-1@default
= pod/jump@ops/side pod:ops/jump@ops/side
`},
	"kubeovn-1.15.24-ovn-25.03": {"tenant/app-2", `
+ vpc/tenant-a router:tenant-a
+ vpc/ovn-cluster router:ovn-cluster
+ tenant-a router:tenant-a
+ subnet/hub-net switch:hub-net
+ hub-net switch:hub-net
+ sg/sg-app sg:sg-app
+ securitygroup/sg-app sg:sg-app
+ security-group/sg-app sg:sg-app
= ovn.sg.sg.app sg:sg-app
+ 198.51.100.22 nat:198.51.100.22
+ eip/198.51.100.22 nat:198.51.100.22
+ ovn-eip/198.51.100.22 nat:198.51.100.22
+ fip/198.51.100.22 nat:198.51.100.22
+ ovn-fip/198.51.100.22 nat:198.51.100.22
= snat/198.51.100.23 nat:198.51.100.23
= ovn-snat-rule/198.51.100.23 nat:198.51.100.23
+ dnat/dnat-app-2 lb:dnat-app-2
+ ovn-dnat-rule/dnat-app-2 lb:dnat-app-2
+ dnat-app-2 lb:dnat-app-2
+ 198.51.100.24 svc:198.51.100.24
= 198.51.100.24:80 svc:198.51.100.24
= pod/app-1 pod:tenant/app-1
+ tenant/app-1 pod:tenant/app-1
= app-1:8080 pod:tenant/app-1
+ ns/tenant ns:tenant
+ netpol/bank/deny-all networkpolicy:bank/deny-all
= netpol/allow-shop networkpolicy:bank/allow-shop
+ node/node1 node:node1
= 172.32.0.11 node:node1
+ 10.96.0.10 svc:10.96.0.10
= svc/10.96.0.10:80 svc:10.96.0.10
`},
}

// openDeployment reads one of testdata/deployments.
func openDeployment(t *testing.T, name string) (*cluster.Cluster, *topology.Graph) {
	t.Helper()
	o := &options{offline: "../../testdata/deployments/" + name + ".tar.zst", timeout: time.Minute, stderr: new(strings.Builder)}
	c, err := o.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.Gather(t.Context())
	g, err := topology.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return c, g
}

// What users of OpenStack, OVN-Kubernetes and Kube-OVN call their objects is found in what these wrote; completion offers
// it, and trace goes there if packets can.
func TestTypedNames(t *testing.T) {
	for name, d := range typedNames {
		t.Run(name, func(t *testing.T) {
			c, g := openDeployment(t, name)
			for line := range strings.Lines(strings.TrimSpace(d.names)) {
				words := strings.Fields(line)
				mark, typed, want := words[0], words[1], words[2:]
				t.Run(typed, func(t *testing.T) {
					found, err := g.Resolve(typed)
					if err != nil {
						t.Fatal(err)
					}
					if got := matchNames(found); !slices.Equal(got, want) {
						t.Errorf("found %q, want %q", got, want)
					}
					if offered := slices.Contains(g.Completions(typed[:len(typed)-1], topology.Objects...), typed); offered != (mark == "+") {
						t.Errorf("completion offers it: %t", offered)
					}
					traceTo(t.Context(), t, c, g, d.sender, typed, found)
				})
			}
		})
	}
}

// traceTo follows a packet to an object if packets can be sent to it.
func traceTo(ctx context.Context, t *testing.T, c *cluster.Cluster, g *topology.Graph, sender, typed string, found []topology.Match) {
	t.Helper()
	to := slices.DeleteFunc(slices.Clone(found), func(m topology.Match) bool { return !slices.Contains(topology.Endpoints, m.Kind) })
	if len(to) != 1 || len(to[0].Addresses) == 0 && to[0].Kind != topology.KindNode {
		return
	}
	family := 4
	if len(to[0].Addresses) > 0 && to[0].Addresses[0].Is6() || strings.Contains(typed, "fd00") {
		family = 6
	}
	protocol := ""
	if to[0].L4Port == 0 {
		protocol = "icmp"
	}
	result, _, err := trace.Run(ctx, c, g, trace.Query{From: sender, To: typed, Protocol: protocol, SourcePort: 40000, Family: family, Logical: true})
	switch {
	case err != nil:
		t.Errorf("trace: %v", err)
	case result.Verdict.Outcome == journey.Unknown || result.Forward != nil && len(result.Forward.Hops) == 0:
		t.Errorf("trace: %s: %s", result.Verdict.Outcome, result.Verdict.Cause)
	}
}

// What cannot be found is answered with the way to find it.
func TestWrongNames(t *testing.T) {
	for _, test := range []struct {
		deployment, name string
		says             []string
	}{
		{"neutron-21.0.0-ovn-23.03", "sg/web", []string{"no names of security groups", "openstack security group show"}},
		{"neutron-21.0.0-ovn-23.03", "fip/fip-web-1", []string{"give its address"}},
		{"neutron-21.0.0-ovn-23.03", "wbe-1", []string{"not found: wbe-1", "nearest: web-1"}},
		{"neutron-21.0.0-ovn-23.03", "fa:16:3e:00:00:00", []string{"no port has this MAC address"}},
		{"ovnk-1.3-ic", "anp/no-opps", []string{"nearest: no-ops"}},
		{"ovnk-1.3-ic", "pod/cliant", []string{"nearest: shop/client"}},
		{"ovnk-1.3-ic", "svc/wbe", []string{"nearest: shop/web"}},
		{"ovnk-1.3-ic", "default", []string{"2 objects match", "give one of: banp:default, ns:default"}},
		{"kubeovn-1.15.24-ovn-25.03", "ovn-eip/eip-app-1", []string{"give its address"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs strings.Builder
			code := run(t.Context(), []string{"--offline", "../../testdata/deployments/" + test.deployment + ".tar.zst", "topology", "show", test.name}, strings.NewReader(""), &out, &errs)
			if code != exitUsage {
				t.Errorf("exit code %d", code)
			}
			for _, want := range test.says {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("no %q in\n%s", want, errs.String())
				}
			}
		})
	}
}

// A drop by security groups says which ones the port has, and leads to their rules; hops have names, not UUIDs.
func TestSecurityGroupDrop(t *testing.T) {
	for _, test := range []struct {
		deployment string
		args, says []string
	}{
		{"neutron-21.0.0-ovn-23.03", []string{"vm:web-1", "vm:db-1", "--tcp=80"}, []string{
			"db-1 has security group 8832aa67-dd1a-42a6-93d1-9197fe88de7a", "dropped in ls_out_acl at db-1\n",
			"next: openstack security group rule list 8832aa67-dd1a-42a6-93d1-9197fe88de7a\n", "switch web-net  web-1 → ",
		}},
		{"kubeovn-1.15.24-ovn-25.03", []string{"tenant/app-1", "tenant/sec-1", "--tcp=22"}, []string{
			"tenant/sec-1 has security group sg-app", "next: kubectl describe security-group sg-app\n",
		}},
		{"ovnk-1.3-ic", []string{"ops/toolbox", "shop/web-1", "--tcp=9090"}, []string{"next: kubectl describe adminnetworkpolicy no-ops\n"}},
		{"ovnk-1.3-ic", []string{"fence/cell", "external:203.0.113.10", "--tcp=9090"}, []string{"next: kubectl -n fence describe egressfirewall default\n"}},
		{"ovnk-1.3-ic", []string{"blue/b-1", "blue/b-2", "--tcp=8080"}, []string{"switch ovn-control-plane@blue/blue-net  blue/b-1@blue/blue-net → "}},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			var out, errs strings.Builder
			run(t.Context(), append([]string{"--offline", "../../testdata/deployments/" + test.deployment + ".tar.zst", "trace"}, test.args...), strings.NewReader(""), &out, &errs)
			for _, want := range test.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s%s", want, out.String(), errs.String())
				}
			}
		})
	}
}

// The command to run next reads the same source, and can be pasted; a repair is for the live deployment.
func TestNextKeepsSource(t *testing.T) {
	o := &options{offline: "my capture", nodeExec: "ssh {hostname}"}
	for command, want := range map[string]string{
		"ovnctl topology show lsp:a":                          "ovnctl --offline 'my capture' --node-exec 'ssh {hostname}' topology show lsp:a",
		"ovnctl trace a b --node-exec 'ssh {hostname}'":       "ovnctl --offline 'my capture' trace a b --node-exec 'ssh {hostname}'",
		"ovnctl fix delete-mac-binding r 100.64.0.1":          "ovnctl fix delete-mac-binding r 100.64.0.1",
		"kubectl -n bank get networkpolicy":                   "kubectl -n bank get networkpolicy",
		"openstack security group rule list 77afd218-7ce8-46": "openstack security group rule list 77afd218-7ce8-46",
	} {
		if got := o.sameSource(command); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// Flows are selected by the same names.
func TestFlowsOfTypedNames(t *testing.T) {
	for _, test := range []struct{ deployment, node, flag, name, has string }{
		{"ovnk-1.3-ic", "ovn-worker", "--object", "anp/no-ops", "AdminNetworkPolicy no-ops"},
		{"ovnk-1.3-ic", "ovn-control-plane", "--object", "egressip/exit-ip", "172.19.0.100"},
		{"neutron-21.0.0-ovn-23.03", "compute-1", "--port", "fa:16:3e:ef:bd:37", "10.1.0.176"},
		{"neutron-21.0.0-ovn-23.03", "compute-1", "--port", "54be6977", "10.1.0.176"},
		{"neutron-21.0.0-ovn-23.03", "compute-2", "--object", "sg/8832aa67", "security group rule"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, errs strings.Builder
			code := run(t.Context(), []string{"--offline", "../../testdata/deployments/" + test.deployment + ".tar.zst", "flows", "--node", test.node, test.flag, test.name, "-o", "wide"}, strings.NewReader(""), &out, &errs)
			if code != exitOK || !strings.Contains(out.String(), test.has) {
				t.Errorf("exit code %d, no %q in\n%s%s", code, test.has, out.String(), errs.String())
			}
		})
	}
}
