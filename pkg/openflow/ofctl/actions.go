package ofctl

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// An action is what is known of an action when its text was read.
type action struct {
	arg
	text   string                       // as package openflow reads it
	name   string                       // as ovs-ofctl calls it in messages
	kind   instruction                  // what of a flow it belongs to
	writes *packet.Field                // by set_field, load or move
	check  func(s *state, a arg) *Error // against the match; may be nil
}

// An instruction is a part of a flow's actions, in the order in which OpenFlow 1.1 and later execute them.
type instruction int

const (
	meterFirst instruction = iota
	applyActions
	clearActions
	writeActions
	writeMetadata
	gotoTable
)

func (i instruction) String() string {
	return [...]string{"meter", "apply_actions", "clear_actions", "write_actions", "write_metadata", "goto_table"}[i]
}

// instructions is what a flow is around its actions; an action around others has its own name.
const instructions = ""

// maxDepth is how deeply actions may nest.
const maxDepth = 100

// others are names of actions that are not what messages call them.
var others = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"mod_vlan_vid": "set_vlan_vid", "mod_vlan_pcp": "set_vlan_pcp", "set_nw_ttl": "mod_nw_ttl", "pop_vlan": "strip_vlan",
		"set_tunnel64": "set_tunnel", "load": "set_field", "bundle_load": "bundle",
	}
}}

// texts is a list of actions as package openflow reads it.
func texts(list []action) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = a.text
	}
	return cmp.Or(strings.Join(words, ","), "drop")
}

// write sets the action's text.
func (a *action) write(format string, args ...any) {
	a.text = strings.ToLower(a.key) + fmt.Sprintf(format, args...)
}

// actions reads a list of actions inside of another action, or of a flow.
func (r *reader) actions(words []arg, outer string) ([]action, *Error) {
	if r.depth++; r.depth > maxDepth {
		return nil, &Error{Msg: "Action nested too deeply"}
	}
	defer func() { r.depth-- }()
	var list []action
	var drop *arg
	for _, w := range words {
		a, err := r.action(w)
		if err != nil {
			return nil, err
		}
		if a.name == "drop" {
			drop = &w
			continue
		}
		list = append(list, a)
	}
	if drop != nil && len(list) > 0 {
		return nil, drop.fault(`"drop" must not be accompanied by any other action or instruction`)
	}
	return list, verify(list, outer)
}

// action reads one action.
func (r *reader) action(w arg) (action, *Error) {
	name := strings.ToLower(w.key)
	a := action{arg: w, text: w.String(), name: name, kind: applyActions}
	if other, ok := others.Get()[name]; ok {
		a.name = other
	}
	if read, ok := readers.Get()[name]; ok {
		return a, read(r, &a)
	}
	if free(name) {
		a.write("")
		return a, nil
	}
	switch name {
	case "drop":
		return a, nil
	case "apply_actions":
		return a, w.fault("apply_actions is the default instruction")
	case "unroll_xlate":
		return a, w.fault("UNROLL is an internal action that shouldn't be used via OpenFlow")
	}
	if port, ok := r.port(w.key); ok {
		a.name, a.text, a.check = "output", "output:"+r.portText(w.key, port), outputs(port)
		return a, nil
	}
	return a, w.fault("unknown action %s", w.key)
}

// free reports whether any packet can have an action, whose arguments are ignored.
func free(action string) bool {
	switch action {
	case "pop_queue", "exit", "debug_recirc", "debug_slow", "ct_clear":
		return true
	}
	return false
}

// verify checks the order of actions, and what may be inside of what.
func verify(list []action, outer string) *Error {
	for i, a := range list {
		if a.name == "conjunction" {
			for _, b := range list {
				if b.name != "conjunction" && b.name != "note" {
					return b.fault(`"conjunction" actions may be used along with "note" but not any other kind of action (such as the %q action used here)`, b.name)
				}
			}
			return nil
		}
		if err := a.nest(outer); err != nil {
			return err
		}
		if i == 0 {
			continue
		}
		before := list[i-1].kind
		switch {
		case a.kind == before && before != applyActions:
			return a.fault("duplicate %s instruction not allowed, for OpenFlow 1.1+ compatibility", before)
		case a.kind < before:
			return a.fault("invalid instruction ordering: %s must appear before %s, for OpenFlow 1.1+ compatibility", a.kind, before)
		}
	}
	if outer != instructions {
		for _, a := range list {
			if a.kind > applyActions {
				return a.fault("%s instruction not allowed here", a.kind)
			}
		}
	}
	return nil
}

