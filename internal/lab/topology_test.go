//go:build lab

package lab

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// outcome is the truth in one word.
func outcome(t Truth) string {
	switch {
	case !t.Sent:
		return "unsent"
	case t.RoundTrip && t.Forward:
		return "delivered"
	case t.Rejected && !t.Forward && !t.RoundTrip:
		return "rejected"
	case !t.Forward && !t.RoundTrip && !t.Rejected:
		return "dropped"
	}
	return fmt.Sprintf("%+v", t)
}

// Each line: from, to, protocol, port (0: the usual one), and what has to become of the packet by what the topology's policies say.
var want = map[string]string{
	"ovn-kubernetes": `
		shop_client  shop_web-1    icmp  0    delivered
		shop_client  shop_web-1    tcp6  8080 delivered
		shop_client  shop_web-2    icmp  0    delivered
		shop_client  shop_web-2    icmp6 0    delivered
		shop_client  shop_web-2    tcp   8080 delivered
		shop_client  shop_web-2    tcp6  9090 delivered
		shop_client  shop_web-3    udp   9090 delivered
		shop_client  shop_web-3    udp6  8080 delivered
		shop/client  shop/web      tcp   0    delivered
		shop/client  shop/web      tcp6  0    delivered
		shop_client  shop/web      udp   0    delivered
		shop_client  shop/web      udp6  0    delivered
		shop_web-1   shop/self     tcp   0    delivered
		shop_web-1   shop/self     tcp6  0    delivered
		shop_client  shop/empty    tcp   0    rejected
		shop_client  shop/empty    tcp6  0    rejected
		shop_client  bank_vault-1  tcp   8080 delivered
		shop_client  bank_vault-2  tcp6  8080 delivered
		shop_client  bank_vault-2  tcp   9090 dropped
		shop_client  bank_vault-2  udp6  8080 dropped
		shop_client  bank_vault-1  icmp  0    dropped
		shop_client  bank_vault-2  icmp6 0    dropped
		shop_client  bank_ledger   tcp   8080 dropped
		shop_client  bank/vault    tcp   0    delivered
		shop_client  bank/vault    tcp6  0    delivered
		ops_toolbox  bank_vault-1  tcp   8080 dropped
		ops_toolbox  bank_vault-2  tcp6  8080 dropped
		ops_toolbox  bank/vault    tcp   0    dropped
		bank_vault-1 bank_ledger   icmp  0    dropped
		bank_ledger  shop_web-1    icmp6 0    delivered
		ops_debug    shop_web-1    tcp   8080 delivered
		ops_debug    shop_web-2    tcp6  8080 delivered
		ops_debug    shop/web      tcp   0    delivered
		ops_debug    shop_web-3    icmp  0    dropped
		ops_debug    shop_web-3    udp6  9090 dropped
		ops_debug    internet      icmp  0    dropped
		ops_debug    internet      tcp6  8080 dropped
		shop_client  internet      icmp  0    delivered
		shop_client  internet      icmp6 0    delivered
		shop_web-2   internet      tcp   8080 delivered
		shop_web-3   internet      udp6  9090 delivered
		shop_client  node1         icmp  0    delivered
		shop_client  node1         tcp6  8080 delivered
		shop_client  node2         tcp   8080 delivered
		shop_client  node3         icmp6 0    delivered
		shop_client  node1         udp   0    delivered
		shop_client  node1         udp6  0    delivered
		shop_client  node2         udp6  9090 delivered
		node1        shop_client   icmp  0    delivered
		node1        bank_vault-1  icmp6 0    delivered
		node1        shop_web-3    tcp   8080 delivered
		node1        node2         udp6  9090 delivered
		node2        internet      icmp  0    delivered
		node1        shop/web      tcp   0    delivered
		shop_client  10.244.2.99   icmp  0    dropped
		internet     172.30.0.111  tcp   30080 delivered
		internet     172.30.0.112  tcp   30080 delivered
		internet     fd00:172:30::113 tcp 30080 delivered
		node1        172.30.0.111  tcp   30080 delivered
		shop_client  172.30.0.111  tcp   30080 delivered
		shop_client  172.30.0.112  tcp   30080 delivered
		ops_debug    172.30.0.113  tcp   30080 delivered
		internet     shop_client   icmp  0    rejected`,
	"kube-ovn": `
		client.shop  web-1.shop    icmp  0    delivered
		client.shop  web-1.shop    tcp6  8080 delivered
		client.shop  web-2.shop    icmp6 0    delivered
		client.shop  web-2.shop    tcp   8080 delivered
		client.shop  web-3.shop    udp   9090 delivered
		client.shop  web-3.shop    udp6  8080 delivered
		shop/client  shop/web      tcp   0    delivered
		shop/client  shop/web      tcp6  0    delivered
		client.shop  shop/web      udp   0    delivered
		client.shop  shop/web      udp6  0    delivered
		web-1.shop   shop/self     tcp   0    delivered
		web-1.shop   shop/self     tcp6  0    delivered
		client.shop  vault-1.bank  tcp   8080 delivered
		client.shop  vault-2.bank  tcp6  8080 delivered
		client.shop  vault-2.bank  tcp   9090 dropped
		client.shop  vault-1.bank  icmp  0    dropped
		client.shop  vault-2.bank  icmp6 0    dropped
		client.shop  ledger.bank   tcp   8080 dropped
		client.shop  bank/vault    tcp   0    delivered
		toolbox.ops  vault-1.bank  tcp   8080 dropped
		toolbox.ops  bank/vault    tcp6  0    dropped
		ledger.bank  web-1.shop    icmp6 0    delivered
		debug.ops    web-1.shop    tcp   8080 delivered
		debug.ops    shop/web      tcp6  0    delivered
		debug.ops    web-3.shop    icmp  0    dropped
		debug.ops    internet      icmp  0    dropped
		client.shop  internet      icmp  0    delivered
		client.shop  internet      icmp6 0    delivered
		web-2.shop   internet      tcp   8080 delivered
		web-3.shop   internet      udp6  9090 delivered
		client.shop  node1         icmp  0    delivered
		client.shop  node1         tcp6  8080 delivered
		client.shop  node2         tcp   8080 delivered
		client.shop  node3         icmp6 0    delivered
		client.shop  node1         udp   0    delivered
		client.shop  node2         udp6  0    delivered
		node1        client.shop   icmp  0    delivered
		node1        vault-1.bank  icmp6 0    delivered
		node1        web-3.shop    tcp   8080 delivered
		node1        vault-2.bank  icmp  0    dropped
		node1        node2         udp6  9090 delivered
		internet     client.shop   icmp  0    rejected`,
	"openshift-sdn": `
		shop_client  shop_web-1    icmp  0    delivered
		shop_client  shop_web-2    tcp   8080 delivered
		shop_client  shop_web-3    udp   9090 delivered
		shop_client  bank_vault-1  icmp  0    dropped
		shop_client  bank_vault-2  tcp   8080 dropped
		bank_ledger  bank_vault-1  tcp   8080 delivered
		ops_toolbox  bank_vault-1  icmp  0    delivered
		shop_client  ops_toolbox   udp   9090 delivered
		shop_client  internet      tcp   8080 delivered
		bank_vault-2 internet      icmp  0    delivered
		shop_client  node1         icmp  0    delivered
		shop_client  node2         tcp   8080 delivered
		shop_client  node1         udp   0    delivered
		shop_client  node2         udp   0    delivered
		node1        shop_client   icmp  0    delivered
		node1        node3         tcp6  8080 delivered
		node1        bank_vault-1  tcp   8080 delivered
		shop_client  172.31.0.9    tcp   80   dropped`,
	"mixed-encapsulation": `
		sw0-p1 sw0-p2 icmp  0    delivered
		sw0-p1 sw0-p3 icmp6 0    delivered
		sw0-p2 sw0-p3 tcp   8080 delivered
		sw0-p1 sw1-p1 udp6  9090 delivered
		sw0-p1 sw1-p2 tcp6  8080 delivered
		sw0-p2 sw1-p3 icmp  0    delivered
		sw1-p3 sw0-p1 udp   9090 delivered
		sw0-p1 internet icmp 0   dropped`,
	"openstack": `
		private/web   private/db    icmp  0    delivered
		private/db    private/web   tcp6  8080 delivered
		private/web   backend/store tcp   9090 delivered
		backend/store private/web   udp6  8080 delivered
		backend/batch private/db    icmp6 0    delivered
		private/web   internet      icmp  0    delivered
		private/db    internet      tcp   8080 delivered
		backend/store internet      udp   9090 delivered
		backend/batch internet      icmp  0    delivered
		internet      172.30.0.121  icmp  0    dropped
		internet      172.30.0.122  tcp   8080 dropped`,
}

