package cms

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var PodAddressMismatch = &doctor.Check{
	Name:     "pod-address-mismatch",
	Category: "cms",
	Doc: `A pod has other addresses than its logical port

What is in the pod's network namespace is compared with the port's addresses: MAC address,
addresses of both families, default route, link and MTU. Packets from others are dropped by
port security, and packets to the port's address find nobody.`,
	Causes: []string{"nb-duplicate-or-conflicting-config", "pod-veth-vanished", "port-no-such-device", "duplicate-iface-id-local"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for c := range p.Chassis() {
			if c.Zone() == nil {
				continue // said by others
			}
			l, err := c.Zone().Logical()
			if err != nil {
				p.Unknown(doctor.NodeObject(c.Name), err)
				continue
			}
			pods(p, c, l)
		}
	},
}

// farPods is into how many pods of another node is looked: each takes round trips.
const farPods = 40

// pods looks into what is plugged into the ports of a node, several at a time.
func pods(p *doctor.Pass, c *doctor.Chassis, l *snapshot.Logical) {
	var held map[string]*sb.PortBindingBrief // nil: it is not known which ports are here
	if c.SB != nil && c.Row != nil {
		held = doctor.PortBindings(c.SB)
	}
	var plugs []snapshot.Plug
	for _, plug := range c.OVS.Plugs() {
		if held != nil { // of a live migration it is the side that has the port that counts
			if b := held[plug.ExternalIDs["iface-id"]]; b == nil || !b.Chassis.Has(c.Row.UUID) {
				continue
			}
		}
		if plug.Bridge.Name == c.Bridge && plug.ExternalIDs["iface-id"] != "" && l.SwitchPort[plug.ExternalIDs["iface-id"]] != nil {
			plugs = append(plugs, plug)
		}
	}
	if len(plugs) == 0 {
		return
	}
	if !c.Local && len(plugs) > farPods {
		p.Unknown(doctor.NodeObject(c.Name), fmt.Errorf("%d pods of %s were looked into, %d were not: run ovnctl doctor on %s", farPods, c.Name, len(plugs)-farPods, c.Name))
		plugs = plugs[:farPods]
	}
	devices, errs := make([]*snapshot.Device, len(plugs)), make([]error, len(plugs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, 8)
	for i, plug := range plugs {
		wg.Go(func() {
			slots <- struct{}{}
			devices[i], errs[i] = c.Plugged(l, plug)
			<-slots
		})
	}
	wg.Wait()
	var unseen []string
	var first error
	for i := range plugs {
		switch d := devices[i]; {
		case errs[i] != nil:
			unseen = append(unseen, plugs[i].Name)
			if first == nil {
				first = errs[i]
			}
		case d != nil && !d.Guest() && !kubeOVNNode(d):
			device(p, c, l, d)
		}
	}
	if len(unseen) > 0 {
		p.Unknown(doctor.NodeObject(c.Name), fmt.Errorf("what is behind %s could not be looked into: %w", doctor.AtMost(unseen, 3), first))
	}
}

// kubeOVNNode says whether a device is ovn0, which kube-ovn-ovn0-wrong looks at.
func kubeOVNNode(d *snapshot.Device) bool {
	return !d.Pod && catalog.Owner(d.Port.ExternalIDs) == "Kube-OVN"
}

// A mismatch is one difference between a device and its port.
type mismatch struct {
	result doctor.Result
	says   string
	row    doctor.Evidence
}

func device(p *doctor.Pass, c *doctor.Chassis, l *snapshot.Logical, d *snapshot.Device) {
	found := mismatches(l, d)
	if len(found) == 0 {
		return
	}
	what := "the pod at port "
	if !d.Pod {
		what = "the device of port "
	}
	f := doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.PortObject(d.Port.Name),
		Also:   []doctor.Object{doctor.NodeObject(c.Name), {Kind: "interface", Name: d.Plug.Name, Node: c.Name}},
		Effect: "packets with other addresses are dropped by port security, and packets to the port's address find nobody",
		Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", d.Port.UUID, "%s: addresses=%q, port_security=%q",
			d.Port.Name, []string(d.Port.Addresses), []string(d.Port.PortSecurity))},
	}
	var says []string
	addressing := false
	for _, m := range found {
		says = append(says, m.says)
		if m.row.Source.Kind != "" {
			f.Evidence = append(f.Evidence, m.row)
		}
		if m.result == doctor.Error {
			f.Result = doctor.Error
		}
		addressing = addressing || strings.HasPrefix(m.says, "has ")
	}
	f.Title = what + doctor.PortLabel(d.Port) + " " + strings.Join(says, ", ")
	whoIsRight(p, d, &f, addressing)
	p.Report(f)
}

