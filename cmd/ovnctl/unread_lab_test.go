//go:build lab

package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestUnreadFlows has a logical flow in a real Southbound that no release can read: a packet that may hit it ends
// unknown in every mode, with the flow named, and other packets do not care.
func TestUnreadFlows(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	// ovn-northd would delete logical flows that are not its own.
	if out, err := l.Command(t.Context(), "central", "ovn-appctl", "-t", "ovn-northd", "pause").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	insertFlow(t, l, "shop_client", "ls_in_l2_lkup", "ip4.dst == 10.244.2.5", "teleport(outport, speed=5); next;")
	insertFlow(t, l, "shop_client", "ls_in_l2_lkup", "ip4.dst == 10.244.3.5 && aether.wind == 3", "next;")
	n := &onNode{lab: l, node: "central"}
	flags := []string{"--nb", l.NB(), "--sb", l.SB()}
	const stage = "ls_in_l2_lkup"
	microflow := `inport == "shop_client" && eth.src == 0a:58:0a:f4:01:06 && eth.dst == 0a:58:0a:f4:01:01 && ip4.src == 10.244.1.6 && ` +
		`ip.ttl == 64 && tcp.dst == 8080 && ip4.dst == `
	for _, ask := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"trace", "shop/client", "shop/web-2", "--tcp", "8080", "--logical"}, exitUnknown, []string{"UNKNOWN", stage, "teleport(outport, speed=5)", "priority 9000"}},
		{[]string{"trace", "shop/client", "shop/web-3", "--tcp", "8080", "--logical"}, exitUnknown, []string{"UNKNOWN", stage, "aether.wind == 3", "priority 9000"}},
		{[]string{"trace", "shop/client", "shop/web-1", "--tcp", "8080", "--logical"}, exitOK, nil},
		// What ovs-vswitchd does is known: ovn-controller passes over what it cannot read.
		{[]string{"trace", "shop/client", "shop/web-2", "--tcp", "8080", "--node-exec", l.Dir + "/enter {hostname}"}, exitOK, []string{"DELIVERED", "what the logical flows say is unknown", stage, "teleport(outport, speed=5)"}},
		{[]string{"trace", "--microflow", microflow + "10.244.2.5"}, exitUnknown, []string{stage, "teleport(outport, speed=5)", "priority 9000"}},
		{[]string{"trace", "--microflow", microflow + "10.244.3.5", "--minimal"}, exitUnknown, []string{stage, "aether.wind == 3", "priority 9000"}},
		{[]string{"trace", "--microflow", microflow + "10.244.2.5", "-o", "json"}, exitUnknown, []string{"teleport(outport, speed=5)"}},
		{[]string{"trace", "--microflow", microflow + "10.244.1.5"}, exitOK, nil},
		{[]string{"reach", "shop/client", "shop/web-2", "--tcp", "8080"}, exitUnknown, []string{stage, "teleport(outport, speed=5)"}},
		{[]string{"reach", "shop/client", "shop/web-2", "--tcp", "8080", "-o", "json"}, exitUnknown, []string{`"unknown": 1`, "teleport(outport, speed=5)"}},
		{[]string{"reach", "shop/client", "shop/web-1", "--tcp", "8080", "-o", "json"}, exitOK, []string{`"unknown": 0`}},
	} {
		got := n.ovnctl(t, append(ask.args, flags...)...)
		said := string(got.stdout) + string(got.stderr)
		if got.code != ask.code {
			t.Errorf("%q: exit %d, want %d\n%s", ask.args, got.code, ask.code, said)
		}
		for _, part := range ask.says {
			if !strings.Contains(said, part) {
				t.Errorf("%q: it does not say %q\n%s", ask.args, part, said)
			}
		}
		if ask.says == nil && strings.Contains(said, "cannot be read") {
			t.Errorf("%q: it is not on its path\n%s", ask.args, said)
		}
	}
	got := n.ovnctl(t, append([]string{"trace", "--microflow", microflow + "10.244.2.5", "-o", "json"}, flags...)...)
	var doc microflowDocument
	if err := json.Unmarshal(got.stdout, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Unread) != 1 || doc.Unread[0].Stage != stage || doc.Unread[0].Priority != 9000 {
		t.Errorf("-o json: unread is %+v", doc.Unread)
	}
}

// insertFlow writes a logical flow of priority 9000 into the switch of a port.
func insertFlow(t *testing.T, l *lab.Lab, port, stage, match, actions string) {
	t.Helper()
	net, err := logicalflow.Open(t.Context(), ovsdbtest.Dial(t, "OVN_Southbound", l.SB()))
	if err != nil {
		t.Fatal(err)
	}
	p, err := net.Port(t.Context(), port)
	if err != nil || p == nil {
		t.Fatal(port, err)
	}
	for i := range 40 {
		at := logicalflow.Table{Datapath: p.Datapath, Pipeline: logicalflow.Ingress, ID: i}
		name, err := net.Stage(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if name != stage {
			continue
		}
		if out, err := l.Run(t.Context(), "central", "ovn-sbctl", "--db="+l.SB(), "create", "Logical_Flow", "logical_datapath="+string(p.Datapath.Row.UUID),
			"pipeline=ingress", fmt.Sprint("table_id=", i), "priority=9000", "match="+strconv.Quote(match), "actions="+strconv.Quote(actions),
			"external_ids:stage-name="+stage); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	t.Fatalf("no stage %s", stage)
}
