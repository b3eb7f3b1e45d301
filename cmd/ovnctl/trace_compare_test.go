//go:build lab

package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A parting makes a node's flows other than the databases say, and is what has to be said of it.
type parting struct {
	name          string
	on            string
	breaks, mends string
	again         string // what has to be done before every look, as it does not last
	saved         bool   // a capture has to say it, too
	ask           faultAsk
	kind          journey.DisagreementKind
	stage, row    string
	repair        string
}

// TestTraceDisagreements makes a node and the databases disagree in one way after the other. That they are not said to where
// nothing is broken is for TestTraceTruth.
func TestTraceDisagreements(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	web2, _ := l.Topology.Pod("shop/web-2")
	sb := "ovn-sbctl --bare --no-leader-only --db=" + l.SB()
	cookie := "cookie=0x$(" + sb + ` --columns=_uuid find Logical_Flow 'match="eth.dst == ` + web2.MAC + `"' external_ids:stage-name=ls_in_l2_lkup | cut -c1-8)/-1`
	gone, back := withoutFlows(cookie)
	ends, goesOn := withoutFlows("table=65,metadata=$(" + sb + " get Datapath_Binding $(" + sb + " get Port_Binding shop_web-2 datapath) tunnel_key),reg15=$(" + sb + " get Port_Binding shop_web-2 tunnel_key)")
	pod := ask(l, "icmp", "shop/client", "shop/web-2", "")
	pod6 := pod.v6()
	out := ask(l, "icmp", "shop/client", "internet", "")
	central := pod
	central.at = "central"
	binding := "$(" + sb + " --columns=_uuid find MAC_Binding ip=172.30.0.1 logical_port=rtoe-GR_node1)"
	learned := "until test -n \"" + binding + "\"; do " + l.Dir + "/enter shop_client ping -qc1 -W1 203.0.113.10; done >/dev/null; "
	const controller = "$(cat $OVN_RUNDIR/ovn-controller.pid)"
	for _, p := range []parting{
		{name: "deleted flow", on: "node2", breaks: gone, mends: back, ask: pod, saved: true,
			kind: journey.MissingFlow, stage: "ls_in_l2_lkup", row: "Logical_Flow", repair: "ovnctl fix restart-controller  # on node2"},
		{name: "flow edited to drop", on: "node2", breaks: gone + "; sed 's/actions=.*/actions=drop/' $OVS_RUNDIR/deleted-flows.txt | ovs-ofctl -O OpenFlow15 add-flows br-int -", mends: back, ask: pod6,
			kind: journey.EditedFlow, stage: "ls_in_l2_lkup", row: "Logical_Flow", repair: "ovnctl fix restart-controller  # on node2"},
		{name: "flow edited to lead elsewhere", on: "node2", breaks: gone + "; sed 's/set_field:0x[0-9a-f]*->reg15/set_field:0x7777->reg15/' $OVS_RUNDIR/deleted-flows.txt | ovs-ofctl -O OpenFlow15 add-flows br-int -", mends: back, ask: pod, saved: true,
			kind: journey.EditedFlow, stage: "ls_in_l2_lkup", row: "Logical_Flow", repair: "ovnctl fix restart-controller  # on node2"},
		{name: "extra flow", on: "node2", breaks: gone + "; ovs-ofctl -O OpenFlow15 add-flows br-int $OVS_RUNDIR/deleted-flows.txt; sed 's/cookie=0x[0-9a-f]*/cookie=0xdeadbeef/; s/priority=[0-9]*/priority=60000/; s/actions=.*/actions=drop/' $OVS_RUNDIR/deleted-flows.txt | ovs-ofctl -O OpenFlow15 add-flows br-int -",
			mends: "ovs-ofctl del-flows br-int cookie=0xdeadbeef/-1", ask: pod,
			kind: journey.ExtraFlow, stage: "ls_in_l2_lkup", row: "Logical_Flow", repair: "ovnctl fix restart-controller  # on node2"},
		{name: "no flow to the port", on: "node2", breaks: ends, mends: goesOn, ask: pod,
			kind: journey.MissingFlow, row: "Port_Binding shop_web-2", repair: "ovnctl fix restart-controller  # on node2"},
		{name: "stopped ovn-controller", on: "node2", breaks: "kill -STOP " + controller + "; ovn-nbctl --db=" + l.NB() + " --timeout=60 --wait=sb --name=no-web acl-add node2 to-lport 2000 'outport == \"shop_web-2\" && icmp' drop",
			mends: "kill -CONT " + controller + "; ovn-nbctl --db=" + l.NB() + " --timeout=60 --wait=hv acl-del node2 to-lport 2000 'outport == \"shop_web-2\" && icmp'", ask: pod,
			kind: journey.ControllerBehind, stage: "ls_out_acl", row: "Logical_Flow", repair: "ovnctl fix start-controller  # on node2"},
		{name: "paused ovn-northd", on: "central", breaks: "ovn-appctl -t ovn-northd pause; ovn-nbctl --timeout=1 --wait=sb sync || true",
			mends: "ovn-appctl -t ovn-northd resume; ovn-nbctl --timeout=60 --wait=hv sync", ask: central,
			kind: journey.NorthdBehind, row: "SB_Global", repair: "ovnctl fix resume-northd"},
		{name: "stale MAC binding", on: "node1", breaks: ":", mends: sb + " --all destroy MAC_Binding", ask: out,
			// The neighbour's own questions put the row right again, and the node forgets after a while that it has heard from it.
			again: learned + "ping -qc1 172.30.0.1 >/dev/null; " + sb + " set MAC_Binding " + binding + " 'mac=\"02:de:ad:be:ef:01\"'",
			kind:  journey.StaleMACBinding, stage: "lr_in_arp_resolve", row: "MAC_Binding", repair: "ovnctl fix delete-mac-binding rtoe-GR_node1 172.30.0.1"},
		{name: "no flow of a neighbour", on: "node1", breaks: learned + "until ovs-ofctl dump-flows br-int cookie=0x$(echo " + binding + " | cut -c1-8)/-1 | grep -q cookie; do sleep 0.1; done; ovs-ofctl del-flows br-int cookie=0x$(echo " + binding + " | cut -c1-8)/-1",
			mends: sb + " --all destroy MAC_Binding", ask: out, saved: true,
			kind: journey.MissingFlow, stage: "lr_in_arp_resolve", row: "MAC_Binding", repair: "ovnctl fix reinstall-mac-binding rtoe-GR_node1 172.30.0.1"},
	} {
		t.Run(p.name, func(t *testing.T) { p.try(t, l) })
	}
}

