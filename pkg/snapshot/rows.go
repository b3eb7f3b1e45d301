package snapshot

import (
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/desired"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// Northbound is the CMS's configuration except load balancers and policies: one consistent read of OVN_Northbound.
type Northbound struct {
	Globals           []nb.Global
	Connections       []nb.Connection
	SSL               []nb.SSL
	Switches          []nb.LogicalSwitch
	SwitchPorts       []nb.LogicalSwitchPortBrief
	Routers           []nb.LogicalRouter
	RouterPorts       []nb.LogicalRouterPort
	GatewayChassis    []nb.GatewayChassis
	HAGroups          []nb.HAChassisGroup
	HAChassis         []nb.HAChassis
	StaticRoutes      []nb.StaticRoute
	Policies          []nb.Policy
	NAT               []nb.NAT
	DHCPOptions       []nb.DHCPOptions
	BFD               []nb.BFD
	StaticMACBindings []nb.StaticMACBinding
}

// Balancers is the load balancing part of OVN_Northbound.
type Balancers struct {
	LoadBalancers []nb.LoadBalancer
	Groups        []nb.LoadBalancerGroup
	HealthChecks  []nb.LoadBalancerHealthCheck
}

// AccessLists is the network policy part of OVN_Northbound.
type AccessLists struct {
	ACLs        []nb.ACLBrief
	PortGroups  []nb.PortGroup
	AddressSets []nb.AddressSet
}

// Southbound is the physical network and the bindings: one consistent read of OVN_Southbound, without logical flows
// and learned rows.
type Southbound struct {
	Globals        []sb.Global
	Connections    []sb.Connection
	SSL            []sb.SSL
	Chassis        []sb.Chassis
	ChassisPrivate []sb.ChassisPrivate
	Encaps         []sb.Encap
	Datapaths      []sb.DatapathBinding
	PortBindings   []sb.PortBindingBrief
	GatewayChassis []sb.GatewayChassis
	HAGroups       []sb.HAChassisGroup
	HAChassis      []sb.HAChassis
}

// Learned is what the nodes have learned and written to OVN_Southbound.
type Learned struct {
	MACBindings     []sb.MACBinding
	FDB             []sb.FDB
	ServiceMonitors []sb.ServiceMonitor
}

// Switch is a consistent read of the node's Open_vSwitch database.
type Switch struct {
	OpenvSwitch []vswitch.OpenvSwitch
	Bridges     []vswitch.BridgeBrief
	Ports       []vswitch.PortBrief
	Interfaces  []vswitch.InterfaceBrief
	SSL         []vswitch.SSL
	Datapaths   []vswitch.Datapath
	Collectors  []vswitch.FlowSampleCollectorSet
	CTZones     []vswitch.CTZone
}

// Northbound reads the zone's Northbound.
func (z *Zone) Northbound() (*Northbound, error) { return tables[Northbound](z, z.NB) }

// Balancers reads the load balancers of the zone's Northbound.
func (z *Zone) Balancers() (*Balancers, error) { return tables[Balancers](z, z.NB) }

// AccessLists reads the policies of the zone's Northbound.
func (z *Zone) AccessLists() (*AccessLists, error) { return tables[AccessLists](z, z.NB) }

// Southbound reads the zone's Southbound.
func (z *Zone) Southbound() (*Southbound, error) { return tables[Southbound](z, z.SB) }

// Compilation reads what ovn-controller's flows depend on beside the logical flows.
func (z *Zone) Compilation() (*desired.Inputs, error) { return tables[desired.Inputs](z, z.SB) }

// Learned reads what the zone's nodes have learned.
func (z *Zone) Learned() (*Learned, error) { return tables[Learned](z, z.SB) }

// tables reads all tables of a struct from a zone's database, once.
func tables[T any](z *Zone, open func() (ovsdb.Reader, error)) (*T, error) {
	return remember(&z.memo, question{"rows of", reflect.TypeFor[T]().Name()}, func() (*T, error) {
		db, err := open()
		if err != nil {
			return nil, err
		}
		this := Database{z.Name, db.Name()}
		if t := still[T](z.d.kept, this); t != nil {
			return t, nil
		}
		var t T
		began := time.Now()
		err = ovsdb.Load(z.d.ctx, db, &t)
		z.memo.note(question{"rows of", reflect.TypeFor[T]().Name()}, time.Since(began), err)
		if err != nil {
			return nil, err
		}
		keep(z.d.kept, this, db.Status(), &t, began)
		return &t, nil
	})
}

// Structs are those that a Zone's rows of a database are read into, for [ovsdb.Touched].
func Structs(database string) []any {
	if database == "OVN_Northbound" {
		return []any{&Northbound{}, &Balancers{}, &AccessLists{}}
	}
	return []any{&Southbound{}, &desired.Inputs{}, &Learned{}}
}

// Kept is what the samples of a deployment have read of its databases, for later ones: they read only what has changed. It is safe
// for concurrent use.
type Kept struct {
	same func(database Database, at time.Time, tables []string) bool
	mu   sync.Mutex
	rows map[keptKey]keptRows
}

type keptKey struct {
	Database
	into reflect.Type
}

// A Database is one of a deployment: that of a zone by this name.
type Database struct{ Zone, Name string }

type keptRows struct {
	rows   any // *Northbound, …
	began  time.Time
	tables []string
}

// NewKept returns an empty one. Same reports whether tables of a database are surely as they were at a time.
func NewKept(same func(database Database, at time.Time, tables []string) bool) *Kept {
	return &Kept{same: same, rows: map[keptKey]keptRows{}}
}

// still returns a *T that is as it was read, nil if it has to be read.
func still[T any](k *Kept, of Database) *T {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	kept, ok := k.rows[keptKey{of, reflect.TypeFor[T]()}]
	k.mu.Unlock()
	if !ok || !k.same(of, kept.began, kept.tables) {
		return nil
	}
	return kept.rows.(*T)
}

// keep keeps rows that the leader of a cluster, or a standalone server, has replied with: the changes that are told are its.
func keep[T any](k *Kept, of Database, by ovsdb.Status, rows *T, began time.Time) {
	follows := func(structure any) bool { return reflect.TypeOf(structure) == reflect.TypeOf(rows) }
	if k == nil || by.Clustered && !by.Leader || !slices.ContainsFunc(Structs(of.Name), follows) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.rows[keptKey{of, reflect.TypeFor[T]()}] = keptRows{rows, began, ovsdb.TablesOf(rows)}
}

// First returns the first row for which is returns true, nil if none.
func First[R any](rows []R, is func(*R) bool) *R {
	for i := range rows {
		if is(&rows[i]) {
			return &rows[i]
		}
	}
	return nil
}

// Index returns rows by key; the last one wins.
func Index[K comparable, R any](rows []R, key func(*R) K) map[K]*R {
	index := make(map[K]*R, len(rows))
	for i := range rows {
		index[key(&rows[i])] = &rows[i]
	}
	return index
}
