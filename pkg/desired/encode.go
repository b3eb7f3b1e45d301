package desired

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// encode encodes a logical flow's actions for a datapath.
func (c *Chassis) encode(f *Flow, d *Datapath) (list openflow.Actions, err error) {
	e := &encoder{Chassis: c, Datapath: d, flow: f}
	defer func() {
		if r := recover(); r != nil {
			u, ok := r.(unencodable)
			if !ok {
				panic(r)
			}
			list, err = nil, u.error
		}
	}()
	if name := f.Row.ControllerMeter.Get(); name != "" {
		e.meter = e.meterOf(name)
	}
	return e.encoded(f.actions), nil
}

// unencodable is panicked with if an action cannot be encoded.
type unencodable struct{ error }

// An encoder encodes the actions of one logical flow for one datapath.
type encoder struct {
	*Chassis
	*Datapath
	flow  *Flow
	meter uint32 // that protects ovn-controller from the flow's packets; 0 if none
	list  openflow.Actions
}

func (e *encoder) fail(format string, args ...any) {
	panic(unencodable{fmt.Errorf(format, args...)})
}

// encoded encodes a list of its own.
func (e *encoder) encoded(actions ovnexpr.Actions) openflow.Actions {
	inner := *e
	inner.list = nil
	for _, a := range actions {
		inner.action(a)
	}
	return inner.list
}

func (e *encoder) put(actions ...openflow.Action) { e.list = append(e.list, actions...) }

// text adds actions that are easier written than built.
func (e *encoder) text(format string, args ...any) {
	actions, err := openflow.ParseActions(fmt.Sprintf(format, args...))
	if err != nil {
		e.fail("%w", err)
	}
	e.put(actions...)
}

// table is the OpenFlow table of a logical one.
func (e *encoder) table(pipeline string, id int) int {
	if pipeline == "egress" {
		return e.Tables.Egress + id
	}
	return e.Tables.Ingress + id
}

// following is the OpenFlow table after the flow's own.
func (e *encoder) following() int { return e.table(e.flow.Row.Pipeline, e.flow.Row.TableID+1) }

func (e *encoder) resubmit(table int) {
	e.put(openflow.Resubmit{Table: openflow.Table{Number: table}})
}

// output is the table where output leads to.
func (e *encoder) output() int {
	if e.flow.Row.Pipeline == "egress" {
		return e.helper(release.SaveInport)
	}
	return e.Tables.Output
}

func (e *encoder) helper(t release.PhysicalTable) int {
	of, ok := e.Tables.Helpers[t]
	if !ok {
		e.fail("this release has no table %s", t)
	}
	return of
}

// field resolves a field of the actions.
func (e *encoder) field(f ovnexpr.Field) packet.Subfield {
	r, err := e.flow.symbols.Resolve(f, "")
	if err != nil {
		e.fail("%w", err)
	}
	if r.Field == nil {
		e.fail("%s has no field of OpenFlow", f)
	}
	bits := r.Bits
	if bits == 0 {
		bits = r.Field.Bits
	}
	return packet.Subfield{Field: r.Field, Lo: r.Lo, Bits: bits}
}

// load writes a number to bits of a field.
func (e *encoder) load(dst packet.Subfield, v packet.Value) {
	e.put(openflow.SetField{Field: dst.Field, Value: v.And(packet.Ones(dst.Bits)).Shl(dst.Lo), Mask: dst.Mask()})
}

// port is the key of a port in the datapath; 0 if there is none.
func (e *encoder) port(name string) uint64 { return e.Ports[name] }

