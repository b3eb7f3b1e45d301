package catalog

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetPortAddress gives a logical port the addresses that its pod has.
var SetPortAddress = &fixes.Repair{
	Name: "set-port-address",
	Doc: `Give a logical port the addresses that its pod has

Sets Logical_Switch_Port.addresses, and port_security if there is any, to the MAC address
and addresses in the pod. It refuses unless the pod has what its interface recorded when
it was attached: then it is the Northbound that changed. Otherwise re-create the pod.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "pod-address-mismatch",
	Plan: onPort(func(f found[nb.LogicalSwitchPortBrief], a fixes.Args) (*fixes.Plan, error) {
		z, l, p := f.zone, f.logical, f.row
		device, err := deviceOf(z.Deployment(), l, p)
		if err != nil {
			return nil, err
		}
		if err := checkUnchanged(device, p); err != nil {
			return nil, err
		}
		text := strings.ToLower(device.Link.MAC)
		for _, ip := range device.Addresses() {
			text += " " + ip.Addr().String()
		}
		if slices.Contains(p.Addresses, text) && (len(p.PortSecurity) == 0 || slices.ContainsFunc(p.PortSecurity, func(s string) bool { return samePort(text, s) })) {
			return nil, fixes.Refuse("", "port %s has the addresses of its pod: %s", p.Name, text)
		}
		if other := taken(l, p, device); other != "" {
			return nil, fixes.Refuse("give one of the two another address", "port %s of the switch already has an address of the pod at port %s", other, p.Name)
		}
		addresses := []string{text}
		if p.Addresses.Has("unknown") {
			addresses = append(addresses, "unknown")
		}
		columns := fixes.Row{"addresses": addresses}
		classic := []string{fixes.Command("ovn-nbctl lsp-set-addresses %s %s", p.Name, addresses)}
		if len(p.PortSecurity) > 0 {
			columns["port_security"] = security(p, text)
			classic = append(classic, fixes.Command("ovn-nbctl lsp-set-port-security %s %s", p.Name, columns["port_security"]))
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("give port %s the addresses of its pod: %s", p.Name, text),
			Touches:  "the traffic of port " + p.Name,
			Warnings: ownedPort(p),
			Steps: []fixes.Step{fixes.Set{
				DB: "OVN_Northbound", Zone: z.Name, What: "set the addresses of port " + p.Name,
				Row: p, Columns: columns, Classic: classic,
			}.Step()},
		}, nil
	}),
}

// checkUnchanged refuses unless a pod has the addresses it was given.
func checkUnchanged(device *facts.Device, p *nb.LogicalSwitchPortBrief) error {
	const recreate = "re-create the pod"
	switch as, known := device.AsRecorded(); {
	case device.Guest():
		return fixes.Refuse("look inside the VM", "the VM at port %s has its addresses inside, where they cannot be read", p.Name)
	case !known:
		return fixes.Refuse(recreate+fixes.Command(", or if it is right: ovn-nbctl lsp-set-addresses %s 'MAC ADDRESS…'", p.Name),
			"interface %s does not record what port %s was given when it was attached, so which side changed is unknown", device.Interface.Name, p.Name)
	case !as:
		return fixes.Refuse(recreate, "the pod at port %s does not have what it was given when it was attached: it is the pod that changed", p.Name)
	}
	return nil
}

// security returns a port's port_security with the new addresses replacing the old ones.
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

// samePort reports whether all words of a port_security element are among the others.
func samePort(s, text string) bool {
	have := strings.Fields(strings.ToLower(text))
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(s)), func(word string) bool { return !slices.Contains(have, word) })
}

// deviceOf finds what is attached to a port, on readable hosts.
func deviceOf(d *snapshot.Deployment, l *facts.Logical, p *nb.LogicalSwitchPortBrief) (*facts.Device, error) {
	var unread error
	for _, h := range d.Hosts {
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		for _, iface := range sw.BridgeInterfaces() {
			if iface.ExternalIDs["iface-id"] != p.Name {
				continue
			}
			device, err := facts.DeviceOf(h, l, iface)
			if device != nil {
				return device, nil
			}
			unread = err
		}
	}
	if unread != nil {
		return nil, unread
	}
	return nil, fixes.Refuse("run this on the node of the port", "what is attached to port %s cannot be read from here", p.Name)
}

// taken returns another port of the switch with an address of the device; empty if none.
func taken(l *facts.Logical, p *nb.LogicalSwitchPortBrief, d *facts.Device) string {
	s := l.SwitchOf[p.UUID]
	if s == nil {
		return ""
	}
	own := func(ip netip.Prefix) bool {
		return slices.ContainsFunc(d.Addresses(), func(a netip.Prefix) bool { return a.Addr() == ip.Addr() })
	}
	for _, other := range l.PortsOf[s.UUID] {
		same := func(a facts.LPortAddress) bool {
			return a.MAC == strings.ToLower(d.Link.MAC) || slices.ContainsFunc(a.IPs, own)
		}
		if other != p && slices.ContainsFunc(facts.PortAddresses(other), same) {
			return other.Name
		}
	}
	return ""
}
