package ovssim

import (
	"strconv"
	"strings"
)

// features are what a datapath can do (ovs-vswitchd(8), dpif/show-dp-features), as far as translations depend on it.
type features struct {
	masked   bool // writes parts of a header
	clone    bool
	nesting  int // of sample
	lengths  bool
	truncate bool
	clearCT  bool
	hash     int // the last algorithm of dp_hash
	mpls     bool
	tunnels  bool // builds tunnel headers
}

// newFeatures reads a reply to dpif/show-dp-features. What it does not have is taken to be as in today's datapath of the same type.
func newFeatures(text string, userspace bool) features {
	f := features{masked: true, clone: true, nesting: 10, lengths: true, truncate: true, clearCT: true, mpls: true, tunnels: userspace}
	if userspace {
		f.hash = 1
	}
	can := map[string]*bool{
		"Masked set action": &f.masked, "Clone action": &f.clone, "Check pkt length action": &f.lengths, "Truncate action": &f.truncate,
		"Conntrack clear": &f.clearCT, "MPLS Label add": &f.mpls, "Tunnel push pop": &f.tunnels,
	}
	limits := map[string]*int{"Sample nesting": &f.nesting, "Max dp_hash algorithm": &f.hash}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if has := can[name]; has != nil {
			*has = value == "Yes"
		}
		if most := limits[name]; most != nil {
			*most, _ = strconv.Atoi(value)
		}
	}
	return f
}

// unsupported records that the datapath leaves the packet to ovs-vswitchd.
func (x *translation) unsupported() {
	const reason = "Uses action(s) not supported by datapath"
	for _, s := range x.slow {
		if s == reason {
			return
		}
	}
	x.slow = append(x.slow, reason)
}
