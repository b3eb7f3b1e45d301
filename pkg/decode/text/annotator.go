package text

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// A Gloss says what a number of a line means.
type Gloss struct {
	At    int    // the offset in the line behind which it belongs
	Field string // what the number is: "metadata", "table", "cookie", "in_port", …
	Value string // as it is written there
	Text  string // "switch node1"
}

// A Line is what was found in a line of text.
type Line struct {
	Glosses []Gloss // in the order of their places
	// Flow is the flow of the integration bridge that the line shows, or that
	// matched in a step of a trace; nil if it is about none.
	Flow *Flow
}

// A Text is a piece of a line with its glosses.
type Text struct {
	Text    string
	Glosses []Gloss // offsets in Text
}

// Part is the piece of the line between two offsets.
func (l Line) Part(line string, from, to int) Text {
	t := Text{Text: line[from:to]}
	for _, g := range l.Glosses {
		if g.At > from && g.At <= to {
			g.At -= from
			t.Glosses = append(t.Glosses, g)
		}
	}
	return t
}

// String is the text with its glosses in angle brackets.
func (t Text) String() string {
	var b strings.Builder
	from := 0
	for _, g := range t.Glosses {
		b.WriteString(t.Text[from:g.At])
		b.WriteString("<" + Brackets.Replace(g.Text) + ">")
		from = g.At
	}
	b.WriteString(t.Text[from:])
	return b.String()
}

// Brackets keeps what a gloss ends with out of it.
var Brackets = strings.NewReplacer("<", "‹", ">", "›")

// A Flow is what a line says of a flow, and what that means.
type Flow struct {
	decode.Seen
	decode.Meaning
}

// Options are what an [Annotator] knows of the text beside what it says itself.
type Options struct {
	// Bridge is the one that dumps are of which name none; empty: not known.
	Bridge string
	// Backends returns those of each group of the integration bridge, in words. It
	// is asked when a group is first met; nil: they are not known.
	Backends func() map[uint32][]string
	// Senders returns the flows of the integration bridge that send packets to groups.
	// It is asked when a group is met that no flow of the text explains.
	Senders func() []string
	// Meters returns the names of the meters of the integration bridge; likewise.
	Meters func() map[uint32]string
	// DatapathPorts returns the interfaces by their numbers in the datapath, which
	// are not those of OpenFlow; likewise.
	DatapathPorts func() map[int]string
}

// An Annotator glosses the lines of a text, one after another. What it
// remembers is bounded, however long the text is.
type Annotator struct {
	Options
	decoder *decode.Decoder
	plain   bool // there is no Southbound: words instead of names

	tokens   []token
	glosses  []Gloss
	dump     string  // the bridge of the dump that goes by; empty: not known
	trace    []level // where the trace that goes by is; empty outside of one
	first    string  // the bridge that it began in
	evidence evidence
	meanings map[flowID]decode.Meaning
	groups   map[uint32]sender // as flows told
	asked    bool              // for those that the text does not have
}

// A sender is who sends packets to a group.
type sender struct {
	text     string // the load balancer or the route; may be empty
	metadata uint64 // the datapath that the packets are in
}

// A level is where a trace is, at an indentation.
type level struct {
	indent int
	place
}

// A place is what numbers depend on.
type place struct {
	bridge string // empty: not known
	ovn    bool   // what is said of it can only be OVN's
	at     decode.Context
}

type flowID struct {
	table, priority  int
	cookie, metadata uint64
}

// Bounds on what is remembered.
const (
	maxMeanings = 1 << 14
	maxGroups   = 1 << 14
	maxLevels   = 1 << 9
)

// New makes an Annotator that knows what d knows.
func New(d *decode.Decoder, o Options) *Annotator {
	if o.Backends == nil {
		o.Backends = func() map[uint32][]string { return nil }
	}
	if o.Senders == nil {
		o.Senders = func() []string { return nil }
	}
	if o.Meters == nil {
		o.Meters = func() map[uint32]string { return nil }
	}
	if o.DatapathPorts == nil {
		o.DatapathPorts = func() map[int]string { return nil }
	}
	return &Annotator{
		Options: o, decoder: d, plain: d.Names.Logical == nil, dump: o.Bridge,
		meanings: map[flowID]decode.Meaning{}, groups: map[uint32]sender{},
	}
}