func (e *encoder) action(a ovnexpr.Action) {
	switch a := a.(type) {
	case *ovnexpr.Drop:
	case *ovnexpr.Plain:
		e.plain(a)
	case *ovnexpr.Next:
		to := a.Target(ovnexpr.Place{Pipeline: e.flow.Row.Pipeline, Table: e.flow.Row.TableID})
		e.resubmit(e.table(to.Pipeline, to.Table))
	case *ovnexpr.Load:
		e.assign(a)
	case *ovnexpr.Move:
		e.put(openflow.Move{Src: e.field(a.From), Dst: e.field(a.To)})
	case *ovnexpr.Exchange:
		x, y := e.field(a.B), e.field(a.A)
		e.put(openflow.Push{Src: x}, openflow.Push{Src: y}, openflow.Pop{Dst: x}, openflow.Pop{Dst: y})
	case *ovnexpr.Push:
		e.put(openflow.Push{Src: e.field(a.Field)})
	case *ovnexpr.Pop:
		e.put(openflow.Pop{Dst: e.field(a.Field)})
	case *ovnexpr.DecTTL:
		e.text("dec_ttl()")
	case *ovnexpr.Nested:
		e.nested(a)
	case *ovnexpr.Call:
		e.call(a)
	case *ovnexpr.CTNext, *ovnexpr.CTCommit, *ovnexpr.CTCommitTo, *ovnexpr.CTNAT, *ovnexpr.CTLB:
		e.conntrack(a)
	case *ovnexpr.Select:
		e.choose(a)
	case *ovnexpr.ForwardGroup:
		e.forward(a)
	case *ovnexpr.CheckPacketLarger:
		e.put(openflow.CheckPktLarger{Size: uint16(a.Bytes), Dst: e.field(a.Result)})
	case *ovnexpr.SetQueue:
		e.put(openflow.SetQueue{Queue: uint32(a.Queue)})
	case *ovnexpr.SetMeter:
		e.limit(a)
	case *ovnexpr.CommitECMP:
		e.commitECMP(a)
	case *ovnexpr.CommitAffinity:
		e.commitAffinity(a)
	case *ovnexpr.Sample:
		e.sample(a)
	case *ovnexpr.Mirror:
		e.mirror(a)
	default:
		e.controller(a)
	}
}

func (e *encoder) plain(a *ovnexpr.Plain) {
	switch a.Name {
	case "output":
		e.resubmit(e.output())
	case "ct_clear":
		e.put(openflow.CTClear{})
	case "ct_snat_to_vip":
		e.resubmit(e.helper(release.CtSNATHairpin))
	case "mac_cache_use":
		e.resubmit(e.helper(release.MACCacheUse))
	case "flood_remote":
		e.resubmit(e.helper(release.FloodRemote))
	default:
		e.controller(a)
	}
}

// assign writes a constant; of a port its key.
func (e *encoder) assign(a *ovnexpr.Load) {
	r, err := e.flow.symbols.Resolve(a.To, "")
	if err != nil {
		e.fail("%w", err)
	}
	switch {
	case r.Field == nil:
		e.own(a)
	case a.Value.Kind == ovnexpr.String:
		e.load(e.field(a.To), packet.Uint(e.port(a.Value.Text)))
	default:
		value, mask := a.Bits(r)
		e.put(openflow.SetField{Field: r.Field, Value: value.Shl(r.Lo), Mask: mask.Shl(r.Lo)})
	}
}

// An argument is a field with the one that a helper table or ovn-controller expects its value in.
type argument struct {
	src packet.Subfield
	dst *packet.Field
}

// with puts arguments where they are expected, runs f, and restores what was there.
func (e *encoder) with(args []argument, f func()) {
	args = slices.DeleteFunc(args, func(a argument) bool { return a.src.Field == a.dst })
	for _, a := range args {
		e.put(openflow.Push{Src: packet.Whole(a.dst)})
	}
	for _, a := range slices.Backward(args) {
		e.put(openflow.Push{Src: a.src})
	}
	for _, a := range args {
		e.put(openflow.Pop{Dst: packet.Whole(a.dst)})
	}
	f()
	for _, a := range slices.Backward(args) {
		e.put(openflow.Pop{Dst: packet.Whole(a.dst)})
	}
}

// A lookup is a function whose result a helper table leaves in a flag.
type lookup struct {
	args  []string // where the table expects them
	table release.PhysicalTable
	flag  int  // bit of reg10
	saved bool // the result is taken before the arguments are restored
}

