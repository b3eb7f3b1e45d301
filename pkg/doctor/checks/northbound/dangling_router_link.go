package northbound

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DanglingRouterLink = &doctor.Check{
	Name:     "dangling-router-link",
	Category: "nb",
	Doc: `A link between a switch and a router, or to the physical network, is broken

A switch hangs on a router by two rows: a switch port of type router that names the router
port and has its address. Any half of it missing leaves no word in any log.`,
	Settle: true,
	Run: func(p *doctor.Pass) {
		p.Northbounds(func(_ *snapshot.Zone, l *snapshot.Logical) {
			claimed := switchLinks(p, l)
			loneRouterPorts(p, l, claimed)
			routerPeers(p, l)
			overlaps(p, l)
		})
	},
}

// switchLinks reports what is wrong on the switches' side, and returns the router
// ports without a link that one of these findings explains.
func switchLinks(p *doctor.Pass, l *snapshot.Logical) map[string]bool {
	unlinked := l.Unlinked()
	claimed := map[string]bool{}
	for i := range l.SwitchPorts {
		port := &l.SwitchPorts[i]
		fault := l.CheckLink(port)
		if fault == snapshot.LinkFine {
			localnet(p, l, port)
			switchPeer(p, l, port)
			continue
		}
		name := port.Options["router-port"]
		if fault == snapshot.LinkType && len(l.Links[name]) > 0 {
			continue // another port leads there
		}
		f := doctor.Finding{
			Object: doctor.Object{Kind: "port", Name: port.Name},
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", port.UUID, "type=%s, options:router-port=%s, addresses=%v",
				doctor.OrEmpty(port.Type), doctor.OrEmpty(name), []string(port.Addresses))},
			Cause:  "port " + port.Name + " cannot lead to a router: " + string(fault),
			Effect: "what is on this switch does not reach its gateway",
		}
		where := ""
		s := l.SwitchOf[port.UUID]
		if s != nil {
			where = " of switch " + doctor.NamedSwitch(s)
			f.Also = append(f.Also, doctor.Object{Kind: "switch", Name: s.Name})
			f.Effect = "what is on switch " + doctor.NamedSwitch(s) + " does not reach its gateway"
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
			f.Also = append(f.Also, doctor.Object{Kind: "port", Name: rp.Name})
			if r := l.RouterOf[rp.UUID]; r != nil {
				f.Also = append(f.Also, doctor.Object{Kind: "router", Name: r.Name})
			}
			f.Fix = catalog.LinkRouterPort.With(port.Name, rp.Name)
		} else {
			f.Next = fmt.Sprintf("name the router port that belongs there: ovnctl fix link-router-port %s ROUTER-PORT", port.Name)
		}
		switch fault {
		case snapshot.LinkType:
			f.Title = fmt.Sprintf("port %s%s names router port %s, but its type is %s, not router", doctor.NamedPort(port), where, name, doctor.OrEmpty(port.Type))
		case snapshot.LinkNoName:
			f.Title = fmt.Sprintf("port %s%s is of type router and names no router port", doctor.NamedPort(port), where)
		case snapshot.LinkNoPort:
			f.Title = fmt.Sprintf("port %s%s leads to router port %s, which does not exist", doctor.NamedPort(port), where, name)
		case snapshot.LinkAddress:
			f.Title = fmt.Sprintf("port %s%s does not have the MAC address of router port %s, %s", doctor.NamedPort(port), where, name, rp.MAC)
			f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Router_Port", rp.UUID, "mac=%s, networks=%v", rp.MAC, []string(rp.Networks)))
			f.Effect += ": the switch does not know where that address is"
		}
		p.Report(f)
	}
	for i := range l.RouterPorts {
		if rp := &l.RouterPorts[i]; len(l.Links[rp.Name]) > 1 {
			twoLinks(p, l, rp, l.Links[rp.Name])
		}
	}
	return claimed
}

func unlinkedEvidence(unlinked []*nb.LogicalRouterPort) []doctor.Evidence {
	var out []doctor.Evidence
	for _, rp := range unlinked {
		if len(out) == 5 {
			break
		}
		out = append(out, doctor.NBRow("Logical_Router_Port", rp.UUID, "%s leads nowhere, networks=%v", rp.Name, []string(rp.Networks)))
	}
	return out
}

