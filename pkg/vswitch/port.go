package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Port is a row of Port, ovs-vswitchd.conf.db(5): a port of a bridge, of one interface or a bond.
type Port struct {
	UUID            ovsdb.UUID            `ovsdb:"_uuid"`
	Name            string                `ovsdb:"name"`
	BondActiveSlave ovsdb.Set[string]     `ovsdb:"bond_active_slave"`
	BondDowndelay   int                   `ovsdb:"bond_downdelay"`
	BondFakeIface   bool                  `ovsdb:"bond_fake_iface"`
	BondMode        ovsdb.Set[string]     `ovsdb:"bond_mode"`
	BondUpdelay     int                   `ovsdb:"bond_updelay"`
	CVLANs          ovsdb.Set[int]        `ovsdb:"cvlans"`
	FakeBridge      bool                  `ovsdb:"fake_bridge"`
	Interfaces      ovsdb.Set[ovsdb.UUID] `ovsdb:"interfaces"` // Interface
	LACP            ovsdb.Set[string]     `ovsdb:"lacp"`
	MAC             ovsdb.Set[string]     `ovsdb:"mac"`
	Protected       bool                  `ovsdb:"protected"`
	QoS             ovsdb.Set[ovsdb.UUID] `ovsdb:"qos"` // QoS
	RSTPStatistics  map[string]int        `ovsdb:"rstp_statistics"`
	RSTPStatus      map[string]string     `ovsdb:"rstp_status"`
	Statistics      map[string]int        `ovsdb:"statistics"`
	Status          map[string]string     `ovsdb:"status"`
	Tag             ovsdb.Set[int]        `ovsdb:"tag"`    // VLAN
	Trunks          ovsdb.Set[int]        `ovsdb:"trunks"` // VLANs; empty means all
	VLANMode        ovsdb.Set[string]     `ovsdb:"vlan_mode"`
	OtherConfig     map[string]string     `ovsdb:"other_config"`
	ExternalIDs     map[string]string     `ovsdb:"external_ids"`
}

// Table returns Port.
func (Port) Table() string { return "Port" }

// Interface is a row of Interface, ovs-vswitchd.conf.db(5): a network device of a port.
type Interface struct {
	UUID                      ovsdb.UUID        `ovsdb:"_uuid"`
	Name                      string            `ovsdb:"name"`
	Type                      string            `ovsdb:"type"`
	AdminState                ovsdb.Set[string] `ovsdb:"admin_state"` // up or down; not in files
	BFD                       map[string]string `ovsdb:"bfd"`
	BFDStatus                 map[string]string `ovsdb:"bfd_status"`
	CFMFault                  ovsdb.Set[bool]   `ovsdb:"cfm_fault"`
	CFMFaultStatus            ovsdb.Set[string] `ovsdb:"cfm_fault_status"`
	CFMFlapCount              ovsdb.Set[int]    `ovsdb:"cfm_flap_count"`
	CFMHealth                 ovsdb.Set[int]    `ovsdb:"cfm_health"`
	CFMMPID                   ovsdb.Set[int]    `ovsdb:"cfm_mpid"`
	CFMRemoteMpids            ovsdb.Set[int]    `ovsdb:"cfm_remote_mpids"`
	CFMRemoteOpstate          ovsdb.Set[string] `ovsdb:"cfm_remote_opstate"`
	Duplex                    ovsdb.Set[string] `ovsdb:"duplex"`
	Error                     ovsdb.Set[string] `ovsdb:"error"` // why it could not be opened
	IfIndex                   ovsdb.Set[int]    `ovsdb:"ifindex"`
	IngressPolicingBurst      int               `ovsdb:"ingress_policing_burst"`
	IngressPolicingKpktsBurst int               `ovsdb:"ingress_policing_kpkts_burst"`
	IngressPolicingKpktsRate  int               `ovsdb:"ingress_policing_kpkts_rate"`
	IngressPolicingRate       int               `ovsdb:"ingress_policing_rate"`
	LACPCurrent               ovsdb.Set[bool]   `ovsdb:"lacp_current"`
	LinkResets                ovsdb.Set[int]    `ovsdb:"link_resets"`
	LinkSpeed                 ovsdb.Set[int]    `ovsdb:"link_speed"`
	LinkState                 ovsdb.Set[string] `ovsdb:"link_state"` // up or down; not in files
	LLDP                      map[string]string `ovsdb:"lldp"`
	MAC                       ovsdb.Set[string] `ovsdb:"mac"`
	MACInUse                  ovsdb.Set[string] `ovsdb:"mac_in_use"`
	MTU                       ovsdb.Set[int]    `ovsdb:"mtu"`
	MTURequest                ovsdb.Set[int]    `ovsdb:"mtu_request"`
	OFPort                    ovsdb.Set[int]    `ovsdb:"ofport"` // -1 if the interface could not be opened, absent before that
	OFPortRequest             ovsdb.Set[int]    `ovsdb:"ofport_request"`
	Statistics                map[string]int    `ovsdb:"statistics"` // not in files
	Status                    map[string]string `ovsdb:"status"`     // not in files
	Options                   map[string]string `ovsdb:"options"`
	OtherConfig               map[string]string `ovsdb:"other_config"`
	ExternalIDs               map[string]string `ovsdb:"external_ids"`
}

// Table returns Interface.
func (Interface) Table() string { return "Interface" }

// QoS is a row of QoS, ovs-vswitchd.conf.db(5): shaping of what a port sends.
type QoS struct {
	UUID        ovsdb.UUID         `ovsdb:"_uuid"`
	Type        string             `ovsdb:"type"`
	Queues      map[int]ovsdb.UUID `ovsdb:"queues"` // Queue
	OtherConfig map[string]string  `ovsdb:"other_config"`
	ExternalIDs map[string]string  `ovsdb:"external_ids"`
}

// Table returns QoS.
func (QoS) Table() string { return "QoS" }

// Queue is a row of Queue, ovs-vswitchd.conf.db(5): a queue of a QoS.
type Queue struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Dscp        ovsdb.Set[int]    `ovsdb:"dscp"`
	OtherConfig map[string]string `ovsdb:"other_config"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Queue.
func (Queue) Table() string { return "Queue" }
