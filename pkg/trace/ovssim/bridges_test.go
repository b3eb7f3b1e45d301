//go:build lab

package ovssim_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

// TestBridges draws bridges, loads them into a real ovs-vswitchd, and compares its traces of drawn packets with the
// simulation of the same flows, as they are dumped and as they were written. OVNCTL_BRIDGES says how many bridges, and
// OVNCTL_KIND that all are of one kind.
func TestBridges(t *testing.T) { compareBridges(t, "") }

// bridges is how many bridges a test draws: OVNCTL_BRIDGES, or what half a minute is enough for.
func bridges(t *testing.T) int {
	text := os.Getenv("OVNCTL_BRIDGES")
	if text == "" {
		return 2 * len(drawnKinds)
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("OVNCTL_BRIDGES: %v", err)
	}
	return n
}

// drawnPackets is how many packets a bridge gets.

const drawnPackets = 20

// setDrawnBridge adds the bridges on which drawn flows are tried. A tunnel that a release does not know is left out.
func setDrawnBridge(t *testing.T, l *lab.Lab) {
	add := func(text string) {
		t.Helper()
		if out, err := l.Run(t.Context(), "node1", append([]string{"ovs-vsctl", "--timeout=60"}, strings.Fields(text)...)...); err != nil {
			t.Fatalf("%s: %v %s", text, err, out)
		}
	}
	add("add-br br-draw -- set bridge br-draw datapath_type=" + l.Datapath + " fail_mode=secure -- add-br br-far -- set bridge br-far datapath_type=" + l.Datapath + " fail_mode=secure " +
		"-- add-port br-draw p1 -- set interface p1 type=internal ofport_request=1 -- add-port br-draw p2 -- set interface p2 type=internal ofport_request=2 -- add-port br-draw p3 -- set interface p3 type=internal ofport_request=3 " +
		"-- add-port br-draw draw-far -- set interface draw-far type=patch options:peer=far-draw ofport_request=4 -- add-port br-far far-draw -- set interface far-draw type=patch options:peer=draw-far ofport_request=1")
	for i, options := range []string{
		"type=vxlan options:remote_ip=flow options:local_ip=flow options:key=flow options:dst_port=4790",
		"type=geneve options:remote_ip=flow options:key=flow options:dst_port=6082",
		"type=gre options:remote_ip=172.30.0.12 options:key=7 options:ttl=inherit options:tos=inherit",
		"type=geneve options:remote_ip=172.30.0.12 options:key=flow options:csum=true options:dst_port=6083",
		"type=vxlan options:remote_ip=172.30.0.13 options:key=5 options:exts=gbp options:dst_port=4791",
		"type=erspan options:remote_ip=172.30.0.12 options:key=3 options:erspan_ver=1 options:erspan_idx=5",
		"type=geneve options:remote_ip=172.30.0.12 options:key=9 options:ttl=1 options:tos=inherit options:df_default=false options:dst_port=6084",
		"type=gre options:remote_ip=172.30.0.13 options:key=flow options:packet_type=ptap",
		"type=erspan options:remote_ip=172.30.0.13 options:key=4 options:erspan_ver=2 options:erspan_dir=1 options:erspan_hwid=4",
		"type=geneve options:remote_ip=fd99::12 options:key=flow options:dst_port=6085",
		"type=vxlan options:remote_ip=fd99::12 options:key=11 options:dst_port=4793 options:tos=inherit",
		"type=gre options:remote_ip=flow options:local_ip=flow options:key=flow options:csum=true",
		"type=ip6gre options:remote_ip=fd99::12 options:key=8",
		"type=vxlan options:remote_ip=172.30.0.12 options:key=6 options:exts=gpe options:packet_type=ptap options:dst_port=4792",
	} {
		name := fmt.Sprintf("tun-%d", 5+i)
		add(fmt.Sprintf("--no-wait add-port br-draw %s -- set interface %s ofport_request=%d %s", name, name, 5+i, options))
	}
	add("-- --id=@bridge get Bridge br-draw -- --id=@ipfix create IPFIX targets=\"127.0.0.1:4739\" -- create Flow_Sample_Collector_Set bridge=@bridge id=1 ipfix=@ipfix")
	prepareDrawnBridge(t, l)
}

