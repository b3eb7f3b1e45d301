package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var PortNotBound = &doctor.Check{
	Name:     "port-not-bound",
	Category: "ovn-controller",
	Doc: `A logical port is not bound although its interface is here

The interface has the port's name as its iface-id and works, but ovn-controller has not
claimed the port, or has not installed its flows.`,
	Causes: []string{
		"controller-not-running", "controller-misdirected", "vswitchd-not-running", "missing-external-ids", "duplicate-chassis-stale", "system-id-cloned",
		"encap-ip-not-local", "controller-northd-version-mismatch", "northd-not-active", "sb-rbac-denied", "clients-refuse-rebuilt-db",
		"tls-cert-expired-or-wrong-ca", "db-not-listening-tcp", "raft-no-quorum", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-ip-lost-after-reboot",
		"hostname-mismatch", "integration-bridge-empty", "controller-not-caught-up", "duplicate-iface-id-local",
	},
	Settle: true,
	Host:   doctor.OnChassis(unboundPorts),
}

func unboundPorts(p *doctor.Pass, c *doctor.Chassis) {
	if c.Row == nil {
		return // a missing chassis is another finding
	}
	var named []snapshot.BridgeInterface
	rivals := map[string]string{} // the integration bridge's interface for a port
	for _, i := range c.OVS.BridgeInterfaces() {
		if id := i.ExternalIDs["iface-id"]; id != "" && i.OFNumber() > 0 {
			named = append(named, i)
			if i.Bridge.Name == c.Bridge {
				rivals[id] = i.Name
			}
		}
	}
	if len(named) == 0 || !p.InterfacesCurrent(c.Host) {
		return
	}
	bindings := doctor.PortBindings(c.SB)
	for _, i := range named {
		b := bindings[i.ExternalIDs["iface-id"]]
		if b == nil || b.Type != "" || len(b.Chassis) > 0 && b.Chassis.Get() != c.Row.UUID ||
			b.AdditionalChassis.Has(c.Row.UUID) || movesTo(c, b) {
			continue
		}
		if other := rivals[b.LogicalPort]; other != "" && other != i.Name {
			continue // two interfaces for one port are another finding
		}
		if f, ok := whyNotBound(c, i, b); ok {
			p.Report(f)
		}
	}
}

