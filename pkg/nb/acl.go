package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// ACL is a row of ACL, ovn-nb(5): a rule that allows or denies traffic.
type ACL struct {
	UUID                 ovsdb.UUID            `ovsdb:"_uuid"`
	Name                 ovsdb.Set[string]     `ovsdb:"name"`
	Action               string                `ovsdb:"action"`
	Direction            string                `ovsdb:"direction"` // from-lport or to-lport
	Label                int                   `ovsdb:"label"`     // 0 if none
	Log                  bool                  `ovsdb:"log"`
	Match                string                `ovsdb:"match"`
	Meter                ovsdb.Set[string]     `ovsdb:"meter"`
	NetworkFunctionGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"network_function_group"` // Network_Function_Group
	Priority             int                   `ovsdb:"priority"`               // 0 to 32767; northd adds 1000
	SampleEst            ovsdb.Set[ovsdb.UUID] `ovsdb:"sample_est"`             // Sample
	SampleNew            ovsdb.Set[ovsdb.UUID] `ovsdb:"sample_new"`             // Sample
	Severity             ovsdb.Set[string]     `ovsdb:"severity"`
	Tier                 int                   `ovsdb:"tier"` // newer than OVN 23.03
	Options              map[string]string     `ovsdb:"options"`
	ExternalIDs          map[string]string     `ovsdb:"external_ids"`
}

// Table returns ACL.
func (ACL) Table() string { return "ACL" }

// PortGroup is a row of Port_Group, ovn-nb(5): ports that share ACLs.
type PortGroup struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	ACLs        ovsdb.Set[ovsdb.UUID] `ovsdb:"acls"`  // ACL
	Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"` // Logical_Switch_Port
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Port_Group.
func (PortGroup) Table() string { return "Port_Group" }

// AddressSet is a row of Address_Set, ovn-nb(5): addresses that matches name by $NAME.
type AddressSet struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Addresses   ovsdb.Set[string] `ovsdb:"addresses"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Address_Set.
func (AddressSet) Table() string { return "Address_Set" }

// Meter is a row of Meter, ovn-nb(5): a limit by name.
type Meter struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Bands       ovsdb.Set[ovsdb.UUID] `ovsdb:"bands"` // Meter_Band
	Fair        ovsdb.Set[bool]       `ovsdb:"fair"`
	Unit        string                `ovsdb:"unit"` // kbps or pktps
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Meter.
func (Meter) Table() string { return "Meter" }

// MeterBand is a row of Meter_Band, ovn-nb(5): the rate of a meter.
type MeterBand struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Action      string            `ovsdb:"action"`
	BurstSize   int               `ovsdb:"burst_size"`
	Rate        int               `ovsdb:"rate"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Meter_Band.
func (MeterBand) Table() string { return "Meter_Band" }

// Sample is a row of Sample, ovn-nb(5): what of an ACL's traffic is sampled. Newer than OVN 23.03.
type Sample struct {
	UUID       ovsdb.UUID            `ovsdb:"_uuid"`
	Collectors ovsdb.Set[ovsdb.UUID] `ovsdb:"collectors"` // Sample_Collector
	Metadata   int                   `ovsdb:"metadata"`
}

// Table returns Sample.
func (Sample) Table() string { return "Sample" }

// SampleCollector is a row of Sample_Collector, ovn-nb(5): where samples go. Newer than OVN 23.03.
type SampleCollector struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ID          int               `ovsdb:"id"`
	Probability int               `ovsdb:"probability"`
	SetID       int               `ovsdb:"set_id"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Sample_Collector.
func (SampleCollector) Table() string { return "Sample_Collector" }

// NetworkFunctionGroup is a row of Network_Function_Group, ovn-nb(5): functions that
// an ACL sends traffic through. Newer than OVN 25.03.
type NetworkFunctionGroup struct {
	UUID                  ovsdb.UUID            `ovsdb:"_uuid"`
	Name                  string                `ovsdb:"name"`
	Fallback              ovsdb.Set[string]     `ovsdb:"fallback"`
	ID                    int                   `ovsdb:"id"`
	Mode                  string                `ovsdb:"mode"`
	NetworkFunction       ovsdb.Set[ovsdb.UUID] `ovsdb:"network_function"`        // Network_Function
	NetworkFunctionActive ovsdb.Set[ovsdb.UUID] `ovsdb:"network_function_active"` // Network_Function
	ExternalIDs           map[string]string     `ovsdb:"external_ids"`
}

// Table returns Network_Function_Group.
func (NetworkFunctionGroup) Table() string { return "Network_Function_Group" }

// NetworkFunction is a row of Network_Function, ovn-nb(5): a function with its two ports. Newer than OVN 25.03.
type NetworkFunction struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	HealthCheck ovsdb.Set[ovsdb.UUID] `ovsdb:"health_check"` // Network_Function_Health_Check
	ID          int                   `ovsdb:"id"`
	Inport      ovsdb.UUID            `ovsdb:"inport"`  // Logical_Switch_Port
	Outport     ovsdb.UUID            `ovsdb:"outport"` // Logical_Switch_Port
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Network_Function.
func (NetworkFunction) Table() string { return "Network_Function" }
