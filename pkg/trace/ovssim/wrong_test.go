//go:build lab

package ovssim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/openflow/ofctl"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// spoil makes a mistake in a flow, or writes it in another way that may be right.
func (g *drawing) spoil(flow string) string {
	i := g.IntN(len(flow))
	put := func(before, text string) string { return strings.Replace(flow, before, text+before, 1) }
	swap := func(text string, by ...string) string { return strings.Replace(flow, text, g.one(by...), 1) }
	switch g.IntN(15) {
	case 0: // a character less
		return flow[:i] + flow[i+1:]
	case 1: // twice
		return flow[:i] + flow[i:i+1] + flow[i:]
	case 2: // one more
		return flow[:i] + g.one(",", "=", ":", "(", ")", "->", "[", "]", "/", "x", "-", " ", "0", "+", "9", "|", ".") + flow[i:]
	case 3: // another name
		return swap(g.one("tcp", "udp", "ip,", "arp,", "actions", "->", "reg", "priority", "table", "nw_", "ipv6", "icmp", "set_field", "load", "move", "output", "resubmit", "ct(", "nat", "commit", "dl_", "tp_"), "", "foo", "icmp", "0", "TCP", "ipv6,", "set_field", "mod_tp_src", "copy_field", "CT(")
	case 4: // another value
		return swap(g.one("10.", "0x", "fd00", "00:00", "80", "64", "/24", "/64", "=1", ":1", "=5"), "300.", "-", "0xfffffffffff", "zz", "10.0.0.0/99", "-1", "08", "1e3", "/33", "/129", "=99999", ":70000", "=", "=0x", "=*", "=any", "=0/0", "=1/1")
	case 5: // an action before the others
		return strings.Replace(flow, "actions=", "actions="+g.one("output:", "bogus,", "load:1->reg99,", "set_field:1->nw_proto,", "resubmit(,300),", "move:reg0[]->eth_dst[],", "load:0x1ffff->NXM_NX_REG0[0..15],", "learn(foo),", "conjunction(1,3/2),2,", "ct(foo),", "note:zz,", "group:x,", "push_vlan:0x1234,", "drop,", "goto_table:3,", "clear_actions,",
			"write_metadata:1,", "meter:1,", "meter:0,", "set_field:80->tcp_dst,", "load:80->NXM_OF_TCP_DST[],", "mod_tp_dst:80,", "mod_nw_src:1.2.3.4,", "mod_nw_tos:3,", "dec_ttl(x),", "set_mpls_ttl:9,", "pop_mpls:0x800,set_field:1.1.1.1->ip_src,", "push_mpls:0x8847,set_field:1.1.1.1->ip_src,", "strip_vlan,push_vlan:0x8100,push_vlan:0x8100,push_vlan:0x8100,", "set_field:0x5->vlan_vid,", "output:ANY,", "output:65280,", "controller(reason=foo),", "enqueue:1,", "apply_actions(1),",
			"nat,", "ct_clear(x),", "exit(,", "set_field:5/5->nw_ttl,", "set_field:300->nw_ttl,", "pop:nw_proto,", "push:nw_src,", "fin_timeout(foo=1),", "sample(probability=0),", "sample(probability=5,foo=1),", "check_pkt_larger(100)->reg0,", "check_pkt_larger(x)->reg0[1],", "bundle(eth_src,0,hrw,ofport,members:x),", "bundle(foo,0,hrw,ofport,members:1),", "multipath(eth_src,0,hrw,70000,0,reg0),", "multipath(eth_src,0,hrw,9,0,reg0[0..1]),", "encap(foo),", "decap(foo),", "encap(nsh(md_type=3)),", "decap,set_field:1.1.1.1->ip_src,", "delete_field:reg0,", "output(port=1,max_len=5),", "clone(drop,1),", "write_actions(meter:1),", "ct(commit,exec(output:1)),", "ct(table=255),", "ct(force),", "ct(commit,nat(src=1.1.1.1,dst=2.2.2.2)),", "ct(commit,nat(src=fd00::1)),", "ct(alg=ftp),", "resubmit(1,2,foo),", "resubmit(,0,ct),", "learn(table=255),", "learn(nw_src=1.1.1.1),", "learn(eth_type=0x800,nw_src=1.1.1.1,load:1->nw_proto),", "learn(reg0[0..3]=99),", "set_queue:-1,", "set_tunnel:0x1ffffffffffffffff,"), 1)
	case 6: // a condition before the others
		return put("priority=", g.one("priority=70000,x=", "nw_dst=10.0.0.1,", "tp_dst=80,", "tcp_flags=+foo,", "ct_state=+bad,", "reg0=0x1ffffffff,", "in_port=99999,", "dl_vlan=5000,", "metadata=,", "reg0[0..40]=1,", "reg0[3]=2,", "reg0[]=5,", "NXM_NX_REG0[]=5,", "NXM_NX_REG0=5,", "nw_proto[0]=1,", "ct_state=+new+new,", "ct_state=new|foo,", "tun_flags=+df,", "packet_type=(1,0x800),", "packet_type=1,", "ip_frag=foo,", "skb_priority=1,", "eth_src=1:2:3:4:5,", "nw_ttl=256,", "mpls_label=99999999999,", "tun_metadata0,", "tun_metadata64=1,", "ip4,", "ip6,", "foo,", "eth,", "ipv6_src=::1/200,", "ipv6_src=10.0.0.1,", "nw_src=1.2.3,", "nw_src=1.2.3.4/255.0.255.0,", "arp_op=99999,", "vlan_tci=0x1000/0x1000,", "actset_output=unset,", "in_port=local,", "in_port=p1,", "in_port=-1,", "nw_tos=3,", "ip_dscp=64,", "tcp_flags=0x1000,", "tcp_flags=2/0xfff,", "ct_state=0x21/0x21,", "conj_id=x,", "xreg0=5/zz,", "recirc_id=1,", "udp,tcp,", "check_overlap,", "reset_counts,", "duration=5s,", "duration,", "idle_timeout=99999,", "hard_timeout=x,", "importance=-1,", "cookie=5/6,", "cookie=x,", "out_port=1,", "n_packets=x,"))
	case 7: // a table or a priority
		return swap(g.one("table=", "priority="), "table=300,x=", "table=x,", "table=255,", "table=-1,", "priority=-5,", "priority=0x10,", "priority=65536,", "priority=5 ", "tables=")
	case 8: // a protocol less: fields and actions lack it
		for _, k := range g.some(20, "tcp6,", "udp6,", "icmp6,", "tcp,", "udp,", "icmp,", "sctp,", "ipv6,", "ip,", "arp,", "mpls,", "dl_type=0x894f,", "ct_state=+trk,") {
			if strings.Contains(flow, k) {
				return strings.Replace(flow, k, g.one("", "", "ip,", "udp,", "arp,"), 1)
			}
		}
		return flow
	case 9: // a field twice
		if m := someTerm.FindAllString(flow, -1); len(m) > 0 {
			return put("priority=", strings.TrimSuffix(g.one(m...), ",")+",")
		}
		return flow
	case 10: // actions in another place
		head, actions, _ := strings.Cut(flow, "actions=")
		list := splitActions(actions)
		slices.Reverse(list)
		return head + "actions=" + strings.Join(list, ",")
	case 11:
		return flow + g.one(",drop", ",meter:1", ",clear_actions", ",write_actions(1)", ",write_metadata:5", ",goto_table:9", ",conjunction(1,1/2)", ",note:01", " 5", "(", ")", ",,", ",output:reg9[0..15]", ",load:5->reg0[0..3],1")
	case 12:
		return g.one("add ", "delete,", "", " ") + flow
	case 13:
		return swap(g.one("[]", "[0..15]", "[0..7]", "[0..31]", "[4]"), "", "[0..63]", "[15..0]", "[99]", "[x]", "[", "]", "[0..]")
	}
	return flow[:i]
}

