package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/inventory"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (t *topologyText) tables(w io.Writer, s Style, wide bool) error {
	return WriteTables(w, s, !wide, t.tableList(wide)...)
}

// tableList returns the topology as tables; wide adds rules, keys and UUIDs.
func (t *topologyText) tableList(wide bool) []*Table {
	list := []*Table{
		t.switchColumns().table("Switches", t.Switches, wide), t.routerColumns().table("Routers", t.Routers, wide),
		t.portColumns().table("Ports", t.Ports, wide), t.chassisColumns().table("Chassis", t.Document.Chassis, wide),
		t.bridgeColumns().table("Bridges", t.Bridges, wide), t.tunnelColumns().table("Tunnels", t.Tunnels, wide),
		t.balancerColumns().table("Load balancers", t.LoadBalancers, false),
	}
	if wide {
		list = append(list,
			t.natColumns().table("NAT", t.NAT, true), t.routeColumns().table("Static routes", routesOf(t.Routers), true),
			t.policyColumns().table("Router policies", t.Policies, true), t.groupColumns().table("Port groups", t.PortGroups, true),
			t.interfaceColumns().table("Bridge ports", interfacesOf(t.Bridges), true))
	} else if len(t.Switches)+len(t.Routers)+len(t.Ports) == 0 {
		list = append(list, t.interfaceColumns().table("Bridge ports", interfacesOf(t.Bridges), false))
	}
	notes := &Table{Title: "Notes", Header: []string{"NOTE"}}
	for _, n := range t.view.Notes {
		notes.Row(Text(n))
	}
	return append(list, notes)
}

func routesOf(routers []*topology.Router) (all []*inventory.Route) {
	for _, r := range routers {
		for _, route := range r.Routes {
			all = append(all, &inventory.Route{Router: topology.Ref{UUID: r.UUID, Name: r.Name}, Route: route})
		}
	}
	return all
}

func interfacesOf(bridges []*topology.Bridge) (all []*inventory.Interface) {
	for _, b := range bridges {
		for _, p := range b.Ports {
			for _, i := range p.Interfaces {
				all = append(all, inventory.InterfaceOf(b, p, i))
			}
		}
	}
	return all
}

// columnsOf are the columns of a table of objects of one type.
type columnsOf[T any] struct {
	header []string
	more   []string // of the wide format
	// rows adds the rows of an object, nearly always one: cells below header, and below more.
	rows func(x T, add func(cells, more []Line))
}

// table returns the table of a list of objects.
func (c columnsOf[T]) table(title string, list []T, wide bool) *Table {
	tb := &Table{Title: title, Header: c.header}
	if wide {
		tb.Header = slices.Concat(c.header, c.more)
	}
	for _, x := range list {
		c.rows(x, func(cells, more []Line) {
			if wide {
				cells = slices.Concat(cells, more)
			}
			tb.Row(cells...)
		})
	}
	return tb
}

func joined(words []string) Line { return Text(strings.Join(words, " ")) }

func number(n int) Line {
	if n == 0 {
		return nil
	}
	return Text(fmt.Sprint(n))
}

func (t *topologyText) switchColumns() columnsOf[*topology.Switch] {
	return columnsOf[*topology.Switch]{
		[]string{"SWITCH", "SUBNETS", "PORTS", "ACLS"}, []string{"KEY", "ZONE", "UUID"},
		func(s *topology.Switch, add func(cells, more []Line)) {
			add([]Line{nameLine(s.Name, s.DisplayName), joined(s.Subnets), number(len(s.Ports)), number(len(s.ACLs))},
				[]Line{number(s.TunnelKey), Text(s.Zone), Text(s.UUID)})
		},
	}
}

func (t *topologyText) routerColumns() columnsOf[*topology.Router] {
	policies, nat := map[string]int{}, map[string]int{}
	for _, p := range t.Policies {
		policies[p.Router.UUID]++
	}
	for _, n := range t.NAT {
		nat[n.Router.UUID]++
	}
	return columnsOf[*topology.Router]{
		[]string{"ROUTER", "CHASSIS", "PORTS", "ROUTES", "POLICIES", "NAT"}, []string{"KEY", "ZONE", "UUID"},
		func(r *topology.Router, add func(cells, more []Line)) {
			add([]Line{nameLine(r.Name, r.DisplayName), Text(t.label(r.Chassis)), number(len(r.Ports)), number(len(r.Routes)), number(policies[r.UUID]), number(nat[r.UUID])},
				[]Line{number(r.TunnelKey), Text(r.Zone), Text(r.UUID)})
		},
	}
}

