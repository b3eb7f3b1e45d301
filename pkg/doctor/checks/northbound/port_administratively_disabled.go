package northbound

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var PortAdministrativelyDisabled = &doctor.Check{
	Name:     "port-administratively-disabled",
	Category: "nb",
	Doc: `A logical port or router is disabled

Logical_Switch_Port.enabled, Logical_Router_Port.enabled or Logical_Router.enabled
is false. The port is shown as up all the same.`,
	Run: func(p *doctor.Pass) { p.Northbounds(func(z *snapshot.Zone, l *snapshot.Logical) { disabled(p, z, l) }) },
}

const switchedOff = "somebody, or the cluster's management system, switched it off"

func disabled(p *doctor.Pass, z *snapshot.Zone, l *snapshot.Logical) {
	bound := doctor.NodeOfPort(z)
	for i := range l.SwitchPorts {
		if port := &l.SwitchPorts[i]; snapshot.Off(port.Enabled) && !disabledByDesign(l, port) {
			disabledPort(p, port, bound)
		}
	}
	for i := range l.RouterPorts {
		port := &l.RouterPorts[i]
		if !snapshot.Off(port.Enabled) {
			continue
		}
		f := doctor.Finding{
			Object:   doctor.Object{Kind: "port", Name: port.Name},
			Title:    fmt.Sprintf("router port %s is disabled", port.Name),
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Router_Port", port.UUID, "enabled=false, networks=%v", port.Networks)},
			Cause:    switchedOff,
			Effect:   "the router is not there for what is behind this port: its gateway does not answer",
			Fix:      catalog.EnablePort.With(port.Name),
		}
		if r := l.RouterOf[port.UUID]; r != nil {
			f.Title = fmt.Sprintf("port %s of router %s is disabled", port.Name, doctor.NamedRouter(r))
			f.Also = append(f.Also, doctor.Object{Kind: "router", Name: r.Name})
		}
		for _, peer := range l.Links[port.Name] {
			f.Also = append(f.Also, doctor.Object{Kind: "port", Name: peer.Name})
			if s := l.SwitchOf[peer.UUID]; s != nil {
				f.Also = append(f.Also, doctor.Object{Kind: "switch", Name: s.Name})
			}
		}
		p.Report(f)
	}
	for i := range l.Routers {
		r := &l.Routers[i]
		if !snapshot.Off(r.Enabled) {
			continue
		}
		f := doctor.Finding{
			Object:   doctor.Object{Kind: "router", Name: r.Name},
			Title:    fmt.Sprintf("router %s is disabled", doctor.NamedRouter(r)),
			Evidence: []doctor.Evidence{doctor.NBRow("Logical_Router", r.UUID, "enabled=false")},
			Cause:    switchedOff,
			Effect:   "nothing passes it: OVN makes no flows for it",
			Fix:      catalog.EnableRouter.With(r.Name),
		}
		for _, port := range l.RouterPortsOf[r.UUID] {
			f.Also = append(f.Also, doctor.Object{Kind: "port", Name: port.Name})
			for _, peer := range l.Links[port.Name] {
				f.Also = append(f.Also, doctor.Object{Kind: "port", Name: peer.Name})
			}
		}
		p.Report(f)
	}
}

func disabledPort(p *doctor.Pass, port *nb.LogicalSwitchPortBrief, bound map[string]string) {
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "port", Name: port.Name},
		Title:    fmt.Sprintf("port %s is disabled", doctor.NamedPort(port)),
		Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", port.UUID, "enabled=false, up=%v", port.Up.Get())},
		Cause:    switchedOff,
		Effect:   "all its packets are dropped, though it is shown as up",
		Fix:      catalog.EnablePort.With(port.Name),
	}
	node, used := bound[port.Name]
	switch {
	case used:
		f.Also = doctor.PortAndNode(port.Name, node)[1:]
	case bound != nil && port.Type == "" && !port.Up.Get():
		f.Result = doctor.Warning
		f.Effect = "nothing is plugged into it now; what will be is mute"
	}
	if peer := snapshot.RouterPortOf(port); peer != "" {
		f.Also = append(f.Also, doctor.Object{Kind: "port", Name: peer})
	}
	p.Report(f)
}

// disabledByDesign says whether a management system keeps a port disabled that
// nobody sends from: the port that holds the address of one of Octavia's load
// balancers, and in live migration the side that is not the guest's any more.
func disabledByDesign(l *snapshot.Logical, port *nb.LogicalSwitchPortBrief) bool {
	if port.ExternalIDs["neutron:device_owner"] == "Octavia" {
		return true
	}
	s := l.SwitchOf[port.UUID]
	if s == nil || len(port.Addresses) == 0 || port.Type != "" {
		return false
	}
	for _, other := range l.PortsOf[s.UUID] {
		if other != port && !snapshot.Off(other.Enabled) && slices.Equal(other.Addresses, port.Addresses) && len(snapshot.PortAddresses(port)) > 0 {
			return true
		}
	}
	return false
}
