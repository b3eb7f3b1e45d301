package node

import (
	"maps"
	"path"
	"strings"
)

// featureGroups are ethtool(8)'s names for one or more kernel features. only is set where ethtool has no other
// name for the feature.
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

// ethtoolFeatures maps the kernel's features to the names of ethtool(8).
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

// leavesChecksums reports whether the kernel leaves the checksums of TCP and UDP over either family to a link.
func leavesChecksums(features map[string]bool) *bool {
	if len(features) == 0 {
		return nil
	}
	leaves := features["tx-checksum-ip-generic"] || features["tx-checksum-ipv4"] || features["tx-checksum-ipv6"]
	return &leaves
}

// parseLinkFeatures parses what `ethtool -k` prints of a link, among that of others.
func parseLinkFeatures(text, link string) map[string]bool {
	_, of, _ := strings.Cut("\n"+text, "\nFeatures for "+link+":\n")
	of, _, _ = strings.Cut(of, "\nFeatures for ")
	return parseFeatures(of)
}

// parseFeatures parses `ethtool -k`: "tx-checksumming: on", followed by " [fixed]" if it cannot be changed.
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
