package controller

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// PortNotBound looks for logical ports that ovn-controller has not bound to their interface.
var PortNotBound = &doctor.Check{
	Name:     "port-not-bound",
	Category: "ovn-controller",
	Doc: `A logical port is not bound although its interface is here

The interface has the port's name as its iface-id and works, but ovn-controller has not
claimed the port, or has not installed its flows.`,
	Causes: []string{
		"controller-not-running", "vswitchd-not-running", "missing-external-ids", "duplicate-chassis-stale", "system-id-cloned",
		"encap-ip-not-local", "controller-northd-version-mismatch", "northd-not-active", "sb-rbac-denied", "clients-refuse-rebuilt-db",
		"tls-cert-expired-or-wrong-ca", "db-not-listening-tcp", "raft-no-quorum", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-ip-lost-after-reboot",
		"hostname-mismatch", "integration-bridge-empty", "controller-not-caught-up", "duplicate-iface-id-local",
	},
	Settle: true,
	Run: func(p *doctor.Pass) {
		reported := map[doctor.ID]bool{} // a port whose interface is on two nodes is one fault
		for c := range p.Chassis() {
			for _, f := range unboundPorts(p, c) {
				if !reported[f.ID()] {
					p.Report(f)
				}
				reported[f.ID()] = true
			}
		}
	},
}

func unboundPorts(p *doctor.Pass, c *doctor.Chassis) []doctor.Finding {
	if c.Row == nil {
		return nil // a missing chassis is another finding
	}
	var named []snapshot.BridgeInterface
	rivals := map[string]string{} // the interface of the integration bridge for a port
	for _, i := range c.OVS.BridgeInterfaces() {
		if id := i.ExternalIDs["iface-id"]; id != "" && i.OFNumber() > 0 {
			named = append(named, i)
			if i.Bridge.Name == c.Bridge {
				rivals[id] = i.Name
			}
		}
	}
	if len(named) == 0 || !p.InterfacesCurrent(c.Host) {
		return nil
	}
	var list []doctor.Finding
	bindings := doctor.PortBindings(c.SB)
	for _, i := range named {
		b := bindings[i.ExternalIDs["iface-id"]]
		if b == nil || b.Type != "" || len(b.Chassis) > 0 && b.Chassis.Get() != c.Row.UUID ||
			b.AdditionalChassis.Has(c.Row.UUID) || b.RequestedAdditionalChassis.Has(c.Row.UUID) {
			continue
		}
		if other := rivals[b.LogicalPort]; other != "" && other != i.Name {
			continue // two interfaces for one port are another finding
		}
		if f, ok := whyNotBound(c, i, b); ok {
			list = append(list, f)
		}
	}
	return list
}

// whyNotBound is the finding of a port that is not bound here as it should be.
func whyNotBound(c *doctor.Chassis, i snapshot.BridgeInterface, b *sb.PortBindingBrief) (doctor.Finding, bool) {
	id := b.LogicalPort
	f := doctor.Finding{
		Object: doctor.PortObject(id),
		Also:   []doctor.Object{doctor.InterfaceObject(c.Host, i), doctor.NodeObject(c.Name)},
		Title:  fmt.Sprintf("port %s is bound to no chassis although its interface %s is on %s", id, i.Name, c.Name),
		Evidence: []doctor.Evidence{
			doctor.SBRow("Port_Binding", b.UUID, "chassis=%s up=%v %s", optional(b.Chassis), b.Up.Get(), doctor.Pairs(b.Options, "requested-chassis", "iface-id-ver")),
			{Source: doctor.OVS("Interface", i.Name).On(c.Name), Says: fmt.Sprintf("ofport=%d %s", i.OFNumber(), doctor.Pairs(i.ExternalIDs, "iface-id", "iface-id-ver", "ovn-installed"))},
		},
		Effect: fmt.Sprintf("port %s has no network", id),
	}
	wanted := facts.RequestedChassis(b.Options)
	version, have := b.Options["iface-id-ver"], i.ExternalIDs["iface-id-ver"]
	switch {
	case len(b.Chassis) > 0:
		if len(b.Up) == 0 || b.Up.Get() || i.ExternalIDs["ovn-installed"] == "true" {
			return f, false
		}
		f.Reason = "not-installed"
		f.Title = fmt.Sprintf("port %s is bound to %s, which has not installed its flows", id, c.Name)
		f.Cause = "ovn-controller has claimed the port and not finished with it"
		f.Next = "ovn-appctl -t ovn-controller debug/dump-local-bindings; see its log for errors of ovs-vswitchd or the Southbound"
	case i.Bridge.Name != c.Bridge:
		f.Reason = "wrong-bridge"
		f.Cause = fmt.Sprintf("the interface is in bridge %s; ovn-controller only binds those in %s", i.Bridge.Name, c.Bridge)
		f.Next = fixes.Command("re-create the pod or VM, or: ovs-vsctl del-port %[1]s %[2]s -- add-port %[3]s %[2]s -- set Interface %[2]s external_ids:iface-id=%[4]s", i.Bridge.Name, i.Name, c.Bridge, id)
	case wanted != "" && wanted != c.Row.Name && wanted != c.Row.Hostname:
		where := "which is no chassis' name or hostname"
		if len(b.RequestedChassis) > 0 {
			where = "another node: " + doctor.ChassisLabelOf(c.SB, b.RequestedChassis.Get())
			f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: wanted})
		}
		f.Reason = "requested-chassis"
		f.Cause = fmt.Sprintf("the Northbound requests chassis %s, %s", wanted, where)
		f.Fix = catalog.ClearRequestedChassis.With(id)
	case version != "" && version != have:
		f.Reason = "iface-id-ver"
		f.Cause = fmt.Sprintf("the Northbound requests iface-id-ver %s; this interface has %s, of another pod or VM with that name", version, cmp.Or(have, "none"))
		f.Fix = catalog.SetIfaceIDVer.With(i.Name)
	default:
		f.Reason = "not-claimed"
		f.Cause = "ovn-controller has not claimed the port, and nothing in the databases shows why"
		if text, err := c.Control("ovn-controller", "debug/dump-local-bindings"); err == nil && !strings.Contains(text, id) {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovn-controller", "debug/dump-local-bindings").On(c.Name), Says: "does not list " + id})
		}
		f.Next = "ovn-appctl -t ovn-controller debug/dump-local-bindings; then its log"
	}
	return f, true
}

// optional shows an optional reference as the tools do.
func optional(set ovsdb.Set[ovsdb.UUID]) string {
	if len(set) == 0 {
		return "[]"
	}
	return doctor.Short(set.Get())
}
