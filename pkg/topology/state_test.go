//go:build lab

package topology_test

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// TestStates has a port for every reason not to be up.
//
//	sw0: VIFs in all states        sw0 ── lr0 ── public ── localnet
//	nodes n1, n2; chassis n3 was not read
func TestStates(t *testing.T) {
	n := newNetwork(t)
	n.sbctl(`
		chassis-add n1 geneve 10.0.0.1
		chassis-add n2 geneve 10.0.0.2`)
	n.nbctl(`
		ls-add sw0
		lsp-add sw0 up
		lsp-add sw0 disabled
		lsp-set-enabled disabled disabled
		lsp-add sw0 unplugged
		lsp-add sw0 unclaimed
		lsp-add sw0 wrong-node
		lsp-set-options wrong-node requested-chassis=n1
		lsp-add sw0 nowhere
		lsp-set-options nowhere requested-chassis=n9
		lsp-add sw0 broken
		lsp-add sw0 unopened
		lsp-add sw0 link-down
		lsp-add sw0 moved
		lsp-add sw0 gone
		lsp-add sw0 not-installed
		lsp-add sw0 child unplugged 7
		lsp-add sw0 local
		lsp-set-type local localport
		lsp-add sw0 vip
		lsp-set-type vip virtual
		lsp-set-options vip virtual-ip=10.1.0.99 virtual-parents=up,gone
		lsp-add sw0 far
		lsp-set-type far remote
		lsp-add sw0 no-peer
		lsp-set-type no-peer router
		lsp-set-options no-peer router-port=missing
		lsp-add sw0 ext
		lsp-set-type ext external
		lr-add lr0
		lrp-add lr0 lr0-sw0 00:00:00:00:01:01 10.1.0.1/24 fd01::1/64
		lsp-add sw0 sw0-lr0
		lsp-set-type sw0-lr0 router
		lsp-set-addresses sw0-lr0 router
		lsp-set-options sw0-lr0 router-port=lr0-sw0
		lrp-add lr0 lr0-public 00:00:00:00:01:02 172.16.0.1/24
		lrp-set-gateway-chassis lr0-public n1 20
		lrp-set-gateway-chassis lr0-public n2 10
		lrp-set-gateway-chassis lr0-public n8 5
		lrp-add lr0 lr0-lost 00:00:00:00:01:03 172.17.0.1/24
		lrp-set-gateway-chassis lr0-lost n8 5
		ls-add public
		lsp-add public public-lr0
		lsp-set-type public-lr0 router
		lsp-set-addresses public-lr0 router
		lsp-set-options public-lr0 router-port=lr0-public
		lsp-add public ln
		lsp-set-type ln localnet
		lsp-set-addresses ln unknown
		lsp-set-options ln network_name=physnet
		lsp-add public ln-unmapped
		lsp-set-type ln-unmapped localnet
		lsp-set-addresses ln-unmapped unknown
		lsp-set-options ln-unmapped network_name=othernet
		lr-add gr
		set Logical_Router gr options:chassis=n9
		lrp-add gr gr-sw0 00:00:00:00:02:01 10.1.0.2/24
		lsp-add sw0 sw0-gr
		lsp-set-type sw0-gr router
		lsp-set-addresses sw0-gr router
		lsp-set-options sw0-gr router-port=gr-sw0`)
	n.sbctl(`
		set Chassis n1 other_config:ovn-bridge-mappings=physnet:br-ex
		lsp-bind up n1
		lsp-bind broken n1
		lsp-bind unopened n1
		lsp-bind link-down n1
		lsp-bind moved n1
		lsp-bind gone n1
		lsp-bind not-installed n1
		lsp-bind cr-lr0-public n2`)
	n.sbctl("set Port_Binding not-installed up=false")
	n.vsctl("n1", `
		set Open_vSwitch . external_ids:ovn-bridge-mappings=physnet:br-ex external_ids:ovn-remote=tcp:1.2.3.4:6642
		add-br br-ex
		add-port br-ex eth0
		add-port br-int v-up
		set Interface v-up external_ids:iface-id=up ofport=1 link_state=up
		add-port br-int v-unclaimed
		set Interface v-unclaimed external_ids:iface-id=unclaimed ofport=2
		add-port br-int v-broken
		set Interface v-broken external_ids:iface-id=broken ofport=-1 error='"could not open network device"'
		add-port br-int v-unopened
		set Interface v-unopened external_ids:iface-id=unopened ofport=-1
		add-port br-int v-link
		set Interface v-link external_ids:iface-id=link-down ofport=3 link_state=down
		add-port br-int v-not-installed
		set Interface v-not-installed external_ids:iface-id=not-installed ofport=4
		add-port br-int patch-br-int-to-ln
		set Interface patch-br-int-to-ln type=patch options:peer=patch-ln-to-br-int
		set Port patch-br-int-to-ln external_ids:ovn-localnet-port=ln
		add-port br-ex patch-ln-to-br-int
		set Interface patch-ln-to-br-int type=patch options:peer=patch-br-int-to-ln
		set Port patch-ln-to-br-int external_ids:ovn-localnet-port=ln`)
	n.vsctl("n2", `
		add-port br-int v-wrong
		set Interface v-wrong external_ids:iface-id=wrong-node ofport=1
		add-port br-int v-moved
		set Interface v-moved external_ids:iface-id=moved ofport=2`)
	g := load(t, n)

	tests := []struct{ port, state, reason, why string }{
		{"up", "up", "", ""},
		{"disabled", "down", "disabled", "enabled=false"},
		{"unplugged", "down", "no-interface", "iface-id=unplugged"},
		{"unclaimed", "down", "not-claimed", "interface v-unclaimed on n1"},
		{"wrong-node", "down", "elsewhere", "chassis n1 is requested, its interface v-wrong is on n2"},
		{"nowhere", "down", "chassis-gone", "n9 does not exist"},
		{"broken", "down", "interface", "could not open network device"},
		{"unopened", "down", "interface", "ofport -1"},
		{"link-down", "down", "link", "v-link on n1"},
		{"moved", "down", "elsewhere", "bound to chassis n1, its interface is on n2"},
		{"gone", "down", "no-interface", "bound to chassis n1"},
		{"not-installed", "down", "not-installed", "n1"},
		{"child", "down", "parent", "unplugged"},
		{"local", "none", "never-up", ""},
		{"vip", "down", "not-claimed", "up,gone"},
		{"far", "remote", "other-zone", ""},
		{"no-peer", "down", "no-peer", "missing"},
		{"ext", "down", "no-gateway", "HA chassis group"},
		{"sw0-lr0", "up", "", ""},
		{"lr0-sw0", "up", "", ""},
		{"lr0-public", "up", "", ""},
		{"cr-lr0-public", "up", "gateway-failed", "held by n2, while n1"},
		{"cr-lr0-lost", "down", "chassis-gone", "n8"},
		{"gr-sw0", "down", "chassis-gone", "n9"},
		{"ln", "none", "never-up", ""},
		{"ln-unmapped", "down", "no-mapping", "othernet"},
	}
	for _, test := range tests {
		p := port(t, g, test.port)
		if p.State != test.state || p.Reason != test.reason || !strings.Contains(p.Why, test.why) {
			t.Errorf("%s is %s (%s): %q, want %s (%s) with %q", test.port, p.State, p.Reason, p.Why, test.state, test.reason, test.why)
		}
	}

	gw := port(t, g, "lr0-public").Gateway
	if gw == nil || gw.Active != "n2" || gw.Expected != "n1" || len(gw.Chassis) != 3 || gw.Chassis[0].Chassis != "n1" || *gw.Chassis[2].Exists {
		t.Errorf("gateway of lr0-public: %+v", gw)
	}
	if ln := port(t, g, "ln").Interfaces; len(ln) != 1 || ln[0].PeerBridge != "br-ex" {
		t.Errorf("ln leaves by %+v", ln)
	}
	for _, b := range g.Bridges {
		if b.Name == "br-ex" && (len(b.Uplinks) != 1 || b.Uplinks[0] != "eth0" || b.Networks[0] != "physnet") {
			t.Errorf("br-ex: %+v", b)
		}
	}
	if p := port(t, g, "vip"); len(p.Addresses) != 1 || p.Addresses[0] != "10.1.0.99" {
		t.Errorf("vip has %v", p.Addresses)
	}
}

