package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
)

// judge says what became of the packets that were sent on a path while it was watched.
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
	case back.came == nil: // also where the verdict is that nothing replies
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

// at notes in an observation where packets were seen last.
func at(o *journey.Observation, r reach) {
	o.Packets, o.Node, o.Datapath, o.Stage = r.packets, r.came.hop.Node, r.came.hop.Datapath, r.came.step.Stage
}

// direction says what became of packets in one direction. What are packets, or replies.
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
		o.Next = fmt.Sprintf("ovnctl flows --node %s --bridge %s --table %d --sort packets --watch", r.lost.hop.Node, w.viewNamed(r.lost.hop.Node).bridgeOf(r.lost.hop), r.lost.step.Table)
	default:
		at(o, r)
		o.Result = journey.Refuted
		o.Sentence = fmt.Sprintf("up to %d %s left %s and none reached %s: they are lost in between", r.packets, what, r.came.hop.Node, r.lost.hop.Node)
		o.Next = between(d, r)
	}
}

// String says where a step is, as "ls_out_acl of switch node1 on node1".
func (s *sighting) String() string {
	stage := s.step.Stage
	if stage == "" {
		stage = fmt.Sprintf("table %d", s.step.Table)
	}
	return fmt.Sprintf("%s of %s %s on %s", stage, s.hop.Kind, s.hop.Datapath, s.hop.Node)
}

// endName is what an end is called, empty for none.
func endName(e journey.Endpoint) string {
	if e.Name != "" {
		return e.Name
	}
	return e.Text
}

// sending is a command that sends such packets.
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

// listening is a command that shows whether the receiver listens.
func listening(ask *question) string {
	r := ask.request
	if r.Protocol == "icmp" {
		return inside(r.To, []string{"ip", "addr", "show"})
	}
	return inside(r.To, []string{"ss", "-lntu"})
}

// inside is a command as it is run in an end.
func inside(e journey.Endpoint, command []string) string {
	namespace, pod, ok := strings.Cut(e.Name, "/")
	if e.Kind == "pod" && ok && kubernetesName(namespace) && kubernetesName(pod) {
		return cause.Shell(append([]string{"kubectl", "-n", namespace, "exec", pod, "--"}, command...)...)
	}
	return cause.Shell(command...) + "  # in " + endName(e)
}

// between is a command that shows whether packets reach the node where they are missed.
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
