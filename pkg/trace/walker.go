package trace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// A Walker follows connections through a deployment's logical flows: from end to end and back, across its zones'
// logical networks, the hosts and what lies between them. It reads no node; hosts are assumed to behave as the package
// describes. It is safe for concurrent use.
type Walker struct {
	deployment
	zones map[string]*logicalZone
	// Evidence makes Branch report, for each step, the parts of its match that it rests on.
	Evidence bool
}

// A logicalZone is the logical network of one zone.
type logicalZone struct {
	name    string
	net     *logicalflow.Network
	options ovn.Options
	engine  *ovn.Engine
	explain *cause.Explainer
}

// NewWalker opens the logical networks of all zones whose Southbound was read. The engine's Options about next hops are
// ignored: next hops outside are assumed to reply.
func NewWalker(ctx context.Context, c *cluster.Cluster, g *topology.Graph, o ovn.Options) (*Walker, error) {
	return newWalker(ctx, newDeployment(c, g), o)
}

func newWalker(ctx context.Context, d deployment, o ovn.Options) (*Walker, error) {
	w := &Walker{deployment: d, zones: map[string]*logicalZone{}}
	o.Assume = true
	for _, z := range d.cluster.Zones {
		if z.SB == nil {
			continue
		}
		net, err := logicalflow.Open(ctx, z.SB)
		if err != nil {
			return nil, err
		}
		w.zones[z.Name] = &logicalZone{
			name: z.Name, net: net, options: o, engine: ovn.New(net, o), explain: cause.New(net, d.objects[z.Name], d.graph),
		}
	}
	return w, nil
}

// changed returns the walker with a zone's flows replaced.
func (w *Walker) changed(zone *logicalZone, lookup cause.Lookup) *Walker {
	other := &Walker{deployment: w.deployment, zones: maps.Clone(w.zones)}
	z := *zone
	z.options.Lookup = lookup
	z.engine = ovn.New(z.net, z.options)
	other.zones[z.name] = &z
	return other
}

// Network returns a zone's logical network; nil if its Southbound was not read.
func (w *Walker) Network(zone string) *logicalflow.Network {
	if z := w.zones[zone]; z != nil {
		return z.net
	}
	return nil
}

// A Round is the fate of a connection's first packet and its reply, for one choice of backends and next hops.
type Round struct {
	Forward *Path
	Reply   *Path // nil if nothing replies
	// Backend is where the packet was first translated to; not valid if it was not.
	Backend netip.AddrPort
	// RepliedByOVN is set if a router or ovn-controller replied for the receiver: Forward holds the reply too.
	RepliedByOVN bool
}

// Outcome returns the outcome of the round trip.
func (r *Round) Outcome() journey.Outcome {
	if r.Reply == nil {
		return r.Forward.Outcome()
	}
	return ofReply(r.Reply.Outcome())
}

// deciding returns the path that decides the outcome: that of the failed direction, else the packet's.
func (r *Round) deciding() *Path {
	if r.Reply != nil && r.Reply.Outcome() != journey.Delivered {
		return r.Reply
	}
	return r.Forward
}

// Deciding returns where the direction that decides the outcome ended, the reply if that failed: in a visit, or nil for
// beyond the logical networks.
func (r *Round) Deciding() (reply bool, v *ovn.Visit) {
	p := r.deciding()
	if p.stopped != nil {
		return p == r.Reply, nil
	}
	return p == r.Reply, p.visit
}

// A Lookup is one that a packet took in a table.
type Lookup struct {
	Network  *logicalflow.Network
	Table    logicalflow.Table
	Flow     *logicalflow.Flow // that was hit; nil if none was
	Packet   *packet.Flow      // as it was then, for as long as Lookups has it
	Resident logicalflow.Resident
}

// Lookups gives every lookup of a round trip from port to port. It returns false for one that was not in logical networks alone, or
// in which a lookup left open what was hit; then not all are given.
func (r *Round) Lookups(each func(Lookup)) bool {
	return r.Forward.lookups(each) && (r.Reply == nil || r.Reply.lookups(each))
}

