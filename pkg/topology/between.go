package topology

import (
	"context"
	"slices"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// LoadBetween is Load for the path of a packet between two endpoints, named as for [Graph.Resolve]. It reads rows in
// several requests, so that no server is busy with one for long. If both endpoints are ports, or pods or VMs, the
// Graph has no load balancers, which may outnumber everything else; it never has ACLs.
func LoadBetween(ctx context.Context, s Source, from, to string) (*Graph, error) {
	g, err := load(ctx, s, readPlain, false)
	if err != nil {
		return nil, err
	}
	plain, err := g.plainEnds(ctx, s, from, to)
	if plain || err != nil {
		return g, err
	}
	return load(ctx, s, readParts, false)
}

// LoadWays is Load for the paths of packets between any endpoints: it reads all that may lie on them but ACLs. It lists neither
// tunnels, which are as many as pairs of nodes, nor bridges, whose tunnel ports are twice as many: [Graph.BridgesOf] has those of a node.
func LoadWays(ctx context.Context, s Source) (*Graph, error) { return load(ctx, s, readParts, true) }

// plainEnds reports whether both texts name ports or pods and cannot mean a load balancer.
func (g *Graph) plainEnds(ctx context.Context, s Source, ends ...string) (bool, error) {
	var norths []ovsdb.Reader
	s.EachZone(func(_ string, north, _ ovsdb.Reader) { norths = append(norths, north) })
	for _, text := range ends {
		name, word := text, ""
		if w, rest, ok := g.typed(text); ok {
			word, name = w, rest
		}
		r := resolver{Graph: g, kinds: []Kind{KindPod, KindPort, KindVM, KindNode}}
		r.named(name)
		if len(r.matches) == 0 || slices.ContainsFunc(r.matches, func(m Match) bool { return m.Kind == KindNode }) || slices.Contains(nameTypes.Get()[word].kinds, KindService) {
			return false, nil
		}
		for _, north := range norths {
			if called, err := balancerCalled(ctx, north, name); called || err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// balancerCalled reports whether a load balancer or service has this name.
func balancerCalled(ctx context.Context, north ovsdb.Reader, name string) (bool, error) {
	if north == nil {
		return false, nil
	}
	var named, owned []ovsdb.Key[nb.LoadBalancer]
	err := north.Select(ctx,
		&ovsdb.Query{Rows: &named, Where: []ovsdb.Condition{ovsdb.Where("name", "==", name)}},
		&ovsdb.Query{Rows: &owned, Where: []ovsdb.Condition{ovsdb.Where("external_ids", "includes", map[string]string{"k8s.ovn.org/owner": name})}})
	if err != nil {
		return false, err
	}
	return len(named)+len(owned) > 0, nil
}

// readPlain reads a zone without load balancers, and from the Southbound only what a Northbound lacks.
func readPlain(ctx context.Context, name string, north, south ovsdb.Reader) (zoneData, []error) {
	if north == nil {
		return readZone(ctx, name, north, south)
	}
	return readSplit(ctx, name, south, readBindings, func() (*nbTables, error) {
		t := new(nbTables)
		var switches []nb.LogicalSwitchBare
		var routers []nb.LogicalRouterBare
		if err := apart(ctx, north, []*ovsdb.Query{{Rows: &switches}, {Rows: &routers}}); err != nil {
			return nil, err
		}
		t.Switches = wrap(switches, func(row *nb.LogicalSwitch, s nb.LogicalSwitchBare) { row.LogicalSwitchBare = s })
		t.Routers = wrap(routers, func(row *nb.LogicalRouter, r nb.LogicalRouterBare) { row.LogicalRouterBare = r })
		return t, t.readPorts(ctx, north)
	})
}

// readParts reads a zone in several requests.
func readParts(ctx context.Context, name string, north, south ovsdb.Reader) (zoneData, []error) {
	if north == nil {
		return readZone(ctx, name, north, south)
	}
	return readSplit(ctx, name, south, readBindings, func() (*nbTables, error) {
		t := new(nbTables)
		if err := apart(ctx, north, []*ovsdb.Query{{Rows: &t.Switches}, {Rows: &t.Routers}}); err != nil {
			return nil, err
		}
		return t, t.readPorts(ctx, north, []*ovsdb.Query{{Rows: &t.LoadBalancers}, {Rows: &t.Groups}})
	})
}

// portsAtOnce is how many Logical_Switch_Port rows one request reads. They take the server 0.3 s.
const portsAtOnce = 10000

// readPorts reads the ports of the switches, which are known, the routers' related rows, and what else is asked for. Many ports
// are read in parts, by UUID, since no other column distinguishes them.
func (t *nbTables) readPorts(ctx context.Context, north ovsdb.Reader, more ...[]*ovsdb.Query) error {
	requests := append(more,
		[]*ovsdb.Query{{Rows: &t.DHCP}, {Rows: &t.RouterPorts}, {Rows: &t.NATs}, {Rows: &t.Routes}, {Rows: &t.Policies}},
		[]*ovsdb.Query{{Rows: &t.PortGroups}, {Rows: &t.Gateways}, {Rows: &t.HAGroups}, {Rows: &t.HAChassis}},
	)
	var ids []ovsdb.UUID
	for _, s := range t.Switches {
		ids = append(ids, s.Ports...)
	}
	if len(ids) <= portsAtOnce {
		return apart(ctx, north, append(requests, []*ovsdb.Query{{Rows: &t.SwitchPorts}})...)
	}
	rows := make([][]nb.LogicalSwitchPort, len(ids))
	for first := 0; first < len(ids); first += portsAtOnce {
		var queries []*ovsdb.Query
		for i := first; i < min(first+portsAtOnce, len(ids)); i++ {
			queries = append(queries, &ovsdb.Query{Rows: &rows[i], Where: []ovsdb.Condition{ovsdb.Where("_uuid", "==", ids[i])}})
		}
		requests = append(requests, queries)
	}
	err := apart(ctx, north, requests...)
	t.SwitchPorts = slices.Concat(rows...)
	return err
}

// apart sends requests that do not depend on each other, two at a time: while one reply is read, the server works on the
// next.
func apart(ctx context.Context, r ovsdb.Reader, requests ...[]*ovsdb.Query) error {
	errs := make([]error, len(requests))
	inParallel(len(requests), 2, func(i int) { errs[i] = r.Select(ctx, requests[i]...) })
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readSplit reads both databases of a zone concurrently.
func readSplit(ctx context.Context, name string, south ovsdb.Reader, bindings func(context.Context, ovsdb.Reader) (*sbTables, error), north func() (*nbTables, error)) (zoneData, []error) {
	z := zoneData{name: name}
	var northErr, southErr error
	var wg sync.WaitGroup
	wg.Go(func() { z.nb, northErr = north() })
	wg.Go(func() { z.sb, southErr = bindings(ctx, south) })
	wg.Wait()
	var servicesErr error
	if northErr != nil {
		z.nb = nil
		z.services, servicesErr = read[sbServices](ctx, south)
	}
	return z, slices.DeleteFunc([]error{northErr, southErr, servicesErr}, func(err error) bool { return err == nil })
}

// readBindings reads from a Southbound what the Northbound lacks, in several requests.
func readBindings(ctx context.Context, r ovsdb.Reader) (*sbTables, error) {
	if r == nil {
		return nil, nil
	}
	t := new(sbTables)
	var workloads []sb.PortBindingWorkload
	err := apart(ctx, r,
		[]*ovsdb.Query{{Rows: &t.Chassis}, {Rows: &t.Encaps}, {Rows: &t.Datapaths}, {Rows: &t.HAGroups}, {Rows: &t.HAChassis}, {Rows: &t.Gateways}},
		[]*ovsdb.Query{{Rows: &t.Ports, Where: []ovsdb.Condition{ovsdb.Where("type", "!=", "")}}},
		[]*ovsdb.Query{{Rows: &workloads, Where: []ovsdb.Condition{ovsdb.Where("type", "==", "")}}})
	if err != nil {
		return nil, err
	}
	t.Ports = append(t.Ports, wrap(workloads, func(row *sb.PortBinding, w sb.PortBindingWorkload) { row.PortBindingWorkload = w })...)
	return t, nil
}
