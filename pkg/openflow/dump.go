package openflow

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
)

// A Dump is a dump command's output, entry by entry: the heads of the switch's replies and what they list.
type Dump []Entry

// An Entry is a part of a dump: a [Reply], [Heading], [FlowEntry], [GroupEntry], [MeterEntry], [PortDesc], [TLVTable],
// [FDBEntry], [DatapathFlow] or [Connection]. String writes it as printed, without the leading space.
type Entry interface{ String() string }

// Entries returns the entries of one type.
func Entries[T Entry](d Dump) []T {
	var list []T
	for _, e := range d {
		if one, ok := e.(T); ok {
			list = append(list, one)
		}
	}
	return list
}

// A Reply is the head of an OpenFlow message: "OFPST_FLOW reply (OF1.5) (xid=0x2):".
type Reply struct {
	Type    string // "OFPST_FLOW reply"
	Version string // "1.5"; "" for OpenFlow 1.0
	XID     uint32
	Flags   string // "[more]": continued in the next reply
}

// String writes the head as ovs-ofctl(8) does.
func (r Reply) String() string {
	s := r.Type
	if r.Version != "" {
		s += " (OF" + r.Version + ")"
	}
	s += fmt.Sprintf(" (xid=0x%x):", r.XID)
	if r.Flags != "" {
		s += " flags=" + r.Flags
	}
	return s
}

// parseReply reads the head of a message; false for other lines.
func parseReply(line string) (Reply, bool) {
	head, tail, ok := strings.Cut(line, " (xid=0x")
	digits, flags, ok2 := strings.Cut(tail, "):")
	if !ok || !ok2 || head == "" || head[0] < 'A' || head[0] > 'Z' {
		return Reply{}, false
	}
	r := Reply{Type: head}
	err := read(&r.XID, "0x"+digits, 0)
	if kind, version, ok := strings.Cut(head, " (OF"); ok {
		r.Type, r.Version = kind, strings.TrimSuffix(version, ")")
	}
	r.Flags = strings.TrimPrefix(flags, " flags=")
	return r, err == nil && r.String() == line
}

// A Heading is a line above entries without content of its own: the titles of fdb/show, "flow-dump from the main
// thread:", or an empty line.
type Heading string

// String returns the line.
func (h Heading) String() string { return string(h) }

func heading(line string) bool {
	return line == "" || strings.HasPrefix(line, "flow-dump from ") || fdbHeading(line)
}

func fdbHeading(line string) bool {
	return len(line) < 80 && strings.EqualFold(strings.Join(strings.Fields(line), " "), "port VLAN MAC Age")
}

// ParseDump parses the output of ovs-ofctl dump-flows, dump-groups, dump-meters, dump-ports-desc and dump-tlv-map, and
// of ovs-appctl fdb/show, dpctl/dump-flows and dpctl/dump-conntrack, one or several of them. Any other line is a
// [*SyntaxError], and so is a coloured one; see [StripColors].
func ParseDump(text string) (Dump, error) {
	if dump, ok := parsePieces(flowPieces(text, min(runtime.GOMAXPROCS(0), len(text)/leastPiece))); ok {
		return dump, nil
	}
	p := dumpParser{text: text}
	err := p.all()
	return p.dump, err
}

// ParseDumpLines parses a dump like ParseDump, but leaves out what cannot be read, with an error for each: where
// ovs-ofctl cannot decode a switch's message, it prints "***decode error" in the middle of a line, with the bytes of the
// message below.
func ParseDumpLines(text string) (Dump, []error) {
	dump, err := ParseDump(text)
	if err == nil {
		return dump, nil
	}
	p := dumpParser{text: text}
	var bad []error
	for p.pos < len(p.text) {
		e, err := p.entry()
		switch {
		case err == nil:
			p.dump = append(p.dump, e)
		case !hexDump(p.text[p.start:]):
			bad = append(bad, in(err, p.text[p.start:p.pos]))
		}
	}
	return p.dump, bad
}

// hexDump reports whether a text starts with a line of a message's bytes: "00000010  00 00".
func hexDump(text string) bool {
	const digits = 8
	return len(text) > digits+2 && text[digits:digits+2] == "  " && strings.Trim(text[:digits], "0123456789abcdef") == ""
}

