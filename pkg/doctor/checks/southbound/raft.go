package southbound

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var RaftNoQuorum = &doctor.Check{
	Name:     "raft-no-quorum",
	Category: "raft",
	Doc: `A clustered database has no leader

More than half of a cluster's members must be connected to each other, or nothing can be
written. The remaining members still serve reads, with old rows and without an error.`,
	Causes: []string{"db-disk-full-or-corrupt", "tls-cert-expired-or-wrong-ca"},
	Run: func(p *doctor.Pass) {
		seen := map[string]bool{}
		for _, m := range p.Members() {
			if !m.Lost() || seen[m.Database] {
				continue
			}
			if servedElsewhere(p, &m) {
				p.Report(cutOff(&m))
				continue
			}
			seen[m.Database] = true
			p.Report(noQuorum(&m))
		}
		for z := range p.EachZone() {
			for _, name := range []string{"OVN_Northbound", "OVN_Southbound"} {
				db, err := doctor.DatabaseReader(z, name)
				if err != nil || seen[name] || !db.Status().Stale {
					continue
				}
				seen[name] = true
				p.Report(doctor.Finding{
					Object: doctor.DatabaseObject(name),
					Reason: "read-from-cut-off-member",
					Title:  name + " was read from a member that is cut off from its cluster, and no other member replies",
					Evidence: []doctor.Evidence{{
						Source: doctor.Socket("_Server Database at " + db.Origin()), Says: "model=clustered connected=false leader=false",
					}},
					Cause:  "too few of the cluster's members run and are connected, or the others are unreachable from here",
					Effect: quorumEffect(name),
					Next:   "on each database host: " + fmt.Sprintf("ovn-appctl -t /var/run/ovn/ovn%s_db.ctl cluster/status %s", doctor.DatabasePart(name), name),
				})
			}
		}
	},
}

func quorumEffect(database string) string {
	if database == "OVN_Northbound" {
		return "nothing can be written: no pod, policy or service is added or changed"
	}
	return "nothing can be written: ovn-northd cannot bring changes to the nodes, no port is bound; installed flows keep working"
}

// noQuorum returns the finding of a member without a leader.
func noQuorum(m *doctor.Member) doctor.Finding {
	up := 0
	f := doctor.Finding{
		Object: doctor.DatabaseObject(m.Database),
		Reason: "no-leader",
		// Consequences show on any host, so the object is not the member.
		Evidence: []doctor.Evidence{m.Status("Status", "Role", "Term", "Leader", "Connections")},
		Effect:   quorumEffect(m.Database),
	}
	var silent []string
	for _, peer := range m.Peers {
		if peer.Connected() {
			up++
			continue
		}
		says := "no connection"
		if peer.Heard {
			says += ", last message " + doctor.Span(peer.Last) + " ago"
		}
		f.Evidence = append(f.Evidence, m.Reply("cluster/status "+m.Database).Says("member "+peer.ID+" at "+peer.Address+": "+says))
		silent = append(silent, peer.Address)
	}
	switch need := len(m.Peers)/2 + 1; {
	case up >= need:
		f.Title = fmt.Sprintf("%s has no leader: its members cannot agree on one", m.Database)
		f.Cause = "elections fail although enough members are connected: one is too slow, or in another term"
	case up == 1:
		f.Title = fmt.Sprintf("%s has no leader: the member on %s is connected to none of the other %d", m.Database, m.Host.Name, len(m.Peers)-1)
		f.Cause = "the others are down, or the network to them is cut"
	default:
		f.Title = fmt.Sprintf("%s has no leader: %d of %d members are connected, %d are needed", m.Database, up, len(m.Peers), need)
		f.Cause = "members are down, or the network between them is cut"
	}
	f.Next = fmt.Sprintf("start the servers at %s (ovn-ctl start_%s_ovsdb) or restore the network to them; only if they are lost for good: keep a copy of every file, stop all, and run `ovsdb-tool cluster-to-standalone FILE %s` on the member with the most entries",
		strings.Join(silent, ", "), doctor.DatabasePart(m.Database), m.File)
	if len(silent) == 0 {
		f.Next = m.ControlCommand("cluster/status "+m.Database) + " on each member, and its log"
	}
	return f
}

