package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// local returns the host that ovnctl runs on.
func local(d *snapshot.Deployment) (*snapshot.Host, error) {
	if h := d.Local(); h != nil {
		return h, nil
	}
	return nil, errors.New("this repair changes the node that ovnctl runs on, and this is not a node: run it there")
}

// A planner makes the plan of a repair.
type planner = func(*snapshot.Deployment, fixes.Args) (*fixes.Plan, error)

// onNode plans for the local host.
func onNode(plan func(*snapshot.Host, fixes.Args) (*fixes.Plan, error)) planner {
	return func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		return plan(h, a)
	}
}

// onHost plans for the host in NODE, or without it the local one.
func onHost(plan func(*snapshot.Host, fixes.Args) (*fixes.Plan, error)) planner {
	return func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, err := hostOf(d, a["NODE"])
		if err != nil {
			return nil, err
		}
		return plan(h, a)
	}
}

// onSwitch plans for the local host, with its Open_vSwitch database.
func onSwitch(plan func(*snapshot.Host, *snapshot.Switch, fixes.Args) (*fixes.Plan, error)) planner {
	return onNode(func(h *snapshot.Host, a fixes.Args) (*fixes.Plan, error) {
		sw, err := h.Switch()
		if err != nil {
			return nil, err
		}
		return plan(h, sw, a)
	})
}

// onBridge plans for this host's bridge in BRIDGE.
func onBridge(plan func(*snapshot.Host, *snapshot.Switch, *vswitch.BridgeBrief, fixes.Args) (*fixes.Plan, error)) planner {
	return onSwitch(func(h *snapshot.Host, sw *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
		b, err := bridgeNamed(h, sw, a["BRIDGE"])
		if err != nil {
			return nil, err
		}
		return plan(h, sw, b, a)
	})
}

// onInterface plans for this host's interface in INTERFACE.
func onInterface(plan func(*snapshot.Host, *snapshot.Switch, snapshot.BridgeInterface) (*fixes.Plan, error)) planner {
	return onSwitch(func(h *snapshot.Host, sw *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
		iface, err := interfaceNamed(h, sw, a["INTERFACE"])
		if err != nil {
			return nil, err
		}
		return plan(h, sw, iface)
	})
}

// onTunnel plans for the tunnel port in PORT of the host in NODE, or without it of the local one.
func onTunnel(plan func(*snapshot.Host, *snapshot.Switch, snapshot.BridgeInterface) (*fixes.Plan, error)) planner {
	return onHost(func(h *snapshot.Host, a fixes.Args) (*fixes.Plan, error) {
		s, err := h.Switch()
		if err != nil {
			return nil, err
		}
		var names []string
		for _, p := range s.BridgeInterfaces() {
			if !facts.IsTunnel(p.Type) {
				continue
			}
			names = append(names, p.Port.Name)
			if p.Port.Name == a["PORT"] {
				return plan(h, s, p)
			}
		}
		return nil, fmt.Errorf("no tunnel port %q; %s has %s", a["PORT"], h.Name, several(names))
	})
}

// localNetwork returns the local host, with its links, addresses and routes.
func localNetwork(d *snapshot.Deployment) (*snapshot.Host, *node.Network, error) {
	h := d.Local()
	if h == nil {
		return nil, nil, fixes.Refuse("run it on the node", "the network of a host can be changed only on that host")
	}
	n, err := h.Network()
	return h, n, err
}

// setPlan returns the plan that sets columns of one row: in a database of the host, or of a zone if h is nil.
func setPlan(h *snapshot.Host, set fixes.Set, touches string, warnings ...string) *fixes.Plan {
	plan := &fixes.Plan{Title: set.What, Touches: touches, Warnings: warnings, Steps: []fixes.Step{set.Step()}}
	if h != nil {
		plan.Host = h.Name
	}
	return plan
}

// hostOf returns the named host; the local one if empty.
func hostOf(d *snapshot.Deployment, name string) (*snapshot.Host, error) {
	if name == "" {
		return local(d)
	}
	if h := d.Host(name); h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("node %q is unreachable: run ovnctl there", name)
}

