package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// The parts that decided are underlined below the match, or by the terminal; a match that does not fit keeps its marks.
func TestDecided(t *testing.T) {
	const match = `reg0[9] == 1 && (outport == @a1 && tcp.dst == 8080)`
	decided := []journey.Decided{
		{Start: 0, End: 12}, // a register: not for people
		{Start: 17, End: 31, Words: "outport is web, in @a1"},
		{Start: 35, End: 50, Words: "tcp.dst is 8080"},
	}
	for _, test := range []struct {
		name  string
		style Style
		want  string
	}{
		{"plain", Style{}, "" +
			"  reg0[9] == 1 && (outport == @a1 && tcp.dst == 8080)\n" +
			"                   ^~~~~~~~~~~~~~    ^~~~~~~~~~~~~~~\n"},
		{"narrow", Style{Width: 36}, "" +
			"  reg0[9] == 1 && (outport == @a1 &&\n" +
			"                   ^~~~~~~~~~~~~~\n" +
			"  tcp.dst == 8080)\n" +
			"  ^~~~~~~~~~~~~~~\n"},
		{"colour", Style{Color: true}, "  reg0[9] == 1 && (\x1b[4moutport == @a1\x1b[24m && \x1b[4mtcp.dst == 8080\x1b[24m)\n"},
	} {
		p := &tracePrinter{style: test.style}
		p.decided(2, match, decided)
		var b strings.Builder
		for _, line := range p.lines {
			b.WriteString(test.style.painted(line) + "\n")
		}
		if b.String() != test.want {
			t.Errorf("%s:\n%q\nwant\n%q", test.name, b.String(), test.want)
		}
	}
}

// What stands in a database is shown as text, whatever it is and wherever the marks lie.
func TestWhyHostile(t *testing.T) {
	v := journey.Verdict{
		Rule:    &journey.Rule{Match: "ip4.src == \x1b[31m10.0.0.1", Decided: []journey.Decided{{Start: 0, End: 20, Words: "\x1b]0;x\a"}, {Start: -4, End: 99, Words: "x"}, {Start: 5, End: 2, Words: "x"}}},
		Near:    []journey.Rule{{Object: &decode.Object{Text: "ACL \x1b[2J"}, Match: "日本 == 1", Decided: []journey.Decided{{Start: 0, End: 6, Words: "x"}}}},
		Allowed: []decode.Object{{Text: "\x1b[1mACL"}},
		WhyNot:  []journey.Remedy{{Text: "\x1b[1m", Command: "\x1b[1m", Verified: true}},
	}
	p := &tracePrinter{verbose: true}
	p.why(v)
	var b bytes.Buffer
	for _, line := range p.lines {
		b.WriteString(p.style.painted(line) + "\n")
	}
	if strings.ContainsAny(b.String(), "\x1b\a") {
		t.Errorf("%q", b.String())
	}
	if !strings.Contains(b.String(), "日本 == 1\n    ^~~~\n") {
		t.Errorf("wide characters are not underlined whole:\n%s", b.String())
	}
}
