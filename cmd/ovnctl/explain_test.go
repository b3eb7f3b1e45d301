package main

import (
	"strings"
	"testing"
)

// Everything that completion offers has a page, and what it is called by is in its
// title.
func TestExplain(t *testing.T) {
	for _, name := range explained() {
		page, err := explain(name)
		if err != nil || !strings.HasPrefix(page, "# "+name+": ") || strings.Count(page, "\n") < 3 {
			t.Errorf("explain %s: %v\n%s", name, err, page)
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
		if page, err := explain(name); err != nil || !strings.Contains(strings.ToLower(page), strings.ToLower(want)) {
			t.Errorf("explain %s: %v, no %q in\n%s", name, err, want, page)
		}
	}
	for name, want := range map[string]string{"ls_in_nothing": "nothing is known of", "output": "did you mean", "../why": "nothing is known of"} {
		if _, err := explain(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("explain %s: %v, want %q", name, err, want)
		}
	}
}
