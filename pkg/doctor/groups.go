package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
)

// A Group is a fault that several nodes may have.
type Group struct {
	Check  string   `json:"check"`
	Result Result   `json:"result"`
	Reason string   `json:"reason,omitempty"`
	Title  string   `json:"title"` // of the finding on the first node
	Nodes  []string `json:"nodes"` // that have it; empty if it is not a node's
	Of     int      `json:"of"`    // nodes that were read
	// Findings are the same on each node; the first stands for all.
	Findings []Finding `json:"-"`
}

// alike is what the findings of a group have in common.
type alike struct {
	check, reason string
	result        Result
	kind, name    string // of the object, unless that is the node itself
	fix           fixes.CallKey
	zone          string // of what is not a node's
}

// ByCause groups the faults of a report: one and the same on several of the nodes that were read. The worst come first, of
// those the one on most nodes.
func (r *Report) ByCause(read int) []Group {
	groups := []Group{}
	at := map[alike]int{}
	for _, f := range r.Findings {
		if !f.Result.Fault() {
			continue
		}
		nodes := f.Nodes()
		key := alike{check: f.Check, reason: f.Reason, result: f.Result, kind: f.Object.Kind}
		switch {
		case len(nodes) == 0 || f.Object.Node == "" && f.Object.Kind != "node":
			key.name, key.zone = f.Object.Name, f.Zone
		case f.Object.Kind != "node":
			key.name = f.Object.Name
		}
		if f.Fix != nil {
			everywhere := *f.Fix
			everywhere.Node = ""
			key.fix = everywhere.Key()
		}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, Group{Check: f.Check, Result: f.Result, Reason: f.Reason, Title: f.Title, Nodes: []string{}, Of: read})
		}
		g := &groups[i]
		g.Findings = append(g.Findings, f)
		for _, n := range nodes[:min(1, len(nodes))] { // the others are concerned by it
			if !slices.Contains(g.Nodes, n) {
				g.Nodes = append(g.Nodes, n)
			}
		}
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.worst().weight(), b.worst().weight()), cmp.Compare(len(b.Nodes), len(a.Nodes)))
	})
	return groups
}

func (g *Group) worst() Result { return worst(OK, g.Findings) }

// A NodeResult is what was found on one node.
type NodeResult struct {
	Name     string   `json:"name"`
	Unread   string   `json:"unread,omitempty"` // why it was not read
	Errors   int      `json:"errors"`
	Warnings int      `json:"warnings"`
	Checks   []string `json:"checks"` // that found them
}

// ByNode counts the faults of each of the named nodes, with those that others explain. unread has why a node was not read.
// Nodes that were not read come first, then the worst.
func (r *Report) ByNode(names []string, unread map[string]string) []NodeResult {
	results := make([]NodeResult, len(names))
	at := map[string]*NodeResult{}
	for i, name := range names {
		results[i] = NodeResult{Name: name, Unread: unread[name], Checks: []string{}}
		at[name] = &results[i]
	}
	var count func([]Finding)
	count = func(findings []Finding) {
		for _, f := range findings {
			nodes := f.Nodes()
			if n := len(nodes); n > 0 && f.Result.Fault() && at[nodes[0]] != nil {
				at[nodes[0]].add(f)
			}
			count(f.Consequences)
		}
	}
	count(r.Findings)
	slices.SortStableFunc(results, func(a, b NodeResult) int {
		return cmp.Or(cmp.Compare(min(1, len(b.Unread)), min(1, len(a.Unread))), cmp.Compare(b.Errors, a.Errors),
			cmp.Compare(b.Warnings, a.Warnings), strings.Compare(a.Name, b.Name))
	})
	return results
}

func (n *NodeResult) add(f Finding) {
	if f.Result == Error {
		n.Errors++
	} else {
		n.Warnings++
	}
	if !slices.Contains(n.Checks, f.Check) {
		n.Checks = append(n.Checks, f.Check)
	}
}
