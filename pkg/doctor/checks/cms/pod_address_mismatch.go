package cms

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var PodAddressMismatch = &doctor.Check{
	Name:     "pod-address-mismatch",
	Category: "cms",
	Doc: `A pod's addresses differ from those of its logical port

The check compares the pod's network namespace with the port: MAC address, addresses of both
families, default route, link and MTU. Port security drops packets from other addresses, and
nothing receives packets to the port's address.`,
	Causes: []string{"nb-duplicate-or-conflicting-config", "pod-veth-vanished", "port-no-such-device", "duplicate-iface-id-local", "port-flapping-two-chassis", "dangling-router-link"},
	Settle: true,
	Host: doctor.OnChassis(func(p *doctor.Pass, c *doctor.Chassis) {
		if c.Zone() == nil {
			return // other checks report it
		}
		if l, ok := doctor.Need(p, doctor.NodeObject(c.Name), func() (*facts.Logical, error) { return facts.LogicalOf(c.Zone()) }); ok {
			pods(p, c, l)
		}
	}),
}

// farPods is how many pods of a remote node are read: each takes round trips.
const farPods = 40

// pods checks the devices of a node's logical ports, several concurrently.
func pods(p *doctor.Pass, c *doctor.Chassis, l *facts.Logical) {
	interfaces := portInterfaces(c, l)
	if more := len(interfaces) - farPods; !c.Local && more > 0 {
		p.Unknown(doctor.NodeObject(c.Name), fmt.Errorf("%d pods of %s were read, %d were not: run ovnctl doctor on %s", farPods, c.Name, more, c.Name))
		interfaces = interfaces[:farPods]
	}
	devices, errs := make([]*facts.Device, len(interfaces)), make([]error, len(interfaces))
	var reads errgroup.Group
	reads.SetLimit(8)
	for i := range interfaces {
		reads.Go(func() error {
			devices[i], errs[i] = facts.DeviceOf(c.Host, l, interfaces[i])
			return nil
		})
	}
	_ = reads.Wait()
	var unread []string
	for i := range interfaces {
		switch d := devices[i]; {
		case errs[i] != nil:
			unread = append(unread, interfaces[i].Name)
		case d != nil && !d.Guest() && !kubeOVNNode(d):
			device(p, c, l, d)
		}
	}
	if len(unread) > 0 {
		first := errs[slices.IndexFunc(errs, func(err error) bool { return err != nil })]
		p.Unknown(doctor.NodeObject(c.Name), fmt.Errorf("not read: what is behind %s: %w", doctor.AtMost(unread, 3), first))
	}
}

// portInterfaces returns the interfaces of a node's logical ports. During a live migration only the side the port is
// bound to counts.
func portInterfaces(c *doctor.Chassis, l *facts.Logical) []snapshot.BridgeInterface {
	var bindings map[string]*sb.PortBindingBrief // nil if it is unknown which ports are bound here
	if c.SB != nil && c.Row != nil {
		bindings = doctor.PortBindings(c.SB)
	}
	return slices.DeleteFunc(c.OVS.BridgeInterfaces(), func(i snapshot.BridgeInterface) bool {
		id := i.ExternalIDs["iface-id"]
		b := bindings[id]
		bound := bindings == nil || b != nil && b.Chassis.Has(c.Row.UUID)
		return !bound || i.Bridge.Name != c.Bridge || l.SwitchPort[id] == nil
	})
}

// kubeOVNNode reports whether a device is ovn0, which kube-ovn-ovn0-wrong checks.
func kubeOVNNode(d *facts.Device) bool {
	return !d.Pod && decode.CMSOf(d.Port.ExternalIDs) == decode.KubeOVN
}

// A mismatch is one difference between a device and its port.
type mismatch struct {
	result doctor.Result
	says   string
	row    doctor.Evidence
	about  string // a reason of the finding
}

// Reasons of findings: what is wrong of a device.
const (
	aboutLink, aboutAddress, aboutRoute = "link", "address", "route"
)

// device reports the mismatches of a device.
func device(p *doctor.Pass, c *doctor.Chassis, l *facts.Logical, d *facts.Device) {
	found := mismatches(l, d)
	if len(found) == 0 {
		return
	}
	what := "the pod at port "
	switch {
	case !d.Pod:
		what = "the device of port "
	case decode.CMSOf(d.Port.ExternalIDs) == decode.Neutron:
		what = "the VM at port "
	}
	f := doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.PortObject(d.Port.Name),
		Also:   []doctor.Object{doctor.NodeObject(c.Name), doctor.InterfaceObject(c.Host, d.Interface)},
		Effect: "nothing receives packets to the port's address",
		Evidence: []doctor.Evidence{doctor.NBRow("Logical_Switch_Port", d.Port.UUID, "%s: addresses=%q, port_security=%q",
			d.Port.Name, []string(d.Port.Addresses), []string(d.Port.PortSecurity))},
	}
	if len(d.Port.PortSecurity) > 0 {
		f.Effect = "port security drops packets from other addresses, and " + f.Effect
	}
	if !d.Pod {
		f.Concern(doctor.LinkObject(c.Host, d.Link.Name))
	}
	f.Concern(doctor.SwitchObject(l.SwitchOf[d.Port.UUID]))
	var says []string
	f.Reason = aboutLink
	for _, m := range found {
		says = append(says, m.says)
		if m.row.Source.Kind != "" {
			f.Evidence = append(f.Evidence, m.row)
		}
		if m.result == doctor.Error {
			f.Result = doctor.Error
		}
		if m.about != aboutLink {
			f.Reason = m.about
		}
	}
	f.Title = what + doctor.PortLabel(d.Port) + " " + strings.Join(says, ", ")
	whatToDo(l, d, &f)
	p.Report(f)
}

