package fixes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Network changes links, addresses, routes, rules and static neighbours of the host, each by its full key. Changes are
// made in order and undone in reverse; added addresses are announced on the link's segment.
type Network struct {
	Changes []LinkChange
	What    string
}

// A LinkChange is one change to the kernel's network. One field of the first
// group is set.
type LinkChange struct {
	Add    *node.Address   `json:"add,omitzero"`
	Delete *node.Address   `json:"delete,omitzero"`
	Route  *node.Route     `json:"route,omitzero"`  // is added
	Remove *node.Route     `json:"remove,omitzero"` // is removed
	Rule   *node.Rule      `json:"rule,omitzero"`   // is added
	Unrule *node.Rule      `json:"unrule,omitzero"` // is removed
	Know   *node.Neighbour `json:"know,omitzero"`   // a static neighbour is added
	Forget *node.Neighbour `json:"forget,omitzero"` // and removed
	Set    *Sysctl         `json:"set,omitzero"`    // a setting of the link
	Up     *bool           `json:"up,omitzero"`     // of Link
	MAC    string          `json:"mac,omitempty"`   // of Link
	Was    string          `json:"was,omitempty"`   // the MAC before

	Link string `json:"link"` // by name
	// Index must match, too. 0: an earlier step creates the link.
	Index int `json:"index"`
}

// linkComes is how long to wait for a link that an earlier step creates.
const linkComes = 10 * time.Second

func (s Network) look(ctx context.Context, t *Target) (stage, string, error) {
	n, err := t.network(ctx)
	if err != nil {
		return moved, "", err
	}
	count := map[stage]int{}
	for _, c := range s.Changes {
		st, why := c.look(n)
		if st == moved {
			return moved, why, nil
		}
		if c.keeps() {
			continue
		}
		count[st]++
	}
	switch {
	case count[untouched] == 0:
		return done, "", nil
	case count[done] == 0:
		return untouched, "", nil
	}
	return halfDone, "", nil
}

// network reads the host's network.
func (t *Target) network(ctx context.Context) (*node.Network, error) {
	h, err := t.node()
	if err != nil {
		return nil, err
	}
	return h.Network(ctx)
}

func (t *Target) changeNetwork(do func(node.NetworkWriter) error) error {
	h, err := t.node()
	if err != nil {
		return err
	}
	return node.ChangeNetwork(h, do)
}

// keeps reports whether a change only preserves a setting that the kernel overwrites together with another one: undo
// restores it.
func (c LinkChange) keeps() bool { return c.Set != nil && c.Set.Before == c.Set.After }

// absent reports whether the change is on a missing link.
func (c LinkChange) absent(n *node.Network) bool { return c.Link != "" && n.Link(c.Link) == nil }

// look returns how far one change has come and, of moved, what is not as expected.
func (c LinkChange) look(n *node.Network) (stage, string) {
	switch l := n.Link(c.Link); {
	case c.absent(n) && c.Index != 0:
		return moved, fmt.Sprintf("link %s is gone", c.Link)
	case l != nil && c.Index != 0 && l.Index != c.Index:
		return moved, fmt.Sprintf("another link has the name %s: its index is %d and was %d", c.Link, l.Index, c.Index)
	}
	return c.entry().look(n)
}

func between(is, before, after, what string) (stage, string) {
	switch is {
	case after:
		return done, ""
	case before:
		return untouched, ""
	}
	return moved, fmt.Sprintf("%s is %s and was %s", what, is, before)
}

// haveAddress reports whether a link has an address, equal in all that does not change by itself; why is set if it has
// another form of it.
func haveAddress(n *node.Network, a node.Address) (there bool, why string) {
	for _, b := range n.Addresses {
		if b.Link != a.Link || b.Prefix != a.Prefix || b.Peer != a.Peer {
			continue
		}
		x, y := lasting(a), lasting(b)
		if addressWords(x) != addressWords(y) {
			return false, fmt.Sprintf("the address is %s and was %s", addressWords(y), addressWords(x))
		}
		return true, ""
	}
	return false, ""
}

// lasting returns an address without what changes by itself or follows from other fields.
func lasting(a node.Address) node.Address {
	a.Flags = slices.DeleteFunc(slices.Clone(a.Flags), func(f string) bool {
		return slices.Contains([]string{"tentative", "dadfailed", "deprecated", "secondary", "temporary", "dynamic", "optimistic", "stable-privacy"}, f)
	})
	if a.Lifetime != nil {
		a.Lifetime = &node.Lifetime{Valid: 1}
	}
	return a
}

