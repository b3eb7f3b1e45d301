package controller

import (
	"context"
	"fmt"
	"maps"
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
	Doc: `Two running nodes have one system-id

Both write the same Chassis row, again and again, and each takes the other's ports. This
follows when a node's image or disk is cloned.`,
	Host: func(_ *doctor.Pass, h *snapshot.Host) { _, _ = releases(h) }, // read on its visit, for Run
	Run:  doctor.Over2((*doctor.Pass).GivenSouthbounds, clonedChassis),
}

// An identity is what a Chassis row says about its node at one moment.
type identity struct {
	hostname, ips string
}

func (i identity) String() string { return fmt.Sprintf("hostname=%s encap %s", i.hostname, i.ips) }

func identityOf(c *sb.Chassis, encaps []sb.Encap) identity {
	var ips []string
	for _, e := range encaps {
		ips = append(ips, e.IP)
	}
	slices.Sort(ips)
	return identity{c.Hostname, strings.Join(ips, ", ")}
}

// rereads is how often a suspicious row is read to see whether it alternates.
const rereads = 12

// clonedChassis rereads rows that two nodes may write: such a row changes many times a second, so it often differs from
// when the Southbound was opened.
func clonedChassis(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound) {
	db, err := z.SB()
	if err != nil {
		return
	}
	if _, live := db.(*ovsdb.Client); !live {
		return // a capture shows only one of the two
	}
	rewritten, ok := doctor.Need(p, doctor.SouthboundObject, func() (map[string]bool, error) { return z.Rewritten(south) })
	if !ok {
		return
	}
	suspects := map[string][]identity{}
	for c := range doctor.Each(south.Chassis) {
		row := identityOf(c, south.EncapsOf(c))
		if !snapshot.Elsewhere(c) && (rewritten[c.Name] || ofAnotherNode(p, c, row) || losesPorts(p, c.Name)) {
			suspects[c.Name] = []identity{row}
		}
	}
	if !watch(p.Context(), db, suspects) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(suspects)) {
		if f, ok := cloned(p, z, name, suspects[name]); ok {
			p.Report(f)
		}
	}
}

// watch samples the suspicious rows several times. It reports whether all could be read.
func watch(ctx context.Context, db ovsdb.Reader, suspects map[string][]identity) bool {
	if len(suspects) == 0 {
		return false
	}
	for range rereads {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(70 * time.Millisecond):
		}
		var rows snapshot.Southbound
		if err := readChassis(ctx, db, &rows); err != nil {
			return false
		}
		for c := range doctor.Each(rows.Chassis) {
			if seen, ok := suspects[c.Name]; ok {
				suspects[c.Name] = append(seen, identityOf(c, rows.EncapsOf(c)))
			}
		}
	}
	return true
}

// readChassis reads the current chassis and encaps.
func readChassis(ctx context.Context, db ovsdb.Reader, to *snapshot.Southbound) error {
	var rows struct {
		Chassis []sb.Chassis
		Encaps  []sb.Encap
	}
	err := ovsdb.Load(ctx, db, &rows)
	to.Chassis, to.Encaps = rows.Chassis, rows.Encaps
	return err
}

// ofAnotherNode reports whether a row is not what its node, readable and with a replying ovn-controller, would write.
func ofAnotherNode(p *doctor.Pass, c *sb.Chassis, row identity) bool {
	h := p.Host(c.Name)
	if h == nil {
		return false
	}
	own, err := h.Settings()
	if err != nil {
		return false
	}
	name, _, _ := h.ChassisName()
	ip, _ := own.Setting("ovn-encap-ip", name)
	return name == c.Name && own.ExternalIDs["hostname"] != c.Hostname && !slices.Contains(strings.Split(row.ips, ", "), ip) && doctor.ControllerReplies(h)
}

// losesPorts reports whether a chassis' log shows that it released several ports in the last seconds.
func losesPorts(p *doctor.Pass, name string) bool {
	h := p.Host(name)
	if h == nil {
		return false
	}
	lines, err := releases(h)
	if err != nil {
		return false
	}
	released := doctor.Recent(lines, p.Now().Add(-10*time.Second), func(snapshot.LogLine) bool { return true })
	return len(released) >= 5
}

// releases returns what a host's ovn-controller logged of ports that it released.
func releases(h *snapshot.Host) ([]snapshot.LogLine, error) {
	return doctor.LogLines(h, "ovn-controller", "|binding|INFO|Releasing lport")
}

// cloned returns the finding of a row that two nodes write in turn; one change alone is a reconfiguration.
func cloned(p *doctor.Pass, z *snapshot.Zone, name string, seen []identity) (doctor.Finding, bool) {
	changes := 0
	kinds, hosts := map[string]bool{}, map[string]bool{}
	for i, s := range seen {
		kinds[s.String()] = true
		if s.hostname != "" {
			hosts[s.hostname] = true
		}
		if i > 0 && s != seen[i-1] {
			changes++
		}
	}
	if changes < 2 {
		return doctor.Finding{}, false
	}
	f := doctor.Finding{
		Object: doctor.ChassisObject(name),
		Also:   []doctor.Object{{Kind: "chassis", Name: name}},
		Title:  fmt.Sprintf("two nodes have the system-id %s: %s", name, strings.Join(slices.Sorted(maps.Keys(hosts)), " and ")),
		Cause:  "a node was cloned with its system-id, in /etc/openvswitch/system-id.conf or its Open_vSwitch database",
		Effect: "each takes the row, the tunnels and the ports from the other, many times a second: neither works, and every node follows each change",
		Next:   "on the clone, not on the node that had the name first: ovnctl fix new-system-id",
	}
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.SB("Chassis", name), Says: "at one moment " + k})
	}
	for _, h := range slices.Sorted(maps.Keys(hosts)) {
		f.Also = append(f.Also, doctor.NodeObject(h))
	}
	h := p.Local()
	if h == nil || h.Zone() != z {
		return f, true
	}
	if own, source, err := h.ChassisName(); err == nil && own == name {
		f.Also = append(f.Also, doctor.NodeObject(h.Name))
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Setting("external_ids:system-id").On(h.Name), Says: fmt.Sprintf("%s, from %s", name, source)})
		f.Next, f.Fix = "", catalog.NewSystemID.With().At(h.Name)
	}
	return f, true
}
