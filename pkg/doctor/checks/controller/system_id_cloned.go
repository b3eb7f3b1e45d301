package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var SystemIDCloned = &doctor.Check{
	Name:     "system-id-cloned",
	Category: "ovn-controller",
	Doc: `Two live nodes go by one system-id

Both write the same Chassis row, again and again, and each takes the other's ports away: what
follows when a node's image or disk is cloned.`,
	Run: func(p *doctor.Pass) {
		for _, z := range p.Zones {
			south, err := z.Southbound()
			if err != nil {
				p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
				continue
			}
			db, err := z.SB()
			if err != nil {
				continue
			}
			twins(p, z, south, db)
		}
		if len(p.Zones) == 0 {
			p.Skip("there is no Southbound here")
		}
	},
}

// An identity is a Chassis row as it is at one moment.
type identity struct {
	sb.Chassis
	ips []string
}

func (i identity) String() string {
	return fmt.Sprintf("hostname=%s encap %s", i.Hostname, strings.Join(i.ips, ", "))
}

// rereads is how often a suspected row is read, to see whether it goes to and fro.
const rereads = 12

// twins looks at rows again and again of which something tells that two nodes may write them: one that two write changes
// many times a second, so that it often is another than when the Southbound was opened, or at the next look.
func twins(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, db ovsdb.Reader) {
	if _, live := db.(*ovsdb.Client); !live {
		return // one moment shows one of two at most
	}
	rewritten, err := z.Rewritten(south)
	if err != nil {
		p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
		return
	}
	suspects := map[string][]identity{}
	for i := range south.Chassis {
		c := &south.Chassis[i]
		row := identity{Chassis: *c}
		for _, e := range south.EncapsOf(c) {
			row.ips = append(row.ips, e.IP)
		}
		slices.Sort(row.ips)
		if !snapshot.Elsewhere(c) && (rewritten[c.Name] || anothers(p, c, row) || restless(p, c.Name)) {
			suspects[c.Name] = []identity{row}
		}
	}
	for range rereads {
		if len(suspects) == 0 {
			return
		}
		select {
		case <-p.Context().Done():
			return
		case <-time.After(70 * time.Millisecond):
		}
		now, err := identities(p.Context(), db)
		if err != nil {
			return
		}
		for name := range suspects {
			if i, ok := now[name]; ok {
				suspects[name] = append(suspects[name], i)
			}
		}
	}
	for name, seen := range suspects {
		if f, ok := cloned(p, z, name, seen); ok {
			p.Report(f)
		}
	}
}

// anothers says whether a row is not what its node, which can be read and whose controller lives, would write.
func anothers(p *doctor.Pass, c *sb.Chassis, row identity) bool {
	h := p.Host(c.Name)
	if h == nil {
		return false
	}
	sw, err := h.Switch()
	if err != nil {
		return false
	}
	name, _, _ := h.ChassisName()
	ip, _ := sw.Setting("ovn-encap-ip", name)
	return name == c.Name && sw.ID("hostname") != c.Hostname && !slices.Contains(row.ips, ip) && doctor.ControllerAnswers(h)
}

// restless says whether the log of a chassis' node tells that ports come and go there all the time.
func restless(p *doctor.Pass, name string) bool {
	h := p.Host(name)
	if h == nil {
		return false
	}
	log, err := h.Log("ovn-controller")
	if err != nil {
		return false
	}
	released := 0
	for line := range strings.Lines(log) {
		if !strings.Contains(line, "|binding|INFO|Releasing lport") {
			continue
		}
		stamp, _, _ := strings.Cut(line, "|")
		if t, err := time.Parse(time.RFC3339Nano, stamp); err == nil && p.Time().Sub(t) < 10*time.Second {
			released++
		}
	}
	return released >= 5
}

// identities reads the chassis with their tunnel addresses, as they are now.
func identities(ctx context.Context, db ovsdb.Reader) (map[string]identity, error) {
	var rows struct {
		Chassis []sb.Chassis
		Encaps  []sb.Encap
	}
	if err := ovsdb.Load(ctx, db, &rows); err != nil {
		return nil, err
	}
	ips := map[ovsdb.UUID]string{}
	for _, e := range rows.Encaps {
		ips[e.UUID] = e.IP
	}
	all := map[string]identity{}
	for _, c := range rows.Chassis {
		i := identity{Chassis: c}
		for _, e := range c.Encaps {
			i.ips = append(i.ips, ips[e])
		}
		slices.Sort(i.ips)
		all[c.Name] = i
	}
	return all, nil
}

// cloned is the finding of a row that two nodes write in turn.
func cloned(p *doctor.Pass, z *snapshot.Zone, name string, seen []identity) (doctor.Finding, bool) {
	var kinds []string
	changes := 0
	var hosts []string
	for i, s := range seen {
		if text := s.String(); !slices.Contains(kinds, text) {
			kinds = append(kinds, text)
		}
		if i > 0 && s.String() != seen[i-1].String() {
			changes++
		}
		if s.Hostname != "" && !slices.Contains(hosts, s.Hostname) {
			hosts = append(hosts, s.Hostname)
		}
	}
	if changes < 2 {
		return doctor.Finding{}, false // it was written once, as after a change of settings
	}
	slices.Sort(kinds)
	slices.Sort(hosts)
	f := doctor.Finding{
		Object: doctor.Object{Kind: "chassis", Name: name},
		Also:   []doctor.Object{{Kind: "chassis", Name: name}},
		Title:  fmt.Sprintf("two nodes go by the system-id %s: %s", name, strings.Join(hosts, " and ")),
		Cause:  "a node was cloned with its system-id, in /etc/openvswitch/system-id.conf or the database of its switch",
		Effect: "each takes the row, the tunnels and the ports from the other, many times a second: neither works, and all nodes follow",
	}
	for _, k := range kinds {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.SB("Chassis", name), Says: "at one moment " + k})
	}
	for _, h := range hosts {
		f.Also = append(f.Also, doctor.NodeObject(h))
	}
	if h := p.Local(); h != nil && h.Zone() == z {
		if own, source, err := h.ChassisName(); err == nil && own == name {
			f.Also = append(f.Also, doctor.NodeObject(h.Name))
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("node " + h.Name), Says: fmt.Sprintf("has its system-id from %s", source)})
			f.Fix = catalog.NewSystemID.With()
			return f, true
		}
	}
	f.Next = "on the clone, not on the node that had the name first: ovnctl fix new-system-id"
	return f, true
}
