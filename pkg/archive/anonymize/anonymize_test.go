package anonymize

import (
	"net/netip"
	"strings"
	"testing"
)

// Addresses are replaced in every form in which they are written, by the same.
func TestForms(t *testing.T) {
	r := New()
	text := `nw_src=10.244.1.5,dl_src=0a:58:0a:f4:01:05 set_field:0a:58:0a:f4:01:05->eth_src,load:0xaf40105->NXM_OF_IP_SRC[],load:0xa580af40105->x ` +
		`userdata=00.00.0a.f4.01.05.0a.58.0a.f4.01.05.ff nd_target=fd00:10:244:1::5,xxreg0=0xfd000010024400010000000000000005 10.244.0.0/16 fd00:10:244::/48 ` +
		`ipv6_dst=fe80::858:aff:fef4:105 ff02::1:ff00:5 33:33:ff:00:00:05 tcp:10.244.1.5:6641 [fd00:10:244:1::5]:80 2001:db8::7: 127.0.0.1 ::1 0.0.0.0/0 dl_dst=01:00:00:00:00:00/01:00:00:00:00:00`
	r.See("x", []byte(text))
	got := string(r.Text([]byte(text)))
	for _, original := range []string{
		"10.244", "0a:58", "0xaf40105", "0xa580af40105", "0a.f4.01.05", "0a.58", "fd00:10", "0xfd0000100244", "858:aff", "ff00:5", "ff:00:00:05", "db8::7",
	} {
		if strings.Contains(got, original) {
			t.Errorf("%s is left in %s", original, got)
		}
	}
	for _, stays := range []string{"127.0.0.1", " ::1 ", "0.0.0.0/0", "01:00:00:00:00:00/01:00:00:00:00:00", "->eth_src,load:0x", ":6641", "]:80"} {
		if !strings.Contains(got, stays) {
			t.Errorf("%s is gone from %s", stays, got)
		}
	}
	if again := string(r.Text([]byte(text))); again != got {
		t.Errorf("another time: %s", again)
	}
	// A group address is that of the address that it is of.
	a := r.ip(netip.MustParseAddr("fd00:10:244:1::5")).As16()
	g := r.ip(netip.MustParseAddr("ff02::1:ff00:5")).As16()
	if [3]byte(a[13:]) != [3]byte(g[13:]) {
		t.Errorf("%v and %v", a, g)
	}
}

// What has a common prefix has one of the same length afterwards.
func TestPrefixesStay(t *testing.T) {
	r := New()
	common := func(a, b netip.Addr) int {
		for n := a.BitLen(); ; n-- {
			if netip.PrefixFrom(a, n).Masked() == netip.PrefixFrom(b, n).Masked() {
				return n
			}
		}
	}
	for _, pair := range [][2]string{{"10.0.0.1", "10.0.0.2"}, {"10.1.0.1", "10.2.0.1"}, {"172.16.5.1", "172.16.5.254"}, {"fd00::1", "fd00::2"}, {"2001:db8:1::1", "2001:db8:2::1"}} {
		a, b := netip.MustParseAddr(pair[0]), netip.MustParseAddr(pair[1])
		if want, got := common(a, b), common(r.ip(a), r.ip(b)); want != got {
			t.Errorf("%v: %d bits, and %d afterwards", pair, want, got)
		}
	}
}

// Two redactors have nothing in common.
func TestKeys(t *testing.T) {
	a, b := New(), New()
	for _, r := range []*Redactor{a, b} {
		r.SeeName("shop_web-1")
	}
	x, y := string(a.Text([]byte("shop_web-1"))), string(b.Text([]byte("shop_web-1")))
	if x == y || strings.Contains(x, "shop") || !strings.HasSuffix(x, "-1") || strings.Count(x, "_") != 1 {
		t.Errorf("%s %s", x, y)
	}
}
