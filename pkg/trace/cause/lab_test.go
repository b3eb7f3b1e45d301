//go:build lab

package cause

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// A fault is something that somebody broke, or left out, with what has to be said of it.
type fault struct {
	name     string
	topology lab.Topology
	breaks   []string // ovn-nbctl commands
	from, to string   // in the lab's names
	proto    string   // as of a probe
	port     int
	cause    string // parts of what is said, in this order
	object   string // a part of the object's text; empty if there is none
	near     string // a part of the nearest rule's object and of what it lacks
	remedy   string // a part of the first change's text
	command  string // and of its command
	guess    bool   // it cannot be tried in memory
	grants   string // the ovn-nbctl command that the management system then runs, where apply does not know
}

// TestFaults makes faults in real deployments. For each, the packets must be lost, the cause must name what was broken,
// and the first change that is proposed, made as the management system in question would make it, must let them through.
func TestFaults(t *testing.T) {
	for _, f := range slices.Concat(okFaults(), koFaults(), osFaults()) {
		t.Run(f.topology.Name+" "+f.name, func(t *testing.T) { f.try(t, lab.Options{}) })
	}
}

func okFaults() []fault {
	ok := lab.OVNKubernetes()
	return []fault{
		{name: "policy admits another namespace", topology: ok, from: "ops/toolbox", to: "bank/vault-1", proto: "tcp", port: 8080,
			cause:  `dropped by ACL "NP:bank:Ingress" \(default deny of the NetworkPolicies in namespace bank, .*; no rule allows tcp 8080 from 10.244.2.6 \(ops/toolbox\) to 10.244.1.7 \(bank/vault-1\)`,
			object: "default deny of the NetworkPolicies in namespace bank", near: `NetworkPolicy bank/allow-shop.*ip4.src is 10.244.2.6 \(ops/toolbox\), not in \$a\d+ \(Namespace shop\)`,
			remedy: "NetworkPolicy bank/allow-shop: add ingress from namespace ops, port 8080/tcp", command: "kubectl -n bank patch networkpolicy allow-shop"},
		{name: "policy admits another port", topology: ok, from: "shop/client", to: "bank/vault-2", proto: "tcp6", port: 9090,
			cause: "default deny of the NetworkPolicies in namespace bank", object: "default deny of the NetworkPolicies in namespace bank", near: `NetworkPolicy bank/allow-shop.*tcp.dst is 9090, not 8080`,
			remedy: "NetworkPolicy bank/allow-shop: add ingress from namespace shop, port 9090/tcp", command: `"port":9090`},
		{name: "policy does not select the pod", topology: ok, from: "shop/client", to: "bank/ledger", proto: "tcp", port: 8080,
			cause: "default deny of the NetworkPolicies in namespace bank", object: "default deny of the NetworkPolicies in namespace bank",
			remedy: "NetworkPolicy bank/deny-all: add ingress from namespace shop, port 8080/tcp", command: "kubectl -n bank edit networkpolicy deny-all"},
		{name: "policy denies egress", topology: ok, from: "ops/debug", to: "ops/toolbox", proto: "udp", port: 9090,
			cause: "default deny of the NetworkPolicies in namespace ops", object: "default deny of the NetworkPolicies in namespace ops", near: "NetworkPolicy ops/to-shop",
			remedy: "NetworkPolicy ops/to-shop: add egress to namespace ops, port 9090/udp", command: "kubectl -n ops patch networkpolicy to-shop"},
		{name: "two policies deny", topology: ok, from: "ops/debug", to: "bank/vault-1", proto: "tcp", port: 8080,
			cause: "default deny of the NetworkPolicies in namespace ops", object: "default deny of the NetworkPolicies in namespace ops", near: "NetworkPolicy ops/to-shop",
			remedy: "NetworkPolicy ops/to-shop: add egress to namespace bank, port 8080/tcp; and NetworkPolicy bank/allow-shop: add ingress from namespace ops, port 8080/tcp", command: " && kubectl -n bank"},
		{name: "ACL drops", topology: ok, breaks: []string{`--name=no-web acl-add node2 to-lport 2000 'outport == "shop_web-2" && tcp' drop`},
			from: "shop/client", to: "shop/web-2", proto: "tcp", port: 8080,
			cause: `dropped by ACL "no-web" \(switch node2, to-lport 2000, drop\)`, object: "no-web", remedy: `delete ACL "no-web"`, command: "ovn-nbctl acl-del node2 to-lport 2000"},
		{name: "ACL rejects", topology: ok, breaks: []string{`--name=refuse acl-add node1 from-lport 2000 'inport == "shop_client" && ip4.dst == 10.244.2.5' reject`},
			from: "shop/client", to: "shop/web-2", proto: "tcp", port: 8080,
			cause: `rejected with a TCP reset by ACL "refuse"`, object: "refuse", remedy: `delete ACL "refuse"`, command: "ovn-nbctl acl-del node1 from-lport 2000"},
		{name: "address set lacks the sender", topology: ok, breaks: []string{"create Address_Set name=friends addresses=10.244.3.5",
			`acl-add node2 to-lport 2000 'outport == "shop_web-2" && ip4' drop`, `--name=friends acl-add node2 to-lport 2100 'outport == "shop_web-2" && ip4.src == $friends' allow-related`},
			from: "shop/client", to: "shop/web-2", proto: "tcp", port: 8080,
			cause: "ACL .*to-lport 2000, drop.*no rule allows", object: "to-lport 2000", near: `ACL "friends".*ip4.src is 10.244.1.6 \(shop/client\), not in \$friends`,
			remedy: "address set friends: add 10.244.1.6", command: "ovn-nbctl add Address_Set friends"},
		{name: "routing policy drops", topology: ok, breaks: []string{"lr-policy-add ovn_cluster_router 2000 'ip4.dst == 10.244.2.5' drop"},
			from: "shop/client", to: "shop/web-2", proto: "udp", port: 9090,
			cause: "routing policy 2000: drop", object: "routing policy 2000", remedy: "delete routing policy 2000", command: "ovn-nbctl lr-policy-del ovn_cluster_router 2000"},
		{name: "no default route", topology: ok, breaks: []string{"lr-route-del GR_node1 0.0.0.0/0"}, from: "shop/client", to: "internet", proto: "icmp",
			cause: "the router has no route to 203.0.113.10", remedy: "router GR_node1: add a route to 0.0.0.0/0 via 172.30.0.1", command: "ovn-nbctl lr-route-add GR_node1 0.0.0.0/0 172.30.0.1"},
		{name: "no source route", topology: ok, breaks: []string{"--policy=src-ip lr-route-del ovn_cluster_router 10.244.1.0/24"}, from: "shop/client", to: "internet", proto: "icmp",
			cause: "the router has no route to 203.0.113.10", remedy: "router ovn_cluster_router: add a route for what comes from 10.244.1.0/24 via 100.64.0.2", command: "ovn-nbctl --policy=src-ip lr-route-add"},
		{name: "no SNAT", topology: ok, breaks: []string{"lr-nat-del GR_node1 snat 10.244.0.0/16"}, from: "shop/client", to: "internet", proto: "icmp",
			remedy: "router GR_node1: translate what comes from 10.244.1.0/24 to 172.30.0.111 (snat)", command: "ovn-nbctl lr-nat-add GR_node1 snat 172.30.0.111 10.244.1.0/24", guess: true},
		{name: "service without endpoints", topology: ok, from: "shop/client", to: "shop/empty", proto: "tcp", port: 80,
			cause: `load balancer "Service_shop/empty_TCP_cluster" .* has no endpoints for 10.96.0.12:80`, object: "Service shop/empty",
			remedy: "Service shop/empty: a ready pod that its selector matches", command: "kubectl -n shop describe service empty", guess: true},
		{name: "port security of a port of nobody", topology: ok, breaks: []string{"clear Logical_Switch_Port shop_client external_ids", `lsp-set-port-security shop_client "0a:58:0a:f4:01:06 10.244.1.66"`},
			from: "shop/client", to: "shop/web-2", proto: "tcp", port: 8080,
			cause: "port security does not let port shop_client send from 0a:58:0a:f4:01:06 10.244.1.6; it allows 0a:58:0a:f4:01:06 10.244.1.66", object: "port shop_client",
			remedy: "port shop_client: let port security admit 0a:58:0a:f4:01:06 10.244.1.6", command: "ovn-nbctl lsp-set-port-security shop_client"},
		{name: "port disabled", topology: ok, breaks: []string{"lsp-set-enabled shop_web-1 disabled"}, from: "shop/client", to: "shop/web-1", proto: "tcp", port: 8080,
			cause: "port shop_web-1 is disabled", object: "port shop_web-1", remedy: "enable the port shop_web-1", command: "ovn-nbctl lsp-set-enabled shop_web-1 enabled", guess: true},
		{name: "sender disabled", topology: ok, breaks: []string{"lsp-set-enabled shop_client disabled"}, from: "shop/client", to: "shop/web-1", proto: "tcp", port: 8080,
			cause: "port shop_client is disabled", object: "port shop_client", remedy: "enable the port shop_client", command: "ovn-nbctl lsp-set-enabled shop_client enabled", guess: true},
		{name: "router disabled", topology: ok, breaks: []string{"set Logical_Router GR_node1 enabled=false"}, from: "shop/client", to: "internet", proto: "icmp",
			cause: "the next hop 100.64.0.2 is router GR_node1, which is disabled", remedy: "enable the router GR_node1", command: "ovn-nbctl set Logical_Router GR_node1 enabled=true", guess: true},
		{name: "requested chassis elsewhere", topology: ok, breaks: []string{"set Logical_Switch_Port shop_web-2 options:requested-chassis=node3"},
			from: "shop/client", to: "shop/web-2", proto: "tcp", port: 8080, cause: "port shop_web-2 is not bound to a chassis",
			remedy:  "pod shop/web-2: an interface on br-int of node3, where requested-chassis wants it, with external_ids:iface-id=shop_web-2",
			command: "kubectl -n shop describe pod web-2", guess: true, grants: "set Logical_Switch_Port shop_web-2 options:requested-chassis=node2"},
		{name: "route discards", topology: ok, breaks: []string{"lr-route-add GR_node1 203.0.113.0/24 discard"}, from: "shop/client", to: "internet", proto: "tcp", port: 8080,
			cause: `route 203.0.113.0/24 via discard \(router GR_node1\)`, object: "route 203.0.113.0/24", remedy: "delete route 203.0.113.0/24 via discard", command: "ovn-nbctl lr-route-del GR_node1 203.0.113.0/24"},
		{name: "nobody has the next hop", topology: ok, breaks: []string{"lr-route-add GR_node1 203.0.113.0/24 100.64.0.77"}, from: "shop/client", to: "internet", proto: "tcp", port: 8080,
			cause:  `the MAC address of the next hop 100.64.0.77 is not known`,
			remedy: "the host with the address 100.64.0.77 has to reply on the network behind router port rtoj-GR_node1", guess: true, grants: "lr-route-del GR_node1 203.0.113.0/24"},
		{name: "egress firewall", topology: ok, breaks: []string{aclRow("from-lport", 9000, `"ip4.dst == 203.0.113.0/24 && inport == \"shop_client\""`, "k8s.ovn.org/owner-type=EgressFirewall", "k8s.ovn.org/name=shop", "add Logical_Switch node1 acls @a")},
			from: "shop/client", to: "internet", proto: "tcp", port: 8080, cause: `dropped by ACL \(EgressFirewall shop/default, from-lport 9000, drop\)`, object: "EgressFirewall shop/default",
			remedy: "EgressFirewall shop/default: allow egress to 203.0.113.10/32, port 8080/tcp, before the rule that denies it", command: "kubectl -n shop edit egressfirewall default",
			grants: "acl-add node1 from-lport 9001 'ip4.dst == 203.0.113.10 && tcp.dst == 8080 && ip4.src == 10.244.1.6' allow-related"},
		{name: "admin network policy", topology: ok, breaks: []string{aclRow("to-lport", 30000, `"outport == \"shop_web-1\" && ip4.src == 10.244.1.6"`, "k8s.ovn.org/owner-type=AdminNetworkPolicy", "k8s.ovn.org/name=guard", "add Logical_Switch node1 acls @a")},
			from: "shop/client", to: "shop/web-1", proto: "tcp", port: 8080, cause: `dropped by ACL \(AdminNetworkPolicy guard, to-lport 30000, drop\)`, object: "AdminNetworkPolicy guard",
			remedy: "AdminNetworkPolicy guard: allow ingress from namespace shop, port 8080/tcp, before the rule that denies it", command: "kubectl edit adminnetworkpolicy guard",
			grants: `acl-add node1 to-lport 30001 'outport == "shop_web-1" && ip4.src == 10.244.1.6 && tcp.dst == 8080' allow-related`},
		{name: "gateway router nowhere", topology: ok, breaks: []string{"set Logical_Router GR_node1 options:chassis=nowhere"}, from: "shop/client", to: "internet", proto: "icmp",
			cause: "port .*-GR_node1 is not bound to a chassis: .*nowhere", remedy: "router GR_node1: options:chassis is nowhere, which is no chassis", command: "ovn-nbctl set Logical_Router GR_node1 options:chassis=", guess: true},
	}
}

