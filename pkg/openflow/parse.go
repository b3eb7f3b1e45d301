package openflow

import (
	"cmp"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// ParseActions parses an action list as printed by ovs-ofctl(8). Actions of later versions are kept as Other; what
// cannot be read at all is a [*SyntaxError] with its offset.
func ParseActions(s string) (Actions, error) {
	if len(s) > maxActions {
		return nil, &SyntaxError{Text: s, Msg: "list of actions too long"}
	}
	actions, err := parseActions(s, 0, 0)
	return actions, in(err, s)
}

// ParseAction reads a single action.
func ParseAction(s string) (Action, error) {
	actions, err := ParseActions(s)
	if err != nil {
		return nil, err
	}
	if len(actions) != 1 {
		return nil, &SyntaxError{Text: s, Msg: "one action expected"}
	}
	return actions[0], nil
}

// in makes err refer to the whole text.
func in(err error, text string) error {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return &SyntaxError{Text: text, Offset: e.Offset, Msg: e.Msg}
	}
	return err
}

func parseActions(text string, base, depth int) (Actions, error) {
	if depth > maxDepth {
		return nil, fault(base, "actions nested too deeply")
	}
	list, err := words(text, base)
	if err != nil {
		return nil, err
	}
	actions := make(Actions, 0, len(list))
	for _, w := range list {
		a, err := w.action(depth)
		if err != nil {
			return nil, err
		}
		actions = append(actions, a)
	}
	return actions, nil
}

// action parses a word.
func (w word) action(depth int) (Action, error) {
	if read, ok := readers.Get()[w.name+suffixes[w.form]]; ok {
		return read(w)
	}
	switch w.name + suffixes[w.form] {
	case "clone(":
		list, err := parseActions(w.body, w.bodyAt, depth+1)
		return Clone{list}, err
	case "write_actions(":
		list, err := parseActions(w.body, w.bodyAt, depth+1)
		return WriteActions{list}, err
	case "ct(":
		return w.ct(depth)
	}
	if read, plain := w.otherwise(); read != nil {
		return read(plain)
	}
	if field, ok := modifies.Get()[w.name]; ok && w.form != formBare && w.dst == "" {
		return w.modify(field)
	}
	if w.form == formBare {
		if port, ok := barePort(w.name); ok {
			return toPort(port, w.name), nil
		}
	}
	return w.other(depth)
}

// otherwise returns the reader of an action that is written with parentheses where ovs-ofctl(8) prints a colon, or with
// empty ones where it prints none, and the action as that expects it.
func (w word) otherwise() (func(word) (Action, error), word) {
	if w.form != formParen {
		return nil, w
	}
	if read, ok := readers.Get()[w.name]; ok && strings.TrimSpace(w.body) == "" {
		w.form = formBare
		return read, w
	}
	read, ok := readers.Get()[w.name+":"]
	if !ok {
		return nil, w
	}
	w.form = formColon
	if w.dst == "" {
		w.body, w.dst = cutArrow(w.body)
	}
	return read, w
}

var suffixes = [...]string{formBare: "", formColon: ":", formParen: "("}

// readers parse the actions without nested ones, by name and form.
var readers lazy.Value[map[string]func(word) (Action, error)]

func init() { readers.Make = makeReaders } // some of them need readers

