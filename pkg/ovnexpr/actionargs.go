package ovnexpr

import (
	"math"
	"net/netip"
	"slices"
	"strings"
)

// The methods in this file and in actionct.go parse what follows an action's name.

func (l *lexer) nextAction(_ string, at Span) Action {
	a := &Next{Span: at}
	if !l.match("(") {
		return a
	}
	a.Given = true
	if l.tok.kind == integer {
		a.HasTable, a.Table = true, l.small()
		l.close()
		return a
	}
	for {
		switch {
		case l.matchName("pipeline"):
			l.force("=")
			a.Pipeline = l.oneOf("expecting \"ingress\" or \"egress\"", "ingress", "egress")
		case l.matchName("table"):
			l.force("=")
			a.HasTable, a.Table = true, l.small()
		default:
			l.word("expecting \"pipeline\" or \"table\"")
		}
		if !l.match(",") {
			l.close()
			return a
		}
	}
}

// oneOf reads one of several words.
func (l *lexer) oneOf(msg string, words ...string) string {
	w := l.tok.text
	if l.tok.kind != identifier || !slices.Contains(words, w) {
		l.word(msg)
	}
	l.next()
	return w
}

// word reports the current token in a list of arguments as not understood: a later release may know it.
func (l *lexer) word(msg string) {
	if l.tok.kind == identifier {
		l.unknown("%s", msg)
	}
	l.syntax("%s", msg)
}

// close skips the parenthesis that ends an argument list. More arguments may come from a later release.
func (l *lexer) close() {
	if l.tok.kind == "," || l.tok.kind == ";" {
		l.unknown("expecting `)'")
	}
	l.force(")")
}

// text reads a string.
func (l *lexer) text(msg string) string {
	if l.tok.kind != quoted {
		l.syntax("%s", msg)
	}
	s := l.tok.text
	l.next()
	return s
}

// decimal reads a decimal number up to limit.
func (l *lexer) decimal(limit uint64, msg string) uint64 {
	c := l.tok.value
	if l.tok.kind != integer || c.Masked || c.Format != Decimal || c.Value.Lo > limit {
		l.syntax("%s", msg)
	}
	l.next()
	return c.Value.Lo
}

func (l *lexer) uint16(what string) uint16 {
	return uint16(l.decimal(math.MaxUint16, "expecting "+what))
}

// addr reads an address in one of the accepted formats.
func (l *lexer) addr(msg string, formats ...Format) netip.Addr {
	c := l.tok.value
	if l.tok.kind != integer || c.Masked || !slices.Contains(formats, c.Format) {
		l.syntax("%s", msg)
	}
	l.next()
	return c.Value.Addr(c.Format.bits())
}

func (l *lexer) stack(name string, at Span) Action {
	l.force("(")
	f := l.field()
	l.close()
	if name == "push" {
		return &Push{f, at}
	}
	return &Pop{f, at}
}

func (l *lexer) decTTL(_ string, at Span) Action {
	l.force("--")
	return &DecTTL{at}
}

func (l *lexer) selectAction(to Field, _ string, at Span) Action {
	a := &Select{To: to, Span: at}
	hashed := l.matchName("values")
	if hashed {
		l.force("=")
		l.force("(")
	}
	for l.tok.kind != ")" {
		m := Member{ID: l.uint16("id")}
		if l.match("=") {
			weight := l.tok.Span
			if m.Weight = l.uint16("weight"); m.Weight == 0 {
				panic(syntaxAt(l.in, weight, "weight can't be 0"))
			}
		}
		l.match(",")
		a.Members = append(a.Members, m)
	}
	l.next()
	if len(a.Members) < 2 {
		l.syntax("expecting at least 2 group members")
	}
	if hashed {
		l.force(";")
		if !l.matchName("hash_fields") {
			l.syntax("expecting hash_fields")
		}
		l.force("=")
		if a.HashFields = l.text("invalid hash_fields"); a.HashFields == "" {
			l.syntax("invalid hash_fields")
		}
		l.close()
	}
	return a
}

