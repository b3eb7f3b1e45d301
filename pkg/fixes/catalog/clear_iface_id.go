package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// WrongInterface says which of several interfaces for one logical port is not the right
// one, and how that is known. The error is that it is not known.
func WrongInterface(d *snapshot.Deployment, h *snapshot.Host, plugs []snapshot.Plug) (snapshot.Plug, string, error) {
	network, err := h.Network()
	if err != nil {
		return snapshot.Plug{}, "", err
	}
	var wrong []snapshot.Plug
	var why []string
	for _, p := range plugs {
		if reason := notIts(d, h, network.Link(p.Name) != nil, p); reason != "" {
			wrong, why = append(wrong, p), append(why, reason)
		}
	}
	switch {
	case len(wrong) == 0:
		return snapshot.Plug{}, "", errors.New("nothing tells which of the interfaces is the right one")
	case len(wrong) == len(plugs):
		return snapshot.Plug{}, "", errors.New("none of the interfaces is right: " + strings.Join(why, "; "))
	}
	return wrong[0], why[0], nil
}

// notIts says why an interface is not that of the logical port which it names; empty: it may be.
func notIts(d *snapshot.Deployment, h *snapshot.Host, there bool, p snapshot.Plug) string {
	if !there {
		return fmt.Sprintf("its device %s does not exist", p.Name)
	}
	z := h.Zone()
	if z == nil {
		return ""
	}
	south, err := z.Southbound()
	if err != nil {
		return ""
	}
	for _, row := range south.PortBindings {
		if row.LogicalPort != p.ExternalIDs["iface-id"] {
			continue
		}
		if want, have := row.Options["iface-id-ver"], p.ExternalIDs["iface-id-ver"]; want != "" && have != want {
			if have == "" {
				have = "none"
			}
			return fmt.Sprintf("the logical port is for iface-id-ver %s, this interface has %s", want, have)
		}
		macs := strings.ToLower(strings.Join(row.MAC, " "))
		for _, key := range []string{"attached_mac", "attached-mac"} {
			if mac := strings.ToLower(p.ExternalIDs[key]); mac != "" && strings.Contains(macs, ":") && !strings.Contains(macs, mac) {
				return fmt.Sprintf("its MAC address %s is not among those of the logical port", mac)
			}
		}
		if pod, err := h.Pod(p.Name); err == nil && strings.Contains(macs, ":") && !strings.Contains(macs, strings.ToLower(pod.Link.MAC)) {
			return fmt.Sprintf("the MAC address behind it, %s, is not among those of the logical port", pod.Link.MAC)
		}
	}
	return ""
}

// ClearIfaceID takes the name of a logical port from an interface that has it by mistake.
var ClearIfaceID = &fixes.Repair{
	Name: "clear-iface-id",
	Doc: `Take the name of a logical port from an interface that has it by mistake

Of two interfaces with the same iface-id it removes the key from the one whose
device is gone, or which is not of the logical port's pod. It refuses where
nothing tells which of them is wrong, and where the interface is the only one.`,
	Params: []fixes.Param{{Name: "INTERFACE", Doc: "the interface that is to lose its iface-id"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "duplicate-iface-id-local",
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
		if id == "" {
			return nil, fixes.Refuse("", "interface %s has no iface-id", plug.Name)
		}
		var same []snapshot.Plug
		for _, p := range sw.Plugs() {
			if p.ExternalIDs["iface-id"] == id && p.Bridge.UUID == plug.Bridge.UUID {
				same = append(same, p)
			}
		}
		if len(same) < 2 {
			return nil, fixes.Refuse("", "interface %s is the only one for logical port %s", plug.Name, id)
		}
		network, err := h.Network()
		if err != nil {
			return nil, err
		}
		if why := notIts(d, h, network.Link(plug.Name) != nil, plug); why == "" {
			if wrong, reason, err := WrongInterface(d, h, same); err == nil {
				return nil, fixes.Refuse("ovnctl fix clear-iface-id "+wrong.Name, "interface %s seems to be the right one: of %s it is known that %s", plug.Name, wrong.Name, reason)
			}
			return nil, fixes.Refuse("see which one the pod has", "nothing tells that %s is the wrong one of %d interfaces for logical port %s", plug.Name, len(same), id)
		}
		title := fmt.Sprintf("take the iface-id %s from interface %s", id, plug.Name)
		return &fixes.Plan{
			Title: title, Host: h.Name,
			Touches: "the traffic of port " + id,
			Steps: []fixes.Step{fixes.Rows{
				DB: "Open_vSwitch", What: title,
				Changes: []fixes.Change{{
					Table: "Interface", UUID: plug.InterfaceBrief.UUID,
					Before: fixes.Row{"external_ids:iface-id": id}, After: fixes.Row{"external_ids:iface-id": nil},
				}},
				Classic: []string{fixes.Command("ovs-vsctl remove Interface %s external_ids iface-id", plug.Name)},
			}},
		}, nil
	},
}
