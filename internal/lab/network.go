package lab

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// buildNetwork makes the namespaces, connects them, and addresses the fabric, the internet host and the pods. Nodes get
// addresses once their bridges exist.
func (s *State) buildNetwork(ctx context.Context) error {
	hosts := slices.Concat(s.Topology.hosts(), s.centralHosts())
	withDirs := s.centralHosts()
	for _, n := range s.Topology.Nodes {
		withDirs = append(withDirs, n.Name)
	}
	for _, h := range withDirs {
		if err := s.makeHostDirs(h); err != nil {
			return err
		}
	}
	if err := s.writeScripts(); err != nil {
		return err
	}
	if err := s.stubModprobe(); err != nil {
		return err
	}
	var netns, links []string
	for _, h := range hosts {
		netns = append(netns, "netns add "+s.Prefix+"-"+h)
	}
	links = append(links, s.veth(fabric, "inet", internet, "eth0"))
	for _, n := range s.Topology.Nodes {
		for _, u := range n.uplinks() {
			links = append(links, s.veth(fabric, s.Topology.fabricLink(n, u), n.Name, u.Name))
		}
	}
	for _, c := range s.centralHosts() {
		links = append(links, s.veth(fabric, c, c, "eth0"))
	}
	for _, p := range s.Topology.Pods {
		links = append(links, s.veth(p.Node, p.Link, p.host(), p.device()))
	}
	if err := ipBatch(ctx, append(netns, links...)); err != nil {
		return err
	}
	return each(hosts, func(h string) error { return s.shell(ctx, h, s.addresses(h)...) })
}

// veth returns the ip-link(8) command for a pair of devices made inside two hosts, so that the machine's own namespace
// never sees them.
func (s *State) veth(a, aDev, b, bDev string) string {
	return fmt.Sprintf("link add %s netns %s-%s type veth peer name %s netns %s-%s", aDev, s.Prefix, a, bDev, s.Prefix, b)
}

func ipBatch(ctx context.Context, lines []string) error {
	cmd := exec.CommandContext(ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip -batch: %w: %s", err, tail(string(out)))
	}
	return nil
}

// stubModprobe lets ovs-ctl run without the openvswitch module, which the userspace datapath does not need.
func (s *State) stubModprobe() error {
	if s.Datapath == kernelDatapath {
		return nil
	}
	bin := filepath.Join(s.Dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(bin, "modprobe"), []byte("#!/bin/sh\nexit 0\n"), 0o755)
}

// Packets from a veth have checksums left to hardware; the userspace datapath considers them bad. Not every device can be told:
// those that modules of the kernel make in every namespace cannot. Not every name there is a device's.
const checksumsByHand = "for d in /sys/class/net/*/; do d=${d%/}; d=${d##*/}; [ $d = lo ] || { ethtool -K $d tx off >/dev/null 2>&1 || true; ip link set $d up; }; done"

// With the userspace datapath the kernel also receives what enters a bridge port, here a node's uplink and its pod
// links. It must not reply there for the bridge's addresses.
const notTheKernels = "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore; for d in /sys/class/net/*/; do d=${d%/}; d=${d##*/}; [ $d = lo ] || echo 1 > /proc/sys/net/ipv6/conf/$d/disable_ipv6; done"

// During duplicate address detection a host cannot resolve neighbours, and the lab assigns each address only once.
const quietIPv6 = "for f in /proc/sys/net/ipv6/conf/*/accept_dad /proc/sys/net/ipv6/conf/*/router_solicitations; do echo 0 > $f; done"

// Retry lost neighbour solicitations after 200 ms instead of a second, before a probe gives up.
const askAgainSoon = "for f in /proc/sys/net/ipv[46]/neigh/*/retrans_time_ms; do echo 200 > $f; done"

// A pod stops retransmitting lost SYN-ACKs after some seconds, not half a minute: ovs-vswitchd 3.1 aborts in its
// userspace conntrack on a packet of a connection that has just expired there, after 30 s.
const giveUpSoon = "echo 3 > /proc/sys/net/ipv4/tcp_synack_retries"

const forwarding = "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding"

