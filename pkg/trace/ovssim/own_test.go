//go:build lab

package ovssim_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

// TestOwn traces packets that ovs-vswitchd itself handles, and others on bridges with a spanning tree and with bonds.
func TestOwn(t *testing.T) { compareOwn(t, "") }

func compareOwn(t *testing.T, release string) {
	c := newBridgeComparison(t, release)
	c.compareMonitored()
	c.addBonds()
	c.compareTree()
	c.compareBonds()
}

// enter runs a command on the switch's node.
func (c *bridgeComparison) enter(line string) string {
	c.t.Helper()
	out, err := c.lab.Run(c.t.Context(), "node1", strings.Fields(line)...)
	if err != nil {
		c.t.Fatalf("%s: %v %s", line, err, out)
	}
	return out
}

// pairs adds pairs of devices, a1 and b1, a2 and b2: what goes into one comes out of the other.
func (c *bridgeComparison) pairs(a, b string, n int) {
	for i := range n {
		one, other := fmt.Sprint(a, i+1), fmt.Sprint(b, i+1)
		c.enter(fmt.Sprintf("ip link add %s type veth peer name %s", one, other))
		for _, name := range []string{one, other} { // quiet, or the bridges would learn from it
			c.enter(fmt.Sprintf("sysctl -qw net.ipv6.conf.%s.disable_ipv6=1", name))
			c.enter("ip link set " + name + " up")
		}
	}
}

// expect compares the traces of packets into a bridge. A difference stays if it is one of the simulation, and not of what happened
// between what was read of the switch and its trace; before prepares it each time.
func (c *bridgeComparison) expect(bridge, when string, before func(), packets ...string) {
	if bridge != "br-draw" {
		tree := strings.TrimSuffix(bridge, "-q")
		c.host.names = []string{tree, tree + "-q"}
	}
	before()
	for _, text := range packets {
		problem := ""
		for attempt := range 3 {
			if attempt > 0 {
				before()
			}
			if problem = c.differsOn(bridge, text, func(ask func()) { ask() }, func(*ovssim.BridgeSource) {}); problem == "" {
				break
			}
		}
		if problem != "" {
			c.t.Errorf("%s %s %s: %s", bridge, when, text, problem)
		}
	}
}

// compareMonitored traces packets into ports that ovs-vswitchd watches.
func (c *bridgeComparison) compareMonitored() {
	c.enter("ovs-vsctl --timeout=60 set interface p1 bfd:enable=true -- set interface p2 bfd:enable=true bfd:bfd_remote_dst_mac=00:00:00:00:00:09 " +
		"-- set interface tun-6 bfd:enable=true bfd:check_tnl_key=true -- set interface far-draw bfd:enable=true bfd:check_tnl_key=true " +
		"-- set interface p3 cfm_mpid=1 lldp:enable=true -- set interface tun-5 cfm_mpid=2 other_config:cfm_extended=true")
	if _, ok := c.load(&drawnBridge{flows: []string{"in_port=3,actions=4,2", "priority=1,actions=3"}}); !ok {
		c.t.Fatal("the flows of the monitored ports are not there")
	}
	c.expect("br-draw", "monitored", func() {},
		"udp,in_port=1,udp_dst=3784", "udp,in_port=1,udp_dst=3785", "udp,in_port=1,udp_dst=1000", "udp,in_port=1,nw_frag=later",
		"udp,in_port=1,nw_frag=first,udp_dst=3784", "udp6,in_port=1,udp_dst=3784", "tcp,in_port=1,tcp_dst=3784", "arp,in_port=1",
		"udp,in_port=3,udp_dst=3784", "udp,in_port=3,tun_id=7,udp_dst=3784", "udp6,in_port=3,udp_dst=3784", "udp,in_port=3,udp_dst=4000",
		"udp,in_port=2,udp_dst=3784", "udp,in_port=2,dl_dst=00:00:00:00:00:09,udp_dst=3784", "udp6,in_port=2,udp_dst=3784",
		"udp,in_port=6,tun_src=172.30.0.12,tun_dst=172.30.0.11,tun_ttl=64,udp_dst=3784",
		"udp,in_port=6,tun_id=7,tun_src=172.30.0.12,tun_dst=172.30.0.11,tun_ttl=64,udp_dst=3784",
		"in_port=3,dl_type=0x88cc,dl_dst=01:80:c2:00:00:0e", "in_port=1,dl_type=0x88cc,dl_dst=01:80:c2:00:00:0e",
		"in_port=3,dl_type=0x8902,dl_dst=01:23:20:00:00:30", "in_port=3,dl_type=0x8902,dl_dst=01:80:c2:00:00:30", "in_port=3,dl_type=0x8902",
		"in_port=5,dl_type=0x8902,dl_dst=01:23:20:00:00:30,tun_src=172.30.0.12,tun_dst=172.30.0.11,tun_ttl=64",
		"in_port=5,dl_type=0x8902,dl_dst=01:80:c2:00:00:30,tun_src=172.30.0.12,tun_dst=172.30.0.11,tun_ttl=64")
}

