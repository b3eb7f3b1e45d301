package ovn

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Physical networks: a packet that leaves by a localnet port comes back in by that of another switch or chassis, if it
// is for something there.

// physical is an engine's knowledge of physical networks, read when the first packet leaves for one.
type physical struct {
	mu    sync.Mutex
	wires *wires
}

// wires are the zone's localnet ports and the routers reachable through them. There may be hundreds, so they are kept
// as rows, and a datapath is only read when a packet enters it.
type wires struct {
	localnets map[ovsdb.UUID][]sb.PortBinding // by datapath
	datapaths map[string][]ovsdb.UUID         // with a localnet port, by network_name
	mac       map[packet.Value][]gateway
	address   map[netip.Addr][]gateway
}

// A gateway is a router port on a switch that has a localnet port.
type gateway struct {
	holding
	access   sb.PortBinding // the port of the switch
	redirect string         // the router port's chassisredirect port, if it has one
}

// fewSwitches is up to how many switches of one physical network are searched port by port. Where there are more, each
// node has one that connects its gateway router to the network and has no other port.
const fewSwitches = 16

func (e *Engine) wires(ctx context.Context) (*wires, error) {
	e.physical.mu.Lock()
	defer e.physical.mu.Unlock()
	if e.physical.wires != nil {
		return e.physical.wires, nil
	}
	w := &wires{map[ovsdb.UUID][]sb.PortBinding{}, map[string][]ovsdb.UUID{}, map[packet.Value][]gateway{}, map[netip.Addr][]gateway{}}
	rows, err := e.net.Bindings(ctx, "localnet")
	if err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b sb.PortBinding) int { return cmp.Compare(a.LogicalPort, b.LogicalPort) })
	for _, row := range rows {
		w.localnets[row.Datapath] = append(w.localnets[row.Datapath], row)
		if network := row.Options["network_name"]; !slices.Contains(w.datapaths[network], row.Datapath) {
			w.datapaths[network] = append(w.datapaths[network], row.Datapath)
		}
	}
	if len(rows) > 0 {
		if err := w.addGateways(ctx, e.net); err != nil {
			return nil, err
		}
	}
	e.physical.wires = w
	return w, nil
}

