package loadbalancer

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var LBHealthCheckDead = &doctor.Check{
	Name:     "lb-health-check-dead",
	Category: "lb",
	Doc: `Health checks of a load balancer do not work, or its backends are offline

ovn-controller probes each backend through its port, from an address that ip_port_mappings
names. A backend that does not reply gets no connections; if none replies, connections to the
virtual IP are rejected.`,
	Causes: []string{"port-not-bound", "port-administratively-disabled", "pod-veth-vanished", "port-no-such-device", "pod-address-mismatch", "controller-not-running",
		"vswitchd-not-running", "integration-bridge-empty", "northd-not-active", "nb-duplicate-or-conflicting-config"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for z, l := range p.Northbounds() {
			b, ok := doctor.Need(p, doctor.NorthboundObject, z.Balancers)
			if !ok {
				continue
			}
			h := health{Pass: p, z: z, l: l, b: b, checks: doctor.Index(b.HealthChecks, func(c *nb.LoadBalancerHealthCheck) ovsdb.UUID { return c.UUID })}
			for lb := range doctor.Each(b.LoadBalancers) {
				if len(lb.HealthCheck) > 0 && lb.Options["template"] != "true" {
					h.balancer(lb)
				}
			}
		}
	},
}

// health holds the health checks of a zone's load balancers.
type health struct {
	*doctor.Pass
	z      *snapshot.Zone
	l      *facts.Logical
	b      *snapshot.Balancers
	checks map[ovsdb.UUID]*nb.LoadBalancerHealthCheck

	monitors map[monitorKey]*sb.ServiceMonitor
	holders  map[netip.Addr]string // the port with each address
	bound    map[string]string     // the node of each port
}

type monitorKey struct {
	port     string
	backend  netip.AddrPort
	protocol string
}

// south reads, on first use, what the chassis found.
func (h *health) south() {
	if h.monitors != nil {
		return
	}
	h.holders, h.bound, h.monitors = doctor.PortByAddress(h.l), doctor.NodeByPort(h.z), map[monitorKey]*sb.ServiceMonitor{}
	learned, ok := doctor.Need(h.Pass, doctor.SouthboundObject, h.z.Learned)
	if !ok {
		return
	}
	for m := range doctor.Each(learned.ServiceMonitors) {
		if a, err := netip.ParseAddr(strings.Trim(m.IP, "[]")); err == nil {
			h.monitors[monitorKey{m.LogicalPort, netip.AddrPortFrom(a, uint16(m.Port)), m.Protocol.Get()}] = m
		}
	}
}

func (h *health) balancer(lb *nb.LoadBalancer) {
	h.south()
	vips := facts.VIPs(lb)
	mappings := facts.HealthMappings(lb)
	reported := map[netip.Addr]bool{}
	for _, id := range lb.HealthCheck {
		c := h.checks[id]
		if c == nil {
			continue
		}
		v, ok := vipOf(vips, c.VIP)
		switch {
		case !ok:
			h.Report(doctor.Finding{
				Result:   doctor.Warning,
				Object:   doctor.LoadBalancerObject(lb),
				Reason:   "vip",
				Title:    fmt.Sprintf("a health check of load balancer %s names %s, which is not one of its virtual IPs", nameOf(lb), cmp.Or(c.VIP, `""`)),
				Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer_Health_Check", c.UUID, "vip=%s", cmp.Or(c.VIP, `""`)), doctor.NBRow("Load_Balancer", lb.UUID, "vips=%v", keysOf(vips))},
				Cause:    "the virtual IP was changed, or is misspelt",
				Effect:   notProbed,
				Next:     fixes.Command("ovn-nbctl set Load_Balancer_Health_Check %s vip=%s", c.UUID, strconv.Quote(firstOf(keysOf(vips)))),
			})
		case lb.Protocol.Get() == "sctp":
			h.Report(doctor.Finding{
				Result:   doctor.Warning,
				Object:   doctor.LoadBalancerObject(lb),
				Reason:   "sctp",
				Title:    fmt.Sprintf("load balancer %s has a health check, but its protocol is sctp", nameOf(lb)),
				Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer_Health_Check", c.UUID, "vip=%s", c.VIP)},
				Cause:    "OVN probes backends of tcp and udp only",
				Effect:   notProbed,
				Next:     "monitor the backends by other means",
			})
		default:
			h.vip(lb, v, mappings, reported)
		}
	}
}

const notProbed = "no backend is probed: dead backends get connections"

// vipOf returns the virtual IP that a health check names.
func vipOf(vips []facts.VIP, key string) (facts.VIP, bool) {
	for _, v := range vips {
		if v.Key == key {
			return v, true
		}
		if ap, err := netip.ParseAddrPort(key); err == nil && ap == netip.AddrPortFrom(v.Addr, v.Port) {
			return v, true
		}
	}
	return facts.VIP{}, false
}

func keysOf(vips []facts.VIP) []string {
	var out []string
	for _, v := range vips {
		out = append(out, v.Key)
	}
	return out
}

func firstOf(s []string) string {
	if len(s) == 0 {
		return "ADDRESS:PORT"
	}
	return s[0]
}

