//go:build lab

package snapshot

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// TestLikelyDatapaths holds that a chassis has flows of the datapaths that it most likely has, and of no others.
func TestLikelyDatapaths(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(lab.Topologies())) {
		topology := lab.Topologies()[name]
		if !topology.OVN {
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := labtest.Shared(t, topology)
			var south Southbound
			if err := ovsdb.Load(t.Context(), ovsdbtest.Dial(t, "OVN_Southbound", l.SB()), &south); err != nil {
				t.Fatal(err)
			}
			for i := range south.Chassis {
				c := &south.Chassis[i]
				var likely []int
				for _, id := range south.likelyDatapaths(c) {
					d := slices.IndexFunc(south.Datapaths, func(d sb.DatapathBinding) bool { return d.UUID == id })
					likely = append(likely, south.Datapaths[d].TunnelKey)
				}
				slices.Sort(likely)
				if has := datapathsOf(t, l, c.Hostname); len(has) == 0 || !slices.Equal(likely, has) {
					t.Errorf("%s likely has flows of the datapaths %v, and has flows of %v", c.Hostname, likely, has)
				}
			}
		})
	}
}

// datapathsOf are the keys of the datapaths that a node has flows of.
func datapathsOf(t *testing.T, l *lab.Lab, node string) []int {
	t.Helper()
	dump, err := l.Command(t.Context(), node, "ovs-ofctl", "dump-flows", "br-int").Output()
	if err != nil {
		t.Fatalf("%s: %v", node, err)
	}
	keys := map[int]bool{}
	for _, m := range regexp.MustCompile(`metadata=(0x[0-9a-f]+)`).FindAllSubmatch(dump, -1) {
		key, err := strconv.ParseInt(string(m[1]), 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		keys[int(key)] = true
	}
	return slices.Sorted(maps.Keys(keys))
}
