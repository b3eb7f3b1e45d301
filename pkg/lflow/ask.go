package lflow

import (
	"context"

	"github.com/ovnctl/ovnctl/pkg/expr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Stage is the stage-name of a table, empty if it has no flow in the datapath.
func (n *Network) Stage(ctx context.Context, t Table) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	flows, err := n.table(ctx, t)
	if err != nil || len(flows) == 0 {
		return "", err
	}
	return flows[0].Stage(), nil
}

// LoadBalancers are those of all datapaths.
func (n *Network) LoadBalancers(ctx context.Context) ([]sb.LoadBalancer, error) {
	if !n.db.Has("Load_Balancer", "") {
		return nil, nil
	}
	return ovsdb.Find[sb.LoadBalancer](ctx, n.db)
}

// AddressSets are the sets of addresses that an expression may name outside of any datapath, where there are no port
// groups.
func (n *Network) AddressSets(ctx context.Context) expr.Sets { return onlyAddresses{n.sets.in(ctx)} }

type onlyAddresses struct{ expr.Sets }

func (onlyAddresses) PortGroup(string) (*expr.PortGroup, bool) { return nil, false }