// vip reports a virtual IP's backends that are offline, or cannot be probed.
func (h *health) vip(lb *nb.LoadBalancer, v facts.VIP, mappings map[netip.Addr]facts.HealthMapping, reported map[netip.Addr]bool) {
	var dead []doctor.Evidence
	var also []doctor.Object
	faults := 0
	for _, backend := range v.Backends {
		m, mapped := mappings[backend.Addr()]
		if h.mapping(lb, v, backend, m, mapped, reported) {
			faults++
			continue
		}
		monitor := h.monitors[monitorKey{m.Port, backend, cmp.Or(lb.Protocol.Get(), "tcp")}]
		if monitor == nil || monitor.Status.Get() != "offline" && monitor.Status.Get() != "error" {
			continue
		}
		dead = append(dead, doctor.SBRow("Service_Monitor", monitor.UUID, "%s:%d by port %s from %s: status=%s", monitor.IP, monitor.Port, monitor.LogicalPort, monitor.SrcIP, monitor.Status.Get()))
		also = append(also, doctor.PortAndNode(m.Port, h.bound[m.Port])...)
	}
	if len(dead) == 0 {
		return
	}
	f := doctor.Finding{
		Result:   doctor.Warning,
		Object:   vipObject(lb, v),
		Also:     append(also, doctor.LoadBalancerObject(lb)),
		Reason:   "offline",
		Title:    fmt.Sprintf("load balancer %s: %d of %d backends of %s are offline", nameOf(lb), len(dead), len(v.Backends), v.Key),
		Evidence: dead,
		Cause:    "the backend does not reply on its port, or a policy drops the probes",
		Effect:   "connections go to the others",
		Next:     fixes.Command("check that it listens and that policies allow the probes; ovnctl doctor %s", also[0].Name),
	}
	if len(dead)+faults >= len(v.Backends) {
		f.Result = doctor.Error
		f.Title = fmt.Sprintf("load balancer %s: all backends of %s are offline", nameOf(lb), v.Key)
		f.Effect = "connections to " + v.Key + " are rejected"
	}
	h.Report(f)
}

// unprobed is the effect on a backend that is not probed.
const unprobed = "it gets connections even when it is dead; releases after OVN 26.03 give it none"

// mapping reports a backend's wrong entry in ip_port_mappings, once.
func (h *health) mapping(lb *nb.LoadBalancer, v facts.VIP, backend netip.AddrPort, m facts.HealthMapping, mapped bool, reported map[netip.Addr]bool) (faulty bool) {
	a := backend.Addr()
	f := doctor.Finding{
		Object:   doctor.LoadBalancerObject(lb),
		Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer", lb.UUID, "%s: vips:%s has backend %s; ip_port_mappings:%s=%s", nameOf(lb), v.Key, backend, a, cmp.Or(lb.IPPortMappings[m.Key], `""`))},
	}
	holder := h.holders[a]
	port := h.l.SwitchPort[m.Port]
	isBound := func(name string) bool { _, ok := h.bound[name]; return ok }
	switch {
	case !mapped && holder == "" && !h.inside(a):
		return false // outside OVN: it cannot be probed through a port
	case !mapped:
		f.Reason = "not-probed"
		f.Title = fmt.Sprintf("backend %s of load balancer %s is not probed", a, nameOf(lb))
		f.Cause = "ip_port_mappings has no entry for it: the port, and the source address of probes"
		f.Effect = unprobed
		f.Result = doctor.Warning
	case port == nil:
		f.Reason = "port"
		f.Title = fmt.Sprintf("backend %s of load balancer %s is probed through port %s, which does not exist", a, nameOf(lb), cmp.Or(m.Port, `""`))
		f.Cause = "ip_port_mappings names a port that was removed or is misspelt"
		f.Effect = unprobed
	case holder != "" && holder != m.Port && !doctor.HasIP(port, a):
		f.Reason = "port"
		f.Title = fmt.Sprintf("backend %s of load balancer %s is probed through port %s, which does not have this address", a, nameOf(lb), m.Port)
		f.Cause = fmt.Sprintf("ip_port_mappings names the wrong port: %s has the address", holder)
		f.Effect = unprobed
		f.Also = append(f.Also, doctor.PortObject(m.Port))
	case !m.Source.IsValid() || m.Source.Is6() != a.Is6():
		f.Reason = "source"
		f.Title = fmt.Sprintf("backend %s of load balancer %s is probed from %s, which is not an address of its family", a, nameOf(lb), cmp.Or(m.Raw, `""`))
		f.Cause = "ip_port_mappings has no valid source address"
		f.Effect = unprobed
	default:
		why := h.l.HealthSource(port, m.Source, isBound)
		if why == "" {
			return false
		}
		f.Reason = "source"
		f.Title = fmt.Sprintf("backend %s of load balancer %s is probed from %s, which is in use", a, nameOf(lb), m.Source)
		f.Cause = why
		f.Effect = "OVN replies to ARP for that address on the switch, so its owner is cut off or the probes fail"
	}
	if reported[a] {
		return true
	}
	reported[a] = true
	if holder != "" {
		f.Also = append(f.Also, doctor.PortAndNode(holder, h.bound[holder])...)
	}
	if p := h.l.SwitchPort[holder]; p != nil && p.Type == "" {
		source := h.l.HealthSourceFor(h.b, p, a.Is6(), isBound)
		if mapped && m.Source.IsValid() && m.Source.Is6() == a.Is6() && h.l.HealthSource(p, m.Source, isBound) == "" {
			source = m.Source
		}
		if source.IsValid() {
			f.Fix = catalog.MapBackend.With(nameOf(lb), a.String(), source.String())
		} else {
			f.Next = fixes.Command("with an unused address of the switch's network: ovnctl fix map-backend %s %s SOURCE", nameOf(lb), a)
		}
	} else {
		f.Next = fmt.Sprintf("no port has the address %s: remove the backend, or give the port its address", a)
	}
	h.Report(f)
	return true
}

// inside reports whether an address is in a network of a router port.
func (h *health) inside(a netip.Addr) bool {
	return slices.ContainsFunc(h.l.RouterPorts, func(rp nb.LogicalRouterPort) bool {
		return slices.ContainsFunc(facts.Networks(&rp), func(n netip.Prefix) bool { return n.Contains(a) })
	})
}
