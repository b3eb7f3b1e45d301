package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// KernelConntrack names the kernel's connection table.
const KernelConntrack = "kernel"

// defaultConnections is how many connections a userspace datapath tracks by default.
const defaultConnections = 3000000

// RaiseConntrackLimit lets a host track more connections.
var RaiseConntrackLimit = &fixes.Repair{
	Name: "raise-conntrack-limit",
	Doc: `Let the host track more connections

Raises, until the next start, the limit of the kernel (net.netfilter.nf_conntrack_max),
of a userspace datapath (dpctl/ct-set-maxconns), or of one ct zone (dpctl/ct-set-limits).
By default it is doubled, and for a datapath at least 3000000. Existing connections stay.
It does not find out why there are so many. It refuses for a zone whose limit comes from
the database.`,
	Params: []fixes.Param{
		{Name: "TABLE", Doc: "kernel, zone=N, or a datapath such as netdev@ovs-netdev"},
		{Name: "LIMIT", Doc: "how many connections", Optional: true},
	},
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.Low,
	Check: "conntrack-table-full",
	Plan: onSwitch(func(h *snapshot.Host, sw *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
		if zone, ok := strings.CutPrefix(a["TABLE"], "zone="); ok {
			return raiseZone(h, sw, zone, a["LIMIT"])
		}
		sizes, err := h.ConntrackSize()
		if err != nil {
			return nil, err
		}
		var names []string
		for _, t := range sizes {
			name := t.Datapath
			if name == "" {
				name = KernelConntrack
			}
			names = append(names, name)
			if name != a["TABLE"] {
				continue
			}
			usual := 2 * t.Max
			if t.Datapath != "" {
				usual = max(usual, defaultConnections)
			}
			limit, err := largerNumber(a["LIMIT"], t.Max, usual)
			if err != nil {
				return nil, err
			}
			p := &fixes.Plan{
				Title: fmt.Sprintf("let %s track %d connections", h.Name, limit), Host: h.Name,
				Touches: "new connections, which are no longer refused; memory, a few hundred bytes for each",
			}
			if t.Datapath == "" {
				p.Steps = []fixes.Step{fixes.Sysctl{Name: "net/netfilter/nf_conntrack_max", Before: strconv.Itoa(t.Max), After: strconv.Itoa(limit)}}
				p.Warnings = []string{fmt.Sprintf("it lasts until the next boot: to keep it put net.netfilter.nf_conntrack_max = %d in a file of /etc/sysctl.d/", limit)}
				return p, nil
			}
			p.Steps = []fixes.Step{fixes.Control{
				Daemon: "ovs-vswitchd", Command: "dpctl/ct-set-maxconns", Args: []string{t.Datapath, strconv.Itoa(limit)},
				What: fmt.Sprintf("let %s track %d connections instead of %d", t.Datapath, limit, t.Max),
				Undo: []string{"dpctl/ct-set-maxconns", t.Datapath, strconv.Itoa(t.Max)},

				State: []string{"dpctl/ct-get-maxconns", t.Datapath}, Was: strconv.Itoa(t.Max), Is: strconv.Itoa(limit),
			}}
			p.Warnings = []string{fmt.Sprintf("when ovs-vswitchd restarts the limit is %d, unless what set it sets it again", defaultConnections)}
			return p, nil
		}
		return nil, fmt.Errorf("no connection table %q; %s has %s, and zone=N", a["TABLE"], h.Name, several(names))
	}),
}

func raiseZone(h *snapshot.Host, sw *snapshot.Switch, zone, arg string) (*fixes.Plan, error) {
	number, err := strconv.Atoi(zone)
	if err != nil {
		return nil, fmt.Errorf("%q is not a ct zone: give its number, zone=12", zone)
	}
	if id := zoneWithLimit(sw, number); id != "" {
		return nil, fixes.Refuse("change the limit where it is set: in the Northbound, other_config:ct-zone-limit of the logical switch, router or port; or with ovs-vsctl set-zone-limit",
			"the limit of ct zone %d comes from the database, CT_Zone %.8s, and ovs-vswitchd would set it again", number, id)
	}
	datapaths, err := h.Datapaths()
	if err != nil {
		return nil, err
	}
	for _, dp := range datapaths {
		limits, err := h.ConntrackLimits(dp.Name, nil)
		if err != nil {
			return nil, err
		}
		for _, l := range limits {
			if l.Zone != number || l.Limit == 0 {
				continue
			}
			limit, err := largerNumber(arg, l.Limit, 2*l.Limit)
			if err != nil {
				return nil, err
			}
			set := func(n int) string { return fmt.Sprintf("zone=%d,limit=%d", number, n) }
			return &fixes.Plan{
				Title: fmt.Sprintf("let ct zone %d track %d connections", number, limit), Host: h.Name,
				Touches:  "new connections through this zone, which are no longer refused",
				Warnings: []string{"what set the limit may set it again"},
				Steps: []fixes.Step{fixes.Control{
					Daemon: "ovs-vswitchd", Command: "dpctl/ct-set-limits", Args: []string{dp.Name, set(limit)},
					What: fmt.Sprintf("let ct zone %d track %d connections instead of %d", number, limit, l.Limit),
					Undo: []string{"dpctl/ct-set-limits", dp.Name, set(l.Limit)},

					State: []string{"dpctl/ct-get-limits", dp.Name, fmt.Sprintf("zone=%d", number)}, Was: set(l.Limit) + ",", Is: set(limit) + ",",
				}},
			}, nil
		}
	}
	return nil, fixes.Refuse("", "ct zone %d has no limit of its own", number)
}

// zoneWithLimit returns the row of a ct zone with a limit in the database; empty if none.
func zoneWithLimit(sw *snapshot.Switch, zone int) ovsdb.UUID {
	for _, dp := range sw.Datapaths {
		for _, row := range sw.CTZones {
			if id, ok := dp.CTZones[zone]; ok && row.UUID == id && len(row.Limit) > 0 {
				return id
			}
		}
	}
	return ""
}
