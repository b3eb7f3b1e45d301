package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// NAT is a row of NAT, ovn-nb(5): a translation on a router.
type NAT struct {
	UUID              ovsdb.UUID            `ovsdb:"_uuid"`
	LogicalPort       ovsdb.Set[string]     `ovsdb:"logical_port"`
	Type              string                `ovsdb:"type"`                    // dnat, snat or dnat_and_snat
	AllowedExtIPs     ovsdb.Set[ovsdb.UUID] `ovsdb:"allowed_ext_ips,sparse"`  // Address_Set
	ExemptedExtIPs    ovsdb.Set[ovsdb.UUID] `ovsdb:"exempted_ext_ips,sparse"` // Address_Set
	ExternalIP        string                `ovsdb:"external_ip"`
	ExternalMAC       ovsdb.Set[string]     `ovsdb:"external_mac"` // with logical_port: distributed NAT
	ExternalPortRange string                `ovsdb:"external_port_range"`
	GatewayPort       ovsdb.Set[ovsdb.UUID] `ovsdb:"gateway_port"` // Logical_Router_Port
	LogicalIP         string                `ovsdb:"logical_ip"`
	Match             string                `ovsdb:"match"`
	Priority          int                   `ovsdb:"priority"`
	Options           map[string]string     `ovsdb:"options"`
	ExternalIDs       map[string]string     `ovsdb:"external_ids"`
}
