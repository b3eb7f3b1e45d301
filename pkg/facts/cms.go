package facts

import (
	"strings"
)

// A CMS is the cluster's management system: who writes the Northbound, and will
// write it again.
type CMS string

// The management systems that are known by what they write.
const (
	OVNKubernetes CMS = "OVN-Kubernetes"
	KubeOVN       CMS = "Kube-OVN"
	OpenStack     CMS = "OpenStack"
	OpenShiftSDN  CMS = "OpenShift SDN" // without OVN
)

// Owner is who writes rows of the Northbound with such external_ids, and by which
// of them that is known; empty: no management system that is known.
func Owner(ids map[string]string) (CMS, string) {
	if ids["vendor"] == "kube-ovn" {
		return KubeOVN, "vendor=kube-ovn"
	}
	var cms CMS
	var by string
	for k := range ids {
		is := ownerKey(k)
		if is != "" && (by == "" || k < by) {
			cms, by = is, k
		}
	}
	switch cms {
	case OpenStack:
		return cms, by
	case OVNKubernetes:
		return cms, by + "=" + ids[by]
	}
	if ids["pod"] == "true" && ids["namespace"] != "" {
		return OVNKubernetes, "pod=true"
	}
	return "", ""
}

// ownerKey is the management system that alone writes such a key of external_ids; empty: there is none.
func ownerKey(k string) CMS {
	switch {
	case strings.HasPrefix(k, "neutron:"):
		return OpenStack
	case strings.HasPrefix(k, "k8s.ovn.org/"), k == "k8s-cluster-router", k == "k8s-ovn-topo-version":
		return OVNKubernetes
	}
	return ""
}
