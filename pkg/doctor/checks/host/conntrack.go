package host

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ConntrackTableFull = &doctor.Check{
	Name:     "conntrack-table-full",
	Category: "node-os",
	Doc: `The conntrack table is full

New connections fail at random while established ones continue.`,
	Causes: []string{"underlay-conntrack-tracks-tunnel"},
	Host: doctor.OnRead(readConntrack, func(p *doctor.Pass, h *snapshot.Host, use conntrackUse) {
		for _, t := range use.tables {
			fullTable(p, h, t)
		}
		for _, z := range use.zones {
			if !z.byDefault {
				fullZone(p, h, z)
			}
		}
		if rest := slices.DeleteFunc(slices.Clone(use.zones), func(z limitedZone) bool { return !z.byDefault }); len(rest) > 0 {
			fullByDefault(p, h, rest)
		}
	}),
}

// A table from nearlyFull on is a warning, from full on an error: then connections fail.
const (
	nearlyFull = 0.85
	full       = 0.95
)

// conntrackUse is how full a host's conntrack tables are.
type conntrackUse struct {
	tables []snapshot.TableSize
	zones  []limitedZone
}

// A limitedZone is a ct zone that has reached its own limit.
type limitedZone struct {
	openflow.ZoneLimit
	datapath, name string
	byDefault      bool // it has no limit of its own
}

func readConntrack(h *snapshot.Host) (c conntrackUse, err error) {
	if c.tables, err = h.ConntrackSize(); err != nil {
		return c, err
	}
	datapaths, err := h.Datapaths()
	if err != nil {
		return c, nil //nolint:nilerr // without ovs-vswitchd there are the kernel's tables
	}
	var zones []int
	if named, err := h.CTZones(); err == nil {
		zones = slices.Sorted(maps.Values(named))
	}
	for _, d := range datapaths {
		if snapshot.Idle(c.tables, d.Name) {
			continue // to list limits ovs-vswitchd scans all 65536 zones
		}
		limits, err := h.ConntrackLimits(d.Name, zones)
		if _, refused := errors.AsType[*node.ControlError](err); refused || errors.Is(err, node.ErrUnavailable) {
			continue // this datapath has none
		}
		if err != nil {
			return c, err
		}
		own, err := h.ConntrackLimits(d.Name, nil)
		if err != nil {
			return c, err
		}
		for _, z := range limits {
			if z.Reached() {
				has := slices.ContainsFunc(own, func(l openflow.ZoneLimit) bool { return l.Zone == z.Zone })
				c.zones = append(c.zones, limitedZone{z, d.Name, zoneName(h, z.Zone), !has})
			}
		}
	}
	return c, nil
}

// zoneName returns ovn-controller's name for a ct zone; empty if unknown.
func zoneName(h *snapshot.Host, zone int) string {
	zones, err := h.CTZones()
	if err != nil {
		return ""
	}
	for name, n := range zones {
		if n == zone {
			return name
		}
	}
	return ""
}

func fullTable(p *doctor.Pass, h *snapshot.Host, t snapshot.TableSize) {
	if t.Full() < nearlyFull {
		return
	}
	table, reason, source := "the kernel's conntrack table", "kernel-table", doctor.Sysctl("net/netfilter/nf_conntrack_count")
	if t.Datapath != "" {
		table, reason, source = "the conntrack table of "+t.Datapath, "datapath-table", doctor.Reply("ovs-vswitchd", "dpctl/ct-get-nconns "+t.Datapath)
	}
	f := doctor.Finding{
		Object:   doctor.NodeObject(h.Name),
		Reason:   reason,
		Title:    fmt.Sprintf("%s on %s is %.0f %% full", table, h.Name, 100*t.Full()),
		Evidence: []doctor.Evidence{{Source: source, Says: fmt.Sprintf("%d of %d", t.Now, t.Max)}},
		Cause:    "there are more connections than the table is sized for, or they time out too slowly",
		Effect:   "once it is full, packets of new connections are dropped; established connections continue",
		Fix:      catalog.RaiseConntrackLimit.With(cmp.Or(t.Datapath, catalog.KernelConntrack)),
	}
	if t.Full() < full {
		f.Result = doctor.Warning
	}
	p.Report(f)
}

func fullZone(p *doctor.Pass, h *snapshot.Host, z limitedZone) {
	number := strconv.Itoa(z.Zone)
	name := "ct zone " + number
	if z.name != "" {
		name += " (" + z.name + ")"
	}
	p.Report(doctor.Finding{
		Object:   doctor.Object{Kind: "ct zone", Name: cmp.Or(z.name, number), Node: h.Name},
		Also:     []doctor.Object{doctor.NodeObject(h.Name)},
		Title:    fmt.Sprintf("%s on %s has reached its connection limit", name, h.Name),
		Evidence: []doctor.Evidence{{Source: doctor.Reply("ovs-vswitchd", "dpctl/ct-get-limits "+z.datapath), Says: fmt.Sprintf("zone=%d,limit=%d,count=%d", z.Zone, z.Limit, z.Now)}},
		Cause:    "the zone has a limit of its own, and the logical port or router in it has that many connections",
		Effect:   "new connections through this zone are dropped",
		Fix:      catalog.RaiseConntrackLimit.With("zone=" + number),
	})
}

