package ovs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DuplicateIfaceIDLocal looks for interfaces of one node with one iface-id.
var DuplicateIfaceIDLocal = &doctor.Check{
	Name:     "duplicate-iface-id-local",
	Category: "ovs",
	Doc: `Two interfaces of a node have the same iface-id

The interface that was set last gets the logical port; the other gets no packets. Nothing is logged.`,
	Causes: []string{"vswitchd-not-running"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for c := range p.Chassis() {
			all := map[string][]snapshot.BridgeInterface{} // by iface-id
			for _, i := range c.OVS.BridgeInterfaces() {
				if id := i.ExternalIDs["iface-id"]; id != "" && i.Bridge.Name == c.Bridge {
					all[id] = append(all[id], i)
				}
			}
			for _, id := range slices.Sorted(maps.Keys(all)) {
				if len(all[id]) > 1 {
					p.Report(duplicateIfaceID(c, id, all[id]))
				}
			}
		}
	},
}

func duplicateIfaceID(c *doctor.Chassis, id string, interfaces []snapshot.BridgeInterface) doctor.Finding {
	slices.SortFunc(interfaces, func(a, b snapshot.BridgeInterface) int { return strings.Compare(a.Name, b.Name) })
	var names []string
	f := doctor.Finding{
		Object: doctor.Object{Kind: "port", Name: id, Node: c.Name},
		Also:   []doctor.Object{doctor.PortObject(id), doctor.NodeObject(c.Name)},
		Cause:  "an interface was left behind when its pod or VM was re-created, or two were given one iface-id",
		Effect: "the packets of the port go to one of them, which may be the wrong one",
	}
	for _, i := range interfaces {
		names = append(names, i.Name)
		f.Also = append(f.Also, doctor.InterfaceObject(c.Host, i))
		f.Evidence = append(f.Evidence, doctor.Evidence{
			Source: doctor.OVS("Interface", i.Name).On(c.Name),
			Says:   strings.TrimSpace(fmt.Sprintf("ofport=%d %s", i.OFPort.Get(), doctor.Pairs(i.ExternalIDs, "iface-id", "iface-id-ver", "attached_mac", "attached-mac", "ovn-installed"))),
		})
	}
	f.Title = fmt.Sprintf("interfaces %s of %s all have the iface-id %s", strings.Join(names, ", "), c.Name, id)
	wrong, why, err := facts.WrongInterface(c.Host, interfaces)
	if err != nil {
		f.Next = fmt.Sprintf("%v; see which one the pod has, then: ovnctl fix clear-iface-id INTERFACE", err)
		return f
	}
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Link(wrong.Name).On(c.Name), Says: why})
	f.Fix = catalog.ClearIfaceID.With(wrong.Name)
	return f
}
