//go:build lab

package main

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A logicalAsk is a question to the logical flows, and a part of what is printed for it.
type logicalAsk struct {
	args string
	code int
	says string
}

// TestTraceLogical asks without any node in reach, for what packets are not sent for elsewhere: options, addresses of
// routers and of nobody, several ways.
func TestTraceLogical(t *testing.T) {
	t.Run("ovn-kubernetes", func(t *testing.T) {
		l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
		for _, nbctl := range []string{
			"--ecmp lr-route-add GR_node1 0.0.0.0/0 172.30.0.12 rtoe-GR_node1",
			"--ecmp-symmetric-reply lr-route-add GR_node3 192.0.2.0/24 172.30.0.1 rtoe-GR_node3",
		} {
			if _, err := l.Run(t.Context(), "central", "sh", "-c", "ovn-nbctl --wait=sb "+nbctl); err != nil {
				t.Fatal(err)
			}
		}
		askLogical(t, l, []logicalAsk{
			{"shop/client svc:shop/web --tcp 80", exitOK, "all 3 backends receive the packet"},
			{"shop/client svc:shop/web --tcp 80 --backend 10.244.3.5", exitOK, "shop/web-3 on node3 receives the packet"},
			{"shop/client svc:shop/web --tcp 80 --backend [fd00:10:244:3::5]:8080 -6", exitOK, "shop/web-3 on node3 receives the packet"},
			{"shop/client svc:shop/web --tcp 80 --backend 10.244.3.5:81", exitUsage, "the service has no such backend"},
			{"shop/client svc:shop/web --tcp 80 --backend web-3", exitUsage, "expected an address"},
			{"shop/client shop/web-1 --length 20", exitUsage, "expected 60 to 65535"},
			{"shop/client 203.0.113.10", exitOK, "the packet arrives on all 2 paths"},
			{"shop/client ip:10.244.1.1", exitOK, "OVN replies to the packet itself"},
			{"shop/client 10.244.2.99", exitFound, "CONSUMED"},
			{"shop/client ip:10.96.0.10 --tcp 81", exitFound, "no load balancer on its path takes tcp 81"},
			{"203.0.113.10 ip:172.30.0.113 --tcp 30080 --backend 10.244.1.5", exitOK, "shop/web-1 on node1 receives the packet"},
			{"203.0.113.10 shop/web-1", exitFound, "has no route to a private address"},
			{"203.0.113.10 172.30.0.99", exitFound, "nothing answers for 172.30.0.99 on the underlay"},
			{"node:node1 node:node2 -6", exitOK, "the host node2 receives the packet"},
			{"node:node1 shop/web-2 --tcp 8080", exitOK, "10.244.1.2:40000 → 10.244.2.5:8080"},
			{"bank/vault-1 node:node2", exitOK, "node2"},
			{"192.0.2.7 ip:172.30.0.113 --tcp 30080", exitOK, "all 3 backends"},
			{"svc:shop/web shop/client", exitUsage, "a service sends no packets"},
			{"lrp:rtos-node1 shop/client", exitUsage, "a router port starts no connections"},
			{"shop/client bank/ledger --tcp 8080 --why-not", exitFound, "verified"},
			{"shop/client shop/web-2 --tcp 8080 -v", exitOK, "ls_in_l2_lkup"},
		})
		unreachable(t, l)
	})
	t.Run("openstack", func(t *testing.T) {
		l := labtest.Own(t, lab.OpenStack(), lab.Options{})
		askLogical(t, l, []logicalAsk{
			{"vm:web vm:store --tcp 80", exitOK, "store on node2 receives the packet"},
			{"vm:web 203.0.113.10 --tcp 80 --length 1500", exitFound, "it is larger than"},
			{"vm:web 203.0.113.10 --tcp 80 --length 1300", exitOK, "a reply from there comes back"},
			{"vm:web 10.1.1.2 --udp 53 --dns private.cloud.example", exitOK, "OVN replies to the packet itself"},
			{"203.0.113.10 172.30.0.121 --tcp 22", exitOK, "receives the packet"},
			{"203.0.113.10 172.30.0.122 --tcp 22", exitOK, "receives the packet"},
			{"203.0.113.10 172.30.0.121 --tcp 80", exitFound, "neutron default drop"},
			{"node:node1 vm:web", exitUnknown, "only its kernel knows the path"},
		})
	})
}

// askLogical asks where no node is: the databases' own host.
func askLogical(t *testing.T, l *lab.Lab, asks []logicalAsk) {
	t.Helper()
	n := &onNode{lab: l, node: "central"}
	for _, ask := range asks {
		args := append([]string{"trace"}, strings.Fields(ask.args)...)
		got := n.ovnctl(t, append(args, "--logical", "--nb", l.NB(), "--sb", l.SB())...)
		if said := string(got.stdout) + string(got.stderr); got.code != ask.code || !strings.Contains(said, ask.says) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", ask.args, got.code, ask.code, ask.says, said)
		}
		if strings.Contains(string(got.stdout), "# on \n") {
			t.Errorf("%s: the next command is half filled in\n%s", ask.args, got.stdout)
		}
	}
}

// unreachable has a way to other nodes that leads nowhere: the logical flows are the answer, after a bounded wait.
func unreachable(t *testing.T, l *lab.Lab) {
	d := &traceDraw{lab: l}
	for _, p := range []faultAsk{ask(l, "tcp", "shop/client", "shop/web-2", ""), ask(l, "tcp", "shop/client", "bank/ledger", "")} {
		want, err := d.truth(t.Context(), p.tracePair)
		if err != nil {
			t.Fatal(err)
		}
		code := exitFound
		if want == journey.Delivered {
			code = exitUnknown // a node that was named could not be read
		}
		got := d.ovnctl(t.Context(), "node1", append(d.arguments(p.tracePair), "-o", "json", "-t", "1", "--nb", l.NB(), "--node-exec", "sleep 30; echo {hostname}")...)
		if got.outcome() != want || got.code != code || got.trace().Forward.Producer != journey.LogicalFlows {
			t.Errorf("%s: %s (exit %d), want %s (exit %d) by the logical flows\n%s%s", p.tracePair, got.outcome(), got.code, want, code, got.stdout, got.stderr)
		}
	}
}
