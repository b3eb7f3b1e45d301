package doctor

import (
	"fmt"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// TestSettle runs checks that find the same fault with a counter in its title that has moved, another fault, and none.
func TestSettle(t *testing.T) {
	port := Object{Kind: "port", Name: "shop_web"}
	drops := func(title string) Finding { return Finding{Object: port, Reason: "drops", Title: title} }
	flapped := Finding{Object: port, Reason: "flapping", Lasting: true, Title: "flapped 4 times"}
	for _, test := range []struct {
		name string
		runs [][]Finding // what each run finds
		want string      // the title that is left
	}{
		{"the counter has moved", [][]Finding{{drops("3 packets more")}, {drops("9 packets more")}}, "9 packets more"},
		{"gone", [][]Finding{{drops("3 packets more")}, {}}, ""},
		{"another reason", [][]Finding{{drops("same")}, {{Object: port, Reason: "unbound", Title: "same"}}}, ""},
		{"another object", [][]Finding{{drops("same")}, {{Object: Object{Kind: "port", Name: "shop_db"}, Reason: "drops", Title: "same"}}}, ""},
		{"lasting", [][]Finding{{flapped}}, "flapped 4 times"},
		{"lasting beside one that passes", [][]Finding{{drops("3 packets more"), flapped}, {{Result: Unknown, Reason: NeedsSample, Title: "needs two samples"}}}, "flapped 4 times"},
		{"unknown", [][]Finding{{{Object: port, Result: Unknown, Title: "unreachable"}}}, "unreachable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			runs := 0
			r := Examine(&snapshot.Deployment{}, []*Check{{Name: "c", Settle: true, Run: func(p *Pass) {
				if runs == len(test.runs) {
					t.Fatal("run once more than needed")
				}
				for _, f := range test.runs[runs] {
					p.Report(f)
				}
				runs++
			}}}, nil)
			var titles []string
			for _, f := range r.Findings {
				titles = append(titles, f.Title)
			}
			if got := fmt.Sprint(titles); got != fmt.Sprint(list(test.want)) {
				t.Errorf("got %s, want %q", got, test.want)
			}
			if passed := len(r.Passed) == 1; passed != (test.want == "") {
				t.Errorf("listed as passed: %v", passed)
			}
			if runs != len(test.runs) {
				t.Errorf("%d runs, want %d", runs, len(test.runs))
			}
		})
	}
}

func list(title string) []string {
	if title == "" {
		return nil
	}
	return []string{title}
}
