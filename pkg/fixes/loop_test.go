package fixes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A person answers all questions with yes, or all with no.
type person struct {
	yes      bool
	asked    []string
	outcomes []OutcomeState
}

func (p *person) Begin(*Call)                        {}
func (p *person) ShowPlan(*Call, *PlanSummary) error { return nil }
func (p *person) ShowUndo(*Run, *PlanSummary) error  { return nil }
func (p *person) Progress(*Plan, Event)              {}

func (p *person) ShowOutcome(o Outcome) error {
	p.outcomes = append(p.outcomes, o.State)
	return nil
}

func (p *person) Ask(_ context.Context, question string, _ bool) (bool, error) {
	p.asked = append(p.asked, question)
	return p.yes, nil
}

// edits is the catalogue of the tests: "edit FILE" writes "good" to a file, "spoil FILE" something that does not help.
func edits(root string) func(string) *Repair {
	repair := func(name string, risk Risk, text string) *Repair {
		return &Repair{
			Name: name, Doc: name, Class: Ask, Risk: risk, Check: "contents", Params: []Param{{Name: "FILE", Doc: "a file"}},
			Plan: func(_ *snapshot.Deployment, a Args) (*Plan, error) {
				before, err := os.ReadFile(filepath.Join(root, a["FILE"]))
				if err != nil {
					return nil, err
				}
				if string(before) == text {
					return nil, Refuse("", "%s is good", a["FILE"])
				}
				return filePlan(a["FILE"], string(before), text), nil
			},
		}
	}
	all := []*Repair{repair("edit", Low, "good\n"), repair("spoil", Low, "worse\n"), repair("rebuild", High, "good\n")}
	return func(name string) *Repair {
		if i := slices.IndexFunc(all, func(r *Repair) bool { return r.Name == name }); i >= 0 {
			return all[i]
		}
		return nil
	}
}