var lookups = lazy.Value[map[string]lookup]{Make: func() map[string]lookup {
	return map[string]lookup{
		"lookup_arp":    {[]string{"reg14", "reg0", "eth_src"}, release.MACLookup, 6, true},
		"lookup_nd":     {[]string{"reg14", "xxreg0", "eth_src"}, release.MACLookup, 6, true},
		"lookup_arp_ip": {[]string{"reg15", "reg0"}, release.MACBinding, 6, true},
		"lookup_nd_ip":  {nil, release.MACBinding, 6, true},
		"lookup_fdb":    {[]string{"reg14", "eth_src"}, release.LookupFDB, 8, false},

		"chk_lb_hairpin":       {table: release.ChkLBHairpin, flag: 7},
		"chk_lb_hairpin_reply": {table: release.ChkLBReply, flag: 7},
		"check_in_port_sec":    {table: release.InPortSec, flag: 12},
		"check_out_port_sec":   {table: release.OutPortSec, flag: 12},
		"chk_ecmp_nh_mac":      {table: release.ECMPNextHopMAC, flag: 13},
		"chk_ecmp_nh":          {table: release.ECMPNextHop, flag: 13},
		"chk_lb_aff":           {table: release.ChkLBAffinity, flag: 14},
	}
}}

// An original is a function whose result a helper table leaves in a register.
type original struct {
	table release.PhysicalTable
	bits  int
	old   string // the register before it was one for almost all
}

// originals are functions whose result a helper table leaves in a register.
var originals = lazy.Value[map[string]original]{Make: func() map[string]original {
	return map[string]original{
		"ct_nw_dst":     {release.CtOrigNW, 32, "reg1"},
		"ct_ip6_dst":    {release.CtOrigIP6, 128, "xxreg1"},
		"ct_tp_dst":     {release.CtOrigTP, 16, "reg2"},
		"ct_proto":      {release.CtOrigProto, 8, ""},
		"ct_state_save": {release.CtStateSave, 8, "reg4"},
	}
}}

// original looks up what conntrack knows of the connection.
func (e *encoder) original(a *ovnexpr.Call) {
	r := originals.Get()[a.Name]
	src, dst := packet.Subfield{Field: packet.MustField("xxreg1"), Bits: r.bits}, e.field(*a.Result)
	if e.before(release.SharedResult) || a.Name == "ct_state_save" {
		src.Field = packet.MustField(r.old)
	}
	saved := !e.before(release.SharedResult) && a.Name != "ct_state_save" && src != dst
	if saved {
		e.put(openflow.Push{Src: src})
	}
	for lo := 0; lo < r.bits; lo += 64 { // each half on its own, as ovn-controller does
		e.load(packet.Subfield{Field: src.Field, Lo: lo, Bits: min(r.bits-lo, 64)}, packet.Value{})
	}
	e.resubmit(e.helper(r.table))
	e.put(openflow.Move{Src: src, Dst: dst})
	if saved {
		e.put(openflow.Pop{Dst: src})
	}
}

func (e *encoder) arguments(a *ovnexpr.Call, fields []string) []argument {
	args := make([]argument, len(a.Args))
	for i, f := range a.Args {
		args[i] = argument{e.field(f), packet.MustField(fields[i])}
	}
	return args
}

// nextHop6 is the register in which the table of neighbours expects IPv6 addresses.
func (e *encoder) nextHop6() string {
	if e.before(release.NextHopInXXReg1) {
		return "xxreg0"
	}
	return "xxreg1"
}

