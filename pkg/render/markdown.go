package render

import (
	"fmt"
	"io"
	"strings"
)

// markdownSpecial are the characters with a meaning within a line of Markdown or its HTML.
const markdownSpecial = "\\`*[]<>|~&"

// Markdown escapes text so that Markdown shows it unchanged: cleaned, on one line, without special characters.
func Markdown(text string) string {
	text = Clean(text)
	var b strings.Builder
	for i, r := range text {
		if strings.ContainsRune(markdownSpecial, r) || r == '_' && !inWord(text, i) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// inWord reports whether the character at i has a letter or digit on either side: there an underscore needs no
// escape.
func inWord(text string, i int) bool {
	return i > 0 && i+1 < len(text) && alphanumeric(text[i-1]) && alphanumeric(text[i+1])
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// MarkdownCode formats text as code within a line of Markdown.
func MarkdownCode(text string) string {
	text = strings.ReplaceAll(Clean(text), "|", `\|`)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// WriteMarkdownTables writes the tables that have rows, each under a heading.
func WriteMarkdownTables(w io.Writer, tables ...*Table) error {
	var b strings.Builder
	for _, t := range tables {
		if t.Len() == 0 {
			continue
		}
		if t.Title != "" {
			fmt.Fprintf(&b, "\n### %s\n\n", Markdown(t.Title))
		}
		b.WriteString("|")
		for _, h := range t.Header {
			fmt.Fprintf(&b, " %s |", Markdown(h))
		}
		b.WriteString("\n|" + strings.Repeat(" --- |", len(t.Header)) + "\n")
		for _, r := range t.rows {
			b.WriteString("|")
			for _, c := range r {
				fmt.Fprintf(&b, " %s |", Markdown(c.String()))
			}
			b.WriteString("\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
