package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ofproto"
)

// endings are the controller actions that take the packet for good, and what becomes of it then. The
// others only tell the controller something.
var endings = map[string]journey.Outcome{
	"REJECT": journey.Rejected, "TCP_RESET": journey.Rejected, "ICMP": journey.Rejected, "SCTP_ABORT": journey.Rejected,
	"ICMP4_ERROR": journey.Rejected, "ICMP6_ERROR": journey.Rejected,
	"ARP": journey.Consumed, "ND_NS": journey.Consumed,
}

// dropped says why a packet goes nowhere, by the step that it did not get beyond.
func (r *run) dropped(ctx context.Context, p place, leaf ofproto.Leaf, o *outcome) journey.Verdict {
	v := r.stopped(p, o, journey.Dropped, "")
	last, ok := lastStep(leaf)
	if !ok {
		v.Cause = "the bridge does nothing with it"
		return v
	}
	step := r.step(ctx, p.node, last)
	v.Stage, v.Object = step.Stage, step.Object
	if v.Stage == "" {
		v.Stage = fmt.Sprintf("table %d", last.Table)
	}
	v.Port = r.outport(p.node, leaf.Packet)
	for _, raw := range slices.Backward(leaf.Userdata) {
		u, ok := decode.ParseUserdata(raw)
		if !ok {
			continue
		}
		if outcome, ends := endings[u.Opcode]; ends {
			v.Outcome = outcome
			v.Cause = r.takenCause(u, step, leaf)
			return v
		}
		if leaf.Kind == ofproto.ToController {
			v.Outcome, v.Cause = journey.Consumed, u.String()
			return v
		}
	}
	v.Cause = r.dropCause(p, last, step, leaf)
	return v
}

// asksForMAC says whether the packet ended in a question for the MAC address of its next hop.
func asksForMAC(leaf ofproto.Leaf) bool {
	return slices.ContainsFunc(leaf.Userdata, func(raw []byte) bool {
		u, ok := decode.ParseUserdata(raw)
		return ok && (u.Opcode == "ARP" || u.Opcode == "ND_NS")
	})
}

// takenCause says why ovn-controller takes the packet.
func (r *run) takenCause(u decode.Userdata, step journey.Step, leaf ofproto.Leaf) string {
	switch u.Opcode {
	case "ARP", "ND_NS":
		hop := nextHop(leaf)
		return fmt.Sprintf("the MAC address of the next hop %s is not known (no MAC_Binding): ovn-controller asks for it, and the packet waits", hop)
	}
	if step.Object != nil {
		return step.Object.Text + ": " + u.String()
	}
	return u.String()
}

// nextHop is the address that a router resolves: OVN keeps it in reg0, or xxreg0 for IPv6.
func nextHop(leaf ofproto.Leaf) string {
	t, ok := ofproto.TupleOf(&leaf.Packet)
	if !ok {
		return ""
	}
	field, size := "reg0", 4
	if t.Dst.Is6() {
		field, size = "xxreg0", 16
	}
	return registerAddress(leaf.Packet, field, size)
}

// dropCause names what made the last step the last.
func (r *run) dropCause(p place, last ofproto.Step, step journey.Step, leaf ofproto.Leaf) string {
	if step.Object != nil && step.Object.Kind == "ACL" {
		return step.Object.Text + " drops it"
	}
	name := r.outport(p.node, leaf.Packet)
	if port := r.graph.PortByName(name); port != nil && step.Logical == nil {
		if port.Chassis == "" && port.Kind == topology.SwitchPort && port.Type != "router" {
			return fmt.Sprintf("no chassis holds the port %s: %s", name, port.Why)
		}
		if step.Pipeline == "physical" {
			return fmt.Sprintf("node %s has no way to the port %s", p.node.Name, name)
		}
	}
	t, _ := ofproto.TupleOf(&leaf.Packet)
	switch {
	case step.Object != nil:
		return step.Object.Text
	case strings.Contains(step.Stage, "ip_routing"):
		return fmt.Sprintf("the router has no route to %s", t.Dst)
	case strings.Contains(step.Stage, "l2_lkup"):
		return fmt.Sprintf("no port of the switch has the MAC address %s", macText(leaf.Packet, "eth_dst"))
	case strings.Contains(step.Stage, "port_sec"):
		return "port security does not let the port send from this address"
	case last.Miss != openflow.Hit:
		return fmt.Sprintf("no flow of table %d matches it", last.Table)
	case step.Logical != nil:
		return fmt.Sprintf("the logical flow %q drops it", step.Logical.Match)
	case leaf.Reason != "":
		return leaf.Reason
	}
	return fmt.Sprintf("the flow %q of table %d drops it", last.MatchText, last.Table)
}