// whoIsRight says what to do: what was recorded when the device was plugged tells which side has changed.
func whoIsRight(p *doctor.Pass, d *snapshot.Device, f *doctor.Finding, addressing bool) {
	recreate := "plug it again"
	if pod := podOf(d.Port); pod != "" {
		recreate = "let it be created again: kubectl delete pod " + pod
	} else if d.Port.ExternalIDs["neutron:device_id"] != "" {
		recreate = "start the server again: openstack server reboot " + d.Port.ExternalIDs["neutron:device_id"]
	}
	if !addressing {
		f.Cause, f.Effect, f.Next = "it was changed inside the namespace, or set up in part", "packets are lost on their way out of the pod or into it", recreate
		return
	}
	mac, ips := d.Record()
	if mac != "" || len(ips) > 0 {
		f.Evidence = append(f.Evidence, doctor.OVS("Interface", d.Plug.Name).Says("recorded when it was plugged: "+doctor.Pairs(d.Plug.ExternalIDs, "attached-mac", "attached_mac", "ip_addresses", "ip")))
	}
	switch as, known := d.AsRecorded(); {
	case !known:
		f.Cause = "it was changed in the pod, or the port in the Northbound"
		f.Next = recreate + "; if the pod is right: ovn-nbctl lsp-set-addresses " + d.Port.Name + " 'MAC ADDRESS…'"
	case as:
		f.Cause = "the port was changed in the Northbound: the pod has what it was given when it was plugged"
		f.Fix = catalog.SetPortAddress.With(d.Port.Name)
	default:
		f.Cause = "it was changed in the pod: the port has what the pod was given when it was plugged"
		f.Next = recreate
	}
}

// podOf is the pod of a port as kubectl takes it; empty: it is not known.
func podOf(p *nb.LogicalSwitchPortBrief) string {
	if namespace := p.ExternalIDs["namespace"]; p.ExternalIDs["pod"] == "true" && namespace != "" {
		if name, ok := strings.CutPrefix(p.Name, namespace+"_"); ok {
			return "-n " + namespace + " " + name
		}
	}
	if namespace, name, ok := strings.Cut(p.ExternalIDs["pod"], "/"); ok {
		return "-n " + namespace + " " + name
	}
	return ""
}

// mismatches are the differences between a device and its port.
func mismatches(l *snapshot.Logical, d *snapshot.Device) []mismatch {
	addresses := snapshot.PortAddresses(d.Port)
	var security []snapshot.LPortAddress
	for _, text := range d.Port.PortSecurity {
		if a, ok := snapshot.ParseAddress(text); ok {
			security = append(security, a)
		}
	}
	if snapshot.Off(d.Port.Enabled) || len(addresses)+len(security) == 0 {
		return nil
	}
	var found []mismatch
	add := func(result doctor.Result, row doctor.Evidence, format string, args ...any) {
		found = append(found, mismatch{result, fmt.Sprintf(format, args...), row})
	}
	linkRow := doctor.Link(d.Link.Name).Says(fmt.Sprintf("address %s, mtu %d, up=%v, addresses %s", d.Link.MAC, d.Link.MTU, d.Link.Up, prefixTexts(d.Addresses())))
	if d.Pod {
		linkRow.Source = linkRow.Source.InPod()
	}
	if !d.Link.Up {
		add(doctor.Error, linkRow, "is down: its link %s is switched off", d.Link.Name)
		return found
	}
	mac := strings.ToLower(d.Link.MAC)
	hasMAC := func(list []snapshot.LPortAddress) bool {
		return slices.ContainsFunc(list, func(a snapshot.LPortAddress) bool { return a.MAC == mac })
	}
	unknown := d.Port.Addresses.Has("unknown")
	switch {
	case !unknown && len(addresses) > 0 && !hasMAC(addresses):
		add(doctor.Error, linkRow, "has MAC address %s, not %s", mac, addresses[0].MAC)
	case len(security) > 0 && !hasMAC(security):
		add(doctor.Error, linkRow, "has MAC address %s, which its port security does not admit", mac)
	}
	has := d.Addresses()
	for _, v6 := range []bool{false, true} {
		family(d, addresses, has, v6, func(result doctor.Result, format string, args ...any) { add(result, linkRow, format, args...) })
	}
	if d.Pod {
		for _, a := range has {
			if len(found) == 0 && !admitted(security, mac, a.Addr()) {
				add(doctor.Warning, linkRow, "has the address %s, which its port security does not admit", a.Addr())
			}
		}
		if d.Host.MTU > 0 && d.Link.MTU > d.Host.MTU {
			add(doctor.Warning, doctor.Link(d.Host.Name).Says(fmt.Sprintf("mtu %d at the host's end, %d in the pod", d.Host.MTU, d.Link.MTU)), "sends packets of %d bytes, and the host's end of its link takes %d", d.Link.MTU, d.Host.MTU)
		}
		if len(found) == 0 {
			defaultRoute(l, d, has, add)
		}
	}
	return dedupe(found)
}

// dedupe keeps the first row of each source.
func dedupe(found []mismatch) []mismatch {
	seen := map[doctor.Source]bool{}
	for i := range found {
		if seen[found[i].row.Source] {
			found[i].row = doctor.Evidence{}
		}
		seen[found[i].row.Source] = true
	}
	return found
}

