package cms

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var NeutronRowsMissing = &doctor.Check{
	Name:     "neutron-rows-missing",
	Category: "openstack",
	Doc: `Rows that Neutron wrote to the Northbound are missing

Checks what other rows of Neutron tell of: the NAT of each floating IP, the DHCP options of each
subnet, and the port group neutron_pg_drop, without which security groups deny nothing.`,
	Settle: true, // Neutron writes the rows of an object one by one
	Run: func(p *doctor.Pass) {
		applies := false
		for z, l := range p.Northbounds() {
			if !slices.ContainsFunc(l.Switches, func(s nb.LogicalSwitch) bool { return decode.NeutronOwns(s.Name, s.ExternalIDs) }) {
				continue
			}
			applies = true
			floatingIPs(p, l)
			dhcpOptions(p, l)
			if lists, ok := doctor.Need(p, doctor.NorthboundObject, z.AccessLists); ok {
				defaultDeny(p, l, lists)
			}
		}
		if !applies {
			p.Skip("OVN_Northbound has no network of Neutron")
		}
	},
}

const byOther = "somebody else deleted it, or Neutron failed to write it"

// floatingIPs reports floating IPs that ports have, without the NAT that translates them.
func floatingIPs(p *doctor.Pass, l *facts.Logical) {
	translated := map[string]bool{}
	for nat := range doctor.Each(l.NAT) {
		translated[nat.ExternalIP] = translated[nat.ExternalIP] || nat.Type == "dnat_and_snat"
	}
	for port := range doctor.Each(l.SwitchPorts) {
		for _, ip := range strings.Fields(port.ExternalIDs["neutron:port_fip"]) {
			if translated[ip] {
				continue
			}
			p.Report(doctor.Finding{
				Object: doctor.PortObject(port.Name),
				Reason: "floating-ip-" + ip,
				Title:  fmt.Sprintf("floating IP %s of port %s has no NAT", ip, doctor.PortLabel(port)),
				Evidence: []doctor.Evidence{
					doctor.NBRow("Logical_Switch_Port", port.UUID, "%s: external_ids:neutron:port_fip=%s", port.Name, port.ExternalIDs["neutron:port_fip"]),
					doctor.NB("NAT", "").Says("has no row with type=dnat_and_snat, external_ip=" + ip),
				},
				Cause:  byOther,
				Effect: "nothing replies at " + ip + ", and the server has another address outside",
				Next:   doctor.Rewrite(decode.Neutron) + ", or take the address from the port and give it back: openstack floating ip unset --port " + ip,
			})
		}
	}
}

// dhcpOptions reports subnets with DHCP without DHCP options. Neutron gives the metadata port of a network an address in
// each subnet that has DHCP.
func dhcpOptions(p *doctor.Pass, l *facts.Logical) {
	has := map[netip.Prefix]bool{}
	for o := range doctor.Each(l.DHCPOptions) {
		if cidr, err := netip.ParsePrefix(o.Cidr); err == nil {
			has[cidr.Masked()] = true
		}
	}
	for s := range doctor.Each(l.Switches) {
		for _, meta := range l.PortsOf[s.UUID] {
			if meta.Type != "localport" || meta.ExternalIDs["neutron:device_owner"] != "network:distributed" {
				continue
			}
			for _, text := range strings.Fields(meta.ExternalIDs["neutron:cidrs"]) {
				subnet, err := netip.ParsePrefix(text)
				if err == nil && subnet.Addr().Is4() && !has[subnet.Masked()] { // IPv6 may be without DHCP: by router advertisements
					withoutDHCP(p, l, s, meta, subnet.Masked())
				}
			}
		}
	}
}

