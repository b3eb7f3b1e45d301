package ovnexpr

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// microflows are what ovn-trace is asked about besides what is drawn: what it takes, and what it finds ambiguous or
// contradictory.
var microflows = []string{
	"1", "0", "ip4", "ip", "ip4 && ip6", "ip4 && ip4", "ip4 || ip4", "(ip4 && tcp) || (ip4 && tcp)", "ip4 && (ip4 || ip6)",
	"tcp.dst == 80", "ip4 && tcp.dst == 80", "ip6 && udp.src == 53 && ip6.src == fd00::1 && ip6.dst == fd00::2",
	"ip4.src == 10.0.0.1 && icmp", "icmp4.type == 8 && icmp4.code == 0", "icmp6.type == 135", "nd", "nd_ns", "nd_ra && ip6.dst == ff02::1",
	"nd_ns && nd.target == fd00::1 && nd.sll == 0a:00:00:00:00:01", "nd_na && nd.tll == 0a:00:00:00:00:01",
	"arp.op == 1 && arp.spa == 10.0.0.1 && arp.tpa == 10.0.0.2 && arp.sha == 0a:00:00:00:00:01", "arp && ip4", "mldv1", "mldv2",
	"ip4 && tcp.src > 79 && tcp.src < 82", "ip4 && 80 <= tcp.src <= 81", "ip4 && tcp.src[1..15] == 0x28", "ip4 && tcp.src == {80, 81}",
	"ip4 && tcp.src == {80, 80}", "ip4 && tcp.src >= 0", "ip4 && tcp.src <= 65535", "ip4 && tcp.src > 65534", "ip4 && tcp.src != 0",
	"ip4 && tcp.src > 65535", "ip4 && tcp.src < 1", "ip4 && tcp.src <= 0", "ip4.src != 0.0.0.0/0", "ip4.src == 0.0.0.0/0", "ip4.src == 10.0.0.0/8",
	"ip4.src == {10.0.0.0/8, 1.2.3.4/255.0.255.0}", "ip4.src == {10.0.0.1, 10.0.0.2} && ip4.src == {10.0.0.2, 10.0.0.3}",
	"ip4.src == {10.0.0.1, 10.0.0.2, 10.0.0.4} && ip4.src == {10.0.0.2, 10.0.0.3, 10.0.0.4} && ip4.src[0..7] == 4",
	"tcp.dst[0..7] == 5 && (tcp.dst[0..3] == 5 || tcp.dst[4..7] == 0) && ip4", "(reg0 == 1 || reg1 == 2) && reg0 == 1 && reg1 == 3",
	"reg0 == 1 || reg1 == 1", "reg0[3] && !reg0[4] && reg0[5..8] == 9", "xxreg0 != 4", "xxreg0 < 0x1000000000000000000000", "xreg0 == 7 && reg1 == 7",
	"xreg0 == 7 && reg0 == 7", "flags.loopback", "flags.loopback && flags == {1, 2}", "ct.new", "ct.new && !ct.trk", "!ct.new", "ct.est && !ct.rpl && ct_mark.natted",
	"ct_label.label == {5, 6} && ct_mark.natted", "ct_label.label == 5", "vlan.vid == 5", "vlan.vid == 5 && vlan.pcp == 3", "!vlan.present", "vlan.vid != 5",
	"eth.bcast", "eth.mcast", "eth.bcast || eth.mcast", "eth.bcast && eth.mcast", "!eth.bcast && eth.dst == ff:ff:ff:ff:ff:ff", "ip4.mcast", "ip6.mcast", "ip6.mcast_flood",
	"ip4.mcast || !ip4.mcast || ip.first_frag", "ip.is_frag && ip4", "ip4 && ip.first_frag", "ip4 && ip.is_frag && ip.later_frag && ip.dscp == 3 && ip.ecn == 1 && ip.ttl == 64",
	"!ip.is_frag", "eth.type == 0x1234", "ip.proto == {1, 2} && ip4", "ip.proto == 6 && udp", "tcp.flags == 0/0x7 && ip4", "tcp.flags == {0/0x7, 1/1}", "sctp.dst == 5 && ip6",
	"eth.src == {00:00:00:00:00:01/01:00:00:00:00:01, 00:00:00:00:00:02}", "outport == \"node2\"", "outport == {\"a\", \"b\"}", "outport == \"a\" && outport == {\"a\", \"b\"}",
	"outport == \"a\" && outport == \"b\"", "outport == {\"a\", \"b\"} && outport == {\"b\", \"c\"} && outport == {\"a\", \"b\", \"c\"}", "outport == {\"a\", \"a\"}", "outport == \"no such port\"",
	"is_chassis_resident(\"x\")", "!is_chassis_resident(\"x\")", "ip4 || is_chassis_resident(\"x\")", "ip.ttl == {1, 2} || !ip.is_frag || !is_chassis_resident(\"x\")",
	"tcp.dst == {1, 2} && tcp.src == {3, 4} && !(ip4.src == 1.2.3.4)", "tcp.dst == 0x50/0xf1 || tcp.dst[5..8] == 2 || tcp.dst == 0x35", "pkt.mark == 5", "igmp", "rarp.op == 3",
	"!(ip4.src == 10.0.0.1)", "!(reg0 == 1 && reg1 == 2)", "!(reg0 != 1 || reg1 != 2)", "5 < reg0 <= 6", "!(5 < reg0 <= 9)", "reg0[0..3] > 14", "reg0 == {}", "ip4 ip6", "foo",
	"inport == \"node1\"", "inport == \"a\" || ip4", "inport == @pg",
}

