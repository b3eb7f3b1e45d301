package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var LocalnetNoBridgeMapping = &doctor.Check{
	Name:     "localnet-no-bridge-mapping",
	Category: "gateway",
	Doc: `A node that needs a provider network has no bridge for it

ovn-bridge-mappings of a chassis lacks the network of a localnet port that it needs, or names a
bridge that does not exist.`,
	Causes: []string{
		"vswitchd-not-running", "controller-not-running", "missing-external-ids", "conf-db-lost-or-corrupt", "integration-bridge-empty",
		"duplicate-chassis-stale", "system-id-cloned", "controller-northd-version-mismatch",
	},
	Settle: true,
	Run:    doctor.Over2((*doctor.Pass).GivenSouthbounds, checkMappings),
}

// A need is a provider network that a chassis needs.
type need struct {
	chassis *sb.Chassis
	network string
	port    *sb.PortBindingBrief // a localnet port of the network
	why     string
}

func checkMappings(p *doctor.Pass, _ *snapshot.Zone, south *snapshot.Southbound) {
	networks := map[string]bool{}
	localnets := map[ovsdb.UUID][]*sb.PortBindingBrief{} // by datapath
	for b := range doctor.Each(south.PortBindings) {
		if b.Type == "localnet" && b.Options["network_name"] != "" {
			networks[b.Options["network_name"]] = true
			localnets[b.Datapath] = append(localnets[b.Datapath], b)
		}
	}
	if len(localnets) == 0 {
		return
	}
	all := needs(south, localnets)
	type key struct{ chassis, network string }
	reported := map[key]bool{}
	for i := range all {
		k := key{all[i].chassis.Name, all[i].network}
		if reported[k] {
			continue
		}
		if f, ok := all[i].finding(p, networks); ok {
			reported[k] = true
			p.Report(f)
		}
	}
}

// needs returns the provider networks that chassis need: those of a switch where they have a gateway or the port of a
// pod or VM, or whose router's gateway port they host.
func needs(south *snapshot.Southbound, localnets map[ovsdb.UUID][]*sb.PortBindingBrief) (all []need) {
	chassis := map[ovsdb.UUID]*sb.Chassis{}
	for c := range doctor.Each(south.Chassis) {
		if !snapshot.Elsewhere(c) {
			chassis[c.UUID] = c
		}
	}
	named := doctor.PortBindings(south)
	type key struct {
		chassis ovsdb.UUID
		port    string
	}
	seen := map[key]bool{}
	add := func(b *sb.PortBindingBrief, datapath ovsdb.UUID, why string) {
		for _, l := range localnets[datapath] {
			if k := (key{b.Chassis.Get(), l.LogicalPort}); !seen[k] && chassis[k.chassis] != nil {
				seen[k] = true
				all = append(all, need{chassis[k.chassis], l.Options["network_name"], l, why})
			}
		}
	}
	for b := range doctor.Each(south.PortBindings) {
		if len(b.Chassis) == 0 {
			continue
		}
		switch b.Type {
		case "", "l3gateway":
			add(b, b.Datapath, "has port "+b.LogicalPort)
		case "chassisredirect":
			port := named[b.Options["distributed-port"]]
			if port == nil {
				continue
			}
			if peer := named[port.Options["peer"]]; peer != nil {
				add(b, peer.Datapath, "has gateway port "+b.LogicalPort)
			}
		}
	}
	slices.SortFunc(all, func(a, b need) int {
		return cmp.Or(cmp.Compare(a.chassis.UUID, b.chassis.UUID), cmp.Compare(a.network, b.network), cmp.Compare(a.port.LogicalPort, b.port.LogicalPort))
	})
	return all
}

