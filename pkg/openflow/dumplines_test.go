package openflow

import (
	"strings"
	"testing"
)

// TestParseDumpLines reads what ovs-ofctl 3.5.0 printed of a reply with an action that it could not decode.
func TestParseDumpLines(t *testing.T) {
	const text = `OFPST_FLOW reply (OF1.5) (xid=0x2):
 cookie=0x1, duration=1s, table=0, n_packets=0, n_bytes=0, idle_age=1, priority=9,ip actions=output:1
 cookie=0x2, duration=1s, table=0, n_packets=0, n_bytes=0, idle_age=1, priority=8,ip actions=***decode error: OFPBAC_BAD_SET_ARGUMENT***
00000000  06 13 00 e0 00 00 00 02-00 01 00 00 00 00 00 00 |................|
00000010  00 48 00 00 00 00 00 00-                        |.H......        |
 cookie=0x3, duration=1s, table=1, n_packets=0, n_bytes=0, idle_age=1, priority=7 actions=drop
`
	if _, err := ParseDump(text); err == nil {
		t.Error("the whole dump can be read")
	}
	dump, bad := ParseDumpLines(text)
	flows := Entries[FlowEntry](dump)
	if len(flows) != 2 || flows[0].Cookie != 1 || flows[1].Cookie != 3 {
		t.Errorf("flows %v, want those with cookies 1 and 3", flows)
	}
	if len(bad) != 1 || !strings.Contains(bad[0].Error(), "decode") {
		t.Errorf("errors %v, want one of the line with cookie 2", bad)
	}
}
