package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// draw draws a scene whose cards have their places.
func (m *mapper) draw() {
	lowest := m.y
	for _, c := range m.columns {
		if !m.crowded {
			m.drawColumn(c)
			lowest = max(lowest, c.bottom())
		}
	}
	m.chainLines()
	for _, c := range m.shared {
		m.card(c)
	}
	if m.crowded {
		m.drawTiles()
		return
	}
	m.y = lowest
	m.drawTunnels()
	m.outside()
}

var cardClasses = [...]string{routerCard: "router", switchCard: "switch", bridgeCard: "bridge"}

// card draws a box with its name, its note and the workloads on it. Routers have round ends.
func (m *mapper) card(c *card) {
	class, round := cardClasses[c.kind], 5.0
	if c.kind == routerCard {
		round = 16
	}
	if c.state == odd {
		class = "warned"
	}
	m.begin(c.object, strings.TrimSpace(c.name+"  "+c.note))
	m.box(c.frame, round, class)
	x, w := c.x+14, c.w-28
	m.badge(&c.badges, c.right()-8, c.y+6)
	if beside := w - c.badges.room(); c.note == "" {
		m.words(x, c.y+c.head()/2+4, beside, atStart, name, c.name)
	} else {
		m.words(x, c.y+17, beside, atStart, name, c.name)
		m.words(x, c.y+32, beside, atStart, remark, c.note)
	}
	m.end()
	for i, r := range c.rows {
		y := c.y + c.head() + float64(i)*rowHeight + 11
		m.begin(r.object, "")
		m.mark(r.state, x+4, y-4, 8)
		side := widthOf(r.note, remark)
		if side > w/2 {
			side = w / 2
		}
		called, noted := item, remark
		if r.state == bad {
			called, noted = alarmed, remarkBad
		}
		m.words(x+16, y, w-16-side-8, atStart, called, r.name)
		m.words(x+w, y, side+0.1, atEnd, noted, r.note)
		m.end()
	}
}

// chainLines draws the links that leave shared cards.
func (m *mapper) chainLines() {
	leaving, arriving := map[*card][]*chain{}, map[*card][]*chain{}
	for _, c := range m.chain {
		leaving[c.from] = append(leaving[c.from], c)
		if c.to.column == nil {
			arriving[c.to] = append(arriving[c.to], c)
		}
	}
	for _, card := range m.shared {
		out, in := leaving[card], arriving[card]
		slices.SortStableFunc(out, func(a, b *chain) int { return cmp.Compare(a.first(), b.first()) })
		for i, c := range out {
			c.start = card.x + card.w*float64(i+1)/float64(len(out)+1)
		}
		slices.SortStableFunc(in, func(a, b *chain) int { return cmp.Compare(a.last(), b.last()) })
		for i, c := range in {
			c.finish = card.x + card.w*float64(i+1)/float64(len(in)+1)
		}
	}
	for _, c := range m.chain {
		m.line(c.way(m.y), "link")
	}
}

// first is where a chain goes first, last where it comes from last.
func (c *chain) first() float64 {
	switch {
	case len(c.steps) > 0:
		return c.steps[0].middle()
	case c.to.column != nil:
		return c.finish
	}
	return c.to.middle()
}

func (c *chain) last() float64 {
	if n := len(c.steps); n > 0 {
		return c.steps[n-1].middle()
	}
	return c.from.middle()
}

// way is the line of a chain; columns begin at top.
func (c *chain) way(top float64) *route {
	r := from(c.start, c.from.bottom())
	x, y := c.start, c.from.slot.bottom()
	r.to(x, y)
	for _, s := range c.steps {
		r.curve(x, y, s.middle(), s.y).to(s.middle(), s.bottom())
		x, y = s.middle(), s.bottom()
	}
	if c.to.column == nil {
		return r.curve(x, y, c.finish, c.to.y)
	}
	r.curve(x, y, c.finish, top)
	side, inward := c.to.right(), -1.0
	if c.to.column.leftward {
		side, inward = c.to.x, 1
	}
	if c.to.kind == bridgeCard {
		x, y = side+inward*(c.over+10), c.to.y-c.over
		return r.to(c.finish, y).to(x, y).to(x, c.to.y)
	}
	y = c.to.y + c.to.head()/2
	return r.to(c.finish, y).to(side, y)
}