// addresses returns the shell commands that set up the part of a host's network that does not depend on Open vSwitch.
func (s *State) addresses(host string) []string {
	lines := []string{"ip link set lo up", "echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6", quietIPv6, askAgainSoon}
	switch host {
	case fabric:
		return append(lines, s.fabricAddresses()...)
	case internet:
		outside6 := cmp.Or(s.Topology.Underlay.Outside6, Internet6)
		return append(append(lines, checksumsByHand), addressed("eth0", netip.PrefixFrom(Internet4, 24), Internet4.Prev(), netip.PrefixFrom(outside6, 64), outside6.Prev())...)
	}
	if i := slices.Index(s.centralHosts(), host); i >= 0 {
		router := s.Topology.underlayRouters()[0]
		return append(append(lines, checksumsByHand), addressed("eth0", netip.PrefixFrom(s.centralAddr(i), router.Bits()), router.Addr(), netip.Prefix{}, netip.Addr{})...)
	}
	if n, ok := s.Topology.Node(host); ok {
		for _, u := range n.uplinks() {
			if u.MAC != "" {
				lines = append(lines, "ip link set "+u.Name+" address "+u.MAC)
			}
		}
		return append(lines, checksumsByHand, notTheKernels)
	}
	lines = append(lines, giveUpSoon)
	for _, p := range s.Topology.Pods {
		if p.host() == host {
			lines = append(lines, p.addresses()...)
		}
	}
	return lines
}

// fabricAddresses returns the commands for the fabric: a bridge with all uplinks, whose own addresses are the routers' of
// the underlay, and the way to the internet host.
func (s *State) fabricAddresses() []string {
	outside6 := cmp.Or(s.Topology.Underlay.Outside6, Internet6)
	lines := []string{forwarding, "ip link add under type bridge", "ip link set under address " + cmp.Or(s.Topology.Underlay.MAC, UnderlayMAC)}
	for _, n := range s.Topology.Nodes {
		for _, u := range n.uplinks() {
			lines = append(lines, "ip link set "+s.Topology.fabricLink(n, u)+" master under")
		}
	}
	for _, c := range s.centralHosts() {
		lines = append(lines, "ip link set "+c+" master under")
	}
	lines = append(lines, checksumsByHand)
	for _, router := range s.Topology.underlayRouters() {
		lines = append(lines, "ip addr add "+router.String()+" dev under"+nodad(router))
	}
	lines = append(lines, "ip addr add "+Internet4.Prev().String()+"/24 dev inet", "ip addr add "+outside6.Prev().String()+"/64 dev inet nodad")
	if s.Topology.Saved != "" {
		lines = append(lines, "ip route add blackhole default") // outside, most packets for nowhere vanish
	}
	for network, hop := range s.Topology.Routed {
		lines = append(lines, fmt.Sprintf("ip route add %s via %s dev under", network, hop))
	}
	return lines
}

// nodad is the option of ip-address(8) for an address that needs no duplicate address detection.
func nodad(p netip.Prefix) string {
	if p.Addr().Is6() {
		return " nodad"
	}
	return ""
}

// addresses returns the commands for one interface of a pod.
func (p Pod) addresses() []string {
	lines := []string{"ip link set " + p.device() + " address " + p.MAC + " mtu 1400", checksumsByHand}
	lines = append(lines, addressed(p.device(), p.IPv4, p.Gateway4, p.IPv6, p.Gateway6)...)
	for _, network := range p.OnLink {
		lines = append(lines, "ip route replace "+network.String()+" dev "+p.device()+" scope link")
	}
	for _, addr := range p.Virtual {
		lines = append(lines, "ip addr add "+addr.String()+" dev "+p.device())
	}
	return lines
}

func addressed(dev string, ip4 netip.Prefix, gw4 netip.Addr, ip6 netip.Prefix, gw6 netip.Addr) []string {
	var lines []string
	if ip4.IsValid() {
		lines = append(lines, "ip addr add "+ip4.String()+" dev "+dev)
	}
	if gw4.IsValid() {
		lines = append(lines, "ip route add default via "+gw4.String()+" dev "+dev)
	}
	if ip6.IsValid() {
		lines = append(lines, "ip addr add "+ip6.String()+" dev "+dev+" nodad")
	}
	if gw6.IsValid() {
		lines = append(lines, "ip -6 route add default via "+gw6.String()+" dev "+dev)
	}
	return lines
}