// leastPiece is the text size, in bytes, that is worth a processor.
const leastPiece = 64 << 10

// flowPieces splits a dump into at most n pieces of similar size; all but the first start with a flow.
func flowPieces(text string, n int) []string {
	var pieces []string
	for ; n > 1; n-- {
		size := len(text) / n
		cut := strings.Index(text[size:], "\n cookie=")
		if cut < 0 {
			break
		}
		pieces = append(pieces, text[:size+cut+1])
		text = text[size+cut+1:]
	}
	return append(pieces, text)
}

// parsePieces parses the pieces of a dump in parallel. If a piece depends on the one before it or cannot be read, ok is
// false: the dump must be parsed from the start.
func parsePieces(pieces []string) (dump Dump, ok bool) {
	if len(pieces) < 2 {
		return nil, false
	}
	parsers, errs := make([]dumpParser, len(pieces)), make([]error, len(pieces))
	var wg sync.WaitGroup
	for i, piece := range pieces {
		wg.Go(func() {
			parsers[i].text = piece
			errs[i] = parsers[i].all()
		})
	}
	wg.Wait()
	for i := range parsers {
		p, more := &parsers[i], i < len(parsers)-1
		if errs[i] != nil || more && (p.fdb || p.options()) {
			return nil, false
		}
		dump = append(dump, p.dump...)
	}
	return dump, true
}

type dumpParser struct {
	Reader
	text       string
	pos, start int // of the next line, and of the current entry
	reply      Reply
	fdb        bool // below an fdb/show title
	dump       Dump
}

// all reads the text up to its end or the first line that is not a dump's.
func (p *dumpParser) all() error {
	for p.pos < len(p.text) {
		e, err := p.entry()
		if err != nil {
			return in(within(err, p.start), p.text)
		}
		p.dump = append(p.dump, e)
	}
	return nil
}

// options reports whether the entries of a tunnel option table follow.
func (p *dumpParser) options() bool { return strings.HasPrefix(p.reply.Type, "NXT_TLV_TABLE") }

// line returns the next line without consuming it.
func (p *dumpParser) line() string {
	line, _, _ := strings.Cut(p.text[p.pos:], "\n")
	return line
}

func (p *dumpParser) next() string {
	line := p.line()
	p.pos = min(p.pos+len(line)+1, len(p.text))
	return strings.TrimRight(line, "\r")
}

// paragraph returns the next line and its continuation lines.
func (p *dumpParser) paragraph(continues func(string) bool) string {
	start := p.pos
	end := start + len(p.line())
	p.next()
	for p.pos < len(p.text) && continues(p.line()) {
		end = p.pos + len(p.line())
		p.next()
	}
	return p.text[start:end]
}

func (p *dumpParser) entry() (Entry, error) {
	p.start = p.pos
	line := strings.TrimRight(p.line(), "\r")
	if r, ok := parseReply(line); ok {
		p.next()
		p.reply, p.fdb = r, false
		return r, nil
	}
	switch {
	case heading(line):
		p.next()
		p.fdb = fdbHeading(line) || p.fdb && line != ""
		return Heading(line), nil
	case p.options():
		text := p.paragraph(func(line string) bool {
			_, ok := parseReply(line)
			return !ok
		})
		return parseTLVTable(text)
	case strings.HasPrefix(line, "meter="):
		return ParseMeterEntry(p.paragraph(func(line string) bool { return strings.HasPrefix(line, "type=") }))
	case strings.Contains(line, "): addr:"):
		return parsePortDesc(p.paragraph(func(line string) bool { return strings.HasPrefix(line, "     ") }))
	}
	p.next()
	return p.oneLine(line)
}

// oneLine reads a single-line entry.
func (p *dumpParser) oneLine(line string) (Entry, error) {
	switch {
	case p.fdb:
		return ParseFDBEntry(line)
	case strings.HasPrefix(line, " group_id="):
		return ParseGroupEntry(line)
	case strings.Contains(line, separator+"packets:"):
		return ParseDatapathFlow(line)
	case strings.Contains(line, ",orig=("):
		return ParseConnection(line)
	}
	return p.FlowEntry(line)
}