// prepareDrawnBridge sets up what a new ovs-vswitchd does not know.
func prepareDrawnBridge(t *testing.T, l *lab.Lab) {
	prepareNeighbours(t, l)
	for _, args := range []string{"ip addr replace fd99::11/64 dev br-ex nodad", "ovs-appctl tnl/arp/set br-ex fd99::12 0a:00:00:00:99:12", "ip link set p1 up", "ip link set p2 up",
		"ovs-ofctl add-tlv-map br-draw {class=0xffff,type=1,len=4}->tun_metadata0,{class=0xffff,type=0x82,len=8}->tun_metadata1,{class=0xffff,type=3,len=0}->tun_metadata2",
		"ovs-ofctl -O OpenFlow15 add-meter br-draw meter=1,kbps,band=type=drop,rate=1000",
		"ovs-ofctl -O OpenFlow15 add-flow br-far in_port=1,actions=set_field:00:00:00:00:00:44->eth_src,LOCAL",
		"ovs-ofctl -O OpenFlow15 add-flow br-far in_port=1,priority=40000,arp,arp_op=2,actions=IN_PORT"} {
		if out, err := l.Run(t.Context(), "node1", strings.Fields(args)...); err != nil {
			t.Fatalf("%s: %v %s", args, err, out)
		}
	}
}

// prepareNeighbours has ovs-vswitchd know where the other nodes and the gateway are: no packet resolves them, and nothing forgets them.
func prepareNeighbours(t *testing.T, l *lab.Lab) {
	run := func(node string, args ...string) string {
		out, err := l.Run(t.Context(), node, args...)
		if err != nil {
			t.Fatalf("%q: %v %s", args, err, out)
		}
		return strings.TrimSpace(out)
	}
	know := func(mac string, addresses ...netip.Addr) {
		for _, addr := range addresses {
			run("node1", "ovs-appctl", "tnl/arp/set", "br-ex", addr.String(), mac)
		}
		run("node1", "ovs-appctl", "fdb/add", "br-ex", "eth0", "0", mac)
	}
	for _, peer := range []string{"node2", "node3"} {
		node, _ := l.Topology.Node(peer)
		know(run(peer, "cat", "/sys/class/net/br-ex/address"), node.IPv4.Addr())
	}
	know(lab.UnderlayMAC, lab.UnderlayGateway4, lab.UnderlayGateway6)
}

// revive starts ovs-vswitchd again, which some packets end.
func (c *bridgeComparison) revive() {
	c.died++
	// Where nobody waits for the process that has ended, ovs-ctl would take it for one that runs.
	const start = `rm -f $OVS_RUNDIR/ovs-vswitchd.pid; /usr/share/openvswitch/scripts/ovs-ctl --no-ovsdb-server --no-monitor --no-mlockall --system-id=random --no-record-hostname --ovs-vswitchd-priority= start`
	if out, err := c.lab.Run(c.t.Context(), "node1", "sh", "-c", start); err != nil {
		c.t.Fatal(out, err)
	}
	if out, err := c.lab.Run(c.t.Context(), "node1", "ovs-vsctl", "--timeout=60", "set", "Bridge", "br-draw", fmt.Sprintf("external_ids:revived=%d", c.died)); err != nil {
		c.t.Fatal(out, err) // waits until the ports are there
	}
	prepareDrawnBridge(c.t, c.lab)
	c.learnFlood()
}

