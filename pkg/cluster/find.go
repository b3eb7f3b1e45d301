package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A central is one of a zone's two databases, with the names by which it is found.
type central struct {
	name   string // of the database
	flag   string
	env    string
	key    string // in external_ids of the local Open_vSwitch
	socket string // in a run directory
	remote func(Config) string
}

var (
	northbound = central{"OVN_Northbound", "--nb", "OVN_NB_DB", "ovn-nb", "ovnnb_db.sock", func(c Config) string { return c.NB }}
	southbound = central{"OVN_Southbound", "--sb", "OVN_SB_DB", "ovn-remote", "ovnsb_db.sock", func(c Config) string { return c.SB }}
)

// A finder looks for what the Config does not name.
type finder struct{ Config }

// A place is where an Open vSwitch keeps its sockets. A far one is reached over the network: its control sockets are
// not here.
type place struct {
	dir    string // the run directory, as seen from here
	root   string // the server's root directory, for the names in its database
	remote string // of Open_vSwitch
	far    bool
}

// vswitch finds the local Open vSwitch. One that was named, or left traces of running here, is found even without its
// socket.
func (f *finder) vswitch() (place, bool) {
	if f.OVS != "" {
		path, unix := strings.CutPrefix(f.OVS, "unix:")
		return place{dir: filepath.Dir(path), root: f.HostRoot, remote: f.OVS, far: !unix}, true
	}
	dirs := node.OVSRunDirs
	if dir := f.runDir("OVS_RUNDIR"); dir != "" {
		dirs = []string{dir}
	}
	for _, file := range []string{"db.sock", "ovsdb-server.pid", "ovs-vswitchd.pid"} {
		for _, dir := range dirs {
			if exists(f.host(dir, file)) {
				return placeAt(f.HostRoot, node.HostPath(f.HostRoot, dir)), true
			}
		}
	}
	if len(dirs) == 1 {
		return place{}, false
	}
	for _, root := range f.rootsOf("ovsdb-server", "ovs-vswitchd") {
		for _, dir := range dirs {
			if exists(node.Resolve(root, filepath.Join(dir, "db.sock"))) {
				return placeAt(root, dir), true
			}
		}
	}
	return place{}, false
}

func placeAt(root, dir string) place {
	dir = node.Resolve(root, dir)
	return place{dir: dir, root: root, remote: "unix:" + filepath.Join(dir, "db.sock")}
}

// ovnDir returns the local ovn-controller's run directory as seen from here.
func (f *finder) ovnDir() string {
	if dir := f.runDir("OVN_RUNDIR"); dir != "" {
		return f.host(dir)
	}
	for _, root := range append([]string{f.HostRoot}, f.rootsOf("ovn-controller")...) {
		for _, dir := range node.OVNRunDirs {
			dir := node.Resolve(root, dir)
			if matches, _ := filepath.Glob(filepath.Join(dir, "ovn-controller.*")); len(matches) > 0 {
				return dir
			}
		}
	}
	return ""
}

// central returns the run directory of the OVN databases or ovn-northd that this host runs or ran; empty if there is
// no trace of any.
func (f *finder) central() string {
	has := func(dir string) bool {
		for _, pattern := range []string{"ovnnb_db.*", "ovnsb_db.*", "ovn-northd.*"} {
			if matches, _ := filepath.Glob(filepath.Join(dir, pattern)); len(matches) > 0 {
				return true
			}
		}
		return false
	}
	if dir := os.Getenv("OVN_RUNDIR"); dir != "" {
		dir = f.host(dir)
		if has(dir) || f.centralFiles() {
			return dir
		}
		return ""
	}
	for _, root := range append([]string{f.HostRoot}, f.rootsOf("ovn-northd")...) {
		for _, dir := range node.OVNRunDirs {
			if dir := node.Resolve(root, dir); has(dir) {
				return dir
			}
		}
	}
	if f.centralFiles() {
		return f.host(node.DefaultOVNRunDir)
	}
	return ""
}

// centralFiles reports whether there are files of the OVN databases on this host.
func (f *finder) centralFiles() bool {
	dirs := []string{"/var/lib/ovn", "/etc/ovn", "/var/snap/microovn/common/data/central/db"}
	if dir := os.Getenv("OVN_DBDIR"); dir != "" {
		dirs = []string{dir}
	}
	for _, dir := range dirs {
		for _, file := range []string{"ovnnb_db.db", "ovnsb_db.db"} {
			if exists(f.host(dir, file)) {
				return true
			}
		}
	}
	return false
}

// inactive reports whether this host has an Open_vSwitch database file, and its system-id: what is left of an Open
// vSwitch that is down.
func (f *finder) inactive(ctx context.Context) (id string, ok bool) {
	dirs := []string{"/etc/openvswitch", "/var/lib/openvswitch"}
	if dir := os.Getenv("OVS_DBDIR"); dir != "" {
		dirs = []string{dir}
	}
	for _, dir := range dirs {
		path := f.host(dir, "conf.db")
		if ok = exists(path); !ok {
			continue
		}
		if db, err := ovsdb.OpenFile(path); err == nil {
			var s system
			if err := ovsdb.Load(ctx, db, &s); err == nil {
				id = s.id("system-id")
			}
			_ = db.Close()
		}
		break
	}
	if id != "" {
		return id, ok
	}
	etc := cmp.Or(os.Getenv("OVS_SYSCONFDIR"), "/etc")
	if text, err := os.ReadFile(f.host(etc, "openvswitch/system-id.conf")); err == nil {
		id = strings.TrimSpace(string(text))
	}
	return id, ok
}

