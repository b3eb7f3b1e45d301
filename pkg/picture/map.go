package picture

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// Measures of a map, in pixels.
const (
	mapWidth = 1200.0
	margin   = 24.0

	cardHead   = 40.0 // name and note
	rowHeight  = 18.0
	cardGap    = 14.0 // between cards of a column: a link between neighbours fits in
	laneGap    = 8.0  // between lines side by side
	channel    = 44.0 // between rows of shared cards: curves
	columnHead = 50.0
)

// Topology draws a deployment: the logical network above and in its chassis, with their bridges, uplinks and tunnels below. What
// is broken is listed on top and stands out below.
func Topology(t *topology.Topology) *Picture {
	m := newMapper("Topology", summary(t), t)
	m.alarms()
	m.finish()
	return m.Picture
}

// newMapper begins a map with its heading.
func newMapper(heading, note string, t *topology.Topology) *mapper {
	m := &mapper{scene: stage(t), Picture: &Picture{title: heading + ": " + note, width: mapWidth}}
	m.y = m.heading(heading, note, margin)
	return m
}

// finish draws the deployment below what is there.
func (m *mapper) finish() {
	m.place()
	m.draw()
	m.legend()
	m.height = m.y + margin
}

// summary counts what there is.
func summary(t *topology.Topology) string {
	up, workloads := 0, 0
	for _, p := range t.Ports {
		if isWorkload(p) {
			workloads++
			if p.State == topology.StateUp {
				up++
			}
		}
	}
	switches := counted(len(t.Switches), "switch")
	if len(t.Switches) != 1 {
		switches = fmt.Sprintf("%d switches", len(t.Switches))
	}
	return fmt.Sprintf("%d chassis, %s, %s, %s (%d up), %s", len(t.Chassis), counted(len(t.Routers), "router"), switches,
		counted(workloads, "workload"), up, counted(len(t.Tunnels), "tunnel"))
}

// A mapper lays out a scene from top to bottom: y is where there is still room.
type mapper struct {
	*scene
	*Picture
	y     float64
	chain []*chain
}

// heading writes the title of a picture, and returns where it ends.
func (p *Picture) heading(text, note string, y float64) float64 {
	x := margin + min(widthOf(text, heading), 400) + 16
	p.words(margin, y+20, 400, atStart, heading, text)
	p.words(x, y+20, mapWidth-margin-x, atStart, remark, note)
	return y + 36
}

// mostAlarms is how many troubles are listed.
const mostAlarms = 6

// alarms lists what is broken.
func (m *mapper) alarms() {
	if len(m.troubles) == 0 {
		return
	}
	shown := m.troubles[:min(len(m.troubles), mostAlarms)]
	more := len(m.troubles) - len(shown)
	lines := float64(len(shown))
	if more > 0 {
		lines++
	}
	f := frame{margin, m.y, mapWidth - 2*margin, lines*20 + 14}
	m.box(f, 8, "broken")
	y := f.y + 21
	for _, text := range shown {
		m.mark(bad, f.x+18, y-4, 9)
		m.words(f.x+34, y, f.w-50, atStart, alarm, text)
		y += 20
	}
	if more > 0 {
		m.words(f.x+34, y, f.w-50, atStart, alarmed, fmt.Sprintf("and %d more", more))
	}
	m.y = f.bottom() + 20
}

// A chain is the way of a link from a shared card downwards: past cards of the rows below, to a card or into a column.
type chain struct {
	from, to *card
	steps    []*slot // passages between cards, one for each row between
	start    float64 // x where it leaves
	finish   float64 // x where it arrives: on a card, or in the gutter of a column
	over     float64 // how far above a bridge it turns inwards
}

// A slot is a place in a row of shared cards: a card, or a passage for a line.
type slot struct {
	card *card // nil in a passage
	want float64
	frame
}

// place gives every card its place.
func (m *mapper) place() {
	rows := m.layers()
	m.columnPlaces()
	m.spread(rows)
	m.lower(rows)
}

