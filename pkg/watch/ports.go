package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

const (
	// window is the time in which moves are counted.
	window = time.Minute
	// flapping is the number of moves in it that is no longer a move but a fault.
	flapping = 5
)

// A port is what is known of a logical port beyond its rows.
type port struct {
	owner    decode.Owner
	kind     string      // of the port binding; empty for a pod's or VM's
	inNorth  bool        // has a row in the Northbound
	inSouth  bool        // has a row in the Southbound
	on       string      // the chassis that has, or last had it
	since    time.Time   // of the last claim or release
	released bool        // no chassis has it
	moves    []time.Time // within the window
	flapping bool
	total    int // moves since it began to flap
}

// port returns what is known of a port.
func (r *report) port(name string) *port {
	p := r.ports[name]
	if p == nil {
		p = &port{}
		r.ports[name] = p
	}
	return p
}

// drop forgets a port that no database has any more.
func (r *report) drop(name string) {
	if p := r.ports[name]; !p.inNorth && !p.inSouth {
		delete(r.ports, name)
		delete(r.restless, name)
	}
}

// object names a port as its owner does.
func (p *port) object(name string) string {
	switch {
	case p.owner.Kind == "Pod":
		return "pod " + p.owner.FullName()
	case p.kind == "chassisredirect":
		return "gateway port " + strings.TrimPrefix(name, "cr-")
	case p.kind == "l3gateway":
		return "gateway router port " + name
	}
	return "port " + name
}

// names returns the names by which a port can be asked for.
func (p *port) names(name string, more ...string) []string {
	return unique(append([]string{p.owner.FullName(), name, strings.TrimPrefix(name, "cr-")}, more...)...)
}

// portChanged reports a change of the configuration.
func (r *report) portChanged(id ovsdb.UUID, old, now *nb.LogicalSwitchPortBrief) {
	row := cmp.Or(now, old)
	p := r.port(row.Name)
	p.inNorth = now != nil
	p.owner = decode.PortOwner(row.Name, row.ExternalIDs)
	if row.Type == "router" || row.Type == "localnet" {
		p.owner = decode.Owner{}
	}
	e := Event{Kind: Port, Object: p.object(row.Name), By: string(p.owner.CMS), Names: p.names(row.Name, r.holders[id].Name)}
	on := ""
	if h := r.holders[id]; h.Name != "" {
		on = " on " + h.String()
	}
	switch {
	case old == nil:
		e.Action, e.Message = "added", "added"+on+withAddresses(now.Addresses)
		r.add(e)
	case now == nil:
		e.Action, e.Message = "removed", "removed"+on
		r.add(e)
		r.drop(row.Name)
	default:
		if !slices.Equal(old.Addresses, now.Addresses) {
			e.Action = "addresses"
			e.Message = fmt.Sprintf("addresses changed from %s to %s", listed(old.Addresses), listed(now.Addresses))
			r.add(e)
		}
		if was, is := disabled(old), disabled(now); was != is {
			e.Action, e.Message, e.Effect = "enabled", "enabled", ""
			if is {
				e.Action, e.Message, e.Effect = "disabled", "disabled", "its packets are dropped"
			}
			r.add(e)
		}
	}
}

func disabled(p *nb.LogicalSwitchPortBrief) bool { return len(p.Enabled) > 0 && !p.Enabled[0] }

func withAddresses(addresses []string) string {
	if len(addresses) == 0 {
		return ""
	}
	return ", " + listed(addresses)
}

func listed(texts []string) string {
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}

