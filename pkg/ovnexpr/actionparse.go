package ovnexpr

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// maxNested bounds nested actions.
const maxNested = 32

// ParseActions parses actions. The error is a *[SyntaxError]; it wraps [ErrNotUnderstood] if an action is unknown.
func ParseActions(text string) (a Actions, err error) {
	defer recoverSyntax(&err)
	l := newLexer(text)
	return l.actions(end), nil
}

// actions reads actions, including the token that ends them.
func (l *lexer) actions(last kind) Actions {
	var list Actions
	if l.tok.kind == identifier && l.tok.text == "drop" && l.peek() == ";" {
		at := l.tok.Span
		l.next()
		at.End = l.tok.End
		l.next()
		l.force(last)
		return Actions{&Drop{at}}
	}
	for l.tok.kind != last {
		list = append(list, l.action())
	}
	l.force(last)
	return list
}

// plain are the actions without arguments.
var plain = []string{"output", "ct_clear", "ct_snat_to_vip", "igmp", "mac_cache_use", "flood_remote",
	"handle_dhcpv6_reply", "handle_bfd_msg"}

// nested maps the actions that take actions in braces to their prerequisites. Those of arp and nd_ns were narrower
// before one address family could have next hops of the other.
var nested = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"clone": "", "reject": "", "arp": "ip", "nd_ns": "ip", "nd_na": "nd_ns", "nd_na_router": "nd_ns",
		"icmp4": "ip4", "icmp4_error": "ip4", "icmp6": "ip6", "icmp6_error": "ip6", "tcp_reset": "tcp", "sctp_abort": "sctp",
	}
}}

// port is the width that stands for a string field in signatures.
const port = 0

// A signature is what a function takes and gives, in bits.
type signature struct {
	args   []int
	result int    // -1 for none
	needs  string // prerequisite
}

// functions are actions with fields as arguments.
var functions = lazy.Value[map[string]signature]{Make: func() map[string]signature {
	return map[string]signature{
		"get_arp":          {args: []int{port, 32}, result: -1},
		"get_nd":           {args: []int{port, 128}, result: -1},
		"put_arp":          {args: []int{port, 32, 48}, result: -1},
		"put_nd":           {args: []int{port, 128, 48}, result: -1},
		"put_fdb":          {args: []int{port, 48}, result: -1},
		"handle_svc_check": {args: []int{port}, result: -1},

		"lookup_arp":     {args: []int{port, 32, 48}, result: 1},
		"lookup_arp_ip":  {args: []int{port, 32}, result: 1},
		"lookup_nd":      {args: []int{port, 128, 48}, result: 1},
		"lookup_nd_ip":   {args: []int{port, 128}, result: 1},
		"lookup_fdb":     {args: []int{port, 48}, result: 1},
		"get_fdb":        {args: []int{48}, result: port},
		"get_remote_fdb": {args: []int{48}, result: port},

		"dns_lookup":           {result: 1, needs: "udp"},
		"chk_lb_hairpin":       {result: 1},
		"chk_lb_hairpin_reply": {result: 1},
		"check_in_port_sec":    {result: 1},
		"check_out_port_sec":   {result: 1},
		"chk_ecmp_nh":          {result: 1},
		"chk_ecmp_nh_mac":      {result: 1},
		"chk_lb_aff":           {result: 1},
		"ct_nw_dst":            {result: 32},
		"ct_ip6_dst":           {result: 128},
		"ct_tp_dst":            {result: 16},
		"ct_proto":             {result: 8},
		"ct_state_save":        {result: 8},
	}
}}

// special returns how to read what follows the name of one of the other actions without a result; nil if it is none of those.
func special(name string) func(l *lexer, name string, at Span) Action {
	switch name {
	case "next":
		return (*lexer).nextAction
	case "push", "pop":
		return (*lexer).stack
	case "ip.ttl":
		return (*lexer).decTTL
	case "ct_next":
		return (*lexer).ctNext
	case "ct_commit":
		return (*lexer).ctCommit
	case "ct_commit_to_zone", "ct_commit_nat":
		return (*lexer).ctCommitTo
	case "ct_dnat", "ct_snat", "ct_dnat_in_czone", "ct_snat_in_czone":
		return (*lexer).ctNAT
	case "ct_lb", "ct_lb_mark", "ct_lb_mark_local":
		return (*lexer).ctLB
	case "set_queue":
		return (*lexer).setQueue
	case "set_meter":
		return (*lexer).setMeter
	case "log":
		return (*lexer).log
	case "sample":
		return (*lexer).sample
	case "fwd_group":
		return (*lexer).forwardGroup
	case "commit_ecmp_nh":
		return (*lexer).commitECMP
	case "commit_lb_aff":
		return (*lexer).commitAffinity
	case "trigger_event":
		return (*lexer).triggerEvent
	case "bind_vport":
		return (*lexer).bindVirtual
	case "mirror":
		return (*lexer).mirror
	}
	return nil
}

