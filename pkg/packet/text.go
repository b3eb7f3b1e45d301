package packet

import (
	"errors"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// registerFields are reg0 to reg31.
var registerFields = lazy.Value[[]*Field]{Make: func() []*Field {
	var list []*Field
	for i := range registers {
		list = append(list, Reg(i))
	}
	return list
}}

// maxText bounds a flow's text.
const maxText = 1 << 16

// Parse parses a flow as ofproto/trace takes and prints it: fields and protocol keywords, separated by commas or white
// space. Ports may be numbers, reserved names or names. Like ofproto/trace it rejects masked values; the masked form
// "+trk+new" of flags gives the flags set in it.
func Parse(s string) (Flow, error) {
	var p Flow
	if len(s) > maxText {
		return p, &SyntaxError{Text: s, Msg: "flow too long"}
	}
	terms := Terms{text: s}
	for terms.Next() {
		if err := p.term(terms.Key, terms.Value, terms.HasValue); err != nil {
			return p, at(err, s, terms.Offset)
		}
	}
	return p, terms.Err
}

// at makes err refer to offset in text s.
func at(err error, s string, offset int) error {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return &SyntaxError{Text: s, Offset: offset, Msg: e.Msg}
	}
	return err
}

func (p *Flow) term(key, value string, hasValue bool) error {
	if !hasValue {
		k, ok := LookupKeyword(key)
		if !ok {
			return &SyntaxError{Text: key, Msg: "unknown keyword " + key}
		}
		k.Apply(p)
		return nil
	}
	if key == "priority" {
		return nil
	}
	f, ok := lookupIn(p, key)
	if !ok {
		return &SyntaxError{Text: key, Msg: "unknown field " + key}
	}
	if f == &InPort {
		port, err := ParsePort(value)
		if err != nil {
			return err
		}
		p.SetInPort(port)
		return nil
	}
	v, mask, err := f.ParseValue(value)
	if f.Needs == NeedsICMPv4 || f.Needs == NeedsICMPv6 {
		if n, bad := strconv.ParseUint(value, 0, 16); bad == nil && n > 0xff { // written as a port
			p.Set(portOf(f), Uint(n))
			return nil
		}
	}
	if err != nil {
		return err
	}
	if flags := f.Format == StateNames || f.Format == TCPNames || f.Format == TunnelNames; mask != f.Mask() && !flags && f.Format != Frag {
		return &SyntaxError{Text: value, Msg: "mask not allowed in a flow"}
	}
	p.SetMasked(f, v, f.Decides(f.Mask()))
	return nil
}

// lookupIn finds a field by its meaning in packet p: icmp_type is icmpv6_type in an ICMPv6 packet, tp_src is udp_src in
// a UDP one.
func lookupIn(p *Flow, name string) (*Field, bool) {
	return LookupFor(uint8(p.Uint("nw_proto")), name)
}

// LookupFor finds a field by its meaning in packets of an IP protocol.
func LookupFor(proto uint8, name string) (*Field, bool) {
	f, ok := Lookup(name)
	if !ok {
		return nil, false
	}
	switch {
	case name == "icmp_type" && proto == ProtoICMPv6:
		return &ICMPv6Type, true
	case name == "icmp_code" && proto == ProtoICMPv6:
		return &ICMPv6Code, true
	case name == "tp_src" && proto == ProtoUDP:
		return &UDPSrc, true
	case name == "tp_dst" && proto == ProtoUDP:
		return &UDPDst, true
	case name == "tp_src" && proto == ProtoSCTP:
		return &SCTPSrc, true
	case name == "tp_dst" && proto == ProtoSCTP:
		return &SCTPDst, true
	}
	return f, true
}

// Terms iterates over "key", "key=value" terms split at commas or white space.
type Terms struct {
	Key, Value string
	HasValue   bool
	Offset     int // of the term
	Err        error

	text string
	pos  int
}

// NewTerms returns the terms of s.
func NewTerms(s string) *Terms { return &Terms{text: s} }

