package tunnel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var BFDDownOrFlapping = &doctor.Check{
	Name:     "bfd-down-or-flapping",
	Category: "tunnel",
	Doc: `A BFD session is down or flapping

Chassis that share gateway ports monitor each other through their tunnels by BFD, and routes may
monitor their next hops. A gateway moves when its session goes down.`,
	Causes: []string{
		"uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-ip-lost-after-reboot", "ip-on-enslaved-nic", "bridge-link-down", "tunnel-port-blocked", "tunnel-path-blocked", "encap-ip-not-local",
		"vswitchd-not-running", "two-vswitchds", "tunnel-missing-to-chassis", "integration-bridge-empty", "controller-not-running",
		"duplicate-chassis-stale", "system-id-cloned", "ipsec-down", "tx-checksum-offload-broken",
	},
	Settle: true, // the session of a new tunnel is down for a second or two
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		tunnelSessions(p, h)
		gatewayMoves(p, h)
	},
	Run: func(p *doctor.Pass) {
		for _, l := range p.Northbounds() {
			routeSessions(p, l)
		}
		flappingSessions(p)
	},
}

// tunnelSessions reports a host's tunnel sessions that are down.
func tunnelSessions(p *doctor.Pass, h *snapshot.Host) {
	node := doctor.NodeObject(h.Name)
	s, ok := doctor.Need(p, node, h.Switch)
	if !ok {
		return
	}
	if d, err := h.Daemon("ovs-vswitchd"); err == nil && d.Liveness != snapshot.Answers {
		return // the rows are outdated: vswitchd-not-running
	}
	var down []snapshot.BridgeInterface
	sessions := 0
	for _, t := range s.BridgeInterfaces() {
		if facts.IsTunnel(t.Type) && t.BFD["enable"] == "true" && len(t.BFDStatus) > 0 {
			sessions++
			if t.BFDStatus["state"] != "up" && t.BFDStatus["forwarding"] != "true" && t.BFDStatus["state"] != "admin_down" {
				down = append(down, t)
			}
		}
	}
	if len(down) > 0 {
		p.Report(sessionsDown(h, down, sessions))
	}
}

// flaps returns how often a host's sessions went down and up again, by interface.
func flaps(h *snapshot.Host) flapCounts {
	if h == nil {
		return nil
	}
	counts, _ := snapshot.Distil(h, "", func() (flapCounts, error) {
		counts := flapCounts{}
		s, err := h.Switch()
		if err != nil {
			return counts, err
		}
		for _, t := range s.BridgeInterfaces() {
			if facts.IsTunnel(t.Type) && t.BFD["enable"] == "true" {
				counts[t.Name], _ = strconv.Atoi(t.BFDStatus["flap_count"])
			}
		}
		return counts, nil
	})
	return counts
}

// flapCounts are how often sessions went down and up again, by interface.
type flapCounts map[string]int

// sessionsDown returns the finding of a host with sessions that are down.
func sessionsDown(h *snapshot.Host, down []snapshot.BridgeInterface, sessions int) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.NodeObject(h.Name),
		Reason: "down",
		Effect: "gateway ports move away from nodes that are not seen, and to several nodes at once where none is seen",
	}
	var peers []string
	for _, t := range down {
		peer := peerOf(h, t)
		peers = append(peers, peer)
		f.Also = append(f.Also, tunnelObject(h, t.Name), doctor.NodeObject(peer))
		f.Evidence = append(f.Evidence, doctor.OVS("Interface", t.Name).On(h.Name).Says(fmt.Sprintf("to %s, bfd_status: %s", peer, doctor.Pairs(t.BFDStatus, "state", "remote_state", "diagnostic", "flap_count"))))
	}
	f.Title = fmt.Sprintf("BFD from %s to %s is down", h.Name, doctor.AtMost(peers, 5))
	f.Cause = "the other side does not reply: it is down or unreachable, or packets between the two are lost"
	f.Next = fmt.Sprintf("on %s: ovnctl doctor", peers[0])
	if len(down) == sessions && sessions > 1 {
		f.Cause = "no other side replies: the fault is on " + h.Name + " itself"
		f.Next = "on " + h.Name + ": ovs-appctl bfd/show"
	}
	return f
}