var someTerm = regexp.MustCompile(`[a-z_0-9]+=[^,]+,`)

// splitActions splits a list at the commas between its actions.
func splitActions(s string) []string {
	var list []string
	depth, start := 0, 0
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			list, start = append(list, s[start:i]), i+1
		}
	}
	return append(list, s[start:])
}

// TestWrongFlows has ovs-ofctl read drawn flows with a mistake: it and package ofctl must accept the same, with the same
// meaning, and refuse the same, with the same words. OVNCTL_BRIDGES says how many times sixteen flows are drawn.
func TestWrongFlows(t *testing.T) { compareWrongFlows(t, "") }

// everyVersion has ovs-ofctl take what any version of OpenFlow has.
const everyVersion = "OpenFlow10,OpenFlow11,OpenFlow12,OpenFlow13,OpenFlow14,OpenFlow15"

// parseFlow has ovs-ofctl of a release read a flow, and returns how it prints it.
func parseFlow(t *testing.T, root, versions, flow string) (text string, accepted bool) {
	args := []string{"ovs-ofctl", "-O", versions, "parse-flow", flow}
	if root != "" {
		args = append([]string{"chroot", root}, args...)
	}
	out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
	if _, refused := errors.AsType[*exec.ExitError](err); err != nil && !refused {
		t.Fatal(err)
	}
	text = strings.TrimSpace(string(out))
	if err != nil { // what is before that is its log
		return text[strings.Index(text, "ovs-ofctl: ")+len("ovs-ofctl: "):], false
	}
	return text, true
}

