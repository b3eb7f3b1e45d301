package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// endings are the controller actions that take the packet for good, and what becomes of it then. The
// others only tell the controller something.
var endings = map[string]journey.Outcome{
	"REJECT": journey.Rejected, "TCP_RESET": journey.Rejected, "ICMP": journey.Rejected, "SCTP_ABORT": journey.Rejected,
	"ICMP4_ERROR": journey.Rejected, "ICMP6_ERROR": journey.Rejected,
	"ARP": journey.Consumed, "ND_NS": journey.Consumed,
}

// dropped says why a packet goes nowhere, by the step that it did not get beyond.
func (r *run) dropped(ctx context.Context, p place, leaf ovs.Leaf, o *outcome) journey.Verdict {
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
		if leaf.Kind == ovs.ToController {
			v.Outcome, v.Cause = journey.Consumed, u.String()
			return v
		}
	}
	v.Cause = r.dropCause(p, last, step, leaf)
	return v
}

// asksForMAC says whether the packet ended in a question for the MAC address of its next hop.
func asksForMAC(leaf ovs.Leaf) bool {
	return slices.ContainsFunc(leaf.Userdata, func(raw []byte) bool {
		u, ok := decode.ParseUserdata(raw)
		return ok && (u.Opcode == "ARP" || u.Opcode == "ND_NS")
	})
}

// takenCause says why ovn-controller takes the packet.
func (r *run) takenCause(u decode.Userdata, step journey.Step, leaf ovs.Leaf) string {
	switch u.Opcode {
	case "ARP", "ND_NS":
		hop := nextHop(leaf)
		return fmt.Sprintf("the MAC address of the next hop %s is not known (no MAC_Binding): ovn-controller asks for it, and the packet waits", hop)
	}
	if step.Object == nil {
		return u.String()
	}
	t, _ := ovs.TupleOf(&leaf.Packet)
	if empty := r.withoutEndpoints(step.Object, t); empty != "" {
		return empty
	}
	how := u.String()
	if u.Opcode == "REJECT" {
		how = "rejected with an ICMP unreachable"
		if t.Proto == packet.ProtoTCP {
			how = "rejected with a TCP reset"
		}
	}
	return how + " by " + step.Object.Text
}

// withoutEndpoints says that a load balancer has nowhere to send the packet; it is empty if that is not so.
func (d *deployment) withoutEndpoints(object *journey.Object, t ovs.Tuple) string {
	if object == nil || object.Kind != "load balancer" {
		return ""
	}
	if backends, ok := d.graph.Backends(t.Dst, int(t.DstPort), protocolName(t.Proto)); !ok || len(backends) > 0 {
		return ""
	}
	return fmt.Sprintf("%s has no endpoints for %s", object.Text, joinPort(t.Dst, t.DstPort))
}

// protocolName is the name of a protocol by its number.
func protocolName(proto uint8) string {
	names := map[uint8]string{
		packet.ProtoTCP: "tcp", packet.ProtoUDP: "udp", packet.ProtoSCTP: "sctp", packet.ProtoICMP: "icmp", packet.ProtoICMPv6: "icmp",
	}
	return names[proto]
}

