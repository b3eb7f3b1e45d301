//go:build lab

package faults

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestHealthyRAFT holds that a change of leader is no fault: from each member and from a node, at once after it and
// while the old leader comes back.
func TestHealthyRAFT(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{Cluster: 3, TLS: true})
	s := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "central"}}
	everywhere := func(when string) {
		for _, host := range append([]string{"node1"}, l.Centrals()...) {
			t.Run(when+" "+host, func(t *testing.T) { healthyFrom(t, l, host, "--host-root", l.Dir+"/"+host) })
		}
	}
	everywhere("before")
	for _, part := range []string{"nb", "sb"} {
		s.overthrow(part)
	}
	everywhere("after")
	old := s.leader("sb")
	s.stopServer(old, "sb", syscall.SIGTERM)
	s.startServer(old, "sb")
	// Clients take some seconds to find the new leader, and may lose it once more meanwhile; until then it is true that no
	// ovn-northd works, or that one would not take over.
	var since time.Time
	s.within(2*time.Minute, "every ovn-northd has been connected for a while, one of them active", func() bool {
		if !s.northdsAtWork() {
			since = time.Time{}
			return false
		}
		if since.IsZero() {
			since = time.Now()
		}
		return time.Since(since) > 8*time.Second
	})
	everywhere("after a restart")
}

// northdsAtWork says whether all of the hosts' ovn-northd have both databases, and one is active.
func (s *scene) northdsAtWork() bool {
	s.Helper()
	active := false
	for _, host := range s.Centrals() {
		active = active || strings.Contains(s.sh(host, "ovn-appctl -t ovn-northd status"), "active")
		for _, db := range []string{"nb", "sb"} {
			if strings.TrimSpace(s.sh(host, "ovn-appctl -t ovn-northd %s-connection-status", db)) != "connected" {
				return false
			}
		}
	}
	return active
}

// TestRaftRefusals holds that no member is taken out that may be alive or is needed, that only the leader is told
// anything, and that nothing is changed by what is refused.
func TestRaftRefusals(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{Cluster: 3, TLS: true})
	s := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "central"}}
	refused := func(want string, args ...string) {
		t.Helper()
		code, out := s.ovnctl(append(append([]string{"fix"}, args...), "--yes", "--max-risk", "high")...)
		if code == 0 || !strings.Contains(out, want) {
			t.Errorf("fix %s: exit %d, want a refusal with %q:\n%s", strings.Join(args, " "), code, want, out)
		}
	}
	s.lead("central", "sb")
	second, third := s.member("central2", "sb").ServerID[:4], s.member("central3", "sb").ServerID[:4]
	refused("is connected", "kick-raft-member", "OVN_Southbound", third)
	refused("own member", "kick-raft-member", "OVN_Southbound", s.member("central", "sb").ServerID[:4])
	refused("there are "+"", "kick-raft-member", "OVN_Southbound", "ffff")
	refused("there are OVN_Northbound", "kick-raft-member", "OVN_Westbound", third)
	refused("at most twice", "raise-election-timer", "OVN_Southbound", "5000")
	refused("is 1000 ms", "raise-election-timer", "OVN_Southbound", "1000")
	refused("not a number", "raise-election-timer", "OVN_Southbound", "soon")
	s.stopServer("central3", "sb", syscall.SIGKILL)
	refused("was last heard from", "kick-raft-member", "OVN_Southbound", third)
	s.stopServer("central2", "sb", syscall.SIGKILL)
	s.until("the leader has noticed", func() bool { return s.member("central", "sb").Lost() })
	refused("has no leader", "kick-raft-member", "OVN_Southbound", second)
	s.startServer("central2", "sb")
	s.startServer("central3", "sb")
	s.lead("central2", "sb")
	refused("is not the leader", "kick-raft-member", "OVN_Southbound", third)
	refused("is not the leader", "raise-election-timer", "OVN_Southbound")
	refused("no client", "reset-cluster-state", "ovs-vswitchd")
	refused("does not read", "reset-cluster-state", "ovn-controller", "nb")
	refused("no schema", "upgrade-database", "OVN_Southbound")
	refused("already", "listen-database", "OVN_Southbound", "pssl:6642")
	refused("listens at", "listen-database", "OVN_Southbound", "tcp:6642")
	if n := len(s.member("central", "sb").Peers); n != 3 {
		t.Errorf("%d members, want 3", n)
	}
	s.fault = &fault{on: "node1"}
	refused("no server", "kick-raft-member", "OVN_Southbound", third)
	refused("no server", "compact-database", "OVN_Southbound")
}

// TestCompactRefusal holds that nothing is compacted where there is no room.
func TestCompactRefusal(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	s := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "central"}}
	s.smallDisk()
	s.sh("central", "dd if=/dev/zero of=$OVN_DBDIR/core bs=64k 2>/dev/null || :")
	before, err := os.ReadFile(s.dbFile("central", "sb"))
	if err != nil {
		t.Fatal(err)
	}
	code, out := s.ovnctl("fix", "compact-database", "OVN_Southbound", "--yes", "--max-risk", "high")
	if code == 0 || !strings.Contains(out, "free some space") {
		t.Errorf("exit %d, want a refusal:\n%s", code, out)
	}
	if after, err := os.ReadFile(s.dbFile("central", "sb")); err != nil || len(after) < len(before) {
		t.Errorf("the file was written anew (%v)", err)
	}
	s.sh("central", "rm $OVN_DBDIR/core")
	s.largeDisk()
}
