//go:build lab

package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// An owed is what doctor must find of a fault: a check, the object, and the reason if it has one. Empty: nothing, as the
// fault is a legal configuration or no node's state shows it.
type owed struct{ check, object, reason string }

// TestDoctorBeneath makes the faults of [TestTraceBeneath], and a few that trace has elsewhere, and asks doctor: it must
// name what was broken, and must be silent about what is legal. Each run makes a sixth of the faults, chosen by
// OVNCTL_TURN; OVNCTL_FAULTS=all makes all.
func TestDoctorBeneath(t *testing.T) {
	makes := labtest.InTurn(t, 6)
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	owing, found := 0, 0
	for i, f := range append(beneathFaults(l), doctorFaults(l)...) {
		if !makes(i) {
			continue
		}
		want := beneathFound[f.name]
		if want.check != "" || slices.Contains(beneathMissed, f.name) {
			owing++
		}
		if !t.Run(f.name, func(t *testing.T) {
			if f.examine(t, l, want) {
				found++
			}
		}) { // what it left behind is not the next one's
			l = labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
		}
	}
	t.Logf("found %d of %d", found, owing)
}

// examine makes a fault and compares what doctor finds with what it owes: that finding and none beside it, or none.
func (f fault) examine(t *testing.T, l *lab.Lab, want owed) (found bool) {
	var got result
	f.during(t, l, func(ctx context.Context, d *traceDraw) {
		got = d.ovnctl(ctx, "node3", "doctor", "--nb", l.NB(), "--sb", l.SB(), "--node-exec", l.Dir+"/enter {hostname}", "-o", "json")
	})
	var r doctor.Report
	if err := json.Unmarshal(got.stdout, &r); err != nil {
		t.Fatalf("%v: %s%s", err, got.stdout, got.stderr)
	}
	var lines []string
	flatten(r.Findings, "", &lines)
	text := strings.Join(lines, "\n")
	t.Logf("exit %d\n%s", got.code, text)
	for _, x := range r.Findings {
		switch is := (owed{x.Check, x.Object.String(), x.Reason}); {
		case !x.Result.Fault():
		case is == want:
			found = true
		case beneathBeside[f.name] != x.Check:
			t.Errorf("doctor finds what is not broken: %s", x.Title)
		}
	}
	if want.check != "" && !found {
		t.Errorf("doctor does not find %s of %s (%s)", want.check, want.object, want.reason)
	}
	return found
}

// flatten lists faults with their consequences.
func flatten(findings []doctor.Finding, indent string, lines *[]string) {
	for _, f := range findings {
		if f.Result.Fault() {
			*lines = append(*lines, indent+string(f.Result)+" "+f.Check+" ["+f.Object.String()+"] "+f.Reason+": "+f.Title)
		}
		flatten(f.Consequences, indent+"  ", lines)
	}
}

