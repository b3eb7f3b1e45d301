package lab

import (
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
	hosts := slices.Concat([]string{fabric}, s.Topology.hosts(), s.Centrals())
	withDirs := s.Centrals()
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
		links = append(links, s.veth(fabric, n.Name, n.Name, "eth0"))
	}
	for _, c := range s.Centrals() {
		links = append(links, s.veth(fabric, c, c, "eth0"))
	}
	for _, p := range s.Topology.Pods {
		links = append(links, s.veth(p.Node, p.Link, p.Name, "eth0"))
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
	bin := filepath.Join(s.Dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(bin, "modprobe"), []byte("#!/bin/sh\nexit 0\n"), 0o755)
}

// Packets from a veth have checksums left to hardware; the userspace datapath considers them bad.
const checksumsByHand = "for d in /sys/class/net/*; do d=${d##*/}; [ $d = lo ] || { ethtool -K $d tx off >/dev/null 2>&1; ip link set $d up; }; done"

// With the userspace datapath the kernel also receives what enters a bridge port, here a node's uplink and its pod
// links. It must not reply there for the bridge's addresses.
const notTheKernels = "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore; for d in /sys/class/net/*; do d=${d##*/}; [ $d = lo ] || echo 1 > /proc/sys/net/ipv6/conf/$d/disable_ipv6; done"

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
		lines = append(lines, forwarding, "ip link add under type bridge", "ip link set under address 02:00:ac:1e:00:01")
		for _, n := range s.Topology.Nodes {
			lines = append(lines, "ip link set "+n.Name+" master under")
		}
		for _, c := range s.Centrals() {
			lines = append(lines, "ip link set "+c+" master under")
		}
		lines = append(lines, checksumsByHand,
			"ip addr add "+UnderlayGateway4.String()+"/24 dev under", "ip addr add "+UnderlayGateway6.String()+"/64 dev under nodad",
			"ip addr add "+Internet4.Prev().String()+"/24 dev inet", "ip addr add "+Internet6.Prev().String()+"/64 dev inet nodad")
		for network, hop := range s.Topology.Routed {
			lines = append(lines, fmt.Sprintf("ip route add %s via %s dev under", network, hop))
		}
		return lines
	case internet:
		return append(append(lines, checksumsByHand), eth0(netip.PrefixFrom(Internet4, 24), Internet4.Prev(), netip.PrefixFrom(Internet6, 64), Internet6.Prev())...)
	}
	if i := slices.Index(s.Centrals(), host); i >= 0 {
		return append(append(lines, checksumsByHand), eth0(netip.PrefixFrom(centralAddr(i), 24), UnderlayGateway4, netip.Prefix{}, netip.Addr{})...)
	}
	if p, ok := s.Topology.Pod(host); ok {
		lines = append(lines, "ip link set eth0 address "+p.MAC+" mtu 1400", checksumsByHand, giveUpSoon)
		lines = append(lines, eth0(p.IPv4, p.Gateway4, p.IPv6, p.Gateway6)...)
		for _, network := range p.OnLink {
			lines = append(lines, "ip route replace "+network.String()+" dev eth0 scope link")
		}
		return lines
	}
	return append(lines, checksumsByHand, notTheKernels)
}

func eth0(ip4 netip.Prefix, gw4 netip.Addr, ip6 netip.Prefix, gw6 netip.Addr) []string {
	var lines []string
	if ip4.IsValid() {
		lines = append(lines, "ip addr add "+ip4.String()+" dev eth0")
	}
	if gw4.IsValid() {
		lines = append(lines, "ip route add default via "+gw4.String())
	}
	if ip6.IsValid() {
		lines = append(lines, "ip addr add "+ip6.String()+" dev eth0 nodad")
	}
	if gw6.IsValid() {
		lines = append(lines, "ip -6 route add default via "+gw6.String())
	}
	return lines
}
