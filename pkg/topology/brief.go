package topology

import (
	"cmp"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// LoadBrief is Load for a list of what there is. Of the load balancers it reads what they are called; of the first services, as they
// are sorted, the addresses too, and those of others where that is less work. It reads no more of an ACL than that it exists, and nothing of QoS, DHCP and port security. The
// Graph cannot resolve names.
func LoadBrief(ctx context.Context, s Source, services int) (*Graph, error) {
	return load(ctx, s, func(ctx context.Context, name string, north, south ovsdb.Reader) (zoneData, []error) {
		if north == nil {
			return readZone(ctx, name, north, south)
		}
		z, errs := readSplit(ctx, name, south, readHomes, func() (*nbTables, error) {
			t := new(nbTables)
			var beside errgroup.Group // while one reply is read, the server works on the next
			beside.Go(func() error { return t.readBrief(ctx, north) })
			err := t.readServices(ctx, north, services)
			if err = cmp.Or(err, beside.Wait()); err != nil {
				return nil, err
			}
			return t, nil
		})
		if z.nb != nil && z.sb != nil {
			if err := z.sb.readStrays(ctx, south, z.nb); err != nil {
				errs = append(errs, err)
			}
		}
		return z, errs
	}, false)
}

// readBrief reads all but load balancers.
func (t *nbTables) readBrief(ctx context.Context, north ovsdb.Reader) error {
	var ports []nb.LogicalSwitchPortBare
	var routes []nb.StaticRouteListed
	var groups []nb.PortGroupContents
	var acls []ovsdb.Key[nb.ACL]
	err := north.Select(ctx,
		&ovsdb.Query{Rows: &t.Switches}, &ovsdb.Query{Rows: &ports}, &ovsdb.Query{Rows: &t.Routers}, &ovsdb.Query{Rows: &t.RouterPorts},
		&ovsdb.Query{Rows: &t.NATs}, &ovsdb.Query{Rows: &routes}, &ovsdb.Query{Rows: &t.Policies}, &ovsdb.Query{Rows: &groups},
		&ovsdb.Query{Rows: &t.Gateways}, &ovsdb.Query{Rows: &t.HAGroups}, &ovsdb.Query{Rows: &t.HAChassis}, &ovsdb.Query{Rows: &acls})
	t.SwitchPorts = wrap(ports, func(row *nb.LogicalSwitchPort, p nb.LogicalSwitchPortBare) { row.LogicalSwitchPortBare = p })
	t.Routes = wrap(routes, func(row *nb.StaticRoute, r nb.StaticRouteListed) { row.StaticRouteListed = r })
	t.PortGroups = wrap(groups, func(row *nb.PortGroup, g nb.PortGroupContents) { row.PortGroupContents = g })
	t.ACLs = wrap(acls, func(row *nb.ACL, a ovsdb.Key[nb.ACL]) { row.UUID = a.UUID })
	return err
}

// readServices reads the names of the load balancers, and all of those of the first services.
func (t *nbTables) readServices(ctx context.Context, north ovsdb.Reader, services int) error {
	var all []nb.LoadBalancerName
	if err := north.Select(ctx, &ovsdb.Query{Rows: &all}, &ovsdb.Query{Rows: &t.Groups}); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b nb.LoadBalancerName) int {
		return compareNamed("", a.Name, string(a.UUID), "", b.Name, string(b.UUID))
	})
	ids := map[ovsdb.UUID]map[string]string{}
	if slices.ContainsFunc(all, func(lb nb.LoadBalancerName) bool { return serviceOf(lb.Name, nil) == "" }) {
		var owners []nb.LoadBalancerOwner
		if err := north.Select(ctx, &ovsdb.Query{Rows: &owners}); err != nil {
			return err
		}
		for _, o := range owners {
			ids[o.UUID] = o.ExternalIDs
		}
	}
	t.LoadBalancers = make([]nb.LoadBalancer, len(all))
	var first []*ovsdb.Query
	var whose []int
	seen := map[string]bool{}
	for i, lb := range all {
		t.LoadBalancers[i].LoadBalancerName, t.LoadBalancers[i].ExternalIDs = lb, ids[lb.UUID]
		service := serviceOf(lb.Name, ids[lb.UUID])
		if service == "" {
			service = " " + lb.Name // no service has a space
		}
		if !seen[service] && len(seen) == services {
			continue
		}
		seen[service] = true
		whose = append(whose, i)
		first = append(first, &ovsdb.Query{Rows: new([]nb.LoadBalancerVIPs), Where: []ovsdb.Condition{ovsdb.Where("_uuid", "==", lb.UUID)}})
	}
	switch {
	case len(first) == 0:
		return nil
	case len(first) > len(all)/2: // the whole table is less work for the server than so many of its rows
		return north.Select(ctx, &ovsdb.Query{Rows: &t.LoadBalancers})
	}
	err := north.Select(ctx, first...)
	for i, q := range first {
		for _, v := range *q.Rows.(*[]nb.LoadBalancerVIPs) {
			t.LoadBalancers[whose[i]].LoadBalancerVIPs = v
		}
	}
	return err
}

// readHomes reads the tables of a Southbound beside a Northbound, of the port bindings what a list shows.
func readHomes(ctx context.Context, r ovsdb.Reader) (*sbTables, error) {
	if r == nil {
		return nil, nil
	}
	t := new(sbTables)
	var listed []sb.PortBindingListed
	var homes []sb.PortBindingHome
	if err := t.read(ctx, r, &listed, &homes); err != nil {
		return nil, err
	}
	t.Ports = slices.Concat(
		wrap(listed, func(row *sb.PortBinding, l sb.PortBindingListed) {
			row.PortBindingHome, row.Type, row.Datapath, row.MAC, row.Options = l.PortBindingHome, l.Type, l.Datapath, l.MAC, l.Options
			row.RequestedChassis, row.GatewayChassis, row.HAChassisGroup = l.RequestedChassis, l.GatewayChassis, l.HAChassisGroup
			row.VirtualParent, row.ExternalIDs = l.VirtualParent, l.ExternalIDs
		}),
		wrap(homes, func(row *sb.PortBinding, h sb.PortBindingHome) { row.PortBindingHome = h }))
	return t, nil
}

// readStrays reads all of the port bindings that the Northbound lacks and ovn-northd has not made for another: what it has not deleted.
func (t *sbTables) readStrays(ctx context.Context, south ovsdb.Reader, north *nbTables) error {
	known := make(map[string]bool, len(north.SwitchPorts)+len(north.RouterPorts))
	for _, p := range north.SwitchPorts {
		known[p.Name] = true
	}
	for _, p := range north.RouterPorts {
		known[p.Name] = true
	}
	var strays []int
	var queries []*ovsdb.Query
	for i := range t.Ports {
		if p := &t.Ports[i]; !known[p.LogicalPort] && p.Type != "chassisredirect" {
			strays = append(strays, i)
			queries = append(queries, &ovsdb.Query{Rows: new([]sb.PortBinding), Where: []ovsdb.Condition{ovsdb.Where("logical_port", "==", p.LogicalPort)}})
		}
	}
	if len(queries) == 0 {
		return nil
	}
	err := south.Select(ctx, queries...)
	for i, q := range queries {
		for _, row := range *q.Rows.(*[]sb.PortBinding) {
			t.Ports[strays[i]] = row
		}
	}
	return err
}
