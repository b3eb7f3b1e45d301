package host

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var UplinkNotInBridge = &doctor.Check{
	Name:     "uplink-not-in-bridge",
	Category: "node-os",
	Doc: `An external bridge has lost its uplink

The link in external_ids:bridge-uplink is not a port of the bridge, or Open vSwitch could
not open it; or a bridge in ovn-bridge-mappings has no port to the outside.`,
	Causes: []string{"vswitchd-not-running", "conf-db-lost-or-corrupt"},
	Settle: true,
	Host: doctor.OnUplinks(func(p *doctor.Pass, n *doctor.Node, u facts.Uplink) {
		switch {
		case u.Port != nil:
			uplinkUnusable(p, n, u)
		case u.Named || !internal(n, u):
			uplinkMissing(p, n, u)
		}
	}),
}

// internal reports whether a bridge is a host-internal network, which needs no uplink: it has an address, and neither
// tunnels nor the default route use it.
func internal(n *doctor.Node, u facts.Uplink) bool {
	bridge := u.Bridge.Name
	encaps, _ := facts.EncapIPs(n.Host)
	addresses := facts.Global(n.Net, bridge)
	for _, a := range addresses {
		if slices.Contains(encaps, a.Prefix.Addr()) {
			return false
		}
	}
	for _, r := range n.Net.Routes {
		if r.Dev == bridge && r.Via.IsValid() && r.Dst.Bits() == 0 {
			return false
		}
	}
	return len(addresses) > 0
}

const noUplinkEffect = "no packet passes between the bridge and the external network"

func uplinkMissing(p *doctor.Pass, n *doctor.Node, u facts.Uplink) {
	bridge, nic := u.Bridge.Name, u.Link()
	s, ok := doctor.Need(p, doctor.BridgeObject(n.Host, bridge), n.Switch)
	if !ok {
		return
	}
	var ports []string
	for _, i := range s.BridgeInterfaces() {
		if i.Bridge.Name == bridge && !slices.Contains(ports, i.Port.Name) { // a bond has several interfaces
			ports = append(ports, i.Port.Name)
		}
	}
	f := doctor.Finding{
		Object:   doctor.BridgeObject(n.Host, bridge),
		Also:     []doctor.Object{doctor.NodeObject(n.Name)},
		Evidence: []doctor.Evidence{{Source: doctor.OVS("Bridge", bridge), Says: "its ports are " + strings.Join(ports, ", ")}},
		Cause:    "the port was deleted, by hand or as a transient port when Open vSwitch started, and its owner has not added it again",
		Effect:   noUplinkEffect,
	}
	if u.Networks != nil {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Setting("external_ids:ovn-bridge-mappings"), Says: u.Networks[0] + ":" + bridge})
	}
	if nic == "" {
		f.Reason = "no-port"
		f.Title = fmt.Sprintf("bridge %s has no port to the external network", bridge)
		f.Fix = catalog.AttachUplink.With(bridge)
		p.Report(f)
		return
	}
	f.Also = append(f.Also, doctor.LinkObject(n.Host, nic))
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.OVS("Bridge", bridge), Says: fmt.Sprintf("its uplink is %s, by %s", nic, u.Source)})
	if n.Net.Link(nic) == nil {
		f.Reason = "no-link"
		f.Title = fmt.Sprintf("uplink %s of bridge %s does not exist", nic, bridge)
		f.Evidence = append(f.Evidence, noLink(nic))
		f.Cause = "the NIC is missing, its driver is not loaded, or its name changed at boot"
		f.Next = "ip -details link show; then ovnctl fix attach-uplink " + bridge + " LINK with its new name"
	} else {
		f.Reason = "not-attached"
		f.Title = fmt.Sprintf("uplink %s is not in bridge %s", nic, bridge)
		f.Evidence = append(f.Evidence, n.AddressEvidence(nic))
		f.Fix = catalog.AttachUplink.With(bridge, nic)
	}
	p.Report(f)
}

func noLink(name string) doctor.Evidence {
	return doctor.Evidence{Source: doctor.Links(), Says: "no link " + name}
}

// uplinkUnusable reports an uplink that is a port but cannot be opened by Open vSwitch.
func uplinkUnusable(p *doctor.Pass, n *doctor.Node, u facts.Uplink) {
	if !p.InterfacesCurrent(n.Host) {
		return
	}
	s, err := n.Switch()
	if err != nil {
		return
	}
	var broken []snapshot.BridgeInterface
	for _, i := range s.BridgeInterfaces() {
		if i.Port.Name == u.Port.Name && i.Bridge.Name == u.Bridge.Name && i.OFPort.Get() < 0 {
			broken = append(broken, i)
		}
	}
	if len(broken) == 0 || len(broken) < len(u.Links) {
		return // one working member of a bond is enough
	}
	i := broken[0]
	f := doctor.Finding{
		Object:   doctor.BridgeObject(n.Host, u.Bridge.Name),
		Reason:   "unusable",
		Also:     []doctor.Object{doctor.NodeObject(n.Name), doctor.LinkObject(n.Host, i.Name), doctor.InterfaceObject(n.Host, i)},
		Title:    fmt.Sprintf("Open vSwitch cannot use %s, the uplink of bridge %s", i.Name, u.Bridge.Name),
		Evidence: []doctor.Evidence{{Source: doctor.OVS("Interface", i.Name), Says: fmt.Sprintf("ofport=%d error=%q", i.OFPort.Get(), i.Error.Get())}},
		Cause:    "the link does not exist, or belongs to another bridge or bond",
		Effect:   noUplinkEffect,
		Next:     "ip -details link show " + i.Name,
	}
	if l := n.Net.Link(i.Name); l == nil {
		f.Evidence = append(f.Evidence, noLink(i.Name))
	} else if l.Master != "" {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Link(i.Name), Says: "belongs to " + l.Master})
	}
	p.Report(f)
}

