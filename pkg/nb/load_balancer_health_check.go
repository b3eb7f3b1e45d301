package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LoadBalancerHealthCheck is a row of Load_Balancer_Health_Check, ovn-nb(5): how backends are watched.
type LoadBalancerHealthCheck struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	VIP         string            `ovsdb:"vip"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Load_Balancer_Health_Check.
func (LoadBalancerHealthCheck) Table() string { return "Load_Balancer_Health_Check" }
