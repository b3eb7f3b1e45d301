package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// Measures of a path, in pixels.
const (
	railInset = 20.0 // of the first of two lines from the edge of a card
	railGap   = 15.0
	railRoom  = railInset + railGap + 16 // that the lines take from a card

	stopGap    = 16.0 // between cards
	lineHeight = 15.0
	bandHeight = 76.0 // between chassis and what is below them
	widestLeg  = 460.0
	legGap     = 40.0
)

// mostPaths is how many paths of a trace are drawn: one for each backend or next hop, the worst first.
const mostPaths = 4

// Trace draws the path of a packet and its reply, node by node, like the lines of an underground: down from the sender through what
// it crosses, by the tunnel to the next chassis, and up to the receiver. What stops it is crossed out, with the cause.
// Notes are told below.
func Trace(t *journey.Trace, notes []string) *Picture {
	d := &tracer{Picture: &Picture{width: mapWidth}, t: t, y: margin}
	d.verdict()
	switch {
	case len(t.Branches) > 0:
		d.branches()
	default:
		d.paths("", t.Forward, t.Reply, t.Request.To)
	}
	d.key()
	d.remarks(notes)
	d.height = d.y + margin
	return d.Picture
}

// A tracer lays out a trace from top to bottom: y is where there is still room.
type tracer struct {
	*Picture
	t *journey.Trace
	y float64
}

func outcomeState(o journey.Outcome) state {
	switch o {
	case journey.Delivered:
		return good
	case journey.Unknown, journey.Consumed:
		return odd
	}
	return bad
}

// verdict writes what became of the packet, and why.
func (d *tracer) verdict() {
	v, r := d.t.Verdict, d.t.Request
	outcome := strings.ToUpper(string(v.Outcome))
	if v.Partial && v.Outcome != journey.Unknown {
		outcome = "PARTIAL"
	}
	what := r.Protocol
	if r.Port != 0 {
		what += " " + strconv.Itoa(r.Port)
	}
	d.title = outcome + ": " + endName(r.From) + " to " + endName(r.To) + ", " + what
	d.mark(outcomeState(v.Outcome), margin+9, d.y+13, 18)
	d.words(margin+30, d.y+20, 260, atStart, heading, outcome)
	x := margin + 30 + widthOf(outcome, heading) + 18
	d.words(x, d.y+20, mapWidth-margin-x, atStart, title, endName(r.From)+" → "+endName(r.To)+"   "+what)
	d.y += 36
	told, class := []string{v.Sentence}, "place"
	first, rest := name, item
	if v.Outcome != journey.Delivered {
		class, first, rest = "broken", alarm, alarmed
		if outcomeState(v.Outcome) == odd {
			class, first, rest = "warned", name, item
		}
	}
	var lines []string
	var looks []look
	for _, line := range wrap(told[0], first, mapWidth-2*margin-36, 2) {
		lines, looks = append(lines, line), append(looks, first)
	}
	if v.Cause != "" && v.Cause != v.Sentence {
		for _, line := range wrap("cause: "+v.Cause, rest, mapWidth-2*margin-36, 3) {
			lines, looks = append(lines, line), append(looks, rest)
		}
	}
	f := frame{margin, d.y, mapWidth - 2*margin, float64(len(lines))*19 + 14}
	d.box(f, 8, class)
	for i, line := range lines {
		d.words(f.x+18, f.y+22+float64(i)*19, f.w-36, atStart, looks[i], line)
	}
	d.y = f.bottom() + 22
}

func endName(e journey.Endpoint) string { return cmp.Or(e.Name, e.Text) }

// branches draws the paths through backends or next hops.
func (d *tracer) branches() {
	all := slices.Clone(d.t.Branches)
	slices.SortStableFunc(all, func(a, b journey.Branch) int {
		return cmp.Compare(outcomeState(b.Verdict.Outcome), outcomeState(a.Verdict.Outcome))
	})
	for _, b := range all[:min(len(all), mostPaths)] {
		through := strings.Join(b.Through, ", ")
		to := d.t.Request.To
		if b.Backend != "" {
			through = strings.TrimSpace("backend " + b.Backend + "  " + through)
			to = journey.Endpoint{Name: b.Backend, Kind: "backend"}
		}
		d.paths(through+": "+string(b.Verdict.Outcome), b.Forward, b.Reply, to)
	}
	if more := len(all) - mostPaths; more > 0 {
		d.words(margin, d.y+12, mapWidth-2*margin, atStart, remark, fmt.Sprintf("and %s not drawn", counted(more, "path")))
		d.y += 30
	}
}

