package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// A captureResult is what a capture holds: kind CaptureResult.
type captureResult struct {
	document.Envelope
	File  string   `json:"file"`
	Size  int64    `json:"size"`  // in bytes
	Nodes []string `json:"nodes"` // included nodes
	Files int      `json:"files"` // included replies
	// LogicalFlows is the number of Logical_Flow rows included.
	LogicalFlows int `json:"logicalFlows"`
	// Failed lists reads that got no reply.
	Failed []captureFailure `json:"failed"`

	copied bool // from saved data: nobody counted its rows
}

// A captureFailure is something a capture lacks, and why.
type captureFailure struct {
	Node string `json:"node,omitempty"` // empty if not about one node
	What string `json:"what"`
	Why  string `json:"why"`
}

func newCaptureResult(c *cluster.Cluster, name string, x archive.Index) captureResult {
	d := captureResult{
		Envelope: document.New("CaptureResult", c.Source(), c.Notes),
		File:     name, Nodes: []string{}, Files: len(x.Files), Failed: []captureFailure{},
	}
	if fi, err := os.Stat(name); err == nil {
		d.Size = fi.Size()
	}
	for _, n := range x.Nodes {
		if n.Dir != "" {
			d.Nodes = append(d.Nodes, n.Name)
		}
	}
	for _, db := range x.Databases {
		d.LogicalFlows += db.Rows
	}
	for _, f := range x.Failed {
		d.Failed = append(d.Failed, captureFailure{Node: f.Node, What: f.What, Why: f.Why})
	}
	return d
}

// mostReasons is how many reasons are shown to people.
const mostReasons = 10

// whyFailed describes failures, grouped by reason.
func whyFailed(failed []captureFailure) []string {
	var order []string
	count := map[string]int{}
	first := map[string]captureFailure{}
	for _, f := range failed {
		why := f.Why
		if _, after, ok := strings.Cut(why, f.What+": "); ok {
			why = after
		}
		if count[why]++; count[why] == 1 {
			order = append(order, why)
			first[why] = f
		}
	}
	for i, why := range order {
		f := first[why]
		text := f.What
		if f.Node != "" {
			text += " of " + f.Node
		}
		if n := count[why]; n > 1 {
			text += fmt.Sprintf(" and %d others", n-1)
		}
		order[i] = text + ": " + why
	}
	return order
}

// text returns the result for people.
func (doc captureResult) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s: %d answers of %s", render.Clean(doc.File), bytesText(doc.Size), doc.Files, nodesText(doc.Nodes))
	if !doc.copied {
		fmt.Fprintf(&b, ", %d logical flows", doc.LogicalFlows)
	}
	b.WriteByte('\n')
	for i, r := range whyFailed(doc.Failed) {
		if i == mostReasons {
			fmt.Fprintf(&b, "  and more: see index.json in the capture\n")
			break
		}
		fmt.Fprintf(&b, "  not in it: %s\n", render.Clean(r))
	}
	fmt.Fprintf(&b, "next: ovnctl --offline %s doctor\n", render.Clean(doc.File))
	return b.String()
}

func nodesText(nodes []string) string {
	switch {
	case len(nodes) == 0:
		return "no node"
	case len(nodes) <= 5:
		return render.Clean(strings.Join(nodes, ", "))
	}
	return fmt.Sprintf("%d nodes", len(nodes))
}

func bytesText(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d kB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
