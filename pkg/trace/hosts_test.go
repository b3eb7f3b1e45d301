package trace

import (
	"net/netip"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// TestDestination reads routing policies as CMSs write them.
func TestDestination(t *testing.T) {
	for match, want := range map[string]string{
		`inport == "rtos-node1" && ip4.dst == 172.30.0.11 /* node1 */`: "172.30.0.11",
		"ip6.dst == fd00:172:30::11":                                   "fd00:172:30::11",
		"ip4.dst == 10.16.0.0/16":                                      "",
		"ip4.dst == $nodes":                                            "",
		"ip4.src == 10.0.0.1":                                          "",
		"ip4.dst == {10.0.0.1, 10.0.0.2}":                              "",
		"outport == \"a\" || xip4.dst == 10.0.0.1":                     "",
	} {
		got, ok := destinationOf(match)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%s: %v %v, want %q", match, got, ok, want)
		}
	}
}

// TestNoRoute says what becomes of packets that nobody outside can answer, or bring in.
func TestNoRoute(t *testing.T) {
	nowhere := &deployment{graph: &topology.Graph{}}
	if v := nowhere.noRouteBack(addr("8.8.8.8"), addr("10.0.0.1")); v != nil {
		t.Errorf("a public source: %+v", v)
	}
	if v := nowhere.noRouteBack(addr("10.0.0.1"), addr("8.8.8.8")); v == nil || v.Outcome != journey.Dropped {
		t.Errorf("a private source: %+v", v)
	}
	if v := nowhere.noRouteBack(addr("10.0.0.1"), addr("192.168.0.1")); v == nil || v.Outcome != journey.Unknown {
		t.Errorf("both private: %+v", v)
	}
	d := deployment{hosts: &hosts{}, underlay: []netip.Prefix{netip.MustParsePrefix("172.30.0.0/24")}, graph: &topology.Graph{}}
	if v := d.noRouteIn(addr("8.8.8.8"), addr("10.0.0.1")); v.Outcome != journey.Dropped {
		t.Errorf("from a public source to a private address: %+v", v)
	}
	if v := d.noRouteIn(addr("10.9.0.1"), addr("10.0.0.1")); v.Outcome != journey.Unknown {
		t.Errorf("from a private source to a private address: %+v", v)
	}
	if v := d.noRouteIn(addr("10.9.0.1"), addr("172.30.0.9")); v.Outcome != journey.Dropped {
		t.Errorf("to an address that nobody has on the underlay: %+v", v)
	}
}
