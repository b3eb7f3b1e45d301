package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LoadBalancer is a row of Load_Balancer, ovn-sb(5): a load balancer as the chassis use
// it; the flows are in Logical_Flow.
type LoadBalancer struct {
	LoadBalancerName
	DatapathGroup   ovsdb.Set[ovsdb.UUID] `ovsdb:"datapath_group"`    // Logical_DP_Group; 23.03 to 23.09, then by kind
	Datapaths       ovsdb.Set[ovsdb.UUID] `ovsdb:"datapaths"`         // Datapath_Binding
	LRDatapathGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"lr_datapath_group"` // Logical_DP_Group
	LSDatapathGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"ls_datapath_group"` // Logical_DP_Group
	Protocol        ovsdb.Set[string]     `ovsdb:"protocol"`          // absent means tcp
	VIPs            map[string]string     `ovsdb:"vips"`              // "IP:PORT" to "IP:PORT,…"; empty if no backends
	Options         map[string]string     `ovsdb:"options"`
	ExternalIDs     map[string]string     `ovsdb:"external_ids"`
}

// LoadBalancerName is a row of Load_Balancer with only its name.
type LoadBalancerName struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
}
