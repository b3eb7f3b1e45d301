package ovssim

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// learn executes a learn action: the flow is there from the next pass on.
func (x *translation) learn(a openflow.Learn) {
	l := x.lesson(a)
	for _, s := range l.sources {
		x.touchPart(s)
	}
	if !x.generate {
		x.warn("suppressing side effects, so learn action ignored")
		return
	}
	x.detail("%s", l)
	if l.fits() {
		x.lessons = append(x.lessons, l)
	} else {
		x.detail("learned flow limit reached")
	}
	if l.result != nil {
		x.touchPart(*l.result)
		l.result.Set(&x.packet.Flow, packet.Uint(uint64(bit(l.fits()))))
	}
}

// A lesson is a flow that a learn action makes of a packet.
type lesson struct {
	bridge  *bridge
	flow    openflow.FlowEntry
	limit   int               // of flows with its cookie in its table; 0: none
	result  *packet.Subfield  // says whether it was learned; may be nil
	sources []packet.Subfield // what it was made of
}

// lesson makes the flow (ovs-actions(7), "The learn action").
func (x *translation) lesson(a openflow.Learn) *lesson {
	l := &lesson{bridge: x.bridge, flow: openflow.FlowEntry{Table: openflow.Table{Number: 1}, Priority: 32768}}
	e := &l.flow
	value, mask := packet.Flow{}, packet.Flow{}
	var fields []*packet.Field
	var timeouts []string
	match := func(dst packet.Subfield, v packet.Value) {
		if !slices.Contains(fields, dst.Field) {
			fields = append(fields, dst.Field)
		}
		mask.SetMasked(dst.Field, dst.Mask(), dst.Mask())
		dst.Set(&value, v)
	}
	read := func(s packet.Subfield) packet.Value {
		l.sources = append(l.sources, s)
		return s.Get(&x.packet.Flow)
	}
	for _, arg := range a.Args {
		number, _ := strconv.ParseUint(arg.Value, 0, 64)
		switch {
		case arg.Key == "table":
			e.Table.Number = int(number)
		case arg.Key == "priority":
			e.Priority = int(number)
		case arg.Key == "idle_timeout":
			e.IdleTimeout = int(number)
		case arg.Key == "hard_timeout":
			e.HardTimeout = int(number)
		case arg.Key == "fin_idle_timeout" || arg.Key == "fin_hard_timeout":
			timeouts = append(timeouts, strings.TrimPrefix(arg.Key, "fin_")+"="+arg.Value)
		case arg.Key == "cookie":
			e.Cookie = number
		case arg.Key == "limit":
			l.limit = int(number)
		case arg.Key == "result_dst":
			if s, err := packet.ParseSubfield(arg.Value); err == nil {
				l.result = &s
			}
		case arg.Key == "send_flow_rem":
			e.Flags = append(e.Flags, arg.Key)
		case arg.Key == "delete_learned":
		case arg.Key == "load" && arg.Form == openflow.LearnAction:
			dst, err := packet.ParseSubfield(arg.Dst)
			if err != nil {
				break
			}
			v := packet.Uint(number)
			if src, err := packet.ParseSubfield(arg.Value); err == nil {
				v = read(src)
			} else if whole, _, err := dst.Field.ParseValue(arg.Value); err == nil {
				v = whole
			}
			e.Actions = append(e.Actions, openflow.Load{Value: v, Dst: dst})
		case arg.Key == "output" && arg.Form == openflow.LearnAction:
			if src, err := packet.ParseSubfield(arg.Value); err == nil {
				if port := read(src); learnable(port) {
					e.Actions = append(e.Actions, openflow.Output{Port: packet.PortID{Number: uint32(port.Lo)}})
				}
			}
		default:
			dst, err := packet.ParseSubfield(arg.Key)
			if err != nil {
				break
			}
			if arg.Form == openflow.LearnFlag {
				match(dst, read(dst))
			} else if src, err := packet.ParseSubfield(arg.Value); err == nil {
				match(dst, read(src))
			} else if v, _, err := dst.Field.ParseValue(arg.Value); err == nil {
				match(dst, v)
			}
		}
	}
	if len(timeouts) > 0 {
		if fin, err := openflow.ParseAction("fin_timeout(" + strings.Join(timeouts, ",") + ")"); err == nil {
			e.Actions = append(openflow.Actions{fin}, e.Actions...)
		}
	}
	e.Match = learnedMatch(fields, &value, &mask)
	return l
}

// learnable reports whether a learned flow may send to a port.
func learnable(port packet.Value) bool {
	switch n := port.Lo; n {
	case packet.PortInPort, packet.PortFlood, packet.PortLocal, packet.PortAll:
		return true
	default:
		return port.BitLen() <= 16 && n < packet.PortMax
	}
}

// learnedMatch is the match of fields, with a word for the protocol if there is one.
func learnedMatch(fields []*packet.Field, value, mask *packet.Flow) openflow.Match {
	var m openflow.Match
	keyword, spoken := packet.KeywordOf(value.Uint("eth_type"), value.Uint("nw_proto"), mask.Uint("nw_proto") == 0xff)
	if spoken = spoken && mask.Uint("eth_type") == 0xffff; spoken {
		m.Terms = append(m.Terms, openflow.Term{Keyword: keyword.Name})
	}
	slices.SortStableFunc(fields, func(a, b *packet.Field) int { return cmp.Compare(a.Needs, b.Needs) }) // as matches are printed
	for _, f := range fields {
		if spoken && (f == ethType || f == nwProto && keyword.Proto != 0) {
			continue
		}
		t := openflow.Term{Field: f, Value: value.Get(f), Mask: mask.Get(f)}
		if f == inPort {
			t.Port = packet.PortID{Number: uint32(t.Value.Lo)}
		}
		m.Terms = append(m.Terms, t)
	}
	return m
}

// String is the flow as Open vSwitch reports it.
func (l *lesson) String() string {
	e := &l.flow
	var b strings.Builder
	fmt.Fprintf(&b, "table=%d", e.Table.Number)
	if match := e.Match.String(); match != "" {
		b.WriteString(" " + match)
	}
	fmt.Fprintf(&b, " priority=%d", e.Priority)
	if e.Cookie != 0 {
		fmt.Fprintf(&b, " cookie=%#x", e.Cookie)
	}
	for _, p := range []struct {
		name  string
		value int
	}{{"idle", e.IdleTimeout}, {"hard", e.HardTimeout}} {
		if p.value != 0 {
			fmt.Fprintf(&b, " %s=%d", p.name, p.value)
		}
	}
	for _, flag := range e.Flags {
		b.WriteString(" " + flag)
	}
	fmt.Fprintf(&b, " actions=%s", e.Actions)
	return b.String()
}

// fits reports whether the limit allows one more flow.
func (l *lesson) fits() bool {
	n := 0
	for _, e := range l.bridge.flows {
		if max(e.Table.Number, 0) == l.flow.Table.Number && e.Cookie == l.flow.Cookie {
			n++
		}
	}
	return l.limit == 0 || n < l.limit
}

// apply adds what a pass learned to the bridges: a flow with the table, priority and match of another takes its actions' place.
func (t *tracer) apply() {
	changed := map[*bridge]bool{}
	for _, l := range t.lessons {
		l.bridge.flows = openflow.AddFlow(l.bridge.flows, l.flow)
		changed[l.bridge] = true
	}
	t.lessons = nil
	for b := range changed {
		b.index(t.sw.tries)
	}
}