// Line glosses the next line, without its line break and without colours. The
// result is good until the next call.
func (a *Annotator) Line(ctx context.Context, line string) Line {
	a.tokens, a.glosses = scan(line, a.tokens[:0]), a.glosses[:0]
	f := a.line(ctx, line)
	slices.SortStableFunc(a.glosses, func(x, y Gloss) int { return cmp.Compare(x.At, y.At) })
	return Line{Glosses: a.glosses, Flow: f}
}

func (a *Annotator) line(ctx context.Context, line string) *Flow {
	text := strings.TrimLeft(line, " \t")
	switch indent := len(line) - len(text); {
	case text == "":
	case strings.Contains(text, "packets:") && strings.Contains(text, "actions:"):
		a.datapathFlow(ctx, line)
	case strings.Contains(text, "orig=(src="), strings.Contains(text, " src=") && strings.Contains(text, " dst="):
		a.connection()
	case strings.HasPrefix(text, "group_id="):
		a.group(ctx, line)
	case strings.Contains(text, " actions=") || strings.HasPrefix(text, "actions=") || strings.Contains(text, ",actions="):
		return a.dumped(ctx, line)
	case strings.HasPrefix(text, "meter=") || strings.HasPrefix(text, "meter:"):
		a.meter()
	case strings.HasPrefix(text, "0x102"):
		a.tlv(text, len(line))
	case strings.Contains(text, "): addr:"):
		a.portDesc(line, text)
	case strings.Contains(text, "Geneve") || strings.Contains(text, "VXLAN") || strings.Contains(text, "(OVN)"):
		a.captured(line)
	case strings.HasPrefix(text, "Flow: "):
		a.begin(indent)
		a.fields(ctx, "")
	case strings.HasPrefix(text, "Final flow: "), strings.HasPrefix(text, "Megaflow: "):
		p := place{bridge: a.first}
		a.match(&p, 0, len(line))
	case strings.HasPrefix(text, "Datapath actions: "):
		a.datapathActions(ctx, line, strings.Index(line, ": ")+2)
		a.trace = a.trace[:0]
	case strings.HasPrefix(text, "bridge("):
		a.enter(indent, text)
	default:
		if bridge, ok := commandOf(text); ok {
			a.dump, a.trace, a.first = bridge, a.trace[:0], bridge
			a.match(&place{bridge: bridge}, 0, len(line)) // what is traced, or dumped
			return nil
		}
		return a.step(ctx, line, text, indent)
	}
	return nil
}

// commandOf finds the command that somebody pasted with its output, and the
// bridge that it names.
func commandOf(text string) (bridge string, ok bool) {
	for _, command := range []string{"dump-flows ", "dump-groups ", "dump-ports-desc ", "ofproto/trace ", "ofproto/trace-packet-out ", "dump-tlv-map "} {
		if _, rest, found := strings.Cut(text, command); found && strings.Contains(text, "ovs-") {
			for word := range strings.FieldsSeq(rest) {
				if word[0] != '-' {
					return strings.Trim(word, `"'`), true
				}
			}
		}
	}
	return "", false
}

// integration reports whether a bridge is the integration bridge for all that is
// known.
func (a *Annotator) integration(bridge string) bool { return bridge == a.decoder.Names.Bridge }

// isOVN reports whether the tables and cookies of a place are OVN's. Where no
// database says so, a bridge's name is not enough: its flows must speak of
// datapaths.
func (a *Annotator) isOVN(p place) bool {
	return a.integration(p.bridge) && (!a.plain || p.ovn || p.at.Metadata != 0)
}

// add puts a gloss behind offset at.
func (a *Annotator) add(at int, field, value, text string) {
	if text != "" {
		a.glosses = append(a.glosses, Gloss{At: at, Field: field, Value: value, Text: text})
	}
}

// dumped glosses a line of dump-flows.
func (a *Annotator) dumped(ctx context.Context, line string) *Flow {
	actions := strings.Index(line, "actions=")
	p := place{bridge: a.dump}
	p.ovn = strings.Contains(line[actions:], "->OXM_OF_METADATA[")
	for _, t := range a.tokens {
		p.ovn = p.ovn || t.key == "metadata" || t.key == "OXM_OF_METADATA"
	}
	if p.ovn {
		p.bridge = a.decoder.Names.Bridge
		if a.dump == "" {
			a.dump = p.bridge // and so will the flows be that follow
		}
	}
	seen := seenIn(a.tokens, actions)
	p.at.Metadata = seen.Metadata
	var f *Flow
	if a.isOVN(p) || seen.Cookie != 0 && p.bridge == "" {
		f = a.meaning(ctx, seen)
		switch {
		case p.bridge != "":
		case f.Flow == nil && len(f.Rows) == 0:
			f = nil // another bridge's, for all that is known
		default:
			p.bridge = a.decoder.Names.Bridge
			a.dump = p.bridge
		}
	}
	if f != nil {
		a.flow(f, actions)
	}
	a.match(&p, 0, actions)
	a.actions(ctx, p, actions, f)
	return f
}

