//go:build lab

package faults

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// announced is what other nodes learn when addresses come to a link.
var announced = []string{learned + "OVN_Southbound MAC_Binding "}

// hostnetFaults are those of a node's own network: its uplink, its bridge, its
// addresses and routes.
var hostnetFaults = []fault{
	{
		check: "bridge-ip-lost-after-reboot", name: "the card has them", on: "node1",
		how:      "the host boots: the bridge's addresses and routes go, netplan gives them to eth0, with secondary ones, a second table, rules, metrics and a static neighbour",
		make:     func(s *scene) { s.boot() },
		mend:     again("restore-bridge-ip", "br-ex"),
		object:   "bridge br-ex on node1",
		repair:   []string{"restore-bridge-ip", "br-ex"},
		lost:     []probe{{"shop_client", "shop_web-2", "tcp"}, {"shop_client", "shop_web-2", "tcp6"}},
		restless: announced,
	},
	{
		check: "bridge-ip-lost-after-reboot", name: "nobody has them, a file knows", on: "node1",
		how: "the host boots: the bridge's addresses and routes go and nobody gives them to anyone; netplan's file names them",
		make: func(s *scene) {
			s.file("etc/netplan/10-br-ex.yaml", netplan("br-ex"))
			s.bare()
		},
		object:   "bridge br-ex on node1",
		repair:   []string{"restore-bridge-ip", "br-ex"},
		lost:     []probe{{"shop_client", "shop_web-2", "tcp"}, {"node1", "internet", "tcp6"}},
		restless: announced,
	},
	{
		check: "bridge-ip-lost-after-reboot", name: "nobody has them, the Northbound knows", on: "node1",
		how:      "the host boots: the bridge's addresses and routes go; the gateway router tells the length of the network and the gateway",
		make:     func(s *scene) { s.bare() },
		object:   "bridge br-ex on node1",
		repair:   []string{"restore-bridge-ip", "br-ex"},
		lost:     []probe{{"shop_client", "shop_web-2", "tcp"}, {"node1", "internet", "tcp"}},
		restless: announced,
	},
	{
		check: "bridge-ip-lost-after-reboot", name: "nobody has them, and the card is down", on: "node1",
		how: "the host boots: the bridge's addresses and routes go, and nobody sets eth0 up either",
		make: func(s *scene) {
			s.bare()
			s.sh("node1", "ip link set eth0 down")
		},
		object:   "bridge br-ex on node1",
		repair:   []string{"restore-bridge-ip", "br-ex"},
		lost:     []probe{{"shop_client", "shop_web-2", "tcp"}, {"node1", "internet", "tcp"}},
		restless: announced,
	},
	{
		check: "uplink-not-in-bridge", name: "deleted", on: "node1",
		how:    "ovs-vsctl del-port br-ex eth0",
		make:   func(s *scene) { s.afterwards(); s.sh("node1", "ovs-vsctl del-port br-ex eth0") },
		object: "bridge br-ex on node1",
		repair: []string{"attach-uplink", "br-ex"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}, {"shop_client", "internet", "tcp6"}},
	},
	{
		check: "uplink-not-in-bridge", name: "transient, and the card has the addresses", on: "node1",
		how: "the host boots: the transient port goes, netplan gives the addresses to eth0, and nobody attaches it again",
		make: func(s *scene) {
			s.sh("node1", "ovs-vsctl del-port br-ex eth0")
			s.boot()
		},
		mend:     again("attach-uplink", "br-ex", "eth0"),
		object:   "bridge br-ex on node1",
		repair:   []string{"attach-uplink", "br-ex", "eth0"},
		lost:     []probe{{"shop_client", "shop_web-2", "tcp"}, {"shop_client", "internet", "tcp6"}},
		restless: announced,
	},
	{
		check: "uplink-not-in-bridge", name: "of a mapped bridge that names none", on: "node1",
		how: "ovs-vsctl br-set-external-id br-ex bridge-uplink; ovs-vsctl del-port br-ex eth0",
		make: func(s *scene) {
			s.sh("node1", "ovs-vsctl br-set-external-id br-ex bridge-uplink -- del-port br-ex eth0")
			s.afterwards()
		},
		object: "bridge br-ex on node1",
		repair: []string{"attach-uplink", "br-ex", "eth0"},
		lost:   []probe{{"shop_client", "internet", "tcp"}},
	},
	{
		check: "bridge-fail-mode-wrong", on: "node1",
		how:    "ovs-vsctl set-fail-mode br-ex secure",
		make:   func(s *scene) { s.sh("node1", "ovs-vsctl set-fail-mode br-ex secure") },
		object: "bridge br-ex on node1",
		repair: []string{"standalone-bridge", "br-ex"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}, {"shop_client", "internet", "tcp6"}},
	},
	{
		check: "ip-on-enslaved-nic", on: "node1",
		how: "ip addr add 172.30.0.71/24 dev eth0, while eth0 is a port of br-ex",
		make: func(s *scene) {
			s.sh("node1", "ip addr add 172.30.0.71/24 brd + dev eth0 && ip route add 198.51.100.0/24 via 172.30.0.1 dev eth0 table 78 && ip rule add from 172.30.0.71 iif eth0 table 78 prio 178")
			s.afterwards()
		},
		object:   "link eth0 on node1",
		repair:   []string{"move-addresses", "br-ex"},
		restless: announced,
	},
	{
		check: "bridge-link-down", on: "node1",
		how: "ip link set br-ex down",
		make: func(s *scene) {
			s.file("etc/netplan/10-br-ex.yaml", netplan("br-ex"))
			s.afterwards()
			s.sh("node1", "ip link set br-ex down")
		},
		object: "bridge br-ex on node1",
		repair: []string{"set-bridge-up", "br-ex"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}, {"node1", "internet", "tcp6"}},
	},
	{
		check: "bridge-link-down", name: "never set up", on: "node1",
		how: "the host boots: nobody gives br-ex its addresses, or sets it or eth0 up",
		make: func(s *scene) {
			s.file("etc/netplan/10-br-ex.yaml", netplan("br-ex"))
			s.bare()
			s.sh("node1", "ip link set br-ex down; ip link set eth0 down")
		},
		object:   "bridge br-ex on node1",
		repair:   []string{"set-bridge-up", "br-ex"},
		lost:     []probe{{"shop_client", "shop_web-2", "tcp"}, {"node1", "internet", "tcp6"}},
		restless: announced,
	},
	{
		check: "cluster-route-or-snat-missing", name: "route to the pods", on: "node1",
		how:    "ip route del 10.244.0.0/16 dev ovn-k8s-mp0",
		make:   func(s *scene) { s.sh("node1", "ip route del 10.244.0.0/16 dev ovn-k8s-mp0") },
		object: "route 10.244.0.0/16",
		repair: []string{"add-cluster-route", "10.244.0.0/16"},
		lost:   []probe{{"node1", "shop_web-2", "tcp"}},
	},
	{
		check: "cluster-route-or-snat-missing", name: "IPv6 route to the pods", on: "node1",
		how:    "ip -6 route del fd00:10:244::/48 dev ovn-k8s-mp0",
		make:   func(s *scene) { s.sh("node1", "ip -6 route del fd00:10:244::/48 dev ovn-k8s-mp0") },
		object: "route fd00:10:244::/48",
		repair: []string{"add-cluster-route", "fd00:10:244::/48"},
		lost:   []probe{{"node1", "shop_web-2", "tcp6"}},
	},
	{
		check: "host-forwarding-off", name: "strict reverse path filter", on: "node1",
		how:    "sysctl -w net.ipv4.conf.ovn-k8s-mp0.rp_filter=1",
		make:   func(s *scene) { s.sh("node1", "sysctl -qw net.ipv4.conf.ovn-k8s-mp0.rp_filter=1") },
		object: "link ovn-k8s-mp0 on node1",
		result: doctor.Warning,
		repair: []string{"enable-forwarding", "net/ipv4/conf/ovn-k8s-mp0/rp_filter"},
	},
	{
		check: "nm-owns-ovs-port", on: "node1",
		how: "the uplink leaves the bridge and comes back with another number, while flows name the old one: ovs-vsctl del-port, add-port",
		make: func(s *scene) {
			s.sh("node1", `n=$(ovs-vsctl get Interface eth0 ofport)
				ovs-ofctl add-flow br-ex "priority=50,in_port=$n,ip actions=NORMAL"; ovs-ofctl add-flow br-ex "priority=50,in_port=LOCAL,ip,nw_dst=192.0.2.77 actions=output:$n"
				ovs-vsctl del-port br-ex eth0 -- add-port br-ex other -- set Interface other type=internal ofport_request=$n
				ovs-vsctl del-port br-ex other -- --id=@i create Interface name=eth0 ofport_request=77 -- --id=@p create Port name=eth0 interfaces=@i -- add Bridge br-ex ports @p
				ovs-vsctl --timeout=10 wait-until Interface eth0 ofport=77`)
		},
		mend: func(s *scene) {
			s.sh("node1", "ovs-ofctl --strict del-flows br-ex priority=50,in_port=LOCAL,ip,nw_dst=192.0.2.77; ovs-ofctl del-flows br-ex ip; ovs-ofctl del-flows br-ex ip,in_port=1; ovs-ofctl dump-flows br-ex")
		},
		object: "bridge br-ex on node1",
	},
	{
		check: "mtu-too-large", name: "of a pod", on: "node1",
		how:    "ip link set eth0 mtu 1500 in a pod, over Geneve on an MTU of 1500",
		make:   func(s *scene) { s.sh("shop_client", "ip link set eth0 mtu 1500") },
		mend:   func(s *scene) { s.sh("shop_client", "ip link set eth0 mtu 1400") },
		object: "node node1",
	},
	{
		check: "mtu-too-large", name: "the underlay shrinks", on: "node1",
		how:    "ip link set eth0 mtu 1400",
		make:   func(s *scene) { s.sh("node1", "ip link set eth0 mtu 1400") },
		mend:   func(s *scene) { s.sh("node1", "ip link set eth0 mtu 1500") },
		object: "node node1",
	},
	{
		check: "mtu-too-large", name: "gateway_mtu", on: "node1",
		how: "ovn-nbctl set Logical_Router_Port rtoe-GR_node1 options:gateway_mtu=9000",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl set Logical_Router_Port rtoe-GR_node1 options:gateway_mtu=9000")
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-nbctl remove Logical_Router_Port rtoe-GR_node1 options gateway_mtu")
		},
		object: "port rtoe-GR_node1",
	},
	{
		check: "ipv6-dad-failed", on: "node1",
		how: "ip -6 addr add of node2's address on br-ex, with duplicate detection on",
		make: func(s *scene) {
			s.sh("node1", "sysctl -qw net.ipv6.conf.br-ex.accept_dad=1 && ip -6 addr add fd00:172:30::12/64 dev br-ex")
			s.until("the kernel has found the duplicate", func() bool { return strings.Contains(s.sh("node1", "ip -6 addr show dev br-ex"), "dadfailed") })
		},
		mend: func(s *scene) {
			s.sh("node1", "ip -6 addr del fd00:172:30::12/64 dev br-ex; sysctl -qw net.ipv6.conf.br-ex.accept_dad=0")
		},
		object: "dev br-ex on node1",
	},
}

