package ovssim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Fallback is a host that needs no ovs-vswitchd for a trace: if the host has no reply to ofproto/trace,
// ofproto/trace-packet-out or dpif/show, it makes one from the switch's saved state.
type Fallback struct {
	Host

	once   sync.Once
	source *Source
	sw     *Switch
	err    error

	mu        sync.Mutex
	simulated bool
}

// Simulated reports whether a trace was simulated.
func (f *Fallback) Simulated() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.simulated
}

// Control sends a command to a daemon, or replies in its place.
func (f *Fallback) Control(ctx context.Context, daemon, command string, args ...string) (string, error) {
	reply, err := f.Host.Control(ctx, daemon, command, args...)
	if err == nil || !errors.Is(err, node.ErrUnavailable) || daemon != "ovs-vswitchd" {
		return reply, err
	}
	switch command {
	case "dpif/show", "ofproto/trace", "ofproto/trace-packet-out":
	default:
		return "", err
	}
	f.once.Do(func() { f.prepare(ctx) })
	if f.err != nil {
		return "", err
	}
	if command == "dpif/show" {
		return f.source.Datapath, nil
	}
	return f.trace(command == "ofproto/trace-packet-out", args, err)
}

// prepare reads the switch. It makes up the datapath's port numbers if they are unknown.
func (f *Fallback) prepare(ctx context.Context) {
	source, missing := Read(ctx, f.Host)
	if source == nil {
		f.err = errors.Join(missing...)
		return
	}
	source.Datapath = cmp.Or(source.Datapath, numbered(source))
	f.source, f.sw = source, NewSwitch(*source)
}

// numbered returns a dpif/show with made-up numbers.
func numbered(s *Source) string {
	var b strings.Builder
	b.WriteString("ovs-system: hit:0 missed:0\n")
	number := 1
	for _, bridge := range NewSwitch(*s).bridges {
		fmt.Fprintf(&b, "  %s:\n", bridge.name)
		for _, n := range slices.Sorted(maps.Keys(bridge.ports)) {
			if p := bridge.ports[n]; !p.patch {
				fmt.Fprintf(&b, "    %s %d/%d: (system)\n", p.name, p.number, number)
				number++
			}
		}
	}
	return b.String()
}

// trace replies to a command; unavailable is the error if it cannot.
func (f *Fallback) trace(packetOut bool, args []string, unavailable error) (string, error) {
	if len(args) < 2 || packetOut && len(args) != 3 {
		return "", unavailable
	}
	p, err := packet.Parse(args[1])
	if err != nil {
		return "", &node.ControlError{Daemon: "ovs-vswitchd", Command: "ofproto/trace", Text: err.Error()}
	}
	var o Options
	if packetOut {
		if o.Actions, err = openflow.ParseActions(args[2]); err != nil {
			return "", &node.ControlError{Daemon: "ovs-vswitchd", Command: "ofproto/trace-packet-out", Text: err.Error()}
		}
	}
	if !packetOut {
		for next := args[2:]; len(next) > 0; next = next[2:] {
			if len(next) < 2 || next[0] != "--ct-next" {
				return "", unavailable
			}
			state, err := packet.ParseCTState(next[1])
			if err != nil {
				return "", &node.ControlError{Daemon: "ovs-vswitchd", Command: "ofproto/trace", Text: err.Error()}
			}
			o.Next = append(o.Next, state)
		}
	}
	t, err := f.sw.Trace(args[0], p, o)
	if err != nil {
		return "", errors.Join(unavailable, err)
	}
	f.mu.Lock()
	f.simulated = true
	f.mu.Unlock()
	return t.String(), nil
}
