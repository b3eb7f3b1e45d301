//go:build lab

package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// openTap makes a tap device on a host, as a VM has it, and returns what the VM reads and writes.
func openTap(t *testing.T, l *lab.Lab, host, name string) *os.File {
	t.Helper()
	var f *os.File
	err := l.InNamespace(host, func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		req, err := unix.NewIfreq(name)
		if err == nil {
			req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
		}
		f = os.NewFile(uintptr(fd), name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// From a VM with a tap device the bridge puts the packet out, and the VM gets the reply.
func TestSendFromTap(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	client, _ := l.Topology.Pod("shop/client")
	tap := openTap(t, l, client.Node, "tapvm")
	script := strings.ReplaceAll(`ip link set tapvm up
old=`+linkOfPort+`
ids=$(ovs-vsctl get interface $old external_ids:iface-id-ver)
ovs-vsctl del-port $old -- add-port br-int tapvm -- set interface tapvm external_ids:iface-id=PORT external_ids:iface-id-ver="$ids"
ovs-vsctl --timeout=60 wait-until interface tapvm external_ids:ovn-installed=true`, "PORT", client.Name)
	if out, err := l.Run(t.Context(), client.Node, "sh", "-ec", script); err != nil {
		t.Fatal(out, err)
	}
	d := &traceDraw{lab: l}
	for _, flags := range [][]string{{"--icmp"}, {"--tcp=8080"}, {"--udp=8080"}, {"--icmp", "-6"}} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			args := append([]string{"trace", "shop/client", "shop/web-2", "--send", "-o", "json", "--nb", l.NB(), "--node-exec", l.Dir + "/enter {hostname}"}, flags...)
			got := d.ovnctl(t.Context(), client.Node, args...)
			sent := got.trace().Sent
			if sent == nil || sent.Result != journey.Answered || !sent.Injected || !sent.Agrees || got.code != exitOK {
				t.Fatalf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
			}
			mark, err := hex.DecodeString(fmt.Sprintf("%06s", strings.TrimPrefix(sent.Mark, "0x")))
			if err != nil {
				t.Fatal(err)
			}
			if flags[0] != "--tcp=8080" && !readsMark(t, tap, mark) { // a SYN-ACK has the mark's successor
				t.Error("the VM did not get the reply")
			}
		})
	}
}

// readsMark reports whether what a tap device delivers has a mark.
func readsMark(t *testing.T, tap *os.File, mark []byte) bool {
	t.Helper()
	_ = tap.SetReadDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 2048)
	for {
		n, err := tap.Read(buf)
		if err != nil {
			return false
		}
		if bytes.Contains(buf[:n], mark) {
			return true
		}
	}
}
