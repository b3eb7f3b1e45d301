package fixes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Network changes links, addresses, routes, rules and static neighbours of the
// host, each by its full key. The changes are made in their order and undone in
// the reverse one; addresses that arrive on a link are announced on its segment.
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
	// Index must hold, too. 0: the link is made by an earlier step, and waited for.
	Index int `json:"index"`
}

// linkComes is how long a link is waited for that an earlier step makes.
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

// network reads the host's network anew.
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

// keeps says of a change that it changes nothing: it holds the value of a setting
// that the kernel overwrites together with another.
func (c LinkChange) keeps() bool { return c.Set != nil && c.Set.Before == c.Set.After }

// look says of one change whether it is made.
func (c LinkChange) look(n *node.Network) (stage, string) {
	l := n.Link(c.Link)
	switch {
	case c.Link != "" && l == nil && c.Index != 0:
		return moved, fmt.Sprintf("link %s is gone", c.Link)
	case l != nil && c.Index != 0 && l.Index != c.Index:
		return moved, fmt.Sprintf("link %s is another one now: its index is %d and was %d", c.Link, l.Index, c.Index)
	}
	switch {
	case c.Add != nil:
		return arrives(haveAddress(n, *c.Add))
	case c.Delete != nil:
		return leaves(haveAddress(n, *c.Delete))
	case c.Route != nil:
		return arrives(haveRoute(n, *c.Route))
	case c.Remove != nil:
		return leaves(haveRoute(n, *c.Remove))
	case c.Rule != nil:
		return arrives(slices.Contains(n.Rules, *c.Rule), "")
	case c.Unrule != nil:
		return leaves(slices.Contains(n.Rules, *c.Unrule), "")
	case c.Know != nil:
		return arrives(haveNeighbour(n, *c.Know))
	case c.Forget != nil:
		return leaves(haveNeighbour(n, *c.Forget))
	case c.keeps():
		return done, ""
	case c.Set != nil:
		return between(n.Sysctl[c.Set.Name], c.Set.Before, c.Set.After, c.Set.Name)
	case c.Up != nil:
		if l != nil && l.Up == *c.Up {
			return done, ""
		}
		return untouched, ""
	case c.MAC != "":
		if l == nil {
			return untouched, ""
		}
		return between(l.MAC, c.Was, c.MAC, "the MAC address of "+c.Link)
	}
	return done, ""
}

func arrives(there bool, why string) (stage, string) {
	switch {
	case why != "":
		return moved, why
	case there:
		return done, ""
	}
	return untouched, ""
}

