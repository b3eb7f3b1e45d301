package topology

import (
	"fmt"
	"strings"
)

// A NameError is a text that means nothing here, or several things where one was
// wanted. Its text has a line with a hint.
type NameError struct {
	Text    string
	Reason  string   // more than "no such name", where there is more to say
	Nearest []string // names that are like one that means nothing
	Matches []Match  // what an ambiguous one means
}

// maxListed is how many matches an error lists.
const maxListed = 12

func (e *NameError) Error() string {
	switch {
	case len(e.Matches) > 0:
		return e.ambiguous()
	case e.Reason != "":
		return e.nearest(e.Text + ": " + e.Reason)
	}
	return e.nearest(e.Text + ": nothing has this name")
}

func (e *NameError) nearest(msg string) string {
	if len(e.Nearest) == 0 {
		return msg
	}
	return msg + "\nhint: nearest: " + strings.Join(e.Nearest, ", ")
}

func (e *NameError) ambiguous() string {
	var names []string
	for _, m := range e.Matches[:min(len(e.Matches), maxListed)] {
		names = append(names, m.Name)
	}
	if n := len(e.Matches) - maxListed; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return fmt.Sprintf("%s: %d things match\nhint: say which: %s", e.Text, len(e.Matches), strings.Join(names, ", "))
}

// distinguish names by their UUID what has no name of its own.
func distinguish(matches []Match) {
	count := map[string]int{}
	for _, m := range matches {
		count[m.Name]++
	}
	for i := range matches {
		m := &matches[i]
		if count[m.Name] < 2 {
			continue
		}
		switch {
		case m.Kind == KindSwitch:
			m.Name = "switch:" + m.Switch.UUID
		case m.Kind == KindRouter:
			m.Name = "router:" + m.Router.UUID
		case m.Kind == KindBalancer:
			m.Name = "lb:" + m.Balancers[0].UUID
		case m.Kind == KindNode && m.Chassis != nil:
			m.Name = "chassis:" + m.Chassis.Name
		case m.Port != nil:
			m.Name = "port:" + m.Port.UUID
		}
	}
}
