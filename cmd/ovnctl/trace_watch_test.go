package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestTraceWatch changes what becomes of a packet, in databases with the real ovn-northd between them.
func TestTraceWatch(t *testing.T) {
	t.Parallel()
	north, south := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	ovsdbtest.Northd(t, north, south)
	south.Transact(chassisRow("n1", "node1"), `{"op":"insert","table":"Chassis_Private","row":{"name":"n1"}}`)
	north.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"sw","other_config":["map",[["subnet","192.0.2.0/24"]]],"ports":["set",[["named-uuid","a"],["named-uuid","b"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"a","row":{"name":"a","addresses":"0a:00:00:00:00:01 192.0.2.1"}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"b","row":{"name":"b","addresses":"0a:00:00:00:00:02 192.0.2.2"}}`)
	for deadline := time.Now().Add(30 * time.Second); strings.Count(south.Transact(`{"op":"select","table":"Port_Binding","columns":["_uuid"],"where":[]}`), `"uuid"`) < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("ovn-northd made no port bindings")
		}
	}
	south.Transact(`{"op":"update","table":"Port_Binding","where":[],"row":{"up":true,"chassis":` + reference(south, "Chassis", "") + `}}`)

	var mu sync.Mutex
	var out, errs strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, []string{"trace", "lsp:a", "lsp:b", "--tcp", "80", "--logical", "--watch", "30", "--nb", north.Remote(), "--sb", south.Remote()},
			strings.NewReader(""), &lockedWriter{&mu, &out}, &lockedWriter{&mu, &errs})
	}()
	read := 0
	says := func(wants ...string) {
		t.Helper()
		began := time.Now()
		for {
			mu.Lock()
			text := out.String()[read:]
			missing := ""
			for _, want := range wants {
				if !strings.Contains(text, want) {
					missing = want
				}
			}
			if missing == "" {
				read = out.Len()
			}
			mu.Unlock()
			if missing == "" {
				t.Logf("said after %v: %s", time.Since(began).Round(time.Millisecond), strings.TrimSpace(text))
				return
			}
			if time.Since(began) > 20*time.Second {
				t.Fatalf("says nothing of %q:\n%s%s", missing, text, errs.String())
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	says("DELIVERED")
	time.Sleep(500 * time.Millisecond) // for the databases to be followed
	north.Transact(`{"op":"mutate","table":"Logical_Switch","where":[],"mutations":[["acls","insert",["named-uuid","c"]]]}`,
		strings.Replace(aclRow("c", "drop", `["map",[]]`), `"ip4"`, `"tcp.dst == 80"`, 1))
	says("DROPPED, was DELIVERED", "after", "ACL on switch sw: added: drop to-lport")
	// A change elsewhere is none of the path.
	north.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"other"}}`, `{"op":"insert","table":"Load_Balancer","row":{"name":"lb1","vips":["map",[["192.0.2.9:80",""]]]}}`)
	north.Transact(`{"op":"update","table":"Logical_Switch","where":[],"row":{"acls":["set",[]]}}`)
	says("DELIVERED, was DROPPED", "ACL on switch sw: removed", "1 other change")
	north.Transact(`{"op":"update","table":"Logical_Switch","where":[["name","==","sw"]],"row":{"ports":["set",[]]}}`)
	says("cannot be traced: not found: lsp:a", "port a: removed on switch sw")
	cancel()
	if c := <-code; c != exitOK {
		t.Errorf("exit code %d: %s", c, errs.String())
	}
	refused(t, map[string]string{
		"--offline demo trace a b --watch": "--watch needs a live deployment",
		"trace a b --watch --observe 2":    "exclude each other",
		"trace a b c":                      "accepts 2 arg(s), received 3",
		"trace a b 2":                      "accepts 2 arg(s), received 3",
		"trace a b --watch 2 -o md":        "prints text or -o json",
	})
}
