package cms

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var HostnameMismatch = &doctor.Check{
	Name:     "hostname-mismatch",
	Category: "ovn-kubernetes",
	Doc: `A chassis has another hostname than its node

Gateways and ports request chassis by hostname. A chassis that is registered under the full or
an old name is never found.`,
	Causes: []string{"controller-not-running", "system-id-cloned", "duplicate-chassis-stale", "missing-external-ids"},
	Settle: true,
	Host:   registeredHostname,
	Run: func(p *doctor.Pass) {
		reported := map[string]bool{} // chassis already reported from their node
		for _, f := range p.Findings {
			reported[f.Object.Name] = true
		}
		for z, l := range p.Northbounds() {
			clusterHostnames(p, z, l.Northbound, reported)
		}
	},
}

// registeredHostname compares a node's setting with its Chassis row.
func registeredHostname(p *doctor.Pass, h *snapshot.Host) {
	sw, err := h.Switch()
	south := doctor.SouthboundOf(h)
	if err != nil || south == nil {
		return
	}
	name, _, _ := h.ChassisName()
	row := south.ChassisNamed(name)
	set, key := sw.Setting("hostname", name)
	if row == nil || set == "" || row.Hostname == set {
		return
	}
	p.Report(doctor.Finding{
		Object: doctor.ChassisObject(row.Name),
		Also:   []doctor.Object{doctor.NodeObject(h.Name), doctor.NodeObject(row.Hostname), doctor.NodeObject(set)},
		Reason: "setting",
		Title:  fmt.Sprintf("chassis %s is registered as %s, but its node is set to %s", row.Name, row.Hostname, set),
		Evidence: []doctor.Evidence{
			doctor.Setting("external_ids:" + key).On(h.Name).Says(set),
			doctor.SBRow("Chassis", row.UUID, "hostname=%s", row.Hostname),
		},
		Cause:  "ovn-controller has not written its setting: it is down, cannot write, or another node writes the same row",
		Effect: "ports and gateways that request chassis " + set + " do not find it",
		Next:   "ovn-appctl -t ovn-controller connection-status, then its log",
	})
}

// clusterHostnames compares chassis hostnames with the nodes named in the CMS's rows.
func clusterHostnames(p *doctor.Pass, z *snapshot.Zone, north *snapshot.Northbound, reported map[string]bool) {
	south, ok := doctor.Need(p, doctor.SouthboundObject, z.Southbound)
	if !ok {
		return
	}
	nodes := clusterNodes(north)
	chassis := map[string]bool{}
	for i := range south.Chassis {
		chassis[south.Chassis[i].Hostname] = true
	}
	for c := range doctor.Each(south.Chassis) {
		if snapshot.Elsewhere(c) || reported[c.Name] || c.Hostname == "" || nodes[c.Hostname] != "" || requested(north, c) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(nodes)) {
			if !chassis[name] && sameHost(name, c.Hostname) {
				p.Report(hostnameFinding(p, c, name, nodes[name]))
			}
		}
	}
}

// clusterNodes returns the nodes named in a CMS's rows, each with such a port.
func clusterNodes(north *snapshot.Northbound) map[string]string {
	nodes := map[string]string{}
	for _, port := range north.SwitchPorts {
		if name, ok := strings.CutPrefix(port.Name, "k8s-"); ok { // the management port of OVN-Kubernetes
			nodes[name] = port.Name
		}
		if name, ok := strings.CutPrefix(port.Name, "node-"); ok && port.ExternalIDs["vendor"] == "kube-ovn" {
			nodes[name] = port.Name
		}
		if name := facts.RequestedChassis(port.Options); name != "" && nodes[name] == "" {
			nodes[name] = port.Name
		}
	}
	return nodes
}

// requested reports whether a port requests a chassis by system-id: then its hostname is not used.
func requested(north *snapshot.Northbound, c *sb.Chassis) bool {
	return slices.ContainsFunc(north.SwitchPorts, func(port nb.LogicalSwitchPortBrief) bool { return facts.RequestedChassis(port.Options) == c.Name })
}

// sameHost reports whether two names are the short and the full name of a host.
func sameHost(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a != b && strings.EqualFold(b[:len(a)], a) && (len(a) == len(b) || b[len(a)] == '.')
}

func hostnameFinding(p *doctor.Pass, c *sb.Chassis, name, port string) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.ChassisObject(c.Name),
		Also:   []doctor.Object{doctor.NodeObject(c.Hostname), doctor.NodeObject(name)},
		Reason: "node",
		Title:  fmt.Sprintf("chassis %s is registered as %s, but the cluster's node is %s", c.Name, c.Hostname, name),
		Evidence: []doctor.Evidence{
			doctor.SBRow("Chassis", c.UUID, "hostname=%s", c.Hostname),
			doctor.NB("Logical_Switch_Port", port).Says("names " + name),
		},
		Cause:  "the node was registered under its full name or another spelling: without a setting ovs-ctl takes the kernel's hostname",
		Effect: "ports and gateways that request chassis " + name + " are bound nowhere",
	}
	if h := p.Host(c.Name); h != nil {
		f.Also = append(f.Also, doctor.NodeObject(h.Name))
		f.Fix = catalog.SetHostname.With(name)
	} else {
		f.Next = fixes.Command("on that node: ovnctl fix set-chassis-hostname %s", name)
	}
	return f
}