// rootRow returns the one row of table Open_vSwitch.
func rootRow(h *snapshot.Host, sw *snapshot.Switch) (ovsdb.Row, error) {
	if len(sw.OpenvSwitch) == 0 {
		return nil, fixes.Refuse("ovs-vsctl init", "the database of %s has no row in table Open_vSwitch", h.Name)
	}
	return &sw.OpenvSwitch[0], nil
}

// bridgeNamed returns a node's bridge by name.
func bridgeNamed(h *snapshot.Host, sw *snapshot.Switch, name string) (*vswitch.BridgeBrief, error) {
	if b := sw.Bridge(name); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("no bridge %q; %s has %s", name, h.Name, several(bridgeNames(sw)))
}

func bridgeNames(sw *snapshot.Switch) []string {
	return namesOf(sw.Bridges, func(b vswitch.BridgeBrief) string { return b.Name })
}

// interfaceNamed returns a bridge's interface by name; the error lists those with an iface-id.
func interfaceNamed(h *snapshot.Host, sw *snapshot.Switch, name string) (snapshot.BridgeInterface, error) {
	var names []string
	for _, p := range sw.BridgeInterfaces() {
		if p.Name == name {
			return p, nil
		}
		if p.ExternalIDs["iface-id"] != "" {
			names = append(names, p.Name)
		}
	}
	return snapshot.BridgeInterface{}, fmt.Errorf("no interface %q; %s has %s", name, h.Name, several(names))
}

// link returns a link of the host by name.
func link(n *node.Network, name string) (*node.Link, error) {
	if l := n.Link(name); l != nil {
		return l, nil
	}
	return nil, fmt.Errorf("no link %q; this node has %s", name, several(namesOf(n.Links, func(l node.Link) string { return l.Name })))
}

// checkNotMigrating refuses a port in a live migration.
func checkNotMigrating(p *nb.LogicalSwitchPortBrief) error {
	if value := p.Options["requested-chassis"]; strings.Contains(value, ",") {
		return fixes.Refuse("wait until it ends, or end it with the tool that started it", "port %s is in a live migration: requested-chassis=%s", p.Name, value)
	}
	return nil
}

// atBoot warns of host files that give a link an address at boot, and so bring the fault back.
func atBoot(h *snapshot.Host, link, bridge string) []string {
	all, err := facts.PersistentOf(h)
	if err != nil {
		return []string{fmt.Sprintf("cannot tell what gives %s its addresses at boot: %v", link, err)}
	}
	var warnings []string
	for _, p := range all {
		if p.Link != link || !p.Gives() {
			continue
		}
		what := "DHCP"
		if len(p.Addresses) > 0 {
			what = fmt.Sprint(p.Addresses[0])
		}
		warnings = append(warnings, fmt.Sprintf("%s of %s gives %s to %s: the fault is back after the next boot, unless the file names %s", p, p.Tool, what, link, bridge))
	}
	return warnings
}

// setBy lists the readable lines of the host's files that set a kernel setting at boot.
func setBy(h *snapshot.Host, name string) []string {
	var found []string
	for _, pattern := range []string{"/etc/sysctl.conf", "/etc/sysctl.d/*.conf", "/run/sysctl.d/*.conf", "/usr/lib/sysctl.d/*.conf"} {
		paths, _ := h.Glob(pattern)
		for _, p := range paths {
			text, _ := h.File(p)
			found = append(found, settingsIn(p, string(text), name)...)
		}
	}
	return found
}

func settingsIn(path, text, name string) []string {
	var found []string
	for i, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-"), "=")
		if ok && strings.ReplaceAll(strings.TrimSpace(key), ".", "/") == name {
			found = append(found, fmt.Sprintf("%s:%d sets it to %s", path, i+1, strings.TrimSpace(value)))
		}
	}
	return found
}

// namesOf returns the names of rows.
func namesOf[T any](rows []T, name func(T) string) []string {
	var names []string
	for _, r := range rows {
		names = append(names, name(r))
	}
	return names
}

// several lists at most twenty names, for an error or a plan.
func several(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 20:
		return fmt.Sprintf("%s and %d more", strings.Join(escape.Lines(names[:20]), ", "), len(names)-20)
	}
	return strings.Join(escape.Lines(names), ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
