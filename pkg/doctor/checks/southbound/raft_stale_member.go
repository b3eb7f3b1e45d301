package southbound

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var RaftStaleMember = &doctor.Check{
	Name:     "raft-stale-member",
	Category: "raft",
	Doc: `A clustered database counts a member that is gone

A member that was replaced, or whose host is gone, still counts when a majority
is needed, so that one more failure stops the cluster.`,
	Causes: []string{"raft-no-quorum", "tls-cert-expired-or-wrong-ca", "db-disk-full-or-corrupt"},
	Run: func(p *doctor.Pass) {
		type key struct{ database, id string }
		seen := map[key]bool{}
		all := p.Clustered()
		// A leader knows best who is silent: it is asked first.
		slices.SortStableFunc(all, func(a, b doctor.Member) int {
			switch {
			case a.Leads() == b.Leads():
				return 0
			case a.Leads():
				return -1
			}
			return 1
		})
		for _, m := range all {
			for _, peer := range m.Peers {
				k := key{m.ClusterID, peer.ID}
				if seen[k] || m.Lost() {
					continue
				}
				if f, ok := staleMember(p, &m, peer); ok {
					seen[k] = true
					p.Report(f)
				}
			}
		}
	},
}

// staleMember says whether a member that another one lists is gone.
func staleMember(p *doctor.Pass, m *doctor.Member, peer snapshot.Peer) (doctor.Finding, bool) {
	if peer.Connected() {
		return doctor.Finding{}, false
	}
	f := doctor.Finding{
		Object:   m.Object(),
		Also:     append(m.Concerns(), doctor.Object{Kind: "member", Name: peer.ID + " at " + peer.Address}),
		Evidence: []doctor.Evidence{m.Peer(peer), m.Status("Connections")},
		Effect:   majority(m),
	}
	heard := "never heard of"
	if peer.Heard && m.Leads() {
		heard = "not heard of for " + doctor.Span(peer.Last)
	}
	twin := slices.IndexFunc(m.Peers, func(other snapshot.Peer) bool {
		return other.ID != peer.ID && other.Address == peer.Address && other.Connected()
	})
	if twin >= 0 {
		f.Title = fmt.Sprintf("%s lists member %s at %s, where another one, %s, has taken its place", m.Database, peer.ID, peer.Address, m.Peers[twin].ID)
		f.Evidence = append(f.Evidence, m.Peer(m.Peers[twin]))
		f.Cause = "the member's database was removed and it joined again, as a new member, without the old one being taken out"
		f = withKick(f, m, peer)
		f.Next = strings.TrimPrefix(f.Next, comeBack)
		if f.Fix != nil {
			f.Next = "" // nobody is there that could come back
		}
		return f, true
	}
	// A member that has just gone may be about to come back; a new look will tell.
	if m.Leads() && peer.Last < max(3*m.ElectionTimer, 3*time.Second) {
		return doctor.Finding{}, false
	}
	err := p.Dial(peer.Address)
	switch {
	case !m.Host.Local:
		f.Title = fmt.Sprintf("%s: member %s at %s has no connection to the one on %s", m.Database, peer.ID, peer.Address, m.Host.Name)
		f.Cause = "its server does not run, or its host is gone"
	case err == nil && !m.Leads():
		return doctor.Finding{}, false // whether a follower that listens is alive, the leader knows
	case err == nil:
		f.Title = fmt.Sprintf("%s: member %s at %s is %s, though its port takes connections", m.Database, peer.ID, peer.Address, heard)
		f.Cause = "its server hangs, or one with another identity or certificate is there"
		f.Next = fmt.Sprintf("look at the log of the server at %s, then `%s` there", doctor.EndpointHost(peer.Address), "cluster/status "+m.Database)
		return f, true
	default:
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("connecting to " + peer.Address), Says: err.Error()})
		f.Title = fmt.Sprintf("%s: member %s at %s does not answer", m.Database, peer.ID, peer.Address)
		f.Cause = "its host is gone or cut off"
		if errors.Is(err, syscall.ECONNREFUSED) {
			f.Cause = "its server does not run; its host does"
		}
	}
	return withKick(f, m, peer), true
}

// comeBack is what is to be done with a member that is not gone for good.
const comeBack = "start its server again; if it is gone for good, "

// withKick offers to take the member out, where that would be done.
func withKick(f doctor.Finding, m *doctor.Member, peer snapshot.Peer) doctor.Finding {
	if m.Leads() {
		f.Fix = catalog.KickMember.With(m.Database, peer.ID)
		f.Next = fmt.Sprintf("if it is to come back, start it: ovn-ctl start_%s_ovsdb on its host; take it out only if it is gone for good", doctor.DatabasePart(m.Database))
		return f
	}
	where := "the leader"
	for _, other := range m.Peers {
		if other.ID == m.Leader {
			where = "the leader at " + doctor.EndpointHost(other.Address)
		}
	}
	f.Next = fmt.Sprintf(comeBack+"on %s: ovnctl fix %s %s %s", where, catalog.KickMember.Name, m.Database, peer.ID)
	return f
}

// majority says how much more the cluster stands.
func majority(m *doctor.Member) string {
	up := 0
	for _, peer := range m.Peers {
		if peer.Connected() {
			up++
		}
	}
	need := len(m.Peers)/2 + 1
	if up <= need {
		return fmt.Sprintf("%d of %d members are there and %d are needed: one more failure stops all writes", up, len(m.Peers), need)
	}
	return fmt.Sprintf("%d of %d members are there and %d are needed: the cluster stands fewer failures than it was built for", up, len(m.Peers), need)
}