func (e *encoder) call(a *ovnexpr.Call) {
	if l, ok := lookups.Get()[a.Name]; ok {
		if a.Name == "lookup_nd_ip" {
			l.args = []string{"reg15", e.nextHop6()}
		}
		flag := packet.Subfield{Field: packet.Reg(10), Lo: l.flag, Bits: 1}
		take := func() { e.put(openflow.Move{Src: flag, Dst: e.field(*a.Result)}) }
		e.with(e.arguments(a, l.args), func() {
			if strings.HasSuffix(a.Name, "_ip") {
				e.put(openflow.Push{Src: packet.Whole(&packet.EthDst)})
			}
			e.load(flag, packet.Value{})
			e.resubmit(e.helper(l.table))
			if l.saved {
				take()
			}
			if strings.HasSuffix(a.Name, "_ip") {
				e.put(openflow.Pop{Dst: packet.Whole(&packet.EthDst)})
			}
		})
		if !l.saved {
			take()
		}
		return
	}
	if _, ok := originals.Get()[a.Name]; ok {
		e.original(a)
		return
	}
	switch a.Name {
	case "get_arp", "get_nd":
		address := "reg0"
		if a.Name == "get_nd" {
			address = e.nextHop6()
		}
		e.with(e.arguments(a, []string{"reg15", address}), func() {
			e.load(packet.Whole(&packet.EthDst), packet.Value{})
			e.resubmit(e.helper(release.MACBinding))
		})
	case "get_fdb":
		e.with(e.arguments(a, []string{"eth_dst"}), func() {
			e.load(packet.Whole(packet.Reg(15)), packet.Value{})
			e.resubmit(e.helper(release.GetFDB))
		})
	default:
		e.controller(a)
	}
}

// zone is the zone that the datapath's connections are tracked in: a switch has one for each port.
func (e *encoder) zone(nat string) *packet.Subfield {
	n := 13
	switch {
	case nat == "snat":
		n = 12
	case nat == "dnat" || !e.Switch:
		n = 11
	}
	return &packet.Subfield{Field: packet.Reg(n), Bits: 16}
}

func (e *encoder) conntrack(a ovnexpr.Action) {
	ct := openflow.CT{Table: openflow.Table{Number: e.following()}, HasZone: true}
	switch a := a.(type) {
	case *ovnexpr.CTNext:
		ct.ZoneSrc = e.zone("")
		if !e.Switch && a.Zone == "snat" {
			ct.ZoneSrc = e.zone("snat")
		}
	case *ovnexpr.CTCommit:
		ct.Commit, ct.Table, ct.ZoneSrc = true, openflow.NoTable, e.zone("")
		if e.ZeroSNAT && len(a.Old) == 0 {
			ct.NAT = &openflow.NAT{Src: true}
		}
		ct.Exec = e.encoded(a.Actions)
	case *ovnexpr.CTCommitTo:
		ct.Commit, ct.ZoneSrc = true, e.zone("")
		if !e.Switch && a.Zone == "snat" {
			ct.ZoneSrc = e.zone("snat")
		}
		if a.Name == "ct_commit_nat" {
			ct.NAT = &openflow.NAT{}
		}
	case *ovnexpr.CTNAT:
		ct = e.translate(a, ct)
	case *ovnexpr.CTLB:
		if len(a.Backends) > 0 {
			e.balance(a)
			return
		}
		ct.ZoneSrc, ct.NAT = e.zone(""), &openflow.NAT{}
	}
	e.put(ct)
}

func (e *encoder) translate(a *ovnexpr.CTNAT, ct openflow.CT) openflow.CT {
	kind := "dnat"
	if a.Name == "ct_snat" || strings.HasSuffix(a.Name, "_in_czone") && e.SNATZone {
		kind = "snat"
	}
	ct.ZoneSrc, ct.NAT = e.zone(kind), &openflow.NAT{}
	if a.To.IsValid() {
		ct.Commit = true
		ct.NAT.Src, ct.NAT.Dst = strings.HasPrefix(a.Name, "ct_snat"), strings.HasPrefix(a.Name, "ct_dnat")
		ct.NAT.Min, ct.NAT.Max = a.To, a.To
		ct.NAT.MinPort, ct.NAT.MaxPort = a.Lo, max(a.Lo, a.Hi)
		ct.NAT.Random = a.Lo != 0 && !e.before(release.RandomPorts)
	}
	return ct
}

