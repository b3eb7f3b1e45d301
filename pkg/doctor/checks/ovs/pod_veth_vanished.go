package ovs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// PodVethVanished looks for ports of pods whose device no longer exists.
var PodVethVanished = &doctor.Check{
	Name:     "pod-veth-vanished",
	Category: "ovs",
	Doc: `The device of a pod's port no longer exists

A port of the integration bridge has an OpenFlow number and no error, so it looks healthy
everywhere, but the kernel has no such device.`,
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
	candidates := slices.DeleteFunc(slices.Clone(sw.BridgeInterfaces()), func(i snapshot.BridgeInterface) bool {
		return !doctor.KernelDevice(i) || i.OFNumber() <= 0 || len(i.Error) > 0 || i.ExternalIDs["iface-id"] == ""
	})
	if len(candidates) == 0 || !p.InterfacesCurrent(h) {
		return
	}
	network, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Network)
	if !ok {
		return
	}
	// Where ovs-vswitchd runs, each bridge has a device of its own name. If there is none, this is another namespace.
	if !slices.ContainsFunc(sw.Bridges, func(b vswitch.BridgeBrief) bool { return network.Link(b.Name) != nil }) {
		p.Unknown(doctor.NodeObject(h.Name), errors.New("this network namespace has none of the bridges' devices: run ovnctl in the host's"))
		return
	}
	for _, i := range candidates {
		if network.Link(i.Name) == nil {
			reportVanished(p, h, i)
		}
	}
}

func reportVanished(p *doctor.Pass, h *snapshot.Host, i snapshot.BridgeInterface) {
	id := i.ExternalIDs["iface-id"]
	f := doctor.Finding{
		Object: doctor.InterfaceObject(h, i),
		Also:   doctor.PortOfInterface(i),
		Title:  fmt.Sprintf("device %s of port %s no longer exists, and the port looks healthy", i.Name, id),
		Evidence: []doctor.Evidence{
			{Source: doctor.Links().On(h.Name), Says: "no link " + i.Name},
			{Source: doctor.OVS("Interface", i.Name).On(h.Name), Says: fmt.Sprintf("ofport=%d error=[] link_state=%s", i.OFNumber(), i.LinkState.Get())},
		},
		Cause:  "the device was deleted under Open vSwitch: the pod's namespace ended, or somebody removed the link",
		Effect: fmt.Sprintf("port %s neither sends nor receives, while all databases show it as up", id),
	}
	if use := facts.PortUseOf(h, i); use.Unused {
		f.Evidence = append(f.Evidence, useEvidence(use))
		f.Fix = catalog.RemovePort.With(i.Name)
	} else {
		f.Next = "re-create the pod or VM, so that its device is created again: " + use.Why
	}
	p.Report(f)
}
