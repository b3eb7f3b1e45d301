package ovssim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// A tunnel is how an interface encapsulates packets (ovs-vswitchd.conf.db(5), "Tunnel Options").
type tunnel struct {
	kind        string // geneve, vxlan, gre, stt
	remote      netip.Addr
	local       netip.Addr
	remoteFlow  bool
	localFlow   bool
	key         uint64
	keyFlow     bool // the key is the packet's tun_id
	keyed       bool // there is a key
	ttl         uint64
	ttlInherit  bool
	tos         uint64
	tosInherit  bool
	layer3      bool      // carries packets without an Ethernet header
	anyType     bool      // carries packets with and without one
	anyProtocol bool      // says of a packet what it is: VXLAN's generic protocol extension
	erspan      [4]uint64 // version, index, direction and hardware id of ERSPAN
	fragment    bool      // routers may fragment
	checksum    bool
	unsaid      bool // of UDP: the row does not say whether there is a checksum
	port        uint16
}

// tunnelNumbers are those of a kind of tunnel: of its ports in the datapath, and its port of UDP.
type tunnelNumbers struct{ datapath, port int }

// tunnelKinds are the interface types that are tunnels, with their numbers in the datapath and UDP.
var tunnelKinds = lazy.Value[map[string]tunnelNumbers]{Make: func() map[string]tunnelNumbers {
	return map[string]tunnelNumbers{
		"geneve": {5, 6081}, "vxlan": {4, 4789}, "gre": {3, 0}, "ip6gre": {3, 0}, "stt": {0, 7471}, "erspan": {107, 0}, "gtpu": {110, 2152}, "bareudp": {0, 6635},
	}
}}

// tunnelNumbers6 are the numbers in the datapath of tunnels over IPv6 that have others over IPv4.
var tunnelNumbers6 = lazy.Value[map[int]int]{Make: func() map[int]int { return map[int]int{3: 109, 107: 108} }}

// newTunnel returns an interface's tunnel; nil if it is none.
func newTunnel(i *vswitch.Interface) *tunnel {
	kind, ok := tunnelKinds.Get()[i.Type]
	if !ok {
		return nil
	}
	o := i.Options
	t := &tunnel{kind: i.Type, ttl: 64, port: uint16(kind.port), checksum: o["csum"] == "true", fragment: o["df_default"] == "false"}
	t.remote, t.remoteFlow = end(o["remote_ip"])
	t.local, t.localFlow = end(o["local_ip"])
	key := o["out_key"]
	if key == "" {
		key = o["key"]
	}
	t.keyed, t.keyFlow = key != "", key == "flow"
	t.key, _ = strconv.ParseUint(key, 0, 64)
	if n, err := strconv.ParseUint(o["dst_port"], 10, 16); err == nil {
		t.port = uint16(n)
	}
	if t.ttlInherit = o["ttl"] == "inherit"; !t.ttlInherit && o["ttl"] != "" {
		t.ttl, _ = strconv.ParseUint(o["ttl"], 10, 8)
	}
	if t.tosInherit = o["tos"] == "inherit"; !t.tosInherit {
		t.tos, _ = strconv.ParseUint(o["tos"], 0, 8)
	}
	t.layer3 = i.Type == "gtpu" || i.Type == "bareudp" || o["packet_type"] == "legacy_l3"
	t.anyType = o["packet_type"] == "ptap"
	t.anyProtocol = slices.Contains(strings.FieldsFunc(o["exts"], func(c rune) bool { return c == ',' || c == ' ' }), "gpe")
	for n, name := range []string{"erspan_ver", "erspan_idx", "erspan_dir", "erspan_hwid"} {
		base := 10
		if n != 0 {
			base = 16
		}
		t.erspan[n], _ = strconv.ParseUint(strings.TrimPrefix(o[name], "0x"), base, 32)
	}
	t.unsaid = (i.Type == "geneve" || i.Type == "vxlan") && o["csum"] == ""
	return t
}

// device returns the name of the datapath's port for all tunnels of a kind.
func (t *tunnel) device() string {
	switch {
	case t.kind == "geneve":
		return fmt.Sprintf("genev_sys_%d", t.port)
	case t.port != 0:
		return fmt.Sprintf("%s_sys_%d", t.kind, t.port)
	}
	return t.kind + "_sys"
}

// end parses a tunnel address, or reports that the packet sets it.
func end(s string) (addr netip.Addr, flow bool) {
	addr, _ = netip.ParseAddr(s)
	return addr, s == "flow"
}

