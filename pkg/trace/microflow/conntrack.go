package microflow

import (
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// nextState returns the state that conntrack finds, with a comment if --ct does not give it.
func (w *walker) nextState() (state uint32, comment string) {
	if w.states < len(w.options.CT) {
		w.states++
		return w.options.CT[w.states-1], ""
	}
	return packet.CTEstablished | packet.CTTracked, " /* default (use --ct to customize) */"
}

// track makes an untracked packet tracked, and returns the comment on that.
func (w *walker) track(p *packet.Flow) string {
	if p.Get(ctState).Lo&packet.CTTracked != 0 {
		return ""
	}
	state, comment := w.nextState()
	addState(p, state)
	return comment
}

// remember stores a packet's addresses, protocol and ports as those of its connection.
func (w *walker) remember(p *packet.Flow) {
	if !w.net.Version().Has(release.OriginalTuple) || !p.Meets(packet.NeedsIP) {
		return
	}
	src, dst := p.AddrFields()
	p.SetOriginal(packet.Tuple{
		Proto: uint8(p.Uint("nw_proto")), Src: p.Addr(src), Dst: p.Addr(dst), SrcPort: uint16(tpSrc.Get(p).Lo), DstPort: uint16(tpDst.Get(p).Lo),
	})
}

func addState(p *packet.Flow, state uint32) {
	p.Set(ctState, p.Get(ctState).Or(packet.Uint(uint64(state))))
}

func (r *run) ctNext(_ *ovnexpr.CTNext) {
	state, comment := r.nextState()
	p := *r.p
	r.remember(&p)
	p.Set(ctState, packet.Uint(uint64(state)))
	node := r.super.add(Transformation, "ct_next(ct_state=%s%s)", ctState.Print(packet.Uint(uint64(state))), comment)
	r.table(r.after(), &p, node)
}

func (r *run) ctCommitTo(a *ovnexpr.CTCommitTo) {
	text := "ct_commit_nat /* assuming no un-nat entry, so no change */"
	if a.Name != "ct_commit_nat" {
		text = "ct_commit_to_zone(" + a.Zone + ")"
	}
	p := *r.p
	r.remember(&p)
	text += r.track(&p)
	r.table(r.after(), &p, r.super.add(Transformation, "%s", text))
}

func (r *run) ctNAT(a *ovnexpr.CTNAT) {
	text, side, state := "ct_snat", "src", uint32(packet.CTSourceNAT)
	if a.Name == "ct_dnat" || a.Name == "ct_dnat_in_czone" {
		text, side, state = "ct_dnat", "dst", packet.CTDestinationNAT
	} else if !a.To.IsValid() && r.hasGateway() {
		return // no visible effect in a gateway router
	}
	if a.Name == text+"_in_czone" {
		text += "in_czone" // without the underscore, like ovn-trace
	}
	p := *r.p
	r.remember(&p)
	if a.To.IsValid() {
		prefix, family := "ip_", 4
		if a.To.Is6() {
			prefix, family = "ipv6_", 6
		}
		text += fmt.Sprintf("(ip%d.%s=%s)", family, side, a.To)
		setAddress(&p, prefix+side, a.To)
		addState(&p, state)
	} else {
		text += fmt.Sprintf(" /* assuming no un-%cnat entry, so no change */", side[0])
	}
	text += r.track(&p)
	r.table(r.after(), &p, r.super.add(Transformation, "%s", text))
}

// hasGateway reports whether the datapath is a gateway router or connected to one.
func (r *run) hasGateway() bool {
	ports, err := r.at.Datapath.Ports(r.ctx)
	r.fail(err)
	for _, p := range ports {
		if p.Row.Type == "l3gateway" {
			return true
		}
	}
	return false
}

func setAddress(p *packet.Flow, name string, a netip.Addr) {
	p.Set(packet.MustField(name), packet.FromAddr(a))
}

func (r *run) ctLB(a *ovnexpr.CTLB) {
	p, comment := *r.p, ""
	r.remember(&p)
	if v4 := p.Meets(packet.NeedsIPv4); v4 || p.Meets(packet.NeedsIPv6) {
		if to, ok := r.chooseBackend(a, v4); ok {
			balance(&p, to, v4)
		}
		var state uint32
		state, comment = r.nextState()
		addState(&p, state)
	}
	r.table(r.after(), &p, r.super.add(Transformation, "%s%s", a.Name, comment))
}

// chooseBackend picks a load balancer's backend. A backend without a port has port 0.
func (r *run) chooseBackend(a *ovnexpr.CTLB, v4 bool) (netip.AddrPort, bool) {
	asked := r.backend.Addr().IsValid() && r.backend.Addr().Is4() == v4
	if len(a.Backends) == 0 {
		return r.backend, asked
	}
	var able []netip.AddrPort
	for _, b := range a.Backends {
		if !b.Addr.IsValid() || b.Addr.Is4() != v4 {
			continue
		}
		if asked && b.Addr == r.backend.Addr() {
			r.backend = netip.AddrPort{}
			return netip.AddrPortFrom(b.Addr, b.Port), true
		}
		able = append(able, netip.AddrPortFrom(b.Addr, b.Port))
	}
	if len(able) == 0 {
		r.super.add(Fault, "*** no load balancing destination (use --lb-dst)")
		return netip.AddrPort{}, false
	}
	return able[r.choose("backend", len(able))], true
}

// balance sends a packet to a backend and stores its original destination.
func balance(p *packet.Flow, to netip.AddrPort, v4 bool) {
	was, now := "ct_ipv6_dst", "ipv6_dst"
	if v4 {
		was, now = "ct_nw_dst", "ip_dst"
	}
	p.Set(packet.MustField(was), p.Get(packet.MustField(now)))
	setAddress(p, now, to.Addr())
	p.Set(&packet.CTTPDst, tpDst.Get(p))
	if to.Port() != 0 {
		tpDst.Set(p, packet.Uint(uint64(to.Port())))
	}
	addState(p, packet.CTDestinationNAT)
}

// choice runs select(), which writes one of several numbers to a field.
func (r *run) choice(a *ovnexpr.Select) {
	picked, comment := -1, ""
	for i, m := range a.Members {
		if m.ID == r.options.SelectID {
			picked = i
			break
		}
	}
	if picked < 0 {
		picked, comment = r.choose("select", len(a.Members)), " /* Randomly selected. Use --select-id to specify. */"
	}
	id := a.Members[picked].ID
	p := *r.p
	if ref, ok := r.ref(a.To); ok {
		ref.Set(&p, packet.Uint(uint64(id)))
	}
	r.table(r.after(), &p, r.super.add(Transformation, "select: %s = %d%s", a.To, id, comment))
}
