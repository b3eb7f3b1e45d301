package main

import (
	"archive/tar"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decompress"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// Faults that somebody makes behind the back of a CMS, in what the real one wrote: doctor finds each, and what it causes
// below it.
func TestDeploymentFaults(t *testing.T) {
	for _, f := range []struct {
		deployment, name string
		zone             string // whose Northbound is changed, if there are several
		change           string // "TABLE COLUMN=VALUE; …": the rows are deleted, or changed by to
		to               row
		check, title     string
		under            []string // checks whose findings it explains
	}{
		{deployment: "neutron", name: "floating IP without NAT", change: "NAT external_ip=198.51.100.107",
			check: "neutron-rows-missing", title: "floating IP 198.51.100.107 of port 54be6977-33bd-4996-ae26-f24e3aa207ec (web-1) has no NAT"},
		{deployment: "neutron", name: "stale floating IP", change: "NAT external_ip=198.51.100.107", to: row{"logical_ip": "10.1.0.250"},
			check: "static-route-or-nat-unrealised", title: "leads to 10.1.0.250, which its port 54be6977-33bd-4996-ae26-f24e3aa207ec (web-1) does not have"},
		{deployment: "neutron", name: "subnet without DHCP options", change: "DHCP_Options cidr=10.1.0.0/24",
			check: "neutron-rows-missing", title: "subnet 10.1.0.0/24 of switch"},
		{deployment: "neutron", name: "no default deny", change: "Port_Group name=neutron_pg_drop", to: row{"acls": []any{"set", []any{}}},
			check: "neutron-rows-missing", title: "the port group neutron_pg_drop has no rule that drops traffic from and to ports"},
		{deployment: "neutron", name: "no group of the default deny", change: "Port_Group name=neutron_pg_drop; ACL action=drop",
			check: "neutron-rows-missing", title: "21 ports have security groups, and the port group neutron_pg_drop, which drops what they do not allow, does not exist"},
		{deployment: "neutron", name: "no port to the physical network", change: "Logical_Switch_Port options=physnet",
			check: "dangling-router-link", title: "(edge) reaches the outside, has no port to the physical network", under: []string{"lb-on-wrong-switch"}},
		{deployment: "neutron", name: "no interface of a router", change: "Logical_Router_Port networks=10.1.0.1/24",
			check: "dangling-router-link", title: "(web-net) leads to router port", under: []string{"static-route-or-nat-unrealised"}},
		{deployment: "kube-ovn", name: "stale FIP", change: "NAT external_ip=198.51.100.22", to: row{"logical_ip": "10.30.0.77"},
			check: "static-route-or-nat-unrealised", title: "NAT of 198.51.100.22 on router tenant-a leads to 10.30.0.77, which its port app-1.tenant does not have"},
		{deployment: "kube-ovn", name: "no port group of a policy", change: "Port_Group name=allow.shop.bank; ACL external_ids=allow.shop.bank",
			check: "acl-drops", title: "NetworkPolicy bank/allow-shop has no port group, so none of its rules apply"},
		{deployment: "kube-ovn", name: "no rules of a policy", change: "Port_Group name=allow.shop.bank", to: row{"acls": []any{"set", []any{}}},
			check: "acl-drops", title: "the port group of NetworkPolicy bank/allow-shop has no rules"},
		{deployment: "kube-ovn", name: "no port to the physical network", change: "Logical_Switch_Port name=localnet.external",
			check: "dangling-router-link", title: "switch external, through which router tenant-a reaches the outside, has no port to the physical network"},
		{deployment: "ovn-kubernetes", name: "no port group of a policy in a zone", zone: "ovn-worker", change: "Port_Group external_ids=default-network-controller:NetworkPolicy:bank:allow-shop; ACL external_ids=bank:allow-shop",
			check: "ovnk-zones-differ", title: "NetworkPolicy bank/allow-shop lacks port group and rule in zone ovn-worker; the other 2 zones have it"},
		{deployment: "ovn-kubernetes", name: "another rule of an egress firewall in a zone", zone: "ovn-worker", change: "ACL external_ids=EgressFirewall", to: row{"action": "allow"},
			check: "ovnk-zones-differ", title: "EgressFirewall fence/default has another rule in zone ovn-worker than in the other 2 zones"},
		{deployment: "ovn-kubernetes", name: "no service in a zone", zone: "ovn-control-plane", change: "Load_Balancer name=Service_shop/web_TCP_cluster",
			check: "ovnk-zones-differ", title: "Service shop/web lacks load balancer in zone ovn-control-plane"},
		{deployment: "ovn-kubernetes", name: "no port of another zone", zone: "ovn-control-plane", change: "Logical_Switch_Port name=tstor-ovn-worker",
			check: "ic-transit-broken", title: "port tstor-ovn-worker of another zone is missing on transit switch transit_switch in zone ovn-control-plane"},
		{deployment: "ovn-kubernetes", name: "egress IP of another node", zone: "ovn-control-plane", change: "NAT external_ids=exit-ip_exit/walker",
			check: "ovnk-egressip-stale", title: "EgressIP exit-ip leads exit/walker to 100.88.0"},
	} {
		t.Run(f.deployment+" "+f.name, func(t *testing.T) {
			dir := unpackedDir(t, deployments[f.deployment].file)
			for change := range strings.SplitSeq(f.change, "; ") {
				amend(t, filepath.Join(dir, f.zone, "nb.db"), change, f.to)
			}
			var found []doctor.Finding
			for _, x := range examined(t, dir).Findings {
				if x.Result.Fault() {
					found = append(found, x)
				}
			}
			if len(found) != 1 || found[0].Check != f.check || !strings.Contains(found[0].Title, f.title) {
				t.Fatalf("found %s, want %s: %s", titles(found), f.check, f.title)
			}
			under := map[string]bool{}
			for _, x := range found[0].Consequences {
				under[x.Check] = true
			}
			for _, check := range f.under {
				if !under[check] {
					t.Errorf("explains %s, not %s", titles(found[0].Consequences), check)
				}
			}
		})
	}
}

// Who asks about objects gets the faults of these and of what lies between them, whatever else has the same name.
func TestDeploymentScope(t *testing.T) {
	dir := unpackedDir(t, deployments["neutron"].file)
	for _, network := range []string{"web-net", "db-net"} {
		amend(t, filepath.Join(dir, "nb.db"), "Logical_Switch external_ids="+network, row{"name": "same"})
	}
	amend(t, filepath.Join(dir, "nb.db"), "DHCP_Options cidr=10.1.0.0/24", nil)
	amend(t, filepath.Join(dir, "nb.db"), "Logical_Switch_Port options=physnet", nil)
	const ofWeb, ofRouter = "neutron-rows-missing", "dangling-router-link"
	for _, test := range []struct {
		about []string
		want  []string
	}{
		{[]string{"vm:web-1"}, []string{ofRouter, ofWeb}},
		{[]string{"vm:web-1", "external:203.0.113.10"}, []string{ofRouter, ofWeb}},
		{[]string{"vm:db-1"}, []string{ofRouter}},
		{[]string{"vm:db-1", "vm:db-2"}, []string{ofRouter}},
		{[]string{"vm:db-1", "vm:web-2"}, []string{ofRouter, ofWeb}},
		{[]string{"vm:lab-1"}, nil},
	} {
		var found []string
		for _, f := range examined(t, dir, test.about...).Findings {
			if f.Result.Fault() {
				found = append(found, f.Check)
			}
		}
		if slices.Sort(found); !slices.Equal(found, test.want) {
			t.Errorf("about %v: %q, want %q", test.about, found, test.want)
		}
	}
}

// Of the faults of the demo each is on the way of some.
func TestDemoScope(t *testing.T) {
	const ofGateway, ofNode3 = "mac-binding-stale", "uplink-not-in-bridge"
	for _, test := range []struct {
		about []string
		want  []string
	}{
		{nil, []string{ofGateway, ofNode3}},
		{[]string{"shop/client", "shop/web-2"}, nil}, // from node1 to node2, past GR_node1
		{[]string{"shop/client", "shop/web-3"}, []string{ofNode3}},
		{[]string{"shop/client", "external:203.0.113.10"}, []string{ofGateway}},
		{[]string{"shop/client"}, []string{ofGateway}}, // and out
		{[]string{"shop/web-2"}, nil},
		{[]string{"GR_node1"}, []string{ofGateway}},
		{[]string{"node1"}, []string{ofGateway}},
		{[]string{"node2"}, nil},
		{[]string{"node3"}, []string{ofNode3}},
	} {
		var found []string
		for _, f := range examined(t, "demo:broken", test.about...).Findings {
			if f.Result.Fault() {
				found = append(found, f.Check)
			}
		}
		if slices.Sort(found); !slices.Equal(found, test.want) {
			t.Errorf("about %v: %q, want %q", test.about, found, test.want)
		}
	}
}

// A port that a user of Neutron disabled is no fault of the deployment, and the answer to who asks about it. No repair
// writes it behind Neutron's back.
func TestDeploymentDisabledPort(t *testing.T) {
	offline := "../../testdata/deployments/" + deployments["neutron"].file + ".tar.zst"
	for _, f := range examined(t, offline, "vm:disabled-1").Findings {
		if f.Check == "port-administratively-disabled" {
			if f.Fix != nil || f.Next != "openstack port set --enable 1bd804a0-6945-458f-94c2-88fc8ebc13b2" {
				t.Errorf("repair %v, next %q", f.Fix, f.Next)
			}
			return
		}
	}
	t.Error("not found for who asks about it")
}

func titles(list []doctor.Finding) string {
	var out []string
	for _, f := range list {
		out = append(out, f.Check+": "+f.Title)
	}
	return fmt.Sprintf("%q", out)
}

// examined returns what doctor finds in saved data.
func examined(t *testing.T, path string, objects ...string) doctor.Document {
	t.Helper()
	var out, errs strings.Builder
	code := run(t.Context(), append([]string{"--offline", path, "doctor", "-o", "json"}, objects...), strings.NewReader(""), &out, &errs)
	var doc doctor.Document
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatalf("exit code %d: %v\n%s", code, err, errs.String())
	}
	return doc
}

