package node

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A tri is whether a rule matches a packet.
type tri uint8

const (
	yes tri = iota
	maybe
	no
)

// A filterMatch reads one rule from left to right.
type filterMatch struct {
	packet FilterPacket
	legacy bool
	sets   []Set
	words  []string
	says   tri
	end    fate
	jump   string
	action string     // the one of [NATRule]
	to     netip.Addr // the first address that it translates to, if it names one
	port   uint16     // the first port that it translates to, if it names one
	known  bool       // all that it translates to is in its text

	untracks bool // conntrack is not to see the packet
	mark     mark // that the rule sets
}

// filterWords splits a rule into words; quoted text is one word, without its quotes, and a set in braces, with them.
func filterWords(text string) []string {
	var words []string
	var word strings.Builder
	quoted, deep := false, 0
	for _, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
			if deep > 0 {
				word.WriteRune(c)
			}
		case quoted:
			word.WriteRune(c)
		case c == '{':
			deep++
			word.WriteRune(c)
		case c == '}':
			deep--
			word.WriteRune(c)
		case c == ' ' && deep == 0:
			if word.Len() > 0 {
				words = append(words, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(c)
		}
	}
	return append(words, word.String())
}

func (m *filterMatch) next() string {
	if len(m.words) == 0 {
		return ""
	}
	word := m.words[0]
	m.words = m.words[1:]
	return word
}

func (m *filterMatch) and(t tri) { m.says = max(m.says, t) }

func (m *filterMatch) run() {
	for len(m.words) > 0 {
		if m.legacy {
			m.option()
		} else {
			m.expression()
		}
	}
}

// expression reads one expression or statement of nft(8).
func (m *filterMatch) expression() {
	switch word := m.next(); word {
	case "":
	case "comment", "log":
		m.skipStatement(word)
	case "accept", "drop", "return", "reject", "continue":
		m.end, m.words = fateOf(word), nil
	case "jump", "goto":
		m.jump, m.words = m.next(), nil
	case "snat", "dnat", "masquerade", "redirect":
		m.translate(word)
	case "xt":
		m.extension(m.next(), m.next())
	case "notrack":
		m.untracks = true
	case "queue", "synproxy", "tproxy", "fwd", "dup":
		m.end, m.words = fateUnknown, nil
	default:
		if word == "tcp" && len(m.words) > 0 && m.words[0] == "flags" {
			m.next()
			m.flags()
			return
		}
		if word == "meta" && len(m.words) > 1 && m.words[0] == "mark" && m.words[1] == "set" {
			m.words = m.words[2:]
			m.marks()
			return
		}
		if is := m.selector(word); is != nil {
			m.compare(is)
			return
		}
		m.and(maybe)
	}
}

// extension reads what nft(8) shows of a rule of iptables that it has no words for.
func (m *filterMatch) extension(kind, name string) {
	switch {
	case kind != "target":
		m.and(maybe)
	case natActions.Get()[name] != "":
		m.action, m.end = natActions.Get()[name], fateAccept
	case !slices.Contains(goOn, name):
		m.end = fateUnknown
	}
}

// A comparison reports whether a word of a rule is the packet's value of a field.
type comparison func(word string) tri

func undecided(string) tri { return maybe }

// selector reads the fields, joined by dots, that a rule compares; nil if the word begins no field.
func (m *filterMatch) selector(word string) []comparison {
	var fields []comparison
	for {
		is := m.field(word)
		if is == nil {
			return nil
		}
		fields = append(fields, is)
		if len(m.words) == 0 || m.words[0] != "." {
			return fields
		}
		m.next()
		word = m.next()
	}
}

