package openflow

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// lines returns those lines of the files of a pattern that hold word.
func lines(t *testing.T, pattern, word string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	var list []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if strings.Contains(line, word) {
				list = append(list, strings.TrimSpace(line))
			}
		}
	}
	return list
}

// TestFlowEntries reads flows of every shape that the three nodes of an
// ovn-kubernetes style cluster had, in the dialects of OpenFlow 1.0 and 1.5 and
// with names, and must write the same lines.
func TestFlowEntries(t *testing.T) {
	n := 0
	for _, line := range lines(t, "testdata/dump/flows-*.txt", "actions=") {
		e, err := ParseFlowEntry(line)
		if err != nil {
			t.Errorf("ParseFlowEntry: %v", err)
			continue
		}
		if e.String() != line {
			t.Errorf("flow\n got %s\nwant %s", e, line)
		}
		n++
	}
	if n < 1000 {
		t.Errorf("only %d flows", n)
	}
}

// Lines without an out print as they were read.
var flowEntries = []struct{ in, out string }{
	{in: "cookie=0x5, duration=24.5s, table=9, n_packets=1, n_bytes=2, idle_timeout=100, hard_timeout=700, send_flow_rem check_overlap importance=7, idle_age=0, hard_age=3, priority=3 actions=drop",
		out: "cookie=0x5, duration=24.500s, table=9, n_packets=1, n_bytes=2, idle_timeout=100, hard_timeout=700, send_flow_rem check_overlap importance=7, idle_age=0, hard_age=3, priority=3 actions=drop"},
	{in: "cookie=0x0, duration=7s, table=0, n_packets=0, n_bytes=0, priority=200,arp,in_port=1,arp_spa=10.128.0.0/14,arp_tpa=10.130.0.0/23 actions=move:NXM_NX_TUN_ID[0..31]->NXM_NX_REG0[],goto_table:10"},
	{in: "table=0,priority=10,in_port=1,ip,nw_dst=10.0.0.1 actions=output:2", out: "table=0, priority=10,in_port=1,ip,nw_dst=10.0.0.1 actions=output:2"},
	{in: "tcp,tp_dst=80,actions=drop", out: "tcp,tp_dst=80 actions=drop"},
	{in: "udp6,tp_src=0x50/0xfff0 actions=drop"},
	{in: "actions=NORMAL"},
	{in: "tun_metadata1 actions=drop"},
	{in: "table=\"a table\", ct_state=+new-est+trk,ct_label=0x1/0xff,tun_metadata0=NP,packet_type=(1,0x800) actions=resubmit(,\"a table\")"},
	{in: "ip,nw_frag=not_later,nw_src=10.0.0.1/255.0.255.0,dl_src=00:00:00:00:00:00/01:00:00:00:00:00 actions=drop"},
	{in: "icmp6,ipv6_label=0x00005/0x00007,icmp_type=135,icmp_code=0,nd_target=fe80::1,nd_sll=00:01:02:03:04:05 actions=drop"},
	{in: "tcp,tcp_flags=+syn-ack actions=drop"},
	{in: "tcp,tcp_flags=syn|ack actions=drop"},
	{in: "table_id=254, duration=1886s, n_packets=0, n_bytes=0, priority=0,reg0=0x1,actions=controller(reason=)",
		out: "cookie=0x0, duration=1886s, table=254, n_packets=0, n_bytes=0, priority=0,reg0=0x1 actions=controller()"},
}

func TestParseFlowEntry(t *testing.T) {
	for _, c := range flowEntries {
		want := c.out
		if want == "" {
			want = c.in
		}
		got, err := ParseFlowEntry(c.in)
		if err != nil || got.String() != want {
			t.Errorf("ParseFlowEntry(%q)\n got %s, %v\nwant %s", c.in, got, err, want)
		}
	}
	for _, c := range []struct{ in, err string }{
		{"table=0,priority=10", `actions expected at offset 19 near ""`},
		{"tcp,nonesuch=5 actions=drop", `unknown field nonesuch at offset 4 near "nonesuch=5 actions=drop"`},
		{"ip actions=output:1,load:0->x[]", `unknown field x at offset 25 near "0->x[]"`},
		{"table=300 actions=drop", `bad number "300" at offset 0 near "table=300 actions=drop"`},
	} {
		if _, err := ParseFlowEntry(c.in); err == nil || err.Error() != c.err {
			t.Errorf("ParseFlowEntry(%q)\n got %v\nwant %s", c.in, err, c.err)
		}
	}
}

func TestGroupEntries(t *testing.T) {
	groups := lines(t, "testdata/dump/groups.txt", "group_id=")
	groups = append(groups, "group_id=5,type=select,selection_method=hash,selection_method_param=7,fields=ip_src,bucket=bucket_id:0,weight:1,watch_group:3,actions=drop")
	for _, line := range groups {
		g, err := ParseGroupEntry(line)
		if err != nil || g.String() != line {
			t.Errorf("group\n got %s, %v\nwant %s", g, err, line)
		}
	}
	g, err := ParseGroupEntry("group_id=1,type=all,bucket=output:1,set_field:5->reg0,bucket=weight=3,actions=2")
	if err != nil || len(g.Buckets) != 2 || g.Buckets[0].Actions.String() != "output:1,set_field:0x5->reg0" || g.Buckets[1].Weight != 3 {
		t.Errorf("input form: %+v, %v", g, err)
	}
}