// learnFlood finds out in which order NORMAL floods the bridge: that of addresses in the memory of ovs-vswitchd, until that ends.
func (c *bridgeComparison) learnFlood() {
	names := map[string]string{} // of ports, by what they send
	order := func(in, actions string) []string {
		if out, err := c.run(newVersions, "actions=set_field:172.30.0.11->tun_src,set_field:172.30.0.12->tun_dst,"+actions+"\n", "add-flows", "br-draw", "-"); err != nil {
			c.t.Fatal(out)
		}
		reply, err := c.host.Control(c.t.Context(), "ovs-vswitchd", "ofproto/trace", "br-draw", "tcp,in_port="+in+",dl_src=00:00:00:00:00:01,dl_dst=00:00:00:00:00:99,nw_ttl=64")
		if err != nil {
			c.t.Fatal(err)
		}
		trace, err := openflow.ParseTrace(reply)
		if err != nil {
			c.t.Fatal(err)
		}
		attrs, err := openflow.ParseAttrs(trace.Passes[0].DatapathActions)
		if err != nil {
			c.t.Fatal(err)
		}
		var list []string
		tunnel := "" // of the kernel, which has a port for all tunnels of a kind
		for _, a := range attrs {
			switch text := (openflow.Attrs{a}).String(); {
			case strings.HasPrefix(text, "set(tunnel("):
				tunnel = text
			case a.Name == "set":
			case a.Name == "clone": // not around the last one
				list = append(list, a.List[:1].String())
			default:
				list = append(list, tunnel+text)
				tunnel = ""
			}
		}
		return list
	}
	numbers := []string{"LOCAL"}
	for n := range drawnPorts {
		numbers = append(numbers, fmt.Sprint(n+1))
	}
	for _, n := range numbers {
		in := "1"
		if n == in {
			in = "2"
		}
		sent := order(in, "output:"+n)
		names[sent[0]] = map[string]string{"LOCAL": "br-draw", "1": "p1", "2": "p2", "3": "p3", "4": "draw-far"}[n]
		if names[sent[0]] == "" {
			names[sent[0]] = "tun-" + n
		}
	}
	// Nothing goes back to where it came from. Of any two ports, one of three lists has both.
	before := map[[2]string]bool{}
	for _, in := range []string{"1", "2", "3"} {
		var seen []string
		for _, sent := range order(in, "NORMAL") {
			if name := names[sent]; name != "" && !slices.Contains(seen, name) {
				for _, earlier := range seen {
					before[[2]string{earlier, name}] = true
				}
				seen = append(seen, name)
			}
		}
	}
	c.flood = slices.SortedFunc(maps.Values(names), func(a, b string) int {
		if before[[2]string{a, b}] {
			return -1
		}
		return 1
	})
	c.t.Logf("NORMAL floods %q", c.flood)
}

