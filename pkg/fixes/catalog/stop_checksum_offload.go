package catalog

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// StopChecksumOffload makes the kernel compute the checksums of what a link sends.
var StopChecksumOffload = &fixes.Repair{
	Name: "stop-checksum-offload",
	Doc: `Compute checksums in the kernel instead of the hardware

Turns off transmit checksum offload of a link, as ethtool -K LINK tx off does, and
what depends on it. It lasts until the host boots or the link is created again, and
costs CPU time. The other nodes of the tunnel usually need the same.`,
	Params: []fixes.Param{{Name: "LINK", Doc: "the device that sends: genev_sys_6081, an uplink, a veth"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "tx-checksum-offload-broken",
	Plan: onSwitch(func(h *snapshot.Host, _ *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
		n, err := h.Network()
		if err != nil {
			return nil, err
		}
		link, err := link(n, a["LINK"])
		if err != nil {
			return nil, err
		}
		features, err := h.Features(link.Name)
		if err != nil {
			return nil, err
		}
		var on []string
		for name, set := range features {
			if set && strings.HasPrefix(name, "tx-checksum-") {
				on = append(on, name)
			}
		}
		if len(on) == 0 {
			return nil, fixes.Refuse("", "link %s does not offload checksums", link.Name)
		}
		slices.Sort(on)
		classic := "ethtool -K " + link.Name + " tx off"
		return &fixes.Plan{
			Title: "compute the checksums of what " + link.Name + " sends in the kernel", Host: h.Name,
			Touches: "throughput of " + link.Name + ": its packets need more CPU time",
			Warnings: []string{
				"it lasts until the host boots or " + link.Name + " is created again: to keep it use a udev rule or a unit that runs " + classic,
				"the other nodes with the same hardware need the same",
			},
			Steps: []fixes.Step{fixes.Offload{Link: link.Name, Index: link.Index, Features: on, Classic: classic}},
		}, nil
	}),
}