// bindingChanged reports where a port is.
func (r *report) bindingChanged(_ ovsdb.UUID, old, now *sb.PortBindingBrief) {
	if now == nil {
		r.port(old.LogicalPort).inSouth = false
		r.drop(old.LogicalPort)
		return
	}
	p := r.port(now.LogicalPort)
	p.kind, p.inSouth = now.Type, true
	var was, is string
	if old != nil {
		was = r.at(old.Chassis)
	}
	is = r.at(now.Chassis)
	if was != is {
		r.relocated(p, now.LogicalPort, is)
	}
	if old != nil && len(old.Up) > 0 && len(now.Up) > 0 && old.Up[0] != now.Up[0] && !p.flapping && is != "" && was == is {
		e := Event{Kind: Port, Action: "up", Object: p.object(now.LogicalPort), By: is, Names: p.names(now.LogicalPort, is),
			Message: fmt.Sprintf("up on %s, %s after it was claimed", is, span(r.now.Sub(p.since)))}
		if !now.Up[0] {
			e.Action, e.Message, e.Effect = "down", "down on "+is, "its packets are not carried"
		}
		r.add(e)
	}
}

// relocated reports that a chassis claimed a port, or that its last one released it.
func (r *report) relocated(p *port, name, is string) {
	e := Event{Kind: Port, Object: p.object(name), By: is, Names: p.names(name, p.on, is)}
	gateway := p.kind == "chassisredirect" || p.kind == "l3gateway"
	if gateway {
		e.Kind = Gateway
	}
	from, absent := p.on, r.now.Sub(p.since)
	first := from == ""
	if is != "" && from != is && !first && !r.silent {
		p.moves = append(p.recent(r.now), r.now)
		p.total++
	}
	wasReleased := p.released
	p.since, p.released = r.now, is == ""
	if is != "" {
		p.on = is
	}
	switch {
	case len(p.moves) >= flapping && !p.flapping:
		p.flapping, p.total = true, len(p.moves)
		r.restless[name] = true
		e.Action = "flapping"
		e.Message = fmt.Sprintf("flapping: moved %d times within %s, last from %s to %s", p.total, span(r.now.Sub(p.moves[0])), from, is)
		e.Effect = "two nodes claim it, or one of them fails again and again: its packets are lost meanwhile; further moves are counted until it rests"
		r.add(e)
	case p.flapping: // counted
	case is == "":
		e.Action, e.Message, e.By = "released", "released by "+from, from
		e.Effect = "no chassis carries its packets"
		r.add(e)
	case first:
		e.Action, e.Message = "claimed", "claimed by "+is
		r.add(e)
	case from == is:
		e.Action, e.Message = "claimed", fmt.Sprintf("claimed by %s again, after %s", is, span(absent))
		r.add(e)
	default:
		e.Action, e.Message = "moved", fmt.Sprintf("moved from %s to %s", from, is)
		if wasReleased {
			e.Message += ", without a chassis for " + span(absent)
		}
		if n := len(p.moves); n > 1 {
			e.Message += fmt.Sprintf(", the %s time within %s", ordinal(n), span(r.now.Sub(p.moves[0])))
		}
		if gateway {
			e.Effect = "traffic through the gateway now leaves from " + is
		}
		r.add(e)
	}
}

// recent returns the moves within the window.
func (p *port) recent(now time.Time) []time.Time {
	return slices.DeleteFunc(p.moves, func(t time.Time) bool { return now.Sub(t) > window })
}

// settled reports the ports that have stopped to flap.
func (r *report) settled() {
	for _, name := range slices.Sorted(maps.Keys(r.restless)) {
		p := r.ports[name]
		if p.moves = p.recent(r.now); len(p.moves) > 0 {
			continue
		}
		p.flapping = false
		delete(r.restless, name)
		where := "on " + p.on
		if p.released {
			where = "without a chassis"
		}
		r.add(Event{Kind: Port, Action: "settled", Object: p.object(name), By: p.on, Names: p.names(name, p.on),
			Message: fmt.Sprintf("no longer flapping: has been %s for %s, after %d moves", where, span(r.now.Sub(p.since)), p.total)})
	}
}

func ordinal(n int) string {
	switch n {
	case 1:
		return "1st"
	case 2:
		return "2nd"
	case 3:
		return "3rd"
	}
	return fmt.Sprintf("%dth", n)
}
