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
	Doc: `The table of tracked connections is full

New connections fail at random while those that are known go on.`,
	Causes: []string{"underlay-conntrack-tracks-tunnel"},
	Run: func(p *doctor.Pass) {
		for _, l := range doctor.Sampled(p, readConntrack, func(conntrackRoom) bool { return false }) {
			for _, t := range l.First.tables {
				fullTable(p, l.Host, t)
			}
			for _, z := range l.First.zones {
				fullZone(p, l.Host, z)
			}
		}
	},
}

// How full a table is when it is told of: nearly, and so that connections fail.
const (
	nearlyFull = 0.85
	full       = 0.95
)

// conntrackRoom is how full a host's tables of connections are.
type conntrackRoom struct {
	tables []snapshot.TableSize
	zones  []limitedZone
}

// A limitedZone is a connection tracking zone that has reached its own limit.
type limitedZone struct {
	snapshot.ZoneLimit
	datapath, name string
}

func readConntrack(h *snapshot.Host) (c conntrackRoom, err error) {
	if c.tables, err = h.ConntrackSize(); err != nil {
		return c, err
	}
	datapaths, err := h.Datapaths()
	if err != nil {
		return c, nil //nolint:nilerr // without ovs-vswitchd the tables of the kernel are what there is
	}
	for _, d := range datapaths {
		if snapshot.Idle(c.tables, d.Name) {
			continue // to look for zones with a limit ovs-vswitchd goes through all 65536
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

// zoneName is what ovn-controller calls a zone; empty: it is not known.
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
	which := "the kernel's table of connections"
	if t.Datapath != "" {
		which = "the table of connections of " + t.Datapath
	}
	f := doctor.Finding{
		Object: doctor.NodeObject(h.Name),
		Title:  fmt.Sprintf("%s on %s is full to %.0f %%", which, h.Name, 100*t.Full()),
		Evidence: []doctor.Evidence{
			{Source: doctor.Other(t.Source), Says: fmt.Sprintf("%d of %d", t.Now, t.Max)},
		},
		Cause:  "there are more connections than the table was made for, or they are forgotten too slowly",
		Effect: "packets of new connections are dropped when it is full, and known connections go on",
		Fix:    catalog.RaiseConntrackLimit.With(cmp.Or(t.Datapath, catalog.KernelConntrack)),
	}
	if t.Full() < full {
		f.Result = doctor.Warning
	}
	p.Report(f)
}

func fullZone(p *doctor.Pass, h *snapshot.Host, z limitedZone) {
	name := "zone " + strconv.Itoa(z.Zone)
	if z.name != "" {
		name += " (" + z.name + ")"
	}
	p.Report(doctor.Finding{
		Object: doctor.NodeObject(h.Name), Also: []doctor.Object{{Kind: "port", Name: cmp.Or(z.name, strconv.Itoa(z.Zone))}},
		Title:    fmt.Sprintf("connection tracking %s on %s has as many connections as its limit allows", name, h.Name),
		Evidence: []doctor.Evidence{{Source: doctor.Other("dpctl/ct-get-limits " + z.datapath), Says: fmt.Sprintf("zone=%d,limit=%d,count=%d", z.Zone, z.Limit, z.Now)}},
		Cause:    "a limit was set for this zone, and whoever is in it has that many connections",
		Effect:   "new connections through this zone are dropped",
		Fix:      catalog.RaiseConntrackLimit.With("zone=" + strconv.Itoa(z.Zone)),
	})
}