func (t *topologyText) portColumns() columnsOf[*topology.Port] {
	return columnsOf[*topology.Port]{
		[]string{"PORT", "TYPE", "ON", "ADDRESSES", "CHASSIS", "STATE"},
		[]string{"NAME", "MAC", "KEY", "INTERFACE", "OFPORT", "PEER", "REQUESTED", "WHY", "ZONE", "UUID"},
		func(p *topology.Port, add func(cells, more []Line)) {
			addresses := p.Addresses
			if p.Kind == topology.RouterPort {
				addresses = p.Networks
			}
			peer := ""
			if p.Peer != nil {
				peer = p.Peer.Name
			}
			iface, ofport := attachedTo(p)
			add([]Line{Text(p.Label(), Name), Text(portType(p)), Text(t.datapathOf(p)), joined(addresses), Text(t.label(p.Chassis)), stateLine(p)},
				[]Line{Text(p.Name), joined(p.MACs), number(p.TunnelKey), iface, ofport, Text(peer), Text(t.labels(p.RequestedChassis)), Text(p.Why), Text(p.Zone), Text(p.UUID)})
		},
	}
}

// workloadColumns are those of pods and virtual machines.
func (t *topologyText) workloadColumns(title string) columnsOf[*topology.Port] {
	return columnsOf[*topology.Port]{
		[]string{title, "ADDRESSES", "SWITCH", "NODE", "STATE"},
		[]string{"PORT", "MAC", "KEY", "INTERFACE", "OFPORT", "WHY", "ZONE", "UUID"},
		func(p *topology.Port, add func(cells, more []Line)) {
			iface, ofport := attachedTo(p)
			add([]Line{Text(p.Label(), Name), joined(p.Addresses), Text(t.datapathOf(p)), Text(t.label(p.Chassis)), stateLine(p)},
				[]Line{Text(p.Name), joined(p.MACs), number(p.TunnelKey), iface, ofport, Text(p.Why), Text(p.Zone), Text(p.UUID)})
		},
	}
}

// datapathOf returns what users call the switch or router that a port is on.
func (t *topologyText) datapathOf(p *topology.Port) string {
	on := p.Switch
	if on == nil {
		on = p.Router
	}
	if on == nil {
		return ""
	}
	return t.called(*on)
}

// called returns what users call a switch or router.
func (t *topologyText) called(on topology.Ref) string { return cmp.Or(t.display[on.UUID], on.Name) }

// stateLine is the state of a port, with the reason why it is down.
func stateLine(p *topology.Port) Line {
	state := p.State
	if p.Reason != "" && p.State == topology.StateDown {
		state += ": " + p.Reason
	}
	return Text(state, stateLook(p.State))
}

// attachedTo returns the interfaces that carry a port, as NODE/INTERFACE, and their OpenFlow ports.
func attachedTo(p *topology.Port) (interfaces, ofports Line) {
	var iface, ofport []string
	for _, a := range p.Interfaces {
		iface = append(iface, a.Node+"/"+a.Interface)
		ofport = append(ofport, fmt.Sprint(a.OFPort))
	}
	return joined(iface), joined(ofport)
}

func (t *topologyText) chassisColumns() columnsOf[*topology.Chassis] {
	return columnsOf[*topology.Chassis]{
		[]string{"CHASSIS", "ENCAPS", "NETWORKS", "PORTS", "READ"}, []string{"SYSTEM-ID", "ZONE", "UUID"},
		func(c *topology.Chassis, add func(cells, more []Line)) {
			read := "no"
			switch {
			case c.Remote:
				read = "remote"
			case c.Node != "":
				read = "yes"
			}
			add([]Line{Text(chassisLabel(c), Name), encapsLine(c.Encaps), mappingsLine(c.BridgeMappings), number(len(c.Ports)), Text(read)},
				[]Line{Text(c.Name), Text(c.Zone), Text(c.UUID)})
		},
	}
}

func encapsLine(encaps []topology.Encap) Line {
	var all []string
	for _, e := range encaps {
		all = append(all, e.Type+":"+e.IP)
	}
	return joined(all)
}

