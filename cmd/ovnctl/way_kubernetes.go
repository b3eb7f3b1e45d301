//go:build kubernetes

package main

import (
	"github.com/spf13/pflag"

	"github.com/ovnctl/ovnctl/pkg/kube"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// kubeFlags is the cluster that the flags name.
type kubeFlags struct{ kube.Config }

func (k *kubeFlags) addFlags(f *pflag.FlagSet) {
	f.StringVar(&k.Kubeconfig, "kubeconfig", "", "kubeconfig `file` (default $KUBECONFIG, ~/.kube/config)")
	f.StringVar(&k.Context, "context", "", "`context` of the kubeconfig (default the current one)")
}

// way returns the way to the cluster's nodes.
func (k *kubeFlags) way(o *options) (node.Way, error) {
	config := k.Config
	config.Timeout = o.timeout
	return kube.Open(config)
}

// source is how commands to run next name the cluster.
func (k *kubeFlags) source() []sourceFlag {
	return []sourceFlag{{"--kubeconfig", k.Kubeconfig}, {"--context", k.Context}}
}

// linked reports whether this program can reach a cluster.
func (*kubeFlags) linked() bool { return true }
