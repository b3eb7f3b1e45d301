package watch

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// routerRow reports a change of a row of a router: text says all of it that matters, and names are what it goes by.
func (r *report) routerRow(id ovsdb.UUID, kind, old, now string, ids map[string]string, names ...string) {
	h := r.holders[id]
	owner := cmp.Or(decode.OwnerOf(ids), h.owner)
	e := Event{Kind: Routing, Object: kind, By: string(owner.CMS), Names: unique(append(names, h.Name, owner.FullName())...)}
	if h.Name != "" {
		e.Object += " on " + h.String()
	}
	switch {
	case old == now:
		return
	case old == "":
		e.Action, e.Message = "added", "added: "+now
	case now == "":
		e.Action, e.Message = "removed", "removed: "+old
	default:
		e.Action, e.Message = "changed", fmt.Sprintf("changed from %s to %s", old, now)
	}
	r.add(e)
}

func (r *report) routeChanged(id ovsdb.UUID, old, now *nb.StaticRoute) {
	row := cmp.Or(now, old)
	r.routerRow(id, "static route", routeText(old), routeText(now), row.ExternalIDs, row.IPPrefix, row.Nexthop)
}

func routeText(r *nb.StaticRoute) string {
	if r == nil {
		return ""
	}
	text := r.IPPrefix + " via " + r.Nexthop
	if port := r.OutputPort.Get(); port != "" {
		text += " by port " + port
	}
	if r.Policy.Get() == "src-ip" {
		text = "from " + text
	}
	if r.RouteTable != "" {
		text += " in route table " + r.RouteTable
	}
	return text
}

func (r *report) routerPolicyChanged(id ovsdb.UUID, old, now *nb.Policy) {
	row := cmp.Or(now, old)
	r.routerRow(id, "router policy", routerPolicyText(old), routerPolicyText(now), row.ExternalIDs, append(row.Nexthops, row.Nexthop...)...)
}

func routerPolicyText(p *nb.Policy) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%s at priority %d: %s", p.Action, p.Priority, short(p.Match))
	if hops := unique(append(p.Nexthops, p.Nexthop...)...); len(hops) > 0 {
		text += " via " + strings.Join(hops, ", ")
	}
	return text
}

func (r *report) natChanged(id ovsdb.UUID, old, now *nb.NAT) {
	row := cmp.Or(now, old)
	r.routerRow(id, "NAT", natText(old), natText(now), row.ExternalIDs, row.ExternalIP, row.LogicalIP, row.LogicalPort.Get())
}

func natText(n *nb.NAT) string {
	if n == nil {
		return ""
	}
	text := fmt.Sprintf("%s of %s, external address %s", n.Type, n.LogicalIP, n.ExternalIP)
	if port := n.LogicalPort.Get(); port != "" {
		text += ", on the chassis of port " + port
	}
	return text
}

func (r *report) routerPortChanged(id ovsdb.UUID, old, now *nb.LogicalRouterPort) {
	row := cmp.Or(now, old)
	r.routerRow(id, "router port "+row.Name, routerPortText(old), routerPortText(now), row.ExternalIDs, row.Name)
}

func routerPortText(p *nb.LogicalRouterPort) string {
	if p == nil {
		return ""
	}
	text := p.MAC + ", " + listed(p.Networks)
	if len(p.Enabled) > 0 && !p.Enabled[0] {
		text += ", disabled"
	}
	return text
}
