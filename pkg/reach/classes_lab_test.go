//go:build lab

package reach

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestClasses adds rules at random to a deployment, such as tell workloads apart in all ways that rules can, and has ovn-northd make
// flows of them: classes must find for each pair what is found without them, and be of use.
func TestClasses(t *testing.T) {
	size := scale.Size{Nodes: 4, Pods: 12, Services: 12, NodePorts: 3, Policies: 4}
	d := scale.Start(t, size)
	defer ovsdbtest.Northd(t, d.NB, d.SB)()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	// Its only backend reaches it past the policy that keeps others away.
	nbctl(t, d, "lb-add", "lone", "10.96.9.9:80", size.Pod(0, 0).IPv4.String()+":8443", "tcp")
	for n := range size.Nodes {
		nbctl(t, d, "ls-lb-add", fmt.Sprintf("worker-%d", n), "lone")
	}
	nbctl(t, d, "acl-add", "policy_0", "to-lport", "1050", "ip4.src == 10.96.9.9", "allow")
	for i := range 12 { // enough for them to be found by the group
		nbctl(t, d, "acl-add", fmt.Sprintf("policy_%d", 2+i%2), "from-lport", fmt.Sprint(1000+i), fmt.Sprintf("inport == @policy_%d && udp.dst == %d", 2+i%2, 53+i/6), "drop")
	}
	for round := range 4 {
		for range 6 * round {
			nbctl(t, d, rule(rng, size)...)
		}
		ovsdbtest.Run(t, "ovn-nbctl", "--db="+d.NB.Remote(), "--timeout=60", "--wait=sb", "sync")
		c, err := cluster.Open(t.Context(), cluster.Config{NB: d.NB.Remote(), SB: d.SB.Remote(), Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		followed, pairs := compareClasses(t, c, []string{"all", "svc:team-0/svc-0", "svc:team-0/svc-3", "svc:10.96.9.9:80"})
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if round == 0 && followed > pairs*3/4 {
			t.Errorf("%d of %d pairs were followed though hardly a rule tells the senders apart", followed, pairs)
		}
	}
}

func nbctl(t *testing.T, d *scale.Deployment, args ...string) {
	t.Helper()
	t.Log(args)
	ovsdbtest.Run(t, "ovn-nbctl", append([]string{"--db=" + d.NB.Remote(), "--timeout=30"}, args...)...)
}

// rule returns a change of the Northbound that is about a few pods.
func rule(rng *rand.Rand, size scale.Size) []string {
	node := rng.IntN(size.Nodes)
	pods := rng.Perm(size.Pods)
	a, b, c := size.Pod(node, pods[0]), size.Pod(node, pods[1]), size.Pod((node+1)%size.Nodes, pods[2])
	direction, verdict := []string{"from-lport", "to-lport"}[rng.IntN(2)], []string{"drop", "reject", "allow-related", "allow"}[rng.IntN(4)]
	matches := []string{
		fmt.Sprintf("ip4.src == %s", a.IPv4),
		fmt.Sprintf("ip4.src == {%s, %s}", a.IPv4, b.IPv4),
		fmt.Sprintf("ip4.src == %s && ip4.dst == {%s, %s}", a.IPv4, b.IPv4, c.IPv4),
		fmt.Sprintf("(ip4.src == %s && ip4.dst == %s) || (ip4.src == %s && ip4.dst == %s)", a.IPv4, c.IPv4, b.IPv4, c.IPv4),
		fmt.Sprintf("ip4.src == %s/30", a.IPv4),
		fmt.Sprintf("ip4.dst == %s/31 && tcp", c.IPv4),
		fmt.Sprintf("ip4.src != {%s, %s}", a.IPv4, c.IPv4),
		fmt.Sprintf("eth.src == %s", a.MAC),
		fmt.Sprintf("eth.src == %s/ff:ff:ff:ff:ff:fc && icmp4", a.MAC),
		fmt.Sprintf("inport == %q", a.Port),
		fmt.Sprintf("outport == {%q, %q} && ip4.src == %s", a.Port, b.Port, c.IPv4),
		fmt.Sprintf("ip6.src == {%s, %s} && udp", a.IPv6, c.IPv6),
		fmt.Sprintf("ip4.src == $team_%d_v4 && inport == @policy_%d", rng.IntN(4), rng.IntN(4)),
		fmt.Sprintf("ip4.dst == $team_%d_v4 && tcp.dst == 8080", rng.IntN(4)),
		fmt.Sprintf("ip4.src > %s && ip4.src < %s", a.IPv4, b.IPv4),
	}
	// The one that classes do not understand is seldom: with it there are none.
	match := matches[rng.IntN(len(matches)-1+rng.IntN(2)*rng.IntN(2)*rng.IntN(2))]
	on := "worker-" + fmt.Sprint(node)
	if rng.IntN(3) == 0 {
		on = fmt.Sprintf("policy_%d", rng.IntN(4))
	}
	acl := []string{"--may-exist", "acl-add", on, direction, fmt.Sprint(1100 + rng.IntN(500)), match, verdict}
	switch rng.IntN(8) {
	case 0:
		return []string{"lr-policy-add", "ovn_cluster_router", fmt.Sprint(1100 + rng.IntN(900)), fmt.Sprintf("ip4.src == %s", a.IPv4), "drop"}
	case 1:
		return []string{"set", "Logical_Switch_Port", a.Port, "port_security=[]"}
	case 2:
		return []string{"set", "Logical_Switch_Port", a.Port, "enabled=false"}
	case 3:
		return []string{"--policy=src-ip", "--may-exist", "lr-route-add", "ovn_cluster_router", a.IPv4.String(), "100.64.0.3"}
	}
	return acl
}

// TestClassesOfNetworks has two senders on a switch without a router, of which the network that DHCP announces has one: that one has no
// way to the receiver outside it, and the other has.
func TestClassesOfNetworks(t *testing.T) {
	d := scale.Start(t, scale.Size{Nodes: 1, Pods: 1})
	defer ovsdbtest.Northd(t, d.NB, d.SB)()
	dhcp := strings.TrimSpace(ovsdbtest.Run(t, "ovn-nbctl", "--db="+d.NB.Remote(), "create", "DHCP_Options", "cidr=10.50.0.0/24"))
	chassis := strings.Fields(ovsdbtest.Run(t, "ovn-sbctl", "--db="+d.SB.Remote(), "--bare", "--columns=name", "list", "Chassis"))[0]
	nbctl(t, d, "ls-add", "lan")
	names := []string{"far", "near", "receiver"} // the order in which they are asked: only what was followed through is known for others
	for i, address := range []string{"10.50.8.2", "10.50.0.1", "10.50.8.3"} {
		nbctl(t, d, "lsp-add", "lan", names[i], "--", "lsp-set-addresses", names[i], fmt.Sprintf("0a:00:00:00:50:0%d %s", i, address),
			"--", "set", "Logical_Switch_Port", names[i], "external_ids:pod=true", "external_ids:namespace=lan", "dhcpv4_options="+dhcp)
	}
	ovsdbtest.Run(t, "ovn-nbctl", "--db="+d.NB.Remote(), "--timeout=60", "--wait=sb", "sync")
	for _, name := range names {
		ovsdbtest.Run(t, "ovn-sbctl", "--db="+d.SB.Remote(), "lsp-bind", name, chassis)
	}
	c, err := cluster.Open(t.Context(), cluster.Config{NB: d.NB.Remote(), SB: d.SB.Remote(), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	compareClasses(t, c, nil)
}