func (p *Path) lookups(each func(Lookup)) bool {
	if p.stopped != nil || p.host != nil || p.outside || p.visit == nil || p.Outcome() == journey.Delivered && p.visit.End.Reason != ovn.ToPort {
		return false
	}
	for _, s := range p.sections {
		if s.path == nil {
			return false
		}
		for path := s.path; path != nil; path = path.First {
			for _, v := range path.Visits {
				l := Lookup{Network: s.zone.net, Resident: s.zone.engine.Resident(v)}
				if !v.Lookups(func(t logicalflow.Table, f *logicalflow.Flow, p *packet.Flow) {
					l.Table, l.Flow, l.Packet = t, f, p
					each(l)
				}) {
					return false
				}
			}
		}
	}
	return true
}

// last returns the last section of a path that is in a logical network; empty if there is none.
func (p *Path) last() section {
	for _, l := range slices.Backward(p.sections) {
		if l.path != nil {
			return l
		}
	}
	return section{}
}

// A Path is all that one packet crosses, from where it starts to where it ends.
type Path struct {
	Packet   packet.Flow // as it was sent
	sections []section
	arrival
}

// A section is a part of a path: through a logical network, or through a host's network.
type section struct {
	zone *logicalZone
	path *ovn.Path
	host *host  // without a path
	from string // the host's port where the packet came in; empty if the host sends it itself
	does string // what the host does with the packet, in words
}

// An arrival is where a path ends.
type arrival struct {
	// stopped is the verdict for a packet that ends undelivered beyond the logical networks.
	stopped *journey.Verdict
	visit   *ovn.Visit   // where the packet ends in a logical network; nil if beyond
	zone    *logicalZone // of visit
	host    *host        // that has the packet, or sent it to the network outside
	outside bool         // it left for the network outside
	packet  packet.Flow  // as it arrived
	reply   *source      // where its reply starts; nil if there is none
}

// Outcome returns what became of the packet.
func (l *arrival) Outcome() journey.Outcome {
	switch {
	case l.stopped != nil:
		return l.stopped.Outcome
	case l.visit != nil:
		return l.visit.End.Outcome
	}
	return journey.Delivered
}

// A source is where a packet is sent from.
type source struct {
	zone   *logicalZone
	start  ovn.Start   // with a zone: sent by a port's owner
	host   *host       // without: sent by a host
	packet packet.Flow // without a zone: what is sent; with host nil, from outside
}

// maxSections bounds a path: the logical networks and hosts that one packet visits.
const maxSections = 16

// Rounds follows a connection once for each combination of backends and next hops. More reports that there are further
// combinations. With a backend, only rounds through it are followed. The error is for what could not be read; a packet
// that cannot be sent yields a Round that explains why.
func (w *Walker) Rounds(ctx context.Context, from topology.Match, p Packet, backend netip.AddrPort) (rounds []*Round, more bool, err error) {
	start, stopped, err := w.origin(ctx, from, p)
	if err != nil {
		return nil, false, err
	}
	if stopped != nil {
		return []*Round{{Forward: &Path{Packet: p.frame(noMAC, noMAC), arrival: arrival{stopped: stopped}}}}, false, nil
	}
	f := &follower{Walker: w, backend: backend}
	each := func(forward Path, left *ovn.Connections) error {
		r, err := w.round(ctx, &forward, left)
		rounds = append(rounds, r)
		return err
	}
	err = f.follow(ctx, *start, &ovn.Connections{}, Path{Packet: start.sent()}, each)
	return rounds, f.more, err
}

// prepare reads at once what the flows of rounds were made for.
func (w *Walker) prepare(ctx context.Context, rounds []*Round) {
	paths := map[*logicalZone][]*ovn.Path{}
	for _, r := range rounds {
		for _, p := range []*Path{r.Forward, r.Reply} {
			if p == nil {
				continue
			}
			for _, s := range p.sections {
				if s.path != nil {
					paths[s.zone] = append(paths[s.zone], s.path)
				}
			}
		}
	}
	for z, list := range paths {
		z.explain.Prepare(ctx, list...)
	}
}

// sent returns the packet about to be sent.
func (s *source) sent() packet.Flow {
	if s.zone != nil {
		return s.start.Packet
	}
	return s.packet
}

