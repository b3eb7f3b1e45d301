//go:build lab

package decode

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// northbound is a server with objects of several management systems.
func northbound(t *testing.T) *ovsdbtest.Server {
	t.Helper()
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	nbctl := func(args ...string) {
		t.Helper()
		ovsdbtest.Run(t, "ovn-nbctl", append([]string{"--db=" + s.Remote(), "--no-leader-only", "--timeout=10"}, args...)...)
	}
	nbctl("ls-add", "sw", "--", "lr-add", "gw", "--", "lrp-add", "gw", "gw-sw", "0a:00:00:00:00:01", "10.0.0.1/24", "fd00::1/64",
		"--", "lsp-add", "sw", "web.shop", "--", "set", "Logical_Switch_Port", "web.shop", "external_ids:vendor=kube-ovn", "external_ids:pod=shop/web",
		"--", "pg-add", "web.shop.np", "--", "set", "Port_Group", "web.shop.np", "external_ids:np=shop/web",
		"--", "acl-add", "web.shop.np", "to-lport", "2000", "outport == @web.shop.np && ip4", "drop",
		"--", "pg-add", "ovn.sg.blue",
		"--", "acl-add", "ovn.sg.blue", "to-lport", "2300", "outport == @ovn.sg.blue && ip", "drop",
		"--", "pg-add", "pg_655b0d7e_144e_4bd8_9243_10a261b91041",
		"--", "acl-add", "pg_655b0d7e_144e_4bd8_9243_10a261b91041", "to-lport", "1002", "outport == @pg_655b0d7e_144e_4bd8_9243_10a261b91041 && icmp4", "allow-related",
		"--", "pg-add", "neutron_pg_drop", "--", "acl-add", "neutron_pg_drop", "from-lport", "1001", "inport == @neutron_pg_drop && ip", "drop",
		"--", "--name=by hand", "acl-add", "sw", "from-lport", "1", "tcp", "reject",
		"--", "lb-add", "Service_kube-system/dns_UDP_node_router_node1", "10.96.0.10:53", "10.0.0.5:53", "udp",
		"--", "lr-nat-add", "gw", "snat", "192.0.2.1", "10.0.0.0/24",
		"--", "lr-nat-add", "gw", "dnat", "192.0.2.2", "10.0.0.5",
		"--", "lr-policy-add", "gw", "30000", "ip4.dst == 192.0.2.7", "reroute", "10.0.0.9",
		"--", "--policy=src-ip", "lr-route-add", "gw", "10.0.0.0/25", "10.0.0.7",
		"--", "lr-route-add", "gw", "::/0", "fd00::9", "gw-sw",
		"--", "qos-add", "sw", "from-lport", "7", "tcp", "dscp=5",
		"--", "dhcp-options-create", "10.0.0.0/24",
	)
	nbctl("set", "NAT", uuidOf[nb.NAT](t, s, "type", "dnat"), `external_ids:"neutron:fip_id"=fip1`)
	return s
}

// uuidOf finds the one row with that value.
func uuidOf[T ovsdb.Row](t *testing.T, s *ovsdbtest.Server, column string, value any) string {
	t.Helper()
	db := ovsdbtest.Dial(t, "OVN_Northbound", s.Remote())
	rows, err := ovsdb.Find[ovsdb.Key[T]](t.Context(), db, ovsdb.Where(column, "==", value))
	if err != nil || len(rows) != 1 {
		t.Fatalf("%s == %v: %d rows, %v", column, value, len(rows), err)
	}
	return string(rows[0].UUID)
}

