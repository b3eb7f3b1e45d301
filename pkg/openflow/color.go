package openflow

import "strings"

// StripColors returns a text without colours, the sequences that set them (ECMA-48, SGR) or clear the rest of a line
// (EL). With colours Open vSwitch leaves a comma before some closing parentheses; it is removed too.
func StripColors(text string) string {
	var plain []byte
	colored := -1 // offset in plain of the last sequence
	for {
		i := strings.Index(text, "\x1b[")
		if i < 0 {
			return string(append(plain, text...))
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
		if sequence == "\x1b[m" && len(plain) > 0 && plain[len(plain)-1] == ',' && colored != len(plain) && strings.HasPrefix(skipColors(text), ")") {
			plain = plain[:len(plain)-1]
		}
		colored = len(plain)
	}
}

// skipColors returns s without its leading sequences, at most two.
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

// sequenceLen is the length of the colour sequence at the start of s; 0 if none.
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
