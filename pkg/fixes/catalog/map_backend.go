package catalog

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// MapBackend sets the logical port and the source address of a backend's health check.
var MapBackend = &fixes.Repair{
	Name: "map-backend",
	Doc: `Set the logical port and the source address of a backend's health check

Sets the backend's entry in Load_Balancer.ip_port_mappings. Without PORT it is the port
with the backend's address, without SOURCE the address from which the other ports of its
switch are checked. SOURCE must be an unused address of the switch's network.`,
	Params: []fixes.Param{
		{Name: "LOAD-BALANCER", Doc: "its name or UUID"},
		{Name: "BACKEND", Doc: "the backend's address"},
		{Name: "SOURCE", Doc: "the source address of the health check", Optional: true},
		{Name: "PORT", Doc: "the backend's logical port", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-health-check-dead",
	Plan: loadBalancers.on("LOAD-BALANCER", func(f found[nb.LoadBalancer], a fixes.Args) (*fixes.Plan, error) {
		lb := f.row
		backend, err := netip.ParseAddr(a["BACKEND"])
		if err != nil {
			return nil, fmt.Errorf("%q is not an address", a["BACKEND"])
		}
		if backends := backendsOf(lb); !slices.Contains(backends, backend.String()) {
			return nil, fmt.Errorf("load balancer %s has no backend %s; it has %s", lb.Name, backend, several(backends))
		}
		port := f.logical.PortOf(backend)
		if name := a["PORT"]; name != "" {
			if port = f.logical.SwitchPort[name]; port == nil {
				return nil, noSuch("logical switch port", name, slices.Collect(maps.Keys(f.logical.SwitchPort)))
			}
		}
		if port == nil {
			return nil, fixes.Refuse("name it", "no port, or more than one, has the address %s", backend)
		}
		bound, err := isBound(f.zone)
		if err != nil {
			return nil, err
		}
		old, mapped := facts.HealthMappings(lb)[backend]
		source, err := healthSource(f, port, backend, old.Source, bound, a["SOURCE"])
		if err != nil {
			return nil, err
		}
		key, value := backend.String(), port.Name+":"+source.String()
		if backend.Is6() {
			key, value = "["+backend.String()+"]", port.Name+":["+source.String()+"]"
		}
		if mapped {
			key = old.Key
		}
		if lb.IPPortMappings[key] == value {
			return nil, fixes.Refuse("", "backend %s is already mapped to %s", backend, value)
		}
		warnings := overwritten("load balancer "+lb.Name, lb.ExternalIDs)
		if old.Source.IsValid() && f.logical.HealthSource(port, old.Source, bound) != "" { // OVN would reply to ARP on behalf of another host
			warnings = append(warnings, fmt.Sprintf("hosts of the switch that have sent ARP requests for %[1]s keep OVN's reply for half a minute or more; in them, ip neigh flush to %[1]s is faster", old.Source))
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("check the health of backend %s of load balancer %s through port %s from %s", backend, lb.Name, port.Name, source),
			Touches:  "connections to its virtual IPs: a backend that fails the health check gets none",
			Warnings: warnings,
			Steps: []fixes.Step{fixes.Set{
				DB: "OVN_Northbound", Zone: f.zone.Name, What: fmt.Sprintf("map backend %s to port %s and source %s", backend, port.Name, source),
				Row: lb, Columns: fixes.Row{"ip_port_mappings:" + key: value},
				Guards:  []fixes.Guard{{Table: "Logical_Switch_Port", UUID: port.UUID, Columns: fixes.Row{"name": port.Name, "addresses": []string(port.Addresses)}}},
				Classic: []string{fixes.Command("ovn-nbctl set Load_Balancer %s ip_port_mappings:%s=%s", lb.UUID, strconv.Quote(key), strconv.Quote(value))},
			}.Step()},
		}, nil
	}),
}

// healthSource returns the source address of a backend's health check: the given one, else the current one if usable,
// else that of the switch's other ports.
func healthSource(f found[nb.LoadBalancer], port *nb.LogicalSwitchPortBrief, backend, old netip.Addr, bound func(string) bool, given string) (netip.Addr, error) {
	l := f.logical
	p, err := facts.PlacementOf(f.zone)
	if err != nil {
		return netip.Addr{}, err
	}
	source := l.HealthSourceFor(p.Balancers, port, backend.Is6(), bound)
	if given != "" {
		if source, err = netip.ParseAddr(given); err != nil {
			return source, fmt.Errorf("%q is not an address", given)
		}
	} else if old.IsValid() && l.HealthSource(port, old, bound) == "" {
		source = old
	}
	if !source.IsValid() {
		return source, fixes.Refuse(fixes.Command("name an unused address of its switch's network: ovnctl fix map-backend %s %s SOURCE", cmp.Or(f.row.Name, string(f.row.UUID)), backend),
			"no other port of the switch of %s has a health check, so the source address is unknown", port.Name)
	}
	if source.Is6() != backend.Is6() {
		return source, fmt.Errorf("%s is of another family than %s", source, backend)
	}
	if why := l.HealthSource(port, source, bound); why != "" {
		return source, fixes.Refuse("name an unused address of the switch's network", "%s cannot be the source of health checks: %s", source, why)
	}
	return source, nil
}

// backendsOf returns the addresses of a load balancer's backends.
func backendsOf(lb *nb.LoadBalancer) []string {
	var out []string
	for _, v := range facts.VIPs(lb) {
		for _, b := range v.Backends {
			if a := b.Addr().String(); !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
	}
	return out
}

// isBound returns a function that reports whether a chassis has bound a port of that name.
func isBound(z *snapshot.Zone) (func(string) bool, error) {
	rows, err := z.Southbound()
	if err != nil {
		return nil, fmt.Errorf("cannot tell which ports are in use: %w", err)
	}
	bound := map[string]bool{}
	for i := range rows.PortBindings {
		bound[rows.PortBindings[i].LogicalPort] = len(rows.PortBindings[i].Chassis) > 0
	}
	return func(port string) bool { return bound[port] }, nil
}
