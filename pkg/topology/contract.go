package topology

import (
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/document"
)

// A Document is what `ovnctl topology show -o json` prints: kind Topology.
type Document struct {
	document.Envelope
	Topology
	// Commands are the classic commands that show the same; only on request.
	Commands []string `json:"commands,omitempty"`
}

// A Topology is what `ovnctl topology show -o json` prints below the envelope. It is a contract: a field keeps its
// name and meaning, later needs get new fields. Every list is sorted and never null; a scalar without a value is
// omitted. Nothing in it counts packets or depends on when it was read.
type Topology struct {
	Switches           []*Switch            `json:"switches"`
	Routers            []*Router            `json:"routers"`
	Ports              []*Port              `json:"ports"`
	Chassis            []*Chassis           `json:"chassis"`
	Nodes              []*Node              `json:"nodes"`
	Bridges            []*Bridge            `json:"bridges"`
	Tunnels            []*Tunnel            `json:"tunnels"`
	LoadBalancers      []*LoadBalancer      `json:"loadBalancers"`
	LoadBalancerGroups []*LoadBalancerGroup `json:"loadBalancerGroups"`
	NAT                []*NAT               `json:"nat"`
	Policies           []*Policy            `json:"policies"`
	PortGroups         []*PortGroup         `json:"portGroups"`
}

// A Ref names another object of the document.
type Ref struct {
	UUID string `json:"uuid,omitempty"`
	Name string `json:"name"`
}

// A Switch is a logical switch. UUID is that of the Northbound row, which the Southbound has too.
type Switch struct {
	UUID        string            `json:"uuid"`
	Name        string            `json:"name"`
	DisplayName string            `json:"displayName,omitempty"` // the CMS's name for it: Neutron's network name, or NAME@NETWORK
	Zone        string            `json:"zone"`
	Datapath    string            `json:"datapath,omitempty"`  // UUID of the Datapath_Binding
	TunnelKey   int               `json:"tunnelKey,omitempty"` // Datapath_Binding.tunnel_key: the VNI
	Subnets     []string          `json:"subnets"`             // from other_config, else the networks of its router ports
	Transit     bool              `json:"transit"`             // connects zones (OVN interconnect)
	Ports       []string          `json:"ports"`               // names
	ACLs        []*ACL            `json:"acls"`
	DNS         int               `json:"dns,omitempty"` // number of DNS record sets it serves
	QoS         int               `json:"qos,omitempty"` // number of QoS rules
	QoSRules    []*QoS            `json:"qosRules,omitempty"`
	OtherConfig map[string]string `json:"otherConfig,omitempty"`
	ExternalIDs map[string]string `json:"externalIds,omitempty"`
}

// A Router is a logical router. UUID is that of the Northbound row, which the Southbound has too.
type Router struct {
	UUID        string            `json:"uuid"`
	Name        string            `json:"name"`
	DisplayName string            `json:"displayName,omitempty"`
	Zone        string            `json:"zone"`
	Datapath    string            `json:"datapath,omitempty"`
	TunnelKey   int               `json:"tunnelKey,omitempty"`
	Enabled     bool              `json:"enabled"`
	Chassis     string            `json:"chassis,omitempty"` // options:chassis: a gateway router, entirely on that chassis
	Ports       []string          `json:"ports"`
	Routes      []*Route          `json:"routes"`
	Options     map[string]string `json:"options,omitempty"`
	ExternalIDs map[string]string `json:"externalIds,omitempty"`
}

// Kinds of Port.
const (
	SwitchPort = "switch" // a logical switch port
	RouterPort = "router" // a logical router port
)