// decapsulated takes over congestion that a tunnel's packet met on its way. It reports false for a packet that must be dropped
// instead, because its own sender does not know of ECN (RFC 6040).
func (x *translation) decapsulated() bool {
	const congested = 3
	p := &x.packet
	if p.destination().IsUnspecified() || !p.ip() || p.number(tunTOS)&congested != congested {
		return true
	}
	if p.number(nwTOS)&congested == 0 {
		return false
	}
	p.SetMasked(nwTOS, packet.Uint(congested), packet.Uint(congested))
	return true
}

// wrap sets the packet's tunnel fields for sending.
func (x *translation) wrap(t *tunnel) {
	p := &x.packet
	address := func(a netip.Addr, v4, v6 *packet.Field) {
		p.Set(v4, packet.Value{})
		p.Set(v6, packet.Value{})
		switch {
		case a.Is4():
			p.Set(v4, packet.FromAddr(a))
		case a.Is6():
			p.Set(v6, packet.FromAddr(a))
		}
	}
	if !t.localFlow {
		address(t.local, tunSrc, tunIPv6Src)
	}
	if !t.remoteFlow {
		address(t.remote, tunDst, tunIPv6Dst)
	}
	if !t.keyFlow {
		p.set(tunID, t.key)
	}
	ttl, tos := t.ttl, t.tos
	if p.ip() {
		if t.ttlInherit {
			x.touch(nwTTL, nwTTL.Mask())
			ttl = p.number(nwTTL)
		}
		x.touch(nwTOS, packet.Uint(3))
		inner := p.number(nwTOS)
		if t.tosInherit {
			x.touch(nwTOS, nwTOS.Mask())
			tos = inner & 0xfc
		}
		if inner&3 == 3 { // the outer header signals congestion if it occurs there
			tos |= 2
		} else {
			tos |= inner & 3
		}
	}
	p.set(tunTTL, ttl)
	p.set(tunTOS, tos)
	flags := p.number(tunFlags) & 1
	sum := t.checksum || t.unsaid && x.sw.sums && p.destination().Is6()
	for bit, on := range map[uint64]bool{flagFragment: !t.fragment, flagChecksum: sum, flagKey: t.keyed} {
		if on {
			flags |= bit
		}
	}
	p.set(tunFlags, flags)
}

// Bits of tun_flags, as Open vSwitch prints them.
const (
	flagFragment = 2
	flagChecksum = 4
	flagKey      = 8
)

// destination is the packet's tunnel destination; unspecified if there is none.
func (p *frame) destination() netip.Addr { return p.either(tunDst, tunIPv6Dst) }

// destinationLike returns where the packet is sent to, as an address of the family of another, which may be none.
func (p *frame) destinationLike(a netip.Addr) netip.Addr {
	if a.Is4() {
		return p.Addr(tunDst)
	}
	return p.Addr(tunIPv6Dst)
}

func (p *frame) either(v4, v6 *packet.Field) netip.Addr {
	if a := p.Addr(v4); !a.IsUnspecified() {
		return a
	}
	return p.Addr(v6)
}

// sendTunnel sends the packet into a tunnel, and returns the packet as it is afterwards: if not sent, it keeps the
// port's tunnel fields.
func (x *translation) sendTunnel(p *port, last, truncated bool) frame {
	before := x.packet
	x.wrap(p.tunnel)
	if p.datapath == "" {
		x.warn("Tunneling decided against output")
		return x.packet
	}
	if x.packet.destination() == x.came {
		x.warn("Not tunneling to our own address")
		return x.packet
	}
	if !x.bridge.native {
		x.detail("output to kernel tunnel")
		if set := x.packet.tunnelKey(p.tunnel, x.bridge.tlvs); set != x.sentTunnel {
			x.emit(set)
			x.sentTunnel = set
		}
		x.commit()
		x.emit(p.datapath)
		return before
	}
	x.detail("output to native tunnel")
	if p.tunnel.layer3 && x.packet.number(packetType) == typeEthernet {
		x.packet.set(packetType, etherTypes|x.packet.number(ethType))
	}
	x.commit()
	x.pushHeader(p, last, truncated)
	return before
}