// aclRow makes an ACL @a with external_ids that drops, and another command that uses it.
func aclRow(direction string, priority int, match, kind, name, use string) string {
	id := func(text string) string {
		key, value, _ := strings.Cut(text, "=")
		return fmt.Sprintf(`'external_ids:"%s"="%s"'`, key, value)
	}
	return fmt.Sprintf(`--id=@a create ACL direction=%s priority=%d action=drop 'match=%s' %s %s -- %s`, direction, priority, match, id(kind), id(name), use)
}

func koFaults() []fault {
	ko := lab.KubeOVN()
	return []fault{
		{name: "policy of kube-ovn", topology: ko, from: "ops/toolbox", to: "bank/vault-1", proto: "tcp", port: 8080,
			cause: `dropped by ACL \(NetworkPolicy bank/`, object: "NetworkPolicy bank/", near: `NetworkPolicy bank/allow-shop.*not in \$allow.shop.bank.ingress.allow.IPv4.0 \(NetworkPolicy bank/allow-shop\)`,
			remedy: "NetworkPolicy bank/allow-shop: add ingress from namespace ops, port 8080/tcp", command: "kubectl -n bank patch networkpolicy allow-shop"},
		{name: "subnet of kube-ovn", topology: ko, breaks: []string{`--id=@a create ACL direction=to-lport priority=3100 action=drop match="\"ip4.src == 10.16.0.11 && ip4.dst == 10.16.0.13\"" external_ids:parent=ovn-default external_ids:vendor=kube-ovn -- add Logical_Switch ovn-default acls @a`},
			from: "shop/client", to: "shop/web-2", proto: "tcp", port: 8080,
			cause: `dropped by ACL \(Subnet ovn-default, to-lport 3100, drop\)`, object: "Subnet ovn-default",
			remedy: "Subnet ovn-default: change spec.acls: ingress from 10.16.0.11, port 8080/tcp", command: "kubectl edit subnet ovn-default"},
		{name: "security group of kube-ovn", topology: ko, breaks: []string{"pg-add ovn.sg.blue web-2.shop -- --type=port-group acl-add ovn.sg.blue to-lport 3003 'outport == @ovn.sg.blue && ip' drop"},
			from: "shop/client", to: "shop/web-2", proto: "tcp", port: 8080,
			cause: `dropped by ACL \(SecurityGroup blue, to-lport 3003, drop\); no rule allows`, object: "SecurityGroup blue",
			remedy: "SecurityGroup blue: add to ingressRules from 10.16.0.11/32, port 8080/tcp, policy allow", command: "kubectl edit security-group blue",
			grants: "--type=port-group acl-add ovn.sg.blue to-lport 3004 'outport == @ovn.sg.blue && ip4.src == 10.16.0.11 && tcp.dst == 8080' allow-related"},
	}
}