// nextHop is the address that a router resolves: OVN keeps it in reg0, or xxreg0 for IPv6.
func nextHop(leaf ovs.Leaf) string {
	t, ok := ovs.TupleOf(&leaf.Packet)
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
func (r *run) dropCause(p place, last ovs.Step, step journey.Step, leaf ovs.Leaf) string {
	if step.Object != nil && step.Object.Kind == "ACL" {
		return "dropped by " + step.Object.Text
	}
	t, _ := ovs.TupleOf(&leaf.Packet)
	if empty := r.withoutEndpoints(step.Object, t); empty != "" {
		return empty
	}
	if out := r.graph.PortByName(r.outport(p.node, leaf.Packet)); out != nil && step.Logical == nil && step.Pipeline == "physical" {
		return r.noOutput(p, last, leaf, out)
	}
	switch {
	case strings.Contains(step.Stage, "l2_lkup"), strings.Contains(step.Stage, "l2_unknown"):
		return r.noneHasMAC(p, leaf)
	case step.Object != nil:
		return step.Object.Text
	case strings.Contains(step.Stage, "ip_routing"):
		return fmt.Sprintf("the router has no route to %s", t.Dst)
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

// noOutput says why a packet for a port does not get there, when the logical pipeline is done with it.
func (r *run) noOutput(p place, last ovs.Step, leaf ovs.Leaf, out *topology.Port) string {
	holder, why := out, out.Why
	if peer := r.graph.PeerOf(out); peer != nil && peer.Why != "" {
		holder, why = peer, peer.Why
	}
	in := leaf.Packet.Uint("reg14")
	switch {
	case in != 0 && in == leaf.Packet.Uint("reg15") && last.Miss == openflow.Hit:
		return fmt.Sprintf("it would go back out of the port that it came in by, %s, which OVN does not do", out.Name)
	case out.Chassis == "" && holder.Chassis == "" && why != "" && holder.State == topology.StateDown:
		return fmt.Sprintf("no chassis holds the port %s: %s", holder.Name, why)
	case out.Chassis != "" && out.Chassis != p.node.SystemID:
		return fmt.Sprintf("node %s has no way to chassis %s, which holds the port %s: no tunnel leads there", p.node.Name, r.chassisName(out.Chassis), out.Name)
	case leaf.Reason != "":
		return fmt.Sprintf("Open vSwitch does not send it to the port %s: %s", out.Name, leaf.Reason)
	}
	return fmt.Sprintf("no flow of table %d on node %s leads to the port %s", last.Table, p.node.Name, out.Name)
}

// noneHasMAC says why a switch sends a frame to none of its ports.
func (r *run) noneHasMAC(p place, leaf ovs.Leaf) string {
	mac := macText(leaf.Packet, "eth_dst")
	d := p.node.names.Datapath(leaf.Packet.Uint("metadata"))
	if d != nil {
		for _, port := range r.graph.PortsOn(string(d.NB)) {
			switch {
			case !slices.Contains(port.MACs, mac):
			case !port.Enabled:
				return disabled(port)
			default:
				return fmt.Sprintf("node %s has no flow for the MAC address %s, which is that of the port %s: its ovn-controller has not installed it", p.node.Name, mac, port.Name)
			}
		}
	}
	return fmt.Sprintf("no port of the switch has the MAC address %s", mac)
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
func sentence(v journey.Verdict, hops []journey.Hop, reached, what string) string {
	where := placeText(v, hops)
	switch v.Outcome {
	case journey.Delivered:
		return fmt.Sprintf("%s reaches %s", what, reached)
	case journey.Rejected:
		return fmt.Sprintf("%s is rejected%s", what, where)
	case journey.Consumed:
		return fmt.Sprintf("%s is taken by ovn-controller%s", what, where)
	case journey.Unknown:
		if v.Node != "" {
			return fmt.Sprintf("what becomes of %s on %s is not known", what, v.Node)
		}
		return fmt.Sprintf("what becomes of %s is not known", what)
	}
	return fmt.Sprintf("%s is dropped%s", what, where)
}

// placeText is where a packet ended, as in " in ls_out_acl of switch node1, on node1".
func placeText(v journey.Verdict, hops []journey.Hop) string {
	text := ""
	switch {
	case v.Stage == "pod":
		text = " in the pod"
		if v.Port != "" {
			text += " at port " + v.Port
		}
	case v.Stage == "host":
		text = " by the host's own network"
	case v.Stage == "outside":
		return " by the network outside"
	default:
		if v.Stage != "" {
			text = " in " + v.Stage
		}
		if n := len(hops); n > 0 && v.Datapath != "" && hops[n-1].Datapath == v.Datapath {
			if text == "" {
				text = " in"
			} else {
				text += " of"
			}
			text += " " + hops[n-1].Kind + " " + v.Datapath
		}
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
	return text
}
