package ofctl

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

func (r *reader) ct(a *action) *Error {
	var list []action
	var zone *part
	var commit, force bool
	var proto uint64
	var words []string
	for _, w := range args(a.value, a.valueAt) {
		var err *Error
		text := w.key
		switch w.key {
		case "commit":
			commit = true
		case "force":
			force = true
		case "table":
			table, ok := r.tableNumber(w.value)
			switch {
			case !ok:
				err = w.bad("unknown table %s", w.value)
			case table == anyTable:
				err = w.bad("invalid table %#x", table)
			}
			text = "table=" + r.tableText(w.value, table)
		case "zone":
			n, bad := w.small("zone", 16)
			text = fmt.Sprintf("zone=%d", n)
			if bad != nil {
				var p part
				p, err = parsePart(w.value, w.valueAt)
				zone, text = &p, "zone="+p.String()
			}
		case "alg":
			text += "=" + w.value
			switch w.value {
			case "ftp":
				proto = packet.ProtoTCP
			case "tftp":
				proto = packet.ProtoUDP
			default:
				err = w.bad("invalid conntrack helper \"%s\"", w.value)
			}
		case "nat":
			n := action{arg: w, name: "nat"}
			err = nat(r, &n)
			list, text = append(list, n), w.String()
		case "exec":
			var inner []action
			inner, err = r.actions(args(w.value, w.valueAt), "ct")
			list, text = append(list, inner...), "exec("+texts(inner)+")"
		default:
			err = w.fault("invalid argument to \"ct\" action: `%s'", w.key)
		}
		if err != nil {
			return err
		}
		words = append(words, text)
	}
	a.text = "ct(" + strings.Join(words, ",") + ")"
	if force && !commit {
		return a.fault(`"force" flag requires "commit" flag.`)
	}
	a.check = func(s *state, a arg) *Error {
		kind := s.kind()
		switch {
		case kind != packet.EthIPv4 && kind != packet.EthIPv6:
			return a.invalid(inconsistent, "ct needs a match on ip or ipv6")
		case commit && s.flow.Uint("ct_state")&packet.CTInvalid != 0:
			return a.invalid(inconsistent, "an invalid packet cannot be committed")
		case proto != 0 && s.flow.Uint("nw_proto") != proto:
			return a.invalid(inconsistent, "the helper needs a match on its protocol")
		case zone != nil:
			return s.source(*zone, a)
		}
		return s.inside(list)
	}
	return nil
}

func nat(_ *reader, a *action) *Error {
	flags := map[string]bool{}
	version := packet.None
	for _, w := range args(a.value, a.valueAt) {
		switch w.key {
		case "src", "dst":
			var err *Error
			if version, err = natRange(w); err != nil {
				return err
			}
		case "persistent", "hash", "random":
		default:
			return w.fault("invalid key \"%s\" in \"nat\" argument", w.key)
		}
		flags[w.key] = true
	}
	switch {
	case flags["src"] && flags["dst"]:
		return a.fault(`May only specify one of "src" or "dst".`)
	case len(flags) > 0 && !flags["src"] && !flags["dst"]:
		return a.fault(`Flags allowed only with "src" or "dst".`)
	case flags["hash"] && flags["random"]:
		return a.fault(`Both "hash" and "random" are not allowed.`)
	}
	a.check = func(s *state, a arg) *Error {
		if !s.has(packet.NeedsIP) || !s.has(version) {
			return a.invalid(inconsistent, "the addresses are of another version of IP than the packets")
		}
		return nil
	}
	return nil
}

// natRange reads addresses and ports of nat, and returns the version of IP that they need.
func natRange(w arg) (packet.Prereq, *Error) {
	bad := func() (packet.Prereq, *Error) { return packet.None, w.bad("invalid nat range \"%s\"", w.value) }
	version, rest := packet.None, w.value
	var low, high packet.Value
	if c := scan(rest).ip(&low); c.ok {
		version, rest = packet.NeedsIPv4, c.text
		if after, ranged := strings.CutPrefix(rest, "-"); ranged {
			c := scan(after).ip(&high)
			if !c.ok || high.Lo < low.Lo {
				return bad()
			}
			rest = c.text
		}
	} else if v, after, ok := bracketed(rest); ok {
		version, rest = packet.NeedsIPv6, after
		if after, ranged := strings.CutPrefix(rest, "-"); ranged {
			last, after, ok := bracketed(after)
			if !ok || last.Hi < v.Hi || last.Hi == v.Hi && last.Lo < v.Lo {
				return bad()
			}
			rest = after
		}
	}
	if after, ported := strings.CutPrefix(rest, ":"); ported && version != packet.None {
		var first, last uint64
		c := scan(after).num(10, 16, &first)
		if !c.ok {
			return bad()
		}
		rest = c.text
		if after, ranged := strings.CutPrefix(rest, "-"); ranged {
			c := scan(after).num(10, 16, &last)
			if !c.ok || last < first {
				return bad()
			}
			rest = c.text
		}
	}
	if rest != "" {
		return version, w.bad("garbage (%s) after nat range \"%s\" (pos: %d)", rest, w.value, len(w.value)-len(rest))
	}
	return version, nil
}

// bracketed passes an IPv6 address, which may be in brackets.
func bracketed(s string) (v packet.Value, rest string, ok bool) {
	var text string
	closed := true
	if strings.HasPrefix(s, "[") {
		text, rest, closed = strings.Cut(s[1:], "]")
	} else {
		n := len(s) - len(strings.TrimLeft(s, "0123456789abcdefABCDEF:."))
		text, rest = s[:n], s[n:]
	}
	v, ok = ipv6Address(text)
	return v, rest, ok && closed
}
