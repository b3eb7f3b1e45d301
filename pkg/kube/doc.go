// Package kube reaches the nodes of a Kubernetes cluster through its API server.
//
// The cluster's network is ovn-kubernetes or Kube-OVN: each node is entered by a shell in the pod that runs its part of that, with
// pods/exec. The package is linked only into programs that are built with the tag kubernetes: client-go costs every start of a program.
package kube
