package render

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (t *topologyText) tables(w io.Writer, s Style, wide bool) error {
	return WriteTables(w, s, !wide, t.tableList(wide)...)
}

// tableList returns the topology as tables; wide adds rules, keys and UUIDs.
func (t *topologyText) tableList(wide bool) []*Table {
	list := []*Table{t.switchTable(wide), t.routerTable(wide), t.portTable(wide), t.chassisTable(wide), t.bridgeTable(wide), t.tunnelTable(wide), t.balancerTable()}
	if wide {
		list = append(list, t.natTable(), t.routeTable(), t.policyTable(), t.groupTable(), t.bridgePortTable())
	} else if len(t.Switches)+len(t.Routers)+len(t.Ports) == 0 {
		list = append(list, t.bridgePortTable())
	}
	notes := &Table{Title: "Notes", Header: []string{"NOTE"}}
	for _, n := range t.view.Notes {
		notes.Row(Text(n))
	}
	return append(list, notes)
}

// table returns an empty table whose last columns are for the wide format.
func table(title string, wide bool, header, more []string) *Table {
	if wide {
		header = append(slices.Clone(header), more...)
	}
	return &Table{Title: title, Header: header}
}

func row(wide bool, cells, more []Line) []Line {
	if wide {
		return append(cells, more...)
	}
	return cells
}

func joined(words []string) Line { return Text(strings.Join(words, " ")) }

func number(n int) Line {
	if n == 0 {
		return nil
	}
	return Text(fmt.Sprint(n))
}

func (t *topologyText) switchTable(wide bool) *Table {
	tb := table("Switches", wide, []string{"SWITCH", "SUBNETS", "PORTS", "ACLS"}, []string{"KEY", "ZONE", "UUID"})
	for _, s := range t.Switches {
		tb.Row(row(wide,
			[]Line{nameLine(s.Name, s.DisplayName), joined(s.Subnets), number(len(s.Ports)), number(len(s.ACLs))},
			[]Line{number(s.TunnelKey), Text(s.Zone), Text(s.UUID)})...)
	}
	return tb
}

func (t *topologyText) routerTable(wide bool) *Table {
	tb := table("Routers", wide, []string{"ROUTER", "CHASSIS", "PORTS", "ROUTES", "POLICIES", "NAT"}, []string{"KEY", "ZONE", "UUID"})
	policies, nat := map[string]int{}, map[string]int{}
	for _, p := range t.Policies {
		policies[p.Router.UUID]++
	}
	for _, n := range t.NAT {
		nat[n.Router.UUID]++
	}
	for _, r := range t.Routers {
		tb.Row(row(wide,
			[]Line{nameLine(r.Name, r.DisplayName), Text(t.label(r.Chassis)), number(len(r.Ports)), number(len(r.Routes)), number(policies[r.UUID]), number(nat[r.UUID])},
			[]Line{number(r.TunnelKey), Text(r.Zone), Text(r.UUID)})...)
	}
	return tb
}

func (t *topologyText) portTable(wide bool) *Table {
	tb := table("Ports", wide, []string{"PORT", "TYPE", "ON", "ADDRESSES", "CHASSIS", "STATE"}, []string{"NAME", "MAC", "KEY", "INTERFACE", "OFPORT", "PEER", "REQUESTED", "WHY", "ZONE", "UUID"})
	for _, p := range t.Ports {
		on := p.Switch
		if on == nil {
			on = p.Router
		}
		datapath := ""
		if on != nil {
			datapath = on.Name
		}
		addresses := p.Addresses
		if p.Kind == topology.RouterPort {
			addresses = p.Networks
		}
		state := p.State
		if p.Reason != "" && p.State == topology.StateDown {
			state += ": " + p.Reason
		}
		peer := ""
		if p.Peer != nil {
			peer = p.Peer.Name
		}
		var iface, ofport []string
		for _, a := range p.Interfaces {
			iface = append(iface, a.Node+"/"+a.Interface)
			ofport = append(ofport, fmt.Sprint(a.OFPort))
		}
		tb.Row(row(wide,
			[]Line{Text(p.Label(), Name), Text(portType(p)), Text(datapath), joined(addresses), Text(t.label(p.Chassis)), Text(state, stateLook(p.State))},
			[]Line{Text(p.Name), joined(p.MACs), number(p.TunnelKey), joined(iface), joined(ofport), Text(peer), Text(t.labels(p.RequestedChassis)), Text(p.Why), Text(p.Zone), Text(p.UUID)})...)
	}
	return tb
}

func (t *topologyText) chassisTable(wide bool) *Table {
	tb := table("Chassis", wide, []string{"CHASSIS", "ENCAPS", "NETWORKS", "PORTS", "READ"}, []string{"SYSTEM-ID", "ZONE", "UUID"})
	for _, c := range t.Document.Chassis {
		var encaps, networks []string
		for _, e := range c.Encaps {
			encaps = append(encaps, e.Type+":"+e.IP)
		}
		for _, m := range c.BridgeMappings {
			networks = append(networks, m.Network+":"+m.Bridge)
		}
		read := "no"
		switch {
		case c.Remote:
			read = "remote"
		case c.Node != "":
			read = "yes"
		}
		tb.Row(row(wide,
			[]Line{Text(chassisLabel(c), Name), joined(encaps), joined(networks), number(len(c.Ports)), Text(read)},
			[]Line{Text(c.Name), Text(c.Zone), Text(c.UUID)})...)
	}
	return tb
}

