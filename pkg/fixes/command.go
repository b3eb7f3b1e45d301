package fixes

import (
	"fmt"
	"strings"
)

// Command is a command for people to paste: as by fmt.Sprintf, but each string is
// quoted where a shell would split or expand it. Names come from databases, and
// anybody may have written them. A []string is several words.
func Command(format string, args ...any) string {
	words := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case string:
			words[i] = Word(a)
		case []string:
			quoted := make([]string, len(a))
			for j, w := range a {
				quoted[j] = Word(w)
			}
			words[i] = strings.Join(quoted, " ")
		default:
			words[i] = a
		}
	}
	return fmt.Sprintf(format, words...)
}

// Word is a string as one word for a shell: in quotes if it needs them.
func Word(s string) string {
	plain := s != ""
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r)) {
			plain = false
		}
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Command is the command that carries the call out.
func (c *Call) Command() string {
	words := append([]string{"ovnctl", "fix", c.Repair}, c.Args...)
	if c.Risk == High { // --max-risk is medium by default
		words = append(words, "--max-risk", string(c.Risk))
	}
	return Command("%s", words)
}

// Usage is the arguments of a repair as its help names them.
func (r *Repair) Usage() string {
	var words []string
	for _, p := range r.Params {
		word := p.Name
		if p.Optional {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}
