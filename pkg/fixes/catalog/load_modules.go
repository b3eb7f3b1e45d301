package catalog

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// LoadModules loads the kernel modules that a host's bridges need.
var LoadModules = &fixes.Repair{
	Name: "load-modules",
	Doc: `Load the kernel modules that the bridges need

Runs modprobe for openvswitch and for the module of each tunnel type in use, as vport_geneve or geneve, unless
it is loaded or built in, and checks afterwards that they are loaded. It lasts until the next boot: use
modules-at-boot for that.`,
	Local:  true,
	Class:  fixes.Auto,
	Risk:   fixes.Low,
	Check:  "kernel-module-missing",
	OneWay: "a loaded module stays loaded",
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
		m, err := facts.ReadKernelModules(h)
		if err != nil {
			return nil, err
		}
		if err := checkLoadable(m, h); err != nil {
			return nil, err
		}
		return &fixes.Plan{
			Title: "load " + strings.Join(m.Missing, ", "), Host: h.Name, Touches: "nothing that flows now",
			Steps:    []fixes.Step{fixes.Module{Names: m.Missing}},
			Warnings: []string{"the next boot does not load them, unless something else does: ovnctl fix modules-at-boot"},
		}, nil
	}),
}

// checkLoadable refuses if nothing needs loading, or nothing can be loaded.
func checkLoadable(m *facts.KernelModules, h *snapshot.Host) error {
	switch {
	case len(m.Needed) == 0:
		return fixes.Refuse("", "no bridge of %s uses the kernel datapath", h.Name)
	case len(m.Missing) == 0:
		return fixes.Refuse("", "the kernel of %s has %s", h.Name, strings.Join(m.Needed, ", "))
	case len(m.Absent) > 0:
		return fixes.Refuse("install the package with the modules of this kernel (Ubuntu: linux-modules-extra, rpm: kernel-modules), or boot a kernel that has them",
			"kernel %s of %s has no module %s", m.Release, h.Name, strings.Join(m.Absent, ", "))
	}
	return nil
}
