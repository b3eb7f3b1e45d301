package gateway

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var LocalnetNoBridgeMapping = &doctor.Check{
	Name:     "localnet-no-bridge-mapping",
	Category: "gateway",
	Doc: `A node that needs a provider network has no bridge for it

ovn-bridge-mappings of a chassis lacks the network of a localnet port that something on this
chassis goes through, or names a bridge that does not exist.`,
	Causes: []string{
		"vswitchd-not-running", "controller-not-running", "missing-external-ids", "conf-db-lost-or-corrupt", "integration-bridge-empty",
		"duplicate-chassis-stale", "system-id-cloned", "controller-northd-version-mismatch",
	},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for _, z := range p.Zones {
			south, err := z.Southbound()
			if err != nil {
				p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
				continue
			}
			mappings(p, south)
		}
		if len(p.Zones) == 0 {
			p.Skip("there is no Southbound here")
		}
	},
}

// A need is a chassis that needs a provider network, and for what.
type need struct {
	chassis ovsdb.UUID
	network string
	port    *sb.PortBindingBrief // the localnet port
	why     string
}

// needs lists the provider networks that chassis need: those of a switch on which they hold a port, a gateway's or
// that of a virtual machine, or on whose router they hold the gateway.
func needs(south *snapshot.Southbound) []need {
	localnets := map[ovsdb.UUID][]*sb.PortBindingBrief{} // by datapath
	named := doctor.Bindings(south)
	for i := range south.PortBindings {
		if b := &south.PortBindings[i]; b.Type == "localnet" && b.Options["network_name"] != "" {
			localnets[b.Datapath] = append(localnets[b.Datapath], b)
		}
	}
	type key struct {
		chassis ovsdb.UUID
		port    string
	}
	first := map[key]*need{}
	add := func(chassis ovsdb.UUID, datapath ovsdb.UUID, why string) {
		for _, l := range localnets[datapath] {
			if k := (key{chassis, l.LogicalPort}); first[k] == nil {
				first[k] = &need{chassis, l.Options["network_name"], l, why}
			}
		}
	}
	for i := range south.PortBindings {
		b := &south.PortBindings[i]
		if len(b.Chassis) == 0 {
			continue
		}
		switch b.Type {
		case "", "l3gateway":
			add(b.Chassis.Get(), b.Datapath, "holds port "+b.LogicalPort)
		case "chassisredirect":
			if port := named[b.Options["distributed-port"]]; port != nil {
				if peer := named[port.Options["peer"]]; peer != nil {
					add(b.Chassis.Get(), peer.Datapath, "holds gateway port "+b.LogicalPort)
				}
			}
		}
	}
	var all []need
	for _, n := range first {
		all = append(all, *n)
	}
	slices.SortFunc(all, func(a, b need) int {
		return cmp.Or(cmp.Compare(a.chassis, b.chassis), cmp.Compare(a.network, b.network), cmp.Compare(a.port.LogicalPort, b.port.LogicalPort))
	})
	return all
}

func mappings(p *doctor.Pass, south *snapshot.Southbound) {
	networks := map[string]bool{}
	for i := range south.PortBindings {
		if b := &south.PortBindings[i]; b.Type == "localnet" {
			networks[b.Options["network_name"]] = true
		}
	}
	reported := map[string]bool{}
	for _, n := range needs(south) {
		i := slices.IndexFunc(south.Chassis, func(c sb.Chassis) bool { return c.UUID == n.chassis })
		if i < 0 || snapshot.Elsewhere(&south.Chassis[i]) {
			continue
		}
		c := &south.Chassis[i]
		if id := c.Name + " " + n.network; !reported[id] {
			if f, ok := mapped(p, c, n, networks); ok {
				reported[id] = true
				p.Report(f)
			}
		}
	}
}