// nest checks an action inside of another.
func (a action) nest(outer string) *Error {
	tracks := a.writes != nil && (a.writes.Name == "ct_mark" || a.writes.Name == "ct_label")
	switch {
	case tracks && outer != "ct":
		return a.fault("cannot set CT fields outside of ct action")
	case a.name == "nat" && outer != "ct":
		return a.fault(`Cannot have NAT action outside of "ct" action`)
	case a.name == "nat":
		return nil
	case outer == "ct" && a.writes == nil, outer != instructions && a.name == "meter":
		return a.fault("%s action doesn't support nested action %s", outer, a.name)
	case outer == "ct" && !tracks:
		return a.fault("%s action doesn't support nested modification of %s", outer, a.writes.Name)
	}
	return nil
}

// readers read the arguments of actions.
var readers lazy.Value[map[string]func(r *reader, a *action) *Error]

func init() { readers.Make = makeReaders } // some of them need readers

func makeReaders() map[string]func(r *reader, a *action) *Error {
	return map[string]func(r *reader, a *action) *Error{
		"output": (*reader).output, "output_reg": (*reader).output,
		"output_trunc": func(_ *reader, a *action) *Error { return a.fault("unknown action %s", a.value) },
		"controller":   (*reader).controller,
		"enqueue":      (*reader).enqueue,
		"group":        numbered(arg.word), "set_queue": numbered(arg.word), "set_tunnel": numbered(arg.number), "set_tunnel64": numbered(arg.number),
		"bundle": (*reader).bundle, "bundle_load": (*reader).bundle, "multipath": (*reader).multipath,
		"set_vlan_vid": vlan("VLAN VID", 12), "mod_vlan_vid": vlan("VLAN VID", 12),
		"set_vlan_pcp": vlan("VLAN PCP", 3), "mod_vlan_pcp": vlan("VLAN PCP", 3),
		"strip_vlan": checked(popsVLAN), "pop_vlan": checked(popsVLAN), "push_vlan": (*reader).pushVLAN,
		"mod_dl_src": hardware, "mod_dl_dst": hardware, "mod_nw_src": network, "mod_nw_dst": network,
		"mod_nw_tos": bounded("TOS", 8, 0xfc, needs(packet.NeedsIP)), "mod_nw_ecn": bounded("ECN", 8, 3, needs(packet.NeedsIP)),
		"mod_nw_ttl": bounded("TTL", 8, 0xff, needs(packet.NeedsIP)), "set_nw_ttl": bounded("TTL", 8, 0xff, needs(packet.NeedsIP)),
		"mod_tp_src": bounded("source port", 16, 0xffff, needsPorts), "mod_tp_dst": bounded("destination port", 16, 0xffff, needsPorts),
		"set_field": (*reader).setField, "load": load, "move": move, "push": stack(false), "pop": stack(true),
		"dec_ttl": decTTL, "dec_mpls_ttl": checked(needs(packet.NeedsMPLS)), "dec_nsh_ttl": checked(needs(packet.NeedsNSH)),
		"set_mpls_label": label, "set_mpls_tc": expected("tc", bounded("MPLS TC", 8, 7, needs(packet.NeedsMPLS))),
		"set_mpls_ttl": expected("ttl", bounded("MPLS TTL", 8, 0xff, needs(packet.NeedsMPLS))),
		"push_mpls":    mplsType(pushesMPLS), "pop_mpls": mplsType(popsMPLS),
		"delete_field": deleteField, "fin_timeout": finTimeout, "resubmit": (*reader).resubmit, "learn": (*reader).learn,
		"conjunction": conjunction, "note": note, "sample": (*reader).sample, "encap": (*reader).encap, "decap": decap,
		"check_pkt_larger": checkPktLarger, "clone": (*reader).clone, "ct": (*reader).ct, "nat": nat,
		"meter": (*reader).meter, "clear_actions": func(_ *reader, a *action) *Error { a.kind = clearActions; return nil },
		"write_actions": (*reader).writeActions, "write_metadata": writesMetadata, "goto_table": (*reader).gotoTable,
	}
}