func makeReaders() map[string]func(word) (Action, error) {
	return map[string]func(word) (Action, error){
		"drop":              plain(Drop{}),
		"ct_clear":          plain(CTClear{}),
		"pop_queue":         plain(PopQueue{}),
		"strip_vlan":        plain(PopVLAN{strip: true}),
		"pop_vlan":          plain(PopVLAN{}),
		"clear_actions":     plain(ClearActions{}),
		"exit":              plain(Exit{}),
		"dec_ttl":           plain(DecTTL{}),
		"nat":               plain(NAT{}),
		"controller":        plain(Controller{Short: true, MaxLen: 65535}),
		"CONTROLLER":        plain(Controller{Short: true, MaxLen: 65535}),
		"output:":           word.output,
		"output(":           word.outputTruncated,
		"controller:":       word.controllerShort,
		"CONTROLLER:":       word.controllerShort,
		"controller(":       word.controller,
		"set_field:":        word.setField,
		"load:":             word.load,
		"move:":             word.move,
		"push:":             of(word.subfield, func(src packet.Subfield) Action { return Push{src} }),
		"pop:":              of(word.subfield, func(dst packet.Subfield) Action { return Pop{dst} }),
		"resubmit:":         word.resubmitPort,
		"resubmit(":         word.resubmit,
		"goto_table:":       of(word.table, func(t Table) Action { return GotoTable{t} }),
		"nat(":              func(w word) (Action, error) { return w.nat() },
		"group:":            of(numbered, func(id uint32) Action { return Group{id} }),
		"meter:":            of(numbered, func(id uint32) Action { return Meter{id} }),
		"set_queue:":        of(numbered, func(queue uint32) Action { return SetQueue{queue} }),
		"conjunction(":      word.conjunction,
		"note:":             of(word.hex, func(b []byte) Action { return Note{b} }),
		"check_pkt_larger(": word.checkPktLarger,
		"dec_ttl(":          word.decTTL,
		"push_vlan:":        of(numbered, func(ethType uint16) Action { return PushVLAN{ethType} }),
		"write_metadata:":   word.writeMetadata,
		"learn(":            word.learn,
	}
}

// of reads an action with one argument that has its own reader.
func of[T any](read func(word, string) (T, error), action func(T) Action) func(word) (Action, error) {
	return func(w word) (Action, error) {
		arg, err := read(w, w.body)
		return action(arg), err
	}
}

// numbered reads a bare number.
func numbered[T uint16 | uint32](w word, s string) (n T, err error) {
	err = read(&n, s, w.bodyAt)
	return n, err
}

func plain(a Action) func(word) (Action, error) {
	return func(word) (Action, error) { return a, nil }
}

func (w word) fault(msg string) error { return fault(w.offset, w.name+": "+msg) }

// barePort reads an output written as just a port: 5, LOCAL, NORMAL, "eth0".
func barePort(name string) (packet.PortID, bool) {
	port, err := packet.ParsePort(name)
	return port, err == nil && (port.Name == "" || name[0] == '"')
}

// toPort outputs to a port that is written as just that. As ovs-ofctl reads it, the controller gets nothing of the packet by its
// number, and all of it by name.
func toPort(port packet.PortID, text string) Action {
	switch {
	case port.Name != "" || port.Number != packet.PortController:
		return Output{Port: port}
	case text[0] >= '0' && text[0] <= '9':
		return Controller{Short: true}
	}
	return Controller{Short: true, MaxLen: 65535}
}

func (w word) output() (Action, error) {
	if strings.HasSuffix(w.body, "]") {
		sub, err := w.subfield(w.body)
		return Output{Src: &sub}, err
	}
	port, err := packet.ParsePort(w.body)
	if _, field := packet.Lookup(w.body); field && port.Name != "" && w.body != "in_port" {
		sub, err := w.subfield(w.body)
		return Output{Src: &sub}, err
	}
	if err != nil {
		return nil, w.fault("bad port")
	}
	if port.Number == packet.PortController && port.Name == "" {
		return Controller{Short: true, MaxLen: 65535}, nil
	}
	return Output{Port: port}, nil
}

func (w word) outputTruncated() (Action, error) {
	if !strings.Contains(w.body, "=") {
		return w.output()
	}
	var o Output
	for _, a := range w.args() {
		switch a.Key {
		case "port":
			port, err := packet.ParsePort(a.Value)
			if err != nil {
				return nil, w.fault("bad port")
			}
			o.Port = port
		case "max_len":
			if err := read(&o.MaxLen, a.Value, w.bodyAt); err != nil {
				return nil, err
			}
		default:
			return nil, w.fault("unknown argument " + a.Key)
		}
	}
	if o.MaxLen == 0 {
		return nil, w.fault("port and max_len expected")
	}
	return o, nil
}

func (w word) controllerShort() (Action, error) {
	c := Controller{Short: true}
	err := read(&c.MaxLen, w.body, w.bodyAt)
	return c, err
}

