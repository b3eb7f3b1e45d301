package flowtable

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// The name of a stage chooses that stage; what is the name of none, those that begin so.
func TestFilterStage(t *testing.T) {
	var all []Flow
	for _, stage := range []string{"ls_in_acl_hint", "ls_in_acl", "ls_in_acl_after_lb_eval", "ls_in_acl_after_lb_action", "ls_out_acl"} {
		all = append(all, Flow{Decoded: &decode.Flow{Meaning: decode.Meaning{Place: decode.Place{Stage: stage}}}})
	}
	all = append(all, Flow{Drop: true})
	for _, test := range []struct{ stage, want string }{
		{"", "ls_in_acl_hint ls_in_acl ls_in_acl_after_lb_eval ls_in_acl_after_lb_action ls_out_acl none"},
		{"ls_in_acl", "ls_in_acl"},
		{"LS_IN_ACL", "ls_in_acl"},
		{"ls_in_acl_after_lb", "ls_in_acl_after_lb_eval ls_in_acl_after_lb_action"},
		{"ls_in_a", "ls_in_acl_hint ls_in_acl ls_in_acl_after_lb_eval ls_in_acl_after_lb_action"},
		{"ls_in_acl_x", ""},
	} {
		var got []string
		for _, f := range (Filter{Stage: test.stage}).Select(all) {
			if f.Decoded == nil {
				got = append(got, "none")
			} else {
				got = append(got, f.Decoded.StageName())
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("--stage %s: %s, want %s", test.stage, got, test.want)
		}
	}
}
