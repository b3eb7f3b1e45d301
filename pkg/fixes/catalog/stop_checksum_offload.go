package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// StopChecksumOffload has the kernel fill in the checksums of what a link sends.
var StopChecksumOffload = &fixes.Repair{
	Name: "stop-checksum-offload",
	Doc: `Have the kernel fill in checksums instead of the hardware

Switches off transmit checksum offload of a link, as ethtool -K LINK tx off does, and
with it what depends on it. It lasts until the host boots or the link is made anew,
and costs CPU time. The other nodes of the tunnel mostly need the same.`,
	Params: []fixes.Param{{Name: "LINK", Doc: "the device that sends: genev_sys_6081, an uplink, a veth"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "tx-checksum-offload-broken",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, _, err := localSwitch(d)
		if err != nil {
			return nil, err
		}
		n, err := h.Network()
		if err != nil {
			return nil, err
		}
		link := n.Link(a["LINK"])
		if link == nil {
			var names []string
			for _, l := range n.Links {
				names = append(names, l.Name)
			}
			return nil, fmt.Errorf("no link %q; %s has %s", a["LINK"], h.Name, several(names))
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
			return nil, fixes.Refuse("", "link %s leaves no checksums to hardware", link.Name)
		}
		slices.Sort(on)
		classic := "ethtool -K " + link.Name + " tx off"
		return &fixes.Plan{
			Title: "have the kernel fill in the checksums of what " + link.Name + " sends", Host: h.Name,
			Touches: "throughput of " + link.Name + ": its packets cost more CPU time",
			Warnings: []string{
				"it is gone when the host boots or " + link.Name + " is made anew: keep it with a udev rule or a unit that runs " + classic,
				"the other nodes with the same hardware need the same",
			},
			Steps: []fixes.Step{fixes.Offload{Link: link.Name, Index: link.Index, Features: on, Classic: classic}},
		}, nil
	},
}
