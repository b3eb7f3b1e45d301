package journey

import (
	"slices"
	"strings"
)

// An Assumption is something on the path that could not be looked at: a delivered packet's verdict rests on it. Which
// fields are set depends on the kind. Package trace/cause words it.
type Assumption struct {
	Kind     AssumptionKind `json:"kind"`
	Nodes    []string       `json:"nodes"`    // concerned, in order
	Objects  []string       `json:"objects"`  // ports, addresses or other names, in order
	Sentence string         `json:"sentence"` // what is assumed, in words
}

// An AssumptionKind is what an assumption is about.
type AssumptionKind string

// Kinds of assumptions, in the order in which verdicts list them.
const (
	PhysicalNetwork AssumptionKind = "physical-network" // between Nodes
	OutsideNetwork  AssumptionKind = "outside-network"  // the network outside, as seen from Nodes
	NextHopAnswers  AssumptionKind = "next-hop"         // Objects answer for their addresses
	NodesAsOVNSays  AssumptionKind = "nodes"            // Nodes, whose flows were not read
	HostNetworks    AssumptionKind = "hosts"            // the own networks of Nodes
	Filters         AssumptionKind = "packet-filter"    // of Nodes, or in Objects
	Workloads       AssumptionKind = "workloads"        // the inside of Objects
	WithinRate      AssumptionKind = "rate"             // Objects limit the rate
	RoutingRules    AssumptionKind = "routing-rules"    // by protocol, port, mark or user, in Objects or on Nodes
	TrafficControl  AssumptionKind = "traffic-control"  // Objects, queueing disciplines of Nodes, pass the packet
	Proxies         AssumptionKind = "proxy"            // what takes connections in Objects passes them on
	Encryption      AssumptionKind = "ipsec"            // by IPsec, of Nodes or in Objects, fits the other end's
)

var assumptionKinds = []AssumptionKind{PhysicalNetwork, OutsideNetwork, NextHopAnswers, NodesAsOVNSays, HostNetworks, Filters, Workloads, WithinRate, RoutingRules, TrafficControl, Encryption, Proxies}

// Assume adds assumptions to a list: one of each kind, in order.
func Assume(list []Assumption, more ...Assumption) []Assumption {
	list = slices.Clone(list)
	for _, a := range more {
		i := slices.IndexFunc(list, func(x Assumption) bool { return x.Kind == a.Kind })
		if i < 0 {
			list, i = append(list, Assumption{Kind: a.Kind}), len(list)
		}
		list[i].Nodes, list[i].Objects = union(list[i].Nodes, a.Nodes), union(list[i].Objects, a.Objects)
	}
	slices.SortFunc(list, func(a, b Assumption) int {
		return slices.Index(assumptionKinds, a.Kind) - slices.Index(assumptionKinds, b.Kind)
	})
	return list
}

func union(a, b []string) []string {
	all := append(append([]string{}, a...), b...)
	slices.SortFunc(all, strings.Compare)
	return slices.Compact(all)
}
