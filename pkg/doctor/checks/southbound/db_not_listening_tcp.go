package southbound

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DBNotListeningTCP = &doctor.Check{
	Name:     "db-not-listening-tcp",
	Category: "sb",
	Doc: `A database does not take connections from the nodes

Its server does not run, hangs, or listens on its local socket alone.`,
	Causes: []string{"db-disk-full-or-corrupt", "tls-cert-expired-or-wrong-ca"},
	Run: func(p *doctor.Pass) {
		told := map[string]bool{}
		for _, s := range p.Servers() {
			if f, ok := notServing(p, &s); ok {
				p.Report(f)
				told[s.Database] = true
			}
		}
		for _, h := range p.Hosts {
			if !told["OVN_Southbound"] {
				refusedToNode(p, h)
			}
		}
		for _, problem := range p.Problems {
			if (problem.What == "OVN_Northbound" || problem.What == "OVN_Southbound") && !told[problem.What] && errors.Is(problem.Err, syscall.ECONNREFUSED) {
				p.Report(doctor.Finding{
					Object:   doctor.DatabaseObject(problem.What),
					Title:    fmt.Sprintf("nobody takes connections for %s at %s", problem.What, problem.Where),
					Evidence: []doctor.Evidence{{Source: doctor.Other("connecting to " + problem.Where), Says: "connection refused"}},
					Cause:    "the server does not run, or listens on its local socket alone",
					Effect:   notServedEffect(problem.What),
					Next:     "run ovnctl doctor on the database's host",
				})
			}
		}
	},
}

func notServedEffect(database string) string {
	if database == "OVN_Northbound" {
		return "nobody can change the logical network"
	}
	return "no node is told anything new: no port is bound, no flow changes; what is installed goes on"
}

// notServing says what keeps a server from being reached.
func notServing(p *doctor.Pass, s *doctor.Server) (doctor.Finding, bool) {
	f := doctor.Finding{Object: s.Object(), Also: s.Concerns(), Effect: notServedEffect(s.Database)}
	switch s.Liveness {
	case snapshot.Refused:
		return f, notRunning(p, s, &f)
	case snapshot.Hung:
		f.Title = fmt.Sprintf("the server of %s on %s runs but does not answer", s.Database, s.Host.Name)
		f.Evidence = []doctor.Evidence{{Source: doctor.Other("control socket " + s.Control), Says: "no answer to version in time"}}
		f.Cause = "it is stopped, or busy for long"
		f.Next = "see what it does (top, its log) before it is started again; a process in state T was stopped by a signal: kill -CONT PID"
		return f, true
	}
	return f, notListening(p, s, &f)
}

// notRunning fills in the finding of a server that does not run, if it is meant to.
func notRunning(p *doctor.Pass, s *doctor.Server, f *doctor.Finding) bool {
	left, _ := s.Host.Glob(doctor.RunDir(s.Host) + "/" + s.Control + ".*")
	if len(left) == 0 && slices.ContainsFunc(p.Zones, func(z *snapshot.Zone) bool {
		_, err := doctor.ZoneReader(z, s.Database)
		return err == nil
	}) {
		return false // a file of old: the database is served elsewhere
	}
	f.Title = fmt.Sprintf("the server of %s on %s does not run", s.Database, s.Host.Name)
	f.Evidence = []doctor.Evidence{{Source: doctor.Other("control socket " + s.Control), Says: "nobody listens"}, {Source: doctor.File(s.File, 0), Says: "is there"}}
	for _, path := range left {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File(path, 0), Says: "left by a server that is gone"})
	}
	f.Cause = "it was stopped, ended on an error, or was never started"
	if lines, err := s.Host.LogLines(s.Log); err == nil && len(lines) > 0 {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("log " + s.Log + ", last line"), Says: lines[len(lines)-1].Raw})
	}
	f.Next = fmt.Sprintf("systemctl start ovn-ovsdb-server-%[1]s, or /usr/share/ovn/scripts/ovn-ctl start_%[1]s_ovsdb with the options that it had", doctor.DatabasePart(s.Database))
	return true
}

