package cms

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
)

var TransientScrubsLivePods = &doctor.Check{
	Name:     "transient-scrubs-live-pods",
	Category: "ovn-kubernetes",
	Doc: `A restart of the Open vSwitch container deletes the ports of live pods

OVN-Kubernetes marks the port of every pod as transient. Where Open vSwitch runs in a container
that starts it with --delete-transient-ports, each restart of that container, not only a
reboot, deletes them, and nothing adds them again.`,
	Run: func(p *doctor.Pass) {
		asked := false
		for _, h := range p.Hosts {
			s, err := h.Switch()
			if err != nil {
				continue // what is not known to have ports is not known to lose them
			}
			_, pods := catalog.TransientPorts(s)
			if len(pods) == 0 {
				continue
			}
			contained, by, err := catalog.Contained(h)
			if err != nil {
				asked = true
				if !errors.Is(err, node.ErrUnavailable) || h.Local {
					p.Unknown(doctor.NodeObject(h.Name), err)
				}
				continue
			}
			if !contained {
				continue
			}
			asked = true
			processes, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Processes)
			if !ok {
				continue
			}
			starter, says := "", ""
			for _, process := range processes {
				line := strings.Join(process.Args, " ")
				if process.Container && (strings.Contains(line, "ovnkube.sh") || strings.Contains(line, catalog.DeleteTransient)) {
					starter, says = fmt.Sprintf("process %d", process.PID), line
				}
			}
			f := doctor.Finding{
				Object: doctor.NodeObject(h.Name),
				Title:  fmt.Sprintf("a restart of the Open vSwitch container of %s deletes the ports of %d live pods", h.Name, len(pods)),
				Evidence: []doctor.Evidence{
					doctor.OVS("Port", doctor.AtMost(pods, 5)).Says("other_config:transient=true, and the interface has an iface-id"),
					doctor.Other(by).Says("in a container"),
				},
				Cause:  "the container starts ovsdb-server with " + catalog.DeleteTransient + ", which is meant for a reboot",
				Effect: "after an upgrade, an eviction or a crash of the container these pods have no network until they are made again",
				Next:   "take " + catalog.DeleteTransient + " out of the container's start, or upgrade to a release that does not mark pods' ports; pods that have lost theirs: delete them, so that they are made again",
			}
			if starter == "" {
				p.Unknown(doctor.NodeObject(h.Name), fmt.Errorf("%d ports of pods are transient and Open vSwitch runs in a container (%s): whether that container deletes them when it restarts, its start script says; look for %s in it", len(pods), by, catalog.DeleteTransient))
				continue
			}
			f.Evidence = append(f.Evidence, doctor.Other(starter).Says(says+": starts ovsdb-server with "+catalog.DeleteTransient))
			p.Report(f)
		}
		if !asked {
			p.Skip("no host here runs Open vSwitch in a container with transient ports of pods")
		}
	},
}
