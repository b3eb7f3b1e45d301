package gateway

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// GatewayRouterWithoutChassis looks for gateway routers that are on no chassis.
var GatewayRouterWithoutChassis = &doctor.Check{
	Name:     "gateway-router-without-chassis",
	Category: "gateway",
	Doc: `A gateway router is on no chassis

Logical_Router.options:chassis makes a router a gateway router, and names a chassis by
its system-id. Where no chassis has that name, nothing is logged.`,
	Causes: []string{
		"controller-not-running", "controller-not-caught-up", "missing-external-ids", "system-id-cloned", "duplicate-chassis-stale",
		"northd-not-active", "sb-rbac-denied", "tls-cert-expired-or-wrong-ca", "db-not-listening-tcp", "vswitchd-not-running",
	},
	Settle: true, // a new router is claimed within a moment
	Run: func(p *doctor.Pass) {
		for z, l := range p.Northbounds() {
			if south, ok := doctor.Need(p, doctor.SouthboundObject, z.Southbound); ok {
				gatewayRouters(p, l, south)
			}
		}
	},
}

func gatewayRouters(p *doctor.Pass, l *facts.Logical, south *snapshot.Southbound) {
	bindings := doctor.PortBindings(south)
	like := likeGateways(l)
	for i := range l.Routers {
		r := &l.Routers[i]
		name, has := r.Options["chassis"]
		switch c := south.ChassisNamed(name); {
		case !has && !like[r.UUID]:
		case c == nil:
			p.Report(routerWithoutChassis(p, south, r))
		case snapshot.Elsewhere(c):
		default:
			unclaimedRouter(p, l, bindings, r, c)
		}
	}
}

// likeGateways are the routers that are connected as gateway routers are: to a physical network, and to a switch that
// joins them with gateway routers.
func likeGateways(l *facts.Logical) map[ovsdb.UUID]bool {
	joins := map[ovsdb.UUID]bool{} // switches with a gateway router
	for i := range l.Routers {
		if l.Routers[i].Options["chassis"] == "" {
			continue
		}
		for _, rp := range l.RouterPortsOf[l.Routers[i].UUID] {
			if ls := l.SwitchAt(rp.Name); ls != nil && len(l.Localnets(ls)) == 0 {
				joins[ls.UUID] = true
			}
		}
	}
	out := map[ovsdb.UUID]bool{}
	for i := range l.Routers {
		r := &l.Routers[i]
		outside, joined, distributed := false, false, false
		for _, rp := range l.RouterPortsOf[r.UUID] {
			distributed = distributed || len(rp.GatewayChassis) > 0 || len(rp.HAChassisGroup) > 0
			if ls := l.SwitchAt(rp.Name); ls != nil {
				joined = joined || joins[ls.UUID]
				outside = outside || len(l.Localnets(ls)) > 0
			}
		}
		out[r.UUID] = r.ExternalIDs["physical_ips"] != "" || r.ExternalIDs["physical_ip"] != "" || outside && joined && !distributed
	}
	return out
}

func routerWithoutChassis(p *doctor.Pass, south *snapshot.Southbound, r *nb.LogicalRouter) doctor.Finding {
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "router", Name: r.Name},
		Reason:   "no-chassis",
		Title:    fmt.Sprintf("gateway router %s has no chassis", r.Name),
		Evidence: []doctor.Evidence{{Source: doctor.NB("Logical_Router", r.Name), Says: "options has no chassis"}},
		Cause:    "options:chassis was never set, or was removed",
		Effect:   "the router forwards nothing: all traffic through it to and from outside is lost",
	}
	if name, has := r.Options["chassis"]; has {
		f.Reason = "no-such-chassis"
		f.Title = fmt.Sprintf("router %s is on chassis %s, which does not exist", r.Name, name)
		f.Evidence = []doctor.Evidence{{Source: doctor.NB("Logical_Router", r.Name), Says: "options:chassis=" + name}, {Source: doctor.SB("Chassis", ""), Says: "none has that name"}}
		f.Cause = "the chassis was removed, or its name is wrong: it must be the system-id, not the hostname"
		f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: name})
		if h := p.Host(name); h != nil {
			f.Also = append(f.Also, doctor.NodeObject(h.Name))
		}
	}
	if c := facts.RouterChassisMeant(south, r); c != nil {
		f.Evidence = append(f.Evidence, chassisEvidence(c, "name=%s", c.Name))
		f.Also = append(f.Also, doctor.NodeObject(c.Hostname))
		f.Fix = catalog.RouterChassis.With(r.Name)
	} else {
		f.Next = fixes.Command("choose one of `ovn-sbctl list Chassis`, then: ovnctl fix %s %s CHASSIS", catalog.RouterChassis.Name, r.Name)
	}
	return f
}

// unclaimedRouter reports a router whose chassis exists and has not claimed it.
func unclaimedRouter(p *doctor.Pass, l *facts.Logical, bindings map[string]*sb.PortBindingBrief, r *nb.LogicalRouter, c *sb.Chassis) {
	var evidence []doctor.Evidence
	for _, rp := range l.RouterPortsOf[r.UUID] {
		if b := bindings[rp.Name]; b != nil && b.Type == "l3gateway" && len(b.Chassis) == 0 {
			evidence = append(evidence, doctor.SBRow("Port_Binding", b.UUID, "%s: type=l3gateway chassis=[]", rp.Name))
		}
	}
	if len(evidence) == 0 {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.Object{Kind: "router", Name: r.Name},
		Reason:   "not-claimed",
		Also:     []doctor.Object{{Kind: "chassis", Name: c.Name}, doctor.NodeObject(c.Hostname)},
		Title:    fmt.Sprintf("router %s is not claimed by its chassis %s", r.Name, doctor.ChassisLabel(c)),
		Evidence: evidence,
		Cause:    "ovn-controller there does not run, cannot write to the Southbound, or has not caught up",
		Effect:   "the router forwards nothing",
		Next:     "on " + c.Hostname + ": ovnctl doctor",
	})
}
