package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A scene is a deployment in the terms of a map: what is drawn as a box, what joins boxes, and how each is.
type scene struct {
	shared   []*card // logical routers and switches that are on no single chassis
	columns  []*column
	links    []link
	tunnels  []wire
	troubles []string
	cards    map[string]*card // of logical routers and switches, by UUID
	crowded  bool             // more chassis than there is place for in full: they are tiles, and what is alike on each is one card
}

// MostColumns is how many chassis are drawn in full, beside each other.
const MostColumns = 4

// A column is a chassis with what is on it, or a host without a chassis.
type column struct {
	object, name, note string
	chassis            string
	cards              []*card // logical, from top to bottom
	bridges            []*card // the integration bridge first
	uplinks            []*uplink
	state              state
	badges             badges
	workloads          []string // a word for each
	down               int      // of them

	frame
	inside   frame // where its cards are; the height is not used
	leftward bool  // lines from the shared cards come in at its left
}

// Kinds of a card.
type kind int

const (
	routerCard kind = iota
	switchCard
	bridgeCard
)

// A card is a box with a name: a logical router or switch, the part of a switch that is on a chassis, or a bridge.
type card struct {
	kind       kind
	object     string
	name, note string
	rows       []row
	state      state
	badges     badges
	column     *column // nil if shared

	frame
	stands int   // for how many objects, on a crowded map
	layer  int   // of a shared card
	slot   *slot // of a shared card: its place in the row
}

// A row is a workload on a card.
type row struct {
	object, name, note string
	state              state
}

// An uplink is how a bridge leaves its host; the state is bad if it does not.
type uplink struct {
	bridge     *card
	object     string
	name, note string
	state      state
	badges     badges
	frame
}

// A link joins two cards.
type link struct{ a, b *card }

// A wire is a tunnel between columns.
type wire struct {
	a, b        *column
	label, told string
	state       state
}

// stager builds a scene.
type stager struct {
	*scene
	t        *topology.Topology
	columnOf map[string]*column           // by chassis, and by node as "node NAME"
	canon    map[string]string            // a logical object that stands for the same in another zone
	homes    map[string]*column           // of logical objects that are on one chassis only
	near     map[string][]string          // logical objects that are joined
	slices   map[*column]map[string]*card // parts of switches
	groups   map[string]*card             // for what is alike on each chassis
	byUUID   map[string]*topology.Port
}

// stage sets the scene of a topology.
func stage(t *topology.Topology) *scene {
	s := &stager{
		scene: &scene{cards: map[string]*card{}}, t: t,
		columnOf: map[string]*column{}, canon: map[string]string{}, homes: map[string]*column{}, near: map[string][]string{},
		slices: map[*column]map[string]*card{}, groups: map[string]*card{}, byUUID: map[string]*topology.Port{},
	}
	for _, p := range t.Ports {
		s.byUUID[p.UUID] = p
	}
	s.hosts()
	s.crowded = len(s.columns) > MostColumns
	s.neighbours()
	s.settle()
	s.datapaths()
	s.workloads()
	for copied, first := range s.canon {
		s.cards[copied] = s.cards[first]
	}
	s.joined()
	s.bridges()
	s.wires()
	for _, c := range s.columns {
		c.order(s.links)
	}
	s.blame()
	return s.scene
}

// hosts makes a column of each chassis, and of each node that has none.
func (s *stager) hosts() {
	for _, c := range s.t.Chassis {
		var encaps []string
		for _, e := range c.Encaps {
			encaps = append(encaps, e.Type+" "+e.IP)
		}
		col := &column{object: c.UUID, name: cmp.Or(c.Hostname, c.Name), chassis: c.Name, note: strings.Join(encaps, ", ")}
		s.columns = append(s.columns, col)
		s.columnOf[c.Name] = col
		if c.Node != "" {
			s.columnOf["node "+c.Node] = col
		}
	}
	for _, n := range s.t.Nodes {
		if s.columnOf["node "+n.Name] == nil {
			col := &column{object: n.UUID, name: n.Name, note: "no chassis"}
			s.columns = append(s.columns, col)
			s.columnOf["node "+n.Name] = col
		}
	}
}