// round follows the reply to a packet that arrived.
func (w *Walker) round(ctx context.Context, forward *Path, left *ovn.Connections) (*Round, error) {
	r := &Round{Forward: forward, Backend: forward.backend()}
	if forward.Outcome() != journey.Delivered {
		r.RepliedByOVN = forward.repliedByOVN()
		return r, nil
	}
	if back := forward.returned(); back {
		r.RepliedByOVN = true
		return r, nil
	}
	if forward.outside {
		sent, _ := forward.packet.Tuple()
		if stopped := w.unanswered(sent.Src, sent.Dst); stopped != nil {
			stopped.Node, stopped.Datapath = w.lastRouter(forward)
			reply, _ := ovs.Reply(forward.packet)
			r.Reply = &Path{Packet: reply, arrival: arrival{stopped: stopped}}
			return r, nil
		}
	}
	if forward.reply == nil {
		return r, nil
	}
	f := &follower{Walker: w, first: true}
	err := f.follow(ctx, *forward.reply, left, Path{Packet: forward.reply.sent()}, func(p Path, _ *ovn.Connections) error {
		r.Reply = &p
		return nil
	})
	if err == nil {
		w.checkReturn(forward, r.Reply)
	}
	return r, err
}

// unanswered explains why no reply comes from outside; nil if one does.
func (w *Walker) unanswered(src, dst netip.Addr) *journey.Verdict {
	if w.onUnderlay(src) {
		return nil
	}
	if _, ok := w.entryOf(src); ok {
		return nil
	}
	return w.noRouteBack(src, dst)
}

// lastRouter returns the last router that a packet left through, and its node; empty if a host's own network routed it
// last.
func (w *Walker) lastRouter(p *Path) (node, router string) {
	for _, l := range slices.Backward(p.sections) {
		if l.path == nil {
			return w.nodeName(l.host.chassis.Name), ""
		}
		for _, v := range slices.Backward(l.path.End().Visits()) {
			if v.Datapath.Router {
				return w.nodeOn(v), v.Datapath.Name
			}
		}
	}
	return "", ""
}

// checkReturn checks that the reply comes from the address that the packet was sent to.
func (w *Walker) checkReturn(forward, reply *Path) {
	if reply.Outcome() != journey.Delivered {
		return
	}
	got, ok := reply.packet.Tuple()
	sent, _ := forward.Packet.Tuple()
	if !ok || got == sent.Reverse() {
		return
	}
	reply.stopped = notTaken(got.Src, sent.Dst)
}

// notTaken returns the verdict for a reply from a different address than the packet was sent to.
func notTaken(from, sentTo netip.Addr) *journey.Verdict {
	return dropped(journey.Cause{Kind: journey.WrongSource, Address: from, Other: sentTo})
}

// returned reports whether the packet came back to its sender as its own reply, as when a router replies to an echo.
func (p *Path) returned() bool {
	return p.visit != nil && p.visit.End.Port != nil && p.visit.End.Port == p.sections[0].startPort() && returned(&p.Packet, &p.packet)
}

// ovnReplies is the verdict for a packet that comes back as its own reply.
const ovnReplies = "OVN replies to the packet itself, and the sender gets the reply"

// returned reports whether a sent packet arrives as its own reply.
func returned(sent, arrived *packet.Flow) bool {
	from, _ := sent.Tuple()
	got, ok := arrived.Tuple()
	return ok && got == from.Reverse()
}

func (l section) startPort() *logicalflow.Port {
	if l.path == nil {
		return nil
	}
	return l.path.Start.Port
}

// repliedByOVN reports whether ovn-controller replies for the receiver, as for DHCP and DNS, and the sender gets the
// reply.
func (p *Path) repliedByOVN() bool {
	if p.visit == nil || p.visit.End.Reason != ovn.Replying {
		return false
	}
	l := p.sections[len(p.sections)-1]
	return slices.ContainsFunc(l.path.Ends(), func(v *ovn.Visit) bool {
		return v.End.Outcome == journey.Delivered && v.End.Port == l.path.Start.Port
	})
}

