//go:build lab

package faults

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// databasesFaults are made on single servers.
var databasesFaults = []fault{
	{
		check: "db-not-listening-tcp", name: "local socket alone", on: "central",
		how: "ovsdb-server/remove-remote ptcp:6642",
		make: func(s *scene) {
			s.serverControl("central", "sb", "ovsdb-server/remove-remote ptcp:6642:0.0.0.0")
		},
		mend: func(s *scene) {
			s.serverControl("central", "sb", "ovsdb-server/add-remote ptcp:6642:0.0.0.0")
			s.connected("node1", "node2", "node3")
		},
		object: "database OVN_Southbound",
		repair: []string{"listen-database", "OVN_Southbound"},
	},
	{
		check: "db-not-listening-tcp", name: "loopback alone", on: "central",
		how: "ovn-sbctl set-connection ptcp:6642:127.0.0.1",
		make: func(s *scene) {
			s.serverControl("central", "sb", "ovsdb-server/remove-remote ptcp:6642:0.0.0.0")
			s.sh("central", "ovn-sbctl set-connection ptcp:6642:127.0.0.1")
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-sbctl del-connection")
			s.serverControl("central", "sb", "ovsdb-server/add-remote ptcp:6642:0.0.0.0")
			s.connected("node1", "node2", "node3")
		},
		object: "database OVN_Southbound",
		repair: []string{"listen-database", "OVN_Southbound"},
	},
	{
		check: "db-not-listening-tcp", name: "seen from a node", on: "node1",
		how: "ovsdb-server/remove-remote ptcp:6642",
		make: func(s *scene) {
			s.serverControl("central", "sb", "ovsdb-server/remove-remote ptcp:6642:0.0.0.0")
			s.disconnected("node1")
		},
		mend: func(s *scene) {
			s.serverControl("central", "sb", "ovsdb-server/add-remote ptcp:6642:0.0.0.0")
			s.connected("node1", "node2", "node3")
		},
		object: "database OVN_Southbound",
	},
	{
		check: "db-not-listening-tcp", name: "server killed", on: "central",
		how:    "kill -9 of the Southbound's ovsdb-server",
		make:   func(s *scene) { s.stopServer("central", "sb", syscall.SIGKILL) },
		mend:   func(s *scene) { s.startServer("central", "sb"); s.connected("node1", "node2", "node3") },
		object: "database OVN_Southbound",
	},
	{
		check: "db-not-listening-tcp", name: "server hangs", on: "central",
		how:    "kill -STOP of the Northbound's ovsdb-server",
		make:   func(s *scene) { s.signal("central", "nb", syscall.SIGSTOP) },
		mend:   func(s *scene) { s.signal("central", "nb", syscall.SIGCONT) },
		object: "database OVN_Northbound",
	},
	{
		check: "connection-inactivity-probe-too-short", on: "central",
		how: "a probe of 1 s, and controllers that are busy for longer (SIGSTOP for 2.5 s, again and again)",
		make: func(s *scene) {
			s.serverControl("central", "sb", "ovsdb-server/remove-remote ptcp:6642:0.0.0.0")
			s.sh("central", `ovn-sbctl -- --id=@c create Connection target='"ptcp:6642"' inactivity_probe=1000 -- set SB_Global . connections=@c`)
			s.connected("node1", "node2", "node3")
			for range 3 {
				for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
					for _, node := range []string{"node1", "node2", "node3"} {
						s.kill(s.pid(node, "ovn-controller"), sig)
					}
					if sig == syscall.SIGSTOP {
						time.Sleep(4 * time.Second)
					}
				}
				s.connected("node1", "node2", "node3")
			}
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-sbctl del-connection")
			s.serverControl("central", "sb", "ovsdb-server/add-remote ptcp:6642:0.0.0.0")
			s.connected("node1", "node2", "node3")
		},
		result: doctor.Warning,
		object: "database OVN_Southbound",
		repair: []string{"set-inactivity-probe", "OVN_Southbound"},
	},
	{
		check: "db-disk-full-or-corrupt", name: "disk full", on: "central",
		how: "the databases on a small file system, filled by another file",
		make: func(s *scene) {
			s.smallDisk()
			s.sh("central", "dd if=/dev/zero of=$OVN_DBDIR/core bs=64k 2>/dev/null || :")
		},
		mend:   func(s *scene) { s.sh("central", "rm $OVN_DBDIR/core"); s.largeDisk() },
		object: "database",
	},
	{
		check: "db-disk-full-or-corrupt", name: "never compacted", on: "central",
		how: "the databases on a small file system, and thousands of changes within minutes",
		make: func(s *scene) {
			s.smallDisk()
			s.history()
		},
		again:  (*scene).history,
		mend:   func(s *scene) { s.largeDisk() },
		result: doctor.Warning,
		object: "database OVN_Northbound",
		repair: []string{"compact-database", "OVN_Northbound"},
	},
	{
		check: "db-disk-full-or-corrupt", name: "damaged file", on: "central",
		how: "bytes in the middle of the Northbound's file overwritten",
		make: func(s *scene) {
			f, err := os.OpenFile(filepath.Join(s.Dir, "central/var/lib/ovn/ovnnb_db.db"), os.O_WRONLY, 0)
			if err != nil {
				s.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				s.Fatal(err)
			}
			if _, err := f.WriteAt([]byte(strings.Repeat("\x00", 64)), info.Size()/2); err != nil {
				s.Fatal(err)
			}
		},
		mend:   func(s *scene) { s.serverControl("central", "nb", "ovsdb-server/compact OVN_Northbound") },
		object: "database OVN_Northbound",
	},
	{
		check: "database-needs-upgrade", on: "central",
		how: "ovsdb-client convert to a schema without a column and with an older version",
		make: func(s *scene) {
			text := s.sh("central", "ovsdb-client get-schema unix:$OVN_RUNDIR/ovnnb_db.sock OVN_Northbound")
			s.write("central", "usr/share/ovn/ovn-nb.ovsschema", text)
			var schema map[string]any
			if err := json.Unmarshal([]byte(text), &schema); err != nil {
				s.Fatal(err)
			}
			schema["version"] = "6.0.0"
			delete(schema["tables"].(map[string]any)["Copp"].(map[string]any)["columns"].(map[string]any), "external_ids")
			delete(schema, "cksum")
			older, err := json.Marshal(schema)
			if err != nil {
				s.Fatal(err)
			}
			s.write("central", "older.ovsschema", string(older))
			s.sh("central", "ovsdb-client convert unix:$OVN_RUNDIR/ovnnb_db.sock %s/central/older.ovsschema", s.Dir)
		},
		mend:   func(s *scene) { s.sh("central", "rm -r %s/central/usr", s.Dir) },
		result: doctor.Warning,
		object: "database OVN_Northbound",
		repair: []string{"upgrade-database", "OVN_Northbound"},
	},
	ipsecFault,
}

