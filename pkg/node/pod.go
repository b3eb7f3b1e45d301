package node

import (
	"context"
	"fmt"
)

// A PodNet is the network namespace at the other end of a veth.
type PodNet struct {
	// Netns names the namespace: below /run/netns, or as /proc/PID/ns/net.
	Netns string `json:"netns"`
	// Link is the veth's end there.
	Link Link `json:"link"`
	// Network is the namespace's own view. Of Sysctl it has only what IgnoresEcho and TTL need.
	Network *Network `json:"network"`
	// Guessed is set if the namespace was found by interface numbers alone, which another container's may have too.
	Guessed bool `json:"guessed,omitempty"`
	// Sockets are those that receive packets, and Firewall is the packet filter there; null if unknown.
	Sockets  []Socket `json:"sockets"`
	Firewall []Chain  `json:"firewall"`
	// LeavesChecksums tells whether the kernel leaves the checksums of TCP and UDP to Link, ethtool(8) tx-checksumming;
	// nil if unknown.
	LeavesChecksums *bool `json:"leavesChecksums,omitempty"`

	route func(context.Context, RouteQuery) (*Route, error)
}

// Route asks the kernel where the pod would send a packet.
func (p *PodNet) Route(ctx context.Context, q RouteQuery) (*Route, error) {
	if err := q.check(); err != nil {
		return nil, fmt.Errorf("pod behind %s: %w", p.Link.Name, err)
	}
	return p.route(ctx, q)
}

// podLink returns why a link leads to no readable namespace, nil if it does.
func podLink(l *Link) error {
	switch {
	case l.Kind != "veth":
		kind := l.Kind
		if kind == "" {
			kind = "hardware"
		}
		return unavailable("its kind is %s and only a veth has another end to look at, look inside the machine that owns it", kind)
	case l.PeerNetns == nil:
		return unavailable("its other end is in the host's own namespace")
	}
	return nil
}

// findLink sets p.Link to the other end of here.
func (p *PodNet) findLink(here Link) error {
	for _, l := range p.Network.Links {
		if l.Index == here.PeerIndex && l.PeerIndex == here.Index {
			p.Link = l
			return nil
		}
	}
	return fmt.Errorf("no link %d in network namespace %s", here.PeerIndex, p.Netns)
}
