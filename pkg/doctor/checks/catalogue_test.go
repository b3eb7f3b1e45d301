package checks

import (
	"slices"
	"testing"
)

// TestCatalogue holds that names are names, and that what explains what is no circle.
func TestCatalogue(t *testing.T) {
	if len(All) != 92 {
		t.Errorf("%d checks, want 92", len(All))
	}
	seen := map[string]bool{}
	for _, c := range All {
		if seen[c.Name] {
			t.Errorf("check %s is there twice", c.Name)
		}
		seen[c.Name] = true
		for _, cause := range c.Causes {
			if Find(cause) == nil {
				t.Errorf("check %s: there is no cause %q", c.Name, cause)
			}
		}
	}
	var walk func(name string, path []string)
	walk = func(name string, path []string) {
		if slices.Contains(path, name) {
			t.Errorf("causes go round in a circle: %v", append(path, name))
			return
		}
		for _, cause := range Find(name).Causes {
			walk(cause, append(slices.Clone(path), name))
		}
	}
	for _, c := range All {
		walk(c.Name, nil)
	}
}