// drawColumn draws a chassis.
func (m *mapper) drawColumn(c *column) {
	class := "place"
	if c.state == bad {
		class = "place-bad"
	}
	m.begin(c.object, c.name+"  "+c.note)
	m.box(c.frame, 12, class)
	left, w := c.inside.x, c.inside.w
	x := left
	if c.state == bad {
		m.mark(bad, x+6, c.y+20, 11)
		x += 20
	}
	m.badge(&c.badges, left+w, c.y+12)
	m.words(x, c.y+25, w-20-c.badges.room(), atStart, title, c.name)
	m.words(left, c.y+41, w, atStart, remark, c.note)
	m.end()
	lanes := 0
	for _, l := range m.inner(c) {
		if x := l.a.x + 26; c.adjacent(l) {
			m.line(from(x, l.a.bottom()).to(x, l.b.y), "link")
			continue
		}
		m.line(c.bracket(l, lanes), "link")
		lanes++
	}
	for _, card := range slices.Concat(c.cards, c.bridges) {
		m.card(card)
	}
	for i, b := range c.bridges {
		if i > 0 {
			m.line(from(b.middle(), c.bridges[0].bottom()).to(b.middle(), b.y), "link")
		}
	}
	for _, u := range c.uplinks {
		m.uplink(u)
	}
}

// bracket is the line of a link past the cards between its two.
func (c *column) bracket(l link, lane int) *route {
	x, side, inward := c.beside(false, lane), frame.left, 1.0
	if c.leftward {
		side, inward = frame.right, -1
	}
	y := l.a.y + l.a.head()/2 + 4
	r := from(side(l.a.frame), y).to(x, y)
	if l.b.kind == bridgeCard {
		over, above := side(l.b.frame)+inward*(14+laneGap*float64(lane)), l.b.y-15
		return r.to(x, above).to(over, above).to(over, l.b.y)
	}
	y = l.b.y + l.b.head()/2 - 4
	return r.to(x, y).to(side(l.b.frame), y)
}

// uplink draws a link out of the host below its bridge.
func (m *mapper) uplink(u *uplink) {
	class, l := "wire", item
	switch u.state {
	case bad:
		class, l = "broken", alarm
	case odd:
		class = "warned"
	}
	m.line(from(u.middle(), u.bridge.bottom()).to(u.middle(), u.y), "link")
	m.begin(u.object, strings.TrimSpace(u.name+"  "+u.note))
	m.box(u.frame, 13, class)
	m.mark(u.state, u.x+14, u.y+13, 9)
	m.badge(&u.badges, u.right()-6, u.y+5)
	m.words(u.x+25, u.y+17.5, u.w-35-u.badges.room(), atStart, l, u.name)
	m.end()
}

// drawTunnels draws the tunnels below the columns, each on a line of its own.
func (m *mapper) drawTunnels() {
	used := map[*column]float64{}
	stub := func(c *column) float64 {
		used[c]++
		return c.right() - 10 - 12*used[c]
	}
	m.y += 6
	for _, w := range m.tunnels {
		if w.b.x < w.a.x {
			w.a, w.b = w.b, w.a
		}
		m.y += 24
		class, l, label := "tunnel", remark, w.label
		switch w.state {
		case bad:
			class, l, label = "tunnel-bad", alarmSmall, label+" down"
		case unknown:
			label += " ?"
		}
		x, told := w.a.right()+6, strings.TrimSpace("tunnel "+w.a.name+" – "+w.b.name+"  "+w.told)
		a, b := stub(w.a), stub(w.b)
		width := min(widthOf(label, l), 74)
		m.begin("", told)
		m.line(from(a, w.a.bottom()).to(a, m.y).to(x-3, m.y), class)
		m.mark(w.state, x+5, m.y, 8)
		m.words(x+13, m.y+4, width+0.1, atStart, l, label)
		m.line(from(x+width+17, m.y).to(b, m.y).to(b, w.b.bottom()), class)
		m.end()
	}
	m.y += 14
}

// outside draws what the uplinks lead to.
func (m *mapper) outside() {
	all := 0
	for _, c := range m.columns {
		all += len(c.uplinks)
	}
	if all == 0 {
		return
	}
	m.y += 14
	f := frame{margin, m.y, mapWidth - 2*margin, 32}
	m.box(f, 16, "wire")
	m.words(f.x+20, f.y+20.5, f.w-40, atStart, item, "physical network")
	for _, c := range m.columns {
		for _, u := range c.uplinks {
			if u.state == bad {
				m.line(from(u.middle(), u.bottom()).to(u.middle(), c.bottom()+3), "tunnel-bad")
				m.mark(bad, u.middle(), c.bottom()+11, 13)
				continue
			}
			m.line(from(u.middle(), u.bottom()).to(u.middle(), f.y), "link")
		}
	}
	m.y = f.bottom()
}