func (w word) controller() (Action, error) {
	c := Controller{MaxLen: 65535}
	for _, a := range w.args() {
		var err error
		switch a.Key {
		case "max_len":
			err = read(&c.MaxLen, a.Value, w.bodyAt)
		case "id":
			err = read(&c.ID, a.Value, w.bodyAt)
		case "meter_id":
			err = read(&c.MeterID, a.Value, w.bodyAt)
		case "reason":
			c.Reason = a.Value
		case "userdata":
			c.Userdata, err = w.hex(a.Value)
		case "pause":
			c.Pause = true
		default:
			return nil, w.fault("unknown argument " + a.Key)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// hex reads bytes written as hex digits separated by dots.
func (w word) hex(s string) ([]byte, error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, ".", ""))
	if err != nil {
		return nil, w.fault("bad hex digits")
	}
	return b, nil
}

func (w word) subfield(s string) (packet.Subfield, error) {
	sub, err := packet.ParseSubfield(s)
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return sub, fault(w.bodyAt, e.Msg)
	}
	return sub, err
}

// anyBits stands for a value of which no bit is set. For a port it is a name.
const anyBits = "ANY"

func (w word) setField() (Action, error) {
	f, ok := packet.Lookup(w.dst)
	if !ok {
		return nil, w.fault("unknown field " + w.dst)
	}
	set := SetField{Field: f}
	if w.dst != f.Name {
		set.Name = w.dst
	}
	if w.body == anyBits && f.Format != packet.Port {
		return set, nil
	}
	var err error
	if set.Value, set.Mask, err = f.ParseValue(w.body); err != nil {
		return nil, within(err, w.bodyAt)
	}
	set.masked = set.Mask == f.Mask() && strings.Contains(w.body, "/")
	return set, nil
}

// within shifts an error in a part of the text by the part's offset.
func within(err error, offset int) error {
	if e, ok := errors.AsType[*SyntaxError](err); ok {
		return fault(offset+e.Offset, e.Msg)
	}
	return err
}

// load takes the number that the value begins with, as ovs-ofctl does: an address, 10.0.0.9, loads 10.
func (w word) load() (Action, error) {
	dst, err := w.subfield(w.dst)
	if err != nil {
		return nil, err
	}
	v, _, err := dst.Field.ParseValue(leadingNumber(w.body))
	if err != nil {
		return nil, within(err, w.bodyAt)
	}
	if v.BitLen() > dst.Bits {
		return nil, w.fault("value too wide for " + w.dst)
	}
	return Load{v, dst}, nil
}

// leadingNumber returns as much of s as is a number to strtoull(3): hexadecimal after 0x, octal after 0, else decimal.
func leadingNumber(s string) string {
	digits, begin := "0123456789", 0
	switch {
	case strings.HasPrefix(s, "0x"), strings.HasPrefix(s, "0X"):
		digits, begin = "0123456789abcdefABCDEF", len("0x")
	case strings.HasPrefix(s, "0"):
		digits = "01234567"
	}
	return s[:len(s)-len(strings.TrimLeft(s[begin:], digits))]
}

func (w word) move() (Action, error) {
	src, err := w.subfield(w.body)
	if err != nil {
		return nil, err
	}
	dst, err := w.subfield(w.dst)
	if err == nil && src.Bits != dst.Bits {
		err = w.fault("fields of different width")
	}
	return Move{src, dst}, err
}

// modifies maps OpenFlow 1.0's actions to the fields they write.
var modifies = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"mod_dl_src": "eth_src", "mod_dl_dst": "eth_dst", "mod_vlan_vid": "dl_vlan", "mod_vlan_pcp": "dl_vlan_pcp",
		"set_vlan_vid": "dl_vlan", "set_vlan_pcp": "dl_vlan_pcp",
		"mod_nw_src": "ip_src", "mod_nw_dst": "ip_dst", "mod_nw_tos": "nw_tos", "mod_nw_ecn": "nw_ecn", "mod_nw_ttl": "nw_ttl",
		"mod_tp_src": "tcp_src", "mod_tp_dst": "tcp_dst", "set_tunnel": "tun_id", "set_tunnel64": "tun_id",
		"set_mpls_label": "mpls_label", "set_mpls_tc": "mpls_tc", "set_mpls_ttl": "mpls_ttl",
	}
}}

