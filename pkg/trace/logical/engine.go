package logical

import (
	"context"

	"github.com/ovnctl/ovnctl/pkg/lflow"
)

// Options say what a packet's headers do not.
type Options struct {
	// Length of the packet in bytes, Ethernet header included, for check_pkt_larger; 0: a short one.
	Length int
	// Query is the name that a DNS request asks for, empty for one that OVN does not know.
	Query string
	// Assume takes a next hop that no row of the Southbound tells the MAC address of to answer: in reality OVN asks for
	// it and then sends the packet on. Without it the packet ends as [Resolving].
	Assume bool
	// Branches bounds how many combinations of choices [Engine.Every] follows; 0: 64.
	Branches int
}

// An Engine follows packets through a network. It may be used by several goroutines.
type Engine struct {
	net     *lflow.Network
	options Options
}

// New returns an engine.
func New(net *lflow.Network, o Options) *Engine { return &Engine{net: net, options: o} }

// Follow follows a packet to its end. Connections are what earlier packets left, and keep what this one commits; nil is
// an empty memory that is thrown away. The chooser may be nil, then the first possibility is taken. An error says what
// could not be read; whatever becomes of the packet is no error.
func (e *Engine) Follow(ctx context.Context, s Start, c *Connections, choose Chooser) (*Way, error) {
	return nil, nil
}

// Every follows a packet once for each combination of choices and hands over each way with the connections that it
// left, which start as a copy of c. It reports whether there were more combinations than [Options] allow.
func (e *Engine) Every(ctx context.Context, s Start, c *Connections, each func(*Way, *Connections) error) (more bool, err error) {
	return false, nil
}
