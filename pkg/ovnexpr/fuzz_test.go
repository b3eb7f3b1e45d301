package ovnexpr

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/packet"
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
		var p packet.Flow
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

// What describes a packet describes one that meets it, but for ip.dscp and ip.ecn, which get lost; and what is printed of
// it describes the same packet.
func FuzzMicroflow(f *testing.F) {
	seeds(f, matches)
	for _, text := range microflows {
		f.Add(text)
	}
	f.Add("reg0 != {1, 2} && reg0 != {3, 4} && (reg0[0] || reg1[1]) && !(xxreg0[5..100] == 7)")
	keys := func(name string) (uint64, bool) {
		for key, port := range testPorts {
			if port == name {
				return key, true
			}
		}
		return 0, false
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMicroflow(text, SymbolsOf(Profile{}), groups{})
		if err != nil {
			showsCaret(t, err)
			return
		}
		_, _ = m.Inport()
		p, err := m.Flow(keys)
		if err != nil {
			showsCaret(t, err)
			return
		}
		match, err := ParseMatch(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		again, err := ParseMicroflow(match.String(), SymbolsOf(Profile{}), groups{})
		if err != nil {
			t.Fatalf("%q prints as %q: %v", text, match, err)
		}
		if q, err := again.Flow(keys); err != nil || !q.Equal(&p) {
			t.Fatalf("%q is %v, printed as %q it is %v (%v)", text, &p, match, &q, err)
		}
		c, err := match.Annotate(SymbolsOf(Profile{}), groups{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if !c.Matches(&p, everywhere{testPorts}) && !strings.Contains(c.String(), "\"") && !strings.Contains(c.String(), "ip.dscp") && !strings.Contains(c.String(), "ip.ecn") {
			t.Fatalf("%q is %v, which does not meet it", text, &p)
		}
	})
}

// everywhere is where all ports reside.
type everywhere struct{ ports }

func (everywhere) Resident(string) bool { return true }