// newBridgeComparison starts a switch of a release with a bridge for what is drawn, by -seed.
func newBridgeComparison(t *testing.T, release string) *bridgeComparison {
	l := labtest.Own(t, lab.OpenShiftSDN(), lab.Options{Release: release})
	setDrawnBridge(t, l)
	number := *seed
	if number == 0 {
		number = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", number)
	c := &bridgeComparison{t: t, lab: l, number: number, scores: map[string]*bridgeScore{}, shown: map[string]*shown{},
		host: onlyBridges{node.Local(node.LocalConfig{OVSRunDir: filepath.Join(l.Dir, "node1/run/openvswitch"), Timeout: l.Allow(20 * time.Second)}), []string{"br-draw", "br-far", "br-ex"}}}
	c.learnFlood()
	return c
}

// read reads the switch.
func (c *bridgeComparison) read() (*ovssim.Source, []error) {
	source, errs := ovssim.Read(c.t.Context(), c.host)
	if source == nil {
		return nil, errs
	}
	for i := range source.Bridges {
		if source.Bridges[i].Name == "br-draw" {
			source.Bridges[i].Flood = c.flood
		}
	}
	return source, errs
}

// readWhole reads the switch; false if that ended it, or if it has what ovs-ofctl does not print.
func (c *bridgeComparison) readWhole() (*ovssim.Source, bool) {
	source, errs := c.read()
	if source == nil {
		c.show("the switch ended before its dump", 1, fmt.Sprint(errs))
		c.revive()
		return nil, false
	}
	for _, err := range errs {
		if _, bad := errors.AsType[*openflow.SyntaxError](err); bad { // ovs-ofctl leaves out the rest of a message that it cannot decode
			c.show("ovs-ofctl cannot decode its own dump", 1, fmt.Sprint(err))
			return nil, false
		}
	}
	return source, true
}

func compareBridges(t *testing.T, release string) {
	c := newBridgeComparison(t, release)
	n := bridges(t)
	only, start := os.Getenv("OVNCTL_KIND"), time.Now()
	for i := range n {
		r := rand.New(rand.NewPCG(c.number, uint64(i)))
		kind := drawnKinds[i%len(drawnKinds)]
		if only != "" && kind != only {
			continue
		}
		c.bridge(drawBridge(r, kind))
	}
	t.Logf("%d bridges in %.0f s", n, time.Since(start).Seconds())
	c.judge()
}

// A bridgeScore counts what agreed of the packets of one kind of bridges.
type bridgeScore struct {
	bridges, packets, lookups, finals, actions, written, texts, unread, flows, loaded, hits int
	bits, missing, extra                                                                    int // of megaflows
}

// shown is the smallest case of a difference.
type shown struct {
	count int
	size  int
	text  string
}

type bridgeComparison struct {
	t      *testing.T
	lab    *lab.Lab
	host   onlyBridges
	number uint64
	scores map[string]*bridgeScore
	shown  map[string]*shown
	died   int
	last   string   // what was asked last
	flood  []string // ports of the drawn bridge in NORMAL's order
}

// onlyBridges is a host with some of its bridges alone.
type onlyBridges struct {
	node.Host
	names []string
}

func (h onlyBridges) Dump(ctx context.Context, bridge string, kind node.DumpKind) (string, error) {
	if !slices.Contains(h.names, bridge) {
		return "", node.ErrUnavailable
	}
	return h.Host.Dump(ctx, bridge, kind)
}

var badLine = regexp.MustCompile(`ovs-ofctl: -:(\d+): (.*)`)

// load writes flows and groups into the bridge and returns the flows that ovs-ofctl and the switch accepted.
func (c *bridgeComparison) load(b *drawnBridge) (flows []string, ok bool) {
	for _, kind := range []string{"del-flows", "del-groups"} {
		if out, err := c.run(newVersions, "", kind, "br-draw"); err != nil {
			c.last += out
			return nil, false
		}
	}
	for len(b.groups) > 0 {
		out, err := c.run(newVersions, strings.Join(b.groups, "\n")+"\n", "add-groups", "br-draw", "-")
		if err == nil {
			break
		}
		m := badLine.FindStringSubmatch(out)
		if m == nil {
			c.t.Logf("groups %q: %s", b.groups, out)
			break
		}
		i, _ := strconv.Atoi(m[1])
		b.groups = slices.Delete(b.groups, i-1, i)
	}
	return c.add(b.flows), true
}

const newVersions = "OpenFlow13,OpenFlow15"

// run runs ovs-ofctl with versions of OpenFlow.
func (c *bridgeComparison) run(versions, input string, args ...string) (string, error) {
	cmd := c.lab.Command(c.t.Context(), "node1", append([]string{"ovs-ofctl", "-O", versions}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// add adds flows and returns those that were accepted. Some need OpenFlow 1.0, others a newer version: if a version for
// all is missing, halves are added one after the other.
func (c *bridgeComparison) add(flows []string) []string {
	flows = slices.Clone(flows)
	for len(flows) > 0 {
		out, err := c.run(newVersions, strings.Join(flows, "\n")+"\n", "add-flows", "br-draw", "-")
		if strings.Contains(out, "usable flow formats") {
			out, err = c.run("OpenFlow10", strings.Join(flows, "\n")+"\n", "add-flows", "br-draw", "-")
			if err == nil {
				return nil // without masks: not what was written
			}
		}
		if err == nil {
			break
		}
		if m := badLine.FindStringSubmatch(out); m != nil {
			i, _ := strconv.Atoi(m[1])
			c.refuse(flows[i-1], m[2])
			flows = slices.Delete(flows, i-1, i)
			continue
		}
		if len(flows) == 1 {
			c.refuse(flows[0], out)
			return nil
		}
		half := len(flows) / 2
		return append(c.add(flows[:half]), c.add(flows[half:])...)
	}
	return flows
}

func (c *bridgeComparison) refuse(flow, why string) {
	if m := reason.FindString(why); m != "" {
		why = m
	}
	c.show("ovs-ofctl or the switch refuses: "+why, len(flow), flow)
}

var reason = regexp.MustCompile("OFP[A-Z]+_[A-Z_]+")

func (c *bridgeComparison) bridge(b *drawnBridge) {
	s := c.scores[b.kind]
	if s == nil {
		s = &bridgeScore{}
		c.scores[b.kind] = s
	}
	s.bridges++
	flows, ok := c.load(b)
	if !ok {
		c.show("the switch ended while flows were added", len(b.flows), strings.Join(b.flows, "\n"))
		c.revive()
		return
	}
	source, ok := c.readWhole()
	if !ok {
		return
	}
	sw := ovssim.NewSwitch(*source)
	written, unread := c.written(*source, flows)
	s.unread += unread
	s.flows += len(b.flows)
	for _, b := range source.Bridges {
		if b.Name == "br-draw" {
			s.loaded += len(b.Flows)
		}
	}
	for range drawnPackets {
		text, next := b.drawing.packet()
		if !c.packet(s, b, flows, sw, written, text, next) {
			return
		}
	}
}

// written returns a switch with the flows as they were written, in the order of the dump, and how many could not be read.
func (c *bridgeComparison) written(source ovssim.Source, lines []string) (*ovssim.Switch, int) {
	byCookie := map[uint64]openflow.FlowEntry{}
	unread := 0
	var reader openflow.Reader
	for _, line := range lines {
		e, err := reader.FlowEntry(line)
		if err != nil {
			c.show("unread", len(line), fmt.Sprintf("%s: %v", line, err))
			unread++
			continue
		}
		byCookie[e.Cookie] = e
	}
	source.Bridges = slices.Clone(source.Bridges)
	for i := range source.Bridges {
		if source.Bridges[i].Name != "br-draw" {
			continue
		}
		var list []openflow.FlowEntry
		for _, e := range source.Bridges[i].Flows {
			if w, ok := byCookie[e.Cookie]; ok {
				e = w
			}
			list = append(list, e)
		}
		source.Bridges[i].Flows = list
	}
	return ovssim.NewSwitch(source), unread
}

func (c *bridgeComparison) packet(s *bridgeScore, b *drawnBridge, flows []string, sw, written *ovssim.Switch, text string, next []string) (alive bool) {
	args := []string{"br-draw", text}
	var o ovssim.Options
	for _, state := range next {
		args = append(args, "--ct-next", state)
		n, err := packet.ParseCTState(state)
		if err != nil {
			c.t.Fatal(err)
		}
		o.Next = append(o.Next, n)
	}
	c.last = fmt.Sprintf("%s\n%s\n%s %q", strings.Join(b.flows, "\n"), strings.Join(b.groups, "\n"), text, next)
	ctx, cancel := context.WithTimeout(c.t.Context(), c.lab.Allow(20*time.Second))
	defer cancel()
	reply, err := c.host.Control(ctx, "ovs-vswitchd", "ofproto/trace", args...)
	if refusal, ok := errors.AsType[*node.ControlError](err); ok {
		c.show("refused packet "+refusal.Text, len(text), text)
		return true
	}
	if err != nil {
		c.show("the switch ended", len(c.last), c.last+fmt.Sprint("\n", err))
		c.revive()
		return false
	}
	want, err := openflow.ParseTrace(reply)
	if err != nil {
		c.show(fmt.Sprint("trace: ", err), len(c.last), c.last)
		return true
	}
	p, err := drawnFlow(text)
	if err != nil {
		c.show("unread packet", len(text), fmt.Sprintf("%s: %v", text, err))
		return true
	}
	s.packets++
	for _, line := range sequence(want) {
		if strings.Contains(line, "br-draw") && !strings.HasSuffix(line, "cookie 0x0") {
			s.hits++
		}
	}
	got, err := sw.Trace("br-draw", p, o)
	if err != nil {
		c.t.Fatal(err)
	}
	describe := func() string {
		var used []string
		for _, f := range b.flows {
			for _, line := range sequence(want) {
				cookie, _, _ := strings.Cut(strings.TrimPrefix(f, "cookie="), ",")
				if strings.HasSuffix(line, "cookie "+cookie) && !slices.Contains(used, f) {
					used = append(used, f)
				}
			}
		}
		return fmt.Sprintf("%s %q\n%s\n%s\nthe switch:\n%s\nours:\n%s", text, next, strings.Join(used, "\n"), strings.Join(b.groups, "\n"), reply, got)
	}
	d := difference(c.t, got, want)
	switch d.kind {
	case "sequence", "tie":
	case "final":
		s.lookups++
	case "actions":
		s.lookups++
		s.finals++
	default:
		s.lookups++
		s.finals++
		s.actions++
	}
	if d.kind == "sequence" {
		d.text += "\n" + strings.Join(b.flows, "\n") + "\n"
	}
	if d.kind != "" {
		c.show(b.kind+" "+d.kind+": "+d.reason, len(reply), d.text+"\n"+describe())
	} else {
		w, err := written.Trace("br-draw", p, o)
		if err != nil {
			c.t.Fatal(err)
		}
		if d := difference(c.t, w, got); d.kind == "" {
			s.written++
		} else {
			c.show("as written", len(reply), d.text+"\n"+describe())
		}
		c.megaflow(s, b, got, want, describe)
		for i, p := range want.Passes {
			if x, y := slices.Sorted(slices.Values(got.Passes[i].SlowPath)), slices.Sorted(slices.Values(p.SlowPath)); !slices.Equal(x, y) {
				c.show(fmt.Sprintf("slow path %q instead of %q", x, y), len(reply), describe())
			}
		}
	}
	if plain(got.String()) == plain(reply) {
		s.texts++
	} else if d.kind == "" {
		c.show("text", len(reply), describe())
	}
	return true
}

// megaflow compares which bits of a packet decided.
func (c *bridgeComparison) megaflow(s *bridgeScore, b *drawnBridge, got, want *openflow.Trace, describe func() string) {
	for i, p := range want.Passes {
		x, y := megaflowBits(got.Passes[i].Megaflow), megaflowBits(p.Megaflow)
		for _, name := range slices.Sorted(maps.Keys(union(x, y))) {
			have, need := x[name], y[name]
			s.bits += ones(need)
			missing, extra := need.AndNot(have), have.AndNot(need)
			s.missing += ones(missing)
			s.extra += ones(extra)
			line := fmt.Sprintf("%s: %s, want %s\n%s\n%s\n", name, have.Hex(), need.Hex(), got.Passes[i].Megaflow, p.Megaflow)
			if !missing.IsZero() {
				c.show("megaflow lacks "+name, len(line)+len(describe()), line+strings.Join(b.flows, "\n")+"\n"+describe())
			} else if !extra.IsZero() {
				c.show("megaflow has more "+name, len(line)+len(describe()), line+strings.Join(b.flows, "\n")+"\n"+describe())
			}
		}
	}
}

func union[V any](a, b map[string]V) map[string]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func ones(v packet.Value) int {
	n := 0
	for i := range 128 {
		if v.Bit(i) {
			n++
		}
	}
	return n
}

// megaflowBits returns the bits that a megaflow matches, by field. What datapaths name together counts together.
func megaflowBits(text string) map[string]packet.Value {
	bits := map[string]packet.Value{}
	m, err := openflow.ParseMatch(strings.ReplaceAll(text, "nsh,", "dl_type=0x894f,"))
	if err != nil {
		bits["unreadable "+text] = packet.Uint(1)
		return bits
	}
	for _, t := range m.Terms {
		switch {
		case t.Keyword != "":
			k, _ := packet.LookupKeyword(t.Keyword)
			if k.EthType != 0 {
				bits["dl_type"] = packet.Uint(0xffff)
			}
			if k.Proto != 0 {
				bits["nw_proto"] = packet.Uint(0xff)
			}
		case t.Mask.IsZero():
			bits[t.Field.Label()] = packet.Uint(1)
		default:
			name := t.Field.Label()
			mask := t.Mask
			switch name {
			case "dl_vlan", "vlan_tci":
				name = "vlan_tci"
				if t.Field.Name == "dl_vlan" {
					mask = packet.Uint(0x1fff)
				}
			case "dl_vlan_pcp":
				name, mask = "vlan_tci", packet.Uint(0xf000)
			case "recirc_id":
				continue
			case "tun_flags":
				mask = mask.And(packet.Uint(0xf))
			case "nw_tos":
				mask = packet.Uint(0xfc)
			}
			bits[name] = bits[name].Or(mask)
		}
	}
	return bits
}

func (c *bridgeComparison) show(kind string, size int, text string) {
	s := c.shown[kind]
	if s == nil {
		s = &shown{size: size, text: text}
		c.shown[kind] = s
	}
	s.count++
	if size < s.size {
		s.size, s.text = size, text
	}
}

// report shows what was different.
func (c *bridgeComparison) report() {
	kinds := slices.SortedFunc(maps.Keys(c.shown), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.shown[b].count, c.shown[a].count), cmp.Compare(a, b))
	})
	for _, k := range kinds {
		c.t.Logf("%6d %s", c.shown[k].count, k)
	}
	for _, k := range kinds {
		c.t.Logf("%d times: %s\n%s", c.shown[k].count, k, c.shown[k].text)
	}
}

func (c *bridgeComparison) judge() {
	c.report()
	all := &bridgeScore{}
	percent := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	line := func(kind string, s *bridgeScore) {
		c.t.Logf("%-12s %5d bridges with %d of %d flows, %6d packets with %d hits: lookups %6.2f %%, final flow %6.2f %%, datapath actions %6.2f %%, as written %6.2f %%, text %6.2f %%; of %d megaflow bits %d missing, %d more (%.2f %%)", kind, s.bridges, s.loaded, s.flows, s.packets, s.hits,
			percent(s.lookups, s.packets), percent(s.finals, s.packets), percent(s.actions, s.packets), percent(s.written, s.actions), percent(s.texts, s.packets), s.bits, s.missing, s.extra, percent(s.bits-s.missing, s.bits+s.extra))
	}
	for _, k := range drawnKinds {
		s := c.scores[k]
		if s == nil {
			continue
		}
		line(k, s)
		all.bridges += s.bridges
		all.packets += s.packets
		all.lookups += s.lookups
		all.finals += s.finals
		all.actions += s.actions
		all.written += s.written
		all.texts += s.texts
		all.unread += s.unread
		all.flows += s.flows
		all.loaded += s.loaded
		all.hits += s.hits
		all.bits += s.bits
		all.missing += s.missing
		all.extra += s.extra
	}
	line("all", all)
	c.t.Logf("ovs-vswitchd ended %d times", c.died)
	// Of few bridges, one that is unlucky counts for much.
	same, actions, bits := 95.0, 90.0, 95.0
	if all.bridges >= 500 {
		same, actions, bits = 100, 99.5, 99
	}
	if percent(min(all.lookups, all.finals), all.packets) < same || percent(all.actions, all.packets) < actions || percent(all.bits-all.missing, all.bits+all.extra) < bits {
		c.t.Error("too many differences")
	}
	c.t.Logf("%d flows as written could not be read", all.unread)
}
