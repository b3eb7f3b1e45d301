package ovs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Switch replies to control commands of a node's daemons.
type Switch interface {
	Control(ctx context.Context, daemon, command string, args ...string) (string, error)
}

// maxPasses bounds a packet's passes through the tables of one node.
const maxPasses = 128

// A Start is where a packet enters the tables of a bridge.
type Start struct {
	Bridge string
	Packet packet.Flow
	Table  int // 0: by the port that is its in_port, else by this table
	Length int // of the packet in bytes, Ethernet header included, where a flow asks (check_pkt_larger); 0: a short packet
	// Actions, if not empty, are executed in place of a lookup, as those of a packet-out message.
	Actions string
	// Known is the state in which conntrack is likely to find the packet, as --ct-next takes it; empty: in a new connection.
	Known string
}

// Request returns the command that ovs-vswitchd traces the packet by, and its arguments.
func (s Start) Request() []string {
	actions := s.Actions
	if s.Table > 0 && actions == "" {
		actions = "resubmit(," + strconv.Itoa(s.Table) + ")"
	}
	if actions != "" {
		return []string{"ofproto/trace-packet-out", s.Bridge, s.Packet.String(), actions}
	}
	request := []string{"ofproto/trace", s.Bridge, s.Packet.String()}
	if s.Known != "" {
		for range usualPasses {
			request = append(request, "--ct-next", s.Known)
		}
	}
	return request
}

// usualPasses is how often a packet comes back from conntrack on most nodes.
const usualPasses = 3

// Follow takes a packet through the tables of a node's bridges, to every place where it leaves them. ovs-vswitchd
// traces it with ofproto/trace, which assumes what conntrack returns. This package decides that, so that marks, translation
// and connection state are those of the followed connection: where flows may tell the difference, ovs-vswitchd traces the
// packet again from there, with ofproto/trace-packet-out.
func Follow(ctx context.Context, sw Switch, node string, ct *Conntrack, start Start) (*Walk, error) {
	f := &follower{sw: sw, node: node, ct: ct, walk: &Walk{}}
	f.todo = []pass{{Start: start}}
	for n := 0; len(f.todo) > 0; n++ {
		if n == maxPasses {
			return nil, fmt.Errorf("%s of %s: the packet returns from conntrack more than %d times", start.Bridge, node, maxPasses)
		}
		p := f.todo[0]
		f.todo = f.todo[1:]
		if err := f.pass(ctx, p); err != nil {
			return nil, err
		}
	}
	return f.walk, nil
}

// A pass is one trip through the tables: from a port, or from where conntrack returns the packet.
type pass struct {
	Start
	before []Step
	told   [][]byte // userdata of controller actions so far
	traced *traced  // what ovs-vswitchd made of it already; nil: it is to be asked
}

type follower struct {
	sw   Switch
	node string
	ct   *Conntrack
	walk *Walk
	todo []pass
}

func (f *follower) pass(ctx context.Context, p pass) error {
	if p.traced == nil {
		request := p.Request()
		f.walk.Requests = append(f.walk.Requests, request)
		reply, err := f.sw.Control(ctx, "ovs-vswitchd", request[0], request[1:]...)
		if err != nil {
			return f.refused(err)
		}
		t, err := openflow.ParseTrace(reply)
		if err != nil {
			return fmt.Errorf("ovs-vswitchd on %s: reply to %s: %w", f.node, request[0], err)
		}
		p.traced = &traced{passes: openflow.Replay(t, &p.Packet)}
	}
	r := &reading{follower: f, pass: p, replayed: p.traced.passes[p.traced.number]}
	r.replayed.Events = ofLength(r.replayed.Events, p.Length)
	return r.read(ctx)
}

// refused wraps an error of ovs-vswitchd.
func (f *follower) refused(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("ovs-vswitchd on %s is unreachable: %w", f.node, err)
	}
	return fmt.Errorf("ovs-vswitchd on %s: %w", f.node, err)
}

// A reading turns one pass into leaves and further passes.
type reading struct {
	*follower
	pass
	replayed *openflow.Replayed
	tracked  map[int][]Tracking // by step index
	went     bool               // the packet, or a copy, continues somewhere
	reason   string
	remarks  []string // on outputs to a learning switch
	// changed is how the packet on the wire differs from the one that the tables see: a ct action that does not return
	// the packet translates it nevertheless.
	changed map[packet.Tuple]packet.Tuple
}

// onWire returns the packet at an event as it leaves.
func (r *reading) onWire(e openflow.Event) packet.Flow {
	p := e.Flow
	if t, ok := p.Tuple(); ok {
		if now, ok := r.changed[t]; ok {
			p.SetTuple(now)
		}
	}
	return p
}

