package trace

import (
	"context"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// bondDown reports whether a port is a bond without an enabled member, and what bond/show and lacp/show say about it.
func (r *run) bondDown(ctx context.Context, p location, port *topology.BridgePort) (journey.Cause, bool) {
	if len(port.Interfaces) < 2 {
		return journey.Cause{}, false
	}
	text, err := p.node.Host.Control(ctx, "ovs-vswitchd", "bond/show")
	if err != nil {
		return journey.Cause{}, false
	}
	bonds := openflow.ParseBonds(text)
	i := slices.IndexFunc(bonds, func(b openflow.Bond) bool { return b.Name == port.Name })
	if i < 0 || len(bonds[i].Members) == 0 || slices.ContainsFunc(bonds[i].Members, func(m openflow.BondMember) bool { return m.Enabled }) {
		return journey.Cause{}, false
	}
	c := journey.Cause{Kind: journey.BondDown, Link: port.Name, Bridge: p.bridge, Node: p.node.Name}
	if lacp := bonds[i].LACP; lacp != "" && lacp != "off" {
		c.Detail = "lacp_status: " + lacp
	}
	return c, true
}

// blocked reports whether the spanning tree keeps a port from passing packets.
func blocked(ctx context.Context, p location, name string) (journey.Cause, bool) {
	for _, protocol := range []string{"stp/show", "rstp/show"} {
		text, err := p.node.Host.Control(ctx, "ovs-vswitchd", protocol, p.bridge)
		if err != nil {
			continue
		}
		if state := treeState(text, name); state != "" && state != "forwarding" && state != "disabled" {
			return journey.Cause{Kind: journey.PortBlocked, Link: name, Bridge: p.bridge, Node: p.node.Name, Detail: strings.TrimSuffix(protocol, "/show") + " state " + state}, true
		}
	}
	return journey.Cause{}, false
}

// treeState returns a port's state in stp/show or rstp/show: in its line, the third word.
func treeState(text, port string) string {
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) >= 3 && words[0] == port {
			return strings.ToLower(words[2])
		}
	}
	return ""
}
