package trace

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// endings are the controller actions that consume the packet, and the resulting outcome. The others only notify the
// controller.
var endings = lazy.Value[map[string]journey.Outcome]{Make: func() map[string]journey.Outcome {
	return map[string]journey.Outcome{
		"REJECT": journey.Rejected, "TCP_RESET": journey.Rejected, "ICMP": journey.Rejected, "SCTP_ABORT": journey.Rejected,
		"ICMP4_ERROR": journey.Rejected, "ICMP6_ERROR": journey.Rejected,
		"ARP": journey.Consumed, "ND_NS": journey.Consumed,
	}
}}

// dropped explains why a packet goes nowhere, from the last step that it reached.
func (r *run) dropped(ctx context.Context, p location, leaf ovs.Leaf, o *outcome) journey.Verdict {
	v := r.stopped(p, o, journey.Dropped, journey.Cause{Kind: journey.NothingSendsItOn})
	last, ok := lastStep(leaf)
	if !ok {
		return v
	}
	step := r.step(ctx, p.node, last)
	if acl := r.deniedBy(ctx, p, leaf, step.Stage); acl != nil {
		step.Object = acl
	}
	v.Stage, v.Object = step.Stage, step.Object
	if v.Stage == "" {
		v.Stage = tableText(last.Table)
	}
	v.Port = r.outport(p.node, leaf.Packet)
	for _, raw := range slices.Backward(leaf.Userdata) {
		u, ok := decode.ParseUserdata(raw)
		if !ok {
			continue
		}
		if outcome, ends := endings.Get()[u.Opcode]; ends {
			v.Outcome, v.Because = outcome, r.taken(p, u, step, leaf)
			return v
		}
		if leaf.Kind == ovs.ToController {
			v.Outcome, v.Because = journey.Consumed, journey.Cause{Kind: journey.Controller, Detail: u.String()}
			return v
		}
	}
	v.Because = r.dropCause(p, last, step, leaf)
	return v
}

// deniedBy returns the ACL that stopped a packet in a stage that carries out ACL verdicts: since OVN 23.06 one table
// finds the ACL and writes its verdict into a register, and the next acts on that. It is nil if that is not the case.
func (r *run) deniedBy(ctx context.Context, p location, leaf ovs.Leaf, stage string) *decode.Object {
	list, carriesOut := strings.CutSuffix(stage, "_action")
	if !carriesOut || !strings.Contains(list, "_acl") {
		return nil
	}
	for _, s := range slices.Backward(leaf.Steps) {
		if s.Bridge != p.node.names.Bridge || s.Before.Uint("metadata") != leaf.Packet.Uint("metadata") {
			return nil
		}
		m := p.node.decoder.Decode(ctx, seen(s))
		if m.Stage != list+"_eval" || len(m.Objects) == 0 {
			continue
		}
		switch acl, _ := m.Objects[0].Row.(nb.ACL); acl.Action {
		case "drop", "reject":
			return cause.ObjectOf(m.Objects[0])
		case "pass":
		default:
			return nil
		}
	}
	return nil
}

func tableText(n int) string { return fmt.Sprintf("table %d", n) }

// asksForMAC reports whether the packet ended in a request for its next hop's MAC address.
func asksForMAC(leaf ovs.Leaf) bool {
	return slices.ContainsFunc(leaf.Userdata, func(raw []byte) bool {
		u, ok := decode.ParseUserdata(raw)
		return ok && (u.Opcode == "ARP" || u.Opcode == "ND_NS")
	})
}

