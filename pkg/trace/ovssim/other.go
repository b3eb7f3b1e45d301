package ovssim

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// other executes an action kept as text, and reports whether those after it are executed too.
func (x *translation) other(a openflow.Other, last, bucket bool) bool {
	switch a.Name {
	case "bundle", "bundle_load":
		x.bundleAction(a, last, bucket)
	case "multipath":
		x.multipath(a)
	case "enqueue":
		x.enqueue(a, last)
	case "push_mpls":
		x.pushMPLS(a)
	case "pop_mpls":
		x.popMPLS(a)
	case "encap":
		x.encap(a)
	case "decap":
		x.decap(a)
	case "dec_nsh_ttl":
		return x.decNSHTTL()
	case "dec_mpls_ttl":
		return x.decMPLSTTL()
	case "delete_field":
		if f, ok := packet.Lookup(word(a)); ok {
			x.packet.deleteOption(f)
			x.detail("delete %s", f.Name)
		}
	case "debug_recirc":
		x.freeze()
	case "debug_slow":
		x.slow = append(x.slow, "Uses debug_slow action")
	case "fin_timeout":
		x.touch(nwProto, nwProto.Mask())
	case "sample":
		x.sample(a)
	default:
		x.warn("%s is not simulated", a.Name)
	}
	return true
}

// sample sends some packets to a collector of IPFIX, if the bridge has any.
func (x *translation) sample(a openflow.Other) {
	if !x.bridge.exports {
		return
	}
	set := map[string]uint64{}
	direction, port, unknown := "", uint64(math.MaxUint32), false
	for _, arg := range a.Args {
		switch arg.Key {
		case "sampling_port":
			id, err := packet.ParsePort(arg.Value)
			if p := x.bridge.find(id); err == nil && p != nil && uint64(p.number) != x.packet.number(inPort) {
				port, err = strconv.ParseUint(p.datapath, 10, 32)
			}
			if err != nil {
				x.fault("can't use unknown port %s in flow sample action", arg.Value)
				unknown = true
			}
		case "":
			direction = "," + arg.Value
		default:
			n, err := strconv.ParseUint(arg.Value, 0, 32)
			if s, bad := packet.ParseSubfield(arg.Value); err != nil && bad == nil {
				x.touchPart(s)
				n = s.Get(&x.packet.Flow).Lo
			}
			set[arg.Key] = n
		}
	}
	if unknown && !x.sw.samples {
		return
	}
	probability := set["probability"]
	cookie := "userdata(" + strings.Repeat("00", 48) + ")"
	if !unknown {
		x.commit()
		cookie = fmt.Sprintf("flow_sample(probability=%d,collector_set_id=%d,obs_domain_id=%d,obs_point_id=%d,output_port=%d%s)",
			probability, set["collector_set_id"], set["obs_domain_id"], set["obs_point_id"], port, direction)
	}
	action := fmt.Sprintf("userspace(pid=%d,%s)", x.bridge.handler(), cookie)
	if probability < math.MaxUint16 {
		action = fmt.Sprintf("sample(sample=%.1f%%,actions(%s))", 100*float64(probability)/math.MaxUint16, action)
	}
	x.emit(action)
}

// word returns an action's only argument.
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