// The packets that microflows describe, and what is said of those that describe none, are those of ovn-trace.
func TestMicroflowsAsOVNTrace(t *testing.T) {
	agreesOnMicroflows(t, labtest.Shared(t, lab.OVNKubernetes()), 300)
}

// agreesOnMicroflows asks the ovn-trace of a lab about the table, all symbols and as many matches drawn by a seed.
func agreesOnMicroflows(t *testing.T, l *lab.Lab, drawn int) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	release, err := release.ParseSeries(rows(t, l, "SB_Global")[0].options()["northd_internal_version"])
	if err != nil {
		t.Fatal(err)
	}
	a := asked{t: t, ovnTrace: ovnTrace(t, l), table: SymbolsOf(Profile{Version: release}), later: []string{"flags.localnet", "flags.network_id"}}
	a.port, a.datapath, a.keys = somePort(t, l)
	for _, text := range microflows {
		a.ask(text)
	}
	for _, d := range definitions {
		a.ask(d.name + " == 0")
		a.ask(d.name)
	}
	for n := 0; n < drawn; {
		if text := g.match(2); !strings.ContainsAny(text, "$@") {
			a.ask(text)
			n++
		}
	}
	t.Logf("OVN %v, seed %d: %d microflows asked about, %d packets, %d ambiguous, %d contradictory; %d not asked, too large for ovn-trace",
		release, seed, a.all, a.packets, a.ambiguous, a.contradictory, a.many)
	if a.packets < a.all/10 || a.ambiguous < a.all/10 || a.contradictory < a.all/50 {
		t.Error("the test does not test")
	}
}

// somePort returns a port of a switch, its datapath and the keys of the ports there.
func somePort(t *testing.T, l *lab.Lab) (port, datapath string, keys map[string]uint64) {
	t.Helper()
	keys = map[string]uint64{"": 0, "none": 0}
	for _, row := range rows(t, l, "Port_Binding") {
		of := row["datapath"].([]any)[1].(string)
		if port == "" && row.text("type") == "" {
			port, datapath = row.text("logical_port"), of
		}
	}
	for _, table := range []string{"Port_Binding", "Multicast_Group"} {
		for _, row := range rows(t, l, table) {
			if name := row.text("logical_port") + row.text("name"); row["datapath"].([]any)[1].(string) == datapath {
				keys[name] = uint64(row["tunnel_key"].(float64))
			}
		}
	}
	return port, datapath, keys
}

type asked struct {
	t              *testing.T
	ovnTrace       func(datapath, text string) string
	table          *Symbols
	port, datapath string
	keys           map[string]uint64
	later          []string // symbols that point releases after that of the lab know

	n, all, packets, ambiguous, contradictory, many int
}