// Next reads the next term and reports whether there was one.
func (t *Terms) Next() bool {
	text, pos := t.text, t.pos
	for pos < len(text) && isSeparator(text[pos]) {
		pos++
	}
	t.pos = pos
	if pos == len(text) || t.Err != nil {
		return false
	}
	t.Offset = pos
	for pos < len(text) && !isSeparator(text[pos]) && text[pos] != '=' {
		pos++
	}
	t.Key, t.Value, t.HasValue = text[t.Offset:pos], "", false
	t.pos = pos
	if pos == len(text) || text[pos] != '=' {
		return true
	}
	t.pos++
	t.HasValue = true
	start := t.pos
	if !t.skipValue() {
		t.Err = &SyntaxError{Text: text, Offset: start, Msg: "unterminated value"}
		return false
	}
	t.Value = text[start:t.pos]
	return true
}

// skipValue skips a value: a quoted string, a pair in parentheses, or everything up to a separator.
func (t *Terms) skipValue() bool {
	if t.pos == len(t.text) {
		return true
	}
	switch t.text[t.pos] {
	case '"':
		n := QuotedLen(t.text[t.pos:])
		t.pos += n
		return n > 0
	case '(':
		n := strings.IndexByte(t.text[t.pos:], ')')
		t.pos += n + 1
		return n > 0
	}
	pos := t.pos
	for pos < len(t.text) && !isSeparator(t.text[pos]) {
		pos++
	}
	t.pos = pos
	return true
}

// QuotedLen returns the length of the quoted string at the start of s, 0 if unterminated.
func QuotedLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// separators are the characters between terms.
var separators = [256]bool{',': true, ' ': true, '\t': true, '\r': true, '\n': true}

func isSeparator(c byte) bool { return separators[c] }

// Printed for every flow, each in its place.
var (
	metadataField = []*Field{&Metadata}
	tunIDFields   = []*Field{&TunID}
	lseFields     = []*Field{&MPLSLSE1, &MPLSLSE2}
)

// metadataFields are printed in this order if not zero.
var metadataFields = []*Field{&PktMark, &RecircID, &DPHash, &ConjID, &SkbPriority, &ActsetOutput,
	&CTState, &CTZone, &CTMark, &CTLabel}

var ctFields = []*Field{&CTNWSrc, &CTNWDst, &CTIPv6Src, &CTIPv6Dst, &CTNWProto, &CTTPSrc, &CTTPDst}

var tunnelFields = []*Field{&TunID, &TunSrc, &TunDst, &TunIPv6Src, &TunIPv6Dst, &TunGBPID, &TunGBPFlags,
	&TunErspanVer, &TunErspanIdx, &TunErspanDir, &TunErspanHWID}

// headerFields are printed in this order if the packet has them.
var headerFields = []*Field{&ARPSPA, &ARPTPA, &IPSrc, &IPDst, &IPv6Src, &IPv6Dst, &IPv6Label,
	&ARPOp, &ARPSHA, &ARPTHA, &NWProto, &NWTOS, &NWECN, &NWTTL, &IPFrag,
	&MPLSLabel, &MPLSTC, &MPLSTTL, &MPLSBOS,
	&NSHFlags, &NSHTTL, &NSHMDType, &NSHNP, &NSHSPI, &NSHSI, &NSHC1, &NSHC2, &NSHC3, &NSHC4,
	&ICMPType, &ICMPCode, &ICMPv6Type, &ICMPv6Code, &NDTarget, &NDSLL, &NDTLL,
	&TCPSrc, &TCPDst, &UDPSrc, &UDPDst, &SCTPSrc, &SCTPDst, &TCPFlags}