// TestTunnels has one pair of chassis whose tunnel is right, one that goes to the
// wrong place and one where a port is missing.
func TestTunnels(t *testing.T) {
	n := newNetwork(t)
	n.sbctl(`
		chassis-add n1 geneve,vxlan 10.0.0.1
		chassis-add n2 geneve 10.0.0.2
		chassis-add n3 vxlan fd00::3
		chassis-add n4 geneve 10.0.0.4
		set Chassis n4 transport_zones=elsewhere`)
	tunnel := func(node, port, to, kind, ip, more string) {
		n.vsctl(node, "add-port br-int "+port+"\nset Interface "+port+" type="+kind+" options:remote_ip='\""+ip+"\"' options:key=flow ofport=7 "+more+
			"\nset Port "+port+" external_ids:ovn-chassis-id='"+to+"@"+ip+"'")
	}
	tunnel("n1", "ovn-n2-0", "n2", "geneve", "10.0.0.2", "")
	tunnel("n1", "ovn-n3-0", "n3", "vxlan", "fd00::3", "")
	tunnel("n2", "ovn-n1-0", "n1", "geneve", "10.0.0.1%10.0.0.2", "")
	n.vsctl("n2", "set Interface ovn-n1-0 options:remote_ip=10.0.0.66")
	tunnel("n1", "old", "n7", "geneve", "10.0.0.7", "")
	n.vsctl("n3", "show")
	g := load(t, n)
	want := map[string]struct{ state, types, why string }{
		"n1 n2":  {"down", "geneve", "ovn-n1-0 on n2 goes to geneve 10.0.0.66"},
		"n1 n3":  {"down", "vxlan", "n3 has no tunnel port to n1"},
		"n2 n3":  {"down", "geneve vxlan", "n2 does not speak vxlan to n3; n3 does not speak geneve to n2"},
		"n1 old": {"up", "geneve", "no chassis n7"},
	}
	for _, tunnel := range g.Tunnels {
		w, ok := want[tunnel.Name]
		if !ok {
			t.Errorf("unexpected tunnel %s", tunnel.Name)
		}
		delete(want, tunnel.Name)
		if tunnel.State != w.state || strings.Join(tunnel.Types, " ") != w.types || !strings.Contains(tunnel.Why, w.why) {
			t.Errorf("tunnel %s of %v is %s: %q, want %+v", tunnel.Name, tunnel.Types, tunnel.State, tunnel.Why, w)
		}
	}
	for name := range want {
		t.Errorf("no tunnel %s", name)
	}
}

