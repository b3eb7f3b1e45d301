//go:build lab

package ovnexpr

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// The messages are those of ovn-trace, which reads matches as ovn-controller does.
func TestErrorsSayWhatOVNSays(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	dp := datapath(t, l)
	lines := strings.Split(strings.TrimPrefix(strings.TrimRight(wrong, "\n"), "\n"), "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		text, want := lines[i], lines[i+1]
		err := wrongMatch(text)
		var e *SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v, want a SyntaxError", text, err)
			continue
		}
		shown, mark, _ := strings.Cut(e.Caret(), "\n")
		if got := mark + " " + e.Error(); got != want || shown != text {
			t.Errorf("got\n%s\n%s\nwant\n%s\n%s", shown, got, text, want)
		}
		out, err := exec.CommandContext(t.Context(), "ovn-trace", "--db="+l.SB(), dp, text).CombinedOutput()
		if want := "error parsing flow: " + e.Error() + "\n"; string(out) != want {
			t.Errorf("%s: ovn-trace says %q (%v), want %q", text, out, err, want)
		}
	}
	t.Logf("%d errors in the words of ovn-trace", len(lines)/2)
}

func datapath(t *testing.T, l *lab.Lab) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ovn-sbctl", "--db="+l.SB(), "--bare", "--columns=_uuid", "list", "Datapath_Binding").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))[0]
}

// The messages are those of ovn-trace, which reads actions as ovn-controller does, but for what 23.03 does not know yet
// and for what is stricter here.
func TestActionErrorsSayWhatOVNSays(t *testing.T) { actionErrors(t, "") }

func actionErrors(t *testing.T, in string) {
	t.Helper()
	other := map[string]string{
		"ct_next(x);":                      "Syntax error at `(' expecting `;'.",
		"log(verdict=drop, verdict=drop);": "",
		"^X;":                              "Syntax error at `X' expecting action.", // ovn-trace has no variables
	}
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{Release: in})
	// ovn-northd would delete logical flows that are not its own.
	if out, err := l.Command(t.Context(), "central", "ovn-appctl", "-t", "ovn-northd", "pause").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dp := datapath(t, l)
	version, err := release.ParseSeries(rows(t, l, "SB_Global")[0].options()["northd_internal_version"])
	if err != nil {
		t.Fatal(err)
	}
	if version > 2303 {
		delete(other, "ct_next(x);")
		other["^X;"] = "" // logged in other words
	}
	wrong := maps.Clone(wrongActions)
	for _, w := range wrongIn {
		if w.version == version {
			wrong[w.text] = w.want
		}
	}
	args, priority := []string{"--db=" + l.SB()}, 0
	for text := range wrong {
		priority++
		args = append(args, "--", "create", "Logical_Flow", "logical_datapath="+dp, "pipeline=ingress", "table_id=0",
			fmt.Sprint("priority=", priority), `match="1"`, "actions="+strconv.Quote(text))
	}
	if out, err := exec.CommandContext(t.Context(), "ovn-sbctl", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	log, _ := l.Command(t.Context(), "central", "ovn-trace", "--db="+l.SB(), dp, "0").CombinedOutput()
	says := map[string]string{}
	for line := range strings.Lines(string(log)) {
		_, warning, _ := strings.Cut(strings.TrimSpace(line), "|WARN|")
		if text, msg, ok := strings.Cut(warning, ": parsing actions failed ("); ok {
			says[text] = strings.TrimSuffix(msg, ")")
		}
	}
	for text, want := range wrong {
		if o, ok := other[text]; ok {
			want = o
		}
		if says[text] != want {
			t.Errorf("%s\novn-trace says %q\n          want %q", text, says[text], want)
		}
	}
	t.Logf("%d errors in the words of ovn-trace, %d in others", len(wrong)-len(other), len(other))
}
