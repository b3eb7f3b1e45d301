//go:build lab

package openflow

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A vswitch is a real ovs-vswitchd with a datapath of dummy ports, which needs no
// kernel and no network.
type vswitch struct {
	t   *testing.T
	dir string
}

var seed = flag.Uint64("seed", 0, "of the random flows; 0: another one each time")

const schema = "/usr/share/openvswitch/vswitch.ovsschema"

func startSwitch(t *testing.T) *vswitch {
	t.Helper()
	dir, err := os.MkdirTemp("", "ovs") // short: it holds sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := &vswitch{t, dir}
	s.run("ovsdb-tool", "create", dir+"/conf.db", schema)
	s.daemon("ovsdb-server", dir+"/conf.db", "--remote=punix:"+dir+"/db.sock", "--unixctl="+dir+"/ovsdb.ctl")
	s.wait(dir + "/db.sock")
	s.run("ovs-vsctl", "--db=unix:"+dir+"/db.sock", "--no-wait", "init")
	s.daemon("ovs-vswitchd", "unix:"+dir+"/db.sock", "--enable-dummy=override", "--disable-system", "--unixctl="+dir+"/vs.ctl")
	args := []string{"--db=unix:" + dir + "/db.sock", "--timeout=20", "add-br", "br0", "--", "set", "bridge", "br0",
		"datapath-type=dummy", "fail-mode=secure", "protocols=OpenFlow10,OpenFlow15"}
	for i := 1; i <= 3; i++ {
		args = append(args, "--", "add-port", "br0", fmt.Sprintf("p%d", i), "--", "set", "interface", fmt.Sprintf("p%d", i),
			"type=dummy", fmt.Sprintf("ofport_request=%d", i))
	}
	args = append(args, "--", "add-br", "br1", "--", "set", "bridge", "br1", "datapath-type=dummy", "fail-mode=secure", "protocols=OpenFlow10,OpenFlow15",
		"--", "add-port", "br0", "to1", "--", "set", "interface", "to1", "type=patch", "options:peer=to0", "ofport_request=4",
		"--", "add-port", "br1", "to0", "--", "set", "interface", "to0", "type=patch", "options:peer=to1", "ofport_request=7")
	s.run("ovs-vsctl", args...)
	for _, group := range []string{
		"group_id=1,type=all,bucket=bucket_id:1,set_field:5->reg0,output:2,bucket=bucket_id:2,resubmit(,5)",
		"group_id=2,type=select,selection_method=hash,bucket=bucket_id:1,set_field:9->reg1,output:4,bucket=bucket_id:2,ct_clear,output:3",
	} {
		for _, bridge := range []string{"br0", "br1"} {
			s.run("ovs-ofctl", "-O", "OpenFlow15", "add-group", s.dir+"/"+bridge+".mgmt", group)
		}
	}
	return s
}

func (s *vswitch) env() []string {
	return append(os.Environ(), "OVS_RUNDIR="+s.dir, "OVS_LOGDIR="+s.dir, "OVS_DBDIR="+s.dir, "PATH="+os.Getenv("PATH")+":/usr/sbin")
}

func (s *vswitch) command(name string, args ...string) *exec.Cmd {
	if path, err := exec.LookPath("/usr/sbin/" + name); err == nil {
		name = path
	}
	cmd := exec.Command(name, args...)
	cmd.Env = s.env()
	return cmd
}

func (s *vswitch) run(name string, args ...string) string {
	s.t.Helper()
	out, err := s.command(name, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func (s *vswitch) daemon(name string, args ...string) {
	s.t.Helper()
	cmd := s.command(name, append(args, "--no-chdir", "-vconsole:off", "--log-file="+filepath.Join(s.dir, name+".log"))...)
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("%s: %v (is openvswitch-switch installed?)", name, err)
	}
	s.t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			s.t.Error(err)
		}
		_ = cmd.Wait() // it was killed
	})
}

func (s *vswitch) wait(path string) {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
			return
		}
	}
	s.t.Fatalf("nothing listens at %s", path)
}

func (s *vswitch) trace(args ...string) string {
	s.t.Helper()
	return s.run("ovs-appctl", append([]string{"-T", "20", "-t", s.dir + "/vs.ctl", "ofproto/trace", "br0"}, args...)...)
}