func TestObjects(t *testing.T) {
	s := northbound(t)
	acl := func(match string) string { return uuidOf[nb.ACL](t, s, "match", match) }
	tests := []struct{ stage, uuid, kind, owner, text string }{
		{"ls_out_acl", acl("outport == @web.shop.np && ip4"), "ACL", "NetworkPolicy shop/web", `ACL (NetworkPolicy shop/web, to-lport 2000, drop)`},
		{"ls_out_acl_eval", acl("outport == @ovn.sg.blue && ip"), "ACL", "SecurityGroup blue", `ACL (SecurityGroup blue, to-lport 2300, drop)`},
		{"ls_out_acl", acl("outport == @pg_655b0d7e_144e_4bd8_9243_10a261b91041 && icmp4"), "ACL", "security group 655b0d7e-144e-4bd8-9243-10a261b91041",
			`ACL (security group 655b0d7e-144e-4bd8-9243-10a261b91041, to-lport 1002, allow-related)`},
		{"ls_in_acl", acl("inport == @neutron_pg_drop && ip"), "ACL", "neutron default drop", `ACL (neutron default drop, from-lport 1001, drop)`},
		{"ls_in_acl", acl("tcp"), "ACL", "", `ACL "by hand" (switch sw, from-lport 1, reject)`},
		{"ls_in_lb", uuidOf[nb.LoadBalancer](t, s, "protocol", "udp"), "load balancer", "Service kube-system/dns",
			`load balancer "Service_kube-system/dns_UDP_node_router_node1" (Service kube-system/dns, udp)`},
		{"lr_out_snat", uuidOf[nb.NAT](t, s, "type", "snat"), "NAT", "", `NAT snat 10.0.0.0/24 as 192.0.2.1 (router gw)`},
		{"lr_in_dnat", uuidOf[nb.NAT](t, s, "type", "dnat"), "NAT", "floating IP fip1", `NAT dnat 192.0.2.2 to 10.0.0.5 (floating IP fip1, router gw)`},
		{"lr_in_policy", uuidOf[nb.Policy](t, s, "priority", 30000), "policy", "", `routing policy 30000: reroute to 10.0.0.9, if ip4.dst == 192.0.2.7 (router gw)`},
		{"lr_in_ip_routing", uuidOf[nb.StaticRoute](t, s, "ip_prefix", "10.0.0.0/25"), "route", "", `route 10.0.0.0/25 via 10.0.0.7 (by source, router gw)`},
		{"lr_in_ip_routing", uuidOf[nb.StaticRoute](t, s, "ip_prefix", "::/0"), "route", "", `route ::/0 via fd00::9 (out of gw-sw, router gw)`},
		{"lr_in_ip_routing", uuidOf[nb.LogicalRouterPort](t, s, "name", "gw-sw"), "router port", "", `port gw-sw (10.0.0.1/24 fd00::1/64, router gw)`},
		{"ls_in_l2_lkup", uuidOf[nb.LogicalSwitchPort](t, s, "name", "web.shop"), "switch port", "Pod shop/web", `port web.shop (Pod shop/web, switch sw)`},
		{"ls_in_qos_mark", uuidOf[nb.QoS](t, s, "priority", 7), "QoS", "", `QoS rule, if tcp (from-lport 7, switch sw)`},
		{"ls_in_dhcp_options", uuidOf[nb.DHCPOptions](t, s, "cidr", "10.0.0.0/24"), "DHCP options", "", `DHCP options for 10.0.0.0/24`},
		{"ls_in_unheard_of", uuidOf[nb.PortGroup](t, s, "name", "ovn.sg.blue"), "port group", "SecurityGroup blue", `port group ovn.sg.blue (SecurityGroup blue)`},
		{"ls_in_pre_hairpin", uuidOf[nb.LogicalSwitch](t, s, "name", "sw"), "", "", ""},
	}
	file, err := ovsdb.OpenFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []ovsdb.Reader{ovsdbtest.Dial(t, "OVN_Northbound", s.Remote()), file} {
		o := NewObjects(r)
		for _, test := range tests {
			objects, unknown := o.Of(t.Context(), test.stage, test.uuid[:8])
			if test.text == "" {
				if len(objects) != 0 || unknown != "" {
					t.Errorf("%s: %s: %v, %q, want nothing", r.Origin(), test.stage, objects, unknown)
				}
				continue
			}
			if len(objects) != 1 {
				t.Errorf("%s: %s: %d objects, %q, want %s", r.Origin(), test.stage, len(objects), unknown, test.text)
				continue
			}
			if got := objects[0]; got.Kind != test.kind || got.Owner.String() != test.owner || got.Text != test.text || string(got.UUID) != test.uuid || got.Name == "" || got.Row == nil {
				t.Errorf("%s: %s:\n got %+v\nwant %s, %s, %s", r.Origin(), test.stage, got, test.kind, test.owner, test.text)
			}
		}
	}
}