func osFaults() []fault {
	os := lab.OpenStack()
	web, _ := os.Pod("private/web")
	return []fault{
		{name: "security group", topology: os, breaks: []string{memberRules(os)}, from: "private/web", to: "backend/store", proto: "tcp", port: 8080,
			cause: `dropped by ACL \(neutron default drop, to-lport 1001, drop\); no rule allows tcp 8080 from 10.1.1.11`, object: "neutron default drop", near: `security group rule .*tcp.dst is 8080, not 22`,
			remedy: "security group ", command: "openstack security group rule create --ingress --ethertype IPv4 --protocol tcp --dst-port 8080 --remote-ip 10.1.1.11/32 "},
		{name: "neutron port switched off", topology: os, breaks: []string{"lsp-set-enabled " + web.Name + " disabled"}, from: "private/web", to: "backend/store", proto: "icmp",
			cause: "port " + web.Name + " is disabled", object: "neutron port web", remedy: "enable the port", command: "openstack port set --enable " + web.Name, guess: true},
		{name: "neutron port security", topology: os, breaks: []string{"lsp-set-port-security " + web.Name + ` "` + web.MAC + ` 10.1.1.99"`}, from: "private/web", to: "backend/store", proto: "icmp",
			cause: "port security does not let port " + web.Name + " send", object: "neutron port web", remedy: "allowed address pairs",
			command: "openstack port set --allowed-address ip-address=10.1.1.11,mac-address=" + web.MAC},
	}
}

