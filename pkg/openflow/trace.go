package openflow

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Trace is the reply of ofproto/trace or ofproto/trace-packet-out (ovs-vswitchd(8)).
type Trace struct {
	Passes []*Pass // the packet itself, then one per recirculation
}

// A Pass is one trip of a packet through the tables, from its arrival or its return from a recirculation.
type Pass struct {
	Recirc *Recirc // nil: the packet as it arrived

	FlowText string       // after "Flow:"; "" if not printed
	Flow     *packet.Flow // nil if FlowText is "" or unreadable

	Roots []*Node

	FinalText string       // after "Final flow:", "unchanged" included
	Final     *packet.Flow // nil if not printed or unreadable; Flow if unchanged

	Megaflow        string
	DatapathActions string
	SlowPath        []string // why the packet leaves the fast path, if it does
	Failure         string   // why the translation failed; "" if it did not
}

// Recirc is how a packet came back to the tables.
type Recirc struct {
	ID        uint32
	Conntrack bool   // from ct; else from a bond, a group's hash or MPLS
	CTState   uint32 // assumed by the trace
	Default   bool   // ct_state is the default: no --ct-next was left
	NAT       bool   // the trace assumes that addresses or ports were translated
	NATBefore string // before and after translation; "" if there is none
	NATAfter  string
	// Connection is the source of CTState. An ofproto/trace reply has none: it knows no connections.
	Connection *Connection
}

// A NodeKind is the kind of a line of a trace.
type NodeKind uint8

// The kinds of lines.
const (
	NodeAction  NodeKind = iota // an executed action
	NodeBridge                  // bridge("br-int")
	NodeTable                   // a lookup in a table, or the action set
	NodeThaw                    // thaw, Resuming from table 43
	NodeBucket                  // bucket 1
	NodeDetail                  // -> result of the action before
	NodeWarning                 // >> …
	NodeError                   // >>>> … <<<<
	NodeElided                  // ... where text was cut out
)

// A Node is a line of a trace with the lines below it.
type Node struct {
	Kind NodeKind
	Text string // the line without indentation and markers

	Bridge string // of a NodeBridge
	Step   *Step  // of a NodeTable that is a lookup
	Table  int    // for a NodeThaw: the resumed table, else -1
	Action Action // of a NodeAction; nil if it could not be read

	Children []*Node
}

// A Step is a lookup in a table.
type Step struct {
	Table     int
	Miss      Miss // why there is no flow; Hit if there is
	MatchText string
	Match     *Match // nil if it could not be read
	Priority  int
	Cookie    uint64
}

// A Miss is why a lookup found no flow.
type Miss uint8

// The outcomes of a lookup.
const (
	Hit            Miss = iota
	MissDrop            // no match: the packet is dropped
	MissController      // no match: the packet goes to the controller
	MissFragment        // an IP fragment while the switch drops those
	MissOther           // any other text
)

// maxTrace bounds the size of a reply.
const maxTrace = 16 << 20

// ErrNoTrace means that a text has no trace.
var ErrNoTrace = errors.New("no ofproto/trace reply in the text")

// ParseTrace parses the reply of ofproto/trace as printed by Open vSwitch 2.8 and later. Removed lines ("...") are
// tolerated, also around the reply; unreadable matches and actions are kept as text. If the text holds several replies,
// all their passes are returned.
func ParseTrace(text string) (*Trace, error) {
	if len(text) > maxTrace {
		return nil, errors.New("trace reply too long")
	}
	r := reader{trace: &Trace{}}
	for line := range strings.Lines(text) {
		r.line(strings.TrimRight(line, "\r\n"))
	}
	if len(r.trace.Passes) == 0 {
		return nil, ErrNoTrace
	}
	return r.trace, nil
}

// reader is the state while reading the lines of a reply.
type reader struct {
	trace  *Trace
	pass   *Pass // nil before the first
	recirc *Recirc
	tree   tree
	state  readState
}

type readState uint8

const (
	outside     readState = iota // before the first pass, or after one
	inHeader                     // between the rules around a recirculation
	inTree                       // below a bridge
	afterResult                  // below "Datapath actions:"
)

func (r *reader) line(raw string) {
	line := strings.TrimRight(raw, " \t")
	if strings.HasPrefix(line, "=====") {
		if r.state == inHeader {
			r.state = outside
		} else {
			r.state, r.recirc = inHeader, &Recirc{}
		}
		return
	}
	if r.state == inHeader {
		r.recirc.line(line)
		return
	}
	key, value, _ := strings.Cut(line, ": ")
	switch key {
	case "Flow":
		r.begin()
		r.pass.FlowText = value
		if f, err := packet.Parse(value); err == nil {
			r.pass.Flow = &f
		}
		return
	case "Final flow", "Megaflow", "Datapath actions":
		if r.pass != nil {
			r.result(key, value)
			return
		}
	}
	switch {
	case strings.HasPrefix(line, "bridge(") && (r.pass == nil || r.state == afterResult || r.recirc != nil):
		r.begin()
		r.add(line)
	case r.state == inTree && strings.HasPrefix(strings.TrimSpace(line), "-> "):
		r.add(raw) // a reason may be empty
	case r.state == inTree || strings.HasPrefix(line, "bridge("):
		r.add(line)
	case r.state == afterResult:
		r.epilogue(line)
	}
}

// begin starts a pass, at "Flow:" or else at its first bridge.
func (r *reader) begin() {
	r.pass = &Pass{Recirc: r.recirc}
	r.trace.Passes = append(r.trace.Passes, r.pass)
	r.recirc = nil
	r.tree = newTree(&r.pass.Roots)
	r.state = inTree
}

func (r *reader) add(line string) {
	if line != "" {
		r.tree.add(line)
	}
}

func (r *reader) result(key, value string) {
	r.state = afterResult
	switch key {
	case "Megaflow":
		r.pass.Megaflow = value
	case "Datapath actions":
		r.pass.DatapathActions = value
	default:
		r.pass.FinalText = value
		if value == "unchanged" {
			r.pass.Final = r.pass.Flow
		} else if f, err := packet.Parse(value); err == nil {
			r.pass.Final = &f
		}
	}
}

// epilogue reads what may follow the datapath actions.
func (r *reader) epilogue(line string) {
	if reason, ok := strings.CutPrefix(line, "Translation failed ("); ok {
		r.pass.Failure, _, _ = strings.Cut(reason, ")")
	}
	if reason, ok := strings.CutPrefix(line, "  - "); ok {
		r.pass.SlowPath = append(r.pass.SlowPath, strings.TrimSuffix(reason, "."))
	}
}

// line reads a line between the rules around a recirculation.
func (r *Recirc) line(line string) {
	if rest, ok := strings.CutPrefix(line, "recirc("); ok {
		id, rest, _ := strings.Cut(rest, ")")
		n, _ := strconv.ParseUint(id, 0, 32)
		r.ID = uint32(n)
		if _, state, ok := strings.Cut(rest, "ct_state="); ok {
			r.Conntrack = true
			r.Default = strings.Contains(rest, "default")
			state, _, _ = strings.Cut(state, " ")
			r.CTState, _ = packet.ParseCTState(state)
		}
		return
	}
	line = strings.TrimSpace(line)
	r.NAT = r.NAT || strings.HasPrefix(line, "Replacing src/dst")
	if s, ok := strings.CutPrefix(line, "Initial flow: "); ok {
		r.NATBefore = s
	}
	if s, ok := strings.CutPrefix(line, "Modified flow: "); ok {
		r.NATAfter = s
	}
}
