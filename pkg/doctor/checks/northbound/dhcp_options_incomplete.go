package northbound

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

var DHCPOptionsIncomplete = &doctor.Check{
	Name:     "dhcp-options-incomplete",
	Category: "dhcp",
	Doc: `A port gets no DHCP reply: its DHCP options are incomplete

ovn-northd writes no DHCP flows for a port whose DHCP_Options lack a required key, or whose
address is not in their network. Only its log shows that.`,
	Causes: []string{"northd-not-active"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for _, l := range p.Northbounds() {
			d := dhcp{Pass: p, l: l, users: map[ovsdb.UUID][]*nb.LogicalSwitchPortBrief{}}
			d.gather()
			d.incomplete()
			d.addresses()
			d.without()
		}
	},
}

// dhcp holds the DHCP options of a zone and the ports that use them.
type dhcp struct {
	*doctor.Pass
	l     *facts.Logical
	users map[ovsdb.UUID][]*nb.LogicalSwitchPortBrief // of each DHCP_Options row
	rows  map[ovsdb.UUID]*nb.DHCPOptions
}

func (d *dhcp) gather() {
	d.rows = doctor.Index(d.l.DHCPOptions, func(o *nb.DHCPOptions) ovsdb.UUID { return o.UUID })
	for p := range doctor.Each(d.l.SwitchPorts) {
		if facts.Off(p.Enabled) {
			continue
		}
		for _, ids := range []ovsdb.Set[ovsdb.UUID]{p.DHCPv4Options, p.DHCPv6Options} {
			for _, id := range ids {
				d.users[id] = append(d.users[id], p)
			}
		}
	}
}

// incomplete reports options in use that lack a required key.
func (d *dhcp) incomplete() {
	for o := range doctor.Each(d.l.DHCPOptions) {
		users := d.users[o.UUID]
		if len(users) == 0 {
			continue
		}
		faults := facts.DHCPFaults(o)
		if len(faults) == 0 {
			d.noRouter(o, users)
			continue
		}
		var says []string
		for _, key := range slices.Sorted(maps.Keys(faults)) {
			says = append(says, key+" "+faults[key])
		}
		f := doctor.Finding{
			Object:   doctor.Object{Kind: "DHCP options", Name: dhcpName(d.l, o)},
			Reason:   "required",
			Title:    fmt.Sprintf("the DHCP options of %s cannot be used: %s", o.Cidr, strings.Join(says, ", ")),
			Evidence: []doctor.Evidence{dhcpRow(o)},
			Cause:    "OVN replies only if all required options are set: server_id, server_mac and lease_time, for DHCPv6 server_id",
			Effect:   fmt.Sprintf("%s get no lease", portsInWords(users)),
			Also:     portObjectsOf(users),
		}
		proposal := d.l.DHCPProposal(o)
		complete := true
		for key := range faults {
			complete = complete && proposal[key] != ""
		}
		if complete {
			f.Fix = catalog.CompleteDHCPOptions.With(dhcpName(d.l, o))
		} else {
			f.Next = fmt.Sprintf(`ovn-nbctl set DHCP_Options %s options:%s='"…"'`, o.UUID, slices.Sorted(maps.Keys(faults))[0])
		}
		d.Report(f)
	}
}

// dhcpName returns a row's network, or its UUID if several rows share the network.
func dhcpName(l *facts.Logical, o *nb.DHCPOptions) string {
	for other := range doctor.Each(l.DHCPOptions) {
		if other.UUID != o.UUID && other.Cidr == o.Cidr {
			return string(o.UUID)
		}
	}
	return o.Cidr
}

func dhcpRow(o *nb.DHCPOptions) doctor.Evidence {
	var options []string
	for _, key := range slices.Sorted(maps.Keys(o.Options)) {
		options = append(options, key+"="+o.Options[key])
	}
	return doctor.NBRow("DHCP_Options", o.UUID, "cidr=%s, options: %s", o.Cidr, strings.Join(options, " "))
}

func portsInWords(ports []*nb.LogicalSwitchPortBrief) string {
	var names []string
	for _, p := range ports {
		names = append(names, doctor.PortLabel(p))
	}
	return map[bool]string{true: "port ", false: "ports "}[len(names) == 1] + doctor.AtMost(names, 5)
}

func portObjectsOf(ports []*nb.LogicalSwitchPortBrief) []doctor.Object {
	var out []doctor.Object
	for _, p := range ports {
		out = append(out, doctor.PortObject(p.Name))
	}
	return out
}

