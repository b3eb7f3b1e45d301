package cms

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var HostnameMismatch = &doctor.Check{
	Name:     "hostname-mismatch",
	Category: "ovn-kubernetes",
	Doc: `A chassis is not known by the name that the cluster has for its node

Gateways and ports ask for chassis by hostname. One that is registered under its full
name, or an old one, is never found.`,
	Causes: []string{"controller-not-running", "system-id-cloned", "duplicate-chassis-stale", "missing-external-ids"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		asked := map[string]bool{} // chassis that were reported from their node
		for _, h := range p.Hosts {
			registeredHostname(p, h, asked)
		}
		for _, z := range p.Zones {
			clusterHostnames(p, z, asked)
		}
	},
}

// registeredHostname compares what a node says of itself with what the Southbound has.
func registeredHostname(p *doctor.Pass, h *snapshot.Host, asked map[string]bool) {
	sw, err := h.Switch()
	if err != nil {
		return
	}
	z := h.Zone()
	if z == nil {
		return
	}
	south, err := z.Southbound()
	if err != nil {
		return
	}
	name, _, _ := h.ChassisName()
	row := south.ChassisNamed(name)
	set, key := sw.Setting("hostname", name)
	if row == nil || set == "" || row.Hostname == set {
		return
	}
	asked[row.Name] = true
	p.Report(doctor.Finding{
		Object: doctor.Object{Kind: "chassis", Name: row.Name},
		Also:   []doctor.Object{doctor.NodeObject(h.Name), doctor.NodeObject(row.Hostname), doctor.NodeObject(set)},
		Title:  fmt.Sprintf("chassis %s is registered as %s, and its node says %s", row.Name, row.Hostname, set),
		Evidence: []doctor.Evidence{
			doctor.Other("Open_vSwitch external_ids of " + h.Name).Says(key + "=" + set),
			doctor.SB("Chassis", doctor.Short(row.UUID)).Says("hostname=" + row.Hostname),
		},
		Cause:  "ovn-controller has not written its setting: it does not run, cannot write, or another node writes the same row",
		Effect: "what asks for chassis " + set + " does not find it",
		Next:   "ovn-appctl -t ovn-controller connection-status, then its log",
	})
}

// clusterHostnames compares the hostnames of chassis with the nodes that the management system's rows name.
func clusterHostnames(p *doctor.Pass, z *snapshot.Zone, asked map[string]bool) {
	north, ok := doctor.Need(p, doctor.NorthboundObject, z.Northbound)
	if !ok {
		return
	}
	south, ok := doctor.Need(p, doctor.SouthboundObject, z.Southbound)
	if !ok {
		return
	}
	nodes := clusterNodes(north)
	chassis := map[string]bool{}
	for i := range south.Chassis {
		chassis[south.Chassis[i].Hostname] = true
	}
	for i := range south.Chassis {
		c := &south.Chassis[i]
		if snapshot.Elsewhere(c) || asked[c.Name] || c.Hostname == "" || nodes[c.Hostname] != "" || chassisAsked(north, c) {
			continue
		}
		for name, row := range nodes {
			if !chassis[name] && sameHost(name, c.Hostname) {
				p.Report(hostnameFinding(p, c, name, row))
			}
		}
	}
}

// clusterNodes are the names of nodes that the rows of a management system give away, each with the row.
func clusterNodes(north *snapshot.Northbound) map[string]string {
	nodes := map[string]string{}
	for _, port := range north.SwitchPorts {
		if name, ok := strings.CutPrefix(port.Name, "k8s-"); ok { // the management port of ovn-kubernetes
			nodes[name] = "Northbound Logical_Switch_Port " + port.Name
		}
		if name, ok := strings.CutPrefix(port.Name, "node-"); ok && port.ExternalIDs["vendor"] == "kube-ovn" {
			nodes[name] = "Northbound Logical_Switch_Port " + port.Name
		}
		if want := catalog.RequestedChassis(port.Options); want != "" && nodes[want] == "" {
			nodes[want] = fmt.Sprintf("Northbound Logical_Switch_Port %s requested-chassis=%s", port.Name, want)
		}
	}
	return nodes
}

// chassisAsked says whether something asks for a chassis by its system-id: then that is the name it goes by.
func chassisAsked(north *snapshot.Northbound, c *sb.Chassis) bool {
	for i := range north.SwitchPorts {
		if catalog.RequestedChassis(north.SwitchPorts[i].Options) == c.Name {
			return true
		}
	}
	return false
}

// sameHost says whether two names are the short and the full one of a host.
func sameHost(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a != b && strings.EqualFold(b[:len(a)], a) && (len(a) == len(b) || b[len(a)] == '.')
}

func hostnameFinding(p *doctor.Pass, c *sb.Chassis, name, row string) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.Object{Kind: "chassis", Name: c.Name},
		Also:   []doctor.Object{doctor.NodeObject(c.Hostname), doctor.NodeObject(name)},
		Title:  fmt.Sprintf("chassis %s is registered as %s, and the cluster's node is %s", c.Name, c.Hostname, name),
		Evidence: []doctor.Evidence{
			doctor.SB("Chassis", doctor.Short(c.UUID)).Says("hostname=" + c.Hostname),
			doctor.Other(row).Says("names " + name),
		},
		Cause:  "the node was registered under its full name or another spelling, which ovs-ctl takes from the kernel when nothing else is set",
		Effect: "ports and gateways that ask for chassis " + name + " are bound nowhere",
	}
	if h := p.Host(c.Name); h != nil {
		f.Also = append(f.Also, doctor.NodeObject(h.Name))
		f.Fix = catalog.SetHostname.With(name)
	} else {
		f.Next = fmt.Sprintf("on that node: ovnctl fix set-chassis-hostname %s", name)
	}
	return f
}