// servedElsewhere reports whether a member with a majority serves a member's database.
func servedElsewhere(p *doctor.Pass, m *doctor.Member) bool {
	for z := range p.ZonesOf(m.Host) {
		if db, err := doctor.DatabaseReader(z, m.Database); err == nil && db.Status().Connected && !db.Status().Stale {
			return true
		}
	}
	return false
}

// cutOff returns the finding of a member without a majority whose cluster has a leader.
func cutOff(m *doctor.Member) doctor.Finding {
	f := noQuorum(m)
	f.Object, f.Also, f.Reason = m.Object(), m.Also(), "cut-off"
	f.Title = fmt.Sprintf("the member of %s on %s is cut off from its cluster, which works without it", m.Database, m.Host.Name)
	f.Cause = "the network between it and the other members is cut, or it does not accept their certificates"
	f.Effect = "clients of this member go elsewhere; one more failure may stop the cluster"
	f.Next = "restore the network to the other members: " + strings.Join(otherMembers(m), ", ")
	return f
}

// otherMembers returns the addresses of the other members.
func otherMembers(m *doctor.Member) []string {
	var out []string
	for _, peer := range m.Peers {
		if !peer.Self {
			out = append(out, peer.Address)
		}
	}
	return out
}

var RaftStaleMember = &doctor.Check{
	Name:     "raft-stale-member",
	Category: "raft",
	Doc: `A clustered database still counts a member that is gone

A member that was replaced, or whose host is gone, still counts for the majority, so one
more failure stops the cluster.`,
	Causes: []string{"raft-no-quorum", "tls-cert-expired-or-wrong-ca", "db-disk-full-or-corrupt"},
	Run: func(p *doctor.Pass) {
		type key struct{ database, id string }
		seen := map[key]bool{}
		for _, m := range p.Clustered() { // a leader, listed first, knows best who is silent
			if m.Lost() {
				continue
			}
			for _, peer := range m.Peers {
				k := key{m.ClusterID, peer.ID}
				if f, ok := staleMember(p, &m, peer); ok && !seen[k] {
					seen[k] = true
					p.Report(f)
				}
			}
		}
	},
}

// staleMember returns the finding of a listed member that is gone.
func staleMember(p *doctor.Pass, m *doctor.Member, peer snapshot.Peer) (doctor.Finding, bool) {
	if peer.Connected() {
		return doctor.Finding{}, false
	}
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "member", Name: peer.ID + " at " + peer.Address},
		Also:     append(m.Also(), m.Object()),
		Evidence: []doctor.Evidence{m.Peer(peer), m.Status("Connections")},
		Effect:   majority(m),
	}
	replaced := slices.IndexFunc(m.Peers, func(other snapshot.Peer) bool {
		return other.ID != peer.ID && other.Address == peer.Address && other.Connected()
	})
	if replaced >= 0 {
		f.Title = fmt.Sprintf("%s lists member %s at %s, which member %s has replaced", m.Database, peer.ID, peer.Address, m.Peers[replaced].ID)
		f.Evidence = append(f.Evidence, m.Peer(m.Peers[replaced]))
		f.Cause = "the member's file was deleted and it joined again, as a new member; the old one was not removed"
		if m.Leads() {
			f.Fix = catalog.KickMember.With(m.Database, peer.ID).At(m.Host.Name)
		} else {
			f.Next = kickOnLeader(m, peer)
		}
		return f, true
	}
	// A member that left just now may return.
	if m.Leads() && peer.Last < max(3*m.ElectionTimer, 3*time.Second) {
		return doctor.Finding{}, false
	}
	err := p.Dial(peer.Address)
	switch {
	case !m.Host.Local:
		f.Title = fmt.Sprintf("%s: member %s at %s has no connection to the one on %s", m.Database, peer.ID, peer.Address, m.Host.Name)
		f.Cause = "its server is down, or its host is gone"
	case err == nil && !m.Leads():
		return doctor.Finding{}, false // only the leader knows whether a listening follower is alive
	case err == nil:
		silent := "was never heard from"
		if peer.Heard {
			silent = "has been silent for " + doctor.Span(peer.Last)
		}
		f.Title = fmt.Sprintf("%s: member %s at %s %s, although its port accepts connections", m.Database, peer.ID, peer.Address, silent)
		f.Cause = "its server hangs, or a server with another identity or certificate is there"
		f.Next = fmt.Sprintf("at %s read the server's log, then run cluster/status %s", doctor.EndpointHost(peer.Address), m.Database)
		return f, true
	default:
		f.Evidence = append(f.Evidence, doctor.Endpoint(peer.Address).Says(err.Error()))
		f.Title = fmt.Sprintf("%s: member %s at %s does not reply", m.Database, peer.ID, peer.Address)
		f.Cause = "its host is gone or cut off"
		if errors.Is(err, syscall.ECONNREFUSED) {
			f.Cause = "its server is down; its host is up"
		}
	}
	if m.Leads() {
		f.Fix = catalog.KickMember.With(m.Database, peer.ID).At(m.Host.Name)
		f.Next = fmt.Sprintf("if it is to come back, start it: ovn-ctl start_%s_ovsdb on its host; remove it only if it is gone for good", doctor.DatabasePart(m.Database))
	} else {
		f.Next = "start its server; if it is gone for good, " + kickOnLeader(m, peer)
	}
	return f, true
}

