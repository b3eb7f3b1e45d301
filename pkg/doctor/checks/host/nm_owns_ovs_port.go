package host

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var NMOwnsOvsPort = &doctor.Check{
	Name:     "nm-owns-ovs-port",
	Category: "node-os",
	Doc: `A bridge's flows name a port number that the bridge no longer has

When NetworkManager restarts, it takes the uplink out of the bridge and puts it back. The
port gets another OpenFlow number, and flows with the old number lead nowhere.`,
	Causes: []string{"vswitchd-not-running", "uplink-not-in-bridge"},
	Settle: true,
	Run:    doctor.Over2((*doctor.Pass).Uplinks, renumbered),
}

func renumbered(p *doctor.Pass, n *doctor.Node, u facts.Uplink) {
	if u.Port == nil || !p.InterfacesCurrent(n.Host) {
		return
	}
	bridge := u.Bridge.Name
	flows, ok := doctor.Need(p, doctor.BridgeObject(n.Host, bridge), func() (map[int]string, error) { return flowsByPort(n, bridge) })
	s, err := n.Switch()
	if !ok || err != nil {
		return
	}
	lost, own := maps.Clone(flows), []string{}
	for _, i := range s.BridgeInterfaces() {
		number := i.OFNumber()
		if number <= 0 || i.Bridge.Name != bridge {
			continue
		}
		delete(lost, number)
		if i.Port.Name != u.Port.Name {
			continue
		}
		if flows[number] != "" {
			return // flows name the uplink: what else they name is not this fault
		}
		own = append(own, strconv.Itoa(number))
	}
	if len(lost) == 0 || len(own) == 0 {
		return
	}
	var numbers []string
	for _, number := range slices.Sorted(maps.Keys(lost)) {
		numbers = append(numbers, strconv.Itoa(number))
	}
	profiles := ovsProfiles(n.Host, append(u.Links, bridge))
	cause := "the uplink left the bridge and came back with another number"
	if len(profiles) > 0 {
		cause = "NetworkManager owns the port, and created it again when it restarted"
	}
	p.Report(doctor.Finding{
		Object: doctor.BridgeObject(n.Host, bridge),
		Also:   []doctor.Object{doctor.NodeObject(n.Name), doctor.LinkObject(n.Host, u.Port.Name)},
		Title:  fmt.Sprintf("flows of bridge %s name port %s, which it does not have, and not its uplink %s", bridge, strings.Join(numbers, ", "), u.Port.Name),
		Evidence: append([]doctor.Evidence{
			{Source: doctor.OVS("Interface", u.Links[0]), Says: "ofport=" + strings.Join(own, ", ")},
			{Source: doctor.Flows(bridge), Says: lost[slices.Min(slices.Collect(maps.Keys(lost)))]},
		}, profiles...),
		Cause:  cause,
		Effect: "these flows send nothing to the uplink and match nothing from it",
		Next:   "restart what writes the flows of " + bridge + " (OVN-Kubernetes: delete the ovnkube-node pod of this node)",
	})
}

// flowsByPort is a flow for each OpenFlow port number that the flows of a bridge name.
func flowsByPort(n *doctor.Node, bridge string) (map[int]string, error) {
	flows, err := n.PlainFlows(bridge)
	if err != nil {
		return nil, err
	}
	named := map[int]string{}
	for _, f := range flows {
		f.Stats = nil // they differ from one sample to the next
		ports := outputPorts(f.Actions)
		if in, ok := f.Match.Field("in_port"); ok {
			ports = append(ports, int(in.Port.Number))
		}
		for _, number := range ports {
			if number < firstReserved && named[number] == "" {
				named[number] = f.String()
			}
		}
	}
	return named, nil
}

// firstReserved is the first number that is not a port's own: LOCAL, CONTROLLER and others follow.
const firstReserved = 0xff00

// outputPorts are the OpenFlow port numbers that actions send packets to.
func outputPorts(list openflow.Actions) (ports []int) {
	for _, a := range list {
		switch a := a.(type) {
		case openflow.Output:
			if a.Src == nil {
				ports = append(ports, int(a.Port.Number))
			}
		case openflow.Clone:
			ports = append(ports, outputPorts(a.Actions)...)
		case openflow.WriteActions:
			ports = append(ports, outputPorts(a.Actions)...)
		case openflow.Other:
			if a.Name != "enqueue" || len(a.Args) == 0 {
				continue
			}
			if number, err := strconv.Atoi(cmp.Or(a.Args[0].Key, a.Args[0].Value)); err == nil {
				ports = append(ports, number)
			}
		}
	}
	return ports
}

// ovsProfiles are the profiles of NetworkManager for OVS ports with one of these names.
func ovsProfiles(h *snapshot.Host, names []string) []doctor.Evidence {
	var list []doctor.Evidence
	for _, pattern := range []string{"/etc/NetworkManager/system-connections/*", "/run/NetworkManager/system-connections/*"} {
		paths, err := h.Glob(pattern)
		if err != nil {
			continue
		}
		for _, path := range paths {
			b, err := h.File(path)
			if err != nil {
				continue
			}
			text := string(b)
			named := slices.ContainsFunc(names, func(n string) bool { return strings.Contains(text, "interface-name="+n+"\n") })
			if named && strings.Contains(text, "type=ovs-") { // also slave-type and port-type
				list = append(list, doctor.Evidence{Source: doctor.File(path, 0), Says: "a profile of NetworkManager for an OVS port"})
			}
		}
	}
	return list
}