// noRouter reports options without a router although the switch has one.
func (d *dhcp) noRouter(o *nb.DHCPOptions, users []*nb.LogicalSwitchPortBrief) {
	subnet, err := netip.ParsePrefix(o.Cidr)
	if err != nil || subnet.Addr().Is6() || o.Options["router"] != "" || strings.Contains(o.Options["classless_static_route"], "0.0.0.0/0") {
		return
	}
	s := d.l.SwitchOf[users[0].UUID]
	if s == nil {
		return
	}
	for _, g := range d.l.Gateways(s) {
		for _, n := range facts.Networks(g) {
			if !subnet.Contains(n.Addr()) {
				continue
			}
			d.Report(doctor.Finding{
				Result:   doctor.Warning,
				Object:   doctor.Object{Kind: "DHCP options", Name: dhcpName(d.l, o)},
				Also:     portObjectsOf(users),
				Reason:   "router",
				Title:    fmt.Sprintf("the DHCP options of %s name no router, but switch %s has one: %s", o.Cidr, doctor.SwitchLabel(s), n.Addr()),
				Evidence: []doctor.Evidence{dhcpRow(o), doctor.NBRow("Logical_Router_Port", g.UUID, "%s: networks=%v", g.Name, []string(g.Networks))},
				Cause:    "option router is missing; only an isolated network needs none",
				Effect:   fmt.Sprintf("%s get no default route", portsInWords(users)),
				Next:     fmt.Sprintf(`ovn-nbctl set DHCP_Options %s options:router='"%s"'`, o.UUID, n.Addr()),
			})
			return
		}
	}
}

// addresses reports ports whose address is outside their options' network.
func (d *dhcp) addresses() {
	for p := range doctor.Each(d.l.SwitchPorts) {
		if facts.Off(p.Enabled) {
			continue
		}
		for _, ids := range []ovsdb.Set[ovsdb.UUID]{p.DHCPv4Options, p.DHCPv6Options} {
			o := d.rows[ids.Get()]
			if o == nil || facts.Serves(o, p) {
				continue
			}
			cidr, err := netip.ParsePrefix(o.Cidr)
			if err != nil {
				continue // reported with the options
			}
			f := doctor.Finding{
				Object: doctor.PortObject(p.Name),
				Reason: map[bool]string{true: "address4", false: "address6"}[cidr.Addr().Is4()],
				Title:  fmt.Sprintf("port %s has no address in %s, the network of its DHCP options", doctor.PortLabel(p), o.Cidr),
				Evidence: []doctor.Evidence{
					doctor.NBRow("Logical_Switch_Port", p.UUID, "%s: addresses=%q", p.Name, []string(p.Addresses)), dhcpRow(o)},
				Cause:  "OVN leases a port the address in its column addresses, if that is in the network of its options",
				Effect: "it gets no lease",
			}
			if right := d.l.DHCPOptionsFor(p); right != nil && right != o && strings.Contains(right.Cidr, ":") == cidr.Addr().Is6() {
				f.Fix = catalog.SetDHCPOptions.With(p.Name)
			} else {
				f.Next = fixes.Command("give the port an address of %s: ovn-nbctl lsp-set-addresses %s 'MAC ADDRESS', or other options", o.Cidr, p.Name)
			}
			d.Report(f)
		}
	}
}

// without reports the only port of a switch without DHCPv4 options.
func (d *dhcp) without() {
	for s := range doctor.Each(d.l.Switches) {
		var bare []*nb.LogicalSwitchPortBrief
		with := 0
		for _, p := range d.l.PortsOf[s.UUID] {
			switch {
			case p.Type != "" || facts.Off(p.Enabled) || len(facts.PortAddresses(p)) == 0 || !isServer(p):
			case len(p.DHCPv4Options) > 0:
				with++
			default:
				bare = append(bare, p)
			}
		}
		if len(bare) != 1 || with < 3 {
			continue
		}
		p := bare[0]
		o := d.l.DHCPOptionsFor(p)
		if o == nil {
			continue
		}
		d.Report(doctor.Finding{
			Result: doctor.Warning,
			Object: doctor.PortObject(p.Name),
			Also:   []doctor.Object{doctor.SwitchObject(s)},
			Reason: "none",
			Title:  fmt.Sprintf("port %s has no DHCP options; all %d other ports of switch %s have", doctor.PortLabel(p), with, doctor.SwitchLabel(s)),
			Evidence: []doctor.Evidence{
				doctor.NBRow("Logical_Switch_Port", p.UUID, "%s: addresses=%q, dhcpv4_options=[]", p.Name, []string(p.Addresses)), dhcpRow(o)},
			Cause:  "they were removed, or DHCP was disabled for this port on purpose",
			Effect: "it gets no lease",
			Fix:    catalog.SetDHCPOptions.With(p.Name),
		})
	}
}

// isServer reports whether a host boots from a port; of Neutron's ports only servers do.
func isServer(p *nb.LogicalSwitchPortBrief) bool {
	owner := p.ExternalIDs["neutron:device_owner"]
	return owner == "" || strings.HasPrefix(owner, "compute:")
}