// kickOnLeader returns the command that removes a member, and where to run it.
func kickOnLeader(m *doctor.Member, peer snapshot.Peer) string {
	where := "the leader"
	for _, other := range m.Peers {
		if other.ID == m.Leader {
			where = "the leader at " + doctor.EndpointHost(other.Address)
		}
	}
	return fmt.Sprintf("on %s: ovnctl fix %s %s %s", where, catalog.KickMember.Name, m.Database, peer.ID)
}

// majority returns how many more failures the cluster survives.
func majority(m *doctor.Member) string {
	up := 0
	for _, peer := range m.Peers {
		if peer.Connected() {
			up++
		}
	}
	need := len(m.Peers)/2 + 1
	if up <= need {
		return fmt.Sprintf("%d of %d members are connected and %d are needed: one more failure stops all writes", up, len(m.Peers), need)
	}
	return fmt.Sprintf("%d of %d members are connected and %d are needed: the cluster survives fewer failures than it was built for", up, len(m.Peers), need)
}

// joinTime is how long joining a cluster may take.
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
	f.Show(doctor.Log(m.Log).On(m.Host.Name).Says(refusal.Raw))
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

// refusedToJoin returns the first line of a server's log that shows why its cluster refuses it.
func refusedToJoin(m *doctor.Member) snapshot.LogLine {
	lines, _ := m.Host.LogLines(m.Log)
	for _, l := range lines {
		if strings.Contains(l.Text, "wrong cluster") || strings.Contains(l.Text, "left its cluster") || strings.Contains(l.Text, "certificate verify failed") {
			return l
		}
	}
	return snapshot.LogLine{}
}

// waiting returns how long a server has been running: it tries to join from the start.
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

// How many elections are too many. A leader steps down to write a snapshot, at most every ten minutes; elections known
// to follow from that are not counted.
const (
	electionsInHour       = 8
	electionsInTenMinutes = 5
)

var RaftFrequentElections = &doctor.Check{
	Name:     "raft-frequent-elections",
	Category: "raft",
	Doc: `A clustered database changes its leader often

With every change clients reconnect, and writes fail meanwhile. Usually the leader is too
busy to send its heartbeats in time, or the network loses packets.`,
	Causes: []string{"raft-no-quorum", "raft-stale-member", "db-disk-full-or-corrupt"},
	Run: func(p *doctor.Pass) {
		seen := map[string]bool{}
		for _, m := range p.Clustered() { // the repair runs on the leader, listed first
			if !seen[m.ClusterID] {
				seen[m.ClusterID] = frequentElections(p, &m)
			}
		}
	},
}