// TestZones joins two zones: a transit switch with a port of each, remote in the
// other.
func TestZones(t *testing.T) {
	east, west := newNetwork(t), newNetwork(t)
	east.zone, west.zone = "east", "west"
	for _, z := range []struct {
		own, other                  *network
		name, chassis, otherChassis string
	}{{east, west, "east", "e1", "w1"}, {west, east, "west", "w1", "e1"}} {
		otherName := map[string]string{"east": "west", "west": "east"}[z.name]
		z.own.sbctl("chassis-add " + z.chassis + " geneve 10.0.0.1\nchassis-add " + z.otherChassis + " geneve 10.0.0.2\nset Chassis " + z.otherChassis + " other_config:is-remote=true")
		z.own.nbctl(`
			ls-add transit
			set Logical_Switch transit other_config:interconn-ts=transit other_config:requested-tnl-key=16711683
			lsp-add transit ` + z.name + `-port
			lsp-set-addresses ` + z.name + `-port '0a:00:00:00:00:01 169.254.0.1'
			lsp-add transit ` + otherName + `-port
			lsp-set-type ` + otherName + `-port remote
			ls-add sw-` + z.name)
		z.own.sbctl("lsp-bind " + z.name + "-port " + z.chassis + "\nset Port_Binding " + z.name + "-port up=true\nlsp-bind " + otherName + "-port " + z.otherChassis)
	}
	g := load(t, west, east)
	if len(g.Zones) != 2 || g.Zones[0] != "east" {
		t.Errorf("zones: %v", g.Zones)
	}
	for name, zone := range map[string]string{"e1": "east", "w1": "west"} {
		if c := g.ChassisByName(name); c == nil || c.Zone != zone || c.Remote {
			t.Errorf("chassis %s: %+v, want it in zone %s", name, c, zone)
		}
	}
	if len(g.Topology.Chassis) != 2 {
		t.Errorf("%d chassis, want 2", len(g.Topology.Chassis))
	}
	for _, zone := range []string{"east", "west"} {
		m, err := g.ResolveOne(zone + "-port")
		if err != nil {
			t.Fatal(err)
		}
		if m.Zone != zone || m.Port.Type == "remote" || m.Chassis == nil {
			t.Errorf("%s-port: found in %s, %+v", zone, m.Zone, m.Port)
		}
	}
	remote := 0
	for _, p := range g.Ports {
		if p.State == topology.StateRemote {
			remote++
			if !strings.Contains(p.Why, "lives in zone ") {
				t.Errorf("%s in %s: %q", p.Name, p.Zone, p.Why)
			}
		}
	}
	if remote != 2 {
		t.Errorf("%d remote ports, want 2", remote)
	}
	if s, _ := g.DatapathByKey("east", 16711683); s == nil || !s.Transit || s.Zone != "east" {
		t.Errorf("transit switch of east: %+v", s)
	}
	if _, err := g.ResolveOne("transit"); err == nil || !strings.Contains(err.Error(), "2 objects match") {
		t.Errorf("transit is in both zones: %v", err)
	}
	if len(g.Tunnels) != 1 {
		t.Errorf("%d tunnels, want the one between e1 and w1", len(g.Tunnels))
	}
}