// taken explains why ovn-controller consumes the packet.
func (r *run) taken(p location, u decode.Userdata, step journey.Step, leaf ovs.Leaf) journey.Cause {
	t, _ := leaf.Packet.Tuple()
	switch {
	case u.Opcode == "ARP", u.Opcode == "ND_NS":
		return journey.Cause{Kind: journey.NextHopUnknown, Address: cause.NextHop(&leaf.Packet)}
	case leaf.Packet.Uint("nw_ttl") <= 1 && strings.HasPrefix(u.Opcode, "ICMP") && step.Stage == "lr_in_ip_input":
		return journey.Cause{Kind: journey.TTLRanOut, Detail: r.ttl}
	case strings.HasPrefix(u.Opcode, "ICMP") && r.length > limitOf(leaf):
		port := r.outport(p.node, leaf.Packet)
		if port == "" {
			port = r.portText(p.node, leaf.Packet.Uint("metadata"), leaf.Packet.Uint("reg14"))
		}
		return journey.Cause{Kind: journey.TooLarge, Detail: strconv.Itoa(limitOf(leaf)), Port: port}
	case r.withoutBackends(step.Object, t):
		return journey.Cause{Kind: journey.NoBackends, Object: step.Object, Detail: joinPort(t.Dst, t.DstPort)}
	case step.Object == nil || u.Opcode != "REJECT":
		return journey.Cause{Kind: journey.Controller, Detail: u.String(), Object: step.Object}
	case t.Proto == packet.ProtoTCP:
		return journey.Cause{Kind: journey.Denied, Object: step.Object, Reply: journey.TCPReset}
	}
	return journey.Cause{Kind: journey.Denied, Object: step.Object, Reply: journey.Unreachable}
}

// limitOf returns the length in bytes with which the packet's was last compared, a great one if it was with none.
func limitOf(leaf ovs.Leaf) int {
	for _, s := range slices.Backward(leaf.Steps) {
		for _, a := range s.Parsed {
			if check, ok := a.(openflow.CheckPktLarger); ok {
				return int(check.Size)
			}
		}
	}
	return math.MaxInt
}

// withoutBackends reports whether an object is a load balancer with nowhere to send the packet.
func (d *deployment) withoutBackends(object *decode.Object, t packet.Tuple) bool {
	if object == nil || object.Kind != "load balancer" {
		return false
	}
	backends, ok := d.graph.Backends(t.Dst, int(t.DstPort), protocolName(t.Proto))
	return ok && len(backends) == 0
}

// protocolName returns a protocol's name.
func protocolName(proto uint8) string {
	names := map[uint8]string{
		packet.ProtoTCP: "tcp", packet.ProtoUDP: "udp", packet.ProtoSCTP: "sctp", packet.ProtoICMP: "icmp", packet.ProtoICMPv6: "icmp",
	}
	return names[proto]
}

// dropCause returns what made the last step the last.
func (r *run) dropCause(p location, last ovs.Step, step journey.Step, leaf ovs.Leaf) journey.Cause {
	c := journey.Cause{Object: step.Object, Node: p.node.Name, Table: tableText(last.Table)}
	if c.Port = r.disabledBy(p, step.Stage, leaf); c.Port != "" {
		c.Kind = journey.PortDisabled
		return c
	}
	t, _ := leaf.Packet.Tuple()
	out := r.graph.PortByName(r.outport(p.node, leaf.Packet))
	switch {
	case step.Object != nil && step.Object.Kind == "ACL":
		c.Kind = journey.Denied
	case strings.Contains(step.Stage, "_acl") && leaf.Packet.Uint("ct_state")&uint64(packet.CTInvalid) != 0:
		c.Kind = journey.ConnectionUnseen
	case r.withoutBackends(step.Object, t):
		c.Kind, c.Detail = journey.NoBackends, joinPort(t.Dst, t.DstPort)
	case step.Logical == nil && step.Pipeline == "physical" && r.notMapped(&c, p, leaf):
	case out != nil && step.Logical == nil && step.Pipeline == "physical":
		r.noOutput(&c, p, last, leaf, out)
	case strings.Contains(step.Stage, "l2_lkup"), strings.Contains(step.Stage, "l2_unknown"):
		r.noneHasMAC(&c, p, leaf)
	case step.Object != nil && (step.Object.Kind == "policy" || step.Object.Kind == "route"):
		c.Kind = journey.Discarded
	case strings.Contains(step.Stage, "ip_routing") && step.Object == nil:
		c.Kind, c.Address = journey.NoRoute, t.Dst
	case strings.Contains(step.Stage, "port_sec"):
		r.insecure(&c, p, leaf, t)
	case step.Object != nil:
		c.Kind = journey.ByObject
	case last.Miss != openflow.Hit:
		c.Kind = journey.NoOpenFlow
	case step.Logical != nil:
		c.Kind, c.Detail = journey.FlowDrops, step.Logical.Match
	case leaf.Reason != "":
		c.Kind, c.Detail = journey.OVSDrops, leaf.Reason
	default:
		c.Kind, c.Detail = journey.OpenFlowDrops, last.MatchText
	}
	return c
}

