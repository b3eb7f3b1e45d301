package release_test

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"23.03.1-20.27.0-70.6": "23.03.1",
		"ovn-controller 25.03.0\nOpen vSwitch Library 3.5.0\nOpenFlow versions 0x6:0x6\nSB DB Schema 20.41.0\n": "25.03.0",
		"ovn-controller 26.03.1":  "26.03.1",
		"22.09.2":                 "22.09.2",
		"v24.03.6":                "24.03.6",
		"":                        "unknown release",
		"3.1.0":                   "unknown release",
		"20.27.0":                 "unknown release",
		"99999999999999999999.03": "unknown release",
		"23.03.1111111111111111":  "unknown release",
	} {
		if got := release.Parse(text).String(); got != want {
			t.Errorf("Parse(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestSeries(t *testing.T) {
	for text, want := range map[string]release.Series{"23.03": 2303, "23.03.1": 2303, "26.03.2-21.8.0-82.3": 2603, "20.12": 2012} {
		if v, err := release.ParseSeries(text); v != want || err != nil || v.String() != text[:5] {
			t.Errorf("%s is %v (%v), want %d", text, v, err, want)
		}
	}
	for _, text := range []string{"", "23", "23.13", "x.y", "0.03"} {
		if v, err := release.ParseSeries(text); err == nil {
			t.Errorf("%q is %v, want an error", text, v)
		}
	}
}

func TestFlagNames(t *testing.T) {
	for _, test := range []struct {
		value   uint32
		release string
		want    string
	}{
		{0, "23.03.1", ""},
		{1, "23.03.1", "loopback"},
		{1 << 12, "22.03.8", "from_ctrl"},
		{1 << 12, "22.03.7", "bit 12"},
		{1 << 12, "23.03.1", "check_port_sec"},
		{1 << 12, "", "bit 12"},
		{1 << 18, "24.03.2", "igmp_snoop_inject"},
		{1 << 18, "24.03.3", "bit 18"},
		{1 << 18, "24.03.5", "override_local_only"},
		{1 << 18, "23.09.4", "igmp_snoop_inject"},
		{1 << 18, "25.03.0", "override_local_only"},
		{0x8001, "24.03.0", "loopback localnet"},
		{3<<28 | 1<<10, "25.03.1", "localport network_id=3"},
		{1 << 27, "25.03.1", "bit 27"},
	} {
		if got := strings.Join(release.FlagNames(test.value, release.Parse(test.release)), " "); got != test.want {
			t.Errorf("flags %#x of %s: %q, want %q", test.value, test.release, got, test.want)
		}
	}
}

func TestCtBits(t *testing.T) {
	old, v23, v25, v26 := release.Parse("22.03.0"), release.Parse("23.03.1"), release.Parse("25.03.0"), release.Parse("26.03.0")
	for _, test := range []struct {
		mark    packet.Value
		version release.Version
		want    string
	}{
		{packet.Uint(0), v23, ""},
		{packet.Uint(1), v23, "blocked"},
		{packet.Uint(0xa), v23, "natted,force_snat"},
		{packet.Uint(0x40), v23, "0x40"},
		{packet.Uint(0x40), v25, "allow_established"},
		{packet.Uint(0x80), v26, "0x80"},
		{packet.Uint(0x50002), v23, "natted,ecmp_reply_port=5"},
	} {
		if got := release.CtMark(test.mark, test.version); got != test.want {
			t.Errorf("ct_mark %s of %s: %q, want %q", test.mark, test.version, got, test.want)
		}
	}
	port := packet.Uint(7).Shl(80)
	for _, test := range []struct {
		label   packet.Value
		version release.Version
		want    string
	}{
		{packet.Uint(3), old, "blocked,natted"},
		{packet.Uint(2), v25, "0x2"},
		{port, old, "ecmp_reply_port=7"},
		{port, v25, "acl_id=7"},
		{packet.Uint(0x80), v25, "0x80"},
		{packet.Uint(0x80), v26, "nf"},
		{packet.Uint(0xa0180), v26, "nf,tun_if,nf_id=5"},
		{packet.Uint(0x0a580af40102).Shl(32), v23, "ecmp_reply_eth=0a:58:0a:f4:01:02"},
		{packet.Uint(9).Shl(96), v23, "acl_label=9"},
	} {
		if got := release.CtLabel(test.label, test.version); got != test.want {
			t.Errorf("ct_label %s of %s: %q, want %q", test.label, test.version, got, test.want)
		}
	}
}

func TestOlder(t *testing.T) {
	for _, test := range []struct {
		a, b           string
		older, atLeast bool // a than b
	}{
		{"7.0.1", "7.0.1", false, true},
		{"7.0.1", "7.0.10", true, false},
		{"20.27.0", "20.3.9", false, true},
		{"8.3", "8.3.0", true, false},
		{"3.1.0", "3.1", false, true},
		{"", "3.1", false, false},
		{"unknown release", "3.1", false, false},
		{"3", "3.1", false, false},
		{"3.0.1", "none", false, true},
	} {
		if got := release.Older(test.a, test.b); got != test.older {
			t.Errorf("Older(%q, %q) = %t", test.a, test.b, got)
		}
		if got := release.AtLeast(test.a, test.b); got != test.atLeast {
			t.Errorf("AtLeast(%q, %q) = %t", test.a, test.b, got)
		}
	}
}

// Every table that has a number has words, and each layout is found by the releases that it names.
func TestLayouts(t *testing.T) {
	for i := range release.Layouts {
		l := &release.Layouts[i]
		for table := range l.All() {
			if table.Explain() == "" {
				t.Errorf("no words for %s", table)
			}
		}
		for _, span := range strings.Fields(l.Releases) {
			name := strings.TrimSuffix(span, "+")
			if strings.Count(name, ".") == 1 {
				name += ".0"
			}
			if got, known := release.LayoutOf(release.Parse(name)); got != l || !known {
				t.Errorf("the layout of %s is another than the one that names it", name)
			}
		}
	}
	if l, known := release.LayoutOf(release.Parse("26.09.0")); l != &release.Next || known {
		t.Error("26.09.0 does not get the guess for what follows")
	}
	if l, _ := release.LayoutOf(release.Version{}); l != nil {
		t.Error("the unknown release has a layout")
	}
}