// notListening fills in the finding of a server that no other host can reach.
func notListening(p *doctor.Pass, s *doctor.Server, f *doctor.Finding) bool {
	text, err := s.Host.Control(s.Control, "ovsdb-server/list-remotes")
	if err != nil {
		return false
	}
	away := chassisElsewhere(p, s.Host)
	if s.Database != "OVN_Southbound" || away == "" {
		return false // all who need it may be here
	}
	listens := strings.Fields(text)
	f.Evidence = []doctor.Evidence{{Source: doctor.Other("ovsdb-server/list-remotes on " + s.Host.Name), Says: strings.Join(listens, " ")}}
	if i := slices.IndexFunc(listens, func(r string) bool { return strings.HasPrefix(r, "db:") }); i >= 0 {
		remote, err := connectionTargets(p, s.Database)
		if err != nil {
			return false
		}
		listens = append(slices.Delete(listens, i, i+1), remote...)
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other(s.Database + " Connection"), Says: doctor.OrNone(strings.Join(remote, " "))})
	}
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.SB("Chassis", ""), Says: away + " is another host"})
	passive := slices.DeleteFunc(listens, func(r string) bool { return !strings.HasPrefix(r, "ptcp:") && !strings.HasPrefix(r, "pssl:") })
	switch {
	case len(passive) == 0:
		f.Title = fmt.Sprintf("%s on %s listens on its local socket alone", s.Database, s.Host.Name)
		f.Cause = "there is no Connection row for the network, and none on the server's command line"
	case !slices.ContainsFunc(passive, reachable):
		f.Title = fmt.Sprintf("%s on %s listens on its loopback address alone", s.Database, s.Host.Name)
		f.Cause = "its connections name an address that no other host reaches"
	default:
		return false
	}
	f.Fix = doctor.ListenCall(s.Database)
	return true
}

// connectionTargets are the targets of a database's Connection rows.
func connectionTargets(p *doctor.Pass, database string) ([]string, error) {
	err := errors.New("no zone")
	for _, z := range p.Zones {
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

// reachable says that a server listens at more than the loopback address:
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

// chassisElsewhere is a chassis on another host that a zone has; empty: there is none.
func chassisElsewhere(p *doctor.Pass, h *snapshot.Host) string {
	for _, z := range p.Zones {
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

// refusedToNode looks for a node whose ovn-controller is refused by every server.
func refusedToNode(p *doctor.Pass, h *snapshot.Host) {
	if d, err := h.Daemon("ovn-controller"); err != nil || d.Liveness != snapshot.Answers {
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
		Object: doctor.Object{Kind: "database", Name: "OVN_Southbound"},
		Also:   []doctor.Object{{Kind: "node", Name: h.Name}},
		Title:  fmt.Sprintf("nobody takes connections at %s, where %s looks for OVN_Southbound", named, h.Name),
		Cause:  "the server there does not run, listens on its local socket alone or at another port, or the address is wrong",
		Effect: notServedEffect("OVN_Southbound"),
		Next:   fmt.Sprintf("run ovnctl doctor on the database's host; if the address is wrong: ovs-vsctl set Open_vSwitch . external_ids:ovn-remote=… on %s", h.Name),
	}
	f.Evidence = []doctor.Evidence{{Source: doctor.Other("connection-status of ovn-controller on " + h.Name), Says: strings.TrimSpace(state)}}
	all := doctor.Endpoints(named)
	for _, r := range all {
		says, refused := refusal(p, h, r)
		if !refused {
			return
		}
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("connecting to " + r), Says: says})
	}
	if len(all) > 0 {
		p.Report(f)
	}
}

// refusal says whether a server refused a node's connection, asked from here or by
// what the node's ovn-controller wrote of it last.
func refusal(p *doctor.Pass, h *snapshot.Host, remote string) (string, bool) {
	if !doctor.OverNetwork(remote) {
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
