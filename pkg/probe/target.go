package probe

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A TargetError is why a packet is not sent.
type TargetError struct{ text string }

func (e *TargetError) Error() string { return e.text }

// Check returns a *TargetError for a trace whose packet must not be sent: to more than one host, or from outside.
func Check(g *topology.Graph, r journey.Request) error {
	if r.From.Kind == "external" {
		return &TargetError{r.From.Text + " is outside: packets can be sent from pods, VMs, ports and nodes"}
	}
	dst, err := netip.ParseAddr(r.To.Address)
	if err != nil {
		return &TargetError{r.To.Text + " has no address to send to"}
	}
	switch {
	case dst.IsMulticast(), dst == netip.AddrFrom4([4]byte{255, 255, 255, 255}), broadcast(g, dst):
		return &TargetError{fmt.Sprintf("%s is an address of more than one host: nothing is sent to it", dst)}
	case dst.IsUnspecified(), dst.IsLoopback():
		return &TargetError{fmt.Sprintf("%s is no address to send to", dst)}
	}
	return nil
}

// broadcast reports whether an address is the last of a network of the deployment.
func broadcast(g *topology.Graph, a netip.Addr) bool {
	if !a.Is4() {
		return false
	}
	for _, p := range g.Ports {
		for _, n := range p.Prefixes() {
			if n.Addr().Is4() && n.Bits() < 31 && lastOf(n) == a {
				return true
			}
		}
	}
	return false
}

// lastOf returns the last address of an IPv4 network.
func lastOf(n netip.Prefix) netip.Addr {
	b := n.Masked().Addr().As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])|(1<<(32-n.Bits())-1))
	return netip.AddrFrom4(b)
}

// Outside reports whether a trace's packet leaves the deployment: its destination is nothing that is known.
func Outside(r journey.Request) bool { return r.To.Kind == "external" }