// bundleAction chooses a member that is up: the first, or with hrw one by hash.
func (x *translation) bundleAction(a openflow.Other, last, bucket bool) {
	chosen := uint32(packet.PortAny)
	var settings []string
	var members []packet.PortID
	inside := false
	for _, arg := range a.Args {
		if arg.Key != "" {
			inside = arg.Key == "members" || arg.Key == "slaves"
		}
		if !inside {
			settings = append(settings, arg.Value)
		} else if id, err := packet.ParsePort(strings.Trim(arg.Value, "[]")); err == nil {
			members = append(members, id)
		}
	}
	if len(settings) < 4 {
		return
	}
	hash := uint32(0)
	if settings[2] == "hrw" {
		hash = x.hashed(settings[0], settings[1])
	}
	best := uint32(0)
	for i, id := range members {
		p := x.bridge.find(id)
		if p == nil || !p.live {
			continue
		}
		if settings[2] != "hrw" {
			chosen = p.number
			break
		}
		if h := hashWords(uint32(i), hash); chosen == packet.PortAny || h > best {
			chosen, best = p.number, h
		}
	}
	if a.Name == "bundle" {
		x.output(chosen, last, false, bucket, false)
		return
	}
	dst := a.Dst
	if dst == "" && len(settings) > 4 {
		dst = settings[4]
	}
	x.choose16(dst, uint64(chosen)&0xffff)
}

// hashed hashes the packet as the arguments of bundle and multipath specify.
func (x *translation) hashed(fields, basis string) uint32 {
	n, _ := strconv.ParseUint(basis, 0, 32)
	x.touchHashed(fields)
	return x.packet.hash(fields, uint32(n))
}

// touchHashed marks the fields that a hash reads.
func (x *translation) touchHashed(hash string) {
	p := &x.packet
	all := func(list ...*packet.Field) {
		for _, f := range list {
			if p.Meets(f.Needs) || f == tpSrc || f == tpDst {
				x.touch(f, f.Mask())
			}
		}
	}
	proto := p.number(nwProto)
	switch hash {
	case "eth_src":
		all(ethSrc)
	case "nw_src":
		all(ipSrc, ipv6Src)
	case "nw_dst":
		all(ipDst, ipv6Dst)
	case "symmetric_l3":
		all(ipSrc, ipDst, ipv6Src, ipv6Dst)
	case "symmetric_l3l4", "symmetric_l3l4+udp":
		if !p.ip() {
			return
		}
		all(ipSrc, ipDst, ipv6Src, ipv6Dst, nwProto)
		if p.number(nwFrag) == 0 && (proto == packet.ProtoTCP || proto == packet.ProtoSCTP || proto == packet.ProtoUDP && hash != "symmetric_l3l4") {
			all(tpSrc, tpDst)
		}
	default:
		all(ethSrc, ethDst, ipSrc, ipDst, ipv6Src, ipv6Dst)
		if p.ip() {
			all(nwProto, tpSrc, tpDst) // whatever the protocol is
		}
		for _, tag := range []*packet.Field{outer, inner}[:p.tags()] {
			x.touch(tag, packet.Uint(0x1fff))
		}
	}
}

// choose16 loads what bundle_load and multipath chose.
func (x *translation) choose16(to string, n uint64) {
	if dst, err := packet.ParseSubfield(to); err == nil {
		x.touchPart(dst)
		dst.Set(&x.packet.Flow, packet.Uint(n))
		x.now(dst)
	}
}

// multipath loads the number of the link that a hash chooses.
func (x *translation) multipath(a openflow.Other) {
	if len(a.Args) < 6 {
		return
	}
	number := func(i int) uint32 {
		n, _ := strconv.ParseUint(a.Args[i].Value, 0, 16)
		return uint32(n)
	}
	hash, links, link := x.hashed(a.Args[0].Value, a.Args[1].Value), max(number(3), 1), uint32(0)
	switch a.Args[2].Value {
	case "hash_threshold":
		if links > 1 {
			link = hash / (math.MaxUint32/links + 1)
		}
	case "hrw":
		best := hashWords(hash, 0)
		for i := uint32(1); i < links; i++ {
			if weight := hashWords(hash, i); weight > best {
				link, best = i, weight
			}
		}
	case "iter_hash":
		modulo := number(4)
		if modulo < links || modulo/2 > links {
			modulo = 1 << bits.Len32(links-1)
		}
		link = hashWords(hash, 0) % modulo
		for i := uint32(1); link >= links; i++ {
			link = hashWords(hash, i) % modulo
		}
	default:
		link = hash % links
	}
	x.choose16(a.Args[5].Value, uint64(link))
}

