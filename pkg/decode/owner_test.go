package decode

import "testing"

// TestOwner is how owners of each role are worded, and what decides on them.
func TestOwner(t *testing.T) {
	ovnk := func(kind, name, rowType string) map[string]string {
		return map[string]string{"k8s.ovn.org/owner-type": kind, "k8s.ovn.org/name": name, "type": rowType}
	}
	for _, test := range []struct {
		ids  map[string]string
		want Owner
		text string
	}{
		{ovnk("NetworkPolicy", "shop:web", ""), Owner{OVNKubernetes, "NetworkPolicy", "shop", "web", Own}, "NetworkPolicy shop/web"},
		{ovnk("NetpolNamespace", "bank", ""), Owner{OVNKubernetes, "NetworkPolicy", "bank", "", DefaultDeny}, "default deny of the NetworkPolicies in namespace bank"},
		{ovnk("NetpolNamespace", "bank", "arpAllow"), Owner{OVNKubernetes, "NetworkPolicy", "bank", "", Internal}, "ARP for the NetworkPolicies in namespace bank"},
		{ovnk("NetpolNode", "node1", ""), Owner{OVNKubernetes, "Node", "", "node1", Internal}, "Node node1"},
		{ovnk("MulticastCluster", "", ""), Owner{OVNKubernetes, "OVN-Kubernetes multicast default", "", "", Internal}, "OVN-Kubernetes multicast default"},
		{map[string]string{"np": "shop/web/ingress"}, Owner{KubeOVN, "NetworkPolicy", "shop", "web", Own}, "NetworkPolicy shop/web"},
		{map[string]string{"vendor": "kube-ovn", "pod": "shop/web-1"}, Owner{KubeOVN, "Pod", "shop", "web-1", Own}, "Pod shop/web-1"},
		{map[string]string{"neutron:port_name": "a/b"}, Owner{Neutron, "neutron port", "", "a/b", Own}, "neutron port a/b"},
	} {
		if got := OwnerOf(test.ids); got != test.want || got.String() != test.text {
			t.Errorf("owner of %v: %+v %q, want %+v %q", test.ids, got, got, test.want, test.text)
		}
	}
	if got := groupOwner(Holder{GroupHolder, "neutron_pg_drop"}); got != (Owner{CMS: Neutron, Kind: "security group", Role: DefaultDeny}) || got.String() != "neutron default drop" {
		t.Errorf("%+v %q", got, got)
	}
}
