package ofctl

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Packet types of headers.
const (
	typeNSH     = 1<<16 | packet.EthNSH
	typeMPLS    = 1<<16 | packet.EthMPLS
	typeMPLSAny = 1<<16 | packet.EthMPLSMulticast
	typeUnknown = 1<<32 - 1
)

// headers are what encap adds, with the packet types that result.
var headers = lazy.Value[map[string]uint64]{Make: func() map[string]uint64 {
	return map[string]uint64{"ethernet": 0, "nsh": typeNSH, "mpls": typeMPLS, "mpls_mc": typeMPLSAny}
}}

func (r *reader) encap(a *action) *Error {
	r.later = true
	words := args(a.value, a.valueAt)
	if len(words) == 0 {
		return a.fault("Missing encap hdr: %s", a.value)
	}
	header := words[0]
	kind, ok := headers.Get()[header.key]
	if !ok {
		return header.fault("Encap hdr not supported: %s", header.value)
	}
	for _, w := range args(header.value, header.valueAt) {
		if !slices.Contains([]string{"md_type", "tlv"}, w.key) || header.key != "nsh" {
			return w.fault("Invalid property: %s", w.key)
		}
		if err := nshProperty(w); err != nil {
			return err
		}
	}
	a.check = func(s *state, _ arg) *Error {
		s.flow.SetUint("packet_type", kind)
		if kind>>16 == 1 {
			s.flow.SetUint("eth_type", kind&0xffff)
		}
		if !s.has(packet.NeedsIP) {
			s.flow.SetUint("nw_proto", 0)
		}
		return nil
	}
	return nil
}

func nshProperty(w arg) *Error {
	if w.key == "md_type" {
		n, err := w.small("md_type", 8)
		if err == nil && n != 1 && n != 2 {
			err = w.bad("invalid md_type")
		}
		return err
	}
	var class, kind uint64
	c := scan(w.value).lit("0x").num(16, 16, &class).lit(",").num(10, 8, &kind).lit(",0x")
	if !c.ok || c.text == "" || hexDigit(c.text[0]) < 0 {
		return w.bad("Invalid NSH TLV header: %s", w.value)
	}
	return nil
}

func decap(_ *reader, a *action) *Error {
	words := args(a.value, a.valueAt)
	a.write("()")
	if len(words) > 0 {
		a.text = a.String()
		if words[0].key != "packet_type" {
			return words[0].fault("Invalid decap argument: %s", words[0].key)
		}
		if err := packetTypeOf(words[0]); err != nil {
			return err
		}
	}
	a.check = func(s *state, _ arg) *Error {
		if s.flow.Uint("packet_type") == 0 {
			s.flow.SetUint("packet_type", 1<<16|s.flow.Uint("eth_type"))
			return nil
		}
		s.flow.SetUint("packet_type", typeUnknown) // which it is shows only then
		s.flow.SetUint("eth_type", 0xffff)
		return nil
	}
	return nil
}

// packetTypeOf reads packet_type(ns=N,type=N).
func packetTypeOf(w arg) *Error {
	words := args(w.value, w.valueAt)
	for i, name := range []string{"ns", "type"} {
		if i >= len(words) || words[i].key != name {
			return w.fault("Missing packet_type attribute %s", name)
		}
		n, err := words[i].small(name, 16)
		if err != nil {
			return err
		}
		if name == "ns" && n > 1 {
			return words[i].bad("Unsupported ns value: %s", strings.TrimSpace(words[i].value))
		}
	}
	return nil
}
