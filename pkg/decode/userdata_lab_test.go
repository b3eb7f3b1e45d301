//go:build lab

package decode

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

func TestUserdataLab(t *testing.T) {
	userdataIsRight(t, labtest.Own(t, lab.Features(), lab.Options{}))
}

// expected are the operations, some of them with meters, that flows of node1 ask for in every release that the
// lab runs.
var expected = []string{
	"ARP", "PUT_ARP", "PUT_DHCP_OPTS", "ND_NA", "PUT_ND", "PUT_DHCPV6_OPTS", "DNS_LOOKUP", "LOG", "PUT_ND_RA_OPTS", "ND_NS", "ICMP",
	"TCP_RESET", "ND_NA_ROUTER", "ICMP4_ERROR", "EVENT", "IGMP", "BIND_VPORT", "HANDLE_SVC_CHECK", "DHCP6_SERVER", "ICMP6_ERROR",
	"REJECT", "BFD_MSG", "SCTP_ABORT", "PUT_FDB", "meters",
}

// userdataIsRight holds the userdata of every flow of a node against the actions of
// the logical flow that it was made from.
func userdataIsRight(t *testing.T, l *lab.Lab) {
	run := func(host string, args ...string) string {
		out, err := l.Command(t.Context(), host, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %s: %v: %s", host, strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	// What the lab's own rows leave out of the answers.
	dhcp4 := run("central", "ovn-nbctl", "--bare", "--columns=_uuid", "find", "DHCP_Options", "cidr=10.2.4.0/24")
	dhcp6 := run("central", "ovn-nbctl", "--bare", "--columns=_uuid", "find", "DHCP_Options", `cidr="fd00:10:2:4::/64"`)
	run("central", "ovn-nbctl", "set", "DHCP_Options", dhcp4, `options:hostname="\"web\""`, "options:T1=900", "options:ip_forward_enable=1",
		`options:domain_search_list="\"a.example.org,b.example.org,example.com\""`, "options:default_ttl=64", "options:next_server=10.2.4.9",
		`options:ms_classless_static_route="{10.9.0.0/16,10.2.4.1, 0.0.0.0/0,10.2.4.2}"`, `options:dns_server="{10.2.4.3,10.2.4.4}"`,
		`options:tftp_server="\"tftp.example\""`)
	run("central", "ovn-nbctl", "set", "DHCP_Options", dhcp6, `options:dns_server="{fd00::1,fd00::2}"`)
	if run("central", "ovn-sbctl", "find", "DHCPv6_Options", "name=fqdn") != "" {
		run("central", "ovn-nbctl", "set", "DHCP_Options", dhcp6, `options:fqdn="\"web.example.org\""`, `options:bootfile_name="\"boot6\""`)
	}
	run("central", "ovn-nbctl", "set", "Logical_Router_Port", "rel-flood", "ipv6_ra_configs:route_info=HIGH-fd00:77::/48,LOW-fd00:78::/64",
		"--", "lrp-set-options", "g1-out", "gateway_mtu=1500", "prefix_delegation=true", "prefix=true")
	for _, port := range []string{"acl-a", "p-mac", "p-v4", "sn-a", "fl-a", "in-a"} {
		run("node1", "ovs-vsctl", "add-port", "br-int", "x"+port, "--", "set", "Interface", "x"+port, "type=internal", "external_ids:iface-id="+port)
	}
	// ovn-controller takes its time to make the flows of the new ports.
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Second) {
		run("central", "ovn-nbctl", "--timeout=60", "--wait=hv", "sync")
		seen, wrong := openNetwork(t, l).userdata(t, "node1")
		missing := slices.DeleteFunc(slices.Clone(expected), func(opcode string) bool { return seen[opcode] > 0 })
		if len(wrong)+len(missing) == 0 {
			t.Logf("OVN %s, as the logical flows have it: %v", l.Release.OVN, seen)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no flow asks for %v; %d are not what their logical flow says:\n%s", missing, len(wrong), strings.Join(wrong, "\n"))
		}
	}
}

// userdata counts the operations that the flows of a node ask for, and finds those
// that are not what the logical flow says.
func (n *network) userdata(t *testing.T, node string) (seen map[string]int, wrong []string) {
	d := n.decoder(t, node)
	d.Calibrate(t.Context(), n.flows(t, node))
	seen = map[string]int{}
	meters := ParseMeters(n.run(t, node, "ovn-appctl", "-t", "ovn-controller", "meter-table-list"))
	for _, e := range n.dump(t, node) {
		for _, a := range controllers(e.Actions) {
			u, ok := ParseUserdata(a.Userdata)
			if !ok {
				continue
			}
			m := d.Decode(t.Context(), SeenIn(&e))
			if m.Flow == nil {
				continue
			}
			seen[u.Opcode]++
			if a.MeterID != 0 {
				seen["meters"]++
				name := n.meterOf(t, m.Flow.UUID)
				if log := logMeter.FindStringSubmatch(m.Flow.Actions); log != nil {
					name = log[1]
				}
				if want := "meter " + name; meters[a.MeterID] != want {
					wrong = append(wrong, fmt.Sprintf("meter %d is %q, want %q", a.MeterID, meters[a.MeterID], want))
				}
			}
			got := u.Result + " " + u.Opcode + " " + strings.Join(optionsOf(u), " ")
			if u.Port != 0 {
				got += n.logical.Port(m.Datapath.Key, u.Port).Name
			}
			if want := wanted(t, m.Flow.Actions); u.Unread || !slices.Contains(want, got) {
				wrong = append(wrong, fmt.Sprintf("%q is none of %q", got, want))
			}
		}
	}
	return seen, wrong
}

// meterOf is the meter that a logical flow names for its packets.
func (n *network) meterOf(t *testing.T, flow ovsdb.UUID) string {
	t.Helper()
	rows, err := ovsdb.Find[sb.LogicalFlow](t.Context(), n.sb, ovsdb.Where("_uuid", "==", flow))
	if err != nil || len(rows) != 1 {
		t.Fatalf("logical flow %s: %d rows, %v", flow, len(rows), err)
	}
	return rows[0].ControllerMeter.Get()
}

// controllers are the controller actions among actions.
func controllers(actions openflow.Actions) (list []openflow.Controller) {
	for _, action := range actions {
		switch a := action.(type) {
		case openflow.Controller:
			list = append(list, a)
		case openflow.Clone:
			list = append(list, controllers(a.Actions)...)
		}
	}
	return list
}

// optionsOf are those of an operation and of the actions in it, sorted.
func optionsOf(u Userdata) []string {
	list := slices.Concat(u.Options, regexp.MustCompile(`frag_mtu=\d+`).FindAllString(u.Then(func(any) string { return "" }), -1))
	if u.Opcode == "LOG" {
		list = append(list, u.ACL, u.Verdict, u.Severity)
	}
	slices.Sort(list)
	return list
}

var (
	operation = regexp.MustCompile(`^(?:(\S+) = )?(\w+)`)
	mtu       = regexp.MustCompile(`frag_mtu = (\d+)`)
	logMeter  = regexp.MustCompile(`log\([^)]*meter="([^"]*)"`)
	opcodeOf  = map[string]string{
		"ICMP4": "ICMP", "ICMP6": "ICMP", "HANDLE_BFD_MSG": "BFD_MSG", "HANDLE_DHCPV6_REPLY": "DHCP6_SERVER", "TRIGGER_EVENT": "EVENT",
	}
)

// wanted are the operations of a logical flow, as userdata writes them.
func wanted(t *testing.T, text string) (list []string) {
	actions, err := ovnexpr.ParseActions(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, action := range actions {
		name := operation.FindStringSubmatch(action.String())
		if name == nil {
			continue
		}
		opcode, words := strings.ToUpper(name[2]), []string(nil)
		if of, ok := opcodeOf[opcode]; ok {
			opcode = of
		}
		switch a := action.(type) {
		case *ovnexpr.PutOptions:
			words = parameters(a.Options)
		case *ovnexpr.TriggerEvent:
			words = append(parameters(a.Options), a.Event)
		case *ovnexpr.DHCPRelay:
			words = []string{"relay=" + a.Relay.String(), "server=" + a.Server.String()}
		case *ovnexpr.BindVirtual:
			words = []string{a.Port}
		case *ovnexpr.Log:
			words = []string{a.Name, a.Verdict, a.Severity}
		case *ovnexpr.Nested:
			if m := mtu.FindStringSubmatch(a.String()); m != nil {
				words = []string{"frag_mtu=" + m[1]}
			}
		}
		slices.Sort(words)
		list = append(list, name[1]+" "+opcode+" "+strings.Join(words, " "))
	}
	return list
}

// parameters are options as userdata writes them.
func parameters(list []ovnexpr.Parameter) []string {
	var texts []string
	for _, p := range list {
		var values []string
		for i, c := range p.Values.Items {
			switch {
			case !strings.HasSuffix(p.Name, "classless_static_route"):
				values = append(values, c.String())
			case i%2 == 0 && !c.Masked:
				values = append(values, c.String()+"/32")
			case i%2 == 0:
				values = append(values, c.String())
			default:
				values = append(values, "via", c.String())
			}
		}
		texts = append(texts, p.Name+"="+strings.Join(values, " "))
	}
	return texts
}
