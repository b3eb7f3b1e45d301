package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// goneFor is how long a member must have been silent to be removed: longer than a server restart takes.
const goneFor = 30 * time.Second

// KickMember removes a dead member from a clustered database.
var KickMember = &fixes.Repair{
	Name: "kick-raft-member",
	Doc: `Remove a dead member from a clustered database

Tells the leader to go on without the member, as cluster/kick does. It refuses unless
this host's server is the leader, the others are a majority without the member, and the
member has been silent for a while and its address is unreachable, or belongs to another
member now. If a member is only stopped, start it instead.`,
	Params: []fixes.Param{databaseParam, {Name: "MEMBER", Doc: "the first digits of its server ID, or its address if only one member has it"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "raft-stale-member",
	OneWay: newMember,
	Plan: onLeader("kick-raft-member", func(h *snapshot.Host, s *snapshot.Server, m *snapshot.Member, a fixes.Args) (*fixes.Plan, error) {
		peer, err := memberNamed(m, a["MEMBER"])
		if err != nil {
			return nil, err
		}
		if err := checkGone(h.Deployment(), m, peer); err != nil {
			return nil, err
		}
		left := len(m.Peers) - 1
		return &fixes.Plan{
			Title:   fmt.Sprintf("remove member %s at %s from %s", peer.ID, peer.Address, m.Database),
			Host:    h.Name,
			Touches: fmt.Sprintf("no traffic; the cluster goes on with %d members and needs %d of them", left, left/2+1),
			Steps: []fixes.Step{fixes.Control{
				Daemon: s.Control, Command: "cluster/kick", Args: []string{m.Database, peer.ID},
				What: fmt.Sprintf("remove member %s at %s from the cluster of %s", peer.ID, peer.Address, m.Database),
				Why:  newMember,
				Over: "unknown server",
			}},
			Warnings: []string{"if its host returns with the old file, its server cannot rejoin: remove the file there before it starts"},
		}, nil
	}),
}

const newMember = "a member that was removed can return only as a new one, with an empty database"

// memberNamed returns the member that an argument names.
func memberNamed(m *snapshot.Member, arg string) (snapshot.Peer, error) {
	var found []snapshot.Peer
	var names []string
	for _, p := range m.Peers {
		names = append(names, p.ID+" at "+p.Address)
		if len(arg) >= 4 && (strings.HasPrefix(p.ID, arg) || strings.HasPrefix(arg, p.ID)) || p.Address == arg {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		return snapshot.Peer{}, fmt.Errorf("no member %q in %s; there are %s", arg, m.Database, strings.Join(names, ", "))
	case 1:
		return found[0], nil
	}
	return snapshot.Peer{}, fmt.Errorf("%d members have the address %s: name one by its ID; there are %s", len(found), arg, strings.Join(names, ", "))
}

// checkGone refuses a member that may be alive, or that the cluster needs.
func checkGone(d *snapshot.Deployment, m *snapshot.Member, peer snapshot.Peer) error {
	if peer.Self {
		return fixes.Refuse("", "%s is this host's own member", peer.ID)
	}
	if peer.Connected() {
		return fixes.Refuse("", "member %s at %s is connected", peer.ID, peer.Address)
	}
	up := 0
	for _, p := range m.Peers {
		if p.Connected() && p.ID != peer.ID {
			up++
		}
	}
	if need := (len(m.Peers)-1)/2 + 1; up < need {
		return fixes.Refuse("bring another member up first", "without %s, %d of %d members are connected and %d are needed", peer.ID, up, len(m.Peers)-1, need)
	}
	replaced := slices.ContainsFunc(m.Peers, func(p snapshot.Peer) bool {
		return p.ID != peer.ID && p.Address == peer.Address && p.Connected()
	})
	if replaced {
		return nil
	}
	if peer.Heard && peer.Last < goneFor {
		return fixes.Refuse("wait: a server that restarts is back within a minute", "member %s at %s was last heard from %d s ago", peer.ID, peer.Address, int(peer.Last.Seconds()))
	}
	if d.Dial(peer.Address) == nil {
		return fixes.Refuse("look at the server there first", "something accepts connections at %s", peer.Address)
	}
	return nil
}