func prefixTexts(list []netip.Prefix) string {
	if len(list) == 0 {
		return "none"
	}
	var out []string
	for _, p := range list {
		out = append(out, p.String())
	}
	return strings.Join(out, " ")
}

// family compares the addresses of one family.
func family(d *snapshot.Device, addresses []snapshot.LPortAddress, has []netip.Prefix, v6 bool, add func(doctor.Result, string, ...any)) {
	var want, own []netip.Addr
	for _, a := range addresses {
		for _, ip := range a.IPs {
			if ip.Addr().Is6() == v6 {
				want = append(want, ip.Addr())
			}
		}
	}
	for _, a := range has {
		if a.Addr().Is6() == v6 {
			own = append(own, a.Addr())
		}
	}
	if len(want) == 0 || slices.ContainsFunc(own, func(a netip.Addr) bool { return slices.Contains(want, a) }) {
		return
	}
	switch {
	case len(own) > 0:
		add(doctor.Error, "has %s, not %s", own[0], want[0])
	case !v6 && len(d.Port.DHCPv4Options) > 0, v6 && len(d.Port.DHCPv6Options) > 0:
		// it may not have asked yet
	case v6 && len(has) > 0:
		add(doctor.Warning, "has no address of IPv6; its port has %s", want[0])
	default:
		add(doctor.Error, "has no address; its port has %s", want[0])
	}
}

// admitted says whether port security lets a packet from an address out.
func admitted(security []snapshot.LPortAddress, mac string, a netip.Addr) bool {
	if len(security) == 0 {
		return true
	}
	family := false
	for _, s := range security {
		if s.MAC != mac {
			continue
		}
		if len(s.IPs) == 0 {
			return true
		}
		for _, ip := range s.IPs {
			family = family || ip.Addr().Is6() == a.Is6()
			if ip.Contains(a) {
				return true
			}
		}
	}
	return false
}

// defaultRoute looks whether a pod has a way out of its network, where its switch has a router.
func defaultRoute(l *snapshot.Logical, d *snapshot.Device, has []netip.Prefix, add func(doctor.Result, doctor.Evidence, string, ...any)) {
	s := l.SwitchOf[d.Port.UUID]
	if s == nil {
		return
	}
	for _, v6 := range []bool{false, true} {
		gateway := gatewayOf(l, s, has, v6)
		if !gateway.IsValid() {
			continue
		}
		var vias []netip.Addr
		out := false
		for _, r := range d.Network.Routes {
			if r.Type != "unicast" || !r.Dst.IsValid() || r.Dst.Bits() != 0 || r.Dst.Addr().Is6() != v6 {
				continue
			}
			out = true
			if r.Dev == d.Link.Name && r.Via.IsValid() {
				vias = append(vias, r.Via)
			}
		}
		row := doctor.Other("routes in the pod").Says(fmt.Sprintf("default by way of %v; the router of switch %s has %s", vias, s.Name, gateway))
		switch {
		case !out:
			row.Says = fmt.Sprintf("there is no default route of IPv%s; the router of switch %s has %s", map[bool]string{false: "4", true: "6"}[v6], s.Name, gateway)
			add(doctor.Warning, row, "has no default route of IPv%s", map[bool]string{false: "4", true: "6"}[v6])
		case len(vias) == 1 && doctor.ClosedSwitch(l, s) && nobodys(l, s, vias[0]):
			add(doctor.Error, row, "has a default route by way of %s, which nobody has; the router is %s", vias[0], gateway)
		}
	}
}

// gatewayOf is the router's address in the network of one of a pod's addresses.
func gatewayOf(l *snapshot.Logical, s *nb.LogicalSwitch, has []netip.Prefix, v6 bool) netip.Addr {
	for _, g := range l.Gateways(s) {
		for _, n := range snapshot.Networks(g) {
			if n.Addr().Is6() == v6 && slices.ContainsFunc(has, func(a netip.Prefix) bool { return n.Contains(a.Addr()) }) {
				return n.Addr()
			}
		}
	}
	return netip.Addr{}
}

// nobodys says whether an address of a switch's network is on none of its ports and routers.
func nobodys(l *snapshot.Logical, s *nb.LogicalSwitch, a netip.Addr) bool {
	if a.IsLinkLocalUnicast() {
		return false
	}
	for _, g := range l.Gateways(s) {
		if slices.ContainsFunc(snapshot.Networks(g), func(n netip.Prefix) bool { return n.Addr() == a }) {
			return false
		}
	}
	inside := slices.ContainsFunc(l.Gateways(s), func(g *nb.LogicalRouterPort) bool {
		return slices.ContainsFunc(snapshot.Networks(g), func(n netip.Prefix) bool { return n.Contains(a) })
	})
	return inside && !slices.ContainsFunc(l.PortsOf[s.UUID], func(p *nb.LogicalSwitchPortBrief) bool { return doctor.HasIP(p, a) || p.Options["arp_proxy"] != "" })
}
