package gateway

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var GatewayRouterWithoutChassis = &doctor.Check{
	Name:     "gateway-router-without-chassis",
	Category: "gateway",
	Doc: `A gateway router is on no chassis

A router is a gateway router by Logical_Router.options:chassis, which names a
chassis by its system-id. Nothing is logged where no chassis has that name.`,
	Causes: []string{
		"controller-not-running", "controller-not-caught-up", "missing-external-ids", "system-id-cloned", "duplicate-chassis-stale",
		"northd-not-active", "sb-rbac-denied", "tls-cert-expired-or-wrong-ca", "db-not-listening-tcp", "vswitchd-not-running",
	},
	Settle: true, // a router that was just made is taken within a moment
	Run:    routersWithoutChassis,
}

func routersWithoutChassis(p *doctor.Pass) {
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
		gatewayRouters(p, north, south)
	}
}

func gatewayRouters(p *doctor.Pass, north *snapshot.Northbound, south *snapshot.Southbound) {
	held := map[string]*sb.PortBindingBrief{}
	for i := range south.PortBindings {
		if b := &south.PortBindings[i]; b.Type == "l3gateway" {
			held[b.LogicalPort] = b
		}
	}
	l := snapshot.NewLogical(north)
	like := likeGateways(north, l)
	for i := range north.Routers {
		r := &north.Routers[i]
		name, has := r.Options["chassis"]
		switch c := south.ChassisNamed(name); {
		case !has && !like[r.UUID]:
		case c == nil:
			p.Report(routerWithoutChassis(p, south, r))
		case snapshot.Elsewhere(c):
		default:
			unheldRouter(p, l, held, r, c)
		}
	}
}

// likeGateways are routers without a chassis that lie as gateway routers do: on a
// physical network, and on a switch that joins them with routers that have one.
func likeGateways(north *snapshot.Northbound, l *snapshot.Logical) map[ovsdb.UUID]bool {
	joins := map[ovsdb.UUID]bool{} // switches with a gateway router
	for i := range north.Routers {
		if r := &north.Routers[i]; r.Options["chassis"] != "" {
			for _, lrp := range l.RouterPortsOf[r.UUID] {
				if ls := catalog.SwitchAt(l, lrp.Name); ls != nil && len(catalog.Localnets(l, ls)) == 0 {
					joins[ls.UUID] = true
				}
			}
		}
	}
	out := map[ovsdb.UUID]bool{}
	for i := range north.Routers {
		r := &north.Routers[i]
		outside, joined, distributed := false, false, false
		for _, lrp := range l.RouterPortsOf[r.UUID] {
			distributed = distributed || len(lrp.GatewayChassis) > 0 || len(lrp.HAChassisGroup) > 0
			if ls := catalog.SwitchAt(l, lrp.Name); ls != nil {
				joined = joined || joins[ls.UUID]
				outside = outside || len(catalog.Localnets(l, ls)) > 0
			}
		}
		out[r.UUID] = r.ExternalIDs["physical_ips"] != "" || r.ExternalIDs["physical_ip"] != "" || outside && joined && !distributed
	}
	return out
}

func routerWithoutChassis(p *doctor.Pass, south *snapshot.Southbound, r *nb.LogicalRouter) doctor.Finding {
	row := fmt.Sprintf("Northbound Logical_Router %.8s %s", r.UUID, r.Name)
	f := doctor.Finding{
		Object: doctor.Object{Kind: "router", Name: r.Name},
		Effect: "nothing passes through the router: what it leads outside, and what comes from there, is lost",
	}
	name, has := r.Options["chassis"]
	if has {
		f.Title = fmt.Sprintf("router %s is on chassis %s, which does not exist", r.Name, name)
		f.Evidence = []doctor.Evidence{{Source: doctor.Other(row), Says: "options:chassis=" + name}, {Source: doctor.SB("Chassis", ""), Says: "none has that name"}}
		f.Cause = "the chassis has left, or its name was written wrongly: it is the system-id, not the hostname"
		f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: name})
		if h := p.Host(name); h != nil {
			f.Also = append(f.Also, doctor.Object{Kind: "node", Name: h.Name})
		}
	} else {
		f.Title = fmt.Sprintf("gateway router %s is on no chassis", r.Name)
		f.Evidence = []doctor.Evidence{{Source: doctor.Other(row), Says: "options has no chassis"}}
		f.Cause = "options:chassis was never set, or somebody removed it"
	}
	if c := catalog.RouterChassisMeant(south, r); c != nil {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.SB("Chassis", doctor.Short(c.UUID)), Says: fmt.Sprintf("hostname=%s name=%s", c.Hostname, c.Name)})
		f.Also = append(f.Also, doctor.Object{Kind: "node", Name: c.Hostname})
		f.Fix = catalog.RouterChassis.With(r.Name)
	} else {
		f.Next = fixes.Command("choose one of `ovn-sbctl list Chassis`, then: ovnctl fix %s %s CHASSIS", catalog.RouterChassis.Name, r.Name)
	}
	return f
}

// unheldRouter is a router whose chassis is there but has not taken it.
func unheldRouter(p *doctor.Pass, l *snapshot.Logical, held map[string]*sb.PortBindingBrief, r *nb.LogicalRouter, c *sb.Chassis) {
	var seen []doctor.Evidence
	for _, lrp := range l.RouterPortsOf[r.UUID] {
		if b := held[lrp.Name]; b != nil && len(b.Chassis) == 0 {
			seen = append(seen, doctor.Evidence{Source: doctor.SB("Port_Binding", doctor.Short(b.UUID)+" "+lrp.Name), Says: "type=l3gateway chassis=[]"})
		}
	}
	if len(seen) == 0 {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.Object{Kind: "router", Name: r.Name},
		Also:     []doctor.Object{{Kind: "chassis", Name: c.Name}, {Kind: "node", Name: c.Hostname}},
		Title:    fmt.Sprintf("router %s is not held by its chassis %s (%s)", r.Name, c.Name, c.Hostname),
		Evidence: seen,
		Cause:    "ovn-controller there does not run, cannot write, or has not come so far",
		Effect:   "nothing passes through the router",
		Next:     "on " + c.Hostname + ": ovnctl doctor",
	})
}
