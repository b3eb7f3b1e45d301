package host

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var UnderlayConntrackTracksTunnel = &doctor.Check{
	Name:     "underlay-conntrack-tracks-tunnel",
	Category: "node-os",
	Doc: `The host tracks the packets of the tunnels as connections of its own

Each flow in a tunnel has its own UDP source port, and so its own entry in the host's
table of connections, which fills up and costs time for nothing.`,
	Run: func(p *doctor.Pass) {
		for _, l := range doctor.Sampled(p, readTrackedTunnels, func(trackedTunnels) bool { return false }) {
			t := l.First
			if !t.many() {
				continue
			}
			p.Report(doctor.Finding{
				Result: doctor.Warning,
				Object: doctor.NodeObject(l.Name),
				Title:  fmt.Sprintf("%d of the %d connections that %s tracks are packets of tunnels", t.tunnels, t.all, l.Name),
				Evidence: []doctor.Evidence{
					{Source: doctor.Other("/proc/net/nf_conntrack"), Says: doctor.Shorten(t.example, 200)},
					{Source: doctor.Other("/proc/sys/net/netfilter/nf_conntrack_count"), Says: fmt.Sprintf("%d of %d", t.all, t.max)},
				},
				Cause:  "rules of the host's packet filter make it track connections, and none excepts UDP port " + strings.Join(t.ports, " and "),
				Effect: "the table fills with entries that nobody needs; when it is full new connections fail, those in the tunnels among them",
				Next:   notrack(t.ports),
			})
		}
	},
}

// notrack is what to type so that tunnels are not tracked.
func notrack(ports []string) string {
	list := strings.Join(ports, ", ")
	return "nft 'add table inet notrack; add chain inet notrack pre { type filter hook prerouting priority raw; }; " +
		"add chain inet notrack out { type filter hook output priority raw; }; " +
		"add rule inet notrack pre udp dport { " + list + " } notrack; add rule inet notrack out udp dport { " + list + " } notrack'" +
		" (and the same in /etc/nftables.conf)"
}

// trackedTunnels are the entries of tunnels in the host's own table of connections.
type trackedTunnels struct {
	all, max, tunnels int
	ports             []string
	example           string
}

// many says that tunnels take a notable part of a table that is filling up.
func (t trackedTunnels) many() bool {
	return t.max > 0 && 10*t.tunnels >= t.max && 2*t.all >= t.max
}

// tunnelPorts are the UDP ports of Geneve and VXLAN.
var tunnelPorts = []string{"6081", "4789"}

// mostTracked bounds how many connections are read.
const mostTracked = 200000

func readTrackedTunnels(h *snapshot.Host) (t trackedTunnels, err error) {
	count, err := h.Sysctl("net/netfilter/nf_conntrack_count")
	if errors.Is(err, fs.ErrNotExist) {
		return t, doctor.ErrNothing // the kernel tracks nothing
	}
	if err != nil {
		return t, err
	}
	most, err := h.Sysctl("net/netfilter/nf_conntrack_max")
	if err != nil {
		return t, err
	}
	t.all, _ = strconv.Atoi(count)
	t.max, _ = strconv.Atoi(most)
	if 2*t.all < t.max { // there is room enough, whoever has it
		return t, nil
	}
	if t.all > mostTracked {
		return t, fmt.Errorf("%d connections on %s are too many to be read here; count those of tunnels with `conntrack -L -p udp --dport 6081 | wc -l`", t.all, h.Name)
	}
	text, err := h.File("/proc/net/nf_conntrack")
	if errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("the kernel of %s does not list its connections in /proc/net/nf_conntrack; count those of tunnels with `conntrack -L -p udp --dport 6081 | wc -l`", h.Name)
	}
	if err != nil {
		return t, err
	}
	t.count(string(text))
	return t, nil
}

// count counts the lines of tunnels: "ipv4 2 udp 17 29 src=… dst=… sport=… dport=6081 … zone=0 use=2".
// Those of another zone than 0 are tracked by the switch, for packets inside.
func (t *trackedTunnels) count(text string) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 5 || f[2] != "udp" {
			continue
		}
		for _, word := range f {
			port, ok := strings.CutPrefix(word, "dport=")
			if zone, ok := strings.CutPrefix(word, "zone="); ok && zone != "0" {
				break
			}
			if !ok {
				continue
			}
			if slices.Contains(tunnelPorts, port) {
				t.tunnels++
				t.example = strings.TrimSpace(line)
				if !slices.Contains(t.ports, port) {
					t.ports = append(t.ports, port)
				}
			}
			break // the first is of the packet, the second of its answer
		}
	}
}
