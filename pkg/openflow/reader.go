package openflow

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Reader reads a dump's flows. A bridge's flows repeat themselves; a Reader parses each part once, and the flows it
// returns share matches and actions, which must not be modified. The zero Reader is ready to use, by one goroutine at a
// time.
type Reader struct {
	lines int
	known int // bytes remembered
	terms map[string]*knownTerm
	lists map[string]Actions // and single actions
	room  []Term             // for the matches of later flows
}

// A knownTerm is a term that means the same in every match.
type knownTerm struct {
	Term
	proto uint8 // the IP protocol it requires; 0: any
}

// Bounds on what a Reader remembers, in bytes of text: in total, and per part.
const (
	maxKnown     = 4 << 20
	maxKnownText = 1 << 12
	roomTerms    = 128
)

// remember makes room to remember a text.
func (r *Reader) remember(text string) {
	if r.known += len(text) + 64; r.known > maxKnown {
		clear(r.terms)
		clear(r.lists)
		r.known = len(text)
	}
}

// FlowEntry reads a line of dump-flows, or one for add-flow.
func (r *Reader) FlowEntry(line string) (FlowEntry, error) {
	e := FlowEntry{Table: NoTable, Priority: defaultPriority}
	if len(line) > maxActions {
		return e, &SyntaxError{Text: line, Msg: "flow too long"}
	}
	if r.lines++; r.lines == 2 { // one line has nothing to share
		r.terms, r.lists = map[string]*knownTerm{}, map[string]Actions{}
	}
	var proto uint8
	first := len(r.room)
	terms := packet.NewTerms(line)
	for terms.Next() {
		if terms.HasValue && (terms.Key == "actions" || terms.Key == "action") {
			at := terms.Offset + len(terms.Key) + 1
			list, err := r.actions(line[at:], at)
			e.Match.Terms = r.room[first:len(r.room):len(r.room)]
			e.Actions = list
			return e, in(err, line)
		}
		known, err := e.property(terms.Key, terms.Value, terms.HasValue)
		if err == nil && !known {
			first, err = r.term(first, &proto, terms, line)
		}
		if err != nil {
			return e, in(within(err, terms.Offset), line)
		}
	}
	if terms.Err != nil {
		return e, terms.Err
	}
	return e, &SyntaxError{Text: line, Offset: len(line), Msg: "actions expected"}
}

// term adds a term to those of the match starting at first, and returns its new start.
func (r *Reader) term(first int, proto *uint8, terms *packet.Terms, line string) (int, error) {
	end := terms.Offset + len(terms.Key)
	if terms.HasValue {
		end += 1 + len(terms.Value)
	}
	text := line[terms.Offset:end]
	k := r.terms[text]
	if k == nil {
		var err error
		if k, err = r.learn(text, *proto); err != nil {
			return first, err
		}
	}
	if k.proto != 0 {
		*proto = k.proto
	}
	if len(r.room) == cap(r.room) {
		room := make([]Term, len(r.room)-first, max(roomTerms, 2*(len(r.room)-first)))
		copy(room, r.room[first:])
		r.room, first = room, 0
	}
	r.room = append(r.room, k.Term)
	return first, nil
}

// learn parses a match term for packets of an IP protocol, and remembers it.
func (r *Reader) learn(text string, proto uint8) (*knownTerm, error) {
	shared := r.terms != nil && len(text) <= maxKnownText
	if shared {
		text = strings.Clone(text) // does not pin the line
	}
	key, value, hasValue := strings.Cut(text, "=")
	var k knownTerm
	var err error
	if k.Term, err = parseTerm(proto, key, value, hasValue); err != nil {
		return nil, err
	}
	k.proto = k.Term.proto()
	if !shared || strings.HasPrefix(key, "tp_") || strings.HasPrefix(key, "icmp_") { // these depend on the protocol
		return &k, nil
	}
	r.remember(text)
	r.terms[text] = &k
	return &k, nil
}

// actions reads an action list at an offset in the line.
func (r *Reader) actions(text string, at int) (Actions, error) {
	if r.lists == nil || len(text) > maxKnownText {
		return parseActions(text, at, 0)
	}
	for text != "" && (text[len(text)-1] == '\n' || text[len(text)-1] == '\r' || text[len(text)-1] == ' ') {
		text = text[:len(text)-1]
	}
	if list, ok := r.lists[text]; ok {
		return list, nil
	}
	own := strings.Clone(text)
	c := cursor{text: own, base: at}
	var list Actions
	for {
		c.skip(", \t\r\n")
		if c.done() {
			break
		}
		start := c.pos
		piece, err := c.until(", \t\r\n")
		if err != nil {
			return nil, err
		}
		part, ok := r.lists[piece]
		if !ok {
			if part, err = parseActions(piece, at+start, 0); err != nil {
				return nil, err
			}
			r.remember(piece)
			r.lists[piece] = part
		}
		list = append(list, part...)
	}
	r.remember(own)
	r.lists[own] = list
	return list, nil
}
