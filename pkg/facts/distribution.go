package facts

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Distribution is what a host runs, os-release(5).
type Distribution struct {
	ID   string // "debian", "ubuntu", "rhel", "rocky"
	Name string // for people: PRETTY_NAME
	// Family is "debian" or "rpm", by ID and ID_LIKE; empty: neither.
	Family string
}

// DistributionOf reads the host's os-release.
func DistributionOf(h *snapshot.Host) (Distribution, error) {
	text, err := h.File("/etc/os-release")
	if err != nil {
		if text, err = h.File("/usr/lib/os-release"); err != nil {
			return Distribution{}, err
		}
	}
	get := func(name string) string {
		if a := envfile.LastShell(text, name); a != nil {
			return a.Value
		}
		return ""
	}
	d := Distribution{ID: get("ID"), Name: get("PRETTY_NAME")}
	for _, id := range append([]string{d.ID}, strings.Fields(get("ID_LIKE"))...) {
		switch id {
		case "debian", "ubuntu":
			d.Family = "debian"
		case "rhel", "fedora", "centos", "suse", "opensuse", "sles":
			d.Family = "rpm"
		default:
			continue
		}
		break
	}
	if d.Name == "" {
		d.Name = d.ID
	}
	return d, nil
}
