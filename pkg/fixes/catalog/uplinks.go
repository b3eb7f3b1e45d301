package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// uplinkOf is the bridge of a name with its uplink.
func uplinkOf(h *snapshot.Host, bridge string) (snapshot.Uplink, error) {
	uplinks, err := h.Uplinks()
	if err != nil {
		return snapshot.Uplink{}, err
	}
	for _, u := range uplinks {
		if u.Bridge.Name == bridge {
			return u, nil
		}
	}
	s, err := h.Switch()
	if err != nil {
		return snapshot.Uplink{}, err
	}
	if b := s.Bridge(bridge); b != nil {
		return snapshot.Uplink{Bridge: b}, nil
	}
	var names []string
	for _, b := range s.Bridges {
		names = append(names, b.Name)
	}
	return snapshot.Uplink{}, fmt.Errorf("no bridge %q; this node has %s", bridge, strings.Join(names, ", "))
}

// bridgeHere finds a bridge of the local host that can carry addresses.
func bridgeHere(d *snapshot.Deployment, bridge string) (*snapshot.Host, *node.Network, snapshot.Uplink, error) {
	var none snapshot.Uplink
	h, err := localHost(d)
	if err != nil {
		return nil, nil, none, err
	}
	u, err := uplinkOf(h, bridge)
	if err != nil {
		return nil, nil, none, err
	}
	n, err := h.Network()
	if err != nil {
		return nil, nil, none, err
	}
	if n.Link(bridge) == nil {
		return nil, nil, none, fixes.Refuse("start ovs-vswitchd first: ovnctl doctor --only vswitchd-not-running",
			"the kernel has no link %s: ovs-vswitchd, which makes it, does not run or has not made it yet", bridge)
	}
	return h, n, u, nil
}

// uplinkHolds says whether a bridge's uplink has addresses of its own.
func uplinkHolds(n *node.Network, u snapshot.Uplink) bool {
	return u.Link() != "" && n.Link(u.Link()) != nil && len(snapshot.Global(n, u.Link())) > 0
}

// free refuses a link that belongs elsewhere.
func free(h *snapshot.Host, l *node.Link, bridge string) error {
	s, err := h.Switch()
	if err != nil {
		return err
	}
	if l.Master != "" && l.Master != "ovs-system" {
		return fixes.Refuse("name the link that is on top: "+l.Master, "%s belongs to %s", l.Name, l.Master)
	}
	for _, p := range s.Plugs() {
		if p.Name == l.Name && p.Bridge.Name != bridge {
			return fixes.Refuse(fmt.Sprintf("take it out of there first: ovs-vsctl del-port %s %s", p.Bridge.Name, p.Port.Name),
				"%s is a port of bridge %s", l.Name, p.Bridge.Name)
		}
	}
	return nil
}