func checked(check func(*state, arg) *Error) func(*reader, *action) *Error {
	return func(_ *reader, a *action) *Error {
		a.check = check
		a.write("")
		return nil
	}
}

// numbered reads an action whose argument is a number that needs no check.
func numbered(read func(arg) (uint64, *Error)) func(*reader, *action) *Error {
	return func(_ *reader, a *action) *Error {
		n, err := read(a.arg)
		a.write(":%d", n)
		return err
	}
}

// bounded reads a small number with only some bits.
func bounded(name string, width int, bits uint64, check func(*state, arg) *Error) func(*reader, *action) *Error {
	return func(_ *reader, a *action) *Error {
		n, err := a.small(name, width)
		if err == nil && n&^bits != 0 {
			err = a.bad("%s: not a valid %s", a.value, name)
		}
		a.check = check
		a.write(":%d", n)
		return err
	}
}

// expected refuses an action without its argument.
func expected(what string, read func(*reader, *action) *Error) func(*reader, *action) *Error {
	return func(r *reader, a *action) *Error {
		if a.value == "" {
			return a.fault("%s: expected %s.", a.name, what)
		}
		return read(r, a)
	}
}

func vlan(name string, bits int) func(*reader, *action) *Error {
	width := 16
	if bits < 8 {
		width = 8
	}
	return func(r *reader, a *action) *Error {
		pushes := strings.EqualFold(a.key, "mod_vlan_vid") || strings.EqualFold(a.key, "mod_vlan_pcp")
		return bounded(name, width, 1<<bits-1, func(s *state, a arg) *Error {
			if s.tag() == 0 && !pushes {
				s.mismatch(a)
			}
			s.setTag(tagged)
			return nil
		})(r, a)
	}
}

func (r *reader) pushVLAN(a *action) *Error {
	r.later = true
	n, err := a.small("ethertype", 16)
	if err == nil && n != 0x8100 && n != 0x88a8 {
		err = a.bad("%s: not a valid VLAN ethertype", a.value)
	}
	a.check = pushesVLAN
	a.write(":%#x", n)
	return err
}

func hardware(_ *reader, a *action) *Error {
	var v packet.Value
	if !scan(a.value).mac(&v).ok {
		return a.bad("invalid mac address %s", a.value)
	}
	a.write(":%s", packet.EthSrc.Print(v))
	return nil
}

func network(_ *reader, a *action) *Error {
	if address, err := netip.ParseAddr(a.value); err != nil || !address.Is4() {
		return a.bad("%s: could not convert to IP address", a.value)
	}
	a.check = needs(packet.NeedsIPv4)
	a.write(":%s", a.value)
	return nil
}

// split splits VALUE->FIELD.
func (a arg) split() (value string, field arg, err *Error) {
	value, name, ok := strings.Cut(a.value, "->")
	if !ok {
		return "", arg{}, a.bad("%s: missing `->'", a.value)
	}
	if name == "" {
		return "", arg{}, a.bad("%s: missing field name following `->'", a.value)
	}
	return value, arg{key: name, at: a.valueAt + len(value) + 2}, nil
}

func (r *reader) setField(a *action) *Error {
	value, name, err := a.split()
	if err != nil {
		return err
	}
	f, ok := field(name.key)
	if !ok {
		return name.fault("%s is not a valid OXM field name", name.key)
	}
	if f.ReadOnly {
		return name.fault("%s is read-only", name.key)
	}
	v, mask, err := r.value(f, value, arg{key: a.key, value: value, at: a.at, valueAt: a.valueAt})
	if err != nil {
		return err
	}
	if !valid(f, v) {
		return a.bad("%s is not a valid value for field %s", value, name.key)
	}
	a.writes, a.check = f, setsField(f, v)
	text := f.PrintMasked(v, mask.And(f.Mask()))
	if name := r.portName(value); f.Format == packet.Port && name != "" {
		text = packet.QuoteName(name)
	}
	a.write(":%s->%s", text, f.Name)
	return nil
}

// valid reports whether a packet can have the value.
func valid(f *packet.Field, v packet.Value) bool {
	switch f.Name {
	case "nw_tos":
		return v.Lo&3 == 0
	case "arp_op":
		return v.BitLen() <= 8
	case "nsh_ttl":
		return v.BitLen() <= 6
	case "actset_output", "in_port_oxm":
		return true
	}
	return f.IsOption() || v.BitLen() <= f.Bits
}

