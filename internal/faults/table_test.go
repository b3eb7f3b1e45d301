//go:build lab

package faults

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var update = flag.Bool("update", false, "write docs/checks/README.md")

const tablePage = "../../docs/checks/README.md"

// fromDirectory are the checks whose fault cannot be made on a lab, and why; tests of pkg/doctor show it to them in
// saved files.
var fromDirectory = map[string]string{
	"underlay-conntrack-tracks-tunnel": "the tunnels of a userspace datapath never pass the kernel's connection tracking",
	"upcall-lost-packets":              "seen live under datapath-flow-limit, which causes it; by itself it takes a CPU that is too slow",
	"hw-offload-hides-counters":        "it is a note, and no fault",
	"ovnk-zones-differ":                "the lab has no ovnkube; what the real one wrote is changed, and scripts/real/faults-ovnk.sh makes the faults on it",
}

// TestTable holds docs/checks/README.md against the faults, so that it says no more than what is made and fixed here.
func TestTable(t *testing.T) {
	want := table(t)
	if *update {
		if err := os.WriteFile(tablePage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(tablePage)
	if err != nil || string(got) != want {
		t.Errorf("docs/checks/README.md is not what the faults are (%v): go test -tags lab ./internal/faults -run TestTable -update", err)
	}
}

func table(t *testing.T) string {
	made := map[string][]fault{}
	faults := 0
	for _, st := range stages() {
		for _, f := range st.faults {
			if checks.Find(f.check) == nil {
				t.Errorf("fault %s: there is no such check", f.check)
			}
			if f.how == "" {
				t.Errorf("fault %s does not say how it is made", f.title())
			}
			made[f.check] = append(made[f.check], f)
			faults++
		}
	}
	reversible := 0
	for _, r := range catalog.Repairs {
		if r.OneWay == "" {
			reversible++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# What doctor finds

%d checks; the faults of %d of them are made for real on a lab, in %d ways, by %s: made, found with
nothing beside it that it does not explain, fixed, packets flow again, nothing is found, undone to equal values where it
can be. The others are found in captures. %d repairs, %d of them can be undone.

Each name is a page: %s prints it.

| check | finds | made by | fix |
| --- | --- | --- | --- |
`, len(checks.All), len(made), faults, "`OVNCTL_FAULTS=all go test -tags lab ./internal/faults -run TestFaults`", len(catalog.Repairs), reversible, "`ovnctl explain NAME`")
	for _, c := range checks.All {
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %s |\n", c.Name, c.Name, cell(c.Title()), cell(madeBy(t, c, made[c.Name])), cell(fixedBy(c, made[c.Name])))
	}
	return b.String()
}

func madeBy(t *testing.T, c *doctor.Check, faults []fault) string {
	if len(faults) == 0 {
		if fromDirectory[c.Name] == "" {
			t.Errorf("check %s: no fault is made for it, and nothing says why", c.Name)
		}
		return "saved files: " + fromDirectory[c.Name]
	}
	var how []string
	for _, f := range faults {
		if !slices.Contains(how, f.how) {
			how = append(how, f.how)
		}
	}
	return strings.Join(how, "; ")
}

func fixedBy(c *doctor.Check, faults []fault) string {
	var names []string
	for _, r := range catalog.Repairs {
		used := slices.ContainsFunc(faults, func(f fault) bool { return len(f.repair) > 0 && f.repair[0] == r.Name })
		if r.Check != c.Name && !used {
			continue
		}
		undo := "undo"
		if r.OneWay != "" {
			undo = "one way"
		}
		names = append(names, fmt.Sprintf("`%s` (%s, %s)", r.Name, r.Class, undo))
	}
	if names == nil {
		return "advice"
	}
	return strings.Join(names, ", ")
}

// cell is text in a cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
