package probe

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// A Query is how to send.
type Query struct {
	Count int
	Size  int // in bytes, with the IP header; 0 is a small packet
	DSCP  int
	// PathMTU is set to find the largest packet that comes through.
	PathMTU bool
}

// How fast packets are sent, and how long replies are waited for.
const (
	interval = 100 * time.Millisecond
	patience = 2 * time.Second
	tick     = 10 * time.Millisecond
	// grace is how long a listener on another node may take to report what it saw.
	grace = 100 * time.Millisecond
)

// Run sends packets as a trace's request describes them, and reports where they were seen.
func Run(ctx context.Context, c *cluster.Cluster, t *journey.Trace, q Query) (*journey.Sent, error) {
	p, err := packetOf(t, q)
	if err != nil {
		return nil, err
	}
	r := &run{cluster: c, packet: p, trace: t, nodes: map[string]*watched{}}
	r.branches(ctx)
	defer r.stop()
	r.listen(ctx)
	sent := r.send(ctx, q)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.stop()
	return r.answer(sent), nil
}

// defaultTTL is what a packet begins with whose sender has no setting of its own, or one that is unknown.
const defaultTTL = 64

// packetOf returns the packet to send.
func packetOf(t *journey.Trace, q Query) (*Packet, error) {
	src, err := netip.ParseAddr(t.Request.From.Address)
	if err != nil {
		return nil, fmt.Errorf("%s has no address to send from", t.Request.From.Text)
	}
	dst, err := netip.ParseAddr(t.Request.To.Address)
	if err != nil {
		return nil, fmt.Errorf("%s has no address to send to", t.Request.To.Text)
	}
	if c := t.Verdict.Because; c.Kind == journey.OtherSource { // as its programs do
		src = c.Other
	}
	var seed [8]byte
	_, _ = rand.Read(seed[:])
	p := &Packet{
		Protocol: t.Request.Protocol, Src: src.Unmap(), Dst: dst.Unmap(), Port: uint16(t.Request.Port), DSCP: byte(q.DSCP), TTL: defaultTTL,
		// Below the kernel's ephemeral range.
		SourcePort: 12000 + binary.BigEndian.Uint16(seed[4:])%20000, Mark: binary.BigEndian.Uint32(seed[:]) & markMask,
		Unsummed: slices.ContainsFunc(branchesOf(t), func(b journey.Branch) bool {
			return b.Forward != nil && b.Forward.Verdict.Because.Kind == journey.NoChecksum
		}),
	}
	if t.TTL > 0 && t.TTL < 256 {
		p.TTL = byte(t.TTL)
	}
	p.Size = cmp.Or(q.Size, p.headers()+56)
	if p.Protocol == "tcp" {
		p.Size = cmp.Or(q.Size, p.headers())
	}
	if p.Size < p.Smallest() {
		return nil, fmt.Errorf("a packet of %d bytes has no room for a mark: the smallest has %d", p.Size, p.Smallest())
	}
	return p, nil
}

// A run is one sending of packets.
type run struct {
	cluster *cluster.Cluster
	trace   *journey.Trace
	packet  *Packet
	paths   []path
	nodes   map[string]*watched

	mu    sync.Mutex
	seen  []sighting
	ended sync.Once
	found sweep
	// injected is set when the sender's bridge put packets out, since its own network cannot be entered.
	injected bool
}

// A path is the places of one branch.
type path struct {
	verdict     journey.Verdict
	watchpoints []journey.Watchpoint
}

// A watched is a node on a path.
type watched struct {
	name      string
	prober    node.Prober
	links     map[string]string // by logical port
	why       string            // it is not watched
	listening *node.Listening
}

// A sighting is a packet on a link of a node.
type sighting struct {
	node  string
	frame node.Frame
	sight sight
}

// branchesOf returns the branches of a trace; one with a single path has that as one.
func branchesOf(t *journey.Trace) []journey.Branch {
	if len(t.Branches) == 0 {
		return []journey.Branch{{Verdict: t.Verdict, Forward: t.Forward, Reply: t.Reply}}
	}
	return t.Branches
}

// branches plans the places of all branches and finds the links of their ports.
func (r *run) branches(ctx context.Context) {
	var all []*cluster.Node
	for _, b := range branchesOf(r.trace) {
		p := path{b.Verdict, watchpoints(r.trace.Request, b.Forward, b.Reply)}
		r.paths = append(r.paths, p)
		for _, s := range p.watchpoints {
			all = r.add(s.Node, all)
		}
	}
	all = r.add(r.trace.Request.From.Node, all)
	r.cluster.Gather(ctx, all...)
	for name, w := range r.nodes {
		w.find(ctx, r.cluster.Node(name))
	}
	for _, p := range r.paths {
		for i := range p.watchpoints {
			s := &p.watchpoints[i]
			if s.Port != "" {
				s.Link = r.nodes[s.Node].links[s.Port]
			}
		}
	}
}

func (r *run) add(name string, all []*cluster.Node) []*cluster.Node {
	if r.nodes[name] != nil || name == "" {
		return all
	}
	r.nodes[name] = &watched{name: name}
	if n := r.cluster.Node(name); n != nil {
		return append(all, n)
	}
	return all
}

// find finds how to watch a node, and the links of its logical ports.
func (w *watched) find(ctx context.Context, n *cluster.Node) {
	w.links = map[string]string{}
	if n == nil || n.Vswitch() == nil {
		w.why = "node " + w.name + " was not read"
		return
	}
	p, ok := n.Host.(node.Prober)
	if !ok {
		w.why = "node " + w.name + " is read from saved data"
		return
	}
	w.prober = p
	rows, err := ovsdb.Find[vswitch.InterfaceBrief](ctx, n.Vswitch())
	if err != nil {
		w.why = err.Error()
	}
	for _, i := range rows {
		if id := i.ExternalIDs["iface-id"]; id != "" {
			w.links[id] = i.Name
		}
	}
}

