//go:build lab

package faults

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// systemID is the name of a node's chassis, as the lab made it.
func (s *scene) systemID(node string) string {
	for _, n := range s.Topology.Nodes {
		if n.Name == node {
			return n.SystemID
		}
	}
	s.Fatalf("no node %s", node)
	return ""
}

// link is the interface of a pod in the switch of its node.
func (s *scene) link(pod string) string {
	p, ok := s.Topology.Pod(pod)
	if !ok {
		s.Fatalf("no pod %s", pod)
	}
	return p.Link
}

// set writes a key of Open_vSwitch.external_ids; an empty value removes it.
func (s *scene) set(node, key, value string) {
	s.Helper()
	if value == "" {
		s.sh(node, "ovs-vsctl remove Open_vSwitch . external_ids %s", key)
		return
	}
	s.sh(node, `ovs-vsctl set Open_vSwitch . external_ids:%s='"%s"'`, key, value)
}

// everywhere makes doctor ask the other nodes, too.
func (s *scene) everywhere() {
	s.fault.args = []string{"--node-exec", filepath.Join(s.Dir, "enter") + " {hostname}"}
}

// controller starts a node's ovn-controller as its unit would.
func (s *scene) startController(node string) {
	s.Helper()
	s.sh(node, "/usr/share/ovn/scripts/ovn-ctl --no-monitor --ovn-controller-priority= start_controller")
}

// stopController ends it as a reboot or a crash does: its chassis stays.
func (s *scene) stopController(node string) {
	s.Helper()
	s.sh(node, `pid=$(cat $OVN_RUNDIR/ovn-controller.pid)
ovn-appctl -t ovn-controller exit --restart
while kill -0 $pid 2>/dev/null; do sleep 0.05; done`)
}

// bound waits until a port is on a node.
func (s *scene) bound(port, node string) {
	s.Helper()
	s.until(port+" is on "+node, func() bool {
		id := s.sh("central", "ovn-sbctl --bare --columns=chassis find Port_Binding logical_port=%s", port)
		return id != "" && s.sh("central", "ovn-sbctl --bare --columns=name list Chassis %s", id) == s.systemID(node)
	})
}

