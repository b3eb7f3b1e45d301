package release

// lengths are how many tables ovn-controller has for a logical pipeline, by the first series that has so many.
var lengths = []struct {
	since           Series
	ingress, egress int
}{{2603, 34, 16}, {2509, 32, 32}, {2409, 30, 30}, {2103, 29, 29}, {0, 24, 24}}

// PipelineLength returns how many tables a series of OVN has for a logical pipeline; 0 if unknown.
func PipelineLength(s Series, egress bool) int {
	if s == 0 || s > lengths[0].since {
		return 0
	}
	for _, l := range lengths {
		switch {
		case s < l.since:
		case egress:
			return l.egress
		default:
			return l.ingress
		}
	}
	return 0
}
