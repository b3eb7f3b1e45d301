package ovs

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DPDKNotInitialised = &doctor.Check{
	Name:     "dpdk-not-initialised",
	Category: "ovs",
	Doc: `DPDK was asked for and is not there

With other_config:dpdk-init=true and dpdk_initialized=false no port of type dpdk
works.`,
	Causes: []string{"vswitchd-not-running"},
	Run: func(p *doctor.Pass) {
		asked := false
		for _, l := range doctor.ReadHosts(p, readDPDK) {
			d := l.First
			asked = asked || d.init != "" || len(d.ports) > 0
			if d.initialised || d.init == "" && len(d.ports) == 0 {
				continue
			}
			f := doctor.Finding{
				Object: doctor.DaemonObject(l.Host, "ovs-vswitchd"), Also: []doctor.Object{doctor.NodeObject(l.Name)},
				Title:    fmt.Sprintf("ovs-vswitchd on %s has not initialised DPDK", l.Name),
				Evidence: d.evidence,
				Cause:    "see what it says in its log: no hugepages, a NIC that is not bound to vfio-pci, or a build of Open vSwitch without DPDK",
				Effect:   "ports of type dpdk, dpdkvhostuser and dpdkvhostuserclient do not work",
				Next:     "grep -i -e dpdk -e EAL " + l.Dirs().OVSLog + "/ovs-vswitchd.log; grep Huge /proc/meminfo; dpdk-devbind.py -s",
			}
			switch {
			case d.unsupported:
				f.Cause = "this build of Open vSwitch has no DPDK"
				f.Next = "install the one that has (Debian and Ubuntu: openvswitch-switch-dpdk), or ovs-vsctl remove Open_vSwitch . other_config dpdk-init"
			case d.init == "":
				f.Title = fmt.Sprintf("ports on %s are of type dpdk, and DPDK is not asked for", l.Name)
				f.Cause = "Open_vSwitch other_config:dpdk-init is not set"
				f.Next = "ovs-vsctl set Open_vSwitch . other_config:dpdk-init=true, then restart ovs-vswitchd in a quiet hour"
			case d.noHugepages:
				f.Cause = "the kernel has no hugepages: HugePages_Total is 0"
				f.Next = "give it some, at boot (default_hugepagesz=1G hugepagesz=1G hugepages=N) or with sysctl vm.nr_hugepages=N, then start ovs-vswitchd again"
			}
			if strings.EqualFold(d.init, "try") && len(d.ports) == 0 {
				f.Result = doctor.Warning // it may go on without
			}
			for _, port := range d.ports {
				f.Also = append(f.Also, doctor.Object{Kind: "interface", Name: port, Node: l.Name})
			}
			p.Report(f)
		}
		if !asked && len(p.Findings) == 0 {
			p.Skip("no host asks for DPDK")
		}
	},
}

// dpdk is what a host says of it.
type dpdk struct {
	init                     string // other_config:dpdk-init, if it asks for it
	initialised              bool
	unsupported, noHugepages bool
	ports                    []string // of its types that do not work
	evidence                 []doctor.Evidence
}

func readDPDK(h *snapshot.Host) (d dpdk, err error) {
	s, err := h.Switch()
	if err != nil {
		return d, err
	}
	for _, o := range s.OpenvSwitch {
		d.initialised = o.DPDKInitialized
		// Open vSwitch takes "true" and "try"; with "try" it goes on without.
		if v := o.OtherConfig["dpdk-init"]; strings.EqualFold(v, "true") || strings.EqualFold(v, "try") {
			d.init = v
		}
		d.evidence = append(d.evidence, doctor.Evidence{Source: doctor.OVS("Open_vSwitch", ""), Says: fmt.Sprintf("other_config:dpdk-init=%q dpdk_initialized=%v", o.OtherConfig["dpdk-init"], o.DPDKInitialized)})
	}
	for _, i := range s.Interfaces {
		if strings.HasPrefix(i.Type, "dpdk") && len(i.Error) > 0 {
			d.ports = append(d.ports, i.Name)
			d.evidence = append(d.evidence, doctor.Evidence{Source: doctor.OVS("Interface", i.Name), Says: fmt.Sprintf("type=%s error=%q", i.Type, i.Error.Get())})
		}
	}
	if d.initialised || d.init == "" {
		return d, nil
	}
	// The rest only says why.
	for _, text := range []string{"DPDK not supported", "EAL", "dpdk|"} {
		lines, err := doctor.LogLines(h, "ovs-vswitchd", text)
		if err == nil && len(lines) > 0 {
			d.evidence = append(d.evidence, lines[len(lines)-1].Evidence("ovs-vswitchd"))
			d.unsupported = text == "DPDK not supported"
			break
		}
	}
	if b, err := h.File("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if key, value, _ := strings.Cut(line, ":"); key == "HugePages_Total" {
				d.noHugepages = strings.TrimSpace(value) == "0"
				d.evidence = append(d.evidence, doctor.Evidence{Source: doctor.Other("/proc/meminfo"), Says: strings.Join(strings.Fields(line), " ")})
			}
		}
	}
	return d, nil
}