func leaves(there bool, why string) (stage, string) {
	switch {
	case why != "":
		return moved, why
	case there:
		return untouched, ""
	}
	return done, ""
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

// haveAddress says whether a link has an address, equal in all that stays; why
// is set where it has it in another form.
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

// lasting is an address without what changes by itself or follows from others.
func lasting(a node.Address) node.Address {
	a.Flags = slices.DeleteFunc(slices.Clone(a.Flags), func(f string) bool {
		return slices.Contains([]string{"tentative", "dadfailed", "deprecated", "secondary", "temporary", "dynamic", "optimistic", "stable-privacy"}, f)
	})
	if a.Lifetime != nil {
		a.Lifetime = &node.Lifetime{Valid: 1}
	}
	return a
}

func haveRoute(n *node.Network, r node.Route) (bool, string) {
	return slices.ContainsFunc(Ways(n.Routes), func(x node.Route) bool { return sameRoute(x, r) }), ""
}

// sameRoute compares all that the kernel tells routes apart by, and what they say.
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

// Ways are routes, one for each hop of IPv6, where several hops are several
// routes that come and go one by one.
func Ways(routes []node.Route) []node.Route {
	var ways []node.Route
	for _, r := range routes {
		if r.Dst.Addr().Is4() || len(r.Hops) == 0 || r.NextHop != 0 {
			ways = append(ways, r)
			continue
		}
		for _, h := range r.Hops {
			way := r
			way.Hops = nil
			if h.Weight > 1 {
				way.Hops = []node.NextHop{h}
			} else {
				way.Via, way.Dev, way.Flags = h.Via, h.Dev, h.Flags
			}
			ways = append(ways, way)
		}
	}
	return ways
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
	err = t.changeNetwork(func(w node.NetworkWriter) error {
		for _, c := range s.Changes {
			if st, _ := c.look(n); st == done {
				continue
			}
			if err := c.make(w); err != nil {
				return fmt.Errorf("%s: %w", c, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.settle(ctx, t, done, LinkChange.make)
}

// wait returns the network once every link is there.
func (s Network) wait(ctx context.Context, t *Target) (*node.Network, error) {
	deadline := time.Now().Add(linkComes)
	for {
		n, err := t.network(ctx)
		if err != nil {
			return nil, err
		}
		missing := slices.IndexFunc(s.Changes, func(c LinkChange) bool { return c.Link != "" && n.Link(c.Link) == nil })
		switch {
		case missing < 0:
			return n, nil
		case time.Now().After(deadline):
			return nil, fmt.Errorf("link %s does not come", s.Changes[missing].Link)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// settle looks whether all changes are where they should be, makes those again
// that the kernel took away with another, and announces addresses.
func (s Network) settle(ctx context.Context, t *Target, want stage, change func(LinkChange, node.NetworkWriter) error) error {
	n, err := t.network(ctx)
	if err != nil {
		return err
	}
	err = t.changeNetwork(func(w node.NetworkWriter) error {
		for _, c := range s.Changes {
			if st, _ := c.look(n); st != want && !c.keeps() && (c.Link == "" || n.Link(c.Link) != nil) {
				if err := change(c, w); err != nil {
					return fmt.Errorf("%s: %w", c, err)
				}
			}
			a := c.Add
			if want != done {
				a = c.Delete
			}
			if a == nil {
				continue
			}
			// Nothing depends on it: the neighbours ask sooner or later.
			_ = w.Announce(a.Link, a.Prefix.Addr())
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n, err = t.network(ctx); err != nil {
		return err
	}
	for _, c := range s.Changes {
		if st, why := c.look(n); st != want && !c.keeps() && (c.Link == "" || n.Link(c.Link) != nil) {
			return fmt.Errorf("%s: it did not stay so%s", c, strings.TrimSuffix(": "+why, ": "))
		}
	}
	return nil
}

func (s Network) undo(ctx context.Context, t *Target) error {
	n, err := t.network(ctx)
	if err != nil {
		return err
	}
	back := Network{Changes: slices.Clone(s.Changes)}
	slices.Reverse(back.Changes)
	err = t.changeNetwork(func(w node.NetworkWriter) error {
		for _, c := range back.Changes {
			if st, _ := c.look(n); st == untouched || c.Link != "" && n.Link(c.Link) == nil {
				continue
			}
			if err := c.unmake(w); err != nil {
				return fmt.Errorf("take back %s: %w", c, err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return back.settle(ctx, t, untouched, LinkChange.unmake)
}

func (s Network) lasts() bool  { return false }
func (s Network) on() []string { return []string{"network"} }

// make makes one change; that it is made already is no error.
func (c LinkChange) make(w node.NetworkWriter) error {
	switch {
	case c.Add != nil:
		return unless(w.AddAddress(*c.Add), syscall.EEXIST)
	case c.Delete != nil:
		return unless(w.DeleteAddress(*c.Delete), syscall.EADDRNOTAVAIL)
	case c.Route != nil:
		return unless(w.AddRoute(*c.Route), syscall.EEXIST)
	case c.Remove != nil:
		return unless(w.DeleteRoute(*c.Remove), syscall.ESRCH)
	case c.Rule != nil:
		return unless(w.AddRule(*c.Rule), syscall.EEXIST)
	case c.Unrule != nil:
		return unless(w.DeleteRule(*c.Unrule), syscall.ENOENT)
	case c.Know != nil:
		return unless(w.AddNeighbour(*c.Know), syscall.EEXIST)
	case c.Forget != nil:
		return unless(w.DeleteNeighbour(*c.Forget), syscall.ENOENT)
	case c.Set != nil:
		return w.SetSysctl(c.Set.Name, c.Set.After)
	case c.Up != nil:
		return w.SetUp(c.Link, *c.Up)
	case c.MAC != "":
		return w.SetMAC(c.Link, c.MAC)
	}
	return nil
}

func unless(err, fine error) error {
	if errors.Is(err, fine) {
		return nil
	}
	return err
}

// unmake takes one change back.
func (c LinkChange) unmake(w node.NetworkWriter) error { return c.inverse().make(w) }

// inverse is the change that takes this one back.
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