// paths draws a packet's path with the reply's beside it, if that goes the same way back, else below.
func (d *tracer) paths(heading string, forward, reply *journey.Direction, to journey.Endpoint) {
	if forward == nil {
		return
	}
	if heading != "" {
		d.words(margin, d.y+14, mapWidth-2*margin, atStart, title, heading)
		d.y += 28
	}
	from := d.t.Request.From
	there := &path{tracer: d, direction: forward, from: from, to: to}
	switch {
	case reply == nil:
		there.draw()
	case backwards(forward, reply):
		there.back = reply
		there.draw()
	default:
		there.draw()
		d.words(margin, d.y+14, mapWidth-2*margin, atStart, title, "the reply")
		d.y += 28
		(&path{tracer: d, direction: reply, from: there.arrival(), to: from, isReply: true}).draw()
	}
}

// stops returns the hops of a direction that are places: a tunnel is a way.
func stops(d *journey.Direction) []journey.Hop {
	return slices.DeleteFunc(slices.Clone(d.Hops), func(h journey.Hop) bool { return h.Tunnel != nil })
}

// backwards reports whether a reply takes the way of its packet back, as far as it comes.
func backwards(forward, reply *journey.Direction) bool {
	there, back := stops(forward), stops(reply)
	for i := range back {
		k := len(there) - 1 - i
		if k < 0 || there[k].Node != back[i].Node || there[k].Kind != back[i].Kind || there[k].Place() != back[i].Place() {
			return false
		}
	}
	return forward.Verdict.Outcome == journey.Delivered
}

// A path is a direction as it is drawn, with a reply on the way back or without.
type path struct {
	*tracer
	direction, back *journey.Direction
	from, to        journey.Endpoint
	isReply         bool // the direction is that of a reply, which takes another way than its packet
	legs            []*leg
}

// outside is the leg beyond all nodes.
const outside = "outside"

// A leg is what a packet crosses on one node before it leaves it; the last may be outside.
type leg struct {
	node  string
	stops []*stop
	wire  string // how the packet comes here
	frame
}

// A stop is a card on a leg.
type stop struct {
	card
	class string
	lines []string
	line  look
	ends  bool // it is the sender or the receiver
	up    bool // the packet goes up through it
	fails state
}

// arrival is the receiver as an endpoint: of a service, the backend.
func (p *path) arrival() journey.Endpoint {
	to := p.to
	if hops := stops(p.direction); to.Kind == "backend" && len(hops) > 0 && p.direction.Verdict.Outcome == journey.Delivered {
		to.Name = cmp.Or(p.called(hops[len(hops)-1].To), to.Name)
	}
	return to
}

func (p *path) called(port string) string { return cmp.Or(p.t.Names[port], port) }

// draw lays the legs out beside each other and draws the lines through them.
func (p *path) draw() {
	p.board()
	p.arrange()
	for _, l := range p.legs {
		p.leg(l)
	}
	p.rails()
}

