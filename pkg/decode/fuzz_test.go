package decode

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// FuzzTexts throws a text at everything that reads one.
func FuzzTexts(f *testing.F) {
	for _, seed := range []string{
		"23.03.1-20.27.0-70.6", "ls_in_acl_eval", "lr_out_", "0x102 0x80 4 tun_metadata0", "node@1.2.3.4%5.6.7.8",
		"12345678", "12345678-1234-1234-1234-123456789abc", "Service_a/b_TCP_x", "\x00\x00\x00\x07\x00\x00\x00\x00\x01\x05a", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v := release.Parse(text); v != (release.Version{}) && release.Parse(v.String()) != v {
			t.Errorf("%q is release %s, which reads as %s", text, v, release.Parse(v.String()))
		}
		if got := explainStage(text); got == "" && text != "" {
			t.Errorf("Explain(%q) is empty", text)
		}
		if index, ok := OVNOption(openflow.ParseTLVMap(text)); ok && (index < 0 || index > 63) {
			t.Errorf("%q holds tun_metadata%d", text, index)
		}
		if end, ok := parseTunnelID(text); ok && (end.Chassis == "" || !end.Remote.IsValid()) {
			t.Errorf("%q is tunnel %+v", text, end)
		}
		if n, ok := parseHint(text); ok && len(text) != 8 {
			t.Errorf("%q is hint %#x", text, n)
		}
		if n, ok := Prefix(ovsdb.UUID(text)); ok && len(text) != 36 {
			t.Errorf("%q begins with %#x", text, n)
		}
		if u, ok := ParseUserdata([]byte(text)); ok && (u.Opcode == "" || u.String() == "" || (u.Then(func(any) string { return "" }) == "") != (len(u.Nested)+len(u.Options) == 0 && !u.Unread)) {
			t.Errorf("%q is %+v", text, u)
		}
		lookupsOf(text)
		if service := serviceOf(text); service != (Owner{}) && !strings.Contains(text, "/") && utf8.ValidString(text) {
			t.Errorf("%q is %s", text, service)
		}
		if owner := groupOwner(Holder{GroupHolder, text}); owner != (Owner{}) && text == "" {
			t.Errorf("a group without name is of %s", owner)
		}
		if OwnerOf(map[string]string{"k8s.ovn.org/owner-type": text, "k8s.ovn.org/name": text}) == (Owner{}) && text != "" && strings.TrimSpace(text) != "" {
			t.Errorf("owner-type %q is nobody's", text)
		}
	})
}

// FuzzNumbers throws numbers at everything that reads one.
func FuzzNumbers(f *testing.F) {
	f.Add(uint64(0x10007), uint64(0x800005), 40, 23, 3, 1)
	f.Fuzz(func(t *testing.T, value, metadata uint64, table, year, month, patch int) {
		v := release.Version{Year: year, Month: month, Patch: patch}
		names := laterNames("23.03.1")
		names.Version = v
		for _, field := range someFields() {
			for _, at := range []Context{{}, {Metadata: metadata, TunID: metadata}, {VXLAN: true, Metadata: 5}} {
				names.Annotate(field, packet.Uint(value), at)
			}
		}
		in, out := SplitOption(uint32(value))
		if in<<16|out != value&0x7fffffff {
			t.Errorf("option %#x is %#x to %#x", value, in, out)
		}
		datapath, port := SplitVNI(value & 0xffffff)
		if joined := datapath | port&0x7ff<<12 | port>>15<<23; joined != value&0xffffff {
			t.Errorf("VNI %#x is %#x to %#x", value&0xffffff, datapath, port)
		}
		d := &Decoder{Names: names, Calibration: calibrate(nil, v)}
		if m := d.Decode(t.Context(), Seen{Table: table, Cookie: value, Metadata: metadata, Priority: patch}); m.String() == "" {
			t.Errorf("table %d is nowhere", table)
		}
	})
}
