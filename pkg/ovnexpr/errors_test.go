package ovnexpr

import (
	"errors"
	"strings"
	"testing"
)

// Each match is followed by the mark below the offending part and the message.
var wrong = `
!!ip4
 ^ Syntax error at ` + "`!'" + ` expecting constant.
ip4 && foo == 1
       ^~~ Syntax error at ` + "`foo'" + ` expecting field name.
ip4 && tcp || udp
           ^~ && and || must be parenthesized when used together.
!tcp.dst == 80
 ^~~~~~~~~~~~~ Missing parentheses around operand of !.
ip4 && tcp.dst
       ^~~~~~~ Explicit ` + "`!= 0'" + ` is required for inequality test of multibit field against 0.
inport == 1
          ^ String field inport is not compatible with integer constant.
tcp.dst == "a"
           ^~~ Integer field tcp.dst is not compatible with string constant.
tcp.dst == {80, 65536}
                ^~~~~ 17-bit constant is not compatible with 16-bit field tcp.dst.
reg0 == 0a:00:00:00:00:01
        ^~~~~~~~~~~~~~~~~ 48-bit constant is not compatible with 32-bit field reg0.
1 < tcp.dst > 5
^~~~~~~~~~~~~~~ Range expressions must have the form ` + "`x < field < y' or `x > field > y', with each `<' optionally replaced by `<=' or `>' by `>='" + `).
1 == tcp.dst == 5
^~~~~~~~~~~~~~~~~ Range expressions must have the form ` + "`x < field < y' or `x > field > y', with each `<' optionally replaced by `<=' or `>' by `>='" + `).
inport < "a"
^~~~~~~~~~~~ Only == and != operators may be used with nominal field inport.
vlan.present < 1
^~~~~~~~~~~~~~~~ Only == and != operators may be used with Boolean field vlan.present.
tcp.dst < {1, 2}
^~~~~~~~~~~~~~~~ Only == and != operators may be used with value sets.
ip4.src < 10.0.0.0/8
^~~~~~~~~~~~~~~~~~~~ Only == and != operators may be used with masked constants.  Consider using subfields instead (e.g. eth.src[0..15] > 0x1111 in place of eth.src > 00:00:00:00:11:11/00:00:00:00:ff:ff).
eth.type[0]
^~~~~~~~~~~ Cannot select subfield of nominal field eth.type.
reg0[33]
^~~~~~~~ Cannot select bits 33 to 33 of 32-bit field reg0.
reg0[5..3] == 0
^~~~~~~~~~ Invalid bit range 5 to 3.
reg0[x]
     ^ Syntax error at ` + "`x'" + ` expecting small integer.
inport[3] == "a"
^~~~~~~~~ Cannot select subfield of string field inport.
reg0 == {}
         ^ Syntax error at ` + "`}'" + ` expecting constant.
ip4.src == $nope
           ^~~~~ Syntax error at ` + "`$nope'" + ` expecting address set name.
inport == @nope
          ^~~~~ Syntax error at ` + "`@nope'" + ` expecting port group name.
foo("x")
^~~ parsing function name
2
 ^ Syntax error at end of input expecting relational operator.
inport
      ^ Syntax error at end of input expecting relational operator.
inport && ip4
       ^~ Syntax error at ` + "`&&'" + ` expecting relational operator.
!ip4
 ^~~ Nominal predicate ip4 may only be tested positively, e.g. ` + "`ip4' or `ip4 == 1' but not `!ip4' or `ip4 == 0'" + `.
ip4 == 0
^~~~~~~~ Nominal predicate ip4 may only be tested positively, e.g. ` + "`ip4' or `ip4 == 1' but not `!ip4' or `ip4 == 0'" + `.
inport != "a"
^~~~~~~~~~~~~ Nominal field inport may only be tested for equality (taking enclosing ` + "`!'" + ` operators into account).
!(eth.type == 0x800)
  ^~~~~~~~~~~~~~~~~ Nominal field eth.type may only be tested for equality (taking enclosing ` + "`!'" + ` operators into account).
ip4 &
    ^ ` + "`&' is only valid as part of `&&'" + `.
tcp.dst == {1, "a"}
               ^~~ Syntax error at ` + "`\"a\"'" + ` expecting integer.
inport == {"a", 1}
                ^ Syntax error at ` + "`1'" + ` expecting string.
tcp = 5
    ^ Syntax error at ` + "`='" + ` expecting relational operator.
tcp.dst == 080
           ^~~ Decimal constants must not have leading zeros.
reg0 == 0xg
        ^~~ Invalid syntax in hexadecimal constant.
reg0 == 0x
        ^~ Hex digits expected following 0x.
reg0 == 1.2.3
        ^~~~~ Invalid numeric constant.
reg0 == 18446744073709551616
        ^~~~~~~~~~~~~~~~~~~~ Decimal constants must be less than 2**64.
ip4.src == 10.0.0.0/33
           ^~~~~~~~~~~ Value and mask have incompatible formats.
reg0 == {1, 2
             ^ Syntax error at end of input expecting constant.
(ip4
    ^ Syntax error at end of input expecting ` + "`)'" + `.
ip4)
   ^ Syntax error at ` + "`)'" + ` expecting end of input.
ip4 ip6
    ^~~ Syntax error at ` + "`ip6'" + ` expecting end of input.
ip4 && 
       ^ Syntax error at end of input expecting constant.
inport == "a
          ^~ Input ends inside quoted string.
ip4 /* a
    ^~ ` + "`/*' without matching `*/'" + `.
ip4 # ip6
    ^ Invalid character ` + "`#'" + ` in input.
ip4.src == $
           ^ ` + "`$' must be followed by a valid identifier" + `.
is_chassis_resident(lp)
                    ^~ Syntax error at ` + "`lp'" + ` expecting string.
tcp.dst == ip4
           ^~~ Syntax error at ` + "`ip4'" + ` expecting constant.
0 < 1
    ^ Syntax error at ` + "`1'" + ` expecting field name.
`

