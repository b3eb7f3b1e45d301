package trace

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
)

// A flowName identifies one flow of a node across two samples of its tables.
type flowName struct {
	node, bridge    string
	table, priority int
	cookie, match   string
}

// counts are packet counters of flows since they were installed.
type counts map[flowName]uint64

// observe watches the flows on a trace's paths while packets are sent, and compares the counters with the trace.
func (t *tracer) observe(ctx context.Context, ask *question, result *journey.Trace) {
	branches := result.Branches
	if len(branches) == 0 {
		branches = []journey.Branch{{Verdict: result.Verdict, Forward: result.Forward, Reply: result.Reply}}
	}
	w := &watch{tracer: t, bridges: map[*nodeView][]string{}}
	for _, b := range branches {
		w.follows(b.Forward)
		w.follows(b.Reply)
	}
	began, failed := w.look(ctx, ask)
	start := time.Now()
	if failed == nil {
		w.wait(ctx, ask, start)
	}
	var ended counts
	if failed == nil {
		w.elapsed = time.Since(start)
		ended, failed = w.look(ctx, ask)
	}
	if failed != nil {
		result.Observed = &journey.Observation{Result: journey.Unwatched, Sentence: "nothing could be observed: " + failed.Error()}
		return
	}
	w.moved = moved(began, ended)
	for _, b := range branches {
		if o := w.judge(ask, b); result.Observed == nil || tells(o) > tells(result.Observed) {
			result.Observed = o
		}
	}
	if result.Observed.Next != "" && (result.Verdict.Outcome == journey.Delivered || result.Observed.Result == journey.Refuted) {
		result.Next = []string{result.Observed.Next}
	}
}

// tells ranks observations by how much they reveal: the packets of one connection take only one of several paths.
func tells(o *journey.Observation) int {
	return slices.Index([]journey.Observed{journey.Unwatched, journey.Idle, journey.Confirmed, journey.Refuted}, o.Result)
}

// A watch is two samples of the counters.
type watch struct {
	*tracer
	bridges map[*nodeView][]string // with flows on the paths
	elapsed time.Duration
	moved   counts
}

// follows adds a direction's bridges to those watched.
func (w *watch) follows(d *journey.Direction) {
	if d == nil || d.Producer != journey.OpenFlow {
		return
	}
	for _, h := range d.Hops {
		if v := w.viewNamed(h.Node); v != nil && len(h.Steps) > 0 {
			if bridge := v.bridgeOf(h); bridge != "" && !slices.Contains(w.bridges[v], bridge) {
				w.bridges[v] = append(w.bridges[v], bridge)
			}
		}
	}
}

// viewNamed returns a hop's node; nil if it was not read.
func (t *tracer) viewNamed(name string) *nodeView {
	for n, v := range t.views {
		if n.Name == name {
			return v
		}
	}
	return nil
}

// bridgeOf returns the bridge whose tables a hop is in; empty if none.
func (v *nodeView) bridgeOf(h journey.Hop) string {
	switch h.Kind {
	case "bridge":
		return h.Datapath
	case "switch", "router":
		return v.names.Bridge
	}
	return ""
}

// wait waits while packets are sent.
func (w *watch) wait(ctx context.Context, ask *question, start time.Time) {
	for {
		left := ask.Observe - time.Since(start)
		if left <= 0 {
			return
		}
		ask.progress(fmt.Sprintf("watching the counters: %s left", left.Round(time.Second)))
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(left, time.Second)):
		}
	}
}

func (q *Query) progress(text string) {
	if q.Progress != nil {
		q.Progress(text)
	}
}

