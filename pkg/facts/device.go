package facts

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Device is what is plugged into a logical port, as it sees itself.
type Device struct {
	Port    *nb.LogicalSwitchPortBrief
	Plug    snapshot.BridgeInterface
	Host    node.Link     // the host's end
	Link    node.Link     // the other end, in the pod; of a port of the host itself the same
	Network *node.Network // of the pod, or the host
	Pod     bool          // it is in a namespace of its own
}

// DeviceOf is the device of a port of the integration bridge; nil: it cannot be seen as what sends, such
// as the tap of a virtual machine, or is not there. The error is for a namespace that cannot be looked into.
func DeviceOf(h *snapshot.Host, l *Logical, plug snapshot.BridgeInterface) (*Device, error) {
	port := l.SwitchPort[plug.ExternalIDs["iface-id"]]
	if port == nil {
		return nil, nil
	}
	network, err := h.Network()
	if err != nil {
		return nil, err
	}
	link := network.Link(plug.Name)
	switch {
	case link == nil:
		return nil, nil
	case plug.Type == "internal":
		return &Device{Port: port, Plug: plug, Host: *link, Link: *link, Network: network}, nil
	case link.Kind != "veth" || link.PeerNetns == nil:
		return nil, nil
	}
	pod, err := h.Pod(plug.Name)
	if err != nil {
		return nil, err
	}
	return &Device{Port: port, Plug: plug, Host: *link, Link: pod.Link, Network: pod.Network, Pod: true}, nil
}

// Guest says whether the device hands its packets on to a virtual machine, so that the addresses
// that count are in there.
func (d *Device) Guest() bool {
	return d.Pod && (d.Link.Master != "" || slices.ContainsFunc(d.Network.Links, func(l node.Link) bool {
		return l.Kind == "tun" || l.Kind == "macvtap" || l.Kind == "bridge"
	}))
}

// Addresses are the global addresses of the device.
func (d *Device) Addresses() []netip.Prefix {
	var out []netip.Prefix
	for _, a := range d.Network.Addresses {
		if a.Link == d.Link.Name && a.Scope == "global" && !a.Prefix.Addr().IsLinkLocalUnicast() {
			out = append(out, a.Prefix)
		}
	}
	return out
}

// Record is the MAC address and addresses that whoever plugged the device wrote at its interface;
// empty where there are none.
func (d *Device) Record() (mac string, ips []netip.Addr) {
	ids := d.Plug.ExternalIDs
	for _, key := range []string{"attached-mac", "attached_mac"} {
		if ids[key] != "" {
			mac = strings.ToLower(ids[key])
		}
	}
	for _, key := range []string{"ip_addresses", "ip"} {
		for word := range strings.SplitSeq(ids[key], ",") {
			word, _, _ = strings.Cut(strings.TrimSpace(word), "/")
			if a, err := netip.ParseAddr(word); err == nil {
				ips = append(ips, a)
			}
		}
	}
	return mac, ips
}

// AsRecorded says whether the device has what was recorded when it was plugged. Known is false where
// nothing was, or not enough to tell.
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
