// Package cms checks what a cloud management system wrote against what is: OVN-Kubernetes, Kube-OVN, Neutron and plain OVN.
package cms
