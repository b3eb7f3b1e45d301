package node

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// An IPsec is what the kernel encrypts, and what it refuses to send or receive in clear, ip-xfrm(8).
type IPsec struct {
	Policies     []IPsecPolicy      `json:"policies"`
	Associations []IPsecAssociation `json:"associations"` // known only if a policy needs one
}

// An IPsecPolicy blocks packets, passes them, or has them encrypted.
type IPsecPolicy struct {
	Direction string          `json:"direction"` // "in", "out" or "fwd"
	Block     bool            `json:"block,omitempty"`
	Src       netip.Prefix    `json:"src"`
	Dst       netip.Prefix    `json:"dst"`
	Protocol  int             `json:"protocol,omitempty"` // 0: any
	SrcPort   int             `json:"srcPort,omitempty"`
	DstPort   int             `json:"dstPort,omitempty"`
	Priority  uint32          `json:"priority"`       // the lowest decides
	Part      bool            `json:"part,omitempty"` // it is for packets with a mark, or of an interface, alone
	Needs     []IPsecTemplate `json:"needs,omitzero"` // associations; none: packets pass
}

// An IPsecTemplate is what an association must be like. What is zero may be anything.
type IPsecTemplate struct {
	Src      netip.Addr `json:"src,omitzero"` // of tunnels
	Dst      netip.Addr `json:"dst,omitzero"`
	Protocol int        `json:"protocol"` // 50: ESP
	SPI      uint32     `json:"spi,omitempty"`
	ReqID    uint32     `json:"reqid,omitempty"`
	Optional bool       `json:"optional,omitempty"`
}

// An IPsecAssociation is a security association, without its keys.
type IPsecAssociation struct {
	Src      netip.Addr `json:"src"`
	Dst      netip.Addr `json:"dst"`
	Protocol int        `json:"protocol"`
	SPI      uint32     `json:"spi"`
	ReqID    uint32     `json:"reqid,omitempty"`
}

// String is the policy as ip-xfrm(8) takes it.
func (p IPsecPolicy) String() string {
	s := "dir " + p.Direction + " src " + p.Src.String() + " dst " + p.Dst.String()
	if p.Protocol != 0 {
		s += " proto " + strconv.Itoa(p.Protocol)
	}
	if p.SrcPort != 0 {
		s += " sport " + strconv.Itoa(p.SrcPort)
	}
	if p.DstPort != 0 {
		s += " dport " + strconv.Itoa(p.DstPort)
	}
	if p.Block {
		s += " action block"
	}
	return s
}

// An IPsecVerdict is what the policies do with a packet.
type IPsecVerdict string

// Values of IPsecVerdict.
const (
	IPsecPasses   IPsecVerdict = "passes" // in clear
	IPsecBlocks   IPsecVerdict = "blocks"
	IPsecLacks    IPsecVerdict = "lacks"    // it must be encrypted, and there is no association
	IPsecEncrypts IPsecVerdict = "encrypts" // or decrypts
	IPsecUnsure   IPsecVerdict = "unsure"   // a policy for part of the packets may stop it
)

// Judge returns what the policies of a direction do with a packet, and which. A nil IPsec lets all pass.
func (s *IPsec) Judge(direction string, p FilterPacket) (IPsecVerdict, *IPsecPolicy) {
	if s == nil {
		return IPsecPasses, nil
	}
	var best *IPsecPolicy
	for i := range s.Policies {
		x := &s.Policies[i]
		if x.Direction == direction && x.matches(p) && (best == nil || x.Priority < best.Priority) {
			best = x
		}
	}
	switch {
	case best == nil:
		return IPsecPasses, nil
	case best.Part:
		return IPsecUnsure, best
	case best.Block:
		return IPsecBlocks, best
	}
	v := IPsecPasses
	for _, t := range best.Needs {
		switch {
		case slices.ContainsFunc(s.Associations, func(a IPsecAssociation) bool { return t.meets(a, p) }):
			v = IPsecEncrypts
		case !t.Optional:
			return IPsecLacks, best
		}
	}
	return v, best
}

// protocolNumbers are those of a FilterPacket's protocols, and of associations.
var protocolNumbers = lazy.Value[map[string]int]{Make: func() map[string]int {
	return map[string]int{"icmp": 1, "tcp": 6, "udp": 17, "esp": 50, "ah": 51, "icmpv6": 58, "ipv6-icmp": 58, "comp": 108, "sctp": 132}
}}

func (p *IPsecPolicy) matches(f FilterPacket) bool {
	return p.Src.Contains(f.Src) && p.Dst.Contains(f.Dst) && (p.Protocol == 0 || p.Protocol == protocolNumbers.Get()[f.Protocol]) &&
		(p.SrcPort == 0 || p.SrcPort == int(f.SrcPort)) && (p.DstPort == 0 || p.DstPort == int(f.DstPort))
}

