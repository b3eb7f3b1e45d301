package controller

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

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

// flappingPorts looks for ports that several nodes have an interface for, or that are bound elsewhere than their interface is.
func flappingPorts(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound) {
	all := claimants(p, z, south)
	for b := range doctor.Each(south.PortBindings) {
		claims := all[b.LogicalPort]
		if len(claims) == 0 || b.Type != "" || len(b.Chassis) == 0 || migrates(b) {
			continue
		}
		if len(claims) == 1 && claims[0].chassis.UUID == b.Chassis.Get() && !claimedAgain(claims[0].host, b.LogicalPort) {
			continue
		}
		if f, ok := contested(p, z, south, b, claims); ok {
			p.Report(f)
		}
	}
}

// claimants are the nodes with an interface in their integration bridge for each port. A node that can be read under two
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

// migrates reports whether the Northbound names a chassis for a port, or several.
func migrates(b *sb.PortBindingBrief) bool {
	return len(b.RequestedChassis) > 0 || len(b.AdditionalChassis) > 0 || len(b.RequestedAdditionalChassis) > 0 ||
		strings.Contains(b.Options["requested-chassis"], ",")
}

// claimedAgain reports whether the log of a node shows that it has just claimed the port back several times.
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

// contested watches a port for a moment; it is no finding if its chassis stays and one node alone claims it.
func contested(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, b *sb.PortBindingBrief, claims []claimant) (doctor.Finding, bool) {
	var names []string
	addName := func(n string) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	changes := 0
	seen := watchChassis(p, z, b)
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
	f.Evidence = append(f.Evidence, doctor.SBRow("Port_Binding", b.UUID, "chassis changed %d times in two seconds; requested_chassis=[]", changes))
	if owner, why := ownerOf(b, claims); owner != nil {
		why.Source = why.Source.On(owner.host.Name)
		f.Evidence = append(f.Evidence, why)
		f.Fix = catalog.PinPort.With(b.LogicalPort, owner.chassis.Hostname)
	} else {
		f.Next = fmt.Sprintf("see on which node the pod or VM is, then: ovnctl fix pin-port %s NODE; and remove the interface on the other one", b.LogicalPort)
	}
	return f, true
}

// watchChassis reads a port's chassis several times.
func watchChassis(p *doctor.Pass, z *snapshot.Zone, b *sb.PortBindingBrief) []ovsdb.UUID {
	seen := []ovsdb.UUID{b.Chassis.Get()}
	db, err := z.SB()
	if err != nil {
		return seen
	}
	if _, live := db.(*ovsdb.Client); !live {
		return seen
	}
	for range 12 {
		rows, err := ovsdb.Find[sb.PortBindingBrief](p.Context(), db, ovsdb.Where("_uuid", "==", b.UUID))
		if err != nil || len(rows) == 0 {
			break
		}
		seen = append(seen, rows[0].Chassis.Get())
		select {
		case <-p.Context().Done():
			return seen
		case <-time.After(170 * time.Millisecond):
		}
	}
	return seen
}

// ownerOf is the one claimant that has the port's MAC address, with the evidence; nil: none or several have it.
func ownerOf(b *sb.PortBindingBrief, claims []claimant) (owner *claimant, why doctor.Evidence) {
	macs := strings.ToLower(strings.Join(b.MAC, " "))
	owners := 0
	for c := range doctor.Each(claims) {
		e := doctor.Evidence{Source: doctor.OVS("Interface", c.iface.Name)}
		mac := strings.ToLower(cmp.Or(c.iface.ExternalIDs["attached-mac"], c.iface.ExternalIDs["attached_mac"]))
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
