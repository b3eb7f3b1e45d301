package southbound

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DuplicateChassisStale = &doctor.Check{
	Name:     "duplicate-chassis-stale",
	Category: "sb",
	Doc: `A stale Chassis row remains of a renamed or reinstalled node

The old row holds the tunnel address, and the Southbound refuses a new row with it.`,
	Causes: []string{"system-id-cloned"},
	Settle: true,
	Run:    doctor.Over2((*doctor.Pass).GivenSouthbounds, duplicates),
}

// A duplicate is a chassis with the hostname or a tunnel address of another chassis, or of a node with another name.
type duplicate struct {
	chassis *sb.Chassis
	of      string          // the other's name
	also    []doctor.Object // the nodes
	seen    []doctor.Evidence
	blocked bool // it keeps the other from registering
}

func duplicates(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound) {
	found := map[ovsdb.UUID]*duplicate{}
	blockers(p, z, south, found)
	sameHostname(south, found)
	var silent []*sb.Chassis
	for c := range doctor.Each(south.Chassis) {
		if r := found[c.UUID]; r != nil {
			judge(p, z, south, r)
		} else if !snapshot.Elsewhere(c) && longSilent(p, z, south, c) {
			silent = append(silent, c)
		}
	}
	deaths := make([]facts.Death, len(silent))
	p.SideBySide(len(silent), func(i int) { deaths[i] = facts.ChassisDeath(p.Deployment, z, south, silent[i]) }) // each may wait for an address
	for i, c := range silent {
		abandoned(p, c, deaths[i])
	}
}

// blockers finds chassis with a tunnel address that a node with another name is set to use.
func blockers(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, found map[ovsdb.UUID]*duplicate) {
	for _, h := range p.Hosts {
		if h.Zone() != z {
			continue
		}
		own, err := h.Settings()
		if err != nil {
			continue
		}
		name, _, err := h.ChassisName()
		if err != nil || name == "" {
			continue
		}
		ips, key := own.Setting("ovn-encap-ip", name)
		endpoints := doctor.Endpoints(ips)
		for e := range doctor.Each(south.Encaps) {
			if e.ChassisName == name || !slices.Contains(endpoints, e.IP) {
				continue
			}
			c := south.ChassisNamed(e.ChassisName)
			if c == nil || snapshot.Elsewhere(c) || own.ExternalIDs["ovn-encap-ip-"+c.Name] != "" {
				continue
			}
			r := &duplicate{chassis: c, of: name, blocked: south.ChassisNamed(name) == nil, also: []doctor.Object{doctor.NodeObject(h.Name)}}
			r.seen = append(r.seen,
				doctor.OVS("Open_vSwitch", "").On(h.Name).Says(fmt.Sprintf("external_ids: system-id=%s %s=%s", name, key, ips)),
				doctor.SBRow("Encap", e.UUID, "type=%s ip=%s chassis_name=%s", e.Type, e.IP, c.Name))
			if r.blocked {
				r.seen = append(r.seen, doctor.SB("Chassis", "").Says("has no row with name="+name))
			}
			if line := doctor.LastLogged(h, "ovn-controller", "cannot duplicate on", "identical values").Raw; line != "" {
				r.seen = append(r.seen, doctor.Log("ovn-controller").On(h.Name).Says(doctor.Shorten(line, 300)))
			}
			found[c.UUID] = r
		}
	}
}

// sameHostname finds chassis with the same hostname. The witnesses decide which one is stale.
func sameHostname(south *snapshot.Southbound, found map[ovsdb.UUID]*duplicate) {
	byHost := map[string][]*sb.Chassis{}
	for c := range doctor.Each(south.Chassis) {
		if !snapshot.Elsewhere(c) && c.Hostname != "" {
			byHost[c.Hostname] = append(byHost[c.Hostname], c)
		}
	}
	for host, all := range byHost {
		if len(all) < 2 {
			continue
		}
		var rows []doctor.Evidence
		for _, c := range all {
			rows = append(rows, doctor.SBRow("Chassis", c.UUID, "name=%s hostname=%s %s", c.Name, c.Hostname, encapText(south, c)))
		}
		for i, c := range all {
			if found[c.UUID] == nil {
				others := slices.Delete(slices.Clone(all), i, i+1)
				found[c.UUID] = &duplicate{chassis: c, of: others[len(others)-1].Name, also: []doctor.Object{doctor.NodeObject(host)}, seen: slices.Clone(rows)}
			}
		}
	}
}

func encapText(south *snapshot.Southbound, c *sb.Chassis) string {
	var out []string
	for _, e := range south.EncapsOf(c) {
		out = append(out, e.Type+" "+e.IP)
	}
	return "encaps " + strings.Join(out, ", ")
}