// files is a loop on a host of files, and the check that wants all of them to be good.
func files(t *testing.T, p *person, contents map[string]string) (l *Loop, find func(context.Context) ([]Fault, error)) {
	t.Helper()
	j, err := OpenJournal(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l = &Loop{Journal: j, Cluster: &cluster.Cluster{}, Open: func(context.Context) (*cluster.Cluster, error) { return &cluster.Cluster{}, nil }, Root: t.TempDir(), Operator: p, MaxRisk: Medium, settling: 500 * time.Millisecond}
	l.Find = edits(l.Root)
	for name, text := range contents {
		put(t, &Target{Root: l.Root}, name, text, 0o644)
	}
	find = func(context.Context) ([]Fault, error) {
		var faults []Fault
		entries, err := os.ReadDir(l.Root)
		for _, e := range entries {
			text, err := os.ReadFile(filepath.Join(l.Root, e.Name()))
			if err != nil {
				return nil, err
			}
			if repair := map[string]string{"bad\n": "edit", "odd\n": "rebuild", "stuck\n": "spoil"}[string(text)]; repair != "" {
				faults = append(faults, Fault{Check: "contents", Subject: Subject{Object: "file " + e.Name()}, Title: e.Name() + " is " + string(text), Fix: l.Find(repair).With("/" + e.Name())})
			} else if string(text) != "good\n" {
				faults = append(faults, Fault{Check: "contents", Subject: Subject{Object: "file " + e.Name()}, Title: e.Name() + " is worse"})
			}
		}
		return faults, err
	}
	l.Examine = func(ctx context.Context, _ []string, _ bool) []Fault {
		faults, err := find(ctx)
		if err != nil {
			t.Error(err)
		}
		return faults
	}
	return l, find
}

// TestLoop holds what becomes of each repair, what is asked, and that the loop ends where a repair fails.
func TestLoop(t *testing.T) {
	for _, test := range []struct {
		name     string
		contents map[string]string
		set      func(*Loop, *person)
		want     []OutcomeState
		reasons  []Reason
		left     map[string]string
		asked    int
	}{
		{
			name: "yes", contents: map[string]string{"a": "bad\n", "b": "bad\n"}, set: func(*Loop, *person) {},
			want: []OutcomeState{OutcomeFixed, OutcomeFixed}, reasons: []Reason{"", ""}, left: map[string]string{"a": "good\n", "b": "good\n"}, asked: 2,
		},
		{
			name: "no", contents: map[string]string{"a": "bad\n"}, set: func(_ *Loop, p *person) { p.yes = false },
			want: []OutcomeState{OutcomeDeclined}, reasons: []Reason{""}, left: map[string]string{"a": "bad\n"}, asked: 1,
		},
		{
			name: "dry run", contents: map[string]string{"a": "bad\n"}, set: func(l *Loop, _ *person) { l.DryRun = true },
			want: []OutcomeState{OutcomePlanned}, reasons: []Reason{""}, left: map[string]string{"a": "bad\n"},
		},
		{
			name: "too risky", contents: map[string]string{"a": "odd\n", "b": "bad\n"}, set: func(l *Loop, _ *person) { l.Yes = true },
			want: []OutcomeState{OutcomeRefused, OutcomeFixed}, reasons: []Reason{TooRisky, ""}, left: map[string]string{"a": "odd\n", "b": "good\n"},
		},
		{
			name: "interrupted by one that does not help", contents: map[string]string{"a": "stuck\n", "b": "bad\n"}, set: func(l *Loop, _ *person) { l.Yes = true },
			want: []OutcomeState{OutcomeRolledBack}, reasons: []Reason{NotVerified}, left: map[string]string{"a": "stuck\n", "b": "bad\n"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := &person{yes: true}
			l, find := files(t, p, test.contents)
			test.set(l, p)
			all, err := l.Run(t.Context(), find)
			if err != nil {
				t.Fatal(err)
			}
			var reasons []Reason
			for _, f := range all {
				reasons = append(reasons, f.Outcome.Reason)
			}
			if !slices.Equal(p.outcomes, test.want) || !slices.Equal(reasons, test.reasons) || len(p.asked) != test.asked {
				t.Errorf("outcomes %q for %q after %d questions, want %q for %q after %d", p.outcomes, reasons, len(p.asked), test.want, test.reasons, test.asked)
			}
			for name, text := range test.left {
				has(t, &Target{Root: l.Root}, name, text, 0o644)
			}
		})
	}
}

// TestLoopMistake holds that a call which does not fit is a mistake, and one among others a refusal.
func TestLoopMistake(t *testing.T) {
	p := &person{}
	l, find := files(t, p, map[string]string{"a": "bad\n"})
	l.Yes = true
	if _, err := l.Repair(t.Context(), &Call{Repair: "edit", Args: []string{"/nope"}}, nil); err == nil {
		t.Error("a file that does not exist was edited")
	} else if _, ok := errors.AsType[*Mistake](err); !ok {
		t.Errorf("a file that does not exist: %T %v", err, err)
	}
	all, err := l.Run(t.Context(), func(ctx context.Context) ([]Fault, error) {
		faults, err := find(ctx)
		return append([]Fault{{Check: "contents", Subject: Subject{Object: "file z"}, Fix: &Call{Repair: "none"}}}, faults...), err
	})
	if want := []OutcomeState{OutcomeRefused, OutcomeFixed}; err != nil || !slices.Equal(p.outcomes, want) || len(all) != 2 {
		t.Errorf("outcomes %q, want %q (%v)", p.outcomes, want, err)
	}
}

// TestLoopUndo holds that what the loop repaired it undoes, if the operator agrees.
func TestLoopUndo(t *testing.T) {
	p := &person{yes: true}
	l, _ := files(t, p, map[string]string{"a": "bad\n"})
	if _, err := l.Repair(t.Context(), l.Find("edit").With("/a"), nil); err != nil {
		t.Fatal(err)
	}
	run, err := l.Journal.Last(0)
	if err != nil {
		t.Fatal(err)
	}
	if run.Object != "file a" {
		t.Errorf("the journal has it as a repair of %q", run.Object)
	}
	for _, want := range []struct {
		yes  bool
		end  OutcomeState
		text string
	}{{false, OutcomeDeclined, "good\n"}, {true, OutcomeUndone, "bad\n"}} {
		p.yes = want.yes
		if fix, err := l.Undo(t.Context(), run, "Undo it?"); err != nil || fix.Outcome.State != want.end {
			t.Errorf("undo: %q, want %q (%v)", fix.Outcome.State, want.end, err)
		}
		has(t, &Target{Root: l.Root}, "a", want.text, 0o644)
	}
	if run, err = l.Journal.run(run.ID); err != nil || run.Reason() != Asked {
		t.Errorf("the journal says that it was undone for %q, want %q (%v)", run.Reason(), Asked, err)
	}
}

// TestLoopZones holds that objects of one name in two zones are two: the repair of one is not undone because of the other.
func TestLoopZones(t *testing.T) {
	p := &person{yes: true}
	l, find := files(t, p, map[string]string{"a": "bad\n", "b": "bad\n"})
	zoned := func(ctx context.Context) []Fault {
		faults, err := find(ctx)
		if err != nil {
			t.Error(err)
		}
		for i := range faults {
			faults[i].Subject = Subject{Object: "port web", Zone: faults[i].Object}
		}
		return faults
	}
	l.Examine = func(ctx context.Context, _ []string, _ bool) []Fault { return zoned(ctx) }
	fault := zoned(t.Context())[0]
	if fix, err := l.Repair(t.Context(), fault.Fix, &fault); err != nil || fix.Outcome.State != OutcomeFixed {
		t.Errorf("the port of one zone: %q: %s (%v)", fix.Outcome.State, fix.Outcome.Why, err)
	}
	if run, err := l.Journal.Last(0); err != nil || run.Subject != fault.Subject {
		t.Errorf("the journal has it as a repair of %+v, want %+v (%v)", run, fault.Subject, err)
	}
}

// TestLoopLooks holds that only the faults of a repair that nothing asked for are looked at twice: a check that found the fault has
// done so, and an effect is waited for.
func TestLoopLooks(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault bool
		want  []bool
	}{{"by hand", false, []bool{true, false}}, {"for a fault", true, []bool{false, false}}} {
		t.Run(test.name, func(t *testing.T) {
			l, find := files(t, &person{yes: true}, map[string]string{"a": "bad\n"})
			faults, err := find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var settled []bool
			look := l.Examine
			l.Examine = func(ctx context.Context, checks []string, settle bool) []Fault {
				settled = append(settled, settle)
				return look(ctx, checks, settle)
			}
			fault := &faults[0]
			if !test.fault {
				fault = nil
			}
			fix, err := l.Repair(t.Context(), faults[0].Fix, fault)
			if err != nil || fix.Outcome.State != OutcomeFixed || !slices.Equal(settled, test.want) {
				t.Errorf("%q with the looks settled %v, want %v (%v)", fix.Outcome.State, settled, test.want, err)
			}
		})
	}
}