// field reads one field; nil if the word begins none.
func (m *filterMatch) field(word string) comparison {
	p := &m.packet
	var known map[string]comparison
	key := word
	switch word {
	case "ip", "ip6":
		if word != p.etherType() {
			m.and(no)
		}
		key, known = m.next(), map[string]comparison{"saddr": addressIs(p.Src), "daddr": addressIs(p.Dst), "protocol": m.protocol, "nexthdr": m.protocol}
	case "meta", "iif", "iifname", "oif", "oifname":
		if word == "meta" {
			key = m.next()
		}
		known = map[string]comparison{
			"l4proto": m.protocol, "iif": linkIs(p.In), "iifname": linkIs(p.In), "oif": linkIs(p.Out), "oifname": linkIs(p.Out),
			"nfproto": func(word string) tri { return when((word == "ipv6") == p.Dst.Is6()) }, "protocol": m.etherType,
		}
	case "ether":
		key, known = m.next(), map[string]comparison{"type": m.etherType, "saddr": macIs(p.SrcMAC), "daddr": macIs(p.DstMAC)}
	case "arp":
		if p.Protocol != "arp" {
			m.and(no)
		}
		if key = m.next(); len(m.words) > 0 && m.words[0] == "ip" {
			m.next()
			known = map[string]comparison{"saddr": addressIs(p.Src), "daddr": addressIs(p.Dst)}
		} else {
			known = map[string]comparison{"operation": func(word string) tri { return when((word == "reply") == p.Established) }}
		}
	case "tcp", "udp", "th", "sctp":
		if word != "th" && word != p.Protocol {
			m.and(no)
		}
		key, known = m.next(), map[string]comparison{"dport": portIs(p.DstPort), "sport": portIs(p.SrcPort)}
	case "ct":
		key, known = m.next(), map[string]comparison{"state": m.state}
	case "icmp", "icmpv6":
		if word != p.Protocol {
			m.and(no)
		}
		key, known = m.next(), map[string]comparison{"type": p.echo}
	default:
		return nil
	}
	if is := known[key]; is != nil {
		return is
	}
	return undecided
}

// etherType compares the EtherType; of those that a packet may have beside its own, a tag's, nothing is known.
func (m *filterMatch) etherType(word string) tri {
	if !slices.Contains([]string{"ip", "ip6", "arp"}, word) {
		return maybe
	}
	return when(word == m.packet.etherType())
}

// compare reads what fields are compared with, a value, a set of values or a map of verdicts, or the value that they are set to.
func (m *filterMatch) compare(fields []comparison) {
	value := m.next()
	switch value {
	case "vmap":
		m.verdict(fields, m.next())
		return
	case "set":
		m.next()
		return
	}
	not := value == "!="
	if not || value == "==" {
		value = m.next()
	}
	elements, ok := m.elements(value)
	if !ok {
		m.and(maybe)
		return
	}
	keys := make([]string, len(elements))
	for i, e := range elements {
		keys[i] = e.Key
	}
	m.and(either(keys, func(key string) tri { return fits(fields, key) }, not))
}

// fits reports whether the packet has the values that an element names.
func fits(fields []comparison, key string) tri {
	values := strings.Split(key, " . ")
	if len(values) != len(fields) {
		return maybe
	}
	all := yes
	for i, is := range fields {
		all = max(all, is(values[i]))
	}
	return all
}

// elements returns the values of a set, in braces or by its name, or the one value; false if a named set is not known.
func (m *filterMatch) elements(value string) ([]Element, bool) {
	if name, named := strings.CutPrefix(value, "@"); named {
		i := slices.IndexFunc(m.sets, func(s Set) bool { return s.Name == name })
		if i < 0 {
			return nil, false
		}
		return m.sets[i].Elements, true
	}
	return parseElements(strings.Trim(value, "{}")), true
}

// find returns the value that a map has for the packet; maybe if that is not certain.
func (m *filterMatch) find(fields []comparison, name string) (string, tri) {
	elements, ok := m.elements(name)
	if !ok {
		return "", maybe
	}
	for _, e := range elements {
		switch fits(fields, e.Key) {
		case yes:
			return e.Value, yes
		case maybe:
			return "", maybe
		}
	}
	return "", no
}