// compareTree traces packets on a bridge with a spanning tree, and with a rapid one, in each state that the ports go through.
func (c *bridgeComparison) compareTree() {
	bridges := []string{"br-stp", "br-rstp"}
	for _, bridge := range bridges {
		kind := strings.TrimPrefix(bridge, "br-")
		c.pairs(kind+"-a", kind+"-b", 1)
		c.enter(strings.NewReplacer("BRIDGE", bridge, "KIND", kind).Replace("ovs-vsctl --timeout=60 add-br BRIDGE -- set bridge BRIDGE datapath_type=" + c.lab.Datapath + " fail_mode=secure " +
			"-- add-port BRIDGE KIND-a1 -- set interface KIND-a1 ofport_request=1 -- add-port BRIDGE KIND-b1 -- set interface KIND-b1 ofport_request=2 " +
			"-- add-port BRIDGE KIND-s -- set interface KIND-s type=internal ofport_request=3 " +
			"-- add-port BRIDGE KIND-p -- set interface KIND-p type=patch options:peer=KIND-q ofport_request=4 " +
			"-- add-br BRIDGE-q -- set bridge BRIDGE-q datapath_type=" + c.lab.Datapath + " fail_mode=secure " +
			"-- add-port BRIDGE-q KIND-q -- set interface KIND-q type=patch options:peer=KIND-p ofport_request=1 -- add-port BRIDGE-q KIND-r -- set interface KIND-r type=internal ofport_request=2"))
		c.enter("ovs-ofctl add-flow " + bridge + " actions=NORMAL")
		c.enter("ovs-ofctl add-flow " + bridge + " priority=40000,dl_dst=00:00:00:00:00:09,actions=1,2,3,4")
		c.enter("ovs-ofctl add-flow " + bridge + " priority=40000,ip,dl_dst=00:00:00:00:00:08,actions=ct(table=1)")
		c.enter("ovs-ofctl add-flow " + bridge + "-q in_port=2,actions=1,2")
	}
	c.enter("ovs-vsctl --timeout=60 set bridge br-stp stp_enable=true other_config:stp-forward-delay=4 -- set bridge br-rstp rstp_enable=true other_config:rstp-forward-delay=4")
	seen := map[string]bool{}
	for end := time.Now().Add(c.lab.Allow(40 * time.Second)); !seen["stp_state=forwarding"] || !seen["rstp_port_state=Forwarding"]; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatalf("the spanning trees came only to %v", seen)
		}
		for _, bridge := range bridges {
			kind := strings.TrimPrefix(bridge, "br-")
			states := c.enter("ovs-vsctl --bare --columns=name,status,rstp_status find port name="+kind+"-a1") + c.enter("ovs-vsctl --bare --columns=name,status,rstp_status find port name="+kind+"-b1")
			when := strings.Join(treeState.FindAllString(states, -1), " ")
			if seen[bridge+when] {
				continue
			}
			seen[bridge+when] = true
			for _, state := range strings.Fields(when) {
				seen[state] = true
			}
			know := func() { // a change of the tree has the bridge forget it
				for port, mac := range map[string]string{"a1": "00:00:00:00:00:05", "b1": "00:00:00:00:00:06", "s": "00:00:00:00:00:07"} {
					c.enter("ovs-appctl fdb/add " + bridge + " " + kind + "-" + port + " 0 " + mac)
				}
			}
			var packets []string
			for port := range 5 {
				for _, rest := range []string{"ip,dl_dst=00:00:00:00:00:05", "ip,dl_dst=00:00:00:00:00:06", "ip,dl_dst=00:00:00:00:00:07", "ip,dl_dst=00:00:00:00:00:08", "ip,dl_dst=00:00:00:00:00:09",
					"dl_type=0x05ff,dl_dst=01:80:c2:00:00:00", "dl_type=0x05ff,dl_dst=01:80:c2:00:00:01", "dl_type=0x8809,dl_dst=01:80:c2:00:00:00"} {
					packets = append(packets, fmt.Sprintf("in_port=%d,%s", port+1, rest))
				}
			}
			c.expect(bridge, when, know, packets...)
			c.expect(bridge+"-q", when, know, "in_port=2,ip,dl_dst=00:00:00:00:00:05", "in_port=2,ip,dl_dst=00:00:00:00:00:08", "in_port=2,ip,dl_dst=00:00:00:00:00:09", "in_port=2,dl_type=0x05ff,dl_dst=01:80:c2:00:00:00")
		}
	}
	c.t.Logf("%d states: %q", len(seen), slices.Sorted(maps.Keys(seen)))
	for _, bridge := range bridges {
		c.enter("ovs-vsctl --timeout=60 del-br " + bridge + " -- del-br " + bridge + "-q")
	}
}

