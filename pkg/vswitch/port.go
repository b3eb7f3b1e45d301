package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Port is a row of Port, ovs-vswitchd.conf.db(5): a port of a bridge, with one interface or a bond.
type Port struct {
	PortBrief
	BondActiveSlave ovsdb.Set[string]     `ovsdb:"bond_active_slave"`
	BondDowndelay   int                   `ovsdb:"bond_downdelay"`
	BondFakeIface   bool                  `ovsdb:"bond_fake_iface"`
	BondMode        ovsdb.Set[string]     `ovsdb:"bond_mode"`
	BondUpdelay     int                   `ovsdb:"bond_updelay"`
	CVLANs          ovsdb.Set[int]        `ovsdb:"cvlans"`
	FakeBridge      bool                  `ovsdb:"fake_bridge"`
	LACP            ovsdb.Set[string]     `ovsdb:"lacp"`
	MAC             ovsdb.Set[string]     `ovsdb:"mac"`
	Protected       bool                  `ovsdb:"protected"`
	QoS             ovsdb.Set[ovsdb.UUID] `ovsdb:"qos"` // QoS
	RSTPStatistics  map[string]int        `ovsdb:"rstp_statistics"`
	RSTPStatus      map[string]string     `ovsdb:"rstp_status"`
	Statistics      map[string]int        `ovsdb:"statistics"`
	Status          map[string]string     `ovsdb:"status"`
	Trunks          ovsdb.Set[int]        `ovsdb:"trunks"` // VLANs; empty means all
	VLANMode        ovsdb.Set[string]     `ovsdb:"vlan_mode"`
}

// PortBrief is a row of Port with the columns that checks and repairs use.
type PortBrief struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Interfaces  ovsdb.Set[ovsdb.UUID] `ovsdb:"interfaces"` // Interface
	Tag         ovsdb.Set[int]        `ovsdb:"tag"`        // VLAN
	OtherConfig map[string]string     `ovsdb:"other_config"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}
