package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
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
	for r := range doctor.Each(l.Routers) {
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

// likeGateways returns the routers connected like gateway routers: to a physical network, and to a switch shared with
// gateway routers.
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
	for r := range doctor.Each(l.Routers) {
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
		Object:   doctor.RouterObject(r),
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
		f.Also = append(f.Also, doctor.ChassisObject(name))
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

// unclaimedRouter reports a router whose chassis exists but has not claimed it.
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
		Object:   doctor.RouterObject(r),
		Reason:   "not-claimed",
		Also:     []doctor.Object{{Kind: "chassis", Name: c.Name}, doctor.NodeObject(c.Hostname)},
		Title:    fmt.Sprintf("router %s is not claimed by its chassis %s", r.Name, doctor.ChassisLabel(c)),
		Evidence: evidence,
		Cause:    "ovn-controller there does not run, cannot write to the Southbound, or has not caught up",
		Effect:   "the router forwards nothing",
		Next:     "on " + c.Hostname + ": ovnctl doctor",
	})
}

var DGPChassisNotBound = &doctor.Check{
	Name:     "dgp-chassis-not-bound",
	Category: "gateway",
	Doc: `A distributed gateway port has no chassis that can host it

One of the port's gateway chassis must exist, run, and be on the physical network behind
the port. OVN accepts names that no chassis has, and reports nothing.`,
	Causes: []string{
		"controller-not-running", "controller-not-caught-up", "missing-external-ids", "system-id-cloned", "duplicate-chassis-stale",
		"northd-not-active", "sb-rbac-denied", "tls-cert-expired-or-wrong-ca", "db-not-listening-tcp", "vswitchd-not-running",
		"localnet-no-bridge-mapping", "bfd-down-or-flapping",
	},
	Settle: true, // a new or moving port is claimed within a moment
	Run: func(p *doctor.Pass) {
		for z := range p.EachZone() {
			north, ok := doctor.Need(p, doctor.NorthboundObject, z.Northbound)
			if !ok {
				continue
			}
			if south, ok := doctor.Need(p, doctor.SouthboundObject, z.Southbound); ok {
				gatewayPorts(p, north, south)
			}
		}
	},
}

// A gatewayPort is a distributed gateway port with its binding.
type gatewayPort struct {
	facts.GatewayPort
	binding *sb.PortBindingBrief // nil if ovn-northd has not created it
	south   *snapshot.Southbound
}

func gatewayPorts(p *doctor.Pass, north *snapshot.Northbound, south *snapshot.Southbound) {
	bindings := doctor.PortBindings(south)
	offered := offeredGateways(south)
	for _, g := range facts.GatewayPorts(north, south) {
		if facts.Off(g.Port.Enabled) || facts.Off(g.Router.Enabled) {
			continue
		}
		port := &gatewayPort{g, bindings["cr-"+g.Port.Name], south}
		if f, ok := port.notHosted(); ok {
			p.Report(f)
			continue
		}
		port.withoutBridge(p)
		if g.Neutron && len(offered) > 0 {
			port.notOffered(p, offered)
		}
	}
	setByHand(p, north)
}

// offeredGateways returns the chassis that offer themselves to Neutron as gateways: none if OVN has the option only in
// other_config. Neutron up to 21 reads external_ids, then finds no candidate and schedules on all chassis.
func offeredGateways(south *snapshot.Southbound) map[string]bool {
	offered, seen := map[string]bool{}, false
	asGateway := func(ids map[string]string) bool {
		return slices.Contains(strings.Split(ids["ovn-cms-options"], ","), "enable-chassis-as-gw")
	}
	for _, c := range south.Chassis {
		offered[c.Name] = asGateway(c.OtherConfig) || asGateway(c.ExternalIDs)
		seen = seen || asGateway(c.ExternalIDs)
	}
	if !seen {
		return nil
	}
	return offered
}

func candidateEvidence(c facts.GatewayCandidate) doctor.Evidence {
	return doctor.NBRow(c.Row.Table(), c.UUID, "%s", c.Text())
}

func chassisEvidence(c *sb.Chassis, format string, args ...any) doctor.Evidence {
	return doctor.Evidence{Source: doctor.SB("Chassis", doctor.Short(c.UUID)), Says: c.Hostname + ": " + fmt.Sprintf(format, args...)}
}

