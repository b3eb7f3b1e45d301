package node

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// A FilterPacket is a packet as a packet filter sees it.
type FilterPacket struct {
	Protocol         string // "tcp", "udp", "icmp", "icmpv6"; "arp": Src and Dst are then the sender's and the target's address
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	SrcMAC, DstMAC   string // of its frame; empty if that is not known
	In, Out          string // interfaces; empty if there is none
	Established      bool   // it belongs to a known connection, else it starts one; of ARP, it is a reply

	tracking tracking
	mark     mark
}

// tracking says whether conntrack sees a packet.
type tracking uint8

const (
	tracked tracking = iota
	mayBeUntracked
	untracked
)

// A FilterVerdict is what a packet filter does with a packet, as far as its rules are understood.
type FilterVerdict string

// Values of FilterVerdict.
const (
	FilterPasses  FilterVerdict = "passes"
	FilterDrops   FilterVerdict = "drops"
	FilterRejects FilterVerdict = "rejects"
	FilterUnsure  FilterVerdict = "unsure" // a rule that is not understood may drop it
)

// Parts of the hooks at which packets are translated: the chains before that, by their priority, and those after.
const (
	BeforeNAT = ":before"
	AfterNAT  = ":after"
)

// Filter takes a packet through the chains of a packet filter at some hooks, or parts of hooks. By says which chain and rule,
// or policy, drops it or may do so.
func Filter(chains []Chain, p FilterPacket, hooks ...string) (v FilterVerdict, by string) {
	return p.Pass(chains, hooks...)
}

// Pass is [Filter] for a packet that goes on to other hooks: whether conntrack sees it stays with it.
func (p *FilterPacket) Pass(chains []Chain, hooks ...string) (v FilterVerdict, by string) {
	v = FilterPasses
	for _, c := range p.bases(chains, hooks, func(c *Chain) bool { return c.Type != "nat" }) {
		w := filterWalk{chains: chains, packet: *p}
		end := w.chain(c, 0)
		p.tracking = w.packet.tracking
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

// bases returns those base chains at some hooks that a packet passes, in their order.
func (p *FilterPacket) bases(chains []Chain, hooks []string, which func(*Chain) bool) []*Chain {
	var bases []*Chain
	at := map[*Chain]int{}
	for i, hook := range hooks {
		name, whole := hook, true
		before := strings.HasSuffix(hook, BeforeNAT)
		if before || strings.HasSuffix(hook, AfterNAT) {
			name, _, _ = strings.Cut(hook, ":")
			whole = false
		}
		for j := range chains {
			c := &chains[j]
			if c.Hook == name && which(c) && c.sees(*p) && (whole || before == (c.order() < natPriority(name))) {
				bases, at[c] = append(bases, c), i
			}
		}
	}
	slices.SortStableFunc(bases, func(a, b *Chain) int { return cmp.Or(at[a]-at[b], cmp.Compare(a.order(), b.order())) })
	return bases
}

func (c *Chain) title() string { return strings.Join([]string{c.Family, c.Table, c.Name}, " ") }

// sees reports whether a packet passes a chain: those of its family and, of the family netdev, those of its interface.
func (c *Chain) sees(p FilterPacket) bool {
	if c.Family == "netdev" {
		return c.Device != "" && (c.Hook == "ingress" && c.Device == p.In || c.Hook == "egress" && c.Device == p.Out)
	}
	if p.Protocol == "arp" {
		return c.Family == "arp"
	}
	return c.Family == "inet" || c.Family == "ip" && p.Dst.Is4() || c.Family == "ip6" && p.Dst.Is6()
}

// etherType returns the packet's, by its name in nft(8).
func (p FilterPacket) etherType() string {
	switch {
	case p.Protocol == "arp":
		return "arp"
	case p.Dst.Is6():
		return "ip6"
	}
	return "ip"
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
	by      string       // what decided
	mayPass bool         // a rule that is not understood may have accepted the packet
	mayStop string       // a rule that is not understood and may have stopped it
	wants   []string     // translations to look for
	found   *Translation // the first of them
	unsure  bool         // a condition that is not understood has decided which it is
}

// maxJumps bounds the chains that a packet passes one inside the other, as the kernel does.
const maxJumps = 16

func (w *filterWalk) chain(c *Chain, depth int) fate {
	if depth > maxJumps {
		w.mayPass = true
		return fateNone
	}
	for _, r := range c.Rules {
		m := filterMatch{packet: w.packet, legacy: c.Legacy, sets: c.Sets, words: filterWords(r.Text)}
		m.run()
		if m.says == no {
			continue
		}
		w.unsure = w.unsure || m.says == maybe && (m.end != fateNone || m.jump != "")
		switch {
		case m.untracks && m.says == yes:
			w.packet.tracking = untracked
		case m.untracks && w.packet.tracking == tracked:
			w.packet.tracking = mayBeUntracked
		}
		if m.mark.set {
			m.mark.unsure = m.mark.unsure || m.says == maybe
			w.packet.mark = m.mark
		}
		by := c.title() + ": " + r.Text
		end := m.end
		if m.jump != "" {
			if end = w.jump(c, &m, depth); end != fateUnknown {
				by = w.by
			}
		}
		w.unsure = w.unsure || end == fateUnknown
		if w.found == nil && slices.Contains(w.wants, m.action) {
			w.found = &Translation{Action: m.action, Rule: r.Text, Chain: c.title(), To: m.to, Port: m.port, Sure: !w.unsure && m.known}
		}
		if w.found != nil {
			return fateAccept
		}
		switch {
		case end == fateUnknown:
			w.mayPass, w.mayStop = true, by
		case m.says == maybe && end == fateAccept:
			w.mayPass = true
		case m.says == maybe && end.stops():
			w.mayStop = by
		case m.says == maybe:
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