// backend returns where a load balancer first sent the packet; not valid if none did.
func (p *Path) backend() netip.AddrPort {
	for _, l := range p.sections {
		if l.path == nil {
			continue
		}
		for _, c := range l.path.Choices {
			if lb, ok := c.Action.(*ovnexpr.CTLB); ok && c.Index < len(lb.Backends) {
				return netip.AddrPortFrom(lb.Backends[c.Index].Addr, lb.Backends[c.Index].Port)
			}
		}
	}
	return netip.AddrPort{}
}

// A follower takes one packet from network to network.
type follower struct {
	*Walker
	backend netip.AddrPort // that load balancers choose; not valid: each in turn
	first   bool           // follow only the first of several possibilities
	more    bool           // there were more than were followed
}

// follow yields each path of a packet from a source, with the connections that it left behind.
func (f *follower) follow(ctx context.Context, s source, c *ovn.Connections, so Path, each func(Path, *ovn.Connections) error) error {
	if len(so.sections) == maxSections {
		so.stopped = unknown(journey.Cause{Kind: journey.Loop, Detail: fmt.Sprint(maxSections)})
		return each(so, c)
	}
	if s.zone == nil {
		return f.fromHost(ctx, s, c, so, each)
	}
	step := func(path *ovn.Path, left *ovn.Connections) error {
		next := so
		next.sections = append(slices.Clone(so.sections), section{zone: s.zone, path: path})
		return f.arrive(ctx, s.zone, path, left, next, each)
	}
	switch {
	case f.backend.IsValid():
		path, err := s.zone.engine.Follow(ctx, s.start, c, chooseBackend(f.backend))
		if err != nil {
			return err
		}
		return step(path, c)
	case f.first:
		path, err := s.zone.engine.Follow(ctx, s.start, c, nil)
		if err != nil {
			return err
		}
		return step(path, c)
	}
	more, err := s.zone.engine.Every(ctx, s.start, c, step)
	f.more = f.more || more
	return err
}

// arrive continues with a packet at the end of a section.
func (f *follower) arrive(ctx context.Context, z *logicalZone, path *ovn.Path, c *ovn.Connections, p Path, each func(Path, *ovn.Connections) error) error {
	v := path.End()
	if v == nil {
		return errors.New("the path has no end")
	}
	p.arrival = arrival{visit: v, zone: z, packet: v.Before(len(v.Steps))}
	if v.End.Outcome != journey.Delivered {
		return each(p, c)
	}
	if start, ok := z.engine.Reply(v); ok {
		f.byGateway(f.graph.PortByName(start.Port.Name()), &start.Packet)
		p.reply = &source{zone: z, start: start}
	}
	switch v.End.Reason {
	case ovn.ToPort:
		if h := f.hosts.byPort[v.End.Port.Name()]; h != nil {
			f.toHost(h, &p)
			return each(p, c)
		}
		p.stopped = f.notOwned(v.End.Port, &p.packet)
	case ovn.ToNetwork:
		return f.toNetwork(ctx, z, c, p, each)
	case ovn.ToZone:
		return f.toZone(ctx, v.End.Port, c, p, each)
	}
	return each(p, c)
}

// notOwned returns the verdict for a packet that leaves by a port whose owner lacks its address; nil if it has it.
func (f *follower) notOwned(port *logicalflow.Port, packet *packet.Flow) *journey.Verdict {
	t, ok := packet.Tuple()
	known := f.graph.PortByName(port.Name())
	if !ok || known == nil || f.owns(known, t.Dst) {
		return nil
	}
	v := droppedAt(known, journey.Cause{Kind: journey.WrongPort, Port: known.Name, Address: t.Dst})
	v.Node = f.nodeName(known.Chassis)
	return v
}

// toHost passes a packet to a host's network, which keeps what is addressed to it and forwards the rest.
func (f *follower) toHost(h *host, p *Path) {
	t, ok := p.packet.Tuple()
	from := p.visit.End.Port.Name()
	p.host, p.visit = h, nil
	l := section{host: h, from: from, does: "receives it"}
	switch {
	case !ok:
		p.stopped = unknown(journey.Cause{Kind: journey.NotIP})
	case !h.has(t.Dst):
		l.does = fmt.Sprintf("forwards it to %s: its routes and rules are assumed to allow it", t.Dst)
		if other := f.hosts.byAddress[t.Dst]; other != nil {
			p.host = other
		} else {
			p.outside = true
			p.stopped = f.notOutside(t.Dst, protocolName(t.Proto), t.DstPort)
		}
	}
	p.sections = append(p.sections, l)
	if p.outside {
		p.packet = hidden(p.packet, h, t.Src)
	}
}