var timerChanged = pattern.New(`^Election timer changed from (\d+) to (\d+)`)

var newLeader = pattern.New(`^(?:term (\d+): elected leader by|server [0-9a-f]+ is leader for term (\d+))`)

func frequentElections(p *doctor.Pass, m *doctor.Member) bool {
	if len(m.Peers) < 2 {
		return false
	}
	lines, err := m.Host.LogLines(m.Log)
	if err != nil {
		p.Unknown(m.Object(), fmt.Errorf("how often %s elects a leader: %w", m.Database, err))
		return false
	}
	hour, ten := p.Now().Add(-time.Hour), p.Now().Add(-10*time.Minute)
	elections := elections(doctor.Recent(lines, hour, func(l snapshot.LogLine) bool { return l.Module == "raft" }), int(m.ElectionTimer.Milliseconds()))
	late := doctor.Recent(elections, ten, func(snapshot.LogLine) bool { return true })
	if len(elections) < electionsInHour && len(late) < electionsInTenMinutes {
		return false
	}
	f := doctor.Finding{
		Object: m.Object(),
		Also:   m.Also(),
		Title:  fmt.Sprintf("%s elected a leader %d times within the last hour", m.Database, len(elections)),
		Effect: "clients reconnect each time, and changes wait",
		Cause:  fmt.Sprintf("the leader is silent for longer than the election timer, %d ms: its host or disk is too busy, or the network between the members loses packets", m.ElectionTimer.Milliseconds()),
		Evidence: []doctor.Evidence{
			m.Status("Role", "Term", "Election timer"),
		},
	}
	if len(late) == len(elections) {
		f.Title = fmt.Sprintf("%s elected a leader %d times within the last 10 minutes", m.Database, len(late))
	}
	for _, l := range elections[max(0, len(elections)-3):] {
		f.Evidence = append(f.Evidence, doctor.Log(m.Log).On(m.Host.Name).Says(l.Raw))
	}
	slow := doctor.Recent(lines, hour, func(l snapshot.LogLine) bool { return strings.HasPrefix(l.Text, "Unreasonably long") })
	if len(slow) > 0 {
		f.Evidence = append(f.Evidence, doctor.Log(m.Log).On(m.Host.Name).Says(slow[len(slow)-1].Raw))
	}
	switch {
	case m.ElectionTimer >= 16*time.Second:
		f.Next = "the election timer is long already: check disk, memory and network of the members"
	case m.Leads():
		f.Fix = catalog.RaiseElectionTimer.With(m.Database).At(m.Host.Name)
	default:
		f.Next = fmt.Sprintf("on the leader's host: ovnctl fix %s %s", catalog.RaiseElectionTimer.Name, m.Database)
	}
	p.Report(f)
	return true
}

// elections returns the log lines about a new leader, one per term, except those after a voluntary step-down, and those
// under a shorter timer than the current one.
func elections(lines []snapshot.LogLine, timer int) []snapshot.LogLine {
	timers := timersOf(lines, timer)
	var out []snapshot.LogLine
	terms := map[string]bool{}
	steppedDown := false
	for i, l := range lines {
		if strings.HasPrefix(l.Text, "received leadership transfer") || strings.Contains(strings.ToLower(l.Text), "transferring leadership") {
			steppedDown = true
		}
		x := newLeader.Get().FindStringSubmatch(l.Text)
		if x == nil || terms[x[1]+x[2]] {
			continue
		}
		terms[x[1]+x[2]] = true
		if !steppedDown && timers[i] >= timer {
			out = append(out, l)
		}
		steppedDown = false
	}
	return out
}

// timersOf returns the election timer in force at each line; timer is the current one.
func timersOf(lines []snapshot.LogLine, timer int) []int {
	timers := make([]int, len(lines))
	for i := len(lines) - 1; i >= 0; i-- {
		timers[i] = timer
		if x := timerChanged.Get().FindStringSubmatch(lines[i].Text); x != nil {
			timer, _ = strconv.Atoi(x[1])
		}
	}
	return timers
}
