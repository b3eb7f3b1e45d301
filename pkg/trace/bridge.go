package trace

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
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
	members, enabled, lacp := bondState(text, port.Name)
	if members == 0 || enabled > 0 {
		return journey.Cause{}, false
	}
	c := journey.Cause{Kind: journey.BondDown, Link: port.Name, Bridge: p.bridge, Node: p.node.Name}
	if lacp != "" && lacp != "off" {
		c.Detail = "lacp_status: " + lacp
	}
	return c, true
}

// bondState reads of a bond in bond/show (ovs-vswitchd(8)) its members, those enabled, and the state of LACP.
func bondState(text, bond string) (members, enabled int, lacp string) {
	_, text, _ = strings.Cut(text, "---- "+bond+" ----\n")
	text, _, _ = strings.Cut(text, "\n---- ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch name, value, _ := strings.Cut(line, ":"); {
		case name == "lacp_status":
			lacp = strings.TrimSpace(value)
		case strings.HasPrefix(name, "member ") || strings.HasPrefix(name, "slave "):
			members++
			if strings.TrimSpace(value) == "enabled" {
				enabled++
			}
		}
	}
	return members, enabled, lacp
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
