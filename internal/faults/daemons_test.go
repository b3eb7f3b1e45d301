//go:build lab

package faults

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

const (
	debianRelease = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"
	rockyRelease  = "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nPRETTY_NAME=\"Rocky Linux 9.4\"\n"
	debianDefault = "/etc/default/openvswitch-switch"
	rpmDefault    = "/etc/sysconfig/openvswitch"
)

// pidOf is the process that a pidfile below the host's run directory names.
func (s *scene) pidOf(host, daemon string) string {
	s.Helper()
	dir := "run/openvswitch"
	if strings.HasPrefix(daemon, "ovn") {
		dir = "run/ovn"
	}
	return s.sh(host, "cat %s/%s.pid", filepath.Join(s.Dir, host, dir), daemon)
}

// send sends a signal to a daemon; after one that ends it, its process is waited for.
func (s *scene) send(host, daemon, signal string) {
	s.Helper()
	pid := s.pidOf(host, daemon)
	s.sh(host, "kill -%s %s", signal, pid)
	if signal == "STOP" || signal == "CONT" {
		return
	}
	s.until(daemon+" is gone", func() bool { return !s.runs(host, "test -d /proc/"+pid) })
}

// runs says whether a script ends well.
func (s *scene) runs(host, script string) bool {
	_, err := s.Lab.Run(s.ctx, host, "sh", "-c", script)
	return err == nil
}

// ahead raises the sequence number that everybody is to reach, and waits for nobody.
func (s *scene) ahead() {
	s.Helper()
	// Northd takes it over in a moment; a node that stands still does not.
	s.sh("central", "ovn-nbctl --timeout=10 --wait=sb sync")
}

// aheadOfNorthd raises it where northd itself stands still.
func (s *scene) aheadOfNorthd() {
	s.Helper()
	_ = s.runs("central", "ovn-nbctl --timeout=1 --wait=sb sync")
}

// rootFile writes a file below the host's root.
func (s *scene) rootFile(host, path, text string) {
	s.Helper()
	whole := filepath.Join(s.Dir, host, path)
	cmd := exec.CommandContext(s.ctx, "sh", "-ec", `mkdir -p "$(dirname "$0")"; cat > "$0"`, whole)
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.Fatalf("%s: %v: %s", path, err, out)
	}
}

// transientUplink marks the uplink as ovn-kubernetes does, on a host of a distribution.
func (s *scene) transientUplink(release string) {
	s.Helper()
	s.rootFile("node1", "/etc/os-release", release)
	s.sh("node1", "ovs-vsctl set Port eth0 other_config:transient=true")
}

// plainUplink takes back transientUplink and all files.
func plainUplink(s *scene) {
	root := filepath.Join(s.Dir, "node1")
	s.sh("node1", "ovs-vsctl remove Port eth0 other_config transient; rm -rf %[1]s/etc/os-release %[1]s/etc/default %[1]s/etc/sysconfig %[1]s/etc/systemd %[1]s/usr/lib/systemd", root)
}

// defaultFault is a default file that is broken in one of the ways in which people break it.
func defaultFault(check, name, release, file, text string, object string) fault {
	return fault{
		check: check, name: name, on: "node1", how: "the file written below the host's root, the uplink marked transient",
		make: func(s *scene) {
			s.transientUplink(release)
			if text != "" {
				s.rootFile("node1", file, text)
			}
		},
		mend:   plainUplink,
		object: object,
		repair: []string{"set-transient-default"},
	}
}

