//go:build lab

package faults

import (
	"errors"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// refused holds that a repair is refused with these words, and that the node is as it was before.
func (s *scene) refused(words string, repair ...string) {
	s.Helper()
	look := "ip -o addr; ip route show table all; (ovs-vsctl --timeout=2 show && ovs-ofctl dump-flows br-int | wc -l) 2>&1 || true"
	before := s.sh(s.fault.on, "%s", look)
	code, out := s.ovnctl(append([]string{"fix", "--yes", "--max-risk", "high"}, repair...)...)
	if code != 4 || !strings.Contains(out, words) {
		s.Errorf("fix %s: exit %d, want 4 with %q:\n%s", strings.Join(repair, " "), code, words, out)
	}
	if after := s.sh(s.fault.on, "%s", look); after != before {
		s.Errorf("fix %s was refused and changed something:\n%s\n%s", strings.Join(repair, " "), before, after)
	}
}

// TestNodeRefusals holds that what would black a node out is refused, and changes nothing.
func TestNodeRefusals(t *testing.T) {
	t.Parallel()
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	on := func(t *testing.T) *scene { return &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "node1"}} }

	t.Run("fail_mode of br-int", func(t *testing.T) {
		on(t).refused("deletes all its flows for good", "standalone-bridge", "br-int")
	})

	t.Run("a start of ovsdb-server that deletes the uplink", func(t *testing.T) {
		s := on(t)
		s.transientUplink(debianRelease)
		s.rootFile("node1", debianDefault, "OVS_CTL_OPTS=\"--delete-transient-ports\"\n")
		s.sh("node1", "ovs-appctl -t ovsdb-server exit")
		s.until("ovsdb-server has ended", func() bool { return s.runs("node1", "! ovs-vsctl --timeout=1 show >/dev/null 2>&1") })
		s.refused("would delete the transient port eth0", "restore-switch-database")
		s.sh("node1", "/usr/share/openvswitch/scripts/ovs-ctl --no-ovs-vswitchd --no-monitor --no-mlockall --system-id=%s --no-record-hostname --ovsdb-server-priority= start", s.systemID("node1"))
		plainUplink(s)
		s.healthy("afterwards")
	})

	t.Run("the only link, and no watchdog", func(t *testing.T) {
		s := on(t)
		s.sh("node1", "ovs-vsctl del-port br-ex eth0")
		args := s.flags("fix", "attach-uplink", "br-ex", "--yes", "--max-risk", "high", "-t", "2")
		cmd := s.Program(s.ctx, "node1", append([]string{"unshare", "--pid", "--fork", "--kill-child", program}, args...)...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 4 || !strings.Contains(string(out), "ovnctl runs in its own PID namespace") {
			t.Errorf("fix in a PID namespace of its own: %v:\n%s", err, out)
		}
		if ports := s.sh("node1", "ovs-vsctl list-ports br-ex"); strings.Contains(ports, "eth0") {
			t.Errorf("eth0 was attached without a watchdog: %s", ports)
		}
		s.sh("node1", "ovs-vsctl add-port br-ex eth0")
		s.healthy("afterwards")
	})
}

// TestChassisRefusals holds that a chassis is deleted only on two witnesses of its death, and never with what nobody
// would take over.
func TestChassisRefusals(t *testing.T) {
	t.Parallel()
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	s := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "node1"}}
	central := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "central"}}
	dead := s.systemID("node2")
	s.refused("it may be alive", "delete-chassis", dead)
	s.sh("node2", "kill -STOP %s", s.pidOf("node2", "ovn-controller"))
	s.overdue()
	s.refused("is alive: its tunnel address 172.30.0.12 replies", "delete-chassis", dead)
	s.sh("node2", "ip link set eth0 down")
	s.until("its silence is seen", func() bool {
		_, out := s.ovnctl("fix", "delete-chassis", dead, "--yes", "--max-risk", "high")
		return !strings.Contains(out, "is alive")
	})
	s.refused("which no other chassis would take over", "delete-chassis", dead)
	s.sh("central", "ip link set eth0 down") // where no chassis answers, the silence of one says nothing
	central.refused("only one sign shows", "delete-chassis", dead)
	s.sh("central", "ip link set eth0 up")
	s.sh("node1", "ip link set eth0 down; ping -c2 -W1 172.30.0.12 >/dev/null || true") // it hears nobody but itself
	s.refused("only one sign shows", "delete-chassis", dead)
	if rows := s.sh("central", "ovn-sbctl --bare --columns=name find Chassis name=%s", dead); rows == "" {
		t.Error("the chassis was deleted")
	}
}

// TestLeasedAddress holds that an address with a lease moves with what is left of it, and that the plan says whose it is.
func TestLeasedAddress(t *testing.T) {
	t.Parallel()
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	s := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "node1"}}
	s.sh("node1", `ip addr del 172.30.0.11/24 dev br-ex; ip addr add 172.30.0.11/24 dev eth0 valid_lft 3000 preferred_lft 2000; ip route replace default via 172.30.0.1 dev eth0`)
	code, out := s.ovnctl("fix", "move-addresses", "br-ex", "--yes", "--max-risk", "high", "--confirm", "gateway")
	if code != 0 || !strings.Contains(out, "172.30.0.11/24 comes from DHCP or a router advertisement and expires in ") || !strings.Contains(out, "run the DHCP client on br-ex") {
		t.Fatalf("fix: exit %d:\n%s", code, out)
	}
	address := s.sh("node1", "ip -4 -o addr show dev br-ex scope global")
	m := regexp.MustCompile(`172\.30\.0\.11/24 .*valid_lft (\d+)sec preferred_lft (\d+)sec`).FindStringSubmatch(address)
	if m == nil {
		t.Fatalf("the address on br-ex has no lease: %s", address)
	}
	for i, most := range []int{3000, 2000} {
		if left, err := strconv.Atoi(m[i+1]); err != nil || left > most || left < most-300 {
			t.Errorf("%d s are left of %d: %s", left, most, address)
		}
	}
	if left := s.sh("node1", "ip -4 -o addr show dev eth0 scope global"); left != "" {
		t.Errorf("left on eth0: %s", left)
	}
	if code, out := s.ovnctl("fix", "undo", "--yes"); code != 0 {
		t.Fatalf("undo: exit %d:\n%s", code, out)
	}
	if back := s.sh("node1", "ip -4 -o addr show dev eth0 scope global"); !strings.Contains(back, "172.30.0.11/24") || strings.Contains(back, "forever") {
		t.Errorf("after undo, on eth0: %s", back)
	}
}
