package node

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A System is a host beyond its switch and network: daemons, their logs and processes, services, file systems.
type System interface {
	// Dirs are the directories of the host's daemons, as host paths.
	Dirs(ctx context.Context) (Dirs, error)
	// Daemons are the programs that have, or had, a control socket or pidfile in the run directories of Open
	// vSwitch and OVN, each queried for its version.
	Daemons(ctx context.Context) ([]Daemon, error)
	// Log is the end of a daemon's log, at most the last MiB in whole lines, from its most recently written file
	// in the log directories.
	Log(ctx context.Context, daemon string) (string, error)
	// Glob lists the paths that match a path.Match pattern, in order, at most 10,000. A wildcard matches no name
	// that begins with a dot.
	Glob(ctx context.Context, pattern string) ([]string, error)
	// Processes are those of Open vSwitch and OVN on this host, by pid. Other hosts' on the same kernel are not
	// included.
	Processes(ctx context.Context) ([]Process, error)
	// Space is the space of the file system that holds a path.
	Space(ctx context.Context, path string) (Space, error)
	// Unit is a systemd service; ErrUnavailable where systemd is not PID 1.
	Unit(ctx context.Context, name string) (Unit, error)
	// Firewall lists the chains of the host's packet filter, nftables and iptables-legacy. An error means unknown,
	// an empty list means none.
	Firewall(ctx context.Context) ([]Chain, error)
	// Sockets are those of the host's own network that receive packets.
	Sockets(ctx context.Context) ([]Socket, error)
	// Features are the offloads of a link, as `ethtool -k` names them.
	Features(ctx context.Context, link string) (map[string]bool, error)
}

// A DaemonState is what a control socket shows of its daemon.
type DaemonState string

// The states of a daemon. A pidfile proves nothing; the socket decides.
const (
	Answers  DaemonState = "answers"
	Hung     DaemonState = "does not answer" // it took the connection but did not reply
	Refused  DaemonState = "refused"         // no listener any more
	NoSocket DaemonState = "no socket"       // only a pidfile is left
)

// A Daemon is a program as its control socket shows it, unixctl(7).
type Daemon struct {
	Name    string      `json:"name"`              // "ovs-vswitchd", "ovnnb_db", …
	Path    string      `json:"path"`              // of the socket or leftover pidfile; a host path
	PID     int         `json:"pid,omitempty"`     // from the socket's name or the pidfile: may be a container's
	State   DaemonState `json:"state"`             //
	Version string      `json:"version,omitempty"` // "3.1.0", if it replies
}

// A Process is a daemon, or a script that runs one in a container, as /proc shows it.
type Process struct {
	PID       int       `json:"pid"`
	Name      string    `json:"name"`              // "ovs-vswitchd", "ovsdb-server", "ovn-controller", "ovnkube.sh", …
	Args      []string  `json:"args"`              // its command line
	Exe       string    `json:"exe,omitempty"`     // its program, as a path where it runs
	Deleted   bool      `json:"deleted,omitempty"` // Exe was replaced or deleted on disk
	State     string    `json:"state,omitempty"`   // proc(5): "S", "R", "T" for stopped, "Z" for dead
	Started   time.Time `json:"started,omitzero"`
	Container bool      `json:"container,omitempty"`
	Cgroup    string    `json:"cgroup,omitempty"`
	RunDir    string    `json:"runDir,omitempty"` // OVS_RUNDIR or OVN_RUNDIR in its environment, if set
}

// Space is a file system's space, in bytes.
type Space struct {
	Size int64 `json:"size"`
	Free int64 `json:"free"` // for an ordinary user
}

// A Unit is a systemd service.
type Unit struct {
	Name   string `json:"name"`
	Load   string `json:"load"`   // "loaded", "not-found", "masked"
	Active string `json:"active"` // "active", "inactive", "failed", …
	Sub    string `json:"sub"`
	File   string `json:"file"` // "enabled", "disabled", "static", "masked", …; empty if not found
}

// Limits of what a System reads.
const (
	maxLog     = 1 << 20
	maxGlob    = 10000
	maxDaemons = 200
)

// daemonPrograms are the process names of Open vSwitch and OVN, and of the scripts that run them in containers.
var daemonPrograms = []string{
	"ovs-vswitchd", "ovsdb-server", "ovn-controller", "ovn-controller-vtep", "ovn-northd", "ovn-ic", "ovsdb-relay",
	"ovs-monitor-ipsec", "ovnkube", "kube-ovn-daemon", "kube-ovn-controller", "neutron-ovn-metadata-agent",
	"ovnkube.sh", "ovs-ctl", "ovn-ctl", "start-ovs.sh", "start-db.sh", "start-controller.sh",
}

// daemonProgram finds a process's name among those of Open vSwitch and OVN: its program's, or that of the script
// that a shell or interpreter runs.
func daemonProgram(args []string) (string, bool) {
	for _, a := range args[:min(len(args), 3)] {
		name := a[strings.LastIndexByte(a, '/')+1:]
		if slices.Contains(daemonPrograms, name) {
			return name, true
		}
		switch name {
		case "sh", "bash", "dash", "ash", "busybox", "tini", "dumb-init", "python", "python3", "-e", "-x", "-ex", "-xe", "--":
		default:
			return "", false
		}
	}
	return "", false
}