// kubeOVNHostFaults are those of a node whose pods leave through the host.
var kubeOVNHostFaults = []fault{
	{
		check: "host-forwarding-off", name: "IPv4", on: "node1",
		how: "sysctl -w net.ipv4.ip_forward=0, with forwarding of another link on",
		make: func(s *scene) {
			s.sh("node1", "sysctl -qw net.ipv4.ip_forward=0; sysctl -qw net.ipv4.conf.eth0.forwarding=1")
		},
		object: "node node1",
		repair: []string{"enable-forwarding", "net/ipv4/ip_forward"},
		lost:   []probe{{"client.shop", "internet", "tcp"}},
	},
	{
		check: "host-forwarding-off", name: "IPv6", on: "node1",
		how:    "sysctl -w net.ipv6.conf.all.forwarding=0",
		make:   func(s *scene) { s.sh("node1", "sysctl -qw net.ipv6.conf.all.forwarding=0") },
		object: "node node1",
		repair: []string{"enable-forwarding", "net/ipv6/conf/all/forwarding"},
		lost:   []probe{{"client.shop", "internet", "tcp6"}},
	},
	{
		check: "host-forwarding-off", name: "one link", on: "node1",
		how:    "sysctl -w net.ipv4.conf.ovn0.forwarding=0",
		make:   func(s *scene) { s.sh("node1", "sysctl -qw net.ipv4.conf.ovn0.forwarding=0") },
		object: "node node1",
		repair: []string{"enable-forwarding", "net/ipv4/conf/ovn0/forwarding"},
		lost:   []probe{{"client.shop", "internet", "tcp"}},
	},
	{
		check: "host-forwarding-off", name: "packet filter", on: "node1",
		how: "nft: a forward chain whose policy is drop",
		make: func(s *scene) {
			s.sh("node1", "nft 'add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }'")
		},
		mend:   func(s *scene) { s.sh("node1", "nft delete table ip filter") },
		object: "node node1",
		lost:   []probe{{"client.shop", "internet", "tcp"}},
	},
	{
		check: "cluster-route-or-snat-missing", name: "route through ovn0", on: "node1",
		how:    "ip route del 10.16.0.0/16 dev ovn0",
		make:   func(s *scene) { s.sh("node1", "ip route del 10.16.0.0/16 dev ovn0") },
		object: "route 10.16.0.0/16",
		repair: []string{"add-cluster-route", "10.16.0.0/16"},
		lost:   []probe{{"client.shop", "internet", "tcp"}},
	},
	{
		check: "cluster-route-or-snat-missing", name: "masquerading", on: "node1",
		how: "nft delete table ip nat",
		make: func(s *scene) {
			s.sh("node1", "nft list table ip nat > /tmp/nat-$$; nft delete table ip nat; mv /tmp/nat-$$ %s/nat.nft", filepath.Join(s.Dir, "node1"))
		},
		mend:   func(s *scene) { s.sh("node1", "nft -f %s/nat.nft", filepath.Join(s.Dir, "node1")) },
		object: "node node1",
		lost:   []probe{{"client.shop", "internet", "tcp"}},
	},
}

