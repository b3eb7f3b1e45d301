//go:build lab

package topology_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// named is a network in which every platform's way to name things occurs.
//
//	OVN-Kubernetes  switch node1: shop_web-0, k8s-node1; svc shop/web
//	Kube-OVN        switch ovn-default: web-0.bank, node-node1
//	neutron         switch neutron-…: a port per VM
func named(t *testing.T) *topology.Graph {
	t.Helper()
	n := newNetwork(t)
	n.sbctl(`
		chassis-add c1d2 geneve 172.30.0.11
		set Chassis c1d2 hostname=node1
		chassis-add fd55 geneve fd00:30::12
		set Chassis fd55 hostname=node2`)
	n.nbctl(`
		ls-add node1
		set Logical_Switch node1 other_config:subnet=10.244.1.0/24
		lsp-add node1 shop_web-0
		lsp-set-addresses shop_web-0 '0a:58:0a:f4:01:05 10.244.1.5 fd00:10:244:1::5'
		set Logical_Switch_Port shop_web-0 external_ids:pod=true external_ids:namespace=shop
		lsp-add node1 bank_web-0
		lsp-set-addresses bank_web-0 '0a:58:0a:f4:01:06 10.244.1.6'
		set Logical_Switch_Port bank_web-0 external_ids:pod=true external_ids:namespace=bank
		lsp-add node1 k8s-node1
		lsp-set-addresses k8s-node1 '0a:58:0a:f4:01:02 10.244.1.2'
		lr-add ovn_cluster_router
		lrp-add ovn_cluster_router rtos-node1 0a:58:0a:f4:01:01 10.244.1.1/24 fd00:10:244:1::1/64
		lsp-add node1 stor-node1
		lsp-set-type stor-node1 router
		lsp-set-addresses stor-node1 router
		lsp-set-options stor-node1 router-port=rtos-node1
		lb-add Service_shop/web_TCP_cluster 10.96.0.10:80 10.244.1.5:8080,10.244.1.6:8080 tcp
		set Load_Balancer Service_shop/web_TCP_cluster external_ids:"k8s.ovn.org/owner"=shop/web external_ids:"k8s.ovn.org/kind"=Service
		lb-add Service_shop/web_TCP_cluster [fd00:96::10]:80 [fd00:10:244:1::5]:8080 tcp
		lb-add Service_shop/none_TCP_cluster 10.96.0.11:80 '' tcp
		lb-add cluster-udp 10.96.0.10:53 10.244.1.5:53 udp
		ls-add ovn-default
		lsp-add ovn-default db.bank
		lsp-set-addresses db.bank '0a:00:00:00:02:02 10.16.0.2'
		set Logical_Switch_Port db.bank external_ids:pod=bank/db external_ids:vendor=kube-ovn
		lsp-add ovn-default node-node2
		lsp-set-addresses node-node2 '0a:00:00:00:02:03 10.16.0.3'
		ls-add neutron-1111
		set Logical_Switch neutron-1111 external_ids:'"neutron:network_name"'=private
		lsp-add neutron-1111 7d3c0a54-0000-4000-8000-00000000aaaa
		lsp-set-addresses 7d3c0a54-0000-4000-8000-00000000aaaa 'fa:16:3e:00:00:01 192.168.0.5'
		set Logical_Switch_Port 7d3c0a54-0000-4000-8000-00000000aaaa external_ids:'"neutron:port_name"'=web-vm external_ids:'"neutron:device_id"'=0b5e6a10-1111-4000-8000-00000000bbbb
		lsp-add neutron-1111 dyn
		set Logical_Switch neutron-1111 other_config:subnet=192.168.7.0/24
		lsp-set-addresses dyn dynamic
		create DHCP_Options cidr=10.16.0.0/16 options:router=10.16.0.1`)
	n.sbctl("lsp-bind shop_web-0 c1d2\nlsp-bind k8s-node1 c1d2")
	n.vsctl("c1d2", "add-port br-int veth7\nset Interface veth7 external_ids:iface-id=shop_gone")
	return load(t, n)
}

