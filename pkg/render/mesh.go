package render

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/probe"
)

// mostColumns is how many nodes the matrix of tunnels may have: with more, only the tunnels that lose packets are listed.
const mostColumns = 12

// mesh prints who reaches whom through tunnels.
func (p *doctorPrinter) mesh(m *probe.Mesh) {
	if m == nil || p.short {
		return
	}
	whole := 0
	for i := range m.Tunnels {
		if t := &m.Tunnels[i]; t.Small.Result == probe.Received && t.Full.Result == probe.Received {
			whole++
		}
	}
	p.add()
	p.add(Span{"tunnels", Title}, Span{Text: fmt.Sprintf("  %d of %d carry small and full packets", whole, len(m.Tunnels))})
	if len(m.Tunnels) == 0 {
		return
	}
	if len(m.Nodes) <= mostColumns {
		p.matrix(m)
	}
	for _, t := range m.Tunnels {
		c := t.Small
		if c.Result == probe.Received {
			c = t.Full
		}
		if c.Result != probe.Received {
			p.put(2, 4, Span{fmt.Sprintf("%s → %s  ", t.From, t.To), Name}, Span{Text: fmt.Sprintf("%s to %s, %d bytes: %s", t.Type, t.Remote, c.Size, c.Between)})
		}
	}
}

// matrix prints a row for each sender and a column for each receiver.
func (p *doctorPrinter) matrix(m *probe.Mesh) {
	wide := len("from \\ to")
	for _, n := range m.Nodes {
		wide = max(wide, len(n))
	}
	pad := func(text string, n int) string { return text + strings.Repeat(" ", max(0, n-len([]rune(text)))) }
	head := Line{{"  " + pad("from \\ to", wide), Faint}}
	for _, to := range m.Nodes {
		head = append(head, Span{"  " + pad(to, len("small")), Faint})
	}
	p.add(head...)
	for _, from := range m.Nodes {
		line := Line{{Text: "  " + pad(from, wide)}}
		for _, to := range m.Nodes {
			word, look := cell(m, from, to)
			line = append(line, Span{Text: "  "}, Span{word, look}, Span{Text: pad("", max(len(to), len("small"))-len([]rune(word)))})
		}
		p.add(line...)
	}
}

// cell is what all tunnels from one node to another carry.
func cell(m *probe.Mesh, from, to string) (word string, look Look) {
	word, look = "·", Faint
	for i := range m.Tunnels {
		t := &m.Tunnels[i]
		switch {
		case t.From != from || t.To != to:
		case t.Small.Result.Lost():
			return "✗", Bad
		case t.Full.Result.Lost():
			word, look = "small", Warn
		case t.Small.Result == probe.Unsure || t.Full.Result == probe.Unsure:
			word, look = "?", Warn
		case word == "·":
			word, look = "✓", Good
		}
	}
	return word, look
}
