package facts

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A PortUse describes whether a pod or VM uses a port of the integration bridge.
type PortUse struct {
	Unused     bool   // nothing needs the port
	Northbound bool   // the logical port is in the Northbound but not in the Southbound
	Why        string // the evidence, a sentence without period
}

// PortUseOf determines whether a port of a host's integration bridge is still needed.
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
	row := south.PortBinding(id)
	if row == nil {
		return withoutBinding(h, id)
	}
	if network.Link(p.Name) != nil {
		return PortUse{Why: fmt.Sprintf("%s exists, and so does its logical port %s", p.Name, id)}
	}
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

// deviceInUse returns why a pod or VM uses, or may use, an interface's device; empty if nothing shows that.
func deviceInUse(h *snapshot.Host, network *node.Network, p snapshot.BridgeInterface) string {
	link := network.Link(p.Name)
	switch {
	case link == nil || p.Type == "internal": // a device of Open vSwitch itself
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

// withoutBinding handles a port that the Southbound does not know.
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

// WrongInterface returns which of several interfaces for one logical port is the wrong one, with the evidence. An
// error means that it is unknown.
func WrongInterface(h *snapshot.Host, all []snapshot.BridgeInterface) (snapshot.BridgeInterface, string, error) {
	var wrong []snapshot.BridgeInterface
	var why []string
	for _, p := range all {
		reason, err := WhyWrong(h, p)
		if err != nil {
			return snapshot.BridgeInterface{}, "", err
		}
		if reason != "" {
			wrong, why = append(wrong, p), append(why, reason)
		}
	}
	switch len(wrong) {
	case 0:
		return snapshot.BridgeInterface{}, "", errors.New("nothing shows which of the interfaces is the right one")
	case len(all):
		return snapshot.BridgeInterface{}, "", errors.New("none of the interfaces is the right one: " + strings.Join(why, "; "))
	}
	return wrong[0], why[0], nil
}

// WhyWrong returns why an interface does not belong to the logical port in its iface-id; empty if it may.
func WhyWrong(h *snapshot.Host, p snapshot.BridgeInterface) (string, error) {
	network, err := h.Network()
	if err != nil {
		return "", err
	}
	if network.Link(p.Name) == nil {
		return fmt.Sprintf("its device %s does not exist", p.Name), nil
	}
	south, err := h.Southbound()
	if err != nil {
		return "", nil // the Southbound could only add reasons
	}
	if row := south.PortBinding(p.ExternalIDs["iface-id"]); row != nil {
		return whyNotOf(h, row, p), nil
	}
	return "", nil
}

// whyNotOf returns why an interface does not belong to a port binding; empty if it may.
func whyNotOf(h *snapshot.Host, row *sb.PortBindingBrief, p snapshot.BridgeInterface) string {
	if want, have := row.Options["iface-id-ver"], p.ExternalIDs["iface-id-ver"]; want != "" && have != want {
		if have == "" {
			have = "none"
		}
		return fmt.Sprintf("the logical port is for iface-id-ver %s, this interface has %s", want, have)
	}
	macs := strings.ToLower(strings.Join(row.MAC, " "))
	for _, key := range []string{"attached_mac", "attached-mac"} {
		if mac := strings.ToLower(p.ExternalIDs[key]); mac != "" && strings.Contains(macs, ":") && !strings.Contains(macs, mac) {
			return fmt.Sprintf("its MAC address %s is not one of the logical port", mac)
		}
	}
	if mac := ForeignMAC(h, p, row.MAC); mac != "" {
		return fmt.Sprintf("the MAC address behind it, %s, is not one of the logical port", mac)
	}
	return ""
}

// ForeignMAC returns the MAC address behind an interface if its logical port does not have it; empty if it has, or if
// either is unknown.
func ForeignMAC(h *snapshot.Host, iface snapshot.BridgeInterface, addresses []string) string {
	macs := strings.ToLower(strings.Join(addresses, " "))
	pod, err := h.Pod(iface.Name)
	if err != nil || !strings.Contains(macs, ":") || strings.Contains(macs, strings.ToLower(pod.Link.MAC)) {
		return ""
	}
	return pod.Link.MAC
}

// A Device is what is attached to a logical port, as its owner sees it.
type Device struct {
	Port      *nb.LogicalSwitchPortBrief
	Interface snapshot.BridgeInterface
	Host      node.Link     // the host's end of the link
	Link      node.Link     // the other end, in the pod; the same for a port of the host itself
	Network   *node.Network // of the pod, or the host
	Pod       bool          // it is in its own namespace
}

// DeviceOf returns the device of a port of the integration bridge; nil if the sender cannot be seen, as behind the
// tap of a virtual machine, or does not exist. The error is for an unreadable namespace.
func DeviceOf(h *snapshot.Host, l *Logical, iface snapshot.BridgeInterface) (*Device, error) {
	port := l.SwitchPort[iface.ExternalIDs["iface-id"]]
	if port == nil {
		return nil, nil
	}
	network, err := h.Network()
	if err != nil {
		return nil, err
	}
	link := network.Link(iface.Name)
	switch {
	case link == nil:
		return nil, nil
	case iface.Type == "internal":
		return &Device{Port: port, Interface: iface, Host: *link, Link: *link, Network: network}, nil
	case link.Kind != "veth" || link.PeerNetns == nil:
		return nil, nil
	}
	pod, err := h.Pod(iface.Name)
	if err != nil {
		return nil, err
	}
	return &Device{Port: port, Interface: iface, Host: *link, Link: pod.Link, Network: pod.Network, Pod: true}, nil
}

// Guest reports whether the device passes its packets to a virtual machine, which then has the addresses that matter.
func (d *Device) Guest() bool {
	return d.Pod && (d.Link.Master != "" || slices.ContainsFunc(d.Network.Links, func(l node.Link) bool {
		return l.Kind == "tun" || l.Kind == "macvtap" || l.Kind == "bridge"
	}))
}

// Addresses returns the global addresses of the device.
func (d *Device) Addresses() []netip.Prefix {
	var out []netip.Prefix
	for _, a := range d.Network.Addresses {
		if a.Link == d.Link.Name && a.Scope == "global" && !a.Prefix.Addr().IsLinkLocalUnicast() {
			out = append(out, a.Prefix)
		}
	}
	return out
}

// Record returns the MAC and IP addresses written to the interface when it was attached; empty if none.
func (d *Device) Record() (mac string, ips []netip.Addr) {
	ids := d.Interface.ExternalIDs
	for _, key := range []string{"attached-mac", "attached_mac"} {
		if ids[key] != "" {
			mac = strings.ToLower(ids[key])
		}
	}
	return mac, RecordedAddresses(ids)
}

// RecordedAddresses returns the IP addresses that a CMS wrote to an interface's external_ids when it was attached.
func RecordedAddresses(ids map[string]string) []netip.Addr {
	var ips []netip.Addr
	for _, key := range []string{"ip_addresses", "ip"} {
		for word := range strings.SplitSeq(ids[key], ",") {
			word, _, _ = strings.Cut(strings.TrimSpace(word), "/")
			if a, err := netip.ParseAddr(word); err == nil {
				ips = append(ips, a)
			}
		}
	}
	return ips
}

// AsRecorded reports whether the device matches what was recorded when it was attached. known is false if too little
// was recorded to tell.
func (d *Device) AsRecorded() (is, known bool) {
	mac, ips := d.Record()
	if len(ips) == 0 {
		return false, false
	}
	has := d.Addresses()
	for _, a := range ips {
		if !slices.ContainsFunc(has, func(p netip.Prefix) bool { return p.Addr() == a }) {
			return false, true
		}
	}
	return mac == "" || mac == strings.ToLower(d.Link.MAC), true
}