// look samples the counters of all bridges on the paths, on all nodes in parallel.
func (w *watch) look(ctx context.Context, ask *question) (counts, error) {
	if len(w.bridges) == 0 {
		return nil, fmt.Errorf("no node on the path is reachable: run ovnctl there, or give --via ssh or --node-exec 'PREFIX {hostname}'")
	}
	ask.progress("reading the counters")
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := counts{}
	var failed error
	for v, bridges := range w.bridges {
		wg.Go(func() {
			read, err := v.counters(ctx, bridges)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(all, read)
			if err != nil && failed == nil {
				failed = fmt.Errorf("the flows of node %s: %w", v.Name, err)
			}
		})
	}
	wg.Wait()
	return all, failed
}

// counters reads the flow counters of some of a node's bridges.
func (v *nodeView) counters(ctx context.Context, bridges []string) (counts, error) {
	v.upToDate(ctx)
	all := counts{}
	for _, bridge := range bridges {
		text, err := v.Host.Dump(ctx, bridge, node.Flows)
		if err != nil {
			return nil, err
		}
		dump, err := openflow.ParseDump(text)
		if err != nil {
			return nil, err
		}
		for _, f := range openflow.Entries[openflow.FlowEntry](dump) {
			if f.Stats != nil {
				all[flowName{v.Name, bridge, max(f.Table.Number, 0), f.Priority, cookieText(f.Cookie), f.Match.String()}] = f.Stats.Packets
			}
		}
	}
	return all, ctx.Err()
}

// lag is how long ovs-vswitchd may take to add the datapath's counts to its flows' counters.
const lag = time.Second

// upToDate waits until the counters include all packets so far. ovs-vswitchd collects them from the datapath in rounds
// and reports when one ends; the current round may have passed a flow already.
func (v *nodeView) upToDate(ctx context.Context) {
	for range 2 {
		if _, err := v.Host.Control(ctx, "ovs-vswitchd", "revalidator/wait"); err != nil {
			select { // several datapaths, or the command is unknown
			case <-ctx.Done():
			case <-time.After(lag):
			}
			return
		}
	}
}

// moved returns what flows counted between two samples. A flow reinstalled in between counted from 0.
func moved(began, ended counts) counts {
	all := counts{}
	for name, n := range ended {
		if before := began[name]; before <= n {
			n -= before
		}
		all[name] = n
	}
	return all
}

// name returns the flow of a step, its match written as in a dump.
func (v *nodeView) name(h journey.Hop, s journey.Step) (flowName, bool) {
	match, err := openflow.ParseMatch(s.Match)
	if err != nil || s.Table < 0 {
		return flowName{}, false
	}
	return flowName{v.Name, v.bridgeOf(h), s.Table, s.Priority, s.Cookie, match.String()}, true
}

// A point is a table of a datapath; a connection's packets pass it through one of several flows.
type point struct {
	node, datapath string
	table          int
}

// points returns the flows of each point on a path.
func (w *watch) points(hops []journey.Hop) map[point]map[flowName]bool {
	all := map[point]map[flowName]bool{}
	for _, h := range hops {
		v := w.viewNamed(h.Node)
		if v == nil {
			continue
		}
		for _, s := range h.Steps {
			name, ok := v.name(h, s)
			if _, counted := w.moved[name]; !ok || !counted {
				continue
			}
			at := point{h.Node, h.Datapath, s.Table}
			if all[at] == nil {
				all[at] = map[flowName]bool{}
			}
			all[at][name] = true
		}
	}
	return all
}

// A reach is how far packets came in one direction.
//
// Packets that enter a node's bridges hit all flows there that ovs-vswitchd predicts. If one of these counted none, the
// flows before it counted other packets, and the sent ones never reached the node. Only the flow that ends the path may
// be skipped for another.
type reach struct {
	counted  bool      // there was a flow to watch
	came     *sighting // the last step that they reached; nil if none
	packets  uint64    // that may have reached it
	lost     *sighting // the first step that counted none; nil if there is none
	deciding bool      // lost ends the path, and they reached the step before it
}

// A sighting is a step and its hop.
type sighting struct {
	hop  journey.Hop
	step journey.Step
}

