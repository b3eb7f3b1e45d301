//go:build lab

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// compared is what differs between two states: changes, things whose flows differ, and what was not compared.
func compared(t *testing.T, n *onNode, args ...string) (changes, flows, gaps []string) {
	t.Helper()
	a := n.ovnctl(t, append([]string{"compare", "-o", "json", "--node-exec", n.lab.Dir + "/enter {hostname}"}, args...)...)
	var doc struct{ compare.Comparison }
	if err := json.Unmarshal(a.stdout, &doc); err != nil {
		t.Fatalf("%v\n%s%s", err, a.stdout, a.stderr)
	}
	want := exitFound
	if doc.Equal {
		want = exitOK
	}
	if a.code != want {
		t.Fatalf("exit %d, want %d, equal %v\n%s", a.code, want, doc.Equal, a.stderr)
	}
	for _, c := range doc.Changes {
		if c.Group != compare.Derived {
			changes = append(changes, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s", c.Change, c.Group, c.Node, c.Kind, c.Name)), " ")+columnsText(c))
		}
	}
	for _, f := range doc.Flows {
		flows = append(flows, f.For+" "+strings.Join(f.Stages, ","))
	}
	for _, g := range doc.NotCompared {
		gaps = append(gaps, g.What+": "+g.Why)
	}
	return changes, flows, gaps
}

// columnsText are the columns of a row that both states have.
func columnsText(c compare.Change) string {
	text := ""
	if c.Change == compare.Changed {
		for _, column := range c.Columns {
			text += fmt.Sprintf("; %s %s→%s", column.Name, column.A, column.B)
		}
	}
	return text
}

// settled retries what has to become true: daemons take their time.
func settled(t *testing.T, try func() string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Second) {
		diff := try()
		if diff == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(diff)
		}
		t.Logf("not yet:\n%s", diff)
	}
}

// TestCompare captures a lab, changes it, and is told what was changed and nothing else.
func TestCompare(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	n := &onNode{lab: l, node: "central"}
	nbctl := func(args ...string) string {
		return strings.TrimSpace(say(t, l, "central", append([]string{"ovn-nbctl", "--timeout=60"}, args...)...))
	}
	sbctl := func(args ...string) string {
		return strings.TrimSpace(say(t, l, "central", append([]string{"ovn-sbctl", "--timeout=60"}, args...)...))
	}
	say(t, l, "node3", "ip", "address", "add", "192.0.2.77/32", "dev", "br-ex")
	datapath := sbctl("--bare", "--columns=datapath", "find", "Port_Binding", "logical_port=rtoj-GR_node1")
	neighbour := sbctl("create", "MAC_Binding", "logical_port=rtoj-GR_node1", "ip=100.64.0.9", `mac="00:00:00:00:00:aa"`, "datapath="+datapath)
	nbctl("--wait=hv", "sync")

	// A quiet deployment captured twice: no difference at all.
	var before string
	settled(t, func() string {
		first := captured(t, n)
		before = captured(t, n)
		changes, flows, gaps := compared(t, n, first, before)
		return strings.Join(slices.Concat(changes, flows, gaps), "\n")
	})

	t.Run("live", func(t *testing.T) {
		changes, flows, gaps := compared(t, n, before, "live")
		if all := slices.Concat(changes, flows, gaps); len(all) > 0 {
			t.Errorf("nothing was changed:\n%s", strings.Join(all, "\n"))
		}
	})

	trace := func(args ...string) (code int, doc compare.PathsDocument, text string) {
		a := n.ovnctl(t, append([]string{"trace", "-o", "json", "--offline", before, "--against", "live", "--node-exec", l.Dir + "/enter {hostname}"}, args...)...)
		if err := json.Unmarshal(a.stdout, &doc); err != nil {
			t.Fatalf("%v\n%s%s", err, a.stdout, a.stderr)
		}
		return a.code, doc, string(a.stdout)
	}
	t.Run("same way", func(t *testing.T) {
		code, doc, text := trace("shop/client", "shop/web-1", "--tcp", "8080")
		if code != exitOK || !doc.Same || doc.Divergence != nil || doc.TraceB.Verdict.Outcome != journey.Delivered {
			t.Errorf("exit %d\n%s", code, text)
		}
	})

	t.Run("changed", func(t *testing.T) {
		nbctl("--type=port-group", "acl-add", "a12053346325724611644", "to-lport", "1009", "tcp.dst == 81", "drop")
		route := nbctl("--bare", "--columns=_uuid", "find", "Logical_Router_Static_Route", "ip_prefix=100.64.0.2")
		nbctl("set", "Logical_Router_Static_Route", route, "nexthop=100.64.0.3")
		sbctl("set", "MAC_Binding", neighbour, `mac="00:00:00:00:00:bb"`)
		say(t, l, "node3", "ip", "address", "del", "192.0.2.77/32", "dev", "br-ex")
		link := strings.Trim(strings.TrimSpace(say(t, l, "node1", "ovs-vsctl", "--bare", "--columns=name", "find", "Interface", "external_ids:iface-id=shop_client")), `"`)
		version := nbctl("get", "Logical_Switch_Port", "shop_client", "options:iface-id-ver")
		nbctl("set", "Logical_Switch_Port", "shop_client", "options:requested-chassis=node2")
		say(t, l, "node1", "ovs-vsctl", "del-port", link)
		say(t, l, "node2", "ovs-vsctl", "add-port", "br-int", "moved", "--", "set", "Interface", "moved", "type=internal", "external_ids:iface-id=shop_client", "external_ids:iface-id-ver="+version)
		want := []string{
			"removed nodes node1 bridge port " + link,
			"added nodes node2 bridge port moved",
			"removed nodes node3 address 192.0.2.77/32",
			"changed bindings port shop_client; chassis node1→node2",
			"changed configuration port shop_client; options:requested-chassis node1→node2",
			"added configuration ACL to-lport 1009 drop if tcp.dst == 81",
			"changed configuration route 100.64.0.2; nexthop 100.64.0.2→100.64.0.3",
			"changed learned neighbour 100.64.0.9 behind rtoj-GR_node1; mac 00:00:00:00:00:aa→00:00:00:00:00:bb",
		}
		settled(t, func() string {
			changes, flows, gaps := compared(t, n, before, "live")
			for _, made := range []string{
				"ACL to-lport 1009 drop if tcp.dst == 81 on port group a12053346325724611644 ls_out_acl",
				"route 100.64.0.2 on router ovn_cluster_router lr_in_ip_routing",
				"neighbour 100.64.0.9 behind rtoj-GR_node1 mac_binding,mac_lookup",
			} {
				if !slices.Contains(flows, made) {
					changes = append(changes, "no flows of "+made+" among:\n"+strings.Join(flows, "\n"))
				}
			}
			return cmp.Diff(want, slices.Concat(changes, gaps))
		})
	})

	t.Run("other way", func(t *testing.T) {
		code, doc, text := trace("shop/client", "shop/web-1", "--tcp", "8080")
		if code != exitFound || doc.Same || doc.Divergence == nil || doc.Divergence.A.Node != "node1" || doc.Divergence.B.Node != "node2" {
			t.Fatalf("exit %d\n%s", code, text)
		}
		if !slices.ContainsFunc(doc.Behind, func(c compare.Change) bool { return c.Group == compare.Bindings && c.Name == "shop_client" }) {
			t.Errorf("the port that moved is not behind it\n%s", text)
		}
	})
}
