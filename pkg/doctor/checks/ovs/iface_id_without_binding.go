package ovs

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// IfaceIDWithoutBinding looks for interfaces of logical ports that do not exist.
var IfaceIDWithoutBinding = &doctor.Check{
	Name:     "iface-id-without-binding",
	Category: "ovs",
	Doc: `An interface names a logical port that does not exist

An interface of the integration bridge has an iface-id without a Port_Binding in the
Southbound. Nothing is logged, and nothing forwards its packets.`,
	Causes: []string{"northd-not-active", "kube-ovn-join-gap", "pod-veth-vanished", "missing-external-ids", "controller-not-running"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for c := range p.Chassis() {
			withoutBinding(p, c)
		}
	},
}

func withoutBinding(p *doctor.Pass, c *doctor.Chassis) {
	interfaces := slices.DeleteFunc(slices.Clone(c.OVS.BridgeInterfaces()), func(i snapshot.BridgeInterface) bool {
		return i.Bridge.Name != c.Bridge || i.ExternalIDs["iface-id"] == "" || i.OFNumber() <= 0
	})
	if len(interfaces) == 0 || !p.InterfacesCurrent(c.Host) {
		return
	}
	south, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Southbound)
	if !ok {
		return
	}
	bindings := doctor.PortBindings(south)
	for _, i := range interfaces {
		if bindings[i.ExternalIDs["iface-id"]] == nil {
			reportWithoutBinding(p, c, i)
		}
	}
}

func reportWithoutBinding(p *doctor.Pass, c *doctor.Chassis, i snapshot.BridgeInterface) {
	id := i.ExternalIDs["iface-id"]
	f := doctor.Finding{
		Object: doctor.InterfaceObject(c.Host, i),
		Reason: "no-such-port",
		Also:   []doctor.Object{doctor.PortObject(id)},
		Title:  fmt.Sprintf("interface %s names logical port %s, which does not exist", i.Name, id),
		Evidence: []doctor.Evidence{
			{Source: doctor.OVS("Interface", i.Name).On(c.Name), Says: "external_ids " + doctor.Pairs(i.ExternalIDs, "iface-id", "iface-id-ver", "ovn-installed")},
			{Source: doctor.SB("Port_Binding", ""), Says: "no row with logical_port=" + id},
		},
		Cause:  "the logical port was deleted and its interface left behind, or the iface-id is misspelt",
		Effect: "the pod or VM behind the interface has no network",
	}
	use := facts.PortUseOf(c.Host, i)
	switch {
	case use.Northbound:
		f.Reason = "not-in-southbound"
		f.Cause = "the Northbound has the port, but ovn-northd has not written it to the Southbound"
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.NB("Logical_Switch_Port", id), Says: "exists"})
		f.Next = "ovn-nbctl --wait=sb --timeout=30 sync"
	case use.Unused:
		f.Evidence = append(f.Evidence, useEvidence(use))
		f.Fix = catalog.RemovePort.With(i.Name)
	default:
		f.Next = use.Why
	}
	p.Report(f)
}

// useEvidence is what shows that nothing needs a port.
func useEvidence(use facts.PortUse) doctor.Evidence {
	return doctor.Evidence{Source: doctor.Other("logical port"), Says: use.Why}
}