// memberRules deletes the rules by which the members of the security group reach each other.
func memberRules(t lab.Topology) string {
	for _, command := range t.Northbound {
		if i := slices.Index(command, "Port_Group"); i > 0 && command[0] != "pg-set-ports" {
			for _, word := range command {
				if name, ok := strings.CutPrefix(word, "name=pg_"); ok {
					return fmt.Sprintf("acl-del pg_%[1]s to-lport 1002 'outport == @pg_%[1]s && ip4 && ip4.src == $pg_%[1]s_ip4'", name)
				}
			}
		}
	}
	return "no security group"
}

func (f fault) try(t *testing.T, o lab.Options) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	l := labtest.Own(t, f.topology, o)
	for _, command := range f.breaks {
		nbctl(ctx, t, l, command)
	}
	settle(ctx, t, l)
	if f.probe(ctx, t, l) {
		t.Fatal("the fault does not stop the packets")
	}
	d := f.look(ctx, t, l)
	outcome, path := d.round(ctx, t, nil)
	if outcome == journey.Delivered {
		t.Fatalf("the walk is delivered:\n%s", describe(path))
	}
	found := d.explainer.Explain(ctx, path)
	cause := Words(found.Cause)
	t.Logf("cause: %s", cause)
	if !regexp.MustCompile(f.cause).MatchString(cause) {
		t.Errorf("the cause is %q, which is not %q\n%s", cause, f.cause, describe(path))
	}
	if o := found.Object; o == nil && f.object != "" || o != nil && !strings.Contains(o.Text, f.object) {
		t.Errorf("the object is %+v, not %q", o, f.object)
	}
	f.checkRules(t, found)
	remedies := d.explainer.WhyNot(ctx, path, func(ctx context.Context, lookup Lookup) (journey.Outcome, *ovn.Path, error) {
		outcome, path := d.round(ctx, t, lookup)
		return outcome, path, nil
	})
	for _, r := range remedies {
		t.Logf("change: %s | %s | verified %v", r.Text, r.Command, r.Verified)
	}
	if len(remedies) == 0 || !strings.Contains(remedies[0].Text, f.remedy) || !strings.Contains(remedies[0].Command, f.command) {
		t.Fatalf("proposed: %+v\nwant first %q, %q", remedies, f.remedy, f.command)
	}
	if remedies[0].Verified == f.guess {
		t.Errorf("verified: %v", remedies[0].Verified)
	}
	if f.grants != "" {
		nbctl(ctx, t, l, f.grants)
	} else {
		apply(ctx, t, l, remedies[0])
	}
	settle(ctx, t, l)
	through := false
	for i := 0; i < 3 && !through; i++ { // on a busy machine the first packet to a new backend may be late
		through = f.probe(ctx, t, l)
	}
	if !through {
		t.Error("the change does not let the packets through")
	}
	after := f.look(ctx, t, l)
	if outcome, path := after.round(ctx, t, nil); outcome != journey.Delivered {
		t.Errorf("after the change: %s\n%s", Words(after.explainer.Explain(ctx, path).Cause), describe(path))
	}
}

