package picture

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A Matrix is who can talk to whom: a row for each sender, a column for each receiver.
type Matrix struct {
	Title, Note   string
	Rows, Columns []string
	At            func(row, column int) journey.Outcome // empty if it was not asked
	Causes        []MatrixCause                         // of what does not arrive, the most frequent first
	Notes         []string
}

// A MatrixCause is why pairs do not reach each other.
type MatrixCause struct {
	Outcome journey.Outcome
	Text    string
}

// Measures of a matrix.
const (
	mostCell    = 28.0
	leastCell   = 16.0
	widestRow   = 260.0
	tallestHead = 190.0
	mostLines   = 80
	mostCauses  = 12
)

var cellClasses = [...]string{good: "fine-cell", bad: "lost-cell", odd: "odd-cell", plain: "absent"}

// Picture draws the matrix.
func (m *Matrix) Picture() *Picture {
	p := &Picture{title: m.Title + ": " + m.Note, width: mapWidth}
	y := p.heading(m.Title, m.Note, margin)
	left, top := 0.0, 0.0
	rows := m.Rows[:min(len(m.Rows), mostLines)]
	for _, r := range rows {
		left = max(left, min(widthOf(r, item), widestRow))
	}
	for _, c := range m.Columns {
		top = max(top, min(widthOf(c, item), tallestHead))
	}
	room := mapWidth - 2*margin - left - 12
	columns := m.Columns[:min(len(m.Columns), int(room/leastCell))]
	cell := min(mostCell, max(leastCell, room/float64(max(len(columns), 1))))
	x0 := margin + left + 12
	if len(rows) > 0 {
		y += top + 12
	}
	for j, c := range columns {
		p.upright(x0+cell*float64(j)+cell/2+4, y-8, tallestHead, item, c)
	}
	for i, r := range rows {
		base := y + cell*float64(i)
		p.words(margin+left, base+cell/2+4, left+0.1, atEnd, item, r)
		for j, c := range columns {
			p.cell(frame{x0 + cell*float64(j) + 1, base + 1, cell - 2, cell - 2}, r+" → "+c, m.At(i, j))
		}
	}
	y += cell*float64(len(rows)) + 8
	if more := len(m.Rows) - len(rows) + len(m.Columns) - len(columns); more > 0 {
		y += 16
		p.words(margin, y, mapWidth-2*margin, atStart, remark, fmt.Sprintf("%d rows and columns are not drawn: -o csv has all", more))
	}
	y = m.reasons(p, y+12)
	p.height = p.outcomeKey(y+34) + margin
	return p
}

// reasons lists causes and notes, and returns where they end.
func (m *Matrix) reasons(p *Picture, y float64) float64 {
	for _, c := range m.Causes[:min(len(m.Causes), mostCauses)] {
		for k, line := range wrap(c.Text, item, mapWidth-2*margin-24, 2) {
			y += 20
			if k == 0 {
				p.mark(outcomeState(c.Outcome), margin+6, y-4, 9)
			}
			p.words(margin+22, y, mapWidth-2*margin-24, atStart, item, line)
		}
	}
	for _, n := range m.Notes {
		for _, line := range wrap("note: "+n, remark, mapWidth-2*margin, 2) {
			y += 18
			p.words(margin, y, mapWidth-2*margin, atStart, remark, line)
		}
	}
	return y
}

// cell draws an outcome.
func (p *Picture) cell(f frame, told string, o journey.Outcome) {
	s := plain
	if o != "" {
		s = outcomeState(o)
		told += ": " + string(o)
	}
	p.begin("", told)
	p.box(f, 3, cellClasses[s])
	switch o {
	case "":
	case journey.Rejected, journey.Consumed:
		l := alarmSmall
		if o == journey.Consumed {
			l = remark
		}
		p.words(f.middle(), f.y+f.h/2+4, f.w, atMiddle, l, string(o)[:1])
	case journey.Unknown:
		p.mark(unknown, f.middle(), f.y+f.h/2, 8)
	default:
		p.mark(s, f.middle(), f.y+f.h/2, 9)
	}
	p.end()
}

// outcomeKey says what the cells mean, and returns where it ends.
func (p *Picture) outcomeKey(y float64) float64 {
	x := margin
	for _, o := range []journey.Outcome{journey.Delivered, journey.Dropped, journey.Rejected, journey.Consumed, journey.Unknown, ""} {
		word := string(o)
		if o == "" {
			word = "not asked"
		}
		p.cell(frame{x, y - 13, 18, 18}, word, o)
		p.words(x+26, y, 120, atStart, remark, word)
		x += 26 + widthOf(word, remark) + 22
	}
	return y
}

// upright writes text upwards from a point.
func (p *Picture) upright(x, y, width float64, l look, s string) {
	if s = fit(s, l, width); s != "" {
		p.body.WriteString(`<text class="` + l.class + `" x="` + number(x) + `" y="` + number(y) + `" font-size="` + number(l.size) +
			`" transform="rotate(-90 ` + number(x) + " " + number(y) + `)">` + text(s) + "</text>\n")
	}
}
