package ovnexpr

import "testing"

// What OVN 26.03's ovn-trace writes for flows in table 0 of an ingress pipeline.
var canonical = map[string]string{
	"next(table=5);":                                             "next(5);",
	"ct_commit { drop; };":                                       "ct_commit;",
	"ct_lb_mark(backends=);":                                     "ct_lb_mark;",
	"ct_lb_mark_local();":                                        "ct_lb_mark_local;",
	"ct_commit { ct_mark[7]=1; };":                               "ct_commit { ct_mark[7] = 1; };",
	`fwd_group(liveness=true,childports="a");`:                   `fwd_group(liveness="true", childports="a");`,
	`fwd_group(liveness="false", childports="a", "b");`:          `fwd_group(childports="a", "b");`,
	"fwd_group(childports=);":                                    "fwd_group();",
	`ct_lb_mark_local(backends="a":[fd00::1]:80);`:               `ct_lb_mark_local(backends="a":[fd00::1]:80);`,
	`trigger_event(event="empty_lb_backends",vip="1.1.1.1:80");`: `trigger_event(event = "empty_lb_backends", vip = "1.1.1.1:80");`,
}

func TestCanonical(t *testing.T) {
	for text, want := range canonical {
		a, err := ParseActions(text)
		if err != nil || len(a) != 1 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := Canonical(a[0], 2603, Place{Pipeline: "ingress"}); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
