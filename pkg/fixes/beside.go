package fixes

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Beside is what others have and undo would take along with its own: on a link that loses its address, or in a row
// that was inserted.
type Beside struct {
	Kept []string // is put back
	Lost []string // cannot be put back, so undo refuses
}

// A neighbourly step can take along what others have. The steps are those of the run: what they made is not others'.
type neighbourly interface {
	beside(ctx context.Context, t *Target, steps []Step) (Beside, error)
}

// beside returns what undoing the chosen steps would take along.
func beside(ctx context.Context, t *Target, steps []Step) (all Beside, err error) {
	for _, s := range steps {
		n, ok := s.(neighbourly)
		if !ok {
			continue
		}
		b, err := n.beside(ctx, t, steps)
		if err != nil {
			return all, err
		}
		all.Kept, all.Lost = append(all.Kept, b.Kept...), append(all.Lost, b.Lost...)
	}
	return all, nil
}

// own reports whether a step of the run made an entry.
func own(steps []Step, made func(LinkChange) bool) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		network, ok := s.(Network)
		return ok && slices.ContainsFunc(network.Changes, made)
	})
}

func (s Network) beside(ctx context.Context, t *Target, steps []Step) (Beside, error) {
	n, err := t.network(ctx)
	if err != nil {
		return Beside{}, err
	}
	kept, lost := s.inverse().takesAlong(n, steps)
	return Beside{Kept: entriesOf(kept), Lost: entriesOf(lost)}, nil
}

func entriesOf(all []LinkChange) []string {
	var out []string
	for _, c := range all {
		out = append(out, strings.TrimPrefix(c.entry().lines[0], "+ "))
	}
	return out
}

// takesAlong returns what the kernel removes along with the changes, as changes that add it: kept can be added again
// afterwards, lost cannot. What the steps made does not count.
//
// The kernel removes the secondary addresses of a removed IPv4 address, routes with a removed source, all IPv4 routes
// of a link that loses its last address, and what a link has that goes down or loses IPv6.
func (s Network) takesAlong(n *node.Network, steps []Step) (kept, lost []LinkChange) {
	after := s.after(n)
	for i := range n.Addresses {
		a := &n.Addresses[i]
		change := LinkChange{Add: a, Link: a.Link}
		switch {
		case auto(*a) || slices.ContainsFunc(s.Changes, func(c LinkChange) bool { return c.Delete != nil && sameAddress(*c.Delete, *a) }):
		case own(steps, func(c LinkChange) bool { return c.Add != nil && sameAddress(*c.Add, *a) }):
		case a.Prefix.Addr().Is6() && after.lacks6(a.Link):
			lost = append(lost, change)
		case a.Prefix.Addr().Is4() && s.deletesPrimary(n, *a):
			kept = append(kept, change)
		}
	}
	routes := PerNextHop(n.Routes)
	for i := range routes {
		r := &routes[i]
		change := LinkChange{Route: r, Link: r.Dev}
		switch {
		case r.Protocol == "kernel" || r.Protocol == "ra" || r.Table == 255 || r.Type == "local" || r.Type == "broadcast" || r.Type == "multicast":
		case slices.ContainsFunc(s.Changes, func(c LinkChange) bool { return c.Remove != nil && sameRoute(*c.Remove, *r) }):
		case own(steps, func(c LinkChange) bool { return c.Route != nil && sameRoute(*c.Route, *r) }):
		case after.strands(*r):
			lost = append(lost, change)
		case after.flushes(*r):
			kept = append(kept, change)
		}
	}
	for i := range n.Neighbours {
		x := &n.Neighbours[i]
		if x.State == "permanent" && after.down[x.Link] && !own(steps, func(c LinkChange) bool { return c.Know != nil && c.Know.Link == x.Link && c.Know.Addr == x.Addr }) {
			lost = append(lost, LinkChange{Know: x, Link: x.Link})
		}
	}
	return kept, lost
}

// auto reports whether an address comes and goes by itself.
func auto(a node.Address) bool {
	return a.Prefix.Addr().IsLinkLocalUnicast() && a.Prefix.Addr().Is6() || a.Has("dynamic") || a.Has("temporary") || a.Prefix.Addr().IsLoopback()
}

func sameAddress(a, b node.Address) bool {
	return a.Link == b.Link && a.Prefix == b.Prefix && a.Peer == b.Peer
}

// deletesPrimary reports whether the kernel removes a secondary IPv4 address along with its primary one.
func (s Network) deletesPrimary(n *node.Network, a node.Address) bool {
	return a.Has("secondary") && slices.ContainsFunc(s.Changes, func(c LinkChange) bool {
		return c.Delete != nil && c.Delete.Link == a.Link && c.Delete.Prefix.Masked() == a.Prefix.Masked() &&
			slices.ContainsFunc(n.Addresses, func(b node.Address) bool { return sameAddress(b, *c.Delete) && !b.Has("secondary") })
	})
}

