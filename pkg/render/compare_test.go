package render

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/compare"
)

// Rows of one object of a CMS that came together are one line, in both states' words; rows of nobody are lines of their own.
func TestCompareOwners(t *testing.T) {
	row := func(sign compare.Sign, kind, name, owner, uuid string) compare.Change {
		return compare.Change{Group: compare.Configuration, Change: sign, Kind: kind, Name: name, Owner: owner, UUIDB: uuid, Columns: []compare.Column{}}
	}
	changed := row(compare.Changed, "load balancer", "Service_shop/web_TCP_cluster", "Service shop/web", "4")
	changed.Columns = []compare.Column{{Name: "vips:10.96.0.10:80", A: "10.1.0.1:80", B: "10.1.0.2:80"}}
	doc := compare.Document{Comparison: compare.Comparison{
		Changes: []compare.Change{
			row(compare.Added, "port group", "a1", "NetworkPolicy shop/web", "1"),
			row(compare.Added, "ACL", "to-lport 1001 allow if ip4", "NetworkPolicy shop/web", "2"),
			row(compare.Added, "ACL", "to-lport 1001 allow if ip6", "NetworkPolicy shop/web", "3"),
			row(compare.Added, "ACL", "to-lport 1001 drop if ip4", "NetworkPolicy shop/db", "5"),
			row(compare.Added, "ACL", "to-lport 1 drop if ip4", "", "6"),
			changed,
		},
		Flows: []compare.FlowChange{
			{For: "ACL 1", Owner: "NetworkPolicy shop/web", Node: "n", Bridge: "br-int", Added: 2, Stages: []string{"ls_out_acl"}},
			{For: "ACL 2", Owner: "NetworkPolicy shop/web", Node: "n", Bridge: "br-int", Added: 3, Removed: 1, Stages: []string{"ls_out_acl", "ls_in_acl"}},
		},
	}}
	for format, want := range map[string]string{
		"table": `
configuration
  + NetworkPolicy shop/web: port group, 2 × ACL
  + NetworkPolicy shop/db, ACL to-lport 1001 drop if ip4
  + ACL to-lport 1 drop if ip4
  ~ Service shop/web, load balancer: vips:10.96.0.10:80 10.1.0.1:80 → 10.1.0.2:80

flows
  NetworkPolicy shop/web
    n br-int  +5 -1  ls_out_acl, ls_in_acl
`,
		"wide": `
configuration
  + port group a1 (NetworkPolicy shop/web)
  + ACL to-lport 1001 allow if ip4 (NetworkPolicy shop/web)
  + ACL to-lport 1001 allow if ip6 (NetworkPolicy shop/web)
  + ACL to-lport 1001 drop if ip4 (NetworkPolicy shop/db)
  + ACL to-lport 1 drop if ip4
  ~ load balancer Service_shop/web_TCP_cluster (Service shop/web)
      vips:10.96.0.10:80 10.1.0.1:80 → 10.1.0.2:80

flows
  ACL 1
    n br-int  +2  ls_out_acl
  ACL 2
    n br-int  +3 -1  ls_out_acl, ls_in_acl
`,
	} {
		var out strings.Builder
		if err := Compare(&out, Style{}, format, doc, CompareView{}); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(out.String(), "\n\n")
		got := "\n" + rest
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, got, want)
		}
	}
	if doc.Flows[0].Added != 2 {
		t.Error("the document was changed")
	}
}
