package logicalflow

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// addressSet returns the address set with that name, nil if not found.
func (n *Network) addressSet(ctx context.Context, name string) (*ovnexpr.AddressSet, error) {
	return recall(&n.memory.addressSets, name, func() (*ovnexpr.AddressSet, error) {
		rows, err := ovsdb.Find[sb.AddressSet](ctx, n.db, ovsdb.Where("name", "==", name))
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		return ovnexpr.NewAddressSet(name, rows[0].Addresses), nil
	})
}

// GroupName is a port group's name in matches: a row KEY_NAME holds its ports in the datapath with that key.
func GroupName(row string) string {
	if _, name, ok := strings.Cut(row, "_"); ok {
		return name
	}
	return row
}

// groupsOf returns a port's port groups.
func (n *Network) groupsOf(ctx context.Context, port string) ([]string, error) {
	return recall(&n.memory.portGroups, port, func() ([]string, error) {
		rows, err := ovsdb.Find[sb.PortGroupName](ctx, n.db, ovsdb.Where("ports", "includes", []string{port}))
		var names []string
		for _, row := range rows {
			names = append(names, GroupName(row.Name))
		}
		return names, err
	})
}

// AddressSets are the address sets that an expression may name outside any datapath, where there are no port groups. A
// set that cannot be read is unknown.
func (n *Network) AddressSets(ctx context.Context) ovnexpr.Sets { return addressSets{n, ctx} }

type addressSets struct {
	net *Network
	ctx context.Context
}

func (s addressSets) AddressSet(name string) (*ovnexpr.AddressSet, bool) {
	set, err := s.net.addressSet(s.ctx, name)
	return set, err == nil && set != nil
}

func (addressSets) PortGroup(string) (*ovnexpr.PortGroup, bool) { return nil, false }
