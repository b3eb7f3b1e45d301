package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetBridgeMapping says through which bridge a provider network leaves a node.
var SetBridgeMapping = &fixes.Repair{
	Name: "set-bridge-mapping",
	Doc: `Say through which bridge a provider network leaves this node

Adds NETWORK:BRIDGE to ovn-bridge-mappings, or corrects it there; a misspelt name of the
network is replaced. Without a BRIDGE it takes the one that other chassis use. The
bridge has to exist. ovn-controller makes the patch ports.`,
	Params: []fixes.Param{
		{Name: "NETWORK", Doc: "the network_name of the localnet port"},
		{Name: "BRIDGE", Doc: "a bridge of this node", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "localnet-no-bridge-mapping",
	Plan:  planBridgeMapping,
}

func planBridgeMapping(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
	h, sw, err := localSwitch(d)
	if err != nil {
		return nil, err
	}
	if len(sw.OpenvSwitch) == 0 {
		return nil, fixes.Refuse("ovs-vsctl init", "the database of %s has no row in Open_vSwitch", h.Name)
	}
	name, _, err := h.ChassisName()
	if err != nil {
		return nil, err
	}
	network, bridge := a["NETWORK"], a["BRIDGE"]
	if network == "" || strings.ContainsAny(network, ":, ") {
		return nil, fmt.Errorf("%q is no name of a network", network)
	}
	south, err := southOf(h)
	if err != nil {
		return nil, err
	}
	networks := map[string]bool{}
	for _, b := range south.PortBindings {
		if b.Type == "localnet" {
			networks[b.Options["network_name"]] = true
		}
	}
	if !networks[network] {
		var names []string
		for n := range networks {
			names = append(names, n)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("no localnet port has network_name=%s; there are %s", network, several(names))
	}
	if bridge == "" {
		switch proposed := ProposeBridge(d, h, network); len(proposed) {
		case 1:
			bridge = proposed[0].Value
		case 0:
			return nil, fixes.Refuse("ovs-vsctl --may-exist add-br BRIDGE, add the uplink to it, and name it", "nothing tells which bridge of %s network %s is for", h.Name, network)
		default:
			return nil, fixes.Refuse("ovnctl fix set-bridge-mapping "+network+" BRIDGE", "network %s may be meant for more than one bridge: %s", network, listProposals(proposed))
		}
	}
	var bridges []string
	for _, b := range sw.Bridges {
		bridges = append(bridges, b.Name)
	}
	switch {
	case sw.Bridge(bridge) == nil:
		return nil, fmt.Errorf("no bridge %q; this node has %s", bridge, several(bridges))
	case bridge == sw.IntegrationBridge(name):
		return nil, fixes.Refuse("", "%s is the integration bridge: a provider network cannot lead into it", bridge)
	}
	old, key := sw.Setting("ovn-bridge-mappings", name)
	if have, _ := BridgeMapping(old, network); have == bridge {
		return nil, fixes.Refuse("", "network %s of %s is mapped to %s already", network, h.Name, bridge)
	}
	value := remapped(old, network, bridge, networks)
	title := fmt.Sprintf("map network %s of %s to bridge %s", network, h.Name, bridge)
	return &fixes.Plan{
		Title: title, Host: h.Name,
		Touches:  fmt.Sprintf("the traffic of network %s on %s", network, h.Name),
		Warnings: []string{"the cluster's management system may write ovn-bridge-mappings anew when its agent on this node starts"},
		Steps:    []fixes.Step{setID(sw, key, value, title)},
	}, nil
}

// remapped is a value of ovn-bridge-mappings with a network led to a bridge. All else stays as it is.
func remapped(old, network, bridge string, networks map[string]bool) string {
	wrong := Misspelt(old, network, networks)
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
