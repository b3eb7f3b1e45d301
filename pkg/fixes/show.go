package fixes

import (
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// Summary shows each changed row: a line with its name, then its columns.
func (s Rows) Summary() StepSummary {
	out := StepSummary{What: s.What, Commands: s.Classic, lasts: true}
	for _, c := range s.Changes {
		out.Diff = append(out.Diff, c.lines()...)
		out.on = append(out.on, strings.Join([]string{s.DB, s.Zone, c.Table, string(c.UUID)}, " "))
	}
	return out
}

// lines returns the change as a diff.
func (c Change) lines() []string {
	name := c.Table
	if validUUID(c.UUID) {
		name += " " + string(c.UUID)
	}
	switch {
	case c.Before == nil:
		return append([]string{"+ " + name}, c.After.lines("+   ")...)
	case c.After == nil:
		return append([]string{"- " + name}, c.Before.lines("-   ")...)
	}
	lines := []string{"  " + name}
	for _, column := range slices.Sorted(maps.Keys(c.After)) {
		lines = append(lines, Row{column: c.Before[column]}.lines("-   ")...)
		lines = append(lines, Row{column: c.After[column]}.lines("+   ")...)
	}
	return lines
}

// lines returns the nonempty columns.
func (r Row) lines(prefix string) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if r[name] == nil {
			continue
		}
		v, err := r.value(name)
		if err != nil {
			continue
		}
		if text := shown(name, v); text != "[]" && text != "{}" && text != `""` {
			lines = append(lines, prefix+name+": "+text)
		}
	}
	return lines
}

// secretIn returns the column, or its key, that holds a secret; empty if none does.
func secretIn(name string, v ovsdb.Value) string {
	if secret.Key(name) {
		return name
	}
	if !strings.HasPrefix(string(v), `["map"`) {
		return ""
	}
	for _, key := range v.Keys() {
		if secret.Key(key) {
			return name + ":" + key
		}
	}
	return ""
}

// shown formats a value for people, without secrets.
func shown(name string, v ovsdb.Value) string {
	if key := secretIn(name, v); key != "" {
		return secret.Hidden
	}
	return secret.String(v.String())
}

// lineDiff returns the lines that differ between two texts, with up to three lines of context.
func lineDiff(before, after []byte) []string {
	a, b := textLines(before), textLines(after)
	head := commonHead(a, b)
	tail := commonTail(a[head:], b[head:])
	var lines []string
	for _, l := range a[max(0, head-3):head] {
		lines = append(lines, "  "+l)
	}
	for _, l := range a[head : len(a)-tail] {
		lines = append(lines, "- "+l)
	}
	for _, l := range b[head : len(b)-tail] {
		lines = append(lines, "+ "+l)
	}
	for _, l := range a[len(a)-tail : len(a)-tail+min(3, tail)] {
		lines = append(lines, "  "+l)
	}
	for i, l := range lines {
		if secret.In(l[2:]) {
			lines[i] = l[:2] + secret.Hidden
		}
	}
	return lines
}

// commonHead returns how many leading elements two slices share.
func commonHead[T comparable](a, b []T) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// commonTail returns how many trailing elements they share.
func commonTail[T comparable](a, b []T) int {
	n := 0
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// textLines splits a text into lines. A last line without newline is marked.
func textLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	} else {
		lines[len(lines)-1] += " \\ no newline at the end"
	}
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\n")
	}
	return lines
}