// history changes a row of the Northbound again and again until its file is many times what is in it.
func (s *scene) history() {
	s.Helper()
	s.sh("central", `for i in $(seq 46); do ovn-nbctl set NB_Global . external_ids:filler=$(printf %%060000d $i); done
		ovn-nbctl remove NB_Global . external_ids filler`)
}

// ipsecFault needs no daemon that the lab lacks: what it lacks is the fault.
var ipsecFault = fault{
	check: "ipsec-down", on: "node1",
	how:    "NB_Global.ipsec=true where no node runs ovs-monitor-ipsec",
	make:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv set NB_Global . ipsec=true") },
	mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv set NB_Global . ipsec=false") },
	object: "on node1",
}

// clusterFaults are made on clusters of three members that speak TLS.
var clusterFaults = []fault{
	{
		check: "raft-no-quorum", on: "central",
		how: "kill -9 of two of three members of the Southbound",
		make: func(s *scene) {
			s.stopServer("central2", "sb", syscall.SIGKILL)
			s.stopServer("central3", "sb", syscall.SIGKILL)
		},
		mend: func(s *scene) {
			s.startServer("central2", "sb")
			s.startServer("central3", "sb")
			s.connected("node1", "node2", "node3")
		},
		object: "database OVN_Southbound",
	},
	{
		check: "raft-no-quorum", name: "seen from a node", on: "node1",
		how: "kill -9 of two of three members of the Southbound",
		make: func(s *scene) {
			s.stopServer("central2", "sb", syscall.SIGKILL)
			s.stopServer("central3", "sb", syscall.SIGKILL)
		},
		mend: func(s *scene) {
			s.startServer("central2", "sb")
			s.startServer("central3", "sb")
			s.connected("node1", "node2", "node3")
		},
		object: "database OVN_Southbound",
	},
	{
		check: "raft-no-quorum", name: "one member cut off", on: "central3",
		how: "routes to the other members black-holed",
		make: func(s *scene) {
			s.sh("central3", "ip route add blackhole 172.30.0.2/32; ip route add blackhole 172.30.0.3/32")
		},
		mend: func(s *scene) {
			s.sh("central3", "ip route del blackhole 172.30.0.2/32; ip route del blackhole 172.30.0.3/32")
		},
		object: "database",
	},
	{
		check: "raft-stale-member", name: "gone", on: "central", like: "raft-stale-member/replaced",
		how: "a member of the Southbound killed, and not started again",
		make: func(s *scene) {
			s.lead("central", "sb")
			id := s.member("central3", "sb").ServerID
			s.stopServer("central3", "sb", syscall.SIGKILL)
			time.Sleep(31 * time.Second) // as long as a repair wants it to be gone
			s.repair = []string{"kick-raft-member", "OVN_Southbound", id[:4]}
		},
		mend:   func(s *scene) { s.rejoin("central3", "sb", "central") },
		object: "member ",
		repair: []string{"kick-raft-member"},
	},
	{
		check: "raft-stale-member", name: "replaced", on: "central",
		how: "a member's file removed, and the member joined anew under the same address",
		make: func(s *scene) {
			s.lead("central", "nb")
			id := s.member("central3", "nb").ServerID
			s.stopServer("central3", "nb", syscall.SIGKILL)
			s.rejoin("central3", "nb", "central")
			s.repair = []string{"kick-raft-member", "OVN_Northbound", id[:4]}
		},
		object: "member ",
		repair: []string{"kick-raft-member"},
	},
	{
		check: "raft-stuck-joining", on: "central3",
		how: "a member's file made anew to join at an address where nobody is",
		make: func(s *scene) {
			s.stopServer("central3", "sb", syscall.SIGKILL)
			s.join("central3", "sb", "ssl:172.30.0.99:6644")
			time.Sleep(11 * time.Second) // longer than joining takes
		},
		mend: func(s *scene) {
			id := s.peerAt("central", "sb", "172.30.0.4")
			s.stopServer("central3", "sb", syscall.SIGKILL)
			s.kick("sb", id)
			s.rejoin("central3", "sb", "central")
		},
		result: doctor.Warning,
		object: "database OVN_Southbound",
	},
	{
		check: "raft-frequent-elections", on: "central",
		how: "each leader of the Southbound stopped for longer than the election timer (SIGSTOP), eight times",
		make: func(s *scene) {
			for range 8 {
				s.overthrow("sb")
			}
			s.lead("central", "sb")
		},
		object:    "database OVN_Southbound",
		repair:    []string{"raise-election-timer", "OVN_Southbound"},
		elections: true,
	},
	{
		check: "clients-refuse-rebuilt-db", name: "ovn-controller", on: "node1",
		how: "the Southbound's cluster removed and built anew under running controllers",
		make: func(s *scene) {
			s.rebuild("sb")
			s.disconnected("node1")
			for _, central := range s.Centrals() {
				s.sh(central, "ovn-appctl -t ovn-northd sb-cluster-state-reset")
			}
			for _, node := range []string{"node2", "node3"} {
				s.sh(node, "ovn-appctl -t ovn-controller sb-cluster-state-reset")
			}
			s.sh("central", "ovn-nbctl --timeout=60 --wait=sb sync")
			s.until("ovn-controller has met the new database", func() bool {
				return strings.Contains(s.sh("node1", "cat $OVN_LOGDIR/ovn-controller.log $OVS_LOGDIR/ovn-controller.log 2>/dev/null || :"), "has stale data")
			})
		},
		object: "daemon ovn-controller on node1",
		repair: []string{"reset-cluster-state", "ovn-controller", "OVN_Southbound"},
	},
	{
		check: "clients-refuse-rebuilt-db", name: "ovn-northd", on: "central",
		how: "the Northbound's cluster restored from a copy under a running ovn-northd",
		make: func(s *scene) {
			s.rebuild("nb")
			for _, central := range s.Centrals()[1:] {
				s.sh(central, "ovn-appctl -t ovn-northd nb-cluster-state-reset")
			}
			s.until("ovn-northd has met the new database", func() bool {
				return strings.Contains(s.sh("central", "cat $OVN_LOGDIR/ovn-northd.log"), "has stale data")
			})
		},
		object: "daemon ovn-northd",
		repair: []string{"reset-cluster-state", "ovn-northd", "OVN_Northbound"},
	},
	{
		check: "tls-cert-expired-or-wrong-ca", name: "expired", on: "node1",
		how:    "the node's certificate replaced by one that ended yesterday",
		make:   func(s *scene) { s.certify("node1", "expired") },
		mend:   func(s *scene) { s.restoreKeys("node1") },
		object: "daemon ovn-controller on node1",
	},
	{
		check: "tls-cert-expired-or-wrong-ca", name: "another CA", on: "node1",
		how: "the node's certificate replaced by one that another CA has signed, and ovn-controller started again",
		make: func(s *scene) {
			s.certify("node1", "foreign")
			s.restartController("node1")
			s.disconnected("node1")
		},
		mend: func(s *scene) {
			s.restoreKeys("node1")
			s.restartController("node1")
			s.connected("node1")
		},
		object: "daemon ovn-controller on node1",
	},
	{
		check: "tls-cert-expired-or-wrong-ca", name: "key of another certificate", on: "node1",
		how:    "the node's private key replaced by another node's",
		make:   func(s *scene) { s.copyKey("node2", "node1") },
		mend:   func(s *scene) { s.restoreKeys("node1") },
		object: "daemon ovn-controller on node1",
	},
	{
		check: "tls-cert-expired-or-wrong-ca", name: "a server's", on: "central",
		how:    "the certificate of a database host replaced by one that ended yesterday",
		make:   func(s *scene) { s.certify("central", "expired") },
		mend:   func(s *scene) { s.restoreKeys("central") },
		object: "daemon ovn",
	},
	{
		check: "sb-rbac-denied", on: "node1",
		how: "role=ovn-controller on the Southbound's connection, and a certificate that is not for the system-id",
		make: func(s *scene) {
			s.sh("central", "ovn-sbctl --db=%s set connection . role=ovn-controller", s.SB())
			s.reconnect()
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-sbctl --db=%s set connection . role='\"\"'", s.SB())
			s.reconnect()
		},
		object: "daemon ovn-controller on node1",
	},
}