// assigned returns how to read what follows the name and parenthesis of one of the other functions with a result; nil if it is none of those.
func assigned(name string) func(l *lexer, to Field, name string, at Span) Action {
	switch name {
	case "select":
		return (*lexer).selectAction
	case "check_pkt_larger":
		return (*lexer).checkPacketLarger
	case "put_dhcp_opts", "put_dhcpv6_opts", "put_nd_ra_opts":
		return (*lexer).putOptions
	case "dhcp_relay_req_chk", "dhcp_relay_resp_chk":
		return (*lexer).dhcpRelay
	}
	return nil
}

// action reads one action and its semicolon.
func (l *lexer) action() Action {
	if l.tok.kind == template {
		l.fail(l.tok.Span, "Unexpanded template.")
	}
	if l.tok.kind != identifier {
		l.syntax("")
	}
	var a Action
	at := l.tok.Span
	switch l.peek() {
	case "=", "<->", "[":
		a = l.set(at)
	default:
		a = l.statement(at)
	}
	last := l.tok.End
	l.force(";")
	a.setEnd(last)
	return a
}

// statement reads an action that begins with its name.
func (l *lexer) statement(at Span) Action {
	name := l.tok.text
	_, isNested := nested.Get()[name]
	f, isFunction := functions.Get()[name]
	read := special(name)
	switch {
	case read != nil:
		l.next()
		return read(l, name, at)
	case isNested:
		l.next()
		return &Nested{name, l.braces(), at}
	case isFunction && f.result < 0:
		l.next()
		return &Call{Name: name, Args: l.arguments(f, name), Span: at}
	case slices.Contains(plain, name):
		l.next()
		if name == "handle_bfd_msg" {
			l.force("(")
			l.force(")")
		}
		return &Plain{name, at}
	}
	if name == "drop" {
		l.syntax("expecting action")
	}
	l.unknown("expecting action")
	return nil
}

// braces reads actions in braces.
func (l *lexer) braces() Actions {
	if l.tok.kind != "{" {
		l.syntax("expecting `{'")
	}
	if l.depth++; l.depth >= maxNested {
		l.fail(l.tok.Span, "maximum depth of nested actions reached")
	}
	l.next()
	a := l.actions("}")
	l.depth--
	return a
}

// arguments reads a function's fields.
func (l *lexer) arguments(f signature, name string) []Field {
	l.force("(")
	if len(f.args) == 0 && l.tok.kind != ")" {
		l.fail(l.tok.Span, "%s doesn't take any parameters", name)
	}
	var args []Field
	for i := range f.args {
		if i > 0 {
			l.force(",")
		}
		args = append(args, l.field())
	}
	l.close()
	return args
}

// set reads an action that begins with a field.
func (l *lexer) set(at Span) Action {
	to := l.field()
	if l.match("<->") {
		return &Exchange{to, l.field(), at}
	}
	if !l.match("=") {
		l.syntax("expecting `=' or `<->'")
	}
	if l.tok.kind != identifier {
		return &Load{to, l.oneConstant(), at}
	}
	name := l.tok.text
	if l.peek() != "(" {
		return &Move{to, l.field(), at}
	}
	f, ok := functions.Get()[name]
	read := assigned(name)
	switch {
	case read != nil:
		l.next()
		l.force("(")
		return read(l, to, name, at)
	case ok && f.result >= 0:
		l.next()
		return &Call{Name: name, Result: &to, Args: l.arguments(f, name), Span: at}
	}
	l.unknown("expecting field name")
	return nil
}

// setEnd extends an action to the end of its semicolon.
func (s *Span) setEnd(last int) { s.End = last }
