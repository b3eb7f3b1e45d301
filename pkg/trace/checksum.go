package trace

import (
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// leavesChecksum returns why the packets that a port's workload, behind a link, sends with such addresses lack their checksum:
// its kernel leaves it to the link, as for hardware, and Open vSwitch in userspace takes packets as they are, unless it
// does segmentation, too (other_config:userspace-tso-enable, ovs-vswitchd.conf.db(5)). It is nil if they have it, and
// where that is not known.
func (t *tracer) leavesChecksum(ctx context.Context, v *nodeView, link string, port *topology.Port, p packet.Tuple) *journey.Cause {
	protocol := protocolName(p.Proto)
	if port == nil || protocol != "tcp" && protocol != "udp" || !t.netdev(v.Name) || v.configured(ctx, "userspace-tso-enable") {
		return nil
	}
	pod := t.workload(ctx, v, link).pod
	if pod == nil || pod.LeavesChecksums == nil || !*pod.LeavesChecksums {
		return nil
	}
	return &journey.Cause{Kind: journey.NoChecksum, Port: port.Name, Link: pod.Link.Name, Detail: strings.ToUpper(protocol)}
}

// blameChecksum makes the missing checksum of a packet the cause: no kernel accepts it, and conntrack finds it invalid.
func (r *run) blameChecksum(e *ending) {
	v := &e.verdict
	switch received := v.Outcome == journey.Delivered || v.Outcome == journey.Rejected && v.Because.Place != ""; {
	case r.unsummed == nil || v.Outcome == journey.Unknown:
	case received || r.ct.Judged:
		v.Outcome, v.Object, v.Because = journey.Dropped, nil, *r.unsummed
	}
}