// remote finds the remotes of a database; empty if nothing names one.
func (f *finder) remote(which central, local func() *system) string {
	if r := cmp.Or(which.remote(f.Config), os.Getenv(which.env)); r != "" {
		return r
	}
	if dir := f.runDir("OVN_RUNDIR"); dir != "" {
		if path := f.host(dir, which.socket); exists(path) {
			return "unix:" + path
		}
	}
	if s := local(); s.id(which.key) != "" {
		// A host's own value overrides the common one.
		return f.below(cmp.Or(s.id(which.key+"-"+s.id("system-id")), s.id(which.key)))
	}
	for _, dir := range node.OVNRunDirs {
		if path := f.host(dir, which.socket); exists(path) {
			return "unix:" + path
		}
	}
	for _, root := range f.rootsOf("ovsdb-server", "ovn-northd", "ovn-controller") {
		for _, dir := range node.OVNRunDirs {
			if path := node.Resolve(root, filepath.Join(dir, which.socket)); exists(path) {
				return "unix:" + path
			}
		}
	}
	return ""
}

// runDir returns the directory in an environment variable as a path of the host; a leading HostRoot is removed.
func (f *finder) runDir(name string) string {
	dir := os.Getenv(name)
	if inside, ok := strings.CutPrefix(dir, filepath.Clean(f.HostRoot)+"/"); ok && f.HostRoot != "" {
		return "/" + inside
	}
	return dir
}

// below translates the host's socket paths to those seen from here.
func (f *finder) below(remotes string) string {
	if f.HostRoot == "" {
		return remotes
	}
	list := strings.Split(remotes, ",")
	for i, r := range list {
		if path, ok := strings.CutPrefix(strings.TrimSpace(r), "unix:"); ok {
			list[i] = "unix:" + f.host(path)
		}
	}
	return strings.Join(list, ",")
}

// host returns a path of the host as seen from here. One already below the host's root, as the environment may have
// it, is not prefixed again.
func (f *finder) host(parts ...string) string {
	return node.Resolve(f.HostRoot, node.HostPath(f.HostRoot, filepath.Join(parts...)))
}

// rootsOf lists the root directories of running daemons that have their own, that is, run in containers; newest
// first.
func (f *finder) rootsOf(daemons ...string) []string {
	own, _ := os.Readlink(f.proc("self", "root"))
	var roots []string
	for _, pid := range f.processes(daemons...) {
		root := f.proc(strconv.Itoa(pid), "root")
		if link, err := os.Readlink(root); err != nil || link == "/" && own == "/" && sameFile(root, f.proc("self", "root")) {
			continue
		}
		roots = append(roots, root)
	}
	return roots
}

func (f *finder) proc(parts ...string) string {
	return filepath.Join(append([]string{node.ProcRoot(f.HostRoot)}, parts...)...)
}

// processes lists the running daemons with these names, newest first. Those of another network namespace are not this host's:
// they may be another deployment's.
func (f *finder) processes(daemons ...string) []int {
	self := "self"
	if f.HostRoot != "" { // a debug container may have a network namespace of its own
		self = "1"
	}
	here, _ := os.Readlink(f.proc(self, "ns/net"))
	all, _ := os.ReadDir(f.proc())
	var pids []int
	for _, process := range all {
		pid, err := strconv.Atoi(process.Name())
		if err != nil {
			continue
		}
		comm, err := os.ReadFile(f.proc(process.Name(), "comm"))
		if err != nil || !slices.Contains(daemons, strings.TrimSpace(string(comm))) {
			continue
		}
		if there, err := os.Readlink(f.proc(process.Name(), "ns/net")); err == nil && here != "" && there != here {
			continue
		}
		pids = append(pids, pid)
	}
	slices.SortFunc(pids, func(a, b int) int { return b - a })
	return pids
}

func needsTLS(remotes string) bool {
	return slices.ContainsFunc(strings.Split(remotes, ","), func(r string) bool { return strings.HasPrefix(strings.TrimSpace(r), "ssl:") })
}

// tls finds the files of this host's TLS identity: those in the local Open_vSwitch, else on its ovn-controller's
// command line.
func (f *finder) tls(local *localNode) ovsdb.TLSFiles {
	if len(local.system.SSL) > 0 {
		s := local.system.SSL[0]
		return f.files(local.root, s.PrivateKey, s.Certificate, s.CACert)
	}
	for _, pid := range f.processes("ovn-controller", "ovn-northd") {
		b, err := os.ReadFile(f.proc(strconv.Itoa(pid), "cmdline"))
		if err != nil {
			continue
		}
		args := strings.Split(string(bytes.TrimRight(b, "\x00")), "\x00")
		key, cert, ca := node.Option(args, "-p", "--private-key"), node.Option(args, "-c", "--certificate"), node.Option(args, "-C", "--ca-cert")
		if key != "" && cert != "" {
			return f.files(f.proc(strconv.Itoa(pid), "root"), key, cert, ca)
		}
	}
	return ovsdb.TLSFiles{}
}

func (f *finder) files(root string, key, cert, ca string) ovsdb.TLSFiles {
	t := f.TLS
	for _, x := range []struct {
		to   *string
		path string
	}{{&t.PrivateKey, key}, {&t.Certificate, cert}, {&t.CACert, ca}} {
		if x.path != "" && x.path != "none" {
			*x.to = node.Resolve(root, x.path)
		}
	}
	return t
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil || errors.Is(err, fs.ErrPermission)
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
