// Package picture draws answers as SVG: a deployment with its state, the path of a packet, findings, changes.
//
// A picture is laid out here, without Graphviz or a browser: chassis are columns with their bridges and uplinks, the
// logical network lies in and above them, so that a line never has to cross a box. State has a colour and a shape, for eyes
// that do not tell red from green and for printers. Colours follow the reader's preference for dark or light.
package picture

import (
	"html"
	"io"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
)

// A Picture is a finished drawing.
type Picture struct {
	title         string
	width, height float64
	body          strings.Builder
}

// SVG writes the picture as one self-contained SVG document.
func (p *Picture) SVG(w io.Writer) error {
	_, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+p.element("<style>"+Styles()+"</style>\n"))
	return err
}

// Element returns the picture as an SVG element of a page, which must have [Styles].
func (p *Picture) Element() string { return p.element("") }

func (p *Picture) element(style string) string {
	size := number(p.width) + `" height="` + number(p.height)
	return `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="` + size + `" viewBox="0 0 ` + number(p.width) + " " + number(p.height) +
		`" font-family="` + fonts + `">` + "\n<title>" + text(p.title) + "</title>\n" + style +
		`<rect class="page" width="` + size + `"/>` + "\n" + p.body.String() + "</svg>\n"
}

// mostTold is how much of a name is in a tooltip.
const mostTold = 300

// begin opens a group of what belongs to one object: its UUID, and what a reader who points at it is told.
func (p *Picture) begin(object, told string) {
	p.body.WriteString("<g")
	if object != "" {
		p.body.WriteString(` data-object="` + text(object) + `"`)
	}
	p.body.WriteString(">")
	if told != "" {
		p.body.WriteString("<title>" + text(cutTo(told, mostTold)) + "</title>")
	}
	p.body.WriteString("\n")
}

func (p *Picture) end() { p.body.WriteString("</g>\n") }

// A frame is a place in the picture.
type frame struct{ x, y, w, h float64 }

func (f frame) left() float64   { return f.x }
func (f frame) right() float64  { return f.x + f.w }
func (f frame) bottom() float64 { return f.y + f.h }
func (f frame) middle() float64 { return f.x + f.w/2 }

// box draws a rectangle with round corners.
func (p *Picture) box(f frame, round float64, class string) {
	p.body.WriteString(`<rect class="` + class + `" x="` + number(f.x) + `" y="` + number(f.y) + `" width="` + number(f.w) +
		`" height="` + number(f.h) + `" rx="` + number(round) + `"/>` + "\n")
}

// Where a text is put: x is its start, its middle or its end.
const (
	atStart  = "start"
	atMiddle = "middle"
	atEnd    = "end"
)

// words writes text on a base line. It is cut in its middle to fit into the width.
func (p *Picture) words(x, y, width float64, anchor string, l look, s string) {
	s = fit(s, l, width)
	if s == "" {
		return
	}
	p.body.WriteString(`<text class="` + l.class + `" x="` + number(x) + `" y="` + number(y) + `" font-size="` + number(l.size) + `"`)
	if l.bold {
		p.body.WriteString(` font-weight="bold"`)
	}
	if anchor != atStart {
		p.body.WriteString(` text-anchor="` + anchor + `"`)
	}
	p.body.WriteString(">" + text(s) + "</text>\n")
}

// line draws a path.
func (p *Picture) line(r *route, class string) {
	p.body.WriteString(`<path class="` + class + `" d="` + strings.TrimSpace(r.d.String()) + `"/>` + "\n")
}

// A route is the way of a line.
type route struct{ d strings.Builder }

func from(x, y float64) *route {
	r := &route{}
	return r.step("M", x, y)
}

func (r *route) to(x, y float64) *route { return r.step("L", x, y) }

// curve goes on to a point, leaving and arriving vertically.
func (r *route) curve(x0, y0, x, y float64) *route {
	if x0 == x {
		return r.to(x, y)
	}
	middle := (y0 + y) / 2
	return r.step("C", x0, middle, x, middle, x, y)
}

func (r *route) step(command string, coordinates ...float64) *route {
	r.d.WriteString(command)
	for i, c := range coordinates {
		if i > 0 {
			r.d.WriteByte(' ')
		}
		r.d.WriteString(number(c))
	}
	return r
}

// mark draws the shape of a state, centred on a point.
func (p *Picture) mark(s state, x, y, size float64) {
	r := size / 2
	switch s {
	case bad:
		p.line(from(x-r, y-r).to(x+r, y+r).step("M", x-r, y+r).to(x+r, y-r), "cross")
	case odd:
		p.line(from(x, y-r).to(x+r, y+r).to(x-r, y+r).step("Z"), "alert")
	case unknown:
		p.line(from(x, y-r).to(x+r, y).to(x, y+r).to(x-r, y).step("Z"), "doubt")
	case good:
		p.body.WriteString(`<circle class="fine" cx="` + number(x) + `" cy="` + number(y) + `" r="` + number(r*0.8) + `"/>` + "\n")
	}
}

// number formats a coordinate, to a tenth of a pixel.
func number(f float64) string {
	s := strconv.FormatFloat(f, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

// text makes text of others harmless: visible, on one line and without markup.
func text(s string) string { return html.EscapeString(escape.Line(s)) }