var NMOwnsOvsPort = &doctor.Check{
	Name:     "nm-owns-ovs-port",
	Category: "node-os",
	Doc: `A bridge's flows name a port number that the bridge no longer has

When NetworkManager restarts, it takes the uplink out of the bridge and puts it back. The
port gets another OpenFlow number, and flows with the old number lead nowhere.`,
	Causes: []string{"vswitchd-not-running", "uplink-not-in-bridge"},
	Settle: true,
	Host:   doctor.OnUplinks(renumbered),
}

func renumbered(p *doctor.Pass, n *doctor.Node, u facts.Uplink) {
	if u.Port == nil || !p.InterfacesCurrent(n.Host) {
		return
	}
	bridge := u.Bridge.Name
	flows, ok := doctor.Need(p, doctor.BridgeObject(n.Host, bridge), func() (map[int]string, error) { return flowsByPort(n, bridge) })
	s, err := n.Switch()
	if !ok || err != nil {
		return
	}
	lost, own := maps.Clone(flows), []string{}
	for _, i := range s.BridgeInterfaces() {
		number := i.OFNumber()
		if number <= 0 || i.Bridge.Name != bridge {
			continue
		}
		delete(lost, number)
		if i.Port.Name != u.Port.Name {
			continue
		}
		if flows[number] != "" {
			return // flows name the uplink: other ports they name are not this fault
		}
		own = append(own, strconv.Itoa(number))
	}
	if len(lost) == 0 || len(own) == 0 {
		return
	}
	var numbers []string
	for _, number := range slices.Sorted(maps.Keys(lost)) {
		numbers = append(numbers, strconv.Itoa(number))
	}
	profiles := ovsProfiles(n.Host, append(u.Links, bridge))
	cause := "the uplink left the bridge and came back with another number"
	if len(profiles) > 0 {
		cause = "NetworkManager owns the port, and created it again when it restarted"
	}
	p.Report(doctor.Finding{
		Object: doctor.BridgeObject(n.Host, bridge),
		Also:   []doctor.Object{doctor.NodeObject(n.Name), doctor.LinkObject(n.Host, u.Port.Name)},
		Title:  fmt.Sprintf("flows of bridge %s name port %s, which it does not have, and not its uplink %s", bridge, strings.Join(numbers, ", "), u.Port.Name),
		Evidence: append([]doctor.Evidence{
			{Source: doctor.OVS("Interface", u.Links[0]), Says: "ofport=" + strings.Join(own, ", ")},
			{Source: doctor.Flows(bridge), Says: lost[slices.Min(slices.Collect(maps.Keys(lost)))]},
		}, profiles...),
		Cause:  cause,
		Effect: "these flows send nothing to the uplink and match nothing from it",
		Next:   "restart what writes the flows of " + bridge + " (OVN-Kubernetes: delete the ovnkube-node pod of this node)",
	})
}

// flowsByPort returns a flow for each OpenFlow port number named in a bridge's flows.
func flowsByPort(n *doctor.Node, bridge string) (map[int]string, error) {
	flows, err := n.PlainFlows(bridge)
	if err != nil {
		return nil, err
	}
	named := map[int]string{}
	for _, f := range flows {
		f.Stats = nil // they differ between samples
		ports := outputPorts(f.Actions)
		if in, ok := f.Match.Field("in_port"); ok {
			ports = append(ports, int(in.Port.Number))
		}
		for _, number := range ports {
			if number < firstReserved && named[number] == "" {
				named[number] = f.String()
			}
		}
	}
	return named, nil
}

// firstReserved is the first reserved port number: LOCAL, CONTROLLER and others.
const firstReserved = 0xff00

// outputPorts returns the OpenFlow port numbers that actions send packets to.
func outputPorts(list openflow.Actions) (ports []int) {
	for _, a := range list {
		switch a := a.(type) {
		case openflow.Output:
			if a.Src == nil {
				ports = append(ports, int(a.Port.Number))
			}
		case openflow.Clone:
			ports = append(ports, outputPorts(a.Actions)...)
		case openflow.WriteActions:
			ports = append(ports, outputPorts(a.Actions)...)
		case openflow.Other:
			if a.Name != "enqueue" || len(a.Args) == 0 {
				continue
			}
			if number, err := strconv.Atoi(cmp.Or(a.Args[0].Key, a.Args[0].Value)); err == nil {
				ports = append(ports, number)
			}
		}
	}
	return ports
}

// ovsProfiles returns NetworkManager's profiles for OVS ports with one of these names.
func ovsProfiles(h *snapshot.Host, names []string) []doctor.Evidence {
	var list []doctor.Evidence
	for _, pattern := range []string{"/etc/NetworkManager/system-connections/*", "/run/NetworkManager/system-connections/*"} {
		paths, err := h.Glob(pattern)
		if err != nil {
			continue
		}
		for _, path := range paths {
			b, err := h.File(path)
			if err != nil {
				continue
			}
			text := string(b)
			named := slices.ContainsFunc(names, func(n string) bool { return strings.Contains(text, "interface-name="+n+"\n") })
			if named && strings.Contains(text, "type=ovs-") { // also slave-type and port-type
				list = append(list, doctor.Evidence{Source: doctor.File(path, 0), Says: "a profile of NetworkManager for an OVS port"})
			}
		}
	}
	return list
}
