package northbound

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

var DanglingRouterLink = &doctor.Check{
	Name:     "dangling-router-link",
	Category: "nb",
	Doc: `A link between a switch and a router, or to the physical network, is broken

Two rows connect a switch to a router: the router port, and a switch port of type router that
names it and has its address. If a half is missing, no log mentions it.`,
	Settle: true,
	Run: func(p *doctor.Pass) {
		for _, l := range p.Northbounds() {
			claimed := switchLinks(p, l)
			loneRouterPorts(p, l, claimed)
			withoutLocalnet(p, l)
			routerPeers(p, l)
			overlaps(p, l)
		}
	},
}

// switchLinks reports faults on the switches' side. It returns the unconnected router ports that these findings
// explain.
func switchLinks(p *doctor.Pass, l *facts.Logical) map[string]bool {
	unlinked := l.Unlinked()
	claimed := map[string]bool{}
	for port := range doctor.Each(l.SwitchPorts) {
		fault := l.CheckLink(port)
		if fault == facts.LinkFine {
			localnet(p, l, port)
			switchPeer(p, l, port)
			continue
		}
		name := port.Options["router-port"]
		if fault == facts.LinkType && len(l.Links[name]) > 0 {
			continue // another port leads there
		}
		f := doctor.Finding{
			Object: doctor.PortObject(port.Name),
			Reason: "switch-port",
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", port.UUID, "type=%s, options:router-port=%s, addresses=%v",
				cmp.Or(port.Type, `""`), cmp.Or(name, `""`), []string(port.Addresses))},
			Cause:  "port " + port.Name + " cannot lead to a router: " + string(fault),
			Effect: "ports of this switch do not reach their gateway",
		}
		where := ""
		s := l.SwitchOf[port.UUID]
		if s != nil {
			where = " of switch " + doctor.SwitchLabel(s)
			f.Also = append(f.Also, doctor.SwitchObject(s))
			f.Effect = "ports of switch " + doctor.SwitchLabel(s) + " do not reach their gateway"
		}
		rp := l.RouterPort[name]
		if rp == nil && s != nil {
			if fits := l.Fits(s, unlinked); len(fits) == 1 {
				rp = fits[0]
			}
			f.Evidence = append(f.Evidence, unlinkedEvidence(unlinked)...)
		}
		if rp != nil {
			claimed[rp.Name] = true
			f.Also = append(f.Also, doctor.PortObject(rp.Name))
			f.Concern(doctor.RouterObject(l.RouterOf[rp.UUID]))
			f.Fix = catalog.LinkRouterPort.With(port.Name, rp.Name)
		} else {
			f.Next = fixes.Command("name the right router port: ovnctl fix link-router-port %s ROUTER-PORT", port.Name)
		}
		if r := neutronRouter(l, port); r != nil && rp == nil {
			f.Also = append(f.Also, doctor.RouterObject(r))
			f.Cause += "; an interface of router " + doctor.RouterLabel(r) + " was deleted"
			f.Next = doctor.Rewrite(decode.Neutron)
		}
		switch fault {
		case facts.LinkType:
			f.Title = fmt.Sprintf("port %s%s names router port %s, but its type is %s, not router", doctor.PortLabel(port), where, name, cmp.Or(port.Type, `""`))
		case facts.LinkNoName:
			f.Title = fmt.Sprintf("port %s%s is of type router and names no router port", doctor.PortLabel(port), where)
		case facts.LinkNoPort:
			f.Title = fmt.Sprintf("port %s%s leads to router port %s, which does not exist", doctor.PortLabel(port), where, name)
		case facts.LinkAddress:
			f.Title = fmt.Sprintf("port %s%s does not have the MAC address of router port %s, %s", doctor.PortLabel(port), where, name, rp.MAC)
			f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Router_Port", rp.UUID, "mac=%s, networks=%v", rp.MAC, []string(rp.Networks)))
			f.Effect += ": the switch does not know its address"
		}
		p.Report(f)
	}
	for rp := range doctor.Each(l.RouterPorts) {
		if len(l.Links[rp.Name]) > 1 {
			twoLinks(p, l, rp, l.Links[rp.Name])
		}
	}
	return claimed
}

