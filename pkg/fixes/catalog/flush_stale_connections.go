package catalog

import (
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// maxFlushed bounds the conversations that are flushed one by one.
const maxFlushed = 200

// FlushConnections flushes UDP conversations with removed backends from connection tracking.
var FlushConnections = &fixes.Repair{
	Name: "flush-stale-connections",
	Doc: `Flush UDP conversations with removed backends

Flushes from connection tracking the UDP conversations with a virtual IP of each client that
has one with a backend which the load balancer no longer has. The client's next packet goes
to a present backend.`,
	Params: []fixes.Param{
		{Name: "ADDRESS", Doc: "the virtual IP with its port, 10.96.0.10:53; all of them by default", Optional: true},
		{Name: "NODE", Doc: "the node; this one by default", Optional: true},
	},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "stale-conntrack-after-endpoint-change",
	OneWay: flushed,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		var only netip.AddrPort
		if text := a["ADDRESS"]; text != "" {
			var err error
			if only, err = netip.ParseAddrPort(text); err != nil {
				return nil, fmt.Errorf("%q is not an address with a port", text)
			}
		}
		h, err := hostOf(d, a["NODE"])
		if err != nil {
			return nil, err
		}
		stale, err := facts.StaleConnections(h)
		if err != nil {
			return nil, err
		}
		datapaths, err := h.Datapaths()
		if err != nil {
			return nil, err
		}
		if len(datapaths) > 1 { // the command takes a datapath or a tuple, not both
			return nil, fixes.Refuse("flush the zone of the port: ovs-appctl dpctl/flush-conntrack DATAPATH zone=N", "%s has %d datapaths, and single conversations can be flushed only if there is one", h.Name, len(datapaths))
		}
		plan := &fixes.Plan{Host: h.Name}
		daemon, err := h.Daemon("ovs-vswitchd")
		if err != nil {
			return nil, err
		}
		parts := release.AtLeast(daemon.Version, release.FlushByTuple)
		seen := map[string]bool{}
		for _, s := range stale {
			if only.IsValid() && s.VIP != only {
				continue
			}
			step := flush(s, parts)
			if text := fmt.Sprint(step.Args); !seen[text] {
				seen[text] = true
				plan.Steps = append(plan.Steps, step)
			}
		}
		switch n := len(plan.Steps); {
		case n == 0:
			return nil, fixes.Refuse("", "no UDP conversation on %s is sent to a removed backend", h.Name)
		case n > maxFlushed:
			return nil, fixes.Refuse("flush the zone of each port: ovs-appctl dpctl/flush-conntrack zone=N, with N of ovn-appctl -t ovn-controller ct-zone-list",
				"%d conversations on %s are stale, and at most %d are flushed one by one", n, h.Name, maxFlushed)
		default:
			plan.Title = fmt.Sprintf("flush %d UDP conversations on %s with removed backends", n, h.Name)
			plan.Touches = "these conversations: their next packet goes to a present backend"
		}
		return plan, nil
	},
}

const flushed = "flushed connections cannot be put back into connection tracking"

// flush returns the step that flushes a conversation. With parts of a tuple, from Open vSwitch 3.1, it flushes all of
// the client's conversations with the address; without, it fails if the conversation has expired meanwhile.
func flush(s facts.StaleConnection, parts bool) fixes.Control {
	family := "nw"
	if s.VIP.Addr().Is6() {
		family = "ipv6"
	}
	tuple := fmt.Sprintf("ct_%[1]s_src=%[2]s,ct_%[1]s_dst=%[3]s,ct_nw_proto=17,ct_tp_dst=%[4]d",
		family, s.Orig.Src, s.Orig.Dst, s.Orig.DstPort)
	from := s.Orig.Src.String()
	if !parts {
		from = s.Orig.From().String()
		tuple += fmt.Sprintf(",ct_tp_src=%d", s.Orig.SrcPort)
	}
	return fixes.Control{
		Daemon: "ovs-vswitchd", Command: "dpctl/flush-conntrack",
		Args: []string{fmt.Sprintf("zone=%d", s.Zone), tuple},
		What: fmt.Sprintf("flush UDP of %s to %s, which goes to %s", from, s.VIP, s.To),
		Why:  flushed,
	}
}
