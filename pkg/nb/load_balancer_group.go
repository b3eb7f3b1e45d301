package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LoadBalancerGroup is a row of Load_Balancer_Group, ovn-nb(5): load balancers that switches and
// routers share.
type LoadBalancerGroup struct {
	UUID         ovsdb.UUID            `ovsdb:"_uuid"`
	Name         string                `ovsdb:"name"`
	LoadBalancer ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer"` // Load_Balancer
}

// Table returns Load_Balancer_Group.
func (LoadBalancerGroup) Table() string { return "Load_Balancer_Group" }