func mappingsLine(mappings []topology.BridgeMapping) Line {
	var all []string
	for _, m := range mappings {
		all = append(all, m.Network+":"+m.Bridge)
	}
	return joined(all)
}

func (t *topologyText) nodeColumns() columnsOf[*topology.Node] {
	return columnsOf[*topology.Node]{
		[]string{"NODE", "ENCAPS", "NETWORKS", "BRIDGES", "OVS"}, []string{"SYSTEM-ID", "SYSTEM", "INTEGRATION", "ZONE", "UUID"},
		func(n *topology.Node, add func(cells, more []Line)) {
			add([]Line{Text(n.Name, Name), encapsLine(n.Encaps), mappingsLine(n.BridgeMappings), joined(n.Bridges), Text(n.OVSVersion)},
				[]Line{Text(n.SystemID), Text(n.System), Text(n.IntegrationBridge), Text(n.Zone), Text(n.UUID)})
		},
	}
}

func (t *topologyText) bridgeColumns() columnsOf[*topology.Bridge] {
	return columnsOf[*topology.Bridge]{
		[]string{"NODE", "BRIDGE", "PORTS", "UPLINKS", "NETWORKS"}, []string{"DATAPATH", "FAIL-MODE", "CONTROLLERS", "UUID"},
		func(b *topology.Bridge, add func(cells, more []Line)) {
			var controllers []string
			for _, c := range b.Controllers {
				controllers = append(controllers, c.Target)
			}
			add([]Line{Text(b.Node), Text(b.Name, Name), number(len(b.Ports)), joined(b.Uplinks), joined(b.Networks)},
				[]Line{Text(b.DatapathType), Text(b.FailMode), joined(controllers), Text(b.UUID)})
		},
	}
}

func (t *topologyText) tunnelColumns() columnsOf[*topology.Tunnel] {
	return columnsOf[*topology.Tunnel]{
		[]string{"FROM", "TO", "TYPE", "REMOTE", "PORT", "STATE"}, []string{"OFPORT", "KEY", "LOCAL", "EGRESS", "WHY"},
		func(tunnel *topology.Tunnel, add func(cells, more []Line)) {
			for _, e := range tunnel.Ends {
				from, to := e.Node, ""
				switch {
				case len(tunnel.Chassis) != 2:
				case e.Chassis == tunnel.Chassis[1]:
					from, to = t.label(tunnel.Chassis[1]), t.label(tunnel.Chassis[0])
				default:
					from, to = t.label(tunnel.Chassis[0]), t.label(tunnel.Chassis[1])
				}
				add([]Line{Text(from, Name), Text(to, Name), Text(e.Type), Text(e.RemoteIP), Text(e.Port), Text(tunnel.State, stateLook(tunnel.State))},
					[]Line{number(e.OFPort), Text(e.Key), Text(e.LocalIP), Text(e.Egress), Text(tunnel.Why)})
			}
		},
	}
}

func (t *topologyText) balancerColumns() columnsOf[*topology.LoadBalancer] {
	return columnsOf[*topology.LoadBalancer]{
		[]string{"SERVICE", "PROTOCOL", "VIP", "BACKENDS", "ON"}, []string{"NAME", "FOR", "ZONE", "UUID"},
		func(lb *topology.LoadBalancer, add func(cells, more []Line)) {
			for _, v := range lb.VIPs {
				backends := joined(v.Backends)
				if len(v.Backends) == 0 {
					backends = Text("none", Warn)
				}
				add([]Line{Text(cmp.Or(lb.Service, lb.Name), Name), Text(lb.Protocol), Text(v.String()), backends, Text(strings.ReplaceAll(appliedTo(lb), "on ", ""))},
					[]Line{Text(lb.Name), Text(lb.Owner.String()), Text(lb.Zone), Text(lb.UUID)})
			}
		},
	}
}

func (t *topologyText) natColumns() columnsOf[*topology.NAT] {
	return columnsOf[*topology.NAT]{
		[]string{"ROUTER", "TYPE", "EXTERNAL", "LOGICAL", "PORT", "GATEWAY"}, []string{"UUID"},
		func(n *topology.NAT, add func(cells, more []Line)) {
			add([]Line{Text(t.called(n.Router), Name), Text(n.Type), Text(n.ExternalIP), Text(n.LogicalIP), Text(n.LogicalPort), Text(n.GatewayPort)},
				[]Line{Text(n.UUID)})
		},
	}
}

