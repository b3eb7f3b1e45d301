package decode

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// The rows of a later release: columns instead of external_ids for a datapath's
// kind, zones by name, both ends in ovn-chassis-id, several encapsulations.
func laterNames(version string) *Names {
	const (
		dp1, dp2 = ovsdb.UUID("00000000-0000-0000-0000-000000000d01"), ovsdb.UUID("00000000-0000-0000-0000-000000000d02")
		ch1, ch2 = ovsdb.UUID("00000000-0000-0000-0000-000000000c01"), ovsdb.UUID("00000000-0000-0000-0000-000000000c02")
		pb1, pb2 = ovsdb.UUID("00000000-0000-0000-0000-000000000b01"), ovsdb.UUID("00000000-0000-0000-0000-000000000b02")
	)
	l := NewLogical(Southbound{
		Global: []sb.Global{{Options: map[string]string{"northd_internal_version": "25.09.1-21.5.0-80.6"}}},
		Datapaths: []sb.DatapathBinding{
			{UUID: dp1, TunnelKey: 5, Type: ovsdb.Set[string]{"logical-switch"}, NBUUID: ovsdb.Set[ovsdb.UUID]{"00000000-0000-0000-0000-0000000000a1"},
				ExternalIDs: map[string]string{"name": "neutron-1", "name2": "blue"}},
			{UUID: dp2, TunnelKey: 6, ExternalIDs: map[string]string{"logical-router": "00000000-0000-0000-0000-0000000000a2", "name": "r1"}},
		},
		Ports: []sb.PortBindingNames{
			{UUID: pb1, LogicalPort: "vm1", Datapath: dp1, TunnelKey: 1, Chassis: ovsdb.Set[ovsdb.UUID]{ch1}},
			{UUID: pb2, LogicalPort: "vm2", Datapath: dp1, TunnelKey: 2, Chassis: ovsdb.Set[ovsdb.UUID]{ch2}},
			{UUID: "00000000-0000-0000-0000-000000000b03", LogicalPort: "odd_snat", Datapath: dp2, TunnelKey: 1},
			{UUID: "00000000-0000-0000-0000-000000000b04", LogicalPort: "lost", Datapath: "00000000-0000-0000-0000-00000000dead", TunnelKey: 9},
		},
		Groups: []sb.MulticastGroup{{UUID: "00000000-0000-0000-0000-000000000e01", Name: "_MC_flood", Datapath: dp1, TunnelKey: 0x8000, Ports: ovsdb.Set[ovsdb.UUID]{pb1, pb2}}},
		Chassis: []sb.Chassis{
			{UUID: ch1, ChassisIdentity: sb.ChassisIdentity{Name: "node-1", Hostname: "node1"}},
			{UUID: ch2, ChassisIdentity: sb.ChassisIdentity{Name: "node-2", Hostname: "node2"}},
		},
	})
	port := func(n string) ovsdb.UUID { return ovsdb.UUID("00000000-0000-0000-0000-0000000000" + n) }
	return NewNames(l, Vswitch{
		OpenvSwitch: []vswitch.OpenvSwitch{{ExternalIDs: map[string]string{
			"system-id": "node-1", "ovn-bridge": "br-wrong", "ovn-bridge-node-1": "br-ovn", "ovn-encap-ip": "172.30.0.21,172.30.0.11",
		}}},
		Bridges: []vswitch.BridgeBrief{
			{Name: "br-ovn", Ports: ovsdb.Set[ovsdb.UUID]{port("01"), port("02"), port("03"), port("05"), port("99")}, ExternalIDs: map[string]string{
				"ct-zone-vm1": "3", "ct-zone-r1_dnat": "4", "ct-zone-00000000-0000-0000-0000-000000000d02_snat": "5",
				"ct-zone-odd_snat": "6", "ct-zone-gone_dnat": "7", "ct-zone-bad": "x", "ct-zone-worse": "99999", "ct-zone-zero": "0",
			}},
			{Name: "br-ex", Ports: ovsdb.Set[ovsdb.UUID]{port("04")}, ExternalIDs: map[string]string{"ct-zone-other": "3"}},
		},
		Ports: []vswitch.PortBrief{
			{UUID: port("01"), Interfaces: ovsdb.Set[ovsdb.UUID]{port("11")}},
			{UUID: port("02"), Interfaces: ovsdb.Set[ovsdb.UUID]{port("12")}, ExternalIDs: map[string]string{"ovn-chassis-id": "node-2@fd00::12%fd00::11"}},
			{UUID: port("03"), Interfaces: ovsdb.Set[ovsdb.UUID]{port("13")}, ExternalIDs: map[string]string{"ovn-localnet-port": "provnet"}},
			{UUID: port("04"), Interfaces: ovsdb.Set[ovsdb.UUID]{port("14")}},
			{UUID: port("05"), Interfaces: ovsdb.Set[ovsdb.UUID]{port("15")}},
		},
		Interfaces: []vswitch.InterfaceBrief{
			{UUID: port("11"), Name: "tap1", OFPort: ovsdb.Set[int]{1}, ExternalIDs: map[string]string{"iface-id": "vm1"}},
			{UUID: port("12"), Name: "ovn0-node-0", Type: "geneve", OFPort: ovsdb.Set[int]{2}},
			{UUID: port("13"), Name: "patch-a", Type: "patch", OFPort: ovsdb.Set[int]{3}, Options: map[string]string{"peer": "patch-b"}},
			{UUID: port("14"), Name: "patch-b", Type: "patch", OFPort: ovsdb.Set[int]{3}, Options: map[string]string{"peer": "patch-a"}},
			{UUID: port("15"), Name: "tap9", OFPort: ovsdb.Set[int]{-1}},
		},
	}, []openflow.TLV{{Class: 0x102, Type: 0x80, Length: 4, Field: packet.TunMetadata(2)}}, release.Parse(version))
}

