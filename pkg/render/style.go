package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"

	"github.com/clipperhouse/displaywidth"
)

// Style is what a stream can show. The command decides it once per stream, never a renderer, and never from another
// stream.
type Style struct {
	Color bool // escape sequences are allowed
	Width int  // columns available; 0 means unlimited, as for a pipe
	ASCII bool // the stream cannot show UTF-8: use only ASCII
}

// A Look is how text is styled. It never carries the meaning alone: there is always a word with it.
type Look int

// The looks.
const (
	Plain Look = iota
	Title      // a heading
	Name       // what an operator would type
	Faint      // what can be skipped
	Good
	Warn
	Bad
	Deciding // a part of a match that decided: underlined
)

// paints are the parameters of the escape sequences that begin and end a look (Select Graphic Rendition, ECMA-48).
var paints = [...]struct{ begin, end string }{
	Title: {"1", "22"},
	Name:  {"36", "0"},
	Faint: {"2", "22"},
	Good:  {"32", "0"},
	Warn:  {"33", "0"},
	Bad:   {"31;1", "0;22"},

	Deciding: {"4", "24"},
}

// paint returns text, which must be clean, styled with a look.
func (s Style) paint(text string, look Look) string {
	if !s.Color || look == Plain || text == "" {
		return text
	}
	p := paints[look]
	return "\x1b[" + p.begin + "m" + text + "\x1b[" + p.end + "m"
}

// A Span is a piece of raw text and its look.
type Span struct {
	Text string
	Look Look
}

// A Line is text in several looks. It need not be clean: the writers of this package clean it.
type Line []Span

// Text returns a Line in one look.
func Text(text string, look ...Look) Line {
	l := Plain
	if len(look) > 0 {
		l = look[0]
	}
	return Line{{Text: text, Look: l}}
}

// String returns the line without looks.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// width returns the columns of a terminal, whatever the locale.
func width(s string) int { return displaywidth.Options{}.String(s) }

// prepare returns l as this stream can show it: clean, and in ASCII if necessary.
func (s Style) prepare(l Line) Line {
	out := make(Line, 0, len(l))
	for _, span := range l {
		if span.Text == "" {
			continue
		}
		span.Text = s.clean(span.Text)
		out = append(out, span)
	}
	return out
}

func (s Style) clean(text string) string {
	text = Clean(text)
	if s.ASCII {
		text = ascii(asciiSymbols.Get().Replace(text))
	}
	return text
}

var asciiSymbols = lazy.Value[*strings.Replacer]{Make: func() *strings.Replacer {
	return strings.NewReplacer("→", "->", "←", "<-", "↔", "<->", "…", "...", "–", "-", "×", "x", "·", "-", "─", "-", "═", "=", "✗", "x", "✓", "v")
}}

// lineWidth returns the number of columns of a prepared line.
func lineWidth(l Line) int {
	n := 0
	for _, s := range l {
		n += width(s.Text)
	}
	return n
}

// painted returns a prepared line with its looks, without trailing blanks.
func (s Style) painted(l Line) string {
	var b strings.Builder
	end := len(l)
	for end > 0 && strings.TrimRight(l[end-1].Text, " ") == "" {
		end--
	}
	for i, span := range l[:end] {
		text := span.Text
		if i == end-1 {
			text = strings.TrimRight(text, " ")
		}
		b.WriteString(s.paint(text, span.Look))
	}
	return b.String()
}

// phrase joins the non-empty words.
func phrase(sep string, words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), sep)
}

// behind puts text after the word that labels it; empty if the text is.
func behind(word, text string) string {
	return when(text != "", word+" "+text)
}

// numbered puts a number after the word that labels it; empty if zero.
func numbered(word string, n int) string {
	return when(n != 0, fmt.Sprintf("%s %d", word, n))
}

// when returns text if the condition holds, else "".
func when(holds bool, text string) string {
	if !holds {
		return ""
	}
	return text
}