// finding starts a finding about the port.
func (g *gatewayPort) finding(reason string) doctor.Finding {
	return doctor.Finding{
		Object: doctor.PortObject(g.Port.Name),
		Reason: reason,
		Also:   []doctor.Object{doctor.RouterObject(g.Router)},
	}
}

// notHosted returns the finding of a port whose gateway chassis do not exist, or have not claimed it.
func (g *gatewayPort) notHosted() (doctor.Finding, bool) {
	f := g.finding("not-claimed")
	f.Effect = "router " + g.Router.Name + " loses all packets to and from the network behind this port"
	var missing, existing []string
	for _, c := range g.Candidates {
		if c.Chassis != nil {
			existing = append(existing, c.Chassis.Hostname)
			f.Also = append(f.Also, doctor.NodeObject(c.Chassis.Hostname))
			continue
		}
		missing = append(missing, c.Name)
		e := candidateEvidence(c)
		e.Says += ": no such chassis"
		f.Evidence = append(f.Evidence, e)
		f.Also = append(f.Also, doctor.ChassisObject(c.Name))
	}
	unbound := g.binding != nil && len(g.binding.Chassis) == 0
	if unbound {
		f.Evidence = append(f.Evidence, doctor.SBRow("Port_Binding", g.binding.UUID, "%s: chassis=[]", g.binding.LogicalPort))
	}
	switch {
	case len(missing) > 0:
		f.Reason = "no-such-chassis"
		f.Title = fmt.Sprintf("port %s has gateway chassis %s, which does not exist", g.Port.Name, strings.Join(missing, ", "))
		f.Cause = "the chassis was removed, or its name is wrong: it must be the system-id, not the hostname"
		if len(existing) > 0 && !unbound {
			f.Result = doctor.Warning
			f.Effect = "fewer chassis can take over the port than are configured"
		}
		g.propose(&f)
	case unbound:
		f.Title = fmt.Sprintf("port %s is on no chassis; its gateway chassis are %s", g.Port.Name, strings.Join(existing, ", "))
		f.Cause = "ovn-controller there does not run, cannot write to the Southbound, or sees no BFD session up"
		f.Next = "on " + existing[0] + ": ovnctl doctor"
	default:
		return f, false
	}
	return f, true
}

// propose adds what to do about a missing chassis.
func (g *gatewayPort) propose(f *doctor.Finding) {
	switch c := g.Proposal(g.south); {
	case g.Neutron:
		f.Next = "Neutron schedules this port, and does not know rows that others write: openstack network agent list --agent-type ovn-controller-gateway; to reschedule the router, set its external gateway again"
	case c != nil:
		f.Evidence = append(f.Evidence, chassisEvidence(c, "name=%s", c.Name))
		f.Fix = catalog.GatewayChassisOf.With(g.Port.Name)
	default:
		f.Next = fixes.Command("choose one of `ovn-sbctl list Chassis`, then: ovnctl fix %s %s CHASSIS", catalog.GatewayChassisOf.Name, g.Port.Name)
	}
}

// add adds a gateway chassis to a finding of the port.
func (g *gatewayPort) add(f *doctor.Finding, c facts.GatewayCandidate, e doctor.Evidence) {
	f.Also = append(f.Also, doctor.NodeObject(c.Chassis.Hostname), doctor.ChassisObject(c.Name))
	f.Evidence = append(f.Evidence, candidateEvidence(c), e)
}

