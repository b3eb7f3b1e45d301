package checks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks/host"
	"github.com/ovnctl/ovnctl/pkg/probe"
)

// A Selection selects the checks to run. Empty lists restrict nothing.
type Selection struct {
	Only       []string // names
	Skip       []string
	Categories []string
}

// Choose returns the checks of a selection, in their order. The error names an unknown name and lists the known ones.
func Choose(s Selection) ([]*doctor.Check, error) {
	for _, name := range slices.Concat(s.Only, s.Skip) {
		if Find(name) == nil {
			return nil, fmt.Errorf("no check %q%s\nhint: doctor --list-checks lists them", name, like(name))
		}
	}
	for _, c := range s.Categories {
		if !slices.Contains(Categories(), c) {
			return nil, fmt.Errorf("no category %q\nhint: the categories are %s", c, strings.Join(Categories(), ", "))
		}
	}
	var out []*doctor.Check
	for _, c := range All {
		switch {
		case len(s.Only) > 0 && !slices.Contains(s.Only, c.Name):
		case len(s.Categories) > 0 && !slices.Contains(s.Categories, c.Category):
		case slices.Contains(s.Skip, c.Name):
		default:
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the selection leaves no check to run")
	}
	return out, nil
}

// Find returns the named check; nil if there is none.
func Find(name string) *doctor.Check {
	for _, c := range All {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Categories returns the categories of all checks, in their order.
func Categories() []string {
	var out []string
	for _, c := range All {
		if !slices.Contains(out, c.Category) {
			out = append(out, c.Category)
		}
	}
	return out
}

// like suggests checks that share a word with a name.
func like(name string) string {
	var near []string
	for _, c := range All {
		for word := range strings.SplitSeq(name, "-") {
			if len(word) > 2 && strings.Contains(c.Name, word) && !slices.Contains(near, c.Name) {
				near = append(near, c.Name)
			}
		}
	}
	if len(near) == 0 || len(near) > 8 {
		return ""
	}
	return ": did you mean " + strings.Join(near, ", ") + "?"
}

// Sent returns checks with the one that packets through tunnels decide deciding by those that were sent.
func Sent(list []*doctor.Check, m *probe.Mesh) []*doctor.Check {
	list = slices.Clone(list)
	if at := slices.Index(list, host.TunnelPortBlocked); at >= 0 {
		list[at] = host.TunnelsSent(m)
	}
	return list
}