func (l *lexer) checkPacketLarger(to Field, _ string, at Span) Action {
	a := &CheckPacketLarger{to, l.small(), at}
	l.close()
	return a
}

func (l *lexer) dhcpRelay(to Field, name string, at Span) Action {
	a := &DHCPRelay{Name: name, Result: to, Span: at}
	a.Relay = l.addr("expecting IPv4 dhcp relay and server ips", IPv4)
	l.match(",")
	a.Server = l.addr("expecting IPv4 dhcp server ip", IPv4)
	l.close()
	return a
}

func (l *lexer) putOptions(to Field, name string, at Span) Action {
	return &PutOptions{name, to, l.parameters(), at}
}

// parameters reads names with values up to the closing parenthesis.
func (l *lexer) parameters() []Parameter {
	var p []Parameter
	for !l.match(")") {
		if l.tok.kind != identifier {
			l.syntax("")
		}
		name := l.tok.text
		l.next()
		l.force("=")
		p = append(p, Parameter{name, l.values()})
		l.match(",")
	}
	return p
}

// maxQueue is the highest Linux traffic control queue that OVN uses.
const maxQueue = 61440

func (l *lexer) setQueue(_ string, at Span) Action {
	l.force("(")
	n := l.tok.Span
	q := l.small()
	if q > maxQueue {
		l.fail(n, "Queue ID %d for set_queue is not in valid range %d to %d.", q, 0, maxQueue)
	}
	l.close()
	return &SetQueue{q, at}
}

func (l *lexer) setMeter(_ string, at Span) Action {
	a := &SetMeter{Span: at}
	l.force("(")
	n := l.tok.Span
	if a.Rate = l.decimal(math.MaxInt64, "expecting integer"); a.Rate == 0 {
		l.fail(n, "Rate %d for set_meter is not in valid.", a.Rate)
	}
	if l.match(",") {
		a.Burst = l.decimal(math.MaxInt64, "expecting integer")
	}
	l.close()
	return a
}

// named reads KEY=VALUE arguments in parentheses, each with its own function. It returns the keys as written.
func (l *lexer) named(unknown string, read map[string]func()) []string {
	var keys []string
	l.force("(")
	for !l.match(")") {
		key := l.tok.text
		if l.tok.kind != identifier || read[key] == nil {
			l.word(unknown)
		}
		if slices.Contains(keys, key) {
			l.fail(l.tok.Span, "Argument %s is given twice.", key)
		}
		keys = append(keys, key)
		l.next()
		l.force("=")
		read[key]()
		l.match(",")
	}
	return keys
}

func (l *lexer) log(_ string, at Span) Action {
	a := &Log{Span: at}
	a.order = l.named("", map[string]func(){
		"verdict":  func() { a.Verdict = l.oneOf("unknown verdict", "allow", "drop", "reject", "pass") },
		"severity": func() { a.Severity = l.oneOf("unknown severity", "alert", "warning", "notice", "info", "debug") },
		"meter":    func() { a.Meter = l.text("expecting string") },
		"name": func() {
			name := l.tok.Span
			if a.Name = l.text("expecting string"); len(a.Name) >= 64 {
				panic(syntaxAt(l.in, name, "name must be shorter than 64 characters"))
			}
		},
	})
	if a.Verdict == "" {
		l.syntax("expecting verdict")
	}
	return a
}

func (l *lexer) sample(_ string, at Span) Action {
	a := &Sample{Span: at}
	a.order = l.named("unknown argument", map[string]func(){
		"probability":   func() { a.Probability = l.uint16("probability") },
		"collector_set": func() { a.CollectorSet = uint32(l.decimal(math.MaxUint32, "expecting integer")) },
		"obs_domain":    func() { a.Domain = uint8(l.decimal(math.MaxUint8, "obs_domain must be 8-bit long")) },
		"obs_point":     func() { l.samplePoint(a) },
	})
	if a.Probability == 0 {
		l.fail(at, "probability must be greater than zero")
	}
	return a
}

