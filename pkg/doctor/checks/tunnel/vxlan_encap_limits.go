package tunnel

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var VXLANEncapLimits = &doctor.Check{
	Name:     "vxlan-encap-limits",
	Category: "tunnel",
	Doc: `VXLAN limits the number of networks and ports

VXLAN carries 12 bits for the network and 12 for the destination port, and nothing for the source
port. One chassis that offers it limits the whole deployment to 4095 networks of 2047 ports. The
check reports limits that are near, policies that need what VXLAN does not carry, and VXLAN that
is offered but unused.`,
	Run: func(p *doctor.Pass) {
		applies := false
		for z, south := range p.Southbounds() {
			north, ok := doctor.Need(p, doctor.NorthboundObject, z.Northbound)
			if !ok {
				continue
			}
			e := facts.EncapsulationsOf(south)
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

// The limits of VXLAN on OVN's tunnel keys. Multicast groups use the other half of the port keys.
const (
	vxlanNetworks = 4095
	vxlanPorts    = 2047
	nearPercent   = 80 // percent of a limit: a warning
)

func vxlanLimits(p *doctor.Pass, z *snapshot.Zone, north *snapshot.Northbound, south *snapshot.Southbound, e facts.Encapsulations) {
	fix, next := lessVXLAN(p, north, e)
	found := false
	report := func(f doctor.Finding) {
		found = true
		f.Cause = fmt.Sprintf("%s offer%s VXLAN, which limits all", chassisNames(e.VXLAN), map[bool]string{true: "s"}[len(e.VXLAN) == 1])
		f.Fix, f.Next = fix, next
		for _, c := range e.VXLAN[:min(len(e.VXLAN), 6)] {
			f.Evidence = append(f.Evidence, doctor.SB("Encap", "").Says(c.Hostname+": types "+e.Types[c.Name]))
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
		report(doctor.Finding{
			Result:   near(n, most),
			Object:   doctor.SouthboundObject,
			Reason:   "networks",
			Title:    fmt.Sprintf("%d of the %d networks and routers that VXLAN allows are in use", n, most),
			Evidence: []doctor.Evidence{doctor.SB("Datapath_Binding", "").Says(fmt.Sprintf("%d rows; NB_Global options:max_tunid=%d", len(south.Datapaths), most))},
			Effect:   "when all are in use, ovn-northd creates no more: new networks do not work",
		})
	}
	for _, full := range fullSwitches(north) {
		report(doctor.Finding{
			Result:   near(full.ports, vxlanPorts),
			Object:   doctor.Object{Kind: "switch", Name: full.name},
			Reason:   "ports",
			Title:    fmt.Sprintf("switch %s has %d of the %d ports that VXLAN allows", full.name, full.ports, vxlanPorts),
			Evidence: []doctor.Evidence{doctor.NB("Logical_Switch", full.name).Says(fmt.Sprintf("%d ports", full.ports))},
			Effect:   "when all are in use, new ports of the switch do not work",
		})
	}
	inportPolicies(p, z, e)
	if !found && len(e.OnlyVXLAN) == 0 && minority(e) {
		report(doctor.Finding{
			Result: doctor.Warning,
			Object: doctor.NodeObject(e.VXLAN[0].Hostname),
			Reason: "unused",
			Title:  fmt.Sprintf("%s offers VXLAN, which is unused and limits the deployment to %d networks", chassisNames(e.VXLAN), most),
			Effect: "the deployment can have 4095 networks of 2047 ports, not 16 million",
		})
	}
}

// minority reports whether all chassis have Geneve and few also offer VXLAN: by mistake. If most do, it is intended.
func minority(e facts.Encapsulations) bool {
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

// lessVXLAN returns the repair that lifts the limit, or the advice.
func lessVXLAN(p *doctor.Pass, north *snapshot.Northbound, e facts.Encapsulations) (*fixes.Call, string) {
	if len(e.VXLAN) == 1 {
		if h := p.Host(e.VXLAN[0].Name); h != nil && h.Local {
			return catalog.DropVXLAN.With(), ""
		} else if h != nil {
			return catalog.DropVXLAN.With(h.Name), ""
		}
	}
	if len(e.OnlyVXLAN) == 0 && len(north.Globals) > 0 && facts.KnowsVXLANMode(north.Globals[0].Options["northd_internal_version"]) {
		return catalog.VXLANModeOff.With(), ""
	}
	return nil, fmt.Sprintf("on each of %s: ovnctl fix %s", chassisNames(e.VXLAN), catalog.DropVXLAN.Name)
}

// A fullSwitch is a switch whose number of ports is near the limit.
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

// inportPolicies reports egress pipeline rules that match the inport, which is unknown after a VXLAN tunnel.
func inportPolicies(p *doctor.Pass, z *snapshot.Zone, e facts.Encapsulations) {
	if len(e.OnlyVXLAN) == 0 {
		return // other tunnel types carry it
	}
	lists, ok := doctor.Need(p, doctor.NorthboundObject, z.AccessLists)
	if !ok {
		return
	}
	groups := map[ovsdb.UUID]string{}
	for _, g := range lists.PortGroups {
		for _, u := range g.ACLs {
			groups[u] = g.Name
		}
	}
	for _, acl := range lists.ACLs {
		if acl.Direction != "to-lport" || !strings.Contains(acl.Match, "inport") {
			continue
		}
		f := doctor.Finding{
			Result:   doctor.Warning,
			Object:   doctor.Object{Kind: "ACL", Name: string(acl.UUID)},
			Reason:   "inport",
			Title:    fmt.Sprintf("an ACL matches the source port, which VXLAN to %s does not carry", chassisNames(e.OnlyVXLAN)),
			Evidence: []doctor.Evidence{doctor.NBRow("ACL", acl.UUID, "to-lport %d '%s' %s", acl.Priority, acl.Match, acl.Action)},
			Cause:    chassisNames(e.OnlyVXLAN) + " has no tunnel type but VXLAN",
			Effect:   "the rule does not match packets from another node",
			Next:     "match the address instead of the port, or set ovn-encap-type=geneve on all nodes",
		}
		f.Concern(doctor.Object{Kind: "port group", Name: groups[acl.UUID]})
		p.Report(f)
	}
}
