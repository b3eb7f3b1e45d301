package southbound

import (
	"fmt"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// joinTime is how long a server may take to be let into its cluster.
const joinTime = 2 * time.Minute

var RaftStuckJoining = &doctor.Check{
	Name:     "raft-stuck-joining",
	Category: "raft",
	Doc: `A database server cannot join its cluster

It serves nothing until the cluster's leader adds it.`,
	Causes: []string{"raft-no-quorum", "tls-cert-expired-or-wrong-ca"},
	Run: func(p *doctor.Pass) {
		for _, m := range p.Clustered() {
			if m.Joining() {
				stuckJoining(p, &m)
			}
		}
	},
}

func stuckJoining(p *doctor.Pass, m *doctor.Member) {
	f := doctor.Finding{
		Object:   m.Object(),
		Also:     m.Also(),
		Evidence: []doctor.Evidence{m.Status("Status", "Remotes for joining", "Cluster ID", "Server ID")},
		Effect:   "the cluster lacks this member: it serves nothing, and clients that try it go elsewhere",
		Next: fmt.Sprintf("on this host: stop the server, move %s aside, let it join again with the address of a running member; on the leader remove its old entry (ovnctl fix kick-raft-member %s ID)",
			m.File, m.Database),
	}
	waited, known := waiting(p, m)
	if !known {
		later, err := p.Later()
		if err != nil {
			p.Unknown(m.Object(), fmt.Errorf("%s on %s is joining its cluster, for how long is unknown: %w", m.Database, m.Host.Name, err))
			return
		}
		if h := later.Host(m.Host.Name); h == nil {
			return
		} else if again, err := h.Member(m.Database); err != nil || !again.Joining() {
			return
		}
	} else if waited < joinTime {
		if waited < 10*time.Second {
			return // it was started just now
		}
		f.Result = doctor.Warning
	}
	f.Title = fmt.Sprintf("%s on %s is still joining its cluster", m.Database, m.Host.Name)
	if known {
		f.Title += ", for " + doctor.Span(waited) + " now"
	}
	replies := false
	var silent []string
	for _, r := range m.Remotes {
		if !m.Host.Local {
			break
		}
		if err := p.Dial(r); err != nil {
			silent = append(silent, r)
			f.Evidence = append(f.Evidence, doctor.Endpoint(r).Says(err.Error()))
		} else {
			replies = true
		}
	}
	refusal := refusedToJoin(m)
	if refusal.Raw != "" {
		f.Evidence = append(f.Evidence, doctor.Log(m.Log).On(m.Host.Name).Says(refusal.Raw))
	}
	switch {
	case !replies && len(silent) > 0:
		f.Cause = fmt.Sprintf("no server accepts connections at %s, which its file names as the cluster", strings.Join(silent, ", "))
	case strings.Contains(refusal.Text, "wrong cluster"):
		f.Cause = "the members there belong to another cluster than the one in its file"
	default:
		f.Cause = "the members that it contacts have no leader, or already list it under another identity"
	}
	p.Report(f)
}

// refusedToJoin is the first line of a server's log that shows why its cluster refuses it.
func refusedToJoin(m *doctor.Member) snapshot.LogLine {
	lines, _ := m.Host.LogLines(m.Log)
	for _, l := range lines {
		if strings.Contains(l.Text, "wrong cluster") || strings.Contains(l.Text, "left its cluster") || strings.Contains(l.Text, "certificate verify failed") {
			return l
		}
	}
	return snapshot.LogLine{}
}

// waiting is how long a server has been running: it tries to join from the start.
func waiting(p *doctor.Pass, m *doctor.Member) (time.Duration, bool) {
	if process := m.Host.ServerProcess(m.Server.Server); process != nil && !process.Started.IsZero() {
		return p.Now().Sub(process.Started), true
	}
	lines, err := m.Host.LogLines(m.Log)
	if err != nil || len(lines) == 0 || !strings.Contains(lines[0].Raw, "|00001|") {
		return 0, false
	}
	return p.Now().Sub(lines[0].Time), true
}
