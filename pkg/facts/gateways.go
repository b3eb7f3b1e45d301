package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A GatewayPort is a distributed gateway port with its gateway chassis.
type GatewayPort struct {
	Port       *nb.LogicalRouterPort
	Router     *nb.LogicalRouter
	Networks   []string // physical networks behind it
	Candidates []GatewayCandidate
	Neutron    bool // Neutron schedules it
}

// A GatewayCandidate is a gateway chassis of a port: a row of Gateway_Chassis or HA_Chassis.
type GatewayCandidate struct {
	Name     string // chassis_name
	Priority int
	Chassis  *sb.Chassis // nil if not found
	Meant    *sb.Chassis // the intended one, if certain
	Row      ovsdb.Row
	UUID     ovsdb.UUID // of Row
	Group    ovsdb.UUID // HA_Chassis_Group, for an HA_Chassis
}

// GatewayPorts returns a zone's distributed gateway ports.
func GatewayPorts(north *snapshot.Northbound, south *snapshot.Southbound) []GatewayPort {
	l := NewLogical(north)
	gcs := snapshot.Index(north.GatewayChassis, func(g *nb.GatewayChassis) ovsdb.UUID { return g.UUID })
	has := snapshot.Index(north.HAChassis, func(c *nb.HAChassis) ovsdb.UUID { return c.UUID })
	groups := snapshot.Index(north.HAGroups, func(g *nb.HAChassisGroup) ovsdb.UUID { return g.UUID })
	var out []GatewayPort
	for i := range north.RouterPorts {
		p := &north.RouterPorts[i]
		g := GatewayPort{Port: p, Router: l.RouterOf[p.UUID], Networks: l.Localnets(l.SwitchAt(p.Name))}
		for _, u := range p.GatewayChassis {
			if c := gcs[u]; c != nil {
				g.Candidates = append(g.Candidates, GatewayCandidate{Name: c.ChassisName, Priority: c.Priority, Row: c, UUID: u})
			}
		}
		group := cmp.Or(groups[p.HAChassisGroup.Get()], &nb.HAChassisGroup{})
		for _, u := range group.HAChassis {
			if c := has[u]; c != nil {
				g.Candidates = append(g.Candidates, GatewayCandidate{Name: c.ChassisName, Priority: c.Priority, Row: c, UUID: u, Group: group.UUID})
			}
		}
		if len(g.Candidates) == 0 || g.Router == nil {
			continue
		}
		for j := range g.Candidates {
			c := &g.Candidates[j]
			if c.Chassis = south.ChassisNamed(c.Name); c.Chassis == nil {
				c.Meant = ChassisMeant(south, c.Name)
			}
		}
		slices.SortFunc(g.Candidates, func(a, b GatewayCandidate) int { return b.Priority - a.Priority })
		g.Neutron = decode.NeutronOwns(g.Router.Name, g.Router.ExternalIDs)
		out = append(out, g)
	}
	return out
}

// Proposal returns the chassis that should replace a missing one: the intended one, or the only one that could host
// the port.
func (g *GatewayPort) Proposal(south *snapshot.Southbound) *sb.Chassis {
	for _, c := range g.Candidates {
		if c.Chassis == nil && c.Meant != nil {
			return c.Meant
		}
	}
	if slices.ContainsFunc(g.Candidates, func(c GatewayCandidate) bool { return c.Chassis != nil }) || len(g.Networks) == 0 {
		return nil
	}
	var able []*sb.Chassis
	for c := range south.OwnChassis() {
		if !slices.ContainsFunc(g.Networks, func(n string) bool { return !Maps(c, n) }) {
			able = append(able, c)
		}
	}
	if len(able) == 1 {
		return able[0]
	}
	return nil
}

// Text formats a candidate's columns, as evidence.
func (c GatewayCandidate) Text() string {
	return fmt.Sprintf("chassis_name=%s priority=%d", c.Name, c.Priority)
}

// BridgeMapping returns a network's bridge in a value of ovn-bridge-mappings, "NETWORK:BRIDGE,…".
func BridgeMapping(mappings, network string) (bridge string, ok bool) {
	for pair := range strings.SplitSeq(mappings, ",") {
		name, bridge, found := strings.Cut(strings.TrimSpace(pair), ":")
		if found && name == network {
			return bridge, true
		}
	}
	return "", false
}

// Misspelt returns the name in a value of ovn-bridge-mappings that must be meant for a network: nearly the same, and
// not another network's name; empty if none.
func Misspelt(mappings, network string, networks map[string]bool) string {
	for pair := range strings.SplitSeq(mappings, ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(pair), ":")
		if name != "" && name != network && !networks[name] && near(name, network) {
			return name
		}
	}
	return ""
}

// near reports whether two names differ in at most two letters, or only in case.
func near(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	if len(a) > 64 || len(b) > 64 || len(a) < 4 || len(b) < 4 {
		return false
	}
	row := make([]int, len(b)+1) // a row of the edit distance matrix
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

// LocalnetNames returns the physical networks of the localnet ports.
func LocalnetNames(south *snapshot.Southbound) map[string]bool {
	networks := map[string]bool{}
	for _, b := range south.PortBindings {
		if b.Type == "localnet" {
			networks[b.Options["network_name"]] = true
		}
	}
	return networks
}

// ProposeBridge returns the bridges of a host that a network may be meant to use: what other nodes map it to, what
// the host's misspelt mapping names, or else every bridge with an uplink.
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