// doctorFaults are faults that trace has elsewhere, or that are none.
func doctorFaults(l *lab.Lab) []fault {
	web2, _ := l.Topology.Pod("shop/web-2")
	const mac = "0a:58:ac:1e:00:6f" // of 172.30.0.111
	return []fault{
		{name: "MTU of the underlay", on: "fab", still: true, breaks: "ip link set node2 mtu 1300", mends: "ip link set node2 mtu 1500"},
		acl("ACL rejects", "acl-add node1 to-lport 1500 'outport == \"shop_client\" && tcp.dst == 8081' reject", "acl-del node1 to-lport 1500 'outport == \"shop_client\" && tcp.dst == 8081'"),
		acl("ACL drops one backend", "--apply-after-lb acl-add node1 from-lport 1500 'ip4.dst == 10.244.2.5 && tcp' drop", "acl-del node1 from-lport 1500 'ip4.dst == 10.244.2.5 && tcp'"),
		{name: "pod's link down", on: "shop/web-2", breaks: "ip link set eth0 down", mends: "ip link set eth0 up; ip route replace default via 10.244.2.1; ip addr add " + "fd00:10:244:2::5/64 dev eth0 nodad 2>/dev/null || true; ip -6 route replace default via fd00:10:244:2::1"},
		{name: "ovn-bridge renamed", on: "node1", still: true, breaks: "ovs-vsctl set open . external_ids:ovn-bridge=br-int0; sleep 3", mends: "ovs-vsctl set open . external_ids:ovn-bridge=br-int; ovs-vsctl --if-exists del-br br-int0; sleep 3"},
		{name: "gateway router without a mapping", on: "node3", still: true, breaks: "ovs-vsctl remove open . external_ids ovn-bridge-mappings", mends: "ovs-vsctl set open . external_ids:ovn-bridge-mappings=physnet:br-ex"},
		{name: "uplink dead", on: "node1", still: true, breaks: "ip link set eth0 down; sleep 1", mends: "ip link set eth0 up" + healed},
		acl("MAC address of a router port", "set Logical_Router_Port rtoe-GR_node1 mac='\"0a:58:0a:f4:01:99\"'", "set Logical_Router_Port rtoe-GR_node1 mac='\""+mac+"\"'"),
		{name: "encap address of another node", on: "node2", still: true, breaks: "ovs-vsctl set open . external_ids:ovn-encap-ip=172.30.0.11; sleep 2", mends: "ovs-vsctl set open . external_ids:ovn-encap-ip=172.30.0.12; sleep 2"},
		acl("route by source", "--policy=src-ip lr-route-del ovn_cluster_router 10.244.1.0/24", "--policy=src-ip lr-route-add ovn_cluster_router 10.244.1.0/24 100.64.0.2"),
		{name: "ovn-remote at the Northbound", on: "node1", still: true, breaks: "ovs-vsctl get open . external_ids:ovn-remote > /tmp/remote; ovs-vsctl set open . external_ids:ovn-remote=" + l.NB() + "; sleep 3", mends: "ovs-vsctl set open . external_ids:ovn-remote=$(cat /tmp/remote); sleep 3"},
		{name: "protocols of br-int", on: "node1", still: true, breaks: "ovs-vsctl set bridge br-int protocols=OpenFlow10; sleep 2", mends: "ovs-vsctl clear bridge br-int protocols; sleep 3"},
		acl("static MAC binding", "static-mac-binding-add rtos-node1 10.244.1.6 02:00:00:00:00:99", "static-mac-binding-del rtos-node1 10.244.1.6"),
		{name: "receive path of a pod", on: "node2", breaks: "ovs-ofctl mod-port br-int " + web2.Link + " no-receive", mends: "ovs-ofctl mod-port br-int " + web2.Link + " receive"},
	}
}

// beneathMissed are faults that doctor does not find: what a pod's packet filter refuses may be its owner's wish, even where a
// load balancer sends it there.
var beneathMissed = []string{"packet filter of the pod rejects"}

// beneathBeside are checks whose findings may stand beside the one that is owed.
var beneathBeside = map[string]string{
	"management port down":  "pod-address-mismatch",
	"interface ids swapped": "pod-address-mismatch", // of the other port
}

