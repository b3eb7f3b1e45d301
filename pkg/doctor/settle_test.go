package doctor

import (
	"fmt"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// TestSettle runs checks that find the same fault with a counter in its title that has moved, another fault, and none.
func TestSettle(t *testing.T) {
	port := Object{Kind: "port", Name: "shop_web"}
	for _, test := range []struct {
		name string
		runs []Finding // what each run finds; an empty one finds nothing
		want string    // the title that is left
	}{
		{"the counter has moved", []Finding{
			{Object: port, Reason: "drops", Title: "3 packets more"},
			{Object: port, Reason: "drops", Title: "9 packets more"},
		}, "9 packets more"},
		{"gone", []Finding{{Object: port, Reason: "drops", Title: "3 packets more"}, {}}, ""},
		{"another reason", []Finding{
			{Object: port, Reason: "drops", Title: "same"},
			{Object: port, Reason: "unbound", Title: "same"},
		}, ""},
		{"another object", []Finding{
			{Object: port, Reason: "drops", Title: "same"},
			{Object: Object{Kind: "port", Name: "shop_db"}, Reason: "drops", Title: "same"},
		}, ""},
		{"lasting", []Finding{{Object: port, Lasting: true, Title: "silent for 5 s"}}, "silent for 5 s"},
		{"unknown", []Finding{{Object: port, Result: Unknown, Title: "unreachable"}}, "unreachable"},
	} {
		t.Run(test.name, func(t *testing.T) {
			runs := 0
			r := Examine(&snapshot.Deployment{}, []*Check{{Name: "c", Settle: true, Run: func(p *Pass) {
				if runs == len(test.runs) {
					t.Fatal("run once more than needed")
				}
				if f := test.runs[runs]; f.Title != "" {
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
