package trace

import (
	"context"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// queueDrops returns why the queueing discipline of a node's link drops the packet that leaves by it, however few there are.
func (r *run) queueDrops(ctx context.Context, at location, link string) (journey.Cause, bool) {
	net, err := at.node.net(ctx)
	if err != nil {
		return journey.Cause{}, false
	}
	t, _ := at.packet.Tuple()
	size := max(r.length, smallest(t))
	if c := at.carries; c != nil {
		size += overhead(c.to.tunnel.Type, at.packet.Meets(packet.NeedsIPv6))
	}
	return queueDrops(net.Link(link), size)
}

// queueDrops returns why the queueing discipline of a link drops packets of a size in bytes, with the Ethernet header.
func queueDrops(l *node.Link, size int) (journey.Cause, bool) {
	switch {
	case l == nil || l.Passes == nil || size <= *l.Passes:
		return journey.Cause{}, false
	case *l.Passes == 0:
		return journey.Cause{Kind: journey.QueueDrops, Link: l.Name, Detail: l.Qdisc + ", which passes nothing"}, true
	}
	return journey.Cause{Kind: journey.QueueDrops, Link: l.Name, Detail: fmt.Sprintf("%s, which passes at most %d B", l.Qdisc, *l.Passes)}, true
}

// smallest is the size of the smallest packet of its kind, with the Ethernet header.
func smallest(t packet.Tuple) int {
	size := ethernetHeader + 20 + 8
	if t.Proto == packet.ProtoTCP {
		size += 12
	}
	if t.Dst.Is6() {
		size += 20
	}
	return size
}