// neutronRouter returns the router of which a switch port is an interface, as Neutron wrote it; nil if unknown.
func neutronRouter(l *facts.Logical, port *nb.LogicalSwitchPortBrief) *nb.LogicalRouter {
	at := slices.IndexFunc(l.Routers, func(r nb.LogicalRouter) bool {
		return r.Name == "neutron-"+port.ExternalIDs["neutron:device_id"]
	})
	if at < 0 {
		return nil
	}
	return &l.Routers[at]
}

func unlinkedEvidence(unlinked []*nb.LogicalRouterPort) []doctor.Evidence {
	var out []doctor.Evidence
	for _, rp := range unlinked[:min(len(unlinked), 5)] {
		out = append(out, doctor.NBRow("Logical_Router_Port", rp.UUID, "%s is not connected, networks=%v", rp.Name, []string(rp.Networks)))
	}
	return out
}

// twoLinks reports a router port to which several switch ports lead.
func twoLinks(p *doctor.Pass, l *facts.Logical, rp *nb.LogicalRouterPort, ports []*nb.LogicalSwitchPortBrief) {
	f := doctor.Finding{
		Object: doctor.PortObject(rp.Name),
		Reason: "two-switch-ports",
		Cause:  "a router port can be on one switch only",
		Effect: "one of the switches has no gateway; which one is undefined",
	}
	var names []string
	for _, port := range ports {
		where := port.Name
		if s := l.SwitchOf[port.UUID]; s != nil {
			where += " of switch " + doctor.SwitchLabel(s)
			f.Also = append(f.Also, doctor.SwitchObject(s))
		}
		names = append(names, where)
		f.Also = append(f.Also, doctor.PortObject(port.Name))
		f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Switch_Port", port.UUID, "%s, options:router-port=%s", where, rp.Name))
	}
	slices.Sort(names)
	f.Title = fmt.Sprintf("%d switch ports lead to router port %s: %s", len(ports), rp.Name, strings.Join(names, ", "))
	f.Next = fixes.Command("delete the wrong one: ovn-nbctl lsp-del %s, or give it a router port of its own: ovn-nbctl set Logical_Switch_Port %[1]s options:router-port=…", ports[len(ports)-1].Name)
	p.Report(f)
}

// localnet reports a port that should lead to a physical network but does not.
func localnet(p *doctor.Pass, l *facts.Logical, port *nb.LogicalSwitchPortBrief) {
	network := port.Options["network_name"]
	f := doctor.Finding{
		Object:   doctor.PortObject(port.Name),
		Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", port.UUID, "type=%s, options:network_name=%s", cmp.Or(port.Type, `""`), cmp.Or(network, `""`))},
		Reason:   "localnet",
		Effect:   "ports of this switch do not reach the physical network",
	}
	if s := l.SwitchOf[port.UUID]; s != nil {
		f.Also = append(f.Also, doctor.SwitchObject(s))
		f.Effect = "ports of switch " + doctor.SwitchLabel(s) + " do not reach the physical network"
	}
	switch {
	case port.Type == "localnet" && network == "":
		f.Title = fmt.Sprintf("port %s of type localnet names no physical network", doctor.PortLabel(port))
		f.Cause = "options:network_name is missing"
		f.Next = fixes.Command("ovn-nbctl lsp-set-options %s network_name=NAME, a network of ovn-bridge-mappings", port.Name)
	case port.Type == "" && network != "" && port.Addresses.Has("unknown") && !alreadyLocalnet(l, port, network):
		f.Title = fmt.Sprintf("port %s names physical network %s, but its type is not localnet", doctor.PortLabel(port), network)
		f.Cause = "without the type OVN waits for an interface to be bound to the port"
		f.Fix = catalog.MakeLocalnetPort.With(port.Name)
	default:
		return
	}
	p.Report(f)
}

