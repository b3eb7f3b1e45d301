//go:build lab

package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A fault is broken for real, with shell commands on a host or in a pod of the lab, and mended again.
type fault struct {
	name   string
	on     string
	breaks string
	mends  string
	// still: the fault keeps ovn-controller from answering, so that the lab is not waited for.
	still bool
	asks  []faultAsk
}

// A faultAsk is a pair that the fault is in the way of, and what has to be said of it.
type faultAsk struct {
	tracePair
	// says is the outcome where ovnctl cannot know what the packets do; empty: what the packets do.
	says   journey.Outcome
	cause  string // a part of the cause, or with a packet that is delivered, of the whole answer
	next   string // a part of the next command
	args   []string
	alone  bool // without a way to other nodes
	rare   bool // only some of the packets meet it
	length int  // of the packets, echo requests, Ethernet header included; 0: small ones
	lost   bool // the packets are lost although says is another outcome
	past   bool // the host's kernel takes the reply past Open vSwitch, at a link that is not on the path
	code   int  // the exit code where it is not that of the outcome
	// should is what the logical flows say; empty: that is not looked at.
	should journey.Outcome
}

// TestTraceFaults breaks a deployment in one way after the other: the verdict must be what packets do, and
// its cause must name what was broken.
func TestTraceFaults(t *testing.T) {
	for name, faults := range map[string]func(*lab.Lab) []fault{"ovn-kubernetes": okFaults, "kube-ovn": koFaults} {
		t.Run(name, func(t *testing.T) {
			l := labtest.Own(t, lab.Topologies()[name], lab.Options{})
			t.Run("documents", func(t *testing.T) {
				for _, to := range []string{"shop/web-2", "shop/web", "bank/ledger", "internet", "node2"} {
					traceDocument(t, l, ask(l, "tcp", "shop/client", to, ""))
				}
			})
			for _, f := range faults(l) {
				t.Run(f.name, func(t *testing.T) { f.try(t, l) })
			}
		})
	}
}

func (f fault) try(t *testing.T, l *lab.Lab) {
	f.during(t, l, func(ctx context.Context, d *traceDraw) {
		var wg sync.WaitGroup
		for _, a := range f.asks {
			wg.Go(func() { a.check(ctx, t, d) })
		}
		wg.Wait()
	})
}

// during breaks what a fault breaks, calls a function once packets show it, and mends it.
func (f fault) during(t *testing.T, l *lab.Lab, do func(ctx context.Context, d *traceDraw)) {
	ctx, cancel := context.WithTimeout(t.Context(), lab.Allow(2*time.Minute))
	defer cancel()
	if _, err := l.Run(ctx, f.on, "sh", "-ec", f.breaks); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := l.Run(ctx, f.on, "sh", "-ec", f.mends); err != nil {
			t.Fatal(err)
		}
		forget(ctx, t, l)
		settle(ctx, t, l)
	}()
	forget(ctx, t, l)
	if !f.still {
		settle(ctx, t, l)
	}
	do(ctx, &traceDraw{lab: l})
}

// forget has the switches forget the datapath flows that they made before a change: not every change of a host's addresses,
// routes and neighbours has them looked at again, and packets keep them alive.
func forget(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	for _, n := range l.Topology.Nodes {
		if _, err := l.Run(ctx, n.Name, "ovs-appctl", "--timeout=2", "revalidator/purge"); err != nil {
			t.Log(err) // it may be the fault that ovs-vswitchd does not answer
		}
	}
}

// settle waits until what was changed is in the flows of every node.
func settle(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	if _, err := l.Run(ctx, "central", "ovn-nbctl", "--timeout=60", "--wait=hv", "sync"); err != nil {
		t.Fatal(err)
	}
}

