package inventory

import (
	"fmt"
	"slices"
	"strings"
)

// A Selector selects items by their labels, as kubectl's -l does. The zero value selects all.
type Selector []requirement

// A requirement holds for items that have the key with one of the values, or that do not.
type requirement struct {
	key    string
	values []string // any if nil
	not    bool
}

// ParseSelector parses requirements that all have to hold, separated by commas: KEY, !KEY, KEY=VALUE, KEY!=VALUE,
// KEY in (VALUE, VALUE), KEY notin (VALUE).
func ParseSelector(text string) (Selector, error) {
	var s Selector
	for rest := strings.TrimSpace(text); rest != ""; {
		end := len(rest)
		depth := 0
		for i, r := range rest {
			switch {
			case r == '(':
				depth++
			case r == ')':
				depth--
			case r == ',' && depth == 0:
				end = min(end, i)
			}
		}
		r, err := parseRequirement(strings.TrimSpace(rest[:end]))
		if err != nil {
			return nil, err
		}
		s = append(s, r)
		if end == len(rest) {
			break
		}
		if rest = strings.TrimSpace(rest[end+1:]); rest == "" {
			return nil, fmt.Errorf("label selector %q: nothing after the last comma", text)
		}
	}
	return s, nil
}

func parseRequirement(text string) (requirement, error) {
	wrong := fmt.Errorf("label selector %q: expected KEY, !KEY, KEY=VALUE, KEY!=VALUE, KEY in (VALUE, …) or KEY notin (VALUE, …)", text)
	for _, word := range []string{" in ", " in(", " notin ", " notin("} {
		key, list, ok := strings.Cut(text, word)
		if !ok {
			continue
		}
		list, closed := strings.CutSuffix(strings.TrimPrefix(strings.TrimSpace(list), "("), ")")
		key = strings.TrimSpace(key)
		if key == "" || !closed {
			return requirement{}, wrong
		}
		values := []string{}
		for v := range strings.SplitSeq(list, ",") {
			values = append(values, strings.TrimSpace(v))
		}
		return requirement{key: key, values: values, not: strings.HasPrefix(word, " notin")}, nil
	}
	key, value, equal := strings.Cut(text, "=")
	r := requirement{key: key}
	switch {
	case equal:
		r.key, r.not = strings.CutSuffix(key, "!")
		r.values = []string{strings.TrimSpace(strings.TrimPrefix(value, "="))} // also KEY==VALUE
	default:
		r.key, r.not = strings.CutPrefix(text, "!")
	}
	if r.key = strings.TrimSpace(r.key); r.key == "" || strings.ContainsAny(r.key, " ()!") {
		return requirement{}, wrong
	}
	return r, nil
}

// Selects reports whether labels fulfil all requirements. As with kubectl, KEY!=VALUE holds without the key, too.
func (s Selector) Selects(labels map[string]string) bool {
	return !slices.ContainsFunc(s, func(r requirement) bool {
		value, has := labels[r.key]
		return (has && (r.values == nil || slices.Contains(r.values, value))) == r.not
	})
}
