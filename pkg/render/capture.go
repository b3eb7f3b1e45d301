package render

import (
	"fmt"
	"io"
	"strings"
)

// CaptureDocument is the JSON and YAML form of what a capture has become.
type CaptureDocument struct {
	Envelope
	File  string   `json:"file"`
	Size  int64    `json:"size"`  // in bytes
	Nodes []string `json:"nodes"` // those that are in it
	Files int      `json:"files"` // answers that are in it
	// LogicalFlows is how many rows of Logical_Flow are in it.
	LogicalFlows int `json:"logicalFlows"`
	// Failed is what was asked and not answered.
	Failed []CaptureFailure `json:"failed"`
}

// A CaptureFailure is what a capture lacks, and why.
type CaptureFailure struct {
	Node string `json:"node,omitempty"` // empty: of no node
	What string `json:"what"`
	Why  string `json:"why"`
}

// mostReasons is how many reasons are shown to people.
const mostReasons = 10

// whyFailed is failures in words, those of one reason together.
func whyFailed(failed []CaptureFailure) []string {
	var order []string
	count := map[string]int{}
	first := map[string]CaptureFailure{}
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

// Capture writes what a capture has become: text, json or yaml.
func Capture(w io.Writer, format string, doc CaptureDocument) error {
	if format == "json" || format == "yaml" {
		return Write(w, format, doc)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s: %d answers of %s, %d logical flows\n", Clean(doc.File), bytesText(doc.Size), doc.Files, nodesText(doc.Nodes), doc.LogicalFlows)
	for i, r := range whyFailed(doc.Failed) {
		if i == mostReasons {
			fmt.Fprintf(&b, "  and more, in index.json of the capture\n")
			break
		}
		fmt.Fprintf(&b, "  not in it: %s\n", Clean(r))
	}
	fmt.Fprintf(&b, "next: ovnctl --offline %s doctor\n", Clean(doc.File))
	_, err := io.WriteString(w, b.String())
	return err
}

func nodesText(nodes []string) string {
	switch {
	case len(nodes) == 0:
		return "no node"
	case len(nodes) <= 5:
		return Clean(strings.Join(nodes, ", "))
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
