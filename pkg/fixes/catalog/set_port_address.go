package catalog

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetPortAddress gives a logical port the addresses that its device has.
var SetPortAddress = &fixes.Repair{
	Name: "set-port-address",
	Doc: `Give a logical port the addresses that its pod has

Sets Logical_Switch_Port.addresses, and port_security where there is any, to the MAC address and
addresses in the pod. Only if the pod has what was recorded at its interface when it was
plugged, so that it is the Northbound that was changed; else the pod is to be created again.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "pod-address-mismatch",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, l, p, err := findSwitchPort(d, a["PORT"])
		if err != nil {
			return nil, err
		}
		device, err := deviceOf(d, l, p)
		if err != nil {
			return nil, err
		}
		recreate := "let the pod be created again"
		switch as, known := device.AsRecorded(); {
		case device.Guest():
			return nil, fixes.Refuse("look inside it", "behind port %s is a virtual machine, whose addresses are not seen from here", p.Name)
		case !known:
			return nil, fixes.Refuse(recreate+fmt.Sprintf(", or if it is right: ovn-nbctl lsp-set-addresses %s 'MAC ADDRESS…'", p.Name),
				"interface %s does not say what port %s was given when it was plugged, so that it is not known which side has changed", device.Plug.Name, p.Name)
		case !as:
			return nil, fixes.Refuse(recreate, "the pod at port %s does not have what it was given when it was plugged: it is the pod that was changed", p.Name)
		}
		text := strings.ToLower(device.Link.MAC)
		for _, ip := range device.Addresses() {
			text += " " + ip.Addr().String()
		}
		if slices.Contains(p.Addresses, text) {
			return nil, fixes.Refuse("", "port %s has the addresses of its pod: %s", p.Name, text)
		}
		if other := taken(l, p, device); other != "" {
			return nil, fixes.Refuse("give one of the two another address", "port %s of the switch has an address of the pod at port %s already", other, p.Name)
		}
		before, after := fixes.Row{"addresses": []string(p.Addresses)}, fixes.Row{"addresses": []string{text}}
		if p.Addresses.Has("unknown") {
			after["addresses"] = []string{text, "unknown"}
		}
		classic := []string{fixes.Command("ovn-nbctl lsp-set-addresses %s %s", p.Name, after["addresses"])}
		if len(p.PortSecurity) > 0 {
			before["port_security"] = []string(p.PortSecurity)
			after["port_security"] = security(p, text)
			classic = append(classic, fixes.Command("ovn-nbctl lsp-set-port-security %s %s", p.Name, after["port_security"]))
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("give port %s the addresses of its pod: %s", p.Name, text),
			Touches:  "the traffic of port " + p.Name,
			Warnings: ownedPort(p),
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: "set the addresses of port " + p.Name,
				Changes: []fixes.Change{{Table: "Logical_Switch_Port", UUID: p.UUID, Before: before, After: after}},
				Classic: classic,
			}},
		}, nil
	},
}

// security is a port's port_security with its own addresses in the place of those that it had.
func security(p *nb.LogicalSwitchPortBrief, text string) []string {
	out := []string{text}
	for _, s := range p.PortSecurity {
		if !slices.Contains(p.Addresses, s) && !slices.Contains(out, s) && !samePort(s, text) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// samePort says whether an element of port_security has nothing that the other has not.
func samePort(s, text string) bool {
	have := strings.Fields(strings.ToLower(text))
	for _, word := range strings.Fields(strings.ToLower(s)) {
		if !slices.Contains(have, word) {
			return false
		}
	}
	return true
}

// deviceOf finds what is plugged into a port, on the hosts that can be asked.
func deviceOf(d *snapshot.Deployment, l *snapshot.Logical, p *nb.LogicalSwitchPortBrief) (*snapshot.Device, error) {
	var unread error
	for _, h := range d.Hosts {
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		for _, plug := range sw.Plugs() {
			if plug.ExternalIDs["iface-id"] != p.Name {
				continue
			}
			device, err := h.Plugged(l, plug)
			if device != nil {
				return device, nil
			}
			unread = err
		}
	}
	if unread != nil {
		return nil, unread
	}
	return nil, fixes.Refuse("run this on the node of the port", "what is plugged into port %s is not seen from here", p.Name)
}

// taken is another port of the switch with an address of the device.
func taken(l *snapshot.Logical, p *nb.LogicalSwitchPortBrief, d *snapshot.Device) string {
	s := l.SwitchOf[p.UUID]
	if s == nil {
		return ""
	}
	for _, other := range l.PortsOf[s.UUID] {
		if other == p {
			continue
		}
		for _, a := range snapshot.PortAddresses(other) {
			if a.MAC == strings.ToLower(d.Link.MAC) || slices.ContainsFunc(a.IPs, func(ip netip.Prefix) bool {
				return slices.ContainsFunc(d.Addresses(), func(own netip.Prefix) bool { return own.Addr() == ip.Addr() })
			}) {
				return other.Name
			}
		}
	}
	return ""
}
