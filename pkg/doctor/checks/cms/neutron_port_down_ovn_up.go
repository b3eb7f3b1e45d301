package cms

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var NeutronPortDownOvnUp = &doctor.Check{
	Name:     "neutron-port-down-ovn-up",
	Category: "openstack",
	Doc: `A Neutron port is down although OVN has it up, or a network has no metadata

Neutron reads from Logical_Switch_Port.up whether a port is up, and its metadata agent keeps a
namespace ovnmeta-NETWORK on each node with a server of the network.`,
	Causes: []string{"northd-not-active", "controller-not-running", "controller-not-caught-up", "vswitchd-not-running"},
	Settle: true, // the state takes a moment to reach Neutron
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		z := h.Zone()
		if z == nil {
			return
		}
		l, err := facts.LogicalOf(z)
		if err != nil || !ofNeutron(l.Northbound) {
			return
		}
		south, err := z.Southbound()
		if err != nil {
			return
		}
		if name, _, err := h.ChassisName(); err == nil && metadataAgents(south)[name] != nil {
			namespaces(p, h, south.ChassisNamed(name), l.Northbound, south)
		}
	},
	Run: neutronPorts,
}

// ofNeutron reports whether a Northbound has a network of Neutron.
func ofNeutron(north *snapshot.Northbound) bool {
	return slices.ContainsFunc(north.Switches, func(s nb.LogicalSwitch) bool { return decode.NeutronOwns(s.Name, s.ExternalIDs) })
}

func neutronPorts(p *doctor.Pass) {
	applies := false
	for z, l := range p.Northbounds() {
		if !ofNeutron(l.Northbound) {
			continue
		}
		applies = true
		if south, ok := doctor.Need(p, doctor.SouthboundObject, z.Southbound); ok {
			downInNorthbound(p, l.Northbound, south)
			lateAgents(p, south)
		}
	}
	if !applies {
		p.Skip("OVN_Northbound has no network of Neutron")
	}
}

const neutronSync = "neutron-ovn-db-sync-util --config-file /etc/neutron/neutron.conf --config-file /etc/neutron/plugins/ml2/ml2_conf.ini --ovn-neutron_sync_mode log"

// downInNorthbound reports ports that are up on their chassis but down in the Northbound.
func downInNorthbound(p *doctor.Pass, north *snapshot.Northbound, south *snapshot.Southbound) {
	bound := doctor.PortBindings(south)
	for _, port := range north.SwitchPorts {
		b := bound[port.Name]
		up := b != nil && len(b.Chassis) > 0 && b.Up.Get()
		if port.Type != "" || !decode.NeutronOwns("", port.ExternalIDs) || facts.Off(port.Enabled) || !up || len(port.Up) == 0 || port.Up.Get() {
			continue
		}
		f := doctor.Finding{
			Object: doctor.PortObject(port.Name),
			Reason: "down",
			Title:  fmt.Sprintf("port %s is up on its chassis, but down for Neutron", doctor.PortLabel(&port)),
			Evidence: []doctor.Evidence{
				doctor.NBRow("Logical_Switch_Port", port.UUID, "up=false"),
				doctor.SBRow("Port_Binding", b.UUID, "up=true chassis=%s", b.Chassis.Get()),
			},
			Cause:  "ovn-northd has not copied the state, or something else wrote to the Northbound",
			Effect: "Neutron shows the port DOWN; Nova waits for it and times out when the server starts or moves",
			Next:   neutronSync,
		}
		for _, c := range south.Chassis {
			if c.UUID == b.Chassis.Get() {
				f.Also = append(f.Also, doctor.NodeObject(c.Hostname))
			}
		}
		p.Report(f)
	}
}

// farBehind is a lag in Neutron heartbeats, about half a minute, that a live metadata agent never has.
const farBehind = 10

// metadataAgents returns what Neutron's metadata agents have written, by chassis.
func metadataAgents(south *snapshot.Southbound) map[string]map[string]string {
	agents := map[string]map[string]string{}
	for _, c := range south.ChassisPrivate {
		if c.ExternalIDs["neutron:ovn-metadata-id"] != "" {
			agents[c.Name] = c.ExternalIDs
		}
	}
	return agents
}

// lateAgents reports metadata agents that lag.
func lateAgents(p *doctor.Pass, south *snapshot.Southbound) {
	agents := metadataAgents(south)
	for _, c := range south.Chassis {
		beat, err := strconv.Atoi(agents[c.Name]["neutron:ovn-metadata-sb-cfg"])
		if err != nil || len(south.Globals) == 0 || south.Globals[0].NBCfg-beat < farBehind {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.NodeObject(c.Hostname),
			Reason:   "agent-behind",
			Title:    fmt.Sprintf("the metadata agent on %s does not keep up", c.Hostname),
			Evidence: []doctor.Evidence{doctor.SB("Chassis_Private", c.Name).Says(fmt.Sprintf("neutron:ovn-metadata-sb-cfg=%d, but SB_Global.nb_cfg=%d", beat, south.Globals[0].NBCfg))},
			Cause:    "neutron-ovn-metadata-agent is down there, or has lost the Southbound",
			Effect:   "servers that start there get no metadata",
			Next:     "on " + c.Hostname + ": systemctl restart neutron-ovn-metadata-agent",
		})
	}
}

// namespaces reports missing namespaces that a host's metadata agent should have created.
func namespaces(p *doctor.Pass, h *snapshot.Host, c *sb.Chassis, north *snapshot.Northbound, south *snapshot.Southbound) {
	if c == nil {
		return
	}
	node := doctor.NodeObject(h.Name)
	exists := map[string]bool{}
	run, runErr := h.Glob("/run/netns/ovnmeta-*")
	varRun, err := h.Glob("/var/run/netns/ovnmeta-*")
	if runErr != nil && err != nil {
		p.Unknown(node, err)
		return
	}
	for _, file := range slices.Concat(run, varRun) {
		exists[path.Base(file)] = true
	}
	here := map[ovsdb.UUID]bool{} // datapaths with a server on this chassis
	at := map[string]*sb.PortBindingBrief{}
	for b := range doctor.Each(south.PortBindings) {
		at[b.LogicalPort] = b
		if b.Type == "" && b.Chassis.Has(c.UUID) {
			here[b.Datapath] = true
		}
	}
	for _, port := range north.SwitchPorts {
		ns := port.ExternalIDs["neutron:device_id"]
		b := at[port.Name]
		if port.Type != "localport" || port.ExternalIDs["neutron:device_owner"] != "network:distributed" || !strings.HasPrefix(ns, "ovnmeta-") || b == nil || !here[b.Datapath] || exists[ns] {
			continue
		}
		p.Report(doctor.Finding{
			Object: doctor.Object{Kind: "port", Name: port.Name, Node: h.Name}, // several nodes may lack it for the network
			Also:   []doctor.Object{node, doctor.PortObject(port.Name)},
			Reason: "no-namespace",
			Title:  fmt.Sprintf("%s has servers of a network, but not its metadata namespace %s", h.Name, ns),
			Evidence: []doctor.Evidence{
				doctor.File("/run/netns/"+ns, 0).On(h.Name).Says("does not exist"),
				doctor.NB("Logical_Switch_Port", port.Name).Says("type=localport neutron:device_id=" + ns),
			},
			Cause:  "neutron-ovn-metadata-agent is down on " + h.Name + ", or could not create the namespace",
			Effect: "servers of the network on " + h.Name + " get no metadata: no SSH key, no user data",
			Next:   "on " + h.Name + ": systemctl restart neutron-ovn-metadata-agent, then read its log; " + neutronSync,
		})
	}
}
