package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// local is the host that ovnctl runs on.
func local(d *snapshot.Deployment) (*snapshot.Host, error) {
	if h := d.Local(); h != nil {
		return h, nil
	}
	return nil, errors.New("this repair changes the node that ovnctl runs on, and this is not a node: run it there")
}

// localSwitch is the host that ovnctl runs on, with its Open_vSwitch database.
func localSwitch(d *snapshot.Deployment) (*snapshot.Host, *snapshot.Switch, error) {
	h, err := local(d)
	if err != nil {
		return nil, nil, err
	}
	sw, err := h.Switch()
	return h, sw, err
}

// localNetwork is the host that ovnctl runs on, with its links, addresses and routes.
func localNetwork(d *snapshot.Deployment) (*snapshot.Host, *node.Network, error) {
	h := d.Local()
	if h == nil {
		return nil, nil, fixes.Refuse("run it on the node", "the network of a host can be changed only on that host")
	}
	n, err := h.Network()
	return h, n, err
}

// hostOf is the host of a name; empty: the one that ovnctl runs on.
func hostOf(d *snapshot.Deployment, name string) (*snapshot.Host, error) {
	if name == "" {
		return local(d)
	}
	if h := d.Host(name); h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("node %q is unreachable: run ovnctl there", name)
}

// rootRow is the one row of table Open_vSwitch.
func rootRow(h *snapshot.Host, sw *snapshot.Switch) (ovsdb.Row, error) {
	if len(sw.OpenvSwitch) == 0 {
		return nil, fixes.Refuse("ovs-vsctl init", "the database of %s has no row in table Open_vSwitch", h.Name)
	}
	return &sw.OpenvSwitch[0], nil
}

// bridgeNamed is a bridge of a node by its name.
func bridgeNamed(h *snapshot.Host, sw *snapshot.Switch, name string) (*vswitch.BridgeBrief, error) {
	if b := sw.Bridge(name); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("no bridge %q; %s has %s", name, h.Name, several(bridgeNames(sw)))
}

func bridgeNames(sw *snapshot.Switch) []string {
	return namesOf(sw.Bridges, func(b vswitch.BridgeBrief) string { return b.Name })
}

// interfaceNamed is an interface of a bridge by its name; the error lists those with an iface-id.
func interfaceNamed(h *snapshot.Host, sw *snapshot.Switch, name string) (snapshot.BridgeInterface, error) {
	var names []string
	for _, p := range sw.BridgeInterfaces() {
		if p.Name == name {
			return p, nil
		}
		if p.ExternalIDs["iface-id"] != "" {
			names = append(names, p.Name)
		}
	}
	return snapshot.BridgeInterface{}, fmt.Errorf("no interface %q; %s has %s", name, h.Name, several(names))
}

// link is a link of the host by its name.
func link(n *node.Network, name string) (*node.Link, error) {
	if l := n.Link(name); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("no link %q; this node has %s", name, several(namesOf(n.Links, func(l node.Link) string { return l.Name })))
}

// checkNotMigrating refuses for a port in a live migration.
func checkNotMigrating(p *nb.LogicalSwitchPortBrief) error {
	if value := p.Options["requested-chassis"]; strings.Contains(value, ",") {
		return fixes.Refuse("wait until it ends, or end it with the tool that started it", "port %s is in a live migration: requested-chassis=%s", p.Name, value)
	}
	return nil
}