func TestResolve(t *testing.T) {
	g := named(t)
	tests := []struct {
		text string
		want string // names of the matches, or the beginning of the error
	}{
		{"shop/web-0", "pod:shop/web-0"},
		{"shop/gone", "shop/gone: interface veth7 on c1d2 has iface-id shop_gone, but OVN has no such logical port"},
		{"pod:shop/web-0", "pod:shop/web-0"},
		{"shop_web-0", "pod:shop/web-0"},
		{"lsp:shop_web-0", "pod:shop/web-0"},
		{"port:rtos-node1", "lrp:rtos-node1"},
		{"lsp:rtos-node1", `not found: lsp:rtos-node1`},
		{"rtos-node1", "lrp:rtos-node1"},
		{"web-0", "pod:bank/web-0 pod:shop/web-0"},
		{"bank/db", "pod:bank/db"},
		{"db", "pod:bank/db"},
		{"db.bank", "pod:bank/db"},
		{"node1", "node:node1"},
		{"node:node1", "node:node1"},
		{"node:c1d2", "node:node1"},
		{"chassis:c1d2", "node:node1"},
		{"172.30.0.11", "node:node1"},
		{"fd00:30::12", "node:node2"},
		{"10.244.1.5", "pod:shop/web-0"},
		{"fd00:10:244:1::5", "pod:shop/web-0"},
		{"ip:10.244.1.1", "lrp:rtos-node1"},
		{"10.244.1.2", "lsp:k8s-node1"},
		{"svc:shop/web", "svc:shop/web"},
		{"svc:shop/web:80", "svc:shop/web:80"},
		{"shop/web", "svc:shop/web"},
		{"svc:10.96.0.10:80", "svc:shop/web"},
		{"svc:[fd00:96::10]:80", "svc:shop/web"},
		{"10.96.0.10", "svc:shop/web"},
		{"svc:bank/none", "svc:bank/none: no load balancer belongs"},
		{"vm:web-vm", "vm:7d3c0a54-0000-4000-8000-00000000aaaa"},
		{"vm:0b5e6a10-1111-4000-8000-00000000bbbb", "vm:7d3c0a54-0000-4000-8000-00000000aaaa"},
		{"web-vm", "vm:7d3c0a54-0000-4000-8000-00000000aaaa"},
		{"7d3c0a54-0000-4000-8000-00000000aaaa", "vm:7d3c0a54-0000-4000-8000-00000000aaaa"},
		{"external:203.0.113.9", "external:203.0.113.9"},
		{"203.0.113.9", "external:203.0.113.9"},
		{"2001:db8::9", "external:2001:db8::9"},
		{"external:10.244.1.5", "external:10.244.1.5"},
		{"ip:10.244", "ip:10.244: not an IP address"},
		{"192.168.7.2", "lsp:dyn"},
		{"shop/web-9", "not found: shop/web-9\nhint: nearest: shop/web-0, "},
		{"pod:web-9", "not found: pod:web-9\nhint: nearest: bank/web-0, shop/web-0"},
		{"switch:node1", "switch:node1: a switch cannot be used here"},
		{"", ": the name is empty"},
		{"\x1b[31m", `not found: \x1b[31m`},
	}
	for _, test := range tests {
		matches, err := g.Resolve(test.text, topology.Endpoints...)
		if err != nil {
			var name *topology.NameError
			if !strings.HasPrefix(err.Error(), test.want) || !errors.As(err, &name) {
				t.Errorf("%q: %q, want %q", test.text, err, test.want)
			}
			continue
		}
		var names []string
		for _, m := range matches {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
		for _, m := range matches { // the name that is shown asks for the same
			again, err := g.ResolveOne(m.Name, topology.Endpoints...)
			if err != nil || again.Port != m.Port || again.Chassis != m.Chassis || again.Name != m.Name {
				t.Errorf("%q: its name %q gives %+v, %v", test.text, m.Name, again, err)
			}
		}
	}
	objects := map[string]string{
		"node1": "node:node1 switch:node1", "private": "switch:neutron-1111", "router:ovn_cluster_router": "router:ovn_cluster_router",
		"lb:cluster-udp": "lb:cluster-udp", "ovn_cluster_router": "router:ovn_cluster_router",
	}
	for text, want := range objects {
		matches, err := g.Resolve(text, topology.Objects...)
		var names []string
		for _, m := range matches {
			names = append(names, m.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestResolveUUID(t *testing.T) {
	g := named(t)
	for _, p := range g.Ports {
		for _, text := range []string{p.UUID, strings.ToUpper(p.UUID), "port:" + p.UUID} {
			m, err := g.ResolveOne(text)
			if err != nil || m.Port != p {
				t.Errorf("%s: %+v, %v, want port %s", text, m.Port, err, p.Name)
			}
		}
		matches, err := g.Resolve(p.UUID[:8])
		if err != nil || !slices.ContainsFunc(matches, func(m topology.Match) bool { return m.Port == p }) {
			t.Errorf("%s: %v, want port %s", p.UUID[:8], err, p.Name)
		}
		if matches, err := g.Resolve(p.UUID[:3]); err == nil {
			t.Errorf("%s: three digits find %+v", p.UUID[:3], matches)
		}
	}
}

func TestEndpoint(t *testing.T) {
	g := named(t)
	m, err := g.ResolveOne("node:node1")
	if err != nil {
		t.Fatal(err)
	}
	if m.Port == nil || m.Port.Name != "k8s-node1" || m.Switch.Name != "node1" || m.Addresses[0].String() != "10.244.1.2" || m.Addresses[len(m.Addresses)-1].String() != "172.30.0.11" {
		t.Errorf("node1: %+v", m)
	}
	if m, err = g.ResolveOne("node:node2"); err != nil || m.Port == nil || m.Port.Name != "node-node2" {
		t.Errorf("node2: %+v, %v", m, err)
	}
	m, err = g.ResolveOne("svc:shop/web:80")
	if err != nil || m.L4Port != 80 || len(m.Addresses) != 2 || len(m.Balancers) != 1 {
		t.Errorf("svc:shop/web:80: %+v, %v", m, err)
	}
	dyn := port(t, g, "dyn")
	if len(dyn.MACs) != 1 || !slices.Equal(dyn.Addresses, []string{"192.168.7.2"}) {
		t.Errorf("dynamic addresses: %v %v", dyn.MACs, dyn.Addresses)
	}
}

func TestNextHops(t *testing.T) {
	g := named(t)
	web := port(t, g, "shop_web-0")
	addr := netip.MustParseAddr
	tests := []struct {
		src, dst netip.Addr
		want     string // address and port
	}{
		{addr("10.244.1.5"), addr("10.244.1.6"), "10.244.1.6 bank_web-0"},
		{addr("10.244.1.5"), addr("10.244.1.1"), "10.244.1.1 rtos-node1"},
		{addr("10.244.1.5"), addr("10.96.0.10"), "10.244.1.1 rtos-node1"},
		{addr("10.244.1.5"), addr("10.244.1.77"), "10.244.1.77 "},
		{addr("fd00:10:244:1::5"), addr("fd00:10:244:2::5"), "fd00:10:244:1::1 rtos-node1"},
		{addr("fd00:10:244:1::5"), addr("fd00:10:244:1::1"), "fd00:10:244:1::1 rtos-node1"},
	}
	for _, test := range tests {
		hops := g.NextHops(web, test.src, test.dst)
		if len(hops) != 1 {
			t.Errorf("to %s: %+v", test.dst, hops)
			continue
		}
		got := hops[0].Addr.String() + " "
		if hops[0].Port != nil {
			got += hops[0].Port.Name
			if hops[0].MAC != hops[0].Port.MACs[0] {
				t.Errorf("to %s: MAC %s", test.dst, hops[0].MAC)
			}
		}
		if got != test.want {
			t.Errorf("to %s: %q, want %q", test.dst, got, test.want)
		}
	}
	if hops := g.NextHops(port(t, g, "db.bank"), addr("10.16.0.2"), addr("8.8.8.8")); len(hops) != 0 {
		t.Errorf("without a router: %+v", hops)
	}
	// ovn-default has no router and no subnet: what is on it is on the link, until DHCP tells the network.
	db := port(t, g, "db.bank")
	if hops := g.NextHops(db, addr("10.16.0.2"), addr("10.16.0.3")); len(hops) != 1 || !hops[0].OnLink || hops[0].MAC != "0a:00:00:00:02:03" {
		t.Errorf("on a switch whose network is not told: %+v", hops)
	}
	db.DHCPv4 = &topology.DHCP{CIDR: "10.16.0.0/31"}
	if hops := g.NextHops(db, addr("10.16.0.1"), addr("10.16.0.3")); len(hops) != 0 {
		t.Errorf("outside the network that DHCP tells: %+v", hops)
	}
	db.DHCPv4.CIDR = "10.16.0.0/24"
	if hops := g.NextHops(db, addr("10.16.0.2"), addr("10.16.0.3")); len(hops) != 1 || !hops[0].OnLink {
		t.Errorf("in the network that DHCP tells: %+v", hops)
	}
	if p := g.RouterPortFor(g.SwitchOf(web), addr("10.244.1.5")); p == nil || p.Name != "rtos-node1" {
		t.Errorf("router port for node1: %+v", p)
	}
	if p := g.PeerOf(port(t, g, "rtos-node1")); p == nil || p.Name != "stor-node1" {
		t.Errorf("peer of rtos-node1: %+v", p)
	}
	s := g.SwitchOf(web)
	if p := g.PortByKeys("", s.TunnelKey, web.TunnelKey); p != web {
		t.Errorf("keys %d, %d give %+v", s.TunnelKey, web.TunnelKey, p)
	}
}

func TestBackends(t *testing.T) {
	g := named(t)
	tests := []struct {
		vip   string
		port  int
		proto string
		want  string
		ok    bool
	}{
		{"10.96.0.10", 80, "tcp", "shop_web-0:8080 bank_web-0:8080", true},
		{"10.96.0.10", 53, "udp", "shop_web-0:53", true},
		{"fd00:96::10", 80, "tcp", "shop_web-0:8080", true},
		{"10.96.0.11", 80, "tcp", "", true},
		{"10.96.0.10", 80, "udp", "", false},
		{"10.96.0.10", 81, "tcp", "", false},
		{"10.96.0.99", 80, "tcp", "", false},
	}
	for _, test := range tests {
		backends, ok := g.Backends(netip.MustParseAddr(test.vip), test.port, test.proto)
		var got []string
		for _, b := range backends {
			got = append(got, b.Target.Name+":"+map[int]string{8080: "8080", 53: "53"}[b.Port])
		}
		if ok != test.ok || strings.Join(got, " ") != test.want {
			t.Errorf("%s %d %s: %v %v, want %q %v", test.vip, test.port, test.proto, got, ok, test.want, test.ok)
		}
	}
}
