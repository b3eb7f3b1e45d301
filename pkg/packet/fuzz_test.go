package packet

import "testing"

func FuzzParseFlow(f *testing.F) {
	for _, c := range flows {
		f.Add(c.in)
	}
	f.Add("tun_metadata63=0x" + "f0f1f2f3f4f5f6f7" + "f0f1f2f3f4f5f6f7" + "f0f1f2f3f4f5f6f7f8,in_port=\"a b\",ct_label=0xffffffffffffffffffffffffffffffff")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			return
		}
		text := p.String()
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("Parse(%q) prints %q: %v", s, text, err)
		}
		if again.String() != text {
			t.Fatalf("Parse(%q) prints %q, then %q", s, text, again.String())
		}
	})
}

func FuzzParseSubfield(f *testing.F) {
	f.Add("NXM_NX_REG14[0..14]")
	f.Add("reg10[0]")
	f.Add("tun_metadata0[]")
	f.Fuzz(func(t *testing.T, s string) {
		sub, err := ParseSubfield(s)
		if err != nil {
			return
		}
		again, err := ParseSubfield(sub.String())
		if err != nil || again.String() != sub.String() {
			t.Fatalf("ParseSubfield(%q) prints %q: %v", s, sub, err)
		}
		var p Flow
		sub.Set(&p, Ones(sub.Bits))
		if got := sub.Get(&p); got != Ones(sub.Bits) {
			t.Fatalf("%s: set all ones, got %s", sub, got)
		}
	})
}