// withoutLocalnet reports switches that a distributed gateway port with NAT leads to, and that lead nowhere: their port to
// the physical network is gone.
func withoutLocalnet(p *doctor.Pass, l *facts.Logical) {
	nat := doctor.Index(l.NAT, func(r *nb.NAT) ovsdb.UUID { return r.UUID })
	for rp := range doctor.Each(l.RouterPorts) {
		r := l.RouterOf[rp.UUID]
		if r == nil || !doctor.IsGatewayPort(rp) || !translates(nat, r, rp) {
			continue
		}
		for _, link := range l.Links[rp.Name] {
			s := l.SwitchOf[link.UUID]
			if s == nil || !outside(l, s, r) {
				continue
			}
			p.Report(doctor.Finding{
				Object: doctor.SwitchObject(s),
				Reason: "no-localnet",
				Also:   []doctor.Object{doctor.PortObject(rp.Name), doctor.RouterObject(r), doctor.PortObject(link.Name)},
				Title:  fmt.Sprintf("switch %s, through which router %s reaches the outside, has no port to the physical network", doctor.SwitchLabel(s), doctor.RouterLabel(r)),
				Evidence: []doctor.Evidence{
					doctor.NBRow("Logical_Switch", s.UUID, "%s: %d ports, none of type localnet", s.Name, len(l.PortsOf[s.UUID])),
					doctor.NBRow("Logical_Router_Port", rp.UUID, "%s: gateway port, networks=%v, %d NAT", rp.Name, []string(rp.Networks), len(r.NAT)),
				},
				Cause:  "the port of type localnet was deleted, or the CMS has not written it",
				Effect: fmt.Sprintf("nothing passes between router %s and the physical network", doctor.RouterLabel(r)),
				Next:   cmp.Or(doctor.Rewrite(decode.CMSOf(link.ExternalIDs)), fixes.Command("ovn-nbctl lsp-add-localnet-port %s PORT NETWORK, a network of ovn-bridge-mappings", s.Name)),
			})
		}
	}
}

// translates reports whether a router has NAT to an address in a port's networks.
func translates(nat map[ovsdb.UUID]*nb.NAT, r *nb.LogicalRouter, rp *nb.LogicalRouterPort) bool {
	networks := facts.Networks(rp)
	return slices.ContainsFunc(r.NAT, func(id ovsdb.UUID) bool {
		if nat[id] == nil {
			return false
		}
		a, err := netip.ParseAddr(nat[id].ExternalIP)
		return err == nil && slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
	})
}

// outside reports whether a switch was made to lead to a physical network and does not: its CMS has it as a router's
// external network, or it has ports to routers alone.
func outside(l *facts.Logical, s *nb.LogicalSwitch, r *nb.LogicalRouter) bool {
	external := r.ExternalIDs["neutron:gw_network_id"]
	named := external != "" && s.Name == "neutron-"+external
	for _, port := range l.PortsOf[s.UUID] {
		switch port.Type {
		case "router", "localport":
		case "":
			if !named {
				return false
			}
		default: // it leads on: localnet, remote, l2gateway, vtep
			return false
		}
	}
	return true
}

// alreadyLocalnet reports whether the switch of a port has a localnet port for a network.
func alreadyLocalnet(l *facts.Logical, port *nb.LogicalSwitchPortBrief, network string) bool {
	s := l.SwitchOf[port.UUID]
	return s != nil && slices.ContainsFunc(l.PortsOf[s.UUID], func(o *nb.LogicalSwitchPortBrief) bool {
		return o.Type == "localnet" && o.Options["network_name"] == network
	})
}

// switchPeer reports a port that should connect two switches directly but does not.
func switchPeer(p *doctor.Pass, l *facts.Logical, port *nb.LogicalSwitchPortBrief) {
	if port.Type != "switch" {
		return
	}
	name := port.Peer.Get()
	peer := l.SwitchPort[name]
	f := doctor.Finding{
		Object:   doctor.PortObject(port.Name),
		Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", port.UUID, "type=switch, peer=%s", cmp.Or(name, `""`))},
		Reason:   "switch-peer",
		Effect:   "the two switches are not connected",
	}
	switch {
	case peer == nil:
		f.Title = fmt.Sprintf("port %s of type switch names the peer %s, which does not exist", doctor.PortLabel(port), cmp.Or(name, `""`))
		f.Next = fixes.Command("ovn-nbctl set Logical_Switch_Port %s peer=PORT", port.Name)
	case peer.Type != "switch" || peer.Peer.Get() != port.Name:
		f.Title = fmt.Sprintf("port %s names the peer %s, which does not name it", doctor.PortLabel(port), peer.Name)
		f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Switch_Port", peer.UUID, "type=%s, peer=%s", cmp.Or(peer.Type, `""`), cmp.Or(peer.Peer.Get(), `""`)))
		f.Also = append(f.Also, doctor.PortObject(peer.Name))
		f.Next = fixes.Command("ovn-nbctl set Logical_Switch_Port %s type=switch peer=%s", peer.Name, port.Name)
	default:
		return
	}
	f.Cause = "a link between two switches needs both of its ports"
	p.Report(f)
}

