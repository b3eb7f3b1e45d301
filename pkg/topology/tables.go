package topology

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// The tables of each database, read in one transaction. They exclude Logical_Flow and everything that grows with
// traffic.

type nbTables struct {
	Switches      []nb.LogicalSwitch
	SwitchPorts   []nb.LogicalSwitchPort
	Routers       []nb.LogicalRouter
	RouterPorts   []nb.LogicalRouterPort
	LoadBalancers []nb.LoadBalancer
	Groups        []nb.LoadBalancerGroup
	NATs          []nb.NAT
	ACLs          []nb.ACL
	QoS           []nb.QoS
	PortGroups    []nb.PortGroup
	Routes        []nb.StaticRoute
	Policies      []nb.Policy
	Gateways      []nb.GatewayChassis
	HAGroups      []nb.HAChassisGroup
	HAChassis     []nb.HAChassis
	DHCP          []nb.DHCPOptions
}

type sbTables struct {
	Chassis   []sb.Chassis
	Encaps    []sb.Encap
	Datapaths []sb.DatapathBinding
	Ports     []sb.PortBinding
	HAGroups  []sb.HAChassisGroup
	HAChassis []sb.HAChassis
	Gateways  []sb.GatewayChassis
}

// sbServices is read only if no Northbound has the same.
type sbServices struct {
	LoadBalancers []sb.LoadBalancer
	Groups        []sb.LogicalDPGroup
}

type vsTables struct {
	Roots       []vswitch.OpenvSwitch
	Bridges     []vswitch.Bridge
	Ports       []vswitch.Port
	Interfaces  []vswitch.Interface
	Controllers []vswitch.Controller
	Managers    []vswitch.Manager
	Mirrors     []vswitch.Mirror
}

// A zoneData is what could be read of one zone; unread parts are nil.
type zoneData struct {
	name     string
	nb       *nbTables
	sb       *sbTables
	services *sbServices
}

// readZone reads both databases of a zone concurrently.
func readZone(ctx context.Context, name string, north, south ovsdb.Reader) (zoneData, []error) {
	z := zoneData{name: name}
	var northErr, southErr error
	var wg sync.WaitGroup
	wg.Go(func() { z.nb, northErr = read[nbTables](ctx, north) })
	wg.Go(func() { z.sb, southErr = readSouthbound(ctx, south, north != nil) })
	wg.Wait()
	var servicesErr error
	if z.nb == nil && z.sb != nil {
		z.services, servicesErr = read[sbServices](ctx, south)
	}
	var errs []error
	for _, err := range []error{northErr, southErr, servicesErr} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return z, errs
}

// read reads the tables of T from a database; both results are nil if r is nil.
func read[T any](ctx context.Context, r ovsdb.Reader) (*T, error) {
	if r == nil {
		return nil, nil
	}
	tables := new(T)
	if err := ovsdb.Load(ctx, r, tables); err != nil {
		return nil, err
	}
	return tables, nil
}

// readSouthbound reads the tables of a Southbound; with beside, without what a Northbound has too.
func readSouthbound(ctx context.Context, r ovsdb.Reader, beside bool) (*sbTables, error) {
	if r == nil || !beside {
		return read[sbTables](ctx, r)
	}
	t := new(sbTables)
	var workloads []sb.PortBindingWorkload
	if err := t.read(ctx, r, &t.Ports, &workloads); err != nil {
		return nil, err
	}
	t.Ports = append(t.Ports, wrap(workloads, func(row *sb.PortBinding, w sb.PortBindingWorkload) { row.PortBindingWorkload = w })...)
	return t, nil
}

// read reads all, but of the ports of pods and VMs, which are most, only what workloads has, and of the others what others has.
func (t *sbTables) read(ctx context.Context, r ovsdb.Reader, others, workloads any) error {
	return r.Select(ctx,
		&ovsdb.Query{Rows: &t.Chassis}, &ovsdb.Query{Rows: &t.Encaps}, &ovsdb.Query{Rows: &t.Datapaths},
		&ovsdb.Query{Rows: &t.HAGroups}, &ovsdb.Query{Rows: &t.HAChassis}, &ovsdb.Query{Rows: &t.Gateways},
		&ovsdb.Query{Rows: others, Where: []ovsdb.Condition{ovsdb.Where("type", "!=", "")}},
		&ovsdb.Query{Rows: workloads, Where: []ovsdb.Condition{ovsdb.Where("type", "==", "")}},
	)
}

// wrap returns a row for each of some with fewer columns.
func wrap[T, P any](parts []P, set func(*T, P)) []T {
	rows := make([]T, len(parts))
	for i, part := range parts {
		set(&rows[i], part)
	}
	return rows
}

// readers bounds concurrent database reads.
const readers = 16

// inParallel calls f with 0 to n-1, at most some at a time, and returns when all are
// done.
func inParallel(n, most int, f func(int)) {
	if n == 1 {
		f(0)
		return
	}
	var calls errgroup.Group
	calls.SetLimit(most)
	for i := range n {
		calls.Go(func() error {
			f(i)
			return nil
		})
	}
	_ = calls.Wait()
}
