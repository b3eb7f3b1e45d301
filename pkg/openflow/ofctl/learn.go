package ofctl

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

func (r *reader) learn(a *action) *Error {
	var checks []func(s, learned *state, a arg) *Error
	for _, w := range args(a.value, a.valueAt) {
		switch w.key {
		case "table":
			table, ok := r.tableNumber(w.value)
			if !ok {
				return w.bad("unknown table %q", w.value)
			}
			if table == anyTable {
				return w.bad("%s: table id 255 not valid for `learn' action", a.value)
			}
		case "priority", "idle_timeout", "hard_timeout", "fin_idle_timeout", "fin_hard_timeout", "cookie", "send_flow_rem", "delete_learned", "limit":
		case "result_dst":
			p, err := parsePart(w.value, w.valueAt)
			switch {
			case err != nil:
				return err
			case p.ReadOnly:
				return w.bad("%s is read-only", w.value)
			case p.bits != 1:
				return w.bad("result_dst in 'learn' action must be a single bit")
			}
		default:
			check, err := r.learnSpec(a.value, w)
			if err != nil {
				return err
			}
			checks = append(checks, check)
		}
	}
	a.check = func(s *state, a arg) *Error {
		learned := &state{}
		for _, check := range checks {
			if err := check(s, learned, a); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// learnSpec reads a condition or action of the flow that is learned, and returns its check against the packet and against
// the conditions of that flow so far.
func (r *reader) learnSpec(orig string, w arg) (func(s, learned *state, a arg) *Error, *Error) {
	if dst, err := parsePart(w.key, w.at); err == nil {
		return r.learnCondition(orig, w, dst)
	}
	switch w.key {
	case "load":
		return learnLoad(w)
	case "output":
		src, err := parsePart(w.value, w.valueAt)
		return func(s, _ *state, a arg) *Error { return s.source(src, a) }, err
	}
	return nil, w.fault("%s: unknown keyword %s", orig, w.key)
}

func (r *reader) learnCondition(orig string, w arg, dst part) (func(s, learned *state, a arg) *Error, *Error) {
	if w.value == "" {
		return func(s, learned *state, a arg) *Error {
			if err := s.source(dst, a); err != nil {
				return err
			}
			return learned.source(dst, a)
		}, nil
	}
	src, noField := parsePart(w.value, w.valueAt)
	if noField == nil {
		if src.bits != dst.bits {
			return nil, w.fault("%s: bit widths of %s (%d) and %s (%d) differ", orig, w.key, src.bits, w.value, dst.bits)
		}
		return func(s, learned *state, a arg) *Error {
			if err := s.source(src, a); err != nil {
				return err
			}
			return learned.source(dst, a)
		}, nil
	}
	v, noValue := r.immediate(orig, w, dst)
	if noValue != nil {
		return nil, w.fault("%s: %s value %s cannot be parsed as a subfield (%s) or an immediate value (%s)", orig, w.key, w.value, noField.Msg, noValue.Msg)
	}
	return func(_, learned *state, a arg) *Error {
		err := learned.source(dst, a)
		mask := dst.mask()
		learned.flow.SetMasked(dst.Field, v.Shl(dst.lo), mask)
		learned.mask.SetMasked(dst.Field, mask, mask)
		return err
	}, nil
}

// immediate reads a value for a condition: of the field's own form for the whole field, a number for bits of it.
func (r *reader) immediate(orig string, w arg, dst part) (packet.Value, *Error) {
	if dst.whole() {
		v, mask, err := r.value(dst.Field, w.value, w)
		if err == nil && mask.And(dst.Mask()) != dst.Mask() && dst.Format != packet.Frag {
			err = w.bad("%s: wildcards not allowed here", w.value)
		}
		return v, err
	}
	v, read, ok := dst.fits(w.value, true)
	switch {
	case !read:
		return v, w.bad("%s: cannot parse integer value", orig)
	case !ok:
		return v, w.bad("%s: value %s does not fit into %d bits", orig, dst.Print(v), dst.bits)
	}
	return v, nil
}

func learnLoad(w arg) (func(s, learned *state, a arg) *Error, *Error) {
	value, name, ok := strings.Cut(w.value, "->")
	switch {
	case !ok:
		return nil, w.bad("load: missing `->' in `%s'", w.value)
	case value == "":
		return nil, w.bad("load: missing source before `->' in `%s'", w.value)
	}
	v, rest, number, tooLarge := integer(w.value, 16)
	if !number || tooLarge {
		src, dst, err := parseMove(w)
		return func(s, learned *state, a arg) *Error {
			if err := s.source(src, a); err != nil {
				return err
			}
			return learned.destination(dst, a)
		}, err
	}
	if rest != w.value[len(value):] {
		return nil, w.bad("load: garbage before `->' in `%s'", w.value)
	}
	dst, err := parsePart(name, w.valueAt+len(value)+2)
	if err == nil && v.BitLen() > dst.bits {
		err = w.bad("%s: value does not fit into %d bits", w.value, dst.bits)
	}
	return func(_, learned *state, a arg) *Error { return learned.destination(dst, a) }, err
}
