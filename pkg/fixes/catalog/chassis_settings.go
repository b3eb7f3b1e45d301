package catalog

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// setID is the step that sets a key of Open_vSwitch.external_ids; nil removes it.
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

// checkSetting is what is wrong with a value for a key, or nil.
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
		if !facts.Holds(network, ip) {
			return fixes.Refuse("add it first with ip address add, or name an address of this node", "no link of %s has address %s", h.Name, ip)
		}
	}
	return nil
}