// loneRouterPorts reports unconnected router ports that no other finding explains.
func loneRouterPorts(p *doctor.Pass, l *facts.Logical, claimed map[string]bool) {
	var lone []*nb.LogicalRouterPort
	for _, rp := range l.Unlinked() {
		if !claimed[rp.Name] {
			lone = append(lone, rp)
		}
	}
	if len(lone) == 0 {
		return
	}
	needs := withoutGateway(l, lone)
	for _, rp := range lone {
		f := doctor.Finding{
			Object:   doctor.PortObject(rp.Name),
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Router_Port", rp.UUID, "networks=%v, peer=[]; no switch port has options:router-port=%s", []string(rp.Networks), rp.Name)},
			Reason:   "not-connected",
			Cause:    "no switch port names it, and it has no peer",
		}
		r := l.RouterOf[rp.UUID]
		if r == nil {
			continue // on no router: the server deletes it
		}
		f.Also = append(f.Also, doctor.RouterObject(r))
		f.Title = fmt.Sprintf("router port %s of router %s is not connected", rp.Name, doctor.RouterLabel(r))
		if s := needs[rp]; s != nil {
			name := s.Name + "-" + r.Name
			f.Also = append(f.Also, doctor.SwitchObject(s))
			f.Title += fmt.Sprintf(", and switch %s has ports in its network", doctor.SwitchLabel(s))
			f.Effect = "ports of switch " + doctor.SwitchLabel(s) + " do not reach their gateway"
			f.Next = fixes.Command("ovn-nbctl lsp-add %s %s -- lsp-set-type %[2]s router -- lsp-set-addresses %[2]s router -- lsp-set-options %[2]s router-port=%s (a CMS uses port names of its own)", s.Name, name, rp.Name)
		} else {
			f.Result = doctor.Warning
			f.Effect = "its networks are not reachable through any switch"
			f.Next = "connect it to a switch, or delete it: ovn-nbctl lrp-del " + rp.Name
		}
		p.Report(f)
	}
}

// withoutGateway returns the switches without a gateway whose ports have addresses in a router port's network.
func withoutGateway(l *facts.Logical, lone []*nb.LogicalRouterPort) map[*nb.LogicalRouterPort]*nb.LogicalSwitch {
	out := map[*nb.LogicalRouterPort]*nb.LogicalSwitch{}
	for s := range doctor.Each(l.Switches) {
		for _, rp := range l.Fits(s, lone) {
			if !gatewayIn(l, s, rp) && out[rp] == nil {
				out[rp] = s
			}
		}
	}
	return out
}

// gatewayIn reports whether a switch is already connected to a router port's router.
func gatewayIn(l *facts.Logical, s *nb.LogicalSwitch, rp *nb.LogicalRouterPort) bool {
	return slices.ContainsFunc(l.Gateways(s), func(g *nb.LogicalRouterPort) bool { return l.RouterOf[g.UUID] == l.RouterOf[rp.UUID] })
}

