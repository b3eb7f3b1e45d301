//go:build lab

package ovssim_test

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

// TestInstalled sends drawn packets into drawn bridges, and compares the flows that the datapath then has, with their
// masks and actions, with the megaflows and actions of the simulation. OVNCTL_BRIDGES says how many bridges.
func TestInstalled(t *testing.T) { compareInstalled(t, "") }

// sentPackets is how many packets a bridge gets: each has to be sent and looked for.
const sentPackets = 8

func compareInstalled(t *testing.T, release string) {
	c := &installedComparison{bridgeComparison: newBridgeComparison(t, release)}
	for i := range bridges(t) {
		kind := cmp.Or(os.Getenv("OVNCTL_KIND"), drawnKinds[i%len(drawnKinds)])
		c.bridge(drawBridge(rand.New(rand.NewPCG(c.number, uint64(i))), kind))
	}
	c.judge()
}

type installedComparison struct {
	*bridgeComparison
	sent, passes, later, otherActions int // later are passes after a recirculation
	bits                              int // of installed flows
	ours, theirs                      megaflowScore
}

// A megaflowScore counts bits that a megaflow lacks, and that it has beyond the installed one.
type megaflowScore struct{ missing, extra int }

func (c *installedComparison) bridge(b *drawnBridge) {
	if _, ok := c.load(b); !ok {
		c.revive()
		return
	}
	source, ok := c.readWhole()
	if !ok {
		return
	}
	for range sentPackets {
		text, _ := b.drawing.packet()
		if !c.packet(b, *source, text) {
			c.revive()
			return
		}
	}
}

// ofInterface are the terms of a drawn packet that no frame has.
var ofInterface = regexp.MustCompile(`,(in_port|ct_[a-z_]+|tun_[a-z0-9_]+|reg0|pkt_mark|dp_hash)=[^,]*`)

// hidden are the terms of a trace's packet that are given with it.
var hidden = regexp.MustCompile(`,(in_port|tun_[a-z0-9_]+|gtpu_[a-z]+)=[^,]*`)

// compose returns the bytes of a packet given as a flow.
func (c *installedComparison) compose(flow string) (string, error) {
	cmd := c.lab.Command(c.t.Context(), "node1", "ovs-ofctl", "compose-packet", flow)
	out, err := cmd.Output()
	if err != nil {
		return "", err
	}
	var digits strings.Builder
	for line := range strings.Lines(string(out)) {
		if _, rest, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			digits.WriteString(strings.NewReplacer(" ", "", "-", "").Replace(rest))
		}
	}
	return digits.String(), nil
}

// An arrival is a tunnel by which packets from node2 come in.
type arrival struct {
	kind string // geneve, vxlan or gre
	port uint16 // of UDP
	key  uint64 // 0: the packet's
}

// arrivals are the tunnels of the drawn bridge that node2 is, or may be, the other end of.
var arrivals = map[int]arrival{5: {kind: "vxlan", port: 4790}, 6: {kind: "geneve", port: 6082}, 7: {kind: "gre", key: 7}, 8: {kind: "geneve", port: 6083}, 11: {kind: "geneve", port: 6084, key: 9}}

