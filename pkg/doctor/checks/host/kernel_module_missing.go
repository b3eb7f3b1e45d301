package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var KernelModuleMissing = &doctor.Check{
	Name:     "kernel-module-missing",
	Category: "node-os",
	Doc: `The kernel lacks a module that the bridges need

A bridge of the kernel datapath needs the module openvswitch, its tunnels geneve or vxlan, or vport_geneve or vport_vxlan. Without
them ovs-vswitchd cannot open the bridge or the tunnel, and writes the reason to Interface.error.`,
	Causes: []string{"vswitchd-not-running"},
	Host: doctor.On("no bridge here uses the kernel datapath", moduleUserOf, func(p *doctor.Pass, n *moduleUser) {
		if d, err := n.Daemon("ovs-vswitchd"); len(n.modules.Needed) == 0 || err == nil && d.Liveness != snapshot.Answers {
			return // without the daemon its rows are outdated
		}
		missingModules(p, n)
	}),
}

func moduleUserOf(p *doctor.Pass, h *snapshot.Host) (user *moduleUser, applies bool) {
	m, err := facts.ReadKernelModules(h)
	if errors.Is(err, snapshot.ErrNoSwitch) || errors.Is(err, node.ErrUnavailable) && !h.Local {
		return nil, false
	}
	if err != nil {
		p.Unknown(doctor.NodeObject(h.Name), err)
		return nil, true
	}
	return &moduleUser{h, m}, len(m.Needed) > 0
}

// A moduleUser is a host and the modules that its bridges need.
type moduleUser struct {
	*snapshot.Host
	modules *facts.KernelModules
}

func missingModules(p *doctor.Pass, n *moduleUser) {
	s, err := n.Switch()
	if err != nil {
		return
	}
	f := doctor.Finding{Object: doctor.NodeObject(n.Name), Effect: "these bridges and tunnels forward nothing"}
	noProtocol := false
	for _, i := range s.BridgeInterfaces() {
		if t := i.Bridge.DatapathType; t != "" && t != "system" {
			continue
		}
		problem := i.Error.Get()
		tunnel, local := slices.Contains([]string{"geneve", "vxlan", "gre"}, i.Type), i.Name == i.Bridge.Name
		e := doctor.Evidence{Source: doctor.OVS("Interface", i.Name), Says: "error: " + problem}
		switch {
		case tunnel && problem != "":
			noProtocol = noProtocol || strings.Contains(problem, "Address family not supported") || strings.Contains(problem, "protocol")
			f.Also = append(f.Also, doctor.Object{Kind: "tunnel", Name: i.Name, Node: n.Name})
		case local && problem != "":
		case local && i.OFNumber() == 0:
			e.Says = "has no OpenFlow port: the bridge could not be opened"
		default:
			continue
		}
		f.Evidence = append(f.Evidence, e)
		if bridge := doctor.BridgeObject(n.Host, i.Bridge.Name); !slices.Contains(f.Also, bridge) {
			f.Also = append(f.Also, bridge)
		}
	}
	switch {
	case len(f.Evidence) == 0:
	case len(n.modules.Missing) > 0:
		notLoaded(&f, n)
		p.Report(f)
	case noProtocol:
		if off, ok := ipv6Off(n.Host); ok {
			f.Reason = "ipv6-off"
			f.Title = fmt.Sprintf("IPv6 is off in the kernel of %s, and a tunnel needs it", n.Name)
			f.Evidence = append(f.Evidence, off)
			f.Cause = "the kernel opens the socket of a tunnel for IPv4 and IPv6"
			f.Next = "boot without ipv6.disable=1; to have no IPv6 addresses, net.ipv6.conf.all.disable_ipv6=1 is enough"
			p.Report(f)
		}
	}
}

func notLoaded(f *doctor.Finding, n *moduleUser) {
	missing := strings.Join(n.modules.Missing, ", ")
	f.Reason = "not-loaded"
	f.Title = fmt.Sprintf("the kernel of %s has not loaded %s", n.Name, missing)
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File("/proc/modules", 0), Says: "does not list " + missing})
	f.Cause = "nothing loaded the module at boot, or the kernel was replaced and its modules are not installed"
	if len(n.modules.Absent) == 0 {
		f.Fix = catalog.LoadModules.With()
		return
	}
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Directory("/lib/modules/" + n.modules.Release), Says: "has no file of " + strings.Join(n.modules.Absent, ", ")})
	f.Next = fmt.Sprintf("install the package with the modules of kernel %s (Ubuntu: linux-modules-extra-%[1]s, rpm: kernel-modules), or set the bridges to datapath_type=netdev", n.modules.Release)
}

// ipv6Off is evidence that the kernel cannot open IPv6 sockets; ok is false if it can.
func ipv6Off(h *snapshot.Host) (e doctor.Evidence, ok bool) {
	line, err := h.File("/proc/cmdline")
	if err != nil {
		return e, false
	}
	if slices.Contains(strings.Fields(string(line)), "ipv6.disable=1") {
		return doctor.Evidence{Source: doctor.File("/proc/cmdline", 0), Says: "ipv6.disable=1"}, true
	}
	if text, err := h.Sysctl("net/ipv6/conf/all/disable_ipv6"); err == nil && text == "1" {
		return doctor.Evidence{Source: doctor.Sysctl("net/ipv6/conf/all/disable_ipv6"), Says: text}, true
	}
	return e, false
}
