package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// balancerChanged reports the virtual IPs of a load balancer. A CMS may have several load balancers for one service:
// the same event comes once.
func (r *report) balancerChanged(_ ovsdb.UUID, old, now *nb.LoadBalancer) {
	row := cmp.Or(now, old)
	owner := decode.OwnerOf(row.ExternalIDs)
	e := Event{Kind: LoadBalancer, Object: "load balancer " + row.Name, By: string(owner.CMS), Names: unique(owner.FullName(), row.Name)}
	if owner.Name != "" {
		e.Object = owner.String()
	}
	before, after := vipsOf(old), vipsOf(now)
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, vip := range slices.Sorted(maps.Keys(all)) {
		e.Effect = ""
		was, had := before[vip]
		is, has := after[vip]
		e.Names = unique(append(e.Names, vip)...)
		switch {
		case !had:
			e.Action, e.Message = "added", fmt.Sprintf("VIP %s added: %s", vip, backends(is))
		case !has:
			e.Action, e.Message = "removed", fmt.Sprintf("VIP %s removed: it had %s", vip, backends(was))
		case len(is) == 0 && len(was) > 0:
			e.Action, e.Message = "empty", fmt.Sprintf("VIP %s lost its last backend: %s", vip, strings.Join(was, ", "))
			e.Effect = "new connections to it fail"
		case len(was) == 0 && len(is) > 0:
			e.Action, e.Message = "backends", fmt.Sprintf("VIP %s has %s again", vip, backends(is))
		case !slices.Equal(was, is):
			e.Action, e.Message = "backends", fmt.Sprintf("VIP %s:%s%s, %d now", vip, signed("+", without(is, was)), signed("-", without(was, is)), len(is))
		default:
			continue
		}
		if !slices.ContainsFunc(r.events, func(other Event) bool { return other.Object == e.Object && other.Message == e.Message }) {
			r.add(e)
		}
	}
}

// vipsOf returns the backends by virtual IP.
func vipsOf(lb *nb.LoadBalancer) map[string][]string {
	vips := map[string][]string{}
	if lb == nil {
		return vips
	}
	for vip, list := range lb.VIPs {
		all := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
		slices.Sort(all)
		vips[vip] = all
	}
	return vips
}

// mostBackends is how many backends a message lists.
const mostBackends = 4

func backends(all []string) string {
	switch n := len(all); {
	case n == 0:
		return "no backend"
	case n == 1:
		return "backend " + all[0]
	case n <= mostBackends:
		return fmt.Sprintf("%d backends, %s", n, strings.Join(all, ", "))
	}
	return fmt.Sprintf("%d backends", len(all))
}

// without returns what of a is not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(v string) bool { return slices.Contains(b, v) })
}

func signed(sign string, all []string) string {
	var out strings.Builder
	for i, v := range all {
		if i == mostBackends {
			fmt.Fprintf(&out, " %s%d more", sign, len(all)-i)
			break
		}
		out.WriteString(" " + sign + v)
	}
	return out.String()
}