// stopped is a verdict about the place where a packet is.
func (r *run) stopped(p place, o *outcome, what journey.Outcome, cause string) journey.Verdict {
	v := journey.Verdict{Outcome: what, Node: p.node.Name, Datapath: p.bridge, Cause: cause}
	if n := len(o.hops); n > 0 {
		v.Datapath = o.hops[n-1].Datapath
	}
	return v
}

// sentence says in words what became of a packet. What is the packet or the answer.
func sentence(v journey.Verdict, reached, what string) string {
	where := placeText(v)
	switch v.Outcome {
	case journey.Delivered:
		return fmt.Sprintf("%s reaches %s", what, reached)
	case journey.Rejected:
		return fmt.Sprintf("%s is rejected%s", what, where)
	case journey.Consumed:
		return fmt.Sprintf("%s is taken by ovn-controller%s", what, where)
	case journey.Unknown:
		return fmt.Sprintf("where %s goes is not known%s", what, where)
	}
	return fmt.Sprintf("%s is dropped%s", what, where)
}

func placeText(v journey.Verdict) string {
	text := ""
	if v.Stage != "" {
		text += ", in " + v.Stage
	}
	if v.Datapath != "" {
		text += " of " + v.Datapath
	}
	if v.Node != "" {
		text += " on " + v.Node
	}
	return text
}

// roundTrip is the sentence of a connection that works: who gets it, and what allowed it.
func roundTrip(b *journey.Branch, forward ending) string {
	text := forward.reached + " receives the packet, and its answer comes back"
	if forward.outside {
		text = "the packet leaves for " + forward.reached + ", and an answer from there comes back"
	}
	if allowed := allowedBy(b.Forward); allowed != "" {
		text += "; allowed by " + allowed
	}
	return text
}

// allowedBy names the ACLs that let a packet through.
func allowedBy(d *journey.Direction) string {
	var names []string
	for _, h := range d.Hops {
		for _, s := range h.Steps {
			if s.Object != nil && s.Object.Kind == "ACL" && !slices.Contains(names, s.Object.Text) {
				names = append(names, s.Object.Text)
			}
		}
	}
	return strings.Join(names, " and ")
}

// next is the command to run next.
func (t *tracer) next(ask *question, v journey.Verdict) []string {
	next := []string{}
	if v.Outcome == journey.Delivered {
		return next
	}
	switch {
	case v.Outcome == journey.Unknown && strings.Contains(v.Cause, "--node-exec"):
		next = append(next, fmt.Sprintf("ovnctl trace %s %s --node-exec 'ssh {hostname}'", ask.request.From.Text, ask.request.To.Text))
	case v.Object != nil && kubectlPolicy(v.Object.Owner) != "":
		next = append(next, kubectlPolicy(v.Object.Owner))
	case v.Object != nil && v.Object.Kind == "ACL":
		next = append(next, "ovn-nbctl list ACL "+v.Object.UUID)
	case v.Object != nil && v.Object.UUID != "":
		next = append(next, "ovnctl topology show "+v.Object.UUID[:8])
	case v.Outcome == journey.Consumed:
		next = append(next, "ovn-sbctl list MAC_Binding")
	case v.Port != "" && t.graph.PortByName(v.Port) != nil:
		next = append(next, "ovnctl topology show port:"+v.Port)
	case v.Node != "":
		next = append(next, "ovnctl topology show node:"+v.Node)
	}
	return next
}

// kubectlPolicy is the command that shows the NetworkPolicy that owns a row; empty if none does.
func kubectlPolicy(owner string) string {
	name, ok := strings.CutPrefix(owner, "NetworkPolicy ")
	namespace, policy, both := strings.Cut(name, "/")
	if !ok || !both || strings.ContainsAny(name, " '\"$`\\;&|") {
		return ""
	}
	return fmt.Sprintf("kubectl -n %s describe networkpolicy %s", namespace, policy)
}

// command notes a classic command that shows the same, as typed on the node.
func (t *tracer) command(n *nodeView, text string) {
	if line := n.Name + ": " + text; !slices.Contains(t.commands, line) {
		t.commands = append(t.commands, line)
	}
}

// shell writes a command as a shell takes it.
func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if strings.ContainsAny(w, " '\"()$*?;&|<>\\`") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
