//go:build lab

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A turning is when a path began to work, or no longer did.
type turning struct {
	works bool
	at    time.Time
}

// turnings collects them as they are seen.
type turnings struct {
	mu  sync.Mutex
	all []turning
}

func (s *turnings) add(works bool, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.all); n == 0 || s.all[n-1].works != works {
		s.all = append(s.all, turning{works, at})
	}
}

// after waits for the first time after another at which the path works or does not.
func (s *turnings) after(t *testing.T, l *lab.Lab, who string, works bool, begin time.Time) time.Time {
	t.Helper()
	for deadline := time.Now().Add(l.Allow(time.Minute)); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		s.mu.Lock()
		n := len(s.all)
		found := n > 0 && s.all[n-1].works == works && s.all[n-1].at.After(begin)
		var at time.Time
		if found {
			at = s.all[n-1].at
		}
		s.mu.Unlock()
		if found {
			return at
		}
	}
	t.Fatalf("%s: nothing changed, want %v", who, works)
	return time.Time{}
}

// trace --watch tells each change of a path that pings see. How much later is printed, and how often that was within a second: the
// machine may be busy. OVNCTL_CHANGES is how many changes are drawn.
func TestTraceWatchPackets(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	const count = 6
	changes := count
	if text := os.Getenv("OVNCTL_CHANGES"); text != "" {
		var err error
		if changes, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	start := func(host string, env string, args []string, line func(string)) {
		t.Helper()
		cmd := l.Program(ctx, host, args...)
		if env != "" {
			cmd.Env = append(cmd.Env, env)
		}
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			lines := bufio.NewReader(out)
			for {
				text, err := lines.ReadString('\n')
				if err != nil {
					break
				}
				line(text)
			}
			_, _ = io.Copy(io.Discard, out)
			_ = cmd.Wait()
		})
	}

	var packets, said turnings
	begin := time.Now()
	start("shop_client", "", []string{"stdbuf", "-oL", "ping", "-n", "-O", "-i", "0.05", "10.244.2.5"}, func(line string) {
		switch {
		case strings.Contains(line, "bytes from 10.244.2.5"):
			packets.add(true, time.Now())
		case strings.HasPrefix(line, "no answer"), strings.Contains(line, "nreachable"):
			packets.add(false, time.Now())
		}
	})
	packets.after(t, l, "pings", true, begin)
	start("central", asOvnctl+"=1", append([]string{self, "trace", "shop/client", "shop/web-2", "--watch", "0.5", "-o", "json", "--node-exec", l.Dir + "/enter {hostname}"}, l.Flags()...), func(line string) {
		var doc journey.Document
		if err := json.Unmarshal([]byte(line), &doc); err != nil {
			t.Errorf("%v: %.200s", err, line)
			return
		}
		said.add(doc.Verdict.Outcome == journey.Delivered, time.Now())
	})
	said.after(t, l, "trace --watch", true, begin)

	breaks := []struct {
		name, host string
		do, undo   []string
	}{
		{"an ACL", "central", []string{"ovn-nbctl", "--type=switch", "acl-add", "node2", "to-lport", "3000", `outport == "shop_web-2" && icmp4`, "drop"},
			[]string{"ovn-nbctl", "--type=switch", "acl-del", "node2", "to-lport", "3000", `outport == "shop_web-2" && icmp4`}},
		{"a disabled port", "central", []string{"ovn-nbctl", "lsp-set-enabled", "shop_web-2", "disabled"}, []string{"ovn-nbctl", "lsp-set-enabled", "shop_web-2", "enabled"}},
		{"a routing policy", "central", []string{"ovn-nbctl", "lr-policy-add", "ovn_cluster_router", "2000", "ip4.dst==10.244.2.5", "drop"},
			[]string{"ovn-nbctl", "lr-policy-del", "ovn_cluster_router", "2000", "ip4.dst==10.244.2.5"}},
		{"a disabled router port", "central", []string{"ovn-nbctl", "lrp-set-enabled", "rtos-node2", "disabled"}, []string{"ovn-nbctl", "lrp-set-enabled", "rtos-node2", "enabled"}},
		{"a flow by hand", "node2", []string{"ovs-ofctl", "-O", "OpenFlow15", "add-flow", "br-int", "table=0,priority=60000,icmp,nw_dst=10.244.2.5,actions=drop"},
			[]string{"ovs-ofctl", "-O", "OpenFlow15", "--strict", "del-flows", "br-int", "table=0,priority=60000,icmp,nw_dst=10.244.2.5"}},
		{"an uplink out of its bridge", "node2", []string{"ovs-vsctl", "del-port", "br-ex", "eth0"}, []string{"ovs-vsctl", "add-port", "br-ex", "eth0"}},
	}
	random := rand.New(rand.NewPCG(turn.Seed(t), 0))
	var late []time.Duration
	order := random.Perm(len(breaks))
	for i := range (changes + 1) / 2 {
		b := breaks[order[i%len(order)]]
		for _, step := range []struct {
			works bool
			args  []string
		}{{false, b.do}, {true, b.undo}} {
			time.Sleep(time.Duration(500+random.IntN(1500)) * time.Millisecond)
			begin := time.Now()
			say(t, l, b.host, step.args...)
			seen, told := packets.after(t, l, b.name+": pings", step.works, begin), said.after(t, l, b.name+": trace --watch", step.works, begin)
			late = append(late, told.Sub(seen))
			t.Logf("%s: %v, told %.2f s after the packets", b.name, step.works, told.Sub(seen).Seconds())
		}
	}
	within := 0
	for _, d := range late {
		if d <= time.Second {
			within++
		}
	}
	t.Logf("%d of %d told within a second, the last %.2f s after the packets", within, len(late), slices.Max(late).Seconds())
}