// A Port is a logical switch port, logical router port or chassisredirect port, joined with its Port_Binding and its
// interfaces. UUID is that of the Northbound row, else of the Port_Binding.
type Port struct {
	UUID              string            `json:"uuid"`
	Name              string            `json:"name"`
	DisplayName       string            `json:"displayName,omitempty"`
	Zone              string            `json:"zone"`
	Kind              string            `json:"kind"`             // SwitchPort or RouterPort
	Type              string            `json:"type,omitempty"`   // as in OVN; empty for a VIF
	Switch            *Ref              `json:"switch,omitempty"` // of a switch port
	Router            *Ref              `json:"router,omitempty"` // of a router port
	Peer              *Ref              `json:"peer,omitempty"`   // the port at the other end of a patch between datapaths
	Pod               string            `json:"pod,omitempty"`    // NAMESPACE/NAME
	Device            string            `json:"device,omitempty"` // Neutron's device ID: the VM
	MACs              []string          `json:"macs"`
	Addresses         []string          `json:"addresses"`           // IPv4, then IPv6
	Networks          []string          `json:"networks"`            // of a router port, as ADDRESS/LENGTH
	LinkLocal         string            `json:"linkLocal,omitempty"` // of a router port: the IPv6 address derived from its MAC
	UnknownAddresses  bool              `json:"unknownAddresses,omitempty"`
	PortSecurity      []string          `json:"portSecurity"`
	PortGroups        []string          `json:"portGroups"`
	Parent            string            `json:"parent,omitempty"` // the port that carries this one as a VLAN
	Tag               int               `json:"tag,omitempty"`
	VirtualParent     string            `json:"virtualParent,omitempty"` // of a port of type virtual: the port that announced its address
	DHCPv4            *DHCP             `json:"dhcpv4,omitempty"`
	DHCPv6            *DHCP             `json:"dhcpv6,omitempty"`
	Enabled           bool              `json:"enabled"`
	Binding           string            `json:"binding,omitempty"`   // UUID of the Port_Binding
	TunnelKey         int               `json:"tunnelKey,omitempty"` // Port_Binding.tunnel_key, reg14 and reg15
	Chassis           string            `json:"chassis,omitempty"`   // name of the chassis that claims it
	RequestedChassis  []string          `json:"requestedChassis"`
	AdditionalChassis []string          `json:"additionalChassis"`
	Gateway           *Gateway          `json:"gateway,omitempty"`
	Interfaces        []*Attachment     `json:"interfaces"`       // that carry it, on the nodes read
	State             string            `json:"state"`            // StateUp, StateDown, StateNone, StateRemote or StateUnknown
	Reason            string            `json:"reason,omitempty"` // why it is not up, in one word
	Why               string            `json:"why,omitempty"`    // why it is not up, in a sentence
	Options           map[string]string `json:"options,omitempty"`
	ExternalIDs       map[string]string `json:"externalIds,omitempty"`

	portFacts
}

// States of a Port.
const (
	StateUp      = "up"
	StateDown    = "down"
	StateNone    = "none"    // ports of this type are never up: localnet, localport
	StateRemote  = "remote"  // in another zone
	StateUnknown = "unknown" // its source could not be read
)

// A Gateway is the set of chassis that may host a port, and the active one.
type Gateway struct {
	Group   string           `json:"group,omitempty"` // name of the HA_Chassis_Group
	Chassis []GatewayChassis `json:"configured"`      // highest priority first
	Active  string           `json:"active,omitempty"`
	// Expected is the existing configured chassis with the highest priority. Active differs from it after a failover.
	Expected string `json:"expected,omitempty"`
}

// A GatewayChassis is one member of a Gateway.
type GatewayChassis struct {
	Chassis  string `json:"chassis"`
	Priority int    `json:"priority"`
	Exists   *bool  `json:"exists,omitempty"` // whether its Chassis row exists; absent if the Southbound was not read
}

// An Attachment is the OVS interface that carries a logical port on a node.
type Attachment struct {
	Node       string `json:"node"`
	Bridge     string `json:"bridge"`
	Interface  string `json:"interface"`
	OFPort     int    `json:"ofport,omitempty"`
	Installed  bool   `json:"installed"` // ovn-controller set ovn-installed
	LinkState  string `json:"linkState,omitempty"`
	Error      string `json:"error,omitempty"`
	Peer       string `json:"peer,omitempty"`       // the interface at the other end of a patch port
	PeerBridge string `json:"peerBridge,omitempty"` // and its bridge
}

// DHCP is what OVN's DHCP server replies to a port.
type DHCP struct {
	UUID    string            `json:"uuid"`
	CIDR    string            `json:"cidr"`
	Options map[string]string `json:"options,omitempty"`
}

