// Package cause finds why a packet was delivered or dropped, and words it.
//
// It finds which Northbound object is behind a flow, which parts of its match decided, what let a delivered packet
// pass, what comes nearest to letting a dropped one pass, and which change would let it pass.
//
// It explains paths that pkg/trace/ovn has followed, and words causes from everywhere: words.go has the one sentence of
// each kind. It changes nothing: a change is proposed in the terms of the CMS that manages the object (Kubernetes,
// OpenStack, else ovn-nbctl), and tried on the flows in memory where possible.
package cause

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// An Explainer explains paths through a network. It is safe for concurrent use.
type Explainer struct {
	net     *logicalflow.Network
	engine  *ovn.Engine
	objects *decode.Objects
	graph   *topology.Graph
}

// New returns an explainer. Objects are those of the Northbound that the network was made from; the graph knows who has
// an address. Either may be nil: then fewer things have a name.
func New(net *logicalflow.Network, objects *decode.Objects, graph *topology.Graph) *Explainer {
	if graph == nil {
		graph = &topology.Graph{}
	}
	return &Explainer{net: net, engine: ovn.New(net, ovn.Options{}), objects: objects, graph: graph}
}

// A Finding is why a path ended as it did.
type Finding struct {
	Cause  journey.Cause  // what stopped the packet; empty if it was delivered
	Object *decode.Object // the object responsible; nil if there is none
	Rule   *journey.Rule  // the flow responsible, and why it matched; nil if there is none
	Near   []journey.Rule // what comes nearest to letting it pass, and the parts of its match that failed
	// Allowed is what let a delivered packet pass, in the order on the path.
	Allowed []decode.Object
}

// Prepare reads what the flows of paths were made for at once.
func (e *Explainer) Prepare(ctx context.Context, paths ...*ovn.Path) {
	var hints []decode.Hint
	for _, w := range paths {
		for _, v := range w.Visits {
			for _, s := range v.Steps {
				if s.Flow != nil && !shared(s.Flow.Stage()) {
					hints = append(hints, decode.Hint{Stage: s.Flow.Stage(), Prefix: s.Flow.Row.ExternalIDs["stage-hint"]})
				}
			}
		}
	}
	e.objects.Prefetch(ctx, hints)
}

// shared reports whether the flows of a stage are shared by all routers: their hint is the route of any of them.
func shared(stage string) bool { return strings.HasSuffix(stage, "arp_request") }

// Explain finds why a path ended as it did.
func (e *Explainer) Explain(ctx context.Context, w *ovn.Path) Finding {
	if c, ok := e.unclear(ctx, w); ok {
		return Finding{Cause: c}
	}
	s, ok := e.stopOf(ctx, w)
	if !ok {
		return Finding{Allowed: e.allowed(ctx, w)}
	}
	f := Finding{Cause: e.cause(s), Object: s.object(), Rule: e.rule(ctx, s)}
	for _, n := range e.near(ctx, s) {
		f.Near = append(f.Near, n.rule)
	}
	return f
}

// unclear returns why the fate of a path's packet is unknown; false if it is known.
func (e *Explainer) unclear(ctx context.Context, w *ovn.Path) (journey.Cause, bool) {
	v := w.End()
	if v == nil || v.End.Outcome != journey.Unknown {
		return journey.Cause{}, false
	}
	c := journey.Cause{Kind: journey.PathTooLong, Datapath: v.Datapath.String(), Detail: v.End.Detail}
	last := len(v.Steps) - 1
	if last >= 0 {
		c.Table = fmt.Sprintf("%s table %d", v.Pipeline, v.Steps[last].Table)
		if stage := e.stageAt(ctx, v, last); stage != "" {
			c.Table += " (" + stage + ")"
		}
	}
	switch {
	case v.End.Reason == ovn.Tie:
		c.Kind = journey.FlowsTie
	case v.End.Reason == ovn.NotUnderstood && last >= 0 && len(v.Steps[last].Unknown) > 0:
		c.Kind = journey.FlowUnread
	case v.End.Reason == ovn.NotUnderstood:
		c.Kind = journey.ActionUnread
	}
	return c, true
}

// allowed returns the ACLs and routing policies that let a packet pass.
func (e *Explainer) allowed(ctx context.Context, w *ovn.Path) []decode.Object {
	var objects []decode.Object
	end := w.End()
	if end == nil {
		return nil
	}
	for _, v := range end.Visits() {
		for _, step := range v.Steps {
			o, ok := e.objectOf(ctx, step.Flow)
			if !ok || !allows(o) {
				continue
			}
			object := *ObjectOf(o)
			if !slices.ContainsFunc(objects, func(known decode.Object) bool { return known.UUID == object.UUID }) {
				objects = append(objects, object)
			}
		}
	}
	return objects
}

// allows reports whether an object lets matching packets pass.
func allows(o decode.Object) bool {
	switch row := o.Row.(type) {
	case nb.ACL:
		return strings.HasPrefix(row.Action, "allow")
	case nb.Policy:
		return row.Action == "allow" || row.Action == "reroute"
	}
	return false
}

// Object returns the object that a step of a visit carries out; nil if there is none.
func (e *Explainer) Object(ctx context.Context, v *ovn.Visit, step int) *decode.Object {
	if o, ok := e.objectOf(ctx, v.Steps[step].Flow); ok {
		return ObjectOf(o)
	}
	if port := e.secured(v, step); port != nil {
		return ObjectOf(e.portObject(ctx, port))
	}
	return nil
}

// objectOf returns the object that a flow was made for.
func (e *Explainer) objectOf(ctx context.Context, f *logicalflow.Flow) (decode.Object, bool) {
	if f == nil {
		return decode.Object{}, false
	}
	stage := f.Stage()
	if shared(stage) {
		return decode.Object{}, false
	}
	objects, _ := e.objects.Of(ctx, stage, f.Row.ExternalIDs["stage-hint"])
	if len(objects) == 0 && f.Row.ExternalIDs["stage-hint"] != "" {
		return e.objects.ACL(ctx, stage, f.Row.Match, f.Row.Priority)
	}
	if len(objects) == 0 {
		return decode.Object{}, false
	}
	return objects[0], true
}

// portObject returns a logical port's Northbound row, else what the Southbound has.
func (e *Explainer) portObject(ctx context.Context, p *logicalflow.Port) decode.Object {
	table := "Logical_Switch_Port"
	if p.Datapath.Router {
		table = "Logical_Router_Port"
	}
	if o, ok := e.objects.Named(ctx, table, p.Name()); ok {
		return o
	}
	return decode.Object{Kind: "port", Name: p.Name(), UUID: p.Row.UUID, Text: "port " + p.Name()}
}

// ObjectOf returns an object as a trace shows it. An ACL without an owner is described by its match.
func ObjectOf(o decode.Object) *decode.Object {
	if acl, ok := o.Row.(nb.ACL); ok && o.Owner == (decode.Owner{}) {
		o.Text += ": " + acl.Match
	}
	return &o
}