// layers sorts the shared cards into rows, so that no link joins two of one row, and makes the chains.
func (m *mapper) layers() [][]*slot {
	near := map[*card][]*card{}
	degree := map[*card]int{}
	for _, l := range m.links {
		degree[l.a]++
		degree[l.b]++
		if l.a.column == nil && l.b.column == nil {
			near[l.a] = append(near[l.a], l.b)
			near[l.b] = append(near[l.b], l.a)
		}
	}
	roots := slices.SortedStableFunc(slices.Values(m.shared), func(a, b *card) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(degree[b], degree[a]))
	})
	for _, c := range m.shared {
		c.layer = -1
	}
	for _, root := range roots {
		if root.layer >= 0 {
			continue
		}
		root.layer = 0
		if root.kind == switchCard {
			root.layer = 1
		}
		for queue := []*card{root}; len(queue) > 0; queue = queue[1:] {
			for _, n := range near[queue[0]] {
				if n.layer < 0 {
					n.layer = queue[0].layer + 1
					queue = append(queue, n)
				}
			}
		}
	}
	for range m.shared { // routers that are joined directly may have come into one layer
		for _, l := range m.links {
			if l.a.column == nil && l.b.column == nil && l.a.layer == l.b.layer {
				l.b.layer++
			}
		}
	}
	return m.chains(m.rowsOf())
}

