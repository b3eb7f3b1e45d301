package openflow

import (
	"strconv"
	"strings"
)

// A ZoneLimit limits the connections of a conntrack zone.
type ZoneLimit struct {
	Zone       int // -1: the default for zones without their own
	Limit, Now int // Limit 0: none
}

// Reached reports whether the zone takes no new connections.
func (l ZoneLimit) Reached() bool { return l.Zone >= 0 && l.Limit > 0 && l.Now >= l.Limit }

// ParseZoneLimits parses the output of ovs-appctl dpctl/ct-get-limits: the default, and the zones asked for or with a
// limit of their own.
func ParseZoneLimits(text string) []ZoneLimit {
	var limits []ZoneLimit
	for line := range strings.Lines(text) {
		l := ZoneLimit{Zone: -1}
		known := false
		for part := range strings.SplitSeq(strings.TrimSpace(line), ",") {
			key, value, _ := strings.Cut(part, "=")
			n, err := strconv.Atoi(value)
			if err != nil {
				continue
			}
			switch strings.TrimSpace(key) {
			case "zone":
				l.Zone = n
			case "limit", "default limit":
				l.Limit, known = n, true
			case "count":
				l.Now = n
			}
		}
		if known {
			limits = append(limits, l)
		}
	}
	return limits
}