// A network after some changes, as far as it decides what the kernel removes along with them.
type networkAfter struct {
	addresses []node.Address
	emptied   map[string]bool // links that lose their last IPv4 address
	down      map[string]bool // links that are set down
	no6       map[string]bool // links that lose IPv6
}

func (s Network) after(n *node.Network) networkAfter {
	out := networkAfter{emptied: map[string]bool{}, down: map[string]bool{}, no6: map[string]bool{}}
	out.addresses = slices.DeleteFunc(slices.Clone(n.Addresses), func(a node.Address) bool {
		return slices.ContainsFunc(s.Changes, func(c LinkChange) bool { return c.Delete != nil && sameAddress(*c.Delete, a) })
	})
	for _, c := range s.Changes {
		if c.Add != nil {
			out.addresses = append(out.addresses, *c.Add)
		}
		if c.Up != nil && !*c.Up {
			out.down[c.Link] = true
		}
		if c.Set != nil && c.Set.Name == "net/ipv6/conf/"+c.Link+"/disable_ipv6" && c.Set.After == "1" {
			out.no6[c.Link] = true
		}
	}
	for _, c := range s.Changes {
		if c.Delete != nil && c.Delete.Prefix.Addr().Is4() {
			out.emptied[c.Link] = !slices.ContainsFunc(out.addresses, func(a node.Address) bool { return a.Link == c.Link && a.Prefix.Addr().Is4() })
		}
	}
	return out
}

func (n networkAfter) lacks6(link string) bool { return n.down[link] || n.no6[link] }

// flushes reports whether the kernel removes a route.
func (n networkAfter) flushes(r node.Route) bool {
	four := r.Dst.Addr().Is4()
	return devs(r, func(dev string) bool { return n.down[dev] || four && n.emptied[dev] || !four && n.no6[dev] })
}

// strands reports whether a route is removed and could not be added again.
func (n networkAfter) strands(r node.Route) bool {
	if devs(r, func(dev string) bool { return n.down[dev] || r.Dst.Addr().Is6() && n.no6[dev] }) {
		return true
	}
	held := func(a netip.Addr) bool {
		return slices.ContainsFunc(n.addresses, func(own node.Address) bool { return own.Prefix.Addr() == a })
	}
	if r.Src.IsValid() && !held(r.Src) {
		return true
	}
	if !n.flushes(r) {
		return false
	}
	reaches := func(via netip.Addr, dev string, flags []string) bool {
		return !via.IsValid() || via.IsLinkLocalUnicast() || slices.Contains(flags, "onlink") || slices.ContainsFunc(n.addresses, func(own node.Address) bool {
			return own.Link == dev && own.Prefix.Masked().Contains(via)
		})
	}
	for _, h := range r.Hops {
		if !reaches(h.Via, h.Dev, h.Flags) {
			return true
		}
	}
	return r.Hops == nil && !reaches(r.Via, r.Dev, r.Flags)
}

// devs reports whether a route leads through a link that is so.
func devs(r node.Route, is func(string) bool) bool {
	return is(r.Dev) || slices.ContainsFunc(r.Hops, func(h node.NextHop) bool { return is(h.Dev) })
}

// beside returns what undo would remove of others: what somebody has written into inserted rows, rows that refer to
// them, addresses and routes of the links that they make. An equal row in place of a deleted one stands in the way, too.
func (s Rows) beside(ctx context.Context, t *Target, steps []Step) (Beside, error) {
	r, err := t.reader(s.DB, s.Zone)
	if err != nil {
		return Beside{}, err
	}
	db, ok := r.(schemaReader)
	if !ok {
		return Beside{}, nil
	}
	var out Beside
	for i, c := range s.Changes {
		var lost []string
		switch {
		case c.After == nil:
			lost, err = c.replaced(ctx, db)
		case c.Before == nil:
			lost, err = s.joined(ctx, t, db, i, steps)
		}
		if err != nil {
			return Beside{}, err
		}
		out.Lost = append(out.Lost, lost...)
	}
	return out, nil
}

