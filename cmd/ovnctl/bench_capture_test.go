//go:build lab

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// BenchmarkCaptureLarge saves a deployment of 611,000 logical flows, from the files of its servers and in pieces by TCP, as from
// another host, and watches how long other clients of its servers wait meanwhile. Beside it, ovsdb-client saves both databases, by
// dump and by backup.
func BenchmarkCaptureLarge(b *testing.B) {
	program := buildOvnctl(b)
	captureBeside(b, scale.Start(b, scale.Large), program)
}

func captureBeside(b *testing.B, d *scale.Deployment, program string) {
	b.Helper()
	file := filepath.Join(b.TempDir(), "large.tar.zst")
	capture := func(nb, sb string) task {
		return task{host(exitOK, program, "capture", file, "--force", "--within", "1800", "--nb", nb, "--sb", sb)}
	}
	saves := []struct {
		name string
		task task
	}{
		{"", capture(d.NB.Remote(), d.SB.Remote())},
		{"pieces-", capture(d.NB.ListenTCP(), d.SB.ListenTCP())},
		{"dump-", task{client("dump", d.NB, "-f", "json"), client("dump", d.SB, "-f", "json")}},
		{"backup-", task{client("backup", d.NB), client("backup", d.SB)}},
	}
	for b.Loop() {
		for _, s := range saves {
			stopNB, stopSB := echo(b, d.NB.Socket), echo(b, d.SB.Socket)
			start := time.Now()
			peak := s.task.peak(b)
			took := time.Since(start)
			b.ReportMetric(took.Seconds(), s.name+"s")
			b.ReportMetric(float64(peak)/(1<<20), s.name+"MiB")
			b.ReportMetric(milliseconds(stopSB()), s.name+"echo-ms")
			b.ReportMetric(milliseconds(stopNB()), s.name+"nb-echo-ms")
		}
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
	fi, err := os.Stat(file)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(fi.Size())/1e6, "file-MB")
}

// client is an ovsdb-client(1) that reads a whole database.
func client(what string, s *ovsdbtest.Server, args ...string) command {
	return host(0, append(append([]string{"ovsdb-client", "--timeout=600"}, args...), what, s.Remote(), s.DB)...)
}

// BenchmarkCaptureConnections runs commands on a node whose datapath tracks 500,000 connections, and watches how long another
// client of ovs-vswitchd's control socket waits for its version meanwhile. Beside them, ovs-appctl dumps the connections.
func BenchmarkCaptureConnections(b *testing.B) {
	program := buildOvnctl(b)
	l := labtest.Own(b, lab.OVNKubernetes(), lab.Options{})
	connect(b, l, "node1", 500_000)
	askNode(b, l, program, "dpctl/dump-conntrack")
	if n := connections(b, l, "node1"); n < 500_000 {
		b.Errorf("%d connections are left", n)
	}
}

// BenchmarkCaptureMegaflows does so with nearly as many megaflows as a capture asks for, which ovs-appctl dumps beside it.
func BenchmarkCaptureMegaflows(b *testing.B) {
	const many = 49_500
	program := buildOvnctl(b)
	l := labtest.Own(b, lab.OVNKubernetes(), lab.Options{})
	flood(b, l, "node1", many)
	askNode(b, l, program, "dpctl/dump-flows -m")
	if n := megaflows(b, l, "node1"); n < many {
		b.Errorf("%d megaflows are left", n)
	}
}

// askNode runs commands on node1, and beside them a dump by ovs-appctl.
func askNode(b *testing.B, l *lab.Lab, program, dump string) {
	b.Helper()
	sockets, err := filepath.Glob(filepath.Join(l.Dir, "node1/run/openvswitch/ovs-vswitchd.*.ctl"))
	if err != nil || len(sockets) != 1 {
		b.Fatalf("control sockets %q, %v", sockets, err)
	}
	ovnctl := func(exit int, args ...string) task {
		c := on(l, "node1", append([]string{program}, args...)...)
		c.exit = exit
		return task{c}
	}
	commands := []struct {
		name string
		task task
	}{
		{"capture", ovnctl(exitOK, "capture", filepath.Join(b.TempDir(), "node.tar.zst"), "--force")},
		{"doctor", ovnctl(exitOK, "doctor", "--fail-on", "never")},
		{"trace", ovnctl(exitOK, "trace", "shop/client", "shop/web-1", "--tcp", "8080")},
		{"dump", task{on(l, "node1", "sh", "-c", "exec ovs-appctl "+dump+" > /dev/null")}},
	}
	for b.Loop() {
		for _, c := range commands {
			stop := waits(b, sockets[0], `{"method":"version","params":[],"id":0}`)
			took := c.task.time(b, nil, nil)
			b.ReportMetric(took.Seconds(), c.name+"-s")
			b.ReportMetric(milliseconds(stop()), c.name+"-wait-ms")
		}
	}
	b.ReportMetric(0, "ns/op") // of all together, which says nothing
}

