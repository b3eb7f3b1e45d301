package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const modulesAtBoot = "/etc/modules-load.d/ovn.conf"

// ModulesAtBoot loads the modules at each boot.
var ModulesAtBoot = &fixes.Repair{
	Name: "modules-at-boot",
	Doc: `Load the kernel modules that the bridges need at each boot

Lists them in /etc/modules-load.d/ovn.conf, which systemd-modules-load reads. It loads nothing now: use load-modules
for that.`,
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.Low,
	Check: "kernel-module-missing",
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
		m, err := facts.ReadKernelModules(h)
		if err != nil {
			return nil, err
		}
		if len(m.Needed) == 0 {
			return nil, fixes.Refuse("", "no bridge of %s uses the kernel datapath", h.Name)
		}
		before, err := h.OptionalFile(modulesAtBoot)
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
			return nil, fixes.Refuse("", "%s lists %s", modulesAtBoot, strings.Join(m.Needed, ", "))
		}
		return &fixes.Plan{
			Title: "load " + strings.Join(added, ", ") + " at boot", Host: h.Name, Touches: "nothing now",
			Steps: []fixes.Step{fixes.File{Path: modulesAtBoot, Before: before, After: after, What: fmt.Sprintf("add %s to %s", strings.Join(added, ", "), modulesAtBoot)}},
		}, nil
	}),
}
