package catalog

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// setID returns the step that sets a key of Open_vSwitch.external_ids; nil removes it.
func setID(sw *snapshot.Switch, key string, value any, what string) fixes.Step {
	return idSet(sw, key, value, what).Step()
}

func idSet(sw *snapshot.Switch, key string, value any, what string) fixes.Set {
	return fixes.Set{
		DB: "Open_vSwitch", What: what,
		Row: &sw.OpenvSwitch[0], Name: ".", Columns: fixes.Row{"external_ids:" + key: value},
	}
}

func listProposals(ps []facts.Proposal) string {
	return strings.Join(namesOf(ps, func(p facts.Proposal) string { return fmt.Sprintf("%s (%s)", p.Value, p.From) }), ", ")
}

// checkSetting returns what is wrong with a value for a key, or nil.
func checkSetting(h *snapshot.Host, key, value string) error {
	switch key {
	case "system-id":
		if strings.ContainsAny(value, " \t\n,") {
			return fmt.Errorf("system-id %q: it must be one word", value)
		}
	case "ovn-remote":
		return ovsdb.CheckRemotes(value)
	case "ovn-encap-type":
		for t := range strings.SplitSeq(value, ",") {
			if t != "geneve" && t != "vxlan" {
				return fmt.Errorf("ovn-encap-type %q: ovn-controller knows geneve and vxlan", t)
			}
		}
	case "ovn-encap-ip":
		return checkEncapIPs(h, value)
	}
	return nil
}

func checkEncapIPs(h *snapshot.Host, value string) error {
	network, err := h.Network()
	if err != nil {
		return err
	}
	for s := range strings.SplitSeq(value, ",") {
		ip, err := netip.ParseAddr(strings.TrimSpace(s))
		if err != nil {
			return fmt.Errorf("ovn-encap-ip %q is not an address", s)
		}
		if facts.Holder(network, ip) == nil {
			return fixes.Refuse("add it first with ip address add, or name an address of this node", "no link of %s has address %s", h.Name, ip)
		}
	}
	return nil
}

// chassisNamed finds a chassis by system-id, or by a unique hostname.
func chassisNamed(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Southbound, *sb.Chassis, error) {
	var names []string
	var zone *snapshot.Zone
	var rows *snapshot.Southbound
	var found []*sb.Chassis
	for _, z := range d.Zones {
		south, err := z.Southbound()
		if err != nil {
			return nil, nil, nil, err
		}
		if c := south.ChassisNamed(name); c != nil {
			return z, south, c, nil
		}
		names = append(names, namesOf(south.Chassis, chassisText)...)
		for i := range south.Chassis {
			if c := &south.Chassis[i]; c.Hostname == name {
				zone, rows, found = z, south, append(found, c)
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, nil, nil, fmt.Errorf("no chassis %q; there are %s", name, several(names))
	case 1:
		return zone, rows, found[0], nil
	}
	return nil, nil, nil, fmt.Errorf("%d chassis have the hostname %s: name one of %s by its system-id", len(found), name, several(names))
}

// chosenChassis returns the chassis that a person names, else the intended one.
func chosenChassis(rows *snapshot.Southbound, wanted string, meant *sb.Chassis) (*sb.Chassis, error) {
	var names []string
	for c := range rows.OwnChassis() {
		names = append(names, chassisText(*c))
	}
	switch {
	case wanted == "" && meant == nil:
		return nil, fixes.Refuse("name it; there are "+several(names), "nothing shows which chassis is meant")
	case wanted == "":
		return meant, nil
	}
	if c := rows.ChassisNamed(wanted); c != nil {
		return c, nil
	}
	if c := facts.ChassisMeant(rows, wanted); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("no chassis %q; there are %s", wanted, several(names))
}

// chassisText formats a chassis: its system-id and hostname.
func chassisText(c sb.Chassis) string { return fmt.Sprintf("%s (%s)", c.Name, c.Hostname) }
