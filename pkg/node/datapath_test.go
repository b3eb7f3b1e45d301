package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The kernel datapath cannot be had on the lab: its answers are from its source.
func TestParseDatapaths(t *testing.T) {
	got, want := ParseDatapaths(`system@ovs-system:
  lookups: hit:5000000001 missed:31 lost:7
  flows: 19
  masks: hit:12 total:3 hit/pkt:0.10
  cache: hit:3 hit-rate:50.00%
  caches:
    masks-cache: size:256
  port 0: ovs-system (internal)
  port 1: br-int (internal)
netdev@ovs-netdev:
  lookups: hit:1 missed:2 lost:3
  flows: 4
  port 2: 12:34 (tap)
`), []Datapath{
		{Name: "system@ovs-system", Hit: 5000000001, Missed: 31, Lost: 7, Flows: 19, Masks: 3},
		{Name: "netdev@ovs-netdev", Hit: 1, Missed: 2, Lost: 3, Flows: 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := ParseDatapaths("\n  flows: 3\n"); got != nil {
		t.Errorf("got %v, want none", got)
	}
}
