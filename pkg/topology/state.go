package topology

import (
	"cmp"
	"fmt"
	"strings"
)

// Reasons why a port is not up.
const (
	ReasonDisabled      = "disabled"       // disabled in the Northbound
	ReasonNoBinding     = "no-binding"     // ovn-northd created no Port_Binding
	ReasonNoPeer        = "no-peer"        // a patch without its other end
	ReasonChassisGone   = "chassis-gone"   // the requested chassis does not exist
	ReasonElsewhere     = "elsewhere"      // its interface is not on the requested or bound chassis
	ReasonNoInterface   = "no-interface"   // no interface has its iface-id
	ReasonInterface     = "interface"      // OVS could not open the interface
	ReasonLink          = "link"           // the interface's link is down
	ReasonNotClaimed    = "not-claimed"    // claimed by no chassis
	ReasonNotInstalled  = "not-installed"  // claimed, but its flows are not installed
	ReasonParent        = "parent"         // the port that carries it is not up
	ReasonNoMapping     = "no-mapping"     // no node maps the physical network to a bridge
	ReasonNeverUp       = "never-up"       // ports of this type are never up
	ReasonOtherZone     = "other-zone"     // in another zone
	ReasonNotReported   = "not-reported"   // state not reported
	ReasonNoGateway     = "no-gateway"     // none of its gateway chassis claims it
	reasonGatewayFailed = "gateway-failed" // not its first gateway chassis claims it
)

// judge sets the port's state and why it is not up.
func (g *Graph) judge(p *Port) {
	state, reason, why := g.state(p)
	p.State, p.Reason, p.Why = state, reason, why
}

func down(reason, format string, args ...any) (string, string, string) {
	return StateDown, reason, fmt.Sprintf(format, args...)
}

func (g *Graph) state(p *Port) (state, reason, why string) {
	if !p.Enabled {
		return down(ReasonDisabled, "disabled in the Northbound (enabled=false)")
	}
	if g.hasSouthbound[p.Zone] && !p.bound {
		return down(ReasonNoBinding, "the Southbound has no Port_Binding for it: is ovn-northd running?")
	}
	switch p.Type {
	case "localnet":
		return g.localnetState(p)
	case "localport":
		return StateNone, ReasonNeverUp, "a localport is on every chassis and is never up"
	case "remote":
		return g.remoteState(p)
	case "router":
		return g.patchState(p)
	case "patch", "l3gateway":
		return g.routerPortState(p)
	case "chassisredirect":
		return g.gatewayState(p)
	case "external":
		return g.externalState(p)
	case "":
		if p.Kind == RouterPort { // the Southbound was not read
			return g.patchState(p)
		}
	}
	return g.vifState(p)
}

func (g *Graph) localnetState(p *Port) (string, string, string) {
	network := p.Options["network_name"]
	if len(p.Interfaces) > 0 || len(g.Nodes) == 0 || !g.hasSouthbound[p.Zone] {
		return StateNone, ReasonNeverUp, "a localnet port is never up"
	}
	for _, c := range g.Chassis {
		for _, m := range c.BridgeMappings {
			if m.Network == network {
				return StateNone, ReasonNeverUp, "a localnet port is never up"
			}
		}
	}
	return down(ReasonNoMapping, "no chassis maps network %s to a bridge (ovn-bridge-mappings)", network)
}

func (g *Graph) remoteState(p *Port) (string, string, string) {
	for _, other := range g.portsByName[p.Name] {
		if other.Zone != p.Zone && other.Type != "remote" {
			return StateRemote, ReasonOtherZone, "lives in zone " + other.Zone
		}
	}
	for _, name := range append([]string{p.Chassis}, p.RequestedChassis...) {
		if c := g.chassis[name]; c != nil {
			return StateRemote, ReasonOtherZone, "lives in another zone, on chassis " + chassisLabel(c)
		}
	}
	return StateRemote, ReasonOtherZone, "lives in another zone"
}

// patchState returns the state of one end of a patch between datapaths.
func (g *Graph) patchState(p *Port) (string, string, string) {
	if p.Peer == nil {
		if p.peerName == "" {
			return down(ReasonNoPeer, "names no peer")
		}
		return down(ReasonNoPeer, "its peer %s does not exist", p.peerName)
	}
	return StateUp, "", ""
}

func (g *Graph) routerPortState(p *Port) (string, string, string) {
	r := g.routers[p.Router.UUID]
	if p.Type == "l3gateway" && p.Chassis == "" && r != nil {
		if g.chassis[r.Chassis] == nil {
			return down(ReasonChassisGone, "gateway router %s is for chassis %s, which does not exist", r.Name, r.Chassis)
		}
		return down(ReasonNotClaimed, "chassis %s has not claimed gateway router %s: is its ovn-controller running?", g.label(r.Chassis), r.Name)
	}
	return g.patchState(p)
}

// gatewayState returns the state of a chassisredirect port.
func (g *Graph) gatewayState(p *Port) (string, string, string) {
	if p.Chassis != "" {
		if gw := p.Gateway; gw != nil && gw.Expected != "" && gw.Expected != p.Chassis {
			return StateUp, reasonGatewayFailed, fmt.Sprintf("held by %s, while %s has the higher priority", g.label(p.Chassis), g.label(gw.Expected))
		}
		return StateUp, "", ""
	}
	if p.Gateway == nil || len(p.Gateway.Chassis) == 0 {
		return down(ReasonNoGateway, "no gateway chassis is configured")
	}
	var names []string
	for _, c := range p.Gateway.Chassis {
		if c.Exists != nil && *c.Exists {
			return down(ReasonNotClaimed, "none of its gateway chassis has claimed it: is ovn-controller running on %s?", g.label(c.Chassis))
		}
		names = append(names, c.Chassis)
	}
	return down(ReasonChassisGone, "none of its gateway chassis exists: %s", strings.Join(names, ", "))
}

