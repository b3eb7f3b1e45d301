package southbound

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

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
		all := p.Clustered()
		for _, leads := range []bool{true, false} { // a leader knows best who is silent: it comes first
			for _, m := range all {
				if m.Leads() != leads || m.Lost() {
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
		}
	},
}

// staleMember is the finding of a member that another one lists and that is gone.
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
			f.Fix = catalog.KickMember.With(m.Database, peer.ID)
		} else {
			f.Next = kickOnLeader(m, peer)
		}
		return f, true
	}
	// A member that went away just now may come back.
	if m.Leads() && peer.Last < max(3*m.ElectionTimer, 3*time.Second) {
		return doctor.Finding{}, false
	}
	err := p.Dial(peer.Address)
	switch {
	case !m.Host.Local:
		f.Title = fmt.Sprintf("%s: member %s at %s has no connection to the one on %s", m.Database, peer.ID, peer.Address, m.Host.Name)
		f.Cause = "its server is down, or its host is gone"
	case err == nil && !m.Leads():
		return doctor.Finding{}, false // only the leader knows whether a follower that listens is alive
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
		f.Fix = catalog.KickMember.With(m.Database, peer.ID)
		f.Next = fmt.Sprintf("if it is to come back, start it: ovn-ctl start_%s_ovsdb on its host; remove it only if it is gone for good", doctor.DatabasePart(m.Database))
	} else {
		f.Next = "start its server; if it is gone for good, " + kickOnLeader(m, peer)
	}
	return f, true
}

// kickOnLeader is the command that removes a member, and where to run it.
func kickOnLeader(m *doctor.Member, peer snapshot.Peer) string {
	where := "the leader"
	for _, other := range m.Peers {
		if other.ID == m.Leader {
			where = "the leader at " + doctor.EndpointHost(other.Address)
		}
	}
	return fmt.Sprintf("on %s: ovnctl fix %s %s %s", where, catalog.KickMember.Name, m.Database, peer.ID)
}

// majority is how many more failures the cluster survives.
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