func inPortOf(text string) int {
	m := regexp.MustCompile(`in_port=(\d+)`).FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// wrap returns the frame as node2 sends it through the tunnel, and the fields that a drawn packet then has.
func (t arrival) wrap(c *installedComparison, frame, text string) (outer, fields string) {
	number := func(name string, bits int) (n uint64, ok bool) {
		m := regexp.MustCompile(`,` + name + `=(0x[0-9a-f]+|\d+)`).FindStringSubmatch(text)
		if m == nil {
			return 0, false
		}
		n, _ = strconv.ParseUint(m[1], 0, 64)
		return n & (1<<bits - 1), true
	}
	key, _ := number("tun_id", 24)
	key = cmp.Or(t.key, key)
	tos, _ := number("tun_tos", 8)
	fields = fmt.Sprintf("in_port=%d,tun_id=%d,tun_src=172.30.0.12,tun_dst=172.30.0.11,tun_ttl=64,tun_tos=%d", inPortOf(text), key, tos)
	var header, options []byte
	if n, ok := number("tun_metadata0", 32); ok && t.kind == "geneve" {
		options = binary.BigEndian.AppendUint32(append(options, 0xff, 0xff, 1, 1), uint32(n))
		fields += fmt.Sprintf(",tun_metadata0=%d", n)
	}
	if n, ok := number("tun_metadata1", 60); ok && t.kind == "geneve" {
		options = binary.BigEndian.AppendUint64(append(options, 0xff, 0xff, 0x82, 2), n)
		fields += fmt.Sprintf(",tun_metadata1=%d", n)
	}
	switch t.kind {
	case "geneve":
		critical := byte(0)
		if _, ok := number("tun_metadata1", 60); ok {
			critical = 0x40
		}
		header = binary.BigEndian.AppendUint32([]byte{byte(len(options) / 4), critical, 0x65, 0x58}, uint32(key)<<8)
		header = append(header, options...)
	case "vxlan":
		header = binary.BigEndian.AppendUint32([]byte{8, 0, 0, 0}, uint32(key)<<8)
	case "gre":
		header = binary.BigEndian.AppendUint32([]byte{0x20, 0, 0x65, 0x58}, uint32(key))
	}
	inner, err := hex.DecodeString(frame)
	if err != nil {
		c.t.Fatal(err)
	}
	payload, protocol := append(header, inner...), byte(47)
	if t.port != 0 {
		udp := binary.BigEndian.AppendUint16([]byte{0x9c, 0x40}, t.port)
		udp = append(binary.BigEndian.AppendUint16(udp, uint16(8+len(payload))), 0, 0)
		payload, protocol = append(udp, payload...), packet.ProtoUDP
	}
	ip := binary.BigEndian.AppendUint16([]byte{0x45, byte(tos)}, uint16(20+len(payload)))
	ip = append(ip, 0, 0, 0, 0, 64, protocol, 0, 0, 172, 30, 0, 12, 172, 30, 0, 11)
	sum := uint32(0)
	for i := 0; i < len(ip); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum>>16+sum&0xffff))
	return strings.ReplaceAll(c.mac("node1")+c.mac("node2"), ":", "") + "0800" + hex.EncodeToString(append(ip, payload...)), fields
}