func twoLinks(p *doctor.Pass, l *snapshot.Logical, rp *nb.LogicalRouterPort, ports []*nb.LogicalSwitchPortBrief) {
	f := doctor.Finding{
		Object: doctor.Object{Kind: "port", Name: rp.Name},
		Cause:  "a router port can be on one switch only",
		Effect: "one of the switches has no gateway; which one is left to chance",
	}
	var names []string
	for _, port := range ports {
		where := port.Name
		if s := l.SwitchOf[port.UUID]; s != nil {
			where += " of switch " + doctor.NamedSwitch(s)
			f.Also = append(f.Also, doctor.Object{Kind: "switch", Name: s.Name})
		}
		names = append(names, where)
		f.Also = append(f.Also, doctor.Object{Kind: "port", Name: port.Name})
		f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Switch_Port", port.UUID, "%s, options:router-port=%s", where, rp.Name))
	}
	slices.Sort(names)
	f.Title = fmt.Sprintf("%d switch ports lead to router port %s: %s", len(ports), rp.Name, strings.Join(names, ", "))
	f.Next = fixes.Command("take the wrong one away: ovn-nbctl lsp-del %s, or name its own router port: ovn-nbctl set Logical_Switch_Port %[1]s options:router-port=…", ports[len(ports)-1].Name)
	p.Report(f)
}

// localnet is for a port that should lead to a physical network.
func localnet(p *doctor.Pass, l *snapshot.Logical, port *nb.LogicalSwitchPortBrief) {
	network := port.Options["network_name"]
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "port", Name: port.Name},
		Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", port.UUID, "type=%s, options:network_name=%s", doctor.OrEmpty(port.Type), doctor.OrEmpty(network))},
		Effect:   "what is on this switch does not reach the physical network",
	}
	if s := l.SwitchOf[port.UUID]; s != nil {
		f.Also = append(f.Also, doctor.Object{Kind: "switch", Name: s.Name})
		f.Effect = "what is on switch " + doctor.NamedSwitch(s) + " does not reach the physical network"
	}
	switch {
	case port.Type == "localnet" && network == "":
		f.Title = fmt.Sprintf("port %s of type localnet names no physical network", doctor.NamedPort(port))
		f.Cause = "options:network_name is missing"
		f.Next = fixes.Command("ovn-nbctl lsp-set-options %s network_name=NAME, of the networks in ovn-bridge-mappings", port.Name)
	case port.Type == "" && network != "" && port.Addresses.Has("unknown") && !alreadyLocalnet(l, port, network):
		f.Title = fmt.Sprintf("port %s names physical network %s, but its type is not localnet", doctor.NamedPort(port), network)
		f.Cause = "without the type the port is one that nothing is plugged into"
		f.Fix = catalog.MakeLocalnetPort.With(port.Name)
	default:
		return
	}
	p.Report(f)
}

func alreadyLocalnet(l *snapshot.Logical, port *nb.LogicalSwitchPortBrief, network string) bool {
	s := l.SwitchOf[port.UUID]
	return s != nil && slices.ContainsFunc(l.PortsOf[s.UUID], func(o *nb.LogicalSwitchPortBrief) bool {
		return o.Type == "localnet" && o.Options["network_name"] == network
	})
}

// switchPeer is for a port that joins two switches without a router.
func switchPeer(p *doctor.Pass, l *snapshot.Logical, port *nb.LogicalSwitchPortBrief) {
	if port.Type != "switch" {
		return
	}
	name := port.Peer.Get()
	peer := l.SwitchPort[name]
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "port", Name: port.Name},
		Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", port.UUID, "type=switch, peer=%s", doctor.OrEmpty(name))},
		Effect:   "the two switches are not joined",
	}
	switch {
	case peer == nil:
		f.Title = fmt.Sprintf("port %s of type switch names the peer %s, which does not exist", doctor.NamedPort(port), doctor.OrEmpty(name))
		f.Next = fixes.Command("ovn-nbctl set Logical_Switch_Port %s peer=PORT", port.Name)
	case peer.Type != "switch" || peer.Peer.Get() != port.Name:
		f.Title = fmt.Sprintf("port %s names the peer %s, which does not name it", doctor.NamedPort(port), peer.Name)
		f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Switch_Port", peer.UUID, "type=%s, peer=%s", doctor.OrEmpty(peer.Type), doctor.OrEmpty(peer.Peer.Get())))
		f.Also = append(f.Also, doctor.Object{Kind: "port", Name: peer.Name})
		f.Next = fixes.Command("ovn-nbctl set Logical_Switch_Port %s type=switch peer=%s", peer.Name, port.Name)
	default:
		return
	}
	f.Cause = "a link between two switches is made by both of its ports"
	p.Report(f)
}