// TestAgainstSwitch gives a real switch random flow tables and random packets:
// it must accept what we print, and its traces must replay to the final flow that
// it computed itself.
func TestAgainstSwitch(t *testing.T) {
	seed := *seed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", seed)
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	s := startSwitch(t)
	traces, passes, steps := 0, 0, 0
	for range 12 {
		g.v6 = !g.v6
		g.far = false
		s.load("br0", g.program(2))
		g.far = true
		s.load("br1", g.program(1))
		for range 25 {
			p := g.packet()
			text := s.trace(p.String())
			tr, err := ParseTrace(text)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			checkNodes(t, p.String(), tr.Passes[0].Roots)
			if got := tr.Passes[0].Flow; got == nil || !samePacket(p, *got) {
				t.Fatalf("gave\n%s\nthe switch read\n%s", p.String(), tr.Passes[0].FlowText)
			}
			done := Replay(tr, &p)
			traces++
			for i, r := range done {
				passes++
				steps += checkSteps(t, p.String(), r)
				if !r.Agrees() {
					t.Errorf("pass %d ends with\n%s\nwant\n%s", i, r.Final.String(), r.Pass.Final.String())
				}
				if r.Pass.Recirc != nil {
					checkFork(t, p.String(), done, i)
				}
			}
			if t.Failed() {
				t.Fatalf("in\n%s", text)
			}
		}
	}
	t.Logf("%d traces, %d passes, %d lookups", traces, passes, steps)
}

// load makes the flows those of a bridge.
func (s *vswitch) load(bridge string, flows []FlowEntry) {
	s.t.Helper()
	var b strings.Builder
	for _, f := range flows {
		b.WriteString(f.String() + "\n")
	}
	file := s.dir + "/flows"
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.run("ovs-ofctl", "-O", "OpenFlow15", "replace-flows", s.dir+"/"+bridge+".mgmt", file)
	dump := s.run("ovs-ofctl", "-O", "OpenFlow15", "--no-names", "dump-flows", s.dir+"/"+bridge+".mgmt")
	for line := range strings.Lines(dump) {
		if !strings.Contains(line, "actions=") {
			continue
		}
		if e, err := ParseFlowEntry(line); err != nil || e.String() != strings.TrimSpace(line) {
			s.t.Errorf("dump-flows\n got %s, %v\nwant %s", e, err, line)
		}
	}
}

// samePacket compares the packets apart from the tunnel key, which the switch
// does not print.
func samePacket(p, q packet.Flow) bool {
	unhide(&q, &p)
	return p.String() == q.String()
}

// A generator makes random flow tables and packets.
type generator struct {
	*rand.Rand
	v6    bool
	far   bool // flows of br1, which sends nothing back: a packet that goes round by way of ct is traced for ever
	leaps int  // lookups that the flow being made may still cause: they multiply from table to table
}

const tables = 6

func (g *generator) pick(names ...string) *packet.Field {
	f, _ := packet.Lookup(names[g.IntN(len(names))])
	return f
}

func (g *generator) writable() *packet.Field {
	names := []string{"reg0", "reg1", "reg2", "reg3", "xreg1", "xxreg0", "xxreg1", "metadata", "pkt_mark", "tun_id",
		"eth_src", "eth_dst", "nw_ttl", "tcp_src", "tcp_dst", "ip_dscp", "nw_ecn", "in_port"}
	if g.v6 {
		return g.pick(append(names, "ipv6_src", "ipv6_dst", "ipv6_label")...)
	}
	return g.pick(append(names, "ip_src", "ip_dst")...)
}

func (g *generator) value(f *packet.Field) packet.Value {
	v := packet.Value{Hi: g.Uint64(), Lo: g.Uint64()}
	switch f.Name {
	case "tun_metadata0":
		return v.And(packet.Ones(32))
	case "in_port":
		return packet.Uint(uint64(1 + g.IntN(3)))
	case "nw_ttl":
		return packet.Uint(uint64(64 + g.IntN(64)))
	}
	return v.And(f.Mask())
}

func (g *generator) mask(f *packet.Field) packet.Value {
	if f.Format == packet.IPv6 { // ovs-ofctl refuses other masks that are long when written
		n := 1 + g.IntN(128)
		return packet.Ones(n).Shl(128 - n)
	}
	return g.value(f).Or(packet.Uint(1))
}

func (g *generator) subfield(bits int) packet.Subfield {
	for {
		f := g.writable()
		width := f.Bits
		switch f.Name {
		case "in_port", "nw_ttl":
			continue
		case "tun_metadata0":
			width = 32
		}
		if width >= bits {
			return packet.Subfield{Field: f, Lo: g.IntN(width - bits + 1), Bits: bits}
		}
	}
}

// program makes tables in which a packet goes from low to high ones.
func (g *generator) program(leaps int) []FlowEntry {
	keyword := "tcp"
	if g.v6 {
		keyword = "tcp6"
	}
	var list []FlowEntry
	for table := range tables {
		for priority := 1; priority <= 3; priority++ {
			m := Match{Terms: []Term{{Keyword: keyword}}}
			if priority > 1 {
				f := g.pick("reg0", "reg1", "metadata", "tcp_dst", "xreg1")
				mask := packet.Uint(1 << g.IntN(f.Bits))
				m.Terms = append(m.Terms, Term{Field: f, Value: g.value(f).And(mask), Mask: mask})
			}
			g.leaps = leaps
			list = append(list, FlowEntry{Table: Table{Number: table}, Priority: priority, Match: m, Actions: g.actions(table, 0)})
		}
	}
	return list
}

