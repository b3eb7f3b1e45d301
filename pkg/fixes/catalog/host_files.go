package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// atBoot warns of files of the host that give a link an address at boot, and so
// bring the fault back.
func atBoot(h *snapshot.Host, link, bridge string) []string {
	all, err := facts.PersistentOf(h)
	if err != nil {
		return []string{fmt.Sprintf("cannot tell what gives %s its addresses at boot: %v", link, err)}
	}
	var warnings []string
	for _, p := range all {
		if p.Link != link || !p.Gives() {
			continue
		}
		what := "DHCP"
		if len(p.Addresses) > 0 {
			what = fmt.Sprint(p.Addresses[0])
		}
		warnings = append(warnings, fmt.Sprintf("%s of %s gives %s to %s: the fault is back after the next boot, unless the file names %s", p, p.Tool, what, link, bridge))
	}
	return warnings
}

// setBy lists the lines of the host's files that set a kernel setting at boot, as far as they can be read.
func setBy(h *snapshot.Host, name string) []string {
	var found []string
	for _, pattern := range []string{"/etc/sysctl.conf", "/etc/sysctl.d/*.conf", "/run/sysctl.d/*.conf", "/usr/lib/sysctl.d/*.conf"} {
		paths, _ := h.Glob(pattern)
		for _, p := range paths {
			text, _ := h.File(p)
			found = append(found, settingsIn(p, string(text), name)...)
		}
	}
	return found
}

func settingsIn(path, text, name string) []string {
	var found []string
	for i, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(line), "-"), "=")
		if ok && strings.ReplaceAll(strings.TrimSpace(key), ".", "/") == name {
			found = append(found, fmt.Sprintf("%s:%d sets it to %s", path, i+1, strings.TrimSpace(value)))
		}
	}
	return found
}