func (r *reading) read(ctx context.Context) error {
	r.tracked, r.changed = map[int][]Tracking{}, map[packet.Tuple]packet.Tuple{}
	if again, ok := r.relearned(); ok {
		r.todo = append(r.todo, again)
		return nil
	}
	if again, ok := r.shown(ctx); ok {
		r.todo = append(r.todo, again)
		return nil
	}
	r.learn()
	r.show()
	unknown := "" // an action that might have sent the packet on
	events := r.replayed.Events
	for i := 0; i < len(events); i++ {
		e := events[i]
		switch e.Kind {
		case openflow.EventRecirculate, openflow.EventCommit:
			r.conntrack(i, e)
		case openflow.EventController:
			r.told = append(r.told[:len(r.told):len(r.told)], e.Controller.Userdata)
			if e.Controller.Pause {
				r.leaf(i, Leaf{Kind: ToController})
			}
		case openflow.EventOutput:
			if err := r.output(ctx, i, e); err != nil {
				return err
			}
			if e.Output.Kind == openflow.ToNativeTunnel {
				i = afterNested(events, i) // the outer packet's path through the underlay bridge
			}
		case openflow.EventError:
			r.reason = e.Text
		case openflow.EventUnknown:
			if !strings.HasPrefix(e.Text, "sample(") { // which only reports the packet
				unknown = e.Text
			}
		}
	}
	if r.went {
		return nil
	}
	if unknown != "" {
		r.reason = unknown
		r.leaf(r.lastStep(), Leaf{Kind: Unknown})
		return nil
	}
	last := r.lastStep()
	if failure := r.replayed.Pass.Failure; failure != "" {
		r.reason = failure
		r.leaf(last, Leaf{Kind: Failed})
		return nil
	}
	r.leaf(last, Leaf{Kind: Dropped})
	return nil
}

// afterNested returns the index of the last event inside the one at i.
func afterNested(events []openflow.Event, i int) int {
	depth := events[i].Clone
	for i+1 < len(events) && events[i+1].Clone > depth {
		i++
	}
	return i
}

// ofLength returns the events without those that a packet of this length does not have: the switch explores both results
// of check_pkt_larger.
func ofLength(events []openflow.Event, length int) []openflow.Event {
	kept, now := make([]openflow.Event, 0, len(events)), map[int]int{-1: -1}
	for i := 0; i < len(events); i++ {
		e := events[i]
		if e.Kind == openflow.EventCheckPktLarger && e.Larger.Larger != (length > int(e.Larger.Size)) {
			i = lastAssuming(events, i)
			continue
		}
		e.Parent, now[i] = now[e.Parent], len(kept)
		kept = append(kept, e)
	}
	return kept
}

// lastAssuming returns the index of the last event that assumes the result of the check at i.
func lastAssuming(events []openflow.Event, i int) int {
	check := events[i]
	for ; i+1 < len(events) && events[i+1].Parent >= check.Parent; i++ {
		if next := events[i+1]; next.Kind == openflow.EventCheckPktLarger && next.Node == check.Node {
			break
		}
	}
	return i
}

// leaf ends a copy of the packet at an event.
func (r *reading) leaf(i int, l Leaf) {
	r.went = true
	l.Bridge, l.Reason, l.Remarks, l.Userdata = r.Bridge, r.reason, r.remarks, r.told
	if l.Kind != Dropped {
		l.Remarks = nil
	}
	l.Packet = r.Packet
	if i >= 0 {
		e := r.replayed.Events[i]
		l.Bridge, l.Packet = e.Bridge, r.onWire(e)
	}
	l.Steps = append(r.before[:len(r.before):len(r.before)], r.steps(i)...)
	r.walk.Leaves = append(r.walk.Leaves, l)
}

func (r *reading) output(ctx context.Context, i int, e openflow.Event) error {
	o := e.Output
	if o.Reason != "" {
		r.reason = o.Reason
		if o.Kind == openflow.ToNativeTunnel && strings.Contains(o.Reason, "neighbor cache miss") {
			r.leaf(i, Leaf{Kind: ToTunnel, Port: o.Port, Remote: o.TunnelDst, Unresolved: true, Via: o.Peer, Outer: o.Outer()})
		}
		return nil
	}
	switch o.Kind {
	case openflow.ToPatch, openflow.ToTable:
		// What happens there comes next.
	case openflow.ToNativeTunnel, openflow.ToKernelTunnel:
		l := Leaf{Kind: ToTunnel, Port: o.Port, Remote: o.TunnelDst, Via: o.Peer}
		if o.Kind == openflow.ToNativeTunnel {
			l.Outer = o.Outer()
		}
		if !l.Remote.IsValid() {
			l.Remote = tunnelDestination(&e.Flow)
		}
		r.leaf(i, l)
	case openflow.ToNormal, openflow.ToFlood:
		return r.switched(ctx, i, e)
	case openflow.ToLocal:
		l := Leaf{Kind: ToPort, Port: packet.PortID{Number: packet.PortLocal}}
		if decapsulates(r.replayed.Pass.DatapathActions) {
			l.Kind = FromTunnel
		}
		r.leaf(i, l)
	default:
		r.leaf(i, Leaf{Kind: ToPort, Port: o.Port})
	}
	return nil
}