func withoutDHCP(p *doctor.Pass, l *facts.Logical, s *nb.LogicalSwitch, meta *nb.LogicalSwitchPortBrief, subnet netip.Prefix) {
	f := doctor.Finding{
		Object: doctor.Object{Kind: "DHCP options", Name: subnet.String()},
		Reason: "dhcp",
		Also:   []doctor.Object{doctor.SwitchObject(s)},
		Title:  fmt.Sprintf("subnet %s of switch %s has no DHCP options", subnet, doctor.SwitchLabel(s)),
		Evidence: []doctor.Evidence{
			doctor.NBRow("Logical_Switch_Port", meta.UUID, "metadata port %s has an address in each subnet with DHCP: %s", meta.Name, meta.ExternalIDs["neutron:cidrs"]),
			doctor.NB("DHCP_Options", "").Says("has no row with cidr=" + subnet.String()),
		},
		Cause: byOther,
		Next:  doctor.Rewrite(decode.Neutron),
	}
	var servers []string
	for _, port := range l.PortsOf[s.UUID] {
		if strings.HasPrefix(port.ExternalIDs["neutron:device_owner"], "compute:") && addressIn(port, subnet) {
			servers = append(servers, doctor.PortLabel(port))
			f.Also = append(f.Also, doctor.PortObject(port.Name))
		}
	}
	if len(servers) == 0 {
		return // nobody asks for a lease
	}
	f.Effect = "servers get no lease: " + doctor.AtMost(servers, 5)
	p.Report(f)
}

func addressIn(port *nb.LogicalSwitchPortBrief, subnet netip.Prefix) bool {
	return slices.ContainsFunc(facts.PortAddresses(port), func(a facts.LPortAddress) bool {
		return slices.ContainsFunc(a.IPs, func(ip netip.Prefix) bool { return subnet.Contains(ip.Addr()) })
	})
}

// dropGroup holds all ports with port security; its rules drop what no security group allows.
const dropGroup = "neutron_pg_drop"

// defaultDeny reports security groups without the default deny.
func defaultDeny(p *doctor.Pass, l *facts.Logical, lists *snapshot.AccessLists) {
	secured := slices.Collect(func(yield func(*nb.LogicalSwitchPortBrief) bool) {
		for port := range doctor.Each(l.SwitchPorts) {
			if port.ExternalIDs["neutron:security_group_ids"] != "" && !yield(port) {
				return
			}
		}
	})
	if len(secured) == 0 {
		return
	}
	f := doctor.Finding{
		Object: doctor.Object{Kind: "port group", Name: dropGroup},
		Reason: "drop",
		Cause:  byOther,
		Effect: "their security groups deny nothing: all traffic is allowed",
		Next:   doctor.Rewrite(decode.Neutron),
	}
	at := slices.IndexFunc(lists.PortGroups, func(g nb.PortGroup) bool { return g.Name == dropGroup })
	if at < 0 {
		f.Title = fmt.Sprintf("%d ports have security groups, and the port group %s, which drops what they do not allow, does not exist", len(secured), dropGroup)
		f.Evidence = []doctor.Evidence{doctor.NB("Port_Group", "").Says("has no row named " + dropGroup)}
		p.Report(f)
		return
	}
	g := &lists.PortGroups[at]
	row := doctor.NBRow("Port_Group", g.UUID, "%s: %d ports, %d rules", g.Name, len(g.Ports), len(g.ACLs))
	if open := undenied(g, lists); len(open) > 0 {
		f.Title = fmt.Sprintf("the port group %s has no rule that drops traffic %s ports", dropGroup, strings.Join(open, " and "))
		f.Evidence = []doctor.Evidence{row}
		p.Report(f)
		return
	}
	member := make(map[ovsdb.UUID]bool, len(g.Ports))
	for _, id := range g.Ports {
		member[id] = true
	}
	var outside []string
	for _, port := range secured {
		if !member[port.UUID] && len(port.PortSecurity) > 0 {
			outside = append(outside, doctor.PortLabel(port))
			f.Also = append(f.Also, doctor.PortObject(port.Name))
		}
	}
	if len(outside) > 0 {
		f.Title = fmt.Sprintf("not in the port group %s although they have security groups: %s", dropGroup, doctor.AtMost(outside, 5))
		f.Evidence = []doctor.Evidence{row}
		p.Report(f)
	}
}

// undenied returns the directions that no rule of a group drops: "from", "to".
func undenied(g *nb.PortGroup, lists *snapshot.AccessLists) []string {
	drops := map[string]bool{}
	for acl := range doctor.Each(lists.ACLs) {
		if acl.Action == "drop" && slices.Contains(g.ACLs, acl.UUID) {
			drops[acl.Direction] = true
		}
	}
	var open []string
	for _, word := range []string{"from", "to"} {
		if !drops[word+"-lport"] {
			open = append(open, word)
		}
	}
	return open
}
