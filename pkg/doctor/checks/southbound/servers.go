package southbound

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DBNotListeningTCP = &doctor.Check{
	Name:     "db-not-listening-tcp",
	Category: "sb",
	Doc: `A database does not accept connections from the nodes

Its server is down, hangs, or listens on its local socket only.`,
	Causes: []string{"db-disk-full-or-corrupt", "tls-cert-expired-or-wrong-ca"},
	Run: func(p *doctor.Pass) {
		reported := map[string]bool{}
		for _, s := range p.Servers() {
			if f, ok := notServing(p, &s); ok {
				p.Report(f)
				reported[s.Database] = true
			}
		}
		for _, h := range p.Hosts {
			if !reported["OVN_Southbound"] {
				refusedToNode(p, h)
			}
		}
		for _, problem := range p.Problems {
			refusedHere(p, problem.What, problem.Where, problem.Err, reported)
		}
	},
}

// refusedHere reports a database whose server refused ovnctl's own connection.
func refusedHere(p *doctor.Pass, database, endpoint string, err error, reported map[string]bool) {
	if (database != "OVN_Northbound" && database != "OVN_Southbound") || reported[database] || !errors.Is(err, syscall.ECONNREFUSED) {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.DatabaseObject(database),
		Reason:   "refused",
		Title:    fmt.Sprintf("no server of %s accepts connections at %s", database, endpoint),
		Evidence: []doctor.Evidence{doctor.Endpoint(endpoint).Says("connection refused")},
		Cause:    "the server is down, or listens on its local socket only",
		Effect:   notServedEffect(database),
		Next:     "run ovnctl doctor on the database's host",
	})
}

func notServedEffect(database string) string {
	if database == "OVN_Northbound" {
		return "the logical network cannot be changed"
	}
	return "nodes get no updates: no port is bound, no flow changes; installed flows keep working"
}

// notServing reports why a server cannot be reached.
func notServing(p *doctor.Pass, s *doctor.Server) (doctor.Finding, bool) {
	f := doctor.Finding{Object: s.Object(), Also: s.Also(), Effect: notServedEffect(s.Database)}
	switch s.Liveness {
	case snapshot.Refused:
		return f, notRunning(p, s, &f)
	case snapshot.Hung:
		f.Reason = "hung"
		f.Title = fmt.Sprintf("the server of %s on %s runs but does not reply", s.Database, s.Host.Name)
		f.Evidence = []doctor.Evidence{controlSocket(s).Says("no reply to version in time")}
		f.Cause = "it is stopped, or busy for long"
		f.Next = "see what it does (top, its log) before you restart it; a process in state T was stopped by a signal: kill -CONT PID"
		return f, true
	}
	return f, notListening(p, s, &f)
}

// notRunning fills in the finding of a server that is down but should run.
func notRunning(p *doctor.Pass, s *doctor.Server, f *doctor.Finding) bool {
	left, _ := s.Host.Glob(doctor.RunDir(s.Host) + "/" + s.Control + ".*")
	for z := range p.ZonesOf(s.Host) {
		if _, err := doctor.DatabaseReader(z, s.Database); err == nil && len(left) == 0 {
			return false // an old file: the database is served elsewhere
		}
	}
	f.Reason = "not-running"
	f.Title = fmt.Sprintf("the server of %s on %s is down", s.Database, s.Host.Name)
	f.Evidence = []doctor.Evidence{controlSocket(s).Says("refuses the connection"), doctor.File(s.File, 0).On(s.Host.Name).Says("exists")}
	for _, path := range left {
		f.Evidence = append(f.Evidence, doctor.File(path, 0).On(s.Host.Name).Says("left by a server that has ended"))
	}
	f.Cause = "it was stopped, ended on an error, or was never started"
	if lines, err := s.Host.LogLines(s.Log); err == nil && len(lines) > 0 {
		f.Evidence = append(f.Evidence, doctor.Log(s.Log).On(s.Host.Name).Says("ends with: "+lines[len(lines)-1].Raw))
	}
	f.Next = fmt.Sprintf("systemctl start ovn-ovsdb-server-%[1]s, or /usr/share/ovn/scripts/ovn-ctl start_%[1]s_ovsdb with its previous options", doctor.DatabasePart(s.Database))
	return true
}