// tunnelKey returns the datapath action that sets the packet's tunnel.
func (p *frame) tunnelKey(t *tunnel, tlvs []openflow.TLV) string {
	var words []string
	add := func(ok bool, format string, arg any) {
		if ok {
			words = append(words, fmt.Sprintf(format, arg))
		}
	}
	flags := p.number(tunFlags)
	add(flags&flagKey != 0, "tun_id=0x%x", p.number(tunID))
	for _, f := range []struct {
		name  string
		field *packet.Field
	}{{"src", tunSrc}, {"dst", tunDst}, {"ipv6_src", tunIPv6Src}, {"ipv6_dst", tunIPv6Dst}} {
		add(!p.Get(f.field).IsZero(), f.name+"=%s", f.field.Print(p.Get(f.field)))
	}
	add(p.number(tunTOS) != 0, "tos=%s", hex(p.number(tunTOS)))
	add(true, "ttl=%d", p.number(tunTTL))
	add(t.port != 0, "tp_dst=%d", t.port)
	if options := p.options(tlvs); t.kind == "geneve" && options != "" {
		words = append(words, "geneve("+options+")")
	}
	if t.kind == "erspan" {
		words = append(words, t.erspanHeader())
	}
	var names []string
	for _, f := range []struct {
		bit  uint64
		name string
	}{{1, "oam"}, {flagFragment, "df"}, {flagChecksum, "csum"}, {flagKey, "key"}} {
		if flags&f.bit != 0 {
			names = append(names, f.name)
		}
	}
	words = append(words, "flags("+strings.Join(names, "|")+")")
	return "set(tunnel(" + join(words) + "))"
}

// carried returns the packet's Geneve options, in field order.
func (p *frame) carried(tlvs []openflow.TLV) []openflow.TLV {
	var list []openflow.TLV
	for i := range 64 {
		if !p.HasOption(i) {
			continue
		}
		for _, t := range tlvs {
			if t.Field == packet.TunMetadata(i) {
				list = append(list, t)
			}
		}
	}
	return list
}

// options formats the packet's Geneve options as the datapath does.
func (p *frame) options(tlvs []openflow.TLV) string {
	var b strings.Builder
	for _, t := range p.carried(tlvs) {
		fmt.Fprintf(&b, "{class=0x%x,type=0x%x,len=%d", t.Class, t.Type, t.Length)
		if t.Length > 0 {
			b.WriteString("," + p.Get(t.Field).Hex())
		}
		b.WriteByte('}')
	}
	return b.String()
}

// pushHeader prepends the outer headers to the packet, and follows it out of the port that leads to the other end.
func (x *translation) pushHeader(p *port, last, truncated bool) {
	to := x.packet.destination()
	from := x.packet.Addr(tunSrc)
	if x.sw.sources {
		from = x.packet.either(tunSrc, tunIPv6Src)
	}
	r, out := x.sw.route(x.packet.number(pktMark), from, to)
	if out == nil {
		x.warn("native tunnel routing failed")
		x.nowhere(last)
		return
	}
	next := to
	if r.via.IsValid() && !r.via.IsUnspecified() {
		next = r.via
	}
	x.detail("tunneling to %s via %s", next, out.name)
	mac, known := x.sw.neighbour(next, out.bridge.name)
	if !known {
		question := "ND"
		if next.Is4() {
			question = "ARP"
		}
		x.detail("neighbor cache miss for %s on bridge %s, sending %s request", next, out.bridge.name, question)
		x.nowhere(last)
		return
	}
	if from.IsUnspecified() {
		from = r.source
	}
	x.detail("tunneling from %s %s to %s %s", out.addr, from, mac, next)
	header, ok := x.header(p, out, mac, from)
	if !ok {
		x.warn("native tunnel header build failed")
		x.nowhere(last)
		return
	}
	base, before := x.base, x.packet
	x.outward(&x.packet, p.tunnel, mac, out.addr, from)
	x.outward(&x.base, p.tunnel, mac, out.addr, from)
	push := fmt.Sprintf("tnl_push(tnl_port(%s),header(%s),out_port(%s))", p.datapath, header, out.datapath)
	inside := x.nested(attrHeader+size(push), func() {
		if truncated {
			x.emit("recirc(0)")
			return
		}
		mask, wrapped := x.mask, x.wrapped
		x.mask, x.wrapped = packet.Flow{}, true
		x.enter(out, last)
		x.mask, x.wrapped = mask, wrapped
	})
	if len(inside) > 0 {
		if last && !truncated {
			x.emit(push)
			for _, action := range inside {
				x.emit(action)
			}
		} else {
			x.emitAround("clone(%s)", attrHeader, append([]string{push}, inside...))
		}
	}
	x.packet, x.base = before, base
}