// TestCallKey holds that a call is known by what it does, however it is printed.
func TestCallKey(t *testing.T) {
	call := Call{Repair: "edit", Args: []string{"a", "b"}, Risk: High}
	if same := (Call{Repair: "edit", Args: []string{"a", "b"}, OneWay: "it stays"}); call.Key() != same.Key() {
		t.Error("two calls of the same are told apart")
	}
	for _, other := range []Call{{Repair: "edit", Args: []string{"a b"}}, {Repair: "edit", Args: []string{"b", "a"}}, {Repair: "spoil", Args: []string{"a", "b"}}, {Repair: "edit", Node: "node2", Args: []string{"a", "b"}}} {
		if call.Key() == other.Key() {
			t.Errorf("%v and %v are taken for one", call, other)
		}
	}
	if got, want := call.Command(), "ovnctl fix edit a b --max-risk high"; got != want {
		t.Errorf("the command is %q, want %q", got, want)
	}
	if got, want := call.At("node2").Command(), "ovnctl fix edit a b --node node2 --max-risk high"; got != want {
		t.Errorf("the command for a node is %q, want %q", got, want)
	}
}

// TestElsewhere holds that a repair for one node is not made on another, though the same could be done there.
func TestElsewhere(t *testing.T) {
	p := &person{yes: true}
	l, _ := files(t, p, map[string]string{"a": "bad\n"})
	_, err := l.Repair(t.Context(), l.Find("edit").With("/a").At("node2"), nil)
	if _, ok := errors.AsType[*Mistake](err); !ok {
		t.Errorf("a repair of node2 made here: %v, want a Mistake", err)
	}
	has(t, &Target{Root: l.Root}, "a", "bad\n", 0o644)
}
