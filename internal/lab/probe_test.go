//go:build lab

package lab

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// one is a lab that tests share which do not change it.
func one(t *testing.T) *Lab {
	t.Helper()
	l, err := Up(t.Context(), OVNKubernetes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestProbe(t *testing.T) {
	l := one(t)
	t.Run("time", func(t *testing.T) {
		var delivered []time.Duration
		for range 20 {
			delivered = append(delivered, probeTime(t, l.State, "shop_client", "shop_web-2", "tcp", "delivered"))
		}
		slices.Sort(delivered)
		t.Logf("a delivered connection takes %s, at worst %s", delivered[len(delivered)/2], delivered[len(delivered)-1])
		if median := delivered[len(delivered)/2]; median > 100*time.Millisecond {
			t.Errorf("a delivered connection takes %s, want less than 100 ms", median)
		}
		for _, proto := range []string{"icmp", "tcp", "udp6"} {
			took := probeTime(t, l.State, "shop_client", "bank_ledger", proto, "dropped")
			t.Logf("a lost %s packet takes %s", proto, took)
			// Under a second if the machine is not overloaded, as it may well be while tests run.
			if took > 5*time.Second {
				t.Errorf("a lost %s packet takes %s", proto, took)
			}
		}
	})
	t.Run("seen", func(t *testing.T) {
		truth, err := l.Probe(t.Context(), "shop_client", "shop/web", "tcp", 0)
		if err != nil {
			t.Fatal(err)
		}
		if truth.Seen == "" || truth.Seen != truth.Answered || !strings.HasPrefix(truth.Seen, "shop_web-") {
			t.Errorf("seen on %q, answered by %q, want one of the service's pods", truth.Seen, truth.Answered)
		}
	})
	t.Run("closed port", func(t *testing.T) {
		truth, err := l.Probe(t.Context(), "shop_client", "shop_web-2", "tcp", 81)
		if err != nil || !truth.Forward || !truth.Rejected || truth.RoundTrip {
			t.Errorf("%+v, %v; want it forwarded, and rejected by the pod itself", truth, err)
		}
		truth, err = l.Probe(t.Context(), "shop_client", "shop_web-2", "udp6", 81)
		if err != nil || !truth.Forward || !truth.Rejected || truth.RoundTrip {
			t.Errorf("%+v, %v; want it forwarded, and rejected by the pod itself", truth, err)
		}
	})
	t.Run("one way", func(t *testing.T) {
		// The pod forgets the way back: it gets the packet and cannot answer.
		if err := l.shell(t.Context(), "shop_web-3", "ip route del default"); err != nil {
			t.Fatal(err)
		}
		truth, err := l.Probe(t.Context(), "shop_client", "shop_web-3", "udp", 0)
		if err != nil || !truth.Sent || !truth.Forward || truth.RoundTrip || truth.Rejected {
			t.Errorf("%+v, %v; want it forwarded and nothing else", truth, err)
		}
		truth, err = l.Probe(t.Context(), "shop_web-3", "shop_client", "icmp", 0)
		if err != nil || truth != (Truth{}) {
			t.Errorf("%+v, %v; want nothing sent", truth, err)
		}
	})
	t.Run("wrong names", func(t *testing.T) {
		for _, p := range [][3]string{{"nobody", "shop_web-1", "tcp"}, {"shop_client", "nobody", "tcp"}, {"shop_client", "shop_web-1", "sctp"}, {"shop_client", "shop/empty", "udp"}} {
			if truth, err := l.Probe(t.Context(), p[0], p[1], p[2], 0); err == nil {
				t.Errorf("probe %v: %+v, want an error", p, truth)
			}
		}
	})
}

func probeTime(t *testing.T, s *State, from, to, proto, want string) time.Duration {
	t.Helper()
	start := time.Now()
	truth, err := s.Probe(t.Context(), from, to, proto, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := outcome(truth); got != want {
		t.Errorf("%s to %s by %s: %s, want %s", from, to, proto, got, want)
	}
	return time.Since(start)
}

func TestBackup(t *testing.T) {
	l := one(t)
	dir := t.TempDir()
	if err := l.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for file, query := range map[string]string{
		"nb.db":         `["OVN_Northbound",{"op":"select","table":"Logical_Switch_Port","where":[["name","==","shop_web-1"]],"columns":["name"]}]`,
		"sb.db":         `["OVN_Southbound",{"op":"select","table":"Port_Binding","where":[["logical_port","==","shop_web-1"]],"columns":["logical_port"]}]`,
		"node1/conf.db": `["Open_vSwitch",{"op":"select","table":"Interface","where":[["name","==","ovn-k8s-mp0"]],"columns":["name"]}]`,
	} {
		out, err := l.Run(t.Context(), central, "ovsdb-tool", "query", filepath.Join(dir, file), query)
		if err != nil || !strings.Contains(out, "shop_web-1") && !strings.Contains(out, "ovn-k8s-mp0") {
			t.Errorf("%s: %s, %v; want the row", file, out, err)
		}
	}
	for file, part := range map[string]string{
		"node2/flows-br-int.txt": "table=8", "node2/flows-br-ex.txt": "NORMAL", "node2/groups-br-int.txt": "dp_hash",
		"node2/tlv-map-br-int.txt": "0x102", "node2/ports-br-int.txt": "ovn-k8s-mp0",
	} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(b), part) {
			t.Errorf("%s: %v; want %q in it", file, err, part)
		}
	}
}