func tunnelObject(h *snapshot.Host, name string) doctor.Object {
	return doctor.Object{Kind: "tunnel", Name: name, Node: h.Name}
}

// peerOf returns the hostname of a tunnel's remote chassis, else its address.
func peerOf(h *snapshot.Host, t snapshot.BridgeInterface) string {
	return cmp.Or(hostnameOf(h, facts.TunnelChassis(t)), t.Options["remote_ip"])
}

// hostnameOf returns the hostname of a chassis.
func hostnameOf(h *snapshot.Host, chassis string) string {
	if south := doctor.SouthboundOf(h); south != nil {
		if c := south.ChassisNamed(chassis); c != nil {
			return c.Hostname
		}
	}
	return ""
}

// flappingSessions compares the flap counts of two samples, of all hosts: one sample shows sessions that are down, but no rate of changes.
func flappingSessions(p *doctor.Pass) {
	first := map[*snapshot.Host]flapCounts{}
	for _, h := range p.Hosts {
		if counts := flaps(h); len(counts) > 0 {
			first[h] = counts
		}
	}
	if len(first) == 0 || p.Sample() == 0 {
		return
	}
	later, err := p.Later()
	if err != nil {
		return
	}
	for _, h := range p.Hosts {
		second := flaps(later.Host(h.Name))
		for _, name := range slices.Sorted(maps.Keys(first[h])) {
			if before, after := first[h][name], second[name]; after-before >= 2 { // once may be maintenance
				flapping(p, h, name, before, after)
			}
		}
	}
}

func flapping(p *doctor.Pass, h *snapshot.Host, session string, before, after int) {
	peer := ""
	if s, err := h.Switch(); err == nil {
		if i := slices.IndexFunc(s.BridgeInterfaces(), func(t snapshot.BridgeInterface) bool { return t.Name == session }); i >= 0 {
			peer = peerOf(h, s.BridgeInterfaces()[i])
		}
	}
	p.Report(doctor.Finding{
		Object:   tunnelObject(h, session),
		Also:     []doctor.Object{doctor.NodeObject(h.Name), doctor.NodeObject(peer)},
		Reason:   "flapping",
		Lasting:  true,
		Title:    fmt.Sprintf("BFD from %s to %s is flapping", h.Name, peer),
		Evidence: []doctor.Evidence{doctor.OVS("Interface", session).On(h.Name).Says(fmt.Sprintf("bfd_status:flap_count %d, %s later %d", before, p.Sample(), after))},
		Cause:    "packets between the two are lost now and then, or ovs-vswitchd on one of them is too busy to send them in time",
		Effect:   "gateway ports move back and forth, and connections through them break",
		Next:     "check CPU and packet loss on both; to give BFD more time: ovn-nbctl set NB_Global . options:bfd-min-rx=… options:bfd-mult=…",
	})
}

// moves is how often a gateway port may move in a day.
const moves = 20

