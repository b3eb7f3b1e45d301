package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// What can confirm, in a person's place, that a host is still to be reached.
const (
	confirmGateway    = "gateway"
	confirmSouthbound = "southbound"
)

// confirming are they all.
var confirming = []string{confirmGateway, confirmSouthbound}

// watch has a change that can cut this host off watched and confirmed: by what was
// named, by the person on the terminal, or else by itself. The error says why there
// can be no watchdog: then nothing is to be done.
func (x *fixer) watch(ctx context.Context, o *fixes.Options, byItself func(context.Context) error) error {
	t := x.target(ctx)
	if err := fixes.Watchable(t); err != nil {
		return fmt.Errorf("it can cut this host off, and no watchdog can be armed: %w", err)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	w := fixes.Watchdog{Program: program, Args: x.watchArgs()}
	o.Watch = func(ctx context.Context, id int, _ time.Duration) error { return x.journal.Arm(ctx, t, w, id) }
	o.Within = x.within
	switch {
	case len(x.confirm) > 0:
		o.Confirm = func(ctx context.Context) error { return x.confirmBy(ctx, x.confirm, false) }
	case x.asks() && !x.yes:
		o.Confirm = x.confirmByHand
	default:
		o.Confirm = byItself
	}
	return nil
}

// answering are those of what can confirm that answer now.
func (x *fixer) answering(ctx context.Context) []string {
	var all []string
	if x.gatewayAnswers(ctx) == nil {
		all = append(all, confirmGateway)
	}
	if !slices.ContainsFunc(x.c.Problems, southboundLost) && x.southboundAnswers(ctx) == nil {
		all = append(all, confirmSouthbound)
	}
	return all
}

// watchArgs are the arguments of a watchdog: those that say where everything is.
func (x *fixer) watchArgs() []string {
	args := []string{"fix", "watch", "--state-dir", x.state(x.stateDir), "--timeout", strconv.FormatFloat(x.timeout.Seconds(), 'f', -1, 64)}
	for name, value := range map[string]string{
		"nb": x.nb, "sb": x.sb, "ovs": x.ovs, "host-root": x.hostRoot, "private-key": x.tls.PrivateKey,
		"certificate": x.tls.Certificate, "ca-cert": x.tls.CACert, "ssl-server-name": x.tls.ServerName,
	} {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	slices.Sort(args[6:])
	if x.noLeaderOnly {
		args = append(args, "--no-leader-only")
	}
	return args
}

// newFixWatch is what a watchdog runs. It is no command for people.
func newFixWatch(o *fixOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "watch RUN",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.Atoi(args[0])
			if err != nil {
				return usageError{err}
			}
			journal, err := fixes.OpenJournal(o.state(o.stateDir))
			if err != nil {
				return usageError{err}
			}
			return journal.Watch(cmd.Context(), id, func(ctx context.Context) (*fixes.Target, error) {
				c, err := o.openBroken(ctx)
				if err != nil {
					return nil, err
				}
				x := &fixer{options: o.options, applyOptions: &o.applyOptions, c: c, journal: journal}
				return x.target(ctx), nil
			})
		},
	}
	addStateDir(cmd.Flags(), &o.stateDir)
	return cmd
}

func (x *fixer) confirmByHand(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	question := fmt.Sprintf("Can you still reach this host? Unless you say yes within %s, all is taken back.", time.Until(deadline).Round(time.Second))
	yes, err := x.ask(ctx, question, false)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("nobody answered in time")
	case err != nil:
		return err
	case !yes:
		return errors.New("the answer was no")
	}
	return nil
}

// errNotHere is something that cannot be asked on this host.
var errNotHere = errors.New("there is none")

