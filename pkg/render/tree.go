package render

import (
	"bufio"
	"io"
	"strings"
	"unicode/utf8"
)

// A Tree is a line with lines below it. Cells of neighbors with the same non-empty Columns are aligned if the stream
// is wide enough; otherwise each line is wrapped.
type Tree struct {
	Cells    []Line
	Columns  string
	Children []*Tree
}

// Branch returns a tree with cells as its own line.
func Branch(cells ...Line) *Tree { return &Tree{Cells: cells} }

// Add adds a line below t and returns it.
func (t *Tree) Add(cells ...Line) *Tree { return t.AddTo("", cells...) }

// AddTo is Add for a line that shares columns with its neighbours of that name.
func (t *Tree) AddTo(columns string, cells ...Line) *Tree {
	c := &Tree{Cells: cells, Columns: columns}
	t.Children = append(t.Children, c)
	return c
}

// narrowest is the minimum width of wrapped text, however deep it is.
const narrowest = 20

// glyphs draw the branches of a tree.
type glyphs struct{ fork, last, bar, gap string }

var (
	utf8Glyphs  = glyphs{"├─ ", "└─ ", "│  ", "   "}
	asciiGlyphs = glyphs{"|- ", "`- ", "|  ", "   "}
)

// WriteTree writes trees one after another, from the left margin.
func WriteTree(w io.Writer, s Style, roots ...*Tree) error {
	t := treeWriter{w: bufio.NewWriter(w), style: s, glyphs: utf8Glyphs}
	if s.ASCII {
		t.glyphs = asciiGlyphs
	}
	var widths []int
	for i, r := range roots {
		if i == 0 || r.Columns != roots[i-1].Columns {
			widths = t.columns(roots[i:], 0)
		}
		t.line("", "", r, widths, len(r.Children) > 0)
		t.children("", r.Children)
	}
	return t.w.Flush()
}

type treeWriter struct {
	w      *bufio.Writer
	style  Style
	glyphs glyphs
}

func (t *treeWriter) children(prefix string, siblings []*Tree) {
	var widths []int
	for i, c := range siblings {
		if i == 0 || c.Columns != siblings[i-1].Columns {
			widths = t.columns(siblings[i:], width(prefix)+width(t.glyphs.fork))
		}
		fork, bar := t.glyphs.fork, t.glyphs.bar
		if i == len(siblings)-1 {
			fork, bar = t.glyphs.last, t.glyphs.gap
		}
		t.line(prefix+fork, prefix+bar, c, widths, len(c.Children) > 0)
		t.children(prefix+bar, c.Children)
	}
}

// columns returns the widths of the columns that the first of lines shares with those after it, nil if none.
func (t *treeWriter) columns(lines []*Tree, indent int) []int {
	name := lines[0].Columns
	if name == "" {
		return nil
	}
	end := 1
	for end < len(lines) && lines[end].Columns == name {
		end++
	}
	return t.fit(lines[:end], indent)
}

// fit returns the column widths of neighbors indented by indent, nil if they do not fit.
func (t *treeWriter) fit(neighbours []*Tree, indent int) []int {
	var widths []int
	for _, c := range neighbours {
		for i, cell := range c.Cells[:max(len(c.Cells)-1, 0)] { // the last cell is not padded
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], lineWidth(t.style.prepare(cell)))
		}
	}
	for _, c := range neighbours {
		own := indent
		for i, cell := range c.Cells {
			if i == len(c.Cells)-1 {
				own += lineWidth(t.style.prepare(cell))
				break
			}
			if widths[i] > 0 {
				own += widths[i] + len(gap)
			}
		}
		if t.style.Width > 0 && own > t.style.Width {
			return nil
		}
	}
	return widths
}

// gap separates two cells.
const gap = "  "

// line writes the cells of c: in columns, or wrapped if widths is nil. first precedes its first line, rest the
// others.
func (t *treeWriter) line(first, rest string, c *Tree, widths []int, parent bool) {
	var l Line
	for i, cell := range c.Cells {
		cell = t.style.prepare(cell)
		n := lineWidth(cell)
		last := i == len(c.Cells)-1
		if n == 0 && (widths == nil || i < len(widths) && widths[i] == 0) {
			continue
		}
		l = append(l, cell...)
		if last {
			break
		}
		pad := gap
		if widths != nil {
			pad = strings.Repeat(" ", widths[i]-n) + gap
		}
		l = append(l, Span{Text: pad})
	}
	hang := rest
	if parent {
		hang += t.glyphs.bar
	} else {
		hang += t.glyphs.gap
	}
	lines := []Line{l}
	if t.style.Width > 0 {
		lines = wrap(l, max(t.style.Width-width(first), narrowest), max(t.style.Width-width(hang), narrowest))
	}
	for i, line := range lines {
		prefix := first
		if i > 0 {
			prefix = hang
		}
		if text := t.style.painted(line); text == "" {
			prefix = strings.TrimRight(prefix, " ")
		}
		t.w.WriteString(t.style.paint(prefix, Faint))
		t.w.WriteString(t.style.painted(line))
		t.w.WriteByte('\n')
	}
}

// wrap breaks a prepared line at blanks; its first piece is at most first columns wide, the others rest. Longer words
// are broken too.
func wrap(l Line, first, rest int) []Line {
	if lineWidth(l) <= first {
		return []Line{l}
	}
	var lines []Line
	var line Line
	used, room := 0, first
	put := func(text string, look Look) {
		line = append(line, Span{Text: text, Look: look})
		used += width(text)
	}
	next := func() {
		lines = append(lines, line)
		line, used, room = nil, 0, rest
	}
	for _, span := range l {
		for _, word := range words(span.Text) {
			blank := strings.TrimSpace(word) == ""
			switch {
			case blank && (used == 0 || used+width(word) > room):
				continue
			case used > 0 && used+width(word) > room && width(word) <= rest:
				next()
			}
			for used+width(word) > room {
				head := prefixOf(word, room-used)
				put(head, span.Look)
				word = word[len(head):]
				next()
			}
			put(word, span.Look)
		}
	}
	return append(lines, line)
}

// words splits text before and after its blanks.
func words(text string) []string {
	var out []string
	start := 0
	for i := 1; i < len(text); i++ {
		if (text[i] == ' ') != (text[i-1] == ' ') {
			out = append(out, text[start:i])
			start = i
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// prefixOf returns the beginning of text, at most n columns wide but at least one character.
func prefixOf(text string, n int) string {
	end := 0
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if end > 0 && width(text[:end+size]) > n {
			break
		}
		end += size
	}
	return text[:end]
}
