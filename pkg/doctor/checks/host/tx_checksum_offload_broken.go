package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var TXChecksumOffloadBroken = &doctor.Check{
	Name:     "tx-checksum-offload-broken",
	Category: "node-os",
	Doc: `Packets arrive with wrong checksums

Ping works, TCP and UDP do not: the sender leaves checksums to a device that does not
fill them in.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		anyWrong := func(c wrongCounts) bool { return len(c) > 0 }
		for _, s := range doctor.TakeSamples(p, readChecksums, anyWrong) {
			if s.Both {
				wrongChecksums(p, s)
			}
		}
	},
}

// fewWrong is so few in some seconds that a bad cable explains them.
const fewWrong = 1

func wrongChecksums(p *doctor.Pass, s doctor.Samples[wrongCounts]) {
	var evidence []doctor.Evidence
	for _, name := range slices.Sorted(maps.Keys(s.Second)) {
		if first, second := s.First[name], s.Second[name]; doctor.Increase(first, second) > fewWrong {
			evidence = append(evidence, doctor.CounterEvidence(doctor.Counter(name), first, second, p.Sample()))
		}
	}
	if len(evidence) == 0 {
		return
	}
	f := doctor.Finding{
		Object: doctor.NodeObject(s.Name),
		Title:  fmt.Sprintf("packets with wrong checksums arrive on %s", s.Name),
		Cause:  "the sender leaves the checksum to a device that does not fill it in: a NIC, or a tunnel or veth with offload on",
		Effect: "they are dropped: ping works, TCP and UDP connections do not",
		Next:   "find the sender (tcpdump -nvv shows \"incorrect\"), and there ethtool -K DEVICE tx off",
	}
	links := offloading(s.Host)
	for _, link := range links {
		evidence = append(evidence, doctor.Evidence{Source: doctor.Command("ethtool -k " + link), Says: "tx-checksumming: on"})
		f.Also = append(f.Also, doctor.LinkObject(s.Host, link))
	}
	f.Evidence = evidence
	if len(links) > 0 {
		f.Cause = "the NIC does not fill in checksums inside tunnels, and " + links[0] + " leaves them to it, here or on other nodes"
		f.Next = "the same on every node: ethtool -K " + links[0] + " tx off"
		f.Fix = catalog.StopChecksumOffload.With(links[0])
	}
	p.Report(f)
}

// wrongCounts are the nonzero counters of bad checksums, by name.
type wrongCounts map[string]uint64

// readChecksums returns those of a host: the kernel's for packets to it, ovs-vswitchd's for those tracked by a userspace datapath.
func readChecksums(h *snapshot.Host) (wrongCounts, error) {
	return snapshot.Distil(h, "", func() (wrongCounts, error) {
		wrong := wrongCounts{}
		kernel, err := h.ProtocolCounters()
		if err != nil {
			return nil, err
		}
		for name, n := range kernel {
			if strings.HasSuffix(name, "InCsumErrors") && n > 0 && !strings.HasPrefix(name, "Icmp") {
				wrong["/proc/net/snmp "+name] = uint64(n)
			}
		}
		counters, err := h.Coverage("ovs-vswitchd")
		if err != nil && !errors.Is(err, snapshot.ErrNotRunning) {
			return nil, err
		}
		for _, name := range []string{"conntrack_l4csum_err", "conntrack_l3csum_err"} {
			if n := counters[name]; n > 0 {
				wrong["coverage "+name] = n
			}
		}
		return wrong, nil
	})
}

// offloading returns Open vSwitch's kernel tunnel devices that leave checksums to the NIC.
func offloading(h *snapshot.Host) (links []string) {
	n, err := h.Network()
	if err != nil {
		return nil
	}
	for _, l := range n.Links {
		if !strings.HasPrefix(l.Name, "genev_sys_") && !strings.HasPrefix(l.Name, "vxlan_sys_") {
			continue
		}
		if features, err := h.Features(l.Name); err == nil && features["tx-checksumming"] {
			links = append(links, l.Name)
		}
	}
	return links
}
