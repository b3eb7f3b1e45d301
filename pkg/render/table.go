package render

import (
	"io"
	"strings"
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
	widths := columnWidths(rows)
	var out strings.Builder
	if t.Title != "" {
		out.WriteString(s.paint(s.clean(t.Title), Title) + "\n")
	}
	if t.bare {
		rows = rows[1:]
	}
	for _, row := range rows {
		out.WriteString(s.painted(aligned(row, widths)) + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// columnWidths returns the width of the widest cell of each column.
func columnWidths(rows [][]Line) []int {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], lineWidth(c))
		}
	}
	return widths
}

// aligned returns a row of prepared cells as one line, with the gap between columns.
func aligned(row []Line, widths []int) Line {
	var out Line
	for i, cell := range row {
		out = append(out, cell...)
		out = append(out, Span{Text: strings.Repeat(" ", widths[i]-lineWidth(cell)) + gap})
	}
	return out
}

// shorten cuts the widest columns until a row fits the stream.
func shorten(rows [][]Line, s Style) {
	widths := columnWidths(rows)
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
