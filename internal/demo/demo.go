// Package demo holds captures of two deployments, to try the program without a deployment.
//
// One has three OVN-Kubernetes nodes; the other is the same with three faults: in a network policy, a router and a
// node's uplink.
//
// `make demo-capture` makes them from the lab.
package demo

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.tar.zst
var captures embed.FS

// Flow is a line of the flows of node2 in Broken, as ovs-ofctl prints it, with its newline.
//
//go:embed flow.txt
var Flow string

// Broken and Healthy are the names of the captures, as --offline takes them. Name alone means Broken.
const (
	Name    = "demo"
	Broken  = Name + ":broken"
	Healthy = Name + ":healthy"
)

// Names returns all names that Capture knows.
func Names() []string { return []string{Name, Broken, Healthy} }

// Capture returns the named capture; false if there is none.
func Capture(name string) ([]byte, bool) {
	if !slices.Contains(Names(), name) {
		return nil, false
	}
	if name == Name {
		name = Broken
	}
	b, err := captures.ReadFile(strings.TrimPrefix(name, Name+":") + ".tar.zst")
	return b, err == nil
}
