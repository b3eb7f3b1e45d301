package anonymize

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// replaced is what a redactor makes of a text that it has seen.
func replaced(t *testing.T, name, text string) (string, *Redactor) {
	t.Helper()
	r := New()
	r.SeeFile(name, []byte(text))
	_, got := r.File(name, []byte(text))
	if _, again := r.File(name, []byte(text)); !bytes.Equal(again, got) {
		t.Errorf("another time: %s", again)
	}
	return string(got), r
}

// Addresses are replaced in every form in which they are written, by the same.
func TestForms(t *testing.T) {
	text := `nw_src=10.244.1.5,dl_src=0a:58:0a:f4:01:05 set_field:0a:58:0a:f4:01:05->eth_src,load:0xaf40105->NXM_OF_IP_SRC[],load:0xa580af40105->x ` +
		`userdata=00.00.00.0a.f4.01.05.0a.58.0a.f4.01.05.ff.ff.02.00.00.00.00.00.00.00.00.00.01.ff.00.00.05 nd_target=fd00:10:244:1::5,xxreg0=0xfd000010024400010000000000000005 10.244.0.0/16 fd00:10:244::/48 ` +
		`ipv6_dst=fe80::858:aff:fef4:105 ff02::1:ff00:5 33:33:ff:00:00:05 tcp:10.244.1.5:6641 [fd00:10:244:1::5]:80 2001:db8::7: 127.0.0.1 ::1 0.0.0.0/0 dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 ` +
		`set_field:0xaf401050000000000000000/0xffffffff0000000000000000->xxreg1 ip-10-244-1-5 10_244_1_5 0a-58-0a-f4-01-05 0a58.0af4.0105 datapath 00000a580af40105 10.244.1.0/255.255.255.0 ` +
		`reg0=0xfd000010,reg1=0x2440001,reg2=0,reg3=0x5,metadata=0x1 reg4=0xfd000010,reg5=0x2440001,reg6=0,reg7=0x5 set_field:0xa580af401050000000000000000/0xffffffffffff0000000000000000->xxreg0`
	got, r := replaced(t, "x.txt", text)
	others := []string{got} // by other keys: of a few digits some are drawn again, now and then
	for range 2 {
		other, _ := replaced(t, "x.txt", text)
		others = append(others, other)
	}
	for _, original := range []string{
		"10.244", "0a:58", "0xaf40105", "0xa580af40105", "0a.f4.01.05", "0a.58", "fd00:10", "0xfd0000100244", "858:aff", "ff00:5", "ff:00:00:05", "db8::7",
		"0xaf401050000", "10-244", "10_244", "0a-58", "0a58", "a580af40105", "0x2440001", "0xa580af4", "ff.00.00.05",
	} {
		if !slices.ContainsFunc(others, func(text string) bool { return !strings.Contains(text, original) }) {
			t.Errorf("%s is left in %s", original, got)
		}
	}
	for _, stays := range []string{
		"127.0.0.1", " ::1 ", "0.0.0.0/0", "01:00:00:00:00:00/01:00:00:00:00:00", "->eth_src,load:0x", ":6641", "]:80", "/0xffffffff0000000000000000->xxreg1", "/255.255.255.0",
	} {
		if !strings.Contains(got, stays) {
			t.Errorf("%s is gone from %s", stays, got)
		}
	}
	b := r.ip(netip.MustParseAddr("fd00:10:244:1::5")).As16()
	for _, first := range []int{0, 4} {
		if want := fmt.Sprintf("reg%d=0x%x,reg%d=0x%x,reg%d=", first, binary.BigEndian.Uint32(b[:]), first+1, binary.BigEndian.Uint32(b[4:]), first+2); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	mac := r.mac([6]byte{0x0a, 0x58, 0x0a, 0xf4, 1, 5})
	if want := fmt.Sprintf("set_field:0x%s0000000000000000/0x", strings.TrimLeft(hex.EncodeToString(mac[:]), "0")); !strings.Contains(got, want) {
		t.Errorf("%s lacks %s", got, want)
	}
	// A group address is that of the address that it is of.
	a := r.ip(netip.MustParseAddr("fd00:10:244:1::5")).As16()
	g := r.ip(netip.MustParseAddr("ff02::1:ff00:5")).As16()
	if [3]byte(a[13:]) != [3]byte(g[13:]) {
		t.Errorf("%v and %v", a, g)
	}
}

// Names and addresses are replaced where they are written byte by byte, and in the names of reverse DNS.
func TestSpelled(t *testing.T) {
	const name = "AcmeBank-7"
	text := "cookie=0x12345678 10.244.1.5 fd00:10:244::5 "
	var forms []string
	for _, form := range []struct{ each, between string }{
		{`\x%02x`, ""}, {`\x%02X`, ""}, {`\%03o`, ""}, {"%%%02x", ""}, {"%02x", " "}, {"%02X", " "}, {"%02x", "."}, {"%02x", ":"}, {"0x%02x", ""},
	} {
		written := ""
		for i := range len(name) {
			if i > 0 {
				written += form.between
			}
			written += fmt.Sprintf(form.each, name[i])
		}
		if form.each == "0x%02x" {
			written = "0x" + hex.EncodeToString([]byte(name))
		}
		forms = append(forms, written)
		text += "name " + written + " "
	}
	text += "note:61.63.6d.65 ab 61:63:6d:65 a:58:a:f4:1:5 0a58.0af4.0105 5.1.244.10.in-addr.arpa 1.244.10.in-addr.arpa. " +
		"5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.4.4.2.0.0.1.0.0.0.0.d.f.ip6.arpa 12345678-1111-4111-8111-111111111111 uuid=12345678\n" +
		"00000000  04 0e 00 60 41 63 6d 65-42 61 6e 6b 0a 58 0a f4 |...`AcmeBank.X..|\n00000010  0a f4 01 05             |....|\nend 12 34 56 78 90\n"
	got, r := replaced(t, "x.txt", text)
	for _, original := range append(forms, "61.63.6d.65", "61:63:6d:65", "a:58:a:f4", "0a58.0af4", "AcmeBank", "5.1.244.10", " 1.244.10.in", "0.0.4.4.2.0.0.1", "41 63 6d 65", "0a 58 0a f4", "0a f4 01 05", "12345678") {
		if strings.Contains(got, original) {
			t.Errorf("%s is left in %s", original, got)
		}
	}
	b := r.ip(netip.MustParseAddr("10.244.1.5")).As4()
	uuid := r.hexDigits("12345678")
	for _, stays := range []string{
		fmt.Sprintf(" %d.%d.%d.%d.in-addr.arpa %d.%d.%d.in-addr.arpa. ", b[3], b[2], b[1], b[0], b[2], b[1], b[0]), ".d.f.ip6.arpa ",
		"cookie=0x" + strings.TrimLeft(uuid, "0") + " ", "uuid=" + uuid + "\n", "\nend 12 34 56 78 90\n",
	} {
		if !strings.Contains(got, stays) {
			t.Errorf("%s is gone from %s", stays, got)
		}
	}
}

// What has a common prefix has one of the same length afterwards, and what is private or shared stays so.
func TestPrefixesStay(t *testing.T) {
	r := New()
	common := func(a, b netip.Addr) int {
		for n := a.BitLen(); ; n-- {
			if netip.PrefixFrom(a, n).Masked() == netip.PrefixFrom(b, n).Masked() {
				return n
			}
		}
	}
	for _, pair := range [][2]string{
		{"10.0.0.1", "10.0.0.2"}, {"10.1.0.1", "10.2.0.1"}, {"172.16.5.1", "172.16.5.254"}, {"172.15.0.1", "172.16.0.1"}, {"192.168.1.1", "192.169.1.1"}, {"100.64.0.1", "100.127.0.1"},
		{"fd00::1", "fd00::2"}, {"2001:db8:1::1", "2001:db8:2::1"},
	} {
		a, b := netip.MustParseAddr(pair[0]), netip.MustParseAddr(pair[1])
		if want, got := common(a, b), common(r.ip(a), r.ip(b)); want != got {
			t.Errorf("%v: %d bits, and %d afterwards", pair, want, got)
		}
		for _, ip := range []netip.Addr{a, b} {
			in := func(ip netip.Addr) int {
				return slices.IndexFunc(scopes, func(s netip.Prefix) bool { return s.Contains(ip) })
			}
			if in(ip) != in(r.ip(ip)) {
				t.Errorf("%v became %v: another scope", ip, r.ip(ip))
			}
		}
	}
}

// Two redactors have nothing in common.
func TestKeys(t *testing.T) {
	a, b := New(), New()
	x, y := a.Name("shop_web-1"), b.Name("shop_web-1")
	if x == y || strings.Contains(x, "shop") || !strings.HasSuffix(x, "-1") || strings.Count(x, "_") != 1 {
		t.Errorf("%s %s", x, y)
	}
	if a.Name("web") != a.Name("shop_web")[strings.Index(a.Name("shop_web"), "_")+1:] {
		t.Error("a word is not replaced by the same everywhere")
	}
}

// What is derived from the beginning of a UUID is derived from that of its replacement.
func TestUUIDs(t *testing.T) {
	const id = "3f1c4cde-7f0e-4a57-9b39-a8f1c1b7d6aa"
	r := New()
	other := r.Name(id)
	for in, want := range map[string]string{
		"neutron-" + id: "neutron-" + other, "pg_" + strings.ReplaceAll(id, "-", "_"): "pg_" + strings.ReplaceAll(other, "-", "_"), "tap3f1c4cde-7f": "tap" + other[:11],
		"ovn-3f1c4c-0": "ovn-" + other[:6] + "-0", "3f1c4cde": other[:8], "lrp-" + id + "_dnat": "lrp-" + other + "_dnat",
	} {
		if got := r.Name(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	if got, want := r.Text("cookie=0x3f1c4cde, table=8, priority=0 actions=drop"), "cookie=0x"+strings.TrimLeft(other[:8], "0")+", table=8, priority=0 actions=drop"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := r.Text("cookie=0xdeff105, cookie=0x0"); got != "cookie=0xdeff105, cookie=0x0" {
		t.Errorf("cookies that mean something: %s", got)
	}
}

// In a database the place of a string says what it may be.
func TestRows(t *testing.T) {
	r := New()
	shown := string(r.record([]byte(`{"DNS":{"3f1c4cde-7f0e-4a57-9b39-a8f1c1b7d6aa":{"records":["map",[["drop.corp","10.1.2.3"]]]}},"ACL":{"3f1c4cde-7f0e-4a57-9b39-a8f1c1b7d6ab":` +
		`{"name":"drop","action":"drop","direction":"to-lport","match":"inport == \"drop\" && ip4.src == $drop && tcp","options":["map",[["apply-after-lb","true"],["token","x"]]]}}}`)))
	for _, want := range []string{`"action":"drop"`, `"direction":"to-lport"`, `"apply-after-lb","true"`, `,"<hidden>"`, `&& tcp"`, `"DNS"`, `"records"`, `inport == \"n`, `$n`} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %s in %s", want, shown)
		}
	}
	for _, gone := range []string{`"name":"drop"`, "corp", "10.1.2.3", "drop.", `\"drop`, "$drop", "3f1c4cde"} {
		if strings.Contains(shown, gone) {
			t.Errorf("%s is left in %s", gone, shown)
		}
	}
}

// Text that is damaged, or no JSON though it begins so, is replaced like any other.
func TestDamaged(t *testing.T) {
	for _, text := range []string{`{"ACL":{"falcon`, `{"a":falcon}`, `["falcon`, `{"caption":"falcon`, "[falcon", `{"a":"\falcon"}`, "OVSDB JSON 3 x\nfalcon", "\\falcon", `"falcon`} {
		for _, name := range []string{"node1/x.json", "node1/conf.json", "nb.db", "node1/x.txt"} {
			if got, _ := replaced(t, name, text); strings.Contains(got, "falcon") {
				t.Errorf("%s: %q became %q", name, text, got)
			}
		}
	}
}

// No file makes the redactor fail.
func FuzzFile(f *testing.F) {
	for _, s := range []string{`{"caption":"A table","headings":["_uuid"],"data":[[["uuid","x"]]]}`, `["a","b"]` + "\nfoo", `{"A":{"b":["map",[["k","v"]]]}}`, "cookie=0x1,userdata=00.61.62.63.64", "::1/64 fe80::1%eth0", "0x" + strings.Repeat("f", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"node1/x.json", "node1/conf.json", "nb.db", "node1/x.txt"} {
			r := New()
			r.SeeFile(name, []byte(text))
			r.File(name, []byte(text))
		}
	})
}

// What is called so in a database is replaced in texts, too, though daemons print the word; so is a part of a name.
func TestCalledSo(t *testing.T) {
	const port = `{"caption":"Logical_Switch_Port table","headings":["name"],"data":[["zoo_re-created"],["re-used"],["zoo_r-1"]]}`
	for text, part := range map[string]string{
		"db.txt: the pod re-created is ready": "re-created",
		"the pod re-used is ready":            "re-used",
		"the pod zoo/r-1 is ready":            "r-1",
		"the pod web-1 is ready":              "web-1", // of which nobody heard
		"the pod shop_vault-2 is ready":       "vault-2",
	} {
		r := New()
		r.SeeFile("conf.json", []byte(port))
		r.SeeFile("log.txt", []byte(text))
		if _, got := r.File("log.txt", []byte(text)); strings.Contains(string(got), part) {
			t.Errorf("%s is left in %q", part, got)
		}
	}
	r := New()
	if _, got := r.File("log.txt", []byte("it was re-created")); string(got) != "it was re-created" {
		t.Errorf("%q", got)
	}
}
