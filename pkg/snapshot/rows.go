package snapshot

import (
	"reflect"

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
	var t T
	return read(&z.memo, question{"rows of", reflect.TypeFor[T]().Name()}, func() (*T, error) {
		db, err := open()
		if err != nil {
			return nil, err
		}
		if err := ovsdb.Load(z.d.ctx, db, &t); err != nil {
			return nil, err
		}
		return &t, nil
	})
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
