package desired

import (
	"encoding/binary"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// Numbers of what ovn-controller is asked to do with a packet; none was ever changed.
const (
	opARP = iota
	opPutARP
	opPutDHCP
	opNDNA
	opPutND
	opPutDHCPv6
	opDNS
	opLog
	opPutRA
	opNDNS
	opICMP
	opTCPReset
	opNDNARouter
	opICMP4MTU
	opICMP4Error
	opEvent
	opIGMP
	opBindVirtual
	opHealthCheck
	opDHCPv6Reply
	opICMP6Error
	opICMP6MTU
	opReject
	opBFD
	opSCTPAbort
	opPutFDB
	_
	_
	opRelayRequest
	opRelayResponse
)

// ask sends the packet to ovn-controller; with pause it returns.
func (e *encoder) ask(op uint32, pause bool, meter uint32, body []byte) {
	e.put(openflow.Controller{MaxLen: 0xffff, Pause: pause, MeterID: meter, Userdata: append(binary.BigEndian.AppendUint32(nil, op), append(make([]byte, 4), body...)...)})
}

var nestedOps = lazy.Value[map[string]uint32]{Make: func() map[string]uint32 {
	return map[string]uint32{
		"arp": opARP, "nd_ns": opNDNS, "nd_na": opNDNA, "nd_na_router": opNDNARouter, "icmp4": opICMP, "icmp6": opICMP, "icmp4_error": opICMP4Error,
		"icmp6_error": opICMP6Error, "tcp_reset": opTCPReset, "sctp_abort": opSCTPAbort, "reject": opReject,
	}
}}

func (e *encoder) nested(a *ovnexpr.Nested) {
	inner := e.encoded(a.Actions)
	if a.Name == "clone" {
		e.put(openflow.Clone{Actions: inner})
		return
	}
	body, ok := openflow.AppendWire(nil, inner)
	if !ok {
		e.fail("%s with actions that have no known wire format: %s", a.Name, inner)
	}
	returns := (a.Name == "arp" || a.Name == "nd_ns") && !e.before(release.NeighboursReturn)
	e.ask(nestedOps.Get()[a.Name], returns, e.meter, body)
}

// own writes one of OVN's own fields, which only ovn-controller can.
func (e *encoder) own(a *ovnexpr.Load) {
	bytes, op, number := 2, uint32(opICMP4MTU), byte(0)
	if a.To.Name == "icmp6.frag_mtu" {
		bytes, op, number = 4, opICMP6MTU, 1
	}
	value := a.Value.Value.Bytes(bytes)
	if e.before(release.NotedMTU) {
		e.ask(op, true, e.meter, value)
		return
	}
	note := append([]byte("ovn\x00"), 0, number, 0, 0)
	note = append(note, value...)
	for len(note)%8 != 6 {
		note = append(note, 0)
	}
	e.put(openflow.Note{Data: note})
}

// result is the bit that tells the pipeline whether ovn-controller succeeded, as userdata has it.
func (e *encoder) result(f ovnexpr.Field) []byte {
	dst := e.field(f)
	header, ok := openflow.WireHeader(dst.Field, false)
	if !ok {
		e.fail("%s has no known wire format", f)
	}
	return binary.BigEndian.AppendUint32(header, uint32(dst.Lo))
}

var (
	severities = lazy.Value[map[string]byte]{Make: func() map[string]byte {
		return map[string]byte{"alert": 1, "warning": 4, "notice": 5, "info": 6, "debug": 7}
	}}
	verdicts = lazy.Value[map[string]byte]{Make: func() map[string]byte { return map[string]byte{"allow": 0, "drop": 1, "reject": 2, "pass": 3} }}
)

// A learning is an action that has ovn-controller learn something.
type learning struct {
	op   uint32
	args []string
}

// learns are the actions that have ovn-controller learn something, with where it expects their arguments.
var learns = lazy.Value[map[string]learning]{Make: func() map[string]learning {
	return map[string]learning{
		"put_arp": {opPutARP, []string{"reg14", "reg0", "eth_src"}}, "put_nd": {opPutND, []string{"reg14", "xxreg0", "eth_src"}},
		"put_fdb": {opPutFDB, []string{"reg14", "eth_src"}}, "handle_svc_check": {opHealthCheck, []string{"reg14"}},
	}
}}

// controller encodes actions that ovn-controller carries out.
func (e *encoder) controller(a ovnexpr.Action) {
	switch a := a.(type) {
	case *ovnexpr.Plain:
		op, ok := map[string]uint32{"igmp": opIGMP, "handle_dhcpv6_reply": opDHCPv6Reply, "handle_bfd_msg": opBFD}[a.Name]
		if !ok {
			e.fail("no encoding known of %s", a)
		}
		e.ask(op, false, e.meter, nil)
	case *ovnexpr.Call:
		l, ok := learns.Get()[a.Name]
		switch {
		case ok:
			e.with(e.arguments(a, l.args), func() { e.ask(l.op, false, e.meter, nil) })
		case a.Name == "dns_lookup":
			e.ask(opDNS, true, e.meter, e.result(*a.Result))
		default:
			e.fail("no encoding known of %s", a)
		}
	case *ovnexpr.Log:
		severity, ok := severities.Get()[a.Severity]
		if !ok {
			severity = severities.Get()["info"]
		}
		meter := uint32(0)
		if a.Meter != "" {
			meter = e.meterOf(a.Meter)
		}
		e.ask(opLog, false, meter, append([]byte{verdicts.Get()[a.Verdict], severity}, a.Name...))
	case *ovnexpr.BindVirtual:
		body := binary.BigEndian.AppendUint32(nil, uint32(e.port(a.Port)))
		e.with([]argument{{e.field(a.Parent), packet.Reg(14)}}, func() { e.ask(opBindVirtual, false, e.meter, body) })
	case *ovnexpr.DHCPRelay:
		op := uint32(opRelayRequest)
		if a.Name == "dhcp_relay_resp_chk" {
			op = opRelayResponse
		}
		e.ask(op, true, e.meter, append(append(e.result(a.Result), a.Relay.AsSlice()...), a.Server.AsSlice()...))
	case *ovnexpr.PutOptions:
		e.options(a)
	case *ovnexpr.TriggerEvent:
		e.event(a)
	default:
		e.fail("no encoding known of %s", a)
	}
}

// events are the codes of an event's options.
var events = lazy.Value[map[string]uint16]{Make: func() map[string]uint16 { return map[string]uint16{"vip": 1, "protocol": 2, "load_balancer": 3} }}

func (e *encoder) event(a *ovnexpr.TriggerEvent) {
	body := make([]byte, 4) // the only event, empty_lb_backends, is 0
	for _, o := range a.Options {
		body = binary.BigEndian.AppendUint16(body, events.Get()[o.Name])
		text := o.Values.Items[0].Text
		body = append(binary.BigEndian.AppendUint16(body, uint16(len(text))), text...)
	}
	e.ask(opEvent, false, e.meter, body)
}
