//go:build lab

package topology_test

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// TestAgreement compares the graph, object by object, with what ovn-nbctl,
// ovn-sbctl and ovs-vsctl show of the same real deployments: nothing is missing
// and nothing is extra.
func TestAgreement(t *testing.T) {
	for name, wanted := range lab.Topologies() {
		t.Run(name, func(t *testing.T) { agreement(t, wanted, "") })
	}
}

// agreement compares one topology on one release, the system's if empty.
func agreement(t *testing.T, wanted lab.Topology, release string) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	l, err := lab.Up(ctx, wanted, lab.Options{Release: release})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	if !l.Topology.OVN {
		plain(ctx, t, l)
		return
	}
	g := openLab(ctx, t, l)
	nbctl := output(t, l.Command(ctx, "central", "ovn-nbctl", "--timeout=20", "show"))
	agree(t, "ovn-nbctl show", classic(nbctl), northbound(g, strings.Contains(nbctl, "ipv6-lla")))
	agree(t, "ovn-sbctl show", classic(output(t, l.Command(ctx, "central", "ovn-sbctl", "--timeout=20", "show"))), southbound(g))
	for _, n := range l.Topology.Nodes {
		agree(t, "ovs-vsctl show on "+n.Name, classic(output(t, l.Command(ctx, n.Name, "ovs-vsctl", "--timeout=20", "show"))), vswitch(g, n.Name))
	}
	allUp(t, g)
	partial(ctx, t, l, g)
	names(t, l, g)
}

// openLab reads all of a lab: its databases and every node.
func openLab(ctx context.Context, t *testing.T, l *lab.Lab) *topology.Graph {
	t.Helper()
	return open(ctx, t, cluster.Config{
		NB: l.NB(), SB: l.SB(), Way: node.Prefix(filepath.Join(l.Dir, "enter") + " {hostname}"), Timeout: 20 * time.Second,
	})
}

// plain compares the nodes of a lab without OVN, each of which is read by itself.
func plain(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	for _, n := range l.Topology.Nodes {
		g := open(ctx, t, cluster.Config{OVS: ovsRemote(l, n.Name), Timeout: 20 * time.Second})
		if len(g.Nodes) != 1 {
			t.Fatalf("%s: read %d nodes", n.Name, len(g.Nodes))
		}
		agree(t, "ovs-vsctl show on "+n.Name, classic(output(t, l.Command(ctx, n.Name, "ovs-vsctl", "--timeout=20", "show"))), vswitch(g, g.Nodes[0].Name))
		var tunnels []string
		for _, tunnel := range g.Tunnels {
			end := tunnel.Ends[0]
			tunnels = append(tunnels, fmt.Sprintf("%s %s key %s to %s %s", end.Port, end.Type, end.Key, end.RemoteIP, tunnel.State))
		}
		if want := []string{"vxlan0 vxlan key flow to flow up"}; !slices.Equal(tunnels, want) {
			t.Errorf("%s: tunnels %q, want %q", n.Name, tunnels, want)
		}
	}
}

