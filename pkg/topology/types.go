package topology

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A nameType is what a word before a name selects: "pod" in pod:shop/web or pod/web.
type nameType struct {
	kinds  []Kind
	owners []string // of KindObject: the kinds of owner, as [decode.Owner] has them
}

// nameTypes maps each such word to what it selects. Kubernetes' are those of kubectl, with their short forms.
var nameTypes = lazy.Value[map[string]nameType]{Make: func() map[string]nameType {
	return map[string]nameType{
		"pod": {kinds: []Kind{KindPod}}, "pods": {kinds: []Kind{KindPod}}, "po": {kinds: []Kind{KindPod}},
		"lsp":  {kinds: []Kind{KindPod, KindPort, KindVM}},
		"port": {kinds: []Kind{KindPod, KindPort, KindVM, KindRPort}},
		"lrp":  {kinds: []Kind{KindRPort}},
		"vm":   {kinds: vmKinds}, "server": {kinds: vmKinds},
		"node": {kinds: []Kind{KindNode}}, "nodes": {kinds: []Kind{KindNode}}, "no": {kinds: []Kind{KindNode}}, "chassis": {kinds: []Kind{KindNode}},
		"switch": {kinds: []Kind{KindSwitch}}, "ls": {kinds: []Kind{KindSwitch}}, "subnet": {kinds: []Kind{KindSwitch}},
		"router": {kinds: []Kind{KindRouter}}, "lr": {kinds: []Kind{KindRouter}}, "vpc": {kinds: []Kind{KindRouter}},
		"svc": {kinds: []Kind{KindService}}, "service": {kinds: []Kind{KindService}}, "services": {kinds: []Kind{KindService}},
		"lb": {kinds: []Kind{KindBalancer}}, "dnat": {kinds: dnatKinds}, "ovn-dnat-rule": {kinds: dnatKinds}, "ovndnatrule": {kinds: dnatKinds},
		"bridge": {kinds: []Kind{KindBridge}},
		"ip":     {}, "external": {},

		"nat": {kinds: natKinds}, "fip": {kinds: natKinds}, "floatingip": {kinds: natKinds}, "floating-ip": {kinds: natKinds},
		"ovn-eip": {kinds: natKinds}, "ovn-fip": {kinds: natKinds}, "ovn-snat-rule": {kinds: natKinds}, "ovneip": {kinds: natKinds},
		"ovnfip": {kinds: natKinds}, "ovnsnatrule": {kinds: natKinds}, "snat": {kinds: natKinds},
		"eip": {kinds: append([]Kind{KindObject}, natKinds...), owners: []string{"EgressIP"}},

		"network": {kinds: []Kind{KindSwitch, KindObject}, owners: []string{networkKind}},
		"udn":     objects(networkKind), "userdefinednetwork": objects(networkKind),
		"cudn": objects(networkKind), "clusteruserdefinednetwork": objects(networkKind),
		"ns": objects("Namespace"), "namespace": objects("Namespace"), "namespaces": objects("Namespace"),
		"netpol": objects("NetworkPolicy"), "networkpolicy": objects("NetworkPolicy"), "networkpolicies": objects("NetworkPolicy"),
		"anp": objects("AdminNetworkPolicy"), "adminnetworkpolicy": objects("AdminNetworkPolicy"),
		"banp": objects("BaselineAdminNetworkPolicy"), "baselineadminnetworkpolicy": objects("BaselineAdminNetworkPolicy"),
		"cnp": objects("ClusterNetworkPolicy"), "clusternetworkpolicy": objects("ClusterNetworkPolicy"),
		"egressip": objects("EgressIP"), "egressfirewall": objects("EgressFirewall"), "egressqos": objects("EgressQoS"),
		"egressservice": objects("EgressService"),
		"sg":            objects(groupKinds...), "securitygroup": objects(groupKinds...), "security-group": objects(groupKinds...),
		"secgroup": objects(groupKinds...),
		"pg":       objects(""), "portgroup": objects(""),
	}
}}

var (
	// vmKinds: whatever the port is, its device identifies the VM.
	vmKinds    = []Kind{KindVM, KindPort, KindPod}
	natKinds   = []Kind{KindNAT, KindService}
	dnatKinds  = []Kind{KindBalancer, KindService}
	groupKinds = []string{"security group", "SecurityGroup"} // Neutron's and Kube-OVN's
)

func objects(owners ...string) nameType { return nameType{kinds: []Kind{KindObject}, owners: owners} }

// networkKind is the kind of owner of what belongs to a user-defined network.
const networkKind = "network"

// typeWords are the words that the names of objects have in front, by kind of owner.
var typeWords = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		networkKind: "network", "Namespace": "ns", "NetworkPolicy": "networkpolicy", "AdminNetworkPolicy": "anp",
		"BaselineAdminNetworkPolicy": "banp", "ClusterNetworkPolicy": "cnp", "EgressIP": "egressip", "EgressFirewall": "egressfirewall",
		"EgressQoS": "egressqos", "EgressService": "egressservice", "security group": "sg", "SecurityGroup": "sg", "": "pg",
	}
}}

// typed splits TYPE:NAME and TYPE/NAME. A type may have its API group, as kubectl prints it. What begins with a
// namespace is not TYPE/NAME.
func (g *Graph) typed(text string) (word, rest string, ok bool) {
	i := strings.IndexAny(text, ":/")
	if i < 0 || i+1 == len(text) {
		return "", "", false
	}
	word, rest = strings.ToLower(text[:i]), text[i+1:]
	if text[i] == '/' && g.namespaces[text[:i]] {
		return "", "", false
	}
	word, _, _ = strings.Cut(word, ".")
	_, known := nameTypes.Get()[word]
	return word, rest, known
}
