package trace

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// wrongEntry reports whether somebody gave the host a MAC address for a next hop outside that neither OVN nor any node read so
// far has heard from there.
func (h *hostStep) wrongEntry(ctx context.Context, net *node.Network, dev string, hop netip.Addr) (journey.Cause, bool) {
	i := slices.IndexFunc(net.Neighbours, func(n node.Neighbour) bool {
		return n.Addr == hop && n.Link == dev && n.State == "permanent" && n.MAC != ""
	})
	if i < 0 || h.holder(hop) != nil {
		return journey.Cause{}, false
	}
	heard := h.learned(ctx, hop)
	for _, v := range h.views {
		if v.network == nil || v.network == net {
			continue
		}
		for _, n := range v.network.Neighbours {
			if n.Addr == hop && n.MAC != "" && slices.Contains([]string{"reachable", "stale", "delay", "probe"}, n.State) {
				heard = append(heard, strings.ToLower(n.MAC))
			}
		}
	}
	set := strings.ToLower(net.Neighbours[i].MAC)
	if len(heard) == 0 || slices.Contains(heard, set) {
		return journey.Cause{}, false
	}
	return journey.Cause{Kind: journey.WrongNeighbour, Node: h.node.Name, Address: hop, MAC: set, Detail: heard[0]}, true
}

// learned returns the MAC addresses of an address that routers on physical networks have learned.
func (h *hostStep) learned(ctx context.Context, a netip.Addr) (macs []string) {
	south := h.southbound(h.node.Zone)
	if south == nil {
		return nil
	}
	rows, err := ovsdb.Find[sb.MACBinding](ctx, south, ovsdb.Where("ip", "==", a.String()))
	if err != nil {
		return nil
	}
	for _, row := range rows {
		router := h.graph.PortByName(row.LogicalPort)
		if router == nil {
			continue
		}
		if segment := h.graph.PeerOf(router); segment != nil && segment.Switch != nil && h.localnet(segment.Switch) != nil {
			macs = append(macs, strings.ToLower(row.MAC))
		}
	}
	return macs
}
