package main

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Hosts that are judged as they are read, and then forgotten, have the same faults as hosts that are all looked at together.
func TestAllNodesSame(t *testing.T) {
	for name, tree := range redactable(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			capture := asCapture(t, tree)
			type report struct{ Findings, Passed []any }
			findings := func(args ...string) (r report) {
				var out bytes.Buffer
				run(t.Context(), append([]string{"--offline", capture, "-o", "json", "doctor"}, args...), nil, &out, io.Discard)
				if err := json.Unmarshal(out.Bytes(), &r); err != nil {
					t.Fatal(err)
				}
				return r
			}
			together := findings()
			if len(together.Passed) == 0 {
				t.Fatal("no check passed")
			}
			for _, parallel := range []string{"32", "1"} { // with one at a time the hosts are more than that
				if diff := cmp.Diff(together, findings("--all-nodes", "--parallel", parallel)); diff != "" {
					t.Errorf("(-together +one by one, %s at a time):\n%s", parallel, diff)
				}
			}
		})
	}
}
