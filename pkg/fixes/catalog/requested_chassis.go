package catalog

import "strings"

// RequestedChassis is the chassis that options ask for a port to be on, by name or hostname. Of
// several, for a live migration, it is the first, where the port is before it moves.
func RequestedChassis(options map[string]string) string {
	first, _, _ := strings.Cut(options["requested-chassis"], ",")
	return strings.TrimSpace(first)
}