func (t *topologyText) bridgeTable(wide bool) *Table {
	tb := table("Bridges", wide, []string{"NODE", "BRIDGE", "PORTS", "UPLINKS", "NETWORKS"}, []string{"DATAPATH", "FAIL-MODE", "CONTROLLERS", "UUID"})
	for _, b := range t.Bridges {
		var controllers []string
		for _, c := range b.Controllers {
			controllers = append(controllers, c.Target)
		}
		tb.Row(row(wide,
			[]Line{Text(b.Node), Text(b.Name, Name), number(len(b.Ports)), joined(b.Uplinks), joined(b.Networks)},
			[]Line{Text(b.DatapathType), Text(b.FailMode), joined(controllers), Text(b.UUID)})...)
	}
	return tb
}

func (t *topologyText) tunnelTable(wide bool) *Table {
	tb := table("Tunnels", wide, []string{"FROM", "TO", "TYPE", "REMOTE", "PORT", "STATE"}, []string{"OFPORT", "KEY", "LOCAL", "EGRESS", "WHY"})
	for _, tunnel := range t.Tunnels {
		for _, e := range tunnel.Ends {
			from, to := e.Node, ""
			switch {
			case len(tunnel.Chassis) != 2:
			case e.Chassis == tunnel.Chassis[1]:
				from, to = t.label(tunnel.Chassis[1]), t.label(tunnel.Chassis[0])
			default:
				from, to = t.label(tunnel.Chassis[0]), t.label(tunnel.Chassis[1])
			}
			tb.Row(row(wide,
				[]Line{Text(from, Name), Text(to, Name), Text(e.Type), Text(e.RemoteIP), Text(e.Port), Text(tunnel.State, stateLook(tunnel.State))},
				[]Line{number(e.OFPort), Text(e.Key), Text(e.LocalIP), Text(e.Egress), Text(tunnel.Why)})...)
		}
	}
	return tb
}

func (t *topologyText) balancerTable() *Table {
	tb := &Table{Title: "Load balancers", Header: []string{"SERVICE", "PROTOCOL", "VIP", "BACKENDS", "ON"}}
	for _, lb := range t.LoadBalancers {
		name := cmp.Or(lb.Service, lb.Name)
		for _, v := range lb.VIPs {
			backends := joined(v.Backends)
			if len(v.Backends) == 0 {
				backends = Text("none", Warn)
			}
			tb.Row(Text(name, Name), Text(lb.Protocol), Text(v.String()), backends, Text(strings.ReplaceAll(appliedTo(lb), "on ", "")))
		}
	}
	return tb
}

func (t *topologyText) natTable() *Table {
	tb := &Table{Title: "NAT", Header: []string{"ROUTER", "TYPE", "EXTERNAL", "LOGICAL", "PORT", "GATEWAY", "UUID"}}
	for _, n := range t.NAT {
		tb.Row(Text(n.Router.Name, Name), Text(n.Type), Text(n.ExternalIP), Text(n.LogicalIP), Text(n.LogicalPort), Text(n.GatewayPort), Text(n.UUID))
	}
	return tb
}

func (t *topologyText) routeTable() *Table {
	tb := &Table{Title: "Static routes", Header: []string{"ROUTER", "PREFIX", "NEXT HOP", "POLICY", "OUTPUT", "TABLE", "UUID"}}
	for _, r := range t.Routers {
		for _, route := range r.Routes {
			tb.Row(Text(r.Name, Name), Text(route.Prefix), Text(route.NextHop), Text(route.Policy), Text(route.OutputPort), Text(route.Table), Text(route.UUID))
		}
	}
	return tb
}

func (t *topologyText) policyTable() *Table {
	tb := &Table{Title: "Router policies", Header: []string{"ROUTER", "PRIORITY", "ACTION", "NEXT HOPS", "MATCH", "UUID"}}
	for _, p := range t.Policies {
		tb.Row(Text(p.Router.Name, Name), number(p.Priority), Text(p.Action), joined(p.NextHops), Text(p.Match), Text(p.UUID))
	}
	return tb
}

func (t *topologyText) groupTable() *Table {
	tb := &Table{Title: "Port groups", Header: []string{"PORT GROUP", "FOR", "PORTS", "ACLS", "UUID"}}
	for _, pg := range t.PortGroups {
		tb.Row(Text(pg.Name, Name), Text(pg.Owner.String()), number(len(pg.Ports)), number(len(pg.ACLs)), Text(pg.UUID))
	}
	return tb
}

func (t *topologyText) bridgePortTable() *Table {
	tb := &Table{Title: "Bridge ports", Header: []string{"NODE", "BRIDGE", "PORT", "ROLE", "INTERFACE", "TYPE", "OFPORT", "VLAN", "LOGICAL PORT", "LINK", "ERROR"}}
	for _, b := range t.Bridges {
		for _, p := range b.Ports {
			for _, i := range p.Interfaces {
				tb.Row(Text(b.Node), Text(b.Name), Text(p.Name, Name), Text(p.Role), Text(i.Name), Text(i.Type), number(i.OFPort), number(p.Tag), Text(p.LogicalPort), Text(i.LinkState), Text(i.Error, Bad))
			}
		}
	}
	return tb
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
