package southbound

import (
	"fmt"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DuplicateChassisStale = &doctor.Check{
	Name:     "duplicate-chassis-stale",
	Category: "sb",
	Doc: `A chassis row is left of a node that goes by another name now

After a node was installed again or renamed, its old row holds the tunnel address, and the
Southbound refuses the new one.`,
	Causes: []string{"system-id-cloned"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for _, z := range p.Zones {
			south, err := z.Southbound()
			if err != nil {
				p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
				continue
			}
			duplicates(p, z, south)
		}
		if len(p.Zones) == 0 {
			p.Skip("there is no Southbound here")
		}
	},
}

// A rival is a chassis that has the hostname or a tunnel address of another one or of a node by another name.
type rival struct {
	chassis *sb.Chassis
	of      string          // who it is in the way of
	also    []doctor.Object // the nodes
	seen    []doctor.Evidence
	blocked bool // that one cannot register because of it
}

func duplicates(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound) {
	found := map[ovsdb.UUID]*rival{}
	blockers(p, z, south, found)
	namesakes(south, found)
	for i := range south.Chassis {
		c := &south.Chassis[i]
		if r := found[c.UUID]; r != nil {
			judge(p, z, south, r)
		} else if !snapshot.Elsewhere(c) {
			abandoned(p, z, south, c)
		}
	}
}

// blockers finds chassis that have the tunnel address which a node is set to use under another name.
func blockers(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, found map[ovsdb.UUID]*rival) {
	for _, h := range p.Hosts {
		if h.Zone() != z {
			continue
		}
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		name, _, err := h.ChassisName()
		if err != nil || name == "" {
			continue
		}
		ips, key := sw.Setting("ovn-encap-ip", name)
		for i := range south.Chassis {
			c := &south.Chassis[i]
			if c.Name == name || snapshot.Elsewhere(c) || sw.ID("ovn-encap-ip-"+c.Name) != "" {
				continue
			}
			for _, e := range south.EncapsOf(c) {
				if !hasWord(ips, e.IP) {
					continue
				}
				r := &rival{chassis: c, of: name, blocked: south.ChassisNamed(name) == nil, also: []doctor.Object{doctor.NodeObject(h.Name)}}
				r.seen = append(r.seen,
					doctor.Evidence{Source: doctor.Other("Open_vSwitch external_ids of " + h.Name), Says: fmt.Sprintf("system-id=%s %s=%s", name, key, ips)},
					doctor.Evidence{Source: doctor.SB("Encap", doctor.Short(e.UUID)), Says: fmt.Sprintf("type=%s ip=%s chassis_name=%s", e.Type, e.IP, c.Name)})
				if r.blocked {
					r.seen = append(r.seen, doctor.Evidence{Source: doctor.SB("Chassis", ""), Says: "has no row with name=" + name})
				}
				if line := lastLogged(h, "ovn-controller", "cannot duplicate on", "identical values"); line != "" {
					r.seen = append(r.seen, doctor.Evidence{Source: doctor.Log("ovn-controller").On(h.Name), Says: line})
				}
				found[c.UUID] = r
			}
		}
	}
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(w) == word {
			return true
		}
	}
	return false
}

