package cause

import (
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// Again follows a question's packet and its reply once more, in a network that lookup searches. It returns the outcome
// of the round trip, and the path that decided it.
type Again func(ctx context.Context, lookup Lookup) (journey.Outcome, *ovn.Path, error)

// A change is something that would let a packet pass.
type change struct {
	journey.Remedy
	try func(context.Context, *overlay) // makes the change in memory; nil if impossible
}

const (
	maxRemedies = 4 // proposed at most
	maxTogether = 3 // changes that only together let the packet pass
)

// WhyNot proposes changes that would let a path's packet pass, the smallest first. Changes that can be made in memory
// are tried: again follows the packet with them. If again is nil, nothing is verified.
func (e *Explainer) WhyNot(ctx context.Context, w *ovn.Path, again Again) []journey.Remedy {
	var remedies []journey.Remedy
	for _, c := range e.changes(ctx, w) {
		if len(remedies) == maxRemedies {
			break
		}
		if again != nil && c.try != nil {
			c = e.verified(ctx, c, &overlay{net: e.net}, again, maxTogether)
		}
		if !slices.ContainsFunc(remedies, func(r journey.Remedy) bool { return r.Text == c.Text }) {
			remedies = append(remedies, c.Remedy)
		}
	}
	slices.SortStableFunc(remedies, func(a, b journey.Remedy) int { return rank(a) - rank(b) })
	return remedies
}

func rank(r journey.Remedy) int {
	if r.Verified {
		return 0
	}
	return 1
}

// verified tries a change. If the packet is then stopped elsewhere, the change for that becomes part of it.
func (e *Explainer) verified(ctx context.Context, c change, o *overlay, again Again, more int) change {
	c.try(ctx, o)
	outcome, path, err := again(ctx, o.lookup)
	switch {
	case err != nil:
		return c
	case outcome == journey.Delivered:
		c.Verified = true
		return c
	case path == nil || more == 0:
		return c
	}
	next := e.changes(ctx, path)
	if len(next) == 0 || next[0].try == nil {
		return c
	}
	both := next[0]
	if both.Text != c.Text { // else the same change, which the reply needs too
		both.Text, both.Command = c.Text+"; and "+both.Text, together(c.Command, both.Command)
	}
	both.Object = c.Object
	if both = e.verified(ctx, both, o, again, more-1); both.Verified {
		return both
	}
	return c
}

func together(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " && " + b
}

// changes returns what would let a path's packet pass where it was stopped.
func (e *Explainer) changes(ctx context.Context, w *ovn.Path) []change {
	s, ok := e.stopOf(ctx, w)
	if !ok {
		return e.translations(ctx, w)
	}
	switch s.kind {
	case journey.Denied, journey.NotAllowed:
		return e.admissions(ctx, s)
	case journey.PortSecurity, journey.PortDisabled, journey.Unbound, journey.UnknownMAC, journey.SameOutport:
		return e.portChanges(ctx, s)
	case journey.NoBackends:
		return e.balancerChanges(s)
	case journey.NoRoute, journey.Discarded, journey.NextHopUnknown, journey.NextHopDisabled, journey.TTLExpired, journey.TooLarge, journey.WrongMAC:
		return e.routerChanges(ctx, s)
	case journey.RouterDisabled:
		r := e.router(s.visit.Datapath)
		return []change{e.enableRouter(r.Name, s.visit.Datapath.NBUUID, r.ExternalIDs)}
	}
	return nil
}

// remedy returns the change of an object.
func remedy(o decode.Object, text, command string) change {
	c := change{Remedy: journey.Remedy{Text: text, Command: command}}
	if o.UUID != "" {
		c.Object = ObjectOf(o)
	}
	return c
}
