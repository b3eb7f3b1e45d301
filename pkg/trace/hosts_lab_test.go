//go:build lab

package trace

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// TestHosts looks at what the databases of two deployments tell of their hosts: both families of their addresses, and the
// one that they send from to the overlay.
func TestHosts(t *testing.T) {
	for _, top := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
		t.Run(top.Name, func(t *testing.T) {
			d := deploymentOf(t, labtest.Shared(t, top))
			for _, n := range top.Nodes {
				h := d.hosts.byChassis[n.SystemID]
				if h == nil || h.port == nil || !h.has(n.IPv4.Addr()) || !h.has(n.IPv6.Addr()) {
					t.Fatalf("%s: %+v, want its port and the addresses %s and %s", n.Name, h, n.IPv4, n.IPv6)
				}
				if d.hosts.byAddress[n.IPv6.Addr()] != h || d.hosts.byPort[h.port.Name] != h {
					t.Errorf("%s is not found by address or port", n.Name)
				}
				for _, v6 := range []bool{false, true} {
					src := h.source(v6)
					own := src == n.IPv4.Addr() || src == n.IPv6.Addr()
					if src.Is6() != v6 || own != (top.Name == "kube-ovn") {
						t.Errorf("%s sends from %s", n.Name, src)
					}
				}
			}
		})
	}
}

// TestEntry asks who answers for an address on the underlay.
func TestEntry(t *testing.T) {
	d := deploymentOf(t, labtest.Shared(t, lab.OpenStack()))
	for _, test := range []struct {
		address string
		node    string // that it comes in by; empty if nobody answers
	}{
		{"172.30.0.120", "node1"}, // the gateway port's, on the chassis that holds it
		{"172.30.0.121", "node1"},
		{"10.1.1.11", ""},
		{"203.0.113.10", ""},
		{"172.30.0.99", ""},
	} {
		e, ok := d.entryOf(addr(test.address))
		name := ""
		for _, n := range lab.OpenStack().Nodes {
			if ok && n.SystemID == e.chassis {
				name = n.Name
			}
		}
		if ok != (test.node != "") || name != test.node {
			t.Errorf("%s comes in by %q (%v), want %q", test.address, name, ok, test.node)
		}
	}
}

// deploymentOf opens the databases of a lab.
func deploymentOf(t *testing.T, l *lab.Lab) deployment {
	t.Helper()
	c, err := cluster.Open(t.Context(), cluster.Config{NB: l.NB(), SB: l.SB()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	g, err := topology.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return newDeployment(c, g)
}