// What many flows hint at, and who holds it, comes in two transactions, three where a stage does not say where to look. No more are
// needed for any of them.
func TestObjectsPrefetch(t *testing.T) {
	s := northbound(t)
	hint := func(stage, uuid string) Evidence {
		return Evidence{Rows: []sb.LogicalFlowNames{{ExternalIDs: map[string]string{"stage-name": stage, "stage-hint": uuid[:8]}}}}
	}
	known := []Evidence{
		{},
		hint("ls_out_acl", uuidOf[nb.ACL](t, s, "match", "outport == @web.shop.np && ip4")),
		hint("lr_in_dnat", uuidOf[nb.NAT](t, s, "type", "dnat")),
		hint("lr_in_arp_resolve", uuidOf[nb.LogicalSwitchPort](t, s, "name", "web.shop")),
		hint("lr_in_arp_request", uuidOf[nb.StaticRoute](t, s, "ip_prefix", "::/0")),
		hint("ls_in_pre_hairpin", uuidOf[nb.LogicalSwitch](t, s, "name", "sw")),
	}
	elsewhere := hint("ls_in_unheard_of", uuidOf[nb.PortGroup](t, s, "name", "ovn.sg.blue"))
	for _, test := range []struct {
		evidence []Evidence
		selects  int
	}{{nil, 0}, {known[:1], 0}, {known, 2}, {append(known, elsewhere), 3}} {
		r := &counting{Reader: ovsdbtest.Dial(t, "OVN_Northbound", s.Remote())}
		o := NewObjects(r)
		o.prefetch(t.Context(), test.evidence)
		if r.selects != test.selects {
			t.Errorf("%d flows: %d transactions, want %d", len(test.evidence), r.selects, test.selects)
		}
		for _, e := range test.evidence {
			for _, row := range e.Rows {
				ids := row.ExternalIDs
				if _, unknown := o.Of(t.Context(), ids["stage-name"], ids["stage-hint"]); unknown != "" {
					t.Errorf("%s: %s", ids["stage-name"], unknown)
				}
			}
		}
		if r.selects != test.selects {
			t.Errorf("%d flows: %d transactions after all was asked for, want %d", len(test.evidence), r.selects, test.selects)
		}
	}
}

func TestObjectsUnknown(t *testing.T) {
	s := northbound(t)
	r := &counting{Reader: ovsdbtest.Dial(t, "OVN_Northbound", s.Remote())}
	o := NewObjects(r)
	for hint, want := range map[string]string{
		"":          "",
		"0123":      "does not begin a UUID",
		"zzzzzzzz":  "does not begin a UUID",
		"+1234567":  "does not begin a UUID",
		"deadbeef":  "no row of OVN_Northbound begins with deadbeef",
		"deadbeef0": "does not begin a UUID",
	} {
		if objects, unknown := o.Of(t.Context(), "ls_in_acl", hint); len(objects) != 0 || !strings.Contains(unknown, want) || (want == "") != (unknown == "") {
			t.Errorf("hint %q: %v, %q, want %q", hint, objects, unknown, want)
		}
	}
	asked := r.selects
	if _, unknown := o.Of(t.Context(), "ls_in_acl", "deadbee0"); unknown == "" || r.selects != asked {
		t.Errorf("a second hint in vain asked %d times more", r.selects-asked)
	}
	s.Kill()
	if _, unknown := NewObjects(r).Of(t.Context(), "ls_in_acl", "deadbeef"); !strings.HasPrefix(unknown, "OVN_Northbound could not be read: ") {
		t.Errorf("without a server: %q", unknown)
	}
	if _, unknown := (*Objects)(nil).Of(context.Background(), "ls_in_acl", "deadbeef"); unknown != "OVN_Northbound was not read" {
		t.Errorf("without a reader: %q", unknown)
	}
}

