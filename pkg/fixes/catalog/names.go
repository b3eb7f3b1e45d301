package catalog

import (
	"fmt"
	"strings"
)

// namesOf are the names of rows.
func namesOf[T any](rows []T, name func(T) string) []string {
	var names []string
	for _, r := range rows {
		names = append(names, name(r))
	}
	return names
}

// several lists at most twenty names, for an error or a plan.
func several(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 20:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:20], ", "), len(names)-20)
	}
	return strings.Join(names, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
