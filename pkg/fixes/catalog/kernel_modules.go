package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// tunnelModules are the modules of Open vSwitch by the type of an interface.
var tunnelModules = map[string]string{"geneve": "vport_geneve", "vxlan": "vport_vxlan", "gre": "vport_gre", "ip6gre": "vport_gre", "erspan": "vport_gre"}

// KernelModules is what a host's kernel has of the modules that its bridges need.
type KernelModules struct {
	Needed  []string // by the bridges of the kernel's datapath and their tunnels; none: there is no such bridge
	Missing []string // neither loaded nor built in
	Release string   // of the kernel
	Absent  []string // of the missing those of which the kernel has no file
}

// ReadKernelModules looks at what a host's bridges of the kernel's datapath need.
func ReadKernelModules(h *snapshot.Host) (*KernelModules, error) {
	s, err := h.Switch()
	if err != nil {
		return nil, err
	}
	m := &KernelModules{}
	for _, p := range s.Plugs() {
		if t := p.Bridge.DatapathType; t != "" && t != "system" {
			continue
		}
		for _, name := range []string{"openvswitch", tunnelModules[p.Type]} {
			if name != "" && !slices.Contains(m.Needed, name) {
				m.Needed = append(m.Needed, name)
			}
		}
	}
	if len(m.Needed) == 0 {
		return m, nil
	}
	release, err := h.File("/proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	m.Release = strings.TrimSpace(string(release))
	loaded, err := h.File("/proc/modules")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel that can load none has no such file
		return nil, err
	}
	dir := path.Join("/lib/modules", m.Release)
	builtin, err := h.File(path.Join(dir, "modules.builtin"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	known, err := h.File(path.Join(dir, "modules.dep"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, name := range m.Needed {
		if hasModule(loaded, name) || hasFile(builtin, name) {
			continue
		}
		m.Missing = append(m.Missing, name)
		if !hasFile(known, name) {
			m.Absent = append(m.Absent, name)
		}
	}
	return m, nil
}

// hasModule finds a module in /proc/modules.
func hasModule(modules []byte, name string) bool {
	for line := range strings.Lines(string(modules)) {
		if first, _, _ := strings.Cut(line, " "); first == name {
			return true
		}
	}
	return false
}

// hasFile finds a module's file in modules.builtin or modules.dep.
func hasFile(list []byte, name string) bool {
	for line := range strings.Lines(string(list)) {
		file, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		base, _, ok := strings.Cut(path.Base(file), ".ko")
		if ok && strings.ReplaceAll(base, "-", "_") == name {
			return true
		}
	}
	return false
}

// LoadModules loads the kernel modules that a host's bridges need.
var LoadModules = &fixes.Repair{
	Name: "load-modules",
	Doc: `Load the kernel modules that the bridges need

Runs modprobe for openvswitch and for the module of each type of tunnel there is, vport_geneve or vport_vxlan,
as far as they are neither loaded nor built in, and looks afterwards whether they are there. It lasts until the
next boot: modules-at-boot names them for that.`,
	Class:  fixes.Auto,
	Risk:   fixes.Low,
	Check:  "kernel-module-missing",
	OneWay: "a module that was loaded stays",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		m, err := ReadKernelModules(h)
		if err != nil {
			return nil, err
		}
		if err := m.loadable(h); err != nil {
			return nil, err
		}
		return &fixes.Plan{
			Title: "load " + strings.Join(m.Missing, ", "), Host: h.Name, Touches: "nothing that flows now",
			Steps:    []fixes.Step{fixes.Module{Names: m.Missing}},
			Warnings: []string{"they are gone after the next boot unless something loads them then: ovnctl fix modules-at-boot"},
		}, nil
	},
}

// loadable says why there is nothing to load, or nothing that could be.
func (m *KernelModules) loadable(h *snapshot.Host) error {
	switch {
	case len(m.Needed) == 0:
		return fixes.Refuse("", "no bridge of %s uses the kernel's datapath", h.Name)
	case len(m.Missing) == 0:
		return fixes.Refuse("", "the kernel of %s has %s", h.Name, strings.Join(m.Needed, ", "))
	case len(m.Absent) > 0:
		return fixes.Refuse("install the package with the modules of this kernel (Ubuntu: linux-modules-extra, rpm: kernel-modules), or boot a kernel that has them",
			"kernel %s of %s has no module %s", m.Release, h.Name, strings.Join(m.Absent, ", "))
	}
	return nil
}

const modulesAtBoot = "/etc/modules-load.d/ovn.conf"

// ModulesAtBoot has the modules loaded at each boot.
var ModulesAtBoot = &fixes.Repair{
	Name: "modules-at-boot",
	Doc: `Load the kernel modules that the bridges need at each boot

Names them in /etc/modules-load.d/ovn.conf, which systemd-modules-load reads. Nothing is loaded now: load-modules
does that.`,
	Class: fixes.Ask,
	Risk:  fixes.Low,
	Check: "kernel-module-missing",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		m, err := ReadKernelModules(h)
		if err != nil {
			return nil, err
		}
		if len(m.Needed) == 0 {
			return nil, fixes.Refuse("", "no bridge of %s uses the kernel's datapath", h.Name)
		}
		before, err := optional(h.File(modulesAtBoot))
		if err != nil {
			return nil, err
		}
		after := slices.Clone(before)
		if len(after) > 0 && after[len(after)-1] != '\n' {
			after = append(after, '\n')
		}
		var added []string
		for _, name := range m.Needed {
			if !slices.Contains(strings.Fields(string(before)), name) {
				added = append(added, name)
				after = append(after, name+"\n"...)
			}
		}
		if len(added) == 0 {
			return nil, fixes.Refuse("", "%s names %s", modulesAtBoot, strings.Join(m.Needed, ", "))
		}
		return &fixes.Plan{
			Title: "load " + strings.Join(added, ", ") + " at boot", Host: h.Name, Touches: "nothing now",
			Steps: []fixes.Step{fixes.File{Path: modulesAtBoot, Before: before, After: after, What: fmt.Sprintf("name %s in %s", strings.Join(added, ", "), modulesAtBoot)}},
		}, nil
	},
}
