package expr

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// seeds adds the texts of the tables as the first inputs.
func seeds(f *testing.F, table string) {
	for _, c := range cases(table) {
		f.Add(c.in)
	}
}

// showsCaret checks that an error can say where it is.
func showsCaret(t *testing.T, err error) {
	var e *SyntaxError
	if !errors.As(err, &e) || !strings.Contains(e.Caret(), "\n") || e.Start < 0 || e.Start > e.End || e.End > len(e.Text) {
		t.Fatalf("error %#v", err)
	}
}

// What parses prints as a text that parses to an equal tree, which can be annotated and evaluated if the first can.
func FuzzMatch(f *testing.F) {
	seeds(f, matches)
	seeds(f, wrong)
	f.Add(strings.Repeat("(", 101) + "1" + strings.Repeat(")", 101))
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMatch(text)
		if err != nil {
			showsCaret(t, err)
			return
		}
		printed := m.String()
		again, err := ParseMatch(printed)
		if err != nil {
			t.Fatalf("%q prints as %q: %v", text, printed, err)
		}
		if diff := cmp.Diff(m.Root, again.Root, equalTrees); diff != "" {
			t.Fatalf("%q prints as %q (-first +second)\n%s", text, printed, diff)
		}
		first, err1 := m.Annotate(SymbolsOf(Profile{}), groups{})
		second, err2 := again.Annotate(SymbolsOf(Profile{}), groups{})
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q: %v, printed as %q: %v", text, err1, printed, err2)
		}
		if err1 != nil {
			showsCaret(t, err1)
			return
		}
		var p flow.Flow
		got, decisions := first.Evaluate(&p, testPorts)
		if got != first.Matches(&p, testPorts) || got != second.Matches(&p, testPorts) {
			t.Fatalf("%q: %v, printed as %q: %v", text, got, printed, !got)
		}
		for _, d := range decisions {
			if at := d.Leaf.Range(); at.Start < 0 || at.Start >= at.End || at.End > len(text) {
				t.Fatalf("%q: a leaf at %v", text, at)
			}
		}
	})
}

// What parses prints as a text that parses to equal actions.
func FuzzActions(f *testing.F) {
	seeds(f, actions)
	f.Add(strings.Repeat("clone{", 40))
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseActions(text)
		if err != nil {
			showsCaret(t, err)
			return
		}
		printed := a.String()
		again, err := ParseActions(printed)
		if err != nil {
			t.Fatalf("%q prints as %q: %v", text, printed, err)
		}
		if diff := cmp.Diff(a, again, equalTrees); diff != "" {
			t.Fatalf("%q prints as %q (-first +second)\n%s", text, printed, diff)
		}
		_, err1 := a.Annotate(text, SymbolsOf(Profile{}))
		_, err2 := again.Annotate(printed, SymbolsOf(Profile{}))
		if (err1 == nil) != (err2 == nil) {
			t.Fatalf("%q: %v, printed as %q: %v", text, err1, printed, err2)
		}
	})
}