// beneathFound is what doctor owes for each fault. Those without an entry are legal, or visible on no node: doctor must be
// silent about them.
var beneathFound = map[string]owed{
	"VLAN tag on the uplink":                     {"tunnel-path-blocked", "interface eth0 on node1", "vlan-mismatch"},
	"node2 has the MAC address of node1":         {"tunnel-path-blocked", "node node1", "same-mac"},
	"route back from outside":                    {"gateway-router-incomplete", "router GR_node1", "no-route-back"},
	"default route":                              {"gateway-router-incomplete", "router GR_node1", "no-default-route"},
	"source NAT":                                 {"gateway-router-incomplete", "router GR_node1", "no-snat"},
	"route by source":                            {"gateway-router-incomplete", "router ovn_cluster_router", "no-source-route"},
	"VLAN tag of the localnet port":              {"gateway-router-incomplete", "port br-ex_node1", "vlan"},
	"port security":                              {"pod-address-mismatch", "port shop_client", "address"},
	"port no-forward":                            {"pod-network-broken", "port shop_web-2", "port-blocked"},
	"receive path of a pod":                      {"pod-network-broken", "port shop_web-2", "port-blocked"},
	"flow of the bridge drops tunnels":           {"tunnel-path-blocked", "bridge br-ex on node2", "openflow-drops"},
	"pod with a wrong neighbour":                 {"pod-network-broken", "port shop_client", "wrong-neighbour"},
	"blackhole in the pod":                       {"pod-network-broken", "port shop_client", "route-refuses"},
	"packet filter in the pod":                   {"pod-network-broken", "port shop_web-2", "filtered"},
	"wrong neighbour of the host":                {"host-path-astray", "node node1", "neighbour"},
	"rule to a blackhole":                        {"host-path-astray", "node node1", "route-refuses"},
	"blackhole that counts for the kernel alone": {"host-path-astray", "node node1", "route-refuses"},
	"interface ids swapped":                      {"pod-address-mismatch", "port shop_client", "other-port"},
	"pod with a wide mask":                       {"pod-network-broken", "port shop_client", "not-on-link"},
	"LACP without a partner":                     {"tunnel-path-blocked", "interface bond0 on node1", "bond-down"},
	"bond with both members down":                {"tunnel-path-blocked", "interface bond0 on node1", "uplink-down"},
	"management port down":                       {"cluster-route-or-snat-missing", "route 10.244.0.0/16 on node1", ""},
	"link of the pod down on the host":           {"pod-network-broken", "port shop_web-2", "link-down"},
	"pod's link down":                            {"pod-address-mismatch", "port shop_web-2", "link"},
	"pod in another bridge":                      {"port-not-bound", "port shop_web-2", "wrong-bridge"},
	"network name with a typo":                   {"localnet-no-bridge-mapping", "network physnte on node1", "no-mapping"},
	"gateway router without a mapping":           {"localnet-no-bridge-mapping", "network physnet on node3", "no-mapping"},
	"uplink no-receive":                          {"tunnel-path-blocked", "interface eth0 on node2", "port-blocked"},
	"uplink no-forward":                          {"tunnel-path-blocked", "interface eth0 on node2", "port-blocked"},
	"uplink dead":                                {"tunnel-path-blocked", "interface eth0 on node1", "uplink-down"},
	"no flows in the bridge":                     {"tunnel-path-blocked", "bridge br-ex on node2", "no-openflow"},
	"bridge sends tunnels nowhere":               {"tunnel-path-blocked", "bridge br-ex on node1", "openflow-drops"},
	"uplink trunks another VLAN":                 {"tunnel-path-blocked", "interface eth0 on node2", "vlan-mismatch"},
	"wrong tunnel neighbour":                     {"tunnel-path-blocked", "node node1", "wrong-neighbour"},
	"bridge's own interface tagged":              {"tunnel-path-blocked", "interface br-ex on node2", "vlan-mismatch"},
	"MAC address of the pod changed":             {"pod-address-mismatch", "port shop_web-2", "address"},
	"prohibited in the replying pod":             {"pod-network-broken", "port shop_web-2", "route-refuses"},
	"replying pod with a wrong neighbour":        {"pod-network-broken", "port shop_web-2", "wrong-neighbour"},
	"MTU of the uplink":                          {"mtu-too-large", "node node2", ""},
	"spanning tree listens":                      {"tunnel-path-blocked", "interface eth0 on node1", "port-blocked"},
	"ovn-bridge renamed":                         {"controller-misdirected", "node node1", "bridge-renamed"},
	"ovn-remote at the Northbound":               {"controller-misdirected", "node node1", "northbound"},
	"protocols of br-int":                        {"controller-misdirected", "bridge br-int on node1", "protocols"},
	"MAC address of a router port":               {"dangling-router-link", "port etor-GR_node1", "switch-port"},
	"backends where nobody listens":              {"load-balancer-unheard", "virtual IP 10.96.0.11:80 of load balancer Service_shop/self_TCP_cluster", ""},
	"encap address of another node":              {"encap-ip-not-local", "node node2", "not-local"},
}