// check compares a trace with its packets. Where they differ both are asked once more: between the trace and the packet a neighbour
// may have been learned anew, and a busy machine loses packets.
func (a faultAsk) check(ctx context.Context, t *testing.T, d *traceDraw) {
	t.Helper()
	wrong := a.differences(ctx, t, d)
	if len(wrong) > 0 {
		t.Logf("asked once more, since\n%s", strings.Join(wrong, "\n"))
		wrong = a.differences(ctx, t, d)
	}
	for _, text := range wrong {
		t.Error(text)
	}
}

// differences returns what is wrong with a trace.
func (a faultAsk) differences(ctx context.Context, t *testing.T, d *traceDraw) (wrong []string) {
	differs := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	args := append(append(d.arguments(a.tracePair), a.args...), "-o", "json")
	if !strings.Contains(strings.Join(a.args, " "), "--nb") {
		args = append(args, "--nb", d.lab.NB())
	}
	if !a.alone {
		args = append(args, "--node-exec", d.lab.Dir+"/enter {hostname}")
	}
	start := time.Now()
	got := d.ovnctl(ctx, a.at, args...)
	took := time.Since(start)
	text := got.text(d, a.tracePair) // before packets change anything
	v := got.trace().Verdict
	want := a.says
	if a.lost {
		if truth, err := a.truth(ctx, d); err != nil || truth == journey.Delivered {
			differs("%s: the fault loses nothing: %s, %v", a.tracePair, truth, err)
		}
	}
	if want == "" {
		truth, err := a.truth(ctx, d)
		for tries := 5; err == nil && a.rare && truth == journey.Delivered && tries > 0; tries-- {
			truth, err = a.truth(ctx, d)
		}
		if err != nil {
			differs("%s: %v", a.tracePair, err)
			return wrong
		}
		want = truth
	}
	code := map[journey.Outcome]int{journey.Delivered: exitOK, journey.Unknown: exitUnknown}
	wanted, ok := code[want]
	if !ok {
		wanted = exitFound
	}
	if a.code != 0 {
		wanted = a.code
	}
	said := v.Cause
	if want == journey.Delivered {
		said = string(got.stdout)
	}
	switch {
	case v.Outcome != want || got.code != wanted:
		differs("%s: want %s (exit %d), ovnctl says %s (exit %d)\n%s", a.tracePair, want, wanted, v.Outcome, got.code, text)
	case !strings.Contains(said, a.cause):
		differs("%s: neither cause nor answer says %q\n%s", a.tracePair, a.cause, text)
	case !strings.Contains(strings.Join(got.trace().Next, "\n"), a.next), want != journey.Delivered && len(got.trace().Next) != 1:
		differs("%s: the next command is %q, not %q\n%s", a.tracePair, got.trace().Next, a.next, text)
	case a.should != "" && !got.lays(a.should):
		differs("%s: want %s by the logical flows\n%s", a.tracePair, a.should, text)
	default:
		t.Logf("%s: %s\n%s", a.tracePair, want, text)
	}
	if took > 15*time.Second {
		differs("%s: took %s", a.tracePair, took)
	}
	return wrong
}

// truth is what becomes of the packets, of the length that is asked about.
func (a faultAsk) truth(ctx context.Context, d *traceDraw) (journey.Outcome, error) {
	if a.length == 0 {
		return d.truth(ctx, a.tracePair)
	}
	address := lab.Internet4
	if to, ok := d.lab.Topology.Pod(a.to); ok {
		address = to.IPv4.Addr()
	}
	const headers = 14 + 20 + 8 // Ethernet, IPv4, ICMP
	ping := fmt.Sprintf("ip route flush cache; ping -c2 -i0.2 -W1 -Mdo -s %d %s", a.length-headers, address)
	said, err := d.lab.Run(ctx, a.from, "sh", "-c", ping+" || true")
	switch {
	case err != nil:
		return "", err
	case strings.Contains(said, "Frag needed"):
		return journey.Rejected, nil
	case strings.Contains(said, "bytes from"):
		return journey.Delivered, nil
	}
	return journey.Dropped, nil
}

