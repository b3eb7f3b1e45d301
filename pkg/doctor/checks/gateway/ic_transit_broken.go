package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ICTransitBroken = &doctor.Check{
	Name:     "ic-transit-broken",
	Category: "interconnect",
	Doc: `Zones do not reach each other

Transit switches connect zones: each zone has one of the same name and tunnel key, the
ports of the other zones on it, and their gateways as remote chassis.`,
	Causes: []string{"db-not-listening-tcp", "raft-no-quorum", "northd-not-active"},
	Run: func(p *doctor.Pass) {
		keys := map[string]transitKey{}
		transits := 0
		for z := range p.EachZone() {
			transits += transitSwitches(p, z, keys)
		}
		missingPorts(p)
		daemons := 0
		var ic *interconnection
		for _, h := range p.Hosts {
			if expected, err := h.Meant("ovn-ic"); err == nil && len(expected) > 0 {
				daemons++
				if read := readInterconnection(p, h, expected); ic == nil {
					ic = read
				}
			}
		}
		// A package starts ovn-ic and its databases also where nobody has connected anything.
		if ic != nil && (transits > 0 || len(ic.Switches) > 0 || len(ic.Zones) > 0) {
			for z := range p.EachZone() {
				compareZone(p, z, ic)
			}
		}
		if transits == 0 && daemons == 0 {
			p.Skip("no transit switch: there is one zone, or the zones are not connected")
		}
	},
}

// A transitKey is a zone's tunnel key for a transit switch.
type transitKey struct {
	zone string
	key  int
}

func zoneObject(name string) doctor.Object { return doctor.Object{Kind: "zone", Name: name} }

func switchObject(name string) doctor.Object { return doctor.Object{Kind: "switch", Name: name} }

// zoneLabel names a zone for people.
func zoneLabel(name string) string {
	if name == "" {
		return "this zone"
	}
	return "zone " + name
}

// transitSwitches checks the transit switches of a zone, and counts them.
func transitSwitches(p *doctor.Pass, z *snapshot.Zone, keys map[string]transitKey) int {
	north, err := z.Northbound()
	if err != nil {
		return 0
	}
	transits := slices.DeleteFunc(slices.Clone(north.Switches), func(s nb.LogicalSwitch) bool { return s.OtherConfig["interconn-ts"] == "" })
	if len(transits) == 0 {
		return 0
	}
	south, err := z.Southbound()
	if err != nil {
		p.Unknown(zoneObject(z.Name), fmt.Errorf("the transit switches of %s: %w", zoneLabel(z.Name), err))
		return len(transits)
	}
	for _, s := range transits {
		tunnelKey(p, z, s, south, keys)
	}
	remotePorts(p, z, north, transits, south)
	return len(transits)
}

// tunnelKey compares a transit switch's tunnel key with the requested one and with the other zones'.
func tunnelKey(p *doctor.Pass, z *snapshot.Zone, s nb.LogicalSwitch, south *snapshot.Southbound, keys map[string]transitKey) {
	at := slices.IndexFunc(south.Datapaths, func(d sb.DatapathBinding) bool {
		return d.ExternalIDs["logical-switch"] == string(s.UUID) || d.NBUUID.Has(s.UUID)
	})
	if at < 0 {
		return // not created by ovn-northd: another check's finding
	}
	d, ts := south.Datapaths[at], s.OtherConfig["interconn-ts"]
	f := doctor.Finding{
		Object:   switchObject(s.Name),
		Also:     []doctor.Object{zoneObject(z.Name)},
		Evidence: []doctor.Evidence{doctor.SBRow("Datapath_Binding", d.UUID, "%s in %s: tunnel_key=%d", s.Name, zoneLabel(z.Name), d.TunnelKey)},
		Effect:   "packets from other zones arrive at no switch, or at another one, and are dropped",
	}
	if requested := s.OtherConfig["requested-tnl-key"]; requested != "" && requested != strconv.Itoa(d.TunnelKey) {
		f.Reason = "key-not-granted"
		f.Title = fmt.Sprintf("transit switch %s has tunnel key %d in %s, and requests %s", s.Name, d.TunnelKey, zoneLabel(z.Name), requested)
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.NB("Logical_Switch", s.Name), Says: "other_config:requested-tnl-key=" + requested})
		f.Cause = "another datapath of this zone has the key, or ovn-northd has not caught up"
		f.Next = "ovn-sbctl find Datapath_Binding tunnel_key=" + requested
		p.Report(f)
		return
	}
	other, known := keys[ts]
	if !known {
		keys[ts] = transitKey{z.Name, d.TunnelKey}
		return
	}
	if other.key != d.TunnelKey {
		f.Reason = "keys-differ"
		f.Title = fmt.Sprintf("transit switch %s has tunnel key %d in %s and %d in %s", ts, d.TunnelKey, zoneLabel(z.Name), other.key, zoneLabel(other.zone))
		f.Cause = "one of the zones was rebuilt, or its ovn-ic does not run"
		f.Next = "give both the key that the interconnection databases have: ovn-nbctl set Logical_Switch " + s.Name + " other_config:requested-tnl-key=KEY"
		p.Report(f)
	}
}

