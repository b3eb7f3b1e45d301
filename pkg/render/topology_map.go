package render

import (
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// Measures of a map in characters.
const (
	mapWidth       = 120 // if the stream has no width
	narrowestPlace = 30  // of a chassis; in a narrower terminal fewer are beside each other
	placeGap       = 2
)

// strokes are the characters that a map is drawn with.
type strokes struct {
	corners               [4]string // from the left above, clockwise
	across, down, join    string
	wall, reach, up, lost string
}

var (
	utf8Strokes  = strokes{[4]string{"┌", "┐", "┘", "└"}, "─", "│", "─", "═", "╧", "●", "✗"}
	asciiStrokes = strokes{[4]string{"+", "+", "+", "+"}, "-", "|", "-", "=", "=", "*", "x"}
)

// TopologyMap draws a small deployment in characters: what several chassis share above, each chassis as a box with its part of the
// logical network, its bridges and at its lower edge its uplinks, and the tunnels below.
func TopologyMap(w io.Writer, s Style, t *topology.Topology) error {
	m := mapPrinter{tracePrinter: tracePrinter{style: s}, strokes: utf8Strokes, width: s.Width}
	if s.ASCII {
		m.strokes = asciiStrokes
	}
	if m.width == 0 {
		m.width = mapWidth
	}
	m.draw(picture.NewPlan(t))
	return m.flush(w)
}

type mapPrinter struct {
	tracePrinter
	strokes
	width int
}

func (m *mapPrinter) draw(p *picture.Plan) {
	for _, t := range p.Troubles {
		m.put(0, 2, Span{m.lost + " ", Bad}, Span{t, Bad})
	}
	if len(p.Troubles) > 0 && len(p.Shared)+len(p.Columns) > 0 {
		m.add()
	}
	for _, b := range p.Shared {
		m.lines = append(m.lines, m.box(b, m.width, true)...)
	}
	beside := max(1, min(len(p.Columns), (m.width+placeGap)/(narrowestPlace+placeGap)))
	for from := 0; from < len(p.Columns); from += beside {
		m.beside(p.Columns[from:min(from+beside, len(p.Columns))], beside)
	}
	for i, t := range p.Tunnels {
		if i == 0 {
			m.add()
		}
		word, look := m.marked(t.Mark)
		m.put(0, 2, Span{t.A, Name}, Span{Text: " " + m.wall + t.Type + m.wall + " "}, Span{t.B, Name}, Span{Text: "  "}, Span{word, look})
	}
}

// marked returns the sign of a state.
func (m *mapPrinter) marked(mark picture.Mark) (string, Look) {
	switch mark {
	case picture.Up:
		return m.up, Good
	case picture.Broken:
		return m.lost, Bad
	case picture.Degraded:
		return "!", Warn
	case picture.Doubtful:
		return "?", Warn
	}
	return " ", Plain
}

// beside draws chassis beside each other.
func (m *mapPrinter) beside(columns []picture.Column, slots int) {
	wide := (m.width - placeGap*(slots-1)) / slots
	inside := wide - 4
	bodies := make([][]Line, len(columns))
	tallest := 0
	for i, c := range columns {
		for _, b := range c.Logical {
			bodies[i] = append(bodies[i], m.box(b, inside, false)...)
		}
		for _, b := range c.Bridges {
			bodies[i] = append(bodies[i], m.box(b, inside, false)...)
		}
		tallest = max(tallest, len(bodies[i]))
	}
	m.add()
	m.row(columns, func(_ int, c picture.Column) Line { return m.edge(c, wide) })
	for k := range tallest {
		m.row(columns, func(i int, c picture.Column) Line {
			var line Line
			if k < len(bodies[i]) {
				line = bodies[i][k]
			}
			return m.walled(c, line, inside)
		})
	}
	m.row(columns, func(_ int, c picture.Column) Line { return m.ground(c, wide) })
	leading := 0
	for _, c := range columns {
		leading += len(c.Uplinks)
	}
	if leading > 0 {
		m.row(columns, func(_ int, c picture.Column) Line { return m.leads(c, wide) })
		m.lines = append(m.lines, Line{{Text: strings.Repeat(m.wall, 3) + " physical network " + strings.Repeat(m.wall, max(0, m.width-21))}})
	}
}

// row adds a line of all columns.
func (m *mapPrinter) row(columns []picture.Column, of func(int, picture.Column) Line) {
	var line Line
	for i, c := range columns {
		if i > 0 {
			line = append(line, blanks(placeGap))
		}
		line = append(line, of(i, c)...)
	}
	m.lines = append(m.lines, line)
}

func frameLook(c picture.Column) Look {
	if c.Broken {
		return Bad
	}
	return Faint
}

// edge is the upper edge of a chassis, with its name.
func (m *mapPrinter) edge(c picture.Column, wide int) Line {
	look := frameLook(c)
	sign := ""
	if c.Broken {
		sign = m.lost + " "
	}
	name := m.fit(sign+c.Name, wide-6)
	line := Line{{m.corners[0] + m.across + " ", look}, {name, Title}, {Text: " "}}
	left := wide - width(name) - 5
	if note := m.fit(c.Note, left-3); note != "" && left > 8 {
		line = append(line, Span{note, Faint}, Span{Text: " "})
		left -= width(note) + 1
	}
	return append(line, Span{strings.Repeat(m.across, max(left, 0)) + m.corners[1], look})
}

// walled is a line between the walls of a chassis.
func (m *mapPrinter) walled(c picture.Column, line Line, inside int) Line {
	look := frameLook(c)
	full := append(Line{{m.down + " ", look}}, line...)
	return append(full, blanks(inside-lineWidth(line)), Span{" " + m.down, look})
}

// ground is the lower edge of a chassis, with its uplinks.
func (m *mapPrinter) ground(c picture.Column, wide int) Line {
	look := frameLook(c)
	line := Line{{m.corners[3] + m.across, look}}
	left := wide - 3
	for _, u := range c.Uplinks {
		sign, state := m.marked(u.Mark)
		name := m.fit(u.Name, left-6)
		if name == "" {
			break
		}
		line = append(line, Span{Text: " "}, Span{sign, state}, Span{Text: " " + name + " "}, Span{m.across, look})
		left -= width(name) + 5
	}
	return append(line, Span{strings.Repeat(m.across, max(left, 0)) + m.corners[2], look})
}

// leads is the line below a chassis: what leads on from its uplinks.
func (m *mapPrinter) leads(c picture.Column, wide int) Line {
	var line Line
	left := wide
	at := 3
	for _, u := range c.Uplinks {
		name := m.fit(u.Name, wide-3-6)
		if left < at+1 {
			break
		}
		sign := Span{Text: m.down}
		if u.Mark == picture.Broken {
			sign = Span{m.lost, Bad}
		}
		line = append(line, blanks(at), sign)
		left -= at + 1
		at = width(name) + 4
	}
	return append(line, blanks(left))
}

// box is a router in round brackets, a switch in square ones, or a bridge, with its workloads below. What it is joined to is on its line,
// or on the next if there is less room.
func (m *mapPrinter) box(b picture.Box, wide int, linked bool) []Line {
	brackets := [2]string{"[", "]"}
	switch {
	case b.Router:
		brackets = [2]string{"(", ")"}
	case b.Bridge:
		brackets = [2]string{"", ""}
	}
	name := m.fit(b.Name, wide-2)
	line := Line{{Text: brackets[0]}, {name, Title}, {Text: brackets[1]}}
	left := wide - lineWidth(line)
	links := when(!b.Bridge && len(b.Links) > 0, m.join+" "+strings.Join(b.Links, ", "))
	words := b.Note
	if linked {
		words = phrase(" ", words, links)
	}
	if words = m.fit(words, left-2); words != "" && left > 8 {
		line = append(line, Span{"  " + words, Faint})
	}
	lines := []Line{line}
	if links != "" && !linked {
		lines = append(lines, Line{{Text: "  "}, {m.fit(links, wide-2), Faint}})
	}
	for _, item := range b.Items {
		sign, look := m.marked(item.Mark)
		note := m.fit(item.Note, wide/2)
		name := m.fit(item.Name, wide-6-width(note))
		lines = append(lines, Line{{Text: "  "}, {sign, look}, {Text: " "}, {name, Name}, blanks(wide - 4 - width(name) - width(note)), {note, Faint}})
	}
	return lines
}

// fit returns text as the stream can show it, cut so that it takes no more than so many columns; empty if there is no room.
func (m *mapPrinter) fit(text string, columns int) string {
	return picture.Cut(m.style.clean(text), m.style.clean("…"), func(s string) bool { return width(s) <= columns })
}