// A Chassis is a Southbound Chassis row. One that several zones know is listed once, in its own zone.
type Chassis struct {
	UUID           string            `json:"uuid"`
	Name           string            `json:"name"` // system-id
	Hostname       string            `json:"hostname,omitempty"`
	Zone           string            `json:"zone"`
	Remote         bool              `json:"remote"`         // known only from another zone
	Node           string            `json:"node,omitempty"` // its node, if that was read
	Encaps         []Encap           `json:"encaps"`
	BridgeMappings []BridgeMapping   `json:"bridgeMappings"`
	TransportZones []string          `json:"transportZones"`
	Ports          []string          `json:"ports"` // names of the ports bound to it
	OtherConfig    map[string]string `json:"otherConfig,omitempty"`
	ExternalIDs    map[string]string `json:"externalIds,omitempty"`
}

// An Encap is one tunnel endpoint of a chassis.
type Encap struct {
	UUID    string            `json:"uuid"`
	Type    string            `json:"type"`
	IP      string            `json:"ip"`
	Options map[string]string `json:"options,omitempty"`
}

// A BridgeMapping maps a physical network to a bridge.
type BridgeMapping struct {
	Network string `json:"network"`
	Bridge  string `json:"bridge"`
}

// A Node is a host whose Open_vSwitch database was read.
type Node struct {
	UUID              string            `json:"uuid"` // of the Open_vSwitch row
	Name              string            `json:"name"`
	Zone              string            `json:"zone,omitempty"`
	SystemID          string            `json:"systemId,omitempty"`
	Chassis           string            `json:"chassis,omitempty"` // the Chassis row with that name, if any
	OVSVersion        string            `json:"ovsVersion,omitempty"`
	System            string            `json:"system,omitempty"` // system_type and system_version
	IntegrationBridge string            `json:"integrationBridge,omitempty"`
	Encaps            []Encap           `json:"encaps"` // as configured in external_ids
	BridgeMappings    []BridgeMapping   `json:"bridgeMappings"`
	Managers          []Connection      `json:"managers"`
	Bridges           []string          `json:"bridges"`
	ExternalIDs       map[string]string `json:"externalIds,omitempty"`
}

// A Connection is a manager of a node or a controller of a bridge.
type Connection struct {
	Target    string `json:"target"`
	Connected bool   `json:"connected"`
	Role      string `json:"role,omitempty"`
}

// A Bridge is an OVS bridge of a node.
type Bridge struct {
	UUID         string            `json:"uuid"`
	Name         string            `json:"name"`
	Node         string            `json:"node"`
	DatapathType string            `json:"datapathType,omitempty"`
	FailMode     string            `json:"failMode,omitempty"`
	Protocols    []string          `json:"protocols"`
	Controllers  []Connection      `json:"controllers"`
	Uplinks      []string          `json:"uplinks"`  // ports that lead out of the node
	Networks     []string          `json:"networks"` // physical networks mapped to it
	Ports        []*BridgePort     `json:"ports"`
	ExternalIDs  map[string]string `json:"externalIds,omitempty"`

	with *[]*Bridge // those of its node, which stay as long as one does
}

// Roles of a BridgePort.
const (
	RoleLocal    = "local"  // the bridge's own port
	RoleUplink   = "uplink" // a system device not used by a workload
	RolePatch    = "patch"
	RoleTunnel   = "tunnel"
	RoleVIF      = "vif"      // carries a logical port
	RoleDevice   = "device"   // another system device: on a plain bridge, a workload's
	RoleInternal = "internal" // an internal port of the host
)

// A BridgePort is an OVS port with its interface, or those of a bond.
type BridgePort struct {
	UUID       string       `json:"uuid"`
	Name       string       `json:"name"`
	Role       string       `json:"role"`
	Tag        int          `json:"tag,omitempty"`
	Trunks     []int        `json:"trunks"`
	VLANMode   string       `json:"vlanMode,omitempty"`
	BondMode   string       `json:"bondMode,omitempty"`
	BondActive string       `json:"bondActive,omitempty"` // the interface that a bond sends by what it does not balance
	Mirror     string       `json:"mirror,omitempty"`     // of which it is the output: then it passes nothing else
	Interfaces []*Interface `json:"interfaces"`
	// LogicalPort is the port it carries: for a VIF from iface-id, for a patch port from ovn-localnet-port or
	// ovn-l2gateway-port.
	LogicalPort string            `json:"logicalPort,omitempty"`
	ExternalIDs map[string]string `json:"externalIds,omitempty"`
}