// whyNotBound returns the finding of a port that should be bound here but is not.
func whyNotBound(c *doctor.Chassis, i snapshot.BridgeInterface, b *sb.PortBindingBrief) (doctor.Finding, bool) {
	id := b.LogicalPort
	f := doctor.Finding{
		Object: doctor.PortObject(id),
		Also:   []doctor.Object{doctor.InterfaceObject(c.Host, i), doctor.NodeObject(c.Name)},
		Title:  fmt.Sprintf("port %s is bound to no chassis although its interface %s is on %s", id, i.Name, c.Name),
		Evidence: []doctor.Evidence{
			doctor.SBRow("Port_Binding", b.UUID, "chassis=%s up=%v %s", optional(b.Chassis), b.Up.Get(), doctor.Pairs(b.Options, "requested-chassis", "iface-id-ver")),
			{Source: doctor.OVS("Interface", i.Name).On(c.Name), Says: fmt.Sprintf("ofport=%d %s", i.OFNumber(), doctor.Pairs(i.ExternalIDs, "iface-id", "iface-id-ver", "ovn-installed"))},
		},
		Effect: fmt.Sprintf("port %s has no network", id),
	}
	wanted := facts.RequestedChassis(b.Options)
	version, have := b.Options["iface-id-ver"], i.ExternalIDs["iface-id-ver"]
	switch {
	case len(b.Chassis) > 0:
		if len(b.Up) == 0 || b.Up.Get() || i.ExternalIDs["ovn-installed"] == "true" {
			return f, false
		}
		f.Reason = "not-installed"
		f.Title = fmt.Sprintf("port %s is bound to %s, which has not installed its flows", id, c.Name)
		f.Cause = "ovn-controller has claimed the port and not finished with it"
		f.Next = "ovn-appctl -t ovn-controller debug/dump-local-bindings; see its log for errors of ovs-vswitchd or the Southbound"
	case i.Bridge.Name != c.Bridge:
		f.Reason = "wrong-bridge"
		f.Cause = fmt.Sprintf("the interface is in bridge %s; ovn-controller only binds those in %s", i.Bridge.Name, c.Bridge)
		f.Next = fixes.Command("re-create the pod or VM, or: ovs-vsctl del-port %[1]s %[2]s -- add-port %[3]s %[2]s -- set Interface %[2]s external_ids:iface-id=%[4]s", i.Bridge.Name, i.Name, c.Bridge, id)
	case wanted != "" && wanted != c.Row.Name && wanted != c.Row.Hostname:
		where := "which is no chassis' name or hostname"
		if rows := facts.ChassisNamed(c.SB, wanted); len(rows) > 0 {
			where = "another node: " + doctor.ChassisLabelOf(c.SB, rows[0].UUID)
			f.Also = append(f.Also, doctor.ChassisObject(wanted))
		}
		f.Reason = "requested-chassis"
		f.Cause = fmt.Sprintf("the Northbound requests chassis %s, %s", wanted, where)
		f.Fix = catalog.ClearRequestedChassis.With(id)
	case version != "" && version != have:
		f.Reason = "iface-id-ver"
		f.Cause = fmt.Sprintf("the Northbound requests iface-id-ver %s; this interface has %s, of another pod or VM with that name", version, cmp.Or(have, "none"))
		f.Fix = catalog.SetIfaceIDVer.With(i.Name)
	default:
		f.Reason = "not-claimed"
		f.Cause = "ovn-controller has not claimed the port, and nothing in the databases shows why"
		if text, err := c.Control("ovn-controller", "debug/dump-local-bindings"); err == nil && !strings.Contains(text, id) {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovn-controller", "debug/dump-local-bindings").On(c.Name), Says: "does not list " + id})
		}
		f.Next = "ovn-appctl -t ovn-controller debug/dump-local-bindings; then its log"
	}
	return f, true
}

// optional formats an optional reference as the tools do.
func optional(set ovsdb.Set[ovsdb.UUID]) string {
	if len(set) == 0 {
		return "[]"
	}
	return doctor.Short(set.Get())
}

var PortFlappingTwoChassis = &doctor.Check{
	Name:     "port-flapping-two-chassis",
	Category: "ovn-controller",
	Doc: `Two nodes take a port from each other

Both have an interface with its name, and nothing tells which of them it belongs to. In a
live migration requested-chassis names both nodes, and that is no fault.`,
	Causes: []string{"system-id-cloned", "duplicate-chassis-stale"},
	Settle: true,
	Run:    doctor.Over2((*doctor.Pass).GivenSouthbounds, flappingPorts),
}

// A claimant is a node with an interface for a port.
type claimant struct {
	host    *snapshot.Host
	iface   snapshot.BridgeInterface
	chassis *sb.Chassis
}

// flappingPorts finds ports with interfaces on several nodes, or bound elsewhere than their interface is.
func flappingPorts(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound) {
	all := claimants(p, z, south)
	var watched []*sb.PortBindingBrief
	for b := range doctor.Each(south.PortBindings) {
		claims := all[b.LogicalPort]
		if len(claims) == 0 || b.Type != "" || len(b.Chassis) == 0 || migrates(b) {
			continue
		}
		if len(claims) == 1 && claims[0].chassis.UUID == b.Chassis.Get() && !claimedAgain(claims[0].host, b.LogicalPort) {
			continue
		}
		watched = append(watched, b)
	}
	seen := watchChassis(p, z, watched)
	for _, b := range watched {
		if f, ok := contested(p, south, b, all[b.LogicalPort], seen[b.UUID]); ok {
			p.Report(f)
		}
	}
}

