package ovs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DuplicateIfaceIDLocal = &doctor.Check{
	Name:     "duplicate-iface-id-local",
	Category: "ovs",
	Doc: `Two interfaces of a node are for the same logical port

The last one that was set takes the port, and the other one is mute. Nothing is logged.`,
	Causes: []string{"vswitchd-not-running"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for c := range p.Chassis() {
			for id, plugs := range sameIfaceID(c) {
				p.Report(duplicateIfaceID(p, c, id, plugs))
			}
		}
	},
}

// sameIfaceID are the interfaces of the integration bridge that share an iface-id, by it.
func sameIfaceID(c *doctor.Chassis) map[string][]snapshot.Plug {
	all := map[string][]snapshot.Plug{}
	for _, plug := range c.OVS.Plugs() {
		if id := plug.ExternalIDs["iface-id"]; id != "" && plug.Bridge.Name == c.Bridge {
			all[id] = append(all[id], plug)
		}
	}
	for id, plugs := range all {
		if len(plugs) < 2 {
			delete(all, id)
		}
	}
	return all
}

func duplicateIfaceID(p *doctor.Pass, c *doctor.Chassis, id string, plugs []snapshot.Plug) doctor.Finding {
	slices.SortFunc(plugs, func(a, b snapshot.Plug) int { return strings.Compare(a.Name, b.Name) })
	var names []string
	f := doctor.Finding{
		Object: doctor.Object{Kind: "port", Name: id, Node: c.Name},
		Also:   []doctor.Object{{Kind: "port", Name: id}, doctor.NodeObject(c.Name)},
		Cause:  "an interface was left behind when its pod or virtual machine was made again, or two were given the same iface-id",
		Effect: "the packets of the port go to one of them, which may be the wrong one",
	}
	for _, plug := range plugs {
		names = append(names, plug.Name)
		f.Also = append(f.Also, doctor.InterfaceObject(c.Host, plug))
		f.Evidence = append(f.Evidence, doctor.Evidence{
			Source: doctor.OVS("Interface", plug.Name).On(c.Name),
			Says:   strings.TrimSpace(fmt.Sprintf("ofport=%d %s", plug.OFPort.Get(), doctor.Pairs(plug.ExternalIDs, "iface-id", "iface-id-ver", "attached_mac", "attached-mac", "ovn-installed"))),
		})
	}
	f.Title = fmt.Sprintf("interfaces %s of %s are all for logical port %s", strings.Join(names, ", "), c.Name, id)
	if len(plugs) == 2 {
		f.Title = fmt.Sprintf("interfaces %s and %s of %s are both for logical port %s", names[0], names[1], c.Name, id)
	}
	wrong, why, err := catalog.WrongInterface(c.Host, plugs)
	if err != nil {
		f.Next = fmt.Sprintf("%v; see which one the pod has, then: ovnctl fix clear-iface-id INTERFACE", err)
		return f
	}
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("interface " + wrong.Name), Says: why})
	f.Fix = catalog.ClearIfaceID.With(wrong.Name)
	return f
}
