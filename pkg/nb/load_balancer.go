package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LoadBalancer is a row of Load_Balancer, ovn-nb(5): virtual addresses and their backends.
type LoadBalancer struct {
	LoadBalancerName
	LoadBalancerVIPs
	HealthCheck     ovsdb.Set[ovsdb.UUID] `ovsdb:"health_check,sparse"` // Load_Balancer_Health_Check
	IPPortMappings  map[string]string     `ovsdb:"ip_port_mappings,sparse"`
	SelectionFields ovsdb.Set[string]     `ovsdb:"selection_fields,sparse"`
	Options         map[string]string     `ovsdb:"options"`
	ExternalIDs     map[string]string     `ovsdb:"external_ids"`
}

// LoadBalancerOwner is a row of Load_Balancer with whose it is.
type LoadBalancerOwner struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// LoadBalancerVIPs is the columns of Load_Balancer with its addresses.
type LoadBalancerVIPs struct {
	Protocol ovsdb.Set[string] `ovsdb:"protocol"` // absent means tcp
	VIPs     map[string]string `ovsdb:"vips"`     // "IP:PORT" to "IP:PORT,…"; empty if no backends
}

// LoadBalancerName is a row of Load_Balancer with what it is called: for topology, to count them.
type LoadBalancerName struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
}

// LoadBalancerGroup is a row of Load_Balancer_Group, ovn-nb(5): load balancers that switches and
// routers share.
type LoadBalancerGroup struct {
	UUID         ovsdb.UUID            `ovsdb:"_uuid"`
	Name         string                `ovsdb:"name"`
	LoadBalancer ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer"` // Load_Balancer
}

// LoadBalancerHealthCheck is a row of Load_Balancer_Health_Check, ovn-nb(5): how backends are monitored.
type LoadBalancerHealthCheck struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	VIP         string            `ovsdb:"vip"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
