//go:build lab

package lab

import (
	"fmt"
	"strings"
	"testing"
)

// Every way of serving the databases carries the same cluster.
func TestCentrals(t *testing.T) {
	for _, o := range []Options{{TLS: true}, {Cluster: 3}, {Cluster: 3, TLS: true}} {
		t.Run(fmt.Sprintf("cluster=%d,tls=%v", o.Cluster, o.TLS), func(t *testing.T) {
			t.Parallel()
			l, err := Up(t.Context(), OVNKubernetes(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := l.Down(); err != nil {
					t.Error(err)
				}
				wantGone(t, l.State, 0)
			}()
			t.Logf("up after %v", l.Times)
			checkProbes(t, l.State, `
				shop_client  shop_web-2    icmp6 0    delivered
				shop_client  shop/web      tcp   0    delivered
				shop_client  shop/empty    tcp6  0    rejected
				shop_client  bank_vault-1  icmp  0    dropped
				shop_web-3   internet      udp6  9090 delivered`)
			if o.TLS {
				checkTLS(t, l.State)
			}
			if o.Cluster > 1 {
				checkCluster(t, l.State)
			}
		})
	}
}

// checkTLS reads the Southbound over TLS from a node, and wants that nobody can without a certificate.
func checkTLS(t *testing.T, s *State) {
	t.Helper()
	key, cert, ca := s.Keys("client")
	sbctl := []string{"ovn-sbctl", "--timeout=5", "--no-leader-only", "--db=" + s.remotes(6642)}
	with := append(sbctl, "--private-key="+key, "--certificate="+cert, "--ca-cert="+ca, "--bare", "--columns=hostname", "list", "Chassis")
	out, err := s.Run(t.Context(), "node1", with...)
	if err != nil || len(strings.Fields(out)) != 3 {
		t.Errorf("with a certificate: %q, %v; want three chassis", out, err)
	}
	other := "--db=" + strings.ReplaceAll(s.remotes(6642), "ssl:", "tcp:")
	if out, err := s.Run(t.Context(), "node1", "ovn-sbctl", "--timeout=2", other, "show"); err == nil {
		t.Errorf("without TLS: %q, want an error", out)
	}
}

func checkCluster(t *testing.T, s *State) {
	t.Helper()
	leaders := 0
	for _, c := range s.Centrals() {
		out, err := s.Run(t.Context(), c, "ovn-appctl", "-t", s.Dir+"/"+c+"/run/ovn/ovnsb_db.ctl", "cluster/status", "OVN_Southbound")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, "Role: leader") {
			leaders++
		}
		if n := strings.Count(out, " at "+s.protocol()+":"); n != 3 {
			t.Errorf("%s knows %d members, want 3:\n%s", c, n, out)
		}
	}
	if leaders != 1 {
		t.Errorf("%d leaders, want 1", leaders)
	}
}
