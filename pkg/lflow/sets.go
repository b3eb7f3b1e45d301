package lflow

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/expr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// sets are the address sets and port groups that matches name.
type sets struct {
	net       *Network
	addresses map[string]*expr.AddressSet
	ports     map[string]*expr.PortGroup
	ctx       context.Context
}

// in makes the sets be read under a context.
func (s *sets) in(ctx context.Context) expr.Sets {
	s.ctx = ctx
	return s
}

func (s *sets) AddressSet(name string) (*expr.AddressSet, bool) {
	if s.addresses == nil {
		rows, err := ovsdb.Find[sb.AddressSet](s.ctx, s.net.db)
		if err != nil {
			return nil, false
		}
		s.addresses = map[string]*expr.AddressSet{}
		for _, row := range rows {
			s.addresses[row.Name] = expr.NewAddressSet(row.Name, row.Addresses)
		}
	}
	set, ok := s.addresses[name]
	return set, ok
}

// PortGroup returns the ports of all datapaths that are in a group: a row KEY_NAME holds those of the datapath with that
// key.
func (s *sets) PortGroup(name string) (*expr.PortGroup, bool) {
	if s.ports == nil {
		rows, err := ovsdb.Find[sb.PortGroup](s.ctx, s.net.db)
		if err != nil {
			return nil, false
		}
		members := map[string][]string{}
		for _, row := range rows {
			_, group, ok := strings.Cut(row.Name, "_")
			if !ok {
				group = row.Name
			}
			members[group] = append(members[group], row.Ports...)
		}
		s.ports = map[string]*expr.PortGroup{}
		for group, ports := range members {
			s.ports[group] = expr.NewPortGroup(group, ports)
		}
	}
	g, ok := s.ports[name]
	return g, ok
}