// claimants returns, for each port, the nodes with an interface in their integration bridge. A node readable under two
// names counts once.
func claimants(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound) map[string][]claimant {
	all := map[string][]claimant{}
	for _, h := range p.Hosts {
		sw, err := h.Switch()
		if err != nil || h.Zone() != z {
			continue
		}
		name, _, _ := h.ChassisName()
		c := south.ChassisNamed(name)
		if c == nil {
			continue
		}
		bridge := sw.IntegrationBridge(name)
		for _, i := range sw.BridgeInterfaces() {
			id := i.ExternalIDs["iface-id"]
			counted := slices.ContainsFunc(all[id], func(x claimant) bool { return x.chassis.UUID == c.UUID })
			if id != "" && !counted && i.OFNumber() > 0 && i.Bridge.Name == bridge {
				all[id] = append(all[id], claimant{h, i, c})
			}
		}
	}
	return all
}

// migrates reports whether the Northbound requests a chassis for a port, or several.
func migrates(b *sb.PortBindingBrief) bool {
	return len(b.AdditionalChassis) > 0 || b.Options["requested-chassis"] != ""
}

// movesTo reports whether the Northbound requests a chassis beside the one that has the port.
func movesTo(c *doctor.Chassis, b *sb.PortBindingBrief) bool {
	_, beside, _ := strings.Cut(b.Options["requested-chassis"], ",")
	return slices.ContainsFunc(facts.ChassisNamed(c.SB, beside), func(row *sb.Chassis) bool { return row.UUID == c.Row.UUID })
}

// claimedAgain reports whether a node's log shows that it recently reclaimed the port several times.
func claimedAgain(h *snapshot.Host, port string) bool {
	log, err := h.Log("ovn-controller")
	if err != nil {
		return false
	}
	text := "Changing chassis for lport " + port + " from "
	var first, last, end time.Time
	times := 0
	for line := range strings.Lines(log) {
		stamp, _, _ := strings.Cut(line, "|")
		t, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			continue
		}
		end = t
		if !strings.Contains(line, text) {
			continue
		}
		if times == 0 || t.Sub(last) > 20*time.Second {
			first, times = t, 0
		}
		last = t
		times++
	}
	return times >= 3 && last.Sub(first) < time.Minute && end.Sub(last) < 20*time.Second
}

// contested judges a port by the chassis that it was seen on; no finding if that stayed and only one node claims it.
func contested(p *doctor.Pass, south *snapshot.Southbound, b *sb.PortBindingBrief, claims []claimant, seen []ovsdb.UUID) (doctor.Finding, bool) {
	var names []string
	addName := func(n string) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	changes := 0
	for i, id := range seen {
		if i > 0 && id != seen[i-1] {
			changes++
		}
		addName(doctor.ChassisLabelOf(south, id))
	}
	if changes < 2 && len(claims) < 2 {
		return doctor.Finding{}, false
	}
	f := doctor.Finding{
		Object: doctor.PortObject(b.LogicalPort),
		Cause:  "an interface with the port's name is left on a node that the pod or VM has left, or got the name by mistake",
		Effect: "the port's packets go to one node, then to the other, and every node follows each change",
	}
	for _, c := range claims {
		addName(doctor.ChassisLabel(c.chassis))
		f.Also = append(f.Also, doctor.NodeObject(c.host.Name), doctor.InterfaceObject(c.host, c.iface))
		f.Evidence = append(f.Evidence, doctor.Evidence{
			Source: doctor.OVS("Interface", c.iface.Name).On(c.host.Name),
			Says:   fmt.Sprintf("ofport=%d %s", c.iface.OFNumber(), doctor.Pairs(c.iface.ExternalIDs, "iface-id", "iface-id-ver", "ovn-installed")),
		})
	}
	slices.Sort(names)
	for c := range doctor.Each(south.Chassis) {
		if slices.Contains(names, doctor.ChassisLabel(c)) {
			f.Also = append(f.Also, doctor.NodeObject(c.Hostname))
		}
	}
	f.Title = fmt.Sprintf("port %s is claimed by two nodes: %s", b.LogicalPort, strings.Join(names, " and "))
	if len(names) > 2 {
		f.Title = fmt.Sprintf("port %s is claimed by %d nodes: %s", b.LogicalPort, len(names), doctor.AtMost(names, 4))
	}
	f.Evidence = append(f.Evidence, doctor.SBRow("Port_Binding", b.UUID, "chassis changed %d times in two seconds; options has no requested-chassis", changes))
	if owner, why := ownerOf(p, b, claims); owner != nil {
		why.Source = why.Source.On(owner.host.Name)
		f.Evidence = append(f.Evidence, why)
		f.Fix = catalog.PinPort.With(b.LogicalPort, owner.chassis.Hostname)
	} else {
		f.Next = fixes.Command("see on which node the pod or VM is, then: ovnctl fix pin-port %s NODE; and remove the interface on the other one", b.LogicalPort)
	}
	return f, true
}

