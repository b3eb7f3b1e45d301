package trace

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
)

// neighbours compares the MAC addresses that routers on a path send to with their rows, and the rows with the addresses
// of the neighbours. Faults in rows are certain at once; faults in flows must last.
func (t *tracer) neighbours(ctx context.Context, actual *journey.Direction) (sure []journey.Disagreement, flows []suspicion) {
	all := t.stages(actual)
	for i := 0; i+1 < len(all); i++ {
		l := all[i]
		v := t.viewNamed(l.hop.Node)
		if !strings.HasSuffix(l.step.Stage, "arp_resolve") {
			continue
		}
		hop := cause.NextHop(l.step.Before)
		port := t.portText(v, l.step.Before.Uint("metadata"), l.step.Before.Uint("reg15"))
		south := t.southbound(v.Zone)
		if !hop.IsValid() || south == nil {
			continue
		}
		rows, err := ovsdb.Find[sb.MACBinding](ctx, south, ovsdb.Where("ip", "==", hop.String()), ovsdb.Where("logical_port", "==", port))
		if err != nil || len(rows) != 1 {
			continue // known from the Northbound, or not at all
		}
		row := rows[0]
		d := journey.Disagreement{Node: v.Name, Datapath: l.hop.Datapath, Stage: l.step.Stage, Row: "MAC_Binding " + short(string(row.UUID))}
		if has, who := t.macsOf(ctx, v, port, hop); len(has) > 0 && !slices.Contains(has, strings.ToLower(row.MAC)) {
			d.Kind = journey.StaleMACBinding
			d.Sentence = fmt.Sprintf("router port %s sends to %s at %s, but it is at %s (%s)", port, hop, row.MAC, has[0], who)
			d.Repair = cause.Ovnctl("fix delete-mac-binding", []string{port, hop.String()})
			sure = append(sure, d)
			continue
		}
		if strings.EqualFold(macText(*all[i+1].step.Before, "eth_dst"), row.MAC) {
			continue
		}
		cookie, ok := decode.Prefix(row.UUID)
		if !ok {
			continue
		}
		d.Kind = journey.MissingFlow
		d.Sentence = fmt.Sprintf("%s is at %s behind router port %s, and no flow has that (cookie=0x%x)", hop, row.MAC, port, cookie)
		d.Repair = cause.Ovnctl("fix reinstall-mac-binding", []string{port, hop.String()})
		flows = append(flows, suspicion{Disagreement: d, view: v, in: func(flows []openflow.FlowEntry) bool {
			return !slices.ContainsFunc(flows, func(f openflow.FlowEntry) bool {
				return f.Cookie == uint64(cookie) && strings.Contains(strings.ToLower(f.Actions.String()), strings.ToLower(row.MAC))
			})
		}})
	}
	return sure, flows
}

// macsOf returns the MAC addresses of whoever holds an address on a router port's segment, and who that is. A neighbour
// not heard from lately counts as unknown.
func (t *tracer) macsOf(ctx context.Context, v *nodeView, port string, a netip.Addr) (macs []string, who string) {
	router := t.graph.PortByName(strings.TrimPrefix(port, "cr-"))
	if router == nil {
		return nil, ""
	}
	segment := t.graph.PeerOf(router)
	if segment == nil || segment.Switch == nil {
		return nil, ""
	}
	for _, p := range t.graph.PortsAt(a) {
		on := p.Switch
		if peer := t.graph.PeerOf(p); on == nil && peer != nil {
			on = peer.Switch
		}
		if on != nil && on.UUID == segment.Switch.UUID && p != router {
			for _, mac := range t.graph.AnswersAt(p) {
				macs, who = append(macs, strings.ToLower(mac)), "port "+p.Name
			}
		}
	}
	if len(macs) > 0 || t.localnet(segment.Switch) == nil {
		return macs, who
	}
	if holder := t.holder(a); holder != nil {
		if h, err := t.view(ctx, holder); err == nil {
			if mac := h.macAt(ctx, a); mac != "" {
				return []string{strings.ToLower(mac)}, "node " + holder.Name
			}
		}
	}
	net, err := v.net(ctx)
	if err != nil {
		return nil, ""
	}
	for _, x := range net.Neighbours {
		if x.Addr.WithZone("") == a && x.MAC != "" && slices.Contains([]string{"reachable", "permanent", "delay", "probe"}, x.State) {
			macs, who = append(macs, strings.ToLower(x.MAC)), "neighbour of node "+v.Name
		}
	}
	return macs, who
}

