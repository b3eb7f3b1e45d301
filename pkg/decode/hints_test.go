//go:build lab

package decode

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// TestHints looks up the hint of every logical flow of every deployment: each must lead to an object, but for those of
// a datapath, and each kind of object that people configure must be among them, by its owner where it has one.
func TestHints(t *testing.T) {
	for _, test := range []struct {
		topology lab.Topology
		want     string
	}{
		{lab.OVNKubernetes(), "ACL: NetworkPolicy, ACL: Node, NAT, load balancer: Service, policy, route, router port, switch port: Pod"},
		{lab.KubeOVN(), "ACL: NetworkPolicy, ACL: Node, load balancer, policy: Node, policy: Subnet, route, router port, switch port: Pod"},
		{lab.OpenStack(), "ACL: neutron, ACL: security, DHCP options: neutron, NAT: floating, NAT: neutron, QoS, router port, switch port: neutron"},
		{lab.Features(), "ACL, DHCP options, NAT, QoS, load balancer, policy, route, router port, switch port"},
	} {
		t.Run(test.topology.Name, func(t *testing.T) {
			n := openNetwork(t, labtest.Own(t, test.topology, lab.Options{}))
			flows, err := ovsdb.Find[sb.LogicalFlow](t.Context(), n.sb)
			if err != nil {
				t.Fatal(err)
			}
			objects := NewObjects(n.nb)
			found, hints := map[string]int{}, 0
			for _, f := range flows {
				stage, hint := f.ExternalIDs["stage-name"], f.ExternalIDs["stage-hint"]
				if hint == "" {
					continue
				}
				hints++
				of, unknown := objects.Of(t.Context(), stage, hint)
				if unknown != "" {
					t.Errorf("%s %q: %s", stage, f.Match, unknown)
				}
				for _, o := range of {
					kind := o.Kind
					if owner, _, ok := strings.Cut(o.Owner.String(), " "); ok {
						kind += ": " + owner
					}
					found[kind]++
				}
			}
			t.Logf("%d hints of %d flows: %v", hints, len(flows), found)
			kinds := slices.Sorted(maps.Keys(found))
			for _, kind := range strings.Split(test.want, ", ") {
				if !slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(k, kind) }) {
					t.Errorf("no %s among %q", kind, kinds)
				}
			}
		})
	}
}