// checkRules checks the rule that stopped a packet and those that came near.
func (f fault) checkRules(t *testing.T, found Finding) {
	t.Helper()
	if found.Rule != nil {
		marked(t, *found.Rule)
		t.Logf("rule: %s", ruleText(*found.Rule))
	}
	var near string
	for i, r := range found.Near {
		marked(t, r)
		if i == 0 {
			near = ruleText(r)
		}
		t.Logf("near: %s", ruleText(r))
	}
	if f.near != "" && !regexp.MustCompile(f.near).MatchString(near) {
		t.Errorf("the nearest rule is %q, not %q", near, f.near)
	}
}

// marked checks that the parts of a match that decided stand where it is said, in order.
func marked(t *testing.T, r journey.Rule) {
	t.Helper()
	at := 0
	for _, d := range r.Decided {
		if d.Start < at || d.End <= d.Start || d.End > len(r.Match) || r.Match[d.Start:d.End] != d.Text {
			t.Errorf("%q decided at %d to %d of %q", d.Text, d.Start, d.End, r.Match)
		}
		at = d.End
	}
	if len(r.Decided) == 0 {
		t.Errorf("nothing decided of %q", r.Match)
	}
}

func ruleText(r journey.Rule) string {
	var words []string
	if r.Object != nil {
		words = append(words, r.Object.Text)
	}
	for _, d := range r.Decided {
		if d.Words != "" {
			words = append(words, d.Words)
		}
	}
	return strings.Join(words, "; ")
}

func nbctl(ctx context.Context, t *testing.T, l *lab.Lab, command string) {
	t.Helper()
	if _, err := l.Run(ctx, "central", "sh", "-ec", "ovn-nbctl --timeout=30 "+command); err != nil {
		t.Fatal(err)
	}
}