// verdict reads a map of verdicts. A packet that it has none for goes on with the next rule.
func (m *filterMatch) verdict(fields []comparison, name string) {
	value, found := m.find(fields, name)
	m.and(found)
	if found == maybe {
		m.end, m.words = fateUnknown, nil
		return
	}
	m.words = strings.Fields(value)
}

// translate reads a statement that translates addresses: "snat to 192.0.2.1", "snat ip to ip saddr map @pods".
func (m *filterMatch) translate(action string) {
	m.action, m.end, m.known = action, fateAccept, true
	for len(m.words) > 0 && m.next() != "to" {
	}
	word := m.next()
	if word == "ip" || word == "ip6" {
		if fields := m.selector(word); m.next() == "map" {
			value, found := m.find(fields, m.next())
			m.and(found)
			word = value
		}
	}
	m.to, m.port, m.words = firstAddress(word), firstPort(word), nil
}

// firstPort returns the first port of those that a rule translates to, such as ":8080", "10.0.0.1:8080-8090" or "[fd00::1]:8080"; 0 if it
// names none.
func firstPort(text string) uint16 {
	text, _, _ = strings.Cut(text, "-")
	colon := strings.LastIndexByte(text, ':')
	if _, err := netip.ParseAddr(text); err == nil || colon < 0 {
		return 0
	}
	port, _ := strconv.ParseUint(text[colon+1:], 10, 16)
	return uint16(port)
}

// firstAddress returns the first address of those that a rule translates to; not valid if it names none.
func firstAddress(text string) netip.Addr {
	text, _, _ = strings.Cut(text, " . ")
	text, _, _ = strings.Cut(text, "-")
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr()
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return a
}

// skipStatement skips a statement that does not decide.
func (m *filterMatch) skipStatement(word string) {
	if word == "comment" {
		m.next()
		return
	}
	for len(m.words) > 1 && slices.Contains([]string{"prefix", "level", "group", "flags", "snaplen", "queue-threshold"}, m.words[0]) {
		m.words = m.words[2:]
	}
}

// either reports whether one of the values fits.
func either(values []string, is comparison, not bool) tri {
	best := no
	for _, v := range values {
		best = min(best, is(v))
	}
	if not && best != maybe {
		return no - best
	}
	return best
}

func when(b bool) tri {
	if b {
		return yes
	}
	return no
}

func (m *filterMatch) protocol(word string) tri {
	names := map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "ipv6-icmp": "icmpv6", "0": m.packet.Protocol, "all": m.packet.Protocol}
	return when(cmp.Or(names[word], word) == m.packet.Protocol)
}

// echo compares the type of an ICMP message with that of an echo request, or of the reply.
func (p *FilterPacket) echo(word string) tri {
	types := map[string]bool{"echo-request": false, "8": false, "128": false, "echo-reply": true, "0": true, "129": true}
	reply, is := types[word]
	if !is && strings.ContainsAny(word, "-") && word != "" && word[0] >= '0' && word[0] <= '9' { // a range
		return maybe
	}
	return when(is && reply == p.Established)
}

func (m *filterMatch) state(word string) tri {
	word = strings.ToLower(word)
	switch m.packet.tracking {
	case untracked:
		return when(word == "untracked")
	case mayBeUntracked:
		return maybe
	}
	switch word {
	case "new":
		return when(!m.packet.Established)
	case "established":
		return when(m.packet.Established)
	case "invalid", "related", "untracked":
		return no
	}
	return maybe
}

func addressIs(a netip.Addr) comparison {
	return func(word string) tri {
		if p, err := netip.ParsePrefix(word); err == nil {
			return when(p.Contains(a))
		}
		if first, last, ok := strings.Cut(word, "-"); ok {
			from, err := netip.ParseAddr(first)
			to, err2 := netip.ParseAddr(last)
			if err != nil || err2 != nil {
				return maybe
			}
			return when(from.Compare(a) <= 0 && a.Compare(to) <= 0)
		}
		x, err := netip.ParseAddr(word)
		if err != nil {
			return maybe
		}
		return when(x == a)
	}
}

