package decode

import (
	"net/netip"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/openflow"
)

func TestOVNOption(t *testing.T) {
	// Another controller came first.
	const text = `NXT_TLV_TABLE_REPLY (OF1.5) (xid=0x4):
 max option space=256 max fields=64
 allocated option space=8

 mapping table:
  class  type  length  match field
 ------  ----  ------  --------------
  0xffff  0x1       4  tun_metadata0
  0x102  0x80       4  tun_metadata3
`
	tlvs := openflow.ParseTLVMap(text)
	if index, ok := OVNOption(tlvs); index != 3 || !ok {
		t.Errorf("OVN's option is tun_metadata%d, %t, want 3", index, ok)
	}
	if _, ok := OVNOption(tlvs[:1]); ok {
		t.Error("found OVN's option in a map without it")
	}
}

func TestOption(t *testing.T) {
	if in, out := SplitOption(0x10007); in != 1 || out != 7 {
		t.Errorf("0x10007 is from %d to %d", in, out)
	}
	if in, out := SplitOption(0xffff8000); in != 0x7fff || out != 0x8000 {
		t.Errorf("0xffff8000 is from %#x to %#x", in, out)
	}
}

func TestVNI(t *testing.T) {
	for _, test := range []struct{ vni, datapath, outport uint64 }{
		{0x003005, 5, 3},
		{0x7fffff, 0xfff, 0x7ff},
		{0x800001, 1, 0x8000},
		{0x804001, 1, 0x8004},
	} {
		if datapath, outport := SplitVNI(test.vni); datapath != test.datapath || outport != test.outport {
			t.Errorf("VNI %#x is datapath %#x, outport %#x, want %#x and %#x", test.vni, datapath, outport, test.datapath, test.outport)
		}
	}
}

func TestTunnelID(t *testing.T) {
	for text, want := range map[string]TunnelEnd{
		"c5ab1a53-efaa@172.30.0.12":             {Chassis: "c5ab1a53-efaa", Remote: netip.MustParseAddr("172.30.0.12")},
		"node2@172.30.0.12%172.30.0.11":         {Chassis: "node2", Remote: netip.MustParseAddr("172.30.0.12"), Local: netip.MustParseAddr("172.30.0.11")},
		"node2@fd00:172:30::12%fd00:172:30::11": {Chassis: "node2", Remote: netip.MustParseAddr("fd00:172:30::12"), Local: netip.MustParseAddr("fd00:172:30::11")},
		"a@b%c@172.30.0.12":                     {Chassis: "a@b%c", Remote: netip.MustParseAddr("172.30.0.12")},
		"node2@":                                {}, "@172.30.0.12": {}, "node2": {}, "node2@172.30.0.12%": {}, "node2@flow": {}, "": {},
	} {
		got, ok := parseTunnelID(text)
		if got != want || ok != (want != TunnelEnd{}) {
			t.Errorf("ParseTunnelID(%q) = %+v, %t, want %+v", text, got, ok, want)
		}
	}
}
