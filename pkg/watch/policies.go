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

// A rule is the change of one ACL.
type rule struct {
	old, now *nb.ACLBrief
	holder   decode.Holder
	owner    decode.Owner
}

func (r *report) rule(id ovsdb.UUID, old, now *nb.ACLBrief) rule {
	h := r.holders[id]
	row := cmp.Or(now, old)
	return rule{old, now, h.Holder, decode.ACLOwner(row.ExternalIDs, h.Holder, h.owner)}
}

// policies reports rules, those of one owner in one event.
func (r *report) policies(rules []rule) {
	owned := map[string][]rule{}
	for _, c := range rules {
		if c.owner == (decode.Owner{}) {
			r.bare(c)
			continue
		}
		owned[c.owner.String()] = append(owned[c.owner.String()], c)
	}
	for _, name := range slices.Sorted(maps.Keys(owned)) {
		r.ofOwner(name, owned[name])
	}
}

// ofOwner reports the changed rules of one object of the CMS.
func (r *report) ofOwner(name string, rules []rule) {
	var added, removed, changed int
	var names []string
	only := ""
	for _, c := range rules {
		names = append(names, c.holder.Name)
		switch {
		case c.old == nil:
			added++
			only = text(c.now)
		case c.now == nil:
			removed++
			only = text(c.old)
		default:
			changed++
			only = difference(c.old, c.now)
		}
	}
	var parts []string
	for _, p := range []struct {
		n    int
		verb string
	}{{added, "added"}, {removed, "removed"}, {changed, "changed"}} {
		switch {
		case p.n == 1:
			parts = append(parts, "1 rule "+p.verb)
		case p.n > 1:
			parts = append(parts, fmt.Sprintf("%d rules %s", p.n, p.verb))
		}
	}
	message := strings.Join(parts, ", ")
	if len(rules) == 1 {
		message += ": " + only
	}
	action := "changed"
	switch len(rules) {
	case added:
		action = "added"
	case removed:
		action = "removed"
	}
	owner := rules[0].owner
	r.add(Event{Kind: Policy, Action: action, Object: name, Message: message, By: string(owner.CMS), Names: unique(append([]string{owner.FullName(), owner.Name}, names...)...)})
}

// bare reports a rule of nobody: somebody wrote the ACL itself.
func (r *report) bare(c rule) {
	row := cmp.Or(c.now, c.old)
	e := Event{Kind: Policy, Object: "ACL", Names: unique(row.Name.Get(), c.holder.Name, string(row.UUID))}
	if row.Name.Get() != "" {
		e.Object += " " + row.Name.Get()
	}
	if c.holder.Name != "" {
		e.Object += " on " + c.holder.String()
	}
	switch {
	case c.old == nil:
		e.Action, e.Message = "added", "added: "+text(c.now)
	case c.now == nil:
		e.Action, e.Message = "removed", "removed: "+text(c.old)
	default:
		e.Action, e.Message = "changed", "changed: "+difference(c.old, c.now)
	}
	r.add(e)
}

// mostMatch is how many bytes of a match a message shows.
const mostMatch = 200

// text formats a rule.
func text(a *nb.ACLBrief) string {
	return fmt.Sprintf("%s %s at priority %d: %s", a.Action, a.Direction, a.Priority, short(a.Match))
}

func short(match string) string {
	if len(match) > mostMatch {
		return strings.ToValidUTF8(match[:mostMatch], "") + "…"
	}
	return match
}

// difference formats how a rule changed.
func difference(old, now *nb.ACLBrief) string {
	var parts []string
	add := func(what, was, is string) {
		if was != is {
			parts = append(parts, fmt.Sprintf("%s from %s to %s", what, short(was), short(is)))
		}
	}
	add("action", old.Action, now.Action)
	add("direction", old.Direction, now.Direction)
	add("priority", fmt.Sprint(old.Priority), fmt.Sprint(now.Priority))
	add("tier", fmt.Sprint(old.Tier), fmt.Sprint(now.Tier))
	add("match", old.Match, now.Match)
	if len(parts) == 0 {
		return "its options or external_ids"
	}
	return strings.Join(parts, ", ")
}
