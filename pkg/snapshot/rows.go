package snapshot

import (
	"reflect"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// Northbound is what the cluster's management system asked for, but for
// balancers and policies: one moment of OVN_Northbound.
type Northbound struct {
	Globals        []nb.Global
	Connections    []nb.Connection
	SSL            []nb.SSL
	Switches       []nb.LogicalSwitch
	SwitchPorts    []LogicalSwitchPort
	Routers        []nb.LogicalRouter
	RouterPorts    []nb.LogicalRouterPort
	GatewayChassis []nb.GatewayChassis
	HAGroups       []nb.HAChassisGroup
	HAChassis      []nb.HAChassis
	StaticRoutes   []nb.StaticRoute
	Policies       []nb.Policy
	NAT            []nb.NAT
	DHCPOptions    []nb.DHCPOptions
	BFD            []nb.BFD
}

// Balancers is all about load balancing in OVN_Northbound.
type Balancers struct {
	LoadBalancers []nb.LoadBalancer
	Groups        []nb.LoadBalancerGroup
	HealthChecks  []nb.LoadBalancerHealthCheck
}

// AccessLists is all about network policy in OVN_Northbound.
type AccessLists struct {
	ACLs        []ACL
	PortGroups  []nb.PortGroup
	AddressSets []nb.AddressSet
}

// Southbound is the physical network and what is bound where: one moment of
// OVN_Southbound, without logical flows and what was learned.
type Southbound struct {
	Globals        []sb.Global
	Connections    []sb.Connection
	SSL            []sb.SSL
	Chassis        []sb.Chassis
	ChassisPrivate []sb.ChassisPrivate
	Encaps         []sb.Encap
	Datapaths      []sb.DatapathBinding
	PortBindings   []PortBinding
	GatewayChassis []sb.GatewayChassis
	HAGroups       []sb.HAChassisGroup
	HAChassis      []sb.HAChassis
}

// Learned is what the nodes have written into OVN_Southbound by themselves.
type Learned struct {
	MACBindings     []sb.MACBinding
	FDB             []sb.FDB
	ServiceMonitors []sb.ServiceMonitor
}

// Switch is the node's Open_vSwitch database: one moment of it.
type Switch struct {
	OpenvSwitch []vswitch.OpenvSwitch
	Bridges     []Bridge
	Ports       []Port
	Interfaces  []Interface
	SSL         []vswitch.SSL
	Datapaths   []vswitch.Datapath
	CTZones     []vswitch.CTZone
}

// Northbound reads the zone's Northbound.
func (z *Zone) Northbound() (*Northbound, error) { return tables[Northbound](z, z.NB) }

// Balancers reads the load balancers of the zone's Northbound.
func (z *Zone) Balancers() (*Balancers, error) { return tables[Balancers](z, z.NB) }

// AccessLists reads the policies of the zone's Northbound.
func (z *Zone) AccessLists() (*AccessLists, error) { return tables[AccessLists](z, z.NB) }

// Southbound reads the zone's Southbound.
func (z *Zone) Southbound() (*Southbound, error) { return tables[Southbound](z, z.SB) }

// Learned reads what the nodes have learned.
func (z *Zone) Learned() (*Learned, error) { return tables[Learned](z, z.SB) }

// tables reads all tables of a struct from a database of the zone, once.
func tables[T any](z *Zone, open func() (ovsdb.Reader, error)) (*T, error) {
	var t T
	return read(&z.memo, question{"rows of", reflect.TypeFor[T]().Name()}, func() (*T, error) {
		db, err := open()
		if err != nil {
			return nil, err
		}
		if err := ovsdb.Load(z.d.ctx, db, &t); err != nil {
			return nil, err
		}
		return &t, nil
	})
}

// The rows that there are most of, with the columns that a check or a repair looks at: a server is busy with each
// column of each row, and so is who reads them. What a column means is said in [nb], [sb] and [vswitch].

// A LogicalSwitchPort is a row of Logical_Switch_Port, ovn-nb(5).
type LogicalSwitchPort struct {
	UUID             ovsdb.UUID            `ovsdb:"_uuid"`
	Name             string                `ovsdb:"name"`
	Type             string                `ovsdb:"type"`                  // empty for a VM or pod
	Addresses        ovsdb.Set[string]     `ovsdb:"addresses"`             // "MAC IP…", unknown, dynamic or router
	DHCPv4Options    ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv4_options,sparse"` // DHCP_Options
	DHCPv6Options    ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv6_options,sparse"` // DHCP_Options
	DynamicAddresses ovsdb.Set[string]     `ovsdb:"dynamic_addresses,sparse"`
	Enabled          ovsdb.Set[bool]       `ovsdb:"enabled,sparse"`     // absent means enabled
	ParentName       ovsdb.Set[string]     `ovsdb:"parent_name,sparse"` // the port that a nested one is in
	Peer             ovsdb.Set[string]     `ovsdb:"peer,sparse"`        // newer than OVN 23.03
	PortSecurity     ovsdb.Set[string]     `ovsdb:"port_security"`
	Up               ovsdb.Set[bool]       `ovsdb:"up"` // absent until northd has seen the port
	Options          map[string]string     `ovsdb:"options"`
	ExternalIDs      map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Switch_Port.
func (LogicalSwitchPort) Table() string { return "Logical_Switch_Port" }

// An ACL is a row of ACL, ovn-nb(5).
type ACL struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        ovsdb.Set[string] `ovsdb:"name"`
	Action      string            `ovsdb:"action"`
	Direction   string            `ovsdb:"direction"` // from-lport or to-lport
	Match       string            `ovsdb:"match"`
	Priority    int               `ovsdb:"priority"` // 0 to 32767; northd adds 1000
	Tier        int               `ovsdb:"tier"`     // newer than OVN 23.03
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns ACL.
func (ACL) Table() string { return "ACL" }

// A PortBinding is a row of Port_Binding, ovn-sb(5).
type PortBinding struct {
	UUID                       ovsdb.UUID            `ovsdb:"_uuid"`
	LogicalPort                string                `ovsdb:"logical_port"`
	Type                       string                `ovsdb:"type"`
	Datapath                   ovsdb.UUID            `ovsdb:"datapath"`                     // Datapath_Binding
	TunnelKey                  int                   `ovsdb:"tunnel_key"`                   // 1 to 32767
	AdditionalChassis          ovsdb.Set[ovsdb.UUID] `ovsdb:"additional_chassis"`           // Chassis
	Chassis                    ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`                      // Chassis that holds the port
	GatewayChassis             ovsdb.Set[ovsdb.UUID] `ovsdb:"gateway_chassis"`              // Gateway_Chassis
	HAChassisGroup             ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis_group"`             // HA_Chassis_Group
	MAC                        ovsdb.Set[string]     `ovsdb:"mac"`                          // "MAC IP…"
	RequestedAdditionalChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"requested_additional_chassis"` // Chassis
	RequestedChassis           ovsdb.Set[ovsdb.UUID] `ovsdb:"requested_chassis"`            // Chassis
	Tag                        ovsdb.Set[int]        `ovsdb:"tag"`
	Up                         ovsdb.Set[bool]       `ovsdb:"up"` // absent if the chassis cannot tell
	Options                    map[string]string     `ovsdb:"options"`
}

// Table returns Port_Binding.
func (PortBinding) Table() string { return "Port_Binding" }

// A Bridge is a row of Bridge, ovs-vswitchd.conf.db(5).
type Bridge struct {
	UUID         ovsdb.UUID            `ovsdb:"_uuid"`
	Name         string                `ovsdb:"name"`
	Controller   ovsdb.Set[ovsdb.UUID] `ovsdb:"controller"`    // Controller
	DatapathType string                `ovsdb:"datapath_type"` // empty or system is the kernel, netdev is userspace
	FailMode     ovsdb.Set[string]     `ovsdb:"fail_mode"`     // standalone if absent, or secure
	Ports        ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`         // Port
	OtherConfig  map[string]string     `ovsdb:"other_config"`
	ExternalIDs  map[string]string     `ovsdb:"external_ids"`
}

// Table returns Bridge.
func (Bridge) Table() string { return "Bridge" }

// A Port is a row of Port, ovs-vswitchd.conf.db(5).
type Port struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Interfaces  ovsdb.Set[ovsdb.UUID] `ovsdb:"interfaces"` // Interface
	Tag         ovsdb.Set[int]        `ovsdb:"tag"`        // VLAN
	OtherConfig map[string]string     `ovsdb:"other_config"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Port.
func (Port) Table() string { return "Port" }

// An Interface is a row of Interface, ovs-vswitchd.conf.db(5).
type Interface struct {
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

// Table returns Interface.
func (Interface) Table() string { return "Interface" }
