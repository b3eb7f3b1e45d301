package facts

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A PortUse is what is known of the pod or VM at a port of the integration bridge.
type PortUse struct {
	Unused     bool   // nothing needs the port
	Northbound bool   // the Northbound has the logical port and the Southbound does not
	Why        string // how that is known, a sentence without period
}

// PortUseOf finds out whether a port of a host's integration bridge is still needed.
func PortUseOf(h *snapshot.Host, p snapshot.BridgeInterface) PortUse {
	chassis, _, _ := h.ChassisName()
	sw, err := h.Switch()
	if err != nil {
		return PortUse{Why: err.Error()}
	}
	id := p.ExternalIDs["iface-id"]
	switch {
	case p.Bridge.Name != sw.IntegrationBridge(chassis):
		return PortUse{Why: fmt.Sprintf("%s is a port of bridge %s, which is the host's own: see why its device is missing", p.Name, p.Bridge.Name)}
	case id == "":
		return PortUse{Why: fmt.Sprintf("interface %s has no iface-id: its owner is unknown", p.Name)}
	}
	network, err := h.Network()
	if err != nil {
		return PortUse{Why: err.Error()}
	}
	if why := deviceInUse(h, network, p); why != "" {
		return PortUse{Why: why}
	}
	south, err := h.Southbound()
	if err != nil {
		return PortUse{Why: err.Error()}
	}
	i := slices.IndexFunc(south.PortBindings, func(b sb.PortBindingBrief) bool { return b.LogicalPort == id })
	if i < 0 {
		return withoutBinding(h, id)
	}
	if network.Link(p.Name) != nil {
		return PortUse{Why: fmt.Sprintf("%s exists, and so does its logical port %s", p.Name, id)}
	}
	row := &south.PortBindings[i]
	here := south.ChassisNamed(chassis)
	if len(row.Chassis) > 0 && (here == nil || !row.Chassis.Has(here.UUID) && !row.AdditionalChassis.Has(here.UUID)) {
		return PortUse{Unused: true, Why: fmt.Sprintf("logical port %s is bound on another node", id)}
	}
	if want, have := row.Options["iface-id-ver"], p.ExternalIDs["iface-id-ver"]; want != "" && have != "" && want != have {
		return PortUse{Unused: true, Why: fmt.Sprintf("logical port %s is now for iface-id-ver %s, and this interface has %s", id, want, have)}
	}
	for _, other := range sw.BridgeInterfaces() {
		if other.Name != p.Name && other.ExternalIDs["iface-id"] == id && other.OFNumber() > 0 && network.Link(other.Name) != nil {
			return PortUse{Unused: true, Why: fmt.Sprintf("interface %s has replaced it for logical port %s", other.Name, id)}
		}
	}
	return PortUse{Why: fmt.Sprintf("logical port %s exists and is bound nowhere else: its pod or VM may still need it", id)}
}

// deviceInUse is why a pod or VM uses an interface's device, or may use it; empty: there is no sign of it.
func deviceInUse(h *snapshot.Host, network *node.Network, p snapshot.BridgeInterface) string {
	link := network.Link(p.Name)
	switch {
	case link == nil || p.Type == "internal": // a device of Open vSwitch itself is attached to nothing
		return ""
	case link.Kind == "veth":
		pod, err := h.Pod(p.Name)
		if err == nil && pod != nil {
			return fmt.Sprintf("%s is in use: its peer is in network namespace %s; delete the pod with the cluster's tools", p.Name, pod.Netns)
		}
		if errors.Is(err, node.ErrUnavailable) {
			return fmt.Sprintf("%s exists, and its peer cannot be read: %v", p.Name, err)
		}
	case link.Oper == "up":
		return fmt.Sprintf("%s is in use: something has it open, perhaps a VM", p.Name)
	}
	return ""
}

// withoutBinding is for a port of which the Southbound knows nothing.
func withoutBinding(h *snapshot.Host, id string) PortUse {
	north, err := h.Zone().Northbound()
	if err != nil {
		return PortUse{Why: fmt.Sprintf("the Southbound has no port %s, and the Northbound could not be read: %v", id, err)}
	}
	if slices.ContainsFunc(north.SwitchPorts, func(l nb.LogicalSwitchPortBrief) bool { return l.Name == id }) {
		return PortUse{Northbound: true, Why: fmt.Sprintf("logical port %s is in the Northbound and not in the Southbound", id)}
	}
	return PortUse{Unused: true, Why: fmt.Sprintf("no logical port is named %s", id)}
}