// Measures of tiles.
const (
	tilesBeside = 5
	tileHeight  = 76.0
	tileGap     = 12.0
)

// tiles lays out the chassis of a crowded map, those in trouble first.
func (m *mapper) tiles() {
	slices.SortStableFunc(m.columns, func(a, b *column) int { return cmp.Compare(b.state, a.state) })
	w := (mapWidth - 2*margin - tileGap*(tilesBeside-1)) / tilesBeside
	for i, c := range m.columns {
		c.frame = frame{margin + float64(i%tilesBeside)*(w+tileGap), float64(i/tilesBeside) * (tileHeight + tileGap), w, tileHeight}
	}
}

// drawTiles draws the chassis of a crowded map.
func (m *mapper) drawTiles() {
	tunnels, down := map[*column]int{}, map[*column]int{}
	broken := 0
	for _, w := range m.tunnels {
		for _, c := range []*column{w.a, w.b} {
			tunnels[c]++
			if w.state == bad {
				down[c]++
			}
		}
		if w.state == bad {
			broken++
		}
	}
	for _, c := range m.columns {
		class := "place"
		if c.state == bad {
			class = "broken"
		}
		x, w := c.x+14, c.w-28
		m.begin(c.object, c.name+"  "+c.note)
		m.box(c.frame, 8, class)
		m.badge(&c.badges, c.right()-8, c.y+6)
		m.words(x, c.y+20, w-c.badges.room(), atStart, name, c.name)
		m.words(x, c.y+36, w, atStart, remark, tally(c.workloads))
		if c.down > 0 {
			word := fmt.Sprintf("%d down", c.down)
			m.mark(bad, x+w-widthOf(word, alarmSmall)-10, c.y+32, 8)
			m.words(x+w, c.y+36, w/2, atEnd, alarmSmall, word)
		}
		m.tileUplinks(c, x, c.y+52, w)
		switch {
		case down[c] > 0:
			m.mark(bad, x+4, c.y+64, 8)
			m.words(x+14, c.y+68, w-14, atStart, alarmSmall, fmt.Sprintf("%d of %s down", down[c], counted(tunnels[c], "tunnel")))
		case tunnels[c] > 0:
			m.mark(good, x+4, c.y+64, 8)
			m.words(x+14, c.y+68, w-14, atStart, remark, counted(tunnels[c], "tunnel"))
		}
		m.end()
		m.y = max(m.y, c.bottom())
	}
	if len(m.tunnels) > 0 {
		m.y += 24
		m.words(margin, m.y, mapWidth-2*margin, atStart, remark, fmt.Sprintf("%s between %d chassis, %d down", counted(len(m.tunnels), "tunnel"), len(m.columns), broken))
	}
}

// tileUplinks says in a line how a chassis leads out, the worst if there are several.
func (m *mapper) tileUplinks(c *column, x, y, w float64) {
	if len(c.uplinks) == 0 {
		return
	}
	worst := slices.MaxFunc(c.uplinks, func(a, b *uplink) int { return cmp.Compare(a.state, b.state) })
	l := remark
	if worst.state == bad {
		l = alarmSmall
	}
	m.mark(worst.state, x+4, y-4, 8)
	m.words(x+14, y, w-14, atStart, l, worst.bridge.name+": "+worst.name)
}

// legend says what shapes and colours mean.
func (m *mapper) legend() {
	m.y += 34
	x := margin
	for _, l := range []struct {
		state state
		word  string
	}{{good, "up"}, {bad, "down, broken"}, {odd, "degraded"}, {unknown, "unknown"}} {
		m.mark(l.state, x+5, m.y-4, 9)
		m.words(x+16, m.y, 200, atStart, remark, l.word)
		x += 16 + widthOf(l.word, remark) + 22
	}
	for _, l := range []struct {
		class, word string
		round       float64
	}{{"router", "logical router", 6}, {"switch", "logical switch, or its part on a chassis", 2}, {"bridge", "bridge", 2}} {
		m.box(frame{x, m.y - 10, 18, 12}, l.round, l.class)
		m.words(x+25, m.y, 300, atStart, remark, l.word)
		x += 25 + widthOf(l.word, remark) + 22
	}
	m.line(from(x, m.y-4).to(x+26, m.y-4), "tunnel")
	m.words(x+33, m.y, 100, atStart, remark, "tunnel")
}
