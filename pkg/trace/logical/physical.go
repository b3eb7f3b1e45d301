package logical

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/lflow"
)

// Physical networks: what leaves by a localnet port comes back in by that of another switch or chassis, if the packet
// is for something there.

// physical is what an engine knows of physical networks.
type physical struct {
	mu   sync.Mutex
	nets *localnets
}

// localnets are the localnet ports of the zone.
type localnets struct {
	all []*lflow.Port
	of  map[*lflow.Datapath][]*lflow.Port
}

func (e *Engine) localnets(ctx context.Context) (*localnets, error) {
	e.physical.mu.Lock()
	defer e.physical.mu.Unlock()
	if e.physical.nets != nil {
		return e.physical.nets, nil
	}
	ports, err := e.net.PortsOfType(ctx, "localnet")
	if err != nil {
		return nil, err
	}
	nets := &localnets{all: ports, of: map[*lflow.Datapath][]*lflow.Port{}}
	for _, p := range ports {
		nets.of[p.Datapath] = append(nets.of[p.Datapath], p)
	}
	e.physical.nets = nets
	return nets, nil
}

// plugged reports whether a chassis is on the physical network of a localnet port.
func plugged(p *lflow.Port, c *lflow.Chassis) bool {
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

// sameNetwork reports whether two localnet ports are on one physical network, and one VLAN of it.
func sameNetwork(a, b *lflow.Port) bool {
	return a.Row.Options["network_name"] == b.Row.Options["network_name"] && a.Row.Tag.Get() == b.Row.Tag.Get()
}

// toNetwork takes the packet to the physical network, and to whom it is for.
func (w *walker) toNetwork(p *lflow.Port) {
	w.settle()
	if !plugged(p, w.visit.Chassis) {
		w.end(journey.Dropped, NotHere, p)
		return
	}
	entry, home, err := w.receiver(p)
	if err != nil {
		w.run.fail(err)
		return
	}
	if entry == nil {
		w.end(journey.Delivered, ToNetwork, p)
		w.visit.End.Network = p.Row.Options["network_name"]
		return
	}
	child := w.open(Arrived, "")
	child.visit.Datapath, child.visit.Pipeline, child.visit.Chassis = entry.Datapath, lflow.Ingress, home
	f := w.run.fields
	f.mark.Set(&child.packet, flow.Value{})
	child.renew(entry)
	child.start(0)
}

// receiver finds the localnet port and chassis where a packet comes back in that leaves by another localnet port; nil if
// it is for nothing that OVN knows.
func (w *walker) receiver(p *lflow.Port) (*lflow.Port, *lflow.Chassis, error) {
	m := w.run.fields.ethDst.Get(&w.packet)
	if m.Bit(40) {
		return nil, nil, nil
	}
	nets, err := w.run.engine.localnets(w.run.ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, other := range nets.all {
		if !sameNetwork(p, other) {
			continue
		}
		known, err := w.run.holders(other.Datapath)
		if err != nil {
			return nil, nil, err
		}
		who := known.mac[m]
		if who == nil {
			continue
		}
		home, err := w.run.home(who, w.visit.Chassis)
		if err != nil {
			return nil, nil, err
		}
		if home == nil || !plugged(other, home) || home == w.visit.Chassis && other == p {
			continue
		}
		return other, home, nil
	}
	return nil, nil, nil
}

// A holder has a MAC address with addresses on a switch.
type holder struct {
	mac       flow.Value
	addresses []netip.Prefix
	resident  string // the port that says on which chassis it is; "": port
	port      *lflow.Port
}

// holders are those of a switch, by what they hold.
type holders struct {
	mac     map[flow.Value]*holder
	address map[netip.Addr]*holder
}

// holders finds who is on a switch.
func (r *run) holders(d *lflow.Datapath) (*holders, error) {
	if known, ok := r.engine.holders.Load(d); ok {
		return known.(*holders), nil
	}
	ports, err := d.Ports(r.ctx)
	if err != nil {
		return nil, err
	}
	h := &holders{map[flow.Value]*holder{}, map[netip.Addr]*holder{}}
	for _, p := range ports {
		stations, err := r.stations(p)
		if err != nil {
			return nil, err
		}
		for _, s := range stations {
			h.mac[s.mac] = &s
			for _, n := range s.addresses {
				h.address[n.Addr()] = &s
			}
		}
	}
	r.engine.holders.Store(d, h)
	return h, nil
}

// home is the chassis of a holder; of a router that is on all, the one that is given.
func (r *run) home(s *holder, here *lflow.Chassis) (*lflow.Chassis, error) {
	p := s.port
	if s.resident != "" {
		other, err := r.port(s.resident)
		if err != nil {
			return nil, err
		}
		if other != nil {
			p = other
		}
	}
	if c := r.engine.net.Chassis(p.Row.Chassis.Get()); c != nil || bound(p) {
		return c, nil
	}
	return here, nil
}

// stations are those that a port of a switch leads to.
func (r *run) stations(p *lflow.Port) ([]holder, error) {
	var all []holder
	add := func(text, resident string, of *lflow.Port) {
		if s, ok := stationOf(text); ok {
			s.port = of
			s.resident = cmp.Or(s.resident, resident)
			all = append(all, s)
		}
	}
	switch p.Row.Type {
	case "localnet", "vtep", "l2gateway":
		return nil, nil
	case "patch", "l3gateway":
		for _, text := range p.Row.NATAddresses {
			add(text, "", p)
		}
		peer, err := p.Peer(r.ctx)
		if err != nil || peer == nil {
			return all, err
		}
		redirect, err := r.redirect(peer)
		if err != nil {
			return nil, err
		}
		for _, text := range peer.Row.MAC {
			add(text, redirect, p)
		}
	default:
		for _, text := range p.Row.MAC {
			add(text, "", p)
		}
	}
	return all, nil
}

// redirect names the chassisredirect port of a distributed gateway port, "" if it is none.
func (r *run) redirect(p *lflow.Port) (string, error) {
	cr, err := r.port("cr-" + p.Name())
	if err != nil || cr == nil || cr.Row.Type != "chassisredirect" {
		return "", err
	}
	return cr.Name(), nil
}

// stationOf reads "MAC ADDRESS…", with is_chassis_resident("port") at the end or without.
func stationOf(text string) (holder, bool) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return holder{}, false
	}
	s := holder{mac: mac(words[0])}
	for _, word := range words[1:] {
		if name, ok := strings.CutPrefix(word, "is_chassis_resident("); ok {
			s.resident = strings.Trim(name, `")`)
			continue
		}
		if n, err := netip.ParsePrefix(word); err == nil {
			s.addresses = append(s.addresses, n)
		} else if a, err := netip.ParseAddr(word); err == nil {
			s.addresses = append(s.addresses, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return s, !s.mac.IsZero()
}

// somebody is the MAC address of a host outside that nothing is known of.
var somebody = flow.Uint(0x02_00_5e_00_53_01)

// owner finds who answers when a router asks behind one of its ports for the MAC address of an address: a port of OVN,
// also over a physical network, or somebody outside where there may be one. The MAC address is 0 if nobody does.
func (r *run) owner(p *lflow.Port, a netip.Addr) (*lflow.Port, flow.Value, error) {
	peer, err := p.Peer(r.ctx)
	if err != nil || peer == nil {
		return nil, flow.Value{}, err
	}
	nets, err := r.engine.localnets(r.ctx)
	if err != nil {
		return nil, flow.Value{}, err
	}
	switches := []*lflow.Datapath{peer.Datapath}
	for _, mine := range nets.of[peer.Datapath] {
		for _, other := range nets.all {
			if sameNetwork(mine, other) && other.Datapath != peer.Datapath {
				switches = append(switches, other.Datapath)
			}
		}
	}
	for _, d := range switches {
		known, err := r.holders(d)
		if err != nil {
			return nil, flow.Value{}, err
		}
		if s := known.address[a]; s != nil && s.port != peer {
			return s.port, s.mac, nil
		}
	}
	outside, err := r.outside(peer.Datapath)
	if err != nil || !outside {
		return nil, flow.Value{}, err
	}
	return nil, somebody, nil
}

// outside reports whether there may be hosts on a switch that OVN does not know.
func (r *run) outside(d *lflow.Datapath) (bool, error) {
	ports, err := d.Ports(r.ctx)
	return slices.ContainsFunc(ports, func(p *lflow.Port) bool {
		switch p.Row.Type {
		case "localnet", "l2gateway", "vtep":
			return true
		}
		return slices.ContainsFunc(p.Row.MAC, func(text string) bool { return strings.HasPrefix(text, "unknown") })
	}), err
}