// rowsOf breaks layers into rows that fit into the width.
func (m *mapper) rowsOf() [][]*slot {
	byLayer := map[int][]*card{}
	last := -1
	for _, c := range m.shared {
		byLayer[c.layer] = append(byLayer[c.layer], c)
		last = max(last, c.layer)
		c.w = min(max(widthOf(c.name, name)+30, widthOf(c.note, remark)+30, 130), 250)
		if len(c.rows) > 0 {
			c.w = 250
		}
		c.h = c.height()
	}
	var rows [][]*slot
	for layer := 0; layer <= last; layer++ {
		var row []*slot
		used := 0.0
		for _, c := range byLayer[layer] {
			if used+c.w > mapWidth-2*margin-160 && len(row) > 0 { // leaves room for passages
				rows, row, used = append(rows, row), nil, 0
			}
			row = append(row, &slot{card: c, frame: frame{w: c.w}})
			used += c.w + 24
		}
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	for i, row := range rows {
		for _, s := range row {
			s.card.layer = i
		}
	}
	return rows
}

// head is the height of a card's name and note.
func (c *card) head() float64 {
	if c.note == "" && len(c.rows) > 0 {
		return 28
	}
	return cardHead
}

func (c *card) height() float64 {
	if len(c.rows) == 0 {
		return c.head()
	}
	return c.head() + float64(len(c.rows))*rowHeight + 6
}

// chains makes the ways of links that leave shared cards, with a passage in each row that they cross.
func (m *mapper) chains(rows [][]*slot) [][]*slot {
	for _, l := range m.links {
		c := &chain{from: l.a, to: l.b}
		if c.from.column != nil || c.to.column == nil && c.from.layer > c.to.layer {
			c.from, c.to = c.to, c.from
		}
		if c.from.column != nil {
			continue // within a column
		}
		last := len(rows)
		if c.to.column == nil {
			last = c.to.layer
		}
		for r := c.from.layer + 1; r < last; r++ {
			s := &slot{frame: frame{w: laneGap}}
			rows[r] = append(rows[r], s)
			c.steps = append(c.steps, s)
		}
		m.chain = append(m.chain, c)
	}
	return rows
}

// columnPlaces lays out the columns, from their own top: lower moves them below the shared cards.
func (m *mapper) columnPlaces() {
	if m.crowded {
		m.tiles()
		return
	}
	gap := 28.0
	width := (mapWidth - 2*margin - gap*float64(len(m.columns)-1)) / float64(len(m.columns))
	if len(m.columns) == 1 {
		width = 560
	}
	deepest := 0.0
	for i, c := range m.columns {
		c.x, c.w = margin+float64(i)*(width+gap), width
		if len(m.columns) == 1 {
			c.x = (mapWidth - width) / 2
		}
		m.column(c)
		deepest = max(deepest, c.h)
	}
	for _, c := range m.columns {
		c.sink(deepest - c.h)
	}
}

// column lays out what is in a column.
func (m *mapper) column(c *column) {
	var inward []*chain
	for _, ch := range m.chain {
		if ch.to.column == c {
			inward = append(inward, ch)
		}
	}
	left, right := 14+laneGap*float64(m.brackets(c)), 14+laneGap*float64(len(inward))
	if c.leftward = c.middle() > mapWidth/2+1; c.leftward {
		left, right = right, left
	}
	x, w := c.x+left, c.w-left-right
	c.inside = frame{x: x, w: w}
	y := columnHead
	for _, card := range c.cards {
		card.frame = frame{x, y, w, card.height()}
		y = card.bottom() + cardGap
	}
	y += 6
	if len(c.bridges) > 0 {
		c.bridges[0].frame = frame{x, y, w, cardHead}
		y = c.bridges[0].bottom() + 30
	}
	y = c.outerBridges(x, y, w)
	c.h = y
	slices.SortStableFunc(inward, func(a, b *chain) int { return cmp.Compare(a.to.y, b.to.y) })
	below := 0 // lines that end at a bridge: the last
	for _, ch := range inward {
		if ch.to.kind == bridgeCard {
			below++
		}
	}
	for i, ch := range inward { // the nearest to the cards ends first
		ch.finish = c.beside(true, i)
		if k := i - (len(inward) - below); k >= 0 {
			ch.over = 6 + 14*float64(k)/float64(below)
		}
	}
}

// beside is where a line runs past the cards of a column: on the side of those from the shared cards, or on the other.
func (c *column) beside(shared bool, lane int) float64 {
	if shared == c.leftward {
		return c.inside.x - 8 - laneGap*float64(lane)
	}
	return c.inside.right() + 8 + laneGap*float64(lane)
}

// mostBridges is how many bridges a column shows beside the integration bridge.
const mostBridges = 3

// outerBridges lays out the other bridges of a column beside each other, with their uplinks below, and returns where they end.
func (c *column) outerBridges(x, y, w float64) float64 {
	if len(c.bridges) < 2 {
		return y - 30 + 20
	}
	slices.SortStableFunc(c.bridges[1:], func(a, b *card) int { return compareBools(c.leads(b), c.leads(a)) })
	if more := len(c.bridges) - 1 - mostBridges; more > 0 {
		c.bridges[0].note += fmt.Sprintf(", and %s not shown", counted(more, "bridge"))
		c.bridges = c.bridges[:1+mostBridges]
		c.uplinks = slices.DeleteFunc(c.uplinks, func(u *uplink) bool { return !slices.Contains(c.bridges, u.bridge) })
	}
	outer := c.bridges[1:]
	each := (w - 10*float64(len(outer)-1)) / float64(len(outer))
	for i, b := range outer {
		b.frame = frame{x + float64(i)*(each+10), y, each, cardHead}
		var mine []*uplink
		for _, u := range c.uplinks {
			if u.bridge == b {
				mine = append(mine, u)
			}
		}
		wide := min(each, 150*float64(len(mine))) / float64(max(len(mine), 1))
		for k, u := range mine {
			u.frame = frame{b.x + float64(k)*wide, b.bottom() + 16, wide - 6, 26}
		}
	}
	if len(c.uplinks) == 0 {
		return y + cardHead + 16
	}
	return y + cardHead + 16 + 26 + 14
}

func (c *column) leads(b *card) bool {
	return slices.ContainsFunc(c.uplinks, func(u *uplink) bool { return u.bridge == b })
}

// sink moves the bridges of a column down, so that those of all columns are on one line.
func (c *column) sink(by float64) {
	for _, b := range c.bridges {
		b.y += by
	}
	for _, u := range c.uplinks {
		u.y += by
	}
	c.h += by
}

// inner returns the links between two cards of a column, the upper one first.
func (m *mapper) inner(c *column) []link {
	var all []link
	for _, l := range m.links {
		if l.a.column != c || l.b.column != c {
			continue
		}
		if slices.Index(c.cards, l.b) >= 0 && slices.Index(c.cards, l.b) < slices.Index(c.cards, l.a) {
			l.a, l.b = l.b, l.a
		}
		all = append(all, l)
	}
	return all
}

// adjacent reports whether the second card of a link is the next below the first.
func (c *column) adjacent(l link) bool {
	i := slices.Index(c.cards, l.a)
	return i >= 0 && i+1 < len(c.cards) && c.cards[i+1] == l.b
}

// brackets counts the links of a column that pass cards between.
func (m *mapper) brackets(c *column) int {
	n := 0
	for _, l := range m.inner(c) {
		if !c.adjacent(l) {
			n++
		}
	}
	return n
}

// spread places the shared cards of each row: near what they are joined to, and beside each other.
func (m *mapper) spread(rows [][]*slot) {
	of := map[*card]*slot{}
	for _, row := range rows {
		for i, s := range row {
			s.x = margin + float64(i)*100
			if s.card != nil {
				of[s.card] = s
			}
		}
	}
	for range 8 {
		for _, row := range rows {
			for _, s := range row {
				s.want = m.pull(s, of)
			}
			slices.SortStableFunc(row, func(a, b *slot) int { return cmp.Compare(a.want, b.want) })
			pack(row)
		}
	}
	shift := m.offCentre(rows)
	for _, row := range rows {
		for _, s := range row {
			s.x += shift
			if s.card != nil {
				s.card.x, s.card.slot = s.x, s
			}
		}
	}
}

// offCentre is how far the rows are from the middle, if nothing below draws them to a place.
func (m *mapper) offCentre(rows [][]*slot) float64 {
	left, right := mapWidth, 0.0
	for _, row := range rows {
		for _, s := range row {
			left, right = min(left, s.x), max(right, s.right())
		}
	}
	if slices.ContainsFunc(m.chain, func(c *chain) bool { return c.to.column != nil }) {
		return 0
	}
	return (mapWidth - left - right) / 2
}

// pull is where a slot is drawn to: the mean of what it is joined to.
func (m *mapper) pull(s *slot, of map[*card]*slot) float64 {
	sum, n := 0.0, 0
	add := func(x float64) { sum, n = sum+x, n+1 }
	for _, c := range m.chain {
		at := slices.Index(c.steps, s)
		switch {
		case at < 0 && c.from != s.card && c.to != s.card, s.card == nil && at < 0:
			continue
		case at > 0:
			add(c.steps[at-1].middle())
		case at == 0 || c.to == s.card:
			add(of[c.from].middle())
		}
		if s.card != nil && c.to == s.card {
			continue
		}
		switch {
		case at+1 < len(c.steps):
			add(c.steps[at+1].middle())
		case c.to.column != nil:
			add(c.finish)
		default:
			add(of[c.to].middle())
		}
	}
	if n == 0 {
		return mapWidth / 2
	}
	return sum / float64(n)
}

// pack moves the slots of a row apart, as near as possible to where they want to be.
func pack(row []*slot) {
	gap := func(a, b *slot) float64 {
		if a.card == nil && b.card == nil {
			return 2
		}
		return 14
	}
	at := margin
	for i, s := range row {
		if i > 0 {
			at += gap(row[i-1], s)
		}
		s.x = max(at, s.want-s.w/2)
		at = s.x + s.w
	}
	at = mapWidth - margin
	for i := len(row) - 1; i >= 0; i-- {
		s := row[i]
		s.x = min(s.x, at-s.w)
		at = s.x
		if i > 0 {
			at -= gap(row[i-1], s)
		}
	}
}

// lower gives rows and columns their height.
func (m *mapper) lower(rows [][]*slot) {
	for i, row := range rows {
		if i > 0 {
			m.y += channel
		}
		tallest := 0.0
		for _, s := range row {
			if s.card != nil {
				s.card.y = m.y
				tallest = max(tallest, s.card.h)
			}
		}
		for _, s := range row {
			s.y, s.h = m.y, tallest
		}
		m.y += tallest
	}
	if len(rows) > 0 && len(m.columns) > 0 {
		m.y += channel
	}
	for _, c := range m.columns {
		c.drop(m.y)
	}
}

// drop moves a column and all that is in it down.
func (c *column) drop(by float64) {
	c.y += by
	for _, card := range slices.Concat(c.cards, c.bridges) {
		card.y += by
	}
	for _, u := range c.uplinks {
		u.y += by
	}
}