// gatewayMoves reports gateway ports that moved often within the last day of ovn-controller's log.
func gatewayMoves(p *doctor.Pass, h *snapshot.Host) {
	text, err := h.Log("ovn-controller")
	if err != nil {
		return // only supplements the state of the sessions
	}
	last, ok := lastLogTime(text)
	if !ok {
		return
	}
	count := map[string]int{}
	lines := map[string]string{}
	for line := range strings.Lines(text) {
		stamp, rest, _ := strings.Cut(line, "|")
		_, claimed, ok := strings.Cut(rest, "|Claiming lport cr-")
		if !ok {
			_, claimed, ok = strings.Cut(rest, "|Releasing lport cr-")
		}
		at, err := time.Parse(time.RFC3339, stamp)
		if !ok || err != nil || last.Sub(at) > 24*time.Hour {
			continue
		}
		port, _, _ := strings.Cut(strings.TrimSpace(claimed), " ")
		count[port]++
		lines[port] = strings.TrimSpace(line)
	}
	for _, port := range slices.Sorted(maps.Keys(count)) {
		if count[port] < moves {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.PortObject(port),
			Also:     []doctor.Object{doctor.NodeObject(h.Name)},
			Reason:   "gateway-moves",
			Title:    fmt.Sprintf("gateway port %s has moved to or from %s %d times in a day", port, h.Name, count[port]),
			Evidence: []doctor.Evidence{doctor.Log("ovn-controller").On(h.Name).Says(lines[port])},
			Cause:    "BFD between the gateway chassis is flapping, or ovn-controller restarts again and again",
			Effect:   "connections through the port break at each move",
			Next:     "on " + h.Name + ": ovs-appctl bfd/show; ovnctl doctor --sample 60s --only bfd-down-or-flapping",
		})
	}
}

func lastLogTime(text string) (time.Time, bool) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := len(lines) - 1; i >= 0 && i > len(lines)-50; i-- {
		stamp, _, _ := strings.Cut(lines[i], "|")
		if at, err := time.Parse(time.RFC3339, stamp); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// routeSessions reports the sessions of routes and policies that are down.
func routeSessions(p *doctor.Pass, l *facts.Logical) {
	for _, b := range l.BFD {
		if b.Status.Get() != "down" {
			continue
		}
		uses, other := usesOf(l, b.UUID)
		if len(uses) == 0 {
			continue
		}
		f := doctor.Finding{
			Object:   doctor.PortObject(b.LogicalPort),
			Reason:   "next-hop",
			Title:    fmt.Sprintf("BFD from router port %s to %s is down", b.LogicalPort, b.DstIP),
			Evidence: []doctor.Evidence{doctor.NBRow("BFD", b.UUID, "dst_ip=%s status=%s", b.DstIP, b.Status.Get())},
			Cause:    "the next hop does not reply to BFD: it is down or unreachable, or does not run BFD",
			Effect:   strings.Join(uses, ", ") + " is not used",
			Next:     "check that " + b.DstIP + " runs BFD and replies: ovnctl trace from a port behind the router",
		}
		if lrp := l.RouterPort[b.LogicalPort]; lrp != nil && l.RouterOf[lrp.UUID] != nil {
			f.Also = append(f.Also, doctor.RouterObject(l.RouterOf[lrp.UUID]))
		}
		if other {
			f.Result = doctor.Warning
			f.Effect += "; others are"
		}
		p.Report(f)
	}
}

// usesOf returns the routes and policies that use a session; other means one of them has another next hop.
func usesOf(l *facts.Logical, session ovsdb.UUID) (uses []string, other bool) {
	for _, r := range l.StaticRoutes {
		if r.BFD.Get() == session {
			uses = append(uses, "route "+r.IPPrefix+" via "+r.Nexthop)
			other = other || otherNextHop(l, r)
		}
	}
	for _, r := range l.Policies {
		if r.BFDSessions.Has(session) {
			uses = append(uses, fmt.Sprintf("policy %d '%s'", r.Priority, r.Match))
			other = other || len(r.BFDSessions) > 1
		}
	}
	return uses, other
}

// otherNextHop reports whether the router has another route to the same prefix whose session is not down.
func otherNextHop(north *facts.Logical, r nb.StaticRoute) bool {
	down := map[ovsdb.UUID]bool{}
	for _, b := range north.BFD {
		down[b.UUID] = b.Status.Get() == "down"
	}
	of := map[ovsdb.UUID]int{}
	for i, lr := range north.Routers {
		for _, u := range lr.StaticRoutes {
			of[u] = i
		}
	}
	return slices.ContainsFunc(north.StaticRoutes, func(o nb.StaticRoute) bool {
		return o.UUID != r.UUID && of[o.UUID] == of[r.UUID] && o.IPPrefix == r.IPPrefix && o.RouteTable == r.RouteTable && !down[o.BFD.Get()]
	})
}
