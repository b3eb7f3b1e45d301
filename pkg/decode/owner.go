package decode

import (
	"cmp"
	"slices"
	"strings"
)

// A CMS is the cloud management system of a deployment: it writes the Northbound, and will overwrite changes.
type CMS string

// The management systems.
const (
	OVNKubernetes CMS = "OVN-Kubernetes"
	KubeOVN       CMS = "Kube-OVN"
	Neutron       CMS = "Neutron"
	OpenShiftSDN  CMS = "OpenShift SDN" // without OVN
)

// CMSOf returns the CMS that writes Northbound rows with such external_ids; empty if unknown.
func CMSOf(ids map[string]string) CMS {
	if ids["vendor"] == "kube-ovn" {
		return KubeOVN
	}
	var cms CMS
	for key := range ids {
		switch {
		case strings.HasPrefix(key, "k8s.ovn.org/"), key == "k8s-cluster-router", key == "k8s-ovn-topo-version":
			return OVNKubernetes
		case strings.HasPrefix(key, "neutron:"), key == "subnet_id": // subnet_id is set on DHCP options
			cms = Neutron
		}
	}
	if cms == "" && ids["pod"] == "true" && ids["namespace"] != "" {
		return OVNKubernetes
	}
	return cms
}

// NeutronOwns reports whether Neutron wrote a row, by its name and external_ids.
func NeutronOwns(name string, ids map[string]string) bool {
	return strings.HasPrefix(name, "neutron-") || CMSOf(ids) == Neutron
}

// A Role is the purpose of a row that is not one of its owner's own rules.
type Role uint8

// The roles.
const (
	Own         Role = iota
	DefaultDeny      // denies what no NetworkPolicy or security group allows
	Internal         // internal to the CMS: nobody would change it
)

// An Owner is the object of a CMS for which a Northbound row was made. The zero value means none.
type Owner struct {
	CMS       CMS
	Kind      string // "NetworkPolicy", "security group"
	Namespace string // in Kubernetes, if the kind is namespaced
	Name      string
	Role      Role
}

// String formats the owner: "NetworkPolicy shop/web"; empty if none.
func (o Owner) String() string {
	in := ""
	if o.Namespace != "" {
		in = " in namespace " + o.Namespace
	}
	switch {
	case o.Role == DefaultDeny && o.CMS == Neutron:
		return "neutron default drop"
	case o.Role == DefaultDeny:
		return "default deny of the NetworkPolicies" + in
	case o.Role == Internal && o.Kind == "NetworkPolicy":
		return "ARP for the NetworkPolicies" + in
	}
	return strings.TrimSpace(o.Kind + " " + o.FullName())
}

// MarshalText formats the owner as in JSON.
func (o Owner) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the output of MarshalText: only its text.
func (o *Owner) UnmarshalText(text []byte) error {
	*o = Owner{Name: string(text)}
	return nil
}

// FullName returns the owner's name with its namespace: "shop/web".
func (o Owner) FullName() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// OwnerOf reads a row's owner from its external_ids.
func OwnerOf(ids map[string]string) Owner {
	switch CMSOf(ids) {
	case OVNKubernetes:
		return ovnKubernetesOwner(ids)
	case KubeOVN:
		return kubeOVNOwner(ids)
	case Neutron:
		return neutronOwner(ids)
	}
	return cmp.Or(olderOVNKubernetesOwner(ids), kubeOVNOwner(ids)) // rows without an explicit writer
}

// PortOwner is [OwnerOf] for a switch port; OVN-Kubernetes names a pod's port NAMESPACE_POD.
func PortOwner(name string, ids map[string]string) Owner {
	if namespace := ids["namespace"]; ids["pod"] == "true" {
		if pod, ok := strings.CutPrefix(name, namespace+"_"); ok {
			return Owner{CMS: OVNKubernetes, Kind: "Pod", Namespace: namespace, Name: pod}
		}
	}
	if ids["neutron:device_owner"] != "" && ids["neutron:port_name"] == "" {
		return Owner{CMS: Neutron, Kind: "neutron port", Name: name} // its name is that of the port in Neutron
	}
	return OwnerOf(ids)
}