// seenIn reads what the decoder wants to know of a line of dump-flows whose
// actions begin at an offset.
func seenIn(tokens []token, actions int) decode.Seen {
	seen := decode.Seen{Priority: 32768}
	for _, t := range tokens {
		if t.start >= actions {
			if t.form == called && t.key == "resubmit" {
				if _, table, ok := strings.Cut(t.value, ","); ok {
					if n, ok := number(table); ok {
						seen.Resubmits = append(seen.Resubmits, int(n&0xff))
					}
				}
			}
			continue
		}
		if t.form != assigned || t.depth > 0 {
			continue
		}
		n, ok := number(t.value)
		if !ok {
			continue
		}
		switch t.key {
		case "table", "table_id":
			seen.Table = int(n & 0xff)
		case "priority":
			seen.Priority = int(n & 0xffff)
		case "cookie":
			seen.Cookie = n
		case "metadata":
			seen.Metadata = n
		}
	}
	return seen
}

// meaning decodes a flow of the integration bridge.
func (a *Annotator) meaning(ctx context.Context, seen decode.Seen) *Flow {
	id := flowID{seen.Table, seen.Priority, seen.Cookie, seen.Metadata}
	m, ok := a.meanings[id]
	if !ok {
		if len(a.meanings) >= maxMeanings {
			clear(a.meanings)
		}
		m = a.decoder.Decode(ctx, seen)
		a.meanings[id] = m
	}
	return &Flow{seen, m}
}

// flow glosses the cookie and the table of a flow, in the part of the line
// before an offset.
func (a *Annotator) flow(f *Flow, before int) {
	for _, t := range a.tokens {
		if t.start >= before || t.depth > 0 {
			continue
		}
		switch t.key {
		case "cookie":
			a.add(t.end, "cookie", t.value, f.For())
		case "table", "table_id":
			a.add(t.end, "table", t.value, a.tableText(f.Place))
		}
	}
}

// For says what the flow was made for, or what it does; empty if neither is
// known.
func (f *Flow) For() string {
	var texts []string
	for _, o := range f.Objects {
		texts = append(texts, o.Text)
	}
	switch {
	case len(texts) > 0:
		return strings.Join(texts, " or ")
	case f.Flow != nil:
		return decode.ExplainFlow(*f.Flow)
	}
	return ""
}

// tableText names a table: by its stage where that is known.
func (a *Annotator) tableText(p decode.Place) string {
	switch {
	case p.Stage != "":
		return p.Stage
	case p.Pipeline == "" && p.Physical == "" && a.plain:
		return plainTable(p.OpenFlow)
	case p.Pipeline == "" && p.Physical == "":
		return ""
	}
	return p.String()
}

// target names a table that a flow in a datapath sends the packet to.
func (a *Annotator) target(ctx context.Context, of int, metadata uint64) string {
	var kind decode.Kind
	d := a.decoder.Names.Datapath(metadata)
	if d != nil {
		kind = d.Kind
	}
	p := a.decoder.Calibration.Table(of, kind)
	if p.Pipeline != "" && p.Stage == "" {
		p.Stage = a.decoder.Flows.Stage(ctx, d, p.Pipeline, p.Table)
	}
	return a.tableText(p)
}

// match glosses the fields of a match or of a flow between two offsets. The
// datapath may stand behind what depends on it.
func (a *Annotator) match(p *place, from, to int) {
	for _, t := range a.tokens {
		if t.start < from || t.end > to || t.form != assigned || t.depth > 0 {
			continue
		}
		n, ok := number(t.value)
		switch {
		case !ok:
		case t.key == "metadata":
			p.at.Metadata = n
		case t.key == "tun_id":
			p.at.TunID = n
		}
	}
	if p.at.Metadata != 0 && p.bridge == "" {
		p.bridge = a.decoder.Names.Bridge
	}
	for _, t := range a.tokens {
		if t.start >= from && t.end <= to && t.form == assigned && t.depth == 0 {
			a.field(t, *p)
		}
	}
}

