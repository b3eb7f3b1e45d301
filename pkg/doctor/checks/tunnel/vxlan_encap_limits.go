package tunnel

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var VXLANEncapLimits = &doctor.Check{
	Name:     "vxlan-encap-limits",
	Category: "tunnel",
	Doc: `VXLAN limits how many networks and ports there can be

VXLAN carries 12 bits for the network and 12 for the port, and not the port that a
packet came from. One chassis that offers it limits the whole deployment to 4095
networks of 2047 ports. It is found where the limits are near, where a policy
rests on what VXLAN does not carry, and where nobody needs the VXLAN on offer.`,
	Run: func(p *doctor.Pass) {
		applies := false
		for z, south := range p.Southbounds() {
			north, ok := doctor.Need(p, doctor.NorthboundObject, z.Northbound)
			if !ok {
				continue
			}
			e := catalog.EncapsulationsOf(south)
			if len(e.VXLAN) == 0 || len(north.Globals) > 0 && north.Globals[0].Options["vxlan_mode"] == "false" {
				continue
			}
			applies = true
			vxlanLimits(p, z, north, south, e)
		}
		if !applies {
			p.Skip("no chassis offers VXLAN")
		}
	},
}

// What VXLAN leaves of OVN's tunnel keys. Multicast groups have the other half of the ports'.
const (
	vxlanNetworks = 4095
	vxlanPorts    = 2047
	// From nearPercent of a limit on it is told, while there is time.
	nearPercent = 80
)

func vxlanLimits(p *doctor.Pass, z *snapshot.Zone, north *snapshot.Northbound, south *snapshot.Southbound, e catalog.Encapsulations) {
	fix, next := lessVXLAN(p, north, e)
	found := false
	report := func(f doctor.Finding) {
		found = true
		f.Cause = fmt.Sprintf("%s offer%s VXLAN, and that limits all", chassisNames(e.VXLAN), map[bool]string{true: "s"}[len(e.VXLAN) == 1])
		f.Fix, f.Next = fix, next
		for _, c := range e.VXLAN[:min(len(e.VXLAN), 6)] {
			f.Evidence = append(f.Evidence, doctor.Other("Southbound Encap of "+c.Hostname).Says("types "+e.Types[c.Name]))
			f.Also = append(f.Also, doctor.NodeObject(c.Hostname))
		}
		p.Report(f)
	}
	most := vxlanNetworks
	if len(north.Globals) > 0 {
		if n, err := strconv.Atoi(north.Globals[0].Options["max_tunid"]); err == nil {
			most = n
		}
	}
	if n := max(len(south.Datapaths), len(north.Switches)+len(north.Routers)); n*100 >= most*nearPercent {
		f := doctor.Finding{
			Result:   near(n, most),
			Object:   doctor.SouthboundObject,
			Title:    fmt.Sprintf("%d networks and routers of %d that VXLAN allows", n, most),
			Evidence: []doctor.Evidence{doctor.SB("Datapath_Binding", "").Says(fmt.Sprintf("%d rows; NB_Global options:max_tunid=%d", len(south.Datapaths), most))},
			Effect:   "when they are used up, ovn-northd makes no more: new networks do not work",
		}
		report(f)
	}
	for _, full := range fullSwitches(north) {
		report(doctor.Finding{
			Result:   near(full.ports, vxlanPorts),
			Object:   doctor.Object{Kind: "switch", Name: full.name},
			Title:    fmt.Sprintf("switch %s has %d ports of %d that VXLAN allows", full.name, full.ports, vxlanPorts),
			Evidence: []doctor.Evidence{doctor.NB(full.name, "").Says(fmt.Sprintf("%d ports", full.ports))},
			Effect:   "when they are used up, ovn-northd binds no more: new ports of it do not work",
		})
	}
	inportPolicies(p, z, e)
	if !found && len(e.OnlyVXLAN) == 0 && minority(e) {
		report(doctor.Finding{
			Result: doctor.Warning,
			Object: doctor.NodeObject(e.VXLAN[0].Hostname),
			Title:  fmt.Sprintf("%s offers VXLAN, which nobody needs, and limits all to %d networks", chassisNames(e.VXLAN), most),
			Effect: "the deployment can have 4095 networks of 2047 ports, not 16 million",
		})
	}
}

