//go:build releases

package ovnexpr

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// Later releases write flows that the earlier do not know.
func TestReleasesLogicalFlows(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		for name, topology := range topologies() {
			t.Run(release+"/"+name, func(t *testing.T) {
				l := labtest.Own(t, topology, lab.Options{Release: release})
				understands(t, l)
				if name == lab.KubeOVN().Name {
					knowsSymbols(t, l)
					agreesOnMicroflows(t, l, 100)
				}
			})
		}
	}
}

// What is wrong with an action changes from release to release. The ovn-trace of 26.03 says it of one flow alone.
func TestReleasesActionErrors(t *testing.T) { actionErrors(t, "trixie") }

// knowsSymbols asks the ovn-trace of a lab for every symbol of the table: what it knows, the table of its release has.
func knowsSymbols(t *testing.T, l *lab.Lab) {
	t.Helper()
	release, err := release.ParseSeries(rows(t, l, "SB_Global")[0].options()["northd_internal_version"])
	if err != nil {
		t.Fatal(err)
	}
	table, dp, ask := SymbolsOf(Profile{Version: release}), datapath(t, l), ovnTrace(t, l)
	asked, known, more := map[string]bool{}, 0, []string(nil)
	for _, d := range definitions {
		if asked[d.name] {
			continue
		}
		asked[d.name] = true
		out := ask(dp, "0 && "+d.name+" == 0")
		theirs := !strings.Contains(out, "`"+d.name+"' expecting field name")
		_, ours := table.Lookup(d.name)
		switch {
		case theirs && !ours:
			t.Errorf("%s is a symbol of OVN %v: %s", d.name, release, out)
		case ours && !theirs:
			more = append(more, d.name)
		case ours:
			known++
		}
	}
	t.Logf("OVN %v: %d symbols known to both; point releases later than it know %v", release, known, more)
}