// watchChassis reads the chassis of ports several times, of all at once.
func watchChassis(p *doctor.Pass, z *snapshot.Zone, ports []*sb.PortBindingBrief) map[ovsdb.UUID][]ovsdb.UUID {
	seen := map[ovsdb.UUID][]ovsdb.UUID{}
	for _, b := range ports {
		seen[b.UUID] = []ovsdb.UUID{b.Chassis.Get()}
	}
	db, err := z.SB()
	if err != nil {
		return seen
	}
	if _, live := db.(*ovsdb.Client); !live || len(ports) == 0 {
		return seen
	}
	for range 12 {
		rows := make([][]sb.PortBindingBrief, len(ports))
		queries := make([]*ovsdb.Query, len(ports))
		for i, b := range ports {
			queries[i] = &ovsdb.Query{Rows: &rows[i], Where: []ovsdb.Condition{ovsdb.Where("_uuid", "==", b.UUID)}}
		}
		if err := db.Select(p.Context(), queries...); err != nil {
			break
		}
		for b := range doctor.Each(slices.Concat(rows...)) {
			seen[b.UUID] = append(seen[b.UUID], b.Chassis.Get())
		}
		select {
		case <-p.Context().Done():
			return seen
		case <-time.After(170 * time.Millisecond):
		}
	}
	return seen
}

// ownerOf returns the one claimant with the port's MAC address, with evidence; nil if none or several have it.
func ownerOf(p *doctor.Pass, b *sb.PortBindingBrief, claims []claimant) (owner *claimant, why doctor.Evidence) {
	macs := strings.ToLower(strings.Join(b.MAC, " "))
	attached := func(c *claimant) string {
		return strings.ToLower(cmp.Or(c.iface.ExternalIDs["attached-mac"], c.iface.ExternalIDs["attached_mac"]))
	}
	p.SideBySide(len(claims), func(i int) { // the snapshot keeps what is read
		if c := &claims[i]; attached(c) == "" || !strings.Contains(macs, attached(c)) {
			_, _ = c.host.Pod(c.iface.Name)
		}
	})
	owners := 0
	for c := range doctor.Each(claims) {
		e := doctor.Evidence{Source: doctor.OVS("Interface", c.iface.Name)}
		mac := attached(c)
		if mac == "" || !strings.Contains(macs, mac) {
			pod, err := c.host.Pod(c.iface.Name)
			if err != nil {
				continue
			}
			e.Source, mac = doctor.Link(c.iface.Name).InPod(), strings.ToLower(pod.Link.MAC)
		}
		if mac != "" && strings.Contains(macs, mac) {
			e.Says = "has the port's MAC address " + mac
			owner, why, owners = c, e, owners+1
		}
	}
	if owners != 1 {
		return nil, doctor.Evidence{}
	}
	return owner, why
}