// actions glosses the actions from an offset on, in the place that the match
// left; f is the flow that they are of, if that is known.
func (a *Annotator) actions(ctx context.Context, p place, from int, f *Flow) {
	scopes := []place{p}
	for _, t := range a.tokens {
		if t.start < from {
			continue
		}
		for len(scopes) > t.depth+1 {
			scopes = scopes[:len(scopes)-1]
		}
		for len(scopes) <= t.depth && len(scopes) < maxLevels {
			scopes = append(scopes, scopes[len(scopes)-1])
		}
		a.action(ctx, t, &scopes[len(scopes)-1], f)
	}
}

// action glosses an action, and changes the place as it does.
func (a *Annotator) action(ctx context.Context, t token, p *place, f *Flow) {
	switch t.form {
	case written, now:
		if n, ok := number(t.value); ok && t.lo == 0 {
			switch t.key {
			case "metadata", "OXM_OF_METADATA":
				p.at.Metadata = n
				p.bridge = a.decoder.Names.Bridge
			case "tun_id", "NXM_NX_TUN_ID":
				p.at.TunID = n
			}
		}
		a.field(t, *p)
	case called:
		if t.key == "resubmit" {
			port, table, ok := strings.Cut(t.value, ",")
			if n, isTable := number(table); ok && isTable && a.isOVN(*p) {
				a.add(t.end, "table", table, a.target(ctx, int(n&0xff), p.at.Metadata))
			} else if !ok {
				a.add(t.end, "in_port", port, a.port(p.bridge, port))
			}
		}
	case acted:
		switch t.key {
		case "output":
			a.add(t.end, "output", t.value, a.port(p.bridge, t.value))
		case "group":
			if n, ok := number(t.value); ok && a.isOVN(*p) {
				a.add(t.end, "group", t.value, a.groupText(uint32(n), f))
			}
		case "meter":
			if n, ok := number(t.value); ok && a.isOVN(*p) {
				a.add(t.end, "meter", t.value, a.Meters()[uint32(n)])
			}
		case "goto_table":
			if n, ok := number(t.value); ok && a.isOVN(*p) {
				a.add(t.end, "table", t.value, a.target(ctx, int(n&0xff), p.at.Metadata))
			}
		}
	case assigned:
		switch t.key {
		case "table":
			if n, ok := number(t.value); ok && a.isOVN(*p) {
				a.add(t.end, "table", t.value, a.target(ctx, int(n&0xff), p.at.Metadata))
			}
		case "userdata":
			a.add(t.end, "userdata", t.value, a.userdata(ctx, t.value, *p))
		case "meter_id":
			if n, ok := number(t.value); ok && a.isOVN(*p) {
				a.add(t.end, "meter", t.value, a.Meters()[uint32(n)])
			}
		case "zone":
			a.field(t, *p)
		}
	}
}

// port names an OpenFlow port that is written as a number or as a name.
func (a *Annotator) port(bridge, text string) string {
	if n, ok := number(text); ok {
		if bridge == "" {
			return ""
		}
		if p, ok := a.decoder.Names.OFPort(bridge, int(n&0xffff)); ok {
			return a.portText(p)
		}
		return ""
	}
	return a.interfaceText(strings.Trim(text, `"`))
}

// openFlowName is as much of an interface's name as OpenFlow has room for.
const openFlowName = 15

// interfaceNamed finds an interface by its name, or by as much of it as OpenFlow
// tells if that is only one's.
func (a *Annotator) interfaceNamed(name string) (decode.OFPort, bool) {
	p, ok := a.decoder.Names.Interface(name)
	if ok || len(name) != openFlowName {
		return p, ok
	}
	for _, q := range a.decoder.Names.OFPorts("") {
		if strings.HasPrefix(q.Interface, name) {
			if ok {
				return decode.OFPort{}, false
			}
			p, ok = q, true
		}
	}
	return p, ok
}

func (a *Annotator) interfaceText(name string) string {
	p, ok := a.interfaceNamed(name)
	if !ok || p.String() == name {
		return ""
	}
	return p.String()
}

// portText says what is behind a port of a bridge, and by which interface.
func (a *Annotator) portText(p decode.OFPort) string {
	text := p.String()
	if p.LogicalPort != "" && p.Peer == "" {
		if port := a.decoder.Names.PortNamed(p.LogicalPort); port != nil {
			text += ownerText(port)
		}
	}
	if text != p.Interface && p.Peer == "" && p.Tunnel == nil {
		text += ", interface " + p.Interface
	}
	return text
}