// lays reports whether the logical flows' outcome is beside that of the nodes, with a note where it is another.
func (r result) lays(should journey.Outcome) bool {
	t := r.trace()
	noted := strings.Contains(string(r.stdout), "the logical flows say otherwise, "+string(should))
	return t.Logical != nil && t.Logical.Verdict.Outcome == should && noted == (t.Verdict.Outcome != should)
}

// ask is a question on the node that the packet starts on.
func ask(l *lab.Lab, proto, from, to, cause string) faultAsk {
	p := tracePair{from: from, to: to, proto: proto, where: "cross node", at: "node1"}
	if proto != "icmp" {
		p.port = lab.Ports[0]
	}
	if pod, ok := l.Topology.Pod(from); ok {
		p.at = pod.Node
	} else if n, ok := l.Topology.Node(from); ok {
		p.at = n.Name
	}
	if s, ok := l.Topology.Service(to, proto); ok {
		p.where, p.port = "vip", s.Port
	}
	return faultAsk{tracePair: p, cause: cause}
}

func (a faultAsk) v6() faultAsk { a.tracePair.v6 = true; return a }

func (a faultAsk) isUnknown() faultAsk { a.says = journey.Unknown; return a }

func (a faultAsk) though(should journey.Outcome) faultAsk { a.should = should; return a }

func (a faultAsk) onlyHere() faultAsk { a.alone = true; return a }

func (a faultAsk) sometimes() faultAsk { a.rare = true; return a }

func (a faultAsk) on(port int) faultAsk { a.port = port; return a }

func (a faultAsk) then(next string) faultAsk { a.next = next; return a }

func (a faultAsk) with(args ...string) faultAsk { a.args = args; return a }

// plug is the command that joins a pod's link to br-int again.
func plug(p lab.Pod) string {
	text := fmt.Sprintf("ovs-vsctl add-port br-int %s -- set Interface %[1]s", p.Link)
	for key, value := range p.Interface {
		text += fmt.Sprintf(" 'external_ids:%s=\"%s\"'", key, value)
	}
	return text
}

// withoutFlows deletes the flows of br-int that match and keeps them in a file to put them back.
func withoutFlows(match string) (breaks, mends string) {
	file := "$OVS_RUNDIR/deleted-flows.txt"
	return fmt.Sprintf(`m="%s"; ovs-ofctl -O OpenFlow15 --no-stats dump-flows br-int "$m" | grep priority > %[2]s; test -s %[2]s; ovs-ofctl -O OpenFlow15 del-flows br-int "$m"`, match, file),
		fmt.Sprintf("ovs-ofctl -O OpenFlow15 add-flows br-int %s; rm %[1]s", file)
}

