package openflow

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dpifShow is what a node of a lab says, one of its bridges shortened.
const dpifShow = `netdev@ovs-netdev: hit:1082 missed:186
  br-ex:
    br-ex 65534/2: (tap)
    eth0 1/3: (system)
    patch-br-ex_node1-to-br-int 2/none: (patch: peer=patch-br-int-to-br-ex_node1)
  br-int:
    ovn-c5ab1a-0 6/5: (geneve: csum=true, key=flow, remote_ip=172.30.0.12)
    ovn-k8s-mp0 1/4: (tap)
`

func TestParseDatapathPorts(t *testing.T) {
	want := []DatapathPort{
		{"br-ex", "br-ex", 65534, 2, "tap"}, {"br-ex", "eth0", 1, 3, "system"},
		{"br-int", "ovn-c5ab1a-0", 6, 5, "geneve"}, {"br-int", "ovn-k8s-mp0", 1, 4, "tap"},
	}
	if diff := cmp.Diff(want, ParseDatapathPorts(dpifShow)); diff != "" {
		t.Error(diff)
	}
}

func FuzzParseDatapathPorts(f *testing.F) {
	f.Add(dpifShow)
	f.Fuzz(func(t *testing.T, text string) {
		if ports := ParseDatapathPorts(text); len(ports) > len(text) {
			t.Errorf("%d ports in %d bytes", len(ports), len(text))
		}
	})
}
