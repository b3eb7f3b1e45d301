package node

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A FilterPacket is a packet as a packet filter sees it.
type FilterPacket struct {
	Protocol         string // "tcp", "udp", "icmp", "icmpv6"
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	In, Out          string // interfaces; empty if there is none
	Established      bool   // it belongs to a known connection, else it starts one
}

// A FilterVerdict is what a packet filter does with a packet, as far as its rules are understood.
type FilterVerdict string

// Values of FilterVerdict.
const (
	FilterPasses  FilterVerdict = "passes"
	FilterDrops   FilterVerdict = "drops"
	FilterRejects FilterVerdict = "rejects"
	FilterUnsure  FilterVerdict = "unsure" // a rule that is not understood may drop it
)

// Filter takes a packet through the chains of a packet filter at some hooks. By says which chain and rule, or policy,
// drops it or may do so.
func Filter(chains []Chain, p FilterPacket, hooks ...string) (v FilterVerdict, by string) {
	v = FilterPasses
	for i := range chains {
		c := &chains[i]
		if !slices.Contains(hooks, c.Hook) || c.Type == "nat" || !c.sees(p) {
			continue
		}
		w := filterWalk{chains: chains, packet: p}
		end := w.chain(c, 0)
		if end == fateNone {
			end = fateOf(strings.ToLower(c.Policy))
			w.by = c.title() + ": policy " + strings.ToLower(c.Policy)
		}
		switch {
		case end.stops() && !w.mayPass:
			return map[fate]FilterVerdict{fateDrop: FilterDrops, fateReject: FilterRejects}[end], w.by
		case end.stops() || w.mayStop != "":
			v, by = FilterUnsure, cmp.Or(w.mayStop, w.by)
		}
	}
	return v, by
}

func (c *Chain) title() string { return strings.Join([]string{c.Family, c.Table, c.Name}, " ") }

// sees reports whether a packet passes a chain: those of its family and, of the family netdev, those of its interface.
func (c *Chain) sees(p FilterPacket) bool {
	if c.Family == "netdev" {
		return c.Device != "" && (c.Hook == "ingress" && c.Device == p.In || c.Hook == "egress" && c.Device == p.Out)
	}
	return c.Family == "inet" || c.Family == "ip" && p.Dst.Is4() || c.Family == "ip6" && p.Dst.Is6()
}

// A fate is what a rule or chain does with a packet.
type fate uint8

const (
	fateNone fate = iota // the next rule decides
	fateAccept
	fateDrop
	fateReject
	fateReturn
	fateUnknown
)

func (f fate) stops() bool { return f == fateDrop || f == fateReject }

func fateOf(word string) fate {
	switch word {
	case "accept", "ACCEPT":
		return fateAccept
	case "drop", "DROP":
		return fateDrop
	case "reject", "REJECT":
		return fateReject
	case "return", "RETURN":
		return fateReturn
	}
	return fateNone
}

type filterWalk struct {
	chains  []Chain
	packet  FilterPacket
	by      string // what decided
	mayPass bool   // a rule that is not understood may have accepted the packet
	mayStop string // a rule that is not understood and may have stopped it
}

// maxJumps bounds the chains that a packet passes one inside the other, as the kernel does.
const maxJumps = 16

func (w *filterWalk) chain(c *Chain, depth int) fate {
	if depth > maxJumps {
		w.mayPass = true
		return fateNone
	}
	for _, r := range c.Rules {
		m := filterMatch{packet: w.packet, legacy: c.Legacy, words: filterWords(r.Text)}
		m.run()
		if m.says == no {
			continue
		}
		by := c.title() + ": " + r.Text
		end := m.end
		if m.jump != "" {
			end = w.jump(c, &m, depth)
			by = w.by
		}
		switch {
		case m.says == maybe && (end == fateAccept || end == fateUnknown):
			w.mayPass = true
		case m.says == maybe && end.stops():
			w.mayStop = by
		case m.says == maybe:
		case end == fateUnknown:
			w.mayPass = true
		case end == fateReturn:
			return fateNone
		case end != fateNone:
			w.by = by
			return end
		}
	}
	return fateNone
}

func (w *filterWalk) jump(from *Chain, m *filterMatch, depth int) fate {
	i := slices.IndexFunc(w.chains, func(c Chain) bool {
		return c.Family == from.Family && c.Table == from.Table && c.Name == m.jump && c.Legacy == from.Legacy
	})
	if i < 0 {
		return fateUnknown
	}
	return w.chain(&w.chains[i], depth+1)
}

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
	words  []string
	says   tri
	end    fate
	jump   string
}