func (l *lexer) samplePoint(a *Sample) {
	switch {
	case l.tok.kind == macro && l.tok.text == "cookie":
		a.Cookie = true
		l.next()
	case l.tok.kind == integer:
		a.Point = uint32(l.decimal(math.MaxUint32, "expecting integer"))
	default:
		f := l.field()
		a.PointField = &f
	}
}

// boolean reads true or false, quoted or not.
func (l *lexer) boolean() string {
	s := l.tok.text
	if l.tok.kind != identifier && l.tok.kind != quoted || s != "true" && s != "false" {
		l.syntax("expecting true or false")
	}
	l.next()
	return s
}

func (l *lexer) forwardGroup(_ string, at Span) Action {
	a := &ForwardGroup{Span: at}
	l.force("(")
	if l.matchName("liveness") {
		l.force("=")
		a.Liveness = l.boolean()
		l.force(",")
	}
	switch {
	case a.Liveness == "" && l.tok.kind == ")":
		l.force(";") // as OVN says it
	case l.matchName("childports"):
		l.force("=")
		for l.tok.kind != ")" {
			a.Ports = append(a.Ports, l.text("expecting logical switch port"))
			l.match(",")
		}
	}
	l.close()
	return a
}

// parameter skips a parameter's name and the sign after it.
func (l *lexer) parameter(name string) {
	if !l.matchName(name) {
		l.word("invalid parameter")
	}
	l.force("=")
}

func (l *lexer) protocol() string { return l.oneOf("invalid protocol", "tcp", "udp", "sctp") }

func (l *lexer) commitECMP(_ string, at Span) Action {
	a := &CommitECMP{Span: at}
	l.force("(")
	l.parameter("ipv6")
	a.IPv6 = l.boolean() == "true"
	l.force(",")
	l.parameter("proto")
	a.Proto = l.protocol()
	l.close()
	return a
}

func (l *lexer) commitAffinity(_ string, at Span) Action {
	a := &CommitAffinity{Span: at}
	l.force("(")
	l.parameter("vip")
	a.VIP = l.endpoint()
	l.force(",")
	l.parameter("backend")
	family := l.tok.Span
	a.Backend = l.endpoint()
	if a.VIP.Addr.Is4() != a.Backend.Addr.Is4() {
		panic(syntaxAt(l.in, family, "invalid protocol family"))
	}
	l.force(",")
	if l.matchName("proto") {
		l.force("=")
		a.Proto = l.protocol()
		l.force(",")
	}
	l.parameter("timeout")
	a.Timeout = l.uint16("affinity timeout")
	l.close()
	return a
}

// endpoint reads a load balancer key in quotes.
func (l *lexer) endpoint() Endpoint {
	at := l.tok.Span
	s := l.text("invalid parameter")
	if ap, err := netip.ParseAddrPort(s); err == nil && ap.Addr().Zone() == "" {
		return Endpoint{ap.Addr(), ap.Port()}
	}
	inner, bracket := strings.CutPrefix(s, "[")
	if bracket {
		inner = strings.TrimSuffix(inner, "]")
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil || addr.Zone() != "" {
		panic(syntaxAt(l.in, at, "invalid parameter"))
	}
	return Endpoint{Addr: addr}
}

func (l *lexer) triggerEvent(_ string, at Span) Action {
	a := &TriggerEvent{Span: at}
	l.force("(")
	if !l.matchName("event") {
		l.syntax("Expecting 'event' option")
	}
	l.force("=")
	a.Event = l.text("Expecting string")
	l.match(",")
	a.Options = l.parameters()
	return a
}

func (l *lexer) bindVirtual(_ string, at Span) Action {
	a := &BindVirtual{Span: at}
	l.force("(")
	a.Port = l.text("expecting port name string")
	l.force(",")
	a.Parent = l.field()
	l.close()
	return a
}

func (l *lexer) mirror(_ string, at Span) Action {
	l.force("(")
	a := &Mirror{l.text("expecting port name string"), at}
	l.close()
	return a
}
