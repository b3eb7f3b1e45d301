package doctor

import (
	"errors"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Chassis is a node that runs ovn-controller, or should.
type Chassis struct {
	*snapshot.Host
	OVS      *snapshot.Switch
	SystemID string               // empty if it has none
	Bridge   string               // the integration bridge
	SB       *snapshot.Southbound // nil if not read
	Row      *sb.Chassis          // nil if the Southbound has no such row, or was not read
}

// OnChassis is the Host of a check that looks at nodes which should run OVN. One whose Open_vSwitch database cannot be read is reported as
// unknown.
func OnChassis(look func(*Pass, *Chassis)) func(*Pass, *snapshot.Host) {
	return On("no node that runs OVN can be read from here", (*Pass).ChassisOf, look)
}

// ChassisOf returns what a host that should run OVN is; applies if it should. If that cannot be read the host is reported as unknown.
func (p *Pass) ChassisOf(h *snapshot.Host) (c *Chassis, applies bool) {
	sw, err := h.Switch()
	if errors.Is(err, node.ErrUnavailable) {
		return nil, false
	}
	if err != nil {
		p.Unknown(NodeObject(h.Name), err)
		return nil, false
	}
	name, _, err := h.ChassisName()
	if err != nil {
		p.Unknown(NodeObject(h.Name), err)
		return nil, false
	}
	c = &Chassis{Host: h, OVS: sw, SystemID: name, Bridge: sw.IntegrationBridge(name)}
	if c.SB = SouthboundOf(h); c.SB != nil {
		c.Row = c.SB.ChassisNamed(name)
	}
	if c.Row == nil && !sw.RunsOVN() && !ControllerReplies(h) {
		return nil, false
	}
	return c, true
}

// Southbound returns the Southbound of the node's zone, or why it was not read.
func (c *Chassis) Southbound() (*snapshot.Southbound, error) {
	z := c.Zone()
	if z == nil {
		return nil, fmt.Errorf("the databases of node %s's zone are not known: give them with --nb and --sb", c.Name)
	}
	return z.Southbound()
}

// SouthboundOf returns the Southbound of a host's zone; nil if not read.
func SouthboundOf(h *snapshot.Host) *snapshot.Southbound {
	z := h.Zone()
	if z == nil {
		return nil
	}
	rows, err := z.Southbound()
	if err != nil {
		return nil
	}
	return rows
}

// PortBindings maps logical ports to rows of Port_Binding.
func PortBindings(s *snapshot.Southbound) map[string]*sb.PortBindingBrief {
	return Index(s.PortBindings, func(b *sb.PortBindingBrief) string { return b.LogicalPort })
}

// ChassisLabel names a chassis for people: its hostname, and its name where that differs.
func ChassisLabel(c *sb.Chassis) string {
	if c.Hostname == "" || c.Hostname == c.Name {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Hostname, c.Name)
}

// ChassisLabelOf returns the label of the chassis with a UUID.
func ChassisLabelOf(s *snapshot.Southbound, id ovsdb.UUID) string {
	for c := range Each(s.Chassis) {
		if c.UUID == id {
			return ChassisLabel(c)
		}
	}
	return "removed chassis " + Short(id)
}
