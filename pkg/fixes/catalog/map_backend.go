package catalog

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// MapBackend says by which port and from which address a backend's health is watched.
var MapBackend = &fixes.Repair{
	Name: "map-backend",
	Doc: `Say by which port and from which address the health of a backend is watched

Sets the backend's entry in Load_Balancer.ip_port_mappings. Without PORT it is the port that
has the backend's address, without SOURCE the address from which the other ports of its
switch are watched. SOURCE has to be an address of the switch's network that nobody has.`,
	Params: []fixes.Param{
		{Name: "LOAD-BALANCER", Doc: "its name or UUID"},
		{Name: "BACKEND", Doc: "the backend's address"},
		{Name: "SOURCE", Doc: "the address that asks", Optional: true},
		{Name: "PORT", Doc: "the backend's logical port", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-health-check-dead",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, l, at, lb, err := findLoadBalancer(d, a["LOAD-BALANCER"])
		if err != nil {
			return nil, err
		}
		backend, err := netip.ParseAddr(a["BACKEND"])
		if err != nil {
			return nil, fmt.Errorf("%q is no address", a["BACKEND"])
		}
		if !isBackend(snapshot.VIPs(lb), backend) {
			return nil, fmt.Errorf("load balancer %s has no backend %s; it has %s", lb.Name, backend, several(backendsOf(snapshot.VIPs(lb))))
		}
		port := l.PortOf(backend)
		if name := a["PORT"]; name != "" {
			if port = l.SwitchPort[name]; port == nil {
				return nil, fmt.Errorf("no logical switch port %q", name)
			}
		}
		if port == nil {
			return nil, fixes.Refuse("name it", "no port, or more than one, has the address %s", backend)
		}
		bound, err := isBound(z)
		if err != nil {
			return nil, err
		}
		old, mapped := snapshot.HealthMappings(lb)[backend]
		source := l.HealthSourceFor(at.Balancers, port, backend.Is6(), bound)
		if text := a["SOURCE"]; text != "" {
			if source, err = netip.ParseAddr(text); err != nil {
				return nil, fmt.Errorf("%q is no address", text)
			}
		} else if mapped && old.Source.IsValid() && l.HealthSource(port, old.Source, bound) == "" {
			source = old.Source
		}
		if !source.IsValid() {
			return nil, fixes.Refuse(fmt.Sprintf("name a free address of its switch's network: ovnctl fix map-backend %s %s SOURCE", nameOrUUID(lb.Name, lb.UUID), backend),
				"no other port of the switch of %s is watched, so that the address to ask from is not known", port.Name)
		}
		if source.Is6() != backend.Is6() {
			return nil, fmt.Errorf("%s is of another family than %s", source, backend)
		}
		if why := l.HealthSource(port, source, bound); why != "" {
			return nil, fixes.Refuse("name a free address of the switch's network", "health cannot be watched from %s: %s", source, why)
		}
		key, value := backend.String(), port.Name+":"+source.String()
		if backend.Is6() {
			key, value = "["+backend.String()+"]", port.Name+":["+source.String()+"]"
		}
		if mapped {
			key = old.Key
		}
		was, has := lb.IPPortMappings[key]
		if was == value {
			return nil, fixes.Refuse("", "backend %s is watched by %s", backend, value)
		}
		before := fixes.Row{"ip_port_mappings:" + key: nil}
		if has {
			before["ip_port_mappings:"+key] = was
		}
		warnings := overwritten("load balancer "+lb.Name, lb.ExternalIDs)
		if old.Source.IsValid() && l.HealthSource(port, old.Source, bound) != "" { // OVN answered for somebody
			warnings = append(warnings, fmt.Sprintf("hosts of the switch that have asked for %[1]s meanwhile keep OVN's answer for half a minute or more; in them, ip neigh flush to %[1]s is sooner", old.Source))
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("watch backend %s of load balancer %s by port %s from %s", backend, lb.Name, port.Name, source),
			Touches:  "connections to its virtual addresses: a backend that does not answer the watch gets none",
			Warnings: warnings,
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("map backend %s to port %s and source %s", backend, port.Name, source),
				Changes: []fixes.Change{{Table: "Load_Balancer", UUID: lb.UUID, Before: before, After: fixes.Row{"ip_port_mappings:" + key: value}}},
				Guards:  []fixes.Guard{{Table: "Logical_Switch_Port", UUID: port.UUID, Columns: fixes.Row{"name": port.Name, "addresses": []string(port.Addresses)}}},
				Classic: []string{fixes.Command("ovn-nbctl set Load_Balancer %s ip_port_mappings:%s=%s", lb.UUID, strconv.Quote(key), strconv.Quote(value))},
			}},
		}, nil
	},
}

// isBound says of a port's name whether a chassis holds it.
func isBound(z *snapshot.Zone) (func(string) bool, error) {
	rows, err := z.Southbound()
	if err != nil {
		return nil, fmt.Errorf("which ports are in use: %w", err)
	}
	bound := map[string]bool{}
	for i := range rows.PortBindings {
		bound[rows.PortBindings[i].LogicalPort] = len(rows.PortBindings[i].Chassis) > 0
	}
	return func(port string) bool { return bound[port] }, nil
}