var daemonsFaults = []fault{
	defaultFault("transient-default-missing", "as shipped", debianRelease, debianDefault, "# This is a POSIX shell fragment\n\n# OVS_CTL_OPTS: Extra options to pass to ovs-ctl.\n# OVS_CTL_OPTS=\n", debianDefault),
	defaultFault("transient-default-missing", "other options", debianRelease, debianDefault, "# as shipped\nOVS_CTL_OPTS=\"--no-mlockall\"\n", debianDefault),
	defaultFault("transient-default-missing", "rpm without the unit", rockyRelease, rpmDefault, "OPTIONS=\"--no-mlockall\"\n", rpmDefault),
	{
		check: "transient-default-missing", name: "rpm, unit masked", on: "node1", how: "systemctl mask, as a link below the host's root",
		make: func(s *scene) {
			s.transientUplink(rockyRelease)
			s.rootFile("node1", "/usr/lib/systemd/system/ovs-delete-transient-ports.service", "[Service]\nType=oneshot\nExecStart=/usr/share/openvswitch/scripts/ovs-ctl delete-transient-ports\n")
			s.sh("node1", "mkdir -p %[1]s && ln -s /dev/null %[1]s/ovs-delete-transient-ports.service", filepath.Join(s.Dir, "node1/etc/systemd/system"))
		},
		mend: plainUplink, object: rpmDefault, repair: []string{"set-transient-default"},
	},
	defaultFault("transient-default-self-reference", "", debianRelease, debianDefault,
		"# OVS_CTL_OPTS=\nOVS_CTL_OPTS=\"--no-mlockall\"\nOVS_CTL_OPTS=\"$OVS_CTL_OPTS --delete-transient-ports\"\n", debianDefault),
	defaultFault("transient-default-wrong-file-rhel", "", rockyRelease, "/etc/default/openvswitch", "OPTIONS=--delete-transient-ports\n", "/etc/default/openvswitch"),
	defaultFault("transient-default-glued-or-commented", "glued", debianRelease, debianDefault, "FORCE_COREFILES=yesOVS_CTL_OPTS=\"--delete-transient-ports\"\n", debianDefault),
	defaultFault("transient-default-glued-or-commented", "commented", debianRelease, debianDefault, "# OVS_CTL_OPTS=\"--delete-transient-ports\"\n", debianDefault),
	defaultFault("transient-default-glued-or-commented", "quoted", debianRelease, debianDefault, "OVS_CTL_OPTS=\"--delete-transient-ports\" # for reboots\n", debianDefault),
	defaultFault("transient-default-glued-or-commented", "twice", debianRelease, debianDefault, "OVS_CTL_OPTS=\"--delete-transient-ports\"\nOVS_CTL_OPTS=\"--no-mlockall\"\n", debianDefault),
	{
		check: "transient-scrubs-live-pods", on: "node1", how: "ovs-vswitchd started in a PID namespace of its own by ovnkube.sh, pod ports marked transient",
		make: func(s *scene) {
			s.sh("node1", `for i in $(ovs-vsctl --bare --columns=name find Interface 'external_ids:iface-id!=""' type='""'); do ovs-vsctl set Port $i other_config:transient=true; done`)
			s.rootFile("node1", "/etc/os-release", debianRelease)
			dir := filepath.Join(s.Dir, "node1")
			s.rootFile("node1", "/root/ovnkube.sh", "#!/bin/sh\n# starts Open vSwitch with --delete-transient-ports, as that of a container does\novs-vswitchd unix:"+
				dir+"/run/openvswitch/db.sock --no-chdir --pidfile -vconsole:off --log-file="+dir+"/var/log/openvswitch/ovs-vswitchd.log\n")
			s.sh("node1", "ovs-appctl -t ovs-vswitchd exit")
			s.until("the switch has ended", func() bool { return s.runs("node1", "! ovs-appctl -t ovs-vswitchd version >/dev/null 2>&1") })
			time.Sleep(time.Second)
			s.sh("node1", "setsid unshare --pid --fork --mount-proc sh %s/root/ovnkube.sh ovs-server </dev/null >/dev/null 2>&1 &", dir)
			s.until("the switch forwards in its container", func() bool { return s.flows(probe{"shop_client", "shop_web-1", "tcp"}) })
			code, out := s.ovnctl("fix", "set-transient-default", "--yes", "--max-risk", "high")
			if code == 0 || !strings.Contains(out, "ports of live pods") {
				s.Errorf("the option is set although the container would delete the ports of pods: exit %d: %s", code, out)
			}
		},
		mend: func(s *scene) {
			dir := filepath.Join(s.Dir, "node1")
			s.sh("node1", "ovs-appctl -t $(ls -t %s/run/openvswitch/ovs-vswitchd.*.ctl | head -1) exit", dir)
			s.sh("node1", "rm -rf %[1]s/etc/os-release %[1]s/root/ovnkube.sh %[1]s/run/openvswitch/ovs-vswitchd.*", dir)
			s.sh("node1", `for i in $(ovs-vsctl --no-wait --bare --columns=name find Port other_config:transient=true); do ovs-vsctl --no-wait remove Port $i other_config transient; done`)
			s.startVswitchd("node1")
			s.settle()
		},
		object: "node node1", lost: nil,
	},
	{
		check: "conf-db-lost-or-corrupt", name: "damaged while it is served", on: "node1", how: "bytes in the middle of conf.db overwritten",
		make: func(s *scene) {
			s.sh("node1", "printf 'xxxxxxxxxxxxxxxx' | dd of=$OVS_DBDIR/conf.db bs=1 seek=$(($(stat -c %%s $OVS_DBDIR/conf.db) - 40)) conv=notrunc 2>/dev/null")
		},
		mend:   func(*scene) {},
		object: "file /etc/openvswitch/conf.db on node1", repair: []string{"restore-switch-database"},
	},
	{
		check: "conf-db-lost-or-corrupt", name: "removed while it is served", on: "node1", how: "rm conf.db",
		make:   func(s *scene) { s.sh("node1", "rm $OVS_DBDIR/conf.db") },
		mend:   func(*scene) {},
		object: "file /etc/openvswitch/conf.db on node1", repair: []string{"restore-switch-database"},
	},
	{
		check: "conf-db-lost-or-corrupt", name: "empty, and the server does not start", on: "node1", how: "ovs-ctl stop, conf.db cut to nothing as after a full disk, ovs-ctl start in vain",
		make: func(s *scene) {
			s.stopSwitch("node1")
			s.sh("node1", "cp $OVS_DBDIR/conf.db $OVS_DBDIR/kept; : > $OVS_DBDIR/conf.db; printf %%s %s > $OVS_DBDIR/system-id.conf", s.systemIDOf("node1"))
			if s.runs("node1", "/usr/share/openvswitch/scripts/ovs-ctl --no-ovs-vswitchd --no-monitor --system-id=random --no-record-hostname start >/dev/null 2>&1") {
				s.Error("ovsdb-server starts from an empty file")
			}
		},
		mend: func(s *scene) {
			s.sh("node1", "mv $OVS_DBDIR/kept $OVS_DBDIR/conf.db; rm $OVS_DBDIR/system-id.conf")
			s.startSwitch("node1")
		},
		object: "file /etc/openvswitch/conf.db on node1",
	},
	{
		check: "conf-db-lost-or-corrupt", name: "new and empty", on: "node1", how: "ovs-ctl stop, conf.db removed, ovs-ctl start, which makes a new one",
		make: func(s *scene) {
			s.stopSwitch("node1")
			s.sh("node1", "mv $OVS_DBDIR/conf.db $OVS_DBDIR/kept; printf %%s %s > $OVS_DBDIR/system-id.conf", s.systemIDOf("node1"))
			s.sh("node1", "/usr/share/openvswitch/scripts/ovs-ctl --no-ovs-vswitchd --no-monitor --system-id=random --no-record-hostname --ovsdb-server-priority= start")
		},
		mend: func(s *scene) {
			s.sh("node1", "/usr/share/openvswitch/scripts/ovs-ctl stop; mv $OVS_DBDIR/kept $OVS_DBDIR/conf.db; rm $OVS_DBDIR/system-id.conf")
			s.startSwitch("node1")
		},
		object: "database Open_vSwitch on node1",
	},
	{
		check: "conf-db-lost-or-corrupt", name: "server ended", on: "node1", how: "kill -9 of ovsdb-server",
		make:   func(s *scene) { s.send("node1", "ovsdb-server", "KILL") },
		mend:   func(s *scene) { s.sh("node1", "rm -f $OVS_DBDIR/system-id.conf") },
		object: "file /etc/openvswitch/conf.db on node1", repair: []string{"restore-switch-database"},
	},
	{
		check: "kernel-module-missing", on: "node1", how: "ovs-vsctl add-br of a bridge of the kernel's datapath, on a kernel without the module",
		make: func(s *scene) {
			if s.runs("node1", "grep -q ^openvswitch /proc/modules") {
				s.Skip("this kernel has the module")
			}
			s.sh("node1", "ovs-vsctl --timeout=5 add-br br-kernel")
		},
		mend:   func(s *scene) { s.sh("node1", "ovs-vsctl del-br br-kernel") },
		object: "node node1",
	},
	{
		check: "vswitchd-not-running", name: "killed", on: "node1", how: "kill -9",
		make:   func(s *scene) { s.send("node1", "ovs-vswitchd", "KILL") },
		object: "daemon ovs-vswitchd on node1", repair: []string{"start-vswitchd"},
		lost: []probe{{"shop_client", "shop_web-1", "tcp"}, {"shop_client", "internet", "tcp"}},
	},
	{
		check: "vswitchd-not-running", name: "ended", on: "node1", how: "ovs-appctl exit",
		make: func(s *scene) {
			pid := s.pidOf("node1", "ovs-vswitchd")
			s.sh("node1", "ovs-appctl -t ovs-vswitchd exit")
			s.until("it is gone", func() bool { return !s.runs("node1", "test -d /proc/"+pid) })
		},
		object: "daemon ovs-vswitchd on node1", repair: []string{"start-vswitchd"},
		lost: []probe{{"shop_client", "shop_web-1", "tcp"}},
	},
	{
		check: "vswitchd-not-running", name: "hung", on: "node1", how: "kill -STOP",
		make: func(s *scene) { s.send("node1", "ovs-vswitchd", "STOP") }, patience: "1",
		object: "daemon ovs-vswitchd on node1", repair: []string{"start-vswitchd"},
		lost: []probe{{"shop_client", "shop_web-1", "tcp"}},
	},
	{
		check: "integration-bridge-empty", name: "fail mode", on: "node1", how: "ovs-vsctl set-fail-mode br-int standalone; ovn-controller puts it back",
		make: func(s *scene) {
			// A controller may be faster than the switch, which then keeps its flows.
			s.until("the switch has thrown its flows away", func() bool {
				s.sh("node1", "ovs-vsctl --timeout=30 set-fail-mode br-int standalone")
				s.until("ovn-controller has put the mode back", func() bool { return s.sh("node1", "ovs-vsctl get-fail-mode br-int") == "secure" })
				return s.runs("node1", "timeout 5 ovs-ofctl dump-aggregate br-int | grep -q 'flow_count=0$'") // one that comes as the bridge changes may wait forever
			})
		},
		object: "bridge br-int on node1", repair: []string{"restart-controller"},
		lost: []probe{{"shop_client", "shop_web-1", "tcp"}},
	},
	{
		check: "integration-bridge-empty", name: "flows deleted", on: "node1", how: "ovs-ofctl del-flows br-int",
		make:   func(s *scene) { s.sh("node1", "ovs-ofctl del-flows br-int") },
		object: "bridge br-int on node1", repair: []string{"restart-controller"},
		lost: []probe{{"shop_client", "shop_web-1", "tcp"}},
	},
	{
		check: "controller-not-running", name: "killed", on: "node1", how: "kill -9",
		make:   func(s *scene) { s.send("node1", "ovn-controller", "KILL"); s.ahead() },
		object: "daemon ovn-controller on node1", repair: []string{"start-controller"},
	},
	{
		check: "controller-not-running", name: "hung", on: "node1", how: "kill -STOP",
		make: func(s *scene) { s.send("node1", "ovn-controller", "STOP"); s.ahead() }, patience: "1",
		object: "daemon ovn-controller on node1", repair: []string{"start-controller"},
	},
	{
		check: "controller-not-running", name: "ended without --restart", on: "node1", how: "ovn-appctl exit, as systemctl restart does: its chassis goes",
		make: func(s *scene) {
			pid := s.pidOf("node1", "ovn-controller")
			s.sh("node1", "ovn-appctl -t ovn-controller exit")
			s.until("it is gone", func() bool { return !s.runs("node1", "test -d /proc/"+pid) })
			s.ahead()
		},
		object: "daemon ovn-controller on node1", repair: []string{"start-controller"},
	},
	{
		check: "two-vswitchds", on: "node1", how: "ovs-vswitchd started by hand beside the one that runs",
		make: func(s *scene) {
			dir := filepath.Join(s.Dir, "node1")
			s.sh("node1", "setsid ovs-vswitchd unix:%[1]s/run/openvswitch/db.sock --no-chdir -vconsole:off --log-file=%[1]s/var/log/openvswitch/ovs-vswitchd.log </dev/null >/dev/null 2>&1 & echo $! > %[1]s/second", dir)
			s.until("it answers", func() bool {
				return s.runs("node1", "ovs-appctl -t "+dir+"/run/openvswitch/ovs-vswitchd.$(cat "+dir+"/second).ctl version")
			})
		},
		mend: func(s *scene) {
			dir := filepath.Join(s.Dir, "node1")
			s.sh("node1", "ovs-appctl -t %[1]s/run/openvswitch/ovs-vswitchd.$(cat %[1]s/second).ctl exit; rm %[1]s/second", dir)
		},
		object: "daemon ovs-vswitchd on node1",
	},
	{
		check: "daemon-not-restarted-after-upgrade", on: "node1", how: "a copy of ovn-controller started, then the file replaced as a package manager does",
		make: func(s *scene) {
			dir := filepath.Join(s.Dir, "node1")
			s.restartControllerAs("node1", `mkdir -p %[1]s/usr/bin && cp "$(command -v ovn-controller)" %[1]s/usr/bin/ovn-controller &&
				%[1]s/usr/bin/ovn-controller unix:%[1]s/run/openvswitch/db.sock --pidfile --detach --no-chdir -vconsole:off --log-file=%[1]s/var/log/ovn/ovn-controller.log
				cp %[1]s/usr/bin/ovn-controller %[1]s/usr/bin/new && mv %[1]s/usr/bin/new %[1]s/usr/bin/ovn-controller`, dir)
		},
		mend: func(s *scene) {
			s.restartControllerAs("node1", "/usr/share/ovn/scripts/ovn-ctl --no-monitor --ovn-controller-priority= start_controller")
			s.sh("node1", "rm -r %s/usr/bin", filepath.Join(s.Dir, "node1"))
		},
		object: "daemon ovn-controller on node1", result: doctor.Warning,
	},
	{
		check: "controller-not-caught-up", name: "paused", on: "node1", how: "ovn-appctl -t ovn-controller debug/pause",
		make:   func(s *scene) { s.sh("node1", "ovn-appctl -t ovn-controller debug/pause"); s.ahead() },
		mend:   func(s *scene) { s.sh("node1", "ovn-appctl -t ovn-controller debug/resume"); s.settle() },
		object: "chassis",
	},
	{
		check: "controller-northd-version-mismatch", on: "node1", how: "ovn-controller of another release started, ovn-match-northd-version=true",
		twoReleases: true,
		make: func(s *scene) {
			other, err := lab.Installed(s.ctx, otherRelease)
			if err != nil {
				s.Fatal(err)
			}
			s.sh("node1", "ovs-vsctl set Open_vSwitch . external_ids:ovn-match-northd-version=true")
			dir := filepath.Join(s.Dir, "node1")
			s.restartControllerAs("node1", `unshare -m sh -ec 'mkdir -p %[2]s%[3]s && mount --bind %[3]s %[2]s%[3]s && mount --bind /proc %[2]s/proc &&
				exec chroot %[2]s ovn-controller unix:%[1]s/run/openvswitch/db.sock --pidfile --detach --no-chdir -vconsole:off --log-file=%[1]s/var/log/ovn/ovn-controller.log'`, dir, other.Root, s.Dir)
			s.ahead()
		},
		// The newer controller rightly says that the databases are of an older schema, so that no run finds nothing:
		// the repair is tried here, between the fault and the end of it.
		mend: func(s *scene) {
			if code, out := s.ovnctl("fix", "ignore-northd-version", "--yes", "--max-risk", "high"); code != 0 {
				s.Errorf("fix: exit %d: %s", code, out)
			}
			s.settle()
			if code, out := s.ovnctl("fix", "undo", "--yes"); code != 0 {
				s.Errorf("undo: exit %d: %s", code, out)
			}
			if value := s.sh("node1", "ovs-vsctl get Open_vSwitch . external_ids:ovn-match-northd-version"); value != `"true"` {
				s.Errorf("after undo it is %s", value)
			}
			s.sh("node1", "ovs-vsctl remove Open_vSwitch . external_ids ovn-match-northd-version")
			s.restartControllerAs("node1", "/usr/share/ovn/scripts/ovn-ctl --no-monitor --ovn-controller-priority= start_controller")
			s.settle()
		},
		object: "daemon ovn-controller on node1",
	},
	{
		check: "northd-not-active", name: "paused", on: "central", how: "ovn-appctl -t ovn-northd pause",
		make:   func(s *scene) { s.sh("central", "ovn-appctl -t ovn-northd pause"); s.aheadOfNorthd() },
		object: "daemon ovn-northd", repair: []string{"resume-northd"},
	},
	{
		check: "northd-not-active", name: "killed", on: "central", how: "kill -9",
		make:   func(s *scene) { s.send("central", "ovn-northd", "KILL"); s.aheadOfNorthd() },
		object: "daemon ovn-northd", repair: []string{"start-northd"},
	},
	{
		check: "northd-not-active", name: "hung", on: "central", how: "kill -STOP",
		make: func(s *scene) { s.send("central", "ovn-northd", "STOP"); s.aheadOfNorthd() }, patience: "1",
		object: "daemon ovn-northd", repair: []string{"start-northd"},
	},
	{
		check: "northd-not-active", name: "seen from a node", on: "node1", how: "ovn-appctl -t ovn-northd pause on the central host",
		make:   func(s *scene) { s.sh("central", "ovn-appctl -t ovn-northd pause"); s.aheadOfNorthd() },
		mend:   func(s *scene) { s.sh("central", "ovn-appctl -t ovn-northd resume"); s.settle() },
		object: "daemon ovn-northd",
	},
}