// settle waits until what was changed is in the flows of every node.
func settle(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	nbctl(ctx, t, l, "--wait=hv sync")
}

// probe says whether real packets get there and back.
func (f fault) probe(ctx context.Context, t *testing.T, l *lab.Lab) bool {
	t.Helper()
	truth, err := l.Probe(ctx, f.from, f.to, f.proto, f.port)
	if err != nil {
		t.Fatal(err)
	}
	return truth.RoundTrip
}

// A look is a deployment as it was read, with the packet that is asked about.
type look struct {
	net       *logicalflow.Network
	explainer *Explainer
	start     ovn.Start
	outside   bool // the packet is for the world outside
}

func (f fault) look(ctx context.Context, t *testing.T, l *lab.Lab) look {
	t.Helper()
	d := f.open(ctx, t, l)
	d.start, d.outside = f.packet(ctx, t, l, d.net)
	return d
}

func (f fault) open(ctx context.Context, t *testing.T, l *lab.Lab) look {
	t.Helper()
	zone := &cluster.Zone{NB: ovsdbtest.Dial(t, "OVN_Northbound", l.NB()), SB: ovsdbtest.Dial(t, "OVN_Southbound", l.SB())}
	graph, err := topology.Load(ctx, &cluster.Cluster{Zones: []*cluster.Zone{zone}})
	if err != nil {
		t.Fatal(err)
	}
	net, err := logicalflow.Open(ctx, zone.SB)
	if err != nil {
		t.Fatal(err)
	}
	return look{net: net, explainer: New(net, decode.NewObjects(zone.NB), graph)}
}

// packet is the first one that the sender sends.
func (f fault) packet(ctx context.Context, t *testing.T, l *lab.Lab, net *logicalflow.Network) (ovn.Start, bool) {
	t.Helper()
	from, _ := l.Topology.Pod(f.from)
	port, err := net.Port(ctx, from.Name)
	if err != nil || port == nil {
		t.Fatalf("port %s: %v", from.Name, err)
	}
	v6 := strings.HasSuffix(f.proto, "6")
	source, network, gateway := from.IPv4.Addr(), from.IPv4, from.Gateway4
	if v6 {
		source, network, gateway = from.IPv6.Addr(), from.IPv6, from.Gateway6
	}
	dst, outside := f.destination(l, v6), f.to == "internet"
	hop := dst
	if !network.Contains(dst) {
		hop = gateway
	}
	p := packet.Flow{}
	set := func(field string, b []byte) {
		fd, ok := packet.Lookup(field)
		if !ok {
			t.Fatalf("no field %s", field)
		}
		p.Set(fd, packet.FromBytes(b))
	}
	number := func(field string, n int) { set(field, []byte{byte(n >> 8), byte(n)}) }
	set("eth_src", mac(t, from.MAC))
	set("eth_dst", mac(t, macAt(ctx, t, net, port.Datapath, hop)))
	number("nw_ttl", 64)
	proto := strings.TrimSuffix(f.proto, "6")
	if v6 {
		number("eth_type", packet.EthIPv6)
		set("ipv6_src", source.AsSlice())
		set("ipv6_dst", dst.AsSlice())
	} else {
		number("eth_type", packet.EthIPv4)
		set("ip_src", source.AsSlice())
		set("ip_dst", dst.AsSlice())
	}
	switch proto {
	case "icmp":
		number("nw_proto", packet.ProtoICMP)
		number("icmp_type", 8)
	default:
		number("nw_proto", map[string]int{"tcp": packet.ProtoTCP, "udp": packet.ProtoUDP}[proto])
		number("tp_src", 40000)
		number("tp_dst", f.port)
		if proto == "tcp" {
			number("tcp_flags", 2)
		}
	}
	return ovn.Start{Port: port, Packet: p}, outside
}

func (f fault) destination(l *lab.Lab, v6 bool) netip.Addr {
	if p, ok := l.Topology.Pod(f.to); ok {
		return map[bool]netip.Addr{false: p.IPv4.Addr(), true: p.IPv6.Addr()}[v6]
	}
	if s, ok := l.Topology.Service(f.to, "tcp"); ok {
		return map[bool]netip.Addr{false: s.VIP4, true: s.VIP6}[v6]
	}
	return map[bool]netip.Addr{false: lab.Internet4, true: lab.Internet6}[v6]
}

