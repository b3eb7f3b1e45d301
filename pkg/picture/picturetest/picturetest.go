// Package picturetest checks pictures by their geometry and colours, as whoever looks at them would.
package picturetest

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/picture"
)

// Check reports what makes an SVG hard to read: words that overlap, leave their box or the picture, or have too little contrast by
// day or by night; boxes that overlap; lines through boxes or words; a width of more than 1,200 pixels. The lines of a packet
// go through what it crosses.
func Check(t *testing.T, svg []byte) {
	t.Helper()
	s, err := parse(svg)
	if err != nil {
		t.Fatalf("not a picture: %v", err)
	}
	if s.page.w > 1200 {
		t.Errorf("it is %.0f pixels wide", s.page.w)
	}
	for _, fault := range slices.Concat(s.words(), s.overlaps(), s.crossings(), s.contrasts()) {
		t.Error(fault)
	}
}

// A sheet is a picture as it was written.
type sheet struct {
	page       area
	boxes      []box
	labels     []label
	lines      []line
	day, night map[string]string // fills by class
}

type area struct{ x, y, w, h float64 }

func (a area) shrunk(by float64) area { return area{a.x + by, a.y + by, a.w - 2*by, a.h - 2*by} }
func (a area) has(x, y float64) bool {
	return a.w > 0 && a.h > 0 && x > a.x && x < a.x+a.w && y > a.y && y < a.y+a.h
}
func (a area) meets(b area) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}
func (a area) holds(b area) bool {
	return b.x >= a.x && b.y >= a.y && b.x+b.w <= a.x+a.w && b.y+b.h <= a.y+a.h
}

type box struct {
	area
	class string
}

type label struct {
	area
	class, text string
}

type point struct{ x, y float64 }

type line struct {
	class  string
	points []point
}

func parse(svg []byte) (*sheet, error) {
	s := &sheet{day: map[string]string{}, night: map[string]string{}}
	d := xml.NewDecoder(bytes.NewReader(svg))
	var at xml.StartElement
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.StartElement:
			at = token
			s.element(token)
		case xml.EndElement:
			at = xml.StartElement{}
		case xml.CharData:
			s.text(at, string(token))
		}
	}
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func size(e xml.StartElement, name string) float64 {
	f, _ := strconv.ParseFloat(attr(e, name), 64)
	return f
}

func (s *sheet) element(e xml.StartElement) {
	switch e.Name.Local {
	case "svg":
		s.page = area{0, 0, size(e, "width"), 0}
		_, _ = fmt.Sscanf(attr(e, "viewBox"), "0 0 %f %f", &s.page.w, &s.page.h)
	case "rect":
		s.boxes = append(s.boxes, box{area{size(e, "x"), size(e, "y"), size(e, "width"), size(e, "height")}, attr(e, "class")})
	case "path":
		s.lines = append(s.lines, line{attr(e, "class"), points(attr(e, "d"))})
	}
}

var (
	rule  = regexp.MustCompile(`\.([a-z-]+)\{fill:([^;}]+)`)
	night = "@media(prefers-color-scheme:dark)"
)

func (s *sheet) text(e xml.StartElement, text string) {
	switch e.Name.Local {
	case "style":
		day, dark, _ := strings.Cut(text, night)
		for _, m := range rule.FindAllStringSubmatch(day, -1) {
			s.day[m[1]] = m[2]
		}
		for _, m := range rule.FindAllStringSubmatch(dark, -1) {
			s.night[m[1]] = m[2]
		}
	case "text":
		high := size(e, "font-size")
		w := picture.Width(text, high, attr(e, "font-weight") == "bold")
		a := area{size(e, "x"), size(e, "y") - 0.76*high, w, high}
		switch attr(e, "text-anchor") {
		case "middle":
			a.x -= w / 2
		case "end":
			a.x -= w
		}
		if strings.HasPrefix(attr(e, "transform"), "rotate(-90 ") {
			a = area{size(e, "x") - 0.76*high, size(e, "y") - w, high, w}
		}
		s.labels = append(s.labels, label{a, attr(e, "class"), text})
	}
}

var command = regexp.MustCompile(`([MLCZ])([^MLCZ]*)`)

