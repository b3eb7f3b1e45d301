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
	Doc: `The host tracks tunnel packets as connections

Each flow in a tunnel has its own UDP source port, and so its own entry in the host's
conntrack table. The table fills up, and the lookups cost time for nothing.`,
	Run: func(p *doctor.Pass) {
		for _, s := range doctor.ReadHosts(p, readTrackedTunnels) {
			t := s.First
			if !t.many() {
				continue
			}
			p.Report(doctor.Finding{
				Result: doctor.Warning,
				Object: doctor.NodeObject(s.Name),
				Title:  fmt.Sprintf("%d of the %d connections that %s tracks are tunnel packets", t.tunnels, t.all, s.Name),
				Evidence: []doctor.Evidence{
					{Source: doctor.File("/proc/net/nf_conntrack", 0), Says: doctor.Shorten(t.example, 200)},
					{Source: doctor.Sysctl("net/netfilter/nf_conntrack_count"), Says: fmt.Sprintf("%d of %d", t.all, t.max)},
				},
				Cause:  "rules of the host's packet filter make it track connections, and none exempts UDP port " + strings.Join(t.ports, " and "),
				Effect: "the table fills with entries of no use; once it is full, new connections fail, those in the tunnels included",
				Next:   notrack(t.ports),
			})
		}
	},
}

// notrack is the command that exempts tunnels from tracking.
func notrack(ports []string) string {
	list := strings.Join(ports, ", ")
	return "nft 'add table inet notrack; add chain inet notrack pre { type filter hook prerouting priority raw; }; " +
		"add chain inet notrack out { type filter hook output priority raw; }; " +
		"add rule inet notrack pre udp dport { " + list + " } notrack; add rule inet notrack out udp dport { " + list + " } notrack'" +
		" (and the same in /etc/nftables.conf)"
}

// trackedTunnels are the entries of tunnels in the host's own conntrack table.
type trackedTunnels struct {
	all, max, tunnels int
	ports             []string
	example           string
}

// many reports whether tunnels take a notable part of a table that fills up.
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
	if 2*t.all < t.max { // there is room enough
		return t, nil
	}
	const byHand = "count those of tunnels with `conntrack -L -p udp --dport 6081 | wc -l`"
	if t.all > mostTracked {
		return t, fmt.Errorf("%d connections on %s are too many to read; %s", t.all, h.Name, byHand)
	}
	text, err := h.File("/proc/net/nf_conntrack")
	if errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("the kernel of %s does not list its connections in /proc/net/nf_conntrack; %s", h.Name, byHand)
	}
	if err != nil {
		return t, err
	}
	for line := range strings.Lines(string(text)) {
		if port := trackedTunnel(line); port != "" {
			t.tunnels++
			t.example = strings.TrimSpace(line)
			if !slices.Contains(t.ports, port) {
				t.ports = append(t.ports, port)
			}
		}
	}
	return t, nil
}

// trackedTunnel is the tunnel port that a line of nf_conntrack is about, "ipv4 2 udp 17 29 src=… dst=… sport=… dport=6081
// … zone=0 use=2"; empty if it is about another or tracked in another zone than 0, by Open vSwitch.
func trackedTunnel(line string) string {
	words := strings.Fields(line)
	if len(words) < 5 || words[2] != "udp" {
		return ""
	}
	at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "dport=") }) // the second is of the reply
	inZone := slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "zone=") && w != "zone=0" })
	if at < 0 || inZone {
		return ""
	}
	if port := strings.TrimPrefix(words[at], "dport="); slices.Contains(tunnelPorts, port) {
		return port
	}
	return ""
}