// connections is how many the datapath of a node tracks.
func connections(b *testing.B, l *lab.Lab, node string) (n int) {
	b.Helper()
	out, err := l.Run(b.Context(), node, "ovs-appctl", "dpctl/ct-get-nconns")
	if err == nil {
		_, err = fmt.Sscan(out, &n)
	}
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// connect has the userspace datapath of a node track so many connections, for two hours: it sends a UDP packet for each
// through a bridge of its own that commits it.
func connect(b *testing.B, l *lab.Lab, node string, n int) {
	b.Helper()
	for _, command := range []string{
		"ovs-vsctl --timeout=60 add-br br-ct -- set Bridge br-ct datapath_type=netdev fail_mode=secure -- --id=@d create Datapath datapath_version=0 -- set Open_vSwitch . datapaths:netdev=@d",
		"ovs-vsctl --timeout=60 add-zone-tp netdev zone=7 udp_first=7200 udp_single=7200 udp_multiple=7200",
		"ovs-ofctl add-flow br-ct udp,actions=ct(commit,zone=7)",
	} {
		if _, err := l.Run(b.Context(), node, strings.Fields(command)...); err != nil {
			b.Fatal(err)
		}
	}
	c, err := net.Dial("unix", filepath.Join(l.Dir, node, "run/openvswitch/br-ct.mgmt"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	go func() { _, _ = io.Copy(io.Discard, c) }()
	if _, err := c.Write([]byte{4, 0, 0, 8, 0, 0, 0, 0}); err != nil { // hello of OpenFlow 1.3
		b.Fatal(err)
	}
	for i := 0; i < n; i += 1000 {
		var messages []byte
		for k := i; k < min(n, i+1000); k++ {
			messages = append(messages, packetOut(k)...)
		}
		if _, err := c.Write(messages); err != nil {
			b.Fatal(err)
		}
	}
	for deadline := time.Now().Add(5 * time.Minute); connections(b, l, node) < n; time.Sleep(time.Second) {
		if time.Now().After(deadline) {
			b.Fatalf("%d connections", connections(b, l, node))
		}
	}
}

// megaflows is how many the datapath of a node has.
func megaflows(b *testing.B, l *lab.Lab, node string) (n int) {
	b.Helper()
	out, err := l.Run(b.Context(), node, "ovs-appctl", "dpctl/show")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(out, "flows: ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		b.Fatalf("%v in %s", err, out)
	}
	return n
}

// flood has the userspace datapath of a node keep so many megaflows for an hour: UDP packets to as many ports enter a
// bridge of its own, whose flow looks at all bits of the port.
func flood(b *testing.B, l *lab.Lab, node string, n int) {
	b.Helper()
	for _, command := range []string{
		"ovs-vsctl --timeout=60 add-br br-mf -- set Bridge br-mf datapath_type=netdev fail_mode=secure -- set Open_vSwitch . other_config:max-idle=3600000",
		"ovs-ofctl add-flow br-mf udp,actions=move:NXM_OF_UDP_DST[]->NXM_NX_REG0[0..15]",
		"ip address add 198.18.0.1/24 dev br-mf",
		"ip link set br-mf up",
		"ip neighbour replace 198.18.0.2 lladdr 02:00:00:00:00:02 dev br-mf",
	} {
		if _, err := l.Run(b.Context(), node, strings.Fields(command)...); err != nil {
			b.Fatal(err)
		}
	}
	// ovs-vswitchd lets the number grow step by step: what was refused is sent again.
	for deadline := time.Now().Add(5 * time.Minute); megaflows(b, l, node) < n; {
		send := fmt.Sprintf("for port in {10000..%d}; do echo > /dev/udp/198.18.0.2/$port; done", 9999+n)
		if _, err := l.Run(b.Context(), node, "bash", "-c", send); err != nil {
			b.Fatal(err)
		}
		if time.Now().After(deadline) {
			b.Fatalf("%d megaflows", megaflows(b, l, node))
		}
	}
}

// packetOut is an OpenFlow 1.3 message with the first packet of connection i, to be sent through the tables.
func packetOut(i int) []byte {
	udp := make([]byte, 14+20+8)
	copy(udp, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0})
	ip := udp[14:]
	copy(ip, []byte{0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0})
	binary.BigEndian.PutUint32(ip[12:], 198<<24|18<<16|uint32(i>>4))
	binary.BigEndian.PutUint32(ip[16:], 198<<24|19<<16|1)
	var sum uint32
	for at := 0; at < 20; at += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[at:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	binary.BigEndian.PutUint16(ip[20:], uint16(10000+i&15))
	binary.BigEndian.PutUint16(ip[22:], 53)
	binary.BigEndian.PutUint16(ip[24:], 8)

	m := []byte{4, 13, 0, 0, 0, 0, 0, 0}                                       // version, OFPT_PACKET_OUT, length, transaction
	m = binary.BigEndian.AppendUint32(m, 0xffffffff)                           // no buffer
	m = binary.BigEndian.AppendUint32(m, 0xfffffffd)                           // from the controller
	m = append(m, 0, 16, 0, 0, 0, 0, 0, 0)                                     // bytes of actions
	m = append(m, 0, 0, 0, 16, 0xff, 0xff, 0xff, 0xf9, 0, 0, 0, 0, 0, 0, 0, 0) // output to OFPP_TABLE
	m = append(m, udp...)
	binary.BigEndian.PutUint16(m[2:], uint16(len(m)))
	return m
}
