package text

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Line is what was recognized in a line of text.
type Line struct {
	Names []decode.Name // ordered by offset
	// Flow is the flow of the integration bridge that the line shows, or that a step of a trace matched; nil if none.
	Flow *decode.Flow
}

// A DecodedLine is the JSON of a [Line]: docs/json.md.
type DecodedLine struct {
	Line  string              `json:"line"`  // without its line break and colors
	Names []decode.Name       `json:"names"` // of its numbers, in order
	Flow  *decode.DecodedFlow `json:"flow,omitempty"`
}

// JSON returns the line in its JSON form.
func (l Line) JSON(text string) DecodedLine {
	out := DecodedLine{Line: text, Names: append([]decode.Name{}, l.Names...)}
	if l.Flow != nil {
		f := l.Flow.JSON()
		out.Flow = &f
	}
	return out
}

// Options are what an [Annotator] knows of the text beyond its content.
type Options struct {
	// Bridge is the bridge of dumps that name none; empty if unknown.
	Bridge string
	// Senders returns the flows of the integration bridge that send packets to groups. It is called for a group that
	// no flow in the text explains; may be nil.
	Senders func() []openflow.FlowEntry
}

// An Annotator names the numbers in successive lines of a text. Its memory is bounded, however long the text.
type Annotator struct {
	Options
	namer *decode.Namer

	tokens []token
	names  []decode.Name
	dump   string            // bridge of the current dump; empty if unknown
	trace  []level           // position in the current trace; empty outside
	first  string            // the bridge where it began
	groups map[uint32]sender // as learned from flows
	asked  bool              // Senders was called
}

// A sender is what sends packets to a group.
type sender struct {
	text     string // the load balancer or the route; may be empty
	metadata uint64 // the packets' datapath
}

// A level is the state of a trace at an indentation.
type level struct {
	indent         int
	decode.Context // Bridge is empty if unknown
}

// Memory bounds.
const (
	maxGroups = 1 << 14
	maxLevels = 1 << 9
)

// New returns an Annotator that uses n's names.
func New(n *decode.Namer, o Options) *Annotator {
	return &Annotator{Options: o, namer: n, dump: o.Bridge, groups: map[uint32]sender{}}
}

// Line names the numbers in the next line, given without its line break and colors. The result is valid until the
// next call.
func (a *Annotator) Line(ctx context.Context, line string) Line {
	a.tokens, a.names = scan(line, a.tokens[:0]), a.names[:0]
	f := a.line(ctx, line)
	slices.SortStableFunc(a.names, func(x, y decode.Name) int { return cmp.Compare(x.At, y.At) })
	return Line{Names: a.names, Flow: f}
}

func (a *Annotator) line(ctx context.Context, line string) *decode.Flow {
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
		p := decode.Context{Bridge: a.first}
		a.match(&p, 0, len(line))
	case strings.HasPrefix(text, "Datapath actions: "):
		a.datapathActions(ctx, line, strings.Index(line, ": ")+2)
		a.trace = a.trace[:0]
	case strings.HasPrefix(text, "bridge("):
		a.enter(indent, text)
	default:
		if bridge, ok := commandOf(text); ok {
			a.dump, a.trace, a.first = bridge, a.trace[:0], bridge
			a.match(&decode.Context{Bridge: bridge}, 0, len(line)) // the traced or dumped flow
			return nil
		}
		return a.step(ctx, line, text, indent)
	}
	return nil
}

// commandOf finds a command pasted with its output, and its bridge.
func commandOf(text string) (bridge string, ok bool) {
	for _, command := range []string{"dump-flows ", "dump-groups ", "dump-ports-desc ", "ofproto/trace ", "ofproto/trace-packet-out ", "dump-tlv-map "} {
		_, rest, found := strings.Cut(text, command)
		if !found || !strings.Contains(text, "ovs-") {
			continue
		}
		words := strings.Fields(rest)
		if i := slices.IndexFunc(words, func(w string) bool { return w[0] != '-' }); i >= 0 {
			return strings.Trim(words[i], `"'`), true
		}
	}
	return "", false
}

// add puts a name at an offset, unless it is empty.
func (a *Annotator) add(at int, field, value, name string) {
	if name != "" {
		a.names = append(a.names, decode.Name{At: at, Field: field, Value: value, Name: name})
	}
}