// A configuration is the progress of a zone's daemons: the Northbound's current sequence number, and those that
// ovn-northd and the ovn-controllers of the nodes on the path have processed.
type configuration struct {
	northbound, southbound int
	chassis                map[string]int // by node
}

// configurationOf reads a zone's configuration; false if there is nothing to compare.
func (t *tracer) configurationOf(ctx context.Context, z *cluster.Zone) (configuration, bool) {
	p := configuration{chassis: map[string]int{}}
	if z.SB == nil {
		return p, false
	}
	var north []nb.Global
	var reading sync.WaitGroup
	if z.NB != nil {
		reading.Go(func() { north, _ = ovsdb.Find[nb.Global](ctx, z.NB) })
	}
	var south []sb.Global
	queries := []*ovsdb.Query{{Rows: &south}}
	chassis := map[string]*[]sb.ChassisPrivate{} // by the node's name
	for n, v := range t.views {
		if t.cluster.ZoneOf(n) == z && z.SB.Has("Chassis_Private", "") {
			chassis[v.Name] = new([]sb.ChassisPrivate)
			queries = append(queries, &ovsdb.Query{Rows: chassis[v.Name], Where: []ovsdb.Condition{ovsdb.Where("name", "==", n.SystemID)}})
		}
	}
	err := z.SB.Select(ctx, queries...)
	reading.Wait()
	if err != nil || len(south) == 0 {
		return p, false
	}
	p.southbound = south[0].NBCfg
	p.northbound = p.southbound
	if len(north) > 0 {
		p.northbound = north[0].NBCfg
	}
	for name, rows := range chassis {
		if len(*rows) == 1 {
			p.chassis[name] = (*rows)[0].NBCfg
		}
	}
	return p, true
}

// behind reports whether any daemon is behind.
func (p configuration) behind() bool {
	return p.southbound < p.northbound || slices.ContainsFunc(slices.Collect(maps.Values(p.chassis)), func(n int) bool { return n < p.southbound })
}

// lagging is how long a daemon may take to process a change before it counts as behind.
const lagging = 2 * time.Second

// behind returns the daemons that have not processed the current configuration and make no progress.
func (t *tracer) behind(ctx context.Context) []journey.Disagreement {
	var all []journey.Disagreement
	for _, z := range t.cluster.Zones {
		first, now, ok := t.lags(ctx, z)
		if !ok {
			continue
		}
		if now.southbound < first.northbound && now.southbound == first.southbound {
			d := journey.Disagreement{Kind: journey.NorthdBehind, Row: "SB_Global"}
			d.Sentence = fmt.Sprintf("the Northbound is at nb_cfg=%d and the Southbound at %d: ovn-northd does not process changes", now.northbound, now.southbound)
			d.Repair = "ovn-appctl -t ovn-northd status  # on the hosts with the databases"
			if on, paused := t.pausedNorthd(ctx); paused {
				d.Node = on
				d.Sentence += ": it is paused"
				d.Repair = "ovnctl fix resume-northd  # on " + on
			}
			all = append(all, d)
		}
		for _, name := range slices.Sorted(maps.Keys(now.chassis)) {
			if n, v := now.chassis[name], t.viewNamed(name); v != nil && n < first.southbound && n == first.chassis[name] {
				s := suspicion{view: v}
				s.Kind, s.Node, s.Row = journey.ControllerBehind, v.Name, "Chassis_Private "+v.SystemID
				s.Sentence = fmt.Sprintf("the Southbound is at nb_cfg=%d and the node at %d", now.southbound, n)
				s.Repair = "ovnctl doctor node:" + v.Name
				t.blameController(ctx, &s)
				all = append(all, s.Disagreement)
			}
		}
	}
	return all
}

// pausedNorthd finds a reachable host whose ovn-northd is paused.
func (t *tracer) pausedNorthd(ctx context.Context) (string, bool) {
	hosts := slices.Collect(maps.Keys(t.views))
	if c := t.cluster.Central; c != nil {
		hosts = append(hosts, c)
	}
	for _, n := range hosts {
		text, err := n.Host.Control(ctx, "ovn-northd", "status")
		if err == nil && strings.HasSuffix(strings.TrimSpace(text), "paused") {
			return n.Name, true
		}
	}
	return "", false
}