func TestSwitchDescriptions(t *testing.T) {
	b, err := os.ReadFile("testdata/dump/tlv-map.txt")
	if err != nil {
		t.Fatal(err)
	}
	tlvs := ParseTLVMap(string(b))
	if len(tlvs) != 1 || tlvs[0].Class != 0x102 || tlvs[0].Type != 0x80 || tlvs[0].Length != 4 || tlvs[0].Field.Name != "tun_metadata0" {
		t.Errorf("ParseTLVMap = %+v", tlvs)
	}
	if b, err = os.ReadFile("testdata/dump/ports-desc.txt"); err != nil {
		t.Fatal(err)
	}
	var ports []string
	for _, p := range ParsePortDescs(string(b)) {
		ports = append(ports, p.Port.Name+" "+strings.Join(p.State, ","))
	}
	want := []string{"ovn-k8s-mp0 LIVE", "1393a34e8ae24ba LIVE", "4d9ba409ddbc424 LIVE", "c8d0e71f2e6b428 LIVE",
		"ovn-cd9fab-0 LIVE", "patch-br-int-to LIVE", "ovn-c5ab1a-0 LIVE", "br-int LINK_DOWN"}
	if !reflect.DeepEqual(ports, want) {
		t.Errorf("ParsePortDescs = %q", ports)
	}
}

// TestParseDump reads whole dumps and must write each of their lines again.
func TestParseDump(t *testing.T) {
	files, err := filepath.Glob("testdata/dump/*.txt")
	if err != nil || len(files) < 11 {
		t.Fatalf("%d dumps, %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		roundTrip(t, file, string(b))
	}
}

// roundTrip parses a dump, compares what it prints with the text line by line,
// and returns the number of lines that are equal.
func roundTrip(t *testing.T, what, text string) int {
	t.Helper()
	plain := StripColors(text)
	d, err := ParseDump(plain)
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	return compareLines(t, what, d.String(), plain)
}

func compareLines(t *testing.T, what, got, want string) int {
	t.Helper()
	printed, equal := strings.Split(got, "\n"), 0
	for i, line := range strings.Split(strings.TrimSuffix(want, "\n"), "\n") {
		if i >= len(printed) || printed[i] != line {
			t.Errorf("%s, line %d\n got %q\nwant %q", what, i+1, strings.Join(printed[min(i, len(printed)):min(i+1, len(printed))], ""), line)
			break
		}
		equal++
	}
	if len(printed) != strings.Count(want, "\n")+1 {
		t.Errorf("%s: %d lines became %d", what, strings.Count(want, "\n"), len(printed)-1)
	}
	return equal
}

func TestParseDumpErrors(t *testing.T) {
	for _, c := range []struct{ in, err string }{
		{"nonsense\n", `unknown keyword nonsense at offset 0 near "nonsense\n"`},
		{"OFPST_FLOW reply (xid=0x2):\n table=0, ip,nonesuch=1 actions=drop\n", `unknown field nonesuch at offset 41 near "nonesuch=1 actions=drop\n"`},
		{"recirc_id(0),eth(src=1, packets:0, bytes:0, used:never, actions:1", `missing ) at offset 16 near "(src=1, packets:0, bytes:0, used:never, …"`},
		{"recirc_id(0), packets:x, bytes:0, used:never, actions:1", `bad number "x" at offset 14 near "packets:x, bytes:0, used:never, actions:…"`},
		{"tcp,orig=(src=10.0.0.1,dst=x),reply=()", `bad address "x" at offset 4 near "orig=(src=10.0.0.1,dst=x),reply=()"`},
		{" port  VLAN  MAC  Age\n 1 2 3\n", `port, VLAN, MAC and age expected at offset 22 near " 1 2 3\n"`},
		{"meter=1 bands=\ntype=drop rate=x\n", `bad number "x" at offset 25 near "rate=x\n"`},
		{" 1(eth0): addr:00:00:00:00:00:01\n     nonesuch: 0\n", `property of a port expected at offset 33 near "     nonesuch: 0\n"`},
		{"NXT_TLV_TABLE_REPLY (xid=0x2):\n nothing\n", `table of tunnel options expected at offset 31 near " nothing\n"`},
	} {
		if _, err := ParseDump(c.in); err == nil || err.Error() != c.err {
			t.Errorf("ParseDump(%q)\n got %v\nwant %s", c.in, err, c.err)
		}
	}
}

// TestPieces reads dumps in pieces, which must be as in one: or not at all where a piece depends on the one before it.
func TestPieces(t *testing.T) {
	files, err := filepath.Glob("testdata/dump/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no dumps: %v", err)
	}
	var all strings.Builder
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
		side := 0
		for n := 2; n < 9; n++ {
			if samePieces(t, file, string(b), n) {
				side++
			}
		}
		if strings.HasPrefix(filepath.Base(file), "flows-") && side != 7 {
			t.Errorf("%s: read in pieces %d of 7 times", file, side)
		}
	}
	most := 50
	if testing.Short() {
		most = 5
	}
	for n := 2; n < most; n++ {
		samePieces(t, "all dumps", all.String(), n)
	}
	flow := " cookie=0x1, table=0, actions=drop\n"
	for _, text := range []string{"port  VLAN  MAC  Age\n" + flow + flow, "NXT_TLV_TABLE_REPLY (xid=0x4):\n" + flow + flow, flow + flow + "none\n" + flow} {
		if samePieces(t, text, text, 2) {
			t.Errorf("%q was read in pieces", text)
		}
	}
}

func samePieces(t *testing.T, name, text string, n int) bool {
	t.Helper()
	whole := dumpParser{text: text}
	err := whole.all()
	dump, ok := parsePieces(flowPieces(text, n))
	if ok && (err != nil || !reflect.DeepEqual(dump, whole.dump)) {
		t.Errorf("%s in %d pieces is not as in one (%v)", name, n, err)
	}
	return ok
}
