package ovs

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var PodVethVanished = &doctor.Check{
	Name:     "pod-veth-vanished",
	Category: "ovs",
	Doc: `The device of a pod's port is gone

A port of the integration bridge has an OpenFlow number and no error, so it looks
healthy everywhere, but the kernel has no such device any more.`,
	Causes: []string{"vswitchd-not-running"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			if sw, err := h.Switch(); err == nil {
				vanished(p, h, sw)
			}
		}
	},
}

func vanished(p *doctor.Pass, h *snapshot.Host, sw *snapshot.Switch) {
	var candidates []snapshot.Plug
	for _, plug := range sw.Plugs() {
		if doctor.KernelDevice(plug) && plug.OFNumber() > 0 && len(plug.Error) == 0 && plug.ExternalIDs["iface-id"] != "" {
			candidates = append(candidates, plug)
		}
	}
	if len(candidates) == 0 || !p.InterfacesCurrent(h) {
		return
	}
	network, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Network)
	if !ok {
		return
	}
	// Each bridge has a device of its own name where its switch runs. Without any, these are not the switch's devices.
	seen := false
	for _, b := range sw.Bridges {
		seen = seen || network.Link(b.Name) != nil
	}
	if !seen {
		p.Unknown(doctor.NodeObject(h.Name), fmt.Errorf("the network namespace at hand has none of the bridges' devices: run ovnctl in that of the host"))
		return
	}
	for _, plug := range candidates {
		if network.Link(plug.Name) != nil {
			continue
		}
		f := doctor.Finding{
			Object: doctor.InterfaceObject(h, plug),
			Also:   doctor.PortOfInterface(plug),
			Title:  fmt.Sprintf("the device %s of port %s is gone, and its port looks healthy", plug.Name, plug.ExternalIDs["iface-id"]),
			Evidence: []doctor.Evidence{
				{Source: doctor.Links().On(h.Name), Says: "there is no link " + plug.Name},
				{Source: doctor.OVS("Interface", plug.Name).On(h.Name), Says: fmt.Sprintf("ofport=%d error=[] link_state=%s", plug.OFNumber(), plug.LinkState.Get())},
			},
			Cause:  "the device was deleted under the switch: the pod's namespace ended, or somebody removed the link",
			Effect: fmt.Sprintf("port %s neither sends nor receives, while all databases show it as up", plug.ExternalIDs["iface-id"]),
		}
		if owner := catalog.PortUseOf(h, plug); owner.Unused {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("its owner"), Says: owner.Why})
			f.Fix = catalog.RemovePort.With(plug.Name)
		} else {
			f.Next = "re-create the pod or virtual machine, so that its device is made again: " + owner.Why
		}
		p.Report(f)
	}
}
