//go:build lab

package faults

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestRestartKeepsTraffic holds that packets go on while ovn-controller is started again, whether it ran, had ended or
// hung: up to OVN 24.09 it would delete the flows of the node first. What is set for that is as before afterwards.
func TestRestartKeepsTraffic(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	for _, c := range []struct{ name, make, repair string }{
		{"runs", "true", "restart-controller"},
		{"ended", "kill -9 $(cat $OVN_RUNDIR/ovn-controller.pid)", "start-controller"},
		{"hangs", "kill -STOP $(cat $OVN_RUNDIR/ovn-controller.pid)", "start-controller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			s := &scene{T: t, Lab: l, ctx: ctx, fault: &fault{on: "node1"}}
			s.until("packets flow", func() bool { return s.flows(probe{"shop_client", "shop_web-1", "icmp"}) })
			before := s.sh("node1", "ovs-vsctl get Open_vSwitch . external_ids")
			s.sh("node1", "%s", c.make)
			sent, received := s.whilePinging("shop_client", "10.244.2.5", func() {
				if code, out := s.ovnctl("fix", c.repair, "--yes", "--max-risk", "high"); code != 0 {
					t.Errorf("fix %s: exit %d:\n%s", c.repair, code, out)
				}
			})
			t.Logf("%d packets sent, %d lost", sent, sent-received)
			if sent < 100 || received < sent-1 {
				t.Errorf("%d packets were sent while ovn-controller started, and %d came back", sent, received)
			}
			if after := s.sh("node1", "ovs-vsctl get Open_vSwitch . external_ids"); after != before {
				t.Errorf("external_ids are %s, were %s", after, before)
			}
		})
	}
}

// whilePinging counts the packets, one every 10 ms, that a pod sends to an address while something is done, and the
// answers. The last of them may still be under way.
func (s *scene) whilePinging(pod, to string, do func()) (sent, received int) {
	s.Helper()
	ping := s.Program(s.ctx, pod, "ping", "-n", "-i", "0.01", to)
	var out strings.Builder
	ping.Stdout = &out
	if err := ping.Start(); err != nil {
		s.Fatal(err)
	}
	time.Sleep(300 * time.Millisecond)
	do()
	time.Sleep(time.Second)
	_ = ping.Process.Signal(os.Interrupt)
	_ = ping.Wait() // its exit code says what the counts say
	for line := range strings.Lines(out.String()) {
		// 1600 packets transmitted, 1600 received, 0% packet loss, time 11762ms
		f := strings.Fields(line)
		if len(f) > 4 && f[1] == "packets" {
			sent, _ = strconv.Atoi(f[0])
			received, _ = strconv.Atoi(f[3])
		}
	}
	return sent, received
}

// TestFixWithoutDaemons holds that one run starts all daemons of Open vSwitch: the database that a repair brings back is read
// by the next look.
func TestFixWithoutDaemons(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s := &scene{T: t, Lab: labtest.Own(t, lab.OVNKubernetes(), lab.Options{}), ctx: ctx, fault: &fault{on: "node1"}}
	flow := func() bool { return s.flows(probe{"shop_client", "shop_web-1", "icmp"}) }
	s.until("packets flow", flow)
	s.sh("node1", "kill $(cat $OVS_RUNDIR/ovs-vswitchd.pid) $(cat $OVS_RUNDIR/ovsdb-server.pid)")
	s.until("the database is gone", func() bool {
		_, err := os.Stat(filepath.Join(s.Dir, "node1/run/openvswitch/db.sock"))
		return err != nil
	})
	cmd := s.Program(ctx, "node1", program, "doctor", "--fix", "--yes", "--max-risk", "high", "--host-root", filepath.Join(s.Dir, "node1"))
	if out, _ := cmd.CombinedOutput(); strings.Count(string(out), "FIXED") < 2 { // ovn-controller may not be connected yet
		t.Errorf("%v:\n%s", cmd.ProcessState, out)
	}
	s.until("packets flow again", flow)
}