// stopSwitch ends both daemons of Open vSwitch, as its service does.
func (s *scene) stopSwitch(host string) {
	s.Helper()
	s.sh(host, "/usr/share/openvswitch/scripts/ovs-ctl stop")
}

// startSwitch starts ovsdb-server, and then ovs-vswitchd.
func (s *scene) startSwitch(host string) {
	s.Helper()
	s.sh(host, "/usr/share/openvswitch/scripts/ovs-ctl --no-ovs-vswitchd --no-monitor --system-id=%s --no-record-hostname --ovsdb-server-priority= start", s.systemIDOf(host))
	s.startVswitchd(host)
	s.settle()
}

func (s *scene) systemIDOf(host string) string {
	n, _ := s.Topology.Node(host)
	return n.SystemID
}

func (s *scene) startVswitchd(host string) {
	s.Helper()
	s.sh(host, "/usr/share/openvswitch/scripts/ovs-ctl --no-ovsdb-server --no-monitor --no-mlockall --system-id=random --no-record-hostname --ovs-vswitchd-priority= start")
}

// restartControllerAs ends ovn-controller, keeping its chassis, and starts it by a script.
func (s *scene) restartControllerAs(host, script string, args ...any) {
	s.Helper()
	pid := s.pidOf(host, "ovn-controller")
	s.sh(host, "ovn-appctl -t ovn-controller exit --restart")
	s.until("ovn-controller is gone", func() bool { return !s.runs(host, "test -d /proc/"+pid) })
	s.sh(host, script, args...)
	ctx, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	if _, err := s.Lab.Run(ctx, host, "ovn-appctl", "-t", "ovn-controller", "version"); err != nil {
		s.Fatal(err)
	}
}
