package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// ServiceMonitor is a row of Service_Monitor, ovn-sb(5): a backend that a chassis monitors.
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
