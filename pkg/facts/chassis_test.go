package facts

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

func TestChassisNamed(t *testing.T) {
	south := new(snapshot.Southbound)
	for _, c := range []sb.ChassisIdentity{{Name: "a", Hostname: "b"}, {Name: "b", Hostname: "node-b"}, {Name: "c", Hostname: "node-c"}} {
		south.Chassis = append(south.Chassis, sb.Chassis{ChassisIdentity: c})
	}
	for names, want := range map[string]string{
		"":              "",
		"c":             "c",
		"node-c":        "c",
		"b":             "b", // a name before another's hostname
		"node-b, c":     "bc",
		"c,nowhere,":    "c",
		"nowhere, , ,b": "b",
	} {
		got := ""
		for _, c := range ChassisNamed(south, names) {
			got += c.Name
		}
		if got != want {
			t.Errorf("%q: %q, want %q", names, got, want)
		}
	}
}
