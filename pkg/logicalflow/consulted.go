package logicalflow

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Consulted gives the names of the address sets ($NAME) and port groups (@NAME) that a lookup rests on as far as a port is
// concerned: had the port been in none of the others, or in more of them, the packet would have hit the same flow. Priority is
// that of the flow that it hit, -1 for none. A name may come more than once.
func (n *Network) Consulted(ctx context.Context, t Table, p *packet.Flow, resident Resident, priority int, port string, name func(string)) error {
	v, err := n.view(ctx, t)
	if err != nil || v.only.Load() != nil {
		return err
	}
	s := searches.Get().(*search)
	defer searches.Put(s)
	s.environment.reset(ctx, t.Datapath, resident)
	for _, table := range v.tables {
		for i := range table.fields {
			table.groupsOver(&table.fields[i], &s.environment, p, priority, port, name)
		}
	}
	if err := s.find(v, &s.environment, p); err != nil {
		return err
	}
	for e := s.next(); e != nil && e.priority >= priority; e = s.next() {
		if !strings.ContainsAny(e.match, "$@") {
			continue
		}
		constants, err := ovnexpr.Constants(e.match)
		if err != nil {
			continue // for every packet it may be the one that is hit
		}
		for _, c := range constants {
			switch c.Kind {
			case ovnexpr.AddressSets:
				name("$" + c.Text)
			case ovnexpr.PortGroups:
				name("@" + c.Text)
			}
		}
	}
	return nil
}

// groupsOver gives the groups by which flows of at least a priority are found, where a field holds the port.
func (t *table) groupsOver(f *indexed, env *environment, p *packet.Flow, priority int, port string, name func(string)) {
	if len(f.byGroup) == 0 {
		return
	}
	if here, ok := env.PortName(f.ref.Get(p).Lo); !ok || here != port {
		return
	}
	for g, flows := range f.byGroup {
		if t.entries[flows[0]].priority >= priority {
			name("@" + g)
		}
	}
}
