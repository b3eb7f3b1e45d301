package loadbalancer

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
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
	Doc: `The health checks of a load balancer do not work, or find its backends dead

ovn-controller watches each backend by its port, from an address that ip_port_mappings
names. A backend that does not answer gets no connections; if none does, the virtual
address rejects.`,
	Causes: []string{"port-not-bound", "port-administratively-disabled", "pod-veth-vanished", "port-no-such-device", "pod-address-mismatch", "controller-not-running",
		"vswitchd-not-running", "integration-bridge-empty", "northd-not-active", "nb-duplicate-or-conflicting-config"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		p.Northbounds(func(z *snapshot.Zone, l *snapshot.Logical) {
			b, err := z.Balancers()
			if err != nil {
				p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Northbound"}, err)
				return
			}
			h := health{Pass: p, z: z, l: l, b: b, checks: map[ovsdb.UUID]*nb.LoadBalancerHealthCheck{}}
			for i := range b.HealthChecks {
				h.checks[b.HealthChecks[i].UUID] = &b.HealthChecks[i]
			}
			for i := range b.LoadBalancers {
				if lb := &b.LoadBalancers[i]; len(lb.HealthCheck) > 0 && lb.Options["template"] != "true" {
					h.balancer(lb)
				}
			}
		})
	},
}

// health looks at the health checks of a zone's load balancers.
type health struct {
	*doctor.Pass
	z      *snapshot.Zone
	l      *snapshot.Logical
	b      *snapshot.Balancers
	checks map[ovsdb.UUID]*nb.LoadBalancerHealthCheck

	asked    bool
	monitors map[monitorKey]*sb.ServiceMonitor
	holders  map[netip.Addr]string
	bound    map[string]string
	failed   error // why the Southbound could not be read
}

type monitorKey struct {
	port     string
	backend  netip.AddrPort
	protocol string
}

// south reads what the chassis have found, when it is first asked.
func (h *health) south() {
	if h.asked {
		return
	}
	h.asked = true
	h.holders, h.bound, h.monitors = doctor.PortOfAddress(h.l), doctor.NodeOfPort(h.z), map[monitorKey]*sb.ServiceMonitor{}
	learned, err := h.z.Learned()
	if err != nil {
		h.failed = err
		h.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
		return
	}
	for i := range learned.ServiceMonitors {
		m := &learned.ServiceMonitors[i]
		if a, err := netip.ParseAddr(strings.Trim(m.IP, "[]")); err == nil {
			h.monitors[monitorKey{m.LogicalPort, netip.AddrPortFrom(a, uint16(m.Port)), m.Protocol.Get()}] = m
		}
	}
}

func (h *health) balancer(lb *nb.LoadBalancer) {
	h.south()
	vips := snapshot.VIPs(lb)
	mappings := snapshot.HealthMappings(lb)
	told := map[netip.Addr]bool{}
	for _, id := range lb.HealthCheck {
		c := h.checks[id]
		if c == nil {
			continue
		}
		v, ok := watched(vips, c.VIP)
		switch {
		case !ok:
			h.Report(doctor.Finding{
				Result:   doctor.Warning,
				Object:   doctor.Object{Kind: "load balancer", Name: nameOf(lb)},
				Title:    fmt.Sprintf("a health check of load balancer %s watches %s, which is none of its virtual addresses", nameOf(lb), doctor.OrEmpty(c.VIP)),
				Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer_Health_Check", c.UUID, "vip=%s", doctor.OrEmpty(c.VIP)), doctor.NBRow("Load_Balancer", lb.UUID, "vips=%v", keysOf(vips))},
				Cause:    "the virtual address was changed, or is spelt otherwise",
				Effect:   "nothing is watched: dead backends get connections",
				Next:     fixes.Command("ovn-nbctl set Load_Balancer_Health_Check %s vip=%s", c.UUID, strconv.Quote(firstOf(keysOf(vips)))),
			})
		case lb.Protocol.Get() == "sctp":
			h.Report(doctor.Finding{
				Result:   doctor.Warning,
				Object:   doctor.Object{Kind: "load balancer", Name: nameOf(lb)},
				Title:    fmt.Sprintf("load balancer %s has a health check and balances sctp", nameOf(lb)),
				Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer_Health_Check", c.UUID, "vip=%s", c.VIP)},
				Cause:    "OVN watches backends of tcp and udp only",
				Effect:   "nothing is watched: dead backends get connections",
				Next:     "watch the backends otherwise",
			})
		default:
			h.watched(lb, v, mappings, told)
		}
	}
}

// watched finds the virtual address that a health check names.
func watched(vips []snapshot.VIP, key string) (snapshot.VIP, bool) {
	for _, v := range vips {
		if v.Key == key {
			return v, true
		}
		if ap, err := netip.ParseAddrPort(key); err == nil && ap == netip.AddrPortFrom(v.Addr, v.Port) {
			return v, true
		}
	}
	return snapshot.VIP{}, false
}

