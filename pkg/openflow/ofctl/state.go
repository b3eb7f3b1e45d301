package ofctl

import "github.com/ovnctl/ovnctl/pkg/packet"

// A state is what is known of a packet between a flow's actions.
type state struct {
	match
	table        uint64
	newer        bool
	inconsistent *arg // the first action that only OpenFlow 1.0 lets pass with this match
}

func newState(r *reader) *state {
	return &state{match: r.match, table: r.table, newer: r.newer || r.later}
}

// run checks a list of actions one after the other.
func (s *state) run(list []action) *Error {
	for _, a := range list {
		if a.check == nil {
			continue
		}
		if err := a.check(s, a.arg); err != nil {
			return err
		}
	}
	return nil
}

// inside checks actions inside of another: what they do to the packet is undone.
func (s *state) inside(list []action) *Error {
	before := s.flow
	defer func() { s.flow = before }()
	return s.run(list)
}

// mismatch notes an action that does not go with the match, which OpenFlow 1.0 allows.
func (s *state) mismatch(a arg) {
	if s.inconsistent == nil {
		s.inconsistent = &a
	}
}

// kind is the packet's Ethernet type, also where there is no Ethernet header.
func (s *state) kind() uint64 {
	switch kind := s.flow.Uint("packet_type"); {
	case kind == 0:
		return s.flow.Uint("eth_type")
	case kind>>16 == 1:
		return kind & 0xffff
	}
	return 0
}

// has reports whether packets are sure to have the field.
func (s *state) has(need packet.Prereq) bool {
	if need == packet.NeedsCT {
		return s.tracked()
	}
	p := s.flow
	if kind := p.Uint("packet_type"); kind != 0 {
		if need == packet.NeedsEthernet {
			return false
		}
		p.SetUint("eth_type", s.kind())
	}
	if need == packet.NeedsICMPv4 || need == packet.NeedsICMPv6 || need == packet.NeedsND {
		p.SetUint("ip_frag", 0) // these do not exclude later fragments
	}
	return p.Meets(need)
}

// tracked reports whether the match asks for a state that only valid connections have.
func (s *state) tracked() bool {
	const valid, tracked, invalid = 0x01 | 0x02 | 0x04 | 0x08 | 0x40 | 0x80, 0x20, 0x10
	flags, mask := s.flow.Uint("ct_state"), s.mask.Uint("ct_state")
	return flags&valid != 0 || flags&tracked != 0 && mask&invalid != 0 && flags&invalid == 0
}

// needs refuses an action where packets may lack what it changes, if not by OpenFlow 1.0.
func needs(need packet.Prereq) func(*state, arg) *Error {
	return func(s *state, a arg) *Error {
		if !s.has(need) {
			s.mismatch(a)
		}
		return nil
	}
}

// needsPorts is needs for the ports of TCP, UDP and SCTP.
func needsPorts(s *state, a arg) *Error {
	if !s.has(packet.NeedsTCP) && !s.has(packet.NeedsUDP) && !s.has(packet.NeedsSCTP) {
		s.mismatch(a)
	}
	return nil
}

// source checks bits that an action reads.
func (s *state) source(p part, a arg) *Error { return s.touches("source", p, a) }

// destination checks bits that an action writes.
func (s *state) destination(p part, a arg) *Error {
	if err := s.touches("destination", p, a); err != nil {
		return err
	}
	if p.ReadOnly {
		return a.invalid(badSet, "destination field %s is not writable", p.Name)
	}
	return nil
}

func (s *state) touches(what string, p part, a arg) *Error {
	if !s.has(p.Needs) {
		return a.invalid(inconsistent, "%s field %s lacks correct prerequisites", what, p.Name)
	}
	return nil
}

// setsField checks what set_field and load write.
func setsField(f *packet.Field, v packet.Value) func(*state, arg) *Error {
	return func(s *state, a arg) *Error {
		if !s.has(f.Needs) || f.Name == "vlan_vid" && s.tag() == 0 {
			return a.invalid(inconsistent, "set_field %s lacks correct prerequisites", f.Name)
		}
		if f.Name == "vlan_tci" {
			s.setTag(v.Lo)
		}
		return nil
	}
}

// tagged is the bit of a tag that is there.
const tagged = 0x1000

func (s *state) tag() uint64 { return s.flow.Uint("vlan_tci") & tagged }

func (s *state) setTag(tci uint64) { s.flow.SetUint("vlan_tci", tci) }

func popsVLAN(s *state, a arg) *Error {
	if s.tag() == 0 {
		s.mismatch(a)
	}
	s.setTag(s.flow.Uint("vlan_tci1"))
	s.flow.SetUint("vlan_tci1", 0)
	return nil
}

func pushesVLAN(s *state, a arg) *Error {
	if s.flow.Uint("vlan_tci1")&tagged != 0 {
		return a.invalid("OFPBAC_BAD_TAG", "more tags than Open vSwitch supports")
	}
	s.flow.SetUint("vlan_tci1", s.flow.Uint("vlan_tci"))
	s.setTag(tagged)
	return nil
}

func pushesMPLS(s *state, a arg, kind uint64) {
	if s.flow.Uint("packet_type") != 0 {
		s.mismatch(a)
	}
	s.flow.SetUint("eth_type", kind)
	s.flow.SetUint("nw_proto", 0)
}

func popsMPLS(s *state, a arg, kind uint64) {
	if s.flow.Uint("packet_type") != 0 || !s.has(packet.NeedsMPLS) {
		s.mismatch(a)
	}
	s.flow.SetUint("eth_type", kind)
}