// finding returns the finding of a chassis whose mapping lacks what it needs, or names a missing bridge.
func (n *need) finding(p *doctor.Pass, networks map[string]bool) (doctor.Finding, bool) {
	c := n.chassis
	node := c.Hostname
	// Before 21.09 the chassis had it in external_ids.
	mappings := cmp.Or(c.OtherConfig["ovn-bridge-mappings"], c.ExternalIDs["ovn-bridge-mappings"])
	source := doctor.SB("Chassis", c.Name)
	h := p.Host(c.Name)
	var sw *snapshot.Switch
	if h != nil {
		node = h.Name
		if s, err := h.Switch(); err == nil {
			sw = s
			mappings, _ = s.Setting("ovn-bridge-mappings", c.Name)
			source = doctor.Setting("external_ids:ovn-bridge-mappings").On(h.Name)
		}
	}
	f := doctor.Finding{
		Object: doctor.Object{Kind: "network", Name: n.network, Node: node},
		Also:   []doctor.Object{doctor.NodeObject(node), doctor.PortObject(n.port.LogicalPort), {Kind: "chassis", Name: c.Name}},
		Evidence: []doctor.Evidence{
			doctor.SBRow("Port_Binding", n.port.UUID, "%s: type=localnet network_name=%s", n.port.LogicalPort, n.network),
			{Source: doctor.SB("Port_Binding", ""), Says: node + " " + n.why + ", on that network"},
			{Source: source, Says: "ovn-bridge-mappings=" + cmp.Or(mappings, "none")},
		},
		Effect: fmt.Sprintf("traffic of network %s on %s is lost, while its ports are shown as up", n.network, node),
	}
	bridge, ok := facts.BridgeMapping(mappings, n.network)
	switch {
	case !ok:
		f.Reason = "no-mapping"
		f.Title = fmt.Sprintf("%s has no bridge for provider network %s", node, n.network)
		f.Cause = "ovn-bridge-mappings does not name the network"
		if wrong := facts.Misspelt(mappings, n.network, networks); wrong != "" {
			f.Cause = fmt.Sprintf("ovn-bridge-mappings names %s, which no localnet port has; it should be %s", wrong, n.network)
		}
	case sw == nil:
		return f, false
	case sw.Bridge(bridge) == nil:
		f.Reason = "no-bridge"
		f.Title = fmt.Sprintf("network %s of %s is mapped to bridge %s, which does not exist", n.network, node, bridge)
		f.Cause = fmt.Sprintf("the name is misspelt, or bridge %s was deleted", bridge)
		f.Also = append(f.Also, doctor.BridgeObject(h, bridge))
	case !patched(sw, bridge, n.port.LogicalPort):
		f.Reason = "no-patch-port"
		f.Title = fmt.Sprintf("network %s of %s has no patch port into bridge %s", n.network, node, bridge)
		f.Cause = "ovn-controller has not created the pair of patch ports, or somebody deleted it"
		f.Also = append(f.Also, doctor.BridgeObject(h, bridge))
		f.Next = "ovn-appctl -t ovn-controller connection-status; then its log"
		return f, true
	default:
		return f, false
	}
	n.propose(p, &f, h)
	return f, true
}

// propose adds the mapping to set, or how to find it.
func (n *need) propose(p *doctor.Pass, f *doctor.Finding, h *snapshot.Host) {
	if h == nil {
		f.Next = fixes.Command("on that node: ovnctl fix set-bridge-mapping %s BRIDGE", n.network)
		return
	}
	proposed := facts.ProposeBridge(h, n.network)
	if len(proposed) != 1 {
		f.Next = fixes.Command("ovnctl fix set-bridge-mapping %s BRIDGE, with the bridge that has the uplink of this network", n.network)
		return
	}
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other(proposed[0].From), Says: "bridge " + proposed[0].Value})
	f.Fix = catalog.SetBridgeMapping.With(n.network, proposed[0].Value)
}

// patched reports whether a bridge has the patch port of a localnet port.
func patched(sw *snapshot.Switch, bridge, localnet string) bool {
	return slices.ContainsFunc(sw.BridgeInterfaces(), func(i snapshot.BridgeInterface) bool {
		return i.Bridge.Name == bridge && i.Type == "patch" &&
			(i.Port.ExternalIDs["ovn-localnet-port"] == localnet || strings.HasPrefix(i.Name, "patch-"+localnet+"-to-"))
	})
}