// wrongMatch parses and annotates, and returns the error.
func wrongMatch(text string) error {
	m, err := ParseMatch(text)
	if err != nil {
		return err
	}
	_, err = m.Annotate(SymbolsOf(Profile{}), nil)
	return err
}

// A name that a later release may know is told from a mistake.
func TestNotUnderstood(t *testing.T) {
	for text, want := range map[string]bool{
		"ip4 && quic.id == 5": true, "is_leader(\"x\")": true, "ip4 ip4": false, "inport != \"a\"": false,
	} {
		if err := wrongMatch(text); errors.Is(err, ErrNotUnderstood) != want {
			t.Errorf("%s: not understood %v, want %v", text, !want, want)
		}
	}
	for text, want := range map[string]bool{
		"teleport;": true, "reg0 = oracle();": true, "teleport(outport, speed=5);": true, "reg0[0] = check_weather(place=\"here\", 5);": true,
		"ct_lb_mark(backends=10.0.0.1:80; sticky);": true, "log(verdict=drop, colour=red);": true, "log(verdict=postpone);": true,
		"get_arp(outport, reg0, reg1);": true, "ct_next(both);": true, "next(pipeline=sideways, table=5);": true, "next(table=5, slowly);": true,
		"commit_ecmp_nh(ipv6=true, proto=tcp, weight=5);": true, "sample(probability=5, colour=red);": true, "next(5);": false,
		"get_arp(outport);": false, "log(verdict=\"drop\");": false, "ct_lb_mark(backends=10.0.0.1:80;);": false, "next": false, "next; drop;": false, "reg0 = ;": false,
		"quic.id = 5;": true, "ip4.src = 5;": false, "clone { warp { }; };": true,
	} {
		if err := wrongAction(text); errors.Is(err, ErrNotUnderstood) != want {
			t.Errorf("%s: %v, want not understood %v", text, err, want)
		}
	}
}

func TestCaretOfLongText(t *testing.T) {
	text := strings.Repeat("ip4 && ", 5000) + "\tfoo" + strings.Repeat(" && ip4", 5000)
	var e *SyntaxError
	if !errors.As(wrongMatch(text), &e) {
		t.Fatal("no error")
	}
	shown, mark, _ := strings.Cut(e.Caret(), "\n")
	at := strings.Index(mark, "^~~")
	if len(shown) != caretWidth || at < 0 || shown[at:at+3] != "foo" {
		t.Errorf("caret\n%s\n%s", shown, mark)
	}
}