// count fills in a direction's counters and returns how far packets came.
func (w *watch) count(d *journey.Direction) reach {
	w.fill(d)
	var r, here reach // up to the previous node, and including this one
	node := ""
	for i, h := range d.Hops {
		if h.Node != node || h.Kind == "host" || h.Kind == "tunnel" {
			r, node = here, h.Node
		}
		for j := range h.Steps {
			last := i == len(d.Hops)-1 && j == len(h.Steps)-1 && d.Verdict.Outcome != journey.Delivered
			s := &h.Steps[j]
			c := s.Counter
			switch {
			case c == nil || c.First && !last: // later packets skip it; the flow that ends the path must still count
				continue
			case c.Packets > 0:
				here.pass(&sighting{h, *s})
				continue
			case last && here.came != nil:
				r, r.deciding = here, true
			}
			c.Lost = r.came != nil
			r.counted, r.lost = true, &sighting{h, *s}
			return r
		}
	}
	return here
}

// pass records that packets reached a step.
func (r *reach) pass(at *sighting) {
	if n := at.step.Counter.Packets; r.came == nil || n < r.packets {
		r.packets = n
	}
	r.counted, r.came = true, at
}

// fill sets the counters of a direction's steps.
func (w *watch) fill(d *journey.Direction) {
	first := w.points(d.Hops)
	later, followed := w.laterHops[d]
	others := w.points(later)
	for i := range d.Hops {
		h := &d.Hops[i]
		for j := range h.Steps {
			at := point{h.Node, h.Datapath, h.Steps[j].Table}
			if len(first[at]) == 0 {
				continue
			}
			c := &journey.Counter{First: followed && len(others[at]) == 0}
			flows := maps.Clone(first[at])
			maps.Copy(flows, others[at])
			for name := range flows {
				c.Packets += w.moved[name]
			}
			h.Steps[j].Counter = c
		}
	}
}

// judge reports what became of the packets sent on a path while it was watched.
func (w *watch) judge(ask *question, b journey.Branch) *journey.Observation {
	o := &journey.Observation{Seconds: w.elapsed.Round(time.Millisecond).Seconds()}
	there := w.count(b.Forward)
	if b.Reply == nil || there.lost != nil || !there.counted {
		w.direction(ask, o, there, b.Forward, "packets", ask.request.From)
		return o
	}
	back := w.count(b.Reply)
	switch {
	case !back.counted && b.Verdict.Outcome == journey.Delivered:
		at(o, there)
		o.Result = journey.Confirmed
		o.Sentence = fmt.Sprintf("up to %d packets arrived; no flow on the path of the reply has a counter", there.packets)
	case back.came == nil: // also if the verdict is that nothing replies
		at(o, there)
		o.Result = journey.Refuted
		if !back.counted {
			o.Result = journey.Confirmed
		}
		o.Reply = true
		o.Sentence = fmt.Sprintf("up to %d packets reached %s, which sent no reply", there.packets, endName(ask.request.To))
		o.Next = listening(ask)
	case back.lost == nil && b.Verdict.Outcome == journey.Delivered:
		at(o, back)
		o.Result, o.Reply = journey.Confirmed, true
		o.Sentence = fmt.Sprintf("up to %d packets arrived, and up to %d replies came back", there.packets, back.packets)
	default:
		w.direction(ask, o, back, b.Reply, "replies", ask.request.To)
		o.Reply = true
	}
	return o
}

// at records in an observation where packets were last seen.
func at(o *journey.Observation, r reach) {
	o.Packets, o.Node, o.Datapath, o.Stage = r.packets, r.came.hop.Node, r.came.hop.Datapath, r.came.step.Stage
}

