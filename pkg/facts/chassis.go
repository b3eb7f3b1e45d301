package facts

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ChassisMeant is the only chassis with this hostname, or else the only one with this
// hostname up to the first dot: somebody wrote a hostname in place of a system-id. Nil:
// there is none, or more than one.
func ChassisMeant(rows *snapshot.Southbound, wrong string) *sb.Chassis {
	host, _, _ := strings.Cut(wrong, ".")
	var full, short []*sb.Chassis
	for c := range rows.OwnChassis() {
		name, _, _ := strings.Cut(c.Hostname, ".")
		switch {
		case c.Hostname == wrong:
			full = append(full, c)
		case wrong != "" && strings.EqualFold(name, host):
			short = append(short, c)
		}
	}
	switch {
	case len(full) == 1:
		return full[0]
	case len(full) == 0 && len(short) == 1:
		return short[0]
	}
	return nil
}

// Maps reports whether a chassis has a bridge for a physical network.
func Maps(c *sb.Chassis, network string) bool {
	for m := range strings.SplitSeq(c.OtherConfig["ovn-bridge-mappings"]+","+c.ExternalIDs["ovn-bridge-mappings"], ",") {
		if name, _, ok := strings.Cut(m, ":"); ok && strings.TrimSpace(name) == network {
			return true
		}
	}
	return false
}

// RouterChassisMeant is the chassis that a gateway router belongs on, by the hostname in its
// options:chassis or in its name; nil: unknown.
func RouterChassisMeant(rows *snapshot.Southbound, r *nb.LogicalRouter) *sb.Chassis {
	if is := r.Options["chassis"]; is != "" {
		if c := ChassisMeant(rows, is); c != nil {
			return c
		}
	}
	for i, ch := range r.Name {
		if ch != '_' && ch != '-' {
			continue
		}
		if c := ChassisMeant(rows, r.Name[i+1:]); c != nil {
			return c
		}
	}
	return nil
}
