package packet

import (
	"strings"
	"testing"
)

func TestValue(t *testing.T) {
	wide := Ones(992)
	for _, c := range []struct {
		name string
		got  Value
		want string
	}{
		{"shl 64", Uint(5).Shl(64), "0x50000000000000000"},
		{"shl 100", Uint(0xff).Shl(100), "0xff" + strings.Repeat("0", 25)},
		{"shl beyond 128", Uint(1).Shl(200), "0x1" + strings.Repeat("0", 50)},
		{"shl beyond all", Uint(1).Shl(992), "0"},
		{"shr across", Uint(0xff).Shl(60).Shr(56), "0xff0"},
		{"shr wide", wide.Shr(988), "0xf"},
		{"and wide", wide.And(Uint(6)), "0x6"},
		{"or wide", Uint(1).Shl(200).Or(Uint(1)), "0x1" + strings.Repeat("0", 49) + "1"},
		{"andnot wide", wide.AndNot(Ones(988).Shl(4)), "0xf"},
		{"ones", Ones(65), "0x1ffffffffffffffff"},
		{"ones wide", Ones(130), "0x3" + strings.Repeat("f", 32)},
		{"bytes", FromBytes([]byte{1, 2, 3}), "0x10203"},
		{"leading zeros", FromBytes(make([]byte, 124)), "0"},
	} {
		if got := c.got.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if n := wide.BitLen(); n != 992 {
		t.Errorf("BitLen of all ones: %d", n)
	}
	if again := FromBytes(wide.Bytes(124)); again != wide {
		t.Errorf("bytes of all ones read as %s", again)
	}
	if !wide.Bit(991) || wide.Shr(1).Bit(991) || !Uint(4).Bit(2) {
		t.Error("Bit is wrong")
	}
}

// Lines without an out print as they were read.
var fieldValues = []struct{ field, in, out string }{
	{"ip_src", "10.0.0.0/8", ""},
	{"ip_src", "10.0.0.1/255.0.255.0", ""},
	{"ip_src", "0x0a000001", "10.0.0.1"},
	{"ipv6_src", "fd00::/64", ""},
	{"ipv6_src", "::ffff:1.2.3.4", ""},
	{"ipv6_src", "::1.2.3.4", ""},
	{"ipv6_src", "::1", ""},
	{"ipv6_src", "1:0:0:2::3", "1:0:0:2::3"},
	{"eth_dst", "01:00:00:00:00:00/01:00:00:00:00:00", ""},
	{"eth_dst", "1:2:3:4:5:6", "01:02:03:04:05:06"},
	{"ct_state", "new|trk", ""},
	{"ct_state", "+new-est+trk", ""},
	{"ct_state", "0x21/0x23", "+new-est+trk"},
	{"ct_state", "0", ""},
	{"tcp_flags", "syn|ack", ""},
	{"tcp_flags", "+syn-ack", ""},
	{"tcp_flags", "0x12", "syn|ack"},
	{"tun_flags", "oam", ""},
	{"ip_frag", "not_later", ""},
	{"ip_frag", "0x3", "later"},
	{"packet_type", "(1,0x800)", ""},
	{"in_port", "LOCAL", ""},
	{"in_port", "4294967294", "LOCAL"},
	{"reg0", "010", "0x8"},
	{"tcp_dst", "0x50/0xf0", "80/0xf0"},
	{"xxreg0", "0xffffffffffffffffffffffffffffffff", ""},
	{"tun_metadata0", "0x1" + "0123456789abcdef0123456789abcdef", ""},
}

func TestParseValue(t *testing.T) {
	for _, c := range fieldValues {
		f := MustField(c.field)
		v, mask, err := f.ParseValue(c.in)
		want := c.out
		if want == "" {
			want = c.in
		}
		if got := f.PrintMasked(v, mask); err != nil || got != want {
			t.Errorf("%s=%s prints %q, %v; want %q", c.field, c.in, got, err, want)
		}
	}
	for _, c := range []struct{ field, in string }{
		{"reg0", "0x100000000"}, {"reg0", "x"}, {"reg0", ""}, {"reg0", "1_0"}, {"reg0", "0x"}, {"reg0", "-1"},
		{"ip_src", "10.0.0"}, {"ip_src", "fd00::1"}, {"ip_src", "10.0.0.1/33"}, {"ipv6_src", "fe80::1%eth0"},
		{"eth_src", "00:00:00:00:00"}, {"eth_src", "00:00:00:00:00:100"}, {"ct_state", "+nope"}, {"ct_state", "new|nope"},
		{"in_port", "65536"}, {"in_port", "nonesuch"}, {"ip_frag", "maybe"}, {"packet_type", "(1)"}, {"nw_ecn", "4"},
	} {
		if v, _, err := MustField(c.field).ParseValue(c.in); err == nil {
			t.Errorf("%s=%s read as %s", c.field, c.in, v)
		}
	}
}