func load(_ *reader, a *action) *Error {
	value, name, err := a.split()
	if err != nil {
		return err
	}
	p, err := parsePart(name.key, name.at)
	if err != nil {
		return err
	}
	v, read, ok := p.fits(value, false)
	if !read {
		return a.bad("%s: cannot parse integer value", a.value)
	}
	if !ok {
		return a.bad("%s: value %s does not fit into %d bits", a.value, p.Print(v), p.bits)
	}
	a.writes, a.check = p.Field, setsField(p.Field, v.Shl(p.lo))
	a.write(":%s->%s", v.Hex(), p)
	return nil
}

func move(_ *reader, a *action) *Error {
	src, dst, err := parseMove(a.arg)
	a.write(":%s->%s", src, dst)
	a.writes, a.check = dst.Field, func(s *state, a arg) *Error {
		if err := s.source(src, a); err != nil {
			return err
		}
		return s.destination(dst, a)
	}
	return err
}

// parseMove reads FIELD->FIELD.
func parseMove(a arg) (src, dst part, err *Error) {
	src, rest, err := leadingPart(a.value, a.valueAt)
	if err != nil {
		return src, dst, err
	}
	to, ok := strings.CutPrefix(rest, "->")
	if !ok {
		return src, dst, a.bad("%s: missing `->' following source", a.value)
	}
	if dst, err = parsePart(to, a.valueAt+len(a.value)-len(to)); err == nil && src.bits != dst.bits {
		err = a.bad("%s: source field is %d bits wide but destination is %d bits wide", a.value, src.bits, dst.bits)
	}
	return src, dst, err
}

func stack(pops bool) func(*reader, *action) *Error {
	return func(_ *reader, a *action) *Error {
		p, rest, err := leadingPart(a.value, a.valueAt)
		if err == nil && rest != "" {
			err = a.bad("%s: trailing garbage following push or pop", rest)
		}
		a.write(":%s", p)
		a.check = func(s *state, a arg) *Error {
			if pops {
				return s.destination(p, a)
			}
			return s.source(p, a)
		}
		return err
	}
}

func decTTL(_ *reader, a *action) *Error {
	a.check = needs(packet.NeedsIP)
	if a.value == "" {
		a.write("")
		return nil
	}
	var ids []string
	for _, word := range a.tokens(", ") {
		ids = append(ids, fmt.Sprint(uint16(leading(word))))
	}
	if len(ids) == 0 {
		return a.fault("dec_ttl_cnt_ids: expected at least one controller id.")
	}
	a.write("(%s)", strings.Join(ids, ","))
	return nil
}

func label(r *reader, a *action) *Error {
	if a.value == "" {
		return a.fault("set_mpls_label: expected label.")
	}
	n, err := a.word()
	if err == nil && n&^0xfffff != 0 {
		err = a.bad("%s: not a valid MPLS label", a.value)
	}
	a.check = needs(packet.NeedsMPLS)
	a.write(":%d", n)
	return err
}

func mplsType(check func(*state, arg, uint64)) func(*reader, *action) *Error {
	return func(_ *reader, a *action) *Error {
		kind, err := a.small(a.name, 16)
		a.check = func(s *state, a arg) *Error {
			check(s, a, kind)
			return nil
		}
		a.write(":0x%04x", kind)
		return err
	}
}

func deleteField(_ *reader, a *action) *Error {
	f, ok := anyField(a.value)
	if !ok {
		return a.bad("unknown field `%s'", a.value)
	}
	a.check = func(_ *state, a arg) *Error {
		if !f.IsOption() {
			return a.invalid(badArgument, "only tunnel options can be deleted")
		}
		return nil
	}
	return nil
}

func finTimeout(_ *reader, a *action) *Error {
	a.check = func(s *state, a arg) *Error {
		if s.flow.Uint("nw_proto") != packet.ProtoTCP {
			s.mismatch(a)
		}
		return nil
	}
	for _, w := range args(a.value, a.valueAt) {
		if w.key != "idle_timeout" && w.key != "hard_timeout" {
			return w.fault("invalid key '%s' in 'fin_timeout' argument", w.key)
		}
		if _, err := w.small(w.key, 16); err != nil {
			return err
		}
	}
	return nil
}

