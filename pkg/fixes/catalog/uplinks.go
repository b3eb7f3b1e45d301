package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// uplinkOf is the bridge of a name with its uplink.
func uplinkOf(h *snapshot.Host, bridge string) (facts.Uplink, error) {
	uplinks, err := facts.UplinksOf(h)
	if err != nil {
		return facts.Uplink{}, err
	}
	for _, u := range uplinks {
		if u.Bridge.Name == bridge {
			return u, nil
		}
	}
	sw, err := h.Switch()
	if err != nil {
		return facts.Uplink{}, err
	}
	b, err := bridgeNamed(h, sw, bridge)
	return facts.Uplink{Bridge: b}, err
}

// bridgeHere finds a bridge of the local host that can carry addresses.
func bridgeHere(d *snapshot.Deployment, bridge string) (*snapshot.Host, *node.Network, facts.Uplink, error) {
	h, n, err := localNetwork(d)
	if err != nil {
		return nil, nil, facts.Uplink{}, err
	}
	u, err := uplinkOf(h, bridge)
	if err == nil && n.Link(bridge) == nil {
		err = fixes.Refuse("start ovs-vswitchd first: ovnctl doctor --only vswitchd-not-running",
			"the kernel has no link %s: ovs-vswitchd, which creates it, is not running or has not created it yet", bridge)
	}
	return h, n, u, err
}

// uplinkHasAddresses reports whether a bridge's uplink has addresses of its own.
func uplinkHasAddresses(n *node.Network, u facts.Uplink) bool {
	return u.Link() != "" && n.Link(u.Link()) != nil && len(facts.Global(n, u.Link())) > 0
}

// checkFree refuses a link that belongs to another link or bridge.
func checkFree(h *snapshot.Host, l *node.Link, bridge string) error {
	sw, err := h.Switch()
	if err != nil {
		return err
	}
	if l.Master != "" && l.Master != "ovs-system" {
		return fixes.Refuse("name the upper link instead: "+l.Master, "%s belongs to %s", l.Name, l.Master)
	}
	for _, p := range sw.BridgeInterfaces() {
		if p.Name == l.Name && p.Bridge.Name != bridge {
			return fixes.Refuse(fmt.Sprintf("remove it there first: ovs-vsctl del-port %s %s", p.Bridge.Name, p.Port.Name),
				"%s is a port of bridge %s", l.Name, p.Bridge.Name)
		}
	}
	return nil
}