// String writes the flow as ofproto/trace accepts it: nonzero metadata, the protocol keyword, then all header fields.
// What OpenFlow cannot express (a tunnel's TTL, further MPLS labels) is left out.
func (p *Flow) String() string {
	w := newFlowWriter(p)
	w.nonzero(metadataFields)
	eth, proto := p.Uint("eth_type"), p.Uint("nw_proto")
	keyword := ""
	if p.Meets(NeedsEthernet) {
		keyword = keywordOf(eth, proto)
	} else {
		w.field(&PacketType)
	}
	if keyword != "" {
		w.word(keyword)
	}
	if p.Meets(NeedsCT) {
		w.nonzero(ctFields)
	}
	w.nonzero(registerFields.Get())
	w.nonzero(tunnelFields)
	if p.Uint("tun_flags")&1 != 0 {
		w.word("tun_flags=oam") // the only flag that OpenFlow can express
	}
	for _, o := range p.tun {
		w.field(TunMetadata(o.index))
	}
	w.nonzero(metadataField)
	w.inPort()
	if p.Meets(NeedsEthernet) {
		w.vlan()
		w.field(&EthSrc)
		w.field(&EthDst)
		if keyword == "" {
			w.field(&EthType)
		}
	}
	w.headers(keyword)
	return string(w.b)
}

type flowWriter struct {
	flow *Flow
	b    []byte
}

// usualText is a flow's usual text length.
const usualText = 512

func newFlowWriter(p *Flow) flowWriter { return flowWriter{p, make([]byte, 0, usualText)} }

func (w *flowWriter) word(s string) {
	if len(w.b) > 0 {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, s...)
}

func (w *flowWriter) number(name string, n uint64) {
	w.word(name)
	w.b = strconv.AppendUint(append(w.b, '='), n, 10)
}

func (w *flowWriter) field(f *Field) {
	w.word(f.Label())
	w.b = f.AppendMatch(append(w.b, '='), w.flow.Get(f), f.Mask())
}

func (w *flowWriter) nonzero(fields []*Field) {
	for _, f := range fields {
		if !w.flow.Get(f).IsZero() {
			w.field(f)
		}
	}
}

func (w *flowWriter) inPort() {
	w.word("in_port=")
	w.b = append(w.b, w.flow.InPort().String()...)
}

// vlan writes the tag as dl_vlan and dl_vlan_pcp if it has the form of one.
func (w *flowWriter) vlan() {
	tci := w.flow.Get(&VLANTCI)
	if !tci.Bit(12) {
		w.field(&VLANTCI)
		return
	}
	w.tag(&VLANTCI, "")
}

// tag writes a present tag, with ending appended to the names.
func (w *flowWriter) tag(f *Field, ending string) {
	tci := w.flow.Get(f).Lo
	w.number("dl_vlan"+ending, tci&0xfff)
	w.number("dl_vlan_pcp"+ending, tci>>13)
}

// original writes the addresses of the connection's original tuple.
func (w *flowWriter) original() {
	addresses := ctFields[:2]
	if w.flow.Meets(NeedsIPv6) {
		addresses = ctFields[2:4]
	}
	for _, f := range append(addresses[:2:2], ctFields[4:]...) {
		w.field(f)
	}
}

// headers writes the fields above Ethernet. The keyword, if any, already gives the protocol.
func (w *flowWriter) headers(keyword string) {
	k, _ := LookupKeyword(keyword)
	for _, f := range headerFields {
		if f == &NWProto && k.Proto != 0 || !w.flow.Meets(f.Needs) {
			continue
		}
		// ofproto/trace prints tp_src for any protocol but reads it as TCP's; likewise icmp_type.
		if f.Needs == NeedsUDP || f.Needs == NeedsSCTP || f.Needs == NeedsICMPv6 {
			w.word(f.Name + "=" + f.Print(w.flow.Get(f)))
			continue
		}
		w.field(f)
	}
}