// judge reports a duplicate if it is known dead, or blocks the other.
func judge(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, r *duplicate) {
	c := r.chassis
	death := facts.ChassisDeath(p.Deployment, z, south, c)
	if death.Alive != "" && !r.blocked {
		return // of two with the same hostname, this one is alive
	}
	f := doctor.Finding{
		Object:   doctor.ChassisObject(c.Name),
		Also:     append(r.also, doctor.NodeObject(c.Hostname), doctor.ChassisObject(r.of)),
		Reason:   "replaced",
		Title:    fmt.Sprintf("chassis %s of %s is stale: the node is chassis %s now", c.Name, c.Hostname, r.of),
		Evidence: r.seen,
		Cause:    "the node was reinstalled or renamed, and its old row was not deleted",
		Effect:   "other nodes keep a tunnel to a node that is gone, and ports bound to the old row do not work",
	}
	if r.blocked {
		f.Reason = "blocks"
		f.Title = fmt.Sprintf("chassis %s cannot register: its tunnel address belongs to the old chassis %s of %s", r.of, c.Name, cmp.Or(c.Hostname, "unknown host"))
		f.Effect = "ovn-controller fails to write its row again and again, and nothing new works on the node"
	}
	f.Evidence = append(f.Evidence, witnesses(death)...)
	held := facts.ChassisHolds(z, south, c, death.Successor)
	switch {
	case death.Certain() && len(held) == 0:
		f.Fix = catalog.DeleteChassis.With(c.Name)
	case death.Certain():
		f.Next = fmt.Sprintf("it still holds %s: move them to a living chassis, then: ovnctl fix delete-chassis %s", strings.Join(held, ", "), fixes.Word(c.Name))
	case !r.blocked:
		if death.Quiet && len(death.Others) > 0 || death.Behind != nil {
			p.Unknown(f.Object, fmt.Errorf("chassis %s and %s have the hostname %s; it is unknown whether the first is dead: %s", c.Name, r.of, c.Hostname, toProve(death)))
		}
		return
	default:
		f.Next = fmt.Sprintf("%s; then: ovnctl fix delete-chassis %s", toProve(death), fixes.Word(c.Name))
	}
	p.Report(f)
}

// toProve returns what it takes to prove that a chassis is dead.
func toProve(d facts.Death) string {
	switch {
	case d.Alive != "":
		return d.Alive
	case d.Quiet:
		return "no chassis had anything to do lately; run ovn-nbctl --wait=hv --timeout=30 sync, and check again half a minute later"
	case d.Behind == nil:
		return "it has been behind for too short a time; check again half a minute later"
	}
	return "there is only one witness; ovnctl on a node with a tunnel to it, or --node-exec, finds another"
}

func witnesses(d facts.Death) []doctor.Evidence {
	var out []doctor.Evidence
	if d.Behind != nil {
		out = append(out, doctor.Other(d.Behind.Source).Says(d.Behind.Says))
	}
	for _, w := range d.Others {
		out = append(out, doctor.Other(w.Source).Says(w.Says))
	}
	return out
}

// A node may be down for maintenance: only a chassis that holds nothing and was silent for a day counts as gone.
const abandonedAfter = 24 * time.Hour

// longSilent reports whether a chassis has not followed the Southbound for that long, and holds nothing.
func longSilent(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis) bool {
	for _, r := range south.ChassisPrivate {
		if r.Name == c.Name && (r.NBCfgTimestamp == 0 || p.Now().Sub(time.UnixMilli(int64(r.NBCfgTimestamp))) < abandonedAfter || len(south.Globals) > 0 && r.NBCfg >= south.Globals[0].NBCfg) {
			return false
		}
	}
	return len(facts.ChassisHolds(z, south, c, "")) == 0
}

// abandoned reports a chassis that blocks no other and whose node has long been gone.
func abandoned(p *doctor.Pass, c *sb.Chassis, death facts.Death) {
	if !death.Certain() || death.Since.IsZero() {
		return
	}
	p.Report(doctor.Finding{
		Result:   doctor.Warning,
		Object:   doctor.ChassisObject(c.Name),
		Also:     []doctor.Object{doctor.NodeObject(c.Hostname)},
		Reason:   "abandoned",
		Title:    fmt.Sprintf("chassis %s of %s has been silent since %s and holds nothing", c.Name, c.Hostname, death.Since.UTC().Format(time.RFC3339)),
		Evidence: witnesses(death),
		Cause:    "the node was removed from the cluster and its row was not, or it has been off for long",
		Effect:   "all nodes keep a tunnel to it, and ovn-nbctl --wait=hv never returns",
		Fix:      catalog.DeleteChassis.With(c.Name),
	})
}
