package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetBridgeMapping maps a provider network to a bridge of a node.
var SetBridgeMapping = &fixes.Repair{
	Name: "set-bridge-mapping",
	Doc: `Map a provider network to a bridge of this node

Adds NETWORK:BRIDGE to ovn-bridge-mappings, or corrects it there; a misspelt name of the
network is replaced. Without BRIDGE it takes the one that other chassis use. The bridge
must exist. ovn-controller creates the patch ports.`,
	Params: []fixes.Param{
		{Name: "NETWORK", Doc: "the network_name of the localnet port"},
		{Name: "BRIDGE", Doc: "a bridge of this node", Optional: true},
	},
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "localnet-no-bridge-mapping",
	Plan:  onSwitch(planBridgeMapping),
}

func planBridgeMapping(h *snapshot.Host, sw *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
	if _, err := rootRow(h, sw); err != nil {
		return nil, err
	}
	name, _, err := h.ChassisName()
	if err != nil {
		return nil, err
	}
	network := a["NETWORK"]
	if network == "" || strings.ContainsAny(network, ":, ") {
		return nil, fmt.Errorf("%q is not the name of a network", network)
	}
	south, err := h.Southbound()
	if err != nil {
		return nil, err
	}
	networks := facts.LocalnetNames(south)
	if !networks[network] {
		return nil, fmt.Errorf("no localnet port has network_name=%s; there are %s", network, several(slices.Sorted(maps.Keys(networks))))
	}
	bridge := a["BRIDGE"]
	if bridge == "" {
		if bridge, err = proposedBridge(h, network); err != nil {
			return nil, err
		}
	}
	if _, err := bridgeNamed(h, sw, bridge); err != nil {
		return nil, err
	}
	if bridge == sw.IntegrationBridge(name) {
		return nil, fixes.Refuse("", "%s is the integration bridge: a provider network cannot be mapped to it", bridge)
	}
	old, key := sw.Setting("ovn-bridge-mappings", name)
	if have, _ := facts.BridgeMapping(old, network); have == bridge {
		return nil, fixes.Refuse("", "network %s of %s is already mapped to %s", network, h.Name, bridge)
	}
	return setPlan(h, idSet(sw, key, remapped(old, network, bridge, networks), fmt.Sprintf("map network %s of %s to bridge %s", network, h.Name, bridge)),
		fmt.Sprintf("the traffic of network %s on %s", network, h.Name),
		"the cluster's management system may overwrite ovn-bridge-mappings when its agent on this node starts"), nil
}

// proposedBridge returns the only bridge that can be meant for a network.
func proposedBridge(h *snapshot.Host, network string) (string, error) {
	switch proposed := facts.ProposeBridge(h, network); len(proposed) {
	case 1:
		return proposed[0].Value, nil
	case 0:
		return "", fixes.Refuse("ovs-vsctl --may-exist add-br BRIDGE, add the uplink to it, and name it", "nothing shows which bridge of %s network %s is for", h.Name, network)
	default:
		return "", fixes.Refuse(fixes.Command("ovnctl fix set-bridge-mapping %s BRIDGE", network), "network %s may be meant for more than one bridge: %s", network, listProposals(proposed))
	}
}

// remapped returns ovn-bridge-mappings with a network mapped to a bridge, otherwise unchanged.
func remapped(old, network, bridge string, networks map[string]bool) string {
	wrong := facts.Misspelt(old, network, networks)
	var pairs []string
	done := false
	for pair := range strings.SplitSeq(old, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), ":")
		switch {
		case strings.TrimSpace(pair) == "":
			continue
		case name == network || name == wrong && wrong != "":
			if done {
				continue
			}
			pair, done = network+":"+bridge, true
		}
		pairs = append(pairs, pair)
	}
	if !done {
		pairs = append(pairs, network+":"+bridge)
	}
	return strings.Join(pairs, ",")
}