// is returns the object that stands for a logical switch or router: zones have copies of the switch between them.
func (s *stager) is(uuid string) string { return cmp.Or(s.canon[uuid], uuid) }

// neighbours finds which logical objects are joined.
func (s *stager) neighbours() {
	transit := map[string]string{}
	for _, sw := range s.t.Switches {
		if first := transit[sw.Name]; sw.Transit && first != "" {
			s.canon[sw.UUID] = first
		} else if sw.Transit {
			transit[sw.Name] = sw.UUID
		}
	}
	for _, p := range s.t.Ports {
		if p.Router == nil || p.Peer == nil {
			continue
		}
		peer := s.byUUID[p.Peer.UUID]
		switch {
		case peer == nil:
		case peer.Switch != nil:
			s.join(p.Router.UUID, peer.Switch.UUID)
		case peer.Router != nil:
			s.join(p.Router.UUID, peer.Router.UUID)
		}
	}
}

func (s *stager) join(a, b string) {
	a, b = s.is(a), s.is(b)
	if !slices.Contains(s.near[a], b) {
		s.near[a] = append(s.near[a], b)
		s.near[b] = append(s.near[b], a)
	}
}

// settle finds the logical objects that are on one chassis alone: gateway routers, switches with the workloads of one
// chassis, what belongs to a zone of one chassis, and what is joined to such only.
func (s *stager) settle() {
	placed := map[string]map[*column]bool{}
	put := func(uuid string, c *column) {
		if placed[uuid] == nil {
			placed[uuid] = map[*column]bool{}
		}
		placed[uuid][c] = true
	}
	for _, p := range s.t.Ports {
		if col := s.columnOf[p.Chassis]; col != nil && isWorkload(p) && p.Switch != nil {
			put(s.is(p.Switch.UUID), col)
		}
	}
	zones := s.zones()
	var only *column // a chassis on which all is
	if len(s.columns) == 1 {
		only = s.columns[0]
	}
	undecided := map[string]bool{}
	decide := func(uuid, zone, chassis string, transit bool) {
		uuid = s.is(uuid)
		switch col := cmp.Or(s.columnOf[chassis], zones[zone], only); {
		case transit:
		case col != nil:
			s.homes[uuid] = col
		case len(placed[uuid]) == 1:
			for c := range placed[uuid] {
				s.homes[uuid] = c
			}
		case len(placed[uuid]) == 0:
			undecided[uuid] = true
		}
	}
	for _, r := range s.t.Routers {
		decide(r.UUID, r.Zone, r.Chassis, false)
	}
	for _, sw := range s.t.Switches {
		decide(sw.UUID, sw.Zone, "", sw.Transit)
	}
	for again := true; again; {
		again = false
		for uuid := range undecided {
			if col := s.homeOfAll(s.near[uuid]); col != nil {
				s.homes[uuid] = col
				delete(undecided, uuid)
				again = true
			}
		}
	}
}

// homeOfAll returns the column that all objects are in.
func (s *stager) homeOfAll(objects []string) *column {
	var home *column
	for _, o := range objects {
		if s.homes[o] == nil || home != nil && s.homes[o] != home {
			return nil
		}
		home = s.homes[o]
	}
	return home
}

// zones returns the column of each zone that has one chassis, if there are several zones.
func (s *stager) zones() map[string]*column {
	count, of := map[string]int{}, map[string]*column{}
	for _, c := range s.t.Chassis {
		if !c.Remote {
			count[c.Zone]++
			of[c.Zone] = s.columnOf[c.Name]
		}
	}
	for zone, n := range count {
		if n > 1 || len(count) == 1 {
			delete(of, zone)
		}
	}
	return of
}

// isWorkload reports whether a port has something behind its interface.
func isWorkload(p *topology.Port) bool {
	return p.Kind == topology.SwitchPort && (p.Type == "" || p.Type == "virtual" || p.Type == "external" || p.Type == "vtep" || p.Type == "l2gateway")
}