// hidden returns a packet as a host forwards it outside: from its own address, if the source was private.
func hidden(p packet.Flow, h *host, src netip.Addr) packet.Flow {
	t, _ := p.Tuple()
	if i := slices.IndexFunc(h.addresses, func(a netip.Addr) bool { return a.Is6() == src.Is6() }); i >= 0 && private(src) {
		t.Src = h.addresses[i]
		p.SetTuple(t)
	}
	return p
}

// toNetwork continues with a packet on a physical network: to a host there, to another zone's router, or outside.
func (f *follower) toNetwork(ctx context.Context, z *logicalZone, c *ovn.Connections, p Path, each func(Path, *ovn.Connections) error) error {
	t, ok := p.packet.Tuple()
	if !ok {
		p.outside = true
		return each(p, c)
	}
	if h := f.hosts.byAddress[t.Dst]; h != nil {
		p.sections = append(p.sections, section{host: h, does: "receives it"})
		p.host, p.visit = h, nil
		if !f.onUnderlay(t.Src) && f.onOverlay(t.Src) && h.port != nil {
			if packet, ok := ovs.Reply(p.packet); ok {
				p.reply = &source{host: h, packet: packet}
			}
		}
		return each(p, c)
	}
	if e, ok := f.entryOf(t.Dst); ok && f.zones[e.localnet.Zone] != nil && f.zones[e.localnet.Zone] != z {
		next, err := f.enter(ctx, e, p.packet)
		if err != nil {
			return err
		}
		if next != nil {
			p.arrival = arrival{}
			return f.follow(ctx, *next, c, p, each)
		}
	}
	p.outside = true
	p.stopped = f.notOutside(t.Dst, protocolName(t.Proto), t.DstPort)
	if p.stopped != nil {
		p.stopped.Node, p.stopped.Datapath = f.lastRouter(&p)
	}
	return each(p, c)
}

// toZone continues with a packet on the chassis of another zone, if that zone is known: its transit switch port has the
// same name, and the packet goes to what is behind it.
func (f *follower) toZone(ctx context.Context, port *logicalflow.Port, c *ovn.Connections, p Path, each func(Path, *ovn.Connections) error) error {
	for _, z := range f.zones {
		if z.net == p.zone.net {
			continue
		}
		here, err := z.net.Port(ctx, port.Name())
		if err != nil {
			return err
		}
		if here == nil || here.Row.Type == "remote" {
			continue
		}
		behind, err := here.Peer(ctx)
		if err != nil {
			return err
		}
		next := &source{zone: z, start: ovn.Start{Port: behind, Packet: fresh(p.packet)}}
		if behind == nil {
			p.arrival = arrival{packet: p.packet, visit: p.visit, zone: p.zone}
			return each(p, c)
		}
		p.arrival = arrival{}
		return f.follow(ctx, *next, c, p, each)
	}
	p.reply = nil
	p.stopped = unknown(journey.Cause{Kind: journey.ZoneUnread, Port: port.Name()})
	return each(p, c)
}

// enter returns where a packet comes in from a physical network; nil if the Southbound lacks the port.
func (w *Walker) enter(ctx context.Context, e entry, packet packet.Flow) (*source, error) {
	z := w.zones[e.localnet.Zone]
	if z == nil {
		return nil, nil
	}
	port, err := z.net.Port(ctx, e.localnet.Name)
	if err != nil || port == nil {
		return nil, err
	}
	packet = fresh(packet)
	setMAC(&packet, "eth_src", anyMAC)
	setMAC(&packet, "eth_dst", e.mac)
	s := &source{zone: z, start: ovn.Start{Port: port, Packet: packet}}
	if e.chassis != "" {
		s.start.Chassis = z.net.ChassisByName(e.chassis)
	}
	return s, nil
}
