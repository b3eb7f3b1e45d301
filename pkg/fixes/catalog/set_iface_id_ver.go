package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetIfaceIDVer makes an interface that of the pod which its logical port is for.
var SetIfaceIDVer = &fixes.Repair{
	Name: "set-iface-id-ver",
	Doc: `Give an interface the iface-id-ver that its logical port asks for

ovn-controller binds a port only to the interface of the same iface-id-ver, by which a
pod is told from an earlier one of its name. It refuses where another interface of
the node has the right one already, and where the MAC address behind this one is
not the port's: then the interface is of another pod.`,
	Params: []fixes.Param{{Name: "INTERFACE", Doc: "the interface"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-not-bound",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, sw, err := localSwitch(d)
		if err != nil {
			return nil, err
		}
		plug, err := plugNamed(h, sw, a["INTERFACE"])
		if err != nil {
			return nil, err
		}
		id := plug.ExternalIDs["iface-id"]
		_, port, err := switchPort(d, id)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", plug.Name, err)
		}
		want, have := port.Options["iface-id-ver"], plug.ExternalIDs["iface-id-ver"]
		if want == have || want == "" {
			return nil, fixes.Refuse("", "interface %s has the iface-id-ver that port %s asks for", plug.Name, id)
		}
		for _, other := range sw.Plugs() {
			if other.Name != plug.Name && other.ExternalIDs["iface-id"] == id && other.ExternalIDs["iface-id-ver"] == want {
				return nil, fixes.Refuse("ovnctl fix clear-iface-id "+plug.Name, "interface %s is the right one for port %s", other.Name, id)
			}
		}
		if pod, err := h.Pod(plug.Name); err == nil {
			if macs := strings.ToLower(strings.Join(port.Addresses, " ")); strings.Contains(macs, ":") && !strings.Contains(macs, strings.ToLower(pod.Link.MAC)) {
				return nil, fixes.Refuse("re-create the pod", "behind interface %s is MAC address %s, which is not among those of port %s: it is another pod's", plug.Name, pod.Link.MAC, id)
			}
		}
		before := fixes.Row{"external_ids:iface-id-ver": nil}
		if have != "" {
			before["external_ids:iface-id-ver"] = have
		}
		title := fmt.Sprintf("make interface %s that of iface-id-ver %s", plug.Name, want)
		return &fixes.Plan{
			Title: title, Host: h.Name, Touches: "the traffic of port " + id,
			Warnings: append(ownedPort(port), "if another interface is made for the port, remove this one"),
			Steps: []fixes.Step{fixes.Rows{
				DB: "Open_vSwitch", What: title,
				Changes: []fixes.Change{{
					Table: "Interface", UUID: plug.Interface.UUID,
					Before: before, After: fixes.Row{"external_ids:iface-id-ver": want},
				}},
				Classic: []string{fixes.Command("ovs-vsctl set Interface %s external_ids:iface-id-ver=%s", plug.Name, want)},
			}},
		}, nil
	},
}