// datapaths makes the cards of logical routers and switches.
func (s *stager) datapaths() {
	for _, r := range s.t.Routers {
		c := &card{kind: routerCard, object: r.UUID, name: cmp.Or(r.DisplayName, r.Name), note: s.routerNote(r)}
		if !r.Enabled {
			c.state, c.note = odd, "disabled"
		}
		s.add(r.UUID, r.Name, c)
	}
	for _, sw := range s.t.Switches {
		if s.is(sw.UUID) == sw.UUID {
			s.add(sw.UUID, sw.Name, &card{kind: switchCard, object: sw.UUID, name: cmp.Or(sw.DisplayName, sw.Name), note: first(sw.Subnets)})
		}
	}
}

// routerNote says where a router's gateways are, else what kind of router it is.
func (s *stager) routerNote(r *topology.Router) string {
	if r.Chassis != "" {
		return "gateway router"
	}
	var active []string
	for _, p := range s.t.Ports {
		if p.Router != nil && p.Router.UUID == r.UUID && p.Gateway != nil && p.Gateway.Active != "" {
			if col := s.columnOf[p.Gateway.Active]; col != nil && !slices.Contains(active, col.name) {
				active = append(active, col.name)
			}
		}
	}
	if len(active) == 1 {
		return "gateway on " + active[0]
	}
	return "distributed"
}

// add puts a card where it belongs. On a crowded map cards that differ only in the name of their chassis are one.
func (s *stager) add(uuid, called string, c *card) {
	home := s.homes[uuid]
	switch {
	case home == nil:
		s.shared = append(s.shared, c)
	case s.crowded:
		c = s.alike(called, c, home)
	default:
		c.column = home
		home.cards = append(home.cards, c)
	}
	s.cards[uuid] = c
}

// alike returns the card for all objects that are called like c but for the name of their chassis.
func (s *stager) alike(called string, c *card, home *column) *card {
	pattern := strings.ReplaceAll(called, home.name, "*")
	key := fmt.Sprint(c.kind, " ", pattern)
	group := s.groups[key]
	if group == nil {
		group = &card{kind: c.kind, name: pattern}
		if pattern == "*" {
			group.name = "one for each node"
		}
		s.groups[key] = group
		s.shared = append(s.shared, group)
	}
	group.stands++
	word := [...]string{"routers", "switches"}[c.kind]
	group.note = fmt.Sprintf("%d %s", group.stands, word)
	if group.stands == 1 {
		group.note = c.note
	}
	return group
}

// mostRows is how many workloads a card lists; of more, the number is.
const mostRows = 10

// workloads puts the workloads on the cards of their switches.
func (s *stager) workloads() {
	rows := map[*card][]*topology.Port{}
	var order []*card
	for _, p := range s.t.Ports {
		col := s.columnOf[p.Chassis]
		if !isWorkload(p) || p.Switch == nil {
			continue
		}
		if col != nil {
			col.workloads = append(col.workloads, workloadWord(p))
			if p.State == topology.StateDown {
				col.down++
				col.state = max(col.state, odd)
			}
		}
		c := s.cardFor(s.is(p.Switch.UUID), p.Switch.Name, col)
		if c == nil {
			continue
		}
		if rows[c] == nil {
			order = append(order, c)
		}
		rows[c] = append(rows[c], p)
	}
	for _, c := range order {
		c.list(rows[c])
	}
}

// cardFor returns the card that a workload is listed on: its switch's, or that of the part of it on the chassis.
func (s *stager) cardFor(uuid, called string, col *column) *card {
	c := s.cards[uuid]
	switch {
	case s.crowded:
		return nil // tiles say how many
	case c != nil && (col == nil || c.column == col):
		return c
	case col == nil:
		return nil
	}
	part := s.slices[col][uuid]
	if part == nil {
		part = &card{kind: switchCard, object: uuid, name: called, column: col}
		if c != nil {
			part.name = c.name
			s.links = append(s.links, link{c, part})
		}
		if s.slices[col] == nil {
			s.slices[col] = map[string]*card{}
		}
		s.slices[col][uuid] = part
		col.cards = append(col.cards, part)
	}
	return part
}

