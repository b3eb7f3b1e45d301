//go:build lab

package faults

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

var twoLooks = []string{"--sample", "3s"}

var countersFaults = []fault{
	{
		check: "tunnel-port-blocked", on: "node1",
		how: "the network between the nodes drops UDP port 6081 to node2",
		make: func(s *scene) {
			s.afar("12s")
			s.sh("fab", `printf 'table bridge secgroup {\n chain blocked {\n type filter hook forward priority 0;\n ip daddr 172.30.0.12 udp dport 6081 counter drop\n }\n}\n' | nft -f -`)
			s.Cleanup(func() { s.try("fab", "nft delete table bridge secgroup") })
			s.keeps("shop_client", "ping -i 0.2 10.244.2.5")
		},
		mend:   func(s *scene) { s.sh("fab", "nft delete table bridge secgroup") },
		object: "on node1",
		lost:   []probe{{"shop_client", "shop_web-2", "icmp"}},
	},
	{
		check: "tx-checksum-offload-broken", on: "node1", userspace: true, // a packet that stays in the kernel keeps its mark, and needs no checksum
		how: "ethtool -K tx on where nothing fills checksums in, at another host", args: twoLooks,
		make: func(s *scene) {
			s.sh("fab", "for d in inet node1 under; do ethtool -K $d tx on >/dev/null; done")
			s.sh("internet", "ethtool -K eth0 tx on >/dev/null")
			s.Cleanup(func() {
				s.try("fab", "for d in inet node1 under; do ethtool -K $d tx off >/dev/null; done")
				s.try("internet", "ethtool -K eth0 tx off >/dev/null")
			})
			s.keeps("internet", "bash", "-c", "while :; do echo x >/dev/udp/172.30.0.11/99; sleep 0.3; done")
		},
		mend: func(s *scene) {
			s.sh("internet", "ethtool -K eth0 tx off >/dev/null")
			s.sh("fab", "for d in inet node1 under; do ethtool -K $d tx off >/dev/null; done")
		},
		object: "node node1",
	},
	{
		check: "resubmit-limit", on: "node1",
		how: "ovs-ofctl add-flow on br-ex: 70 times 70 resubmits",
		make: func(s *scene) {
			s.sh("node1", `again() { i=0; while [ $i -lt 70 ]; do printf ",resubmit(,$1)"; i=$((i+1)); done; }
				ovs-ofctl -O OpenFlow13 add-flow br-ex "priority=3000,icmp,nw_dst=203.0.113.10,actions=resubmit(,71)$(again 71)"
				ovs-ofctl -O OpenFlow13 add-flow br-ex "table=71,priority=0,actions=resubmit(,72)$(again 72)"`)
			s.keeps("node1", "ping -i 0.5 203.0.113.10")
		},
		mend: func(s *scene) {
			s.sh("node1", "ovs-ofctl -O OpenFlow13 del-flows br-ex icmp,nw_dst=203.0.113.10; ovs-ofctl -O OpenFlow13 del-flows br-ex table=71")
		},
		object: "bridge br-ex on node1",
		lost:   []probe{{"node1", "internet", "icmp"}},
	},
	{
		check: "datapath-flow-limit", on: "node1",
		how: "ovs-vsctl set Open_vSwitch . other_config:flow-limit=2", args: twoLooks,
		make: func(s *scene) {
			s.sh("node1", "ovs-vsctl set Open_vSwitch . other_config:flow-limit=2")
			s.Cleanup(func() { s.try("node1", "ovs-vsctl remove Open_vSwitch . other_config flow-limit") })
			s.traffic()
		},
		mend:   func(s *scene) { s.sh("node1", "ovs-vsctl remove Open_vSwitch . other_config flow-limit") },
		object: "daemon ovs-vswitchd on node1",
		repair: []string{"raise-flow-limit"},
	},
	{
		check: "fdb-wrapping", on: "node1",
		how: "other_config:mac-table-size=10, and packets from more MAC addresses", args: twoLooks,
		make: func(s *scene) {
			s.sh("node1", "ovs-vsctl set Bridge br-ex other_config:mac-table-size=10")
			s.Cleanup(func() { s.try("node1", "ovs-vsctl remove Bridge br-ex other_config mac-table-size") })
			s.keeps("node1", "sh", "-c", `i=0; while :; do
				m=$(printf 02%02x%02x%02x01%02x $((i%251)) $((i%13)) $((i%7)) $((i%256))); i=$((i+1))
				ovs-ofctl -O OpenFlow13 packet-out br-ex "in_port=eth0 packet=ffffffffffff${m}080600010800060400010a0000000001c0000201000000000000c0000202 actions=normal"
				sleep 0.05; done`)
			s.until("the table is full and addresses are driven out", func() bool {
				return strings.Contains(s.sh("node1", "ovs-appctl fdb/stats-show br-ex"), ": 10/10") &&
					strings.Contains(s.sh("node1", "ovs-appctl coverage/show"), "mac_learning_evicted")
			})
		},
		mend: func(s *scene) {
			s.sh("node1", "ovs-vsctl remove Bridge br-ex other_config mac-table-size; ovs-appctl fdb/flush br-ex")
		},
		object: "bridge br-ex on node1",
		repair: []string{"enlarge-mac-table", "br-ex"},
	},
	{
		check: "conntrack-table-full", name: "table", on: "node1",
		how: "dpctl/ct-set-maxconns 2 and three connections",
		make: func(s *scene) {
			s.sh("node1", "ovs-appctl dpctl/ct-set-maxconns 2")
			s.Cleanup(func() { s.try("node1", "ovs-appctl dpctl/ct-set-maxconns 3000000") })
			s.traffic()
		},
		mend:   func(s *scene) { s.sh("node1", "ovs-appctl dpctl/ct-set-maxconns 3000000") },
		object: "node node1", userspace: true, // the kernel's connections are the whole machine's: see package machine
		repair: []string{"raise-conntrack-limit", "netdev@ovs-netdev"},
	},
	{
		check: "conntrack-table-full", name: "zone", on: "node1",
		how: "dpctl/ct-set-limits of a pod's zone to 1, and a connection",
		make: func(s *scene) {
			zone := s.sh("node1", `ovn-appctl -t ovn-controller ct-zone-list | awk '$1 == "shop_client" {print $2}'`)
			s.sh("node1", "ovs-appctl dpctl/ct-set-limits zone=%s,limit=1", zone)
			s.Cleanup(func() { s.try("node1", "ovs-appctl dpctl/ct-del-limits zone="+zone) })
			s.repair = []string{"raise-conntrack-limit", "zone=" + zone, "1000"}
			s.traffic()
		},
		mend: func(s *scene) {
			s.sh("node1", "ovs-appctl dpctl/ct-del-limits $(echo %s | tr ' ' ,)", s.repair[1])
		},
		object: "ct zone shop_client on node1",
		lost:   []probe{{"shop_client", "shop_web-1", "tcp"}},
	},
	{
		check: "dpdk-not-initialised", on: "node1",
		how:    "ovs-vsctl set Open_vSwitch . other_config:dpdk-init=true",
		make:   func(s *scene) { s.sh("node1", "ovs-vsctl set Open_vSwitch . other_config:dpdk-init=true") },
		mend:   func(s *scene) { s.sh("node1", "ovs-vsctl remove Open_vSwitch . other_config dpdk-init") },
		object: "daemon ovs-vswitchd on node1",
	},
}