func TestNamed(t *testing.T) {
	s := northbound(t)
	ovsdbtest.Run(t, "ovn-nbctl", "--db="+s.Remote(), "--no-leader-only", "create", "Address_Set", "name=a1", "addresses=10.0.0.1", `external_ids:"k8s.ovn.org/owner-type"=Namespace`, `external_ids:"k8s.ovn.org/name"=shop`,
		"--", "--id=@acl", "create", "ACL", "direction=to-lport", "priority=1100", "action=drop", "match=ip", "external_ids:parent=sw", "external_ids:vendor=kube-ovn", "--", "add", "Logical_Switch", "sw", "acls", "@acl",
		"--", "lsp-add", "sw", "6f2c", "--", "set", "Logical_Switch_Port", "6f2c", `external_ids:"neutron:device_owner"=compute:nova`)
	o := NewObjects(ovsdbtest.Dial(t, "OVN_Northbound", s.Remote()))
	for _, test := range []struct{ table, name, text string }{
		{"Address_Set", "a1", "address set a1 (Namespace shop, 1 addresses)"},
		{"Port_Group", "web.shop.np", "port group web.shop.np (NetworkPolicy shop/web)"},
		{"Logical_Switch_Port", "web.shop", "port web.shop (Pod shop/web, switch sw)"},
		{"Logical_Switch_Port", "6f2c", "port 6f2c (neutron port 6f2c, switch sw)"},
		{"Logical_Router_Port", "gw-sw", "port gw-sw (10.0.0.1/24 fd00::1/64, router gw)"},
		{"Address_Set", "a2", ""},
		{"ACL", "by hand", ""},
	} {
		for range 2 { // the second answer is remembered
			if object, ok := o.Named(t.Context(), test.table, test.name); object.Text != test.text || ok != (test.text != "") {
				t.Errorf("%s %s: %q, want %q", test.table, test.name, object.Text, test.text)
			}
		}
	}
	if objects, _ := o.Of(t.Context(), "ls_out_acl", uuidOf[nb.ACL](t, s, "priority", 1100)[:8]); len(objects) != 1 || objects[0].Owner.String() != "Subnet sw" {
		t.Errorf("the ACL of a subnet: %+v", objects)
	}
	if _, ok := (*Objects)(nil).Named(t.Context(), "Port_Group", "web.shop.np"); ok {
		t.Error("without a reader: found")
	}
}

// An old server lacks tables and columns that hints may point into.
func TestObjectsOldSchema(t *testing.T) {
	text, err := os.ReadFile(ovsdbtest.Northbound)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Name, Version, Cksum string
		Tables               map[string]map[string]any
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema.Tables, "Static_MAC_Binding")
	delete(schema.Tables["Port_Group"]["columns"].(map[string]any), "external_ids")
	delete(schema.Tables["Logical_Switch"]["columns"].(map[string]any), "qos_rules")
	text, err = json.Marshal(map[string]any{"name": schema.Name, "version": "5.28.0", "tables": schema.Tables})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "old.ovsschema")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := ovsdbtest.Start(t, file)
	s.Transact(
		`{"op":"insert","table":"ACL","uuid":"aaaaaaaa-0000-0000-0000-000000000001","row":{"action":"drop","direction":"to-lport","match":"ip","priority":7}}`,
		`{"op":"insert","table":"Port_Group","row":{"name":"pg","acls":["uuid","aaaaaaaa-0000-0000-0000-000000000001"]}}`,
	)
	o := NewObjects(ovsdbtest.Dial(t, "OVN_Northbound", s.Remote()))
	if objects, unknown := o.Of(t.Context(), "ls_out_acl", "aaaaaaaa"); len(objects) != 1 || objects[0].Text != "ACL (port group pg, to-lport 7, drop)" {
		t.Errorf("%v, %q", objects, unknown)
	}
	if _, unknown := o.Of(t.Context(), "ls_out_acl", "deadbeef"); !strings.HasPrefix(unknown, "no row of OVN_Northbound begins with deadbeef") {
		t.Errorf("a hint in vain: %q", unknown)
	}
}

