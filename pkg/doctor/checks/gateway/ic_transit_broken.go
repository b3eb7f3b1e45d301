package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ICTransitBroken = &doctor.Check{
	Name:     "ic-transit-broken",
	Category: "interconnect",
	Doc: `Zones do not reach each other

Zones are joined by transit switches: each zone has one of the same name and
tunnel key, the ports of the others on it, and their gateways as remote chassis.`,
	Causes: []string{"db-not-listening-tcp", "raft-no-quorum", "northd-not-active"},
	Run: func(p *doctor.Pass) {
		keys := map[string]transitKey{}
		transits := 0
		for _, z := range p.Zones {
			transits += transitSwitches(p, z, keys)
		}
		shared := false
		for _, h := range p.Hosts {
			shared = interconnected(p, h) || shared
		}
		if transits == 0 && !shared {
			p.Skip("no transit switch: the deployment is one zone, or zones are not joined")
		}
	},
}

// A transitKey is the tunnel key that a zone has for a transit switch.
type transitKey struct {
	zone string
	key  int
}

// zoneWords is a zone in words.
func zoneWords(name string) string {
	if name == "" {
		return "this zone"
	}
	return "zone " + name
}

// transitSwitches looks at the transit switches of a zone, and counts them.
func transitSwitches(p *doctor.Pass, z *snapshot.Zone, keys map[string]transitKey) int {
	north, err := z.Northbound()
	if err != nil {
		return 0
	}
	var transits []nb.LogicalSwitch
	for _, s := range north.Switches {
		if s.OtherConfig["interconn-ts"] != "" {
			transits = append(transits, s)
		}
	}
	if len(transits) == 0 {
		return 0
	}
	south, err := z.Southbound()
	if err != nil {
		p.Unknown(doctor.Object{Kind: "zone", Name: z.Name}, fmt.Errorf("the transit switches of %s: %w", zoneWords(z.Name), err))
		return len(transits)
	}
	for _, s := range transits {
		transitTunnelKey(p, z, s, south, keys)
	}
	remotePorts(p, z, north, transits, south)
	return len(transits)
}

// transitTunnelKey compares the key of a transit switch with what it should be and
// with that of the other zones.
func transitTunnelKey(p *doctor.Pass, z *snapshot.Zone, s nb.LogicalSwitch, south *snapshot.Southbound, keys map[string]transitKey) {
	at := slices.IndexFunc(south.Datapaths, func(d sb.DatapathBinding) bool {
		return d.ExternalIDs["logical-switch"] == string(s.UUID) || d.NBUUID.Has(s.UUID)
	})
	if at < 0 {
		return // northd has not come to it: another check's finding
	}
	key, ts := south.Datapaths[at].TunnelKey, s.OtherConfig["interconn-ts"]
	f := doctor.Finding{
		Object: doctor.Object{Kind: "switch", Name: s.Name},
		Also:   []doctor.Object{{Kind: "zone", Name: z.Name}},
		Evidence: []doctor.Evidence{
			{Source: doctor.Other("Southbound Datapath_Binding of " + s.Name + " in " + zoneWords(z.Name)), Says: fmt.Sprintf("tunnel_key=%d", key)},
		},
		Effect: "packets from other zones arrive at no switch, or at another one, and are dropped",
	}
	if wanted := s.OtherConfig["requested-tnl-key"]; wanted != "" && wanted != strconv.Itoa(key) {
		f.Title = fmt.Sprintf("transit switch %s has tunnel key %d in %s, where %s is asked for", s.Name, key, zoneWords(z.Name), wanted)
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.NB("Logical_Switch", s.Name), Says: "other_config:requested-tnl-key=" + wanted})
		f.Cause = "the key is another datapath's in this zone, or ovn-northd has not come to it"
		f.Next = "ovn-sbctl find Datapath_Binding tunnel_key=" + wanted
		p.Report(f)
		return
	}
	other, known := keys[ts]
	if known && other.key != key {
		f.Title = fmt.Sprintf("transit switch %s has tunnel key %d in %s and %d in %s", ts, key, zoneWords(z.Name), other.key, zoneWords(other.zone))
		f.Cause = "one of the zones was built anew, or its ovn-ic does not run"
		f.Next = "give both the key that the interconnection has: ovn-nbctl set Logical_Switch " + s.Name + " other_config:requested-tnl-key=KEY"
		p.Report(f)
	}
	if !known {
		keys[ts] = transitKey{z.Name, key}
	}
}

