package facts

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// BridgeMapping is the bridge of a network in a value of ovn-bridge-mappings, "NETWORK:BRIDGE,…".
func BridgeMapping(mappings, network string) (bridge string, ok bool) {
	for pair := range strings.SplitSeq(mappings, ",") {
		name, bridge, found := strings.Cut(strings.TrimSpace(pair), ":")
		if found && name == network {
			return bridge, true
		}
	}
	return "", false
}

// Misspelt is the name in a value of ovn-bridge-mappings that must be meant for a network:
// nearly the same, and not another network's name. Empty: there is none.
func Misspelt(mappings, network string, networks map[string]bool) string {
	for pair := range strings.SplitSeq(mappings, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), ":")
		if name != "" && name != network && !networks[name] && near(name, network) {
			return name
		}
	}
	return ""
}

// near reports whether two names differ by at most two letters, or only in case.
func near(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	if len(a) > 64 || len(b) > 64 || len(a) < 4 || len(b) < 4 {
		return false
	}
	row := make([]int, len(b)+1) // of the matrix of edit distances
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)] <= 2
}

// LocalnetNames are the physical networks that localnet ports name.
func LocalnetNames(south *snapshot.Southbound) map[string]bool {
	networks := map[string]bool{}
	for _, b := range south.PortBindings {
		if b.Type == "localnet" {
			networks[b.Options["network_name"]] = true
		}
	}
	return networks
}

// ProposeBridge lists the bridges of a host that a network may be meant to use: what other nodes
// map it to, what its own misspelt mapping names, or else every bridge with an uplink.
func ProposeBridge(h *snapshot.Host, network string) []Proposal {
	if h == nil {
		return nil
	}
	sw, err := h.Switch()
	if err != nil {
		return nil
	}
	name, _, _ := h.ChassisName()
	var found proposals
	if south, err := h.Southbound(); err == nil {
		mine, _ := sw.Setting("ovn-bridge-mappings", name)
		if wrong := Misspelt(mine, network, LocalnetNames(south)); wrong != "" {
			bridge, _ := BridgeMapping(mine, wrong)
			found.add(bridge, "the misspelt mapping of "+h.Name)
		}
		for _, c := range south.Chassis {
			if bridge, ok := BridgeMapping(c.OtherConfig["ovn-bridge-mappings"], network); ok && c.Name != name {
				found.add(bridge, "the mapping of other chassis")
			}
		}
	}
	found = slices.DeleteFunc(found, func(p Proposal) bool { return sw.Bridge(p.Value) == nil })
	if len(found) > 0 {
		return found
	}
	for _, p := range sw.BridgeInterfaces() {
		physical := p.Type == "" || p.Type == "system" || strings.HasPrefix(p.Type, "dpdk")
		if physical && p.Bridge.Name != sw.IntegrationBridge(name) && p.Name != p.Bridge.Name && p.ExternalIDs["iface-id"] == "" {
			found.add(p.Bridge.Name, "a bridge with an uplink")
		}
	}
	return found
}
