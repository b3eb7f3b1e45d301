package ovntrace

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/expr"
	"github.com/ovnctl/ovnctl/pkg/flow"
)

// ref gives a field of an action its meaning. A flow is only run if all of its fields have one.
func (r *run) ref(f expr.Field) (expr.Ref, bool) {
	ref, err := r.symbols.Resolve(f, f.String())
	return ref, err == nil
}

// hidden is true of registers: they are no part of the packet, so that a change of them is not reported.
func hidden(f *flow.Field) bool { return strings.HasPrefix(strings.TrimLeft(f.Name, "x"), "reg") }

func (r *run) load(a *expr.Load) {
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
		k, _ := r.portKey(r.at.Datapath, a.Value.Text) // one that is not found is 0
		ref.Set(r.p, flow.Uint(k))
	case a.Value.Masked:
		ref.SetMasked(r.p, a.Value.Value, a.Value.Mask)
	default:
		ref.Set(r.p, a.Value.Value)
	}
}

// report says that a field of the packet takes the value of another.
func (r *run) report(to expr.Field, dst, src expr.Ref) {
	if hidden(dst.Field) {
		return
	}
	text := hex(src.Get(r.p))
	if src.Lo == 0 && (src.Bits == 0 || src.Bits == src.Field.Bits) {
		text = value(src.Field, r.p.Get(src.Field))
	}
	r.super.add(Modify, "%s = %s", to, text)
}

// pair gives the two fields of an action their meaning.
func (r *run) pair(a, b expr.Field) (x, y expr.Ref, ok bool) {
	x, ok1 := r.ref(a)
	y, ok2 := r.ref(b)
	return x, y, ok1 && ok2 && x.Field != nil && y.Field != nil
}

// exist reports whether the packet has both fields.
func (r *run) exist(a, b expr.Ref) bool { return r.p.Meets(a.Field.Needs) && r.p.Meets(b.Field.Needs) }

func (r *run) move(a *expr.Move) {
	dst, src, ok := r.pair(a.To, a.From)
	if !ok {
		return
	}
	r.report(a.To, dst, src)
	if r.exist(dst, src) {
		dst.Set(r.p, src.Get(r.p))
	}
}

func (r *run) exchange(x *expr.Exchange) {
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

func (r *run) push(a *expr.Push) {
	ref, ok := r.ref(a.Field)
	if !ok {
		return
	}
	v := ref.Get(r.p)
	r.stack = append(r.stack, v)
	r.super.add(Modify, "push(%s) -> %s", a.Field, hex(v))
}

func (r *run) pop(a *expr.Pop) {
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
	ttl := field("nw_ttl")
	switch left := r.p.Get(ttl).Lo; {
	case !r.p.Meets(flow.NeedsIP):
		r.super.add(Fault, "*** TTL decrement of non-IP packet")
	case left == 0:
		r.super.add(Fault, "*** TTL underflow")
	default:
		r.p.Set(ttl, flow.Uint(left-1))
		r.super.add(Modify, "ip.ttl--")
	}
}

// result writes the result of a function.
func (r *run) result(to expr.Field, v flow.Value) {
	if ref, ok := r.ref(to); ok {
		ref.Set(r.p, v)
	}
}

// succeed writes 1 as the result of a function, and says so if it is a field of the packet.
func (r *run) succeed(to expr.Field) {
	if ref, ok := r.ref(to); ok && ref.Field != nil && !hidden(ref.Field) {
		r.super.add(Modify, "%s = 1", to)
	}
	r.result(to, flow.Uint(1))
}

const assumeDiscover = "/* We assume that this packet is DHCPDISCOVER or DHCPREQUEST. */"

func (r *run) putOptions(a *expr.PutOptions) {
	if a.Name != "put_nd_ra_opts" {
		r.super.add(Fault, "%s", assumeDiscover)
	}
	r.super.add(Modify, "%s(%s)", a.Name, formatOptions(a.Options))
	r.succeed(a.Result)
}

func (r *run) dhcpRelay(a *expr.DHCPRelay) {
	if a.Name == "dhcp_relay_req_chk" {
		r.super.add(Fault, "%s", assumeDiscover)
	} else {
		r.super.add(Fault, "/* We assume that this packet is DHCPOFFER or DHCPACK and DHCP broadcast flag is set. "+
			"Dest IP is set to broadcast. Dest MAC is set to broadcast but in real network this is unicast "+
			"which is extracted from DHCP header. */")
		r.p.Set(field("ip_dst"), flow.Ones(32))
		r.p.Set(ethDst, flow.Ones(48))
	}
	r.succeed(a.Result)
}
