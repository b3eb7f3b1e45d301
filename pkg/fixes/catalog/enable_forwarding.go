package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// EnableForwarding lets the host pass on packets.
var EnableForwarding = &fixes.Repair{
	Name: "enable-forwarding",
	Doc: `Let the host pass on the packets of pods

Switches forwarding on, of all links or of one, or makes a strict reverse path filter
loose, until the host boots again. The file that keeps it (/etc/sysctl.d) is named and
left to you.`,
	Params: []fixes.Param{{Name: "SETTING", Doc: "net/ipv4/ip_forward, net/ipv6/conf/all/forwarding, net/ipv4/conf/LINK/forwarding, net/ipv6/conf/LINK/forwarding or net/ipv4/conf/LINK/rp_filter"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "host-forwarding-off",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, err := localHost(d)
		if err != nil {
			return nil, err
		}
		n, err := h.Network()
		if err != nil {
			return nil, err
		}
		name := strings.ReplaceAll(a["SETTING"], ".", "/")
		if a["SETTING"] != "" && strings.Contains(a["SETTING"], "/") {
			name = a["SETTING"] // a link's name may have points
		}
		after := "1"
		parts := strings.Split(name, "/")
		switch {
		case name == "net/ipv4/ip_forward":
		case len(parts) == 5 && parts[0] == "net" && parts[2] == "conf" && parts[4] == "forwarding":
		case len(parts) == 5 && parts[1] == "ipv4" && parts[2] == "conf" && parts[4] == "rp_filter":
			after = "2"
		default:
			return nil, fmt.Errorf("setting %q: not one of forwarding or rp_filter, such as net/ipv4/ip_forward", a["SETTING"])
		}
		before, ok := n.Sysctl[name]
		if !ok {
			return nil, fmt.Errorf("no setting %q on this host", name)
		}
		if before == after {
			return nil, fixes.Refuse("", "%s is %s", name, after)
		}
		changes := append(kept(n, name), fixes.LinkChange{Set: &fixes.Sysctl{Name: name, Before: before, After: after}})
		plan := &fixes.Plan{
			Title:   fmt.Sprintf("set %s to %s", name, after),
			Host:    h.Name,
			Steps:   []fixes.Step{fixes.Network{Changes: changes, What: fmt.Sprintf("set %s to %s", name, after)}},
			Touches: "what this host passes on for others",
			Warnings: []string{fmt.Sprintf("at the next boot it is as the host's files say: put %s = %s into a file of /etc/sysctl.d, after those that set it otherwise",
				strings.ReplaceAll(name, "/", "."), after)},
		}
		plan.Warnings = append(plan.Warnings, setBy(h, name)...)
		return plan, nil
	},
}

// kept are the settings of links that the kernel overwrites together with one of
// all links, so that they can be put back.
func kept(n *node.Network, name string) []fixes.LinkChange {
	family := ""
	switch name {
	case "net/ipv4/ip_forward", "net/ipv4/conf/all/forwarding":
		family = "net/ipv4/conf/"
	case "net/ipv6/conf/all/forwarding":
		family = "net/ipv6/conf/"
	default:
		return nil
	}
	var changes []fixes.LinkChange
	for key, value := range n.Sysctl {
		if strings.HasPrefix(key, family) && strings.HasSuffix(key, "/forwarding") && key != name && value != n.Sysctl[name] {
			changes = append(changes, fixes.LinkChange{Set: &fixes.Sysctl{Name: key, Before: value, After: value}})
		}
	}
	slices.SortFunc(changes, func(a, b fixes.LinkChange) int { return strings.Compare(a.Set.Name, b.Set.Name) })
	return changes
}