// Trace writes the flow as ofproto/trace prints it. Unlike String's text, not all of it can be parsed again: UDP ports
// are named like TCP's, a tunnel's key is left out if its endpoint is known, and its options if not.
func (p *Flow) Trace() string {
	w := newFlowWriter(p)
	w.nonzero(metadataFields)
	if p.Meets(NeedsCT) && !p.Get(&CTNWProto).IsZero() {
		w.original()
	}
	if !p.Meets(NeedsEthernet) {
		w.field(&PacketType)
	} else if !p.Get(&RecircID).IsZero() {
		w.word("eth")
	}
	keyword := p.Kind()
	if keyword != "" {
		w.word(keyword)
	}
	w.nonzero(registerFields.Get())
	ended := !p.Get(&TunDst).IsZero() || !p.Get(&TunIPv6Dst).IsZero()
	if !ended {
		w.nonzero(tunIDFields)
	} else {
		if p.Get(&TunFlags).Bit(3) {
			w.field(&TunID)
		}
		for _, f := range endedFields {
			w.field(f)
		}
		for _, o := range p.tun {
			w.field(TunMetadata(o.index))
		}
	}
	w.nonzero(metadataField)
	w.inPort()
	if p.Meets(NeedsEthernet) {
		w.vlan()
		switch {
		case p.Get(&VLANTCI1).Bit(12):
			w.tag(&VLANTCI1, "1")
		case p.Get(&VLANTCI).Bit(12):
			w.field(&VLANTCI1)
		}
		w.field(&EthSrc)
		w.field(&EthDst)
		if keyword == "" {
			w.field(&EthType)
		}
	}
	k, _ := LookupKeyword(keyword)
	for _, f := range headerFields {
		need := f.Needs
		if need == NeedsNDSolicit || need == NeedsNDAdvert {
			need = NeedsND
		}
		switch {
		case !p.Meets(need), f == &NWProto && k.Proto != 0, need == NeedsNSH && p.Get(&NSHMDType).Lo == 2 && strings.HasPrefix(f.Name, "nsh_c"):
		case f == &MPLSBOS:
			w.bottom()
		case f == &NWTOS:
			w.number("nw_tos", p.Get(f).Lo&^3)
		case need == NeedsNSH && f.Format == Hex:
			w.word(f.Name + "=0x" + strconv.FormatUint(p.Get(f).Lo, 16))
		case need == NeedsICMPv4 || need == NeedsICMPv6: // Open vSwitch keeps them where ports are, and that many bits
			w.number(f.Label(), p.Get(portOf(f)).Lo)
		default:
			w.field(f)
		}
	}
	if p.Meets(NeedsNSH) { // printed as if it had these
		for _, f := range networkFields {
			w.field(f)
		}
	}
	return string(w.b)
}

// portOf returns the port field that Open vSwitch keeps an ICMP field in.
func portOf(f *Field) *Field {
	if f.place.offset >= TCPDst.place.offset {
		return &TCPDst
	}
	return &TCPSrc
}

// networkFields are printed after those of NSH.
var networkFields = []*Field{&NWProto, &NWTOS, &NWECN, &NWTTL, &IPFrag}

// bottom writes the outer MPLS label's bottom-of-stack bit, and the labels below it, if any.
func (w *flowWriter) bottom() {
	w.field(&MPLSBOS)
	more := w.flow.Get(&MPLSBOS).IsZero()
	for _, entry := range lseFields {
		if more {
			w.number(entry.Name, w.flow.Get(entry).Lo)
		}
		more = more && !w.flow.Get(entry).Bit(8)
	}
}

// endedFields are printed, in this order, for a packet from a tunnel.
var endedFields = []*Field{&TunSrc, &TunDst, &TunIPv6Src, &TunIPv6Dst, &TunGBPID, &TunGBPFlags, &TunTOS, &TunTTL,
	&TunErspanVer, &TunGTPUFlags, &TunGTPUMsgType, &TunFlags}

// Kind is the keyword of the packet's protocol: "tcp6", "arp"; "" if none.
func (p *Flow) Kind() string {
	if !p.Meets(NeedsEthernet) {
		return ""
	}
	return keywordOf(p.Get(&EthType).Lo, p.Get(&NWProto).Lo)
}