func (g *generator) actions(table, depth int) Actions {
	var list Actions
	for range 1 + g.IntN(6) {
		list = append(list, g.action(table, depth))
	}
	return list
}

func (g *generator) action(table, depth int) Action {
	bits := 1 + g.IntN(32)
	switch g.IntN(18) {
	case 0, 1:
		f := g.writable()
		mask := f.Mask()
		if f.Maskable && f.Name != "tun_metadata0" && g.IntN(2) == 0 {
			mask = g.mask(f)
		}
		return SetField{Field: f, Value: g.value(f).And(mask), Mask: mask}
	case 2:
		return Load{Value: packet.Uint(g.Uint64()).And(packet.Ones(bits)), Dst: g.subfield(bits)}
	case 3, 4:
		return Move{Src: g.subfield(bits), Dst: g.subfield(bits)}
	case 5:
		return Push{Src: g.subfield(bits)}
	case 6:
		return Pop{Dst: g.subfield(bits)}
	case 7:
		return DecTTL{}
	case 8:
		return CTClear{}
	case 9:
		if depth < 3 {
			return Clone{g.actions(table, depth+1)}
		}
		return PushVLAN{0x8100}
	case 10:
		return g.conntrack(table)
	case 11:
		if !g.leap() {
			return Output{Port: packet.PortID{Number: 4}}
		}
		port := []uint32{1, 2, 3, packet.PortLocal, packet.PortInPort, 9}[g.IntN(6)]
		if g.far && port == packet.PortInPort {
			port = packet.PortLocal
		}
		return Output{Port: packet.PortID{Number: port}}
	case 12:
		if table < tables-1 || depth > 0 || g.leap() {
			return CTClear{} // each one doubles what is left, until the switch aborts
		}
		return CheckPktLarger{Size: 1500, Dst: g.subfield(1)}
	case 13:
		if table == tables-1 || g.leap() {
			return CTClear{} // a bucket goes to the last table
		}
		return Group{ID: uint32(1 + g.IntN(2))}
	default:
		if table == tables-1 || g.leap() {
			return SetField{Field: packet.Reg(5), Value: packet.Uint(5), Mask: packet.Uint(7)}
		}
		return Resubmit{Table: Table{Number: table + 1 + g.IntN(tables-table-1)}}
	}
}

// leap uses up one lookup and reports whether there was none left.
func (g *generator) leap() bool {
	g.leaps--
	return g.leaps < 0
}

func (g *generator) conntrack(table int) Action {
	ct := CT{Table: NoTable, HasZone: true, Zone: uint16(g.IntN(100))}
	if g.IntN(2) == 0 {
		src := g.subfield(16)
		ct.ZoneSrc, ct.Zone = &src, 0
	}
	if table+1 < tables && g.IntN(3) > 0 && !g.leap() {
		ct.Table = Table{Number: table + 1}
	}
	if g.IntN(2) == 0 {
		ct.Commit = true
		mark, _ := packet.Lookup("ct_mark")
		label, _ := packet.Lookup("ct_label")
		ct.Exec = Actions{SetField{Field: mark, Value: packet.Uint(5), Mask: packet.Uint(7)},
			Move{Src: g.subfield(16), Dst: packet.Subfield{Field: label, Lo: g.IntN(64), Bits: 16}}}
	}
	return ct
}

func (g *generator) packet() packet.Flow {
	var p packet.Flow
	keyword, _ := packet.LookupKeyword("tcp")
	if g.v6 {
		keyword, _ = packet.LookupKeyword("tcp6")
	}
	keyword.Apply(&p)
	p.SetInPort(packet.PortID{Number: 1})
	for range 12 {
		f := g.writable()
		if f.Name != "in_port" && f.Name != "tun_metadata0" {
			p.Set(f, g.value(f))
		}
	}
	set := func(name string, v packet.Value) {
		f, _ := packet.Lookup(name)
		p.Set(f, v)
	}
	set("nw_ttl", packet.Uint(64))
	if g.IntN(2) == 0 {
		return p
	}
	set("ct_state", packet.Uint([]uint64{0x21, 0x22, 0x2a, 0x30}[g.IntN(4)])) // new, est, est|rpl, inv
	set("ct_zone", packet.Uint(g.Uint64()))
	set("ct_mark", packet.Uint(g.Uint64()))
	set("ct_label", packet.Value{Hi: g.Uint64(), Lo: g.Uint64()})
	if p.Meets(packet.NeedsCT) && !g.v6 {
		set("ct_nw_src", packet.Uint(g.Uint64()))
		set("ct_nw_proto", packet.Uint(6))
		set("ct_tp_dst", packet.Uint(g.Uint64()))
	}
	return p
}
