package openflow

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// String writes the trace as ofproto/trace does.
func (t *Trace) String() string {
	var b strings.Builder
	for _, p := range t.Passes {
		if p.Recirc != nil {
			b.WriteString("\n\n" + p.Recirc.String() + "\n\n")
		}
		p.write(&b)
	}
	if s := b.String(); strings.HasSuffix(s, "\n") {
		return s
	}
	b.WriteByte('\n')
	return b.String()
}

var rule = strings.Repeat("=", 79)

// String writes what stands between the rules around a recirculation, and the
// rules.
func (r *Recirc) String() string {
	s := rule + "\nrecirc(" + hexadecimal(uint64(r.ID)) + ")"
	switch {
	case r.Conntrack && r.Default:
		s += " - resume conntrack with default ct_state=trk|new (use --ct-next to customize)"
	case r.Conntrack:
		state, _ := flow.Lookup("ct_state")
		s += " - resume conntrack with ct_state=" + state.Print(flow.Uint(uint64(r.CTState)))
	}
	if r.NAT {
		s += "\nReplacing src/dst IP/ports to simulate NAT:\n Initial flow: " + r.NATBefore + "\n Modified flow: " + r.NATAfter
	}
	return s + "\n" + rule
}

func (p *Pass) write(b *strings.Builder) {
	if p.FlowText != "" {
		b.WriteString("Flow: " + p.FlowText + "\n")
	}
	writeNodes(b, p.Roots, 0)
	b.WriteString("\nFinal flow: " + p.FinalText + "\nMegaflow: " + p.Megaflow + "\nDatapath actions: " + p.DatapathActions)
	if p.Failure != "" {
		b.WriteString("\nTranslation failed (" + p.Failure + "), packet is dropped.\n")
	}
	if len(p.SlowPath) > 0 {
		b.WriteString("\nThis flow is handled by the userspace slow path because it:")
	}
	for _, reason := range p.SlowPath {
		b.WriteString("\n  - " + reason + ".")
	}
}

// writeNodes writes a list of nodes at a level, see tree.
func writeNodes(b *strings.Builder, nodes []*Node, level int) {
	for i, n := range nodes {
		inner, columns := level, level
		if i < len(nodes)-1 || n.Kind == NodeBucket || !n.opens() {
			inner += 2
			columns++
		}
		if n.Kind == NodeBridge {
			b.WriteByte('\n')
			indent(b, columns)
			b.WriteString(n.Text + "\n")
			indent(b, columns)
			b.WriteString(strings.Repeat("-", len(n.Text)))
		} else {
			indent(b, columns)
			n.write(b)
		}
		b.WriteByte('\n')
		writeNodes(b, n.Children, inner)
	}
}

func indent(b *strings.Builder, levels int) {
	for range levels {
		b.WriteString("    ")
	}
}

// write writes the node's text with the signs of its kind.
func (n *Node) write(b *strings.Builder) {
	switch n.Kind {
	case NodeDetail:
		b.WriteString(" -> ")
	case NodeWarning:
		b.WriteString(" >> ")
	case NodeError:
		b.WriteString(" >>>> ")
	case NodeTable:
		if n.Step == nil {
			b.WriteString("--. ")
		} else if n.Step.Table < 10 {
			b.WriteByte(' ')
		}
	}
	b.WriteString(n.Text)
	if n.Kind == NodeError {
		b.WriteString(" <<<<")
	}
}