func (x *translation) enqueue(a openflow.Other, last bool) {
	if len(a.Args) == 0 {
		return
	}
	text, queue := a.Args[0].Key, a.Args[0].Value
	if text == "" && len(a.Args) > 1 {
		text, queue = a.Args[0].Value, a.Args[1].Value
	}
	id, err := packet.ParsePort(text)
	n, err2 := strconv.ParseUint(queue, 0, 32)
	p := x.bridge.find(id)
	if err != nil || err2 != nil || p == nil || uint64(p.number) == x.packet.number(inPort) {
		return
	}
	was := x.packet.number(skbPriority)
	x.packet.set(skbPriority, x.queuePriority(uint32(n)))
	x.send(p.number, last, false)
	x.packet.set(skbPriority, was)
}

// countLabels returns the packet's labels; where they end is examined.
func (x *translation) countLabels() []uint32 {
	have := x.packet.labels()
	if !x.packet.mpls() {
		return nil
	}
	for i, f := range []*packet.Field{mplsBOS, mplsLSE1, mplsLSE2} {
		if i > 0 && x.packet.entries()[i-1]&bottom != 0 {
			break
		}
		if i == 0 {
			x.touch(f, f.Mask())
		} else {
			x.touch(f, packet.Uint(bottom))
		}
	}
	return have
}

func (x *translation) pushMPLS(a openflow.Other) {
	p := &x.packet
	have := x.countLabels()
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
		for _, f := range mplsFields[:3+len(have)] {
			x.touch(f, f.Mask())
		}
	case p.ip():
		x.touch(nwTOS, packet.Uint(0xfc))
		x.touch(nwTTL, nwTTL.Mask())
		first = bottom | uint32(p.number(nwTOS)>>2&7)<<9
		if first |= uint32(p.number(nwTTL)); first&0xff == 0 {
			first |= 64
		}
		if p.number(ethType) == packet.EthIPv6 {
			first |= 2 << 12
		}
	}
	var list [maxLabels]uint32
	copy(list[:], append([]uint32{first}, have...))
	if len(have) == 0 { // the payload is no longer known
		p.Set(dpHash, packet.Value{})
		p.clearNetwork()
	}
	p.set(ethType, numberOf(a))
	p.setEntries(list)
}

// clearNetwork clears the fields above Ethernet.
func (p *frame) clearNetwork() {
	for _, f := range []*packet.Field{ipSrc, ipDst, ipv6Src, ipv6Dst, ipv6Label, nwProto, nwTOS, nwTTL, nwFrag, arpSHA, arpTHA, ndTarget, tpSrc, tpDst, tcpFlags} {
		p.Set(f, packet.Value{})
	}
}

func (x *translation) popMPLS(a openflow.Other) {
	p := &x.packet
	have := x.countLabels()
	if len(have) == 0 {
		return
	}
	for i := range have[1:] {
		f := []*packet.Field{mplsLSE1, mplsLSE2}[i]
		x.touch(f, f.Mask())
	}
	next := numberOf(a)
	var list [maxLabels]uint32
	copy(list[:], have[1:])
	p.setEntries(list)
	p.set(ethType, next)
	x.wasMPLS = !isMPLS(next)
}

func (x *translation) decMPLSTTL() bool { return x.countDown("MPLS", x.packet.mpls(), mplsTTL) }

// countDown takes one from the TTL of a header that the packet may have. It reports false if that ends the translation.
func (x *translation) countDown(header string, has bool, ttl *packet.Field) bool {
	if has {
		x.touch(ttl, ttl.Mask())
		if n := x.packet.number(ttl); n > 1 {
			x.packet.set(ttl, n-1)
			return true
		}
		x.controller(openflow.Controller{MaxLen: 65535, Reason: "invalid_ttl"})
	}
	x.warn("%s decrement TTL exception", header)
	return false
}
