package host

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ConntrackTableFull = &doctor.Check{
	Name:     "conntrack-table-full",
	Category: "node-os",
	Doc: `The conntrack table is full

New connections fail at random while established ones continue.`,
	Causes: []string{"underlay-conntrack-tracks-tunnel"},
	Run: func(p *doctor.Pass) {
		for _, s := range doctor.ReadHosts(p, readConntrack) {
			for _, t := range s.First.tables {
				fullTable(p, s.Host, t)
			}
			for _, z := range s.First.zones {
				fullZone(p, s.Host, z)
			}
		}
	},
}

// From nearlyFull on a table is a warning, from full on an error: then connections fail.
const (
	nearlyFull = 0.85
	full       = 0.95
)

// conntrackUse is how full a host's conntrack tables are.
type conntrackUse struct {
	tables []snapshot.TableSize
	zones  []limitedZone
}

// A limitedZone is a ct zone that has reached its own limit.
type limitedZone struct {
	snapshot.ZoneLimit
	datapath, name string
}

func readConntrack(h *snapshot.Host) (c conntrackUse, err error) {
	if c.tables, err = h.ConntrackSize(); err != nil {
		return c, err
	}
	datapaths, err := h.Datapaths()
	if err != nil {
		return c, nil //nolint:nilerr // without ovs-vswitchd there are the kernel's tables
	}
	for _, d := range datapaths {
		if snapshot.Idle(c.tables, d.Name) {
			continue // to list limits ovs-vswitchd goes through all 65536 zones
		}
		limits, err := h.ConntrackLimits(d.Name)
		if _, refused := errors.AsType[*node.ControlError](err); refused || errors.Is(err, node.ErrUnavailable) {
			continue // this datapath has none
		}
		if err != nil {
			return c, err
		}
		for _, z := range limits {
			if z.Zone >= 0 && z.Limit > 0 && z.Now >= z.Limit {
				c.zones = append(c.zones, limitedZone{z, d.Name, zoneName(h, z.Zone)})
			}
		}
	}
	return c, nil
}

// zoneName is what ovn-controller calls a ct zone; empty: it is not known.
func zoneName(h *snapshot.Host, zone int) string {
	zones, err := h.CTZones()
	if err != nil {
		return ""
	}
	for name, n := range zones {
		if n == zone {
			return name
		}
	}
	return ""
}

func fullTable(p *doctor.Pass, h *snapshot.Host, t snapshot.TableSize) {
	if t.Full() < nearlyFull {
		return
	}
	table, reason, source := "the kernel's conntrack table", "kernel-table", doctor.Sysctl("net/netfilter/nf_conntrack_count")
	if t.Datapath != "" {
		table, reason, source = "the conntrack table of "+t.Datapath, "datapath-table", doctor.Reply("ovs-vswitchd", "dpctl/ct-get-nconns "+t.Datapath)
	}
	f := doctor.Finding{
		Object:   doctor.NodeObject(h.Name),
		Reason:   reason,
		Title:    fmt.Sprintf("%s on %s is %.0f %% full", table, h.Name, 100*t.Full()),
		Evidence: []doctor.Evidence{{Source: source, Says: fmt.Sprintf("%d of %d", t.Now, t.Max)}},
		Cause:    "there are more connections than the table is sized for, or they time out too slowly",
		Effect:   "once it is full, packets of new connections are dropped; established connections continue",
		Fix:      catalog.RaiseConntrackLimit.With(cmp.Or(t.Datapath, catalog.KernelConntrack)),
	}
	if t.Full() < full {
		f.Result = doctor.Warning
	}
	p.Report(f)
}

func fullZone(p *doctor.Pass, h *snapshot.Host, z limitedZone) {
	number := strconv.Itoa(z.Zone)
	name := "ct zone " + number
	if z.name != "" {
		name += " (" + z.name + ")"
	}
	p.Report(doctor.Finding{
		Object:   doctor.Object{Kind: "ct zone", Name: cmp.Or(z.name, number), Node: h.Name},
		Also:     []doctor.Object{doctor.NodeObject(h.Name)},
		Title:    fmt.Sprintf("%s on %s has reached its connection limit", name, h.Name),
		Evidence: []doctor.Evidence{{Source: doctor.Reply("ovs-vswitchd", "dpctl/ct-get-limits "+z.datapath), Says: fmt.Sprintf("zone=%d,limit=%d,count=%d", z.Zone, z.Limit, z.Now)}},
		Cause:    "the zone has a limit of its own, and the logical port or router in it has that many connections",
		Effect:   "new connections through this zone are dropped",
		Fix:      catalog.RaiseConntrackLimit.With("zone=" + number),
	})
}
