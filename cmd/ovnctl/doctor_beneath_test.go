//go:build lab

package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// An owed is what doctor must find of a fault: a check, the object, and the reason if it has one. Empty: nothing, as the
// fault is a legal configuration or no node's state shows it.
type owed struct{ check, object, reason string }

// TestDoctorBeneath makes the faults of [TestTraceBeneath], and a few that trace has elsewhere, and asks doctor: it must
// name what was broken, and must be silent about what is legal. Each run makes a twelfth of the faults, chosen by
// OVNCTL_TURN; OVNCTL_FAULTS=all makes all.
func TestDoctorBeneath(t *testing.T) {
	owing, found := 0, 0
	all := func(l *lab.Lab) []fault { return append(allBeneath(l), doctorFaults(l)...) }
	eachFault(t, 12, all, func(t *testing.T, l *lab.Lab, f fault) {
		want := beneathFound[f.name]
		if want.check != "" || slices.Contains(beneathMissed, f.name) {
			owing++
		}
		if f.examine(t, l, want) {
			found++
		}
	})
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
	return []fault{
		acl("ACL rejects", "acl-add node1 to-lport 1500 'outport == \"shop_client\" && tcp.dst == 8081' reject", "acl-del node1 to-lport 1500 'outport == \"shop_client\" && tcp.dst == 8081'"),
		acl("route by source", "--policy=src-ip lr-route-del ovn_cluster_router 10.244.1.0/24", "--policy=src-ip lr-route-add ovn_cluster_router 10.244.1.0/24 100.64.0.2"),
		{name: "ovn-remote at the Northbound", on: "node1", still: true, breaks: "ovs-vsctl get open . external_ids:ovn-remote > /tmp/remote; ovs-vsctl set open . external_ids:ovn-remote=" + l.NB() + "; sleep 3", mends: "ovs-vsctl set open . external_ids:ovn-remote=$(cat /tmp/remote); sleep 3"},
		{name: "protocols of br-int", on: "node1", still: true, breaks: "ovs-vsctl set bridge br-int protocols=OpenFlow10; sleep 2", mends: "ovs-vsctl clear bridge br-int protocols; sleep 3"},
		acl("static MAC binding", "static-mac-binding-add rtos-node1 10.244.1.6 02:00:00:00:00:99", "static-mac-binding-del rtos-node1 10.244.1.6"),
		{name: "wrong neighbour of host and tunnels", on: "node1", still: true, // a switch in the kernel has one table for both
			breaks: "ip neigh replace 172.30.0.12 lladdr 02:00:00:00:00:99 dev br-ex nud permanent; ovs-appctl tnl/neigh/set br-ex 172.30.0.12 02:00:00:00:00:99",
			mends:  "ip neigh del 172.30.0.12 dev br-ex; ovs-appctl tnl/neigh/flush" + healed},
		{name: "receive path of a pod", on: "node2", breaks: "ovs-ofctl mod-port br-int " + web2.Link + " no-receive", mends: "ovs-ofctl mod-port br-int " + web2.Link + " receive"},
	}
}

// beneathMissed are faults that doctor does not find: what a pod's packet filter refuses may be its owner's wish, even where a
// load balancer sends it there, and so may its policies of IPsec, and a second link of a pod;
// and that a host's gateway did not answer the last time is unknown.
var beneathMissed = []string{
	"packet filter of the pod rejects", "IPsec policy of the pod blocks", "IPsec policy of the pod blocks what comes in", "pod with a second link to the others", "default route of the host by nobody",
}

// beneathBeside are checks whose findings may stand beside the one that is owed.
var beneathBeside = map[string]string{
	"interface ids swapped": "pod-address-mismatch", // of the other port

	"gateway silent, and not asked":       "host-path-astray",    // the host asks it meanwhile
	"another host answers for node2":      "tunnel-path-blocked", // node3 is told the same
	"gateway silent":                      "host-path-astray",    // while the host asks
	"default route of the host by nobody": "host-path-astray",
	"MAC binding of the gateway wrong":    "mac-binding-stale",      // until the gateway itself asks: then it is learned anew
	"key of a tunnel":                     "controller-not-running", // stopped, so that it does not write the option again
	"UDP port of a tunnel":                "controller-not-running",
	"MAC address of the management port":  "pod-address-mismatch",
	"route to a node by nobody":           "host-path-astray",
	"MTU of the pod":                      "pod-address-mismatch",
}

