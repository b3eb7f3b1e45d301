package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetIfaceIDVer gives an interface the iface-id-ver of the pod that its logical port is for.
var SetIfaceIDVer = &fixes.Repair{
	Name: "set-iface-id-ver",
	Doc: `Give an interface the iface-id-ver that its logical port asks for

ovn-controller binds a port only to the interface with the same iface-id-ver, which
tells a pod from an earlier one of the same name. It refuses if another interface of
the node already has the right one, and if the MAC address behind this one is not the
port's: then the interface belongs to another pod.`,
	Params: []fixes.Param{{Name: "INTERFACE", Doc: "the interface"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-not-bound",
	Plan: onInterface(func(h *snapshot.Host, sw *snapshot.Switch, iface snapshot.BridgeInterface) (*fixes.Plan, error) {
		id := iface.ExternalIDs["iface-id"]
		f, err := findSwitchPort(h.Deployment(), id)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", iface.Name, err)
		}
		port := f.row
		want := port.Options["iface-id-ver"]
		if want == iface.ExternalIDs["iface-id-ver"] || want == "" {
			return nil, fixes.Refuse("", "interface %s has the iface-id-ver that port %s asks for", iface.Name, id)
		}
		for _, other := range sw.BridgeInterfaces() {
			if other.Name != iface.Name && other.ExternalIDs["iface-id"] == id && other.ExternalIDs["iface-id-ver"] == want {
				return nil, fixes.Refuse(fixes.Command("ovnctl fix clear-iface-id %s", iface.Name), "interface %s is the right one for port %s", other.Name, id)
			}
		}
		if mac := facts.ForeignMAC(h, iface, port.Addresses); mac != "" {
			return nil, fixes.Refuse("re-create the pod", "the MAC address behind interface %s, %s, is not one of port %s: it belongs to another pod", iface.Name, mac, id)
		}
		return setPlan(h, fixes.Set{
			DB: "Open_vSwitch", What: fmt.Sprintf("set iface-id-ver of interface %s to %s", iface.Name, want),
			Row: iface.InterfaceBrief, Name: iface.Name, Columns: fixes.Row{"external_ids:iface-id-ver": want},
		}, "the traffic of port "+id, append(ownedPort(port), "if another interface is created for the port, remove this one")...), nil
	}),
}