func portIs(port uint16) comparison {
	return func(word string) tri {
		first, last, ok := strings.Cut(strings.ReplaceAll(word, ":", "-"), "-")
		if !ok {
			last = first
		}
		from, err := strconv.ParseUint(cmp.Or(first, "0"), 10, 16)
		to, err2 := strconv.ParseUint(cmp.Or(last, "65535"), 10, 16)
		if err != nil || err2 != nil {
			return maybe
		}
		return when(uint64(port) >= from && uint64(port) <= to)
	}
}

func macIs(mac string) comparison {
	return func(word string) tri {
		if mac == "" || etherAddr(word) == "" { // as a range, or a name
			return maybe
		}
		return when(strings.EqualFold(word, mac))
	}
}

func linkIs(link string) comparison {
	return func(word string) tri {
		if prefix, ok := strings.CutSuffix(word, "*"); ok {
			return when(strings.HasPrefix(link, prefix) && link != "")
		}
		if prefix, ok := strings.CutSuffix(word, "+"); ok {
			return when(strings.HasPrefix(link, prefix) && link != "")
		}
		return when(word == link)
	}
}

// option reads one option of iptables(8).
func (m *filterMatch) option() {
	p := &m.packet
	not := false
	word := m.next()
	if word == "!" {
		not, word = true, m.next()
	}
	is := map[string]comparison{
		"-s": addressIs(p.Src), "-d": addressIs(p.Dst), "-p": m.protocol, "-i": linkIs(p.In), "-o": linkIs(p.Out),
		"--dport": portIs(p.DstPort), "--sport": portIs(p.SrcPort), "--dports": portIs(p.DstPort), "--sports": portIs(p.SrcPort),
		"--ctstate": m.state, "--state": m.state,
	}[word]
	switch {
	case is != nil:
		m.and(either(strings.Split(m.next(), ","), is, not))
	case word == "--tcp-flags":
		mask, want := m.flagNames(), m.flagNames()
		m.and(when(hasFlags(p.flags(), mask, want) != not))
	case word == "-A" || word == "-m" || word == "--comment" || word == "--reject-with":
		m.next()
	case word == "-j" || word == "-g":
		m.target(m.next())
	case word == "--to-source" || word == "--to-destination":
		word = m.next()
		m.to, m.port = firstAddress(word), firstPort(word)
	case word == "--to-ports":
		m.port = firstPort(":" + m.next())
	case word != "":
		m.and(maybe)
	}
}

// goOn are the targets of iptables-extensions(8) after which the packet goes on with the next rule.
var goOn = []string{
	"LOG", "NFLOG", "MARK", "CONNMARK", "TCPMSS", "CT", "NOTRACK", "CHECKSUM", "CLASSIFY", "DSCP", "TOS", "TTL", "HL", "ECN", "SET", "AUDIT",
	"TRACE", "SECMARK", "CONNSECMARK", "RATEEST", "TEE", "LED", "IDLETIMER", "HMARK",
}

// target reads the target of a rule of iptables(8); only that of a translation has options that count.
func (m *filterMatch) target(name string) {
	m.action = natActions.Get()[name]
	m.end = fateOf(name)
	m.untracks = name == "NOTRACK" || name == "CT" && slices.Contains(m.words, "--notrack")
	if name == "MARK" {
		m.mark = xmark(m.packet.mark, after(m.words, "--set-xmark"))
	}
	switch {
	case m.action != "":
		m.end, m.known = fateAccept, name != "NETMAP"
		return
	case m.end == fateNone && !slices.Contains(goOn, name):
		m.jump = name
	}
	m.words = nil
}
