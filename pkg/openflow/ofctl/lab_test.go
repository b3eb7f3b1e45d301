//go:build lab

package ofctl

import (
	_ "embed"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// flows are texts as people write them, right and wrong, one a line.
//
//go:embed testdata/flows.txt
var flows string

// TestFlows has ovs-ofctl read each of the flows, too: both must accept it, or refuse it in the same words.
func TestFlows(t *testing.T) {
	for flow := range strings.Lines(flows) {
		flow = strings.TrimSuffix(flow, "\n")
		out, bad := exec.CommandContext(t.Context(), "ovs-ofctl", "-O", "OpenFlow10,OpenFlow11,OpenFlow12,OpenFlow13,OpenFlow14,OpenFlow15", "parse-flow", flow).CombinedOutput()
		if _, refused := errors.AsType[*exec.ExitError](bad); bad != nil && !refused {
			t.Fatal(bad)
		}
		_, want, _ := strings.Cut(string(out), "ovs-ofctl: ")
		_, err := ParseFlow(flow, Names{})
		var got string
		if e, ok := errors.AsType[*Error](err); ok {
			got = e.Msg
		} else if err != nil {
			t.Errorf("%s: %v", flow, err)
		}
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("%s: %q, ovs-ofctl says %q", flow, got, want)
		}
	}
}
