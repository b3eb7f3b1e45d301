//go:build lab

package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestGetComplete compares what is listed with what OVN's and Open vSwitch's own tools list, on topologies of several CMS.
func TestGetComplete(t *testing.T) {
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN(), lab.OpenStack()} {
		t.Run(topology.Name, func(t *testing.T) {
			l := labtest.Shared(t, topology)
			n := &onNode{lab: l, node: l.Topology.Nodes[0].Name}
			for _, c := range []struct {
				kind, field string
				tool        []string
			}{
				{"switches", "uuid", []string{"ovn-nbctl", "--bare", "--columns=_uuid", "list", "Logical_Switch"}},
				{"routers", "uuid", []string{"ovn-nbctl", "--bare", "--columns=_uuid", "list", "Logical_Router"}},
				{"acls", "uuid", []string{"ovn-nbctl", "--bare", "--columns=_uuid", "list", "ACL"}},
				{"portgroups", "uuid", []string{"ovn-nbctl", "--bare", "--columns=_uuid", "list", "Port_Group"}},
				{"nat", "uuid", []string{"ovn-nbctl", "--bare", "--columns=_uuid", "list", "NAT"}},
				{"routes", "uuid", []string{"ovn-nbctl", "--bare", "--columns=_uuid", "list", "Logical_Router_Static_Route"}},
				{"policies", "uuid", []string{"ovn-nbctl", "--bare", "--columns=_uuid", "list", "Logical_Router_Policy"}},
				{"services", "uuid", []string{"ovn-nbctl", "--bare", "--columns=_uuid", "list", "Load_Balancer"}},
				{"chassis", "name", []string{"ovn-sbctl", "--bare", "--columns=name", "list", "Chassis"}},
				{"bridges", "uuid", []string{"ovs-vsctl", "--bare", "--columns=_uuid", "list", "Bridge"}},
				{"interfaces", "uuid", []string{"ovs-vsctl", "--bare", "--columns=_uuid", "list", "Interface"}},
			} {
				got := n.ovnctl(t, "get", c.kind, "-o", "json")
				var doc struct{ Items []map[string]any }
				if err := json.Unmarshal(got.stdout, &doc); err != nil || got.code != exitOK {
					t.Errorf("%s: exit %d, %v: %s", c.kind, got.code, err, got.stderr)
					continue
				}
				var listed []string
				for _, i := range doc.Items {
					value, _ := i[c.field].(string)
					listed = append(listed, value)
				}
				slices.Sort(listed)
				out, err := l.Run(t.Context(), n.node, slices.Concat(c.tool[:1], toolRemote(l, c.tool[0]), c.tool[1:])...)
				if err != nil {
					t.Fatal(err)
				}
				want := slices.Sorted(slices.Values(strings.Fields(out)))
				if !slices.Equal(listed, want) {
					t.Errorf("%s: %d listed, %s lists %d", c.kind, len(listed), c.tool[0], len(want))
				}
			}
			// Without nodes a list is the same but for what nodes alone know.
			brief, wide := n.ovnctl(t, "get", "ports", "-o", "name"), n.ovnctl(t, "get", "ports", "-o", "jsonpath={range .items[*]}{.uuid}{\"\\n\"}{end}")
			if a, b := strings.Count(string(brief.stdout), "\n"), strings.Count(string(wide.stdout), "\n"); a != b || a == 0 {
				t.Errorf("%d ports by name, %d with their interfaces", a, b)
			}
		})
	}
}

// toolRemote names the database of a classic tool.
func toolRemote(l *lab.Lab, tool string) []string {
	switch tool {
	case "ovn-nbctl":
		return []string{"--db=" + l.NB()}
	case "ovn-sbctl":
		return []string{"--db=" + l.SB()}
	}
	return nil
}