// confirmBy asks until all that is to answer does. What this host does not have is
// no failure where it is optional, if it has any of them.
func (x *fixer) confirmBy(ctx context.Context, asked []string, optional bool) error {
	for {
		var failed []string
		answered := 0
		for _, what := range asked {
			var err error
			switch what {
			case confirmGateway:
				err = x.gatewayAnswers(ctx)
			case confirmSouthbound:
				err = x.southboundAnswers(ctx)
			}
			switch {
			case errors.Is(err, errNotHere) && optional:
			case err != nil:
				failed = append(failed, what+": "+err.Error())
			default:
				answered++
			}
		}
		if len(failed) == 0 && answered == 0 && optional {
			return errors.New("this host has neither a gateway nor a Southbound that could confirm it")
		}
		if len(failed) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.New(strings.Join(failed, "; "))
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// southboundAnswers asks the Southbound. One that was out of reach when the
// deployment was opened may be what the repair brings back: it is opened anew.
func (x *fixer) southboundAnswers(ctx context.Context) error {
	c := x.c
	if slices.ContainsFunc(c.Problems, southboundLost) {
		fresh, err := x.open(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = fresh.Close() }()
		if i := slices.IndexFunc(fresh.Problems, southboundLost); i >= 0 {
			return fresh.Problems[i]
		}
		c = fresh
	}
	err := errNotHere
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

// gatewayAnswers sends an echo request to the default gateways, which makes the
// kernel look for their addresses, too: either answer of one of them will do.
func (x *fixer) gatewayAnswers(ctx context.Context) error {
	local := x.look(ctx).Local()
	if local == nil {
		return errNotHere
	}
	network, err := local.Node().Network(ctx)
	if err != nil {
		return err
	}
	var gateways []node.Route
	for _, r := range network.Routes {
		if r.Dst.Bits() == 0 && r.Via.IsValid() && r.Table == 254 && r.Type == "unicast" {
			gateways = append(gateways, r)
		}
	}
	slices.SortStableFunc(gateways, func(a, b node.Route) int { // IPv4 where there is one
		return a.Dst.Addr().BitLen() - b.Dst.Addr().BitLen()
	})
	if len(gateways) == 0 {
		return errNotHere
	}
	answers := make(chan bool, len(gateways))
	for _, g := range gateways {
		forget(local.Node(), network, g)
		go func() { answers <- pings(g.Via.WithZone(zone(g)), time.Second) }()
	}
	for range gateways {
		if <-answers {
			return nil
		}
	}
	if network, err = local.Node().Network(ctx); err != nil {
		return err
	}
	for _, g := range gateways {
		if slices.ContainsFunc(network.Neighbours, func(n node.Neighbour) bool {
			return n.Addr == g.Via.WithZone("") && n.Link == g.Dev && n.State == "reachable"
		}) {
			return nil
		}
	}
	return fmt.Errorf("%s does not answer", gateways[0].Via)
}

// forget has the kernel ask again for a gateway's address: what it learned a moment
// ago proves nothing of now.
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

// pings says whether an address answers an ICMP echo request.
func pings(to netip.Addr, within time.Duration) bool {
	network, any, request, reply := "ip4:icmp", "0.0.0.0", byte(8), byte(0)
	if to.Is6() {
		network, any, request, reply = "ip6:ipv6-icmp", "::", 128, 129
	}
	conn, err := net.ListenPacket(network, any)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	id := uint16(os.Getpid())
	packet := []byte{request, 0, 0, 0, 0, 0, 0, 1}
	binary.BigEndian.PutUint16(packet[4:], id)
	binary.BigEndian.PutUint16(packet[2:], checksum(packet)) // the kernel makes its own of ICMPv6
	if _, err := conn.WriteTo(packet, &net.IPAddr{IP: to.AsSlice(), Zone: to.Zone()}); err != nil {
		return false
	}
	_ = conn.SetReadDeadline(time.Now().Add(within))
	answer := make([]byte, 1500)
	for {
		n, _, err := conn.ReadFrom(answer)
		if err != nil {
			return false
		}
		if n >= 8 && answer[0] == reply && binary.BigEndian.Uint16(answer[4:]) == id {
			return true
		}
	}
}

func checksum(b []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
