package xlate

import (
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// other executes an action that is kept as it was written, and reports whether
// those after it are executed, too.
func (x *translation) other(a openflow.Other, last, bucket bool) bool {
	switch a.Name {
	case "bundle", "bundle_load":
		x.bundleAction(a, last, bucket)
	case "enqueue":
		x.enqueue(a, last)
	case "push_mpls":
		x.pushMPLS(a)
	case "pop_mpls":
		x.popMPLS(a)
	case "dec_mpls_ttl":
		return x.decMPLSTTL()
	case "delete_field":
		x.detail("delete %s", word(a))
	case "fin_timeout", "debug_recirc", "debug_slow", "sample":
		// Of these a trace shows nothing, unless an exporter is configured.
	default:
		x.warn("%s is not simulated", a.Name)
	}
	return true
}

// word is the only argument of an action.
func word(a openflow.Other) string {
	if len(a.Args) == 0 {
		return ""
	}
	return a.Args[0].String()
}

func numberOf(a openflow.Other) uint64 {
	n, _ := strconv.ParseUint(word(a), 0, 16)
	return n
}

// bundleAction chooses the first member that is up, or with hrw one by a hash,
// for which the first one that is up stands here.
func (x *translation) bundleAction(a openflow.Other, last, bucket bool) {
	chosen := uint32(flow.PortAny)
	members := false
	for _, arg := range a.Args {
		if arg.Key != "" {
			members = arg.Key == "members" || arg.Key == "slaves"
		}
		if !members {
			continue
		}
		id, err := flow.ParsePort(arg.Value)
		if p := x.bridge.find(id); err == nil && p != nil && p.live {
			chosen = p.number
			break
		}
	}
	if a.Dst == "" && a.Name == "bundle" {
		x.output(chosen, last, false, bucket, false)
		return
	}
	if dst, err := flow.ParseSubfield(a.Dst); err == nil {
		dst.Set(&x.packet.Flow, flow.Uint(uint64(chosen)))
		x.now(dst)
	}
}

func (x *translation) enqueue(a openflow.Other, last bool) {
	if len(a.Args) == 0 {
		return
	}
	text, queue := a.Args[0].Key, a.Args[0].Value
	if text == "" && len(a.Args) > 1 {
		text, queue = a.Args[0].Value, a.Args[1].Value
	}
	id, err := flow.ParsePort(text)
	n, err2 := strconv.ParseUint(queue, 0, 32)
	p := x.bridge.find(id)
	if err != nil || err2 != nil || p == nil || uint64(p.number) == x.packet.number(inPort) {
		return
	}
	was := x.packet.number(skbPriority)
	x.packet.set(skbPriority, queuePriority(uint32(n)))
	x.send(p.number, last, false)
	x.packet.set(skbPriority, was)
}

func (x *translation) pushMPLS(a openflow.Other) {
	p := &x.packet
	have := p.labels()
	if len(have) == 0 {
		x.commit()
	} else if len(have) >= maxLabels {
		x.failure = "Too many MPLS labels"
		return
	}
	first := uint32(bottom | 64)
	switch {
	case len(have) > 0:
		first = have[0] &^ bottom
	case p.ip():
		first = bottom | uint32(p.number(nwTTL))
	}
	x.touch(ethType, ethType.Mask())
	var list [maxLabels]uint32
	copy(list[:], append([]uint32{first}, have...))
	if len(have) == 0 { // what is inside is no longer known
		x.clearNetwork()
	}
	p.set(ethType, numberOf(a))
	p.setEntries(list)
}

// clearNetwork forgets the fields above Ethernet.
func (x *translation) clearNetwork() {
	for _, f := range []*flow.Field{ipSrc, ipDst, ipv6Src, ipv6Dst, ipv6Label, nwProto, nwTOS, nwTTL, nwFrag, arpSHA, arpTHA, ndTarget, tpSrc, tpDst, field("tcp_flags")} {
		x.packet.Set(f, flow.Value{})
		x.base.Set(f, flow.Value{})
	}
}

func (x *translation) popMPLS(a openflow.Other) {
	p := &x.packet
	have := p.labels()
	if len(have) == 0 {
		return
	}
	next := numberOf(a)
	if isMPLS(next) == (len(have) == 1) && !(len(have) == 1 && isMPLS(next)) && len(have) > 1 {
		return
	}
	var list [maxLabels]uint32
	copy(list[:], have[1:])
	p.setEntries(list)
	p.set(ethType, next)
	x.wasMPLS = !isMPLS(next)
}

func (x *translation) decMPLSTTL() bool {
	p := &x.packet
	if !p.mpls() {
		x.warn("MPLS decrement TTL exception")
		return false
	}
	x.touch(mplsTTL, mplsTTL.Mask())
	if ttl := p.number(mplsTTL); ttl > 1 {
		p.set(mplsTTL, ttl-1)
		return true
	}
	x.controller(openflow.Controller{MaxLen: 65535, Reason: "invalid_ttl"})
	x.warn("MPLS decrement TTL exception")
	return false
}
