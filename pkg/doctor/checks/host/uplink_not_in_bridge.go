package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

var UplinkNotInBridge = &doctor.Check{
	Name:     "uplink-not-in-bridge",
	Category: "node-os",
	Doc: `A bridge to the network outside has lost its uplink

The link that external_ids:bridge-uplink names is no port of the bridge, or is one that
Open vSwitch could not open; or a bridge of ovn-bridge-mappings has no port to the
outside at all.`,
	Causes: []string{"vswitchd-not-running", "conf-db-lost-or-corrupt"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		p.NetNodes(func(e *doctor.NetNode) {
			for _, u := range e.Uplinks {
				switch {
				case u.Port != nil:
					uplinkUnopened(p, e, u)
				case u.Named || !onPurpose(e, u):
					uplinkGone(p, e, u)
				}
			}
		})
	},
}

// onPurpose says of a bridge that names no uplink whether it does without: it is
// an inner network of this host, whose ways out lead elsewhere.
func onPurpose(e *doctor.NetNode, u snapshot.Uplink) bool {
	encaps, _ := e.EncapIPs()
	for _, a := range snapshot.Global(e.Net, u.Bridge.Name) {
		if slices.Contains(encaps, a.Prefix.Addr()) {
			return false
		}
	}
	for _, r := range e.Net.Routes {
		if r.Dev == u.Bridge.Name && r.Via.IsValid() && r.Dst.Bits() == 0 {
			return false
		}
	}
	return len(snapshot.Global(e.Net, u.Bridge.Name)) > 0
}

func uplinkGone(p *doctor.Pass, e *doctor.NetNode, u snapshot.Uplink) {
	bridge := u.Bridge.Name
	s, err := e.Switch()
	if err != nil {
		p.Unknown(e.BridgeObject(bridge), err)
		return
	}
	var ports []string
	for _, x := range s.Plugs() {
		if x.Bridge.Name == bridge {
			ports = append(ports, x.Port.Name)
		}
	}
	f := doctor.Finding{
		Object:   e.BridgeObject(bridge),
		Also:     []doctor.Object{doctor.NodeObject(e.Name)},
		Evidence: []doctor.Evidence{{Source: doctor.OVS("Bridge", bridge), Says: "its ports are " + strings.Join(ports, ", ")}},
		Cause:    "the port was deleted: by hand, or as a transient one when Open vSwitch started, and its owner has not put it back",
		Effect:   "no packet passes between the bridge and the network outside",
	}
	nic := u.Link()
	if u.Networks != nil {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("Open_vSwitch external_ids:ovn-bridge-mappings"), Says: fmt.Sprintf("%s:%s", u.Networks[0], bridge)})
	}
	switch {
	case nic == "":
		f.Title = fmt.Sprintf("bridge %s has no port to the network outside", bridge)
		f.Fix = catalog.AttachUplink.With(bridge)
	case e.Net.Link(nic) == nil:
		f.Title = fmt.Sprintf("the uplink %s of bridge %s does not exist", nic, bridge)
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.OVS("Bridge", bridge), Says: u.Source + "=" + nic}, doctor.Evidence{Source: doctor.Links(), Says: "there is no " + nic})
		f.Cause = "the network card is gone, its driver is not loaded, or it has another name since the host booted"
		f.Also = append(f.Also, e.LinkObject(nic))
		f.Next = "ip -details link show; then ovnctl fix attach-uplink " + bridge + " LINK with its name of today"
	default:
		f.Title = fmt.Sprintf("the uplink %s is not in bridge %s", nic, bridge)
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.OVS("Bridge", bridge), Says: fmt.Sprintf("its uplink is %s, by %s", nic, u.Source)}, e.AddressEvidence(nic))
		f.Also = append(f.Also, e.LinkObject(nic))
		f.Fix = catalog.AttachUplink.With(bridge, nic)
	}
	p.Report(f)
}

// uplinkUnopened reports an uplink that is a port and that Open vSwitch cannot
// use.
func uplinkUnopened(p *doctor.Pass, e *doctor.NetNode, u snapshot.Uplink) {
	if !p.SwitchLives(e.Host) {
		return
	}
	s, err := e.Switch()
	if err != nil {
		return
	}
	var broken []*vswitch.InterfaceBrief
	for _, x := range s.Plugs() {
		if x.Port.Name == u.Port.Name && x.Bridge.Name == u.Bridge.Name && x.OFPort.Get() < 0 {
			broken = append(broken, x.InterfaceBrief)
		}
	}
	if len(broken) == 0 || len(broken) < len(u.Links) {
		return // one of a bond that is left carries all
	}
	i := broken[0]
	f := doctor.Finding{
		Object:   e.BridgeObject(u.Bridge.Name),
		Also:     []doctor.Object{doctor.NodeObject(e.Name), e.LinkObject(i.Name), {Kind: "interface", Name: i.Name, Node: e.Name}},
		Title:    fmt.Sprintf("Open vSwitch cannot use %s, the uplink of bridge %s", i.Name, u.Bridge.Name),
		Evidence: []doctor.Evidence{{Source: doctor.OVS("Interface", i.Name), Says: fmt.Sprintf("ofport=%d error=%q", i.OFPort.Get(), i.Error.Get())}},
		Cause:    "the link does not exist, or belongs to somebody else",
		Effect:   "no packet passes between the bridge and the network outside",
		Next:     "ip -details link show " + i.Name,
	}
	if l := e.Net.Link(i.Name); l != nil && l.Master != "" {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Link(i.Name), Says: "belongs to " + l.Master})
	} else if l == nil {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Links(), Says: "there is no " + i.Name})
	}
	p.Report(f)
}