// points walks along a path, a point for each pixel or so.
func points(d string) []point {
	var all []point
	var at point
	to := func(p point, way func(t float64) point) {
		steps := int(math.Hypot(p.x-at.x, p.y-at.y)) + 2
		for i := range steps + 1 {
			all = append(all, way(float64(i)/float64(steps)))
		}
		at = p
	}
	for _, m := range command.FindAllStringSubmatch(d, -1) {
		var n []float64
		for _, word := range strings.Fields(m[2]) {
			f, _ := strconv.ParseFloat(word, 64)
			n = append(n, f)
		}
		switch m[1] {
		case "M":
			at = point{n[0], n[1]}
		case "L":
			a, b := at, point{n[0], n[1]}
			to(b, func(t float64) point { return point{a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t} })
		case "C":
			a, b, c, e := at, point{n[0], n[1]}, point{n[2], n[3]}, point{n[4], n[5]}
			to(e, func(t float64) point {
				u := 1 - t
				k := [4]float64{u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t}
				return point{k[0]*a.x + k[1]*b.x + k[2]*c.x + k[3]*e.x, k[0]*a.y + k[1]*b.y + k[2]*c.y + k[3]*e.y}
			})
		}
	}
	return all
}

// around returns the innermost box around a point.
func (s *sheet) around(x, y float64) box {
	var in box
	for _, b := range s.boxes {
		if b.has(x, y) && (in.class == "" || b.w*b.h <= in.w*in.h) {
			in = b
		}
	}
	return in
}

func (s *sheet) words() (faults []string) {
	for i, l := range s.labels {
		if !s.page.holds(l.area) {
			faults = append(faults, fmt.Sprintf("%q leaves the picture", l.text))
		}
		in := s.around(l.x+l.w/2, l.y+l.h/2)
		if in.class != "" && !in.holds(l.area) {
			faults = append(faults, fmt.Sprintf("%q leaves its box (%s)", l.text, in.class))
		}
		for _, other := range s.labels[i+1:] {
			if l.meets(other.area) {
				faults = append(faults, fmt.Sprintf("%q and %q overlap", l.text, other.text))
			}
		}
	}
	return faults
}

// containers are boxes that have others in them.
var containers = []string{"page", "place", "place-bad"}

func (s *sheet) nodes() []box {
	return slices.DeleteFunc(slices.Clone(s.boxes), func(b box) bool { return slices.Contains(containers, b.class) })
}

func (s *sheet) overlaps() (faults []string) {
	all := slices.DeleteFunc(slices.Clone(s.boxes), func(b box) bool { return b.class == "page" })
	for i, b := range all {
		if !s.page.holds(b.area) {
			faults = append(faults, fmt.Sprintf("a box (%s at %.0f %.0f) leaves the picture", b.class, b.x, b.y))
		}
		for _, other := range all[i+1:] {
			if b.meets(other.area) && !b.holds(other.area) && !other.holds(b.area) {
				faults = append(faults, fmt.Sprintf("two boxes overlap: %s at %.0f %.0f, %s at %.0f %.0f", b.class, b.x, b.y, other.class, other.x, other.y))
			}
		}
	}
	return faults
}

// shapes are lines that are drawn into boxes on purpose: the shapes of states.
var shapes = []string{"cross", "alert", "doubt", "forward-head", "reply-head"}

// through are lines that show a way through boxes.
var through = []string{"forward", "reply"}

func (s *sheet) crossings() (faults []string) {
	nodes := s.nodes()
	for _, l := range s.lines {
		if slices.Contains(shapes, l.class) {
			continue
		}
		for _, b := range nodes {
			if !slices.Contains(through, l.class) && l.enters(b.shrunk(1.5)) {
				faults = append(faults, fmt.Sprintf("a line (%s from %.0f) goes through a box (%s at %.0f %.0f)", l.class, l.points[0], b.class, b.x, b.y))
			}
		}
		for _, w := range s.labels {
			if l.enters(w.shrunk(0.5)) {
				faults = append(faults, fmt.Sprintf("a line (%s from %.0f) goes through %q", l.class, l.points[0], w.text))
			}
		}
	}
	return faults
}

func (l line) enters(a area) bool {
	return slices.ContainsFunc(l.points, func(p point) bool { return a.has(p.x, p.y) })
}

func (s *sheet) contrasts() (faults []string) {
	for _, l := range s.labels {
		ground := s.around(l.x+l.w/2, l.y+l.h/2).class
		if ground == "" {
			ground = "page"
		}
		for mode, fills := range map[string]map[string]string{"by day": s.day, "by night": s.night} {
			if c := contrast(fills[l.class], fills[ground]); !(c >= 4.5) {
				faults = append(faults, fmt.Sprintf("%q (%s on %s) has a contrast of %.1f %s", l.text, l.class, ground, c, mode))
			}
		}
	}
	return faults
}

// contrast is that of WCAG 2: 1 to 21, NaN if one is no colour.
func contrast(a, b string) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(colour string) float64 {
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil || len(colour) != 7 {
		return math.NaN()
	}
	channel := func(shift int) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.03928 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}
