package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Write writes a document in format json or yaml.
func Write(w io.Writer, format string, doc any) error {
	switch format {
	case "json":
		return writeJSON(w, doc)
	case "yaml":
		return YAML(w, doc)
	}
	return fmt.Errorf("no format %q for a document", format)
}

// JSON writes doc, indented. Characters that a terminal would interpret are escaped, so that it is safe to view and
// still the same document.
func writeJSON(w io.Writer, doc any) error {
	e := json.NewEncoder(indenting{w})
	e.SetEscapeHTML(false)
	return e.Encode(doc)
}

// indenting writes JSON, which it gets whole and without blanks, as json.Indent would, with the characters escaped that a terminal
// would interpret. Not by SetIndent: that holds the document a second time, and takes as long as encoding it.
type indenting struct{ io.Writer }

func (in indenting) Write(text []byte) (int, error) {
	out := bufio.NewWriterSize(in.Writer, 64<<10)
	depth := 0
	line := func() {
		_ = out.WriteByte('\n') // Flush returns the error of any
		for range depth {
			_, _ = out.WriteString("  ")
		}
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			end := i + quoted(text[i:])
			_, _ = out.Write(escaped(text[i:end], escapeJSON))
			i = end - 1
		case '{', '[':
			_ = out.WriteByte(c)
			if after := text[i+1]; after == '}' || after == ']' {
				_ = out.WriteByte(after)
				i++
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			_ = out.WriteByte(c)
		case ',':
			_ = out.WriteByte(c)
			line()
		case ':':
			_, _ = out.WriteString(": ")
		default:
			_ = out.WriteByte(c)
		}
	}
	return len(text), out.Flush()
}

// quoted returns the length of the JSON string that text begins with.
func quoted(text []byte) int {
	for end := 1; ; end++ {
		end += bytes.IndexByte(text[end:], '"')
		before := bytes.TrimRight(text[1:end], `\`)
		if (end-1-len(before))%2 == 0 {
			return end + 1
		}
	}
}

// compact returns doc as JSON on one line.
func compact(doc any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// escaped replaces, using as, each character of text that is neither printable nor a line break. All of them are in
// strings.
func escaped(text []byte, as func(*bytes.Buffer, rune)) []byte {
	safe := func(r rune) bool { return ' ' <= r && r <= '~' || r == '\n' || unicode.IsPrint(r) }
	plain := 0
	for plain < len(text) && text[plain] < utf8.RuneSelf && safe(rune(text[plain])) {
		plain++
	}
	if !bytes.ContainsFunc(text[plain:], func(r rune) bool { return !safe(r) }) {
		return text // nearly always
	}
	var out bytes.Buffer
	out.Write(text[:plain])
	for _, r := range string(text[plain:]) {
		if safe(r) {
			out.WriteRune(r)
			continue
		}
		as(&out, r)
	}
	return out.Bytes()
}

func escapeJSON(out *bytes.Buffer, r rune) {
	if hi, lo := utf16.EncodeRune(r); hi != unicode.ReplacementChar {
		fmt.Fprintf(out, `\u%04x\u%04x`, hi, lo)
		return
	}
	fmt.Fprintf(out, `\u%04x`, r)
}

// escapeYAML is also for JSON read as YAML, which has no surrogate pairs.
func escapeYAML(out *bytes.Buffer, r rune) { fmt.Fprintf(out, `\U%08x`, r) }

// YAML writes doc, a struct, with the names and order of its JSON.
func YAML(w io.Writer, doc any) error {
	b, err := compact(doc)
	if err != nil {
		return err
	}
	fields := json.NewDecoder(bytes.NewReader(b))
	if _, err := fields.Token(); err != nil { // the opening brace
		return err
	}
	var out bytes.Buffer
	for fields.More() {
		name, err := fields.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := fields.Decode(&value); err != nil {
			return err
		}
		if err := writeField(&out, name, value); err != nil {
			return err
		}
	}
	_, err = w.Write(out.Bytes())
	return err
}

// writeField writes one field of a document, a list item by item: yaml keeps everything it builds for a value until
// its end, many times the size of its text.
func writeField(out *bytes.Buffer, name any, value json.RawMessage) error {
	var items []json.RawMessage
	if value[0] == '[' {
		if err := json.Unmarshal(value, &items); err != nil {
			return err
		}
	}
	if len(items) == 0 {
		text, err := toYAML(fmt.Appendf(nil, "{%q: %s}", name, value))
		out.Write(text)
		return err
	}
	for i, item := range items {
		text, err := toYAML(fmt.Appendf(nil, "{%q: [%s]}", name, item))
		if err != nil {
			return err
		}
		if i > 0 { // the name precedes the first item
			_, text, _ = bytes.Cut(text, []byte("\n"))
		}
		out.Write(text)
	}
	return nil
}

// toYAML converts JSON to block style YAML.
func toYAML(text []byte) ([]byte, error) {
	var n yaml.Node
	if err := yaml.Unmarshal(escaped(text, escapeYAML), &n); err != nil {
		return nil, err
	}
	block(&n)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&n); err != nil {
		return nil, err
	}
	if err := e.Close(); err != nil {
		return nil, err
	}
	return escaped(out.Bytes(), escapeYAML), nil
}

// block removes JSON's flow style from n and everything below it.
func block(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || plain(n.Value) {
		n.Style = 0
	} else {
		n.Style = yaml.DoubleQuotedStyle
	}
	if len(n.Content) == 0 && n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle // [] and {}
	}
	for _, c := range n.Content {
		block(c)
	}
}

// plain reports whether a string may be unquoted: YAML 1.1's words for booleans and the characters that escaped
// handles may not.
func plain(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off":
		return false
	}
	return Clean(s) == s
}
