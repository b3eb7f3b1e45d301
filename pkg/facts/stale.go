package facts

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A StaleConnection is a UDP conversation that a host still sends to what is no
// backend of its virtual address any more.
type StaleConnection struct {
	snapshot.CTEntry
	LB  *nb.LoadBalancer
	VIP netip.AddrPort
	To  netip.AddrPort // the backend that was
}

// errNoZone is a host whose Northbound is not among those read.
var errNoZone = errors.New("the databases of this node's zone were not read: name them with --nb and --sb")

// StaleConnections are the host's stale UDP conversations, in the zones that ovn-controller
// tracks. Those of TCP end by themselves and are meant to outlive a backend that is drained.
func StaleConnections(h *snapshot.Host) ([]StaleConnection, error) {
	return snapshot.Derive(h, "", func() ([]StaleConnection, error) {
		zone := h.Zone()
		if zone == nil {
			return nil, errNoZone
		}
		vips, err := datagrams(zone)
		if err != nil || len(vips) == 0 {
			return nil, err
		}
		entries, err := h.Conntrack()
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		zones, err := h.CTZones()
		if err != nil {
			return nil, err
		}
		ours := map[int]bool{}
		for _, n := range zones {
			ours[n] = true
		}
		var out []StaleConnection
		for _, e := range entries {
			v, ok := vips[e.Orig.To()]
			if e.Protocol != "udp" || !ok || !ours[e.Zone] || slices.Contains(v.backends, e.Reply.From()) || e.Reply.From() == e.Orig.To() {
				continue
			}
			out = append(out, StaleConnection{e, v.lb, e.Orig.To(), e.Reply.From()})
		}
		return out, nil
	})
}

// datagrams are the virtual addresses of UDP with all the backends that they have, of whatever load balancer.
func datagrams(z *snapshot.Zone) (map[netip.AddrPort]datagramVIP, error) {
	return snapshot.Derive(z, "", func() (map[netip.AddrPort]datagramVIP, error) {
		b, err := z.Balancers()
		if err != nil {
			return nil, err
		}
		out := map[netip.AddrPort]datagramVIP{}
		for i := range b.LoadBalancers {
			lb := &b.LoadBalancers[i]
			if lb.Protocol.Get() != "udp" {
				continue
			}
			for _, v := range VIPs(lb) {
				if v.Bad != "" || v.Port == 0 {
					continue
				}
				at := netip.AddrPortFrom(v.Addr, v.Port)
				d := out[at]
				if d.lb == nil {
					d.lb = lb
				}
				d.backends = append(d.backends, v.Backends...)
				out[at] = d
			}
		}
		return out, nil
	})
}

type datagramVIP struct {
	lb       *nb.LoadBalancer
	backends []netip.AddrPort
}
