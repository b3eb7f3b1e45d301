package text

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// perTable is how many flows of a table are kept for what they tell of the
// tables.
const perTable = 256

// evidence are flows that went by, some of each table.
type evidence struct {
	flows []decode.Seen
	count [256]int
	used  int // how many the calibration rests on
}

// Learn takes from a line what it tells of the chassis, and glosses nothing.
// Of a text that can be read twice every line is learnt from first.
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
	if !ok || n > 0xff || a.evidence.count[n] >= perTable {
		return
	}
	a.tokens = scan(line, a.tokens[:0])
	a.learn(seenIn(a.tokens, actions))
}

// learnStep is Learn for a step of a trace, which says enough where its match
// names the datapath.
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
		a.learn(seen)
	}
	return true
}

func (a *Annotator) learn(seen decode.Seen) {
	e := &a.evidence
	if of := seen.Table & 0xff; e.count[of] < perTable {
		e.count[of]++
		e.flows = append(e.flows, seen)
	}
}

// Calibrate has the decoder learn the tables from what was learnt from lines.
// Without a Southbound the release is all that there is.
func (a *Annotator) Calibrate(ctx context.Context) {
	a.evidence.used = len(a.evidence.flows)
	a.decoder.Calibrate(ctx, a.evidence.flows)
	clear(a.meanings)
}

// Recalibrate is Calibrate if twice as much is known as the last time.
func (a *Annotator) Recalibrate(ctx context.Context) {
	if e := &a.evidence; len(e.flows) >= 2*e.used+16 {
		a.Calibrate(ctx)
	}
}