func haveRoute(n *node.Network, r node.Route) bool {
	return slices.ContainsFunc(PerNextHop(n.Routes), func(x node.Route) bool { return sameRoute(x, r) })
}

// sameRoute compares the routes' keys and destinations.
func sameRoute(a, b node.Route) bool {
	for _, r := range []*node.Route{&a, &b} {
		r.Expires = 0
		r.Flags = stayingFlags(r.Flags)
		r.Hops = slices.Clone(r.Hops)
		for i := range r.Hops {
			r.Hops[i].Flags = stayingFlags(r.Hops[i].Flags)
		}
	}
	return routeWords(a) == routeWords(b)
}

func stayingFlags(flags []string) []string {
	if slices.Contains(flags, "onlink") {
		return []string{"onlink"}
	}
	return nil
}

// PerNextHop splits IPv6 routes into one per next hop: the kernel adds and removes those one by one.
func PerNextHop(routes []node.Route) []node.Route {
	var single []node.Route
	for _, r := range routes {
		if r.Dst.Addr().Is4() || len(r.Hops) == 0 || r.NextHop != 0 {
			single = append(single, r)
			continue
		}
		for _, h := range r.Hops {
			route := r
			route.Hops = nil
			if h.Weight > 1 {
				route.Hops = []node.NextHop{h}
			} else {
				route.Via, route.Dev, route.Flags = h.Via, h.Dev, h.Flags
			}
			single = append(single, route)
		}
	}
	return single
}

func haveNeighbour(n *node.Network, x node.Neighbour) (bool, string) {
	for _, e := range n.Neighbours {
		if e.Link == x.Link && e.Addr == x.Addr && e.State == "permanent" {
			if e.MAC != x.MAC {
				return false, fmt.Sprintf("the static neighbour %s on %s is %s and was %s", x.Addr, x.Link, e.MAC, x.MAC)
			}
			return true, ""
		}
	}
	return false, ""
}

func (s Network) do(ctx context.Context, t *Target) error {
	n, err := s.wait(ctx, t)
	if err != nil {
		return err
	}
	return s.make(ctx, t, func(c LinkChange) bool {
		st, _ := c.look(n)
		return st != done
	})
}

// undo keeps what others have: what the kernel removes along with the changes is added again. If some of it cannot be,
// the step is made again, except in a rollback, which goes on: the host may be cut off.
func (s Network) undo(ctx context.Context, t *Target) error {
	n, err := t.network(ctx)
	if err != nil {
		return err
	}
	back := s.inverse()
	kept, stranded := back.takesAlong(n, t.steps)
	others := append(kept, stranded...)
	err = back.make(ctx, t, func(c LinkChange) bool {
		st, _ := c.look(n)
		return (st != done || c.keeps()) && !c.absent(n)
	})
	if err != nil {
		return err
	}
	lost, err := putBack(ctx, t, others)
	if err != nil || len(lost) == 0 || t.rollback {
		return err
	}
	again := s.do(ctx, t)
	_, restored := putBack(ctx, t, others)
	return errors.Join(fmt.Errorf("it would remove what others have: %s", strings.Join(entriesOf(lost), ", ")), again, restored)
}

// inverse returns the step that undoes this one.
func (s Network) inverse() (back Network) {
	for _, c := range slices.Backward(s.Changes) {
		back.Changes = append(back.Changes, c.inverse())
	}
	return back
}

