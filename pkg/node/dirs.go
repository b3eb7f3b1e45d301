package node

import (
	"cmp"
	"path"
)

// Dirs are a host's directories, ovs-ctl(8) and ovn-ctl(8).
type Dirs struct {
	OVSRun string `json:"ovsRun"` // /var/run/openvswitch
	OVSLog string `json:"ovsLog"` // /var/log/openvswitch
	OVSDB  string `json:"ovsDB"`  // /etc/openvswitch
	OVNRun string `json:"ovnRun"` // /var/run/ovn
	OVNLog string `json:"ovnLog"` // /var/log/ovn
	OVNDB  string `json:"ovnDB"`  // /var/lib/ovn
	Etc    string `json:"etc"`    // /etc
}

// OVSRunDirs are where Open vSwitch's daemons keep their sockets, by distribution.
var OVSRunDirs = []string{
	DefaultOVSRunDir, "/run/openvswitch",
	"/var/snap/microovn/common/run/switch", "/var/snap/openstack-hypervisor/common/run/openvswitch",
	"/usr/local/var/run/openvswitch", // devstack, built from source
}

// OVNRunDirs are where OVN's daemons and databases keep their sockets, by distribution.
var OVNRunDirs = []string{
	DefaultOVNRunDir, "/run/ovn", "/var/run/ovn-ic",
	"/var/snap/microovn/common/run/ovn", "/var/snap/microovn/common/run/central",
	"/var/snap/openstack-hypervisor/common/run/ovn",
	"/usr/local/var/run/ovn",
	"/var/lib/openvswitch/ovn",           // what is /run/ovn in TripleO's containers
	DefaultOVSRunDir, "/run/openvswitch", // what is /run/ovn in ovn-kubernetes' pods
}

// A dirPlace is one of the Dirs: the daemons' environment variable that names it, and its default places. The
// first place with one of the files wins, else the first that exists, else the first.
type dirPlace struct {
	dir    func(*Dirs) *string
	env    string
	files  []string
	places []string
}

var dirPlaces = []dirPlace{
	{func(d *Dirs) *string { return &d.OVSRun }, "OVS_RUNDIR", []string{"db.sock"}, OVSRunDirs},
	{func(d *Dirs) *string { return &d.OVSLog }, "OVS_LOGDIR", []string{"ovs-vswitchd.log", "ovsdb-server.log"}, []string{
		"/var/log/openvswitch", "/var/log/kolla/openvswitch",
		"/var/snap/microovn/common/logs", "/var/snap/openstack-hypervisor/common/log/openvswitch", "/usr/local/var/log/openvswitch",
	}},
	{func(d *Dirs) *string { return &d.OVSDB }, "OVS_DBDIR", []string{"conf.db"}, []string{
		"/etc/openvswitch", "/var/lib/openvswitch", "/etc/origin/openvswitch",
		"/var/snap/microovn/common/data/switch/db", "/var/snap/openstack-hypervisor/common/etc/openvswitch", "/usr/local/etc/openvswitch",
	}},
	{func(d *Dirs) *string { return &d.OVNRun }, "OVN_RUNDIR", []string{"ovn-controller.pid", "ovn-northd.pid", "ovnnb_db.ctl", "ovnsb_db.ctl"}, OVNRunDirs},
	{func(d *Dirs) *string { return &d.OVNLog }, "OVN_LOGDIR", []string{"ovn-controller.log", "ovn-northd.log", "ovsdb-server-nb.log", "ovsdb-server-sb.log"}, []string{
		"/var/log/ovn", "/var/log/kolla/openvswitch", "/var/log/ovn-kubernetes",
		"/var/snap/microovn/common/logs", "/var/snap/openstack-hypervisor/common/log/ovn", "/usr/local/var/log/ovn",
	}},
	{func(d *Dirs) *string { return &d.OVNDB }, "OVN_DBDIR", []string{"ovnnb_db.db", "ovnsb_db.db"}, []string{
		"/var/lib/ovn", "/etc/ovn", "/var/lib/ovn/etc", "/var/lib/ovn-ic/etc", "/etc/origin/ovn",
		"/var/snap/microovn/common/data/central/db", "/var/lib/openvswitch/ovn", "/var/lib/openvswitch", "/usr/local/etc/ovn",
	}},
	{func(d *Dirs) *string { return &d.Etc }, "OVS_SYSCONFDIR", nil, []string{"/etc"}},
}

// findDirs fills in empty fields from the environment, else from what exists.
func findDirs(known Dirs, getenv func(string) string, exists func(path string) bool) Dirs {
	for _, p := range dirPlaces {
		to := p.dir(&known)
		if *to = cmp.Or(*to, getenv(p.env)); *to == "" {
			*to = p.find(exists)
		}
	}
	return known
}

func (p dirPlace) find(exists func(string) bool) string {
	for _, dir := range p.places {
		for _, file := range p.files {
			if exists(path.Join(dir, file)) {
				return dir
			}
		}
	}
	for _, dir := range p.places {
		if exists(dir) {
			return dir
		}
	}
	return p.places[0]
}

// logFiles lists the files that may hold a daemon's log. OVN's directory depends on who started the daemon: if by
// hand, it is Open vSwitch's.
func (d Dirs) logFiles(daemon string) []string {
	names := []string{daemon}
	switch daemon { // kolla's layout
	case "ovsdb-server-nb":
		names = append(names, "ovn-nb-db")
	case "ovsdb-server-sb":
		names = append(names, "ovn-sb-db")
	}
	var files []string
	for _, name := range names {
		files = append(files, path.Join(d.OVNLog, name+".log"))
		if d.OVSLog != d.OVNLog {
			files = append(files, path.Join(d.OVSLog, name+".log"))
		}
	}
	return files
}
