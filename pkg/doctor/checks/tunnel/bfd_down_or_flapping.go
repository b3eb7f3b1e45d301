package tunnel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var BFDDownOrFlapping = &doctor.Check{
	Name:     "bfd-down-or-flapping",
	Category: "tunnel",
	Doc: `A BFD session is down, or goes up and down

Chassis that share gateway ports watch each other through their tunnels by BFD, and
routes may watch their next hops. A gateway moves when its session goes down.`,
	Causes: []string{
		"uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-ip-lost-after-reboot", "ip-on-enslaved-nic", "bridge-link-down", "tunnel-port-blocked", "encap-ip-not-local",
		"vswitchd-not-running", "two-vswitchds", "tunnel-missing-to-chassis", "integration-bridge-empty", "controller-not-running",
		"duplicate-chassis-stale", "system-id-cloned", "ipsec-down", "tx-checksum-offload-broken",
	},
	Settle: true, // a session of a tunnel that was just made is down for a second or two
	Run: func(p *doctor.Pass) {
		sessions(p)
		for _, h := range p.Hosts {
			flappingSessions(p, h)
			gatewayMoves(p, h)
		}
	},
}

// sessions looks at those that are down.
func sessions(p *doctor.Pass) {
	for _, z := range p.Zones {
		routeSessions(p, z)
	}
	for _, h := range p.Hosts {
		tunnelSessions(p, h)
	}
}

