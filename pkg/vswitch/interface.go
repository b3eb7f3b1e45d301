package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Interface is a row of Interface, ovs-vswitchd.conf.db(5): a network device of a port.
type Interface struct {
	InterfaceBrief
	AdminState                ovsdb.Set[string] `ovsdb:"admin_state"` // up or down; not in files
	CFMFault                  ovsdb.Set[bool]   `ovsdb:"cfm_fault"`
	CFMFaultStatus            ovsdb.Set[string] `ovsdb:"cfm_fault_status"`
	CFMFlapCount              ovsdb.Set[int]    `ovsdb:"cfm_flap_count"`
	CFMHealth                 ovsdb.Set[int]    `ovsdb:"cfm_health"`
	CFMMPID                   ovsdb.Set[int]    `ovsdb:"cfm_mpid"`
	CFMRemoteMpids            ovsdb.Set[int]    `ovsdb:"cfm_remote_mpids"`
	CFMRemoteOpstate          ovsdb.Set[string] `ovsdb:"cfm_remote_opstate"`
	Duplex                    ovsdb.Set[string] `ovsdb:"duplex"`
	IfIndex                   ovsdb.Set[int]    `ovsdb:"ifindex"`
	IngressPolicingBurst      int               `ovsdb:"ingress_policing_burst"`
	IngressPolicingKpktsBurst int               `ovsdb:"ingress_policing_kpkts_burst"`
	IngressPolicingKpktsRate  int               `ovsdb:"ingress_policing_kpkts_rate"`
	IngressPolicingRate       int               `ovsdb:"ingress_policing_rate"`
	LACPCurrent               ovsdb.Set[bool]   `ovsdb:"lacp_current"`
	LinkResets                ovsdb.Set[int]    `ovsdb:"link_resets"`
	LinkSpeed                 ovsdb.Set[int]    `ovsdb:"link_speed"`
	LLDP                      map[string]string `ovsdb:"lldp"`
	MTU                       ovsdb.Set[int]    `ovsdb:"mtu"`
	MTURequest                ovsdb.Set[int]    `ovsdb:"mtu_request"`
	OFPortRequest             ovsdb.Set[int]    `ovsdb:"ofport_request"`
	Status                    map[string]string `ovsdb:"status"` // not in files
	OtherConfig               map[string]string `ovsdb:"other_config"`
}

// InterfaceBrief is a row of Interface with the columns that checks and repairs use.
type InterfaceBrief struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Type        string            `ovsdb:"type"`
	BFD         map[string]string `ovsdb:"bfd"`
	BFDStatus   map[string]string `ovsdb:"bfd_status"`
	Error       ovsdb.Set[string] `ovsdb:"error"`      // why it could not be opened
	LinkState   ovsdb.Set[string] `ovsdb:"link_state"` // up or down; not in files
	MAC         ovsdb.Set[string] `ovsdb:"mac"`
	MACInUse    ovsdb.Set[string] `ovsdb:"mac_in_use"`
	OFPort      ovsdb.Set[int]    `ovsdb:"ofport"`     // -1 if the interface could not be opened, absent before that
	Statistics  map[string]int    `ovsdb:"statistics"` // not in files
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