func (g *Graph) externalState(p *Port) (string, string, string) {
	if p.Chassis != "" {
		return StateUp, "", ""
	}
	if p.Gateway == nil {
		return down(ReasonNoGateway, "an external port needs an HA chassis group")
	}
	return g.gatewayState(p)
}

// vifState returns the state of a port carried by an interface.
func (g *Graph) vifState(p *Port) (string, string, string) {
	if p.Parent != "" {
		if parent := g.inZone(p.Parent, p.Zone); parent != nil && parent.Chassis == "" && g.hasSouthbound[p.Zone] {
			return down(ReasonParent, "the port that carries it, %s, is not bound", p.Parent)
		}
	}
	if g.hasSouthbound[p.Zone] && p.Chassis == "" {
		return g.unbound(p)
	}
	if state, reason, why := g.interfaceFault(p); state != "" {
		return state, reason, why
	}
	up, reported := p.Up()
	switch {
	case reported && up:
		return StateUp, "", ""
	case reported && p.Chassis != "":
		return down(ReasonNotInstalled, "chassis %s has claimed it but not installed its flows", g.label(p.Chassis))
	case reported:
		return down(ReasonNotClaimed, "the Northbound says up=false: no chassis has claimed it")
	case p.Chassis != "": // before OVN 21.03 only the binding shows it
		return StateUp, "", ""
	}
	return StateUnknown, ReasonNotReported, "the Northbound does not say whether it is up"
}

// unbound returns why no chassis claims a port.
func (g *Graph) unbound(p *Port) (string, string, string) {
	requested := ""
	for _, name := range p.RequestedChassis {
		if g.chassis[name] == nil {
			return down(ReasonChassisGone, "requested chassis %s does not exist", name)
		}
		requested = cmp.Or(requested, name)
	}
	if p.Type == "virtual" {
		return down(ReasonNotClaimed, "no parent has announced its address (virtual-parents: %s)", p.Options["virtual-parents"])
	}
	if len(p.Interfaces) > 0 {
		a := p.Interfaces[0]
		node := g.nodes[a.Node]
		fault := attachmentFault(a)
		switch {
		case fault != "":
			return down(ReasonInterface, "%s", fault)
		case requested != "" && node != nil && node.Chassis != requested:
			return down(ReasonElsewhere, "chassis %s is requested, its interface %s is on %s", g.label(requested), a.Interface, a.Node)
		}
		return down(ReasonNotClaimed, "interface %s on %s has its iface-id, but ovn-controller there has not claimed it", a.Interface, a.Node)
	}
	missing := g.unread()
	switch {
	case len(g.Nodes) == 0:
		return down(ReasonNotClaimed, "no chassis has claimed it")
	case len(missing) > 0:
		return down(ReasonNotClaimed, "no chassis has claimed it, and no node that was read has an interface with its iface-id (not read: %s)", strings.Join(missing, ", "))
	}
	return down(ReasonNoInterface, "no interface on any node has external_ids:iface-id=%s", cmp.Or(p.Parent, p.Name))
}

// interfaceFault returns what is wrong with a bound port's interface, if its node was read.
func (g *Graph) interfaceFault(p *Port) (state, reason, why string) {
	c := g.chassis[p.Chassis]
	if p.Parent != "" || p.Type == "virtual" || p.Type == "vtep" || c == nil || c.Node == "" {
		return "", "", ""
	}
	elsewhere := ""
	for _, a := range p.Interfaces {
		if a.Node != c.Node {
			elsewhere = a.Node
			continue
		}
		if fault := attachmentFault(a); fault != "" {
			return down(ReasonInterface, "%s", fault)
		}
		if a.LinkState == "down" {
			return down(ReasonLink, "the link of interface %s on %s is down", a.Interface, a.Node)
		}
		return "", "", ""
	}
	if elsewhere != "" {
		return down(ReasonElsewhere, "bound to chassis %s, its interface is on %s", chassisLabel(c), elsewhere)
	}
	return down(ReasonNoInterface, "bound to chassis %s, where no interface has external_ids:iface-id=%s", chassisLabel(c), p.Name)
}

func attachmentFault(a *Attachment) string {
	switch {
	case a.Error != "":
		return fmt.Sprintf("interface %s on %s: %s", a.Interface, a.Node, a.Error)
	case a.OFPort < 0:
		return fmt.Sprintf("interface %s on %s could not be opened (ofport -1)", a.Interface, a.Node)
	}
	return ""
}

// unread returns the chassis of the loaded zones whose nodes were not read.
func (g *Graph) unread() []string {
	var out []string
	for _, c := range g.Chassis {
		if c.Node == "" && !c.Remote {
			out = append(out, chassisLabel(c))
		}
	}
	return out
}

// label returns the display name of a chassis.
func (g *Graph) label(chassis string) string {
	if c := g.chassis[chassis]; c != nil {
		return chassisLabel(c)
	}
	return chassis
}

// inZone returns the port with that name in a zone.
func (g *Graph) inZone(name, zone string) *Port {
	for _, p := range g.portsByName[name] {
		if p.Zone == zone {
			return p
		}
	}
	return nil
}
