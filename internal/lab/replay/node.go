package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// textLimit bounds a saved text, in bytes.
const textLimit = 16 << 20

// addNode adds a node with its uplinks, flows and network.
func (d *deployment) addNode(n *node) error {
	ids := n.Switch[0].ExternalIDs
	encap, err := netip.ParseAddr(ids["ovn-encap-ip"])
	if err != nil {
		return errors.New("no encap address")
	}
	made := lab.Node{
		Name: n.name, SystemID: ids["system-id"], Encap: ids["ovn-encap-type"],
		IPv4:     netip.PrefixFrom(encap, d.topology.Underlay.Routers[0].Bits()),
		OpenFlow: map[string][]string{}, Interfaces: map[string]int{},
	}
	made.Vswitch = userspace(n)
	for _, b := range n.Bridges {
		if b.Name == d.topology.Bridge {
			continue
		}
		flows, err := d.flows(n, b.Name)
		if err != nil {
			return err
		}
		made.OpenFlow[b.Name] = flows
		maps.Copy(made.Interfaces, n.openFlowPorts(b))
	}
	made.Uplinks, err = d.uplinks(n)
	if err != nil {
		return err
	}
	if made.Network, err = d.network(n, made); err != nil {
		return err
	}
	d.topology.Nodes = append(d.topology.Nodes, made)
	return nil
}

// userspace returns the commands that move bridges to the userspace datapath: a lab has no other.
func userspace(n *node) [][]string {
	var commands [][]string
	for _, b := range n.Bridges {
		if b.DatapathType != "netdev" {
			commands = append(commands, []string{"set", "Bridge", b.Name, "datapath_type=netdev"})
		}
	}
	if len(commands) > 0 {
		commands = append(commands, []string{"set", "Open_vSwitch", ".", "external_ids:ovn-bridge-datapath-type=netdev"})
	}
	return commands
}

// text returns a node's saved text; empty if it was not saved.
func (d *deployment) text(n *node, names ...string) (string, error) {
	for _, name := range names {
		text, err := d.tree.ReadFile(filepath.Join(n.name, name), textLimit)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return string(text), err
		}
	}
	return "", nil
}

// counters are the words of a dump that ovs-ofctl does not take back.
var counters = regexp.MustCompile(`\b(duration|n_packets|n_bytes|idle_age|hard_age)=[^, ]*,? ?`)

// flows returns a bridge's saved flows as ovs-ofctl add-flows takes them. They name ports by number: see lab.Node.
func (d *deployment) flows(n *node, bridge string) ([]string, error) {
	text, err := d.text(n, "ovs-ofctl_dump-flows_"+bridge, "flows-"+bridge+".txt")
	if err != nil {
		return nil, err
	}
	var flows []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "actions=") {
			flows = append(flows, strings.TrimSpace(counters.ReplaceAllString(line, "")))
		}
	}
	return flows, nil
}

// interfacesOf returns the interfaces of a bridge.
func (n *node) interfacesOf(b vswitch.BridgeBrief) []vswitch.Interface {
	var all []vswitch.Interface
	for _, p := range n.Ports {
		for _, i := range n.Interfaces {
			if b.Ports.Has(p.UUID) && p.Interfaces.Has(i.UUID) {
				all = append(all, i)
			}
		}
	}
	return all
}