func okFaults(l *lab.Lab) []fault {
	web2, _ := l.Topology.Pod("shop/web-2")
	client, _ := l.Topology.Pod("shop/client")
	q := func(proto, from, to, cause string) faultAsk { return ask(l, proto, from, to, cause) }
	sb := "ovn-sbctl --bare --no-leader-only --db=" + l.SB()
	noOutput, outputBack := withoutFlows("table=65,metadata=$(" + sb + " get Datapath_Binding $(" + sb + " get Port_Binding shop_web-2 datapath) tunnel_key),reg15=$(" + sb + " get Port_Binding shop_web-2 tunnel_key)")
	lookup := `$(` + sb + ` --columns=_uuid find Logical_Flow 'match="eth.dst == ` + web2.MAC + `"' external_ids:stage-name=ls_in_l2_lkup | cut -c1-8)`
	noLookup, lookupBack := withoutFlows("cookie=0x" + lookup + "/-1")
	return []fault{
		{name: "hairpin, never used", on: "node1", breaks: ":", mends: ":", asks: []faultAsk{
			q("tcp", "shop/web-1", "shop/self", "").though(journey.Delivered), q("tcp", "shop/web-1", "shop/self", "").v6().though(journey.Delivered),
		}},
		{name: "port deleted", on: "node2", breaks: "ovs-vsctl del-port " + web2.Link,
			mends: plug(web2),
			asks: []faultAsk{
				q("tcp", "shop/client", "shop/web-2", "port shop_web-2 is not bound to a chassis"),
				q("tcp", "ops/toolbox", "shop/web-2", "port shop_web-2 is not bound to a chassis"),
				q("tcp", "shop/web-2", "shop/client", "shop_web-2").then("ovnctl topology show"),
			}},
		{name: "iface-id on no interface", on: "node2", breaks: "ovs-vsctl set Interface " + web2.Link + " external_ids:iface-id=shop_web-9",
			mends: "ovs-vsctl set Interface " + web2.Link + " external_ids:iface-id=shop_web-2",
			asks: []faultAsk{
				q("icmp", "shop/client", "shop/web-2", "port shop_web-2 is not bound to a chassis"),
				q("icmp", "shop/web-2", "shop/client", "shop_web-2"),
			}},
		{name: "requested chassis elsewhere", on: "central", breaks: "ovn-nbctl set Logical_Switch_Port shop_web-2 options:requested-chassis=node3",
			mends: "ovn-nbctl set Logical_Switch_Port shop_web-2 options:requested-chassis=node2",
			asks: []faultAsk{
				q("tcp", "shop/client", "shop/web-2", "node3"),
				q("udp", "shop/web-2", "shop/client", "node3"),
			}},
		{name: "port disabled", on: "central", breaks: "ovn-nbctl lsp-set-enabled shop_web-2 disabled",
			mends: "ovn-nbctl lsp-set-enabled shop_web-2 enabled",
			asks: []faultAsk{
				q("tcp", "shop/client", "shop/web-2", "disabled"),
				q("tcp", "shop/web-2", "shop/client", "disabled"),
			}},
		{name: "pod without default route", on: "shop/client", breaks: "ip route del default",
			mends: fmt.Sprintf("ip route add default via %s dev eth0", client.Gateway4),
			asks: []faultAsk{
				q("tcp", "shop/client", "shop/web-2", "no route"),
				q("tcp", "shop/web-2", "shop/client", "no route"),
				q("tcp", "shop/client", "shop/web-1", ""),
				q("tcp", "shop/client", "shop/web-2", "").v6(),
			}},
		{name: "pod with another address", on: "shop/client",
			breaks: fmt.Sprintf("ip addr del %s dev eth0; ip addr add 10.244.1.66/24 dev eth0; ip route add default via %s", client.IPv4, client.Gateway4),
			mends:  fmt.Sprintf("ip addr del 10.244.1.66/24 dev eth0; ip addr add %s dev eth0; ip route add default via %s", client.IPv4, client.Gateway4),
			asks: []faultAsk{
				q("tcp", "shop/client", "shop/web-2", "10.244.1.66"),
				q("tcp", "shop/web-1", "shop/client", "10.244.1.66"),
			}},
		{name: "pod link down", on: "shop/client", breaks: "ip link set eth0 down",
			mends: fmt.Sprintf("ip link set eth0 up; ip route add default via %s; ip -6 addr add %s dev eth0 nodad 2>/dev/null || true; ip -6 route add default via %s", client.Gateway4, client.IPv6, client.Gateway6),
			asks: []faultAsk{
				q("tcp", "shop/client", "shop/web-2", "down"),
				q("tcp", "shop/web-2", "shop/client", "down"),
			}},
		acl("ACL drop", "--name=no-web acl-add node2 to-lport 2000 'outport == \"shop_web-2\" && tcp' drop", "acl-del node2 to-lport 2000 'outport == \"shop_web-2\" && tcp'",
			q("tcp", "shop/client", "shop/web-2", "no-web"), q("tcp", "shop/web-2", "shop/client", ""), q("icmp", "shop/client", "shop/web-2", "")),
		acl("ACL without a name", "acl-add node2 to-lport 2000 'outport == \"shop_web-2\" && udp' drop", "acl-del node2 to-lport 2000 'outport == \"shop_web-2\" && udp'",
			q("udp", "shop/client", "shop/web-2", "outport == \"shop_web-2\" && udp")),
		acl("ACL reject", "--name=refuse acl-add node2 to-lport 2000 'outport == \"shop_web-2\"' reject", "acl-del node2 to-lport 2000 'outport == \"shop_web-2\"'",
			q("tcp", "shop/client", "shop/web-2", "refuse"), q("udp", "shop/client", "shop/web-2", "refuse"), q("icmp", "shop/client", "shop/web-2", "refuse").v6()),
		acl("ACL drop at the sender", "--name=stay acl-add node1 from-lport 2000 'inport == \"shop_client\" && ip4.dst == 10.244.2.5' drop", "acl-del node1 from-lport 2000 'inport == \"shop_client\" && ip4.dst == 10.244.2.5'",
			q("tcp", "shop/client", "shop/web-2", "stay"), q("tcp", "shop/web-2", "shop/client", ""), q("tcp", "shop/client", "shop/web-3", "")),
		acl("ACL on answers of known connections", "--name=mute acl-add node2 from-lport 2000 'inport == \"shop_web-2\" && tcp.src == 8080' drop", "acl-del node2 from-lport 2000 'inport == \"shop_web-2\" && tcp.src == 8080'",
			q("tcp", "shop/client", "shop/web-2", "")),
		{name: "policies of the lab", on: "central", breaks: ":", mends: ":", asks: []faultAsk{
			q("tcp", "shop/client", "bank/ledger", "NetworkPolic").then("kubectl -n bank").though(journey.Dropped),
			q("icmp", "shop/client", "bank/vault-1", "default deny").then("kubectl -n bank"),
			q("tcp", "ops/debug", "ops/toolbox", "default deny").then("kubectl -n ops"),
			q("udp", "ops/debug", "internet", "default deny"),
			q("tcp", "shop/client", "shop/empty", "no endpoints"),
			q("tcp", "shop/client", "shop/empty", "no endpoints").v6(),
			q("tcp", "shop/client", "shop/web-2", "by the logical flows alone: the OpenFlow flows of node2 were not read").onlyHere(),
		}},
		acl("no endpoints, no reject", "set Load_Balancer Service_shop/empty_TCP_cluster options:reject=false", "set Load_Balancer Service_shop/empty_TCP_cluster options:reject=true",
			q("tcp", "shop/client", "shop/empty", "no endpoints")),
		acl("one backend denied", "--name=no-web3 acl-add node3 to-lport 2000 'outport == \"shop_web-3\" && tcp' drop", "acl-del node3 to-lport 2000 'outport == \"shop_web-3\" && tcp'",
			q("tcp", "shop/client", "shop/web", "no-web3").sometimes()),
		acl("router without route", "lr-route-del GR_node1 0.0.0.0/0", "lr-route-add GR_node1 0.0.0.0/0 172.30.0.1 rtoe-GR_node1",
			q("icmp", "shop/client", "internet", "no route to 203.0.113.10"), q("tcp", "shop/client", "internet", "").v6(), q("udp", "shop/web-2", "internet", "")),
		acl("source route removed", "--policy=src-ip lr-route-del ovn_cluster_router 10.244.1.0/24", "--policy=src-ip lr-route-add ovn_cluster_router 10.244.1.0/24 100.64.0.2",
			q("tcp", "shop/client", "internet", "no route to 203.0.113.10")),
		acl("router policy drop", "lr-policy-add ovn_cluster_router 2000 'ip4.dst == 10.244.2.5' drop", "lr-policy-del ovn_cluster_router 2000 'ip4.dst == 10.244.2.5'",
			q("tcp", "shop/client", "shop/web-2", "routing policy 2000"), q("tcp", "shop/web-2", "shop/client", "")),
		{name: "no MAC bindings", on: "node1", breaks: "ping -q -c1 203.0.113.10; ovn-sbctl --db=" + l.SB() + " --all destroy MAC_Binding; sleep 0.3", mends: ":", still: true, asks: []faultAsk{
			q("icmp", "shop/client", "internet", "is not resolved yet"),
		}},
		{name: "tunnel not resolved", on: "node1", breaks: "ovs-appctl tnl/neigh/flush", mends: ":", still: true, asks: []faultAsk{
			q("tcp", "shop/client", "shop/web-2", ""), // asking may resolve it already
		}},
		acl("gateway chassis gone", "set Logical_Router GR_node1 options:chassis=nowhere", "set Logical_Router GR_node1 options:chassis="+l.Topology.Nodes[0].SystemID,
			q("icmp", "shop/client", "internet", "nowhere")),
		{name: "own ovs-vswitchd stopped", on: "node1", breaks: "kill -STOP $(cat $OVS_RUNDIR/ovs-vswitchd.pid)", mends: "kill -CONT $(cat $OVS_RUNDIR/ovs-vswitchd.pid)", still: true,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "ovs-vswitchd").isUnknown().with("-t", "2", "--sb", l.SB()),
				q("tcp", "shop/client", "shop/web-1", "Southbound").isUnknown().with("-t", "2")}},
		{name: "ovs-vswitchd of another node stopped", on: "node2", breaks: "kill -STOP $(cat $OVS_RUNDIR/ovs-vswitchd.pid)", mends: "kill -CONT $(cat $OVS_RUNDIR/ovs-vswitchd.pid)", still: true,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "ovs-vswitchd").isUnknown().with("-t", "2")}},
		{name: "output flow deleted", on: "node2", breaks: noOutput, mends: outputBack,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "no flow of table 65 on node node2 sends it to port shop_web-2").though(journey.Delivered),
				q("tcp", "shop/web-2", "shop/client", "no flow of table 65 on node node2 sends it to port shop_web-2").though(journey.Delivered)}},
		{name: "logical flow not installed", on: "node2", breaks: noLookup, mends: lookupBack,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "").though(journey.Delivered)}},
		{name: "tunnel port gone", on: "node2",
			breaks: `kill -STOP $(cat $OVN_RUNDIR/ovn-controller.pid); ovs-vsctl --if-exists del-port br-int $(ovs-vsctl --bare --columns=name find Interface options:remote_ip=172.30.0.11)`,
			mends:  `kill -CONT $(cat $OVN_RUNDIR/ovn-controller.pid)`, still: true,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "tunnel"), q("tcp", "shop/web-2", "shop/client", "tunnel")}},
		{name: "tunnel refused", on: "node1", // as ovn-controller does where a chassis replaces another: Open vSwitch makes the new tunnel before it gives the old one up
			breaks: `old=$(ovs-vsctl --bare --columns=name find Interface type=geneve options:remote_ip=172.30.0.12); id=$(ovs-vsctl get Port $old external_ids:ovn-chassis-id)
				ovs-vsctl del-port $old -- add-port br-int ovn-new -- set Port ovn-new external_ids:ovn-chassis-id=$id -- set Interface ovn-new type=geneve options:csum=true options:key=flow options:remote_ip=172.30.0.12 || true`,
			mends: `ovs-vsctl set Port ovn-new external_ids:again=1; ovs-vsctl --timeout=30 wait-until Interface ovn-new "ofport>0"; ovs-vsctl remove Port ovn-new external_ids again`,
			asks:  []faultAsk{q("tcp", "shop/client", "shop/web-2", `which holds port cr-rtos-node2: Open vSwitch says of ovn-new "could not add network device ovn-new to ofproto (File exists)"`)}},
		{name: "dead databases", on: "node1", breaks: ":", mends: ":", asks: []faultAsk{
			q("tcp", "shop/client", "shop/web-2", "").with("--nb", "tcp:127.0.0.1:9").delivered(exitUnknown),
			q("tcp", "shop/client", "bank/ledger", "").with("--nb", "tcp:127.0.0.1:9"),
			q("tcp", "shop/client", "shop/web-2", "").with("--nb", l.NB(), "--sb", "tcp:127.0.0.1:9").isUnknown(),
		}},
		{name: "uplink removed", on: "node1", breaks: "ovs-vsctl del-port br-ex eth0", mends: "ovs-vsctl add-port br-ex eth0; for a in 172.30.0.12 172.30.0.13; do i=0; until ping -q -c1 -W1 $a >/dev/null; do i=$((i+1)); test $i -lt 30; done; done", still: true,
			asks: []faultAsk{
				q("tcp", "shop/client", "shop/web-2", "bridge br-ex on node1 has no uplink").with("--sb", l.SB()), q("tcp", "shop/web-2", "shop/client", "bridge br-ex on node1 has no uplink"),
				q("icmp", "shop/client", "internet", "bridge br-ex on node1 has no uplink").with("--sb", l.SB()),
				q("tcp", "shop/client", "shop/web-1", "").with("--sb", l.SB()),
				q("tcp", "shop/client", "shop/web-1", "the Southbound could not be read, so the chassis of port shop_client is unknown").isUnknown().with("-t", "1"),
			}},
	}
}