func TestAnnotate(t *testing.T) {
	names := laterNames("26.03.0")
	for _, test := range []struct {
		field string
		value uint64
		at    Context
		want  string
	}{
		{"metadata", 5, Context{}, "switch blue (neutron-1)"},
		{"metadata", 6, Context{}, "router r1"},
		{"metadata", 7, Context{}, ""},
		{"reg14", 1, Context{Metadata: 5}, "port vm1"},
		{"reg14", 0, Context{Metadata: 5}, ""},
		{"reg15", 0x8000, Context{Metadata: 5}, "multicast group _MC_flood"},
		{"reg15", 1, Context{Metadata: 6}, "port odd_snat"},
		{"reg15", 1, Context{}, ""},
		{"reg15", 9, Context{Metadata: 5}, ""},
		{"reg14", 1<<31 | 7, Context{Metadata: 5}, "EVPN VTEP 7"},
		{"reg10", 1<<18 | 1, Context{}, "loopback,override_local_only"},
		{"reg11", 4, Context{}, "dnat zone of r1"},
		{"reg12", 5, Context{}, "snat zone of r1"},
		{"reg13", 3, Context{}, "zone of vm1"},
		{"reg13", 1<<16 | 3, Context{}, "zone of vm1, encap 172.30.0.21"},
		{"reg13", 2 << 16, Context{}, "encap 2"},
		{"reg12", 0, Context{}, ""},
		{"ct_zone", 0, Context{}, "zone of zero"},
		{"ct_zone", 6, Context{}, "zone of odd_snat"},
		{"ct_zone", 7, Context{}, "dnat zone of gone"},
		{"ct_zone", 8, Context{}, ""},
		{"in_port", 1, Context{}, "port vm1"},
		{"in_port", 2, Context{}, "tunnel to node2 (fd00::12)"},
		{"in_port", 3, Context{}, "port provnet, patch to br-ex"},
		{"in_port", 3, Context{Bridge: "br-ex"}, "patch to br-ovn"},
		{"in_port", 4, Context{}, ""},
		{"tun_id", 5, Context{}, "switch blue (neutron-1)"},
		{"tun_id", 0x002005, Context{VXLAN: true}, "switch blue (neutron-1), to port vm2"},
		{"tun_id", 0x800005, Context{VXLAN: true}, "switch blue (neutron-1), to multicast group _MC_flood"},
		{"tun_metadata2", 0x10002, Context{TunID: 5}, "port vm1 to port vm2"},
		{"tun_metadata2", 0x18000, Context{TunID: 5}, "port vm1 to multicast group _MC_flood"},
		{"tun_metadata2", 0x70002, Context{TunID: 5}, "port 7 to port vm2"},
		{"tun_metadata2", 0x70007, Context{TunID: 5}, ""},
		{"tun_metadata0", 0x10002, Context{TunID: 5}, ""},
		{"ct_mark", 2, Context{}, "natted"},
		{"tcp_dst", 80, Context{}, ""},
	} {
		f, ok := packet.Lookup(test.field)
		if !ok {
			t.Fatalf("no field %s", test.field)
		}
		if got := names.Annotate(f, packet.Uint(test.value), test.at); got != test.want {
			t.Errorf("%s=%#x at %+v: %q, want %q", test.field, test.value, test.at, got, test.want)
		}
	}
}

