package fixes

import (
	"encoding/json"
	"errors"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

const northboundSchema = "/usr/share/ovn/ovn-nb.ovsschema"

// What a Set derives from a row: what was there before, the guard on it, and a
// classic command that leaves the row as the transaction does.
func TestSet(t *testing.T) {
	tests := []struct {
		name    string
		port    string
		columns Row
		before  string // as JSON
		moved   string // what somebody else may set meanwhile, and the guard sees
		command string // without ovn-nbctl
	}{
		{
			"a new key", "plain", Row{"options:requested-chassis": "node-1"},
			`{"options:requested-chassis":null}`,
			"options:requested-chassis=node-9",
			"set Logical_Switch_Port plain options:requested-chassis=node-1",
		},
		{
			"a key with another value", "full", Row{"options:requested-chassis": "node-2"},
			`{"options:requested-chassis":"node-1"}`,
			"options:requested-chassis=node-9",
			"set Logical_Switch_Port full options:requested-chassis=node-2",
		},
		{
			"a key removed", "full", Row{"options:requested-chassis": nil},
			`{"options:requested-chassis":"node-1"}`,
			"options:requested-chassis=node-9",
			"remove Logical_Switch_Port full options requested-chassis",
		},
		{
			"one set and one removed", "full", Row{"options:requested-chassis": nil, "options:remote": "tcp:192.0.2.1:6642"},
			`{"options:remote":null,"options:requested-chassis":"node-1"}`,
			"options:remote=tcp:192.0.2.9:6642",
			"set Logical_Switch_Port full options:remote=tcp:192.0.2.1:6642 -- remove Logical_Switch_Port full options requested-chassis",
		},
		{
			"awkward keys and values", "plain", Row{"options:a:b": "", "options:c": `"x" y`, "options:d'e": "it's, $HOME"},
			`{"options:a:b":null,"options:c":null,"options:d'e":null}`,
			"options:c=other",
			`set Logical_Switch_Port plain 'options:"a:b"'='""' options:c='"\"x\" y"' 'options:d'\''e'='it'\''s, $HOME'`,
		},
		{
			"a string", "full", Row{"type": "router"},
			`{"type":""}`, "type=localnet",
			"set Logical_Switch_Port full type=router",
		},
		{
			"an optional boolean", "full", Row{"enabled": []bool{true}},
			`{"enabled":["set",[false]]}`, "enabled=true",
			"set Logical_Switch_Port full enabled=true",
		},
		{
			"an optional boolean that was absent", "plain", Row{"enabled": []bool{true}},
			`{"enabled":["set",[]]}`, "enabled=false",
			"set Logical_Switch_Port plain enabled=true",
		},
		{
			"a set of strings", "full", Row{"addresses": []string{"0a:00:00:00:00:02 10.0.0.2", "unknown"}},
			`{"addresses":["set",["0a:00:00:00:00:01 10.0.0.1"]]}`, "addresses=unknown",
			`set Logical_Switch_Port full addresses='["0a:00:00:00:00:02 10.0.0.2",unknown]'`,
		},
		{
			"nothing in it any more", "full", Row{"addresses": []string{}},
			`{"addresses":["set",["0a:00:00:00:00:01 10.0.0.1"]]}`, "addresses=unknown",
			"set Logical_Switch_Port full addresses='[]'",
		},
	}
	s := ovsdbtest.Start(t, northboundSchema)
	client := s.Dial()
	nbctl := func(t *testing.T, command string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), "sh", "-c", "OVN_NB_DB="+s.Remote()+" "+command).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	read := func(t *testing.T, name string) nb.LogicalSwitchPort {
		t.Helper()
		rows, err := ovsdb.Find[nb.LogicalSwitchPort](t.Context(), client, ovsdb.Where("name", "==", name))
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		return rows[0]
	}
	transact := func(t *testing.T, ops []ovsdb.Operation) {
		t.Helper()
		if _, err := client.Transact(t.Context(), ops...); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			nbctl(t, `ovn-nbctl --if-exists ls-del s && OVN_NB_DB=`+s.Remote()+` ovn-nbctl ls-add s -- lsp-add s plain -- lsp-add s full -- set Logical_Switch_Port full \
				enabled=false addresses='"0a:00:00:00:00:01 10.0.0.1"' options:requested-chassis=node-1 options:kept=yes`)
			was := read(t, test.port)
			set := Set{DB: "OVN_Northbound", Row: &was, Name: test.port, Columns: test.columns, What: "x"}
			step := set.Step()
			c := step.Changes[0]
			if c.Table != "Logical_Switch_Port" || c.UUID != was.UUID {
				t.Errorf("changes %s %s", c.Table, c.UUID)
			}
			if before, err := json.Marshal(c.Before); err != nil || string(before) != test.before {
				t.Errorf("before is %s (%v), want %s", before, err, test.before)
			}
			ops := c.operations(c.Before, c.After)
			if diff := cmp.Diff([]string{"ovn-nbctl " + test.command}, step.Classic); diff != "" {
				t.Errorf("command (-want +got)\n%s", diff)
			}
			transact(t, ops)
			ours := read(t, test.port)
			if diff := cmp.Diff(was, ours); diff == "" {
				t.Error("the transaction changes nothing")
			}
			transact(t, c.operations(c.After, c.Before))
			if diff := cmp.Diff(was, read(t, test.port)); diff != "" {
				t.Errorf("undone (-want +got)\n%s", diff)
			}
			nbctl(t, step.Classic[0])
			if diff := cmp.Diff(ours, read(t, test.port)); diff != "" {
				t.Errorf("the command leaves another row than the transaction (-transaction +command)\n%s", diff)
			}
			back := set.Back("y")
			nbctl(t, back.Classic[0])
			if diff := cmp.Diff(was, read(t, test.port)); diff != "" {
				t.Errorf("after %s (-want +got)\n%s", back.Classic, diff)
			}
			transact(t, ops)
			transact(t, back.Changes[0].operations(back.Changes[0].Before, back.Changes[0].After))
			if diff := cmp.Diff(was, read(t, test.port)); diff != "" {
				t.Errorf("back (-want +got)\n%s", diff)
			}

			nbctl(t, "ovn-nbctl set Logical_Switch_Port "+test.port+" "+test.moved)
			if _, err := client.Transact(t.Context(), ops...); !errors.Is(err, ovsdb.ErrGuard) {
				t.Errorf("after %s the transaction ends with %v", test.moved, err)
			}
		})
	}
}
