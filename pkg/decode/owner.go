package decode

import "strings"

// Owner says what object of the cloud management system a Northbound row was
// made for, from the row's own external_ids: "NetworkPolicy shop/web". It
// knows what OVN-Kubernetes, Kube-OVN and neutron write, and is empty for
// others.
func Owner(ids map[string]string) string {
	for _, cms := range []func(map[string]string) string{ovnKubernetesOwner, kubeOVNOwner, neutronOwner} {
		if owner := cms(ids); owner != "" {
			return owner
		}
	}
	return ""
}

// portOwner is Owner a switch port, with the pod that OVN-Kubernetes means
// by a port named NAMESPACE_POD.
func portOwner(name string, ids map[string]string) string {
	if namespace := ids["namespace"]; ids["pod"] == "true" {
		if pod, ok := strings.CutPrefix(name, namespace+"_"); ok {
			return "Pod " + namespace + "/" + pod
		}
	}
	if ids["neutron:device_owner"] != "" && ids["neutron:port_name"] == "" {
		return "neutron port " + name // its name is that of the port in neutron
	}
	return Owner(ids)
}

// namespaced turns "ns:name" into "ns/name".
func namespaced(name string) string { return strings.Replace(name, ":", "/", 1) }

// ovnKubernetesOwner reads owner-type and name, which OVN-Kubernetes writes
// since 2022; before, each object had keys of its own.
func ovnKubernetesOwner(ids map[string]string) string {
	name := ids["k8s.ovn.org/name"]
	switch kind := ids["k8s.ovn.org/owner-type"]; kind {
	case "":
		return olderOVNKubernetesOwner(ids)
	case "NetworkPolicy", "NetworkPolicyPortIndexOwnerType":
		return "NetworkPolicy " + namespaced(name)
	case "AdminNetworkPolicy", "BaselineAdminNetworkPolicy", "EgressIP", "EgressService", "ClusterNetworkConnect":
		return strings.TrimSpace(kind + " " + namespaced(name))
	case "EgressFirewall", "EgressQoS":
		return kind + " " + name + "/default"
	case "NetpolNamespace":
		if ids["type"] == "arpAllow" {
			return "ARP for NetworkPolicies of namespace " + name
		}
		return "NetworkPolicy default deny of namespace " + name
	case "NetpolNode":
		return "Node " + name
	case "NetpolDefault":
		return "OVN-Kubernetes default " + name
	case "MulticastNS", "Namespace":
		return "Namespace " + name
	case "MulticastCluster":
		return "OVN-Kubernetes multicast default"
	case "VirtualMachine":
		return "VirtualMachine " + namespaced(name)
	case "UDNIsolation":
		return "isolation of user-defined networks"
	default:
		return strings.TrimSpace(kind + " " + namespaced(name))
	}
}

func olderOVNKubernetesOwner(ids map[string]string) string {
	switch {
	case ids["k8s.ovn.org/kind"] != "" && ids["k8s.ovn.org/owner"] != "":
		return ids["k8s.ovn.org/kind"] + " " + ids["k8s.ovn.org/owner"]
	case ids["policy"] != "" && ids["namespace"] != "":
		return "NetworkPolicy " + ids["namespace"] + "/" + ids["policy"]
	case ids["egressFirewall"] != "":
		return "EgressFirewall " + ids["egressFirewall"] + "/default"
	case ids["default-deny-policy-type"] != "":
		return "NetworkPolicy default deny"
	}
	return ""
}

// kubeOVNOwner reads the keys of Kube-OVN's port groups, ports, routes and
// switches. An ACL's owner is that of the port group in its "parent".
func kubeOVNOwner(ids map[string]string) string {
	switch {
	case ids["node"] != "" && ids["np"] != "" && ids["subnet"] != "": // the group of a subnet's pods on a node
		return "Subnet " + ids["subnet"]
	case ids["node"] != "" && ids["np"] == "node/"+ids["node"]: // the group of all pods of a node
		return "Node " + ids["node"]
	case ids["np"] != "":
		name := strings.SplitN(ids["np"], "/", 3) // address sets say the direction as well: NAMESPACE/NAME/ingress
		return "NetworkPolicy " + strings.Join(name[:min(len(name), 2)], "/")
	case ids["anp"] != "":
		return "AdminNetworkPolicy " + ids["anp"]
	case ids["banp"] != "":
		return "BaselineAdminNetworkPolicy " + ids["banp"]
	case ids["cnp"] != "":
		return "ClusterNetworkPolicy " + ids["cnp"]
	case ids["sg"] != "" && ids["type"] == "security_group":
		return "SecurityGroup " + ids["sg"]
	case ids["pod"] != "" && ids["vendor"] == "kube-ovn":
		return "Pod " + ids["pod"]
	case ids["subnet"] != "":
		return "Subnet " + ids["subnet"]
	case ids["vendor"] == "kube-ovn" && ids["node"] != "":
		return "Node " + ids["node"]
	}
	return ""
}

// neutronOwner reads the keys that neutron and Octavia write.
func neutronOwner(ids map[string]string) string {
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
			return k.kind + " " + v
		}
	}
	return ""
}

// parentOwner reads an ACL's external_ids:parent, as Kube-OVN writes it: the
// switch that the ACL protects, or a port group that has an owner of its own.
func parentOwner(parent, holder string) string {
	if sg, ok := strings.CutPrefix(parent, "ovn.sg."); ok {
		return "SecurityGroup " + sg
	}
	if parent != "" && holder == "switch "+parent {
		return "Subnet " + parent
	}
	return ""
}

// groupOwner reads the names that neutron gives its port groups: pg_ and the
// security group's UUID with underscores, and one for what no rule allows.
func groupOwner(holder string) string {
	name, ok := strings.CutPrefix(holder, "port group ")
	if !ok {
		return ""
	}
	if name == "neutron_pg_drop" {
		return "neutron default drop"
	}
	if id, ok := strings.CutPrefix(name, "pg_"); ok && len(id) == 36 {
		return "security group " + strings.ReplaceAll(id, "_", "-")
	}
	return parentOwner(name, "")
}