// remotePorts looks whether the ports of other zones have a chassis here.
func remotePorts(p *doctor.Pass, z *snapshot.Zone, north *snapshot.Northbound, transits []nb.LogicalSwitch, south *snapshot.Southbound) {
	on := map[string]string{} // port: transit switch
	bindings := map[string]*sb.PortBindingBrief{}
	for i, b := range south.PortBindings {
		if b.Type == "remote" {
			bindings[b.LogicalPort] = &south.PortBindings[i]
		}
	}
	for _, s := range transits {
		for _, id := range s.Ports {
			on[string(id)] = s.Name
		}
	}
	for _, port := range north.SwitchPorts {
		ts := on[string(port.UUID)]
		if ts == "" || port.Type != "remote" {
			continue
		}
		b := bindings[port.Name]
		if b == nil || len(b.Chassis) > 0 {
			continue // without a binding northd has not come to it
		}
		f := doctor.Finding{
			Object:   doctor.Object{Kind: "port", Name: port.Name},
			Also:     []doctor.Object{{Kind: "switch", Name: ts}, {Kind: "zone", Name: z.Name}},
			Title:    fmt.Sprintf("port %s of another zone on transit switch %s has no chassis in %s", port.Name, ts, zoneWords(z.Name)),
			Evidence: []doctor.Evidence{{Source: doctor.SB("Port_Binding", doctor.Short(b.UUID)), Says: "type=remote chassis=[]"}},
			Cause:    "the other zone's router port has no gateway chassis, or its gateway has gone",
			Effect:   "nothing of this zone reaches that one",
			Next:     "look at the other zone: has its router port on the transit switch a gateway chassis (ovn-nbctl lrp-get-gateway-chassis), and does its ovn-ic run?",
		}
		if wanted := port.Options["requested-chassis"]; wanted != "" {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.NB("Logical_Switch_Port", port.Name), Says: "options:requested-chassis=" + wanted})
			if south.ChassisNamed(wanted) == nil {
				f.Cause = fmt.Sprintf("there is no remote chassis %s in the Southbound of %s", wanted, zoneWords(z.Name))
				f.Next = "ovn-sbctl find Chassis other_config:is-remote=true; whoever joins the zones (ovn-ic, ovnkube-cluster-manager) makes that row"
			}
		}
		p.Report(f)
	}
}

// interconnected looks at ovn-ic of a host and at what it is to bring into the zone;
// false: the host has nothing to do with it.
func interconnected(p *doctor.Pass, h *snapshot.Host) bool {
	meant, err := h.Meant("ovn-ic")
	if err != nil || len(meant) == 0 {
		return false
	}
	f := doctor.Finding{
		Object: doctor.Object{Kind: "daemon", Name: "ovn-ic", Node: h.Name},
		Also:   []doctor.Object{{Kind: "node", Name: h.Name}},
		Effect: "what changes in other zones does not come here, nor what changes here there",
	}
	d, err := h.Daemon("ovn-ic")
	switch {
	case err != nil:
		return true
	case d.Liveness != snapshot.Answers:
		f.Title = fmt.Sprintf("ovn-ic on %s %s", h.Name, d.Liveness)
		f.Evidence = []doctor.Evidence{{Source: doctor.Other("control socket of ovn-ic"), Says: string(d.Liveness)}, {Source: doctor.Other("meant to run"), Says: strings.Join(meant, ", ")}}
		f.Cause = "it was stopped, or ended on an error: see its log"
		f.Next = "systemctl start ovn-ic (or ovn-ctl start_ic, with the options that it had)"
		p.Report(f)
		return true
	}
	idleIC(p, h, f)
	ic, err := h.Interconnect()
	if err != nil {
		if !errors.Is(err, snapshot.ErrNoInterconnect) {
			p.Unknown(f.Object, fmt.Errorf("the databases of the interconnection: %w", err))
		}
		return true
	}
	for _, z := range p.Zones {
		missingFromZone(p, h, z, ic)
	}
	return true
}

// idleIC looks whether an ovn-ic that runs does its work.
func idleIC(p *doctor.Pass, h *snapshot.Host, f doctor.Finding) {
	status, err := h.Control("ovn-ic", "status")
	if err == nil && strings.Contains(status, "paused") {
		f.Title = fmt.Sprintf("ovn-ic on %s is paused", h.Name)
		f.Evidence = []doctor.Evidence{{Source: doctor.Other("status of ovn-ic on " + h.Name), Says: strings.TrimSpace(status)}}
		f.Cause = "somebody paused it and did not resume it"
		f.Next = "ovn-appctl -t ovn-ic resume"
		p.Report(f)
		return
	}
	for _, c := range []struct{ command, database string }{
		{"ic-nb-connection-status", "OVN_IC_Northbound"}, {"ic-sb-connection-status", "OVN_IC_Southbound"},
		{"nb-connection-status", "OVN_Northbound"}, {"sb-connection-status", "OVN_Southbound"},
	} {
		says, err := h.Control("ovn-ic", c.command)
		if err != nil || strings.TrimSpace(says) == "connected" {
			continue // releases before 22.03 do not have the command
		}
		f.Title = fmt.Sprintf("ovn-ic on %s is not connected to %s", h.Name, c.database)
		f.Also = append(f.Also, doctor.DatabaseObject(c.database))
		f.Evidence = []doctor.Evidence{{Source: doctor.Other(c.command + " of ovn-ic on " + h.Name), Says: strings.TrimSpace(says)}}
		f.Cause = "the server does not run, cannot be reached, or its address on the command line is wrong"
		f.Next = "start the server of " + c.database + ", or mend the address in the options of ovn-ic"
		p.Report(f)
		return
	}
}