// mac is the Ethernet address of a node in the network below the tunnels.
func (c *installedComparison) mac(node string) string {
	out, err := c.lab.Run(c.t.Context(), node, "cat", "/sys/class/net/br-ex/address")
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// send sends a frame into a port of a host.
func (c *installedComparison) send(host, device, frame string) error {
	raw, err := hex.DecodeString(frame)
	if err != nil {
		return err
	}
	return c.lab.InNamespace(host, func() error {
		link, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		return unix.Sendto(fd, raw, 0, &unix.SockaddrLinklayer{Ifindex: link.Index, Halen: 6})
	})
}

func (c *installedComparison) control(command string, args ...string) string {
	reply, err := c.host.Control(c.t.Context(), "ovs-vswitchd", command, args...)
	if _, refused := errors.AsType[*node.ControlError](err); err != nil && !refused {
		c.t.Logf("%s: %v", command, err)
	}
	return reply
}

// packet reports whether the switch is alive.
func (c *installedComparison) packet(b *drawnBridge, source ovssim.Source, text string) bool {
	frame, err := c.compose(ofInterface.ReplaceAllString(text, ""))
	if err != nil || len(frame) < 2*14 {
		return true // the drawn packet is none
	}
	const shortest = 60
	frame += strings.Repeat("00", max(0, shortest-len(frame)/2))
	host, device, port := "node1", fmt.Sprintf("p%d", 1+len(text)%2), fmt.Sprintf("in_port=%d", 1+len(text)%2)
	way, sent := device, frame
	if t, ok := arrivals[inPortOf(text)]; ok {
		host, device, way = "node2", "br-ex", fmt.Sprintf("tun-%d", inPortOf(text))
		sent, port = t.wrap(c, frame, text)
	}
	reply, err := c.host.Control(c.t.Context(), "ovs-vswitchd", "ofproto/trace", "br-draw", port, frame)
	if err != nil {
		_, alive := errors.AsType[*node.ControlError](err)
		return alive
	}
	want, err := openflow.ParseTrace(reply)
	if err != nil || len(want.Passes) == 0 || strings.Contains(reply, "learn(") {
		return true // what it learns changes what is installed
	}
	c.control("fdb/flush", "br-draw")
	c.control("dpctl/flush-conntrack")
	c.control("dpctl/del-flows")
	sw := ovssim.NewSwitch(source)
	if err := c.send(host, device, sent); err != nil {
		c.t.Log(err)
		return false
	}
	var in string
	for _, p := range openflow.ParseDatapathPorts(source.Datapath) {
		if p.Name == way && p.Bridge == "br-draw" {
			in = fmt.Sprint(p.Datapath)
		}
	}
	var d datapath
	for i := range 100 {
		before := len(d)
		d = carried(c.t, c.host, c.lab.Datapath, "-m", "--no-names").of(in)
		if _, ok := d.resumed("0"); ok && len(d) == before {
			break // no more come
		}
		if i == 50 { // what was installed may be gone with the flows before
			_ = c.send(host, device, sent)
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.last = text
	c.sent++
	first, ok := d.resumed("0")
	if !ok {
		c.show("no flow installed", len(reply), fmt.Sprintf("%s\n%s\n%s", strings.Join(b.flows, "\n"), text, reply))
		return true
	}
	// A trace hides the tunnel's key.
	p, err := packet.Parse(hidden.ReplaceAllString(want.Passes[0].FlowText, "") + "," + port)
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := sw.Trace("br-draw", p, ovssim.Options{Generate: true})
	if err != nil {
		c.t.Fatal(err)
	}
	c.pass(d, first, 0, got, want, func() string {
		var flows []string
		for _, bridge := range source.Bridges {
			for _, f := range bridge.Flows {
				flows = append(flows, f.String())
			}
		}
		return fmt.Sprintf("%s\n%s\n%s\nthe switch:\n%s\nours:\n%s", strings.Join(flows, "\n"), strings.Join(b.groups, "\n"), text, reply, got)
	})
	return true
}

// anyID is datapath actions without what each switch counts for itself, and without whether somebody gets a packet.
func anyID(actions string) string {
	return strings.ReplaceAll(someID.ReplaceAllString(actions, "$1#"), "dont_send=1", "dont_send=0")
}

// of returns the flows of packets from a port.
func (d datapath) of(port string) datapath {
	var list datapath
	for _, f := range d {
		if f.Key.Value("in_port") == port {
			list = append(list, f)
		}
	}
	return list
}

// resumed returns the flow for packets that come back under an id.
func (d datapath) resumed(id string) (openflow.DatapathFlow, bool) {
	for _, f := range d {
		if strings.TrimPrefix(f.Key.Value("recirc_id"), "0x") == id {
			return f, true
		}
	}
	return openflow.DatapathFlow{}, false
}

// pass compares a pass of the traces with an installed flow, and what comes after it with the flows after that.
func (c *installedComparison) pass(d datapath, f openflow.DatapathFlow, n int, got, want *openflow.Trace, describe func() string) {
	p := got.Passes[n]
	c.passes++
	if n > 0 {
		c.later++
	}
	theirs := ""
	if n < len(want.Passes) {
		theirs = anyID(want.Passes[n].DatapathActions)
	}
	slow := (len(p.SlowPath) > 0 || p.Failure != "") && strings.Contains(f.Actions.String(), "slow_path(")
	if !slow && anyID(p.DatapathActions) != anyID(f.Actions.String()) {
		c.otherActions++
		c.show(fmt.Sprintf("pass %d: other actions: %s", min(n, 1), kinds(p.DatapathActions, f.Actions.String())), len(describe()), fmt.Sprintf("%s\nhave %s\ninstalled %s\n%s", f, p.DatapathActions, f.Actions, describe()))
		return
	}
	need := installedBits(c.t, f.Key)
	for _, v := range need {
		c.bits += ones(v)
	}
	_, tagged := need["vlan_tci"]
	compare := func(text string, s *megaflowScore, whose string) {
		have := megaflowBits(text)
		for name := range have {
			if name == "in_port" || name == "metadata" || strings.HasPrefix(name, "reg") {
				delete(have, name) // OpenFlow's own
			}
		}
		if !tagged {
			delete(have, "vlan_tci") // that there is none is what the type of the frame says
		} else if _, decided := have["vlan_tci"]; !decided && need["vlan_tci"] == packet.Uint(0x1fff) {
			have["vlan_tci"] = need["vlan_tci"] // the datapath's own: it cannot leave out whether there is a tag
		}
		for name := range union(have, need) {
			missing, extra := need[name].AndNot(have[name]), have[name].AndNot(need[name])
			s.missing += ones(missing)
			s.extra += ones(extra)
			line := fmt.Sprintf("pass %d: %s: have %s, installed %s\n%s\n%s\n", n, name, have[name].Hex(), need[name].Hex(), text, f)
			if !missing.IsZero() {
				c.show(whose+" lacks "+name, len(line)+len(describe()), line+describe())
			} else if !extra.IsZero() {
				c.show(whose+" has more "+name, len(line)+len(describe()), line+describe())
			}
		}
	}
	compare(p.Megaflow, &c.ours, "ours")
	if slow && theirs != "" || theirs == anyID(f.Actions.String()) {
		compare(want.Passes[n].Megaflow, &c.theirs, "theirs")
	}
	ours, real := recircTo.FindAllStringSubmatch(p.DatapathActions, -1), recircTo.FindAllStringSubmatch(f.Actions.String(), -1)
	for i := range min(len(ours), len(real)) {
		for j, next := range got.Passes {
			if next.Recirc == nil || fmt.Sprintf("%x", next.Recirc.ID) != ours[i][1] || j <= n {
				continue
			}
			if g, ok := d.resumed(real[i][1]); ok {
				c.pass(d, g, j, got, want, describe)
			}
			break
		}
	}
}

func (c *installedComparison) judge() {
	c.report()
	percent := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	equal := percent(c.passes-c.otherActions, c.passes)
	c.t.Logf("%d packets sent, %d installed flows, %d of them after a recirculation, actions equal in %.2f %%; of %d bits of the others, the simulation lacks %d and has %d more; ofproto/trace lacks %d and has %d more", c.sent, c.passes, c.later,
		equal, c.bits, c.ours.missing, c.ours.extra, c.theirs.missing, c.theirs.extra)
	if c.passes == 0 || equal < 97 || percent(c.ours.missing, c.bits) > 1 || percent(c.ours.extra, c.bits) > 10 {
		c.t.Error("too many differences")
	}
}

// installedFields are the fields of the parts of a datapath flow's key.
var installedFields = map[string]string{
	"skb_priority": "skb_priority", "skb_mark": "pkt_mark", "ct_state": "ct_state", "ct_zone": "ct_zone", "ct_mark": "ct_mark", "ct_label": "ct_label", "dp_hash": "dp_hash",
	"eth src": "eth_src", "eth dst": "eth_dst", "eth_type": "eth_type", "tcp_flags": "tcp_flags",
	"ipv4 src": "ip_src", "ipv4 dst": "ip_dst", "ipv4 proto": "nw_proto", "ipv4 ttl": "nw_ttl", "ipv4 frag": "ip_frag",
	"ipv6 src": "ipv6_src", "ipv6 dst": "ipv6_dst", "ipv6 label": "ipv6_label", "ipv6 proto": "nw_proto", "ipv6 hlimit": "nw_ttl", "ipv6 frag": "ip_frag",
	"tcp src": "tcp_src", "tcp dst": "tcp_dst", "udp src": "udp_src", "udp dst": "udp_dst", "sctp src": "sctp_src", "sctp dst": "sctp_dst",
	"icmp type": "icmp_type", "icmp code": "icmp_code", "icmpv6 type": "icmpv6_type", "icmpv6 code": "icmpv6_code",
	"nd target": "nd_target", "nd sll": "nd_sll", "nd tll": "nd_tll",
	"arp sip": "arp_spa", "arp tip": "arp_tpa", "arp op": "arp_op", "arp sha": "arp_sha", "arp tha": "arp_tha",
	"mpls label": "mpls_label", "mpls tc": "mpls_tc", "mpls ttl": "mpls_ttl", "mpls bos": "mpls_bos", "mpls lse1": "mpls_lse1", "mpls lse2": "mpls_lse2",
	"nsh flags": "nsh_flags", "nsh ttl": "nsh_ttl", "nsh mdtype": "nsh_mdtype", "nsh np": "nsh_np", "nsh spi": "nsh_spi", "nsh si": "nsh_si",
	"nsh c1": "nsh_c1", "nsh c2": "nsh_c2", "nsh c3": "nsh_c3", "nsh c4": "nsh_c4",
	"ct_tuple4 src": "ct_nw_src", "ct_tuple4 dst": "ct_nw_dst", "ct_tuple4 proto": "ct_nw_proto", "ct_tuple4 tp_src": "ct_tp_src", "ct_tuple4 tp_dst": "ct_tp_dst",
	"ct_tuple6 src": "ct_ipv6_src", "ct_tuple6 dst": "ct_ipv6_dst", "ct_tuple6 proto": "ct_nw_proto", "ct_tuple6 src_port": "ct_tp_src", "ct_tuple6 dst_port": "ct_tp_dst",
}

// installedBits returns the bits that a datapath flow matches, as megaflowBits does.
func installedBits(t *testing.T, key openflow.Attrs) map[string]packet.Value {
	bits := map[string]packet.Value{}
	put := func(name string, mask packet.Value) { bits[name] = bits[name].Or(mask) }
	var walk func(key openflow.Attrs)
	one := func(name, value string) {
		_, text, masked := strings.Cut(value, "/")
		number := func(whole uint64) packet.Value {
			if !masked {
				return packet.Uint(whole)
			}
			var n uint64
			_, _ = fmt.Sscanf(strings.TrimPrefix(text, "0x"), "%x", &n)
			return packet.Uint(n)
		}
		switch name {
		case "ipv4 tos", "ipv6 tclass":
			m := number(0xff)
			put("nw_tos", m.And(packet.Uint(0xfc)))
			put("nw_ecn", m.And(packet.Uint(3)))
			return
		case "arp op": // of which Open vSwitch has eight bits
			if !number(0xff).IsZero() {
				put("arp_op", packet.ARPOp.Mask())
			}
			return
		case "vlan vid":
			put("vlan_tci", number(0xfff))
			return
		case "vlan pcp":
			put("vlan_tci", number(7).Shl(13))
			return
		case "vlan cfi":
			return
		case "mpls lse0":
			m := number(0xffffffff).Lo
			put("mpls_label", packet.Uint(m>>12))
			put("mpls_tc", packet.Uint(m>>9&7))
			put("mpls_bos", packet.Uint(m>>8&1))
			put("mpls_ttl", packet.Uint(m&0xff))
			return
		}
		f := packet.MustField(installedFields[name])
		if !masked || text == "" {
			mask := f.Mask()
			if f.Name == "ct_state" || f.Name == "tcp_flags" {
				_, mask, _ = f.ParseValue(value)
			}
			put(f.Label(), mask)
			return
		}
		_, mask, err := f.ParseValue(value)
		if err != nil {
			t.Errorf("%s=%s: %v", name, value, err)
		}
		put(f.Label(), mask)
	}
	walk = func(key openflow.Attrs) {
		for _, a := range key {
			switch a.Name {
			case "recirc_id", "in_port", "packet_type", "key32": // the last is newer than this ovs-vswitchd
				continue
			case "encap":
				walk(a.List)
				continue
			case "vlan":
				put("vlan_tci", packet.Uint(0x1000))
			case "tunnel":
				tunnelBits(t, a.List, put)
				continue
			}
			if installedFields[a.Name] != "" {
				one(a.Name, key.Value(a.Name))
				continue
			}
			for _, part := range a.List {
				name := a.Name + " " + part.Name
				if _, known := installedFields[name]; !known && !strings.HasSuffix(name, " tos") && name != "ipv6 tclass" && a.Name != "vlan" && name != "mpls lse0" {
					t.Errorf("%s: unknown %q", key, name)
					continue
				}
				one(name, part.Value)
			}
		}
	}
	walk(key)
	for name, v := range bits {
		if v.IsZero() {
			delete(bits, name)
		}
	}
	return bits
}

// tunnelBits puts the bits of a tunnel that a datapath flow matches. A part that is missing has to be missing, or zero.
func tunnelBits(t *testing.T, parts openflow.Attrs, put func(name string, mask packet.Value)) {
	put("tun_tos", packet.Uint(0xff))
	for _, part := range parts {
		name, value := "tun_"+part.Name, part.Value
		switch part.Name {
		case "tun_id":
			name = part.Name
		case "src", "dst", "ttl":
		case "tos":
			continue
		case "tp_src", "tp_dst":
			continue // what OpenFlow has no field for
		case "flags":
			signs := 0
			for i, flag := range []string{"oam", "df", "csum", "key"} {
				if text := part.List.String(); strings.Contains(text, "+"+flag) || strings.Contains(text, "-"+flag) {
					put("tun_flags", packet.Uint(1<<i))
					signs++
				}
			}
			if signs == 0 { // all of them, and those that are set are named
				put("tun_flags", packet.Uint(0xf))
			}
			continue
		case "geneve":
			for _, option := range part.List {
				name := map[string]string{"0x1": "tun_metadata0", "0x82": "tun_metadata1", "0x2": "tun_metadata1"}[option.List.Value("type")]
				last := option.List[len(option.List)-1].Value
				if _, mask, masked := strings.Cut(last, "/"); masked {
					n, err := strconv.ParseUint(mask, 0, 64)
					if err != nil {
						t.Errorf("%s: %v", option, err)
					}
					put(name, packet.Uint(n))
				} else {
					put(name, packet.Ones(map[string]int{"tun_metadata0": 32, "tun_metadata1": 64}[name]))
				}
			}
			continue
		default:
			t.Errorf("%s: unknown %q", parts, part.Name)
			continue
		}
		f := packet.MustField(name)
		mask := f.Mask()
		if strings.Contains(value, "/") {
			var err error
			if _, mask, err = f.ParseValue(value); err != nil {
				t.Errorf("%s: %v", value, err)
			}
		}
		put(name, mask)
	}
}
