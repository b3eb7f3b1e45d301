//go:build lab

package ovs_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// onNode asks the ovs-vswitchd of a node of a lab.
type onNode struct {
	lab  *lab.Lab
	node string
	only bool // the first pass of a reply, so that each further one is asked for by itself
}

func (n onNode) Control(ctx context.Context, _, command string, args ...string) (string, error) {
	reply, err := n.lab.Run(ctx, n.node, append([]string{"ovs-appctl", command}, args...)...)
	if n.only {
		reply, _, _ = strings.Cut(reply, "\n====")
	}
	return reply, err
}

// TestTracedAhead follows packets of all pods, and their replies, by the passes that one reply has after the first, where those
// are of such a packet, and by asking for each pass: the switch must do the same.
func TestTracedAhead(t *testing.T) {
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN(), lab.OpenStack()} {
		t.Run(topology.Name, func(t *testing.T) { tracedAhead(t, labtest.Shared(t, topology)) })
	}
}

func tracedAhead(t *testing.T, l *lab.Lab) {
	walks, fewer, asked := 0, 0, 0
	for _, p := range l.Topology.Pods {
		port, err := l.Run(t.Context(), p.Node, "ovs-vsctl", "--bare", "--columns=ofport", "find", "Interface", "external_ids:iface-id="+p.Name)
		if err != nil || strings.TrimSpace(port) == "" || !p.IPv4.IsValid() {
			continue
		}
		for _, to := range destinations(l.Topology) {
			for _, proto := range []string{fmt.Sprintf("tcp,tcp_flags=syn,tp_src=40000,tp_dst=%d", to.Port()), fmt.Sprintf("udp,tp_src=40000,tp_dst=%d", to.Port()), "icmp,icmp_type=8"} {
				start := ovs.Start{Bridge: "br-int", Packet: parse(t, fmt.Sprintf("%s,dp_hash=1,in_port=%s,eth_src=%s,eth_dst=%s,nw_src=%s,nw_dst=%s,nw_ttl=64",
					proto, strings.TrimSpace(port), p.MAC, nextMAC(l.Topology, p, to.Addr()), p.IPv4.Addr(), to.Addr()))}
				once, each := &ovs.Conntrack{}, &ovs.Conntrack{}
				leaf := sameWalk(t, l, p.Node, start, once, each, &walks, &fewer, &asked)
				if leaf == nil || leaf.Kind != ovs.ToPort {
					continue
				}
				if answer, ok := ovs.Reply(leaf.Packet); ok {
					answer.SetInPort(leaf.Port)
					sameWalk(t, l, p.Node, ovs.Start{Bridge: leaf.Bridge, Packet: answer, Known: "trk,est,rpl"}, once, each, &walks, &fewer, &asked)
				}
			}
		}
	}
	for _, start := range fromOutside(t, l) {
		sameWalk(t, l, start.node, start.Start, &ovs.Conntrack{}, &ovs.Conntrack{}, &walks, &fewer, &asked)
	}
	t.Logf("%d walks by %d questions instead of %d", walks, fewer, asked)
	if walks == 0 || fewer == asked {
		t.Error("no pass was traced ahead")
	}
}

type nodeStart struct {
	node string
	ovs.Start
}

// fromOutside are connections to the node ports of services: they begin on one bridge, and conntrack brings them back in another.
func fromOutside(t *testing.T, l *lab.Lab) (starts []nodeStart) {
	for _, n := range l.Topology.Nodes {
		for _, s := range l.Topology.Services {
			if s.NodePort == 0 || !n.Gateway4.IsValid() {
				continue
			}
			uplink, err := l.Run(t.Context(), n.Name, "ovs-vsctl", "get", "Interface", "eth0", "ofport")
			if err != nil {
				t.Fatal(err)
			}
			mac, err := l.Run(t.Context(), "central", "ovn-nbctl", "get", "Logical_Router_Port", "rtoe-GR_"+n.Name, "mac")
			if err != nil {
				t.Fatal(err)
			}
			starts = append(starts, nodeStart{n.Name, ovs.Start{Bridge: "br-ex", Packet: parse(t, fmt.Sprintf(
				"tcp,tcp_flags=syn,tp_src=40000,tp_dst=%d,dp_hash=1,in_port=%s,eth_src=02:00:00:00:00:01,eth_dst=%s,nw_src=%s,nw_dst=%s,nw_ttl=62",
				s.NodePort, strings.TrimSpace(uplink), strings.Trim(strings.TrimSpace(mac), `"`), lab.Internet4, n.Gateway4))}})
		}
	}
	return starts
}

// sameWalk follows a packet in both ways, and returns where its first copy ends; nil if it cannot be followed.
func sameWalk(t *testing.T, l *lab.Lab, node string, start ovs.Start, once, each *ovs.Conntrack, walks, fewer, asked *int) *ovs.Leaf {
	t.Helper()
	a, err := ovs.Follow(t.Context(), onNode{lab: l, node: node}, node, once, start)
	b, err2 := ovs.Follow(t.Context(), onNode{lab: l, node: node, only: true}, node, each, start)
	if err != nil || err2 != nil {
		t.Errorf("%s: %v, %v", start.Packet.String(), err, err2)
		return nil
	}
	if got, want := whole(a), whole(b); got != want {
		t.Errorf("%s on %s:\n%s\nand pass by pass:\n%s", start.Packet.String(), node, got, want)
	}
	*walks, *fewer, *asked = *walks+1, *fewer+len(a.Requests), *asked+len(b.Requests)
	if len(a.Leaves) == 0 {
		return nil
	}
	return &a.Leaves[0]
}

// whole says all that a walk says of a packet.
func whole(w *ovs.Walk) string {
	var b strings.Builder
	for _, l := range w.Leaves {
		fmt.Fprintf(&b, "%s %s %v %v %s %s %q\n", l.Kind, l.Bridge, l.Port, l.Remote, l.Packet.String(), l.Reason, l.Remarks)
		for _, s := range l.Steps {
			fmt.Fprintf(&b, "  %s %d %s %d %v %v %s\n", s.Bridge, s.Table, s.MatchText, s.Priority, s.Actions, s.Tracked, s.Before.String())
		}
	}
	return b.String()
}

func destinations(t lab.Topology) []netip.AddrPort {
	list := []netip.AddrPort{netip.AddrPortFrom(lab.Internet4, 8080)}
	for _, p := range t.Pods {
		if p.IPv4.IsValid() {
			list = append(list, netip.AddrPortFrom(p.IPv4.Addr(), 8080))
		}
	}
	for _, s := range t.Services {
		if s.VIP4.IsValid() {
			list = append(list, netip.AddrPortFrom(s.VIP4, uint16(s.Port)))
		}
	}
	return list
}

// nextMAC is the MAC address to which a pod sends packets for an address: its owner's, if that is in the same network, else that of
// OVN's router, which all of these topologies make of the address of the gateway.
func nextMAC(t lab.Topology, from lab.Pod, to netip.Addr) string {
	for _, p := range t.Pods {
		if p.IPv4.IsValid() && p.IPv4.Addr() == to && from.IPv4.Masked() == p.IPv4.Masked() {
			return p.MAC
		}
	}
	if !from.Gateway4.IsValid() {
		return "0a:58:00:00:00:01"
	}
	g := from.Gateway4.As4()
	return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", g[0], g[1], g[2], g[3])
}
