package text

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// datapathFlow names the numbers in a line of dpctl/dump-flows.
func (a *Annotator) datapathFlow(ctx context.Context, line string) {
	actions := strings.LastIndex(line, "actions:")
	if actions < 0 {
		actions = len(line)
	}
	a.datapathFields(ctx, line, 0, actions)
	a.datapathActions(ctx, line, actions+len("actions:"))
}

// datapathFields names fields in OVS datapath notation, between two offsets.
func (a *Annotator) datapathFields(ctx context.Context, line string, from, to int) {
	var p decode.Context
	p.VXLAN = strings.Contains(line[from:min(to, len(line))], "vxlan")
	for _, t := range a.tokens {
		if t.start < from || t.start >= to {
			continue
		}
		a.datapathField(ctx, line, t, &p)
	}
}

func (a *Annotator) datapathField(ctx context.Context, line string, t token, p *decode.Context) {
	switch t.key {
	case "ct_zone", "ct_mark", "ct_label", "zone", "mark", "label", "labels":
		switch t.key {
		case "label":
			t.key = "ct_label"
		case "mark":
			t.key = "ct_mark"
		}
		a.field(t, *p)
	case "in_port":
		if t.form == called {
			a.add(t.end, "in_port", t.value, a.namer.DatapathPort(t.value))
		}
	case "tun_id", "vni":
		if n, ok := number(beforeMask(t.value)); ok && t.form == assigned {
			p.TunID = n
			t.key = "tun_id"
			a.field(t, *p)
		}
	case "class":
		if n, ok := number(t.value); ok && n == ovnClass {
			a.geneveOption(line, t.end, *p)
		}
	case "userdata":
		a.add(t.end, "userdata", t.value, a.userdata(ctx, t.value, *p))
	}
}

// ovnClass is the class of OVN's Geneve options.
const ovnClass = 0x102

// geneveOption names OVN's option, "class=0x102,type=0x80,len=4,0x10003", whose
// class ends at an offset.
func (a *Annotator) geneveOption(line string, at int, p decode.Context) {
	rest, ok := strings.CutPrefix(line[at:], ",type=0x80,len=4,")
	if !ok {
		return
	}
	at = len(line) - len(rest)
	end := valueEnd(line, at)
	text := line[at:end]
	if n, ok := number(beforeMask(text)); ok {
		a.add(end, "geneve", text, a.namer.Option(uint32(n), true, p))
	}
}

func beforeMask(text string) string {
	value, _, _ := strings.Cut(text, "/")
	return value
}

// datapathActions names OVS datapath actions from an offset on.
func (a *Annotator) datapathActions(ctx context.Context, line string, from int) {
	a.datapathFields(ctx, line, from, maxLine)
	depth := 0
	for i := from; i < len(line); i++ {
		switch c := line[i]; {
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			depth--
		case depth == 0 && (i == from || line[i-1] == ','):
			end := strings.IndexAny(line[i:], ",({ \t")
			if end < 0 {
				end = len(line) - i
			}
			if end > 0 && (i+end == len(line) || line[i+end] == ',') {
				a.add(i+end, "output", line[i:i+end], a.namer.DatapathPort(line[i:i+end]))
			}
			i += max(end-1, 0)
		}
	}
}

// connection names the numbers in a line of dpctl/dump-conntrack or conntrack(8).
func (a *Annotator) connection() {
	for _, t := range a.tokens {
		switch t.key {
		case "zone", "mark", "labels":
			if t.form == assigned {
				a.field(t, decode.Context{})
			}
		}
	}
}

// captured names the numbers in tcpdump(8) output for a tunneled packet.
func (a *Annotator) captured(line string) {
	var p decode.Context
	p.VXLAN = strings.Contains(line, "VXLAN")
	for _, t := range a.tokens {
		if n, ok := number(t.value); ok && t.key == "vni" {
			p.TunID = n
			t.key = "tun_id"
			a.field(t, p)
		}
	}
	// options [class Open Virtual Networking (OVN) (0x102) type 0x80(C) len 8 data 00010003]
	_, rest, ok := strings.Cut(line, "(0x102) type 0x80")
	_, data, found := strings.Cut(rest, " data ")
	if !ok || !found || len(data) < 8 {
		return
	}
	if n, ok := digits(data[:8], 16); ok {
		a.add(len(line)-len(data)+8, "geneve", data[:8], a.namer.Option(uint32(n), true, p))
	}
}