// again repairs a second time. The peers' userspace datapaths snoop what is
// announced only while they have no flow for the same announcement: it has to be
// 10 s old.
func again(repair ...string) func(*scene) {
	return func(s *scene) {
		time.Sleep(11 * time.Second)
		if code, out := s.ovnctl(append([]string{"fix", "--yes", "--max-risk", "high"}, repair...)...); code != 0 {
			s.Fatalf("fix again: exit %d:\n%s", code, out)
		}
	}
}

// netplan is a file that gives node1's addresses to a link.
func netplan(link string) string {
	return fmt.Sprintf(`network:
  version: 2
  ethernets:
    %s:
      addresses:
        - 172.30.0.11/24
        - "fd00:172:30::11/64"
      routes:
        - to: default
          via: 172.30.0.1
        - to: "::/0"
          via: "fd00:172:30::1"
`, link)
}

// file writes a file below node1's root, until the fault is over.
func (s *scene) file(path, text string) {
	s.Helper()
	path = filepath.Join(s.Dir, "node1", path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	s.T.Cleanup(func() { _ = os.Remove(path) })
}

// bare takes from node1's bridge what a boot takes.
func (s *scene) bare() {
	s.afterwards()
	s.sh("node1", "ip route flush dev br-ex; ip -6 route flush dev br-ex proto boot; ip addr flush dev br-ex scope global")
}

// boot is what a distribution does: it knows nothing of the bridge, and gives
// the card what its files say.
func (s *scene) boot() {
	s.file("etc/netplan/50-cloud-init.yaml", netplan("eth0"))
	s.bare()
	s.sh("node1", `echo 0 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6
		ip addr add 172.30.0.11/24 brd + dev eth0
		ip addr add 192.0.2.9/28 dev eth0 noprefixroute
		ip route add 192.0.2.0/28 dev eth0 proto kernel scope link src 192.0.2.9 metric 100
		ip addr add 172.30.0.61/24 brd + label eth0:1 dev eth0
		ip -6 addr add fd00:172:30::11/64 dev eth0 nodad
		ip -6 addr add fd00:172:30::61/64 dev eth0 nodad preferred_lft 0
		ip route add default via 172.30.0.1 dev eth0 proto static metric 100
		ip route add default via 172.30.0.2 dev eth0 proto static metric 200
		ip -6 route add default via fd00:172:30::1 dev eth0 proto static metric 1024 pref high
		ip route add 198.51.100.0/24 via 172.30.0.1 dev eth0 table 77 src 172.30.0.61 mtu lock 1400
		ip route add 198.51.101.0/24 table 77 nexthop via 172.30.0.1 dev eth0 weight 2 nexthop via 172.30.0.2 dev eth0
		ip rule add from 172.30.0.61 table 77 prio 100
		ip rule add iif eth0 ipproto tcp dport 80 table 77 prio 101
		ip -6 rule add oif eth0 table 77 prio 102
		ip neigh add 172.30.0.200 lladdr 02:00:00:00:00:c8 dev eth0 nud permanent
		ip neigh add fd00:172:30::c8 lladdr 02:00:00:00:00:c8 dev eth0 nud permanent`)
}

// afterwards makes node1's network as the lab has it, when the fault is over.
func (s *scene) afterwards() {
	s.T.Cleanup(func() {
		_, err := s.Lab.Run(context.Background(), "node1", "sh", "-c", `ovs-vsctl --may-exist add-port br-ex eth0 -- br-set-external-id br-ex bridge-uplink eth0
			for p in 100 101 178; do ip rule del prio $p; done; ip -6 rule del prio 102
			for l in br-ex eth0; do ip addr flush dev $l scope global; ip neigh flush dev $l nud permanent; ip route flush dev $l; done
			ip route flush table 77; ip route flush table 78; echo 1 > /proc/sys/net/ipv6/conf/eth0/disable_ipv6
			ip link set br-ex up
			ip addr add 172.30.0.11/24 dev br-ex; ip -6 addr add fd00:172:30::11/64 dev br-ex nodad
			ip route replace default via 172.30.0.1 dev br-ex; ip -6 route replace default via fd00:172:30::1 dev br-ex; true`)
		if err != nil {
			s.Error(err)
		}
	})
}

// What would make it worse, or would have to be guessed, is refused, and nothing is changed.
func TestUplinkRefusals(t *testing.T) {
	t.Parallel()
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	for _, c := range []struct {
		name, make, mend string
		repair           []string
		want             string
	}{
		{name: "no such bridge", repair: []string{"attach-uplink", "br-exx"}, want: `no bridge "br-exx"; node1 has `},
		{name: "nothing is wrong", repair: []string{"restore-bridge-ip", "br-ex"}, want: "bridge br-ex has 172.30.0.11/24"},
		{name: "it has its uplink", repair: []string{"attach-uplink", "br-ex", "eth0"}, want: "bridge br-ex has its uplink"},
		{
			name: "a port of another bridge", repair: []string{"attach-uplink", "br-x", "eth0"}, want: "eth0 is a port of bridge br-ex",
			make: "ovs-vsctl add-br br-x -- set Bridge br-x datapath_type=netdev", mend: "ovs-vsctl del-br br-x",
		},
		{
			name: "in a bridge of the kernel", repair: []string{"attach-uplink", "br-x", "va"}, want: "va belongs to kb",
			make: "ovs-vsctl add-br br-x -- set Bridge br-x datapath_type=netdev; ip link add va type veth peer name vb; ip link add kb type bridge; ip link set va master kb",
			mend: "ovs-vsctl del-br br-x; ip link del kb; ip link del va",
		},
		{
			name: "a loop", repair: []string{"attach-uplink", "br-x", "va"}, want: "packets would loop",
			make: "ip link add va type veth peer name vb; ovs-vsctl add-br br-x -- set Bridge br-x datapath_type=netdev -- add-port br-x vb -- set Interface vb external_ids:sandbox=x",
			mend: "ovs-vsctl del-br br-x; ip link del va",
		},
		{
			name: "two candidates", repair: []string{"attach-uplink", "br-x"}, want: "2 links could be the uplink of bridge br-x: v",
			make: "ovs-vsctl add-br br-x -- set Bridge br-x datapath_type=netdev; ip link add va type veth peer name vb",
			mend: "ovs-vsctl del-br br-x; ip link del va",
		},
		{
			name: "a nexthop object", repair: []string{"move-addresses", "br-ex"}, want: "uses the nexthop object 7 of eth0",
			make: "ip addr add 192.0.2.9/28 dev eth0; ip nexthop add id 7 via 192.0.2.1 dev eth0; ip route add 198.51.100.0/24 nhid 7",
			mend: "ip nexthop del id 7; ip addr del 192.0.2.9/28 dev eth0",
		},
		{
			name: "nothing says how long the prefix is", repair: []string{"restore-bridge-ip", "br-ex"}, want: "nothing shows the prefix length",
			make: "ip addr flush dev br-ex scope global; ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-ip=203.0.114.9",
			mend: "ip addr add 172.30.0.11/24 dev br-ex; ip -6 addr add fd00:172:30::11/64 dev br-ex nodad; ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-ip=172.30.0.11",
		},
		{name: "no network of pods", repair: []string{"add-cluster-route", "10.99.0.0/16"}, want: "this node has 10.244.0.0/16, fd00:10:244::/48"},
		{name: "another setting", repair: []string{"enable-forwarding", "kernel/panic"}, want: "not one of forwarding or rp_filter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &scene{T: t, Lab: l, ctx: t.Context(), fault: &fault{on: "node1"}}
			if c.make != "" {
				s.sh("node1", "%s", c.make)
			}
			before := s.sh("node1", "ip addr; ip route show table all; ovs-vsctl show")
			code, out := s.ovnctl(append([]string{"fix", "--yes", "--max-risk", "high"}, c.repair...)...)
			if code == 0 || !strings.Contains(out, c.want) {
				t.Errorf("fix %s: exit %d, want a refusal that says %q:\n%s", strings.Join(c.repair, " "), code, c.want, out)
			}
			if after := s.sh("node1", "ip addr; ip route show table all; ovs-vsctl show"); after != before {
				t.Errorf("something was changed:\n%s\n%s", before, after)
			}
			if c.mend != "" {
				s.sh("node1", "%s", c.mend)
			}
		})
	}
}
