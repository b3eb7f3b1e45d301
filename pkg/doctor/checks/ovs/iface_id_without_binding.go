package ovs

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var IfaceIDWithoutBinding = &doctor.Check{
	Name:     "iface-id-without-binding",
	Category: "ovs",
	Doc: `A local interface names a logical port that does not exist

An interface of the integration bridge carries an iface-id of which the Southbound
has no Port_Binding. Nothing logs it, and nobody forwards its packets.`,
	Causes: []string{"northd-not-active", "kube-ovn-join-gap", "pod-veth-vanished", "missing-external-ids", "controller-not-running"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for c := range p.Chassis() {
			withoutBinding(p, c)
		}
	},
}

func withoutBinding(p *doctor.Pass, c *doctor.Chassis) {
	var named []snapshot.Plug
	for _, plug := range c.OVS.Plugs() {
		if plug.Bridge.Name == c.Bridge && plug.ExternalIDs["iface-id"] != "" && plug.OFNumber() > 0 {
			named = append(named, plug)
		}
	}
	if len(named) == 0 || !p.InterfacesCurrent(c.Host) {
		return
	}
	south, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Southbound)
	if !ok {
		return
	}
	bound := doctor.PortBindings(south)
	for _, plug := range named {
		id := plug.ExternalIDs["iface-id"]
		if bound[id] != nil {
			continue
		}
		f := doctor.Finding{
			Object: doctor.InterfaceObject(c.Host, plug),
			Also:   []doctor.Object{{Kind: "port", Name: id}},
			Title:  fmt.Sprintf("interface %s is for logical port %s, which does not exist", plug.Name, id),
			Evidence: []doctor.Evidence{
				{Source: doctor.OVS("Interface", plug.Name).On(c.Name), Says: "external_ids " + doctor.Pairs(plug.ExternalIDs, "iface-id", "iface-id-ver", "ovn-installed")},
				{Source: doctor.SB("Port_Binding", ""), Says: "there is no row with logical_port=" + id},
			},
			Cause:  "the logical port was deleted and its interface left behind, or the iface-id is misspelt",
			Effect: "whoever is behind the interface has no network",
		}
		owner := catalog.PortUseOf(c.Host, plug)
		switch {
		case owner.Northbound:
			f.Cause = "the Northbound has the port, but ovn-northd has not carried it over to the Southbound"
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.NB("Logical_Switch_Port", ""), Says: "there is a row with name=" + id})
			f.Next = "ovn-nbctl --wait=sb --timeout=30 sync"
		case owner.Unused:
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("its owner"), Says: owner.Why})
			f.Fix = catalog.RemovePort.With(plug.Name)
		default:
			f.Next = owner.Why
		}
		p.Report(f)
	}
}
