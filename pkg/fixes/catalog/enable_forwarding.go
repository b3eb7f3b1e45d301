package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// EnableForwarding lets the host forward packets.
var EnableForwarding = &fixes.Repair{
	Name: "enable-forwarding",
	Doc: `Let the host forward the packets of pods

Turns on forwarding, of all links or of one, or makes a strict reverse path filter loose,
until the next boot. The plan names the file that would keep it (/etc/sysctl.d), and
leaves the file to you.`,
	Params: []fixes.Param{{Name: "SETTING", Doc: "net/ipv4/ip_forward, net/ipv6/conf/all/forwarding, net/ipv4/conf/LINK/forwarding, net/ipv6/conf/LINK/forwarding or net/ipv4/conf/LINK/rp_filter"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "host-forwarding-off",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, n, err := localNetwork(d)
		if err != nil {
			return nil, err
		}
		name, after, err := forwardingSetting(a["SETTING"])
		if err != nil {
			return nil, err
		}
		before, ok := n.Sysctl[name]
		if !ok {
			return nil, fmt.Errorf("no setting %q on this host", name)
		}
		what := fmt.Sprintf("set %s to %s", name, after)
		if before == after {
			return nil, fixes.Refuse("", "%s is %s", name, after)
		}
		lasting := fmt.Sprintf("it lasts until the next boot, when the host's files apply: to keep it put %s = %s in a file of /etc/sysctl.d, after those that set another value", strings.ReplaceAll(name, "/", "."), after)
		return &fixes.Plan{
			Title:    what,
			Host:     h.Name,
			Steps:    []fixes.Step{fixes.Network{Changes: append(kept(n, name), fixes.LinkChange{Set: &fixes.Sysctl{Name: name, Before: before, After: after}}), What: what}},
			Touches:  "what this host forwards for others",
			Warnings: append([]string{lasting}, setBy(h, name)...),
		}, nil
	},
}

// forwardingSetting returns the kernel setting that an argument names, and its right value.
func forwardingSetting(arg string) (name, value string, err error) {
	name = arg
	if !strings.Contains(arg, "/") { // link names may contain dots
		name = strings.ReplaceAll(arg, ".", "/")
	}
	parts := strings.Split(name, "/")
	switch {
	case name == "net/ipv4/ip_forward":
		return name, "1", nil
	case len(parts) == 5 && parts[0] == "net" && parts[2] == "conf" && parts[4] == "forwarding":
		return name, "1", nil
	case len(parts) == 5 && parts[1] == "ipv4" && parts[2] == "conf" && parts[4] == "rp_filter":
		return name, "2", nil
	}
	return "", "", fmt.Errorf("setting %q: not one of forwarding or rp_filter, such as net/ipv4/ip_forward", arg)
}

// kept returns the per-link settings that the kernel overwrites when it sets the one for all links, so that they can be
// undone.
func kept(n *node.Network, name string) []fixes.LinkChange {
	family := map[string]string{
		"net/ipv4/ip_forward":          "net/ipv4/conf/",
		"net/ipv4/conf/all/forwarding": "net/ipv4/conf/",
		"net/ipv6/conf/all/forwarding": "net/ipv6/conf/",
	}[name]
	if family == "" {
		return nil
	}
	var changes []fixes.LinkChange
	for _, key := range slices.Sorted(maps.Keys(n.Sysctl)) {
		if value := n.Sysctl[key]; strings.HasPrefix(key, family) && strings.HasSuffix(key, "/forwarding") && key != name && value != n.Sysctl[name] {
			changes = append(changes, fixes.LinkChange{Set: &fixes.Sysctl{Name: key, Before: value, After: value}})
		}
	}
	return changes
}
