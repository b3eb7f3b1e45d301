package fixes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Witness confirms, in place of a person, that this host is still reachable.
type Witness string

// Witnesses.
const (
	Gateway    Witness = "gateway"    // a default gateway replies
	Southbound Witness = "southbound" // the Southbound can be read
)

// Witnesses are all witnesses.
var Witnesses = []Witness{Gateway, Southbound}

// errAbsent means that this host does not have the witness.
var errAbsent = errors.New("this host has none")

// ask asks one witness.
func (l *Loop) ask(ctx context.Context, w Witness) error {
	if w == Gateway {
		return l.gatewayReplies(ctx)
	}
	return l.southboundReplies(ctx)
}

// replying returns the witnesses that reply now.
func (l *Loop) replying(ctx context.Context) []Witness {
	var all []Witness
	for _, w := range Witnesses {
		lost := w == Southbound && slices.ContainsFunc(l.Cluster.Problems, southboundLost)
		if !lost && l.ask(ctx, w) == nil {
			all = append(all, w)
		}
	}
	return all
}

// confirmBy asks until all witnesses reply. With any, those that this host lacks are not needed, if it has one.
func (l *Loop) confirmBy(ctx context.Context, witnesses []Witness, any bool) error {
	for {
		var failed []string
		absent := 0
		for _, w := range witnesses {
			err := l.ask(ctx, w)
			switch {
			case any && errors.Is(err, errAbsent):
				absent++
			case err != nil:
				failed = append(failed, string(w)+": "+err.Error())
			}
		}
		switch {
		case any && absent == len(witnesses):
			return errors.New("this host has neither a gateway nor a Southbound that could confirm it")
		case len(failed) == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New(strings.Join(failed, "; "))
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// southboundReplies reads the Southbound. It is opened again if it was unreachable before: the repair may bring it
// back.
func (l *Loop) southboundReplies(ctx context.Context) error {
	c := l.Cluster
	if slices.ContainsFunc(c.Problems, southboundLost) {
		fresh, err := l.Open(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = fresh.Close() }()
		if i := slices.IndexFunc(fresh.Problems, southboundLost); i >= 0 {
			return fresh.Problems[i]
		}
		c = fresh
	}
	err := errAbsent
	for _, z := range snapshot.Look(ctx, c, snapshot.Options{}).Zones {
		if _, none := z.SB(); none != nil {
			continue
		}
		if _, err = z.Southbound(); err != nil {
			return err
		}
	}
	return err
}

func southboundLost(p cluster.Problem) bool { return p.What == "OVN_Southbound" }

// gatewayReplies pings the default gateways, which also makes the kernel resolve their addresses: either reply of one
// gateway is enough.
func (l *Loop) gatewayReplies(ctx context.Context) error {
	local := l.look(ctx).Local()
	if local == nil {
		return errAbsent
	}
	network, err := local.Node().Network(ctx)
	if err != nil {
		return err
	}
	gateways := slices.DeleteFunc(slices.Clone(network.Routes), func(r node.Route) bool {
		return r.Dst.Bits() != 0 || !r.Via.IsValid() || r.Table != 254 || r.Type != "unicast"
	})
	if len(gateways) == 0 {
		return errAbsent
	}
	slices.SortStableFunc(gateways, func(a, b node.Route) int { // IPv4 first
		return a.Dst.Addr().BitLen() - b.Dst.Addr().BitLen()
	})
	replies := make(chan bool, len(gateways))
	for _, g := range gateways {
		forget(local.Node(), network, g)
		go func() { replies <- ping(g.Via.WithZone(zone(g)), time.Second) }()
	}
	for range gateways {
		if <-replies {
			return nil
		}
	}
	if network, err = local.Node().Network(ctx); err != nil {
		return err
	}
	if slices.ContainsFunc(gateways, func(g node.Route) bool { return resolved(network, g) }) {
		return nil
	}
	return fmt.Errorf("%s does not reply", gateways[0].Via)
}

// resolved reports whether the kernel has just learned a gateway's address.
func resolved(network *node.Network, gateway node.Route) bool {
	return slices.ContainsFunc(network.Neighbours, func(n node.Neighbour) bool {
		return n.Addr == gateway.Via.WithZone("") && n.Link == gateway.Dev && n.State == "reachable"
	})
}

// forget makes the kernel resolve a gateway's address again: an earlier entry proves nothing.
func forget(host node.Host, network *node.Network, gateway node.Route) {
	for _, n := range network.Neighbours {
		if n.Addr == gateway.Via.WithZone("") && n.Link == gateway.Dev && n.State != "permanent" {
			_ = node.ChangeNetwork(host, func(w node.NetworkWriter) error { return w.DeleteNeighbour(n) })
		}
	}
}

func zone(r node.Route) string {
	if r.Via.Is6() && r.Via.IsLinkLocalUnicast() {
		return r.Dev
	}
	return ""
}
