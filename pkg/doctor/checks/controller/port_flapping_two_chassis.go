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

Both have an interface with its name, and nothing says on which of them the port belongs. In a
live migration, requested-chassis names both nodes, and it is no fault.`,
	Causes: []string{"system-id-cloned", "duplicate-chassis-stale"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for _, z := range p.Zones {
			south, err := z.Southbound()
			if err != nil {
				p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
				continue
			}
			flapping(p, z, south)
		}
		if len(p.Zones) == 0 {
			p.Skip("there is no Southbound here")
		}
	},
}

// A holder is a node that has an interface for a port.
type holder struct {
	host *snapshot.Host
	plug snapshot.Plug
	row  *sb.Chassis
}

// flapping looks for ports that more than one node has an interface for, or whose chassis is not the one that has.
func flapping(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound) {
	claims := map[string][]holder{}
	for _, h := range p.Hosts {
		if h.Zone() != z {
			continue
		}
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		name, _, _ := h.ChassisName()
		row := south.ChassisNamed(name)
		if row == nil {
			continue
		}
		for _, plug := range sw.Plugs() {
			if id := plug.ExternalIDs["iface-id"]; id != "" && !held(claims[id], row) && plug.OFNumber() > 0 && plug.Bridge.Name == sw.IntegrationBridge(name) {
				claims[id] = append(claims[id], holder{h, plug, row})
			}
		}
	}
	for i := range south.PortBindings {
		b := &south.PortBindings[i]
		mine := claims[b.LogicalPort]
		if len(mine) == 0 || b.Type != "" || len(b.RequestedChassis) > 0 || len(b.AdditionalChassis) > 0 || len(b.RequestedAdditionalChassis) > 0 ||
			strings.Contains(b.Options["requested-chassis"], ",") || len(b.Chassis) == 0 {
			continue
		}
		if len(mine) == 1 && mine[0].row.UUID == b.Chassis.Get() && !claimedBack(mine[0], b.LogicalPort) {
			continue
		}
		if f, ok := contested(p, z, south, b, mine); ok {
			p.Report(f)
		}
	}
}

// held says whether a chassis is among those that have an interface for a port; a node may be reached by two names.
func held(mine []holder, row *sb.Chassis) bool {
	return slices.ContainsFunc(mine, func(h holder) bool { return h.row.UUID == row.UUID })
}

// claimedBack says whether the log of a node tells that it has taken the port back again and again lately.
func claimedBack(c holder, port string) bool {
	log, err := c.host.Log("ovn-controller")
	if err != nil {
		return false
	}
	text := "Changing chassis for lport " + port + " from "
	var last, first time.Time
	times := 0
	var end time.Time
	for line := range strings.Lines(log) {
		stamp, _, _ := strings.Cut(line, "|")
		t, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			continue
		}
		end = t
		if strings.Contains(line, text) {
			if times == 0 || t.Sub(last) > 20*time.Second {
				first, times = t, 0
			}
			last = t
			times++
		}
	}
	return times >= 3 && last.Sub(first) < time.Minute && end.Sub(last) < 20*time.Second
}

// contested watches a port for a moment.
func contested(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, b *sb.PortBindingBrief, mine []holder) (doctor.Finding, bool) {
	f := doctor.Finding{
		Object: doctor.Object{Kind: "port", Name: b.LogicalPort},
		Cause:  "an interface with the port's name is left on a node that the pod or virtual machine has left, or was given the name by mistake",
		Effect: "the port's packets go now here, now there, and every node follows each change",
	}
	seen := changesOf(p, z, b)
	changes := 0
	var names []string
	for i, id := range seen {
		if i > 0 && id != seen[i-1] {
			changes++
		}
		if n := doctor.ChassisName(south, id); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if changes < 2 && len(mine) < 2 {
		return doctor.Finding{}, false
	}
	for _, c := range mine {
		if n := doctor.WhichChassis(c.row); !slices.Contains(names, n) {
			names = append(names, n)
		}
		f.Also = append(f.Also, doctor.NodeObject(c.host.Name), doctor.InterfaceObject(c.host, c.plug))
		f.Evidence = append(f.Evidence, doctor.Evidence{
			Source: doctor.OVS("Interface", c.plug.Name).On(c.host.Name),
			Says:   fmt.Sprintf("ofport=%d %s", c.plug.OFNumber(), doctor.Pairs(c.plug.ExternalIDs, "iface-id", "iface-id-ver", "ovn-installed")),
		})
	}
	slices.Sort(names)
	for _, c := range south.Chassis {
		if slices.Contains(names, doctor.WhichChassis(&c)) {
			f.Also = append(f.Also, doctor.NodeObject(c.Hostname))
		}
	}
	f.Title = fmt.Sprintf("port %s is claimed by two nodes: %s", b.LogicalPort, strings.Join(names, " and "))
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.SB("Port_Binding", doctor.Short(b.UUID)), Says: fmt.Sprintf("chassis changed %d times while it was looked at; requested_chassis=[]", changes)})
	if right, why := rightful(p, b, mine); right != nil {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("node " + right.host.Name), Says: why})
		f.Fix = catalog.PinPort.With(b.LogicalPort, right.row.Hostname)
	} else {
		f.Next = fmt.Sprintf("see on which node the pod or virtual machine is, then: ovnctl fix pin-port %s NODE; and remove the interface on the other one", b.LogicalPort)
	}
	return f, true
}

// changesOf reads several times on which chassis a port is.
func changesOf(p *doctor.Pass, z *snapshot.Zone, b *sb.PortBindingBrief) []ovsdb.UUID {
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

// rightful is the one of several nodes that is known to have what the port is for.
func rightful(p *doctor.Pass, b *sb.PortBindingBrief, mine []holder) (*holder, string) {
	var right []*holder
	why := ""
	macs := strings.ToLower(strings.Join(b.MAC, " "))
	for i := range mine {
		c := &mine[i]
		if mac := strings.ToLower(cmp.Or(c.plug.ExternalIDs["attached-mac"], c.plug.ExternalIDs["attached_mac"])); mac != "" && strings.Contains(macs, mac) {
			right = append(right, c)
			why = fmt.Sprintf("interface %s is for MAC address %s, which is the port's", c.plug.Name, mac)
			continue
		}
		pod, err := c.host.Pod(c.plug.Name)
		if err != nil || !strings.Contains(macs, strings.ToLower(pod.Link.MAC)) || pod.Link.MAC == "" {
			continue
		}
		right = append(right, c)
		why = fmt.Sprintf("behind %s is MAC address %s, which is the port's", c.plug.Name, pod.Link.MAC)
	}
	if len(right) != 1 {
		return nil, ""
	}
	return right[0], why
}