// disabledBy returns the disabled port of a router that a packet has reached or was about to leave by; "" if there is
// none.
func (r *run) disabledBy(p location, stage string, leaf ovs.Leaf) string {
	name := ""
	switch stage {
	case "lr_in_admission":
		name = r.portText(p.node, leaf.Packet.Uint("metadata"), leaf.Packet.Uint("reg14"))
	case "lr_out_delivery":
		name = r.outport(p.node, leaf.Packet)
	}
	if port := r.graph.PortByName(name); port == nil || port.Enabled {
		return ""
	}
	return name
}

// notMapped handles a switch whose physical network is not on the node.
func (r *run) notMapped(c *journey.Cause, p location, leaf ovs.Leaf) bool {
	why, ok := r.unmapped(p.node, leaf.Packet.Uint("metadata"))
	if ok {
		*c = why
	}
	return ok
}

// insecure handles a port whose port security rejects a packet.
func (r *run) insecure(c *journey.Cause, p location, leaf ovs.Leaf, t packet.Tuple) {
	c.Kind, c.MAC, c.Address = journey.PortSecurity, macText(leaf.Packet, "eth_src"), t.Src
	c.Port = r.portText(p.node, leaf.Packet.Uint("metadata"), leaf.Packet.Uint("reg14"))
	if out := r.outport(p.node, leaf.Packet); out != "" {
		c.Inbound, c.Port, c.MAC, c.Address = true, out, macText(leaf.Packet, "eth_dst"), t.Dst
	}
	if port := r.graph.PortByName(c.Port); port != nil && !port.Enabled {
		c.Kind = journey.PortDisabled
	}
}

// noOutput explains why a packet does not reach its port although the logical pipeline is done with it.
func (r *run) noOutput(c *journey.Cause, p location, last ovs.Step, leaf ovs.Leaf, out *topology.Port) {
	holder, why := out, out.Why
	if peer := r.graph.PeerOf(out); peer != nil && peer.Why != "" {
		holder, why = peer, peer.Why
	}
	in := leaf.Packet.Uint("reg14")
	c.Port = out.Name
	switch {
	case in != 0 && in == leaf.Packet.Uint("reg15") && last.Miss == openflow.Hit:
		c.Kind = journey.SameOutport
	case out.Chassis == "" && holder.Chassis == "" && why != "" && holder.State == topology.StateDown:
		c.Kind, c.Port, c.Detail = journey.Unbound, holder.Name, why
	case out.Chassis != "" && out.Chassis != p.node.SystemID:
		c.Kind, c.Chassis = journey.NoTunnel, r.chassisName(out.Chassis)
		c.Link, c.Detail = r.refusedTunnel(p.node.Name, out.Chassis)
	case leaf.Reason != "":
		c.Kind, c.Detail = journey.OVSDrops, leaf.Reason
	default:
		c.Kind = journey.NoOutputFlow
	}
}

// refusedTunnel returns the port of a node for its tunnel to a chassis, and why Open vSwitch did not make that; "" if it made it, or was not
// asked to.
func (r *run) refusedTunnel(node, chassis string) (port, why string) {
	for _, t := range r.graph.Tunnels {
		for _, e := range t.Ends {
			if to, _, _ := strings.Cut(e.ChassisID, "@"); e.Node == node && to == chassis && e.Error != "" {
				return e.Port, e.Error
			}
		}
	}
	return "", ""
}

