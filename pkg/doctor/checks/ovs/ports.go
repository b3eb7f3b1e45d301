package ovs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

var PortNoSuchDevice = &doctor.Check{
	Name:     "port-no-such-device",
	Category: "ovs",
	Doc: `A port has no device

A bridge has a port for a network device that does not exist. ovs-vswitchd tries to open
it at every change, and its list of errors grows.`,
	Causes:   []string{"vswitchd-not-running"},
	CausesOn: []doctor.Kind{{Check: "pod-veth-vanished"}}, // ovs-vswitchd notices it while doctor looks
	Host:     doctor.OnSwitch(withoutDevice),
}

func noSuchDevice(i *vswitch.InterfaceBrief) bool {
	return strings.Contains(i.Error.Get(), "No such device")
}

func withoutDevice(p *doctor.Pass, h *snapshot.Host, sw *snapshot.Switch) {
	lost := slices.DeleteFunc(slices.Clone(sw.BridgeInterfaces()), func(i snapshot.BridgeInterface) bool {
		return !doctor.KernelDevice(i) || !noSuchDevice(i.InterfaceBrief)
	})
	if len(lost) == 0 || !p.InterfacesCurrent(h) {
		return
	}
	network, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Network)
	if !ok {
		return
	}
	for _, i := range lost {
		if network.Link(i.Name) != nil {
			continue // it has appeared meanwhile
		}
		if since, ok := doctor.Need(p, doctor.InterfaceObject(h, i), func() (string, error) { return missingSince(p, h, i) }); ok {
			p.Report(deviceMissing(h, i, since))
		}
	}
}

// deviceGrace is how long a device may be missing: it may be created just after its port.
const deviceGrace = 30 * time.Second

// missingSince returns how long an interface's device has been missing. The error means that this is not known yet.
func missingSince(p *doctor.Pass, h *snapshot.Host, i snapshot.BridgeInterface) (string, error) {
	logged, err := doctor.LogLines(h, "ovs-vswitchd", "could not open network device "+i.Name+" (No such device)")
	if err == nil && len(logged) > 0 && p.Now().Sub(logged[0].Time) >= deviceGrace {
		return fmt.Sprintf("first logged at %s", logged[0].Time.UTC().Format(time.RFC3339)), nil
	}
	later, err := p.Later()
	switch {
	case errors.Is(err, snapshot.ErrNoSample):
		return "", fmt.Errorf("interface %s has no device, which may be created in a moment; use --sample 30s", i.Name)
	case err != nil:
		return "", err
	case p.Sample() < deviceGrace:
		return "", fmt.Errorf("interface %s has no device, and %s is too short to judge; use --sample 30s", i.Name, p.Sample())
	}
	then := later.Host(h.Name)
	if then == nil {
		return "", fmt.Errorf("node %s was not found for the second sample", h.Name)
	}
	sw, err := then.Switch()
	if err != nil {
		return "", err
	}
	for k := range sw.Interfaces {
		if sw.Interfaces[k].UUID == i.InterfaceBrief.UUID && noSuchDevice(&sw.Interfaces[k]) {
			return fmt.Sprintf("the same %s later", p.Sample()), nil
		}
	}
	return "", fmt.Errorf("interface %s had no device in the first sample and works in the second", i.Name)
}

func deviceMissing(h *snapshot.Host, i snapshot.BridgeInterface, since string) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.InterfaceObject(h, i),
		Also:   append(doctor.PortOfInterface(i), doctor.BridgeObject(h, i.Bridge.Name)),
		Title:  fmt.Sprintf("port %s of bridge %s has no device", i.Port.Name, i.Bridge.Name),
		Evidence: []doctor.Evidence{
			{Source: doctor.OVS("Interface", i.Name).On(h.Name), Says: "error=" + i.Error.Get()},
			{Source: doctor.Links().On(h.Name), Says: "no link " + i.Name},
			{Source: doctor.Log("ovs-vswitchd").On(h.Name), Says: since},
		},
		Cause:  "the device was removed and its port left behind, for instance when a pod or VM ended while its CNI plugin did not run",
		Effect: "ovs-vswitchd tries to open it at every change of its configuration, which slows all of them down",
	}
	if use := facts.PortUseOf(h, i); use.Unused {
		f.Evidence = append(f.Evidence, useEvidence(use))
		f.Fix = catalog.RemovePort.With(i.Name)
	} else {
		f.Next = use.Why + fixes.Command("; if it will not come back: ovs-vsctl --if-exists --with-iface del-port %s %s", i.Bridge.Name, i.Name)
	}
	return f
}

var PodVethVanished = &doctor.Check{
	Name:     "pod-veth-vanished",
	Category: "ovs",
	Doc: `The device of a pod's port no longer exists

A port of the integration bridge has an OpenFlow number and no error, so it looks healthy
everywhere, but the kernel has no such device.`,
	Causes: []string{"vswitchd-not-running"},
	Settle: true,
	Host:   doctor.OnSwitch(vanished),
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
	// Where ovs-vswitchd runs, each bridge has a device with its name. Without one, this is another namespace.
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

var IfaceIDWithoutBinding = &doctor.Check{
	Name:     "iface-id-without-binding",
	Category: "ovs",
	Doc: `An interface names a logical port that does not exist

An interface of the integration bridge has an iface-id without a Port_Binding in the
Southbound. Nothing is logged, and nothing forwards its packets.`,
	Causes: []string{"northd-not-active", "kube-ovn-join-gap", "pod-veth-vanished", "missing-external-ids", "controller-not-running"},
	Settle: true,
	Host:   doctor.OnChassis(withoutBinding),
}

func withoutBinding(p *doctor.Pass, c *doctor.Chassis) {
	interfaces := slices.DeleteFunc(slices.Clone(c.OVS.BridgeInterfaces()), func(i snapshot.BridgeInterface) bool {
		return i.Bridge.Name != c.Bridge || i.ExternalIDs["iface-id"] == "" || i.OFNumber() <= 0
	})
	if len(interfaces) == 0 || !p.InterfacesCurrent(c.Host) {
		return
	}
	south, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Southbound)
	if !ok {
		return
	}
	bindings := doctor.PortBindings(south)
	for _, i := range interfaces {
		if bindings[i.ExternalIDs["iface-id"]] == nil {
			reportWithoutBinding(p, c, i)
		}
	}
}

