package ovnexpr

import (
	"fmt"
	"math"
	"slices"
)

// zone reads an action's zone in parentheses, if any.
func (l *lexer) zone(name string) string {
	if !l.match("(") {
		return ""
	}
	z := l.tok.text
	if l.tok.kind != identifier || z != "dnat" && z != "snat" {
		panic(&SyntaxError{Text: l.in, Span: l.tok.Span, unknown: l.tok.kind == identifier,
			Msg: fmt.Sprintf("\"%s\" action accepts only \"dnat\" or \"snat\" parameter.", name)})
	}
	l.next()
	l.close()
	return z
}

func (l *lexer) ctNext(name string, at Span) Action { return &CTNext{l.zone(name), at} }

func (l *lexer) ctCommitTo(name string, at Span) Action {
	if name == "ct_commit_to_zone" && l.tok.kind != "(" {
		l.syntax("expecting `('")
	}
	return &CTCommitTo{name, l.zone(name), at}
}

func (l *lexer) ctCommit(_ string, at Span) Action {
	a := &CTCommit{Span: at}
	switch {
	case l.tok.kind == "{":
		a.Nested, a.Actions = true, l.braces()
	case l.match("("):
		for !l.match(")") {
			name := l.oneOf("", "ct_mark", "ct_label")
			l.force("=")
			if l.tok.kind != integer && l.tok.kind != template {
				l.syntax("expecting integer")
			}
			c := l.oneConstant() // of which OVN takes the low bits
			a.Old = append(a.Old, Parameter{name, Values{Items: []Constant{c}, Span: c.Span}})
			l.match(",")
		}
	}
	return a
}

func (l *lexer) ctNAT(name string, at Span) Action {
	a := &CTNAT{Name: name, Span: at}
	if !l.match("(") {
		return a
	}
	if l.tok.kind == template {
		a.Var = l.tok.text
		l.next()
	} else {
		a.To = l.addr("expecting IPv4 or IPv6 address", IPv4, IPv6)
	}
	if l.match(",") {
		const msg = "expecting Integer for port range"
		low := l.tok.Span
		if a.Lo = uint16(l.decimal(math.MaxUint64, msg)); a.Lo == 0 { // OVN, too, takes the low bits
			panic(syntaxAt(l.in, low, "range can't be 0"))
		}
		if l.match("-") {
			if l.tok.kind != integer {
				l.syntax("%s", msg)
			}
			high := l.oneConstant()
			if a.Hi = uint16(high.Value.Lo); a.Hi <= a.Lo {
				panic(syntaxAt(l.in, high.Span, "range high should be greater than range low"))
			}
		}
	}
	l.close()
	return a
}

func (l *lexer) ctLB(name string, at Span) Action {
	a := &CTLB{Name: name, Span: at}
	if !l.match("(") || l.match(")") {
		return a
	}
	if !l.matchName("backends") || !l.match("=") {
		l.syntax("expecting backends")
	}
	for l.tok.kind != ";" && l.tok.kind != ")" {
		a.Backends = append(a.Backends, l.backend(name == "ct_lb_mark_local"))
		l.match(",")
	}
	if l.option("hash_fields") != "" {
		l.force("=")
		a.HashFields = l.text("invalid hash_fields")
	}
	a.Flag = l.option("skip_snat", "force_snat")
	last := l.tok.kind
	l.next() // OVN takes whatever there is for the parenthesis
	if last == ";" && l.tok.kind == identifier {
		l.unknown("expecting `;'") // an option of a later release
	}
	return a
}

// option reads a semicolon and one of some names behind it, and returns the name; "" if something else comes.
func (l *lexer) option(names ...string) string {
	before := *l
	if l.match(";") && l.tok.kind == identifier && slices.Contains(names, l.tok.text) {
		name := l.tok.text
		l.next()
		return name
	}
	*l = before
	return ""
}

// backend reads a backend, after its logical port if local.
func (l *lexer) backend(local bool) Backend {
	var b Backend
	if local && l.tok.kind != template {
		b.LogicalPort = l.text("expecting logical port name for distributed load balancer")
		l.force(":")
	}
	switch {
	case l.tok.kind == template:
		b.Var = l.tok.text
		l.next()
	case l.match("["):
		b.Addr = l.addr("expecting IPv6 address", IPv6)
		if !l.match("]") {
			l.syntax("no closing square bracket")
		}
	default:
		b.Addr = l.addr("expecting IP address", IPv4, IPv6)
		if b.Addr.Is6() {
			if l.tok.kind == ":" {
				l.syntax("IPv6 address needs square brackets if port is included")
			}
			return b
		}
	}
	if l.match(":") {
		b.Port = l.uint16("port number")
	}
	return b
}