// An Interface is an OVS interface.
type Interface struct {
	UUID        string            `json:"uuid"`
	Name        string            `json:"name"`
	Type        string            `json:"type,omitempty"`
	OFPort      int               `json:"ofport,omitempty"` // -1 if it could not be added
	MAC         string            `json:"mac,omitempty"`
	MTU         int               `json:"mtu,omitempty"`
	AdminState  string            `json:"adminState,omitempty"`
	LinkState   string            `json:"linkState,omitempty"`
	Error       string            `json:"error,omitempty"`
	Options     map[string]string `json:"options,omitempty"`
	ExternalIDs map[string]string `json:"externalIds,omitempty"`

	egress             string // the link that a tunnel's packets leave by
	noCarrier, bfdDown bool   // of that link, and of the tunnel
}

// A Tunnel joins two chassis, or connects one node to remotes that its flows set. Name is "A B", the chassis in
// order.
type Tunnel struct {
	UUID    string      `json:"uuid"` // of the first end's Interface, else of its Encap
	Name    string      `json:"name"`
	Chassis []string    `json:"chassis"` // two; none if the tunnel port is not OVN's
	Types   []string    `json:"types"`   // one, or two if the ends send differently
	State   string      `json:"state"`   // StateUp, StateDown or StateUnknown
	Why     string      `json:"why,omitempty"`
	Ends    []TunnelEnd `json:"ends"`
}

// A TunnelEnd is how one node sends into a Tunnel. If the node's Open_vSwitch was not read, it is what the Southbound
// implies, without a port.
type TunnelEnd struct {
	Chassis   string `json:"chassis,omitempty"`
	Node      string `json:"node,omitempty"`
	Bridge    string `json:"bridge,omitempty"`
	Port      string `json:"port,omitempty"`
	OFPort    int    `json:"ofport,omitempty"`
	Type      string `json:"type"`
	LocalIP   string `json:"localIp,omitempty"`
	RemoteIP  string `json:"remoteIp,omitempty"`
	Key       string `json:"key,omitempty"`       // options:key; "flow" if set per packet
	Carries   string `json:"carries,omitempty"`   // what OVN puts in the key and options
	ChassisID string `json:"chassisId,omitempty"` // external_ids:ovn-chassis-id
	Egress    string `json:"egress,omitempty"`    // the device it leaves by, as reported by ovs-vswitchd
	LinkState string `json:"linkState,omitempty"`
	Error     string `json:"error,omitempty"`
}

// A LoadBalancer is a Load_Balancer with what uses it: directly, and through its groups.
type LoadBalancer struct {
	UUID        string            `json:"uuid"`
	Name        string            `json:"name"`
	Zone        string            `json:"zone"`
	Protocol    string            `json:"protocol"`
	Service     string            `json:"service,omitempty"` // NAMESPACE/NAME
	Owner       decode.Owner      `json:"owner,omitzero"`    // the CMS object it was made for: "floating IP 232b7c0a-…"
	VIPs        []*VIP            `json:"vips"`
	Switches    []Ref             `json:"switches"`
	Routers     []Ref             `json:"routers"`
	Groups      []string          `json:"groups"`
	SelectBy    []string          `json:"selectBy"` // selection_fields
	Options     map[string]string `json:"options,omitempty"`
	ExternalIDs map[string]string `json:"externalIds,omitempty"`
}

// A VIP is one virtual address of a load balancer.
type VIP struct {
	Address  string   `json:"address"`        // as in the database if it is a template
	Port     int      `json:"port,omitempty"` // 0: any
	Backends []string `json:"backends"`       // ADDRESS:PORT, in database order
}

// A LoadBalancerGroup applies all of its load balancers to everything that refers to it.
type LoadBalancerGroup struct {
	UUID          string   `json:"uuid"`
	Name          string   `json:"name"`
	Zone          string   `json:"zone"`
	LoadBalancers []string `json:"loadBalancers"`
	Switches      []Ref    `json:"switches"`
	Routers       []Ref    `json:"routers"`
}