// notListening fills in the finding of a server that other hosts cannot reach.
func notListening(p *doctor.Pass, s *doctor.Server, f *doctor.Finding) bool {
	text, err := s.Host.Control(s.Control, "ovsdb-server/list-remotes")
	if err != nil {
		return false
	}
	away := chassisElsewhere(p, s.Host)
	if s.Database != "OVN_Southbound" || away == "" {
		return false // all its clients may be local
	}
	listens := strings.Fields(text)
	f.Evidence = []doctor.Evidence{s.Reply("ovsdb-server/list-remotes").Says(strings.Join(listens, " "))}
	if i := slices.IndexFunc(listens, func(r string) bool { return strings.HasPrefix(r, "db:") }); i >= 0 {
		remote, err := connectionTargets(p, s)
		if err != nil {
			return false
		}
		listens = append(slices.Delete(listens, i, i+1), remote...)
		f.Evidence = append(f.Evidence, doctor.SB("Connection", "").Says(cmp.Or(strings.Join(remote, " "), "none")))
	}
	f.Evidence = append(f.Evidence, doctor.SB("Chassis", "").Says(away+" is on another host"))
	passive := slices.DeleteFunc(listens, func(r string) bool { return !strings.HasPrefix(r, "ptcp:") && !strings.HasPrefix(r, "pssl:") })
	switch {
	case len(passive) == 0:
		f.Reason = "local-socket-only"
		f.Title = fmt.Sprintf("%s on %s listens on its local socket only", s.Database, s.Host.Name)
		f.Cause = "neither a Connection row nor the server's command line names a network endpoint"
	case !slices.ContainsFunc(passive, reachable):
		f.Reason = "loopback-only"
		f.Title = fmt.Sprintf("%s on %s listens on its loopback address only", s.Database, s.Host.Name)
		f.Cause = "its connections name an address that other hosts cannot reach"
	default:
		return false
	}
	f.Fix = catalog.ListenDatabase.With(s.Database).At(s.Host.Name)
	return true
}

// connectionTargets returns the targets of the Connection rows in a server's database.
func connectionTargets(p *doctor.Pass, s *doctor.Server) ([]string, error) {
	err := errors.New("no zone")
	for z := range p.ZonesOf(s.Host) {
		rows, problem := z.Connections(s.Database)
		if problem != nil {
			err = problem
			continue
		}
		var targets []string
		for _, c := range rows {
			targets = append(targets, c.Target)
		}
		return targets, nil
	}
	return nil, err
}

// reachable reports whether a server listens on more than the loopback address:
// "ptcp:6642", "pssl:6642:0.0.0.0", "ptcp:6642:[::]".
func reachable(remote string) bool {
	_, rest, _ := strings.Cut(remote, ":")
	_, address, found := strings.Cut(rest, ":")
	if !found {
		return true
	}
	a, err := netip.ParseAddr(strings.Trim(address, "[]"))
	return err != nil || !a.IsLoopback()
}

// chassisElsewhere returns a chassis of a host's zone that is on another host; empty if none.
func chassisElsewhere(p *doctor.Pass, h *snapshot.Host) string {
	for z := range p.ZonesOf(h) {
		rows, err := z.Southbound()
		if err != nil {
			continue
		}
		for _, c := range rows.Chassis {
			if c.Name != h.SystemID && c.OtherConfig["is-remote"] != "true" {
				return c.Name
			}
		}
	}
	return ""
}

// refusedToNode reports a node whose ovn-controller is refused by every server.
func refusedToNode(p *doctor.Pass, h *snapshot.Host) {
	state := disconnected(h, "ovn-controller", "connection-status")
	if state == "" {
		return
	}
	sw, err := h.Switch()
	if err != nil || len(sw.OpenvSwitch) != 1 {
		return
	}
	named := sw.OpenvSwitch[0].ExternalIDs["ovn-remote"]
	f := doctor.Finding{
		Object: doctor.SouthboundObject,
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Reason: "refused",
		Title:  fmt.Sprintf("OVN_Southbound refuses the connection of %s at %s", h.Name, named),
		Cause:  "the server there is down, listens on its local socket only or at another port, or the address is wrong",
		Effect: notServedEffect("OVN_Southbound"),
		Next:   fmt.Sprintf("run ovnctl doctor on the database's host; if the address is wrong: ovs-vsctl set Open_vSwitch . external_ids:ovn-remote=… on %s", h.Name),
	}
	f.Evidence = []doctor.Evidence{doctor.Reply("ovn-controller", "connection-status").On(h.Name).Says(state)}
	all := doctor.Endpoints(named)
	for _, r := range all {
		says, refused := refusal(p, h, r)
		if !refused {
			return
		}
		f.Evidence = append(f.Evidence, doctor.Endpoint(r).Says(says))
	}
	if len(all) > 0 {
		p.Report(f)
	}
}

