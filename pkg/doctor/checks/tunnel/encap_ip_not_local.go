package tunnel

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var EncapIPNotLocal = &doctor.Check{
	Name:     "encap-ip-not-local",
	Category: "tunnel",
	Doc: `A node does not have its tunnel address

ovn-encap-ip is an address that no link of the node has, or the Southbound has another one:
after a change of address, or on a clone.`,
	Causes: []string{
		"bridge-ip-lost-after-reboot", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "vswitchd-not-running", "bridge-link-down", "controller-not-running",
		"duplicate-chassis-stale", "system-id-cloned", "missing-external-ids", "sb-rbac-denied", "tls-cert-expired-or-wrong-ca",
		"clients-refuse-rebuilt-db", "raft-no-quorum",
	},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for c := range p.Chassis() {
			encapLocal(p, c)
		}
	},
}

func encapLocal(p *doctor.Pass, c *doctor.Chassis) {
	value, key := c.OVS.Setting("ovn-encap-ip", c.SystemID)
	if value == "" {
		return
	}
	network, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Network)
	if !ok {
		return
	}
	var missing, mine []string
	for s := range strings.SplitSeq(value, ",") {
		s = strings.TrimSpace(s)
		ip, err := netip.ParseAddr(s)
		if err != nil || !facts.Holds(network, ip) {
			missing = append(missing, s)
		}
		mine = append(mine, s)
	}
	f := doctor.Finding{
		Object:   doctor.NodeObject(c.Name),
		Evidence: []doctor.Evidence{doctor.Setting("external_ids:" + key).On(c.Name).Says(value)},
		Effect:   fmt.Sprintf("other nodes send packets for %s to an address that it does not have: traffic between nodes is lost", c.Name),
	}
	if c.Row != nil {
		f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: c.SystemID})
	}
	if len(missing) > 0 {
		f.Reason = "not-local"
		f.Title = fmt.Sprintf("the tunnel address %s of %s is on none of its links", strings.Join(missing, ", "), c.Name)
		f.Evidence = append(f.Evidence, doctor.Links().On(c.Name).Says(globalAddresses(network)))
		f.Cause = "the node's address changed, by DHCP or by hand, or its settings are those of another node"
		if ip, why, err := facts.EncapCandidate(p.Deployment, c.Host); err == nil && !strings.Contains(value, ",") {
			f.Evidence = append(f.Evidence, doctor.Routes().On(c.Name).Says(ip+": "+why))
			f.Fix = catalog.SetEncapIP.With(ip)
		} else {
			f.Next = "ovnctl fix set-encap-ip IP, with the address from which the other nodes are reachable"
			if err != nil {
				f.Evidence = append(f.Evidence, doctor.Routes().On(c.Name).Says(err.Error()))
			}
		}
		p.Report(f)
		return
	}
	if c.Row == nil {
		return
	}
	var there []string
	for _, e := range c.SB.EncapsOf(c.Row) {
		if !slices.Contains(there, e.IP) {
			there = append(there, e.IP)
		}
	}
	slices.Sort(mine)
	slices.Sort(there)
	if slices.Equal(slices.Compact(mine), there) {
		return
	}
	f.Reason = "southbound"
	f.Title = fmt.Sprintf("the Southbound has tunnel address %s for %s, which is set to %s", cmp.Or(strings.Join(there, ", "), "none"), c.Name, value)
	f.Evidence = append(f.Evidence, doctor.SB("Chassis", doctor.Short(c.Row.UUID)).Says("encaps "+strings.Join(there, ", ")))
	f.Cause = "ovn-controller has not written its setting, or another node writes the same row"
	f.Next = "ovn-appctl -t ovn-controller connection-status, then its log"
	p.Report(f)
}

// globalAddresses lists a node's global addresses, twelve at most.
func globalAddresses(n *node.Network) string {
	var out []string
	for _, a := range n.Addresses {
		if a.Scope == "global" {
			out = append(out, a.Prefix.String()+" on "+a.Link)
		}
	}
	return doctor.AtMost(out, 12)
}
