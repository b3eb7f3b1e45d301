package cms

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
)

var PortUnplugged = &doctor.Check{
	Name:     "port-unplugged",
	Category: "cms",
	Doc: `The device of a pod or VM is not in the integration bridge

A logical port is bound nowhere, while its pod or VM runs on a node: its device is there, and Open
vSwitch has no port for it. The device is known by its name (Neutron) or by the MAC address at its
other end.`,
	Causes: []string{"vswitchd-not-running", "conf-db-lost-or-corrupt", "integration-bridge-empty"},
	Settle: true, // a device is made before its port
	Host: doctor.OnChassis(func(p *doctor.Pass, c *doctor.Chassis) {
		if c.Zone() == nil || c.SB == nil {
			return // other checks report it
		}
		if l, ok := doctor.Need(p, doctor.NodeObject(c.Name), func() (*facts.Logical, error) { return facts.LogicalOf(c.Zone()) }); ok {
			unplugged(p, c, l)
		}
	}),
}

// unbound returns the ports of pods and VMs that are bound nowhere, by the names their devices may have and by MAC.
func unbound(c *doctor.Chassis, l *facts.Logical) (byDevice, byMAC map[string]*nb.LogicalSwitchPortBrief) {
	byDevice, byMAC = map[string]*nb.LogicalSwitchPortBrief{}, map[string]*nb.LogicalSwitchPortBrief{}
	bindings := doctor.PortBindings(c.SB)
	for port := range doctor.Each(l.SwitchPorts) {
		b := bindings[port.Name]
		if port.Type != "" || len(port.ParentName) > 0 || b == nil || len(b.Chassis) > 0 {
			continue
		}
		if decode.CMSOf(port.ExternalIDs) == decode.Neutron && len(port.Name) > 11 {
			byDevice["tap"+port.Name[:11]] = port
		}
		for _, a := range facts.PortAddresses(port) {
			byMAC[strings.ToLower(a.MAC)] = port
		}
	}
	return byDevice, byMAC
}

func unplugged(p *doctor.Pass, c *doctor.Chassis, l *facts.Logical) {
	byDevice, byMAC := unbound(c, l)
	if len(byDevice)+len(byMAC) == 0 {
		return
	}
	network, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Host.Network)
	if !ok {
		return
	}
	attached := map[string]bool{}
	for i := range c.OVS.Interfaces {
		attached[c.OVS.Interfaces[i].Name] = true
	}
	read := 0
	for link := range doctor.Each(network.Links) {
		if attached[link.Name] {
			continue
		}
		if port := byDevice[link.Name]; port != nil {
			reportUnplugged(p, c, port, link, "its name is that of the port")
			continue
		}
		if len(byMAC) == 0 || link.Kind != "veth" || link.PeerNetns == nil || link.Master != "" && link.Master != "ovs-system" || read == farPods {
			continue
		}
		read++
		pod, err := c.Host.Pod(link.Name)
		switch {
		case errors.Is(err, node.ErrUnavailable):
		case err != nil:
			p.Unknown(doctor.NodeObject(c.Name), fmt.Errorf("not read: what is behind %s: %w", link.Name, err))
		case byMAC[strings.ToLower(pod.Link.MAC)] != nil:
			reportUnplugged(p, c, byMAC[strings.ToLower(pod.Link.MAC)], link, fmt.Sprintf("its other end, %s in network namespace %s, has the MAC address of the port: %s", pod.Link.Name, pod.Netns, pod.Link.MAC))
		}
	}
}

func reportUnplugged(p *doctor.Pass, c *doctor.Chassis, port *nb.LogicalSwitchPortBrief, link *node.Link, why string) {
	f := doctor.Finding{
		Object: doctor.PortObject(port.Name),
		Also:   []doctor.Object{doctor.NodeObject(c.Name), doctor.LinkObject(c.Host, link.Name)},
		Title:  fmt.Sprintf("port %s is not plugged: its device %s on %s is not in %s", doctor.PortLabel(port), link.Name, c.Name, c.Bridge),
		Evidence: []doctor.Evidence{
			doctor.SB("Port_Binding", port.Name).Says("chassis=[]"),
			doctor.Link(link.Name).On(c.Name).Says(why),
			{Source: doctor.OVS("Interface", "").On(c.Name), Says: "none is named " + link.Name},
		},
		Cause:  "the port was removed from Open vSwitch, or its database was set up anew, while the pod or VM ran on",
		Effect: "it has no network",
	}
	plug := fixes.Command("ovs-vsctl add-port %s %s -- set Interface %[2]s external_ids:iface-id=%s", c.Bridge, link.Name, port.Name)
	f.Next = "on " + c.Name + ": " + plug
	if again := recreated(port); again != "" {
		f.Next = again + "; until then, on " + c.Name + ": " + plug
	}
	p.Report(f)
}

// recreated returns what has a CMS attach a port again; empty if unknown.
func recreated(port *nb.LogicalSwitchPortBrief) string {
	if pod := podOf(port); pod != "" {
		return "recreate it: kubectl delete pod " + pod
	}
	if id := port.ExternalIDs["neutron:device_id"]; id != "" {
		return "restart the server: openstack server reboot --hard " + id
	}
	return ""
}