// whatToDo fills in cause and repair: the interface's original addresses show which side has changed.
func whatToDo(l *facts.Logical, d *facts.Device, f *doctor.Finding) {
	recreate := cmp.Or(recreated(d.Port), "recreate it")
	switch f.Reason {
	case aboutLink:
		f.Cause, f.Effect, f.Next = "it was changed inside the namespace, or set up only in part", "packets from and to the pod are lost", recreate
		return
	case aboutRoute:
		f.Cause, f.Effect, f.Next = "its routes were changed inside the namespace, or set up only in part", "packets from the pod to other networks are lost", recreate
		return
	}
	mac, ips := d.Record()
	if mac != "" || len(ips) > 0 {
		f.Evidence = append(f.Evidence, doctor.OVS("Interface", d.Interface.Name).Says("recorded when it was created: "+doctor.Pairs(d.Interface.ExternalIDs, "attached-mac", "attached_mac", "ip_addresses", "ip")))
	}
	other := l.PortWithMAC(d.Link.MAC)
	switch as, known := d.AsRecorded(); {
	case other != nil && other != d.Port:
		f.Reason = "other-port"
		f.Concern(doctor.PortObject(other.Name))
		f.Cause = fmt.Sprintf("what is attached to %s is that of port %s: the iface-id of the interface is another's", d.Interface.Name, other.Name)
		f.Next = fixes.Command("ovs-vsctl set Interface %s external_ids:iface-id=%s", d.Interface.Name, other.Name) + ", and likewise where that port is; or recreate both"
	case !known:
		f.Cause = "it was changed there, or the port in the Northbound"
		f.Next = recreate + "; if the addresses there are right: ovn-nbctl lsp-set-addresses " + d.Port.Name + " 'MAC ADDRESS…'"
	case as:
		f.Cause = "the port was changed in the Northbound: the pod still has the addresses that it was created with"
		f.Fix = catalog.SetPortAddress.With(d.Port.Name)
	default:
		f.Cause = "it was changed in the pod: the port still has the addresses that the pod was created with"
		f.Next = recreate
	}
}

// podOf returns a port's pod as kubectl arguments; empty if unknown.
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