// remotePorts reports ports of other zones that have no chassis here.
func remotePorts(p *doctor.Pass, z *snapshot.Zone, north *snapshot.Northbound, transits []nb.LogicalSwitch, south *snapshot.Southbound) {
	bindings := doctor.PortBindings(south)
	on := map[ovsdb.UUID]string{} // the transit switch of a port
	for _, s := range transits {
		for _, id := range s.Ports {
			on[id] = s.Name
		}
	}
	for _, port := range north.SwitchPorts {
		ts, b := on[port.UUID], bindings[port.Name]
		if ts == "" || port.Type != "remote" || b == nil || b.Type != "remote" || len(b.Chassis) > 0 {
			continue // without a binding, ovn-northd lags
		}
		f := doctor.Finding{
			Object:   doctor.PortObject(port.Name),
			Also:     []doctor.Object{switchObject(ts), zoneObject(z.Name)},
			Title:    fmt.Sprintf("port %s of another zone on transit switch %s has no chassis in %s", port.Name, ts, zoneLabel(z.Name)),
			Evidence: []doctor.Evidence{doctor.SBRow("Port_Binding", b.UUID, "type=remote chassis=[]")},
			Cause:    "the router port in the other zone has no gateway chassis, or its gateway was removed",
			Effect:   "nothing in this zone reaches that one",
			Next:     "in the other zone: does its router port on the transit switch have a gateway chassis (ovn-nbctl lrp-get-gateway-chassis), and does its ovn-ic run?",
		}
		if requested := port.Options["requested-chassis"]; requested != "" {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.NB("Logical_Switch_Port", port.Name), Says: "options:requested-chassis=" + requested})
			if south.ChassisNamed(requested) == nil {
				f.Cause = fmt.Sprintf("the Southbound of %s has no remote chassis %s", zoneLabel(z.Name), requested)
				f.Next = "ovn-sbctl find Chassis other_config:is-remote=true; what connects the zones (ovn-ic, ovnkube-cluster-manager) writes that row"
			}
		}
		p.Report(f)
	}
}

// A transitPort is a port of a transit switch, by what is the same in all zones.
type transitPort struct{ ts, name string }

// transitPorts returns the transit switches of a zone, and the types of their ports.
func transitPorts(z *snapshot.Zone) (map[string]*nb.LogicalSwitch, map[transitPort]string) {
	switches, types := map[string]*nb.LogicalSwitch{}, map[transitPort]string{}
	north, err := z.Northbound()
	if err != nil {
		return nil, nil
	}
	on := map[ovsdb.UUID]string{}
	for s := range doctor.Each(north.Switches) {
		if ts := s.OtherConfig["interconn-ts"]; ts != "" {
			switches[ts] = s
			for _, id := range s.Ports {
				on[id] = ts
			}
		}
	}
	for port := range doctor.Each(north.SwitchPorts) {
		if ts := on[port.UUID]; ts != "" {
			types[transitPort{ts, port.Name}] = cmp.Or(port.Type, "vif")
		}
	}
	return switches, types
}

// missingPorts reports ports that a transit switch lacks in a zone, while the zone that has the port and a third one know it.
func missingPorts(p *doctor.Pass) {
	switches := make([]map[string]*nb.LogicalSwitch, len(p.Zones))
	types := make([]map[transitPort]string, len(p.Zones))
	home, third := map[transitPort]bool{}, map[transitPort]string{}
	for i, z := range p.Zones {
		switches[i], types[i] = transitPorts(z)
		for port, kind := range types[i] {
			if kind == "remote" {
				third[port] = z.Name
			} else {
				home[port] = true
			}
		}
	}
	ports := slices.SortedFunc(maps.Keys(third), func(a, b transitPort) int { return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.name, b.name)) })
	at := 0
	for z := range p.EachZone() {
		for _, port := range ports {
			if s := switches[at][port.ts]; s != nil && home[port] && types[at][port] == "" {
				p.Report(missingPort(z, s, port, third[port]))
			}
		}
		at++
	}
}