func mac(t *testing.T, text string) []byte {
	t.Helper()
	b, err := net.ParseMAC(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// macAt is the MAC address that answers for an address on a switch.
func macAt(ctx context.Context, t *testing.T, n *logicalflow.Network, d *logicalflow.Datapath, a netip.Addr) string {
	t.Helper()
	ports, err := d.Ports(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ports {
		words := strings.Fields(strings.Join(p.Row.MAC, " "))
		if slices.Contains(words, a.String()) {
			return words[0]
		}
		peer, err := p.Peer(ctx)
		if err != nil || peer == nil {
			continue
		}
		for _, network := range networksOf(peer) {
			if network.Addr() == a {
				return strings.Fields(peer.Row.MAC[0])[0]
			}
		}
	}
	t.Fatalf("nobody on %s has %s", d, a)
	return ""
}

// round follows the packet and its answer, and returns the path that decided. What leaves for the world outside is answered
// if it left with an address of the world outside.
func (d look) round(ctx context.Context, t *testing.T, lookup Lookup) (journey.Outcome, *ovn.Path) {
	t.Helper()
	engine := ovn.New(d.net, ovn.Options{Assume: true, Lookup: lookup})
	connections := &ovn.Connections{}
	path, err := engine.Follow(ctx, d.start, connections, nil)
	if err != nil {
		t.Fatal(err)
	}
	end := path.End().End
	if end.Outcome != journey.Delivered {
		return end.Outcome, path
	}
	left := path.End().Before(len(path.End().Steps))
	if d.outside && !lab.UnderlayGateway4.Is6() && !netip.MustParsePrefix("172.30.0.0/24").Contains(trafficOf(&left).src) {
		return journey.Dropped, path
	}
	reply, ok := engine.Reply(path.End())
	if !ok {
		return journey.Unknown, path
	}
	back, err := engine.Follow(ctx, reply, connections, nil)
	if err != nil {
		t.Fatal(err)
	}
	if back.End().End.Outcome != journey.Delivered {
		return back.End().End.Outcome, back
	}
	return journey.Delivered, path
}

func portName(p *logicalflow.Port) string {
	if p == nil {
		return "none"
	}
	return p.Name()
}

// describe writes a path for a failed test.
func describe(w *ovn.Path) string {
	var b strings.Builder
	for _, v := range w.End().Visits() {
		fmt.Fprintf(&b, "%s %s in %v out %v\n", v.Datapath, v.Pipeline, portName(v.Inport), portName(v.Outport))
		for _, s := range v.Steps {
			if s.Flow != nil {
				fmt.Fprintf(&b, "  %d %s %d %s → %s\n", s.Table, s.Flow.Stage(), s.Flow.Row.Priority, s.Flow.Row.Match, s.Flow.Row.Actions)
			} else {
				fmt.Fprintf(&b, "  %d no flow\n", s.Table)
			}
		}
		if v.End != nil {
			fmt.Fprintf(&b, "  end %+v\n", *v.End)
		}
	}
	return b.String()
}

// apply makes a change as whoever manages the object would: it runs ovn-nbctl, and writes the rows that Kubernetes'
// network plugins and neutron write for what kubectl and openstack are told.
func apply(ctx context.Context, t *testing.T, l *lab.Lab, r journey.Remedy) {
	t.Helper()
	texts := strings.Split(r.Text, "; and ")
	for i, command := range strings.Split(r.Command, " && kubectl") {
		if i > 0 {
			command = "kubectl" + command
		}
		words := strings.Fields(command)
		switch {
		case words[0] == "ovn-nbctl":
			if _, err := l.Run(ctx, "central", "sh", "-ec", command); err != nil {
				t.Fatal(err)
			}
		case strings.HasPrefix(command, "openstack security group rule create "):
			securityGroupRule(ctx, t, l, words[5:])
		case strings.HasPrefix(command, "openstack port set --enable "):
			nbctl(ctx, t, l, "lsp-set-enabled "+words[4]+" enabled")
		case strings.HasPrefix(command, "openstack port set --allowed-address "):
			ip, m, _ := strings.Cut(strings.TrimPrefix(words[4], "ip-address="), ",mac-address=")
			nbctl(ctx, t, l, fmt.Sprintf(`add Logical_Switch_Port %s port_security '"%s %s"'`, words[5], m, ip))
		case strings.HasPrefix(command, "kubectl -n shop describe service empty"):
			web, _ := l.Topology.Pod("shop/web-1")
			nbctl(ctx, t, l, fmt.Sprintf(`set Load_Balancer Service_shop/empty_TCP_cluster 'vips:"10.96.0.12:80"="%s:8080"'`, web.IPv4.Addr()))
		case strings.HasPrefix(command, "kubectl edit subnet "):
			nbctl(ctx, t, l, "acl-del "+words[3]+" to-lport 3100 'ip4.src == 10.16.0.11 && ip4.dst == 10.16.0.13'")
		default:
			policyRule(ctx, t, l, texts[i], command)
		}
	}
}

// ruleWords is how a rule of a NetworkPolicy is proposed.
var ruleWords = regexp.MustCompile(`^NetworkPolicy (\S+)/(\S+): add (ingress|egress) (?:from|to) namespace (\S+), port (\d+)/(tcp|udp)$`)

// policyRule adds a rule to a NetworkPolicy. A patch has to say the same as the words.
func policyRule(ctx context.Context, t *testing.T, l *lab.Lab, text, command string) {
	t.Helper()
	m := ruleWords.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no rule of a NetworkPolicy: %q", text)
	}
	namespace, policy, direction, peer, port, proto := m[1], m[2], m[3], m[4], m[5], m[6]
	if _, patch, ok := strings.Cut(command, " --type=json -p "); ok {
		checkPatch(t, strings.Trim(patch, "'"), direction, peer, port, proto)
	} else if command != fmt.Sprintf("kubectl -n %s edit networkpolicy %s", namespace, policy) {
		t.Errorf("the command is %q", command)
	}
	group, err := l.Run(ctx, "central", "sh", "-ec", fmt.Sprintf(
		`ovn-nbctl --bare --columns=name find Port_Group 'external_ids:"k8s.ovn.org/name"="%[1]s:%[2]s"'; ovn-nbctl --bare --columns=name find Port_Group 'external_ids:np="%[1]s/%[2]s"'`, namespace, policy))
	if err != nil {
		t.Fatal(err)
	}
	group = strings.TrimSpace(group)
	side, far, lport, flags := "outport", "src", "to-lport", ""
	if direction == "egress" {
		side, far, lport, flags = "inport", "dst", "from-lport", "--apply-after-lb "
	}
	for _, p := range l.Topology.Pods {
		if p.Namespace != peer {
			continue
		}
		for field, a := range map[string]netip.Addr{"ip4": p.IPv4.Addr(), "ip6": p.IPv6.Addr()} {
			nbctl(ctx, t, l, fmt.Sprintf("--type=port-group %sacl-add %s %s 2001 '%s == @%s && %s.%s == %s && %s.dst == %s' allow-related", flags, group, lport, side, group, field, far, a, proto, port))
		}
	}
}

// checkPatch checks that a patch is one that Kubernetes takes, and adds the rule.
func checkPatch(t *testing.T, text, direction, peer, port, proto string) {
	t.Helper()
	type selector struct {
		NamespaceSelector struct{ MatchLabels map[string]string }
	}
	var patch []struct {
		Op, Path string
		Value    struct {
			From, To []selector
			Ports    []struct {
				Protocol string
				Port     int
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &patch); err != nil || len(patch) != 1 {
		t.Fatalf("the patch %q: %v", text, err)
	}
	rule := patch[0].Value
	peers := slices.Concat(rule.From, rule.To)
	if patch[0].Op != "add" || patch[0].Path != "/spec/"+direction+"/-" || len(peers) != 1 || len(rule.Ports) != 1 ||
		peers[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] != peer ||
		rule.Ports[0].Protocol != strings.ToUpper(proto) || fmt.Sprint(rule.Ports[0].Port) != port {
		t.Errorf("the patch %q adds another rule", text)
	}
}

// securityGroupRule writes the ACL of a rule as neutron does.
func securityGroupRule(ctx context.Context, t *testing.T, l *lab.Lab, words []string) {
	t.Helper()
	options := map[string]string{}
	for i := 1; i+1 < len(words)-1; i += 2 {
		options[words[i]] = words[i+1]
	}
	group := "pg_" + strings.ReplaceAll(words[len(words)-1], "-", "_")
	if words[0] != "--ingress" || options["--ethertype"] != "IPv4" {
		t.Fatalf("the rule %q", words)
	}
	proto := options["--protocol"]
	nbctl(ctx, t, l, fmt.Sprintf("--type=port-group acl-add %[1]s to-lport 1002 'outport == @%[1]s && ip4 && ip4.src == %[2]s && %[3]s && %[3]s.dst == %[4]s' allow-related",
		group, options["--remote-ip"], proto, options["--dst-port"]))
}