// namespaced returns an owner by name; the separator divides it from the namespace if the kind has one.
func namespaced(cms CMS, kind, separator, name string) Owner {
	namespace, rest, ok := strings.Cut(name, separator)
	if !ok {
		namespace, rest = "", name
	}
	return Owner{CMS: cms, Kind: kind, Namespace: namespace, Name: rest}
}

// ovnKubernetesOwner reads owner-type and name, which OVN-Kubernetes writes since 2022; before, each kind of object
// had its own keys.
func ovnKubernetesOwner(ids map[string]string) Owner {
	name := ids["k8s.ovn.org/name"]
	ofKind := func(kind string, role Role) Owner {
		return Owner{CMS: OVNKubernetes, Kind: kind, Name: name, Role: role}
	}
	switch kind := ids["k8s.ovn.org/owner-type"]; kind {
	case "":
		return olderOVNKubernetesOwner(ids)
	case "NetworkPolicyPortIndexOwnerType":
		return namespaced(OVNKubernetes, "NetworkPolicy", ":", name)
	case "EgressFirewall", "EgressQoS":
		return Owner{CMS: OVNKubernetes, Kind: kind, Namespace: name, Name: "default"}
	case "EgressIP", "EgressService":
		if name != strings.ToLower(name) || slices.Contains(servesAll, name) {
			return ofKind(kind, Internal)
		}
		name, _, _ = strings.Cut(name, "_") // EGRESSIP_NAMESPACE/POD; names of Kubernetes objects contain none
		return namespaced(OVNKubernetes, kind, "/", strings.Replace(name, ":", "/", 1))
	case "NetpolNamespace":
		role := DefaultDeny
		if ids["type"] == "arpAllow" {
			role = Internal
		}
		return Owner{CMS: OVNKubernetes, Kind: "NetworkPolicy", Namespace: name, Role: role}
	case "NetpolNode":
		return ofKind("Node", Internal)
	case "NetpolDefault":
		return ofKind("OVN-Kubernetes default", Internal)
	case "MulticastNS":
		return ofKind("Namespace", Own)
	case "MulticastCluster":
		return Owner{CMS: OVNKubernetes, Kind: "OVN-Kubernetes multicast default", Role: Internal}
	case "UDNIsolation":
		return Owner{CMS: OVNKubernetes, Kind: "isolation of user-defined networks"}
	default:
		return namespaced(OVNKubernetes, kind, ":", name)
	}
}

// servesAll are the address sets of all EgressIPs and EgressServices. Other rows for all of them have names with
// capital letters, which those of Kubernetes objects have not: EIP-No-Reroute-Pod-To-Pod.
var servesAll = []string{"node-ips", "egressip-served-pods", "egresssvc-served-pods"}

func olderOVNKubernetesOwner(ids map[string]string) Owner {
	switch {
	case ids["k8s.ovn.org/kind"] != "" && ids["k8s.ovn.org/owner"] != "":
		return namespaced(OVNKubernetes, ids["k8s.ovn.org/kind"], "/", ids["k8s.ovn.org/owner"])
	case ids["policy"] != "" && ids["namespace"] != "":
		return Owner{CMS: OVNKubernetes, Kind: "NetworkPolicy", Namespace: ids["namespace"], Name: ids["policy"]}
	case ids["egressFirewall"] != "":
		return Owner{CMS: OVNKubernetes, Kind: "EgressFirewall", Namespace: ids["egressFirewall"], Name: "default"}
	case ids["EgressSVC"] != "": // of routing policies, also today; NAME:ic is for pods of other zones
		name, _, _ := strings.Cut(ids["EgressSVC"], ":")
		return namespaced(OVNKubernetes, "EgressService", "/", name)
	case ids["default-deny-policy-type"] != "":
		return Owner{CMS: OVNKubernetes, Kind: "NetworkPolicy", Role: DefaultDeny}
	}
	return Owner{}
}