// wrongActions are actions with what is said of them; nothing of those that are right.
var wrongActions = map[string]string{
	"next":                             "Syntax error at end of input expecting `;'.",
	"next; drop;":                      "Syntax error at `drop' expecting action.",
	"drop; next;":                      "Syntax error at `next' expecting end of input.",
	"foo;":                             "Syntax error at `foo' expecting action.",
	"reg0 = ;":                         "Syntax error at `;' expecting constant.",
	"reg0 = reg1[0..3];":               "Can't assign 4-bit value to 32-bit destination.",
	"reg0 <-> reg1[0..3];":             "Can't exchange 32-bit field with 4-bit field.",
	"inport = reg0;":                   "Can't assign integer field (reg0) to string field (inport).",
	"inport <-> reg0;":                 "Can't exchange string field (inport) with integer field (reg0).",
	"ip4 = 1;":                         "Predicate symbol ip4 used where lvalue required.",
	"eth.type = 0x800;":                "Field eth.type is not modifiable.",
	"ct_mark = 1;":                     "Field ct_mark is not modifiable.",
	"ip.ttl--":                         "Syntax error at end of input expecting `;'.",
	"inport = 1;":                      "String field inport is not compatible with integer constant.",
	"reg0[0..3] = 1.2.3.4;":            "",
	"ip.ttl = 256;":                    "9-bit constant is not compatible with 8-bit field ip.ttl.",
	"get_arp(reg0, reg1);":             "Cannot use numeric field reg0 where string field is required.",
	"get_arp(inport, inport);":         "Cannot use string field inport where numeric field is required.",
	"get_arp(inport, xxreg0);":         "Cannot use 128-bit field xxreg0[0..127] where 32-bit field is required.",
	"reg0 = chk_lb_aff();":             "Cannot use 32-bit field reg0[0..31] where 1-bit field is required.",
	"reg0[0] = chk_lb_aff(1);":         "chk_lb_aff doesn't take any parameters",
	"reg0[0..7] = select(1, 2);":       "cannot use 8-bit field reg0[0..7] for \"select\", which requires at least 16 bits.",
	"reg0 = select(1);":                "Syntax error at `;' expecting at least 2 group members.",
	"next(pipeline=middle);":           "Syntax error at `middle' expecting \"ingress\" or \"egress\".",
	"ct_next(x);":                      "\"ct_next\" action accepts only \"dnat\" or \"snat\" parameter.",
	"ct_dnat(1);":                      "Syntax error at `1' expecting IPv4 or IPv6 address.",
	"ct_dnat(1.2.3.4, 9-5);":           "Syntax error at `5' range high should be greater than range low.",
	"ct_lb(backends=fd00::1:80);":      "",
	"ct_lb(backends=1.2.3.4:70000);":   "Syntax error at `70000' expecting port number.",
	"set_queue(61441);":                "Queue ID 61441 for set_queue is not in valid range 0 to 61440.",
	"set_meter(0);":                    "Rate 0 for set_meter is not in valid.",
	"log(name=\"x\");":                 "Syntax error at `;' expecting verdict.",
	"log(verdict=drop, verdict=drop);": "Argument verdict is given twice.",
	"log(colour=red);":                 "Syntax error at `colour'.",
	"sample(obs_domain=1);":            "probability must be greater than zero",
	"^X;":                              "Unexpanded template.",
	"commit_lb_aff(vip = \"1.2.3.4\", backend = \"fd00::1\", timeout = 5);": "Syntax error at `\"fd00::1\"' invalid protocol family.",
	strings.Repeat("clone { ", 40):                                          "maximum depth of nested actions reached",
}

func TestWrongActions(t *testing.T) {
	for text, want := range wrongActions {
		if got := errText(wrongAction(text)); got != want {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
	}
}

// wrongAction parses and annotates, and returns the error.
func wrongAction(text string) error {
	a, err := ParseActions(text)
	if err == nil {
		_, err = a.Annotate(text, SymbolsOf(Profile{}))
	}
	return err
}