// nowhere ends a packet that cannot be encapsulated.
func (x *translation) nowhere(last bool) {
	switch {
	case !x.sw.eager:
	case last:
		x.emit("drop")
	default:
		x.emit("clone(drop)")
	}
}

// erspanHeader is the header of ERSPAN without the session, which is the tunnel's key.
func (t *tunnel) erspanHeader() string {
	if t.erspan[0] == 2 {
		return fmt.Sprintf("erspan(ver=2,dir=%d,hwid=0x%x)", t.erspan[2], t.erspan[3])
	}
	return fmt.Sprintf("erspan(ver=%d,idx=0x%x)", t.erspan[0], t.erspan[1])
}

// header returns the outer header as the datapath writes it.
func (x *translation) header(p, out *port, mac string, from netip.Addr) (string, bool) {
	t, q := p.tunnel, &x.packet
	to := q.destinationLike(from)
	kind := tunnelKinds.Get()[t.kind]
	if kind.datapath == 0 {
		return "", false
	}
	size, ethType := 14+20, packet.EthIPv4
	number := kind.datapath
	if to.Is6() {
		size, ethType = 14+40, packet.EthIPv6
		number = cmp.Or(tunnelNumbers6.Get()[number], number)
	}
	protocol := packet.ProtoUDP
	if kind.port == 0 {
		protocol = 47
	}
	frag := 0
	if q.number(tunFlags)&flagFragment != 0 {
		frag = 0x4000
	}
	network := fmt.Sprintf("ipv4(src=%s,dst=%s,proto=%d,tos=%s,ttl=%d,frag=%s)", from, to, protocol, hex(q.number(tunTOS)), q.number(tunTTL), hex128(packet.Uint(uint64(frag))))
	if to.Is6() {
		network = fmt.Sprintf("ipv6(src=%s,dst=%s,label=0,proto=%d,tclass=%s,hlimit=%d)", from, to, protocol, hex128(packet.Uint(q.number(tunTOS))), q.number(tunTTL))
	}
	sum := "0x0"
	if q.number(tunFlags)&flagChecksum != 0 || !x.sw.sums && from.Is6() {
		sum = "0xffff"
	}
	udp := fmt.Sprintf("udp(src=0,dst=%d,csum=%s)", t.port, sum)
	var inside string
	switch t.kind {
	case "geneve":
		options := q.options(x.bridge.tlvs)
		inside = "vni=" + hex128(packet.Uint(q.number(tunID)&0xffffff))
		if options != "" {
			if q.critical(x.bridge.tlvs) {
				inside = "crit," + inside
			}
			inside += ",options(" + options + ")"
		}
		if q.number(tunFlags)&1 != 0 {
			inside = "oam," + inside
		}
		size += 16 + q.optionBytes(x.bridge.tlvs)
		inside = udp + ",geneve(" + inside + ")"
	case "erspan":
		size += 16
		if t.erspan[0] == 2 {
			size += 4
		}
		inside = strings.Replace(t.erspanHeader(), ",", fmt.Sprintf(",sid=%s,", hex128(packet.Uint(q.number(tunID)&0x3ff))), 1)
	case "gtpu":
		size += 16
		inside = fmt.Sprintf("%s,gtpu(flags=0x30,msgtype=255,teid=%s)", udp, hex128(packet.Uint(q.number(tunID)&0xffffffff)))
	case "vxlan":
		size += 16
		flags := uint64(0x8000000)
		if t.anyProtocol {
			next, ok := vxlanProtocols.Get()[q.number(packetType)]
			if !ok {
				return "", false
			}
			flags |= 0x4000000 | next
		}
		inside = fmt.Sprintf("%s,vxlan(flags=%s,vni=%s)", udp, hex(flags), hex128(packet.Uint(q.number(tunID)&0xffffff)))
	default:
		size += 4
		options, flags, protocol := "", 0, uint64(bridged)
		if kind := q.number(packetType); kind != typeEthernet {
			protocol = kind & 0xffff
		}
		if t.checksum {
			flags, options = 0x8000, ",csum=0x0"
			size += 4
		}
		if t.keyed {
			flags |= 0x2000
			options += fmt.Sprintf(",key=%s", hex128(packet.Uint(q.number(tunID)&0xffffffff)))
			size += 4
		}
		inside = fmt.Sprintf("gre((flags=0x%x,proto=0x%x)%s)", flags, protocol, options)
	}
	return fmt.Sprintf("size=%d,type=%d,eth(dst=%s,src=%s,dl_type=0x%04x),%s,%s", size, number, mac, out.addr, ethType, network, inside), true
}

