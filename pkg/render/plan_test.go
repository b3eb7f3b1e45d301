package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// The plans in testdata/plans are those of fix --dry-run -o json on a lab. Beside each is its text on terminals of 80 and
// 120 columns; OVNCTL_UPDATE=1 writes it.
func TestPlan(t *testing.T) {
	plans, err := filepath.Glob("testdata/plans/*.json")
	if err != nil || len(plans) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	for _, plan := range plans {
		document, err := os.ReadFile(plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range []int{80, 120} {
			golden := fmt.Sprintf("%s.%d", strings.TrimSuffix(plan, ".json"), width)
			t.Run(filepath.Base(golden), func(t *testing.T) {
				text := planText(t, document, width)
				if os.Getenv("OVNCTL_UPDATE") != "" {
					if err := os.WriteFile(golden, text, 0o666); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), string(text)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func planText(t *testing.T, document []byte, width int) []byte {
	t.Helper()
	var doc fixes.Document
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, f := range doc.Fixes {
		style := render.Style{Width: width}
		if err := render.Plan(&out, style, f.Call, f.Plan, "ovnctl fix undo"); err != nil {
			t.Fatal(err)
		}
		if err := render.Outcome(&out, style, f.Outcome, "ovnctl fix undo"); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}
