package fixes

import (
	"fmt"
	"slices"
	"strings"
)

// Command formats a command for people to paste: like fmt.Sprintf, but each string is quoted where a shell would split
// or expand it. Names come from databases, where anybody may have written them. A []string is several words.
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

// Word returns a string as one shell word, quoted if necessary.
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

// Command returns the command that carries out the call. If an argument begins with a dash, -- stands before it.
func (c *Call) Command() string {
	words := []string{"ovnctl", "fix", c.Repair}
	var flags []string
	if c.Node != "" {
		flags = append(flags, "--node", c.Node)
	}
	if c.Risk == High { // --max-risk is medium by default
		flags = append(flags, "--max-risk", string(c.Risk))
	}
	if slices.ContainsFunc(c.Args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		return Command("%s", slices.Concat(words, flags, []string{"--"}, c.Args))
	}
	return Command("%s", slices.Concat(words, c.Args, flags))
}

// Usage returns the arguments of a repair as its help names them.
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
