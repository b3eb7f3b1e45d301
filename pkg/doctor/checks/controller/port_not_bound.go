package controller

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var PortNotBound = &doctor.Check{
	Name:     "port-not-bound",
	Category: "ovn-controller",
	Doc: `A logical port is bound nowhere although its interface is here

The interface carries the port's name as its iface-id and works, but ovn-controller
has not taken the port, or has not finished with it.`,
	Causes: []string{
		"controller-not-running", "vswitchd-not-running", "missing-external-ids", "duplicate-chassis-stale", "system-id-cloned",
		"encap-ip-not-local", "controller-northd-version-mismatch", "northd-not-active", "sb-rbac-denied", "clients-refuse-rebuilt-db",
		"tls-cert-expired-or-wrong-ca", "db-not-listening-tcp", "raft-no-quorum", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-ip-lost-after-reboot",
		"hostname-mismatch", "integration-bridge-empty", "controller-not-caught-up", "duplicate-iface-id-local",
	},
	Settle: true,
	Run:    func(p *doctor.Pass) { p.Chassis(func(c *doctor.Chassis) { notBound(p, c) }) },
}

func notBound(p *doctor.Pass, c *doctor.Chassis) {
	if c.Row == nil {
		return // the chassis itself is not there: that is another finding
	}
	var named []snapshot.Plug
	for _, plug := range c.OVS.Plugs() {
		if plug.ExternalIDs["iface-id"] != "" && plug.OFNumber() > 0 {
			named = append(named, plug)
		}
	}
	if len(named) == 0 || !p.SwitchLives(c.Host) {
		return
	}
	bound := doctor.Bindings(c.SB)
	rivals := map[string]string{} // the interface of the integration bridge for a port
	for _, plug := range named {
		if plug.Bridge.Name == c.Bridge {
			rivals[plug.ExternalIDs["iface-id"]] = plug.Name
		}
	}
	for _, plug := range named {
		row := bound[plug.ExternalIDs["iface-id"]]
		if row == nil || row.Type != "" || len(row.Chassis) > 0 && row.Chassis.Get() != c.Row.UUID ||
			row.AdditionalChassis.Has(c.Row.UUID) || row.RequestedAdditionalChassis.Has(c.Row.UUID) {
			continue
		}
		if other := rivals[row.LogicalPort]; other != "" && other != plug.Name {
			continue // that is two interfaces for one port
		}
		if f, ok := whyNotBound(c, plug, row); ok {
			p.Report(f)
		}
	}
}

// whyNotBound is the finding of a port that is not bound here as it should be.
func whyNotBound(c *doctor.Chassis, plug snapshot.Plug, row *sb.PortBindingBrief) (doctor.Finding, bool) {
	id := row.LogicalPort
	f := doctor.Finding{
		Object: doctor.Object{Kind: "port", Name: id},
		Also:   []doctor.Object{doctor.InterfaceObject(c.Host, plug), doctor.NodeObject(c.Name)},
		Title:  fmt.Sprintf("port %s is bound to no chassis although its interface %s is on %s", id, plug.Name, c.Name),
		Evidence: []doctor.Evidence{
			{Source: doctor.SB("Port_Binding", doctor.Short(row.UUID)), Says: fmt.Sprintf("chassis=%s up=%v %s", ofSet(row.Chassis), row.Up.Get(), doctor.Pairs(row.Options, "requested-chassis", "iface-id-ver"))},
			{Source: doctor.OVS("Interface", plug.Name).On(c.Name), Says: fmt.Sprintf("ofport=%d %s", plug.OFNumber(), doctor.Pairs(plug.ExternalIDs, "iface-id", "iface-id-ver", "ovn-installed"))},
		},
		Effect: fmt.Sprintf("port %s has no network", id),
	}
	if len(row.Chassis) > 0 {
		if len(row.Up) == 0 || row.Up.Get() || plug.ExternalIDs["ovn-installed"] == "true" {
			return doctor.Finding{}, false
		}
		f.Title = fmt.Sprintf("port %s is bound to %s, which has not finished with it", id, c.Name)
		f.Cause = "ovn-controller has claimed the port, but has not installed its flows"
		f.Next = "ovn-appctl -t ovn-controller debug/dump-local-bindings; see its log for errors of the switch or the Southbound"
		return f, true
	}
	wanted := catalog.RequestedChassis(row.Options)
	switch want, have := row.Options["iface-id-ver"], plug.ExternalIDs["iface-id-ver"]; {
	case plug.Bridge.Name != c.Bridge:
		f.Cause = fmt.Sprintf("the interface is in bridge %s; ovn-controller looks at those of %s alone", plug.Bridge.Name, c.Bridge)
		f.Next = fixes.Command("re-create the pod or virtual machine, or: ovs-vsctl del-port %[1]s %[2]s -- add-port %[3]s %[2]s -- set Interface %[2]s external_ids:iface-id=%[4]s", plug.Bridge.Name, plug.Name, c.Bridge, id)
	case wanted != "" && wanted != c.Row.Name && wanted != c.Row.Hostname:
		where := "which is no chassis' name nor hostname"
		if len(row.RequestedChassis) > 0 {
			where = "another node: " + doctor.ChassisName(c.SB, row.RequestedChassis.Get())
			f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: wanted})
		}
		f.Cause = fmt.Sprintf("the Northbound asks for chassis %s, %s", wanted, where)
		f.Fix = catalog.ClearRequestedChassis.With(id)
	case want != "" && want != have:
		f.Cause = fmt.Sprintf("the Northbound asks for the interface of iface-id-ver %s; this one has %s, which is of another pod or machine of that name", want, doctor.OrNone(have))
		f.Fix = catalog.SetIfaceIDVer.With(plug.Name)
	default:
		f.Cause = "ovn-controller has not claimed the port, and nothing in the databases says why"
		if text, err := c.Control("ovn-controller", "debug/dump-local-bindings"); err == nil && !strings.Contains(text, id) {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("ovn-controller of " + c.Name + " debug/dump-local-bindings"), Says: "does not know " + id})
		}
		f.Next = "ovn-appctl -t ovn-controller debug/dump-local-bindings; then its log"
	}
	return f, true
}

// ofSet shows an optional reference as the tools do.
func ofSet(set ovsdb.Set[ovsdb.UUID]) string {
	if len(set) == 0 {
		return "[]"
	}
	return fmt.Sprintf("%.8s", set.Get())
}
