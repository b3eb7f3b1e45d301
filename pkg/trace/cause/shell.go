package cause

import (
	"slices"
	"strings"
)

// plainInShell are the characters without special meaning to a shell.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"

// Shell quotes words for a shell.
func Shell(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		if w == "" || strings.Trim(w, plainInShell) != "" {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// Ovnctl returns a command of ovnctl with names from a database, then its flags. If a name begins with a dash, the flags
// come first and -- ends them.
func Ovnctl(command string, names []string, flags ...string) string {
	words := append(slices.Clone(names), flags...)
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "-") }) {
		words = slices.Concat(flags, []string{"--"}, names)
	}
	return "ovnctl " + command + " " + Shell(words...)
}
