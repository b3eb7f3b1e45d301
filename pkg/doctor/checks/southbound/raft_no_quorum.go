package southbound

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
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
			if servedElsewhere(p, m.Database) {
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

// noQuorum is the finding of a member without a leader.
func noQuorum(m *doctor.Member) doctor.Finding {
	up := 0
	f := doctor.Finding{
		Object: doctor.DatabaseObject(m.Database),
		Reason: "no-leader",
		// Consequences show on any host, so the member is not the object.
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

// servedElsewhere reports whether a member with a majority serves a database.
func servedElsewhere(p *doctor.Pass, database string) bool {
	for z := range p.EachZone() {
		if db, err := doctor.DatabaseReader(z, database); err == nil && db.Status().Connected && !db.Status().Stale {
			return true
		}
	}
	return false
}

// cutOff is the finding of a member without a majority whose cluster has a leader.
func cutOff(m *doctor.Member) doctor.Finding {
	f := noQuorum(m)
	f.Object, f.Also, f.Reason = m.Object(), m.Also(), "cut-off"
	f.Title = fmt.Sprintf("the member of %s on %s is cut off from its cluster, which works without it", m.Database, m.Host.Name)
	f.Cause = "the network between it and the other members is cut, or it does not accept their certificates"
	f.Effect = "clients of this member go elsewhere; one more failure may stop the cluster"
	f.Next = "restore the network to the other members: " + strings.Join(otherMembers(m), ", ")
	return f
}

// otherMembers are the addresses of the other members.
func otherMembers(m *doctor.Member) []string {
	var out []string
	for _, peer := range m.Peers {
		if !peer.Self {
			out = append(out, peer.Address)
		}
	}
	return out
}