// fullByDefault reports the zones of a host that have reached the limit of zones without their own.
func fullByDefault(p *doctor.Pass, h *snapshot.Host, zones []limitedZone) {
	var names, evidence []string
	for _, z := range zones {
		names = append(names, cmp.Or(z.name, strconv.Itoa(z.Zone)))
		evidence = append(evidence, fmt.Sprintf("zone=%d,limit=%d,count=%d", z.Zone, z.Limit, z.Now))
	}
	first := zones[0]
	p.Report(doctor.Finding{
		Object:   doctor.NodeObject(h.Name),
		Reason:   "default-limit",
		Title:    fmt.Sprintf("%d ct zones on %s have reached the default limit of %d connections: %s", len(zones), h.Name, first.Limit, doctor.AtMost(names, 3)),
		Evidence: []doctor.Evidence{{Source: doctor.Reply("ovs-vswitchd", "dpctl/ct-get-limits "+first.datapath), Says: doctor.AtMost(evidence, 3)}},
		Cause:    "somebody set a limit for zones without their own; each logical port and router has one",
		Effect:   "new connections through these zones are dropped",
		Next:     "on " + h.Name + ": " + fixes.Command("ovs-appctl dpctl/ct-set-limits %s default=%d", first.datapath, 2*first.Limit) + "; 0 is no limit",
	})
}

var UnderlayConntrackTracksTunnel = &doctor.Check{
	Name:     "underlay-conntrack-tracks-tunnel",
	Category: "node-os",
	Doc: `The host tracks tunnel packets as connections

Each flow in a tunnel has its own UDP source port, and so its own entry in the host's
conntrack table. The table fills up, and the lookups cost time for nothing.`,
	Host: doctor.OnRead(readTrackedTunnels, func(p *doctor.Pass, h *snapshot.Host, t trackedTunnels) {
		if !t.many() {
			return
		}
		p.Report(doctor.Finding{
			Result: doctor.Warning,
			Object: doctor.NodeObject(h.Name),
			Title:  fmt.Sprintf("%d of the %d connections that %s tracks are tunnel packets", t.tunnels, t.all, h.Name),
			Evidence: []doctor.Evidence{
				{Source: doctor.File("/proc/net/nf_conntrack", 0), Says: doctor.Shorten(t.example, 200)},
				{Source: doctor.Sysctl("net/netfilter/nf_conntrack_count"), Says: fmt.Sprintf("%d of %d", t.all, t.max)},
			},
			Cause:  "rules of the host's packet filter make it track connections, and none exempts UDP port " + strings.Join(t.ports, " and "),
			Effect: "the table fills with entries of no use; once it is full, new connections fail, those in the tunnels included",
			Next:   notrack(t.ports),
		})
	}),
}

// notrack returns the command that exempts tunnels from tracking.
func notrack(ports []string) string {
	list := strings.Join(ports, ", ")
	return "nft 'add table inet notrack; add chain inet notrack pre { type filter hook prerouting priority raw; }; " +
		"add chain inet notrack out { type filter hook output priority raw; }; " +
		"add rule inet notrack pre udp dport { " + list + " } notrack; add rule inet notrack out udp dport { " + list + " } notrack'" +
		" (and the same in /etc/nftables.conf)"
}

// trackedTunnels counts tunnel entries in the host's own conntrack table.
type trackedTunnels struct {
	all, max, tunnels int
	ports             []string
	example           string
}

// many reports whether tunnels take a notable part of a table that is filling up.
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
	if 2*t.all < t.max { // enough room
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

// trackedTunnel returns the tunnel port in a line of nf_conntrack, "ipv4 2 udp 17 29 src=… dst=… sport=… dport=6081 …
// zone=0 use=2"; empty if it is another port, or tracked by Open vSwitch in a zone other than 0.
func trackedTunnel(line string) string {
	words := strings.Fields(line)
	if len(words) < 5 || words[2] != "udp" {
		return ""
	}
	at := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "dport=") }) // the second belongs to the reply
	inZone := slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "zone=") && w != "zone=0" })
	if at < 0 || inZone {
		return ""
	}
	if port := strings.TrimPrefix(words[at], "dport="); slices.Contains(tunnelPorts, port) {
		return port
	}
	return ""
}