func (w *wires) addGateways(ctx context.Context, net *logicalflow.Network) error {
	byName := map[string]sb.PortBinding{}
	var names []string
	for _, kind := range []string{"l3gateway", "patch"} {
		rows, err := net.Bindings(ctx, kind)
		if err != nil {
			return err
		}
		for _, row := range rows {
			byName[row.LogicalPort] = row
			names = append(names, row.LogicalPort)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		access := byName[name]
		if len(w.localnets[access.Datapath]) == 0 {
			continue
		}
		for _, text := range access.NATAddresses {
			w.add(text, gateway{access: access})
		}
		if router, ok := byName[access.Options["peer"]]; ok {
			for _, text := range router.MAC {
				w.add(text, gateway{access: access, redirect: "cr-" + router.LogicalPort})
			}
		}
	}
	return nil
}

func (w *wires) add(text string, g gateway) {
	h, ok := holdingOf(text)
	if !ok {
		return
	}
	g.holding = h
	w.mac[h.mac] = append(w.mac[h.mac], g)
	for _, n := range h.addresses {
		w.address[n.Addr()] = append(w.address[n.Addr()], g)
	}
}

// beside returns the datapaths on a localnet port's physical network; none if there are too many to search.
func (w *wires) beside(p *logicalflow.Port) []ovsdb.UUID {
	if all := w.datapaths[p.Row.Options["network_name"]]; len(all) <= fewSwitches {
		return all
	}
	return nil
}

// plugged reports whether a chassis is on the physical network of a localnet port.
func plugged(p *logicalflow.Port, c *logicalflow.Chassis) bool {
	if c == nil {
		return false
	}
	mappings := cmp.Or(c.Row.OtherConfig["ovn-bridge-mappings"], c.Row.ExternalIDs["ovn-bridge-mappings"])
	for m := range strings.SplitSeq(mappings, ",") {
		if name, _, _ := strings.Cut(m, ":"); name != "" && name == p.Row.Options["network_name"] {
			return true
		}
	}
	return false
}

// sameNetwork reports whether two localnet ports are on the same physical network and VLAN.
func sameNetwork(a, b sb.PortBinding) bool {
	return a.Options["network_name"] == b.Options["network_name"] && a.Tag.Get() == b.Tag.Get()
}

// carrier returns the localnet port by which a datapath reaches other chassis from one; nil if it uses tunnels.
func (r *run) carrier(d *logicalflow.Datapath, from *logicalflow.Chassis) (*logicalflow.Port, error) {
	if d.Router {
		return nil, nil
	}
	ports, err := d.Ports(r.ctx)
	for _, p := range ports {
		if p.Row.Type == "localnet" && plugged(p, from) {
			return p, err
		}
	}
	return nil, err
}

// toNetwork takes the packet to the physical network and to its receiver there.
func (w *walker) toNetwork(p *logicalflow.Port) {
	w.settle()
	if !plugged(p, w.visit.Chassis) {
		w.end(journey.Dropped, NotHere, p)
		return
	}
	at, err := w.run.receiver(p, w.visit.Chassis, w.run.fields.ethDst.Get(&w.packet))
	if err != nil {
		w.run.fail(err)
		return
	}
	if at.port == nil {
		w.end(journey.Delivered, ToNetwork, p)
		w.visit.End.Network = p.Row.Options["network_name"]
		return
	}
	child := w.open(Arrived, "")
	child.visit.Datapath, child.visit.Pipeline, child.visit.Chassis = at.port.Datapath, logicalflow.Ingress, at.chassis
	f := w.run.fields
	f.mark.Set(&child.packet, packet.Value{})
	child.renew(at.port)
	child.start(0)
}

// receiver finds the localnet port and chassis where a packet that left by another localnet port comes back in; none if
// it is for nothing that OVN knows.
func (r *run) receiver(p *logicalflow.Port, from *logicalflow.Chassis, m packet.Value) (entry, error) {
	if m.Bit(40) || m == somebody {
		return entry{}, nil
	}
	w, err := r.engine.wires(r.ctx)
	if err != nil {
		return entry{}, err
	}
	for _, g := range w.mac[m] {
		at, err := r.entryOf(w, g, p, from)
		if err != nil || at.port != nil && (at != entry{p, from}) {
			return at, err
		}
	}
	for _, id := range w.beside(p) {
		d := r.engine.net.Datapath(id)
		if d == nil {
			continue
		}
		known, err := r.holders(d)
		if err != nil {
			return entry{}, err
		}
		h := known.mac[m]
		if h == nil || h.port.Row.Type != "" {
			continue // routers were searched, and external ports are on the network itself
		}
		home := r.engine.net.Chassis(h.port.Row.Chassis.Get())
		at, err := r.localnetOf(w, d.Row.UUID, p, home)
		if err != nil || at.port != nil && (at != entry{p, from}) {
			return at, err
		}
	}
	return entry{}, nil
}

// entryOf returns where a gateway is reached from a localnet port; none if it is on another network.
func (r *run) entryOf(w *wires, g gateway, p *logicalflow.Port, here *logicalflow.Chassis) (entry, error) {
	home := here
	for _, name := range []string{g.resident, g.redirect} {
		if name == "" {
			continue
		}
		bound, err := r.port(name)
		if err != nil {
			return entry{}, err
		}
		if bound != nil {
			home = r.engine.net.Chassis(bound.Row.Chassis.Get())
			return r.localnetOf(w, g.access.Datapath, p, home)
		}
	}
	if g.access.Type == "l3gateway" {
		home = r.engine.net.Chassis(g.access.Chassis.Get())
	}
	return r.localnetOf(w, g.access.Datapath, p, home)
}

// localnetOf returns a datapath's localnet port on the same network as another's, on a chassis that is on it too.
func (r *run) localnetOf(w *wires, datapath ovsdb.UUID, p *logicalflow.Port, home *logicalflow.Chassis) (entry, error) {
	for _, row := range w.localnets[datapath] {
		if !sameNetwork(p.Row, row) {
			continue
		}
		port, err := r.port(row.LogicalPort)
		if err != nil {
			return entry{}, err
		}
		if port != nil && plugged(port, home) {
			return entry{port, home}, nil
		}
	}
	return entry{}, nil
}

// A holding is a MAC address with its addresses.
type holding struct {
	mac       packet.Value
	addresses []netip.Prefix
	resident  string // the port that determines the chassis; "": unspecified
}

// holdingOf parses "MAC ADDRESS…", with or without is_chassis_resident("port") at the end.
func holdingOf(text string) (holding, bool) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return holding{}, false
	}
	h := holding{mac: mac(words[0])}
	for _, word := range words[1:] {
		if name, ok := strings.CutPrefix(word, "is_chassis_resident("); ok {
			h.resident = strings.Trim(name, `")`)
			continue
		}
		if n, err := netip.ParsePrefix(word); err == nil {
			h.addresses = append(h.addresses, n)
		} else if a, err := netip.ParseAddr(word); err == nil {
			h.addresses = append(h.addresses, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return h, !h.mac.IsZero()
}

// A holder is a switch port with a MAC address behind it.
type holder struct {
	holding
	port *logicalflow.Port // of the switch
}

// holders are those of a switch, by their addresses.
type holders struct {
	mac     map[packet.Value]*holder
	address map[netip.Addr]*holder
}

// holders finds what is on a switch.
func (r *run) holders(d *logicalflow.Datapath) (*holders, error) {
	if known, ok := r.engine.holders.Load(d); ok {
		return known.(*holders), nil
	}
	ports, err := d.Ports(r.ctx)
	if err != nil {
		return nil, err
	}
	known := &holders{map[packet.Value]*holder{}, map[netip.Addr]*holder{}}
	for _, p := range ports {
		texts, err := r.held(p)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			h, ok := holdingOf(text)
			if !ok {
				continue
			}
			who := &holder{h, p}
			known.mac[h.mac] = who
			for _, n := range h.addresses {
				known.address[n.Addr()] = who
			}
		}
	}
	r.engine.holders.Store(d, known)
	return known, nil
}

// held returns the addresses behind a switch port, as rows write them.
func (r *run) held(p *logicalflow.Port) ([]string, error) {
	switch p.Row.Type {
	case "localnet", "vtep", "l2gateway":
		return nil, nil
	case "patch", "l3gateway":
		peer, err := p.Peer(r.ctx)
		if err != nil || peer == nil {
			return p.Row.NATAddresses, err
		}
		return slices.Concat(p.Row.NATAddresses, peer.Row.MAC), nil
	}
	return p.Row.MAC, nil
}