func reportWithoutBinding(p *doctor.Pass, c *doctor.Chassis, i snapshot.BridgeInterface) {
	id := i.ExternalIDs["iface-id"]
	f := doctor.Finding{
		Object: doctor.InterfaceObject(c.Host, i),
		Reason: "no-such-port",
		Also:   []doctor.Object{doctor.PortObject(id)},
		Title:  fmt.Sprintf("interface %s names logical port %s, which does not exist", i.Name, id),
		Evidence: []doctor.Evidence{
			{Source: doctor.OVS("Interface", i.Name).On(c.Name), Says: "external_ids " + doctor.Pairs(i.ExternalIDs, "iface-id", "iface-id-ver", "ovn-installed")},
			{Source: doctor.SB("Port_Binding", ""), Says: "no row with logical_port=" + id},
		},
		Cause:  "the logical port was deleted and its interface left behind, or the iface-id is misspelt",
		Effect: "the pod or VM behind the interface has no network",
	}
	for _, a := range facts.RecordedAddresses(i.ExternalIDs) {
		f.Also = append(f.Also, doctor.AddressObject(a)) // what expects the port there is missing, too
	}
	use := facts.PortUseOf(c.Host, i)
	switch {
	case use.Northbound:
		f.Reason = "not-in-southbound"
		f.Cause = "the Northbound has the port, but ovn-northd has not written it to the Southbound"
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.NB("Logical_Switch_Port", id), Says: "exists"})
		f.Next = "ovn-nbctl --wait=sb --timeout=30 sync"
	case use.Unused:
		f.Evidence = append(f.Evidence, useEvidence(use))
		f.Fix = catalog.RemovePort.With(i.Name)
	default:
		f.Next = use.Why
	}
	p.Report(f)
}

// useEvidence returns the evidence that nothing needs a port.
func useEvidence(use facts.PortUse) doctor.Evidence {
	return doctor.Evidence{Source: doctor.Other("logical port"), Says: use.Why}
}

var DuplicateIfaceIDLocal = &doctor.Check{
	Name:     "duplicate-iface-id-local",
	Category: "ovs",
	Doc: `Two interfaces of a node have the same iface-id

The interface that was set last gets the logical port; the other gets no packets. Nothing is logged.`,
	Causes: []string{"vswitchd-not-running"},
	Settle: true,
	Host: doctor.OnChassis(func(p *doctor.Pass, c *doctor.Chassis) {
		all := map[string][]snapshot.BridgeInterface{} // by iface-id
		for _, i := range c.OVS.BridgeInterfaces() {
			if id := i.ExternalIDs["iface-id"]; id != "" && i.Bridge.Name == c.Bridge {
				all[id] = append(all[id], i)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if len(all[id]) > 1 {
				p.Report(duplicateIfaceID(c, id, all[id]))
			}
		}
	}),
}

func duplicateIfaceID(c *doctor.Chassis, id string, interfaces []snapshot.BridgeInterface) doctor.Finding {
	slices.SortFunc(interfaces, func(a, b snapshot.BridgeInterface) int { return strings.Compare(a.Name, b.Name) })
	var names []string
	f := doctor.Finding{
		Object: doctor.Object{Kind: "port", Name: id, Node: c.Name},
		Also:   []doctor.Object{doctor.PortObject(id), doctor.NodeObject(c.Name)},
		Cause:  "an interface was left behind when its pod or VM was re-created, or two were given one iface-id",
		Effect: "the packets of the port go to one of them, which may be the wrong one",
	}
	for _, i := range interfaces {
		names = append(names, i.Name)
		f.Also = append(f.Also, doctor.InterfaceObject(c.Host, i))
		f.Evidence = append(f.Evidence, doctor.Evidence{
			Source: doctor.OVS("Interface", i.Name).On(c.Name),
			Says:   strings.TrimSpace(fmt.Sprintf("ofport=%d %s", i.OFPort.Get(), doctor.Pairs(i.ExternalIDs, "iface-id", "iface-id-ver", "attached_mac", "attached-mac", "ovn-installed"))),
		})
	}
	f.Title = fmt.Sprintf("interfaces %s of %s all have the iface-id %s", strings.Join(names, ", "), c.Name, id)
	wrong, why, err := facts.WrongInterface(c.Host, interfaces)
	if err != nil {
		f.Next = fmt.Sprintf("%v; see which one the pod has, then: ovnctl fix clear-iface-id INTERFACE", err)
		return f
	}
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Link(wrong.Name).On(c.Name), Says: why})
	f.Fix = catalog.ClearIfaceID.With(wrong.Name)
	return f
}
