package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
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
	Run: doctor.Over2((*doctor.Pass).Uplinks, func(p *doctor.Pass, n *doctor.Node, u facts.Uplink) {
		switch {
		case u.Port != nil:
			uplinkUnusable(p, n, u)
		case u.Named || !internal(n, u):
			uplinkMissing(p, n, u)
		}
	}),
}

// internal reports whether a bridge is an internal network of the host, which needs no uplink: it has an address, and
// neither tunnels nor the default route use it.
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
		if i.Bridge.Name == bridge {
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

// uplinkUnusable reports an uplink that is a port and that Open vSwitch cannot open.
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
		return // of a bond one working member is enough
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