var treeState = regexp.MustCompile(`(stp_state|rstp_port_state)=\w+`)

// bonds are the ways in which bonds work: what is set for one, and for that at the other end.
var bonds = []struct{ name, own, other string }{
	{"active-backup", "", ""},
	{"active-backup with LACP", "lacp=active", "lacp=active"},
	{"active-backup without the other end's LACP", "lacp=active", ""},
	{"active-backup for want of LACP", "lacp=active bond_mode=balance-tcp other_config:lacp-fallback-ab=true", ""},
	{"balance-slb", "bond_mode=balance-slb", "bond_mode=balance-slb"},
	{"balance-slb with LACP", "lacp=active bond_mode=balance-slb other_config:bond-hash-basis=77", "lacp=passive"},
	{"balance-tcp", "lacp=active bond_mode=balance-tcp", "lacp=active"},
	{"balance-tcp without the other end's LACP", "lacp=active bond_mode=balance-tcp", ""},
	{"balance-tcp without LACP", "bond_mode=balance-tcp", ""},
	{"balance-tcp by the datapath's own bond", "lacp=active bond_mode=balance-tcp other_config:lb-output-action=true", "lacp=active"},
}

// addBonds adds a bridge with each bond, and one with its other end.
func (c *bridgeComparison) addBonds() {
	for i, mode := range bonds {
		x, y := fmt.Sprint("x", i), fmt.Sprint("y", i)
		c.pairs(x, y, 2)
		for side, options := range map[string]string{x: mode.own, y: mode.other} {
			c.enter(strings.NewReplacer("SIDE", side, "OPTIONS", options, "DATAPATH", c.lab.Datapath).Replace(
				"ovs-vsctl --timeout=60 add-br br-SIDE -- set bridge br-SIDE datapath_type=DATAPATH -- set port br-SIDE tag=99 -- add-bond br-SIDE bond-SIDE SIDE1 SIDE2 OPTIONS " +
					"-- set interface SIDE1 ofport_request=1 -- set interface SIDE2 ofport_request=2 -- add-port br-SIDE port-SIDE -- set interface port-SIDE type=internal ofport_request=3"))
		}
		c.enter("ovs-appctl fdb/add br-" + x + " port-" + x + " 0 00:00:00:00:00:05")
	}
}

// compareBonds traces packets into and out of bonds, whole and with a member that is down.
func (c *bridgeComparison) compareBonds() {
	c.settle()
	send := func(i int) { // so that bond/show says by which member their sources send, which it forgets
		for mac := range 4 {
			for range 3 {
				c.enter(fmt.Sprintf("ovs-ofctl packet-out br-x%d in_port=3,packet=0000000000990a00000000%02x0800%s,actions=NORMAL", i, mac, strings.Repeat("00", 1400)))
			}
		}
	}
	compare := func(when string) {
		for i, mode := range bonds {
			packets := []string{"in_port=3,dl_type=0x8809,dl_dst=01:80:c2:00:00:02"}
			for port := range 2 {
				for _, rest := range []string{"ip,dl_src=00:00:00:00:00:11,dl_dst=00:00:00:00:00:05", "ip,dl_src=00:00:00:00:00:05,dl_dst=00:00:00:00:00:06",
					"arp,dl_src=00:00:00:00:00:05,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.1", "ip,dl_src=00:00:00:00:00:11,dl_dst=01:00:5e:00:00:05",
					"arp,dl_src=00:00:00:00:00:11,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.2", "dl_type=0x8809,dl_dst=01:80:c2:00:00:02"} {
					packets = append(packets, fmt.Sprintf("in_port=%d,%s", port+1, rest))
				}
			}
			for mac := range 4 {
				packets = append(packets, fmt.Sprintf("in_port=3,ip,dl_src=0a:00:00:00:00:%02x,dl_dst=00:00:00:00:00:99", mac))
			}
			c.expect(fmt.Sprint("br-x", i), mode.name+", "+when, func() { send(i) }, packets...)
		}
	}
	compare("whole")
	send(4)
	if listed := strings.Count(c.enter("ovs-appctl bond/show bond-x4"), "kB load"); listed == 0 {
		c.t.Error("the bond does not say by which member a source sends")
	}
	for i := range bonds {
		c.enter(fmt.Sprintf("ip link set y%d1 down", i))
	}
	c.settle()
	compare("with a member down")
}

// settle waits until the bonds stay as they are.
func (c *bridgeComparison) settle() {
	was, same := "", 0
	for range 100 {
		now := regexp.MustCompile(`\d+ ms|hash .*`).ReplaceAllString(c.enter("ovs-appctl bond/show"), "")
		if same++; now != was {
			was, same = now, 0
		}
		if same == 8 {
			return
		}
		time.Sleep(250 * time.Millisecond)
	}
	c.t.Fatalf("the bonds change all the time: %s", was)
}