// refusal reports whether a server refuses a node's connection: by connecting from here, or by the last line about it
// in the log of the node's ovn-controller.
func refusal(p *doctor.Pass, h *snapshot.Host, remote string) (string, bool) {
	if !overNetwork(remote) {
		return "", false
	}
	if h.Local {
		err := p.Dial(remote)
		return "connection refused", errors.Is(err, syscall.ECONNREFUSED)
	}
	lines, err := h.LogLines("ovn-controller")
	if err != nil {
		return "", false
	}
	for _, l := range slices.Backward(lines) {
		if l.Module == "reconnect" && strings.HasPrefix(l.Text, remote+": ") && strings.Contains(l.Text, "failed (") {
			return l.Raw, strings.Contains(l.Text, "Connection refused")
		}
	}
	return "", false
}

// overNetwork reports whether an endpoint is reached over the network.
func overNetwork(endpoint string) bool {
	return strings.HasPrefix(endpoint, "tcp:") || strings.HasPrefix(endpoint, "ssl:")
}

const (
	noRoom    = 1 << 20  // with less free space a server soon stops
	largeFile = 64 << 20 // a larger file that compaction would shrink much is reported
)

var DBDiskFullOrCorrupt = &doctor.Check{
	Name:     "db-disk-full-or-corrupt",
	Category: "raft",
	Doc: `The disk of a database is full, or its file is damaged

A server that cannot write its file accepts no changes; one with a damaged file
does not start again, or loses all changes after the damage.`,
	Run: func(p *doctor.Pass) {
		all := p.Servers()
		if len(all) == 0 {
			p.Skip(doctor.ServersElsewhere)
		}
		for _, s := range all {
			if s.File == "" {
				p.Unknown(s.Object(), fmt.Errorf("the path of the file of %s on %s is unknown: the server's command line could not be read", s.Database, s.Host.Name))
				continue
			}
			fullDisk(p, &s, damagedFile(p, &s))
		}
	},
}

// damagedFile reports damage in the file itself.
func damagedFile(p *doctor.Pass, s *doctor.Server) bool {
	says := damage(s.Host, s.File)
	if says != "" && s.Liveness == snapshot.Answers {
		// It may have been read during a write.
		again, err := p.Again()
		if err != nil || again.Host(s.Host.Name) == nil {
			return false
		}
		says = damage(again.Host(s.Host.Name), s.File)
	}
	if says == "" {
		return false
	}
	f := doctor.Finding{
		Object:   s.Object(),
		Also:     s.Also(),
		Reason:   "damaged",
		Title:    fmt.Sprintf("the file of %s on %s is damaged", s.Database, s.Host.Name),
		Evidence: []doctor.Evidence{doctor.File(s.File, 0).On(s.Host.Name).Says(says), controlSocket(s).Says(string(s.Liveness))},
		Cause:    "the disk was full or failed, the host lost power, or something else wrote to the file",
		Effect:   "the server does not start, or all changes after the damage are lost",
		Next: fmt.Sprintf("keep a copy of %s; a cluster member: stop it, move the file aside, let it join again; a standalone server: restore a backup, or what `ovsdb-tool show-log %s` can still read",
			s.File, s.File),
	}
	if s.Liveness == snapshot.Answers {
		f.Next = fmt.Sprintf("the server still has all rows in memory: first `ovsdb-client backup unix:%s/%s.sock %s > COPY`, then `%s` rewrites the file",
			doctor.RunDir(s.Host), s.Control, s.Database, s.ControlCommand("ovsdb-server/compact "+s.Database))
		f.Effect = "after a restart the server does not start, or has lost what it writes now"
	}
	p.Report(f)
	return true
}