// acl is a fault in the Northbound, made and mended by ovn-nbctl.
func acl(name, breaks, mends string, asks ...faultAsk) fault {
	return fault{name: name, on: "central", breaks: "ovn-nbctl " + breaks, mends: "ovn-nbctl " + mends, asks: asks}
}

func (a faultAsk) delivered(code int) faultAsk { a.says = journey.Delivered; a.code = code; return a }

func koFaults(l *lab.Lab) []fault {
	q := func(proto, from, to, cause string) faultAsk { return ask(l, proto, from, to, cause) }
	client, _ := l.Topology.Pod("shop/client")
	from := client.IPv4.Addr().String()
	web2, _ := l.Topology.Pod("shop/web-2")
	backend := fmt.Sprintf("%s:%d", web2.IPv4.Addr(), lab.Ports[0])
	host := func(name, chains string, asks ...faultAsk) fault { // by the packet filter of node1
		return fault{name: name, on: "node1", breaks: "nft 'add table ip f; " + chains + "'", mends: "nft delete table ip f", asks: asks}
	}
	chain := func(hook, rule string) string {
		return "add chain ip f c { type filter hook " + hook + "; }; add rule ip f c " + rule
	}
	const arriving, leaving = "add chain ip f a { type nat hook prerouting priority dstnat; }; add rule ip f a ", "; add chain ip f l { type nat hook postrouting priority 90; }; add rule ip f l "
	return []fault{
		host("packet filter of the host after translation", chain("postrouting priority 200", "ip saddr 172.30.0.11 ip daddr 203.0.113.10 drop"), q("icmp", "shop/client", "internet", "ip saddr 172.30.0.11")),
		host("packet filter of the host that the source passes before translation", chain("postrouting priority 0", "ip saddr 172.30.0.11 ip daddr 203.0.113.10 drop"), q("icmp", "shop/client", "internet", "")),
		host("packet filter of the host before replies are translated", chain("prerouting priority raw", "ip saddr 203.0.113.10 ip daddr 172.30.0.11 drop"), q("icmp", "shop/client", "internet", "ip daddr 172.30.0.11")),
		host("packet filter of the host that replies pass before they are translated", chain("prerouting priority mangle", "ip saddr 203.0.113.10 ip daddr "+from+" drop"), q("icmp", "shop/client", "internet", "")),
		host("packet filter of the host on translated replies", chain("forward priority 0", "ip daddr "+from+" drop"), q("icmp", "shop/client", "internet", "ip daddr "+from)),
		host("destination translated to a pod, and its source not", arriving+"iifname ovn0 ip daddr 203.0.113.10 tcp dport 8080 dnat to "+backend, q("tcp", "shop/client", "internet", "")),
		host("destination and source translated", arriving+"iifname ovn0 ip daddr 203.0.113.10 tcp dport 8080 dnat to "+backend+leaving+"oifname ovn0 masquerade", // the lab's own packet is looked for at the destination that it began with
			q("tcp", "shop/client", "internet", "shop/web-2 on node2 receives the packet").delivered(exitOK)),
		host("node port of the host", arriving+"tcp dport 30080 dnat to "+backend+leaving+"oifname ovn0 masquerade", q("tcp", "internet", "node1", "").on(30080)),
		host("redirected to where nothing listens", arriving+"iifname ovn0 tcp dport 8080 redirect to :15001", q("tcp", "shop/client", "internet", "nothing in the host listens on tcp 15001")),
		{name: "source of the host that nobody has", on: "node1", breaks: "nft 'add table ip f; add chain ip f l { type nat hook postrouting priority 90; }; add rule ip f l ip daddr " + web2.IPv4.Addr().String() + " snat to 172.30.0.98'", mends: "nft delete table ip f",
			asks: []faultAsk{q("icmp", "node1", "shop/web-2", "")}},
		{name: "packet filter of the host by the pod's address", on: "node1", mends: "nft delete table ip f",
			breaks: "nft 'add table ip f; add chain ip f c { type filter hook forward priority 0; }; add rule ip f c ip saddr " + from + " drop'",
			asks:   []faultAsk{q("icmp", "shop/client", "internet", "the host's packet filter drops it: ip f c"), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "translation to an address that nobody has", on: "node1", mends: "nft delete table ip f",
			breaks: "nft 'add table ip f; add chain ip f c { type nat hook postrouting priority 90; }; add rule ip f c ip saddr " + from + " oifname br-ex snat to 172.30.0.77'",
			asks:   []faultAsk{q("icmp", "shop/client", "internet", "nothing answers for 172.30.0.77"), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "route of the host by a mark", on: "node1", mends: "nft delete table ip f; ip rule del fwmark 9/9; ip route flush table 99",
			breaks: "nft 'add table ip f; add chain ip f c { type filter hook prerouting priority mangle; }; add rule ip f c iifname ovn0 ip saddr " + from + " meta mark set mark or 9'; ip rule add fwmark 9/9 lookup 99; ip route add blackhole default table 99",
			asks:   []faultAsk{q("icmp", "shop/client", "internet", `"blackhole"`), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "node does not forward", on: "node1", breaks: "sysctl -qw net.ipv4.ip_forward=0", mends: "sysctl -qw net.ipv4.ip_forward=1",
			asks: []faultAsk{q("icmp", "shop/client", "internet", "ip_forward"), q("icmp", "shop/client", "internet", "").v6(), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "no masquerade", on: "node1", breaks: "nft list chain ip nat postrouting > $OVS_RUNDIR/nft.txt; nft flush chain ip nat postrouting",
			mends: "nft -f $OVS_RUNDIR/nft.txt",
			asks:  []faultAsk{q("icmp", "shop/client", "internet", "10.16.0.11"), q("tcp", "shop/client", "internet", "").v6()}},
		acl("policy 29000 removed", "lr-policy-del ovn-cluster 29000 'ip4.src == $ovn.default.node1_ip4'", "lr-policy-add ovn-cluster 29000 'ip4.src == $ovn.default.node1_ip4' reroute 100.64.0.2", q("icmp", "shop/client", "internet", "")),
	}
}