// meets reports whether an association is what a template needs for a packet: of a tunnel, with its ends; else with the
// packet's.
func (t IPsecTemplate) meets(a IPsecAssociation, p FilterPacket) bool {
	src, dst := t.Src, t.Dst
	if !dst.IsValid() {
		src, dst = p.Src, p.Dst
	}
	return a.Dst == dst && (!src.IsValid() || a.Src == src) && a.Protocol == t.Protocol &&
		(t.SPI == 0 || t.SPI == a.SPI) && (t.ReqID == 0 || t.ReqID == a.ReqID)
}

func (s *IPsec) sort() {
	slices.SortStableFunc(s.Policies, func(a, b IPsecPolicy) int {
		return cmp.Or(strings.Compare(a.Direction, b.Direction), cmp.Compare(a.Priority, b.Priority), strings.Compare(a.String(), b.String()))
	})
	slices.SortFunc(s.Associations, func(a, b IPsecAssociation) int {
		return cmp.Or(a.Src.Compare(b.Src), a.Dst.Compare(b.Dst), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.SPI, b.SPI))
	})
}

// parseXfrm reads what ip(8) prints of policies and associations, without keys: a paragraph each, of pairs of words.
func parseXfrm(policies, states string) *IPsec {
	s := &IPsec{Policies: []IPsecPolicy{}, Associations: []IPsecAssociation{}}
	for _, words := range paragraphs(policies) {
		if p, ok := parsePolicy(words); ok {
			s.Policies = append(s.Policies, p)
		}
	}
	for _, words := range paragraphs(states) {
		v := pairs(words)
		a := IPsecAssociation{Protocol: protocolNumber(v["proto"]), SPI: number32(v["spi"]), ReqID: number32(v["reqid"])}
		a.Src, _ = netip.ParseAddr(v["src"])
		a.Dst, _ = netip.ParseAddr(v["dst"])
		s.Associations = append(s.Associations, a)
	}
	if !s.needed() {
		s.Associations = []IPsecAssociation{}
	}
	s.sort()
	return s
}

// needed reports whether a policy needs an association.
func (s *IPsec) needed() bool {
	return slices.ContainsFunc(s.Policies, func(p IPsecPolicy) bool { return len(p.Needs) > 0 })
}

func parsePolicy(words []string) (IPsecPolicy, bool) {
	var templates [][]string
	head := words
	for i := len(words) - 1; i >= 0; i-- {
		if words[i] == "tmpl" {
			templates = append(templates, words[i+1:])
			words = words[:i]
			head = words
		}
	}
	v := pairs(head)
	p := IPsecPolicy{
		Direction: v["dir"], Block: v["action"] == "block", Protocol: protocolNumber(v["proto"]),
		SrcPort: int(number32(v["sport"])), DstPort: int(number32(v["dport"])), Priority: number32(v["priority"]),
		Part: v["mark"] != "" || v["if_id"] != "" || v["dev"] != "",
	}
	var err, err2 error
	p.Src, err = netip.ParsePrefix(v["src"])
	p.Dst, err2 = netip.ParsePrefix(v["dst"])
	for _, words := range slices.Backward(templates) {
		v := pairs(words)
		t := IPsecTemplate{Protocol: protocolNumber(v["proto"]), SPI: number32(v["spi"]), ReqID: number32(v["reqid"]), Optional: v["level"] == "use"}
		t.Src, t.Dst = specific(v["src"]), specific(v["dst"])
		p.Needs = append(p.Needs, t)
	}
	return p, err == nil && err2 == nil && slices.Contains([]string{"in", "out", "fwd"}, p.Direction) && !slices.Contains(head, "socket")
}

// specific is an address unless it stands for any.
func specific(text string) netip.Addr {
	a, _ := netip.ParseAddr(text)
	if a.IsUnspecified() {
		return netip.Addr{}
	}
	return a
}

// paragraphs splits text into the words of its paragraphs, each of which begins with a line that is not indented.
func paragraphs(text string) [][]string {
	var all [][]string
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch indented := strings.HasPrefix(line, "\t") || strings.HasPrefix(line, " "); {
		case len(words) == 0:
		case !indented:
			all = append(all, words)
		case len(all) > 0:
			all[len(all)-1] = append(all[len(all)-1], words...)
		}
	}
	return all
}

// pairs are the first value of each word.
func pairs(words []string) map[string]string {
	v := map[string]string{}
	for i := 0; i+1 < len(words); i++ {
		if _, ok := v[words[i]]; !ok {
			v[words[i]] = words[i+1]
		}
	}
	return v
}

func protocolNumber(text string) int {
	if n, ok := protocolNumbers.Get()[text]; ok {
		return n
	}
	return int(number32(text))
}

// number32 is a decimal or hexadecimal number; 0 if it is none.
func number32(text string) uint32 {
	n, _ := strconv.ParseUint(text, 0, 32)
	return uint32(n)
}