// board makes the legs and stops of a path.
func (p *path) board() {
	at := func(node, wire string) *leg {
		if n := len(p.legs); n > 0 && p.legs[n-1].node == node {
			return p.legs[n-1]
		}
		l := &leg{node: node, wire: wire}
		p.legs = append(p.legs, l)
		return l
	}
	const plainWire = "physical network"
	v := p.direction.Verdict
	sender := &stop{card: card{name: endName(p.from), note: noted(p.from)}, class: "wire", ends: true}
	wire := plainWire
	var last *stop
	hops := stops(p.direction)
	if len(hops) == 0 || hops[0].Kind == "bridge" && p.from.Node == "" || p.from.Kind == "node" && p.from.Node != hops[0].Node {
		at(cmp.Or(p.from.Node, outside), "").stops = []*stop{sender}
		last = sender
	}
	for _, h := range p.direction.Hops {
		if e := h.Tunnel; e != nil {
			wire = fmt.Sprintf("%s  %s → %s  key %#x", e.Type, e.Source, e.Remote, e.Key)
			continue
		}
		known := len(p.legs)
		l := at(h.Node, wire)
		if len(p.legs) > known {
			wire = plainWire
		}
		if last == nil {
			l.stops = append(l.stops, sender)
		}
		last = p.stop(h)
		l.stops = append(l.stops, last)
	}
	receiver := &stop{card: card{name: endName(p.arrival()), note: noted(p.to)}, class: "wire", ends: true}
	node := p.legs[len(p.legs)-1].node
	if v.Outcome != journey.Delivered {
		node = cmp.Or(p.to.Node, "not reached")
		receiver.class, receiver.note = "absent", "not reached"
		if v.Node != "" && v.Node != p.legs[len(p.legs)-1].node {
			last = &stop{card: card{kind: bridgeCard, name: cmp.Or(v.Datapath, v.Because.Bridge, v.Node)}, class: "broken"}
			l := at(v.Node, wire)
			l.stops = append(l.stops, last)
			node = v.Node
		}
		last.fail(v)
	} else if n := len(hops); n > 0 && hops[n-1].Kind == "bridge" && p.to.Node != node {
		node = outside
	}
	l := at(node, wire)
	l.stops = append(l.stops, receiver)
	if p.back != nil && p.back.Verdict.Outcome != journey.Delivered {
		p.failedReply()
	}
}

// failedReply marks where the reply is lost on its way back.
func (p *path) failedReply() {
	var all []*stop
	for _, l := range p.legs {
		for _, s := range l.stops {
			if !s.ends {
				all = append(all, s)
			}
		}
	}
	if k := len(all) - len(stops(p.back)); k >= 0 && k < len(all) {
		all[k].fail(p.back.Verdict)
	}
}

// noted says in a word where an endpoint is.
func noted(e journey.Endpoint) string {
	return strings.TrimSpace(e.Kind + "  " + e.Address)
}

// stop makes the card of a hop, with what decided there.
func (p *path) stop(h journey.Hop) *stop {
	s := &stop{card: card{object: h.Row, name: p.called(h.Datapath)}, line: remark}
	switch h.Kind {
	case "router":
		s.class, s.kind = "router", routerCard
	case "switch":
		s.class, s.kind = "switch", switchCard
	default:
		s.class, s.kind = "bridge", bridgeCard
	}
	switch a, b := p.called(h.From), p.called(h.To); {
	case a != "" && b != "":
		s.note = a + " → " + b
	case a != "":
		s.note = "from " + a
	case b != "":
		s.note = "to " + b
	}
	for _, step := range h.Steps {
		text := ""
		switch {
		case step.Object != nil && !strings.HasSuffix(step.Object.Kind, "port"):
			text = step.Object.Text
		case len(step.Notes) > 0:
			text = step.Notes[0]
		}
		if text != "" && !slices.Contains(s.lines, text) {
			s.lines = append(s.lines, text)
		}
	}
	if len(s.lines) > 3 {
		s.lines = append(s.lines[:2], fmt.Sprintf("and %d more that decided", len(s.lines)-2))
	}
	return s
}

// fail marks a stop as the one where the packet is lost.
func (s *stop) fail(v journey.Verdict) {
	s.fails, s.class, s.line = bad, "broken", remarkBad
	if outcomeState(v.Outcome) == odd {
		s.fails, s.class, s.line = odd, "warned", remark
	}
	s.lines = []string{string(v.Outcome)}
	if v.Stage != "" {
		s.lines[0] += " in " + v.Stage
	}
	if v.Cause != "" {
		s.lines[0] += ": " + v.Cause
	}
}

