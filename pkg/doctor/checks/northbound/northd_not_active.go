package northbound

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var NorthdNotActive = &doctor.Check{
	Name:     "northd-not-active",
	Category: "northd",
	Doc: `No ovn-northd is active

ovn-northd writes the Southbound from the Northbound. While none is active, changes in the
Northbound have no effect on any node.`,
	Causes: []string{"db-not-listening-tcp", "raft-no-quorum", "db-disk-full-or-corrupt", "clients-refuse-rebuilt-db", "tls-cert-expired-or-wrong-ca"},
	Settle: true,
	Run:    lookForNorthd,
}

// A northd is the ovn-northd of a host that should run it.
type northd struct {
	doctor.SilentDaemon
	status string // "active", "standby", "paused"; empty if it does not reply
}

const noEffect = "changes in the Northbound have no effect on any node"

func lookForNorthd(p *doctor.Pass) {
	all, unread := northds(p)
	active := map[*snapshot.Zone]bool{}
	for _, n := range all {
		if n.status == "active" {
			active[zoneOf(p, n.Host)] = true
		}
	}
	reported := map[*snapshot.Zone]bool{}
	for _, n := range all {
		z := zoneOf(p, n.Host)
		if n.status == "active" {
			continue
		}
		f, bad := n.finding(active[z], p)
		if !bad {
			continue
		}
		reported[z] = true
		if e, late := northdLag(z); late {
			f.Evidence = append(f.Evidence, e)
		}
		p.Report(f)
	}
	for z := range p.EachZone() {
		e, late := northdLag(z)
		if !late || reported[z] || active[z] && len(all) == 1 {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.Object{Kind: "daemon", Name: "ovn-northd"},
			Also:     []doctor.Object{doctor.SouthboundObject, {Kind: "zone", Name: z.Name}},
			Reason:   "lag",
			Title:    "ovn-northd does not update the Southbound from the Northbound",
			Evidence: []doctor.Evidence{e},
			Cause:    "no ovn-northd is active, or the active one cannot reach a database or is very busy",
			Effect:   noEffect,
			Next:     "run ovnctl doctor on the hosts with the databases; there: ovn-appctl -t ovn-northd status",
		})
	}
	lagKnown := slices.ContainsFunc(p.Zones, func(z *snapshot.Zone) bool {
		_, nbErr := z.Northbound()
		_, sbErr := z.Southbound()
		return nbErr == nil && sbErr == nil
	})
	switch {
	case len(all) > 0 || len(p.Findings) > 0 || lagKnown:
	case unread != nil:
		p.Unknown(doctor.Object{Kind: "daemon", Name: "ovn-northd"}, unread)
	default:
		p.Skip("neither a host with ovn-northd nor both databases can be read from here")
	}
}

// zoneOf returns the zone of a host, which may run databases only.
func zoneOf(p *doctor.Pass, h *snapshot.Host) *snapshot.Zone {
	if z := h.Zone(); z != nil {
		return z
	}
	if len(p.Zones) == 1 {
		return p.Zones[0]
	}
	return nil
}

// northds returns the ovn-northd of all readable hosts; the error is from one that is not.
func northds(p *doctor.Pass) ([]northd, error) {
	var list []northd
	var unread error
	for _, h := range p.Hosts {
		d, err := h.Daemon("ovn-northd")
		if err != nil {
			if !errors.Is(err, node.ErrUnavailable) {
				unread = err
			}
			continue
		}
		meant, err := h.Meant("ovn-northd")
		if err != nil || len(meant) == 0 {
			continue
		}
		n := northd{SilentDaemon: doctor.SilentDaemon{Host: h, Daemon: "ovn-northd", State: d, Expected: meant}}
		if d.Liveness == snapshot.Answers {
			text, err := h.Control("ovn-northd", "status")
			if err != nil {
				unread = err
				continue
			}
			text = strings.TrimSpace(text)
			_, n.status, _ = strings.Cut(text, "Status: ")
			n.status = cmp.Or(n.status, text)
		}
		list = append(list, n)
	}
	return list, unread
}