// damage returns what is unreadable in a database's file; empty if nothing, or if the file cannot be read from here.
func damage(h *snapshot.Host, file string) string {
	if _, err := h.File(file); errors.Is(err, syscall.EIO) {
		return err.Error()
	} else if err != nil {
		return ""
	}
	content, err := h.DatabaseFile(file)
	switch {
	case err == nil:
		return content.Damage()
	case errors.Is(err, ovsdb.ErrNotJoined):
		return ""
	}
	return err.Error()
}

func controlSocket(s *doctor.Server) doctor.Source {
	return doctor.Socket("control socket " + s.Control).On(s.Host.Name)
}

// storageFailure returns why a server could not write its file; empty if it could, or does not reply.
func storageFailure(s *doctor.Server) string {
	if s.Liveness != snapshot.Answers {
		return ""
	}
	status, err := s.Host.Control(s.Control, "ovsdb-server/get-db-storage-status", s.Database)
	if status = strings.TrimSpace(status); err != nil || strings.HasPrefix(status, "status: ok") {
		return ""
	}
	return status
}

// fullDisk reports a lack of free space for the server's file.
func fullDisk(p *doctor.Pass, s *doctor.Server, damaged bool) {
	f := doctor.Finding{Object: s.Object(), Also: s.Also(), Effect: "the server accepts no changes: " + notServedEffect(s.Database)}
	failed := storageFailure(s)
	f.Show(s.Reply("ovsdb-server/get-db-storage-status " + s.Database).Says(failed))
	if lines, err := s.Host.LogLines(s.Log); err == nil {
		full := doctor.Recent(lines, p.Now().Add(-10*time.Minute), func(l snapshot.LogLine) bool { return strings.Contains(l.Text, "No space left on device") })
		if len(full) > 0 {
			f.Evidence = append(f.Evidence, doctor.Log(s.Log).On(s.Host.Name).Says(full[len(full)-1].Raw))
		}
	}
	dir := path.Dir(s.File)
	space, err := s.Host.Space(dir)
	switch {
	case err == nil:
		f.Evidence = append(f.Evidence, doctor.FileSystem(dir).On(s.Host.Name).Says(fmt.Sprintf("%s of %s free", snapshot.Bytes(space.Free), snapshot.Bytes(space.Size))))
	case failed == "":
		p.Unknown(s.Object(), fmt.Errorf("the free space for %s: %w", s.File, err))
		return
	}
	size, _ := s.Host.FileSize(s.File)
	small := s.Host.SnapshotSize(s.Server)
	f.Evidence = append(f.Evidence, doctor.File(s.File, 0).On(s.Host.Name).Says(snapshot.Bytes(size)))
	swollen := s.Liveness == snapshot.Answers && size > 4*small
	if swollen && err == nil && space.Free >= small {
		f.Fix = catalog.CompactDatabase.With(s.Database).At(s.Host.Name)
	}
	switch {
	case err == nil && space.Free < noRoom:
		f.Reason = "full"
		f.Title = fmt.Sprintf("the disk of %s on %s is full: %s free", s.Database, s.Host.Name, snapshot.Bytes(space.Free))
		f.Cause = "something filled " + dir + ": the database itself or another file"
		f.Next = "free space there: du -x " + dir + "; the server then recovers by itself, else start it"
	case failed != "" && !damaged:
		f.Reason = "write-failed"
		f.Title = fmt.Sprintf("the server of %s on %s failed to write its file", s.Database, s.Host.Name)
		f.Cause = "the disk was full, failed, or was made read-only"
		f.Next = fmt.Sprintf("repair the disk; then `%s` rewrites the file", s.ControlCommand("ovsdb-server/compact "+s.Database))
	case err == nil && swollen && (space.Free < size || size > largeFile && size > 20*small):
		f.Result, f.Reason = doctor.Warning, "not-compacted"
		f.Title = fmt.Sprintf("the file of %s on %s is %s for about %s of rows, with %s free", s.Database, s.Host.Name, snapshot.Bytes(size), snapshot.Bytes(small), snapshot.Bytes(space.Free))
		f.Cause = "many changes in a short time, or the server does not get to compact its file"
		f.Effect = "the disk fills; then the server accepts no changes"
	case err == nil && space.Free < small:
		f.Result, f.Reason = doctor.Warning, "no-room-to-compact"
		f.Title = fmt.Sprintf("%s on %s has no room to compact its file: %s free, about %s needed", s.Database, s.Host.Name, snapshot.Bytes(space.Free), snapshot.Bytes(small))
		f.Cause = "the disk is nearly full"
		f.Effect = "the file grows until the disk is full; then the server accepts no changes"
		f.Next = "free space there: du -x " + dir
	default:
		return
	}
	p.Report(f)
}