// arrange gives legs and stops their places: the last leg is climbed, one between two others is climbed and left on its other
// side.
func (p *path) arrange() {
	lanes := 0
	for i, l := range p.legs {
		lanes += l.lanes(i, len(p.legs))
	}
	each := min(widestLeg, (mapWidth-2*margin-legGap*float64(len(p.legs)-1))/float64(lanes))
	total := each*float64(lanes) + legGap*float64(len(p.legs)-1)
	x := (mapWidth - total) / 2
	tallest := 0.0
	for i, l := range p.legs {
		l.x, l.y, l.w = x, p.y, each*float64(l.lanes(i, len(p.legs)))
		x = l.right() + legGap
		for _, s := range l.stops {
			s.prepare(each - 28)
		}
		for _, lane := range l.split(i, len(p.legs)) {
			h := 46.0
			for _, s := range lane {
				h += s.h + stopGap
			}
			tallest = max(tallest, h)
		}
	}
	for i, l := range p.legs {
		l.h = tallest
		if l.node == outside {
			l.h = 46 + l.stops[0].h + stopGap
			l.y += tallest - l.h
		}
		for k, lane := range l.split(i, len(p.legs)) {
			up := i > 0 && k == 0
			y := l.bottom() - stopGap + 2
			ordered := slices.Clone(lane)
			if !up {
				slices.Reverse(ordered)
			}
			for _, s := range ordered { // from below
				s.up = up
				s.x, s.y = l.x+14+float64(k)*each, y-s.h
				y = s.y - stopGap
			}
		}
	}
	p.y += tallest
}

// lanes is how many stacks of cards a leg has.
func (l *leg) lanes(i, legs int) int { return len(l.split(i, legs)) }

// split returns the stacks of a leg, each in the order of the packet.
func (l *leg) split(i, legs int) [][]*stop {
	if i == 0 || i == legs-1 || len(l.stops) < 2 {
		return [][]*stop{l.stops}
	}
	half := (len(l.stops) + 1) / 2
	return [][]*stop{l.stops[:half], l.stops[half:]}
}

// prepare breaks the lines of a stop for a width, and finds its height.
func (s *stop) prepare(w float64) {
	s.w = w
	most := 2
	if s.fails != plain {
		most = 6
	}
	var lines []string
	for _, line := range s.lines {
		lines = append(lines, wrap(line, s.line, w-railRoom-14, most)...)
	}
	s.lines = lines
	s.h = cardHead + float64(len(lines))*lineHeight
	if len(lines) > 0 {
		s.h += 6
	}
}

// leg draws a node and its cards.
func (p *path) leg(l *leg) {
	p.box(l.frame, 12, "place")
	p.words(l.x+14, l.y+24, l.w-28, atStart, title, l.node)
	for _, s := range l.stops {
		round := 5.0
		if s.kind == routerCard && !s.ends {
			round = 16
		}
		p.begin(s.object, strings.TrimSpace(s.name+"  "+s.note))
		p.box(s.frame, round, s.class)
		x, w := s.x+railRoom, s.w-railRoom-12
		called := name
		if s.class == "broken" {
			called = alarm
		}
		if s.note == "" {
			p.words(x, s.y+24, w, atStart, called, s.name)
		} else {
			note := remark
			if s.class == "broken" {
				note = remarkBad
			}
			p.words(x, s.y+17, w, atStart, called, s.name)
			p.words(x, s.y+32, w, atStart, note, s.note)
		}
		for i, line := range s.lines {
			p.words(x, s.y+cardHead+float64(i)*lineHeight+9, w, atStart, s.line, line)
		}
		p.Picture.end()
	}
}

// rail is where a line runs through a stop: that of the packet is outside of that of its reply.
func (s *stop) rail(back bool) float64 {
	if back != s.up {
		return s.x + railInset + railGap
	}
	return s.x + railInset
}

func (s *stop) level() float64 { return s.y + cardHead/2 }

