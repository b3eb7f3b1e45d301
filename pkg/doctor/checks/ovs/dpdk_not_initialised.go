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
	Doc: `DPDK is configured and not initialised

With other_config:dpdk-init=true and dpdk_initialized=false no port of type dpdk works.`,
	Causes: []string{"vswitchd-not-running"},
	Host: doctor.OnRead(readDPDK, func(p *doctor.Pass, h *snapshot.Host, d dpdk) {
		configured := d.init != "" || len(d.ports) > 0
		if p.Applies(configured, "no host is configured for DPDK"); configured && !d.initialised {
			p.Report(d.finding(h))
		}
	}),
}

// dpdk is the state of DPDK on a host.
type dpdk struct {
	init                     string // other_config:dpdk-init; empty if not requested
	initialised              bool
	unsupported, noHugepages bool
	ports                    []string // of DPDK types, with an error
	evidence                 []doctor.Evidence
}

func (d *dpdk) finding(h *snapshot.Host) doctor.Finding {
	f := doctor.Finding{
		Object:   doctor.DaemonObject(h, "ovs-vswitchd"),
		Reason:   "not-initialised",
		Also:     []doctor.Object{doctor.NodeObject(h.Name)},
		Title:    fmt.Sprintf("ovs-vswitchd on %s has not initialised DPDK", h.Name),
		Evidence: d.evidence,
		Cause:    "its log has the reason: no hugepages, a NIC that is not bound to vfio-pci, or a build of Open vSwitch without DPDK",
		Effect:   "ports of type dpdk, dpdkvhostuser and dpdkvhostuserclient do not work",
		Next:     "grep -i -e dpdk -e EAL " + h.Dirs().OVSLog + "/ovs-vswitchd.log; grep Huge /proc/meminfo; dpdk-devbind.py -s",
	}
	switch {
	case d.unsupported:
		f.Reason = "not-supported"
		f.Cause = "this build of Open vSwitch has no DPDK"
		f.Next = "install one with DPDK (Debian and Ubuntu: openvswitch-switch-dpdk), or ovs-vsctl remove Open_vSwitch . other_config dpdk-init"
	case d.init == "":
		f.Reason = "not-requested"
		f.Title = fmt.Sprintf("%s has ports of type dpdk, and dpdk-init is not set", h.Name)
		f.Cause = "Open_vSwitch other_config:dpdk-init is not set"
		f.Next = "ovs-vsctl set Open_vSwitch . other_config:dpdk-init=true, then restart ovs-vswitchd in a maintenance window"
	case d.noHugepages:
		f.Reason = "no-hugepages"
		f.Cause = "the kernel has no hugepages: HugePages_Total is 0"
		f.Next = "reserve some, at boot (default_hugepagesz=1G hugepagesz=1G hugepages=N) or with sysctl vm.nr_hugepages=N, then start ovs-vswitchd again"
	}
	if strings.EqualFold(d.init, "try") && len(d.ports) == 0 {
		f.Result = doctor.Warning // it works without
	}
	for _, port := range d.ports {
		f.Also = append(f.Also, doctor.Object{Kind: "interface", Name: port, Node: h.Name})
	}
	return f
}

func readDPDK(h *snapshot.Host) (d dpdk, err error) {
	s, err := h.Switch()
	if err != nil {
		return d, err
	}
	for _, o := range s.OpenvSwitch {
		d.initialised = o.DPDKInitialized
		// Open vSwitch takes "true" and "try"; with "try" it works without.
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
	if !d.initialised && d.init != "" {
		d.explain(h)
	}
	return d, nil
}

// explain finds the reason why DPDK is not initialised.
func (d *dpdk) explain(h *snapshot.Host) {
	for _, text := range []string{"DPDK not supported", "EAL", "dpdk|"} {
		if last := doctor.LastLogged(h, "ovs-vswitchd", text); last.Raw != "" {
			d.evidence = append(d.evidence, doctor.LogEvidence("ovs-vswitchd", last))
			d.unsupported = text == "DPDK not supported"
			break
		}
	}
	b, err := h.File("/proc/meminfo")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		if key, value, _ := strings.Cut(line, ":"); key == "HugePages_Total" {
			d.noHugepages = strings.TrimSpace(value) == "0"
			d.evidence = append(d.evidence, doctor.Evidence{Source: doctor.File("/proc/meminfo", 0), Says: strings.Join(strings.Fields(line), " ")})
		}
	}
}