// beneathFound is what doctor owes for each fault. Those without an entry are legal, or visible on no node: doctor must be
// silent about them.
var beneathFound = map[string]owed{
	"packet filter of the pod past conntrack":    {"pod-network-broken", "port shop_web-2", "filtered"},
	"route of the pod with another source":       {"pod-address-mismatch", "port shop_client", "address"},
	"IPsec policy of the host blocks":            {"host-path-astray", "node node1", "ipsec-blocks"},
	"IPsec of the host by priority":              {"host-path-astray", "node node1", "ipsec-blocks"},
	"IPsec of the host without an association":   {"host-path-astray", "node node1", "ipsec-lacks"},
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
	"management port down":                       {"pod-address-mismatch", "port k8s-node1", "link"},
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
	"wrong neighbour of host and tunnels":        {"host-path-astray", "node node1", "neighbour"},
	"wrong tunnel neighbour":                     {"tunnel-path-blocked", "node node1", "wrong-neighbour"},
	"bridge's own interface tagged":              {"tunnel-path-blocked", "interface br-ex on node2", "vlan-mismatch"},
	"pod has the sender's address":               {"pod-address-mismatch", "port shop_web-2", "address"},
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

	"another host answers for node2":        {"tunnel-path-blocked", "node node1", "wrong-neighbour"},
	"groups deleted":                        {"of-flow-drift", "bridge br-int on node1", ""},
	"mirror to the uplink":                  {"tunnel-path-blocked", "interface eth0 on node1", "mirror-output"},
	"mirror to a pod":                       {"pod-network-broken", "port shop_web-2", "mirror-output"},
	"ECMP with a next hop that no port has": {"static-route-or-nat-unrealised", "router ovn_cluster_router", "route-next-hop"},
	"static MAC binding of the gateway":     {"mac-binding-stale", "MAC binding rtoe-GR_node1 172.30.0.1", "static"},
	"mask that leaves the next hop outside": {"static-route-or-nat-unrealised", "router GR_node1", "route"},
	"limit of a conntrack zone":             {"conntrack-table-full", "ct zone shop_client on node1", ""},
	"default limit of conntrack zones":      {"conntrack-table-full", "node node1", "default-limit"},
	"BFD session of a route down":           {"bfd-down-or-flapping", "port rtoe-GR_node1", "next-hop"},

	"IPv6 off in the pod":                {"pod-address-mismatch", "port shop_web-2", "address"},
	"pod asks no ARP":                    {"pod-network-broken", "port shop_client", "no-arp"},
	"flow of a tunnel port deleted":      {"of-flow-drift", "bridge br-int on node2", ""},
	"first table of the bridge emptied":  {"of-flow-drift", "bridge br-int on node2", ""},
	"key of a tunnel":                    {"tunnel-path-blocked", "interface ovn-c5ab1a-0 on node1", "tunnel-options"},
	"UDP port of a tunnel":               {"tunnel-path-blocked", "interface ovn-c5ab1a-0 on node1", "tunnel-options"},
	"pod with a gateway that nobody has": {"pod-address-mismatch", "port shop_client", "route"},
	"default route of the pod by two gateways, one that nobody has": {"pod-address-mismatch", "port shop_client", "route"},
	"rule of the pod prohibits":                                     {"pod-network-broken", "port shop_client", "route-refuses"},
	"traffic control of the uplink":                                 {"tunnel-path-blocked", "interface eth0 on node2", "queue-drops"},
	"traffic control in the pod":                                    {"pod-network-broken", "port shop_client", "queue-drops"},
	"queue of the pod's link without room":                          {"pod-network-broken", "port shop_web-2", "queue-drops"},
	"checksums left to the pod's link":                              {"pod-network-broken", "port shop_client", "no-checksum"},
	"MTU of the pod":                                                {"mtu-too-large", "node node1", ""},
	"MTU of the host's end of the pod's link":                       {"pod-address-mismatch", "port shop_web-2", "link"},
	"node with another node's address":                              {"tunnel-path-blocked", "node node1", "own-address"},
	"route to a node by nobody":                                     {"tunnel-path-blocked", "node node1", "gateway-silent"},
	"route of the switch by hand":                                   {"tunnel-path-blocked", "node node1", "gateway-silent"},
	"host with a narrow mask":                                       {"tunnel-path-blocked", "node node1", "no-tunnel-route"},
	"MAC address of the management port":                            {"cluster-route-or-snat-missing", "route 10.244.0.0/16 on node1", ""},
	"host with a wrong neighbour on the overlay":                    {"host-path-astray", "node node1", "router-neighbour"},
	"pods' route of the host by two gateways, one that nobody has":  {"cluster-route-or-snat-missing", "route 10.244.0.0/16 on node1", ""},
	"pods' route of the host astray":                                {"host-path-astray", "node node1", "other-way"},
	"bridge drops ARP":                                              {"tunnel-path-blocked", "bridge br-ex on node1", "no-answer"},
	"host answers no ARP":                                           {"tunnel-path-blocked", "interface br-ex on node2", "no-answer"},
	"packet filter of ARP":                                          {"tunnel-path-blocked", "interface br-ex on node2", "no-answer"},
	"conntrack table full":                                          {"conntrack-table-full", "node node2", "datapath-table"},
	"static entry of the bridge's FDB":                              {"tunnel-path-blocked", "bridge br-ex on node1", "ovs-drops"},
	"uplink tunnels VLANs":                                          {"tunnel-path-blocked", "interface eth0 on node1", "vlan-mismatch"},
	"flow of the bridge rewrites the port":                          {"tunnel-path-blocked", "bridge br-ex on node2", "tunnel-not-taken"},
	"flow of the bridge rewrites the MAC address":                   {"tunnel-path-blocked", "node node2", "not-for-host"},
	"flow of the bridge sends tunnels to OVN":                       {"tunnel-path-blocked", "bridge br-ex on node2", "nothing-sends-it-on"},
	"policy to a next hop that no port has":                         {"static-route-or-nat-unrealised", "router ovn_cluster_router", "policy-next-hop"},
	"route to a next hop that no port has":                          {"static-route-or-nat-unrealised", "router ovn_cluster_router", "route-next-hop"},
	"router port disabled":                                          {"port-administratively-disabled", "port rtos-node2", ""},
}
