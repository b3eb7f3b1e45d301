package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// presetNames are the ready ways to other nodes.
func presetNames() []string {
	var names []string
	for _, p := range node.Presets {
		names = append(names, p.Name)
	}
	return names
}

// chooseWay sets the way to other nodes that the flags name.
func (o *options) chooseWay() error {
	switch {
	case o.via == "" && o.nodeExec != "":
		o.way = node.Prefix(o.nodeExec)
	case o.via != "" && o.nodeExec != "":
		return errors.New("--via and --node-exec are two ways to other nodes: give one of the two")
	case o.via != "":
		preset, ok := node.FindPreset(o.via)
		if !ok {
			return fmt.Errorf("--via %q: expected one of %s\nhint: --node-exec 'PREFIX {hostname}' takes any command that runs another on a node", o.via, strings.Join(presetNames(), ", "))
		}
		o.way = preset
	}
	return nil
}

// outside reports whether a cluster is read through its API server: then no node is nearer than another.
func (o *options) outside() bool {
	return o.kubernetes.linked() && o.offline+o.nodeExec+o.via+o.nb+o.sb+o.ovs == ""
}
