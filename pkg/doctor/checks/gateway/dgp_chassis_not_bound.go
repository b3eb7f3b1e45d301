package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DGPChassisNotBound = &doctor.Check{
	Name:     "dgp-chassis-not-bound",
	Category: "gateway",
	Doc: `A distributed gateway port has no chassis that can hold it

Of the chassis that may hold the port one must exist, run, and be on the physical
network behind it. Names that no chassis has are taken without a word.`,
	Causes: []string{
		"controller-not-running", "controller-not-caught-up", "missing-external-ids", "system-id-cloned", "duplicate-chassis-stale",
		"northd-not-active", "sb-rbac-denied", "tls-cert-expired-or-wrong-ca", "db-not-listening-tcp", "vswitchd-not-running",
		"localnet-no-bridge-mapping", "bfd-down-or-flapping",
	},
	Settle: true, // a port that was just made, or is moving, is taken within a moment
	Run:    gatewayPorts,
}

func gatewayPorts(p *doctor.Pass) {
	for _, z := range p.Zones {
		north, err := z.Northbound()
		if err != nil {
			p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Northbound"}, err)
			continue
		}
		south, err := z.Southbound()
		if err != nil {
			p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
			continue
		}
		bindings := redirects(south)
		schedulable := gatewaysByOption(south)
		for _, g := range catalog.GatewayPorts(north, south) {
			if !doctor.Enabled(g.Port.Enabled) || !doctor.Enabled(g.Router.Enabled) {
				continue
			}
			gatewayPort(p, south, &g, bindings["cr-"+g.Port.Name], schedulable)
		}
		unnamedGatewayPorts(p, north)
	}
}

// redirects are the bindings of gateway ports.
func redirects(south *snapshot.Southbound) map[string]*sb.PortBindingBrief {
	out := map[string]*sb.PortBindingBrief{}
	for i := range south.PortBindings {
		if b := &south.PortBindings[i]; b.Type == "chassisredirect" {
			out[b.LogicalPort] = b
		}
	}
	return out
}

// gatewaysByOption are the chassis that offer themselves to Neutron as gateways.
func gatewaysByOption(south *snapshot.Southbound) map[string]bool {
	out := map[string]bool{}
	for _, c := range south.Chassis {
		for _, options := range []string{c.OtherConfig["ovn-cms-options"], c.ExternalIDs["ovn-cms-options"]} {
			if slices.Contains(strings.Split(options, ","), "enable-chassis-as-gw") {
				out[c.Name] = true
			}
		}
	}
	return out
}

func gatewayPort(p *doctor.Pass, south *snapshot.Southbound, g *catalog.GatewayPort, b *sb.PortBindingBrief, schedulable map[string]bool) {
	f := doctor.Finding{
		Object: doctor.Object{Kind: "port", Name: g.Port.Name},
		Also:   []doctor.Object{{Kind: "router", Name: g.Router.Name}},
		Effect: "what router " + g.Router.Name + " leads through this port, and what comes from there, is lost",
	}
	var gone, there []string
	var seen []doctor.Evidence
	for _, c := range g.Candidates {
		if c.Chassis == nil {
			gone = append(gone, c.Name)
			seen = append(seen, doctor.Evidence{Source: doctor.Other(c.Source()), Says: c.Text() + ": no such chassis"})
			f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: c.Name})
			continue
		}
		there = append(there, c.Chassis.Hostname)
		f.Also = append(f.Also, doctor.Object{Kind: "node", Name: c.Chassis.Hostname})
	}
	unbound := b != nil && len(b.Chassis) == 0
	if unbound {
		seen = append(seen, doctor.Evidence{Source: doctor.SB("Port_Binding", doctor.Short(b.UUID)+" "+b.LogicalPort), Says: "chassis=[]"})
	}
	f.Evidence = seen
	switch {
	case len(gone) > 0:
		f.Title = fmt.Sprintf("port %s may be held by %s, which does not exist", g.Port.Name, strings.Join(gone, ", "))
		f.Cause = "the chassis has left, or its name was written wrongly: it is the system-id, not the hostname"
		if len(there) > 0 && !unbound {
			f.Result = doctor.Warning
			f.Effect = "fewer chassis can take the port over than it seems"
		}
		proposeGateway(&f, south, g)
	case unbound:
		f.Title = fmt.Sprintf("port %s is held by no chassis, though %s may", g.Port.Name, strings.Join(there, ", "))
		f.Cause = "ovn-controller there does not run, cannot write, or sees none of the others alive"
		f.Next = "on " + there[0] + ": ovnctl doctor"
	default:
		lacksNetwork(p, g, b, schedulable)
		return
	}
	p.Report(f)
}

// proposeGateway says what to do about a chassis that does not exist.
func proposeGateway(f *doctor.Finding, south *snapshot.Southbound, g *catalog.GatewayPort) {
	switch c := g.Proposal(south); {
	case g.Neutron:
		f.Next = "Neutron schedules this port, and does not know rows that others write: openstack network agent list --agent-type ovn-controller-gateway; a router is scheduled anew when its external gateway is set anew"
	case c != nil:
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.SB("Chassis", doctor.Short(c.UUID)), Says: fmt.Sprintf("hostname=%s name=%s", c.Hostname, c.Name)})
		f.Fix = catalog.GatewayChassisOf.With(g.Port.Name)
	default:
		f.Next = fixes.Command("choose one of `ovn-sbctl list Chassis`, then: ovnctl fix %s %s CHASSIS", catalog.GatewayChassisOf.Name, g.Port.Name)
	}
}