// A NAT is an address translation of a router.
type NAT struct {
	UUID              string            `json:"uuid"`
	Name              string            `json:"name"` // "ROUTER TYPE EXTERNAL LOGICAL", since the row has no name
	Zone              string            `json:"zone"`
	Router            Ref               `json:"router"`
	Type              string            `json:"type"` // snat, dnat, dnat_and_snat
	ExternalIP        string            `json:"externalIp"`
	LogicalIP         string            `json:"logicalIp"`
	ExternalMAC       string            `json:"externalMac,omitempty"`
	LogicalPort       string            `json:"logicalPort,omitempty"`
	ExternalPortRange string            `json:"externalPortRange,omitempty"`
	GatewayPort       string            `json:"gatewayPort,omitempty"`
	Match             string            `json:"match,omitempty"`
	Owner             decode.Owner      `json:"owner,omitzero"` // the CMS object it was made for: "EgressIP exit-ip"
	Options           map[string]string `json:"options,omitempty"`
	ExternalIDs       map[string]string `json:"externalIds,omitempty"`
}

// A Policy is a routing policy of a router.
type Policy struct {
	UUID        string            `json:"uuid"`
	Name        string            `json:"name"` // "ROUTER PRIORITY MATCH", since the row has no name
	Zone        string            `json:"zone"`
	Router      Ref               `json:"router"`
	Priority    int               `json:"priority"`
	Match       string            `json:"match"`
	Action      string            `json:"action"` // allow, drop, reroute
	NextHops    []string          `json:"nextHops"`
	Owner       decode.Owner      `json:"owner,omitzero"` // as for a NAT
	Options     map[string]string `json:"options,omitempty"`
	ExternalIDs map[string]string `json:"externalIds,omitempty"`
}

// A Route is a static route of a router.
type Route struct {
	UUID       string `json:"uuid"`
	Prefix     string `json:"prefix"`
	NextHop    string `json:"nextHop"` // an address, or "discard"
	OutputPort string `json:"outputPort,omitempty"`
	Policy     string `json:"policy"` // dst-ip or src-ip
	Table      string `json:"table,omitempty"`
	BFD        bool   `json:"bfd"`
	Learned    bool   `json:"learned,omitempty"` // announced by another zone
}

// A PortGroup is a set of ports with the ACLs that apply to them.
type PortGroup struct {
	UUID        string            `json:"uuid"`
	Name        string            `json:"name"`
	Zone        string            `json:"zone"`
	Owner       decode.Owner      `json:"owner,omitzero"` // the CMS object it was made for: "NetworkPolicy shop/web"
	Ports       []string          `json:"ports"`
	ACLs        []*ACL            `json:"acls"`
	ExternalIDs map[string]string `json:"externalIds,omitempty"`
}

// A QoS rule marks packets of a switch, or limits their rate.
type QoS struct {
	UUID        string            `json:"uuid"`
	Direction   string            `json:"direction"` // from-lport or to-lport
	Priority    int               `json:"priority"`
	Match       string            `json:"match"`
	Action      map[string]int    `json:"action,omitempty"`    // "dscp", "mark"
	Bandwidth   map[string]int    `json:"bandwidth,omitempty"` // "rate" in kbps, "burst" in kilobits
	Owner       decode.Owner      `json:"owner,omitzero"`      // "EgressQoS shop/default"
	ExternalIDs map[string]string `json:"externalIds,omitempty"`
}

// An ACL allows or denies packets of a switch or a port group.
type ACL struct {
	UUID        string            `json:"uuid"`
	Name        string            `json:"name,omitempty"`
	Direction   string            `json:"direction"` // from-lport or to-lport
	Priority    int               `json:"priority"`
	Tier        int               `json:"tier,omitempty"`
	Match       string            `json:"match"`
	Action      string            `json:"action"`
	Log         bool              `json:"log,omitempty"`
	Owner       decode.Owner      `json:"owner,omitzero"` // as for a PortGroup
	Options     map[string]string `json:"options,omitempty"`
	ExternalIDs map[string]string `json:"externalIds,omitempty"`
}
