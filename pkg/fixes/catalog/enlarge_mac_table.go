package catalog

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Sizes of a bridge's table of learned addresses: what Open vSwitch takes where
// nothing is said, and what is enough for a large provider network.
const (
	defaultMACTable = 8192
	largeMACTable   = 50000
)

// EnlargeMACTable lets a bridge learn more MAC addresses.
var EnlargeMACTable = &fixes.Repair{
	Name: "enlarge-mac-table",
	Doc: `Let a bridge learn more MAC addresses

Sets Bridge other_config:mac-table-size, to 50000 if nothing else is said. The bridge
keeps what it has learned.`,
	Params: []fixes.Param{{Name: "BRIDGE", Doc: "the bridge"}, {Name: "SIZE", Doc: "how many addresses", Optional: true}},
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "fdb-wrapping",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, sw, err := localSwitch(d)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, b := range sw.Bridges {
			names = append(names, b.Name)
			if b.Name != a["BRIDGE"] {
				continue
			}
			old, set := b.OtherConfig["mac-table-size"]
			now, err := strconv.Atoi(old)
			if !set || err != nil {
				now = defaultMACTable
			}
			usual := largeMACTable
			if now >= usual {
				usual = 2 * now
			}
			size, err := largerNumber(a["SIZE"], now, usual)
			if err != nil {
				return nil, err
			}
			before := fixes.Row{"other_config:mac-table-size": nil}
			if set {
				before["other_config:mac-table-size"] = old
			}
			return &fixes.Plan{
				Title: fmt.Sprintf("let bridge %s learn %d MAC addresses", b.Name, size), Host: h.Name,
				Touches: "no traffic; what was flooded is sent to one port again",
				Steps: []fixes.Step{fixes.Rows{
					DB: "Open_vSwitch", What: fmt.Sprintf("set other_config:mac-table-size of bridge %s to %d", b.Name, size),
					Changes: []fixes.Change{{
						Table: "Bridge", UUID: b.UUID,
						Before: before, After: fixes.Row{"other_config:mac-table-size": strconv.Itoa(size)},
					}},
					Classic: []string{fixes.Command("ovs-vsctl set Bridge %s other_config:mac-table-size=%d", b.Name, size)},
				}},
			}, nil
		}
		return nil, fmt.Errorf("no bridge %q; %s has %s", a["BRIDGE"], h.Name, several(names))
	},
}