// putBack adds what is missing of others' entries. It returns what cannot be added.
func putBack(ctx context.Context, t *Target, others []LinkChange) (lost []LinkChange, err error) {
	n, err := t.network(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range others {
		one := Network{Changes: []LinkChange{c}}
		missing := func(c LinkChange) bool {
			at, _ := c.look(n)
			return at != done
		}
		if err := one.change(t, missing); err != nil {
			lost = append(lost, c)
		}
	}
	return lost, nil
}

// make makes the remaining changes, repeats those that the kernel undid along with another one, announces addresses,
// and verifies all changes.
func (s Network) make(ctx context.Context, t *Target, left func(LinkChange) bool) error {
	if err := s.change(t, left); err != nil {
		return err
	}
	n, err := t.network(ctx)
	if err != nil {
		return err
	}
	lost := func(c LinkChange) bool {
		st, _ := c.look(n)
		return st != done && !c.absent(n)
	}
	if err := errors.Join(s.change(t, lost), s.announce(t)); err != nil {
		return err
	}
	if n, err = t.network(ctx); err != nil {
		return err
	}
	if i := slices.IndexFunc(s.Changes, lost); i >= 0 {
		_, why := s.Changes[i].look(n)
		return fmt.Errorf("%s: it did not last%s", s.Changes[i], strings.TrimSuffix(": "+why, ": "))
	}
	return nil
}

// announce tells neighbours about the added addresses. They resolve them sooner or later: failing is no error.
func (s Network) announce(t *Target) error {
	return t.changeNetwork(func(w node.NetworkWriter) error {
		for _, c := range s.Changes {
			if c.Add != nil {
				_ = w.Announce(c.Add.Link, c.Add.Prefix.Addr())
			}
		}
		return nil
	})
}

// wait returns the network once every link exists.
func (s Network) wait(ctx context.Context, t *Target) (n *node.Network, err error) {
	within, cancel := context.WithTimeout(ctx, linkComes)
	defer cancel()
	missing := -1
	err = wait(within, 50*time.Millisecond, func() (bool, error) {
		if n, err = t.network(ctx); err != nil {
			return false, err
		}
		missing = slices.IndexFunc(s.Changes, func(c LinkChange) bool { return c.absent(n) })
		return missing < 0, nil
	})
	if missing >= 0 && ctx.Err() == nil {
		return nil, fmt.Errorf("link %s did not appear", s.Changes[missing].Link)
	}
	return n, err
}

// change makes the chosen changes.
func (s Network) change(t *Target, chosen func(LinkChange) bool) error {
	return t.changeNetwork(func(w node.NetworkWriter) error {
		for _, c := range s.Changes {
			if !chosen(c) {
				continue
			}
			if err := c.entry().make(w); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
		}
		return nil
	})
}

// inverse returns the change that undoes this one.
func (c LinkChange) inverse() LinkChange {
	i := LinkChange{
		Add: c.Delete, Delete: c.Add, Route: c.Remove, Remove: c.Route, Rule: c.Unrule, Unrule: c.Rule, Know: c.Forget, Forget: c.Know,
		MAC: c.Was, Was: c.MAC, Link: c.Link, Index: c.Index,
	}
	if c.Up != nil {
		up := !*c.Up
		i.Up = &up
	}
	if c.Set != nil {
		i.Set = &Sysctl{Name: c.Set.Name, Before: c.Set.After, After: c.Set.Before}
	}
	return i
}

// An entry describes a change to the kernel's network.
type entry struct {
	look    func(*node.Network) (stage, string)
	make    func(node.NetworkWriter) error // already made is no error
	lines   []string                       // as a diff
	command string                         // that does it
}

func (c LinkChange) entry() entry {
	switch {
	case c.Add != nil || c.Delete != nil:
		return addressEntry(cmp.Or(c.Add, c.Delete), c.Add != nil)
	case c.Route != nil || c.Remove != nil:
		return routeEntry(cmp.Or(c.Route, c.Remove), c.Route != nil)
	case c.Rule != nil || c.Unrule != nil:
		return ruleEntry(cmp.Or(c.Rule, c.Unrule), c.Rule != nil)
	case c.Know != nil || c.Forget != nil:
		return neighbourEntry(cmp.Or(c.Know, c.Forget), c.Know != nil)
	case c.Set != nil:
		return c.setting()
	case c.Up != nil:
		return c.state()
	}
	return c.address()
}

func (c LinkChange) setting() entry {
	e := entry{
		look: func(n *node.Network) (stage, string) {
			return between(n.Sysctl[c.Set.Name], c.Set.Before, c.Set.After, c.Set.Name)
		},
		make: func(w node.NetworkWriter) error { return w.SetSysctl(c.Set.Name, c.Set.After) },
	}
	if c.keeps() {
		e.look = func(*node.Network) (stage, string) { return done, "" }
		return e
	}
	shown := c.Set.Summary()
	e.lines, e.command = shown.Diff, shown.Commands[0]
	return e
}

// state is the entry of a link's state.
func (c LinkChange) state() entry {
	link, now, before := "link "+c.Link+" ", either(*c.Up, "up", "down"), either(*c.Up, "down", "up")
	return entry{
		look: func(n *node.Network) (stage, string) {
			if l := n.Link(c.Link); l == nil || l.Up != *c.Up {
				return untouched, ""
			}
			return done, ""
		},
		make:  func(w node.NetworkWriter) error { return w.SetUp(c.Link, *c.Up) },
		lines: []string{"- " + link + before, "+ " + link + now}, command: "ip link set " + c.Link + " " + now,
	}
}

// address is the entry of a link's MAC address.
func (c LinkChange) address() entry {
	link := "link " + c.Link + " address "
	return entry{
		look: func(n *node.Network) (stage, string) {
			l := n.Link(c.Link)
			if l == nil {
				return untouched, ""
			}
			return between(l.MAC, c.Was, c.MAC, "the MAC address of "+c.Link)
		},
		make:  func(w node.NetworkWriter) error { return w.SetMAC(c.Link, c.MAC) },
		lines: []string{"- " + link + c.Was, "+ " + link + c.MAC}, command: "ip link set " + c.Link + " address " + c.MAC,
	}
}

// listed returns the entry of an address, route, rule or static neighbour that is added or removed. gone is the
// kernel's error for removing a missing one.
func listed(added bool, words, command string, have func(*node.Network) (bool, string), change func(node.NetworkWriter) error, gone error) entry {
	return entry{
		look: func(n *node.Network) (stage, string) {
			switch there, why := have(n); {
			case why != "":
				return moved, why
			case there == added:
				return done, ""
			}
			return untouched, ""
		},
		make: func(w node.NetworkWriter) error {
			err := change(w)
			if added && errors.Is(err, syscall.EEXIST) || !added && errors.Is(err, gone) {
				return nil
			}
			return err
		},
		lines: []string{either(added, "+ ", "- ") + words}, command: command,
	}
}

func addressEntry(a *node.Address, added bool) entry {
	words := addressWords(*a)
	return listed(added, "address "+words, either(added, "ip addr add "+words, "ip addr del "+a.Prefix.String()+" dev "+a.Link),
		func(n *node.Network) (bool, string) { return haveAddress(n, *a) },
		func(w node.NetworkWriter) error { return either(added, w.AddAddress, w.DeleteAddress)(*a) }, syscall.EADDRNOTAVAIL)
}

func routeEntry(r *node.Route, added bool) entry {
	words := routeWords(*r)
	return listed(added, "route "+words, "ip"+six(r.Dst.Addr().Is6())+" route "+either(added, "append ", "del ")+words,
		func(n *node.Network) (bool, string) { return haveRoute(n, *r), "" },
		func(w node.NetworkWriter) error { return either(added, w.AddRoute, w.DeleteRoute)(*r) }, syscall.ESRCH)
}

func ruleEntry(r *node.Rule, added bool) entry {
	words := ruleWords(*r)
	return listed(added, "rule "+words, "ip"+six(r.Family == 6)+" rule "+either(added, "add ", "del ")+words,
		func(n *node.Network) (bool, string) { return slices.Contains(n.Rules, *r), "" },
		func(w node.NetworkWriter) error { return either(added, w.AddRule, w.DeleteRule)(*r) }, syscall.ENOENT)
}

func neighbourEntry(x *node.Neighbour, added bool) entry {
	words := fmt.Sprintf("%s lladdr %s dev %s nud permanent", x.Addr, x.MAC, x.Link)
	return listed(added, "neighbour "+words, either(added, "ip neigh replace "+words, fmt.Sprintf("ip neigh del %s dev %s", x.Addr, x.Link)),
		func(n *node.Network) (bool, string) { return haveNeighbour(n, *x) },
		func(w node.NetworkWriter) error { return either(added, w.AddNeighbour, w.DeleteNeighbour)(*x) }, syscall.ENOENT)
}

func either[T any](first bool, a, b T) T {
	if first {
		return a
	}
	return b
}

// String returns the change in a line.
func (c LinkChange) String() string { return c.entry().command }

// Summary shows every change.
func (s Network) Summary() StepSummary {
	out := StepSummary{What: s.What, on: []string{"network"}}
	for _, c := range s.Changes {
		e := c.entry()
		out.Diff = append(out.Diff, e.lines...)
		if e.command != "" {
			out.Commands = append(out.Commands, e.command)
		}
	}
	return out
}
