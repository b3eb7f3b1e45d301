package controller

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

var ControllerMisdirected = &doctor.Check{
	Name:     "controller-misdirected",
	Category: "ovn-controller",
	Doc: `ovn-controller is sent to a wrong bridge or database

external_ids:ovn-bridge names a bridge without ports while another one has them, ovn-remote leads to
a Northbound, or the integration bridge does not speak a version of OpenFlow that ovn-controller needs.
ovn-controller runs and reports none of it.`,
	Causes: []string{"conf-db-lost-or-corrupt"},
	Settle: true,
	Host: doctor.OnChassis(func(p *doctor.Pass, c *doctor.Chassis) {
		otherBridge(p, c)
		northboundRemote(p, c)
		oldProtocols(p, c)
	}),
}

// vifs counts the interfaces with logical ports, by bridge.
func vifs(c *doctor.Chassis) map[string]int {
	count := map[string]int{}
	for _, i := range c.OVS.BridgeInterfaces() {
		if i.ExternalIDs["iface-id"] != "" {
			count[i.Bridge.Name]++
		}
	}
	return count
}

// otherBridge reports an integration bridge without logical ports beside one that ovn-controller has worked on, and that
// has them.
func otherBridge(p *doctor.Pass, c *doctor.Chassis) {
	count := vifs(c)
	setting, key := c.OVS.Setting("ovn-bridge", c.SystemID)
	if setting == "" || count[c.Bridge] > 0 {
		return
	}
	for b := range doctor.Each(c.OVS.Bridges) {
		if b.Name == c.Bridge || count[b.Name] < 2 || !worked(b) {
			continue
		}
		f := doctor.Finding{
			Object: doctor.NodeObject(c.Name),
			Reason: "bridge-renamed",
			Also:   []doctor.Object{doctor.BridgeObject(c.Host, b.Name), doctor.BridgeObject(c.Host, c.Bridge)},
			Title:  fmt.Sprintf("ovn-controller of %s works on bridge %s, which has no logical ports; %s has %d", c.Name, c.Bridge, b.Name, count[b.Name]),
			Evidence: []doctor.Evidence{
				doctor.Setting("external_ids:" + key).On(c.Name).Says(setting),
				doctor.OVS("Bridge", b.Name).On(c.Name).Says(fmt.Sprintf("has %d interfaces with an iface-id, and what ovn-controller noted there before", count[b.Name])),
			},
			Cause:  "external_ids:" + key + " was changed, or was written for another node",
			Effect: "all ports of this node are unbound, and it has no tunnels",
			Next:   "on " + c.Name + ": " + fixes.Command("ovs-vsctl set Open_vSwitch . external_ids:%s=%s", key, b.Name) + ", then delete the other bridge if nothing else uses it",
		}
		for _, i := range c.OVS.BridgeInterfaces() {
			if i.Bridge.Name == b.Name {
				f.Concern(doctor.PortOfInterface(i)...)
			}
		}
		p.Report(f)
		return
	}
}

// worked reports whether ovn-controller has noted something at a bridge.
func worked(b *vswitch.BridgeBrief) bool {
	for key := range b.ExternalIDs {
		if strings.HasPrefix(key, "ct-zone-") || key == "ovn-nb-cfg" {
			return true
		}
	}
	return false
}

// northboundRemote reports an ovn-remote that is where a Northbound was read from.
func northboundRemote(p *doctor.Pass, c *doctor.Chassis) {
	value, key := c.OVS.Setting("ovn-remote", c.SystemID)
	remotes := doctor.Endpoints(value)
	if len(remotes) == 0 {
		return
	}
	north := map[string]bool{}
	for z := range p.EachZone() {
		if db, err := z.NB(); err == nil {
			north[remoteOf(db)] = true
		}
		if db, err := z.SB(); err == nil { // one server may have both
			delete(north, remoteOf(db))
		}
	}
	leads := func(remote string) bool { return north[remote] || strings.HasSuffix(remote, "/ovnnb_db.sock") }
	if slices.ContainsFunc(remotes, func(r string) bool { return !leads(r) }) {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.NodeObject(c.Name),
		Reason:   "northbound",
		Also:     []doctor.Object{doctor.DaemonObject(c.Host, "ovn-controller")},
		Title:    fmt.Sprintf("ovn-remote of %s leads to a Northbound: %s", c.Name, value),
		Evidence: []doctor.Evidence{doctor.Setting("external_ids:" + key).On(c.Name).Says(value), doctor.Endpoint(remotes[0]).Says("serves OVN_Northbound")},
		Cause:    "the port of the Northbound was written in place of the Southbound's: 6641 for 6642",
		Effect:   "ovn-controller neither registers the node nor follows the Southbound: ports bound here stay as they were, nothing new works",
		Next:     "on " + c.Name + ": " + fixes.Command("ovs-vsctl set Open_vSwitch . external_ids:%s=REMOTE", key) + ", with the Southbound's, as other nodes have it",
	})
}

// remoteOf returns the remote that a database was read from; empty if it was not read from a server.
func remoteOf(db ovsdb.Reader) string {
	if _, ok := db.(*ovsdb.Client); !ok {
		return ""
	}
	return db.Origin()
}

// oldProtocols reports an integration bridge without any version of OpenFlow that ovn-controller has ever spoken.
func oldProtocols(p *doctor.Pass, c *doctor.Chassis) {
	at := slices.IndexFunc(c.OVS.Bridges, func(b vswitch.BridgeBrief) bool { return b.Name == c.Bridge })
	if at < 0 {
		return
	}
	b := &c.OVS.Bridges[at]
	spoken := []string{"OpenFlow13", "OpenFlow15"}
	if len(b.Protocols) == 0 || slices.ContainsFunc(spoken, b.Protocols.Has) {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.BridgeObject(c.Host, b.Name),
		Reason:   "protocols",
		Also:     []doctor.Object{doctor.NodeObject(c.Name), doctor.DaemonObject(c.Host, "ovn-controller")},
		Title:    fmt.Sprintf("bridge %s of %s speaks %s alone, which ovn-controller does not", b.Name, c.Name, strings.Join(b.Protocols, ", ")),
		Evidence: []doctor.Evidence{doctor.OVS("Bridge", b.Name).On(c.Name).Says("protocols=" + strings.Join(b.Protocols, ","))},
		Cause:    "protocols was set by hand or by a tool",
		Effect:   "ovn-controller cannot change the flows: ports bound here stay as they were, nothing new works",
		Next:     "on " + c.Name + ": " + fixes.Command("ovs-vsctl clear bridge %s protocols", b.Name),
	})
}