// ask compares the packet of a microflow, or what is said of it.
func (a *asked) ask(text string) {
	a.t.Helper()
	if a.n++; a.n%4 > 0 {
		text = "inport == " + strconv.Quote(a.port) + " && (" + text + ")"
	}
	if strings.Contains(text, "icmp4.frag_mtu") || strings.Contains(text, "icmp6.frag_mtu") || strings.Contains(text, "inner_ip4") {
		return // ovn-trace does not live through it
	}
	p, many, err := a.ours(text)
	if many {
		a.many++
		return // ovn-trace would take minutes
	}
	if err == nil && p.Uint("reg14") == 0 {
		return // nor this: 23.03 aborts without a port
	}
	theirs, _, _ := strings.Cut(a.ovnTrace(a.datapath, text), "\n")
	for _, name := range a.later {
		if strings.Contains(theirs, "`"+name+"' expecting field name") {
			return
		}
	}
	a.all++
	switch comment, ok := strings.CutPrefix(theirs, "# "); {
	case err != nil:
		a.ambiguous += count(strings.HasPrefix(err.Error(), "Constraints are ambiguous"))
		a.contradictory += count(strings.HasPrefix(err.Error(), "Constraints are contradictory"))
		if want := "error parsing flow: " + err.Error(); theirs != want {
			a.t.Errorf("%s\novn-trace: %s\nwant       %s", text, theirs, want)
		}
	case ok:
		a.packets++
		comment = strings.ReplaceAll(comment, "nw_frag=<error>", "nw_frag=0x2") // a later fragment that is none
		if want, err := packet.Parse(comment); err != nil || !want.Equal(&p) {
			a.t.Errorf("%s\novn-trace: %s (%v)\ngot        %s", text, theirs, err, &p)
		}
	default:
		a.t.Errorf("%s\novn-trace: %s\ngot        %s", text, theirs, &p)
	}
}

// ovnTrace starts the ovn-trace of a lab as a daemon, and returns a function that asks it about a microflow.
func ovnTrace(t *testing.T, l *lab.Lab) (ask func(datapath, text string) string) {
	t.Helper()
	run := func(ctx context.Context, args ...string) string {
		out, err := l.Command(ctx, "central", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		return string(out)
	}
	control := filepath.Join(l.Dir, fmt.Sprintf("trace-%d.ctl", time.Now().UnixNano()))
	run(t.Context(), "ovn-trace", "--detach", "--no-chdir", "--log-file=/dev/null", "--unixctl="+control, "--db="+l.SB())
	t.Cleanup(func() { run(context.Background(), "ovn-appctl", "-t", control, "exit") })
	return func(datapath, text string) string {
		return run(t.Context(), "ovn-appctl", "-t", control, "trace", datapath, text)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ours is the answer of this package, and whether there is much to multiply out.
func (a *asked) ours(text string) (p packet.Flow, many bool, err error) {
	m, err := ParseMicroflow(text, a.table, nil)
	if err != nil {
		return p, false, err
	}
	p, err = m.Flow(func(name string) (uint64, bool) { key, ok := a.keys[name]; return key, ok })
	return p, a.large(m), err
}

func (a *asked) large(m *Microflow) (many bool) {
	var err error
	defer func() { many = err != nil }()
	defer recoverSyntax(&err)
	n := &normalizer{version: a.table.version, left: maxAlternatives / 8, many: func() { panic(&SyntaxError{}) }}
	n.normal(n.simple(m.maker.annotated(m.parts, true)))
	return false
}

func TestInport(t *testing.T) {
	for text, want := range map[string]string{
		`inport == "a"`: "a",
		`ip4 && (inport == "a" || inport == "a")`:    "a",
		`!(ip4.src != 10.0.0.1 || !(inport == "a"))`: "a",
		`inport == {"a", "b"}`:                       "!flow match expression matches on multiple inports",
		`ip4`:                                        "!flow match expression does not match on inport",
		`outport == "a"`:                             "!flow match expression does not match on inport",
		`inport == @pg`:                              "!flow match expression matches on multiple inports",
		`inport == @none`:                            "!flow match expression does not match on inport",
	} {
		m, err := ParseMicroflow(text, SymbolsOf(Profile{}), groups{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := m.Inport()
		if err != nil {
			got = "!" + err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// What OVN multiplies out for minutes, until memory ends, is called ambiguous before.
func TestLargeMicroflows(t *testing.T) {
	many := make([]string, 30)
	for i := range many {
		many[i] = fmt.Sprintf("(reg%d == 1 || ip4.src == 10.0.0.%d)", i%10, i)
	}
	set := make([]string, 3000)
	for i := range set {
		set[i] = fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
	}
	networks := "{" + strings.Join(set, ", ") + "}"
	for _, text := range []string{
		"ip6.mcast_flood == 0",
		"ip6.src != {fd00::1, fd00::2, fd00::3, fd00::4}",
		strings.Join(many, " && "),
		"xxreg0 != 5 && xxreg1 != 5 && !(ip6.src == fd00::1 && ip6.dst == fd00::2) && (xxreg0 != 6 || xxreg1 != 7)",
		"ip4.src == " + networks + " && ip4.dst == " + networks,
	} {
		m, err := ParseMicroflow(text, SymbolsOf(Profile{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Flow(func(string) (uint64, bool) { return 0, false })
		if err == nil || !strings.HasPrefix(err.Error(), "Constraints are ambiguous: ") {
			t.Errorf("%.100s: %v", text, err)
		}
	}
}