// balance sends the packet to a group of the backends.
func (e *encoder) balance(a *ovnexpr.CTLB) {
	mark := "ct_mark"
	if a.Name == "ct_lb" {
		mark = "ct_label"
	}
	g := openflow.GroupEntry{Type: "select", Method: "dp_hash"}
	if a.HashFields != "" {
		g.Method, g.Fields = "hash", a.HashFields
	}
	for _, b := range a.Backends {
		if b.LogicalPort != "" && !e.Resident(b.LogicalPort) {
			continue
		}
		set := func(bit uint64) openflow.Action {
			return openflow.SetField{Field: packet.MustField(mark), Value: packet.Uint(bit), Mask: packet.Uint(bit)}
		}
		exec := openflow.Actions{set(2)}
		switch a.Flag {
		case "skip_snat":
			exec = append(exec, set(4))
		case "force_snat":
			exec = append(exec, set(8))
		}
		ct := openflow.CT{
			Commit: true, Table: openflow.Table{Number: e.following()}, HasZone: true, ZoneSrc: e.zone(""), Exec: exec,
			NAT: &openflow.NAT{Dst: true, Min: b.Addr, Max: b.Addr, MinPort: b.Port, MaxPort: b.Port},
		}
		g.Buckets = append(g.Buckets, openflow.Bucket{ID: len(g.Buckets), Weight: 100, Actions: openflow.Actions{ct}})
	}
	if len(g.Buckets) > 0 { // else no backend is on this chassis, and the packet ends here
		e.group(g)
	}
}

// choose writes one of several numbers, chosen by a group.
func (e *encoder) choose(a *ovnexpr.Select) {
	dst := e.field(a.To)
	g := openflow.GroupEntry{Type: "select", Method: "dp_hash"}
	if a.HashFields != "" {
		g.Method, g.Fields = "hash", a.HashFields
	}
	for i, m := range a.Members {
		inner := *e
		inner.list = nil
		inner.load(dst, packet.Uint(uint64(m.ID)))
		inner.resubmit(e.following())
		weight := int(m.Weight)
		if weight == 0 {
			weight = 100
		}
		g.Buckets = append(g.Buckets, openflow.Bucket{ID: i, Weight: weight, Actions: inner.list})
	}
	e.group(g)
}

// forward sends the packet out of one of several ports.
func (e *encoder) forward(a *ovnexpr.ForwardGroup) {
	g := openflow.GroupEntry{Type: "select", Method: "dp_hash"}
	for i, name := range a.Ports {
		inner := *e
		inner.list = nil
		inner.load(packet.Subfield{Field: packet.Reg(15), Bits: 16}, packet.Uint(e.port(name)))
		inner.resubmit(e.output())
		g.Buckets = append(g.Buckets, openflow.Bucket{ID: i, Weight: 100, Actions: inner.list})
	}
	e.group(g)
}

var errNoGroup = errors.New("the switch has no such group")

func (e *encoder) group(g openflow.GroupEntry) {
	id, ok := e.Groups(g)
	if !ok {
		e.fail("%w: %s", errNoGroup, g)
	}
	e.put(openflow.Group{ID: id})
}

// limit applies a meter of its own.
func (e *encoder) limit(a *ovnexpr.SetMeter) {
	name := fmt.Sprintf("__string: uuid %s kbps stats bands=type=drop rate=%d", e.flow.Row.UUID, a.Rate)
	if a.Burst != 0 {
		name = fmt.Sprintf("__string: uuid %s kbps burst stats bands=type=drop rate=%d burst_size=%d", e.flow.Row.UUID, a.Rate, a.Burst)
	}
	e.put(openflow.Meter{ID: e.meterOf(name)})
}

// meterOf is the number that ovn-controller gave a meter.
func (e *encoder) meterOf(name string) uint32 {
	id, ok := e.Meters(name)
	if !ok {
		e.fail("the number of its meter is not known")
	}
	return id
}

var ipProtocols = lazy.Value[map[string]int]{Make: func() map[string]int { return map[string]int{"tcp": 6, "udp": 17, "sctp": 132} }}

// ports are the names of a protocol's fields in learn.
func learnPorts(proto string) (src, dst string) {
	prefix := map[string]string{"tcp": "NXM_OF_TCP_", "udp": "NXM_OF_UDP_", "sctp": "OXM_OF_SCTP_"}[proto]
	return prefix + "SRC[]", prefix + "DST[]"
}

