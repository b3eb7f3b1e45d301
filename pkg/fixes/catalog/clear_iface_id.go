package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// WrongInterface finds which of several interfaces for one logical port is the wrong
// one, and how that is known. An error means that it is unknown.
func WrongInterface(h *snapshot.Host, all []snapshot.BridgeInterface) (snapshot.BridgeInterface, string, error) {
	var wrong []snapshot.BridgeInterface
	var why []string
	for _, p := range all {
		reason, err := whyWrong(h, p)
		if err != nil {
			return snapshot.BridgeInterface{}, "", err
		}
		if reason != "" {
			wrong, why = append(wrong, p), append(why, reason)
		}
	}
	switch len(wrong) {
	case 0:
		return snapshot.BridgeInterface{}, "", errors.New("nothing shows which of the interfaces is the right one")
	case len(all):
		return snapshot.BridgeInterface{}, "", errors.New("none of the interfaces is the right one: " + strings.Join(why, "; "))
	}
	return wrong[0], why[0], nil
}

// whyWrong is why an interface is not the one of the logical port in its iface-id; empty: it may be.
func whyWrong(h *snapshot.Host, p snapshot.BridgeInterface) (string, error) {
	network, err := h.Network()
	if err != nil {
		return "", err
	}
	if network.Link(p.Name) == nil {
		return fmt.Sprintf("its device %s does not exist", p.Name), nil
	}
	south, err := southOf(h)
	if err != nil {
		return "", nil // the Southbound would only add reasons
	}
	for i := range south.PortBindings {
		if row := &south.PortBindings[i]; row.LogicalPort == p.ExternalIDs["iface-id"] {
			return whyNotOf(h, row, p), nil
		}
	}
	return "", nil
}

// whyNotOf is why an interface is not that of a port binding; empty: it may be.
func whyNotOf(h *snapshot.Host, row *sb.PortBindingBrief, p snapshot.BridgeInterface) string {
	if want, have := row.Options["iface-id-ver"], p.ExternalIDs["iface-id-ver"]; want != "" && have != want {
		if have == "" {
			have = "none"
		}
		return fmt.Sprintf("the logical port is for iface-id-ver %s, this interface has %s", want, have)
	}
	macs := strings.ToLower(strings.Join(row.MAC, " "))
	for _, key := range []string{"attached_mac", "attached-mac"} {
		if mac := strings.ToLower(p.ExternalIDs[key]); mac != "" && strings.Contains(macs, ":") && !strings.Contains(macs, mac) {
			return fmt.Sprintf("its MAC address %s is not one of the logical port", mac)
		}
	}
	if mac := foreignMAC(h, p, row.MAC); mac != "" {
		return fmt.Sprintf("the MAC address behind it, %s, is not one of the logical port", mac)
	}
	return ""
}

// ClearIfaceID removes the iface-id of an interface that has it by mistake.
var ClearIfaceID = &fixes.Repair{
	Name: "clear-iface-id",
	Doc: `Remove the iface-id of an interface that has it by mistake

Of two interfaces with the same iface-id, removes it from the one whose device is
gone or which does not belong to the logical port's pod. It refuses if nothing
shows which of them is wrong, and if the interface is the only one.`,
	Params: []fixes.Param{{Name: "INTERFACE", Doc: "the interface that loses its iface-id"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "duplicate-iface-id-local",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, sw, err := localSwitch(d)
		if err != nil {
			return nil, err
		}
		iface, err := interfaceNamed(h, sw, a["INTERFACE"])
		if err != nil {
			return nil, err
		}
		if err := checkWrong(h, sw, iface); err != nil {
			return nil, err
		}
		id := iface.ExternalIDs["iface-id"]
		title := fmt.Sprintf("remove iface-id %s from interface %s", id, iface.Name)
		return &fixes.Plan{
			Title: title, Host: h.Name,
			Touches: "the traffic of port " + id,
			Steps: []fixes.Step{fixes.Set{
				DB: "Open_vSwitch", What: title,
				Row: iface.InterfaceBrief, Name: iface.Name, Columns: fixes.Row{"external_ids:iface-id": nil},
			}.Step()},
		}, nil
	},
}

// checkWrong refuses for an interface that is not known to be the wrong one of several.
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
	why, err := whyWrong(h, iface)
	if err != nil || why != "" {
		return err
	}
	if wrong, reason, err := WrongInterface(h, same); err == nil {
		return fixes.Refuse("ovnctl fix clear-iface-id "+wrong.Name, "interface %s seems to be the right one: %s is wrong, because %s", iface.Name, wrong.Name, reason)
	}
	return fixes.Refuse("look which one the pod has", "nothing shows that %s is the wrong one of %d interfaces for logical port %s", iface.Name, len(same), id)
}
