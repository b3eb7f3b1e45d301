package catalog

import (
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// maxFlushed bounds the connections that are forgotten one by one.
const maxFlushed = 200

// FlushConnections makes a node forget UDP conversations with backends that are none any more.
var FlushConnections = &fixes.Repair{
	Name: "flush-stale-connections",
	Doc: `Make a node forget UDP conversations with backends that are none any more

Flushes from connection tracking the UDP conversations with a virtual address of each client
of which one is still sent to a backend that the load balancer does not have. The next packet
of the client goes to a backend of now.`,
	Params: []fixes.Param{
		{Name: "ADDRESS", Doc: "the virtual address with its port, 10.96.0.10:53; of all where it is left out", Optional: true},
		{Name: "NODE", Doc: "the node; this one where it is left out", Optional: true},
	},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "stale-conntrack-after-endpoint-change",
	OneWay: "a connection that was forgotten cannot be put back into connection tracking",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		var only netip.AddrPort
		if text := a["ADDRESS"]; text != "" {
			var err error
			if only, err = netip.ParseAddrPort(text); err != nil {
				return nil, fmt.Errorf("%q is no address with a port", text)
			}
		}
		h := d.Local()
		if name := a["NODE"]; name != "" {
			if h = d.Host(name); h == nil {
				return nil, fmt.Errorf("no node %q that can be asked", name)
			}
		}
		if h == nil {
			return nil, fmt.Errorf("no node: run this on the node, or name it")
		}
		stale, err := h.StaleConnections()
		if err != nil {
			return nil, err
		}
		datapaths, err := h.Datapaths()
		if err != nil {
			return nil, err
		}
		if len(datapaths) > 1 { // the command takes one only where it takes no tuple
			return nil, fixes.Refuse("flush the zone of the port: ovs-appctl dpctl/flush-conntrack DATAPATH zone=N", "%s has %d datapaths, and a single conversation can be forgotten only where there is one", h.Name, len(datapaths))
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
			return nil, fixes.Refuse("", "no UDP conversation on %s is sent to a backend that is none any more", h.Name)
		case n > maxFlushed:
			return nil, fixes.Refuse("flush the zone of each port: ovs-appctl dpctl/flush-conntrack zone=N, with N of ovn-appctl -t ovn-controller ct-zone-list",
				"%d conversations on %s are stale, more than the %d that are flushed one by one", n, h.Name, maxFlushed)
		default:
			plan.Title = fmt.Sprintf("forget %d UDP conversations on %s with backends that are none any more", n, h.Name)
			plan.Touches = "these conversations: their next packet goes to a backend of now"
		}
		return plan, nil
	},
}

// flush is the step that forgets a conversation. Open vSwitch 3.1 and later forget all conversations of the client
// with the address; that is no error when the one that was seen has just run out, as it is of older ones.
func flush(s snapshot.StaleConnection, parts bool) fixes.Control {
	family := "nw"
	if s.VIP.Addr().Is6() {
		family = "ipv6"
	}
	tuple := fmt.Sprintf("ct_%[1]s_src=%[2]s,ct_%[1]s_dst=%[3]s,ct_nw_proto=17,ct_tp_dst=%[4]d",
		family, s.Orig.Src.Addr(), s.Orig.Dst.Addr(), s.Orig.Dst.Port())
	from := s.Orig.Src.Addr().String()
	if !parts {
		from = s.Orig.Src.String()
		tuple += fmt.Sprintf(",ct_tp_src=%d", s.Orig.Src.Port())
	}
	return fixes.Control{
		Daemon: "ovs-vswitchd", Command: "dpctl/flush-conntrack",
		Args: []string{fmt.Sprintf("zone=%d", s.Zone), tuple},
		What: fmt.Sprintf("forget UDP of %s to %s, which goes to %s", from, s.VIP, s.To),
		Why:  "a connection that was forgotten cannot be put back into connection tracking",
	}
}
