package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ClearIfaceID removes an interface's mistaken iface-id.
var ClearIfaceID = &fixes.Repair{
	Name: "clear-iface-id",
	Doc: `Remove the iface-id of an interface that has it by mistake

Of two interfaces with the same iface-id, removes it from the one whose device is
gone or which does not belong to the logical port's pod. It refuses if nothing
shows which of them is wrong, and if the interface is the only one.`,
	Params: []fixes.Param{{Name: "INTERFACE", Doc: "the interface that loses its iface-id"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "duplicate-iface-id-local",
	Plan: onInterface(func(h *snapshot.Host, sw *snapshot.Switch, iface snapshot.BridgeInterface) (*fixes.Plan, error) {
		if err := checkWrong(h, sw, iface); err != nil {
			return nil, err
		}
		id := iface.ExternalIDs["iface-id"]
		return setPlan(h, fixes.Set{
			DB: "Open_vSwitch", What: fmt.Sprintf("remove iface-id %s from interface %s", id, iface.Name),
			Row: iface.InterfaceBrief, Name: iface.Name, Columns: fixes.Row{"external_ids:iface-id": nil},
		}, "the traffic of port "+id), nil
	}),
}

// checkWrong refuses an interface that is not known to be the wrong one of several.
func checkWrong(h *snapshot.Host, sw *snapshot.Switch, iface snapshot.BridgeInterface) error {
	id := iface.ExternalIDs["iface-id"]
	if id == "" {
		return fixes.Refuse("", "interface %s has no iface-id", iface.Name)
	}
	var same []snapshot.BridgeInterface
	for _, p := range sw.BridgeInterfaces() {
		if p.ExternalIDs["iface-id"] == id && p.Bridge.UUID == iface.Bridge.UUID {
			same = append(same, p)
		}
	}
	if len(same) < 2 {
		return fixes.Refuse("", "interface %s is the only one for logical port %s", iface.Name, id)
	}
	why, err := facts.WhyWrong(h, iface)
	if err != nil || why != "" {
		return err
	}
	if wrong, reason, err := facts.WrongInterface(h, same); err == nil {
		return fixes.Refuse(fixes.Command("ovnctl fix clear-iface-id %s", wrong.Name), "interface %s seems to be the right one: %s is wrong, because %s", iface.Name, wrong.Name, reason)
	}
	return fixes.Refuse("look which one the pod has", "nothing shows that %s is the wrong one of %d interfaces for logical port %s", iface.Name, len(same), id)
}