// mapped is the finding of a chassis whose mapping lacks what it needs, or leads nowhere.
func mapped(p *doctor.Pass, c *sb.Chassis, n need, networks map[string]bool) (doctor.Finding, bool) {
	// Before 21.09 the chassis had it in external_ids.
	value, source := cmp.Or(c.OtherConfig["ovn-bridge-mappings"], c.ExternalIDs["ovn-bridge-mappings"]), fmt.Sprintf("Southbound Chassis %.8s (%s)", c.UUID, c.Hostname)
	h := p.Host(c.Name)
	var sw *snapshot.Switch
	if h != nil {
		var err error
		if sw, err = h.Switch(); err == nil {
			value, _ = sw.Setting("ovn-bridge-mappings", c.Name)
			source = "Open_vSwitch external_ids of " + h.Name
		}
	}
	node := c.Hostname
	if h != nil {
		node = h.Name
	}
	f := doctor.Finding{
		Object: doctor.NodeObject(node),
		Also:   []doctor.Object{{Kind: "port", Name: n.port.LogicalPort}, {Kind: "chassis", Name: c.Name}},
		Evidence: []doctor.Evidence{
			{Source: doctor.Other(fmt.Sprintf("Southbound Port_Binding %.8s (%s)", n.port.UUID, n.port.LogicalPort)), Says: "type=localnet network_name=" + n.network},
			{Source: doctor.Other("chassis " + node), Says: n.why + ", which is on that network"},
			{Source: doctor.Other(source), Says: "ovn-bridge-mappings=" + doctor.OrNone(value)},
		},
		Effect: fmt.Sprintf("what goes through network %s on %s is lost, while its ports are shown as up", n.network, node),
	}
	bridge, ok := catalog.BridgeMapping(value, n.network)
	switch {
	case !ok:
		f.Title = fmt.Sprintf("%s has no bridge for the provider network %s", node, n.network)
		f.Cause = "ovn-bridge-mappings does not name the network"
		if wrong := catalog.Misspelt(value, n.network, networks); wrong != "" {
			f.Cause = fmt.Sprintf("ovn-bridge-mappings names %s, which no localnet port has: %s is meant", wrong, n.network)
		}
	case sw == nil:
		return f, false
	case sw.Bridge(bridge) == nil:
		f.Title = fmt.Sprintf("network %s of %s is mapped to bridge %s, which does not exist", n.network, node, bridge)
		f.Cause = fmt.Sprintf("the name is misspelt, or bridge %s was deleted", bridge)
		f.Also = append(f.Also, doctor.Object{Kind: "bridge", Name: bridge, Node: node})
	case !patched(sw, bridge, n.port.LogicalPort):
		f.Title = fmt.Sprintf("network %s of %s has no patch port into bridge %s", n.network, node, bridge)
		f.Cause = "ovn-controller has not made the pair of patch ports, or somebody deleted it"
		f.Also = append(f.Also, doctor.Object{Kind: "bridge", Name: bridge, Node: node})
		f.Next = "ovn-appctl -t ovn-controller connection-status; then its log"
		return f, true
	default:
		return f, false
	}
	proposed := catalog.ProposeBridge(p.Deployment, h, n.network)
	switch {
	case h == nil:
		f.Next = fmt.Sprintf("on that node: ovnctl fix set-bridge-mapping %s BRIDGE", n.network)
	case len(proposed) == 1:
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other(proposed[0].From), Says: "bridge " + proposed[0].Value})
		f.Fix = catalog.SetBridgeMapping.With(n.network, proposed[0].Value)
	default:
		f.Next = fmt.Sprintf("ovnctl fix set-bridge-mapping %s BRIDGE, with the bridge that holds the uplink of this network", n.network)
	}
	return f, true
}

// patched says whether a bridge has the patch port of a localnet port, which ovn-controller makes.
func patched(sw *snapshot.Switch, bridge, localnet string) bool {
	for _, plug := range sw.Plugs() {
		if plug.Bridge.Name == bridge && plug.Type == "patch" &&
			(plug.Port.ExternalIDs["ovn-localnet-port"] == localnet || strings.HasPrefix(plug.Name, "patch-"+localnet+"-to-")) {
			return true
		}
	}
	return false
}
