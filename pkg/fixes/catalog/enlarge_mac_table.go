package catalog

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// EnlargeMACTable lets a bridge learn more MAC addresses.
var EnlargeMACTable = &fixes.Repair{
	Name: "enlarge-mac-table",
	Doc: `Let a bridge learn more MAC addresses

Sets other_config:mac-table-size of the bridge, to 50000 unless SIZE says otherwise.
The bridge keeps what it has learned.`,
	Params: []fixes.Param{{Name: "BRIDGE", Doc: "the bridge"}, {Name: "SIZE", Doc: "how many addresses", Optional: true}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "fdb-wrapping",
	Plan: onBridge(func(h *snapshot.Host, sw *snapshot.Switch, b *vswitch.BridgeBrief, a fixes.Args) (*fixes.Plan, error) {
		now := numberOr(b.OtherConfig["mac-table-size"], defaultMACTable)
		usual := largeMACTable
		if now >= usual {
			usual = 2 * now
		}
		size, err := largerNumber(a["SIZE"], now, usual)
		if err != nil {
			return nil, err
		}
		return &fixes.Plan{
			Title: fmt.Sprintf("let bridge %s learn %d MAC addresses", b.Name, size), Host: h.Name,
			Touches: "no traffic; what was flooded goes to one port again",
			Steps: []fixes.Step{fixes.Set{
				DB: "Open_vSwitch", What: fmt.Sprintf("set other_config:mac-table-size of bridge %s to %d", b.Name, size),
				Row: b, Name: b.Name, Columns: fixes.Row{"other_config:mac-table-size": strconv.Itoa(size)},
			}.Step()},
		}, nil
	}),
}
