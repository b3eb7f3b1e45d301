package reach

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// pods are parties of which number i is in namespace i/size.
func pods(n, size int) []*Party {
	var out []*Party
	for i := range n {
		namespace := fmt.Sprintf("ns%d", i/size)
		name := fmt.Sprintf("%s/pod%d", namespace, i)
		out = append(out, &Party{Name: name, Kind: "pod", Namespace: namespace, match: topology.Match{Name: name, Port: &topology.Port{Name: name}}})
	}
	return out
}

// decide is a Walk that knows parties by their names.
func decide(rule func(from, to string) Cause) Walk {
	return func(_ context.Context, from, to topology.Match, _ Question) (Cause, *Likeness, error) {
		return rule(from.Name, to.Name), nil, nil
	}
}

func policy(name string) Cause {
	return Cause{Outcome: journey.Dropped, Text: "dropped by " + name, Object: &decode.Object{Kind: "ACL", Name: name, UUID: ovsdb.UUID(name), Owner: decode.Owner{Kind: "NetworkPolicy", Name: name}}}
}

// TestMatrix groups parties of random behaviour: each pair has the outcome of its row and column, whether it shares them or not.
func TestMatrix(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		parties := pods(2+rng.IntN(12), 1+rng.IntN(4))
		kinds, denied := 1+rng.IntN(4), map[[2]int]bool{}
		kind := map[string]int{}
		for _, p := range parties {
			kind[p.Name] = rng.IntN(kinds)
		}
		for range rng.IntN(6) {
			denied[[2]int{rng.IntN(kinds), rng.IntN(kinds)}] = true
		}
		odd := [2]string{parties[0].Name, parties[1].Name} // one pair of its own
		walk := decide(func(from, to string) Cause {
			switch {
			case from == odd[0] && to == odd[1] && kinds > 1:
				return policy("odd")
			case denied[[2]int{kind[from], kind[to]}]:
				return policy(fmt.Sprint(kind[to]))
			}
			return Cause{Outcome: journey.Delivered}
		})
		plan := &Plan{questions: make([]Question, 1), from: parties, to: parties}
		r, err := plan.Run(t.Context(), walk, Options{Workers: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, together := range []bool{false, true} {
			checkMatrix(t, r, r.Matrix(together), seed)
		}
	}
}

func checkMatrix(t *testing.T, r *Result, m *Matrix, seed uint64) {
	t.Helper()
	seen := 0
	for i, from := range m.From {
		for j, to := range m.To {
			for _, a := range from.Members {
				for _, b := range to.Members {
					k := slices.Index(r.From, a)*len(r.To) + slices.Index(r.To, b)
					want := journey.Outcome("")
					if p, ok := r.pair(k, r.cells[k]); ok {
						want = p.Outcome
					}
					if got := m.At(i, j); got != want && want != "" {
						t.Errorf("seed %d: %s to %s is %q, in the matrix %q", seed, a.Name, b.Name, want, got)
					}
					seen++
				}
			}
		}
	}
	if want := len(r.From) * len(r.To); seen != want {
		t.Errorf("seed %d: the matrix has %d pairs, want %d", seed, seen, want)
	}
}

// TestTogether looks at the names of groups: two namespaces, of which one denies what comes from the other.
func TestTogether(t *testing.T) {
	parties := pods(200, 100)
	walk := decide(func(from, to string) Cause {
		if strings.HasPrefix(to, "ns1/") && strings.HasPrefix(from, "ns0/") {
			return policy("deny")
		}
		return Cause{Outcome: journey.Delivered}
	})
	plan := &Plan{questions: make([]Question, 1), from: parties, to: parties}
	r, err := plan.Run(t.Context(), walk, Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Matrix(true)
	if len(m.From) != 2 || m.From[0].Name != "ns0/* (100)" || m.To[1].Name != "ns1/* (100)" {
		t.Errorf("rows %v, columns %v", names(m.From), names(m.To))
	}
	want := Tally{Pairs: 200 * 199, Delivered: 200*199 - 100*100, Dropped: 100 * 100}
	if r.Summary != want {
		t.Errorf("%+v, want %+v", r.Summary, want)
	}
	refusals := r.Refusals()
	if len(refusals) != 1 || refusals[0].Policy != "NetworkPolicy deny" || refusals[0].Pairs != 10000 || len(refusals[0].Causes) != 1 {
		t.Fatalf("%+v", refusals)
	}
	if got := refusals[0].Causes[0].Bundles; len(got) != 1 || got[0] != (Bundle{"ns0/* (100)", "ns1/* (100)"}) {
		t.Errorf("%+v", got)
	}
}

func names(groups []Group) []string {
	var out []string
	for _, g := range groups {
		out = append(out, g.Name)
	}
	return out
}

// TestUnknown keeps on when something cannot be read, and stops when nobody waits any more.
func TestUnknown(t *testing.T) {
	parties := pods(20, 20)
	plan := &Plan{questions: make([]Question, 1), from: parties, to: parties}
	r, err := plan.Run(t.Context(), func(_ context.Context, from, to topology.Match, _ Question) (Cause, *Likeness, error) {
		switch {
		case from.Name == parties[3].Name:
			return Cause{}, nil, errors.New("the connection is gone")
		case to.Name == parties[4].Name:
			return Cause{}, nil, trace.ErrNoFamily
		}
		return Cause{Outcome: journey.Delivered}, nil, nil
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Tally{Pairs: 362, Delivered: 343, Unknown: 19}); r.Summary != want || r.Unasked != 18 {
		t.Errorf("%+v and %d not asked, want %+v and 18", r.Summary, r.Unasked, want)
	}
	gone := errors.New("nothing answers")
	if _, err := plan.Run(t.Context(), func(context.Context, topology.Match, topology.Match, Question) (Cause, *Likeness, error) {
		return Cause{}, nil, gone
	}, Options{}); !errors.Is(err, gone) {
		t.Errorf("%v where nothing can be read", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := plan.Run(ctx, func(context.Context, topology.Match, topology.Match, Question) (Cause, *Likeness, error) {
		cancel()
		return Cause{}, nil, nil
	}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after the context has ended", err)
	}
}

func TestParseList(t *testing.T) {
	q := Question{Protocol: "tcp", Port: 8080, SourcePort: 40000}
	tests := []struct {
		text string
		want string // the rules, or the error
	}{
		{"# nothing\n\n", ""},
		{"shop/client -> bank/ledger tcp/8080 deny", "1 shop/client bank/ledger [tcp/8080] deny"},
		{"\n* → svc:bank/vault tcp/443,udp/53,icmp allow # all", "2 * svc:bank/vault [tcp/443 udp/53 icmp] allow"},
		{"shop/ => ops/ reject", "1 shop/ ops/ [tcp/8080] reject"},
		{"shop/ -> ops/", "list line 1: expected FROM -> TO [PROTOCOL/PORT,...] allow|deny"},
		{"shop/ ops/ tcp/80 allow", "list line 1: expected FROM -> TO [PROTOCOL/PORT,...] allow|deny"},
		{"shop/ -> ops/ permit", `list line 1: "permit": expected allow, deny, drop or reject`},
		{"shop/ -> ops/ tcp allow", `list line 1: "tcp": expected tcp/PORT, udp/PORT or icmp`},
		{"shop/ -> ops/ tcp/0 allow", `list line 1: "tcp/0": the port is one of 1 to 65535`},
		{"shop/ -> ops/ icmp/8 allow", `list line 1: "icmp/8": expected tcp/PORT, udp/PORT or icmp`},
		{"\n" + strings.Repeat("x", maxLine+1), "list line 2: longer than 65536 bytes"},
	}
	for _, test := range tests {
		rules, err := ParseList(strings.NewReader(test.text), "list", q)
		var got []string
		for _, r := range rules {
			got = append(got, fmt.Sprint(r.Line, " ", r.From, " ", r.To, " ", r.Questions, " ", r.Expected))
		}
		if err != nil {
			var list *ListError
			if !errors.As(err, &list) {
				t.Errorf("%q: %v is no ListError", test.text, err)
			}
			got = []string{err.Error()}
		}
		if text := strings.Join(got, "\n"); text != test.want {
			t.Errorf("%q:\ngot  %s\nwant %s", test.text, text, test.want)
		}
	}
}

// FuzzParseList reads what may be a list: it is understood or refused, and what is understood is understood again as it is
// written out.
func FuzzParseList(f *testing.F) {
	for _, seed := range []string{"shop/ -> bank/ tcp/80,icmp allow", "* => * deny # x", "a → b udp/53 reject\n", "->", "a -> b tcp/99999 allow"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseList(strings.NewReader(text), "list", Question{Protocol: "icmp"})
		if err != nil {
			return
		}
		var b strings.Builder
		for _, r := range rules {
			var asked []string
			for _, q := range r.Questions {
				asked = append(asked, q.String())
			}
			fmt.Fprintf(&b, "%s -> %s %s %s\n", r.From, r.To, strings.Join(asked, ","), r.Expected)
		}
		again, err := ParseList(strings.NewReader(b.String()), "list", Question{})
		if err != nil || len(again) != len(rules) {
			t.Fatalf("%q: %v, %d rules, want %d", b.String(), err, len(again), len(rules))
		}
		for i, r := range again {
			want := rules[i]
			want.Line = r.Line
			if !reflect.DeepEqual(r, want) {
				t.Errorf("%+v, want %+v", r, want)
			}
		}
	})
}
