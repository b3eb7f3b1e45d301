//go:build !kubernetes

package main

import (
	"github.com/spf13/pflag"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// kubeFlags is what kubectl-ovnctl has: here there is no cluster that flags could name.
type kubeFlags struct{}

func (*kubeFlags) addFlags(*pflag.FlagSet) {}

func (*kubeFlags) way(*options) (node.Way, error) { return nil, nil }

func (*kubeFlags) source() []sourceFlag { return nil }

func (*kubeFlags) linked() bool { return false }
