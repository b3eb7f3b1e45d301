// Package demo holds captures of two deployments, so that the program can be tried where there is nothing.
//
// One has three nodes as OVN-Kubernetes sets them up; the other has the same three with a fault each in a network
// policy, a router and a node's uplink.
//
// `make demo-capture` makes them, of the lab.
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

// Broken and Healthy are the names of the captures, as --offline takes them. Broken is what Name alone means.
const (
	Name    = "demo"
	Broken  = Name + ":broken"
	Healthy = Name + ":healthy"
)

// Names are all names that Capture knows.
func Names() []string { return []string{Name, Broken, Healthy} }

// Capture is the capture of that name; false: there is none.
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
