package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// atBoot says which files of the host give an address to a link when it boots,
// and so bring a fault back.
func atBoot(h *snapshot.Host, link, bridge string) []string {
	all, err := h.Persistent()
	if err != nil {
		return []string{fmt.Sprintf("what gives %s its addresses at boot could not be read: %v", link, err)}
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
		warnings = append(warnings, fmt.Sprintf("%s of %s gives %s to %s: at the next boot the fault is back, unless that names %s", p, p.Tool, what, link, bridge))
	}
	return warnings
}

// setBy are the files that set a setting when the host boots.
func setBy(h *snapshot.Host, name string) []string {
	var found []string
	for _, pattern := range []string{"/etc/sysctl.conf", "/etc/sysctl.d/*.conf", "/run/sysctl.d/*.conf", "/usr/lib/sysctl.d/*.conf"} {
		paths, err := h.Glob(pattern)
		if err != nil {
			continue // it is only told where it can be
		}
		for _, p := range paths {
			b, err := h.File(p)
			if err != nil {
				continue
			}
			line := 0
			for l := range strings.Lines(string(b)) {
				line++
				key, value, ok := strings.Cut(strings.TrimLeft(strings.TrimSpace(l), "-"), "=")
				if ok && strings.ReplaceAll(strings.TrimSpace(key), ".", "/") == name {
					found = append(found, fmt.Sprintf("%s:%d sets it to %s", p, line, strings.TrimSpace(value)))
				}
			}
		}
	}
	return found
}

// optional is a file's text, nil if there is none.
func optional(text []byte, err error) ([]byte, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}