// vxlanProtocols are the packet types that VXLAN carries with its generic protocol extension, with its numbers for them.
var vxlanProtocols = lazy.Value[map[uint64]uint64]{Make: func() map[uint64]uint64 {
	return map[uint64]uint64{typeEthernet: 3, etherTypes | packet.EthIPv4: 1, etherTypes | packet.EthIPv6: 2, typeNSH: 4}
}}

// critical reports whether a receiver that does not know an option must drop the packet.
func (p *frame) critical(tlvs []openflow.TLV) bool {
	return slices.ContainsFunc(p.carried(tlvs), func(t openflow.TLV) bool { return t.Type&0x80 != 0 })
}

func (p *frame) optionBytes(tlvs []openflow.TLV) int {
	n := 0
	for _, t := range p.carried(tlvs) {
		n += 4 + (t.Length+3)/4*4
	}
	return n
}

// outward turns the packet into the outer one.
func (x *translation) outward(p *frame, t *tunnel, mac, own string, from netip.Addr) {
	to := x.packet.destinationLike(from)
	text := func(f *packet.Field, s string) {
		if v, _, err := f.ParseValue(s); err == nil {
			p.Set(f, v)
		}
	}
	q := &x.packet
	ttl, tos := q.number(tunTTL), q.number(tunTOS)
	text(ethDst, mac)
	text(ethSrc, own)
	p.set(packetType, 0)
	p.tagTypes = [2]uint16{}
	for _, f := range []*packet.Field{outer, inner, ipSrc, ipDst, ipv6Src, ipv6Dst, tpSrc, tpDst} {
		p.Set(f, packet.Value{})
	}
	p.set(ethType, packet.EthIPv4)
	if to.Is6() {
		p.set(ethType, packet.EthIPv6)
	}
	src, dst := p.AddrFields()
	p.Set(src, packet.FromAddr(from))
	p.Set(dst, packet.FromAddr(to))
	p.set(nwFrag, 0)
	p.set(nwTOS, tos)
	p.set(nwTTL, ttl)
	protocol := uint64(packet.ProtoUDP)
	if t.port == 0 {
		protocol = 47
	}
	p.set(nwProto, protocol)
	p.set(tpDst, uint64(t.port))
}

// route returns the most specific route to an address for packets with a mark, and its output port. The source address,
// if given, must be local.
func (sw *Switch) route(mark uint64, from, to netip.Addr) (route, *port) {
	if !from.IsUnspecified() && !slices.ContainsFunc(sw.routes, func(r route) bool { return r.local && r.to.Addr() == from && r.mark == mark }) {
		return route{}, nil
	}
	var best route
	for _, r := range sw.routes {
		if r.mark == mark && r.to.Contains(to) && (!best.to.IsValid() || r.to.Bits() > best.to.Bits()) {
			best = r
		}
	}
	if b := sw.bridge(best.device); b != nil {
		if p := b.names[best.device]; p != nil {
			return best, p
		}
	}
	for _, b := range sw.bridges {
		if p := b.names[best.device]; p != nil {
			return best, p
		}
	}
	return best, nil
}

func (sw *Switch) neighbour(addr netip.Addr, bridge string) (string, bool) {
	for _, n := range sw.neighbours {
		if n.addr == addr && n.bridge == bridge {
			return n.mac, true
		}
	}
	return "", false
}

// terminates returns the datapath's tunnel port that accepts the packet when it is sent to a port of the host; "" if
// none does.
func (x *translation) terminates(p *port) string {
	// A device that is up has a link-local address, unless somebody took it away.
	if !x.bridge.native || !p.addressed && !p.live {
		return ""
	}
	if i, _ := x.sw.arriving.Lookup(0, &x.packet.Flow, &x.mask); i >= 0 && p.addressed {
		return x.sw.tunnelPorts[i]
	}
	if x.packet.number(ethType) == packet.EthARP { // the other end of a tunnel may speak
		x.touch(ipSrc, ipSrc.Mask())
		x.touch(ipDst, ipDst.Mask())
		if x.packet.Get(ipSrc) == x.packet.Get(ipDst) {
			x.touch(arpSHA, arpSHA.Mask())
		}
	}
	return ""
}