func conjunction(_ *reader, a *action) *Error {
	var id, clause, n uint64
	c := scan(a.value).num(0, 32, &id).blank().lit(",").blank().num(10, 8, &clause).blank().lit("/").blank().num(10, 8, &n).blank()
	switch {
	case !c.done():
		return a.bad(`"conjunction" syntax is "conjunction(id,i/n)"`)
	case n < 2:
		return a.bad("conjunction must have at least 2 clauses")
	case n > 64:
		return a.bad("conjunction must have at most 64 clauses")
	case clause < 1:
		return a.bad("clause index must be positive")
	case clause > n:
		return a.bad("clause index must be less than or equal to number of clauses")
	}
	a.write("(%d,%d/%d)", id, clause, n)
	return nil
}

// hexBytes reads pairs of hexadecimal digits, with dots or white space between them.
func hexBytes(s string) (b []byte, ok bool) {
	for {
		s = strings.TrimLeft(s, "."+space)
		if s == "" {
			return b, true
		}
		pair, err := hex.DecodeString(s[:min(2, len(s))])
		if err != nil {
			return nil, false
		}
		b, s = append(b, pair...), s[2:]
	}
}

func note(_ *reader, a *action) *Error {
	b, ok := hexBytes(a.value)
	if !ok {
		return a.bad("bad hex digit in `note' argument")
	}
	const first, more = 6, 8 // how many bytes an action has room for
	n := first
	for n < len(b) {
		n += more
	}
	a.write(":%x", append(b, make([]byte, n-len(b))...))
	return nil
}

func checkPktLarger(_ *reader, a *action) *Error {
	value, name, err := a.split()
	if err != nil {
		return err
	}
	p, err := parsePart(name.key, name.at)
	if err != nil {
		return err
	}
	if p.bits != 1 {
		return name.fault("Only 1-bit destination field is allowed")
	}
	n, err := arg{key: a.key, value: strings.TrimSuffix(value, ")"), at: a.at, valueAt: a.valueAt}.small("(null)", 16)
	a.write("(%d)->%s", n, p)
	return err
}

func (r *reader) clone(a *action) *Error {
	r.later = false
	list, err := r.actions(args(a.value, a.valueAt), "clone")
	a.write("(%s)", texts(list))
	a.check = func(s *state, _ arg) *Error { return s.inside(list) }
	return err
}

func (r *reader) writeActions(a *action) *Error {
	a.kind = writeActions
	list, err := r.actions(args(a.value, a.valueAt), "write_actions")
	a.write("(%s)", texts(list))
	a.check = func(s *state, _ arg) *Error {
		before := s.inconsistent
		err := s.inside(list)
		s.inconsistent = before // whether a set of actions is consistent shows only later
		return err
	}
	return err
}

func writesMetadata(_ *reader, a *action) *Error {
	a.kind = writeMetadata
	value, mask, masked := strings.Cut(a.value, "/")
	bits := ^uint64(0)
	if masked {
		var err *Error
		if bits, err = (arg{key: a.key, value: mask, at: a.at, valueAt: a.valueAt + len(value) + 1}).number(); err != nil {
			return err
		}
	}
	n, err := arg{key: a.key, value: value, at: a.at, valueAt: a.valueAt}.number()
	a.write(":%#x/%#x", n, bits)
	return err
}

func (r *reader) gotoTable(a *action) *Error {
	a.kind = gotoTable
	table, ok := r.tableNumber(a.value)
	if !ok {
		return a.bad("unknown table %q", a.value)
	}
	a.write(":%s", r.tableText(a.value, table))
	a.check = func(s *state, a arg) *Error {
		if s.table != anyTable && table <= s.table {
			return a.invalid("OFPBIC_BAD_TABLE_ID", "goto_table leads to later tables only")
		}
		return nil
	}
	return nil
}

func (r *reader) meter(a *action) *Error {
	a.kind, r.later = meterFirst, true
	n, err := a.word()
	a.write(":%d", n)
	a.check = func(_ *state, a arg) *Error {
		if n == 0 || n > 0xffff0000 {
			return a.invalid("OFPMMFC_INVALID_METER", "meters have numbers from 1 to 0xffff0000")
		}
		return nil
	}
	return err
}
