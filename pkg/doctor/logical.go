package doctor

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// logicals calls f for each zone whose Northbound can be read; of the others it
// is unknown what the check asks.
func (p *Pass) logicals(f func(*snapshot.Zone, *snapshot.Logical)) {
	for _, z := range p.Zones {
		l, err := z.Logical()
		if err != nil {
			p.Unknown(Object{Kind: "database", Name: "OVN_Northbound"}, err)
			continue
		}
		f(z, l)
	}
}

// nbRow is evidence from a row of the Northbound.
func nbRow(table string, id ovsdb.UUID, format string, args ...any) Evidence {
	return Evidence{Source: fmt.Sprintf("Northbound %s %.8s", table, id), Says: fmt.Sprintf(format, args...)}
}

// sbRow is evidence from a row of the Southbound.
func sbRow(table string, id ovsdb.UUID, format string, args ...any) Evidence {
	return Evidence{Source: fmt.Sprintf("Southbound %s %.8s", table, id), Says: fmt.Sprintf(format, args...)}
}

// named is the name of a row with the one that people gave it in Neutron.
func named(name string, ids map[string]string) string {
	for _, key := range []string{"neutron:port_name", "neutron:network_name", "neutron:router_name"} {
		if friendly := ids[key]; friendly != "" && friendly != name {
			return name + " (" + friendly + ")"
		}
	}
	return name
}

func namedSwitch(s *nb.LogicalSwitch) string { return named(s.Name, s.ExternalIDs) }
func namedRouter(r *nb.LogicalRouter) string { return named(r.Name, r.ExternalIDs) }
func namedPort(p *nb.LogicalSwitchPortBrief) string {
	return named(p.Name, pick(p.ExternalIDs, "neutron:port_name"))
}

// pick is one key of a map, as a map.
func pick(m map[string]string, key string) map[string]string { return map[string]string{key: m[key]} }

// boundTo is the node that holds each logical port, by the port's name; of ports
// that nobody holds there is none. Without a Southbound, or with one that ovn-northd
// has not written yet, it is nil.
func boundTo(z *snapshot.Zone) map[string]string {
	rows, err := z.Southbound()
	if err != nil || len(rows.PortBindings) == 0 {
		return nil
	}
	chassis := make(map[ovsdb.UUID]string, len(rows.Chassis))
	for i := range rows.Chassis {
		c := &rows.Chassis[i]
		chassis[c.UUID] = c.Hostname
		if c.Hostname == "" {
			chassis[c.UUID] = c.Name
		}
	}
	bound := make(map[string]string, len(rows.PortBindings))
	for i := range rows.PortBindings {
		b := &rows.PortBindings[i]
		if len(b.Chassis) > 0 {
			bound[b.LogicalPort] = chassis[b.Chassis[0]]
		}
	}
	return bound
}

// on are the objects of a port and of the node that holds it.
func on(port, node string) []Object {
	also := []Object{{Kind: "port", Name: port}}
	if node != "" {
		also = append(also, Object{Kind: "node", Name: node})
	}
	return also
}