func (p parting) try(t *testing.T, l *lab.Lab) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := l.Run(ctx, p.on, "sh", "-ec", p.breaks); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := l.Run(ctx, p.on, "sh", "-ec", p.mends); err != nil {
			t.Fatal(err)
		}
	}()
	d := &traceDraw{lab: l}
	args := append(d.arguments(p.ask.tracePair), "-t", "5", "-o", "json", "--nb", l.NB(), "--sb", l.SB(), "--node-exec", l.Dir+"/enter {hostname}")
	var got result
	for found := false; !found && ctx.Err() == nil; found = len(got.trace().Disagreements) > 0 || p.again == "" {
		if _, err := l.Run(ctx, p.on, "sh", "-ec", p.again); err != nil {
			t.Fatal(err)
		}
		got = d.ovnctl(ctx, p.ask.at, args...)
	}
	tr := got.trace()
	if len(tr.Disagreements) == 0 {
		t.Fatalf("no disagreement\n%s%s", got.text(d, p.ask.tracePair), got.stderr)
	}
	x := tr.Disagreements[0]
	if x.Kind != p.kind || p.stage != "" && x.Stage != p.stage || !strings.HasPrefix(x.Row, p.row) || !strings.HasPrefix(x.Repair, p.repair) {
		t.Errorf("ovnctl says %+v, want %s in %q of %s, mended by %q", tr.Disagreements, p.kind, p.stage, p.row, p.repair)
	}
	if p.saved {
		file := filepath.Join(t.TempDir(), "lab.tar.zst")
		if c := d.ovnctl(ctx, "central", "capture", file, "-t", "5", "--node-exec", l.Dir+"/enter {hostname}"); c.code != exitOK && c.code != exitUnknown {
			t.Fatalf("capture: exit %d\n%s%s", c.code, c.stdout, c.stderr)
		}
		saved := d.ovnctl(ctx, p.ask.at, append(d.arguments(p.ask.tracePair), "-o", "json", "--offline", file)...)
		if diff := cmp.Diff(tr.Disagreements, saved.trace().Disagreements); diff != "" {
			t.Errorf("of a capture (-live +saved):\n%s", diff)
		}
	}
	if tr.Verdict.Outcome != journey.Delivered && (len(tr.Next) != 1 || tr.Next[0] != x.Repair) {
		t.Errorf("next: %q, want %q", tr.Next, x.Repair)
	}
}