// missingFromZone looks whether a zone has what the interconnection knows.
func missingFromZone(p *doctor.Pass, h *snapshot.Host, z *snapshot.Zone, ic *snapshot.Interconnect) {
	north, err := z.Northbound()
	if err != nil || len(north.Globals) != 1 {
		return
	}
	object := doctor.Object{Kind: "zone", Name: z.Name}
	also := []doctor.Object{{Kind: "node", Name: h.Name}}
	name := north.Globals[0].Name
	if name == "" {
		p.Report(doctor.Finding{
			Object: object, Also: also,
			Title:    "the zone has no name, so ovn-ic does nothing for it",
			Evidence: []doctor.Evidence{{Source: doctor.NB("NB_Global", ""), Says: `name=""`}},
			Cause:    "the name was never set, or was removed",
			Effect:   "the zone is not joined to the others",
			Next:     "ovn-nbctl set NB_Global . name=NAME, the same as before: ovn-ic-sbctl list Availability_Zone",
		})
		return
	}
	south, err := z.Southbound()
	if err != nil {
		return
	}
	zones := map[string]string{}
	for _, az := range ic.Zones {
		zones[string(az.UUID)] = az.Name
	}
	for _, g := range ic.Gateways {
		of := zones[string(g.Zone.Get())]
		if of == name || south.ChassisNamed(g.Name) != nil {
			continue
		}
		p.Report(doctor.Finding{
			Object: doctor.Object{Kind: "chassis", Name: g.Name}, Also: append(also, object),
			Title:    fmt.Sprintf("gateway %s (%s) of %s is no chassis of %s", g.Name, g.Hostname, zoneWords(of), zoneWords(name)),
			Evidence: []doctor.Evidence{{Source: doctor.Other("OVN_IC_Southbound Gateway " + g.Name), Says: "availability_zone=" + of}, {Source: doctor.SB("Chassis", ""), Says: "no row of that name"}},
			Cause:    "ovn-ic does not keep the zone up to date, or the row was deleted",
			Effect:   "no tunnel leads to that gateway",
			Next:     "ovn-appctl -t ovn-ic status; its log",
		})
	}
	for _, ts := range ic.Switches {
		missingSwitch(p, north, name, ts, ic, also)
	}
}

// missingSwitch compares a transit switch with the zone's copy of it.
func missingSwitch(p *doctor.Pass, north *snapshot.Northbound, zone string, ts snapshot.TransitSwitch, ic *snapshot.Interconnect, also []doctor.Object) {
	at := slices.IndexFunc(north.Switches, func(s nb.LogicalSwitch) bool { return s.OtherConfig["interconn-ts"] == ts.Name })
	f := doctor.Finding{
		Object: doctor.Object{Kind: "switch", Name: ts.Name}, Also: append(also, doctor.Object{Kind: "zone", Name: zone}),
		Cause:  "ovn-ic does not keep the zone up to date, or the row was changed by hand",
		Effect: "this zone does not reach the others over it",
		Next:   "ovn-appctl -t ovn-ic status; its log",
	}
	if at < 0 {
		f.Title = fmt.Sprintf("transit switch %s is not in %s", ts.Name, zoneWords(zone))
		f.Evidence = []doctor.Evidence{{Source: doctor.Other("OVN_IC_Northbound Transit_Switch " + ts.Name), Says: "is there"}, {Source: doctor.NB("Logical_Switch", ""), Says: "none with other_config:interconn-ts=" + ts.Name}}
		p.Report(f)
		return
	}
	for _, d := range ic.Datapaths {
		has := north.Switches[at].OtherConfig["requested-tnl-key"]
		if d.TransitSwitch != ts.Name || has == strconv.Itoa(d.TunnelKey) {
			continue
		}
		f.Title = fmt.Sprintf("transit switch %s asks for tunnel key %s in %s, and all zones use %d", ts.Name, has, zoneWords(zone), d.TunnelKey)
		f.Evidence = []doctor.Evidence{
			{Source: doctor.Other("OVN_IC_Southbound Datapath_Binding of " + ts.Name), Says: fmt.Sprintf("tunnel_key=%d", d.TunnelKey)},
			{Source: doctor.NB("Logical_Switch", north.Switches[at].Name), Says: "other_config:requested-tnl-key=" + has},
		}
		p.Report(f)
	}
}