// withoutBridge reports gateway chassis without a bridge for a physical network behind the port.
func (g *gatewayPort) withoutBridge(p *doctor.Pass) {
	f := g.finding("no-bridge")
	f.Result = doctor.Warning
	f.Cause = "the chassis was chosen, or changed, without that bridge"
	f.Effect = "when the port moves there, its external traffic is lost"
	var hosts, networks []string
	for _, c := range g.Candidates {
		lacks := slices.DeleteFunc(slices.Clone(g.Networks), func(network string) bool { return facts.Maps(c.Chassis, network) })
		if snapshot.Elsewhere(c.Chassis) || len(lacks) == 0 {
			continue
		}
		hosts, networks = append(hosts, c.Chassis.Hostname), lacks
		g.add(&f, c, chassisEvidence(c.Chassis, "ovn-bridge-mappings=%s", c.Chassis.OtherConfig["ovn-bridge-mappings"]))
		if g.binding != nil && g.binding.Chassis.Has(c.Chassis.UUID) {
			f.Result = doctor.Error
			f.Effect = "the port is on " + c.Chassis.Hostname + ": its external traffic is lost"
		}
	}
	if len(hosts) == 0 {
		return
	}
	f.Title = fmt.Sprintf("gateway chassis %s of port %s: no bridge for network %s", strings.Join(hosts, ", "), g.Port.Name, networks[0])
	f.Next = fmt.Sprintf("on %s: ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge-mappings=%s:BRIDGE (beside those that are there), or remove it from the port's gateway chassis", strings.Join(hosts, ", "), fixes.Word(networks[0]))
	p.Report(f)
}

// notOffered reports gateway chassis that do not offer themselves to Neutron as gateways.
func (g *gatewayPort) notOffered(p *doctor.Pass, offered map[string]bool) {
	f := g.finding("not-offered")
	f.Result = doctor.Warning
	f.Cause = "the chassis was chosen, or changed, without the option"
	f.Effect = "Neutron moves the port away from it when it reschedules"
	var hosts []string
	for _, c := range g.Candidates {
		if !snapshot.Elsewhere(c.Chassis) && !offered[c.Name] {
			hosts = append(hosts, c.Chassis.Hostname)
			g.add(&f, c, chassisEvidence(c.Chassis, "ovn-cms-options lacks enable-chassis-as-gw"))
		}
	}
	if len(hosts) == 0 {
		return
	}
	f.Title = fmt.Sprintf("gateway chassis %s of port %s: not offered to Neutron as a gateway", strings.Join(hosts, ", "), g.Port.Name)
	f.Next = "on " + strings.Join(hosts, ", ") + ": ovs-vsctl set Open_vSwitch . external_ids:ovn-cms-options=enable-chassis-as-gw, if it should be one"
	p.Report(f)
}

// setByHand reports gateway chassis of Neutron's ports that Neutron did not write.
func setByHand(p *doctor.Pass, north *snapshot.Northbound) {
	if !slices.ContainsFunc(north.Routers, func(r nb.LogicalRouter) bool { return decode.NeutronOwns(r.Name, r.ExternalIDs) }) {
		return
	}
	rows := map[ovsdb.UUID]nb.GatewayChassis{}
	for _, g := range north.GatewayChassis {
		rows[g.UUID] = g
	}
	for _, port := range north.RouterPorts {
		if strings.HasPrefix(port.Name, "lrp-") {
			reportByHand(p, port, rows)
		}
	}
}

func reportByHand(p *doctor.Pass, port nb.LogicalRouterPort, rows map[ovsdb.UUID]nb.GatewayChassis) {
	f := doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.PortObject(port.Name),
		Reason: "set-by-hand",
		Cause:  "ovn-nbctl lrp-set-gateway-chassis was used on a port that Neutron schedules",
		Effect: "Neutron does not know the row: it neither removes nor moves it",
	}
	var names, remove []string
	for _, id := range port.GatewayChassis {
		g := rows[id]
		if g.Name != port.Name+"-"+g.ChassisName {
			continue // Neutron writes an underscore
		}
		names = append(names, g.ChassisName)
		remove = append(remove, fixes.Command("ovn-nbctl lrp-del-gateway-chassis %s %s", port.Name, g.ChassisName))
		f.Also = append(f.Also, doctor.ChassisObject(g.ChassisName))
		f.Evidence = append(f.Evidence, doctor.NBRow("Gateway_Chassis", id, "name=%s (Neutron writes %s_%s)", g.Name, port.Name, g.ChassisName))
	}
	if len(names) == 0 {
		return
	}
	f.Title = fmt.Sprintf("gateway chassis %s of port %s was set by hand", strings.Join(names, ", "), port.Name)
	f.Next = strings.Join(remove, "; ") + ", once Neutron has scheduled the port"
	p.Report(f)
}