// finding returns the fault of an ovn-northd that is not active; other means another one is.
func (n *northd) finding(other bool, p *doctor.Pass) (doctor.Finding, bool) {
	f := doctor.Finding{
		Object: doctor.DaemonObject(n.Host, "ovn-northd"),
		Also:   []doctor.Object{doctor.NodeObject(n.Name), doctor.SouthboundObject},
		Effect: noEffect,
	}
	if other {
		f.Result = doctor.Warning
		f.Effect = "none now: another ovn-northd is active; this one would not take over"
	}
	switch {
	case n.status == "paused":
		f.Reason = "paused"
		f.Title = fmt.Sprintf("ovn-northd of %s is paused", n.Name)
		f.Evidence = []doctor.Evidence{doctor.Reply("ovn-northd", "status").On(n.Name).Says(n.status)}
		f.Cause = "it was paused with ovn-appctl -t ovn-northd pause, and not resumed"
		f.Fix = catalog.ResumeNorthd.With()
	case n.status != "":
		return f, !other && len(p.Zones) > 0 && n.standby(&f, zoneOf(p, n.Host))
	default:
		f.Reason = "not-running"
		f.Title = fmt.Sprintf("ovn-northd of %s is down", n.Name)
		f.Evidence = n.Evidence()
		f.Cause = "it ended, or was stopped, and nothing restarted it"
		f.Fix = catalog.StartNorthd.With()
		if n.State.Liveness == snapshot.Hung {
			f.Reason, f.Lasting = "hung", true
			f.Title = fmt.Sprintf("ovn-northd of %s does not reply", n.Name)
			f.Cause = "it hangs, is stopped, or is busy with a very large change"
		}
	}
	if c := doctor.InContainer(n.Host, "ovn-northd"); c != nil && n.status == "" {
		f.Fix, f.Next = nil, fmt.Sprintf("restart its container (process %d, %s)", c.PID, c.Cgroup)
	}
	return f, true
}

// standby fills in the finding of one that stays inactive although none is active. Only the databases show that: the
// active one may be on an unread host.
func (n *northd) standby(f *doctor.Finding, z *snapshot.Zone) bool {
	f.Evidence = []doctor.Evidence{doctor.Reply("ovn-northd", "status").On(n.Name).Says(n.status)}
	disconnected := false
	for _, command := range []string{"nb-connection-status", "sb-connection-status"} {
		if text, err := n.Control("ovn-northd", command); err == nil {
			text = strings.TrimSpace(text)
			f.Evidence = append(f.Evidence, doctor.Reply("ovn-northd", command).On(n.Name).Says(text))
			disconnected = disconnected || text != "connected"
		}
	}
	_, late := northdLag(z)
	f.Reason = "standby"
	f.Title = fmt.Sprintf("ovn-northd of %s is %s and has lost a database", n.Name, n.status)
	if late {
		f.Title = fmt.Sprintf("ovn-northd of %s is %s, and none is active", n.Name, n.status)
	}
	f.Cause = "it does not hold the Southbound's lock ovn_northd: it cannot reach a database, or another one that hangs holds the lock"
	f.Next = "check ovn-northd on the other hosts with databases, and the connections of the databases"
	return late || disconnected
}

// northdLag reports whether the Southbound is behind the Northbound, with the evidence.
func northdLag(z *snapshot.Zone) (doctor.Evidence, bool) {
	if z == nil {
		return doctor.Evidence{}, false
	}
	n, err := z.Northbound()
	if err != nil || len(n.Globals) == 0 {
		return doctor.Evidence{}, false
	}
	s, err := z.Southbound()
	if err != nil || len(s.Globals) == 0 {
		return doctor.Evidence{}, false
	}
	want, has := n.Globals[0].NBCfg, s.Globals[0].NBCfg
	if has >= want {
		return doctor.Evidence{}, false
	}
	says := fmt.Sprintf("nb_cfg=%d, the Southbound has %d", want, has)
	if ms := n.Globals[0].SBCfgTimestamp; ms > 0 {
		says += ", since " + time.UnixMilli(int64(ms)).UTC().Format(time.RFC3339)
	}
	return doctor.NB("NB_Global", "").Says(says), true
}
