package topology

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
)

// A NameError is a name that was not found, or that is ambiguous. Its text has a line with a hint.
type NameError struct {
	Text    string
	Reason  string   // why, if more than "not found"
	Nearest []string // similar names
	Matches []Match  // for an ambiguous name
}

// maxListed is how many matches an error lists.
const maxListed = 12

func (e *NameError) Error() string {
	switch {
	case len(e.Matches) > 0:
		return e.ambiguous()
	case e.Reason != "":
		return e.nearest(escape.Line(e.Text) + ": " + e.Reason)
	}
	return e.nearest("not found: " + escape.Line(e.Text))
}

func (e *NameError) nearest(msg string) string {
	if len(e.Nearest) == 0 {
		return msg
	}
	return msg + "\nhint: nearest: " + strings.Join(escape.Lines(e.Nearest), ", ")
}

func (e *NameError) ambiguous() string {
	var names []string
	for _, m := range e.Matches[:min(len(e.Matches), maxListed)] {
		names = append(names, escape.Line(m.Name))
	}
	if n := len(e.Matches) - maxListed; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return fmt.Sprintf("%s: %d objects match\nhint: give one of: %s", escape.Line(e.Text), len(e.Matches), strings.Join(names, ", "))
}

// distinguish replaces names that several matches share by their UUIDs.
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