// dumped names the numbers in a line of dump-flows.
func (a *Annotator) dumped(ctx context.Context, line string) *decode.Flow {
	actions := strings.Index(line, "actions=")
	p := decode.Context{Bridge: a.dump}
	p.OVN = strings.Contains(line[actions:], "->OXM_OF_METADATA[")
	for _, t := range a.tokens {
		p.OVN = p.OVN || t.key == "metadata" || t.key == "OXM_OF_METADATA"
	}
	if p.OVN {
		p.Bridge = a.namer.Bridge
		if a.dump == "" {
			a.dump = p.Bridge // also for the flows that follow
		}
	}
	seen := seenIn(a.tokens, actions)
	p.Metadata = seen.Metadata
	var f *decode.Flow
	if a.namer.IsOVN(p) || seen.Cookie != 0 && p.Bridge == "" {
		f = a.namer.Flow(ctx, seen)
		switch {
		case p.Bridge != "":
		case f.Flow == nil && len(f.Rows) == 0:
			f = nil // possibly another bridge's
		default:
			p.Bridge = a.namer.Bridge
			a.dump = p.Bridge
		}
	}
	if f != nil {
		a.flow(f, actions)
	}
	a.match(&p, 0, actions)
	a.actions(ctx, p, actions, f)
	return f
}

// seenIn extracts what the decoder needs from a line of dump-flows whose actions begin at an offset.
func seenIn(tokens []token, actions int) decode.Seen {
	seen := decode.Seen{Priority: 32768}
	for _, t := range tokens {
		value, inActions := t.value, t.start >= actions
		if inActions {
			_, value, _ = strings.Cut(value, ",")
		}
		n, ok := number(value)
		switch {
		case !ok:
		case inActions:
			if t.form == called && t.key == "resubmit" {
				seen.Resubmits = append(seen.Resubmits, int(n&0xff))
			}
		case t.form != assigned || t.depth > 0:
		case t.key == "table" || t.key == "table_id":
			seen.Table = int(n & 0xff)
		case t.key == "priority":
			seen.Priority = int(n & 0xffff)
		case t.key == "cookie":
			seen.Cookie = n
		case t.key == "metadata":
			seen.Metadata = n
		}
	}
	return seen
}

// flow names a flow's cookie and table in the line up to an offset.
func (a *Annotator) flow(f *decode.Flow, before int) {
	for _, t := range a.tokens {
		if t.start >= before || t.depth > 0 {
			continue
		}
		switch t.key {
		case "cookie":
			a.add(t.end, "cookie", t.value, f.For())
		case "table", "table_id":
			a.add(t.end, "table", t.value, a.namer.TableName(f.Place))
		}
	}
}

// match names the fields of a match or flow between two offsets. The datapath may come after fields that depend on
// it.
func (a *Annotator) match(p *decode.Context, from, to int) {
	for _, t := range a.tokens {
		if t.start < from || t.end > to || t.form != assigned || t.depth > 0 {
			continue
		}
		n, ok := number(t.value)
		switch {
		case !ok:
		case t.key == "metadata":
			p.Metadata = n
		case t.key == "tun_id":
			p.TunID = n
		}
	}
	if p.Metadata != 0 && p.Bridge == "" {
		p.Bridge = a.namer.Bridge
	}
	for _, t := range a.tokens {
		if t.start >= from && t.end <= to && t.form == assigned && t.depth == 0 {
			a.field(t, *p)
		}
	}
}