// loneRouterPorts reports router ports that lead nowhere, unless another finding has said it.
func loneRouterPorts(p *doctor.Pass, l *snapshot.Logical, claimed map[string]bool) {
	var lone []*nb.LogicalRouterPort
	for _, rp := range l.Unlinked() {
		if !claimed[rp.Name] {
			lone = append(lone, rp)
		}
	}
	if len(lone) == 0 {
		return
	}
	needs := needy(l, lone)
	for _, rp := range lone {
		f := doctor.Finding{
			Object:   doctor.Object{Kind: "port", Name: rp.Name},
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Router_Port", rp.UUID, "networks=%v, peer=[]; no switch port has options:router-port=%s", []string(rp.Networks), rp.Name)},
			Cause:    "no switch port names it, and it has no peer",
		}
		r := l.RouterOf[rp.UUID]
		if r == nil {
			continue // on no router: the server deletes it
		}
		f.Also = append(f.Also, doctor.Object{Kind: "router", Name: r.Name})
		f.Title = fmt.Sprintf("router port %s of router %s leads nowhere", rp.Name, doctor.NamedRouter(r))
		if s := needs[rp]; s != nil {
			name := s.Name + "-" + r.Name
			f.Also = append(f.Also, doctor.Object{Kind: "switch", Name: s.Name})
			f.Title += fmt.Sprintf(", and switch %s has ports in its network", doctor.NamedSwitch(s))
			f.Effect = "what is on switch " + doctor.NamedSwitch(s) + " does not reach its gateway"
			f.Next = fixes.Command("ovn-nbctl lsp-add %s %s -- lsp-set-type %[2]s router -- lsp-set-addresses %[2]s router -- lsp-set-options %[2]s router-port=%s (a management system gives the port a name of its own)", s.Name, name, rp.Name)
		} else {
			f.Result = doctor.Warning
			f.Effect = "its networks are reached through no switch"
			f.Next = "join it to a switch, or delete it: ovn-nbctl lrp-del " + rp.Name
		}
		p.Report(f)
	}
}

// needy are the switches without a gateway of their own in whose ports' addresses
// a router port's network is found.
func needy(l *snapshot.Logical, lone []*nb.LogicalRouterPort) map[*nb.LogicalRouterPort]*nb.LogicalSwitch {
	out := map[*nb.LogicalRouterPort]*nb.LogicalSwitch{}
	for i := range l.Switches {
		s := &l.Switches[i]
		for _, rp := range l.Fits(s, lone) {
			if !gatewayIn(l, s, rp) && out[rp] == nil {
				out[rp] = s
			}
		}
	}
	return out
}

// gatewayIn says whether a switch has a router in a router port's network already.
func gatewayIn(l *snapshot.Logical, s *nb.LogicalSwitch, rp *nb.LogicalRouterPort) bool {
	for _, g := range l.Gateways(s) {
		if l.RouterOf[g.UUID] == l.RouterOf[rp.UUID] {
			return true
		}
	}
	return false
}

