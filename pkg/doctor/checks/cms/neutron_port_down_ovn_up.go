package cms

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var NeutronPortDownOvnUp = &doctor.Check{
	Name:     "neutron-port-down-ovn-up",
	Category: "openstack",
	Doc: `Neutron's view of a port differs from OVN's, or a network has no metadata

Neutron learns from Logical_Switch_Port.up that a port is there, and its metadata
agent keeps a namespace ovnmeta-NETWORK on each node with a server of the network.`,
	Causes: []string{"northd-not-active", "controller-not-running", "controller-not-caught-up", "vswitchd-not-running"},
	Settle: true, // between a chassis and Neutron lies a moment
	Run:    neutronPorts,
}

func neutronPorts(p *doctor.Pass) {
	applies := false
	for _, z := range p.Zones {
		north, ok := doctor.Need(p, doctor.NorthboundObject, z.Northbound)
		if !ok {
			continue
		}
		if !slices.ContainsFunc(north.Switches, func(s nb.LogicalSwitch) bool { return catalog.NeutronOwns(s.Name, s.ExternalIDs) }) {
			continue
		}
		applies = true
		south, ok := doctor.Need(p, doctor.SouthboundObject, z.Southbound)
		if !ok {
			continue
		}
		downInNorthbound(p, north, south)
		metadataAgents(p, z, north, south)
	}
	if !applies {
		p.Skip("no network of Neutron in OVN_Northbound")
	}
}

const neutronSync = "neutron-ovn-db-sync-util --config-file /etc/neutron/neutron.conf --config-file /etc/neutron/plugins/ml2/ml2_conf.ini --ovn-neutron_sync_mode log"

// downInNorthbound finds ports that a chassis has up and that Neutron sees down.
func downInNorthbound(p *doctor.Pass, north *snapshot.Northbound, south *snapshot.Southbound) {
	bound := map[string]*sb.PortBindingBrief{}
	for i := range south.PortBindings {
		bound[south.PortBindings[i].LogicalPort] = &south.PortBindings[i]
	}
	for _, port := range north.SwitchPorts {
		b := bound[port.Name]
		up := b != nil && len(b.Chassis) > 0 && b.Up.Get()
		if port.Type != "" || !catalog.NeutronOwns("", port.ExternalIDs) || snapshot.Off(port.Enabled) || !up || len(port.Up) == 0 || port.Up.Get() {
			continue
		}
		f := doctor.Finding{
			Object: doctor.PortObject(port.Name),
			Title:  fmt.Sprintf("port %s is up on its chassis, and down for Neutron", portLabel(port)),
			Evidence: []doctor.Evidence{
				doctor.NB("Logical_Switch_Port", doctor.Short(port.UUID)).Says("up=false"),
				doctor.SB("Port_Binding", doctor.Short(b.UUID)).Says("up=true chassis=" + string(b.Chassis.Get())),
			},
			Cause:  "ovn-northd has not carried it over, or somebody wrote into the Northbound",
			Effect: "Neutron shows the port DOWN; Nova waits in vain for it when the server starts or moves",
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

func portLabel(port nb.LogicalSwitchPortBrief) string {
	if name := port.ExternalIDs["neutron:port_name"]; name != "" {
		return name + " (" + port.Name + ")"
	}
	return port.Name
}

// farBehind is by how many of Neutron's beats, of half a minute or so, a metadata
// agent that lives is never behind.
const farBehind = 10

// metadataAgents looks at the namespaces and the beat of the metadata agents.
func metadataAgents(p *doctor.Pass, z *snapshot.Zone, north *snapshot.Northbound, south *snapshot.Southbound) {
	agents := map[string]map[string]string{} // external_ids by chassis
	for _, c := range south.ChassisPrivate {
		if c.ExternalIDs["neutron:ovn-metadata-id"] != "" {
			agents[c.Name] = c.ExternalIDs
		}
	}
	if len(agents) == 0 {
		return
	}
	for _, c := range south.Chassis {
		beat, err := strconv.Atoi(agents[c.Name]["neutron:ovn-metadata-sb-cfg"])
		if err != nil || len(south.Globals) == 0 || south.Globals[0].NBCfg-beat < farBehind {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.NodeObject(c.Hostname),
			Title:    fmt.Sprintf("the metadata agent on %s does not follow", c.Hostname),
			Evidence: []doctor.Evidence{doctor.SB("Chassis_Private", c.Name).Says(fmt.Sprintf("neutron:ovn-metadata-sb-cfg=%d, and SB_Global.nb_cfg=%d", beat, south.Globals[0].NBCfg))},
			Cause:    "neutron-ovn-metadata-agent does not run there, or has lost the Southbound",
			Effect:   "servers that start there get no metadata",
			Next:     "on " + c.Hostname + ": systemctl restart neutron-ovn-metadata-agent",
		})
	}
	for _, h := range p.Hosts {
		if name, _, err := h.ChassisName(); err == nil && agents[name] != nil && h.Zone() == z {
			namespaces(p, h, south.ChassisNamed(name), north, south)
		}
	}
}

// namespaces looks for those that the metadata agent of a host must have.
func namespaces(p *doctor.Pass, h *snapshot.Host, c *sb.Chassis, north *snapshot.Northbound, south *snapshot.Southbound) {
	if c == nil {
		return
	}
	node := doctor.NodeObject(h.Name)
	there := map[string]bool{}
	var last error
	read := false
	for _, dir := range []string{"/run/netns", "/var/run/netns"} {
		paths, err := h.Glob(dir + "/ovnmeta-*")
		if err != nil {
			last = err
			continue
		}
		read = true
		for _, file := range paths {
			there[path.Base(file)] = true
		}
	}
	if !read {
		p.Unknown(node, last)
		return
	}
	here := map[ovsdb.UUID]bool{} // datapaths with a server on this chassis
	at := map[string]*sb.PortBindingBrief{}
	for i := range south.PortBindings {
		b := &south.PortBindings[i]
		at[b.LogicalPort] = b
		if b.Type == "" && b.Chassis.Has(c.UUID) {
			here[b.Datapath] = true
		}
	}
	for _, port := range north.SwitchPorts {
		ns := port.ExternalIDs["neutron:device_id"]
		b := at[port.Name]
		if port.Type != "localport" || port.ExternalIDs["neutron:device_owner"] != "network:distributed" || !strings.HasPrefix(ns, "ovnmeta-") || b == nil || !here[b.Datapath] || there[ns] {
			continue
		}
		p.Report(doctor.Finding{
			Object: doctor.PortObject(port.Name),
			Also:   []doctor.Object{node},
			Title:  fmt.Sprintf("%s has servers of a network, but not its metadata namespace %s", h.Name, ns),
			Evidence: []doctor.Evidence{
				doctor.Other("files of " + h.Name).Says("no /run/netns/" + ns),
				doctor.NB("Logical_Switch_Port", doctor.Short(port.UUID)+" "+port.Name).Says("type=localport neutron:device_id=" + ns),
			},
			Cause:  "neutron-ovn-metadata-agent does not run on " + h.Name + ", or could not make the namespace",
			Effect: "servers of the network on " + h.Name + " get no metadata: no SSH key, no user data",
			Next:   "on " + h.Name + ": systemctl restart neutron-ovn-metadata-agent, and look at its log; " + neutronSync,
		})
	}
}