// switched makes leaves of the ports to which a learning switch sends the packet. The reply does not name them; the
// datapath actions do, by datapath port number.
func (r *reading) switched(ctx context.Context, i int, e openflow.Event) error {
	r.remarks = append(r.remarks, e.Output.Details...)
	actions := r.replayed.Pass.DatapathActions
	if decapsulates(actions) {
		r.leaf(i, Leaf{Kind: FromTunnel})
	}
	sent := outputs(actions, vlanOf(&r.Packet), r.Length)
	if len(sent) == 0 {
		return nil
	}
	text, err := r.sw.Control(ctx, "ovs-vswitchd", "dpif/show")
	if err != nil {
		return r.refused(err)
	}
	members, err := r.members(ctx, sent)
	if err != nil {
		return r.refused(err)
	}
	for _, port := range openflow.ParseDatapathPorts(text) {
		in := port.OpenFlow == e.Flow.InPort().Number // NORMAL never sends back: another bridge sent what goes there
		to := slices.IndexFunc(sent, func(s sentTo) bool {
			if s.choice != "" {
				return port.Name == members[s]
			}
			return s.number == int(port.Datapath)
		})
		if port.Bridge != e.Bridge || in || to < 0 {
			continue
		}
		r.leaf(i, Leaf{Kind: ToPort, Port: packet.PortID{Number: port.OpenFlow}})
		r.walk.Leaves[len(r.walk.Leaves)-1].Packet.SetUint("vlan_tci", uint64(sent[to].vlan))
	}
	return nil
}

// members names a member of each bond that balances what it sends: of those by which the packet may leave, the active one, or any.
func (r *reading) members(ctx context.Context, sent []sentTo) (map[sentTo]string, error) {
	if !slices.ContainsFunc(sent, func(s sentTo) bool { return s.choice != "" }) {
		return nil, nil
	}
	text, err := r.sw.Control(ctx, "ovs-vswitchd", "bond/show")
	if err != nil {
		return nil, err
	}
	members := map[sentTo]string{}
	bonds := openflow.ParseBonds(text)
	for _, s := range sent {
		i := slices.IndexFunc(bonds, func(b openflow.Bond) bool {
			return s.choice == "recirc" && int(b.Recirc) == s.number || s.choice == "lb_output" && int(b.Output) == s.number
		})
		if i < 0 {
			continue
		}
		for _, m := range bonds[i].Members {
			if m.Enabled && (m.Active || members[s] == "") {
				members[s] = m.Name
			}
		}
	}
	return members, nil
}

// conntrack executes a ct action: it determines the packet's state, commits the connection if the action says so, and
// lets the copy continue that comes back.
func (r *reading) conntrack(i int, e openflow.Event) {
	action := e.Conntrack.Action
	zone := Zone{Node: r.node, ID: e.Conntrack.Zone}
	sent := r.onWire(e)
	t, ok := sent.Tuple()
	if !ok {
		return
	}
	seen := r.ct.Look(zone, t, action.NAT != nil, isTCPReply(&sent))
	full := action.Commit && seen.Conn == nil && seen.State&packet.CTInvalid == 0 && r.ct.full(zone)
	if action.Commit && seen.State&packet.CTInvalid == 0 && !full {
		if seen.Conn == nil {
			now := t
			if action.NAT != nil {
				now = natted(t, action.NAT)
			}
			seen.Conn = r.ct.Commit(zone, t, now)
			seen.translate(now)
		}
		c, event := seen.Conn, e.Conntrack
		c.Mark = c.Mark&^event.MarkMask | event.Mark
		c.Label = c.Label.AndNot(event.LabelMask).Or(event.Label)
	}
	if step := r.stepOf(i); step >= 0 {
		r.tracked[step] = append(r.tracked[step], Tracking{Zone: zone, State: seen.State, From: t, To: seen.Now, Commit: action.Commit && !full, Full: full})
	}
	if e.Kind == openflow.EventCommit {
		if before, _ := e.Flow.Tuple(); before != seen.Now {
			r.changed[before] = seen.Now
		}
		return
	}
	r.went = true
	back := sent
	back.ClearConntrack()
	back.SetTuple(seen.Now)
	setConntrack(&back, zone, seen, t)
	steps := append(r.before[:len(r.before):len(r.before)], r.steps(i)...)
	again := pass{Start: Start{Bridge: e.Bridge, Packet: back, Table: action.Table.Number, Length: r.Length}, before: steps, told: r.told}
	again.traced = r.traced.after(e, &back)
	r.todo = append(r.todo, again)
}