func compareWrongFlows(t *testing.T, root string) {
	number := *seed
	if number == 0 {
		number = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", number)
	n := 16 * bridges(t)
	_, wraps := parseFlow(t, root, everyVersion, "actions=set_queue:-1,1") // before 3.5
	var refused, accepted, differ, worded, printed, same, shown int
	log := func(format string, args ...any) {
		if shown++; shown <= 80 || os.Getenv("OVNCTL_BRIDGES") != "" {
			t.Logf(format, args...)
		}
	}
	for i := 0; refused+accepted+differ < n; i++ {
		b := drawBridge(rand.New(rand.NewPCG(number, uint64(i))), drawnKinds[i%len(drawnKinds)])
		for _, flow := range b.flows {
			flow = b.drawing.spoil(flow)
			if strings.HasPrefix(flow, "-") || flow == "" || wraps && strings.Contains(flow, "set_queue:-1,") {
				continue
			}
			want, ok := parseFlow(t, root, everyVersion, flow)
			own, err := ofctl.ParseFlow(flow, ofctl.Names{})
			switch {
			case !ok && err == nil:
				differ++
				log("only ovs-ofctl refuses %s: %s", flow, want)
			case !ok:
				refused++
				if e, known := errors.AsType[*ofctl.Error](err); known && strings.TrimSpace(e.Msg) == want {
					worded++
				} else {
					log("ovs-ofctl says of %s: %s\nnot: %v", flow, want, err)
				}
			case err != nil:
				differ++
				log("only ofctl refuses %s: %v", flow, err)
			default:
				accepted++
				text, ok := parseFlow(t, root, "OpenFlow15", flow)
				_, text, found := strings.Cut(text, ": ADD ")
				if !ok || !found || strings.Contains(want, "normalization changed") {
					continue // not of this version, refused by the switch, or more in the match than counts
				}
				printed++
				if a, b := meaning(t, text), meaning(t, own.String()); a == b {
					same++
				} else {
					log("ovs-ofctl reads %s\nas %s\nnot %s\n%s\n%s", flow, text, own, a, b)
				}
			}
		}
	}
	all := refused + accepted + differ
	agree := 100 * float64(refused+accepted) / float64(all)
	t.Logf("of %d flows with a mistake, %d are refused and %d accepted by both, %d by one alone: %.2f %% agree; %d of the refused in the same words, %d of %d accepted mean the same", all, refused, accepted, differ, agree, worded, same, printed)
	if agree < 99 {
		t.Error("too many differences")
	}
}

// portNames are the names of what mod_tp_src and mod_tp_dst write.
var portNames = strings.NewReplacer("udp_", "tcp_", "sctp_", "tcp_")

// flowMod makes what ovs-ofctl prints of a flow that is to be added what it prints of one that is there.
var flowMod = strings.NewReplacer("table:", "table=", "cookie:", "cookie=", " idle:", " idle_timeout=", " hard:", " hard_timeout=", " importance:", " importance=",
	"vlan_tci=0x0000,", "vlan_tci=0x0000/0x1fff,", "vlan_tci=0x0000 ", "vlan_tci=0x0000/0x1fff ") // the last in OXM

// decimalLoad is what an action learn loads, as people write it.
var decimalLoad = regexp.MustCompile(`load:([1-9]\d*)->`)

// meaning is a flow in a form that does not depend on how it is written.
func meaning(t *testing.T, text string) string {
	e, err := new(openflow.Reader).FlowEntry(flowMod.Replace(text))
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	spell(e.Actions)
	actions := decimalLoad.ReplaceAllStringFunc(e.Actions.String(), func(s string) string {
		n, _ := strconv.ParseUint(decimalLoad.FindStringSubmatch(s)[1], 10, 64)
		return fmt.Sprintf("load:%#x->", n)
	})
	return fmt.Sprintf("%q %d %s", e.Match.Key(), e.Priority, portNames.Replace(actions))
}

// spell writes actions that set fields in one way, also inside of others.
func spell(list openflow.Actions) {
	for i, a := range list {
		switch a := a.(type) {
		case openflow.Clone:
			spell(a.Actions)
		case openflow.WriteActions:
			spell(a.Actions)
		case openflow.CT:
			spell(a.Exec)
		case openflow.PopVLAN:
			list[i] = openflow.PopVLAN{}
		case openflow.Modify:
			if a.Name == "mod_nw_tos" {
				list[i] = openflow.SetField{Field: &packet.IPDSCP, Value: packet.Uint(a.Value.Lo >> 2), Mask: packet.Uint(0x3f)}
				continue
			}
		}
		if set, ok := openflow.LoadedBits(a); ok {
			list[i] = set
		}
	}
}