// lacksNetwork says which of the chassis that may hold the port could not carry its traffic.
func lacksNetwork(p *doctor.Pass, g *catalog.GatewayPort, b *sb.PortBindingBrief, schedulable map[string]bool) {
	for _, c := range g.Candidates {
		if snapshot.Elsewhere(c.Chassis) {
			continue
		}
		f := doctor.Finding{
			Result: doctor.Warning,
			Object: doctor.Object{Kind: "port", Name: g.Port.Name},
			Also:   []doctor.Object{{Kind: "node", Name: c.Chassis.Hostname}, {Kind: "chassis", Name: c.Name}, {Kind: "router", Name: g.Router.Name}},
			Cause:  "the chassis was chosen, or changed, without it",
			Effect: "when the port moves there, its traffic to the outside is lost",
		}
		held := b != nil && b.Chassis.Has(c.Chassis.UUID)
		mappings := doctor.Evidence{Source: doctor.SB("Chassis", doctor.Short(c.Chassis.UUID)+" "+c.Chassis.Hostname), Says: "ovn-bridge-mappings=" + c.Chassis.OtherConfig["ovn-bridge-mappings"]}
		for _, network := range g.Networks {
			if catalog.Maps(c.Chassis, network) {
				continue
			}
			f.Title = fmt.Sprintf("%s may hold port %s, but has no bridge for network %s", c.Chassis.Hostname, g.Port.Name, network)
			f.Evidence = []doctor.Evidence{{Source: doctor.Other(c.Source()), Says: c.Text()}, mappings}
			f.Next = fmt.Sprintf("on %s: ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings=%s:BRIDGE (with those that are there), or take it from those that may hold the port", c.Chassis.Hostname, network)
			if held {
				f.Result = doctor.Error
				f.Effect = "what goes through the port to the outside is lost: it is there now"
			}
			p.Report(f)
		}
		if g.Neutron && len(schedulable) > 0 && !schedulable[c.Name] {
			f.Result = doctor.Warning
			f.Title = fmt.Sprintf("%s may hold port %s, but does not offer itself as a gateway", c.Chassis.Hostname, g.Port.Name)
			f.Evidence = []doctor.Evidence{{Source: doctor.Other(c.Source()), Says: c.Text()}, {Source: doctor.SB("Chassis", doctor.Short(c.Chassis.UUID)+" "+c.Chassis.Hostname), Says: "ovn-cms-options lacks enable-chassis-as-gw"}}
			f.Effect = "Neutron takes the port away from it when it schedules anew"
			f.Next = "on " + c.Chassis.Hostname + ": ovs-vsctl set Open_vSwitch . external_ids:ovn-cms-options=enable-chassis-as-gw, if it is to be one"
			p.Report(f)
		}
	}
}

// unnamedGatewayPorts are rows of Neutron's naming that Neutron has not written.
func unnamedGatewayPorts(p *doctor.Pass, north *snapshot.Northbound) {
	lrps := map[string]bool{}
	byRow := map[string]*nb.LogicalRouterPort{}
	for i := range north.RouterPorts {
		lrp := &north.RouterPorts[i]
		if strings.HasPrefix(lrp.Name, "lrp-") {
			lrps[lrp.Name] = true
			for _, u := range lrp.GatewayChassis {
				byRow[string(u)] = lrp
			}
		}
	}
	neutron := slices.ContainsFunc(north.Routers, func(r nb.LogicalRouter) bool { return catalog.NeutronOwns(r.Name, r.ExternalIDs) })
	for _, g := range north.GatewayChassis {
		lrp := byRow[string(g.UUID)]
		if !neutron || lrp == nil || !lrps[lrp.Name] || g.Name != lrp.Name+"-"+g.ChassisName {
			continue
		}
		p.Report(doctor.Finding{
			Result:   doctor.Warning,
			Object:   doctor.Object{Kind: "port", Name: lrp.Name},
			Also:     []doctor.Object{{Kind: "chassis", Name: g.ChassisName}},
			Title:    fmt.Sprintf("the chassis %s of port %s was set by hand", g.ChassisName, lrp.Name),
			Evidence: []doctor.Evidence{{Source: doctor.NB("Gateway_Chassis", doctor.Short(g.UUID)), Says: "name=" + g.Name + " (Neutron writes " + lrp.Name + "_" + g.ChassisName + ")"}},
			Cause:    "ovn-nbctl lrp-set-gateway-chassis was used on a port that Neutron schedules",
			Effect:   "Neutron does not know the row: it neither removes nor moves it",
			Next:     fixes.Command("ovn-nbctl lrp-del-gateway-chassis %s %s, once Neutron has scheduled the port", lrp.Name, g.ChassisName),
		})
	}
}