// unpackedDir unpacks a deployment into a directory of the test.
func unpackedDir(t *testing.T, file string) string {
	t.Helper()
	f, err := os.Open("../../testdata/deployments/" + file + ".tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	text, err := decompress.NewReader(f, decompress.Limit{Free: 1 << 28})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for archive := tar.NewReader(text); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, file)
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o700)
		} else {
			var b []byte
			if b, err = io.ReadAll(archive); err == nil {
				err = os.WriteFile(path, b, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A row is a row of a database file, in OVSDB's JSON.
type row map[string]any

// amend appends a transaction to a database file: it deletes the rows of "TABLE COLUMN=VALUE", or changes their columns.
// VALUE is a part of the column's JSON.
func amend(t *testing.T, file, what string, to row) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	var tables map[string]json.RawMessage
	if err := json.Unmarshal([]byte(lines[3]), &tables); err != nil { // after the schema, each with its head
		t.Fatal(err)
	}
	table, where, _ := strings.Cut(what, " ")
	column, value, _ := strings.Cut(where, "=")
	var rows map[string]row
	if err := json.Unmarshal(tables[table], &rows); err != nil {
		t.Fatal(err)
	}
	changes := map[string]any{}
	for id, r := range rows {
		if has, _ := json.Marshal(r[column]); !strings.Contains(string(has), `"`+value+`"`) {
			continue
		}
		if changes[id] = nil; to != nil {
			changes[id] = to
		}
	}
	if len(changes) == 0 {
		t.Fatalf("no rows: %s", what)
	}
	record, err := json.Marshal(map[string]any{table: changes})
	if err != nil {
		t.Fatal(err)
	}
	record = append(record, '\n')
	text = fmt.Appendf(text, "OVSDB JSON %d %x\n%s", len(record), sha1.Sum(record), record)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
