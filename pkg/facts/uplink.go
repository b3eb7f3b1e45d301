package facts

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// An Uplink is a bridge that connects the host to the physical network, and its link there, actual or intended.
type Uplink struct {
	Bridge *vswitch.BridgeBrief
	// Links are the links of the uplink's port: one, or those of a bond. If the uplink is not in the bridge, it is
	// the intended link; none if unknown.
	Links []string
	// Source is how the links are known.
	Source string
	// Port is the uplink's port in the bridge, nil if none.
	Port *vswitch.PortBrief
	// Networks are the physical networks that ovn-bridge-mappings maps to it.
	Networks []string
	// Named: external_ids:bridge-uplink names the link.
	Named bool
}

// Link returns the uplink if it is one link; empty if it is a bond or unknown.
func (u Uplink) Link() string {
	if len(u.Links) == 1 {
		return u.Links[0]
	}
	return ""
}

// UplinksOf returns the host's bridges to the physical network: those with a named uplink, those in
// ovn-bridge-mappings, and those with exactly one NIC port. The link is found as OVN-Kubernetes does: by
// external_ids:bridge-uplink, then the only system port, then the bridge's name without "br".
func UplinksOf(h *snapshot.Host) ([]Uplink, error) {
	return snapshot.Derive(h, "", func() ([]Uplink, error) { return uplinks(h) })
}

func uplinks(h *snapshot.Host) ([]Uplink, error) {
	s, err := h.Switch()
	if err != nil {
		return nil, err
	}
	n, err := h.Network()
	if err != nil {
		return nil, err
	}
	chassis, _, err := h.ChassisName()
	if err != nil {
		return nil, err
	}
	mappings, _ := s.Setting("ovn-bridge-mappings", chassis)
	networks := map[string][]string{}
	for pair := range strings.SplitSeq(mappings, ",") {
		if network, bridge, ok := strings.Cut(strings.TrimSpace(pair), ":"); ok {
			networks[bridge] = append(networks[bridge], network)
		}
	}
	ports := map[string][]*vswitch.PortBrief{} // system ports by bridge
	links := map[string][]string{}             // and their links by port
	for _, p := range s.BridgeInterfaces() {
		if (p.Type != "" && p.Type != "system" && p.Type != "dpdk") || isGuest(p.InterfaceBrief.ExternalIDs) || p.Name == p.Bridge.Name {
			continue
		}
		if len(links[p.Port.Name]) == 0 {
			ports[p.Bridge.Name] = append(ports[p.Bridge.Name], p.Port)
		}
		links[p.Port.Name] = append(links[p.Port.Name], p.Name)
	}
	var uplinks []Uplink
	for i := range s.Bridges {
		b := &s.Bridges[i]
		if b.Name == s.IntegrationBridge(chassis) && s.RunsOVN() {
			continue
		}
		u := Uplink{Bridge: b, Networks: networks[b.Name], Named: b.ExternalIDs["bridge-uplink"] != ""}
		own := ports[b.Name]
		switch name := b.ExternalIDs["bridge-uplink"]; {
		case name != "":
			u.Links, u.Source = []string{name}, "external_ids:bridge-uplink"
			i := slices.IndexFunc(own, func(p *vswitch.PortBrief) bool { return p.Name == name || slices.Contains(links[p.Name], name) })
			if i >= 0 {
				u.Port, u.Links = own[i], links[own[i].Name]
			}
		case len(own) == 1 && (u.Networks != nil || isCard(n, links[own[0].Name][0])):
			u.Port, u.Links, u.Source = own[0], links[own[0].Name], "the only system port"
		case u.Networks == nil:
			continue
		case len(own) > 1:
			u.Port, u.Source = own[0], "several system ports"
		default:
			if name := strings.TrimPrefix(b.Name, "br"); name != b.Name && n.Link(name) != nil {
				u.Links, u.Source = []string{name}, "the name of the bridge"
			}
		}
		uplinks = append(uplinks, u)
	}
	return uplinks, nil
}

// isGuest reports whether a pod or VM is behind an interface.
func isGuest(ids map[string]string) bool {
	for _, key := range []string{"iface-id", "sandbox", "vm-uuid", "attached-mac", "attached_mac"} {
		if ids[key] != "" {
			return true
		}
	}
	return false
}

// isCard reports whether a link is a NIC, or stands for some.
func isCard(n *node.Network, name string) bool {
	l := n.Link(name)
	return l != nil && slices.Contains([]string{"", "bond", "team", "vlan"}, l.Kind) && l.Name != "lo"
}

// Global returns the addresses of a link that others can reach.
func Global(n *node.Network, link string) []node.Address {
	var own []node.Address
	for _, a := range n.Addresses {
		if a.Link == link && a.Scope != "link" && a.Scope != "host" && a.Scope != "nowhere" {
			own = append(own, a)
		}
	}
	return own
}

// Holder returns the link that has an address, nil if none.
func Holder(n *node.Network, a netip.Addr) *node.Address {
	return snapshot.First(n.Addresses, func(x *node.Address) bool { return x.Prefix.Addr() == a.Unmap() })
}

// EncapIPs returns the host's tunnel addresses, from its own database or, if not set there, from the Southbound; and
// their source.
func EncapIPs(h *snapshot.Host) (ips []netip.Addr, source string) {
	s, err := h.Switch()
	if err != nil {
		return nil, ""
	}
	chassis, _, _ := h.ChassisName()
	value, key := s.Setting("ovn-encap-ip", chassis)
	for ip := range strings.SplitSeq(value, ",") {
		if a, err := netip.ParseAddr(strings.TrimSpace(ip)); err == nil {
			ips = append(ips, a)
		}
	}
	if ips != nil {
		return ips, "external_ids:" + key
	}
	z := h.Zone()
	if z == nil {
		return nil, ""
	}
	rows, err := z.Southbound()
	if err != nil {
		return nil, ""
	}
	if c := rows.ChassisNamed(chassis); c != nil {
		for _, e := range rows.EncapsOf(c) {
			if a, err := netip.ParseAddr(e.IP); err == nil && !slices.Contains(ips, a) {
				ips = append(ips, a)
			}
		}
	}
	return ips, "Southbound Encap of chassis " + cmp.Or(chassis, "?")
}
