package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// A Table is rows of cells under a header, in aligned columns.
type Table struct {
	Title  string
	Header []string
	rows   [][]Line
	bare   bool // without the header
}

// Row appends a row, with as many cells as the header.
func (t *Table) Row(cells ...Line) { t.rows = append(t.rows, cells) }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// width returns the columns that the table takes.
func (t *Table) width() int {
	total := 0
	for i, h := range t.Header {
		widest := width(h)
		for _, r := range t.rows {
			widest = max(widest, lineWidth(r[i]))
		}
		total += widest + len(gap)
	}
	return total - len(gap)
}

// leastCell is the minimum width of a shortened cell.
const leastCell = 6

// WriteTables writes the tables that have rows, separated by empty lines. If cut is true and the stream has a width,
// the widest columns are shortened until a row fits.
func WriteTables(w io.Writer, s Style, cut bool, tables ...*Table) error {
	first := true
	for _, t := range tables {
		if t.Len() == 0 {
			continue
		}
		if !first {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		first = false
		if err := t.write(w, s, cut); err != nil {
			return err
		}
	}
	return nil
}

func (t *Table) write(w io.Writer, s Style, cut bool) error {
	rows := [][]Line{{}}
	for _, h := range t.Header {
		rows[0] = append(rows[0], s.prepare(Text(h, Title)))
	}
	for _, r := range t.rows {
		var row []Line
		for _, cell := range r {
			row = append(row, s.prepare(cell))
		}
		rows = append(rows, row)
	}
	if cut && s.Width > 0 {
		shorten(rows, s)
	}
	lines, err := align(rows)
	if err != nil {
		return err
	}
	var out strings.Builder
	if t.Title != "" {
		out.WriteString(s.paint(s.clean(t.Title), Title) + "\n")
	}
	for i, line := range lines {
		if i == 0 && t.bare {
			continue
		}
		out.WriteString(s.paintCells(line, rows[i]) + "\n")
	}
	_, err = io.WriteString(w, out.String())
	return err
}

// align lays out rows of prepared cells, the header first, one line each.
func align(rows [][]Line) ([]string, error) {
	var b bytes.Buffer
	table := tablewriter.NewTable(&b,
		tablewriter.WithRenderer(renderer.NewBlueprint()),
		tablewriter.WithRendition(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{
				Separators: tw.SeparatorsNone,
				Lines:      tw.LinesNone,
			},
		}),
		tablewriter.WithAlignment(tw.MakeAlign(len(rows[0]), tw.AlignLeft)),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithPadding(tw.Padding{Right: gap, Overwrite: true}),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithEastAsian(tw.Off),
	)
	table.Header(texts(rows[0]))
	for _, r := range rows[1:] {
		if err := table.Append(texts(r)); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
	}
	if err := table.Render(); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != len(rows) {
		return nil, fmt.Errorf("table: %d rows came out as %d lines", len(rows), len(lines))
	}
	return lines, nil
}

func texts(cells []Line) []string {
	out := make([]string, len(cells))
	for i, c := range cells {
		out[i] = c.String()
	}
	return out
}

// paintCells styles the cells in a line that was laid out without looks: escape sequences have no width, so they come
// last.
func (s Style) paintCells(line string, cells []Line) string {
	var b strings.Builder
	for _, cell := range cells {
		for _, span := range cell {
			i := strings.Index(line, span.Text)
			if i < 0 {
				continue
			}
			b.WriteString(line[:i])
			b.WriteString(s.paint(span.Text, span.Look))
			line = line[i+len(span.Text):]
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// shorten cuts the widest columns until a row fits the stream.
func shorten(rows [][]Line, s Style) {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], lineWidth(c))
		}
	}
	total := len(gap) * (len(widths) - 1)
	for _, n := range widths {
		total += n
	}
	for total > s.Width {
		widest := widestColumn(widths)
		if widest < 0 {
			break
		}
		widths[widest]--
		total--
	}
	for _, r := range rows {
		for i, c := range r {
			r[i] = s.cut(c, widths[i])
		}
	}
}

// Columns are first shortened to what is enough to tell rows apart: the first has the name.
const (
	enoughName = 32
	enoughCell = 16
)

// widestColumn returns the next column to shorten, -1 if none can be: that which is longest beyond what is enough, so that
// long texts make room for words and numbers. Then those between the first and the last, with the state, go before these.
func widestColumn(widths []int) int {
	last := len(widths) - 1
	for _, stage := range []struct {
		least func(i int) int
		in    func(i int) bool
	}{
		{func(i int) int {
			if i == 0 {
				return enoughName
			}
			return enoughCell
		}, func(int) bool { return true }},
		{func(int) int { return leastCell }, func(i int) bool { return i > 0 && i < last }},
		{func(int) int { return leastCell }, func(int) bool { return true }},
	} {
		widest, most := -1, 0
		for i, w := range widths {
			if over := w - stage.least(i); stage.in(i) && over > most {
				widest, most = i, over
			}
		}
		if widest >= 0 {
			return widest
		}
	}
	return -1
}

// cut returns a prepared line of at most n columns, with a mark if truncated.
func (s Style) cut(l Line, n int) Line {
	if lineWidth(l) <= n {
		return l
	}
	mark := "…"
	if s.ASCII {
		mark = "~"
	}
	var out Line
	room := n - width(mark)
	for _, span := range l {
		if w := width(span.Text); w > room {
			if room > 0 {
				span.Text = prefixOf(span.Text, room)
			} else {
				span.Text = ""
			}
			span.Text += mark
			return append(out, span)
		}
		room -= width(span.Text)
		out = append(out, span)
	}
	return out
}