func missingPort(z *snapshot.Zone, s *nb.LogicalSwitch, port transitPort, other string) doctor.Finding {
	return doctor.Finding{
		Object: switchObject(s.Name),
		Also:   []doctor.Object{zoneObject(z.Name), doctor.PortObject(port.name)},
		Reason: "no-port",
		Title:  fmt.Sprintf("port %s of another zone is missing on transit switch %s in %s", port.name, port.ts, zoneLabel(z.Name)),
		Evidence: []doctor.Evidence{
			doctor.NBRow("Logical_Switch", s.UUID, "%s in %s: no port %s", s.Name, zoneLabel(z.Name), port.name),
			doctor.NB("Logical_Switch_Port", port.name).Says("type=remote in " + zoneLabel(other)),
		},
		Cause:  "somebody deleted the row, or what connects the zones (ovn-ic, ovnkube) failed to write it",
		Effect: "packets of this zone to that port are dropped: it has no next hop",
		Next:   "have it written again: restart ovnkube on the node of " + zoneLabel(z.Name) + ", or ovn-ic there",
	}
}

// An interconnection holds OVN interconnection's databases, as read on the host of an ovn-ic.
type interconnection struct {
	*snapshot.Interconnect
	node doctor.Object
}

// readInterconnection reports an ovn-ic that does not work, and reads the databases; nil if unknown.
func readInterconnection(p *doctor.Pass, h *snapshot.Host, expected []string) *interconnection {
	f := doctor.Finding{
		Object: doctor.DaemonObject(h, "ovn-ic"),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Effect: "changes in other zones do not arrive here, nor changes from here there",
	}
	d, err := h.Daemon("ovn-ic")
	if err != nil {
		return nil
	}
	if d.Liveness != snapshot.Answers {
		f.Reason = "not-running"
		f.Title = fmt.Sprintf("ovn-ic of %s does not run", h.Name)
		if d.Liveness == snapshot.Hung {
			f.Reason, f.Title = "hangs", fmt.Sprintf("ovn-ic of %s does not reply", h.Name)
		}
		f.Evidence = (&doctor.SilentDaemon{Host: h, Daemon: "ovn-ic", State: d, Expected: expected}).Evidence()
		f.Cause = "it was stopped, or exited on an error: see its log"
		f.Next = "systemctl start ovn-ic (or ovn-ctl start_ic, with the options that it had)"
		p.Report(f)
		return nil
	}
	idle(p, h, f)
	ic, err := h.Interconnect()
	if err != nil && !errors.Is(err, snapshot.ErrNoInterconnect) {
		p.Unknown(f.Object, fmt.Errorf("the databases of the interconnection: %w", err))
	}
	if err != nil {
		return nil
	}
	return &interconnection{ic, doctor.NodeObject(h.Name)}
}

// idle reports an ovn-ic that runs but is paused or not connected.
func idle(p *doctor.Pass, h *snapshot.Host, f doctor.Finding) {
	status, err := h.Control("ovn-ic", "status")
	if err == nil && strings.Contains(status, "paused") {
		f.Reason = "paused"
		f.Title = fmt.Sprintf("ovn-ic of %s is paused", h.Name)
		f.Evidence = []doctor.Evidence{{Source: doctor.Reply("ovn-ic", "status").On(h.Name), Says: strings.TrimSpace(status)}}
		f.Cause = "somebody paused it and did not resume it"
		f.Next = "ovn-appctl -t ovn-ic resume"
		p.Report(f)
		return
	}
	for _, c := range []struct{ command, database string }{
		{"ic-nb-connection-status", "OVN_IC_Northbound"}, {"ic-sb-connection-status", "OVN_IC_Southbound"},
		{"nb-connection-status", "OVN_Northbound"}, {"sb-connection-status", "OVN_Southbound"},
	} {
		reply, err := h.Control("ovn-ic", c.command)
		if err != nil || strings.TrimSpace(reply) == "connected" {
			continue // releases before 22.03 lack the command
		}
		f.Reason = "not-connected"
		f.Title = fmt.Sprintf("ovn-ic of %s is not connected to %s", h.Name, c.database)
		f.Also = append(f.Also, doctor.DatabaseObject(c.database))
		f.Evidence = []doctor.Evidence{{Source: doctor.Reply("ovn-ic", c.command).On(h.Name), Says: strings.TrimSpace(reply)}}
		f.Cause = "the server does not run, is unreachable, or its address on the command line is wrong"
		f.Next = "start the server of " + c.database + ", or correct the address in the options of ovn-ic"
		p.Report(f)
		return
	}
}

