//go:build lab

package main

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"strconv"
)

// A curve is what a command costs by the number of nodes, and the classic tools beside it.
type curve struct {
	Name  string  `json:"name"`
	Ours  []point `json:"ovnctl"`
	Other []point `json:"other,omitempty"`
}

// A point is what one size costs.
type point struct {
	Nodes   int     `json:"nodes"`
	Seconds float64 `json:"seconds"`
	MiB     float64 `json:"MiB"`
}

// The picture has a row for each command, with a chart of the time and one of the memory.
const (
	pictureWidth, titleHeight          = 900, 34
	nameWidth, chartWidth, chartHeight = 170, 330, 104
	marginX, marginTop, marginBottom   = 24, 16, 20
)

// drawCurves returns the curves as SVG. Both axes are logarithmic: what grows with the deployment is a straight line.
func drawCurves(curves []curve) []byte {
	var out bytes.Buffer
	height := titleHeight + len(curves)*chartHeight + 30
	fmt.Fprintf(&out, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" font-family="Inter, 'Segoe UI', 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif" font-size="11">
<title>Time and memory of commands on 5, 50 and 250 nodes</title>
<style>.page{fill:#fff}.ink{fill:#1f2328}.soft{fill:#656d76}.grid{stroke:#d8dee4}.ours{stroke:#0b57d0;fill:none;stroke-width:2}.ours-ink{fill:#0b57d0}.other{stroke:#8c959f;fill:none;stroke-width:1.5;stroke-dasharray:5 3}.other-ink{fill:#656d76}</style>
<rect class="page" width="%[1]d" height="%[2]d"/>
`, pictureWidth, height)
	time := axis{unit: "s", of: func(p point) float64 { return p.Seconds }}
	memory := axis{unit: "MiB", of: func(p point) float64 { return p.MiB }}
	for column, a := range []axis{time, memory} {
		a.fit(curves)
		left := nameWidth + column*(chartWidth+marginX)
		fmt.Fprintf(&out, "<text class=\"ink\" font-weight=\"600\" x=\"%d\" y=\"22\">%s</text>\n", left, map[string]string{"s": "time, s", "MiB": "peak memory, MiB"}[a.unit])
		for row, c := range curves {
			top := titleHeight + row*chartHeight
			if column == 0 {
				fmt.Fprintf(&out, "<text class=\"ink\" font-size=\"12\" x=\"12\" y=\"%d\">%s</text>\n", top+chartHeight/2, html.EscapeString(c.Name))
			}
			a.draw(&out, c, float64(left), float64(top))
		}
	}
	fmt.Fprintf(&out, "<line class=\"ours\" x1=\"12\" x2=\"40\" y1=\"%[1]d\" y2=\"%[1]d\"/><text class=\"ours-ink\" x=\"46\" y=\"%[2]d\">ovnctl</text>\n"+
		"<line class=\"other\" x1=\"110\" x2=\"138\" y1=\"%[1]d\" y2=\"%[1]d\"/><text class=\"other-ink\" x=\"144\" y=\"%[2]d\">the classic tools for the same question</text>\n</svg>\n", height-14, height-10)
	return out.Bytes()
}

// An axis is what a column of charts shows, by powers of ten.
type axis struct {
	unit   string
	of     func(point) float64
	lo, hi float64 // exponents
}

func (a *axis) fit(curves []curve) {
	a.lo, a.hi = math.Inf(1), math.Inf(-1)
	for _, c := range curves {
		for _, points := range [][]point{c.Ours, c.Other} {
			for _, p := range points {
				e := math.Log10(a.of(p))
				a.lo, a.hi = min(a.lo, math.Floor(e)), max(a.hi, math.Ceil(e))
			}
		}
	}
}

// draw draws one chart.
func (a *axis) draw(out *bytes.Buffer, c curve, left, top float64) {
	bottom := top + chartHeight - marginBottom
	x := func(nodes int) float64 {
		return left + 12 + (chartWidth-90)*(math.Log10(float64(nodes))-math.Log10(5))/(math.Log10(250)-math.Log10(5))
	}
	y := func(v float64) float64 {
		return bottom - (bottom-top-marginTop)*(math.Log10(v)-a.lo)/(a.hi-a.lo)
	}
	for e := a.lo; e <= a.hi; e++ {
		at := y(math.Pow(10, e))
		fmt.Fprintf(out, "<line class=\"grid\" x1=\"%.0f\" x2=\"%.0f\" y1=\"%.1f\" y2=\"%.1[3]f\"/><text class=\"soft\" text-anchor=\"end\" font-size=\"9\" x=\"%.0f\" y=\"%.1f\">%g</text>\n", left, left+chartWidth-50, at, left-3, at+3, math.Pow(10, e))
	}
	for _, p := range c.Ours {
		fmt.Fprintf(out, "<text class=\"soft\" text-anchor=\"middle\" font-size=\"9\" x=\"%.1f\" y=\"%.1f\">%d nodes</text>\n", x(p.Nodes), bottom+11, p.Nodes)
	}
	var ends []point
	for _, points := range [][]point{c.Ours, c.Other} {
		if len(points) > 0 {
			ends = append(ends, points[len(points)-1])
		}
	}
	for _, line := range []struct {
		class  string
		points []point
	}{{"other", c.Other}, {"ours", c.Ours}} {
		if len(line.points) == 0 {
			continue
		}
		var corners bytes.Buffer
		for _, p := range line.points {
			fmt.Fprintf(&corners, "%.1f,%.1f ", x(p.Nodes), y(a.of(p)))
		}
		last := line.points[len(line.points)-1]
		fmt.Fprintf(out, "<polyline class=\"%s\" points=\"%s\"/>\n", line.class, corners.String())
		fmt.Fprintf(out, "<text class=\"%s-ink\" x=\"%.1f\" y=\"%.1f\">%s %s</text>\n", line.class, x(last.Nodes)+8, y(a.of(last))+4+aside(y, a.of, last, ends), short(a.of(last)), a.unit)
	}
}

// short writes a figure with two digits.
func short(v float64) string {
	digits := max(0, 1-int(math.Floor(math.Log10(v))))
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// aside is how far the figure at the end of a line is moved so that it does not cover that of another.
func aside(y func(float64) float64, of func(point) float64, p point, ends []point) float64 {
	const apart = 11
	for _, other := range ends {
		gap := y(of(p)) - y(of(other))
		if other != p && other.Nodes == p.Nodes && math.Abs(gap) < apart {
			return math.Copysign((apart-math.Abs(gap))/2, gap)
		}
	}
	return 0
}
