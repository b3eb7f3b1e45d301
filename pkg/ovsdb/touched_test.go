package ovsdb_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestTouched is told of each table that changes in a real server, of a lost connection, and of nothing else.
func TestTouched(t *testing.T) {
	t.Parallel()
	server := ovsdbtest.Start(t, ovsdbtest.Northbound)
	addSwitch := `{"op":"insert","table":"Logical_Switch","row":{"name":"sw"}}`
	server.Transact(addSwitch)
	var followed ovsdb.Touched
	told := make(chan []string, 10)
	ended := make(chan error)
	go func() {
		ended <- followed.Follow(t.Context(), server.Dial(), func(tables []string) { told <- tables }, &struct {
			Switches []nb.LogicalSwitch
			Routers  []nb.LogicalRouter
		}{})
	}()
	same := func(want bool, at time.Time, tables ...string) {
		t.Helper()
		if got := followed.Same(at, tables...); got != want {
			t.Errorf("%v is the same as at %v: %v", tables, at, got)
		}
	}
	known := func() {
		t.Helper()
		for limit := time.Now().Add(20 * time.Second); !followed.Same(time.Now(), "Logical_Switch"); time.Sleep(time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatal("not followed")
			}
		}
	}
	next := func(want ...string) {
		t.Helper()
		select {
		case got := <-told:
			if !slices.Equal(got, want) {
				t.Errorf("told of %q, want %q", got, want)
			}
		case err := <-ended:
			t.Fatal(err)
		case <-time.After(20 * time.Second):
			t.Fatalf("not told of %q", want)
		}
	}
	started := time.Now()
	known()
	same(false, started, "Logical_Router")
	before := time.Now()
	server.Transact(addSwitch)
	next("Logical_Switch")
	same(false, before, "Logical_Router", "Logical_Switch")
	same(true, before, "Logical_Router")
	same(true, time.Now(), "Logical_Router", "Logical_Switch")
	// ACLs are not followed: they change the switch alone.
	server.Transact(`{"op":"insert","table":"ACL","uuid-name":"acl","row":{"action":"drop","direction":"to-lport","match":"ip","priority":1}}`,
		`{"op":"mutate","table":"Logical_Switch","where":[],"mutations":[["acls","insert",["named-uuid","acl"]]]}`)
	server.Transact(`{"op":"insert","table":"Logical_Router","row":{"name":"lr"}}`)
	first := <-told
	if slices.Contains(first, "ACL") || !slices.Equal(first, []string{"Logical_Router"}) && !slices.Equal(first, []string{"Logical_Switch"}) {
		t.Errorf("told of %q", first)
	}
	server.Kill()
	for limit := time.Now().Add(20 * time.Second); followed.Same(time.Now()); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("the loss of the server is not seen")
		}
	}
	before = time.Now()
	server.Restart()
	known()
	same(false, before, "Logical_Router")
	for len(told) > 1 {
		<-told
	}
	next()
	server.Transact(addSwitch)
	next("Logical_Switch")
}