// kubeOVNOwner reads the keys on Kube-OVN's port groups, ports, routes and switches. An ACL's owner is that of the
// port group in its "parent".
func kubeOVNOwner(ids map[string]string) Owner {
	ofKind := func(kind, key string) Owner { return Owner{CMS: KubeOVN, Kind: kind, Name: ids[key]} }
	node := ofKind("Node", "node")
	node.Role = Internal
	switch {
	case ids["node"] != "" && ids["np"] != "" && ids["subnet"] != "": // the group of a subnet's pods on a node
		return ofKind("Subnet", "subnet")
	case ids["node"] != "" && ids["np"] == "node/"+ids["node"]: // the group of all pods of a node
		return node
	case ids["np"] != "":
		name := strings.SplitN(ids["np"], "/", 3) // address sets include the direction: NAMESPACE/NAME/ingress
		return namespaced(KubeOVN, "NetworkPolicy", "/", strings.Join(name[:min(len(name), 2)], "/"))
	case ids["anp"] != "":
		return ofKind("AdminNetworkPolicy", "anp")
	case ids["banp"] != "":
		return ofKind("BaselineAdminNetworkPolicy", "banp")
	case ids["cnp"] != "":
		return ofKind("ClusterNetworkPolicy", "cnp")
	case ids["sg"] != "" && ids["type"] == "security_group":
		return ofKind("SecurityGroup", "sg")
	case ids["pod"] != "" && ids["vendor"] == "kube-ovn":
		return namespaced(KubeOVN, "Pod", "/", ids["pod"])
	case ids["subnet"] != "":
		return ofKind("Subnet", "subnet")
	case ids["vendor"] == "kube-ovn" && ids["node"] != "":
		return node
	}
	return Owner{}
}

// neutronOwner reads the keys that Neutron and Octavia write.
func neutronOwner(ids map[string]string) Owner {
	for _, k := range []struct{ key, kind string }{
		{"neutron:security_group_rule_id", "security group rule"},
		{"neutron:security_group_id", "security group"},
		{"neutron:fip_id", "floating IP"},
		{"neutron:port_name", "neutron port"},
		{"neutron:port_id", "neutron port"},
		{"neutron:router_name", "neutron router"},
		{"neutron:subnet_id", "neutron subnet"},
		{"neutron:network_name", "neutron network"},
		{"neutron:vip", "Octavia load balancer, VIP"},
	} {
		if v := ids[k.key]; v != "" {
			return Owner{CMS: Neutron, Kind: k.kind, Name: v}
		}
	}
	return Owner{}
}

// GroupOwner is [OwnerOf] for a port group, whose name counts, too.
func GroupOwner(name string, ids map[string]string) Owner {
	return cmp.Or(OwnerOf(ids), groupOwner(Holder{GroupHolder, name}))
}

// ACLOwner is [OwnerOf] for an ACL. The zero value for its owner and that of the port group or switch that holds it
// means that its CMS says nothing.
func ACLOwner(ids map[string]string, holder Holder, holderOwner Owner) Owner {
	return cmp.Or(OwnerOf(ids), holderOwner, parentOwner(ids["parent"], holder), groupOwner(holder))
}

// parentOwner reads an ACL's external_ids:parent, as Kube-OVN writes it: the protected switch, or a port group that
// has its own owner.
func parentOwner(parent string, holder Holder) Owner {
	if sg, ok := strings.CutPrefix(parent, "ovn.sg."); ok {
		return Owner{CMS: KubeOVN, Kind: "SecurityGroup", Name: sg}
	}
	if parent != "" && holder == (Holder{SwitchHolder, parent}) {
		return Owner{CMS: KubeOVN, Kind: "Subnet", Name: parent}
	}
	return Owner{}
}

// groupOwner parses Neutron's port group names: pg_ and the security group's UUID with underscores, and one for
// traffic that no rule allows.
func groupOwner(holder Holder) Owner {
	if holder.Kind != GroupHolder {
		return Owner{}
	}
	if holder.Name == "neutron_pg_drop" {
		return Owner{CMS: Neutron, Kind: "security group", Role: DefaultDeny}
	}
	if id, ok := strings.CutPrefix(holder.Name, "pg_"); ok && len(id) == 36 {
		return Owner{CMS: Neutron, Kind: "security group", Name: strings.ReplaceAll(id, "_", "-")}
	}
	return parentOwner(holder.Name, Holder{})
}

// The kinds of holders.
const (
	GroupHolder  = "port group"
	SwitchHolder = "switch"
	RouterHolder = "router"
)

// A Holder is the row that another belongs to: a port group or switch for an ACL. The zero value means none.
type Holder struct{ Kind, Name string }

// String formats the holder: "port group a123".
func (h Holder) String() string {
	if h.Name == "" {
		return ""
	}
	return h.Kind + " " + h.Name
}
