package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

// Everything that completion offers has a page, and what it is called by is in its
// title.
func TestExplain(t *testing.T) {
	for _, name := range explained() {
		e, err := explain(name)
		if err != nil || e.Name != name || e.Title == "" || e.About == "" || strings.Count(e.page(), "\n") < 3 {
			t.Errorf("explain %s: %v, %q of %q\n%s", name, err, e.About, e.Name, e.page())
		}
	}
	for name, want := range map[string]string{
		"ls_in_acl":    "# ls_in_acl: ACL ingress",
		"LS_OUT_ACL":   "48  26.03\n",
		"local_output": "40  22.09.2+",
		"REG10":        "12  check_port_sec (from 22.06.0 on)",
		"ct_label":     "80-95  acl_id (from 25.03.0 on)",
		"dropped":      "A drop without an object",
	} {
		if e, err := explain(name); err != nil || !strings.Contains(strings.ToLower(e.page()), strings.ToLower(want)) {
			t.Errorf("explain %s: %v, no %q in\n%s", name, err, want, e.page())
		}
	}
	for name, want := range map[string]string{
		"ls_in_nothing":  "nothing is known of",
		"output":         "did you mean",
		"../why":         "--list-checks",
		"ls_in_acll":     "did you mean ls_acl",
		"LR_OUT_SNATT":   "did you mean lr_snat",
		"local-outpt":    "did you mean LOCAL_OUTPUT",
		"reg16":          "reg14",
		"delivred":       "did you mean delivered",
		"an uplink gone": "uplink-not-in-bridge",
	} {
		if _, err := explain(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("explain %s: %v, want %q", name, err, want)
		}
	}
}

// TestExplainJSON prints each kind of page as a document, which docs/json.md describes.
func TestExplainJSON(t *testing.T) {
	for name, about := range map[string]string{
		checks.All[0].Name: "check", catalog.Repairs[0].Name: "repair", "ls_in_acl": "stage", "local_output": "table", "reg10": "register", "dropped": "verdict",
	} {
		var out, errs strings.Builder
		var doc explanation
		code := run(t.Context(), []string{"explain", name, "-o", "json"}, strings.NewReader(""), &out, &errs)
		err := json.Unmarshal([]byte(out.String()), &doc)
		if code != exitOK || err != nil || doc.Kind != "Explanation" || doc.About != about || doc.Text == "" {
			t.Errorf("explain %s: exit code %d, %v, %s\n%s", name, code, err, errs.String(), out.String())
		}
	}
}