// joined returns what others have added to an inserted row.
func (s Rows) joined(ctx context.Context, t *Target, db schemaReader, i int, steps []Step) ([]string, error) {
	c := s.Changes[i]
	if !s.Chosen { // the server chose its UUID
		found, _, err := s.read(ctx, t)
		if err != nil || len(found[i]) != 1 {
			return nil, err
		}
		c.UUID = found[i][0].UUID()
	}
	schema := db.Tables()
	rows, err := db.Raw(ctx, ovsdb.Lookup{Table: c.Table, Where: row(c.UUID)})
	if err != nil || len(rows[0]) == 0 {
		return nil, err
	}
	var lost []string
	for _, column := range slices.Sorted(maps.Keys(rows[0][0])) {
		kept := schema.Columns[c.Table][column]
		daemons := slices.Contains(byDaemons.Get()[c.Table], column) || c.Table == "Port" && column == "qos" // ovn-controller sets it on uplinks
		if _, planned := c.After[column]; kept && !planned && column != "_uuid" && !daemons {
			if set := setTo(column, rows[0][0][column]); set != "" {
				lost = append(lost, fmt.Sprintf("%s %.8s: %s", c.Table, c.UUID, set))
			}
		}
	}
	refs, err := referrers(ctx, db, schema, c.Table, c.UUID)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if s.Chosen && !slices.Contains(c.In, ref) && !changedBy(steps, ref.UUID) {
			lost = append(lost, fmt.Sprintf("%s of %s %.8s, which refers to %s %.8s", ref.Column, ref.Table, ref.UUID, c.Table, c.UUID))
		}
	}
	if c.Table == "Interface" && rows[0][0]["type"].Equal(`"internal"`) {
		on, err := onLink(ctx, t, strings.Trim(string(rows[0][0]["name"]), `"`), steps)
		return append(lost, on...), err
	}
	return lost, nil
}

// changedBy reports whether a step of the run changes a row.
func changedBy(steps []Step, id ovsdb.UUID) bool {
	return slices.ContainsFunc(steps, func(s Step) bool {
		rows, ok := s.(Rows)
		return ok && slices.ContainsFunc(rows.Changes, func(c Change) bool { return c.UUID == id })
	})
}

// byController are keys of columns that daemons write into rows of others.
var byController = []string{"ovn-installed", "ovn-installed-ts", "ovn-nb-cfg", "ovn-nb-cfg-ts", "ovn-startup-ts", "ct-zone-"}

// setTo returns a value that is neither empty nor a daemon's, as COLUMN is VALUE.
func setTo(column string, v ovsdb.Value) string {
	if v.Equal(`["set",[]]`) || v.Equal(`["map",[]]`) || v.Equal(`""`) || v.Equal("false") || v.Equal("0") {
		return ""
	}
	if strings.HasPrefix(string(v), `["map"`) {
		keys := slices.DeleteFunc(v.Keys(), func(key string) bool {
			return slices.ContainsFunc(byController, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
		})
		if len(keys) == 0 {
			return ""
		}
		value, _ := v.Key(keys[0])
		return fmt.Sprintf("%s:%s is %s", column, keys[0], shown(column+":"+keys[0], value))
	}
	return fmt.Sprintf("%s is %s", column, shown(column, v))
}

// onLink returns the addresses and routes that others have on a link.
func onLink(ctx context.Context, t *Target, link string, steps []Step) ([]string, error) {
	n, err := t.network(ctx)
	if err != nil || n.Link(link) == nil {
		return nil, err
	}
	down := false
	gone := Network{Changes: []LinkChange{{Up: &down, Link: link}}}
	for i := range n.Addresses {
		if n.Addresses[i].Link == link && n.Addresses[i].Prefix.Addr().Is4() && !own(steps, func(c LinkChange) bool { return c.Add != nil && sameAddress(*c.Add, n.Addresses[i]) }) {
			gone.Changes = append(gone.Changes, LinkChange{Add: &n.Addresses[i], Link: link})
		}
	}
	_, lost := gone.takesAlong(n, steps)
	return entriesOf(append(gone.Changes[1:], lost...)), nil
}

// replaced returns the row that stands where a deleted row was: one of its name, or one equal in all but references.
func (c Change) replaced(ctx context.Context, db schemaReader) ([]string, error) {
	where := []ovsdb.Condition{}
	if name, ok := c.Before["name"]; ok {
		if v, err := ovsdb.NewValue(name); err == nil && !v.Equal(`""`) && !v.Equal(`["set",[]]`) {
			where = append(where, ovsdb.Where("name", "==", name))
		}
	}
	if len(where) == 0 {
		for _, column := range slices.Sorted(maps.Keys(c.Before)) {
			v, err := ovsdb.NewValue(c.Before[column])
			if err != nil {
				return nil, err
			}
			if column != "external_ids" && len(v.UUIDs()) == 0 {
				where = append(where, ovsdb.Where(column, "==", v))
			}
		}
	}
	rows, err := db.Raw(ctx, ovsdb.Lookup{Table: c.Table, Columns: []string{}, Where: append(where, ovsdb.Where("_uuid", "!=", c.UUID))})
	if err != nil {
		return nil, err
	}
	var lost []string
	for _, r := range rows[0] {
		lost = append(lost, fmt.Sprintf("%s %.8s, which was added in place of the deleted one", c.Table, r.UUID()))
	}
	return lost, nil
}
