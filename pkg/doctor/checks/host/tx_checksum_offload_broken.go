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

Ping works, TCP and UDP do not: a device was left to fill in the checksums of what it
sends, and does not.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		wrong := func(c map[string]uint64) bool { return len(c) > 0 }
		for _, l := range doctor.Sampled(p, readChecksums, wrong) {
			var grown []doctor.Evidence
			for _, name := range slices.Sorted(maps.Keys(l.Second)) {
				if doctor.Grew(l.First[name], l.Second[name]) > fewWrong {
					grown = append(grown, doctor.CounterEvidence(doctor.Counter(name), l.First[name], l.Second[name], p.Sample()))
				}
			}
			if !l.Both || len(grown) == 0 {
				continue
			}
			f := doctor.Finding{
				Object: doctor.NodeObject(l.Name),
				Title:  fmt.Sprintf("packets with wrong checksums arrive on %s", l.Name),
				Cause:  "the sender leaves the checksum to a device that does not fill it in: a NIC, or a tunnel or veth with offload on",
				Effect: "they are dropped: ping works, and connections of TCP and UDP do not",
				Next:   "find who sends them (tcpdump -nvv shows \"incorrect\" with the sender), and there ethtool -K DEVICE tx off",
			}
			links, evidence := offloading(l.Host)
			f.Evidence = append(grown, evidence...)
			for _, link := range links {
				f.Also = append(f.Also, doctor.Object{Kind: "link", Name: link, Node: l.Name})
			}
			if len(links) > 0 {
				f.Cause = "the hardware below the tunnels does not fill in the checksums inside them, and " + links[0] + " leaves them to it, here or on the other nodes"
				f.Next = "the same on every node: ethtool -K " + links[0] + " tx off"
				f.Fix = catalog.StopChecksumOffload.With(links[0])
			}
			p.Report(f)
		}
	},
}

// fewWrong are so few in some seconds that a bad cable explains them.
const fewWrong = 1

// readChecksums are the counters of wrong checksums that are not 0: the kernel's
// for what is sent to the host, and ovs-vswitchd's for what a userspace datapath
// tracks.
func readChecksums(h *snapshot.Host) (map[string]uint64, error) {
	wrong := map[string]uint64{}
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
}

// offloading are the kernel's tunnel devices of Open vSwitch that leave checksums to others.
func offloading(h *snapshot.Host) (links []string, list []doctor.Evidence) {
	n, err := h.Network()
	if err != nil {
		return nil, nil
	}
	for _, l := range n.Links {
		if !strings.HasPrefix(l.Name, "genev_sys_") && !strings.HasPrefix(l.Name, "vxlan_sys_") {
			continue
		}
		features, err := h.Features(l.Name)
		if err != nil || !features["tx-checksumming"] {
			continue
		}
		links = append(links, l.Name)
		list = append(list, doctor.Evidence{Source: doctor.Command("ethtool -k " + l.Name), Says: "tx-checksumming: on"})
	}
	return links, list
}
