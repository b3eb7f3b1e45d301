package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestDoctorWatch sees a finding appear and clear, each once, in databases with the real ovn-northd between them.
func TestDoctorWatch(t *testing.T) {
	t.Parallel()
	north, south := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	ovsdbtest.Northd(t, north, south)
	port := func(enabled string) {
		north.Transact(`{"op":"update","table":"Logical_Switch_Port","where":[["name","==","a"]],"row":{"enabled":` + enabled + `}}`)
	}
	north.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"sw","ports":["set",[["named-uuid","a"],["named-uuid","b"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"a","row":{"name":"a","addresses":"0a:00:00:00:00:01 192.0.2.1"}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"b","row":{"name":"b","enabled":false,"addresses":"0a:00:00:00:00:02 192.0.2.2"}}`)
	ctx, cancel := context.WithCancel(t.Context())
	out, printed := io.Pipe()
	code := make(chan int, 1)
	var errs strings.Builder
	go func() {
		code <- run(ctx, []string{"doctor", "--only", "port-administratively-disabled", "--watch", "20", "-o", "json", "--nb", north.Remote(), "--sb", south.Remote()}, strings.NewReader(""), printed, &errs)
		_ = printed.Close()
	}()
	lines := make(chan findingChange, 10)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			var c findingChange
			if err := json.Unmarshal(s.Bytes(), &c); err != nil {
				t.Errorf("not a line: %s", s.Text())
			}
			lines <- c
		}
		close(lines)
	}()
	next := func(state, object string) findingChange {
		t.Helper()
		select {
		case c := <-lines:
			if c.Kind != "FindingChange" || c.State != state || c.Finding.Object.Name != object {
				t.Fatalf("%s %s, want %s %s", c.State, c.Finding.Object.Name, state, object)
			}
			return c
		case <-time.After(30 * time.Second):
			t.Fatalf("no finding %s of %s", state, object)
		}
		panic("not reached")
	}
	next(appeared, "b")
	time.Sleep(500 * time.Millisecond) // for the databases to be followed
	port("false")
	was := next(appeared, "a")
	port("true")
	if is := next(cleared, "a"); is.Since != was.Time || !is.Time.After(was.Time) {
		t.Errorf("cleared at %v, since %v; appeared at %v", is.Time, is.Since, was.Time)
	}
	cancel()
	for c := range lines {
		t.Errorf("%s %s, once more", c.State, c.Finding.Object.Name)
	}
	if c := <-code; c != exitOK {
		t.Errorf("exit code %d: %s", c, errs.String())
	}
	refused(t, map[string]string{
		"--offline demo doctor --watch": "--watch needs a live deployment",
		"doctor --watch --fix":          "exclude each other",
		"doctor --watch 5 -o junit":     "prints table, short or json",
	})
}
