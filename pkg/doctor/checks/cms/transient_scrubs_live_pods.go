package cms

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var TransientScrubsLivePods = &doctor.Check{
	Name:     "transient-scrubs-live-pods",
	Category: "ovn-kubernetes",
	Doc: `A restart of the Open vSwitch container deletes the ports of live pods

OVN-Kubernetes marks the port of every pod as transient. Where Open vSwitch runs in a container
that starts it with --delete-transient-ports, each restart of that container, not only a
reboot, deletes them, and nothing adds them again.`,
	Run: func(p *doctor.Pass) {
		why := "no host here runs Open vSwitch in a container with transient ports of pods"
		for f := range doctor.EachHost(p, why, func(h *snapshot.Host) (*doctor.Finding, bool) { return scrubs(p, h) }) {
			p.Report(*f)
		}
	},
}

// scrubs is the finding of a host whose Open vSwitch container deletes ports of pods when it restarts; applies: Open
// vSwitch runs in a container there, or that cannot be read.
func scrubs(p *doctor.Pass, h *snapshot.Host) (f *doctor.Finding, applies bool) {
	s, err := h.Switch()
	if err != nil {
		return nil, false // other checks report it
	}
	_, pods := facts.TransientPorts(s)
	if len(pods) == 0 {
		return nil, false
	}
	contained, by, err := facts.Contained(h)
	if err != nil && (!errors.Is(err, node.ErrUnavailable) || h.Local) {
		p.Unknown(doctor.NodeObject(h.Name), err)
	}
	if err != nil || !contained {
		return nil, err != nil
	}
	processes, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Processes)
	if !ok {
		return nil, true
	}
	i := slices.IndexFunc(processes, func(process node.Process) bool {
		line := strings.Join(process.Args, " ")
		return process.Container && (strings.Contains(line, "ovnkube.sh") || strings.Contains(line, facts.DeleteTransient))
	})
	if i < 0 {
		p.Unknown(doctor.NodeObject(h.Name), fmt.Errorf("%d ports of pods are transient and Open vSwitch runs in a container (%s); it is unknown whether that container deletes them when it restarts: search its start script for %s", len(pods), by, facts.DeleteTransient))
		return nil, true
	}
	return &doctor.Finding{
		Object: doctor.NodeObject(h.Name),
		Title:  fmt.Sprintf("a restart of the Open vSwitch container of %s deletes the ports of %d live pods", h.Name, len(pods)),
		Evidence: []doctor.Evidence{
			doctor.OVS("Port", "").On(h.Name).Says(doctor.AtMost(pods, 5) + ": other_config:transient=true, and the interface has an iface-id"),
			doctor.Other(by).Says("in a container"),
			doctor.Process(processes[i].PID).On(h.Name).Says(strings.Join(processes[i].Args, " ") + ": starts ovsdb-server with " + facts.DeleteTransient),
		},
		Cause:  "the container starts ovsdb-server with " + facts.DeleteTransient + ", which is meant for a reboot",
		Effect: "after an upgrade, an eviction or a crash of the container these pods have no network until they are recreated",
		Next:   "remove " + facts.DeleteTransient + " from the container's start, or upgrade to a release that does not mark pods' ports; delete pods that have lost theirs, so that they are recreated",
	}, true
}
