//go:build lab

package ovsdb_test

import (
	"io"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// listed is a row with a column of every kind.
type listed struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	ACLs        ovsdb.Set[ovsdb.UUID] `ovsdb:"acls"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

func (listed) Table() string { return "Logical_Switch" }

type listedACL struct {
	UUID     ovsdb.UUID        `ovsdb:"_uuid"`
	Priority int               `ovsdb:"priority"`
	Match    string            `ovsdb:"match"`
	Log      bool              `ovsdb:"log"`
	Name     ovsdb.Set[string] `ovsdb:"name"`
}

func (listedACL) Table() string { return "ACL" }

// What ovn-nbctl(8) lists holds what the server has, whatever the strings in it look like.
func TestParseLists(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	nbctl := func(args ...string) string {
		return ovsdbtest.Run(t, "ovn-nbctl", append([]string{"--no-leader-only", "--db=" + s.Remote()}, args...)...)
	}
	nbctl("ls-add", "plain", "--", "ls-add", `"08442235-3924-4965-a33d-7b4c1ea5d326"`, "--", "ls-add", "a, b: [c]={d} \"e\"\n\té",
		"--", "set", "Logical_Switch", "plain", `external_ids:"a=b, c"="x}, y"`, "external_ids:true=false", "external_ids:n=5", `external_ids:empty=""`,
		"--", "acl-add", "plain", "to-lport", "1000", `ip4.src == {10.0.0.0/8} && tcp.dst == 80`, "drop",
		"--", "--log", "--name=deny", "acl-add", "plain", "to-lport", "5", "1", "allow")
	file, err := ovsdb.ParseLists("OVN_Northbound", "lists", map[string]io.Reader{
		"Logical_Switch": strings.NewReader(nbctl("list", "Logical_Switch")),
		"ACL":            strings.NewReader(nbctl("list", "ACL")),
		"NAT":            strings.NewReader(nbctl("list", "NAT")),
	})
	if err != nil || file.Damage() != "" {
		t.Fatalf("%v, damage %q", err, file.Damage())
	}
	server := s.Dial()
	switches, listedSwitches := rowsOf[listed](t, server), rowsOf[listed](t, file)
	acls, listedACLs := rowsOf[listedACL](t, server), rowsOf[listedACL](t, file)
	anyOrder := gocmp.Options{
		cmpopts.EquateEmpty(),
		cmpopts.SortSlices(func(a, b listed) bool { return a.UUID < b.UUID }),
		cmpopts.SortSlices(func(a, b listedACL) bool { return a.UUID < b.UUID }),
		cmpopts.SortSlices(func(a, b ovsdb.UUID) bool { return a < b }),
	}
	if diff := gocmp.Diff(switches, listedSwitches, anyOrder); diff != "" || len(switches) != 3 {
		t.Errorf("%d switches (-server +listed)\n%s", len(switches), diff)
	}
	if diff := gocmp.Diff(acls, listedACLs, anyOrder); diff != "" || len(acls) != 2 {
		t.Errorf("%d ACLs (-server +listed)\n%s", len(acls), diff)
	}
	if !file.Has("NAT", "") || file.Has("DNS", "") {
		t.Error("a table is known if it was listed, though empty")
	}

	// One table that is none takes nothing of the others.
	file, err = ovsdb.ParseLists("OVN_Northbound", "lists", map[string]io.Reader{
		"ACL": strings.NewReader(nbctl("list", "ACL")),
		"NAT": strings.NewReader("ovn-nbctl: unix:/run/ovn/ovnnb_db.sock: database connection failed ()\n"),
	})
	if err != nil || !strings.Contains(file.Damage(), "table NAT: line 1") || len(rowsOf[listedACL](t, file)) != 2 {
		t.Errorf("%v, damage %q", err, file.Damage())
	}
	for _, text := range []string{"name : x\n", "_uuid : x\n", "_uuid : 08442235-3924-4965-a33d-7b4c1ea5d326\nname : [a\n", "_uuid : 08442235-3924-4965-a33d-7b4c1ea5d326\nname : \"a\n"} {
		if _, err := ovsdb.ParseLists("OVN_Northbound", "lists", map[string]io.Reader{"ACL": strings.NewReader(text)}); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func rowsOf[T ovsdb.Row](t *testing.T, r ovsdb.Reader) []T {
	t.Helper()
	rows, err := ovsdb.Find[T](t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
