package catalog

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// RequestedChassis is the chassis that a port's options ask for, by name or hostname. During
// a live migration there are two: it is the first, on which the port is before it moves.
func RequestedChassis(options map[string]string) string {
	first, _, _ := strings.Cut(options["requested-chassis"], ",")
	return strings.TrimSpace(first)
}

// checkNotMigrating refuses for a port in a live migration.
func checkNotMigrating(p *nb.LogicalSwitchPortBrief) error {
	if value := p.Options["requested-chassis"]; strings.Contains(value, ",") {
		return fixes.Refuse("wait until it ends, or end it with the tool that started it", "port %s is in a live migration: requested-chassis=%s", p.Name, value)
	}
	return nil
}
