//go:build lab

package node_test

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// A daemon that may crash as it lists connections is not asked for them, whichever way it is reached; others list them.
func TestListConnections(t *testing.T) {
	for name, h := range map[string]node.Host{"local": local(t, "node1"), "remote": remote(t, "node1")} {
		version, err := h.Control(t.Context(), "ovs-vswitchd", "version")
		if err != nil {
			t.Fatal(err)
		}
		shown, err := h.Control(t.Context(), "ovs-vswitchd", "dpctl/show")
		if err != nil {
			t.Fatal(err)
		}
		for _, dp := range node.ParseDatapaths(shown) {
			_, err := h.Control(t.Context(), "ovs-vswitchd", "dpctl/dump-conntrack", "-m", "-s", dp.Name)
			if refused, crashes := err != nil, dp.Userspace() && strings.Contains(version, ") 4."); refused != crashes {
				t.Errorf("%s: %s of %q: %v", name, dp.Name, version, err)
			}
		}
	}
}
