// Package cms compares what a CMS wrote with what exists: OVN-Kubernetes, Kube-OVN, Neutron and plain OVN.
package cms
