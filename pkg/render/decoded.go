package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// NamedLine writes a line of text with names in angle brackets after the numbers that have one. The line is cleaned,
// except for tabs.
func NamedLine(w io.Writer, s Style, raw string, names []decode.Name) error {
	var b strings.Builder
	room := len(raw) + len("\n")
	for _, n := range names {
		room += len("<>") + len(n.Name)
	}
	b.Grow(room)
	from := 0
	for _, n := range names {
		at := min(max(n.At, from), len(raw))
		b.WriteString(s.keepTabs(raw[from:at]))
		b.WriteString(s.paint(s.clean(n.InBrackets()), Name))
		from = at
	}
	b.WriteString(s.keepTabs(raw[from:]))
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// keepTabs cleans text in which tabs are harmless. Characters such as arrows are not redrawn.
func (s Style) keepTabs(text string) string {
	if !strings.Contains(text, "\t") {
		return Clean(text)
	}
	parts := strings.Split(text, "\t")
	for i, part := range parts {
		parts[i] = Clean(part)
	}
	return strings.Join(parts, "\t")
}

// A ListWriter writes a JSON document item by item; its last field is a list too long to hold.
type ListWriter struct {
	w     io.Writer
	begun bool
}

// NewListWriter writes the head of the document, a struct, and the list's field name.
func NewListWriter(w io.Writer, head any, field string) (*ListWriter, error) {
	var b bytes.Buffer
	if err := writeJSON(&b, head); err != nil {
		return nil, err
	}
	text, ok := bytes.CutSuffix(b.Bytes(), []byte("\n}\n"))
	if !ok {
		return nil, fmt.Errorf("the head of a document of %s is no object", field)
	}
	_, err := fmt.Fprintf(w, "%s,\n  %q: [", text, field)
	return &ListWriter{w: w}, err
}

// Item writes the next item.
func (l *ListWriter) Item(item any) error {
	b, err := compact(item)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if l.begun {
		out.WriteByte(',')
	}
	l.begun = true
	out.WriteString("\n    ")
	if err := json.Indent(&out, escaped(bytes.TrimSpace(b), escapeJSON), "    ", "  "); err != nil {
		return err
	}
	_, err = l.w.Write(out.Bytes())
	return err
}

// Close writes the end of the document.
func (l *ListWriter) Close() error {
	end := "]\n}\n"
	if l.begun {
		end = "\n  ]\n}\n"
	}
	_, err := io.WriteString(l.w, end)
	return err
}

// JSONLine writes a value as JSON on one line.
func JSONLine(w io.Writer, value any) error {
	b, err := compact(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(escaped(bytes.TrimSpace(b), escapeJSON), '\n'))
	return err
}