// mismatches returns the differences between a device and its port.
func mismatches(l *facts.Logical, d *facts.Device) []mismatch {
	addresses := facts.PortAddresses(d.Port)
	var security []facts.LPortAddress
	for _, text := range d.Port.PortSecurity {
		if a, ok := facts.ParseAddress(text); ok {
			security = append(security, a)
		}
	}
	if facts.Off(d.Port.Enabled) || len(addresses)+len(security) == 0 {
		return nil
	}
	var found []mismatch
	add := func(result doctor.Result, row doctor.Evidence, format string, args ...any) {
		found = append(found, mismatch{result, fmt.Sprintf(format, args...), row, aboutAddress})
	}
	linkRow := doctor.Link(d.Link.Name).Says(fmt.Sprintf("address %s, mtu %d, up=%v, addresses %s", d.Link.MAC, d.Link.MTU, d.Link.Up, prefixTexts(d.Addresses())))
	if d.Pod {
		linkRow.Source = linkRow.Source.InPod()
	}
	if !d.Link.Up {
		return []mismatch{{doctor.Error, "is down: its link " + d.Link.Name + " is down", linkRow, aboutLink}}
	}
	mac := strings.ToLower(d.Link.MAC)
	hasMAC := func(list []facts.LPortAddress) bool {
		return slices.ContainsFunc(list, func(a facts.LPortAddress) bool { return a.MAC == mac })
	}
	unknown := d.Port.Addresses.Has("unknown")
	switch {
	case !unknown && len(addresses) > 0 && !hasMAC(addresses):
		add(doctor.Error, linkRow, "has MAC address %s, not %s", mac, addresses[0].MAC)
	case len(security) > 0 && !hasMAC(security):
		add(doctor.Error, linkRow, "has MAC address %s, which its port security does not allow", mac)
	}
	has := d.Addresses()
	for _, v6 := range []bool{false, true} {
		family(d, addresses, has, v6, func(result doctor.Result, format string, args ...any) { add(result, linkRow, format, args...) })
	}
	if d.Pod {
		for _, a := range has {
			if len(found) == 0 && !allowed(security, mac, a.Addr()) {
				result := doctor.Warning
				if has := slices.ContainsFunc(addresses, func(p facts.LPortAddress) bool { return hasAddress(p, a.Addr()) }); has {
					result = doctor.Error // it is the port's own: the pod can send nothing from it
				}
				add(result, linkRow, "has the address %s, which its port security does not allow", a.Addr())
			}
		}
		if d.Host.MTU > 0 && d.Link.MTU > d.Host.MTU {
			found = append(found, mismatch{doctor.Warning, fmt.Sprintf("has MTU %d, but the host's end of its link %d", d.Link.MTU, d.Host.MTU),
				doctor.Link(d.Host.Name).Says(fmt.Sprintf("mtu %d at the host's end, %d in the pod", d.Host.MTU, d.Link.MTU)), aboutLink})
		}
		if len(found) == 0 {
			found = defaultRoute(l, d, has)
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
func family(d *facts.Device, addresses []facts.LPortAddress, has []netip.Prefix, v6 bool, add func(doctor.Result, string, ...any)) {
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
		// It may not have sent a request yet.
	case v6 && len(has) > 0:
		add(doctor.Warning, "has no IPv6 address; its port has %s", want[0])
	default:
		add(doctor.Error, "has no address; its port has %s", want[0])
	}
}

func hasAddress(p facts.LPortAddress, a netip.Addr) bool {
	return slices.ContainsFunc(p.IPs, func(ip netip.Prefix) bool { return ip.Addr() == a })
}

// allowed reports whether port security allows packets from an address.
func allowed(security []facts.LPortAddress, mac string, a netip.Addr) bool {
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

// defaultRoute returns what is wrong with the default routes of a pod whose switch has a router.
func defaultRoute(l *facts.Logical, d *facts.Device, has []netip.Prefix) (found []mismatch) {
	s := l.SwitchOf[d.Port.UUID]
	if s == nil {
		return nil
	}
	for _, v6 := range []bool{false, true} {
		gateway := gatewayOf(l, s, has, v6)
		if !gateway.IsValid() {
			continue
		}
		var vias []netip.Addr
		shared := false // by the gateways of one route, which the kernel uses side by side
		out := false
		for _, r := range d.Network.Routes {
			if r.Type != "unicast" || !r.Dst.IsValid() || r.Dst.Bits() != 0 || r.Dst.Addr().Is6() != v6 {
				continue
			}
			out = true
			if r.Dev == d.Link.Name && r.Via.IsValid() {
				vias = append(vias, r.Via)
			}
			for _, hop := range r.Hops {
				if hop.Dev == d.Link.Name && hop.Via.IsValid() {
					vias, shared = append(vias, hop.Via), true
				}
			}
		}
		family := map[bool]string{false: "IPv4", true: "IPv6"}[v6]
		row := doctor.Routes().InPod().Says(fmt.Sprintf("%s default via %v; the router of switch %s has %s", family, vias, s.Name, gateway))
		switch {
		case !out:
			found = append(found, mismatch{doctor.Warning, "has no " + family + " default route", row, aboutRoute})
		case (len(vias) == 1 || shared) && doctor.ClosedSwitch(l, s):
			if i := slices.IndexFunc(vias, func(a netip.Addr) bool { return unused(l, s, a) }); i >= 0 {
				says := fmt.Sprintf("has a default route via %s, which no port has; the router is %s", vias[i], gateway)
				found = append(found, mismatch{doctor.Error, says, row, aboutRoute})
			}
		}
	}
	return found
}

// gatewayOf returns the router's address in the network of one of a pod's addresses.
func gatewayOf(l *facts.Logical, s *nb.LogicalSwitch, has []netip.Prefix, v6 bool) netip.Addr {
	for _, g := range l.Gateways(s) {
		for _, n := range facts.Networks(g) {
			if n.Addr().Is6() == v6 && slices.ContainsFunc(has, func(a netip.Prefix) bool { return n.Contains(a.Addr()) }) {
				return n.Addr()
			}
		}
	}
	return netip.Addr{}
}

// unused reports whether no port or router on a switch has an address in its network.
func unused(l *facts.Logical, s *nb.LogicalSwitch, a netip.Addr) bool {
	if a.IsLinkLocalUnicast() {
		return false
	}
	for _, g := range l.Gateways(s) {
		if slices.ContainsFunc(facts.Networks(g), func(n netip.Prefix) bool { return n.Addr() == a }) {
			return false
		}
	}
	inside := slices.ContainsFunc(l.Gateways(s), func(g *nb.LogicalRouterPort) bool {
		return slices.ContainsFunc(facts.Networks(g), func(n netip.Prefix) bool { return n.Contains(a) })
	})
	return inside && !slices.ContainsFunc(l.PortsOf[s.UUID], func(p *nb.LogicalSwitchPortBrief) bool { return doctor.HasIP(p, a) || p.Options["arp_proxy"] != "" })
}
