package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// localHost is the host that a repair of the host's network is about.
func localHost(d *snapshot.Deployment) (*snapshot.Host, error) {
	h := d.Local()
	if h == nil {
		return nil, fixes.Refuse("run it on the node", "the network of a host is changed on that host alone")
	}
	return h, nil
}

// local is the host that ovnctl runs on.
func local(d *snapshot.Deployment) (*snapshot.Host, error) {
	if h := d.Local(); h != nil {
		return h, nil
	}
	return nil, errors.New("this is a change to the host that ovnctl runs on, and there is none here")
}

// localSwitch is the host that ovnctl runs on, with its Open_vSwitch database.
func localSwitch(d *snapshot.Deployment) (*snapshot.Host, *snapshot.Switch, error) {
	h := d.Local()
	if h == nil {
		return nil, nil, errors.New("this changes the node that ovnctl runs on, and this is none: run it there")
	}
	sw, err := h.Switch()
	return h, sw, err
}

// hostOf is the host that a person names, or this one.
func hostOf(d *snapshot.Deployment, name string) (*snapshot.Host, error) {
	if name == "" {
		if h := d.Local(); h != nil {
			return h, nil
		}
		return nil, errors.New("this is no node: run ovnctl on it")
	}
	if h := d.Host(name); h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("node %q cannot be asked: run ovnctl there", name)
}

// plugNamed finds an interface that is in a bridge; the error names those that carry an iface-id.
func plugNamed(h *snapshot.Host, sw *snapshot.Switch, name string) (snapshot.Plug, error) {
	var names []string
	for _, p := range sw.Plugs() {
		if p.Name == name {
			return p, nil
		}
		if p.ExternalIDs["iface-id"] != "" {
			names = append(names, p.Name)
		}
	}
	return snapshot.Plug{}, fmt.Errorf("no interface %q; %s has %s", name, h.Name, several(names))
}

// link is a link of the host by its name.
func link(n *node.Network, name string) (*node.Link, error) {
	l := n.Link(name)
	if l == nil {
		var names []string
		for _, x := range n.Links {
			names = append(names, x.Name)
		}
		return nil, fmt.Errorf("no link %q; this node has %s", name, strings.Join(names, ", "))
	}
	return l, nil
}

func southOf(h *snapshot.Host) (*snapshot.Southbound, error) {
	z := h.Zone()
	if z == nil {
		return nil, errors.New("the zone of " + h.Name + " was not read")
	}
	return z.Southbound()
}

func bridgeNames(s *snapshot.Switch) []string {
	var names []string
	for _, b := range s.Bridges {
		names = append(names, b.Name)
	}
	return names
}