// minority says that all chassis have another type in common, and few offer VXLAN
// beside it: by mistake. Where most do, it is meant.
func minority(e catalog.Encapsulations) bool {
	for _, types := range e.Types {
		if !strings.Contains(types, "geneve") {
			return false
		}
	}
	return len(e.VXLAN)*2 < len(e.Types)
}

func near(n, most int) doctor.Result {
	if n >= most {
		return doctor.Error
	}
	return doctor.Warning
}

func chassisNames(chassis []*sb.Chassis) string {
	var names []string
	for _, c := range chassis {
		names = append(names, c.Hostname)
	}
	return doctor.AtMost(names, 5)
}

// lessVXLAN is the repair that ends the limit, or what to do.
func lessVXLAN(p *doctor.Pass, north *snapshot.Northbound, e catalog.Encapsulations) (*fixes.Call, string) {
	if len(e.VXLAN) == 1 {
		if h := p.Host(e.VXLAN[0].Name); h != nil && h.Local {
			return catalog.DropVXLAN.With(), ""
		} else if h != nil {
			return catalog.DropVXLAN.With(h.Name), ""
		}
	}
	if len(e.OnlyVXLAN) == 0 && len(north.Globals) > 0 && catalog.KnowsVXLANMode(north.Globals[0].Options["northd_internal_version"]) {
		return catalog.VXLANModeOff.With(), ""
	}
	return nil, fmt.Sprintf("on each of %s: ovnctl fix %s", chassisNames(e.VXLAN), catalog.DropVXLAN.Name)
}

// A fullSwitch is a switch with nearly as many ports as there can be.
type fullSwitch struct {
	name  string
	ports int
}

func fullSwitches(north *snapshot.Northbound) []fullSwitch {
	var out []fullSwitch
	for _, ls := range north.Switches {
		if len(ls.Ports)*100 >= vxlanPorts*nearPercent {
			out = append(out, fullSwitch{ls.Name, len(ls.Ports)})
		}
	}
	return out
}

// inportPolicies finds rules of the egress pipeline that look at the port a packet
// came from. After a VXLAN tunnel that is not known.
func inportPolicies(p *doctor.Pass, z *snapshot.Zone, e catalog.Encapsulations) {
	if len(e.OnlyVXLAN) == 0 {
		return // all tunnels are of a type that carries it
	}
	lists, ok := doctor.Need(p, doctor.NorthboundObject, z.AccessLists)
	if !ok {
		return
	}
	used := map[ovsdb.UUID]string{}
	for _, g := range lists.PortGroups {
		for _, u := range g.ACLs {
			used[u] = "port group " + g.Name
		}
	}
	for _, acl := range lists.ACLs {
		if acl.Direction != "to-lport" || !strings.Contains(acl.Match, "inport") {
			continue
		}
		f := doctor.Finding{
			Result:   doctor.Warning,
			Object:   doctor.Object{Kind: "ACL", Name: string(acl.UUID)},
			Title:    fmt.Sprintf("an ACL looks at the port that a packet came from, which VXLAN to %s does not carry", chassisNames(e.OnlyVXLAN)),
			Evidence: []doctor.Evidence{doctor.NB("ACL", doctor.Short(acl.UUID)).Says(fmt.Sprintf("to-lport %d '%s' %s", acl.Priority, acl.Match, acl.Action))},
			Cause:    chassisNames(e.OnlyVXLAN) + " speaks nothing but VXLAN",
			Effect:   "the rule does not hold for packets from another node",
			Next:     "match the address instead of the port, or have all nodes speak geneve",
		}
		if g := used[acl.UUID]; g != "" {
			f.Also = append(f.Also, doctor.Object{Kind: "port group", Name: strings.TrimPrefix(g, "port group ")})
		}
		p.Report(f)
	}
}
