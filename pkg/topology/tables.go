package topology

import (
	"context"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// The tables of each database, read in one transaction. Logical_Flow is not
// among them, nor is anything that grows with traffic.

type nbTables struct {
	Switches      []nb.LogicalSwitch
	SwitchPorts   []nb.LogicalSwitchPort
	Routers       []nb.LogicalRouter
	RouterPorts   []nb.LogicalRouterPort
	LoadBalancers []nb.LoadBalancer
	Groups        []nb.LoadBalancerGroup
	NATs          []nb.NAT
	ACLs          []nb.ACL
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

// sbServices are needed only where no Northbound says the same.
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
}

// A zoneData is what could be read of one zone; a nil part could not be.
type zoneData struct {
	name     string
	nb       *nbTables
	sb       *sbTables
	services *sbServices
}

// A nodeData is what could be read of one node.
type nodeData struct {
	name string
	zone string
	vs   *vsTables
}

func readZone(ctx context.Context, name string, north, south ovsdb.Reader) (zoneData, []error) {
	z := zoneData{name: name}
	var errs []error
	if north != nil {
		z.nb = new(nbTables)
		if err := ovsdb.Load(ctx, north, z.nb); err != nil {
			z.nb = nil
			errs = append(errs, unread(north, err))
		}
	}
	if south == nil {
		return z, errs
	}
	z.sb = new(sbTables)
	if err := ovsdb.Load(ctx, south, z.sb); err != nil {
		z.sb = nil
		return z, append(errs, unread(south, err))
	}
	if z.nb == nil {
		z.services = new(sbServices)
		if err := ovsdb.Load(ctx, south, z.services); err != nil {
			z.services = nil
			errs = append(errs, unread(south, err))
		}
	}
	return z, errs
}

func unread(r ovsdb.Reader, err error) error {
	return fmt.Errorf("%s at %s: %w", r.Name(), r.Origin(), err)
}