func TestNamesLater(t *testing.T) {
	names := laterNames("25.09.1")
	if names.Bridge != "br-ovn" || names.Chassis != "node-1" {
		t.Errorf("bridge %s of chassis %s", names.Bridge, names.Chassis)
	}
	if v := names.northd.String(); v != "25.09.1" {
		t.Errorf("northd is %s", v)
	}
	d := names.Datapath(5)
	if d.Kind != Switch || d.NB != "00000000-0000-0000-0000-0000000000a1" {
		t.Errorf("datapath 5 is %+v", d)
	}
	if p := names.byName["vm2"]; p.Chassis != "node-2" || p.Datapath != d {
		t.Errorf("vm2 is %+v", p)
	}
	if p := names.byName["lost"]; p == nil || p.Datapath != nil {
		t.Errorf("a port without its datapath is %+v", p)
	}
	if g := names.Group(5, 0x8000); len(g.Ports) != 2 {
		t.Errorf("_MC_flood has %d ports", len(g.Ports))
	}
	if _, ok := names.interfaceCalled("tap9"); !ok {
		t.Error("the interface without a port number is lost")
	}
	if ports := names.OFPorts(""); len(ports) != 3 || allZones(names)[0].Number != 0 {
		t.Errorf("ports %v, zones %v", ports, allZones(names))
	}
	if rows := names.Rows(0, ""); rows != nil {
		t.Errorf("cookie 0 is %v", rows)
	}
	// All of the rows above share the cookie 0; that of a wide cookie is none.
	if rows := names.Rows(1<<40, ""); rows != nil {
		t.Errorf("cookie 1<<40 is %v", rows)
	}
}

// someFields are those that names may have a word on, and others.
func someFields() []*packet.Field {
	var fields []*packet.Field
	for _, name := range strings.Fields("metadata tun_id in_port ct_zone ct_state ct_mark ct_label conj_id xreg1 xxreg0 tun_metadata0 eth_src ip_dst tcp_dst") {
		fields = append(fields, packet.MustField(name))
	}
	for i := range 32 {
		fields = append(fields, packet.Reg(i))
	}
	return fields
}

// Without any database there are no names, and no panics.
func TestNamesOfNothing(t *testing.T) {
	names := NewNames(nil, Vswitch{}, nil, release.Version{})
	for _, f := range someFields() {
		if got := names.Annotate(f, f.Mask(), Context{}); got != "" && f.Name != "reg10" && f.Name != "ct_mark" && f.Name != "ct_label" && f.Name != "reg13" && f.Name != "reg14" && f.Name != "reg15" {
			t.Errorf("%s means %q", f, got)
		}
	}
	d := &Decoder{Names: names}
	d.Calibrate(t.Context(), []Seen{{Table: 8, Cookie: 7, Metadata: 3}})
	m := d.Decode(t.Context(), Seen{Table: 8, Cookie: 7, Metadata: 3})
	if m.Flow != nil || m.Unknown == "" {
		t.Errorf("decoded %+v", m)
	}
	if got := d.Calibration.Source(); got != "unknown: neither flows nor release" {
		t.Errorf("source %q", got)
	}
}

// allZones returns the zones of a chassis by number and name.
func allZones(n *Names) []Zone {
	var zones []Zone
	for _, number := range slices.Sorted(maps.Keys(n.zones)) {
		zones = append(zones, n.zones[number]...)
	}
	return zones
}
