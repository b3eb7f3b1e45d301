//go:build lab

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A loss is a fault that real packets are lost by, and what watching them has to say.
type loss struct {
	name           string
	on             string
	breaks, mends  string
	ask            faultAsk
	verdict        journey.Outcome // of the flows
	result         journey.Observed
	reply          bool
	node, stage    string // where they were seen last
	sentence, next string // a part of it
}

// TestTraceObserve loses real packets at one place after the other.
func TestTraceObserve(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	sb := "ovn-sbctl --bare --no-leader-only --db=" + l.SB()
	noOutput, outputBack := withoutFlows("table=65,metadata=$(" + sb + " get Datapath_Binding $(" + sb + " get Port_Binding shop_web-2 datapath) tunnel_key),reg15=$(" + sb + " get Port_Binding shop_web-2 tunnel_key)")
	noTunnel := loss{on: "node2", breaks: "ovs-ofctl add-flow br-ex priority=60000,udp,tp_dst=6081,actions=drop", mends: "ovs-ofctl --strict del-flows br-ex priority=60000,udp,tp_dst=6081",
		ask: ask(l, "icmp", "shop/client", "shop/web-2", ""), verdict: journey.Dropped, result: journey.Confirmed, node: "node2", sentence: "no further", next: "node:node2"}
	noTunnel6 := noTunnel
	noTunnel.name, noTunnel6.name, noTunnel6.ask = "tunnel", "tunnel, IPv6", noTunnel.ask.v6()
	for _, f := range []loss{
		{name: "nothing sent", on: "node1", breaks: ":", mends: ":", ask: ask(l, "icmp", "shop/client", "bank/vault-2", ""),
			verdict: journey.Dropped, result: journey.Idle, sentence: "no traffic seen", next: "kubectl"},
		{name: "nothing lost", on: "node1", breaks: ":", mends: ":", ask: ask(l, "icmp", "shop/client", "shop/web-2", ""),
			verdict: journey.Delivered, result: journey.Confirmed, reply: true, node: "node1", sentence: "came back"},
		{name: "ACL", on: "central", breaks: "ovn-nbctl --wait=hv --name=no-web acl-add node2 to-lport 2000 'outport == \"shop_web-2\" && icmp' drop",
			mends: "ovn-nbctl --wait=hv acl-del node2 to-lport 2000 'outport == \"shop_web-2\" && icmp'", ask: ask(l, "icmp", "shop/client", "shop/web-2", "").v6(),
			verdict: journey.Dropped, result: journey.Confirmed, node: "node2", stage: "ls_out_acl", sentence: "no further", next: "ACL"},
		{name: "missing flow", on: "node2", breaks: noOutput, mends: outputBack, ask: ask(l, "icmp", "shop/client", "shop/web-2", ""),
			verdict: journey.Dropped, result: journey.Confirmed, node: "node2", sentence: "no further"},
		noTunnel, noTunnel6,
		{name: "pod", on: "shop/web-2", breaks: "nft add table inet f; nft 'add chain inet f c { type filter hook input priority 0; }'; nft add rule inet f c ip saddr 10.244.1.6 meta length 20-1500 drop", mends: "nft delete table inet f", ask: ask(l, "icmp", "shop/client", "shop/web-2", ""), // trace does not judge by lengths
			verdict: journey.Delivered, result: journey.Refuted, reply: true, node: "node2", sentence: "sent no reply", next: "kubectl -n shop exec web-2"},
		{name: "uplink", on: "node1", breaks: "ovs-ofctl add-flow br-ex priority=60000,icmp,nw_dst=203.0.113.10,actions=drop", mends: "ovs-ofctl --strict del-flows br-ex priority=60000,icmp,nw_dst=203.0.113.10",
			ask: ask(l, "icmp", "shop/client", "internet", ""), verdict: journey.Dropped, result: journey.Confirmed, node: "node1", sentence: "bridge br-ex"},
	} {
		t.Run(f.name, func(t *testing.T) { f.try(t, l) })
	}
}

func (f loss) try(t *testing.T, l *lab.Lab) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := l.Run(ctx, f.on, "sh", "-ec", f.breaks); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := l.Run(ctx, f.on, "sh", "-ec", f.mends); err != nil {
			t.Fatal(err)
		}
	}()
	d := &traceDraw{lab: l}
	args := append(d.arguments(f.ask.tracePair), "--observe", "1", "-o", "json", "--nb", l.NB(), "--node-exec", l.Dir+"/enter {hostname}")
	var got result
	if f.result == journey.Idle {
		got = d.ovnctl(ctx, f.ask.at, args...)
	} else {
		address := strings.TrimPrefix(args[2], "ip:")
		if pod, ok := l.Topology.Pod(f.ask.to); ok {
			address = pod.IPv4.Addr().String()
			if f.ask.tracePair.v6 {
				address = pod.IPv6.Addr().String()
			}
		}
		ping := l.Command(ctx, f.ask.from, "ping", "-q", "-i", "0.1", address)
		if err := ping.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = ping.Process.Kill()
			_ = ping.Wait() // it was killed
		}()
		// A busy machine may start ping late, or let it send little: that is not what is tested.
		for got = d.ovnctl(ctx, f.ask.at, args...); ctx.Err() == nil && got.trace().Observed != nil && got.trace().Observed.Packets < 3; {
			got = d.ovnctl(ctx, f.ask.at, args...)
		}
	}
	tr := got.trace()
	o := tr.Observed
	if o == nil {
		t.Fatalf("nothing observed: %s%s", got.stdout, got.stderr)
	}
	code := exitOK
	if f.verdict != journey.Delivered || f.result == journey.Refuted {
		code = exitFound
	}
	if tr.Verdict.Outcome != f.verdict || got.code != code {
		t.Errorf("verdict %s, exit code %d; want %s, %d", tr.Verdict.Outcome, got.code, f.verdict, code)
	}
	if o.Result != f.result || o.Reply != f.reply || o.Node != f.node || f.stage != "" && o.Stage != f.stage || !strings.Contains(o.Sentence, f.sentence) {
		t.Errorf("observed %+v, want %s (reply %v) on %s %s, %q", *o, f.result, f.reply, f.node, f.stage, f.sentence)
	}
	if next := fmt.Sprint(tr.Next); !strings.Contains(next, f.next) {
		t.Errorf("next %s, want %q in it", next, f.next)
	}
	if t.Failed() {
		t.Log(got.text(d, f.ask.tracePair))
	}
}