// tunnelSessions looks at the sessions of a host's tunnels.
func tunnelSessions(p *doctor.Pass, h *snapshot.Host) {
	node := doctor.NodeObject(h.Name)
	s, ok := doctor.Need(p, node, h.Switch)
	if !ok {
		return
	}
	if d, err := h.Daemon("ovs-vswitchd"); err == nil && d.Liveness != snapshot.Answers {
		return // the rows are what it knew last: vswitchd-not-running
	}
	var down []snapshot.Plug
	sessions := 0
	for _, t := range s.Plugs() {
		if catalog.IsTunnel(t.Type) && t.BFD["enable"] == "true" && len(t.BFDStatus) > 0 {
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

// sessionStates are the sessions of a host's interfaces at another look.
func sessionStates(d *snapshot.Deployment, host string) (map[string]map[string]string, error) {
	h := d.Host(host)
	if h == nil {
		return nil, fmt.Errorf("node %s is gone", host)
	}
	s, err := h.Switch()
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	for _, i := range s.Interfaces {
		if i.BFD["enable"] == "true" {
			out[i.Name] = i.BFDStatus
		}
	}
	return out, nil
}

func sessionsDown(h *snapshot.Host, down []snapshot.Plug, sessions int) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.NodeObject(h.Name),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Effect: "gateway ports move away from whoever is not seen, and where nobody is seen, to several at once",
	}
	var peers []string
	for _, t := range down {
		peer := cmp.Or(hostnameOf(h, catalog.TunnelChassis(t)), t.Options["remote_ip"])
		peers = append(peers, peer)
		f.Also = append(f.Also, doctor.Object{Kind: "tunnel", Name: t.Name, Node: h.Name}, doctor.NodeObject(peer))
		f.Evidence = append(f.Evidence, doctor.Other(fmt.Sprintf("Interface %s on %s (to %s)", t.Name, h.Name, peer)).Says("bfd_status: state="+t.BFDStatus["state"]+
			" remote_state="+t.BFDStatus["remote_state"]+" diagnostic="+t.BFDStatus["diagnostic"]+" flap_count="+t.BFDStatus["flap_count"]))
	}
	if len(down) == 1 {
		f.Object = doctor.Object{Kind: "tunnel", Name: down[0].Name, Node: h.Name}
	}
	f.Title = fmt.Sprintf("BFD from %s to %s is down", h.Name, doctor.AtMost(peers, 5))
	f.Cause = "the other side does not answer: it is down, cannot be reached, or packets between the two are lost"
	f.Next = fmt.Sprintf("on %s: ovnctl doctor", peers[0])
	if len(down) == sessions && sessions > 1 {
		f.Cause = "no other side answers: the trouble is on " + h.Name + " itself"
		f.Next = "on " + h.Name + ": ovs-appctl bfd/show"
	}
	return f
}

// hostnameOf is the hostname of a chassis.
func hostnameOf(h *snapshot.Host, chassis string) string {
	z := h.Zone()
	if z == nil {
		return ""
	}
	south, err := z.Southbound()
	if err != nil {
		return ""
	}
	if c := south.ChassisNamed(chassis); c != nil {
		return c.Hostname
	}
	return ""
}

// flappingSessions compares the sessions' counts at two looks.
func flappingSessions(p *doctor.Pass, h *snapshot.Host) {
	s, err := h.Switch()
	if err != nil {
		return // said by sessions
	}
	later, err := p.Later()
	if err != nil {
		return // one look tells what is down; how often it was, over which time, is not said anywhere
	}
	states, err := sessionStates(later, h.Name)
	if err != nil {
		return
	}
	for _, t := range s.Plugs() {
		before, _ := strconv.Atoi(t.BFDStatus["flap_count"])
		after, _ := strconv.Atoi(states[t.Name]["flap_count"])
		// Once down and up again may be somebody at work.
		if !catalog.IsTunnel(t.Type) || t.BFD["enable"] != "true" || after-before < 2 {
			continue
		}
		peer := cmp.Or(hostnameOf(h, catalog.TunnelChassis(t)), t.Options["remote_ip"])
		p.Report(doctor.Finding{
			Object:   doctor.Object{Kind: "tunnel", Name: t.Name, Node: h.Name},
			Also:     []doctor.Object{doctor.NodeObject(h.Name), doctor.NodeObject(peer)},
			Title:    fmt.Sprintf("BFD from %s to %s goes up and down", h.Name, peer),
			Evidence: []doctor.Evidence{doctor.OVS("Interface", t.Name).On(h.Name).Says(fmt.Sprintf("bfd_status:flap_count %d, %s later %d", before, p.Sample(), after))},
			Cause:    "packets between the two are lost now and then, or ovs-vswitchd on one of them is too busy to send them in time",
			Effect:   "gateway ports move back and forth, and connections through them break",
			Next:     "look at CPU and packet loss of both; the time may be stretched: ovn-nbctl set NB_Global . options:bfd-min-rx=… options:bfd-mult=…",
		})
	}
}

// moves is how often a gateway port may move in a day.
const moves = 20

// gatewayMoves counts in ovn-controller's log how often it took gateway ports, in
// the last day that the log tells of.
func gatewayMoves(p *doctor.Pass, h *snapshot.Host) {
	text, err := h.Log("ovn-controller")
	if err != nil {
		return // the sessions' state is the check; this adds to it
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
	for _, port := range sortedKeys(count) {
		if count[port] < moves {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.PortObject(port),
			Also:     []doctor.Object{doctor.NodeObject(h.Name)},
			Title:    fmt.Sprintf("gateway port %s has moved to or from %s %d times in a day", port, h.Name, count[port]),
			Evidence: []doctor.Evidence{doctor.Log("ovn-controller").On(h.Name).Says(lines[port])},
			Cause:    "BFD between the gateway chassis goes up and down, or ovn-controller is started again and again",
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

// routeSessions looks at the sessions by which routes and policies watch next hops.
func routeSessions(p *doctor.Pass, z *snapshot.Zone) {
	north, ok := doctor.Need(p, doctor.NorthboundObject, z.Northbound)
	if !ok {
		return
	}
	if len(north.BFD) == 0 {
		return
	}
	l := snapshot.NewLogical(north)
	for _, b := range north.BFD {
		if b.Status.Get() != "down" {
			continue
		}
		var uses []string
		other := false
		for _, r := range north.StaticRoutes {
			if r.BFD.Get() == b.UUID {
				uses = append(uses, "route "+r.IPPrefix+" via "+r.Nexthop)
				other = other || anotherWay(north, r)
			}
		}
		for _, r := range north.Policies {
			if r.BFDSessions.Has(b.UUID) {
				uses = append(uses, fmt.Sprintf("policy %d '%s'", r.Priority, r.Match))
				other = other || len(r.BFDSessions) > 1
			}
		}
		if len(uses) == 0 {
			continue // nobody rests on it
		}
		f := doctor.Finding{
			Object:   doctor.PortObject(b.LogicalPort),
			Title:    fmt.Sprintf("BFD from router port %s to %s is down", b.LogicalPort, b.DstIP),
			Evidence: []doctor.Evidence{doctor.NB("BFD", doctor.Short(b.UUID)).Says(fmt.Sprintf("dst_ip=%s status=%s", b.DstIP, b.Status.Get()))},
			Cause:    "the next hop does not answer BFD: it is down, does not speak it, or is not reached",
			Effect:   strings.Join(uses, ", ") + " is not used",
			Next:     "look whether " + b.DstIP + " runs BFD and answers: ovnctl trace from a port behind the router",
		}
		if lrp := l.RouterPort[b.LogicalPort]; lrp != nil && l.RouterOf[lrp.UUID] != nil {
			f.Also = append(f.Also, doctor.Object{Kind: "router", Name: l.RouterOf[lrp.UUID].Name})
		}
		if other {
			f.Result = doctor.Warning
			f.Effect += "; others are"
		}
		p.Report(f)
	}
}

// anotherWay says whether a route has a twin whose session is not down.
func anotherWay(north *snapshot.Northbound, r nb.StaticRoute) bool {
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