// routerPeers reports router ports connected to another from one side only.
func routerPeers(p *doctor.Pass, l *facts.Logical) {
	for rp := range doctor.Each(l.RouterPorts) {
		name := rp.Peer.Get()
		if name == "" {
			continue
		}
		peer := l.RouterPort[name]
		f := doctor.Finding{
			Object:   doctor.PortObject(rp.Name),
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Router_Port", rp.UUID, "peer=%s", name)},
			Reason:   "router-peer",
			Cause:    "a link between two routers needs both of its ports",
			Effect:   "nothing passes between the two routers",
		}
		f.Concern(doctor.RouterObject(l.RouterOf[rp.UUID]))
		switch {
		case peer == nil && l.SwitchPort[name] != nil:
			f.Title = fmt.Sprintf("the peer of router port %s is %s, a port of a switch", rp.Name, name)
			f.Cause = "peer is for links between two routers; a switch port names its router port, not vice versa"
			f.Next = fixes.Command("ovn-nbctl clear Logical_Router_Port %s peer -- lsp-set-type %s router -- lsp-set-addresses %[2]s router -- lsp-set-options %[2]s router-port=%[1]s", rp.Name, name)
		case peer == nil:
			f.Title = fmt.Sprintf("the peer of router port %s is %s, which does not exist", rp.Name, name)
			f.Next = fixes.Command("ovn-nbctl set Logical_Router_Port %s peer=ROUTER-PORT", rp.Name)
		case peer.Peer.Get() != rp.Name:
			f.Title = fmt.Sprintf("the peer of router port %s is %s, which does not name it", rp.Name, name)
			f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Router_Port", peer.UUID, "peer=%s", cmp.Or(peer.Peer.Get(), `""`)))
			f.Also = append(f.Also, doctor.PortObject(peer.Name))
			if len(peer.Peer) == 0 && len(l.Links[peer.Name]) == 0 {
				f.Fix = catalog.LinkRouters.With(rp.Name)
			} else {
				f.Next = fixes.Command("ovn-nbctl set Logical_Router_Port %s peer=…, the right port", rp.Name)
			}
		case len(l.Links[rp.Name]) > 0:
			f.Title = fmt.Sprintf("router port %s has the peer %s and a switch port, %s", rp.Name, name, l.Links[rp.Name][0].Name)
			f.Cause = "a router port leads to a router or to a switch, not to both"
			f.Next = "remove one of the two"
		default:
			continue
		}
		p.Report(f)
	}
}

// overlaps reports two ports of a router in the same network.
func overlaps(p *doctor.Pass, l *facts.Logical) {
	type key struct {
		router  *nb.LogicalRouter
		network netip.Prefix
	}
	first := map[key]*nb.LogicalRouterPort{}
	for rp := range doctor.Each(l.RouterPorts) {
		r := l.RouterOf[rp.UUID]
		for _, n := range facts.Networks(rp) {
			if r == nil || n.Addr().IsLinkLocalUnicast() || n.IsSingleIP() {
				continue
			}
			k := key{r, n.Masked()}
			if other := first[k]; other == nil {
				first[k] = rp
			} else if other != rp {
				overlap(p, l, r, other, rp, n.Masked())
			}
		}
	}
}

func overlap(p *doctor.Pass, l *facts.Logical, r *nb.LogicalRouter, a, b *nb.LogicalRouterPort, n netip.Prefix) {
	f := doctor.Finding{
		Object: doctor.RouterObject(r),
		Reason: "same-network",
		Title:  fmt.Sprintf("router %s has two ports in network %s: %s and %s", doctor.RouterLabel(r), n, a.Name, b.Name),
		Also:   []doctor.Object{doctor.PortObject(a.Name), doctor.PortObject(b.Name)},
		Evidence: []doctor.Evidence{
			doctor.NBRow("Logical_Router_Port", a.UUID, "networks=%v", []string(a.Networks)),
			doctor.NBRow("Logical_Router_Port", b.UUID, "networks=%v", []string(b.Networks)),
		},
		Cause:  "a network can be on one port of a router only",
		Effect: "packets to " + n.String() + " leave through one of the two ports; hosts behind the other are unreachable",
		Next:   "give one of the two another network: ovn-nbctl set Logical_Router_Port " + b.Name + " networks=…",
	}
	for _, rp := range []*nb.LogicalRouterPort{a, b} {
		for _, port := range l.Links[rp.Name] {
			f.Concern(doctor.SwitchObject(l.SwitchOf[port.UUID]))
		}
	}
	p.Report(f)
}
