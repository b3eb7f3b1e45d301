package southbound

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
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

// refusedHere reports a database whose server refused the connection of ovnctl itself.
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

// notRunning fills in the finding of a server that is down, if it should run.
func notRunning(p *doctor.Pass, s *doctor.Server, f *doctor.Finding) bool {
	left, _ := s.Host.Glob(doctor.RunDir(s.Host) + "/" + s.Control + ".*")
	if len(left) == 0 && slices.ContainsFunc(p.Zones, func(z *snapshot.Zone) bool {
		_, err := doctor.DatabaseReader(z, s.Database)
		return err == nil
	}) {
		return false // an old file: the database is served elsewhere
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
		return false // all its clients may be on this host
	}
	listens := strings.Fields(text)
	f.Evidence = []doctor.Evidence{s.Reply("ovsdb-server/list-remotes").Says(strings.Join(listens, " "))}
	if i := slices.IndexFunc(listens, func(r string) bool { return strings.HasPrefix(r, "db:") }); i >= 0 {
		remote, err := connectionTargets(p, s.Database)
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
	f.Fix = catalog.ListenDatabase.With(s.Database)
	return true
}

// connectionTargets are the targets of a database's Connection rows.
func connectionTargets(p *doctor.Pass, database string) ([]string, error) {
	err := errors.New("no zone")
	for z := range p.EachZone() {
		rows, problem := z.Connections(database)
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

// chassisElsewhere is a chassis on another host; empty: there is none.
func chassisElsewhere(p *doctor.Pass, h *snapshot.Host) string {
	for z := range p.EachZone() {
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

// refusedToNode reports a node whose ovn-controller every server refuses.
func refusedToNode(p *doctor.Pass, h *snapshot.Host) {
	if !doctor.Replies(h, "ovn-controller") {
		return
	}
	state, err := h.Control("ovn-controller", "connection-status")
	if err != nil || strings.TrimSpace(state) == "connected" {
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
	f.Evidence = []doctor.Evidence{doctor.Reply("ovn-controller", "connection-status").On(h.Name).Says(strings.TrimSpace(state))}
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

// refusal reports whether a server refuses a node's connection: by connecting from here, or by the last line about it in
// the log of the node's ovn-controller.
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