// containerWords occur in the cgroup of a process in a container.
var containerWords = []string{"kubepods", "docker", "containerd", "cri-", "crio", "libpod", "lxc", "podman", "machine.slice"}

// contained reports whether a process runs in a container, relative to the first process: by its PID namespace and
// cgroup.
func contained(cgroup, firstCgroup, pidNS, firstPidNS string) bool {
	if pidNS != "" && firstPidNS != "" && pidNS != firstPidNS {
		return true
	}
	// The first process may itself be in a container that is the whole host.
	own := strings.TrimPrefix(cgroup, strings.TrimSuffix(firstCgroup, "/init.scope"))
	return slices.ContainsFunc(containerWords, func(w string) bool { return strings.Contains(own, w) })
}

// mainCgroup is a process's cgroup in the most telling hierarchy: version 2's, or systemd's, or the longest of the
// others.
func mainCgroup(text string) string {
	best := ""
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		if (f[0] == "0" || f[1] == "name=systemd") && len(f[2]) > 1 {
			return f[2]
		}
		if len(f[2]) > len(best) {
			best = f[2]
		}
	}
	return best
}

// daemonOf parses the name of a control socket or pidfile.
func daemonOf(file string) (d Daemon, socket, ok bool) {
	name, socket := strings.CutSuffix(file, ".ctl")
	if !socket {
		if name, ok = strings.CutSuffix(file, ".pid"); !ok || checkControl(name, "version", nil) != nil {
			return d, false, false
		}
		return Daemon{Name: name}, false, true
	}
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		pid, ok := parsePID(name[i+1:])
		if !ok {
			return d, true, false
		}
		d.PID, name = pid, name[:i]
	}
	d.Name = name
	return d, true, checkControl(name, "version", nil) == nil
}

// versionOf is the version in a daemon's reply: "ovn-controller 23.03.1", then lines about its libraries.
func versionOf(reply string) string {
	line, _, _ := strings.Cut(reply, "\n")
	line = strings.TrimSpace(line)
	return line[strings.LastIndexByte(line, ' ')+1:]
}

func sortDaemons(list []Daemon) {
	slices.SortFunc(list, func(a, b Daemon) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path)) })
}

// dropPidfiles removes the pidfiles of daemons that also have a socket.
func dropPidfiles(list []Daemon) []Daemon {
	return slices.DeleteFunc(list, func(d Daemon) bool {
		return d.State == NoSocket && slices.ContainsFunc(list, func(o Daemon) bool { return o.Name == d.Name && o.State != NoSocket })
	})
}

// checkName refuses what cannot name a log or service; names become parts of paths and, on other nodes, of
// commands.
func checkName(what, name string) error {
	if name == "" || name[0] == '-' || name[0] == '.' || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.@:-") != "" {
		return badName(what, name)
	}
	return nil
}

// lastLines is a log's end; if cut, without its partial first line.
func lastLines(text string, cut bool) string {
	if cut {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// parseUnit parses `systemctl show`.
func parseUnit(name, text string) Unit {
	u := Unit{Name: name}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "LoadState":
			u.Load = value
		case "ActiveState":
			u.Active = value
		case "SubState":
			u.Sub = value
		case "UnitFileState":
			u.File = value
		}
	}
	return u
}

var unitProperties = []string{"show", "--no-pager", "--property=LoadState,ActiveState,SubState,UnitFileState"}

// daemonComm reports whether a process's short name may be a daemon's or script's.
func daemonComm(comm string) bool {
	for _, prefix := range []string{"ovs", "ovn", "kube-ovn", "neutron-ovn", "start-", "python"} {
		if strings.HasPrefix(comm, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"sh", "bash", "dash", "ash", "busybox", "tini", "dumb-init"}, comm)
}

func splitArgs(cmdline string) []string {
	return strings.Split(strings.TrimRight(cmdline, "\x00"), "\x00")
}

// runDirOf is the run directory in a process's environment.
func runDirOf(name string, environ iter.Seq[string]) string {
	key := "OVS_RUNDIR="
	if ovnDaemon(name) {
		key = "OVN_RUNDIR="
	}
	for e := range environ {
		if dir, ok := strings.CutPrefix(e, key); ok {
			return dir
		}
	}
	return ""
}

// bootTime is the kernel's boot time, from /proc/stat.
func bootTime(stat string) time.Time {
	for line := range strings.Lines(stat) {
		if s, ok := strings.CutPrefix(line, "btime "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
				return time.Unix(n, 0).UTC()
			}
		}
	}
	return time.Time{}
}

// parseStat parses a process's state and start time from its stat, proc(5): the 3rd and 22nd fields; the second
// may hold blanks.
func parseStat(stat string, boot time.Time) (state string, started time.Time) {
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 20 {
		return "", started
	}
	if ticks, err := strconv.ParseInt(f[19], 10, 64); err == nil && !boot.IsZero() {
		started = boot.Add(time.Duration(ticks) * (time.Second / 100)) // always 100 to userspace
	}
	return f[0], started
}

func sortProcesses(list []Process) {
	slices.SortFunc(list, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
}