func (e *encoder) commitECMP(a *ovnexpr.CommitECMP) {
	ethType, ipSrc, ipDst := 0x800, "NXM_OF_IP_SRC[]", "NXM_OF_IP_DST[]"
	if a.IPv6 {
		ethType, ipSrc, ipDst = 0x86dd, "NXM_NX_IPV6_SRC[]", "NXM_NX_IPV6_DST[]"
	}
	src, dst := learnPorts(a.Proto)
	const times = "idle_timeout=20,hard_timeout=30,delete_learned,OXM_OF_METADATA[]"
	e.text("learn(table=%d,%s,NXM_OF_ETH_SRC[],eth_type=0x%x,%s,%s,nw_proto=%d,%s,%s,load:0x1->NXM_NX_REG10[13])",
		e.helper(release.ECMPNextHopMAC), times, ethType, ipSrc, ipDst, ipProtocols.Get()[a.Proto], src, dst)
	e.text("learn(table=%d,%s,eth_type=0x%x,%s=%s,%s=%s,nw_proto=%d,%s=%s,%s=%s,load:0x1->NXM_NX_REG10[13])",
		e.helper(release.ECMPNextHop), times, ethType, ipSrc, ipDst, ipDst, ipSrc, ipProtocols.Get()[a.Proto], src, dst, dst, src)
}

func (e *encoder) commitAffinity(a *ovnexpr.CommitAffinity) {
	family, ipDst, ipSrc, register := 0x800, "ip_dst", "NXM_OF_IP_SRC[]", "NXM_NX_REG4[]"
	if a.VIP.Addr.Is6() {
		family, ipDst, ipSrc, register = 0x86dd, "ipv6_dst", "NXM_NX_IPV6_SRC[]", "NXM_NX_XXREG1[]"
		if e.Switch && e.before(release.AffinityInReg2) {
			register = "NXM_NX_XXREG0[]"
		}
	}
	cookie := ""
	if !e.before(release.AffinityCookie) {
		cookie = fmt.Sprintf(",cookie=0x%x", firstWord(e.flow.Row.UUID))
	}
	ports := ""
	if a.Proto != "" {
		ports = fmt.Sprintf("nw_proto=%d,%s_dst=%d,", ipProtocols.Get()[a.Proto], a.Proto, a.VIP.Port)
	}
	back := ""
	if a.Backend.Port != 0 {
		port := "NXM_NX_REG8[0..15]"
		if !e.before(release.AffinityInReg2) {
			port = "NXM_NX_REG2[0..15]"
		}
		back = fmt.Sprintf(",load:0x%x->%s", a.Backend.Port, port)
	}
	e.text("learn(table=%d,idle_timeout=%d,delete_learned%s,OXM_OF_METADATA[],eth_type=0x%x,%s,%s=%s,%sload:0x1->NXM_NX_REG10[14],load:%s->%s%s)",
		e.helper(release.ChkLBAffinity), a.Timeout, cookie, family, ipSrc, ipDst, a.VIP.Addr, ports, addressValue(a.Backend.Addr).Hex(), register, back)
}

func addressValue(a netip.Addr) packet.Value { return packet.FromBytes(a.AsSlice()) }

// before reports whether ovn-controller is older than what a series changed.
func (c *Chassis) before(change release.Series) bool { return !c.Version.Series().Has(change) }

// mirror sends a copy out of a port, as if it had come in nowhere.
func (e *encoder) mirror(a *ovnexpr.Mirror) {
	if key := e.port(a.Port); key != 0 {
		e.text("clone(set_field:ANY->in_port,set_field:0x%x->reg15,resubmit(,%d))", key, e.helper(release.RemoteOutput))
	}
}

func (e *encoder) sample(a *ovnexpr.Sample) {
	if !e.Collectors[uint64(a.CollectorSet)] {
		return
	}
	point := fmt.Sprint(a.Point)
	switch {
	case a.Cookie:
		point = fmt.Sprint(firstWord(e.flow.Row.UUID))
	case a.PointField != nil:
		point = e.field(*a.PointField).String()
	}
	e.text("sample(probability=%d,collector_set_id=%d,obs_domain_id=%d,obs_point_id=%s)", a.Probability, a.CollectorSet, uint64(a.Domain)<<24|e.Key, point)
}
