package ovs

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A station is a MAC address in a VLAN of a bridge.
type station struct {
	node, bridge string
	vlan         uint64 // vlan_tci of its packets
	mac          packet.Value
}

// A place is where a station is: a port that its packets come by. For a patch port, which a trace does not name, it is the port of
// the other bridge.
type place struct {
	patch string // the other bridge; "" if it is no patch port
	port  uint32
}

// show stores behind which ports the pass has shown itself to learning switches: ofproto/trace teaches them nothing, so that a reply
// would go wherever they have the address from.
func (r *reading) show() {
	for _, e := range r.replayed.Events {
		if mac := e.Flow.Get(&packet.EthSrc); r.learning(e) && mac.Lo>>40&1 == 0 {
			if r.ct.shown == nil {
				r.ct.shown = map[station]place{}
			}
			r.ct.shown[r.station(e, mac)] = r.cameBy(e)
		}
	}
}

// learning reports whether an event is an output to a learning switch of the packet itself: an outer packet, which the switch sends through a
// bridge, is followed in a pass of its own.
func (r *reading) learning(e openflow.Event) bool {
	if e.Kind != openflow.EventOutput || e.Output.Kind != openflow.ToNormal {
		return false
	}
	by := r.sentBy(e)
	return by == nil || by.Output.Kind != openflow.ToNativeTunnel
}

func (r *reading) station(e openflow.Event, mac packet.Value) station {
	return station{r.node, e.Bridge, e.Flow.Uint("vlan_tci"), mac}
}

// sentBy returns the output by which another bridge sent the packet of an event into its own, through a patch port or as the outer packet of
// a tunnel; nil if it came by a port.
func (r *reading) sentBy(e openflow.Event) *openflow.Event {
	events := r.replayed.Events
	first := e.Parent
	for first >= 0 && events[first].Parent >= 0 && events[events[first].Parent].Bridge == e.Bridge {
		first = events[first].Parent
	}
	for i := first - 1; i >= 0; i-- {
		sent := &events[i]
		if sent.Kind == openflow.EventOutput && (sent.Output.Kind == openflow.ToPatch || sent.Output.Kind == openflow.ToNativeTunnel) && sent.Output.Peer == e.Bridge {
			return sent
		}
	}
	return nil
}

// cameBy returns where the packet of an event came into its bridge.
func (r *reading) cameBy(e openflow.Event) place {
	if sent := r.sentBy(e); sent != nil {
		return place{sent.Bridge, sent.Output.Port.Number}
	}
	return place{port: e.Flow.InPort().Number}
}

// shown returns the pass as it would be once the packets before have shown a learning switch where the destination is: the switch
// sends this one there, wherever it has the address now.
func (r *reading) shown(ctx context.Context) (pass, bool) {
	for i, e := range r.replayed.Events {
		if !r.learning(e) || e.Parent < 0 || !slices.Contains(r.replayed.Events[e.Parent].Node.Children, e.Node) {
			continue
		}
		to := r.station(e, e.Flow.Get(&packet.EthDst))
		at, ok := r.ct.shown[to]
		if !ok || at == r.cameBy(e) || r.reaches(i, at) || r.static(ctx, to) {
			continue
		}
		port, ok := r.portTo(ctx, to, at)
		if !ok {
			continue
		}
		return r.instead(e.Parent, func(n *openflow.Node) []string {
			if n == e.Node {
				return []string{"output:" + strconv.Itoa(int(port))}
			}
			return []string{n.Text}
		}), true
	}
	return pass{}, false
}

// reaches reports whether a learning switch sends the packet of the i-th event to a place, or, since a bond may choose another of
// its members, to any port that is no patch port.
func (r *reading) reaches(i int, at place) bool {
	if at.patch == "" && len(outputs(r.replayed.Pass.DatapathActions, vlanOf(&r.Packet), r.Length)) > 0 {
		return true
	}
	return slices.ContainsFunc(r.replayed.Events[i:], func(e openflow.Event) bool {
		return e.Kind == openflow.EventStep && e.Bridge == at.patch && e.Flow.InPort().Number == at.port
	})
}

// portTo returns the number of the port at which a station is.
func (r *reading) portTo(ctx context.Context, s station, at place) (uint32, bool) {
	if at.patch == "" {
		return at.port, true
	}
	text, err := r.sw.Control(ctx, "ovs-vswitchd", "dpif/show")
	if err != nil {
		return 0, false
	}
	ports := openflow.ParsePatchPorts(text)
	there := slices.IndexFunc(ports, func(p openflow.PatchPort) bool { return p.Bridge == at.patch && p.OpenFlow == at.port })
	here := slices.IndexFunc(ports, func(p openflow.PatchPort) bool {
		return there >= 0 && p.Bridge == s.bridge && p.Name == ports[there].Peer
	})
	if here < 0 {
		return 0, false
	}
	return ports[here].OpenFlow, true
}

// static reports whether a bridge has a station by an operator's word, which no packet changes; also if it does not say.
func (r *reading) static(ctx context.Context, s station) bool {
	text, err := r.sw.Control(ctx, "ovs-vswitchd", "fdb/show", s.bridge)
	if err != nil {
		return true
	}
	mac := packet.EthSrc.Print(s.mac)
	return slices.ContainsFunc(openflow.ParseFDB(text), func(e openflow.FDBEntry) bool {
		return e.Static && strings.EqualFold(e.MAC, mac) && uint64(e.VLAN) == s.vlan&0xfff
	})
}
