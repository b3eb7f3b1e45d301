package openflow

import "strings"

// Colors are the colours of a text, apart from the text. The OVS tools write
// them with --color.
type Colors []stroke

// A stroke is an escape sequence before byte at of the text.
type stroke struct {
	at       int
	sequence string
}

// StripColors returns a text without its colours, and the colours: those
// sequences that set colours (ECMA-48, SGR) or clear the rest of a line (EL).
// With colours Open vSwitch leaves a comma before some closing parentheses; it
// goes with them.
func StripColors(text string) (string, Colors) {
	var plain []byte
	var colors Colors
	for {
		i := strings.Index(text, "\x1b[")
		if i < 0 {
			return string(append(plain, text...)), colors
		}
		plain = append(plain, text[:i]...)
		text = text[i:]
		n := sequenceLen(text)
		if n == 0 {
			plain = append(plain, text[0])
			text = text[1:]
			continue
		}
		sequence := text[:n]
		text = text[n:]
		colored := len(colors) > 0 && colors[len(colors)-1].at == len(plain) // between the comma and here
		if sequence == "\x1b[m" && len(plain) > 0 && plain[len(plain)-1] == ',' && !colored && strings.HasPrefix(skipColors(text), ")") {
			plain = plain[:len(plain)-1]
			sequence = "," + sequence
		}
		colors = append(colors, stroke{len(plain), sequence})
	}
}

// skipColors returns s without the sequences that it begins with, which are
// two at most.
func skipColors(s string) string {
	for range 4 {
		n := 0
		if strings.HasPrefix(s, "\x1b[") {
			n = sequenceLen(s)
		}
		if n == 0 {
			return s
		}
		s = s[n:]
	}
	return s
}

// sequenceLen is the length of the colour sequence that s begins with; 0 if it
// is none.
func sequenceLen(s string) int {
	for i := len("\x1b["); i < len(s) && i < 32; i++ {
		switch c := s[i]; {
		case c == 'm' || c == 'K':
			return i + 1
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// Apply returns the plain text with its colours.
func (c Colors) Apply(plain string) string {
	var b strings.Builder
	from := 0
	for _, s := range c {
		at := max(from, min(s.at, len(plain)))
		b.WriteString(plain[from:at])
		b.WriteString(s.sequence)
		from = at
	}
	b.WriteString(plain[from:])
	return b.String()
}