// namesakes finds chassis with one hostname. Which of them is left behind is for the witnesses.
func namesakes(south *snapshot.Southbound, found map[ovsdb.UUID]*rival) {
	byHost := map[string][]*sb.Chassis{}
	for i := range south.Chassis {
		if c := &south.Chassis[i]; !snapshot.Elsewhere(c) && c.Hostname != "" {
			byHost[c.Hostname] = append(byHost[c.Hostname], c)
		}
	}
	for host, all := range byHost {
		if len(all) < 2 {
			continue
		}
		for _, c := range all {
			if found[c.UUID] != nil {
				continue
			}
			r := &rival{chassis: c, also: []doctor.Object{doctor.NodeObject(host)}}
			for _, other := range all {
				r.seen = append(r.seen, doctor.Evidence{Source: doctor.SB("Chassis", doctor.Short(other.UUID)), Says: fmt.Sprintf("name=%s hostname=%s %s", other.Name, other.Hostname, encapText(south, other))})
				if other != c {
					r.of = other.Name
				}
			}
			found[c.UUID] = r
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

// judge reports a chassis that is in another one's way, as far as it is known to be dead.
func judge(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, r *rival) {
	c := r.chassis
	death := catalog.ChassisDeath(p.Deployment, z, south, c)
	if death.Alive != "" && !r.blocked {
		return // of two with one hostname, this is the living one, or both are
	}
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "chassis", Name: c.Name},
		Also:     append(r.also, doctor.NodeObject(c.Hostname), doctor.Object{Kind: "chassis", Name: r.of}),
		Title:    fmt.Sprintf("chassis %s of %s is left over: the node goes by %s now", c.Name, c.Hostname, r.of),
		Evidence: r.seen,
		Cause:    "the node was installed again or renamed, and its old row was not deleted",
		Effect:   "other nodes keep a tunnel that leads nowhere, and what is bound to the old row is dead",
	}
	if r.blocked {
		f.Title = fmt.Sprintf("chassis %s cannot register: its tunnel address belongs to the old chassis %s", r.of, c.Name)
		f.Effect = "ovn-controller tries again and again to write its row, and nothing new works on the node"
	}
	f.Evidence = append(f.Evidence, witnesses(death)...)
	held := catalog.ChassisHolds(z, south, c, death.Heir)
	switch {
	case death.Certain() && len(held) == 0:
		f.Fix = catalog.DeleteChassis.With(c.Name)
	case death.Certain():
		f.Next = fmt.Sprintf("it still holds %s: move them to a living chassis, then: ovnctl fix delete-chassis %s", strings.Join(held, ", "), c.Name)
	case !r.blocked:
		if death.Quiet && len(death.Others) > 0 || death.Behind != nil {
			p.Unknown(f.Object, fmt.Errorf("chassis %s and %s have the hostname %s, and whether the first is dead cannot be told: %s", c.Name, r.of, c.Hostname, settle(death)))
		}
		return
	default:
		f.Next = fmt.Sprintf("%s; then: ovnctl fix delete-chassis %s", settle(death), c.Name)
	}
	p.Report(f)
}

// settle is what would tell whether a chassis is dead.
func settle(d catalog.Death) string {
	switch {
	case d.Alive != "":
		return d.Alive
	case d.Quiet:
		return "nothing was asked of any chassis lately; ovn-nbctl --wait=hv --timeout=30 sync, and half a minute later, tells"
	case d.Behind == nil:
		return "it has been behind for too short a time; half a minute later it can be told"
	}
	return "there is one witness only; ovnctl on a node with a tunnel to it, or --node-exec, finds another"
}

func witnesses(d catalog.Death) []doctor.Evidence {
	var out []doctor.Evidence
	if d.Behind != nil {
		out = append(out, doctor.Evidence{Source: doctor.Other(d.Behind.Source), Says: d.Behind.Says})
	}
	for _, w := range d.Others {
		out = append(out, doctor.Evidence{Source: doctor.Other(w.Source), Says: w.Says})
	}
	return out
}

// A node may be down for maintenance: only one that has held nothing and said nothing for a day is thought gone.
const abandonedAfter = 24 * time.Hour

// abandoned reports a chassis in nobody's way whose node has been gone for long.
func abandoned(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis) {
	for _, r := range south.ChassisPrivate {
		if r.Name == c.Name && (r.NBCfgTimestamp == 0 || p.Time().Sub(time.UnixMilli(int64(r.NBCfgTimestamp))) < abandonedAfter || len(south.Globals) > 0 && r.NBCfg >= south.Globals[0].NBCfg) {
			return
		}
	}
	if len(catalog.ChassisHolds(z, south, c, "")) > 0 {
		return
	}
	death := catalog.ChassisDeath(p.Deployment, z, south, c)
	if !death.Certain() || death.Since.IsZero() {
		return
	}
	p.Report(doctor.Finding{
		Result:   doctor.Warning,
		Object:   doctor.Object{Kind: "chassis", Name: c.Name},
		Also:     []doctor.Object{doctor.NodeObject(c.Hostname)},
		Title:    fmt.Sprintf("chassis %s of %s has said nothing since %s and holds nothing", c.Name, c.Hostname, death.Since.UTC().Format(time.RFC3339)),
		Evidence: witnesses(death),
		Cause:    "the node was taken out of the cluster and its row was left, or it has been off for long",
		Effect:   "all nodes keep a tunnel that leads nowhere, and whoever waits for all chassis waits in vain",
		Fix:      catalog.DeleteChassis.With(c.Name),
	})
}

// lastLogged is the last line of a daemon's log with one of some texts, without its head; empty: there is none.
func lastLogged(h *snapshot.Host, daemon string, texts ...string) string {
	log, err := h.Log(daemon)
	if err != nil {
		return ""
	}
	last := ""
	for line := range strings.Lines(log) {
		for _, t := range texts {
			if strings.Contains(line, t) {
				last = strings.TrimSpace(line)
			}
		}
	}
	if len(last) > 300 {
		last = last[:300] + "…"
	}
	return last
}