// Every topology comes up, and packets go where its policies say. The topologies are up side by side.
func TestTopologies(t *testing.T) {
	for name, topology := range Topologies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			l, err := Up(t.Context(), topology, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := l.Down(); err != nil {
					t.Error(err)
				}
				wantGone(t, l.State, 0)
			}()
			took := time.Since(start)
			t.Logf("up after %.2f s: %v", took.Seconds(), l.Times)
			if took > 20*time.Second {
				t.Errorf("took %s to come up, want less than 20 s", took)
			}
			checkProbes(t, l.State, want[name])
		})
	}
}

// checkProbes sends all packets of a table at once, which must not confuse them, and compares.
func checkProbes(t *testing.T, s *State, table string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if len(lines) < 5 {
		t.Fatalf("only %d packets to send", len(lines))
	}
	var wg sync.WaitGroup
	limit := make(chan struct{}, 8)
	for _, line := range lines {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			f := strings.Fields(line)
			port, err := strconv.Atoi(f[3])
			if err != nil {
				t.Errorf("%s: %v", line, err)
				return
			}
			truth, err := s.Probe(t.Context(), f[0], f[1], f[2], port)
			if err != nil {
				t.Errorf("%s: %v", line, err)
				return
			}
			if got := outcome(truth); got != f[4] {
				t.Errorf("%s: %s", strings.Join(f, " "), got)
			}
		})
	}
	wg.Wait()
}
