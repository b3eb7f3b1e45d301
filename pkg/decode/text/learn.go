package text

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// Learn learns about the chassis from a line, without naming anything. For a text that can be read twice, every line
// is learned first.
func (a *Annotator) Learn(line string) {
	if a.learnStep(line) {
		return
	}
	at, actions := strings.Index(line, "table="), strings.Index(line, " actions=")
	if at < 0 || actions < at {
		return
	}
	at += len("table=")
	n, ok := number(line[at:valueEnd(line, at)])
	if !ok || n > 0xff || !a.namer.Wants(int(n)) {
		return
	}
	a.tokens = scan(line, a.tokens[:0])
	a.namer.Learn(seenIn(a.tokens, actions))
}

// learnStep is Learn for a step of a trace, which is useful if its match names the datapath. It reports whether the
// line is a step.
func (a *Annotator) learnStep(line string) bool {
	text := strings.TrimLeft(line, " ")
	table, _, ok := strings.Cut(text[:min(len(text), len("255. "))], ". ")
	n, isNumber := number(table)
	if !ok || !isNumber || n > 0xff {
		return false
	}
	a.tokens = scan(line, a.tokens[:0])
	seen := decode.Seen{Table: int(n)}
	for _, t := range a.tokens {
		n, ok := number(t.value)
		switch {
		case !ok:
		case t.form == spaced && t.key == "priority":
			seen.Priority = int(n & 0xffff)
		case t.form == spaced && t.key == "cookie":
			seen.Cookie = n
		case t.form == assigned && t.key == "metadata":
			seen.Metadata = n
		}
	}
	if seen.Cookie != 0 && seen.Metadata != 0 {
		a.namer.Learn(seen)
	}
	return true
}

// Calibrate has the decoder learn the tables from the lines learned.
func (a *Annotator) Calibrate(ctx context.Context) { a.namer.Calibrate(ctx) }

// Recalibrate calls Calibrate if twice as much is known as last time.
func (a *Annotator) Recalibrate(ctx context.Context) { a.namer.Recalibrate(ctx) }