// list puts workloads on a card: all of few, else those that are not up and the number of the others.
func (c *card) list(ports []*topology.Port) {
	var rest []string
	for _, p := range ports {
		st := portState(p)
		if len(ports) > mostRows && (st == good || st == plain || len(c.rows) >= mostRows-1) {
			rest = append(rest, workloadWord(p))
			continue
		}
		note := first(p.Addresses)
		if st == bad {
			note = p.Reason
		}
		c.rows = append(c.rows, row{object: p.UUID, name: p.Label(), note: note, state: st})
	}
	if len(rest) > 0 {
		c.rows = append(c.rows, row{name: tally(rest), state: good})
	}
}

func workloadWord(p *topology.Port) string {
	switch {
	case p.Pod != "":
		return "pod"
	case p.IsVM():
		return "VM"
	}
	return "port"
}

// tally counts words: "38 pods, 2 VMs".
func tally(words []string) string {
	var parts []string
	for _, word := range []string{"pod", "VM", "port"} {
		n := 0
		for _, w := range words {
			if w == word {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, counted(n, word))
		}
	}
	return strings.Join(parts, ", ")
}

func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func portState(p *topology.Port) state {
	switch p.State {
	case topology.StateUp:
		return good
	case topology.StateDown:
		return bad
	case topology.StateUnknown:
		return unknown
	}
	return plain
}

// joined makes the links between logical cards.
func (s *stager) joined() {
	seen := map[link]bool{}
	var all []string
	for _, r := range s.t.Routers {
		all = append(all, r.UUID)
	}
	for _, sw := range s.t.Switches {
		all = append(all, sw.UUID)
	}
	for _, a := range all {
		for _, b := range s.near[a] {
			l := link{s.cards[a], s.cards[b]}
			if l.a == nil || l.b == nil || l.a == l.b || seen[l] || seen[link{l.b, l.a}] {
				continue
			}
			seen[l] = true
			s.links = append(s.links, l)
		}
	}
}

// bridges makes the cards of bridges and their uplinks, and joins the switches that reach a physical network.
func (s *stager) bridges() {
	led := map[string]bool{} // networks that some bridge leads out of its host
	for _, b := range s.t.Bridges {
		for _, network := range b.Networks {
			led[network] = led[network] || len(b.Uplinks) > 0
		}
	}
	integration := map[string]string{}
	for _, n := range s.t.Nodes {
		integration[n.Name] = n.IntegrationBridge
	}
	mapped := map[*column]map[string]*card{}
	for _, b := range s.t.Bridges {
		col := s.columnOf["node "+b.Node]
		if col == nil {
			continue
		}
		c := &card{kind: bridgeCard, object: b.UUID, name: b.Name, column: col, note: counted(len(b.Ports), "port")}
		if b.Name == integration[b.Node] {
			col.bridges = slices.Insert(col.bridges, 0, c)
			continue
		}
		col.bridges = append(col.bridges, c)
		if len(b.Networks) > 0 {
			c.note = strings.Join(b.Networks, ", ")
		}
		for _, network := range b.Networks {
			if mapped[col] == nil {
				mapped[col] = map[string]*card{}
			}
			mapped[col][network] = c
		}
		col.uplinks = append(col.uplinks, uplinksOf(b, c, led)...)
		for _, u := range col.uplinks {
			col.state = max(col.state, u.state)
		}
	}
	for _, p := range s.t.Ports {
		network := p.Options["network_name"]
		if p.Type != "localnet" || p.Switch == nil {
			continue
		}
		c := s.cards[s.is(p.Switch.UUID)]
		for _, col := range s.columns {
			if bridge := mapped[col][network]; bridge != nil && c != nil && !s.crowded && (c.column == nil || c.column == col) {
				s.links = append(s.links, link{c, bridge})
			}
		}
	}
}

// uplinksOf returns the uplinks of a bridge. One that ought to have some and has none gets one that is broken.
func uplinksOf(b *topology.Bridge, c *card, led map[string]bool) []*uplink {
	var all []*uplink
	for _, called := range b.Uplinks {
		u := &uplink{bridge: c, name: called, state: good}
		for _, p := range b.Ports {
			if p.Name == called {
				u.object = p.UUID
				u.judge(p)
			}
		}
		all = append(all, u)
	}
	if len(all) == 0 && len(b.Networks) > 0 {
		u := &uplink{bridge: c, object: b.UUID, name: "no uplink", state: odd, note: "nothing leaves " + b.Name + " of " + b.Node}
		if slices.ContainsFunc(b.Networks, func(n string) bool { return led[n] }) {
			u.state = bad
		}
		all = append(all, u)
	}
	return all
}

