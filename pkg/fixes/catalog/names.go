package catalog

import (
	"fmt"
	"strings"
)

// several are at most twenty names, for an error or a plan.
func several(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 20:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:20], ", "), len(names)-20)
	}
	return strings.Join(names, ", ")
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func orNone(ports []string) string {
	switch len(ports) {
	case 0:
		return "nothing"
	case 1:
		return "port " + ports[0]
	}
	return "each of the ports " + several(ports)
}

func nameOrUUID[U ~string](name string, id U) string {
	if name == "" {
		return string(id)
	}
	return name
}

func counted(names []string, noun string) string {
	if len(names) == 1 {
		return noun + " " + names[0]
	}
	return fmt.Sprintf("%d %ss", len(names), noun)
}