func keysOf(vips []snapshot.VIP) []string {
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

// watched looks at one virtual address that is watched.
func (h *health) watched(lb *nb.LoadBalancer, v snapshot.VIP, mappings map[netip.Addr]snapshot.HealthMapping, told map[netip.Addr]bool) {
	var dead []doctor.Evidence
	var also []doctor.Object
	faults := 0
	for _, backend := range v.Backends {
		m, mapped := mappings[backend.Addr()]
		if h.mapping(lb, v, backend, m, mapped, told) {
			faults++
			continue
		}
		monitor := h.monitors[monitorKey{m.Port, backend, orTCP(lb.Protocol.Get())}]
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
		Object:   doctor.Object{Kind: "load balancer", Name: nameOf(lb)},
		Also:     also,
		Title:    fmt.Sprintf("%d of %d backends of %s, load balancer %s, are found dead", len(dead), len(v.Backends), v.Key, nameOf(lb)),
		Evidence: dead,
		Cause:    "the backend does not answer on its port, or a policy keeps the watch away",
		Effect:   "connections go to the others",
		Next:     fmt.Sprintf("see whether it listens, and whether a policy admits the watch; ovnctl doctor %s", also[0].Name),
	}
	if len(dead)+faults >= len(v.Backends) {
		f.Result = doctor.Error
		f.Title = fmt.Sprintf("all backends of %s, load balancer %s, are found dead", v.Key, nameOf(lb))
		f.Effect = "connections to " + v.Key + " are rejected"
	}
	h.Report(f)
}

func orTCP(protocol string) string {
	if protocol == "" {
		return "tcp"
	}
	return protocol
}

// unwatched is what becomes of a backend whose health nobody asks for.
const unwatched = "it gets connections when it is dead, too; releases after OVN 26.03 give it none"

// mapping reports what is wrong with how a backend is watched, once.
func (h *health) mapping(lb *nb.LoadBalancer, v snapshot.VIP, backend netip.AddrPort, m snapshot.HealthMapping, mapped bool, told map[netip.Addr]bool) (faulty bool) {
	a := backend.Addr()
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "load balancer", Name: nameOf(lb)},
		Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer", lb.UUID, "%s: vips:%s has backend %s; ip_port_mappings:%s=%s", nameOf(lb), v.Key, backend, a, doctor.OrEmpty(lb.IPPortMappings[m.Key]))},
	}
	holder := h.holders[a]
	port := h.l.SwitchPort[m.Port]
	isBound := func(name string) bool { _, ok := h.bound[name]; return ok }
	switch {
	case !mapped && holder == "" && !h.inside(a):
		return false // outside of OVN: it cannot be watched by a port
	case !mapped:
		f.Title = fmt.Sprintf("backend %s of load balancer %s is not watched", a, nameOf(lb))
		f.Cause = "ip_port_mappings has no entry for it: by which port, and from which address"
		f.Effect = unwatched
		f.Result = doctor.Warning
	case port == nil:
		f.Title = fmt.Sprintf("backend %s of load balancer %s is watched by port %s, which does not exist", a, nameOf(lb), doctor.OrEmpty(m.Port))
		f.Cause = "ip_port_mappings names a port that is gone or spelt otherwise"
		f.Effect = unwatched
	case holder != "" && holder != m.Port && !doctor.HasIP(port, a):
		f.Title = fmt.Sprintf("backend %s of load balancer %s is watched by port %s, which does not have this address", a, nameOf(lb), m.Port)
		f.Cause = fmt.Sprintf("ip_port_mappings names the wrong port: %s has the address", holder)
		f.Effect = unwatched
		f.Also = append(f.Also, doctor.Object{Kind: "port", Name: m.Port})
	case !m.Source.IsValid() || m.Source.Is6() != a.Is6():
		f.Title = fmt.Sprintf("backend %s of load balancer %s is watched from %s, which is no address of its family", a, nameOf(lb), doctor.OrEmpty(m.Raw))
		f.Cause = "ip_port_mappings has no usable source address"
		f.Effect = unwatched
	default:
		why := h.l.HealthSource(port, m.Source, isBound)
		if why == "" {
			return false
		}
		f.Title = fmt.Sprintf("backend %s of load balancer %s is watched from %s, which is not free", a, nameOf(lb), m.Source)
		f.Cause = why
		f.Effect = "OVN answers for that address on the switch, so that its owner is cut off or the watch fails"
	}
	if told[a] {
		return true
	}
	told[a] = true
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
			f.Next = fmt.Sprintf("with a free address of the switch's network: ovnctl fix map-backend %s %s SOURCE", nameOf(lb), a)
		}
	} else {
		f.Next = fmt.Sprintf("no port has the address %s: take the backend away, or give the port its address", a)
	}
	h.Report(f)
	return true
}

// inside says whether an address is in a network of a router port.
func (h *health) inside(a netip.Addr) bool {
	return slices.ContainsFunc(h.l.RouterPorts, func(rp nb.LogicalRouterPort) bool {
		return slices.ContainsFunc(snapshot.Networks(&rp), func(n netip.Prefix) bool { return n.Contains(a) })
	})
}
