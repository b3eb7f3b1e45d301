package inventory

import (
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// Each word names one kind.
func TestKinds(t *testing.T) {
	seen := map[string]string{}
	for _, k := range Kinds {
		for _, name := range append([]string{k.Name}, k.Aliases...) {
			if other := seen[name]; other != "" {
				t.Errorf("%s means %s and %s", name, other, k.Name)
			}
			seen[name] = k.Name
			if KindOf(strings.ToUpper(name)) != k {
				t.Errorf("%s in capitals is not %s", name, k.Name)
			}
		}
		if items := k.Items(&topology.Graph{}); len(items) != 0 {
			t.Errorf("%s of nothing: %v", k.Name, items)
		}
	}
	if KindOf("podz") != nil {
		t.Error("podz is a kind")
	}
}

func TestCalled(t *testing.T) {
	item := Item{Name: "shop/web-1", Also: []string{"9d4e76c0-8a20-42d7-a6db-2d8238feb2a3", "shop_web-1", ""}, Namespace: "shop"}
	for text, want := range map[string]bool{
		"shop/web-1": true, "shop_web-1": true, "9d4e": true, "9d4": false, "9d4e76c0-8a20-42d7-a6db-2d8238feb2a3": true,
		"shop/": true, "bank/": false, "/": false, "": false, "web-1": false, "shop/web-*": true, "*web-?": true, "*web-??": false, "shop/web-[1]": false, "*": true,
	} {
		if got := item.Called(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// The semantics are those of kubectl's selectors.
func TestSelector(t *testing.T) {
	labelled := []map[string]string{{}, {"app": "web"}, {"app": "db", "tier": "1"}, {"neutron:name": "a b"}}
	for text, want := range map[string][]int{
		"":                       {0, 1, 2, 3},
		"app":                    {1, 2},
		"!app":                   {0, 3},
		"app=web":                {1},
		"app==web":               {1},
		" app = web ":            {1},
		"app!=web":               {0, 2, 3},
		"app in (web, db)":       {1, 2},
		"app in(web),!tier":      {1},
		"app notin (web)":        {0, 2, 3},
		"app,tier=1":             {2},
		"neutron:name=a b":       {3},
		"app=":                   {},
		"app in (web),app=db":    {},
		"tier notin (1, 2), app": {1},
	} {
		s, err := ParseSelector(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := []int{}
		for i, labels := range labelled {
			if s.Selects(labels) {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q selects %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"=x", "!", "app in web", "app in (web", "a b", "app,", ",", "in (a)", "!=x"} {
		if s, err := ParseSelector(text); err == nil {
			t.Errorf("%q is read as %v", text, s)
		}
	}
}