// actions names the actions from an offset on, starting at the match's place; f is their flow, if known.
func (a *Annotator) actions(ctx context.Context, p decode.Context, from int, f *decode.Flow) {
	scopes := []decode.Context{p}
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

// action names an action, and updates the place as it does.
func (a *Annotator) action(ctx context.Context, t token, p *decode.Context, f *decode.Flow) {
	switch t.form {
	case written, now:
		if n, ok := number(t.value); ok && t.lo == 0 {
			switch t.key {
			case "metadata", "OXM_OF_METADATA":
				p.Metadata = n
				p.Bridge = a.namer.Bridge
			case "tun_id", "NXM_NX_TUN_ID":
				p.TunID = n
			}
		}
		a.field(t, *p)
	case called:
		if t.key == "resubmit" {
			port, table, ok := strings.Cut(t.value, ",")
			if n, isTable := number(table); ok && isTable && a.namer.IsOVN(*p) {
				a.add(t.end, "table", table, a.namer.Target(ctx, int(n&0xff), p.Metadata))
			} else if !ok {
				a.add(t.end, "in_port", port, a.port(p.Bridge, port))
			}
		}
	case acted:
		switch t.key {
		case "output":
			a.add(t.end, "output", t.value, a.port(p.Bridge, t.value))
		case "group":
			if n, ok := number(t.value); ok && a.namer.IsOVN(*p) {
				a.add(t.end, "group", t.value, a.groupName(uint32(n), f))
			}
		case "meter":
			if n, ok := number(t.value); ok && a.namer.IsOVN(*p) {
				a.add(t.end, "meter", t.value, a.namer.MeterName(uint32(n)))
			}
		case "goto_table":
			if n, ok := number(t.value); ok && a.namer.IsOVN(*p) {
				a.add(t.end, "table", t.value, a.namer.Target(ctx, int(n&0xff), p.Metadata))
			}
		}
	case assigned:
		switch t.key {
		case "table":
			if n, ok := number(t.value); ok && a.namer.IsOVN(*p) {
				a.add(t.end, "table", t.value, a.namer.Target(ctx, int(n&0xff), p.Metadata))
			}
		case "userdata":
			a.add(t.end, "userdata", t.value, a.userdata(ctx, t.value, *p))
		case "meter_id":
			if n, ok := number(t.value); ok && a.namer.IsOVN(*p) {
				a.add(t.end, "meter", t.value, a.namer.MeterName(uint32(n)))
			}
		case "zone":
			a.field(t, *p)
		}
	}
}

// port names an OpenFlow port written as a number or name.
func (a *Annotator) port(bridge, text string) string {
	if n, ok := number(text); ok {
		return a.namer.PortName(bridge, packet.PortID{Number: uint32(n & 0xffff)})
	}
	return a.namer.PortName(bridge, packet.PortID{Name: strings.Trim(text, `"`)})
}

// groupName names a group. f is the flow that sends packets to it, nil if only the number is known.
func (a *Annotator) groupName(id uint32, f *decode.Flow) string {
	if f != nil {
		a.sends(id, f)
	}
	return a.namer.GroupName(id, a.groups[id].text)
}

// sends records which flow sends packets to a group.
func (a *Annotator) sends(id uint32, f *decode.Flow) {
	if len(a.groups) < maxGroups {
		a.groups[id] = sender{text: f.Balances(), metadata: f.Seen.Metadata}
	}
}

// askSenders learns the groups' senders from the node's own flows, once.
func (a *Annotator) askSenders(ctx context.Context) {
	if a.asked || a.Senders == nil {
		return
	}
	a.asked = true
	flows := a.Senders()
	for i := range flows {
		a.namer.Learn(decode.SeenIn(&flows[i]))
	}
	if len(flows) > 0 {
		a.namer.Calibrate(ctx)
	}
	for i := range flows {
		f := a.namer.Flow(ctx, decode.SeenIn(&flows[i]))
		for _, action := range flows[i].Actions {
			if g, ok := action.(openflow.Group); ok {
				a.sends(g.ID, f)
			}
		}
	}
}

// group names the numbers in a line of dump-groups.
func (a *Annotator) group(ctx context.Context, line string) {
	p := decode.Context{Bridge: a.dump}
	if p.Bridge == "" {
		p.Bridge = a.namer.Bridge // only OVN's integration bridge has groups
	}
	for _, t := range a.tokens {
		n, ok := number(t.value)
		if !ok || t.key != "group_id" {
			continue
		}
		from, known := a.groups[uint32(n)]
		if !known && a.namer.IsOVN(p) {
			a.askSenders(ctx)
			from, a.tokens = a.groups[uint32(n)], scan(line, a.tokens[:0])
		}
		a.add(t.end, "group", t.value, from.text)
		p.Metadata = from.metadata
		break
	}
	a.actions(ctx, p, 0, nil)
}

// meter names the first line of a meter in dump-meters or meter-stats. Only OVN's integration bridge has meters.
func (a *Annotator) meter() {
	for _, t := range a.tokens {
		if n, ok := number(t.value); ok && t.key == "meter" {
			a.add(t.end, "meter", t.value, a.namer.MeterName(uint32(n)))
		}
	}
}

// tlv names the numbers in a line of dump-tlv-map, up to an offset.
func (a *Annotator) tlv(text string, end int) {
	if index, ok := decode.OVNOption(openflow.ParseTLVMap(text)); ok {
		a.add(end, "tun_metadata", fmt.Sprint("tun_metadata", index), "OVN: from which logical port to which")
	}
}

// portDesc names the port in its first line of dump-ports-desc, " 3(eth0): addr:…".
func (a *Annotator) portDesc(line, text string) {
	number, rest, _ := strings.Cut(text, "(")
	name, _, ok := strings.Cut(rest, "): addr:")
	if at := strings.Index(line, "): addr:"); ok && at >= 0 {
		a.add(at+1, "port", number, a.namer.InterfaceName(name))
	}
}
