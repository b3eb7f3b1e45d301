package logicalflow

import (
	"context"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Preload reads everything that decides which flows packets hit, in all datapaths, for queries about packets between
// many places: one by one, each datapath would need a request that makes the server scan every flow. It reads in pieces
// and calls progress, which may be nil, after each. What was already read is not read again. See, which may be nil, sees each flow
// once, in no order, with whether the flow means conntrack's view of a connection; it must not keep it.
func (n *Network) Preload(ctx context.Context, progress func(done, total int), see func(f *sb.LogicalFlowRule, translated bool)) error {
	n.all.mu.Lock()
	defer n.all.mu.Unlock()
	if n.all.done && see == nil {
		return nil
	}
	steps := []func(context.Context) error{n.preloadDatapaths, n.preloadSets}
	if n.inFile() {
		steps = append(steps, func(ctx context.Context) error { return n.preloadFlows(ctx, see, 0, maxTables) })
	} else {
		steps = append(steps, n.tableByTable(see)...)
	}
	for i, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		if progress != nil {
			progress(i+1, len(steps))
		}
	}
	n.all.done = true
	return nil
}

// tableByTable returns steps to read all flows from a server.
func (n *Network) tableByTable(see func(*sb.LogicalFlowRule, bool)) []func(context.Context) error {
	var steps []func(context.Context) error
	for table := range lastTable {
		steps = append(steps, func(ctx context.Context) error {
			return n.preloadFlows(ctx, see, table, table+1, ovsdb.Where("table_id", "==", table))
		})
	}
	return append(steps, func(ctx context.Context) error {
		return n.preloadFlows(ctx, see, lastTable, maxTables, ovsdb.Where("table_id", ">=", lastTable))
	})
}

// inFile reports whether the rows are already in memory: nobody waits, and one scan is best.
func (n *Network) inFile() bool {
	_, ok := n.db.(*ovsdb.Snapshot)
	return ok
}

// all records whether everything was read.
type all struct {
	mu   sync.Mutex
	done bool
}

// preloadDatapaths reads the ports and groups of all datapaths.
func (n *Network) preloadDatapaths(ctx context.Context) error {
	ports, err := n.allPorts(ctx)
	if err != nil {
		return err
	}
	groups, err := ovsdb.Find[sb.MulticastGroup](ctx, n.db)
	if err != nil {
		return err
	}
	shared := map[ovsdb.UUID][]ovsdb.Key[sb.LogicalDPGroup]{}
	if n.grouped() {
		rows, err := ovsdb.Find[sb.LogicalDPGroup](ctx, n.db)
		if err != nil {
			return err
		}
		for _, g := range rows {
			for _, d := range g.Datapaths {
				shared[d] = append(shared[d], ovsdb.Key[sb.LogicalDPGroup]{UUID: g.UUID})
			}
		}
	}
	portsOf, groupsOf := map[ovsdb.UUID][]sb.PortBinding{}, map[ovsdb.UUID][]sb.MulticastGroup{}
	for _, p := range ports {
		portsOf[p.Datapath] = append(portsOf[p.Datapath], p)
	}
	for _, g := range groups {
		groupsOf[g.Datapath] = append(groupsOf[g.Datapath], g)
	}
	for _, d := range n.datapaths {
		d.mu.Lock()
		if d.inside.Load() == nil {
			c := n.fill(d, portsOf[d.Row.UUID], groupsOf[d.Row.UUID])
			c.owners = n.owners(d, shared[d.Row.UUID])
			d.inside.Store(c)
		}
		d.mu.Unlock()
	}
	return nil
}

// allPorts reads Port_Binding in pieces: its rows cost the server more than any other table's.
func (n *Network) allPorts(ctx context.Context) ([]sb.PortBinding, error) {
	var ports []sb.PortBinding
	step := 8 // keys: every datapath has a port for each
	for from := 1; from <= maxPortKey; {
		to := min(from+step-1, maxPortKey)
		rows, err := ovsdb.Find[sb.PortBinding](ctx, n.db, ovsdb.Where("tunnel_key", ">=", from), ovsdb.Where("tunnel_key", "<=", to))
		if err != nil {
			return nil, err
		}
		ports = append(ports, rows...)
		switch found := len(rows); {
		case found > manyPorts:
			step = max(1, step/2)
		case found < manyPorts/4:
			step *= 2
		}
		from = to + 1
	}
	return ports, nil
}

const (
	maxPortKey = 32767 // the highest tunnel key of a port, ovn-sb(5)
	manyPorts  = 4000  // most ports that a request should find
)

// preloadSets reads address sets and port groups.
func (n *Network) preloadSets(ctx context.Context) error {
	addresses, err := ovsdb.Find[sb.AddressSet](ctx, n.db)
	if err != nil {
		return err
	}
	for _, row := range addresses {
		n.memory.addressSets.LoadOrStore(row.Name, ovnexpr.NewAddressSet(row.Name, row.Addresses))
	}
	groups, err := ovsdb.Find[sb.PortGroup](ctx, n.db)
	if err != nil {
		return err
	}
	of := map[string][]string{}
	for _, row := range groups {
		for _, p := range row.Ports {
			of[p] = append(of[p], GroupName(row.Name))
		}
	}
	n.ports.Range(func(name, _ any) bool {
		n.memory.portGroups.LoadOrStore(name, of[name.(string)])
		return true
	})
	return nil
}

// preloadFlows reads missing flows of tables [from, to), for all owners.
func (n *Network) preloadFlows(ctx context.Context, see func(*sb.LogicalFlowRule, bool), from, to int, where ...ovsdb.Condition) error {
	translated, err := n.translatedFlows(ctx)
	if err != nil {
		return err
	}
	rows, err := n.ownedFlows(ctx, see, translated, where)
	if err != nil {
		return err
	}
	heads := map[ovsdb.UUID][]sb.LogicalFlowMatch{}
	for _, r := range rows {
		for _, owner := range append(r.LogicalDatapath, r.LogicalDPGroup...) {
			heads[owner] = append(heads[owner], r.LogicalFlowMatch)
		}
	}
	for _, o := range n.allOwners() {
		o.mu.Lock()
		if int(o.loaded.Load()) == from {
			o.fill(n, heads[o.id], from, to, translated)
		}
		o.mu.Unlock()
	}
	return nil
}

// ownedFlows reads flows, with their actions only if somebody is to see them.
func (n *Network) ownedFlows(ctx context.Context, see func(*sb.LogicalFlowRule, bool), translated map[ovsdb.UUID]bool, where []ovsdb.Condition) ([]sb.LogicalFlowOwned, error) {
	if see == nil {
		return ovsdb.Find[sb.LogicalFlowOwned](ctx, n.db, where...)
	}
	rules, err := ovsdb.Find[sb.LogicalFlowRule](ctx, n.db, where...)
	rows := make([]sb.LogicalFlowOwned, len(rules))
	for i := range rules {
		see(&rules[i], translated[rules[i].UUID])
		rows[i] = rules[i].LogicalFlowOwned
	}
	return rows, err
}

// allOwners returns all datapaths' owners, each once.
func (n *Network) allOwners() []*owner {
	var owners []*owner
	for _, d := range n.datapaths {
		if c := d.inside.Load(); c != nil {
			owners = append(owners, c.owners[0])
		}
	}
	n.shared.Range(func(_, o any) bool {
		owners = append(owners, o.(*owner))
		return true
	})
	return owners
}
