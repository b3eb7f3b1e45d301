package node

import (
	"maps"
	"path"
	"strings"
)

// featureGroups are the names that ethtool(8) gives to one or several of the
// kernel's features. Where it stands for one that ethtool does not name besides,
// only is set.
var featureGroups = []struct {
	name, kernel string
	only         bool
}{
	{"rx-checksumming", "rx-checksum", true},
	{"tx-checksumming", "tx-checksum-*", false},
	{"scatter-gather", "tx-scatter-gather*", false},
	{"tcp-segmentation-offload", "tx-tcp*-segmentation", false},
	{"udp-fragmentation-offload", "tx-udp-fragmentation", true},
	{"generic-segmentation-offload", "tx-generic-segmentation", true},
	{"generic-receive-offload", "rx-gro", true},
	{"large-receive-offload", "rx-lro", true},
	{"rx-vlan-offload", "rx-vlan-hw-parse", true},
	{"tx-vlan-offload", "tx-vlan-hw-insert", true},
	{"ntuple-filters", "rx-ntuple-filter", true},
	{"receive-hashing", "rx-hashing", true},
}

// ethtoolFeatures gives the kernel's features the names of ethtool(8).
func ethtoolFeatures(kernel map[string]bool) map[string]bool {
	named := maps.Clone(kernel)
	for _, g := range featureGroups {
		for feature, on := range kernel {
			if ok, _ := path.Match(g.kernel, feature); !ok {
				continue
			}
			named[g.name] = named[g.name] || on
			if g.only {
				delete(named, feature)
			}
		}
	}
	return named
}

// parseFeatures reads what `ethtool -k` prints: "tx-checksumming: on", and of
// those that cannot be changed "… [fixed]".
func parseFeatures(text string) map[string]bool {
	features := map[string]bool{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		state, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		if ok && (state == "on" || state == "off") {
			features[name] = state == "on"
		}
	}
	return features
}
