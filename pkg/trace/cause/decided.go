package cause

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// Decided returns the parts of a flow's match that the hit rests on, in text order.
func (e *Explainer) Decided(ctx context.Context, v *ovn.Visit, step int) []journey.Decided {
	f := v.Steps[step].Flow
	if f == nil || f.Err() != nil {
		return nil
	}
	packet := v.Before(step)
	_, decisions := f.Explain(v.Datapath, &packet, e.engine.Resident(v))
	return e.decided(ctx, v, f, decisions)
}

func (e *Explainer) decided(ctx context.Context, v *ovn.Visit, f *logicalflow.Flow, decisions []ovnexpr.Decision) []journey.Decided {
	match := f.Row.Match
	var out []journey.Decided
	for _, d := range decisions {
		if d.Leaf == nil {
			continue // a prerequisite of the flow's actions
		}
		at := d.Leaf.Range()
		if at.Start < 0 || at.End > len(match) || at.Start >= at.End {
			continue
		}
		out = append(out, journey.Decided{
			Start: at.Start, End: at.End, Text: match[at.Start:at.End], Holds: d.Holds, Words: e.finds(ctx, v, d),
		})
	}
	slices.SortStableFunc(out, func(a, b journey.Decided) int { return a.Start - b.Start })
	return out
}

// finds describes what a packet has for a part of a match: "ip4.src is 10.244.1.6, not in $a1 (Namespace shop)". Empty
// if that means nothing to people, as for registers, which only pass notes between tables.
func (e *Explainer) finds(ctx context.Context, v *ovn.Visit, d ovnexpr.Decision) string {
	if r, ok := d.Leaf.(*ovnexpr.Resident); ok {
		return fmt.Sprintf("%s %s", r.Port, choose(d.Holds, "resides on this chassis", "does not reside on this chassis"))
	}
	test, ok := deciding(d)
	if !ok || bookkeeping(test.Ref) {
		return ""
	}
	name, value := test.Ref.String(), e.value(ctx, v, test)
	if name == "outport" && value == "none" { // what OVN writes where no port was found
		return ""
	}
	switch leaf := d.Leaf.(type) {
	case *ovnexpr.Bare:
		return bareWords(leaf.Field.String(), d.Tests)
	case *ovnexpr.Between:
		return fmt.Sprintf("%s is %s, %s %s", name, value, choose(d.Holds, "within", "not within"), leaf)
	}
	if d.Holds && plain(test) {
		return fmt.Sprintf("%s is %s", name, value)
	}
	return fmt.Sprintf("%s is %s, %s", name, value, e.wanted(ctx, test, d.Holds))
}

// bareWords describes whether a predicate or a one-bit field is true for the packet; a negation around it is excluded.
func bareWords(name string, tests []ovnexpr.Test) string {
	is := true
	for _, t := range tests {
		if t.Ref.Symbol != nil && t.Ref.Bits == 1 && t.Ref.String() == name {
			is = !t.Found.IsZero()
			break
		}
		is = is && t.Holds
	}
	if slices.Contains(kinds, name) {
		return choose(is, "it is ", "it is not ") + name
	}
	return name + choose(is, " holds", " does not hold")
}

// kinds are the predicates that name a kind of packet.
var kinds = []string{"ip", "ip4", "ip6", "tcp", "udp", "sctp", "icmp", "icmp4", "icmp6", "arp", "rarp", "nd", "nd_ns", "nd_na", "nd_rs", "nd_ra", "igmp"}

// deciding returns the test to show for a decision: the leaf's own, else the last that it implies.
func deciding(d ovnexpr.Decision) (ovnexpr.Test, bool) {
	for _, t := range d.Tests {
		if t.Ref.Symbol != nil && t.Holds == d.Holds && !t.Implied() {
			return t, true
		}
	}
	for _, t := range slices.Backward(d.Tests) {
		if t.Ref.Symbol != nil {
			return t, true
		}
	}
	return ovnexpr.Test{}, false
}

// bookkeeping reports whether a field is a note from one table to another rather than part of the packet.
func bookkeeping(r ovnexpr.Ref) bool {
	name := r.Symbol.Name
	return strings.HasPrefix(name, "reg") || strings.HasPrefix(name, "xreg") || strings.HasPrefix(name, "xxreg") ||
		strings.HasPrefix(name, "flags")
}