func open(ctx context.Context, t *testing.T, config cluster.Config) *topology.Graph {
	t.Helper()
	c, err := cluster.Open(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.Gather(ctx)
	for _, p := range c.Problems {
		t.Log(p.Error())
	}
	g, err := topology.Load(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func ovsRemote(l *lab.Lab, node string) string {
	return "unix:" + filepath.Join(l.Dir, node, "run/openvswitch/db.sock")
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	return string(out)
}

// agree reports what is in only one of the two sets.
func agree(t *testing.T, tool string, classic, ours map[string]bool) {
	t.Helper()
	if len(classic) == 0 {
		t.Errorf("%s: shows nothing to compare with", tool)
	}
	for _, path := range slices.Sorted(maps.Keys(classic)) {
		if !ours[path] {
			t.Errorf("%s: missing: %s", tool, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		if !classic[path] {
			t.Errorf("%s: extra: %s", tool, path)
		}
	}
}

// classic reads the indented text of a show command as a set of paths, one for
// each line: "Bridge br-int/Port br-int/Interface br-int/type: internal".
func classic(text string) map[string]bool {
	set := map[string]bool{}
	type level struct {
		indent int
		path   string
	}
	var above []level
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		body := strings.TrimLeft(line, " ")
		if body == "" {
			continue
		}
		indent := len(line) - len(body)
		for len(above) > 0 && above[len(above)-1].indent >= indent {
			above = above[:len(above)-1]
		}
		body = normal(body)
		if body == "" {
			continue
		}
		path := body
		if len(above) > 0 {
			path = above[len(above)-1].path + "/" + body
		}
		above = append(above, level{indent, path})
		set[path] = true
	}
	return set
}

// normal is a line without quotes and with the members of its list or map in
// order. Words that stand for addresses found elsewhere do not count.
func normal(line string) string {
	line = strings.ReplaceAll(line, `"`, "")
	key, value, ok := strings.Cut(line, ": ")
	if !ok || !strings.HasPrefix(value, "[") && !strings.HasPrefix(value, "{") {
		return line
	}
	split := func(r rune) bool { return r == ',' || key == "addresses" && r == ' ' }
	var members []string
	for _, m := range strings.FieldsFunc(strings.Trim(value, "[]{}"), split) {
		if m = strings.TrimSpace(m); m != "" && m != "router" && m != "dynamic" {
			members = append(members, m)
		}
	}
	if key == "addresses" && len(members) == 0 {
		return ""
	}
	slices.Sort(members)
	return key + ": " + strings.Join(slices.Compact(members), " ")
}

type paths map[string]bool

// add adds a line below a path and returns the path to it.
func (s paths) add(above, format string, args ...any) string {
	line := normal(fmt.Sprintf(format, args...))
	if line == "" {
		return above
	}
	if above != "" {
		line = above + "/" + line
	}
	s[line] = true
	return line
}

func (s paths) optional(above, key, value string) {
	if value != "" {
		s.add(above, "%s: %s", key, value)
	}
}

// northbound is the graph as ovn-nbctl shows it, newer releases with link-local
// addresses.
func northbound(g *topology.Graph, linkLocal bool) paths {
	s := paths{}
	for _, sw := range g.Switches {
		at := s.add("", "switch %s (%s)%s", sw.UUID, sw.Name, aka(sw.DisplayName))
		for _, p := range g.PortsOn(sw.UUID) {
			port := s.add(at, "port %s%s", p.Name, aka(p.DisplayName))
			s.optional(port, "parent", p.Parent)
			if p.Tag != 0 {
				s.add(port, "tag: %d", p.Tag)
			}
			s.optional(port, "type", p.Type)
			addresses := slices.Concat(p.MACs, p.Addresses)
			if p.UnknownAddresses {
				addresses = append(addresses, "unknown")
			}
			s.add(port, "addresses: [%s]", strings.Join(addresses, " "))
			s.optional(port, "router-port", p.Options["router-port"])
		}
	}
	for _, r := range g.Routers {
		at := s.add("", "router %s (%s)%s", r.UUID, r.Name, aka(r.DisplayName))
		for _, p := range g.PortsOn(r.UUID) {
			if p.Type == "chassisredirect" {
				continue // the Southbound's
			}
			port := s.add(at, "port %s", p.Name)
			s.add(port, "mac: %s", strings.Join(p.MACs, " "))
			if linkLocal {
				s.optional(port, "ipv6-lla", p.LinkLocal)
			}
			s.add(port, "networks: [%s]", strings.Join(p.Networks, ", "))
			if p.Gateway != nil {
				var chassis []string
				for _, c := range p.Gateway.Chassis {
					chassis = append(chassis, c.Chassis)
				}
				s.add(port, "gateway chassis: [%s]", strings.Join(chassis, " "))
			}
		}
		for _, n := range g.NAT {
			if n.Router.UUID != r.UUID {
				continue
			}
			nat := s.add(at, "nat %s", n.UUID)
			s.add(nat, "external ip: %s", n.ExternalIP)
			s.add(nat, "logical ip: %s", n.LogicalIP)
			s.add(nat, "type: %s", n.Type)
			s.optional(nat, "external port(s)", n.ExternalPortRange)
		}
	}
	return s
}

func aka(name string) string {
	if name == "" {
		return ""
	}
	return " (aka " + name + ")"
}

// southbound is the graph as ovn-sbctl shows it.
func southbound(g *topology.Graph) paths {
	s := paths{}
	for _, c := range g.Topology.Chassis {
		at := s.add("", "Chassis %s", c.Name)
		s.optional(at, "hostname", c.Hostname)
		for _, e := range c.Encaps {
			encap := s.add(at, "Encap %s", e.Type)
			s.add(encap, "ip: %s", e.IP)
			s.options(encap, e.Options)
		}
		for _, p := range c.Ports {
			s.add(at, "Port_Binding %s", p)
		}
	}
	return s
}

// options adds a map as the tools show it.
func (s paths) options(above string, m map[string]string) {
	var pairs []string
	for k, v := range m {
		pairs = append(pairs, k+"="+v)
	}
	if len(pairs) > 0 {
		s.add(above, "options: {%s}", strings.Join(pairs, ", "))
	}
}

// vswitch is a node of the graph as ovs-vsctl shows it there.
func vswitch(g *topology.Graph, node string) paths {
	s := paths{}
	n := g.NodeByName(node)
	if n == nil {
		return s
	}
	root := s.add("", "%s", n.UUID)
	s.optional(root, "ovs_version", n.OVSVersion)
	for _, m := range n.Managers {
		s.connection(root, "Manager", m)
	}
	for _, b := range g.Bridges {
		if b.Node != node {
			continue
		}
		at := s.add(root, "Bridge %s", b.Name)
		s.optional(at, "fail_mode", b.FailMode)
		s.optional(at, "datapath_type", b.DatapathType)
		for _, c := range b.Controllers {
			s.connection(at, "Controller", c)
		}
		for _, p := range b.Ports {
			port := s.add(at, "Port %s", p.Name)
			if p.Tag != 0 {
				s.add(port, "tag: %d", p.Tag)
			}
			for _, i := range p.Interfaces {
				iface := s.add(port, "Interface %s", i.Name)
				s.optional(iface, "type", i.Type)
				s.optional(iface, "error", i.Error)
				s.options(iface, i.Options)
			}
		}
	}
	return s
}

func (s paths) connection(above, kind string, c topology.Connection) {
	at := s.add(above, "%s %s", kind, c.Target)
	if c.Connected {
		s.add(at, "is_connected: true")
	}
}

// allUp checks that a lab whose pods answer has nothing that is down.
func allUp(t *testing.T, g *topology.Graph) {
	t.Helper()
	for _, p := range g.Ports {
		if p.State == topology.StateDown || p.State == topology.StateUnknown {
			t.Errorf("port %s is %s: %s", p.Name, p.State, p.Why)
		}
	}
	for _, tunnel := range g.Tunnels {
		if tunnel.State != topology.StateUp {
			t.Errorf("tunnel %s is %s: %s", tunnel.Name, tunnel.State, tunnel.Why)
		}
	}
	chassis := len(g.Topology.Chassis)
	if want := chassis * (chassis - 1) / 2; len(g.Tunnels) != want {
		t.Errorf("%d tunnels between %d chassis, want %d", len(g.Tunnels), chassis, want)
	}
	for _, tunnel := range g.Tunnels {
		for _, e := range tunnel.Ends {
			if e.OFPort <= 0 || e.Key != "flow" || e.Carries == "" || e.RemoteIP == "" {
				t.Errorf("tunnel %s: incomplete end %+v", tunnel.Name, e)
			}
		}
	}
}

// partial checks that each database alone tells what it can, and the same as all
// of them together.
func partial(ctx context.Context, t *testing.T, l *lab.Lab, all *topology.Graph) {
	t.Helper()
	nowhere := "unix:" + filepath.Join(t.TempDir(), "none.sock")
	north := open(ctx, t, cluster.Config{NB: l.NB(), SB: nowhere, OVS: nowhere, Timeout: 5 * time.Second})
	agree(t, "Northbound alone", northbound(all, true), northbound(north, true))
	if len(north.Topology.Chassis)+len(north.Nodes)+len(north.Tunnels) > 0 {
		t.Errorf("Northbound alone: has chassis, nodes or tunnels")
	}
	for _, p := range north.Ports {
		if p.State == topology.StateDown {
			t.Errorf("Northbound alone: port %s is down: %s", p.Name, p.Why)
		}
	}

	south := open(ctx, t, cluster.Config{SB: l.SB(), NB: nowhere, OVS: nowhere, Timeout: 5 * time.Second})
	agree(t, "Southbound alone", southbound(all), southbound(south))
	for _, p := range all.Ports {
		o := south.PortByName(p.Name)
		switch {
		case o == nil:
			t.Errorf("Southbound alone: no port %s", p.Name)
		case o.Kind != p.Kind || o.Type != p.Type || o.TunnelKey != p.TunnelKey || o.Chassis != p.Chassis || o.Pod != p.Pod:
			t.Errorf("Southbound alone: port %s is %s %q key %d on %q of %q, want %s %q key %d on %q of %q", p.Name,
				o.Kind, o.Type, o.TunnelKey, o.Chassis, o.Pod, p.Kind, p.Type, p.TunnelKey, p.Chassis, p.Pod)
		case p.Kind == topology.RouterPort && !slices.Equal(o.Prefixes(), p.Prefixes()):
			t.Errorf("Southbound alone: port %s has networks %v, want %v", p.Name, o.Networks, p.Networks)
		case o.State == topology.StateDown:
			t.Errorf("Southbound alone: port %s is down: %s", p.Name, o.Why)
		}
	}
	for _, s := range all.Switches {
		if o, _ := south.Object(s.UUID).(*topology.Switch); o == nil || o.Name != s.Name || o.TunnelKey != s.TunnelKey || !slices.Equal(o.Ports, s.Ports) {
			t.Errorf("Southbound alone: switch %s is %+v", s.Name, o)
		}
	}
	if len(south.LoadBalancers) == 0 != (len(all.LoadBalancers) == 0) {
		t.Errorf("Southbound alone: %d load balancers, want about %d", len(south.LoadBalancers), len(all.LoadBalancers))
	}

	node := l.Topology.Nodes[0].Name
	alone := open(ctx, t, cluster.Config{OVS: ovsRemote(l, node), NB: nowhere, SB: nowhere, Timeout: 5 * time.Second})
	if len(alone.Nodes) != 1 {
		t.Fatalf("Open_vSwitch alone: %d nodes", len(alone.Nodes))
	}
	agree(t, "Open_vSwitch alone", vswitch(all, node), vswitch(alone, alone.Nodes[0].Name))
}

// names checks that every pod and service is found by what people call it.
func names(t *testing.T, l *lab.Lab, g *topology.Graph) {
	t.Helper()
	for _, pod := range l.Topology.Pods {
		asked := []string{"lsp:" + pod.Name, "ip:" + pod.IPv4.Addr().String(), pod.IPv4.Addr().String()}
		if g.PortByName(pod.Name).ExternalIDs["namespace"] != "" || g.PortByName(pod.Name).ExternalIDs["pod"] != "" {
			asked = append(asked, pod.Namespace+"/"+pod.Pod, "pod:"+pod.Namespace+"/"+pod.Pod)
		}
		for _, text := range asked {
			m, err := g.ResolveOne(text, topology.Endpoints...)
			if err != nil {
				t.Error(err)
				continue
			}
			if m.Port.Name != pod.Name || m.Chassis == nil || m.Node == nil || m.Node.Name != pod.Node || !slices.Contains(m.MACs, pod.MAC) || !slices.Contains(m.Addresses, pod.IPv4.Addr()) {
				t.Errorf("%s: found %s on %+v with %v %v", text, m.Port.Name, m.Node, m.MACs, m.Addresses)
			}
			if len(m.Port.Interfaces) != 1 || m.Port.Interfaces[0].Interface != pod.Link {
				t.Errorf("%s: is carried by %+v, want %s", text, m.Port.Interfaces, pod.Link)
			}
		}
	}
	for _, service := range l.Topology.Services {
		backends, ok := g.Backends(service.VIP4, service.Port, service.Protocol)
		if !ok || len(backends) != len(service.Backends) {
			t.Errorf("service %s: %d backends (%v), want %d", service.Name, len(backends), ok, len(service.Backends))
		}
		for _, b := range backends {
			if b.Target == nil || !slices.Contains(service.Backends, b.Target.Name) || b.Port != service.Target {
				t.Errorf("service %s: backend %+v", service.Name, b)
			}
		}
	}
	for _, n := range l.Topology.Nodes {
		m, err := g.ResolveOne("node:"+n.Name, topology.Endpoints...)
		if err != nil {
			t.Error(err)
			continue
		}
		if m.Chassis == nil || m.Chassis.Name != n.SystemID || !slices.Contains(m.Addresses, n.IPv4.Addr()) {
			t.Errorf("node %s: %+v", n.Name, m)
		}
	}
}