// routerPeers reports router ports joined to another from one side only.
func routerPeers(p *doctor.Pass, l *snapshot.Logical) {
	for i := range l.RouterPorts {
		rp := &l.RouterPorts[i]
		name := rp.Peer.Get()
		if name == "" {
			continue
		}
		peer := l.RouterPort[name]
		f := doctor.Finding{
			Object:   doctor.Object{Kind: "port", Name: rp.Name},
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Router_Port", rp.UUID, "peer=%s", name)},
			Cause:    "a link between two routers is made by both of its ports",
			Effect:   "nothing passes between the two routers",
		}
		if r := l.RouterOf[rp.UUID]; r != nil {
			f.Also = append(f.Also, doctor.Object{Kind: "router", Name: r.Name})
		}
		switch {
		case peer == nil && l.SwitchPort[name] != nil:
			f.Title = fmt.Sprintf("the peer of router port %s is %s, a port of a switch", rp.Name, name)
			f.Cause = "peer is for links between two routers; a switch port names its router port, not the other way round"
			f.Next = fixes.Command("ovn-nbctl clear Logical_Router_Port %s peer -- lsp-set-type %s router -- lsp-set-addresses %[2]s router -- lsp-set-options %[2]s router-port=%[1]s", rp.Name, name)
		case peer == nil:
			f.Title = fmt.Sprintf("the peer of router port %s is %s, which does not exist", rp.Name, name)
			f.Next = fixes.Command("ovn-nbctl set Logical_Router_Port %s peer=ROUTER-PORT", rp.Name)
		case peer.Peer.Get() != rp.Name:
			f.Title = fmt.Sprintf("the peer of router port %s is %s, which does not name it", rp.Name, name)
			f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Router_Port", peer.UUID, "peer=%s", doctor.OrEmpty(peer.Peer.Get())))
			f.Also = append(f.Also, doctor.Object{Kind: "port", Name: peer.Name})
			if len(peer.Peer) == 0 && len(l.Links[peer.Name]) == 0 {
				f.Fix = catalog.LinkRouters.With(rp.Name)
			} else {
				f.Next = fixes.Command("ovn-nbctl set Logical_Router_Port %s peer=…, the port that is meant", rp.Name)
			}
		case len(l.Links[rp.Name]) > 0:
			f.Title = fmt.Sprintf("router port %s has the peer %s and a switch port, %s", rp.Name, name, l.Links[rp.Name][0].Name)
			f.Cause = "a router port leads to a router or to a switch, not to both"
			f.Next = "take one of the two away"
		default:
			continue
		}
		p.Report(f)
	}
}

// overlaps reports two ports of a router in one network.
func overlaps(p *doctor.Pass, l *snapshot.Logical) {
	for i := range l.Routers {
		r := &l.Routers[i]
		type owned struct {
			network netip.Prefix
			port    *nb.LogicalRouterPort
		}
		byNetwork := map[netip.Prefix]owned{}
		for _, rp := range l.RouterPortsOf[r.UUID] {
			for _, n := range snapshot.Networks(rp) {
				if n.Addr().IsLinkLocalUnicast() || n.IsSingleIP() {
					continue
				}
				first, taken := byNetwork[n.Masked()]
				if !taken {
					byNetwork[n.Masked()] = owned{n, rp}
					continue
				}
				if first.port != rp {
					overlap(p, l, r, first.port, rp, n.Masked())
				}
			}
		}
	}
}

func overlap(p *doctor.Pass, l *snapshot.Logical, r *nb.LogicalRouter, a, b *nb.LogicalRouterPort, n netip.Prefix) {
	f := doctor.Finding{
		Object: doctor.Object{Kind: "router", Name: r.Name},
		Title:  fmt.Sprintf("router %s has two ports in network %s: %s and %s", doctor.NamedRouter(r), n, a.Name, b.Name),
		Also:   []doctor.Object{{Kind: "port", Name: a.Name}, {Kind: "port", Name: b.Name}},
		Evidence: []doctor.Evidence{
			doctor.NBRow("Logical_Router_Port", a.UUID, "networks=%v", []string(a.Networks)),
			doctor.NBRow("Logical_Router_Port", b.UUID, "networks=%v", []string(b.Networks)),
		},
		Cause:  "each network of a router has to be on one of its ports only",
		Effect: "packets to " + n.String() + " leave by one of the two ports; what is behind the other is not reached",
		Next:   "give one of the two another network: ovn-nbctl set Logical_Router_Port " + b.Name + " networks=…",
	}
	for _, rp := range []*nb.LogicalRouterPort{a, b} {
		for _, port := range l.Links[rp.Name] {
			if s := l.SwitchOf[port.UUID]; s != nil {
				f.Also = append(f.Also, doctor.Object{Kind: "switch", Name: s.Name})
			}
		}
	}
	p.Report(f)
}