// uplinks returns the physical interfaces: those in bridges other than the integration bridge. Where a dump of the bridge's
// ports has the MAC address, it is kept: the bridge has the same, and so has a gateway router on it.
func (d *deployment) uplinks(n *node) ([]lab.Uplink, error) {
	var all []lab.Uplink
	for _, b := range n.Bridges {
		if b.Name == d.topology.Bridge {
			continue
		}
		ports, err := d.text(n, "ovs-ofctl_dump-ports-desc_"+b.Name, "ovs-ofctl_show_"+b.Name, "ports-"+b.Name+".txt")
		if err != nil {
			return nil, err
		}
		for _, i := range n.interfacesOf(b) {
			if i.Type == "" {
				all = append(all, lab.Uplink{Name: i.Name, MAC: portMAC(ports, i.Name)})
			}
		}
	}
	slices.SortFunc(all, func(a, b lab.Uplink) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// portMAC finds the MAC address of a port in what ovs-ofctl(8) shows of a bridge.
func portMAC(text, name string) string {
	for line := range strings.Lines(text) {
		_, mac, ok := strings.Cut(line, "("+name+"): addr:")
		if _, err := net.ParseMAC(strings.TrimSpace(mac)); ok && err == nil {
			return strings.TrimSpace(mac)
		}
	}
	return ""
}

// underlayBridge returns the bridge with the first uplink: with the userspace datapath it has the node's address.
func (n *node) underlayBridge(uplinks []lab.Uplink) string {
	for _, b := range n.Bridges {
		for _, i := range n.interfacesOf(b) {
			if len(uplinks) > 0 && i.Name == uplinks[0].Name {
				return b.Name
			}
		}
	}
	return ""
}

// network returns the commands that give the node its addresses, routes, rules and packet filter.
func (d *deployment) network(n *node, made lab.Node) ([]string, error) {
	var lines []string
	// The kernel must not process what the userspace datapath takes from an uplink: bridge and uplink share a MAC address.
	for _, u := range made.Uplinks {
		lines = append(lines, fmt.Sprintf("nft 'table netdev replay { chain %s { type filter hook ingress device %[1]s priority 0; policy drop; }; }'", u.Name))
	}
	for _, b := range n.Bridges {
		if b.Name != d.topology.Bridge {
			lines = append(lines, "ip link set "+b.Name+" up")
		}
	}
	addresses, err := d.text(n, "ip_addr")
	if err != nil {
		return nil, err
	}
	if addresses == "" {
		return append(lines, d.impliedNetwork(n, made)...), nil
	}
	saved, err := d.savedNetwork(n, addresses)
	return append(lines, saved...), err
}

// impliedNetwork returns the network of a node of which no text was saved: its encap address, and what a CMS gives the
// node's own logical port.
func (d *deployment) impliedNetwork(n *node, made lab.Node) []string {
	bridge := n.underlayBridge(made.Uplinks)
	lines := []string{
		"ip addr add " + made.IPv4.String() + " dev " + bridge,
		"ip route add default via " + d.topology.Underlay.Routers[0].Addr().String(),
	}
	z := d.zoneOf(n)
	for _, i := range n.Interfaces {
		port, ok := z.port(i.ExternalIDs["iface-id"])
		if i.Type == "internal" && ok {
			lines = append(lines, d.ownPort(z, port, i.Name, bridge)...)
		}
	}
	return lines
}

// ownPort returns the commands for a node's own logical port: its address, routes to the networks behind the router on its
// switch, and masquerade for them where they leave by the node, as kube-ovn-cni has it.
func (d *deployment) ownPort(z *zone, port nb.LogicalSwitchPortBrief, device, bridge string) []string {
	_, addrs := portAddresses(port)
	routers := z.routersOn(port.UUID)
	if len(addrs) == 0 || len(routers) == 0 {
		return nil
	}
	join := routers[0]
	lines := []string{
		"echo 1 > /proc/sys/net/ipv4/ip_forward",
		"ip link set " + device + " up",
		fmt.Sprintf("ip addr add %s/%d dev %s", addrs[0], join.Bits(), device),
	}
	var behind []string
	for _, p := range z.behind(join) {
		behind = append(behind, p.String())
		lines = append(lines, fmt.Sprintf("ip route add %s via %s src %s", p, join.Addr(), addrs[0]))
	}
	if len(behind) == 0 {
		return lines
	}
	set := strings.Join(append(behind, join.Masked().String()), ", ")
	return append(lines, fmt.Sprintf("nft 'table ip replay { chain out { type nat hook postrouting priority srcnat; ip saddr { %s } ip daddr != { %s } oifname \"%s\" masquerade; }; }'",
		strings.Join(behind, ", "), set, bridge))
}

// behind returns the other networks of the router that has an address.
func (z *zone) behind(join netip.Prefix) []netip.Prefix {
	for _, r := range z.Routers {
		var others []netip.Prefix
		found := false
		for _, rp := range z.RouterPorts {
			if !r.Ports.Has(rp.UUID) {
				continue
			}
			if slices.Contains(networks(rp), join) {
				found = true
				continue
			}
			for _, p := range networks(rp) {
				others = append(others, p.Masked())
			}
		}
		if found {
			return others
		}
	}
	return nil
}

// word is a word of a saved route or rule.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:/_-]*$`)

// words returns a line as one command's words; empty if the line has others than addresses, numbers and names.
func words(line string) string {
	f := strings.Fields(line)
	if slices.ContainsFunc(f, func(w string) bool { return !word.MatchString(w) }) {
		return ""
	}
	return strings.Join(f, " ")
}

// savedNetwork returns the commands that make a node's network from what ip(8) and nft(8) printed there.
func (d *deployment) savedNetwork(n *node, addresses string) ([]string, error) {
	routes, err := d.text(n, "ip_route")
	if err != nil {
		return nil, err
	}
	rules, err := d.text(n, "ip_rule")
	if err != nil {
		return nil, err
	}
	filter, err := d.text(n, "nft_ruleset")
	if err != nil {
		return nil, err
	}
	lines := savedAddresses(n, addresses)
	lines = append(lines, d.neighbours(n, addresses)...)
	for line := range strings.Lines(routes) {
		if route := words(line); route != "" && !strings.Contains(route, "proto kernel") {
			lines = append(lines, "ip route replace "+route)
		}
	}
	for line := range strings.Lines(rules) {
		priority, rule, ok := strings.Cut(line, ":")
		if ok && !slices.Contains([]string{"0", "32766", "32767"}, priority) && words(priority) != "" && words(rule) != "" {
			lines = append(lines, "ip rule add priority "+words(priority)+" "+words(rule))
		}
	}
	if filter != "" {
		// nft(8) before 1.0.7 has no name for this priority in the output hook.
		filter = strings.ReplaceAll(filter, "hook output priority dstnat", "hook output priority -100")
		lines = append(lines, "nft -f - <<'end of the ruleset'\n"+strings.ReplaceAll(filter, "end of the ruleset", "")+"\nend of the ruleset")
	}
	return lines, nil
}

// savedAddresses returns the commands for the addresses of a node's internal interfaces.
func savedAddresses(n *node, text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		is := func(i vswitch.Interface) bool { return i.Type == "internal" && i.Name == f[0] }
		if len(f) < 3 || !slices.ContainsFunc(n.Interfaces, is) || words(f[0]) == "" {
			continue
		}
		lines = append(lines, "ip link set "+f[0]+" up")
		for _, p := range prefixes(f[2:]) {
			lines = append(lines, "ip addr add "+p.String()+" dev "+f[0])
		}
	}
	return lines
}

// prefixes returns the addresses among words, without link-local IPv6: the kernel makes those.
func prefixes(words []string) []netip.Prefix {
	var all []netip.Prefix
	for _, w := range words {
		if p, err := netip.ParsePrefix(w); err == nil && !(p.Addr().Is6() && p.Addr().IsLinkLocalUnicast()) {
			all = append(all, p)
		}
	}
	return all
}

// neighbours returns the commands for the neighbours that a CMS makes up on both sides: those that the Northbound has as
// static are permanent on the node too.
func (d *deployment) neighbours(n *node, addresses string) []string {
	known := map[string]bool{}
	var lines []string
	for _, s := range d.zoneOf(n).Neighbours {
		a, err := netip.ParseAddr(s.IP)
		if _, bad := net.ParseMAC(s.MAC); err != nil || bad != nil || known[s.IP] {
			continue
		}
		known[s.IP] = true
		for line := range strings.Lines(addresses) {
			f := strings.Fields(line)
			near := func(p netip.Prefix) bool { return p.Contains(a) && p.Addr() != a }
			if len(f) > 2 && slices.ContainsFunc(prefixes(f[2:]), near) && words(f[0]) != "" {
				lines = append(lines, fmt.Sprintf("ip neigh replace %s lladdr %s dev %s nud permanent", a, s.MAC, f[0]))
			}
		}
	}
	return lines
}