var ClientsRefuseRebuiltDB = &doctor.Check{
	Name:     "clients-refuse-rebuilt-db",
	Category: "sb",
	Doc: `A daemon refuses a database that was rebuilt

Clients of a cluster remember how far they have read and refuse servers that are behind
that. After a restore every server is behind.`,
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		for _, c := range []struct{ daemon, database, command string }{
			{"ovn-controller", "OVN_Southbound", "connection-status"},
			{"ovn-northd", "OVN_Southbound", "sb-connection-status"},
			{"ovn-northd", "OVN_Northbound", "nb-connection-status"},
		} {
			refusesRebuilt(p, h, c.daemon, c.database, c.command)
		}
	},
}

func refusesRebuilt(p *doctor.Pass, h *snapshot.Host, daemon, database, command string) {
	state := disconnected(h, daemon, command)
	if state == "" {
		return
	}
	lines, err := h.LogLines(daemon)
	if err != nil {
		p.Unknown(doctor.DaemonObject(h, daemon), fmt.Errorf("%s is not connected to %s, and its log cannot be read: %w", daemon, database, err))
		return
	}
	stale := doctor.Recent(lines, p.Now().Add(-time.Hour), func(l snapshot.LogLine) bool {
		return strings.Contains(l.Text, "clustered database server has stale data") && mayBeAbout(l.Text, database)
	})
	if len(stale) == 0 {
		return
	}
	p.Report(doctor.Finding{
		Object: doctor.DaemonObject(h, daemon),
		Reason: doctor.DatabasePart(database), // ovn-northd is a client of both
		Also:   []doctor.Object{doctor.NodeObject(h.Name), doctor.DatabaseObject(database)},
		Title:  fmt.Sprintf("%s on %s refuses every server of %s: their data is older than what it has read", daemon, h.Name, database),
		Evidence: []doctor.Evidence{
			doctor.Reply(daemon, command).On(h.Name).Says(state),
			doctor.Log(daemon).On(h.Name).Says(stale[len(stale)-1].Raw),
		},
		Cause:  database + " was rebuilt or restored from a copy while the daemon ran",
		Effect: rebuiltEffect(daemon),
		Fix:    catalog.ResetClusterState.With(daemon, database),
	})
}

// disconnected returns the state of a daemon's connection to a database; empty if connected, or if it does not reply.
func disconnected(h *snapshot.Host, daemon, command string) string {
	state, _ := snapshot.Distil(h, daemon+" "+command, func() (disconnection, error) {
		if !doctor.Replies(h, daemon) {
			return "", nil // other checks report it
		}
		reply, err := h.Control(daemon, command)
		if reply = strings.TrimSpace(reply); reply == "connected" {
			reply = ""
		}
		return disconnection(reply), err
	})
	return string(state)
}

// A disconnection is what a daemon says of a connection that it does not have; empty: it has it.
type disconnection string

func rebuiltEffect(daemon string) string {
	if daemon == "ovn-northd" {
		return "no change to the Northbound reaches the nodes"
	}
	return "the node keeps its old flows: new pods, policies and routes have no effect there"
}

// mayBeAbout reports whether a client's log line, which starts with the server's address, may be about a database: the
// default socket and port of the other one rule it out.
func mayBeAbout(text, database string) bool {
	address, _, _ := strings.Cut(text, ": ")
	other := map[string][]string{"OVN_Northbound": {"ovnsb_db.sock", ":6642"}, "OVN_Southbound": {"ovnnb_db.sock", ":6641"}}
	return !slices.ContainsFunc(other[database], func(end string) bool { return strings.HasSuffix(address, end) })
}
