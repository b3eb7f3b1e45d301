package picture

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A Pin is something to say about a place of the map: it is numbered, in a list above the map and at its place.
type Pin struct {
	Level Level
	Title string
	Notes []string
	// At are the objects that it is about, as answers name them: the pin is at the first that is on the map, if any is.
	At []Spot
}

// A Level is how a pin stands out.
type Level int

// Levels of pins.
const (
	Neutral Level = iota
	Warning
	Fault
)

// A Spot names an object: by its row, or by kind and name as doctor and compare have them, with its node if it is on one.
type Spot struct{ UUID, Kind, Name, Node string }

// badges are the numbers of the pins at a place.
type badges struct {
	numbers []int
	level   Level
}

func (b *badges) add(number int, l Level) {
	b.numbers = append(b.numbers, number)
	b.level = max(b.level, l)
}

// mostNumbers is how many numbers are at one place.
const mostNumbers = 4

func (b *badges) text() string {
	var words []string
	for _, n := range b.numbers[:min(len(b.numbers), mostNumbers)] {
		words = append(words, strconv.Itoa(n))
	}
	if len(b.numbers) > mostNumbers {
		words = append(words, "+")
	}
	return strings.Join(words, " ")
}

// room is the width that badges take.
func (b *badges) room() float64 {
	if len(b.numbers) == 0 {
		return 0
	}
	return widthOf(b.text(), badge) + 20
}

// badge draws badges that end at x.
func (p *Picture) badge(b *badges, x, y float64) {
	if len(b.numbers) == 0 {
		return
	}
	w := b.room() - 8
	p.box(frame{x - w, y, w, 16}, 8, [...]string{"badge", "badge-odd", "badge-bad"}[b.level])
	p.words(x-w/2, y+12, w, atMiddle, badge, b.text())
}

// Pinned draws a deployment with pins: findings, or what differs.
func Pinned(heading, note string, t *topology.Topology, pins []Pin) *Picture {
	m := newMapper(heading, note, t)
	for i, pin := range pins {
		if b := m.find(t, pin.At); b != nil {
			b.add(i+1, pin.Level)
		}
	}
	m.pins(pins)
	m.finish()
	return m.Picture
}

// mostPins is how many pins are listed.
const mostPins = 20

// pins lists the pins.
func (m *mapper) pins(pins []Pin) {
	shown := pins[:min(len(pins), mostPins)]
	var lines []func(y float64)
	x, w := margin+18.0, mapWidth-2*margin-36
	for i, pin := range shown {
		b := &badges{numbers: []int{i + 1}, level: pin.Level}
		called := name
		if pin.Level == Fault {
			called = alarm
		}
		for k, line := range wrap(pin.Title, called, w-40, 2) {
			lines = append(lines, func(y float64) {
				if k == 0 {
					m.badge(b, x+b.room()-8, y-12)
				}
				m.words(x+40, y, w-40, atStart, called, line)
			})
		}
		for _, note := range pin.Notes {
			for _, line := range wrap(note, remark, w-40, 2) {
				lines = append(lines, func(y float64) { m.words(x+40, y, w-40, atStart, remark, line) })
			}
		}
	}
	if more := len(pins) - len(shown); more > 0 {
		lines = append(lines, func(y float64) { m.words(x+40, y, w-40, atStart, remark, "and "+strconv.Itoa(more)+" more") })
	}
	if len(lines) == 0 {
		return
	}
	f := frame{margin, m.y, mapWidth - 2*margin, float64(len(lines))*19 + 16}
	m.box(f, 8, "place")
	for i, line := range lines {
		line(f.y + 23 + float64(i)*19)
	}
	m.y = f.bottom() + 20
}

// find returns the badges of the first object that is on the map: a node comes last, as it is where everything is.
func (m *mapper) find(t *topology.Topology, spots []Spot) *badges {
	for _, s := range spots {
		if b := m.findExact(t, s); b != nil {
			return b
		}
	}
	for _, s := range spots {
		for _, c := range m.columns {
			if c.name == s.Node || (s.Kind == "node" || s.Kind == "chassis") && (c.name == s.Name || c.chassis == s.Name) {
				return &c.badges
			}
		}
	}
	return nil
}

func (m *mapper) findExact(t *topology.Topology, s Spot) *badges {
	if m.crowded && s.Node != "" {
		return nil // a tile has no parts
	}
	for _, c := range m.columns {
		for _, b := range c.bridges {
			if b.object == s.UUID || s.Kind == "bridge" && b.name == s.Name && c.name == s.Node {
				return &b.badges
			}
		}
		for _, u := range c.uplinks {
			if u.name == s.Name && c.name == s.Node && slices.Contains([]string{"link", "interface", "bridge port"}, s.Kind) {
				return &u.badges
			}
		}
	}
	if c := m.cards[s.UUID]; c != nil && s.UUID != "" {
		return &c.badges
	}
	for _, p := range t.Ports {
		if s.UUID == p.UUID || s.Kind == "port" && s.Name == p.Name {
			return m.holder(p)
		}
	}
	for _, r := range t.Routers {
		if s.Kind == "router" && s.Name == r.Name && m.cards[r.UUID] != nil {
			return &m.cards[r.UUID].badges
		}
	}
	for _, sw := range t.Switches {
		if s.Kind == "switch" && s.Name == sw.Name && m.cards[sw.UUID] != nil {
			return &m.cards[sw.UUID].badges
		}
	}
	return nil
}

// holder returns the badges of the card that a logical port is on.
func (m *mapper) holder(p *topology.Port) *badges {
	for _, c := range m.columns {
		for _, card := range c.cards {
			if slices.ContainsFunc(card.rows, func(r row) bool { return r.object == p.UUID }) {
				return &card.badges
			}
		}
		if m.crowded && c.chassis == p.Chassis && c.chassis != "" {
			return &c.badges
		}
	}
	for _, ref := range []*topology.Ref{p.Router, p.Switch} {
		if ref != nil && m.cards[ref.UUID] != nil {
			return &m.cards[ref.UUID].badges
		}
	}
	return nil
}