func TestOwners(t *testing.T) {
	ovnk := func(kind, name string) map[string]string {
		return map[string]string{"k8s.ovn.org/owner-type": kind, "k8s.ovn.org/name": name}
	}
	for _, test := range []struct {
		ids  map[string]string
		want string
	}{
		{nil, ""},
		{ovnk("NetworkPolicy", "shop:web"), "NetworkPolicy shop/web"},
		{ovnk("AdminNetworkPolicy", "guard"), "AdminNetworkPolicy guard"},
		{ovnk("BaselineAdminNetworkPolicy", "default"), "BaselineAdminNetworkPolicy default"},
		{ovnk("EgressFirewall", "shop"), "EgressFirewall shop/default"},
		{ovnk("NetpolNamespace", "shop"), "default deny of the NetworkPolicies in namespace shop"},
		{ovnk("NetpolNode", "node1"), "Node node1"},
		{ovnk("EgressIP", "eip_shop/web"), "EgressIP eip"},
		{ovnk("SomethingNew", "x"), "SomethingNew x"},
		{map[string]string{"policy": "web", "namespace": "shop"}, "NetworkPolicy shop/web"},
		{map[string]string{"egressFirewall": "shop"}, "EgressFirewall shop/default"},
		{map[string]string{"EgressSVC": "shop/web-lb"}, "EgressService shop/web-lb"},
		{map[string]string{"EgressSVC": "shop/web-lb:ic"}, "EgressService shop/web-lb"},
		{map[string]string{"default-deny-policy-type": "Egress"}, "default deny of the NetworkPolicies"},
		{map[string]string{"k8s.ovn.org/kind": "Service", "k8s.ovn.org/owner": "shop/web"}, "Service shop/web"},
		{map[string]string{"type": "security_group", "sg": "blue"}, "SecurityGroup blue"},
		{map[string]string{"subnet": "ovn-default"}, "Subnet ovn-default"},
		{map[string]string{"vendor": "kube-ovn", "subnet": "ovn-default", "node": "node1", "np": "ovn-default/node1"}, "Subnet ovn-default"},
		{map[string]string{"node": "node1", "np": "node/node1"}, "Node node1"},
		{map[string]string{"neutron:security_group_rule_id": "655b"}, "security group rule 655b"},
		{map[string]string{"neutron:port_name": "eth0"}, "neutron port eth0"},
		{map[string]string{"neutron:subnet_id": "6f2c", "neutron:network_name": "private"}, "neutron subnet 6f2c"},
		{map[string]string{"np": "shop/web/ingress"}, "NetworkPolicy shop/web"},
		{map[string]string{"np": "shop/ingress"}, "NetworkPolicy shop/ingress"},
		{map[string]string{"anp": "guard"}, "AdminNetworkPolicy guard"},
		{map[string]string{"banp": "default"}, "BaselineAdminNetworkPolicy default"},
		{map[string]string{"cnp": "guard"}, "ClusterNetworkPolicy guard"},
	} {
		if got := OwnerOf(test.ids).String(); got != test.want {
			t.Errorf("owner of %v: %q, want %q", test.ids, got, test.want)
		}
	}
}
