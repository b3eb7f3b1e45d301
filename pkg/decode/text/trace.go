package text

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// begin handles "Flow:", the first line of a pass of a trace.
func (a *Annotator) begin(indent int) {
	a.trace = append(a.trace[:0], level{indent: indent, Context: decode.Context{Bridge: a.dump}})
	a.first = a.dump
}

// fields names the flow at the start of a pass, which also sets the place.
func (a *Annotator) fields(_ context.Context, bridge string) {
	p := decode.Context{Bridge: bridge}
	if p.Bridge == "" {
		p.Bridge = a.first
	}
	a.match(&p, 0, maxLine)
	if len(a.trace) > 0 {
		a.trace[0].Context = p
	}
}

// maxLine exceeds the length of any line.
const maxLine = int(^uint(0) >> 1)

// enter handles `bridge("br-int")` in a trace.
func (a *Annotator) enter(indent int, text string) {
	name := strings.TrimSuffix(strings.TrimPrefix(text, "bridge("), ")")
	if unquoted, err := packet.UnquoteName(name); err == nil {
		name = unquoted
	}
	if len(a.trace) == 0 || a.first == "" {
		a.first = name
	}
	p := a.level(indent)
	if p.Bridge != "" && p.Bridge != name {
		p.Metadata = 0
	}
	p.Bridge = name
}

// level returns the place of a trace at an indentation and closes deeper levels. A new level starts as a copy of the
// enclosing one.
func (a *Annotator) level(indent int) *decode.Context {
	for len(a.trace) > 0 && a.trace[len(a.trace)-1].indent > indent {
		a.trace = a.trace[:len(a.trace)-1]
	}
	if len(a.trace) == 0 {
		a.trace = append(a.trace, level{indent: indent, Context: decode.Context{Bridge: a.first}})
	}
	if last := a.trace[len(a.trace)-1]; last.indent < indent && len(a.trace) < maxLevels {
		a.trace = append(a.trace, level{indent, last.Context})
	}
	return &a.trace[len(a.trace)-1].Context
}

// step names the numbers in a line of a trace: a table lookup, an action, its outcome. Outside a trace it names what
// the line itself determines.
func (a *Annotator) step(ctx context.Context, line, text string, indent int) *decode.Flow {
	if strings.HasPrefix(text, "=====") || strings.HasPrefix(text, "-----") {
		return nil
	}
	p := &decode.Context{Bridge: a.dump}
	if len(a.trace) > 0 {
		p = a.level(indent)
	}
	digits := 0
	for digits < len(text) && digit(text[digits]) {
		digits++
	}
	if digits > 0 && digits < 4 && strings.HasPrefix(text[digits:], ". ") {
		return a.lookup(ctx, p, line, indent+digits)
	}
	for _, t := range a.tokens {
		if n, ok := number(t.value); ok && t.form == spaced && t.key == "table" && len(a.trace) > 0 && a.namer.IsOVN(*p) {
			a.add(t.end, "table", t.value, a.namer.Target(ctx, int(n&0xff), p.Metadata))
		}
	}
	if len(a.trace) == 0 { // a match or a packet on its own
		a.match(p, 0, len(line))
	}
	a.actions(ctx, *p, 0, nil)
	a.move(p)
	return nil
}

// move updates the place of a trace for an action on its own line. Changes within a clone stay in it.
func (a *Annotator) move(p *decode.Context) {
	for _, t := range a.tokens {
		if n, ok := number(t.value); ok && t.depth == 0 && t.lo == 0 && (t.form == written || t.form == now) {
			switch t.key {
			case "metadata", "OXM_OF_METADATA":
				p.Metadata = n
			case "tun_id", "NXM_NX_TUN_ID":
				p.TunID = n
			}
		}
	}
}

// lookup names " 8. ip,metadata=0x5, priority 50, cookie 0x88177e0"; the table number ends at an offset.
func (a *Annotator) lookup(ctx context.Context, p *decode.Context, line string, end int) *decode.Flow {
	from, to := end+2, len(line)
	seen := seenIn(nil, 0)
	n, _ := number(strings.TrimSpace(line[:end]))
	seen.Table = int(n & 0xff)
	for _, t := range a.tokens {
		n, ok := number(t.value)
		if t.form != spaced || !ok {
			continue
		}
		switch t.key {
		case "priority":
			seen.Priority, to = int(n&0xffff), min(to, t.start)
		case "cookie":
			seen.Cookie = n
		}
	}
	for _, t := range a.tokens {
		if n, ok := number(t.value); ok && t.form == assigned && t.key == "metadata" && t.end <= to {
			p.Metadata = n
			if p.Bridge == "" {
				p.Bridge = a.namer.Bridge
			}
		}
	}
	seen.Metadata = p.Metadata
	var f *decode.Flow
	if a.namer.IsOVN(*p) {
		f = a.namer.Flow(ctx, seen)
		a.add(end, "table", line[end-len(strings.TrimSpace(line[:end])):end], a.namer.TableName(f.Place))
	}
	a.match(p, from, to)
	if f == nil {
		return nil
	}
	for _, t := range a.tokens {
		if t.form == spaced && t.key == "cookie" {
			a.add(t.end, "cookie", t.value, f.For())
		}
	}
	return f
}