// judge finds what is wrong with an uplink. A bond works with one of its links.
func (u *uplink) judge(p *topology.BridgePort) {
	broken := 0
	for _, i := range p.Interfaces {
		switch {
		case i.Error != "":
			u.note = i.Error
			broken++
		case i.OFPort < 0:
			u.note = "Open vSwitch could not open it"
			broken++
		case i.LinkState == "down":
			u.note = "its link is down"
			broken++
		}
	}
	switch {
	case broken > 0 && broken == len(p.Interfaces):
		u.state = bad
	case broken > 0:
		u.state = odd
	}
}

// wires makes the tunnels between columns.
func (s *stager) wires() {
	for _, t := range s.t.Tunnels {
		if len(t.Chassis) != 2 {
			continue
		}
		w := wire{a: s.columnOf[t.Chassis[0]], b: s.columnOf[t.Chassis[1]], label: strings.Join(t.Types, "/"), told: t.Why}
		switch t.State {
		case topology.StateUp:
			w.state = good
		case topology.StateDown:
			w.state = bad
			strain(w.a)
			strain(w.b)
		default:
			w.state = unknown
		}
		if w.a != nil && w.b != nil && w.a != w.b {
			s.tunnels = append(s.tunnels, w)
		}
	}
}

// strain notes that something of a chassis is down.
func strain(c *column) {
	if c != nil {
		c.state = max(c.state, odd)
	}
}

// because adds a reason to a sentence, if one is known.
func because(sentence, why string) string {
	if why == "" {
		return sentence
	}
	return sentence + ": " + why
}

// blame lists what is broken, what cuts off most first.
func (s *stager) blame() {
	for _, c := range s.columns {
		for _, u := range c.uplinks {
			switch {
			case u.state != bad:
			case u.name == "no uplink":
				s.troubles = append(s.troubles, c.name+": bridge "+u.bridge.name+" has no uplink, nothing leaves the host through it")
			default:
				s.troubles = append(s.troubles, c.name+": uplink "+u.name+" of bridge "+u.bridge.name+" is broken: "+u.note)
			}
		}
	}
	for _, w := range s.tunnels {
		if w.state == bad {
			s.troubles = append(s.troubles, because("tunnel "+w.a.name+" – "+w.b.name+" is down", w.told))
		}
	}
	for _, p := range s.t.Ports {
		if p.State == topology.StateDown {
			s.troubles = append(s.troubles, because(p.Label()+" is down", p.Why))
		}
	}
}

// order puts the cards of a column into the order of a walk from what is shared towards the outside, so that most links join
// neighbours.
func (c *column) order(links []link) {
	near := map[*card][]*card{}
	outer := map[*card]bool{}
	for _, l := range links {
		near[l.a] = append(near[l.a], l.b)
		near[l.b] = append(near[l.b], l.a)
		outer[l.a] = outer[l.a] || l.b.column == nil
		outer[l.b] = outer[l.b] || l.a.column == nil
	}
	rank := func(a, b *card) int {
		return cmp.Or(-compareBools(outer[a], outer[b]), -compareBools(len(a.rows) > 0, len(b.rows) > 0), topology.CompareNames(a.name, b.name))
	}
	all := slices.SortedFunc(slices.Values(c.cards), rank)
	c.cards = nil
	seen := map[*card]bool{}
	var walk func(*card)
	walk = func(at *card) {
		if seen[at] || at.column != c || at.kind == bridgeCard {
			return
		}
		seen[at] = true
		c.cards = append(c.cards, at)
		next := slices.SortedFunc(slices.Values(near[at]), func(a, b *card) int {
			return cmp.Or(-compareBools(len(a.rows) > 0, len(b.rows) > 0), topology.CompareNames(a.name, b.name))
		})
		for _, n := range next {
			walk(n)
		}
	}
	for _, at := range all {
		walk(at)
	}
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
