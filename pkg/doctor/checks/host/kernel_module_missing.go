package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var KernelModuleMissing = &doctor.Check{
	Name:     "kernel-module-missing",
	Category: "node-os",
	Doc: `The kernel lacks a module that the bridges need

A bridge of the kernel's datapath needs the module openvswitch, its tunnels vport_geneve or vport_vxlan. Without
them ovs-vswitchd cannot open the bridge or the tunnel, and writes why into Interface.error.`,
	Causes: []string{"vswitchd-not-running"},
	Run: func(p *doctor.Pass) {
		any := false
		for _, h := range p.Hosts {
			m, err := catalog.ReadKernelModules(h)
			if errors.Is(err, snapshot.ErrNoSwitch) || errors.Is(err, node.ErrUnavailable) && !h.Local {
				continue
			}
			if err != nil {
				any = true
				p.Unknown(doctor.NodeObject(h.Name), err)
				continue
			}
			if len(m.Needed) == 0 {
				continue
			}
			any = true
			if d, err := h.Daemon("ovs-vswitchd"); err == nil && d.Liveness != snapshot.Answers {
				continue // its rows are of before
			}
			lookForModules(p, h, m)
		}
		if !any {
			p.Skip("no bridge here uses the kernel's datapath")
		}
	},
}

func lookForModules(p *doctor.Pass, h *snapshot.Host, m *catalog.KernelModules) {
	s, err := h.Switch()
	if err != nil {
		return
	}
	f := doctor.Finding{Object: doctor.NodeObject(h.Name)}
	family := false
	for _, plug := range s.Plugs() {
		if t := plug.Bridge.DatapathType; t != "" && t != "system" {
			continue
		}
		text := plug.Error.Get()
		local := plug.Name == plug.Bridge.Name
		tunnel := plug.Type == "geneve" || plug.Type == "vxlan" || plug.Type == "gre"
		switch {
		case tunnel && text != "":
			family = family || strings.Contains(text, "Address family not supported") || strings.Contains(text, "protocol")
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other(fmt.Sprintf("Open_vSwitch Interface %s, type %s", plug.Name, plug.Type)), Says: "error: " + text})
			f.Also = append(f.Also, doctor.Object{Kind: "tunnel", Name: plug.Name, Node: h.Name})
		case local && text != "":
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.OVS("Interface", plug.Name), Says: "error: " + text})
		case local && plug.OFNumber() == 0:
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.OVS("Interface", plug.Name), Says: "has no OpenFlow port: the bridge could not be opened"})
		default:
			continue
		}
		if bridge := (doctor.Object{Kind: "bridge", Name: plug.Bridge.Name, Node: h.Name}); !slices.Contains(f.Also, bridge) {
			f.Also = append(f.Also, bridge)
		}
	}
	if len(f.Evidence) == 0 {
		return
	}
	f.Effect = "nothing passes these bridges and tunnels"
	if len(m.Missing) == 0 {
		off, why := ipv6Off(h)
		if !family || !off {
			return // another fault
		}
		f.Title = fmt.Sprintf("IPv6 is off in the kernel of %s, and a tunnel needs it", h.Name)
		f.Evidence = append(f.Evidence, why)
		f.Cause = "the kernel opens the socket of a tunnel for both families"
		f.Next = "boot without ipv6.disable=1; to have no IPv6 addresses, net.ipv6.conf.all.disable_ipv6=1 is enough"
		p.Report(f)
		return
	}
	f.Title = fmt.Sprintf("the kernel of %s has not loaded %s", h.Name, strings.Join(m.Missing, ", "))
	f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File("/proc/modules", 0), Says: "lacks " + strings.Join(m.Missing, ", ")})
	f.Cause = "nothing loaded the module at boot, or the kernel was replaced and its modules are not installed"
	if len(m.Absent) > 0 {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("directory /lib/modules/" + m.Release), Says: "has no file of " + strings.Join(m.Absent, ", ")})
		f.Next = fmt.Sprintf("install the package with the modules of kernel %s (Ubuntu: linux-modules-extra-%[1]s, rpm: kernel-modules), or set the bridges to datapath_type=netdev", m.Release)
	} else {
		f.Fix = catalog.LoadModules.With()
	}
	p.Report(f)
}

// ipv6Off says whether the kernel can make no IPv6 socket at all.
func ipv6Off(h *snapshot.Host) (bool, doctor.Evidence) {
	line, err := h.File("/proc/cmdline")
	if err != nil {
		return false, doctor.Evidence{}
	}
	for _, word := range strings.Fields(string(line)) {
		if word == "ipv6.disable=1" {
			return true, doctor.Evidence{Source: doctor.File("/proc/cmdline", 0), Says: word}
		}
	}
	text, err := h.File("/proc/sys/net/ipv6/conf/all/disable_ipv6")
	if err == nil && strings.TrimSpace(string(text)) == "1" {
		return true, doctor.Evidence{Source: doctor.Other("sysctl net.ipv6.conf.all.disable_ipv6"), Says: "1"}
	}
	return false, doctor.Evidence{}
}