// filterWords splits a rule into words; quoted text and sets are one word each.
func filterWords(text string) []string {
	var words []string
	var word strings.Builder
	quoted, deep := false, 0
	for _, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
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
		case c != ' ':
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
	p := &m.packet
	switch word := m.next(); word {
	case "":
	case "ip", "ip6":
		m.header(word)
	case "meta":
		m.meta(m.next())
	case "iif", "iifname", "oif", "oifname":
		m.meta(word)
	case "tcp", "udp", "th", "sctp":
		if word != "th" && word != p.Protocol {
			m.and(no)
		}
		m.field(m.next(), map[string]func(string) tri{"dport": portIs(p.DstPort), "sport": portIs(p.SrcPort)})
	case "ct":
		m.field(m.next(), map[string]func(string) tri{"state": m.state})
	case "icmp", "icmpv6":
		if word != p.Protocol {
			m.and(no)
		}
		m.field(m.next(), nil)
	case "comment", "log":
		m.skipStatement(word)
	case "accept", "drop", "return", "reject":
		m.end, m.words = fateOf(word), nil
	case "jump", "goto":
		m.jump, m.words = m.next(), nil
	case "queue", "synproxy", "tproxy", "fwd", "dup":
		m.end, m.words = fateUnknown, nil
	default:
		m.and(maybe)
	}
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

// header reads a field of the IP header.
func (m *filterMatch) header(family string) {
	if (family == "ip6") != m.packet.Dst.Is6() {
		m.and(no)
	}
	m.field(m.next(), map[string]func(string) tri{
		"saddr": addressIs(m.packet.Src), "daddr": addressIs(m.packet.Dst), "protocol": m.protocol, "nexthdr": m.protocol,
	})
}

func (m *filterMatch) meta(key string) {
	m.field(key, map[string]func(string) tri{
		"l4proto": m.protocol, "iif": linkIs(m.packet.In), "iifname": linkIs(m.packet.In), "oif": linkIs(m.packet.Out), "oifname": linkIs(m.packet.Out),
		"nfproto": func(word string) tri { return when((word == "ipv6") == m.packet.Dst.Is6()) },
	})
}

// field reads a comparison with a value or a set of values.
func (m *filterMatch) field(key string, known map[string]func(string) tri) {
	value := m.next()
	not := value == "!="
	if not || value == "==" {
		value = m.next()
	}
	is, ok := known[key]
	if !ok || strings.HasPrefix(value, "@") || strings.Contains(value, ":") && strings.HasPrefix(value, "{") && key != "saddr" && key != "daddr" {
		m.and(maybe)
		return
	}
	m.and(either(strings.Split(strings.Trim(value, "{}"), ","), is, not))
}

// either reports whether one of the values fits.
func either(values []string, is func(string) tri, not bool) tri {
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

func (m *filterMatch) state(word string) tri {
	switch strings.ToLower(word) {
	case "new":
		return when(!m.packet.Established)
	case "established":
		return when(m.packet.Established)
	case "invalid", "related", "untracked":
		return no
	}
	return maybe
}

func addressIs(a netip.Addr) func(string) tri {
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

func portIs(port uint16) func(string) tri {
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

func linkIs(link string) func(string) tri {
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
	is := map[string]func(string) tri{
		"-s": addressIs(p.Src), "-d": addressIs(p.Dst), "-p": m.protocol, "-i": linkIs(p.In), "-o": linkIs(p.Out),
		"--dport": portIs(p.DstPort), "--sport": portIs(p.SrcPort), "--dports": portIs(p.DstPort), "--sports": portIs(p.SrcPort),
		"--ctstate": m.state, "--state": m.state,
	}[word]
	switch {
	case is != nil:
		m.and(either(strings.Split(m.next(), ","), is, not))
	case word == "-A" || word == "-m" || word == "--comment" || word == "--reject-with":
		m.next()
	case word == "-j" || word == "-g":
		target := m.next()
		if m.end = fateOf(target); m.end == fateNone && !slices.Contains([]string{"LOG", "MARK", "CONNMARK", "TCPMSS", "NFLOG", "CT", "NOTRACK"}, target) {
			m.jump = target
		}
		m.words = nil
	case word != "":
		m.and(maybe)
	}
}
