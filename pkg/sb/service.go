package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LoadBalancer is a row of Load_Balancer, ovn-sb(5): a load balancer as the chassis use
// it; the flows are in Logical_Flow.
type LoadBalancer struct {
	UUID            ovsdb.UUID            `ovsdb:"_uuid"`
	Name            string                `ovsdb:"name"`
	DatapathGroup   ovsdb.Set[ovsdb.UUID] `ovsdb:"datapath_group"`    // Logical_DP_Group; 23.03 to 23.09, then by kind
	Datapaths       ovsdb.Set[ovsdb.UUID] `ovsdb:"datapaths"`         // Datapath_Binding
	LRDatapathGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"lr_datapath_group"` // Logical_DP_Group
	LSDatapathGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"ls_datapath_group"` // Logical_DP_Group
	Protocol        ovsdb.Set[string]     `ovsdb:"protocol"`          // absent means tcp
	VIPs            map[string]string     `ovsdb:"vips"`              // "IP:PORT" to "IP:PORT,…"; no backend is an empty value
	Options         map[string]string     `ovsdb:"options"`
	ExternalIDs     map[string]string     `ovsdb:"external_ids"`
}

// Table returns Load_Balancer.
func (LoadBalancer) Table() string { return "Load_Balancer" }

// ServiceMonitor is a row of Service_Monitor, ovn-sb(5): a backend that a chassis watches.
type ServiceMonitor struct {
	UUID             ovsdb.UUID        `ovsdb:"_uuid"`
	LogicalPort      string            `ovsdb:"logical_port"`
	Type             ovsdb.Set[string] `ovsdb:"type"`
	ChassisName      string            `ovsdb:"chassis_name"`
	ICLearned        bool              `ovsdb:"ic_learned"`
	IP               string            `ovsdb:"ip"`
	LogicalInputPort string            `ovsdb:"logical_input_port"`
	MAC              string            `ovsdb:"mac"`
	Port             int               `ovsdb:"port"`
	Protocol         ovsdb.Set[string] `ovsdb:"protocol"`
	Remote           bool              `ovsdb:"remote"`
	SrcIP            string            `ovsdb:"src_ip"`
	SrcMAC           string            `ovsdb:"src_mac"`
	Status           ovsdb.Set[string] `ovsdb:"status"`
	Options          map[string]string `ovsdb:"options"`
	ExternalIDs      map[string]string `ovsdb:"external_ids"`
}

// Table returns Service_Monitor.
func (ServiceMonitor) Table() string { return "Service_Monitor" }

// DNS is a row of DNS, ovn-sb(5): names that the chassis answer for.
type DNS struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Datapaths   ovsdb.Set[ovsdb.UUID] `ovsdb:"datapaths"` // Datapath_Binding
	Records     map[string]string     `ovsdb:"records"`
	Options     map[string]string     `ovsdb:"options"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns DNS.
func (DNS) Table() string { return "DNS" }

// DHCPOptions is a row of DHCP_Options, ovn-sb(5): a DHCPv4 option that OVN supports.
type DHCPOptions struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
	Type string     `ovsdb:"type"`
	Code int        `ovsdb:"code"`
}

// Table returns DHCP_Options.
func (DHCPOptions) Table() string { return "DHCP_Options" }

// DHCPv6Options is a row of DHCPv6_Options, ovn-sb(5): a DHCPv6 option that OVN supports.
type DHCPv6Options struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
	Type string     `ovsdb:"type"`
	Code int        `ovsdb:"code"`
}

// Table returns DHCPv6_Options.
func (DHCPv6Options) Table() string { return "DHCPv6_Options" }

// Meter is a row of Meter, ovn-sb(5): a limit by name.
type Meter struct {
	UUID  ovsdb.UUID            `ovsdb:"_uuid"`
	Name  string                `ovsdb:"name"`
	Bands ovsdb.Set[ovsdb.UUID] `ovsdb:"bands"` // Meter_Band
	Unit  string                `ovsdb:"unit"`  // kbps or pktps
}

// Table returns Meter.
func (Meter) Table() string { return "Meter" }

// MeterBand is a row of Meter_Band, ovn-sb(5): the rate of a meter.
type MeterBand struct {
	UUID      ovsdb.UUID `ovsdb:"_uuid"`
	Action    string     `ovsdb:"action"`
	BurstSize int        `ovsdb:"burst_size"`
	Rate      int        `ovsdb:"rate"`
}

// Table returns Meter_Band.
func (MeterBand) Table() string { return "Meter_Band" }

// Mirror is a row of Mirror, ovn-sb(5): copies of a port's traffic.
type Mirror struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Type        string            `ovsdb:"type"`
	Filter      string            `ovsdb:"filter"`
	Index       int               `ovsdb:"index"`
	Sink        string            `ovsdb:"sink"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Mirror.
func (Mirror) Table() string { return "Mirror" }

// ControllerEvent is a row of Controller_Event, ovn-sb(5): something that a chassis tells the
// management system.
type ControllerEvent struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Chassis   ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"` // Chassis
	EventInfo map[string]string     `ovsdb:"event_info"`
	EventType string                `ovsdb:"event_type"`
	SeqNum    int                   `ovsdb:"seq_num"`
}

// Table returns Controller_Event.
func (ControllerEvent) Table() string { return "Controller_Event" }
