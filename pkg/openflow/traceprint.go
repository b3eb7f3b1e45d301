package openflow

import (
	"sync"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// texts holds buffers for trace texts: growing one costs more than writing the text.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// String writes the trace as ofproto/trace does.
func (t *Trace) String() string {
	room := texts.Get().(*[]byte)
	defer texts.Put(room)
	b := (*room)[:0]
	for _, p := range t.Passes {
		if p.Recirc != nil {
			b = append(b, "\n\n"...)
			b = append(p.Recirc.append(b), "\n\n"...)
		}
		b = p.append(b)
	}
	if len(b) == 0 || b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	*room = b
	return string(b)
}

const rule = "==============================================================================="

// String writes the header of a recirculation, including its rules.
func (r *Recirc) String() string { return string(r.append(nil)) }

func (r *Recirc) append(b []byte) []byte {
	b = append(b, rule...)
	b = append(b, "\nrecirc("...)
	b = append(b, hexadecimal(uint64(r.ID))...)
	b = append(b, ')')
	switch {
	case r.Conntrack && r.Default:
		b = append(b, " - resume conntrack with default ct_state=trk|new (use --ct-next to customize)"...)
	case r.Conntrack:
		state := &packet.CTState
		b = append(b, " - resume conntrack with ct_state="...)
		b = state.AppendMasked(b, packet.Uint(uint64(r.CTState)), state.Mask())
	}
	if r.NAT {
		b = append(b, "\nReplacing src/dst IP/ports to simulate NAT:\n Initial flow: "...)
		b = append(b, r.NATBefore...)
		b = append(b, "\n Modified flow: "...)
		b = append(b, r.NATAfter...)
	}
	b = append(b, '\n')
	return append(b, rule...)
}

func (p *Pass) append(b []byte) []byte {
	line := func(start, text string) { b = append(append(b, start...), text...) }
	if p.FlowText != "" {
		line("Flow: ", p.FlowText)
		b = append(b, '\n')
	}
	b = appendNodes(b, p.Roots, 0)
	line("\nFinal flow: ", p.FinalText)
	line("\nMegaflow: ", p.Megaflow)
	line("\nDatapath actions: ", p.DatapathActions)
	if p.Failure != "" {
		line("\nTranslation failed (", p.Failure)
		b = append(b, "), packet is dropped.\n"...)
	}
	if len(p.SlowPath) > 0 {
		b = append(b, "\nThis flow is handled by the userspace slow path because it:"...)
	}
	for _, reason := range p.SlowPath {
		line("\n  - ", reason)
		b = append(b, '.')
	}
	return b
}

// appendNodes writes a list of nodes at a level; see tree.
func appendNodes(b []byte, nodes []*Node, level int) []byte {
	for i, n := range nodes {
		inner, columns := level, level
		if i < len(nodes)-1 || n.Kind == NodeBucket || !n.opens() {
			inner += 2
			columns++
		}
		if n.Kind == NodeBridge {
			b = append(indent(append(b, '\n'), columns), n.Text...)
			b = indent(append(b, '\n'), columns)
			for range len(n.Text) {
				b = append(b, '-')
			}
		} else {
			b = n.append(indent(b, columns))
		}
		b = appendNodes(append(b, '\n'), n.Children, inner)
	}
	return b
}

func indent(b []byte, levels int) []byte {
	for range levels {
		b = append(b, "    "...)
	}
	return b
}

// append writes the node's text with its markers.
func (n *Node) append(b []byte) []byte {
	switch n.Kind {
	case NodeDetail:
		b = append(b, " -> "...)
	case NodeWarning:
		b = append(b, " >> "...)
	case NodeError:
		b = append(b, " >>>> "...)
	case NodeTable:
		if n.Step == nil {
			b = append(b, "--. "...)
		} else if n.Step.Table < 10 {
			b = append(b, ' ')
		}
	}
	b = append(b, n.Text...)
	if n.Kind == NodeError {
		b = append(b, " <<<<"...)
	}
	return b
}