func (w word) modify(name string) (Action, error) {
	f, _ := packet.Lookup(name)
	v, mask, err := f.ParseValue(w.body)
	if err == nil && mask != f.Mask() {
		err = w.fault("mask not allowed")
	}
	return Modify{Name: w.name, Field: f, Value: v, paren: w.form == formParen}, within(err, w.bodyAt)
}

func (w word) resubmitPort() (Action, error) {
	port, err := packet.ParsePort(w.body)
	if err != nil {
		return nil, w.fault("bad port")
	}
	return Resubmit{Port: &port, Table: NoTable, bare: true}, nil
}

func (w word) resubmit() (Action, error) {
	r := Resubmit{Table: NoTable}
	c := cursor{text: w.body, base: w.bodyAt}
	for i := 0; ; i++ {
		arg, err := c.until(",")
		if err != nil {
			return nil, err
		}
		arg = strings.TrimSpace(arg)
		switch {
		case i == 0 && arg != "":
			port, err := packet.ParsePort(arg)
			if err != nil {
				return nil, w.fault("bad port")
			}
			r.Port = &port
		case i == 1 && arg != "":
			if r.Table, err = w.table(arg); err != nil {
				return nil, err
			}
		case i == 2 && arg == "ct":
			r.CT = true
		case arg != "":
			return nil, w.fault("unknown argument " + arg)
		}
		if c.done() {
			return r, nil
		}
		c.pos++
	}
}

func (w word) table(s string) (Table, error) {
	if s != "" && s[0] >= '0' && s[0] <= '9' {
		n, err := number(s, 8, w.bodyAt)
		return Table{Number: int(n)}, err
	}
	name, err := packet.UnquoteName(s)
	if err != nil {
		return Table{}, w.fault("bad table")
	}
	return Table{Name: name}, nil
}

func (w word) conjunction() (Action, error) {
	id, clause, ok := strings.Cut(w.body, ",")
	k, n, ok2 := strings.Cut(strings.TrimSpace(clause), "/")
	var a uint32
	var b, d uint8
	if err := cmp.Or(read(&a, id, w.bodyAt), read(&b, k, w.bodyAt)); err != nil {
		return nil, err
	}
	if err := read(&d, n, w.bodyAt); err != nil || !ok || !ok2 {
		return nil, w.fault("id,k/n expected")
	}
	return Conjunction{a, int(b), int(d)}, nil
}

func (w word) checkPktLarger() (Action, error) {
	var c CheckPktLarger
	err := read(&c.Size, w.body, w.bodyAt)
	if err == nil {
		c.Dst, err = w.subfield(w.dst)
	}
	return c, err
}

func (w word) decTTL() (Action, error) {
	d := DecTTL{paren: true}
	for _, a := range w.args() {
		var id uint16
		if err := read(&id, a.Value, w.bodyAt); err != nil {
			return nil, err
		}
		d.IDs = append(d.IDs, id)
	}
	return d, nil
}

func (w word) writeMetadata() (Action, error) {
	f := &packet.Metadata
	v, mask, err := f.ParseValue(w.body)
	return WriteMetadata{v, mask}, within(err, w.bodyAt)
}

func (w word) learn() (Action, error) {
	var l Learn
	c := cursor{text: w.body, base: w.bodyAt}
	for {
		c.skip(", ")
		if c.done() {
			return l, nil
		}
		text, err := c.until(", ")
		if err != nil {
			return nil, err
		}
		l.Args = append(l.Args, learnArg(text))
	}
}

func learnArg(s string) LearnArg {
	for i := range len(s) {
		switch s[i] {
		case '=':
			return LearnArg{Key: s[:i], Value: s[i+1:], Form: LearnAssign}
		case ':':
			value, dst := cutArrow(s[i+1:])
			return LearnArg{Key: s[:i], Value: value, Dst: dst, Form: LearnAction}
		}
	}
	return LearnArg{Key: s}
}
