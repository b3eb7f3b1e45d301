package facts

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// tunnelModules are the kernel modules of Open vSwitch by interface type.
var tunnelModules = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{"geneve": "vport_geneve", "vxlan": "vport_vxlan", "gre": "vport_gre", "ip6gre": "vport_gre", "erspan": "vport_gre"}
}}

// linkModules are those of the kernel's own links, by which Open vSwitch since 2.8 makes its tunnels where they are there.
var linkModules = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{"vport_geneve": "geneve", "vport_vxlan": "vxlan", "vport_gre": "ip_gre"}
}}

// KernelModules are the kernel modules that a host's bridges need, and those missing.
type KernelModules struct {
	Needed  []string // by kernel datapath bridges and their tunnels; none if there is no such bridge
	Missing []string // neither loaded nor built in
	Release string   // of the kernel
	Absent  []string // those in Missing without a file for this kernel
}

// ReadKernelModules returns the modules that a host's bridges of the kernel datapath need.
func ReadKernelModules(h *snapshot.Host) (*KernelModules, error) {
	s, err := h.Switch()
	if err != nil {
		return nil, err
	}
	m := &KernelModules{}
	for _, p := range s.BridgeInterfaces() {
		if t := p.Bridge.DatapathType; t != "" && t != "system" {
			continue
		}
		for _, name := range []string{"openvswitch", tunnelModules.Get()[p.Type]} {
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
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // missing on a kernel without loadable modules
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
		either := []string{name, linkModules.Get()[name]}
		if slices.ContainsFunc(either, func(name string) bool { return hasModule(loaded, name) || hasFile(builtin, name) }) {
			continue
		}
		if i := slices.IndexFunc(either, func(name string) bool { return hasFile(known, name) }); i >= 0 {
			m.Missing = append(m.Missing, either[i])
			continue
		}
		m.Missing, m.Absent = append(m.Missing, name), append(m.Absent, name)
	}
	return m, nil
}

// hasModule reports whether /proc/modules lists a module.
func hasModule(modules []byte, name string) bool {
	for line := range strings.Lines(string(modules)) {
		if first, _, _ := strings.Cut(line, " "); first == name {
			return true
		}
	}
	return false
}

// hasFile reports whether modules.builtin or modules.dep lists a module's file.
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
