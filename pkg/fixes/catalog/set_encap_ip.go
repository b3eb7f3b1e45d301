package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetEncapIP moves a node's tunnels to an address of the node.
var SetEncapIP = &fixes.Repair{
	Name: "set-encap-ip",
	Doc: `Move the tunnels of this node to an address that it has

Sets ovn-encap-ip. Without IP it takes the address from which the node sends to the
tunnel addresses of all other chassis, and refuses if there are several. All other
chassis create their tunnels to this node again.`,
	Params: []fixes.Param{{Name: "IP", Doc: "an address of this node", Optional: true}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "encap-ip-not-local",
	Plan: onSwitch(func(h *snapshot.Host, sw *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
		ip := a["IP"]
		if ip == "" {
			var err error
			if ip, _, err = facts.EncapCandidate(h.Deployment(), h); err != nil {
				return nil, fixes.Refuse("ovnctl fix set-encap-ip IP", "the right address is unknown: %v", err)
			}
		}
		if err := checkSetting(h, "ovn-encap-ip", ip); err != nil {
			return nil, err
		}
		name, _, err := h.ChassisName()
		if err != nil {
			return nil, err
		}
		old, key := sw.Setting("ovn-encap-ip", name)
		switch {
		case old == ip:
			return nil, fixes.Refuse("", "%s of %s is already %s", key, h.Name, ip)
		case strings.Contains(old, ",") && !strings.Contains(ip, ","):
			return nil, fixes.Refuse("ovnctl fix set-encap-ip IP,IP", "%s of %s names several addresses: %s", key, h.Name, old)
		}
		if south, err := h.Southbound(); err == nil {
			for _, e := range south.Encaps {
				if e.IP == ip && e.ChassisName != name {
					return nil, fixes.Refuse("ovnctl doctor --only duplicate-chassis-stale", "%s is the tunnel address of chassis %s", ip, e.ChassisName)
				}
			}
		}
		return setPlan(h, idSet(sw, key, ip, fmt.Sprintf("move the tunnels of %s from %s to %s", h.Name, old, ip)),
			"all tunnels of "+h.Name,
			"what sets ovn-encap-ip at boot (the cluster's management system, a systemd unit, cloud-init) may set it back to "+old), nil
	}),
}