// direction reports what became of packets in one direction. What is "packets" or "replies".
func (w *watch) direction(ask *question, o *journey.Observation, r reach, d *journey.Direction, what string, from journey.Endpoint) {
	switch {
	case !r.counted:
		o.Result = journey.Unwatched
		o.Sentence = "no flow on the path has a counter"
	case r.came == nil:
		o.Result = journey.Idle
		o.Sentence = fmt.Sprintf("no traffic seen: %s sent none of these packets, which would have hit the flow of %s", endName(from), r.lost)
		o.Next = sending(ask)
	case r.lost == nil && d.Verdict.Outcome == journey.Delivered:
		at(o, r)
		o.Result = journey.Confirmed
		o.Sentence = fmt.Sprintf("up to %d %s arrived", r.packets, what)
	case r.lost == nil:
		at(o, r)
		o.Result = journey.Confirmed
		o.Sentence = fmt.Sprintf("up to %d %s reached %s and went no further", r.packets, what, r.came)
	case r.deciding:
		at(o, r)
		o.Result = journey.Refuted
		o.Sentence = fmt.Sprintf("up to %d %s reached %s, and none hit the flow of %s that would end their path: they hit another one", r.packets, what, r.came, r.lost)
		o.Next = fmt.Sprintf("ovnctl flows --node %s --bridge %s --table %d --sort packets --watch", cause.Shell(r.lost.hop.Node), cause.Shell(w.viewNamed(r.lost.hop.Node).bridgeOf(r.lost.hop)), r.lost.step.Table)
	default:
		at(o, r)
		o.Result = journey.Refuted
		o.Sentence = fmt.Sprintf("up to %d %s left %s and none reached %s: they are lost in between", r.packets, what, r.came.hop.Node, r.lost.hop.Node)
		o.Next = between(d, r)
	}
}

// String returns where a step is, as "ls_out_acl of switch node1 on node1".
func (s *sighting) String() string {
	stage := s.step.Stage
	if stage == "" {
		stage = fmt.Sprintf("table %d", s.step.Table)
	}
	return fmt.Sprintf("%s of %s %s on %s", stage, s.hop.Kind, s.hop.Datapath, s.hop.Node)
}

// endName returns an end's name; empty if it has none.
func endName(e journey.Endpoint) string {
	if e.Name != "" {
		return e.Name
	}
	return e.Text
}

// sending returns a command that sends such packets.
func sending(ask *question) string {
	r := ask.request
	address := r.To.Address
	command := []string{"ping", "-c", "10", address}
	switch r.Protocol {
	case "tcp":
		command = []string{"nc", "-vz", "-w", "2", address, fmt.Sprint(r.Port)}
	case "udp":
		command = []string{"sh", "-c", fmt.Sprintf("echo | nc -u -w 2 %s %d", address, r.Port)}
	}
	return inside(r.From, command)
}

// listening returns a command that shows whether the receiver listens.
func listening(ask *question) string {
	r := ask.request
	if r.Protocol == "icmp" {
		return inside(r.To, []string{"ip", "addr", "show"})
	}
	return inside(r.To, []string{"ss", "-lntu"})
}

// inside returns a command as it is run inside an end.
func inside(e journey.Endpoint, command []string) string {
	namespace, pod, ok := strings.Cut(e.Name, "/")
	if e.Kind == "pod" && ok && kubernetesName(namespace) && kubernetesName(pod) {
		return cause.Shell(append([]string{"kubectl", "-n", namespace, "exec", pod, "--"}, command...)...)
	}
	return cause.Shell(command...) + "  # in " + endName(e)
}

// between returns a command that shows whether packets reach the node where they are missing.
func between(d *journey.Direction, r reach) string {
	filter := ""
	for _, h := range d.Hops {
		if h.Tunnel == nil || h.Node != r.came.hop.Node {
			continue
		}
		port := map[string]int{"geneve": 6081, "vxlan": 4789}[h.Tunnel.Type]
		filter = "host " + h.Tunnel.Source
		if port != 0 {
			filter += fmt.Sprintf(" and udp port %d", port)
		}
	}
	return strings.TrimSpace(fmt.Sprintf("tcpdump -nei any %s", filter)) + "  # on " + r.lost.hop.Node
}
