package facts

import (
	"strings"
)

// RequestedChassis is the chassis that a port's options ask for, by name or hostname. During
// a live migration there are two: it is the first, on which the port is before it moves.
func RequestedChassis(options map[string]string) string {
	first, _, _ := strings.Cut(options["requested-chassis"], ",")
	return strings.TrimSpace(first)
}
