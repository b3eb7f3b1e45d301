package northbound

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var PortAdministrativelyDisabled = &doctor.Check{
	Name:     "port-administratively-disabled",
	Category: "nb",
	Doc: `A logical port or router is disabled

Logical_Switch_Port.enabled, Logical_Router_Port.enabled or Logical_Router.enabled
is false. The port is still shown as up. Neutron's ports are as their users want them:
one that is disabled is reported to those who ask about it, as in ovnctl doctor PORT.`,
	Run: doctor.Over2((*doctor.Pass).Northbounds, disabled),
}

const byOperator = "an operator or the CMS disabled it"

func disabled(p *doctor.Pass, z *snapshot.Zone, l *facts.Logical) {
	bound := doctor.NodeByPort(z)
	for port := range doctor.Each(l.SwitchPorts) {
		if facts.Off(port.Enabled) && !disabledByDesign(l, port) {
			disabledPort(p, port, bound)
		}
	}
	for port := range doctor.Each(l.RouterPorts) {
		if !facts.Off(port.Enabled) {
			continue
		}
		f := doctor.Finding{
			Object:   doctor.PortObject(port.Name),
			Title:    fmt.Sprintf("router port %s is disabled", port.Name),
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Router_Port", port.UUID, "enabled=false, networks=%v", port.Networks)},
			Cause:    byOperator,
			Effect:   "hosts behind this port do not reach the router: their gateway does not reply",
			Fix:      catalog.EnablePort.With(port.Name),
		}
		if r := l.RouterOf[port.UUID]; r != nil {
			f.Title = fmt.Sprintf("port %s of router %s is disabled", port.Name, doctor.RouterLabel(r))
			f.Also = append(f.Also, doctor.RouterObject(r))
		}
		for _, peer := range l.Links[port.Name] {
			f.Also = append(f.Also, doctor.PortObject(peer.Name))
			f.Concern(doctor.SwitchObject(l.SwitchOf[peer.UUID]))
		}
		p.Report(f)
	}
	for r := range doctor.Each(l.Routers) {
		if !facts.Off(r.Enabled) {
			continue
		}
		f := doctor.Finding{
			Object:   doctor.RouterObject(r),
			Title:    fmt.Sprintf("router %s is disabled", doctor.RouterLabel(r)),
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Router", r.UUID, "enabled=false")},
			Cause:    byOperator,
			Effect:   "nothing passes it: OVN writes no flows for it",
			Fix:      catalog.EnableRouter.With(r.Name),
		}
		for _, port := range l.RouterPortsOf[r.UUID] {
			f.Also = append(f.Also, doctor.PortObject(port.Name))
			for _, peer := range l.Links[port.Name] {
				f.Also = append(f.Also, doctor.PortObject(peer.Name))
			}
		}
		p.Report(f)
	}
}

func disabledPort(p *doctor.Pass, port *nb.LogicalSwitchPortBrief, bound map[string]string) {
	f := doctor.Finding{
		Object:   doctor.PortObject(port.Name),
		Title:    fmt.Sprintf("port %s is disabled", doctor.PortLabel(port)),
		Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", port.UUID, "enabled=false, up=%v", port.Up.Get())},
		Cause:    byOperator,
		Effect:   "all its packets are dropped, although it is shown as up",
		Fix:      catalog.EnablePort.With(port.Name),
	}
	if decode.NeutronOwns("", port.ExternalIDs) {
		// Neutron writes the column for all ports, as their users have it.
		f.Chosen, f.Cause = true, "a user disabled it: Neutron has it with admin_state_up=false"
		f.Fix, f.Next = nil, fixes.Command("openstack port set --enable %s", port.Name)
	}
	node, used := bound[port.Name]
	switch {
	case used:
		f.Also = doctor.PortAndNode(port.Name, node)[1:]
	case bound != nil && port.Type == "" && !port.Up.Get():
		f.Result = doctor.Warning
		f.Effect = "no interface is bound to it now; one that is will have no network"
	}
	f.Concern(doctor.PortObject(facts.RouterPortOf(port)))
	p.Report(f)
}

// disabledByDesign reports whether a CMS keeps an unused port disabled: the port that holds the address of an Octavia
// load balancer, or the source port after a live migration.
func disabledByDesign(l *facts.Logical, port *nb.LogicalSwitchPortBrief) bool {
	if port.ExternalIDs["neutron:device_owner"] == "Octavia" {
		return true
	}
	s := l.SwitchOf[port.UUID]
	if s == nil || len(port.Addresses) == 0 || port.Type != "" {
		return false
	}
	return len(facts.PortAddresses(port)) > 0 && slices.ContainsFunc(l.PortsOf[s.UUID], func(other *nb.LogicalSwitchPortBrief) bool {
		return other != port && !facts.Off(other.Enabled) && slices.Equal(other.Addresses, port.Addresses)
	})
}
