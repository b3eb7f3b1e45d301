package facts

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// WrongInterface finds which of several interfaces for one logical port is the wrong
// one, and how that is known. An error means that it is unknown.
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

// WhyWrong is why an interface is not the one of the logical port in its iface-id; empty: it may be.
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
		return "", nil // the Southbound would only add reasons
	}
	for i := range south.PortBindings {
		if row := &south.PortBindings[i]; row.LogicalPort == p.ExternalIDs["iface-id"] {
			return whyNotOf(h, row, p), nil
		}
	}
	return "", nil
}

// whyNotOf is why an interface is not that of a port binding; empty: it may be.
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

// ForeignMAC is the MAC address behind an interface if it is not among the addresses of its
// logical port; empty if it is, or if either is unknown.
func ForeignMAC(h *snapshot.Host, iface snapshot.BridgeInterface, addresses []string) string {
	macs := strings.ToLower(strings.Join(addresses, " "))
	pod, err := h.Pod(iface.Name)
	if err != nil || !strings.Contains(macs, ":") || strings.Contains(macs, strings.ToLower(pod.Link.MAC)) {
		return ""
	}
	return pod.Link.MAC
}