var chassisFaults = []fault{
	{
		check: "port-no-such-device", on: "node1",
		how: "ovs-vsctl add-port of a device that does not come",
		make: func(s *scene) {
			_, _ = s.Lab.Run(s.ctx, "node1", "ovs-vsctl", "--no-wait", "add-port", "br-int", "veth-gone", "--", "set", "Interface", "veth-gone", "external_ids:iface-id=shop_gone")
			time.Sleep(31 * time.Second)
		},
		object: "interface veth-gone",
		repair: []string{"remove-port", "veth-gone"},
	},
	{
		check: "pod-veth-vanished", on: "node1",
		how: "ip link del of a pod's veth whose logical port is gone",
		make: func(s *scene) {
			s.sh("node1", `ip link add ghost0 type veth peer name ghost1
ip link set ghost0 up
ovs-vsctl add-port br-int ghost0 -- set Interface ghost0 external_ids:iface-id=shop_ghost
ip link del ghost0`)
		},
		object: "interface ghost0",
		repair: []string{"remove-port", "ghost0"},
		undone: "port-no-such-device", // the row comes back, the device does not
		kernel: "port-no-such-device", // it tells ovs-vswitchd at once
		like:   "port-no-such-device",
	},
	{
		check: "iface-id-without-binding", on: "node1",
		how: "ovs-vsctl add-port with the iface-id of no port",
		make: func(s *scene) {
			s.sh("node1", "ovs-vsctl add-port br-int leftover -- set Interface leftover type=internal external_ids:iface-id=shop_nobody")
		},
		object: "interface leftover",
		repair: []string{"remove-port", "leftover"},
	},
	{
		check: "duplicate-iface-id-local", on: "node1",
		how: "ovs-vsctl add-port with the iface-id of another interface",
		make: func(s *scene) {
			s.sh("node1", "ovs-vsctl add-port br-int thief -- set Interface thief type=internal external_ids:iface-id=shop_client external_ids:iface-id-ver=00000000-0000-4000-8000-000000000000")
		},
		mend:   func(s *scene) { s.sh("node1", "ovs-vsctl --if-exists del-port thief") },
		object: "port shop_client",
		repair: []string{"clear-iface-id", "thief"},
	},
	{
		check: "port-not-bound", name: "another chassis requested", on: "node1",
		how: "ovn-nbctl lsp-set-options requested-chassis",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv set Logical_Switch_Port shop_client options:requested-chassis=node3")
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv set Logical_Switch_Port shop_client options:requested-chassis=node1")
			s.bound("shop_client", "node1")
		},
		object: "port shop_client",
		repair: []string{"clear-requested-chassis", "shop_client"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "port-not-bound", name: "no chassis of that name", on: "node1",
		how: "ovn-nbctl lsp-set-options requested-chassis",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv set Logical_Switch_Port shop_client options:requested-chassis=nowhere")
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv set Logical_Switch_Port shop_client options:requested-chassis=node1")
			s.bound("shop_client", "node1")
		},
		object: "port shop_client",
		repair: []string{"clear-requested-chassis", "shop_client"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "port-not-bound", name: "another iface-id-ver", on: "node1",
		how: "ovs-vsctl set Interface external_ids:iface-id-ver, as of an earlier pod of the name",
		make: func(s *scene) {
			link := s.link("shop_client")
			s.repair = []string{"set-iface-id-ver", link}
			s.sh("node1", "ovs-vsctl clear Interface %[1]s external_ids; ovs-vsctl set Interface %[1]s external_ids:iface-id=shop_client external_ids:iface-id-ver=00000000-0000-4000-8000-000000000000", link)
		},
		object: "port shop_client",
		repair: []string{"set-iface-id-ver"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "port-flapping-two-chassis", on: "node1",
		how: "ovs-vsctl add-port with the same iface-id on two nodes",
		make: func(s *scene) {
			s.everywhere()
			ver := s.sh("central", "ovn-nbctl get Logical_Switch_Port shop_web-1 options:iface-id-ver")
			s.sh("node2", "ovs-vsctl add-port br-int twin -- set Interface twin type=internal external_ids:iface-id=shop_web-1 external_ids:iface-id-ver=%s", ver)
			s.sh("central", "ovn-nbctl remove Logical_Switch_Port shop_web-1 options requested-chassis")
		},
		mend: func(s *scene) {
			s.sh("node2", "ovs-vsctl --if-exists del-port twin")
			s.sh("central", "ovn-nbctl set Logical_Switch_Port shop_web-1 options:requested-chassis=node1")
			s.bound("shop_web-1", "node1")
		},
		object: "port shop_web-1",
		repair: []string{"pin-port", "shop_web-1", "node1"},
	},
	{
		check: "missing-external-ids", name: "system-id", on: "node1",
		how:    "ovs-vsctl remove Open_vSwitch . external_ids system-id",
		make:   func(s *scene) { s.set("node1", "system-id", "") },
		object: "node node1",
		repair: []string{"set-chassis-key", "system-id"},
	},
	{
		check: "missing-external-ids", name: "ovn-remote", on: "node1",
		how: "ovs-vsctl remove Open_vSwitch . external_ids ovn-remote",
		make: func(s *scene) {
			s.everywhere()
			s.repair = []string{"set-chassis-key", "ovn-remote", s.sh("node1", "ovs-vsctl get Open_vSwitch . external_ids:ovn-remote | tr -d '\"'")}
			s.set("node1", "ovn-remote", "")
		},
		object: "node node1",
		repair: []string{"set-chassis-key", "ovn-remote"},
	},
	{
		check: "missing-external-ids", name: "ovn-encap-type", on: "node1",
		how:    "ovs-vsctl remove Open_vSwitch . external_ids ovn-encap-type",
		make:   func(s *scene) { s.set("node1", "ovn-encap-type", "") },
		object: "node node1",
		repair: []string{"set-chassis-key", "ovn-encap-type"},
	},
	{
		check: "missing-external-ids", name: "ovn-encap-ip", on: "node1",
		how:    "ovs-vsctl remove Open_vSwitch . external_ids ovn-encap-ip",
		make:   func(s *scene) { s.set("node1", "ovn-encap-ip", "") },
		object: "node node1",
		repair: []string{"set-chassis-key", "ovn-encap-ip"},
	},
	{
		check: "encap-ip-not-local", on: "node1",
		how:    "ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-ip to an address of nobody",
		make:   func(s *scene) { s.set("node1", "ovn-encap-ip", "172.30.0.99") },
		object: "node node1",
		repair: []string{"set-encap-ip"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "hostname-mismatch", on: "node1",
		how:    "ovs-vsctl set Open_vSwitch . external_ids:hostname to the full name",
		make:   func(s *scene) { s.set("node1", "hostname", "node1.example.com") },
		object: "chassis",
		repair: []string{"set-chassis-hostname", "node1"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "localnet-no-bridge-mapping", name: "network not mapped", on: "node1",
		how:    "ovs-vsctl remove Open_vSwitch . external_ids ovn-bridge-mappings",
		make:   func(s *scene) { s.set("node1", "ovn-bridge-mappings", "") },
		object: "on node1",
		repair: []string{"set-bridge-mapping", "physnet"},
		lost:   []probe{{"shop_client", "internet", "icmp"}},
	},
	{
		check: "localnet-no-bridge-mapping", name: "network misspelt", on: "node1",
		how:    "ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings",
		make:   func(s *scene) { s.set("node1", "ovn-bridge-mappings", "phsynet:br-ex") },
		object: "on node1",
		repair: []string{"set-bridge-mapping", "physnet"},
		lost:   []probe{{"shop_client", "internet", "icmp"}},
	},
	{
		check: "localnet-no-bridge-mapping", name: "bridge misspelt", on: "node1",
		how:    "ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings",
		make:   func(s *scene) { s.set("node1", "ovn-bridge-mappings", "physnet:br-exx") },
		object: "on node1",
		repair: []string{"set-bridge-mapping", "physnet", "br-ex"},
		lost:   []probe{{"shop_client", "internet", "icmp"}},
	},
	{
		check: "mac-binding-stale", name: "gateway", on: "node1",
		how: "ip link set address on the gateway, which does not announce it",
		make: func(s *scene) {
			s.until("the gateway is learned", func() bool {
				return s.flows(probe{"shop_client", "internet", "icmp"}) && s.sh("central", "ovn-sbctl --bare --columns=mac find MAC_Binding logical_port=rtoe-GR_node1 ip=172.30.0.1") != ""
			})
			s.sh("fab", "ip link set under address 02:00:ac:1e:00:99")
			s.sh("node1", "ip neigh flush dev br-ex; ping -c1 -W2 172.30.0.1 >/dev/null")
		},
		mend: func(s *scene) {
			s.sh("fab", "ip link set under address 02:00:ac:1e:00:01")
			s.sh("node1", "ip neigh flush dev br-ex; ping -c1 -W2 172.30.0.1 >/dev/null")
			s.sh("central", "ovn-sbctl --all destroy MAC_Binding")
		},
		object: "MAC binding rtoe-GR_node1 172.30.0.1",
		repair: []string{"delete-mac-binding", "rtoe-GR_node1", "172.30.0.1"},
		lost:   []probe{{"shop_client", "internet", "icmp"}},
	},
	{
		check: "mac-binding-stale", name: "router", on: "central",
		how: "ovn-sbctl set MAC_Binding: what is left when the other router's port is made again with another address",
		make: func(s *scene) {
			s.until("the join switch is learned", func() bool {
				return s.flows(probe{"shop_client", "internet", "icmp"}) && s.sh("central", "ovn-sbctl --bare --columns=mac find MAC_Binding logical_port=rtoj-GR_node1 ip=100.64.0.1") != ""
			})
			s.sh("central", `id=$(ovn-sbctl --bare --columns=_uuid find MAC_Binding logical_port=rtoj-GR_node1 ip=100.64.0.1)
ovn-sbctl set MAC_Binding $id 'mac="0a:58:00:00:00:99"'`)
		},
		object: "MAC binding rtoj-GR_node1 100.64.0.1",
		repair: []string{"delete-mac-binding", "rtoj-GR_node1", "100.64.0.1"},
		lost:   []probe{{"shop_client", "internet", "icmp"}},
	},
	{
		check: "system-id-cloned", on: "node2",
		how: "ovs-vsctl set Open_vSwitch . external_ids:system-id to that of another node, as a cloned image has it",
		make: func(s *scene) {
			s.repair = []string{"new-system-id", s.systemID("node2")}
			s.sh("node2", `pid=$(cat $OVN_RUNDIR/ovn-controller.pid)
ovn-appctl -t ovn-controller exit
while kill -0 $pid 2>/dev/null; do sleep 0.05; done`)
			s.set("node2", "system-id", s.systemID("node1"))
			s.startController("node2")
			for _, host := range []string{"node1", "node2"} {
				s.until(host+" writes the row", func() bool {
					return s.sh("central", "ovn-sbctl --bare --columns=hostname find Chassis name=%s", s.systemID("node1")) == host
				})
			}
		},
		mend:   func(s *scene) { s.bound("shop_web-1", "node1"); s.bound("shop_web-2", "node2"); s.settle() },
		object: "chassis",
		repair: []string{"new-system-id"},
		// Two controllers that go by one name take each other's ports away.
		restless: []string{"Open_vSwitch Bridge ", "Open_vSwitch Port ", "Open_vSwitch Interface ", controllers, "OVN_Southbound "},
		also: map[string]string{
			"gateway-router-without-chassis": "the lab's clone had a name of its own before, which its gateway router asks for",
			"dgp-chassis-not-bound":          "the lab's clone had a name of its own before, which its gateway port asks for",
		},
	},
}

// cookie is that of a flow of the integration bridge whose text has all words.
func (s *scene) cookie(node string, words ...string) string {
	s.Helper()
	for line := range strings.Lines(s.sh(node, "ovs-ofctl --no-stats dump-flows br-int")) {
		has := strings.Contains(line, "cookie=0x")
		for _, w := range words {
			has = has && strings.Contains(line, w)
		}
		if has {
			c, _, _ := strings.Cut(line[strings.Index(line, "cookie=")+len("cookie="):], ",")
			return c
		}
	}
	s.Fatalf("no flow of %s has %q", node, words)
	return ""
}

// ofport is the OpenFlow port of a pod.
func (s *scene) ofport(node, pod string) string {
	return s.sh(node, "ovs-vsctl get Interface %s ofport", s.link(pod))
}

// driftFaults are made with ovs-ofctl: the flows of one node.
var driftFaults = []fault{
	{
		check: "of-flow-drift", name: "flow of a port deleted", on: "node1",
		how: "ovs-ofctl del-flows by cookie",
		make: func(s *scene) {
			s.sh("node1", "ovs-ofctl del-flows br-int table=0,cookie=%s/-1", s.cookie("node1", "in_port="+s.ofport("node1", "shop_client")+" "))
		},
		object: "bridge br-int",
		repair: []string{"restart-controller"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "of-flow-drift", name: "logical flow deleted", on: "node1",
		how: "ovs-ofctl del-flows by cookie",
		make: func(s *scene) {
			pod, _ := s.Topology.Pod("shop_client")
			s.sh("node1", "ovs-ofctl del-flows br-int cookie=%s/-1", s.cookie("node1", "dl_dst="+pod.MAC, "priority=50", "NXM_NX_REG15"))
		},
		object: "bridge br-int",
		repair: []string{"restart-controller"},
		lost:   []probe{{"shop_web-2", "shop_client", "tcp"}},
	},
	{
		check: "of-flow-drift", name: "logical flow edited", on: "node1",
		how: "ovs-ofctl mod-flows by cookie",
		make: func(s *scene) {
			pod, _ := s.Topology.Pod("shop_client")
			s.sh("node1", "ovs-ofctl mod-flows br-int cookie=%s/-1,actions=drop", s.cookie("node1", "dl_dst="+pod.MAC, "priority=50", "NXM_NX_REG15"))
		},
		object: "bridge br-int",
		repair: []string{"restart-controller"},
		lost:   []probe{{"shop_web-2", "shop_client", "tcp"}},
	},
	{
		check: "of-flow-drift", name: "logical flow led elsewhere", on: "node1", like: "of-flow-drift/logical flow edited",
		how: "ovs-ofctl mod-flows by cookie: the right actions, with another port's number",
		make: func(s *scene) {
			pod, _ := s.Topology.Pod("shop_client")
			cookie := s.cookie("node1", "dl_dst="+pod.MAC, "priority=50", "NXM_NX_REG15")
			s.sh("node1", `flow=$(ovs-ofctl --no-stats dump-flows br-int cookie=%[1]s/-1) && actions=$(echo "$flow" | sed -n 's/.*actions=load:0x[0-9a-f]*->NXM_NX_REG15/load:0x7777->NXM_NX_REG15/p') &&
				test -n "$actions" && ovs-ofctl mod-flows br-int "cookie=%[1]s/-1,actions=$actions"`, cookie)
		},
		object: "bridge br-int",
		repair: []string{"restart-controller"},
		lost:   []probe{{"shop_web-2", "shop_client", "tcp"}},
	},
	{
		check: "of-flow-drift", name: "what a logical flow writes edited", on: "node1",
		how: "ovs-ofctl mod-flows by cookie: the MAC address that a router writes, which only compiling the logical flow shows to be wrong",
		make: func(s *scene) {
			pod, _ := s.Topology.Pod("shop_web-2")
			ip := pod.IPv4.Addr().As4()
			s.sh("node1", `flow=$(ovs-ofctl --no-stats dump-flows br-int cookie=%[1]s/-1) && table=$(echo "$flow" | sed -n 's/.*actions=.*resubmit(,\([0-9]*\)).*/\1/p' | head -1) &&
				test -n "$table" && ovs-ofctl mod-flows br-int "cookie=%[1]s/-1,actions=mod_dl_dst:02:00:00:00:77:77,resubmit(,$table)"`,
				s.cookie("node1", fmt.Sprintf("reg0=0x%x,", binary.BigEndian.Uint32(ip[:])), "priority=100,", pod.MAC))
		},
		object: "bridge br-int",
		repair: []string{"restart-controller"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "of-flow-drift", name: "flow added by hand", on: "node1",
		how:    "ovs-ofctl add-flow",
		make:   func(s *scene) { s.sh("node1", "ovs-ofctl add-flow br-int table=10,priority=65000,icmp,actions=drop") },
		object: "bridge br-int",
		repair: []string{"restart-controller"},
		lost:   []probe{{"shop_client", "shop_web-2", "icmp"}},
	},
	{
		check: "of-flow-drift", name: "flow of a neighbour deleted", on: "node1",
		how: "ovs-ofctl del-flows by cookie",
		make: func(s *scene) {
			s.until("the gateway is learned", func() bool {
				return s.flows(probe{"shop_client", "internet", "icmp"}) && s.sh("central", "ovn-sbctl --bare --columns=mac find MAC_Binding logical_port=rtoe-GR_node1 ip=172.30.0.1") != ""
			})
			id := s.sh("central", "ovn-sbctl --bare --columns=_uuid find MAC_Binding logical_port=rtoe-GR_node1 ip=172.30.0.1")
			s.settle()
			s.sh("node1", "ovs-ofctl del-flows br-int cookie=0x%s/-1", id[:8])
		},
		object: "MAC binding rtoe-GR_node1 172.30.0.1",
		repair: []string{"reinstall-mac-binding", "rtoe-GR_node1", "172.30.0.1"},
	},
}

// reinstalled is what a node's new installation does: another system-id, and ovn-controller starts under it.
func (s *scene) reinstalled(node, id string) {
	s.Helper()
	s.stopController(node)
	s.set(node, "system-id", id)
	s.startController(node)
}

// overdue waits until a chassis that has not followed is behind the others for long enough to be a sign.
func (s *scene) overdue() {
	s.Helper()
	s.sh("central", "ovn-nbctl --timeout=30 --wait=sb sync")
	time.Sleep(32 * time.Second)
}

// staleFaults are rows that nodes leave behind.
var staleFaults = []fault{
	{
		check: "duplicate-chassis-stale", name: "installed again at another address", on: "central",
		how: "system-id and address changed while ovn-controller was down",
		make: func(s *scene) {
			s.repair = []string{"delete-chassis", s.systemID("node3")}
			s.stopController("node3")
			s.sh("node3", "ip addr replace 172.30.0.93/32 dev br-ex; ip route replace 172.30.0.0/24 dev br-ex src 172.30.0.93; ip addr del 172.30.0.13/24 dev br-ex; ip route replace 172.30.0.0/24 dev br-ex src 172.30.0.93")
			s.set("node3", "ovn-encap-ip", "172.30.0.93")
			s.set("node3", "system-id", "a0000000-0000-4000-8000-000000000003")
			s.startController("node3")
			s.until("the new chassis is there", func() bool {
				return s.sh("central", "ovn-sbctl --bare --columns=name find Chassis name=a0000000-0000-4000-8000-000000000003") != ""
			})
			for _, p := range s.Topology.Pods {
				if p.Node == "node3" {
					s.until(p.Name+" is bound anew", func() bool {
						id := s.sh("central", "ovn-sbctl --bare --columns=chassis find Port_Binding logical_port=%s", p.Name)
						return id != "" && strings.HasPrefix(s.sh("central", "ovn-sbctl --bare --columns=name list Chassis %s", id), "a0000000")
					})
				}
			}
			s.overdue()
		},
		object: "chassis",
		repair: []string{"delete-chassis"},
	},
}

// TestStaleChassis is a node that was installed again and cannot register: its old row has its tunnel address. Once the
// row is gone the node takes its place, so that it cannot come back: undo says so.
func TestStaleChassis(t *testing.T) {
	for _, release := range []string{"system", "trixie"} {
		t.Run(release, func(t *testing.T) { staleChassis(t, release) })
	}
}

func staleChassis(t *testing.T, release string) {
	l := labtest.Own(t, lab.MixedEncapsulation(), lab.Options{Release: release})
	f := &fault{check: "duplicate-chassis-stale", on: "node3", object: "chassis"}
	s := &scene{T: t, Lab: l, ctx: t.Context(), fault: f, repair: []string{"delete-chassis"}}
	old := s.systemID("node3")
	s.healthy("before the fault")
	if code, out := s.ovnctl("fix", "delete-chassis", old, "--yes", "--max-risk", "high"); code == 0 || !strings.Contains(out, "is alive") {
		t.Fatalf("a chassis that lives is deleted: exit %d:\n%s", code, out)
	}
	s.reinstalled("node3", "a0000000-0000-4000-8000-000000000003")
	s.sh("central", "ovn-nbctl --timeout=30 --wait=sb sync")
	if code, out := s.ovnctl("fix", "delete-chassis", old, "--yes", "--max-risk", "high"); code == 0 || !strings.Contains(out, "has not been behind the others for long enough") {
		t.Fatalf("a chassis is deleted on one witness: exit %d:\n%s", code, out)
	}
	s.overdue()
	s.found(f.check)
	if code, out := s.ovnctl("fix", "delete-chassis", old, "--yes", "--max-risk", "high"); code != 0 {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	s.until("the node has registered", func() bool {
		return s.sh("central", "ovn-sbctl --bare --columns=name find Chassis name=a0000000-0000-4000-8000-000000000003") != ""
	})
	s.settle()
	for _, node := range []string{"node1", "node2"} { // whose tunnel to node3 was replaced, in one change if they were told of both chassis at once
		other := &scene{T: t, Lab: l, ctx: s.ctx, fault: &fault{on: node}}
		if code, out := other.ovnctl("doctor", "--fix", "--yes"); code != 0 {
			t.Errorf("%s: exit %d:\n%s", node, code, out)
		}
	}
	f.lost = []probe{{"sw0-p1", "sw0-p3", "tcp"}, {"sw1-p3", "sw0-p1", "icmp"}}
	s.verifyFixed()
	if code, out := s.ovnctl("fix", "undo", "--yes"); code != 4 {
		t.Errorf("undo after another chassis has the address: exit %d, want 4:\n%s", code, out)
	}
	s.healthy("after the undo that did nothing")
}

// TestHealthyChassis holds that nothing is found of chassis that look odd and are well.
func TestHealthyChassis(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	s := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "node1"}}
	here := func(t *testing.T) {
		t.Helper()
		for _, host := range []string{"node1", "node2", "central"} {
			healthyFrom(t, l, host, "--host-root", filepath.Join(l.Dir, host))
		}
	}
	from := func(t *testing.T) {
		t.Helper()
		here(t)
		healthyFrom(t, l, "node1", "--host-root", filepath.Join(l.Dir, "node1"), "--node-exec", filepath.Join(l.Dir, "enter")+" {hostname}")
	}
	t.Run("quiet for days", func(t *testing.T) {
		ago := time.Now().Add(-5 * 24 * time.Hour).UnixMilli()
		s.sh("central", "for id in $(ovn-sbctl --bare --columns=_uuid list Chassis_Private); do ovn-sbctl set Chassis_Private $id nb_cfg_timestamp=%d; done", ago)
		from(t)
	})
	t.Run("next hop that failed long ago", func(t *testing.T) {
		s.sh("node1", "ip route add 198.51.100.0/24 via 172.30.0.99; ping -q -c1 -W1 198.51.100.1 || true")
		s.until("its failure is ten seconds old", func() bool {
			return s.sh("node1", "ip -s neigh show 172.30.0.99 nud failed | grep -E 'used [0-9]+/[0-9]+/1[0-9]' || true") != ""
		})
		_, out := s.ovnctl("doctor", "--only", "host-path-astray", "-o", "json")
		var r doctor.Report
		if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Passed) != 1 {
			t.Errorf("%v: host-path-astray did not pass: %s", err, out)
		}
		s.sh("node1", "ip route del 198.51.100.0/24 via 172.30.0.99")
	})
	t.Run("chassis of another zone", func(t *testing.T) {
		s.sh("central", "ovn-sbctl chassis-add far geneve 172.30.9.9 -- set Chassis far hostname=node1 other_config:is-remote=true")
		here(t) // --node-exec would lead to another node1, which is not read in its place: see TestForeignChassis
		s.sh("central", "ovn-sbctl chassis-del far; ovn-nbctl --wait=hv sync")
	})
	t.Run("live migration", func(t *testing.T) {
		ver := s.sh("central", "ovn-nbctl get Logical_Switch_Port shop_client options:iface-id-ver")
		s.sh("central", "ovn-nbctl --wait=hv set Logical_Switch_Port shop_client 'options:requested-chassis=\"node1,node2\"'")
		s.sh("node2", "ovs-vsctl add-port br-int arriving -- set Interface arriving type=internal external_ids:iface-id=shop_client external_ids:iface-id-ver=%s", ver)
		s.until("both nodes have it", func() bool {
			return s.sh("central", "ovn-sbctl --bare --columns=additional_chassis find Port_Binding logical_port=shop_client") != ""
		})
		from(t)
		s.sh("node2", "ovs-vsctl del-port arriving")
		s.sh("central", "ovn-nbctl --wait=hv set Logical_Switch_Port shop_client options:requested-chassis=node1")
	})
}
