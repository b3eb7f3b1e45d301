package northbound

import (
	"errors"
	"fmt"
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

ovn-northd makes the Southbound from the Northbound. While none is active, what is changed in
the Northbound has no effect, on any node.`,
	Causes: []string{"db-not-listening-tcp", "raft-no-quorum", "db-disk-full-or-corrupt", "clients-refuse-rebuilt-db", "tls-cert-expired-or-wrong-ca"},
	Settle: true,
	Run:    lookForNorthd,
}

// A northd is ovn-northd of a host that is meant to run it.
type northd struct {
	host   *snapshot.Host
	daemon snapshot.Daemon
	meant  []string
	status string // "active", "standby", "paused"; empty: it does not answer
}

func lookForNorthd(p *doctor.Pass) {
	all, unread := northds(p)
	active := map[*snapshot.Zone]bool{}
	for _, n := range all {
		if n.status == "active" {
			active[zoneOf(p, n.host)] = true
		}
	}
	told := map[*snapshot.Zone]bool{}
	for _, n := range all {
		z := zoneOf(p, n.host)
		if n.status == "active" {
			continue
		}
		f, bad := n.finding(active[z], p)
		if !bad {
			continue
		}
		told[z] = true
		if e, late := northdLag(z); late {
			f.Evidence = append(f.Evidence, e)
		}
		p.Report(f)
	}
	for _, z := range p.Zones {
		e, late := northdLag(z)
		if !late || told[z] || active[z] && len(all) == 1 {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.Object{Kind: "daemon", Name: "ovn-northd"},
			Also:     []doctor.Object{{Kind: "database", Name: "OVN_Southbound"}, {Kind: "zone", Name: z.Name}},
			Title:    "ovn-northd does not bring the Northbound into the Southbound",
			Evidence: []doctor.Evidence{e},
			Cause:    "no ovn-northd is active, or the one that is cannot reach a database or is very busy",
			Effect:   "what is changed in the Northbound has no effect on any node",
			Next:     "run ovnctl doctor on the hosts with the databases; there: ovn-appctl -t ovn-northd status",
		})
	}
	if len(all) == 0 && len(p.Findings) == 0 {
		lagKnown := false
		for _, z := range p.Zones {
			_, nbErr := z.Northbound()
			_, sbErr := z.Southbound()
			lagKnown = lagKnown || nbErr == nil && sbErr == nil
		}
		if !lagKnown {
			if unread != nil {
				p.Unknown(doctor.Object{Kind: "daemon", Name: "ovn-northd"}, unread)
				return
			}
			p.Skip("neither a host with ovn-northd nor both databases can be read from here")
		}
	}
}

// zoneOf is the zone of a host that may run databases alone.
func zoneOf(p *doctor.Pass, h *snapshot.Host) *snapshot.Zone {
	if z := h.Zone(); z != nil {
		return z
	}
	if len(p.Zones) == 1 {
		return p.Zones[0]
	}
	return nil
}

// northds are those of all hosts that can be read; the error is of one that could not.
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
		n := northd{host: h, daemon: d, meant: meant}
		if d.Liveness == snapshot.Answers {
			text, err := h.Control("ovn-northd", "status")
			if err != nil {
				unread = err
				continue
			}
			_, n.status, _ = strings.Cut(strings.TrimSpace(text), "Status: ")
			if n.status == "" {
				n.status = strings.TrimSpace(text)
			}
		}
		list = append(list, n)
	}
	return list, unread
}

// finding is what is wrong with an ovn-northd that is not active; other: another one is.
func (n northd) finding(other bool, p *doctor.Pass) (doctor.Finding, bool) {
	f := doctor.Finding{
		Object: doctor.DaemonObject(n.host, "ovn-northd"),
		Also:   []doctor.Object{doctor.NodeObject(n.host.Name), {Kind: "database", Name: "OVN_Southbound"}},
		Effect: "what is changed in the Northbound has no effect on any node",
	}
	if other {
		f.Result = doctor.Warning
		f.Effect = "none now: another ovn-northd is active; this one would not take over"
	}
	switch {
	case n.status == "paused":
		f.Title = fmt.Sprintf("ovn-northd of %s is paused", n.host.Name)
		f.Evidence = []doctor.Evidence{{Source: doctor.Reply("ovn-northd", "status"), Says: n.status}}
		f.Cause = "somebody paused it with ovn-appctl -t ovn-northd pause, and did not resume it"
		f.Fix = catalog.ResumeNorthd.With()
	case n.status != "":
		if other || len(p.Zones) == 0 {
			return f, false // standby, as it should be
		}
		e, late := northdLag(zoneOf(p, n.host))
		says := []doctor.Evidence{{Source: doctor.Reply("ovn-northd", "status"), Says: n.status}}
		cut := false
		for _, db := range []string{"nb", "sb"} {
			if text, err := n.host.Control("ovn-northd", db+"-connection-status"); err == nil {
				text = strings.TrimSpace(text)
				says = append(says, doctor.Evidence{Source: doctor.Other("ovn-northd " + db + "-connection-status"), Says: text})
				cut = cut || text != "connected"
			}
		}
		// Of the others nothing is known but what the databases show.
		switch {
		case late:
			f.Title = fmt.Sprintf("ovn-northd of %s is %s, and none is active", n.host.Name, n.status)
		case cut:
			f.Title = fmt.Sprintf("ovn-northd of %s is %s and has lost a database", n.host.Name, n.status)
		default:
			return f, false // the active one is on a host that is not read
		}
		f.Evidence = says
		if e.Source.Kind != "" {
			f.Evidence = append(f.Evidence, e)
		}
		f.Cause = "it does not hold the Southbound's lock ovn_northd: it cannot reach a database, or one that hangs elsewhere holds the lock"
		f.Next = "look at ovn-northd on the other hosts with databases, and at the databases' connections"
	case n.daemon.Liveness == snapshot.Hung:
		f.Title = fmt.Sprintf("ovn-northd of %s does not answer", n.host.Name)
		f.Evidence = doctor.SilenceEvidence(n.host, "ovn-northd", n.daemon, n.meant)
		f.Cause = "it hangs, is stopped, or is busy with a very large change"
		f.Fix = catalog.StartNorthd.With()
		f.Lasting = true
	default:
		f.Title = fmt.Sprintf("ovn-northd of %s does not run", n.host.Name)
		f.Evidence = doctor.SilenceEvidence(n.host, "ovn-northd", n.daemon, n.meant)
		f.Cause = "it ended, or was ended, and nothing started it again"
		f.Fix = catalog.StartNorthd.With()
	}
	if c := doctor.InContainer(n.host, "ovn-northd"); c != nil && n.status == "" {
		f.Fix, f.Next = nil, fmt.Sprintf("restart its container (process %d, %s)", c.PID, c.Cgroup)
	}
	return f, true
}

// northdLag says whether the Southbound is behind the Northbound, and by what.
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
	return doctor.Evidence{Source: doctor.NB("NB_Global", ""), Says: says}, true
}