// rails draws the line of the packet, and that of its reply.
func (p *path) rails() {
	var all []*stop
	of := map[*stop]int{}
	for i, l := range p.legs {
		for _, s := range l.stops {
			of[s] = i
			all = append(all, s)
		}
	}
	band := p.y
	if len(p.legs) > 1 {
		p.wires(band)
		p.y += bandHeight
	}
	p.y += 22
	there := all
	if at := slices.IndexFunc(all, func(s *stop) bool { return s.fails != plain }); at >= 0 && p.back == nil {
		there = all[:at+1]
	}
	p.rail(there, of, band, false)
	if p.back != nil {
		back := slices.Clone(all)
		slices.Reverse(back)
		if at := slices.IndexFunc(back, func(s *stop) bool { return s.fails != plain }); at >= 0 {
			back = back[:at+1]
		}
		p.rail(back, of, band, true)
	}
}

// rail draws a line through stops.
func (p *path) rail(through []*stop, of map[*stop]int, band float64, back bool) {
	class := "forward"
	if back || p.isReply {
		class = "reply"
	}
	r := from(through[0].rail(back), through[0].level())
	turn := band + 46
	if back {
		turn -= 12
	}
	for i, s := range through[1:] {
		before := through[i]
		a, b := before.rail(back), s.rail(back)
		switch {
		case of[before] != of[s]:
			r.to(a, turn).to(b, turn)
		case before.up != s.up: // over the top, to the other side of the node
			over := min(before.y, s.y) - 8
			if back {
				over += 4
			}
			r.to(a, over).to(b, over)
		}
		r.to(b, s.level())
	}
	p.line(r, class)
	for i, s := range through {
		x, y := s.rail(back), s.level()
		switch {
		case i == len(through)-1 && s.fails != plain:
			p.mark(s.fails, x, y, 15)
		case i == len(through)-1:
			p.head(x, y, s.up != back, class)
		case i == 0:
			p.dot(x, y, 6, class)
		default:
			p.dot(x, y, 3.5, class)
		}
	}
}

// head draws the tip of an arrow, upwards or downwards.
func (p *path) head(x, y float64, up bool, class string) {
	tip := 9.0
	if up {
		tip = -9
	}
	p.line(from(x, y+tip).to(x-8, y-tip/2).to(x+8, y-tip/2).step("Z"), class+"-head")
}

func (p *path) dot(x, y, r float64, class string) {
	p.body.WriteString(`<circle class="` + class + `-dot" cx="` + number(x) + `" cy="` + number(y) + `" r="` + number(r) + `"/>` + "\n")
}

// wires draws what the packet crosses between two legs, below them.
func (p *path) wires(band float64) {
	for i, l := range p.legs {
		if i == 0 {
			continue
		}
		before := p.legs[i-1]
		a, b := before.stops[len(before.stops)-1], l.stops[0]
		if slices.ContainsFunc(before.stops, func(s *stop) bool { return s.fails != plain }) && p.back == nil {
			return // it does not come further
		}
		p.box(frame{a.x + 4, band + 25, b.x + railRoom - a.x, 30}, 15, "wire")
		room := frame{x: a.x + railRoom, w: b.x - a.x - railRoom + railInset - 10}
		p.words(room.middle(), band+18, room.w, atMiddle, remark, l.wire)
	}
}

// key says what the lines mean.
func (d *tracer) key() {
	d.y += 8
	x := margin
	for _, l := range []struct{ class, word string }{{"forward", "the packet"}, {"reply", "its reply"}} {
		d.line(from(x, d.y-4).to(x+30, d.y-4), l.class)
		d.words(x+38, d.y, 200, atStart, remark, l.word)
		x += 38 + widthOf(l.word, remark) + 24
	}
	d.mark(bad, x+5, d.y-4, 11)
	d.words(x+18, d.y, 300, atStart, remark, "lost here")
}

// mostRemarks is how many notes are told.
const mostRemarks = 4

// remarks writes notes, and the command to run next.
func (d *tracer) remarks(notes []string) {
	var lines []string
	for _, n := range notes[:min(len(notes), mostRemarks)] {
		lines = append(lines, wrap("note: "+n, remark, mapWidth-2*margin, 2)...)
	}
	if len(d.t.Next) > 0 {
		lines = append(lines, wrap("next: "+d.t.Next[0], remark, mapWidth-2*margin, 2)...)
	}
	for _, line := range lines {
		d.y += 18
		d.words(margin, d.y, mapWidth-2*margin, atStart, remark, line)
	}
}