// plain reports whether a test that holds shows no more than the value found.
func plain(t ovnexpr.Test) bool {
	constants := t.Constants()
	return t.Op() == ovnexpr.Equal && len(constants) == 1 && !constants[0].Masked &&
		(constants[0].Kind == ovnexpr.Integer || constants[0].Kind == ovnexpr.String)
}

// wanted describes what a test compares with: "not 8080", "in $a1 (Namespace shop)".
func (e *Explainer) wanted(ctx context.Context, t ovnexpr.Test, holds bool) string {
	var texts []string
	for _, c := range t.Constants() {
		texts = append(texts, e.constant(ctx, c))
	}
	if len(texts) > maxShown {
		texts = append(texts[:maxShown], fmt.Sprintf("%d more", len(texts)-maxShown))
	}
	list := strings.Join(texts, ", ")
	if t.Op() != ovnexpr.Equal && t.Op() != ovnexpr.NotEqual {
		return fmt.Sprintf("%s %s %s", choose(holds, "which is", "not"), t.Op(), list)
	}
	in := len(texts) > 1 || slices.ContainsFunc(t.Constants(), func(c ovnexpr.Constant) bool {
		return c.Masked || c.Kind == ovnexpr.AddressSets || c.Kind == ovnexpr.PortGroups
	})
	matches := holds == (t.Op() == ovnexpr.Equal)
	switch {
	case in && matches:
		return "in " + list
	case in:
		return "not in " + list
	case matches:
		return "which is " + list
	}
	return "not " + list
}

// maxShown is how many constants of a comparison are listed.
const maxShown = 5

// constant returns a constant and its owner.
func (e *Explainer) constant(ctx context.Context, c ovnexpr.Constant) string {
	var owner decode.Owner
	switch c.Kind {
	case ovnexpr.AddressSets:
		owner = e.setOwner(ctx, c.Text)
	case ovnexpr.PortGroups:
		o, _ := e.objects.Named(ctx, "Port_Group", c.Text)
		owner = o.Owner
	}
	if owner == (decode.Owner{}) {
		return c.String()
	}
	return fmt.Sprintf("%s (%s)", c, owner)
}

// setOwner returns an address set's owner; for a set that ovn-northd makes from a port group's members, the group's.
func (e *Explainer) setOwner(ctx context.Context, name string) decode.Owner {
	if o, ok := e.objects.Named(ctx, "Address_Set", name); ok {
		return o.Owner
	}
	group, ok := strings.CutSuffix(name, "_ip4")
	if !ok {
		group, ok = strings.CutSuffix(name, "_ip6")
	}
	if !ok {
		return decode.Owner{}
	}
	o, _ := e.objects.Named(ctx, "Port_Group", group)
	return o.Owner
}

// value returns the value that a test found: a port by name, an address with its owner.
func (e *Explainer) value(ctx context.Context, v *ovn.Visit, t ovnexpr.Test) string {
	s := t.Ref.Symbol
	if s.IsString() {
		p, err := v.Datapath.PortByKey(ctx, int(t.Found.Lo))
		switch {
		case t.Found.IsZero():
			return "none"
		case err == nil && p != nil:
			return p.Name()
		}
		return fmt.Sprintf("port %d", t.Found.Lo)
	}
	if a, ok := addressIn(s, t.Found); ok {
		return e.address(a)
	}
	if s.Field != nil && t.Ref.Bits == s.Field.Bits && s.Lo == 0 {
		return s.Field.Print(t.Found)
	}
	return fmt.Sprint(t.Found.Lo)
}

func addressIn(s *ovnexpr.Symbol, v packet.Value) (netip.Addr, bool) {
	switch s.Name {
	case "ip4.src", "ip4.dst", "arp.spa", "arp.tpa":
		return v.Addr(32), true
	case "ip6.src", "ip6.dst", "nd.target":
		return v.Addr(128), true
	}
	return netip.Addr{}, false
}

// address returns an address with its owner.
func (e *Explainer) address(a netip.Addr) string { return named(a, e.who(a)) }

// who returns the pod or port that has an address; empty if unknown.
func (e *Explainer) who(a netip.Addr) string {
	ports := e.graph.PortsAt(a)
	if len(ports) == 0 {
		return ""
	}
	return cmp.Or(ports[0].Pod, ports[0].DisplayName, ports[0].Name)
}

func choose(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
