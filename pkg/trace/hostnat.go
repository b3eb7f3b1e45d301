package trace

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// addressed gives the packet filter the packet as it is now.
func (h *hostStep) addressed(out string) {
	t := h.tuple
	h.seen.Src, h.seen.Dst, h.seen.SrcPort, h.seen.DstPort, h.seen.In, h.seen.Out = t.Src, t.Dst, t.SrcPort, t.DstPort, h.link, out
}

// translation returns the rule at a hook by which the host's packet filter translates the first packet of a connection.
func (h *hostStep) translation(ctx context.Context, hook, out string) (node.Translation, bool) {
	chains, err := h.node.firewall(ctx)
	if err != nil { // the packet filter is then assumed to let all pass
		if h.link != "" && hook == "postrouting" {
			h.step("nat", out, "the host's NAT rules could not be read: "+err.Error())
		}
		return node.Translation{}, false
	}
	h.addressed(out)
	return node.Translate(chains, h.seen, hook)
}

// toDestination gives a packet the destination that its connection has, or that the host's packet filter sets.
func (h *hostStep) toDestination(ctx context.Context, net *node.Network, hook string) {
	if h.known.Conn != nil {
		h.tuple.Dst, h.tuple.DstPort = h.known.Now.Dst, h.known.Now.DstPort
		return
	}
	if h.carries != nil || h.replying {
		return
	}
	rule, ok := h.translation(ctx, hook, "")
	switch {
	case !ok:
		return
	case !rule.Sure:
		h.translates = true
		h.out.assume(journey.Assumption{Kind: journey.Filters, Nodes: []string{h.node.Name}})
		return
	}
	to := rule.To
	if rule.Action == "redirect" {
		to = h.redirected(net)
	}
	if !to.IsValid() || to.Is4() != h.tuple.Dst.Is4() {
		h.translates = true
		return
	}
	h.tuple.Dst, h.tuple.DstPort = to, cmp.Or(rule.Port, h.tuple.DstPort)
	h.step("nat", rule.Rule, "changes the destination to "+joinPort(h.tuple.Dst, h.tuple.DstPort))
}

// redirected returns the host's own address that a redirected packet goes to: of the link that it came in by, nft(8).
func (h *hostStep) redirected(net *node.Network) netip.Addr {
	link := cmp.Or(h.link, "lo")
	for _, a := range net.Addresses {
		if addr := a.Prefix.Addr(); a.Link == link && addr.Is4() == h.tuple.Dst.Is4() && a.Scope != "link" {
			return addr
		}
	}
	return netip.Addr{}
}

// toSource gives a packet the source that its connection has, or that the host's packet filter sets as it leaves.
func (h *hostStep) toSource(ctx context.Context, net *node.Network, route *node.Route) {
	if h.known.Conn != nil {
		h.tuple.Src, h.tuple.SrcPort = h.known.Now.Src, h.known.Now.SrcPort
		return
	}
	if h.link == "" && (h.carries != nil || h.replying) {
		return
	}
	rule, ok := h.translation(ctx, "postrouting", route.Dev)
	if !ok || h.link == "" && !rule.Sure {
		return
	}
	source := rule.To
	if !source.IsValid() {
		source = masqueraded(net, route, h.tuple.Src)
	}
	if source.IsValid() {
		h.tuple.Src = source
	}
	h.step("nat", rule.Rule, fmt.Sprintf("may change the source to %s", h.tuple.Src))
}

// commit makes a translated packet's connection known to the host.
func (h *hostStep) commit() {
	if h.known.Conn == nil && h.tuple != h.arrived {
		h.ct.Commit(h.zone, h.arrived, h.tuple)
	}
}

// output takes a packet of the host itself through what its packet filter does before it leaves. It returns the route that it
// then has; nil if it has been followed to its end.
func (h *hostStep) output(ctx context.Context, net *node.Network, route *node.Route) *node.Route {
	if h.filtered(ctx, route.Dev, "output"+node.BeforeNAT) {
		return nil
	}
	before := h.tuple
	h.toDestination(ctx, net, "output")
	if h.tuple != before && h.known.Conn == nil {
		query := node.RouteQuery{Dst: h.tuple.Dst, Src: h.tuple.Src}
		again, err := h.route(ctx, net, query)
		switch {
		case err != nil:
			h.stop(journey.Unknown, journey.Cause{Kind: journey.HostUnread, Detail: err.Error()})
			return nil
		case again.Type != "unicast":
			h.routed(ctx, net, again)
			return nil
		}
		h.step("route", query.String(), routeText(again))
		route = again
	}
	if h.filtered(ctx, route.Dev, "output"+node.AfterNAT) {
		return nil
	}
	return route
}