// afar has doctor look at the other nodes, too, and twice.
func (s *scene) afar(sample string) {
	s.fault.args = []string{"--node-exec", filepath.Join(s.Dir, "enter") + " {hostname}", "--sample", sample}
}

// keeps keeps a command running on a host or in a pod until the fault is over.
func (s *scene) keeps(host, command string, args ...string) {
	s.Helper()
	if len(args) == 0 {
		f := strings.Fields(command)
		command, args = f[0], f[1:]
	}
	cmd := exec.Command(filepath.Join(s.Dir, "enter"), append([]string{host, command}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
}

// traffic keeps a pod of node1 talking to pods on each node.
func (s *scene) traffic() {
	s.Helper()
	for _, to := range []string{"10.244.1.5", "10.244.2.5", "10.244.3.5"} {
		s.keeps("shop_client", "ping -i 0.1 "+to)
	}
}

// try runs a shell script that may fail: what it takes back may be gone already.
func (s *scene) try(host, script string) {
	_ = exec.Command(filepath.Join(s.Dir, "enter"), host, "sh", "-c", script).Run()
}

// TestStopChecksumOffload switches off what a link leaves to hardware, and on again: a link behind a bridge without
// hardware, from which no connection comes about as long as nobody fills the checksums in.
func TestStopChecksumOffload(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	s := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "node1"}}
	s.sh("node1", `ip link add va type veth peer name vb; ip link set va up; ip link set vb up; ovs-vsctl add-port br-ex vb
		ip addr add 172.30.0.77/32 dev va; ip route add 172.30.0.13/32 dev va src 172.30.0.77`)
	connects := func(want bool, when string) {
		t.Helper()
		if got := s.runs("node1", "timeout 3 bash -c 'exec 3<>/dev/tcp/172.30.0.13/8080'"); got != want {
			t.Errorf("%s: a connection to node3 comes about: %v, want %v", when, got, want)
		}
	}
	connects(false, "before")
	features := func() string {
		return s.sh("node1", "ethtool -k va | grep -E '^tx-checksumming|tx-checksum-|segmentation|scatter'")
	}
	before := features()
	if !strings.Contains(before, "tx-checksumming: on") {
		t.Fatalf("a veth without offload:\n%s", before)
	}
	if code, out := s.ovnctl("fix", "stop-checksum-offload", "nope", "--yes"); code == 0 || !strings.Contains(out, "va") {
		t.Errorf("of no link: exit %d:\n%s", code, out)
	}
	if code, out := s.ovnctl("fix", "stop-checksum-offload", "va", "--dry-run"); code != 0 || features() != before || !strings.Contains(out, "ethtool -K va tx off") {
		t.Errorf("plan: exit %d:\n%s", code, out)
	}
	if code, out := s.ovnctl("fix", "stop-checksum-offload", "va", "--yes"); code != 0 {
		t.Fatalf("exit %d:\n%s", code, out)
	}
	if !strings.Contains(features(), "tx-checksumming: off") {
		t.Errorf("after the repair:\n%s", features())
	}
	connects(true, "after the repair")
	if code, out := s.ovnctl("fix", "stop-checksum-offload", "va", "--yes"); code == 0 || !strings.Contains(out, "does not offload checksums") {
		t.Errorf("once more: exit %d:\n%s", code, out)
	}
	if code, out := s.ovnctl("fix", "undo", "1", "--yes"); code != 0 { // the last was refused: which one is meant is asked
		t.Fatalf("undo: exit %d:\n%s", code, out)
	}
	if after := features(); after != before {
		t.Errorf("after undo:\n%s\nwant:\n%s", after, before)
	}
	connects(false, "after undo")
	if code, out := s.ovnctl("fix", "stop-checksum-offload", "va", "--yes"); code != 0 {
		t.Fatalf("again: exit %d:\n%s", code, out)
	}
	if connects(true, "after the repair, again"); !strings.Contains(features(), "tx-checksumming: off") {
		t.Errorf("after the repair, again:\n%s", features())
	}
}

// TestOffloadIsANote holds that hw-offload=true is told of, and is no fault.
func TestOffloadIsANote(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	s := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "node1"}}
	s.sh("node1", "ovs-vsctl set Open_vSwitch . other_config:hw-offload=true")
	r := s.examine("--only", "hw-offload-hides-counters")
	if r.Worst().Fault() || len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Title, "node1 lets its NICs") {
		t.Errorf("%s", fmt.Sprint(r))
	}
}