// compareZone reports what the interconnection has and a zone lacks.
func compareZone(p *doctor.Pass, z *snapshot.Zone, ic *interconnection) {
	north, err := z.Northbound()
	if err != nil || len(north.Globals) != 1 {
		return
	}
	name := north.Globals[0].Name
	if name == "" {
		p.Report(doctor.Finding{
			Object:   zoneObject(z.Name),
			Also:     []doctor.Object{ic.node},
			Title:    "the zone has no name, so ovn-ic does nothing for it",
			Evidence: []doctor.Evidence{{Source: doctor.NB("NB_Global", ""), Says: `name=""`}},
			Cause:    "the name was never set, or was removed",
			Effect:   "the zone is not connected to the others",
			Next:     "ovn-nbctl set NB_Global . name=NAME, the same as before: ovn-ic-sbctl list Availability_Zone",
		})
		return
	}
	south, err := z.Southbound()
	if err != nil {
		return
	}
	zones := map[ovsdb.UUID]string{}
	for _, az := range ic.Zones {
		zones[az.UUID] = az.Name
	}
	for _, g := range ic.Gateways {
		of := zones[g.Zone.Get()]
		if of == name || south.ChassisNamed(g.Name) != nil {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.ChassisObject(g.Name),
			Also:     []doctor.Object{ic.node, zoneObject(z.Name)},
			Title:    fmt.Sprintf("gateway %s (%s) of %s is not a chassis in %s", g.Name, g.Hostname, zoneLabel(of), zoneLabel(name)),
			Evidence: []doctor.Evidence{{Source: doctor.ICSB("Gateway", g.Name), Says: "availability_zone=" + of}, {Source: doctor.SB("Chassis", ""), Says: "no row of that name"}},
			Cause:    "ovn-ic does not update the zone, or the row was deleted",
			Effect:   "no tunnel leads to that gateway",
			Next:     "ovn-appctl -t ovn-ic status; its log",
		})
	}
	for _, ts := range ic.Switches {
		compareSwitch(p, north, name, ts, ic)
	}
}

// compareSwitch compares a transit switch with the zone's copy of it.
func compareSwitch(p *doctor.Pass, north *snapshot.Northbound, zone string, ts snapshot.TransitSwitch, ic *interconnection) {
	f := doctor.Finding{
		Object: switchObject(ts.Name),
		Reason: "no-transit-switch",
		Also:   []doctor.Object{ic.node, zoneObject(zone)},
		Cause:  "ovn-ic does not update the zone, or the row was changed by hand",
		Effect: "this zone does not reach the others through it",
		Next:   "ovn-appctl -t ovn-ic status; its log",
	}
	at := slices.IndexFunc(north.Switches, func(s nb.LogicalSwitch) bool { return s.OtherConfig["interconn-ts"] == ts.Name })
	if at < 0 {
		f.Title = fmt.Sprintf("%s lacks transit switch %s", zoneLabel(zone), ts.Name)
		f.Evidence = []doctor.Evidence{{Source: doctor.ICNB("Transit_Switch", ts.Name), Says: "exists"}, {Source: doctor.NB("Logical_Switch", ""), Says: "none with other_config:interconn-ts=" + ts.Name}}
		p.Report(f)
		return
	}
	requested := north.Switches[at].OtherConfig["requested-tnl-key"]
	wrong := slices.IndexFunc(ic.Datapaths, func(d snapshot.ICDatapath) bool {
		return d.TransitSwitch == ts.Name && requested != strconv.Itoa(d.TunnelKey)
	})
	if wrong < 0 {
		return
	}
	key := ic.Datapaths[wrong].TunnelKey
	f.Reason = "requests-another-key"
	f.Title = fmt.Sprintf("transit switch %s requests tunnel key %s in %s, and the interconnection has %d", ts.Name, requested, zoneLabel(zone), key)
	f.Evidence = []doctor.Evidence{
		{Source: doctor.ICSB("Datapath_Binding", ""), Says: fmt.Sprintf("transit_switch=%s tunnel_key=%d", ts.Name, key)},
		{Source: doctor.NB("Logical_Switch", north.Switches[at].Name), Says: "other_config:requested-tnl-key=" + requested},
	}
	p.Report(f)
}
