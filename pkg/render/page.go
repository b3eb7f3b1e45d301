package render

import (
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// Page writes a page of docs/, in Markdown: for a terminal laid out in its width, else as it is. It knows what those pages
// use: headings, paragraphs, lists, code, tables, and in lines code, emphasis and links. (A library that knows more would cost
// each start of the program half a millisecond.)
func Page(w io.Writer, s Style, page string) error {
	if s.Width > 0 {
		page = s.page(page)
	}
	_, err := io.WriteString(w, page)
	return err
}

func (s Style) page(page string) string {
	l := &pageLayout{style: s, lines: strings.Split(page, "\n")}
	for len(l.lines) > 0 {
		l.block()
	}
	return strings.TrimRight(l.out.String(), "\n") + "\n"
}

// pageLayout lays out a page, a block after another.
type pageLayout struct {
	style Style
	lines []string // that are not laid out yet
	out   strings.Builder
}

// least is the narrowest column of text; a narrower terminal breaks the lines itself.
const least = 20

const codeIndent = "    "

// Compiled when the first page is laid out, not at each start.
var listItem = pattern.New(`^( *)([-*]|\d+\.) +(.*)`)

// block lays out what the next line begins.
func (l *pageLayout) block() {
	line := l.lines[0]
	item := listItem.Get().FindStringSubmatch(line)
	switch {
	case strings.TrimSpace(line) == "":
		l.take(1)
		if !strings.HasSuffix(l.out.String(), "\n\n") && l.out.Len() > 0 {
			l.out.WriteByte('\n')
		}
	case strings.HasPrefix(line, "#"):
		l.take(1)
		l.write("", inline(strings.TrimSpace(strings.TrimLeft(line, "#")), Title))
	case strings.HasPrefix(line, "```"):
		l.take(1)
		for _, code := range l.takeWhile(func(line string) bool { return !strings.HasPrefix(line, "```") }) {
			l.code(code)
		}
		l.take(1)
	case strings.HasPrefix(line, codeIndent) && item == nil:
		for _, code := range l.takeWhile(func(line string) bool { return strings.HasPrefix(line, codeIndent) }) {
			l.code(strings.TrimPrefix(code, codeIndent))
		}
	case strings.HasPrefix(line, "|"):
		l.table(l.takeWhile(func(line string) bool { return strings.HasPrefix(line, "|") }))
	case item != nil:
		l.take(1)
		text := append([]string{item[3]}, l.takeWhile(continues)...)
		l.write(item[1]+item[2]+" ", inline(joinedLines(text), Plain))
	default:
		l.write("", inline(joinedLines(l.takeWhile(continues)), Plain))
	}
}

// continues reports whether a line goes on with the paragraph or item before it.
func continues(line string) bool {
	return strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "|") && !listItem.Get().MatchString(line)
}

func joinedLines(lines []string) string {
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, " ")
}

// take removes the next n lines.
func (l *pageLayout) take(n int) []string {
	n = min(n, len(l.lines))
	taken := l.lines[:n]
	l.lines = l.lines[n:]
	return taken
}

func (l *pageLayout) takeWhile(holds func(string) bool) []string {
	n := 0
	for n < len(l.lines) && holds(l.lines[n]) {
		n++
	}
	return l.take(n)
}

// code writes a line of code, which is not wrapped: it is there to be copied.
func (l *pageLayout) code(line string) {
	l.out.WriteString(strings.TrimRight(codeIndent+l.style.clean(line), " ") + "\n")
}

// write writes text, wrapped, beside what stands before its first line.
func (l *pageLayout) write(before string, text Line) {
	indent := width(before)
	room := max(l.style.Width-indent, least)
	for i, part := range wrap(l.style.prepare(text), room, room) {
		if i > 0 {
			before = strings.Repeat(" ", indent)
		}
		l.out.WriteString(strings.TrimRight(before+l.style.painted(part), " ") + "\n")
	}
}

// table writes a table in columns if it fits, else each row as an item that begins with its first cell.
func (l *pageLayout) table(lines []string) {
	t := &Table{}
	for n, line := range lines {
		cells := tableCells(line)
		switch {
		case n == 0:
			t.Header = cells
			continue
		case n == 1: // dashes
			continue
		}
		row := make([]Line, len(t.Header))
		for i, cell := range cells[:min(len(cells), len(row))] {
			row[i] = inline(cell, Plain)
		}
		t.Row(row...)
	}
	if t.width() <= l.style.Width && t.write(&l.out, l.style, false) == nil {
		return
	}
	for _, cells := range t.rows {
		text := cells[0]
		separator := ": "
		for _, c := range cells[1:] {
			if c.String() != "" {
				text = append(append(text, Span{separator, Plain}), c...)
				separator = "; "
			}
		}
		l.write("- ", text)
	}
}

// tableCells returns the cells of a row, which are separated by unescaped bars.
func tableCells(line string) []string {
	const bar = "\x00"
	line = strings.Trim(strings.TrimSpace(strings.ReplaceAll(line, `\|`, bar)), "|")
	cells := strings.Split(line, "|")
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(strings.TrimSpace(c), bar, "|")
	}
	return cells
}

// inlineMark is code, a link, emphasis or an escaped character.
var inlineMark = pattern.New("``? ?(.+?) ?``?" + `|\[([^\]]*)\]\([^)]*\)|<(https?:[^>]*)>|\*\*(.+?)\*\*|\*([^* ][^*]*)\*|\\([[:punct:]])`)

// inline returns a text without its marks.
func inline(text string, look Look) Line {
	var line Line
	for text != "" {
		m := inlineMark.Get().FindStringSubmatchIndex(text)
		if m == nil {
			return append(line, Span{text, look})
		}
		if m[0] > 0 {
			line = append(line, Span{text[:m[0]], look})
		}
		group := func(n int) string { return text[m[2*n]:m[2*n+1]] }
		switch {
		case m[2] >= 0:
			line = append(line, Span{group(1), Name})
		case m[4] >= 0: // of a link, its text
			line = append(line, inline(group(2), look)...)
		case m[6] >= 0:
			line = append(line, Span{group(3), look})
		case m[8] >= 0:
			line = append(line, inline(group(4), Title)...)
		case m[10] >= 0:
			line = append(line, inline(group(5), Title)...)
		default:
			line = append(line, Span{group(6), look})
		}
		text = text[m[1]:]
	}
	return line
}