// groupText says what a group balances, and to where. The flow is the one that
// sends packets to it, nil if only the number is known.
func (a *Annotator) groupText(id uint32, f *Flow) string {
	if f != nil {
		a.sends(id, f)
	}
	text := a.groups[id].text
	backends := a.Backends()[id]
	more := ""
	if len(backends) > fewBackends {
		more = fmt.Sprintf(" and %d more", len(backends)-fewBackends)
		backends = backends[:fewBackends]
	}
	if len(backends) > 0 {
		text = strings.TrimSpace(text + " to " + strings.Join(backends, ", ") + more)
	}
	return text
}

// sends keeps which flow sends packets to a group.
func (a *Annotator) sends(id uint32, f *Flow) {
	if len(a.groups) >= maxGroups {
		return
	}
	s := sender{metadata: f.Seen.Metadata}
	for _, o := range f.Objects {
		s.text = o.Text
	}
	a.groups[id] = s
}

// askSenders learns from the node's own flows who sends packets to groups, once.
func (a *Annotator) askSenders(ctx context.Context) {
	if a.asked {
		return
	}
	a.asked = true
	lines := a.Senders()
	for _, line := range lines {
		a.Learn(line)
	}
	if len(lines) > 0 {
		a.Calibrate(ctx)
	}
	for _, line := range lines {
		tokens := scan(line, nil)
		f := a.meaning(ctx, seenIn(tokens, strings.Index(line, "actions=")))
		for _, t := range tokens {
			if n, ok := number(t.value); ok && t.key == "group" && t.form == acted {
				a.sends(uint32(n), f)
			}
		}
	}
}

// fewBackends are as many as a gloss names.
const fewBackends = 4

// Backends are the addresses that a group translates to, in the order of its
// buckets.
func Backends(g openflow.GroupEntry) []string {
	var list []string
	for _, b := range g.Buckets {
		for _, action := range b.Actions {
			ct, ok := action.(openflow.CT)
			switch {
			case !ok || ct.NAT == nil || !ct.NAT.Min.IsValid():
			case ct.NAT.MinPort != 0:
				list = append(list, netip.AddrPortFrom(ct.NAT.Min, ct.NAT.MinPort).String())
			default:
				list = append(list, ct.NAT.Min.String())
			}
		}
	}
	return list
}

// group glosses a line of dump-groups.
func (a *Annotator) group(ctx context.Context, line string) {
	p := place{bridge: a.dump}
	if p.bridge == "" {
		p.bridge = a.decoder.Names.Bridge // no other bridge of an OVN deployment has groups
	}
	for _, t := range a.tokens {
		n, ok := number(t.value)
		if !ok || t.key != "group_id" {
			continue
		}
		from, known := a.groups[uint32(n)]
		if !known && a.isOVN(p) {
			a.askSenders(ctx)
			from, a.tokens = a.groups[uint32(n)], scan(line, a.tokens[:0])
		}
		a.add(t.end, "group", t.value, from.text)
		p.at.Metadata = from.metadata
		break
	}
	a.actions(ctx, p, 0, nil)
}

// meter glosses the first line of a meter of dump-meters or of meter-stats. No other
// bridge of an OVN deployment has meters.
func (a *Annotator) meter() {
	for _, t := range a.tokens {
		if n, ok := number(t.value); ok && t.key == "meter" {
			a.add(t.end, "meter", t.value, a.Meters()[uint32(n)])
		}
	}
}

// tlv glosses a line of dump-tlv-map that ends at an offset.
func (a *Annotator) tlv(text string, end int) {
	if index, ok := decode.OVNOption(openflow.ParseTLVMap(text)); ok {
		a.add(end, "tun_metadata", fmt.Sprint("tun_metadata", index), "OVN: from which logical port to which")
	}
}

// portDesc glosses the first line of a port in dump-ports-desc, " 3(eth0): addr:…".
func (a *Annotator) portDesc(line, text string) {
	number, rest, _ := strings.Cut(text, "(")
	name, _, ok := strings.Cut(rest, "): addr:")
	if at := strings.Index(line, "): addr:"); ok && at >= 0 {
		if p, known := a.interfaceNamed(name); known {
			if text := p.String(); text != name {
				a.add(at+1, "port", number, text)
			}
		}
	}
}

// StageName is the stage of a flow, or the name of its table in lower case;
// empty where neither is known.
func (f *Flow) StageName() string {
	if f.Stage != "" {
		return f.Stage
	}
	return strings.ToLower(string(f.Physical))
}
