package microflow

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// ref resolves a field of an action. A flow only runs if all of its fields resolve.
func (r *run) ref(f ovnexpr.Field) (ovnexpr.Ref, bool) {
	ref, err := r.symbols.Resolve(f, f.String())
	return ref, err == nil
}

// hidden reports whether a field is a register: registers are not part of the packet, so their changes are not shown.
func hidden(f *packet.Field) bool { return strings.HasPrefix(strings.TrimLeft(f.Name, "x"), "reg") }

func (r *run) load(a *ovnexpr.Load) {
	ref, ok := r.ref(a.To)
	if !ok {
		return
	}
	text := strings.TrimSuffix(a.String(), ";")
	if ref.Field == nil || !hidden(ref.Field) {
		r.super.add(Modify, "%s", text)
	}
	if ref.Field == nil || !r.p.Meets(ref.Field.Needs) {
		return
	}
	switch {
	case ref.Symbol.IsString():
		k, _ := r.portKey(r.at.Datapath, a.Value.Text) // 0 if not found
		ref.Set(r.p, packet.Uint(k))
	case a.Value.Masked:
		ref.SetMasked(r.p, a.Value.Value, a.Value.Mask)
	default:
		ref.Set(r.p, a.Value.Value)
	}
}

// report shows that a packet field takes the value of another.
func (r *run) report(to ovnexpr.Field, dst, src ovnexpr.Ref) {
	if hidden(dst.Field) {
		return
	}
	text := hex(src.Get(r.p))
	if src.Lo == 0 && (src.Bits == 0 || src.Bits == src.Field.Bits) {
		text = value(src.Field, r.p.Get(src.Field))
	}
	r.super.add(Modify, "%s = %s", to, text)
}

// pair resolves the two fields of an action.
func (r *run) pair(a, b ovnexpr.Field) (x, y ovnexpr.Ref, ok bool) {
	x, ok1 := r.ref(a)
	y, ok2 := r.ref(b)
	return x, y, ok1 && ok2 && x.Field != nil && y.Field != nil
}

// exist reports whether the packet has both fields.
func (r *run) exist(a, b ovnexpr.Ref) bool {
	return r.p.Meets(a.Field.Needs) && r.p.Meets(b.Field.Needs)
}

func (r *run) move(a *ovnexpr.Move) {
	dst, src, ok := r.pair(a.To, a.From)
	if !ok {
		return
	}
	r.report(a.To, dst, src)
	if r.exist(dst, src) {
		dst.Set(r.p, src.Get(r.p))
	}
}

func (r *run) exchange(x *ovnexpr.Exchange) {
	a, b, ok := r.pair(x.A, x.B)
	if !ok {
		return
	}
	r.report(x.A, a, b)
	r.report(x.B, b, a)
	if r.exist(a, b) {
		va, vb := a.Get(r.p), b.Get(r.p)
		a.Set(r.p, vb)
		b.Set(r.p, va)
	}
}

func (r *run) push(a *ovnexpr.Push) {
	ref, ok := r.ref(a.Field)
	if !ok {
		return
	}
	v := ref.Get(r.p)
	r.stack = append(r.stack, v)
	r.super.add(Modify, "push(%s) -> %s", a.Field, hex(v))
}

func (r *run) pop(a *ovnexpr.Pop) {
	ref, ok := r.ref(a.Field)
	if !ok {
		return
	}
	if len(r.stack) == 0 {
		r.super.add(Modify, "pop(%s) <- /* empty stack */", a.Field)
		return
	}
	v := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	ref.Set(r.p, v)
	r.super.add(Modify, "pop(%s) <- %s", a.Field, hex(v))
}

func (r *run) decTTL() {
	ttl := &packet.NWTTL
	switch left := r.p.Get(ttl).Lo; {
	case !r.p.Meets(packet.NeedsIP):
		r.super.add(Fault, "*** TTL decrement of non-IP packet")
	case left == 0:
		r.super.add(Fault, "*** TTL underflow")
	default:
		r.p.Set(ttl, packet.Uint(left-1))
		r.super.add(Modify, "ip.ttl--")
	}
}

// result writes a function's result.
func (r *run) result(to ovnexpr.Field, v packet.Value) {
	if ref, ok := r.ref(to); ok {
		ref.Set(r.p, v)
	}
}

// succeed writes 1 as a function's result, and shows it for a field of the packet.
func (r *run) succeed(to ovnexpr.Field) {
	if ref, ok := r.ref(to); ok && ref.Field != nil && !hidden(ref.Field) {
		r.super.add(Modify, "%s = 1", to)
	}
	r.result(to, packet.Uint(1))
}

const assumeDiscover = "/* We assume that this packet is DHCPDISCOVER or DHCPREQUEST. */"

func (r *run) putOptions(a *ovnexpr.PutOptions) {
	if a.Name != "put_nd_ra_opts" {
		r.super.add(Fault, "%s", assumeDiscover)
	}
	r.super.add(Modify, "%s(%s)", a.Name, ovnexpr.FormatOptions(a.Options))
	r.succeed(a.Result)
}

func (r *run) dhcpRelay(a *ovnexpr.DHCPRelay) {
	if a.Name == "dhcp_relay_req_chk" {
		r.super.add(Fault, "%s", assumeDiscover)
	} else {
		r.super.add(Fault, "/* We assume that this packet is DHCPOFFER or DHCPACK and DHCP broadcast flag is set. "+
			"Dest IP is set to broadcast. Dest MAC is set to broadcast but in real network this is unicast "+
			"which is extracted from DHCP header. */")
		r.p.Set(&packet.IPDst, packet.Ones(32))
		r.p.Set(ethDst, packet.Ones(48))
	}
	r.succeed(a.Result)
}