func (t *topologyText) routeColumns() columnsOf[*inventory.Route] {
	return columnsOf[*inventory.Route]{
		[]string{"ROUTER", "PREFIX", "NEXT HOP", "POLICY", "OUTPUT", "TABLE"}, []string{"UUID"},
		func(r *inventory.Route, add func(cells, more []Line)) {
			add([]Line{Text(t.called(r.Router), Name), Text(r.Prefix), Text(r.NextHop), Text(r.Policy), Text(r.OutputPort), Text(r.Table)},
				[]Line{Text(r.UUID)})
		},
	}
}

func (t *topologyText) policyColumns() columnsOf[*topology.Policy] {
	return columnsOf[*topology.Policy]{
		[]string{"ROUTER", "PRIORITY", "ACTION", "NEXT HOPS", "MATCH"}, []string{"UUID"},
		func(p *topology.Policy, add func(cells, more []Line)) {
			add([]Line{Text(t.called(p.Router), Name), number(p.Priority), Text(p.Action), joined(p.NextHops), Text(p.Match)}, []Line{Text(p.UUID)})
		},
	}
}

func (t *topologyText) groupColumns() columnsOf[*topology.PortGroup] {
	return columnsOf[*topology.PortGroup]{
		[]string{"PORT GROUP", "FOR", "PORTS", "ACLS"}, []string{"UUID"},
		func(pg *topology.PortGroup, add func(cells, more []Line)) {
			add([]Line{Text(pg.Name, Name), Text(pg.Owner.String()), number(len(pg.Ports)), number(len(pg.ACLs))}, []Line{Text(pg.UUID)})
		},
	}
}

func (t *topologyText) aclColumns() columnsOf[*inventory.ACL] {
	return columnsOf[*inventory.ACL]{
		[]string{"FOR", "DIRECTION", "PRIORITY", "ACTION", "MATCH"}, []string{"ON", "TIER", "NAME", "LOG", "ZONE", "UUID"},
		func(a *inventory.ACL, add func(cells, more []Line)) {
			log := ""
			if a.Log {
				log = "yes"
			}
			add([]Line{Text(cmp.Or(a.Owner.String(), t.called(a.On)), Name), Text(a.Direction), number(a.Priority), Text(a.Action), Text(a.Match)},
				[]Line{Text(t.called(a.On)), number(a.Tier), Text(a.Name), Text(log), Text(a.Zone), Text(a.UUID)})
		},
	}
}

func (t *topologyText) interfaceColumns() columnsOf[*inventory.Interface] {
	return columnsOf[*inventory.Interface]{
		[]string{"NODE", "BRIDGE", "PORT", "ROLE", "OFPORT", "VLAN", "LOGICAL PORT", "LINK", "ERROR"}, []string{"INTERFACE", "TYPE", "UUID"},
		func(i *inventory.Interface, add func(cells, more []Line)) {
			add([]Line{Text(i.Node), Text(i.Bridge), Text(i.Port, Name), Text(i.Role), number(i.OFPort), number(i.Tag), Text(i.LogicalPort), Text(i.LinkState), Text(i.Error, Bad)},
				[]Line{Text(i.Name), Text(i.Type), Text(i.UUID)})
		},
	}
}

// markdown writes the topology for a ticket: the summary, what is wrong, and tables.
func (t *topologyText) markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("## Topology\n\n")
	for _, l := range t.summary() {
		b.WriteString("- " + Markdown(l.String()) + "\n")
	}
	for _, from := range t.view.From {
		b.WriteString("- read from " + Markdown(from) + "\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	troubles := &Table{Title: "Problems", Header: []string{"STATE", "TYPE", "NAME", "WHY"}}
	for _, cells := range t.troubles() {
		troubles.Row(cells...)
	}
	if err := WriteMarkdownTables(w, append([]*Table{troubles}, t.tableList(false)...)...); err != nil {
		return err
	}
	if len(t.Commands) == 0 {
		return nil
	}
	_, err := io.WriteString(w, "\n### The same with the classic tools\n\n```\n"+CleanLines(strings.Join(t.Commands, "\n"))+"\n```\n")
	return err
}