// noneHasMAC explains why a switch sends a frame to none of its ports.
func (r *run) noneHasMAC(c *journey.Cause, p location, leaf ovs.Leaf) {
	c.Kind, c.MAC = journey.UnknownMAC, macText(leaf.Packet, "eth_dst")
	d := p.node.names.Datapath(leaf.Packet.Uint("metadata"))
	if d == nil {
		return
	}
	ports := r.graph.PortsOn(string(d.NB))
	i := slices.IndexFunc(ports, func(port *topology.Port) bool { return slices.Contains(port.MACs, c.MAC) })
	if i < 0 {
		return
	}
	if c.Kind, c.Port = journey.MACNotInstalled, ports[i].Name; !ports[i].Enabled {
		c.Kind = journey.PortDisabled
	}
}

// stopped returns a verdict for the place where a packet is.
func (r *run) stopped(p location, o *outcome, what journey.Outcome, c journey.Cause) journey.Verdict {
	v := journey.Verdict{Outcome: what, Node: p.node.Name, Datapath: p.bridge, Because: c}
	if n := len(o.hops); n > 0 {
		v.Datapath = o.hops[n-1].Datapath
	}
	return v
}

// ofReply is the outcome for whoever waits for a reply: of a rejected one its sender is told.
func ofReply(o journey.Outcome) journey.Outcome {
	if o == journey.Rejected {
		return journey.Dropped
	}
	return o
}

// say puts a verdict into words, as the very last step. What is "the packet" or "the reply".
func say(v *journey.Verdict, hops []journey.Hop, reached, what string) {
	if v.Because.Place != "" {
		v.Stage = string(v.Because.Place)
	}
	v.Cause = cause.Words(v.Because)
	where := whereText(*v, hops)
	switch {
	case v.Outcome == journey.Delivered:
		v.Sentence = fmt.Sprintf("%s reaches %s", what, reached)
	case v.Outcome == journey.Rejected:
		v.Sentence = fmt.Sprintf("%s is rejected%s", what, where)
	case v.Outcome == journey.Consumed:
		v.Sentence = fmt.Sprintf("%s is taken by ovn-controller%s", what, where)
	case v.Outcome == journey.Dropped && v.Partial:
		v.Sentence = fmt.Sprintf("%s may be dropped%s: its route has several gateways", what, where)
	case v.Outcome == journey.Dropped:
		v.Sentence = fmt.Sprintf("%s is dropped%s", what, where)
	case v.Node != "":
		v.Sentence = fmt.Sprintf("what becomes of %s on %s is unknown", what, v.Node)
	default:
		v.Sentence = fmt.Sprintf("what becomes of %s is unknown", what)
	}
}

// whereText returns where a packet ended, as in " in ls_out_acl of switch node1, on node1".
func whereText(v journey.Verdict, hops []journey.Hop) string {
	text := ""
	switch v.Because.Place {
	case journey.Outside:
		return " by the network outside"
	case journey.OnHost:
		text = " by the host's own network"
	case journey.InWorkload:
		text = " in the " + string(v.Because.Workload)
		if v.Port != "" {
			text += " at port " + v.Port
		}
	default:
		text = inHop(v, hops)
	}
	if v.Node != "" {
		text += " on " + v.Node
	}
	return text
}

// inHop returns the stage and the datapath that a packet ended in.
func inHop(v journey.Verdict, hops []journey.Hop) string {
	in, text := " in", ""
	if v.Stage != "" {
		in, text = " of", " in "+v.Stage
	}
	if n := len(hops); n > 0 && v.Datapath != "" && hops[n-1].Datapath == v.Datapath {
		text += in + " " + hops[n-1].Kind + " " + v.Datapath
	}
	return text
}

// roundTrip returns the sentence for a connection that works.
func roundTrip(reached string, outside bool, src netip.Addr) string {
	switch {
	case outside && private(src) && src.Is6():
		return fmt.Sprintf("the packet leaves for %s, and a reply from there comes back if it has a route to %s", reached, src)
	case outside:
		return "the packet leaves for " + reached + ", and a reply from there comes back"
	}
	return reached + " receives the packet, and its reply comes back"
}