// natted returns the packet as a new connection's nat argument translates it. It uses the first of a range, as
// ofproto/trace does.
func natted(t packet.Tuple, nat *openflow.NAT) packet.Tuple {
	if !nat.Min.IsValid() {
		return t
	}
	if nat.Src {
		t.Src = nat.Min
		if nat.MinPort != 0 {
			t.SrcPort = nat.MinPort
		}
		return t
	}
	t.Dst = nat.Min
	if nat.MinPort != 0 {
		t.DstPort = nat.MinPort
	}
	return t
}

// setConntrack writes a packet's conntrack fields (ovs-fields(7), "Connection Tracking Fields").
func setConntrack(p *packet.Flow, zone Zone, seen Tracked, original packet.Tuple) {
	if seen.Conn != nil {
		original = seen.Conn.Orig
		p.SetUint("ct_mark", uint64(seen.Conn.Mark))
		p.Set(&packet.CTLabel, seen.Conn.Label)
	}
	p.SetUint("ct_state", uint64(seen.State))
	p.SetUint("ct_zone", uint64(zone.ID))
	if seen.State&packet.CTInvalid != 0 {
		return // belongs to no connection
	}
	p.SetOriginal(original)
}

// stepOf returns the index of the step whose actions caused an event, or the event itself if it is a step.
func (r *reading) stepOf(i int) int {
	if i >= 0 && r.replayed.Events[i].Kind != openflow.EventStep {
		return r.replayed.Events[i].Parent
	}
	return i
}

// lastStep returns the index of the step that ends the pass: the last lookup of the last lookup.
func (r *reading) lastStep() int {
	last := -1
	for i, e := range r.replayed.Events {
		if e.Kind == openflow.EventStep && e.Parent == last {
			last = i
		} else if e.Kind == openflow.EventStep && r.precedes(e.Parent, last) {
			last = i
		}
	}
	return last
}

// precedes reports whether step a is above step b.
func (r *reading) precedes(a, b int) bool {
	for b >= 0 {
		if b = r.replayed.Events[b].Parent; b == a {
			return true
		}
	}
	return a == -1
}

// steps returns the lookups on the path to an event: those whose actions led to it, and their helper lookups.
func (r *reading) steps(i int) []Step {
	path := map[int]bool{}
	for at := r.stepOf(i); at >= 0; at = r.replayed.Events[at].Parent {
		path[at] = true
	}
	parents := map[int]bool{}
	for _, e := range r.replayed.Events {
		if e.Kind == openflow.EventStep {
			parents[e.Parent] = true
		}
	}
	var steps []Step
	for at, e := range r.replayed.Events {
		if e.Kind != openflow.EventStep || at > max(i, 0) {
			continue
		}
		aside := !path[at] && path[e.Parent] && !parents[at]
		if !path[at] && !aside {
			continue
		}
		s := Step{Step: e.Step, Bridge: e.Bridge, Aside: aside, Before: e.Flow, Tracked: r.tracked[at]}
		for _, n := range e.Node.Children {
			s.take(n)
		}
		steps = append(steps, s)
	}
	return steps
}

// take adds a line below the lookup if it is an action.
func (s *Step) take(n *openflow.Node) {
	if n.Kind != openflow.NodeAction {
		return
	}
	s.Actions = append(s.Actions, n.Text)
	if n.Action != nil {
		s.Parsed = append(s.Parsed, n.Action)
	}
	if resubmit, ok := n.Action.(openflow.Resubmit); ok {
		s.Resubmits = append(s.Resubmits, resubmit.Table.Number)
	}
}

// tunnelDestination returns where a packet's own tunnel fields send it; the zero Addr if nowhere.
func tunnelDestination(p *packet.Flow) netip.Addr {
	for _, name := range []string{"tun_dst", "tun_ipv6_dst"} {
		if a := p.Addr(packet.MustField(name)); !a.IsUnspecified() {
			return a
		}
	}
	return netip.Addr{}
}