// listen listens on all nodes of the paths.
func (r *run) listen(ctx context.Context) {
	var all sync.WaitGroup
	for _, w := range r.nodes {
		if w.prober == nil {
			continue
		}
		watch := node.Watch{Words: r.packet.words(), Protocols: r.packet.answers(), For: time.Minute}
		for _, p := range r.paths {
			for _, s := range p.watchpoints {
				if (s.Kind == journey.AtWorkload || s.Kind == journey.AtKernel) && s.Node == w.name && s.Link != "" && !slices.Contains(watch.Pods, s.Link) {
					watch.Pods = append(watch.Pods, s.Link)
				}
			}
		}
		all.Go(func() {
			l, err := w.prober.Listen(ctx, watch, func(f node.Frame) { r.see(w.name, f) })
			if err != nil {
				w.why = err.Error()
				return
			}
			w.listening = l
		})
	}
	all.Wait()
}

func (r *run) see(name string, f node.Frame) {
	s, ok := r.packet.read(f.Protocol, f.Data)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, sighting{name, f, s})
}

func (r *run) stop() {
	r.ended.Do(func() {
		var all sync.WaitGroup
		for _, w := range r.nodes {
			if w.listening == nil {
				continue
			}
			all.Go(func() {
				if err := w.listening.Stop(); err != nil {
					w.why = err.Error()
				}
			})
		}
		all.Wait()
	})
}

// send sends the packets, and once more if nothing came back: a first packet may be lost while neighbours are being
// resolved. Then it tries sizes, if that is asked for.
func (r *run) send(ctx context.Context, q Query) outgoing {
	out := outgoing{}
	w := r.nodes[r.trace.Request.From.Node]
	switch {
	case w == nil:
		out.err = errors.New(r.trace.Request.From.Text + " is on no node that packets can be sent from")
		return out
	case w.prober == nil:
		out.err = errors.New(w.why)
		return out
	}
	s := node.Sending{Interval: interval}
	if port := r.trace.Request.From.Port; port != "" && r.trace.Request.From.Kind != "node" {
		if s.Pod = w.links[port]; s.Pod == "" {
			out.err = fmt.Errorf("no interface on %s has iface-id %s", w.name, port)
			return out
		}
	}
	for range 2 {
		s.Packets = nil
		for i := range q.Count {
			s.Packets = append(s.Packets, r.packet.bytes(out.count+i))
		}
		if out.err = r.emit(ctx, w, s); out.err != nil {
			return out
		}
		out.count += q.Count
		if r.wait(ctx, q.Count) {
			switch {
			case q.PathMTU && r.injected:
				out.err = errors.New("sizes are tried from the sender's own network, and that cannot be entered: it has " + r.trace.Request.From.Port + " on a device without another end")
			case q.PathMTU:
				r.found = r.sizes(ctx, s, &out)
			}
			break
		}
	}
	return out
}

// emit sends packets from the sender's own network. Where that cannot be entered, as that of a VM, the bridge puts them out as if
// they came in by the sender's port.
func (r *run) emit(ctx context.Context, w *watched, s node.Sending) error {
	in := r.trace.Ingress
	var err error
	if !r.injected {
		err = w.prober.Send(ctx, s)
		if err == nil || errors.Is(err, node.ErrNotSent) || s.Pod == "" || in == nil || in.Node != w.name {
			return err
		}
	}
	for i, p := range s.Packets {
		if i > 0 {
			sleep(ctx, s.Interval)
		}
		out := node.Outgoing{Frame: frameAt(in, p), InPort: in.Port, Actions: "table"}
		if failed := w.prober.PacketOut(ctx, in.Bridge, []node.Outgoing{out}); failed != nil {
			return errors.Join(err, failed)
		}
	}
	r.injected = true
	return nil
}

// An outgoing is how many packets were sent, and why not more.
type outgoing struct {
	count int
	err   error
}

// wait waits for replies to so many packets, and reports whether any came.
func (r *run) wait(ctx context.Context, count int) bool {
	if r.await(ctx, patience, func() bool { return r.back() >= count }) {
		sleep(ctx, grace)
		return true
	}
	return r.back() > 0
}

// await waits until something is so, and reports whether it is.
func (r *run) await(ctx context.Context, patience time.Duration, so func() bool) bool {
	left := patience
	for last := time.Now(); left > 0 && ctx.Err() == nil; {
		if so() {
			return true
		}
		sleep(ctx, tick)
		now := time.Now()
		left -= min(now.Sub(last), 2*tick) // the rest of a longer pause passed while no process could run
		last = now
	}
	return false
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// back counts what came back to the sender.
func (r *run) back() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	most := 0
	for _, p := range r.paths {
		if len(p.watchpoints) == 0 {
			continue
		}
		end := p.watchpoints[len(p.watchpoints)-1]
		for _, w := range slices.Backward(p.watchpoints) {
			if r.unwatched(w) == "" {
				end = w
				break
			}
		}
		indexes := map[int]bool{}
		for _, s := range r.seen {
			if end.Reply && at(end, s) || atSender(p.watchpoints[0], s) {
				indexes[s.sight.index] = true
			}
		}
		most = max(most, len(indexes))
	}
	return most
}

// atSender reports whether something came back to where packets are sent from.
func atSender(first journey.Watchpoint, s sighting) bool {
	return s.node == first.Node && s.sight.what != itself && s.frame.Link == first.Link && s.frame.Pod && !s.frame.Out
}
