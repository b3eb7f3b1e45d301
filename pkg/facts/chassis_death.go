package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Sign shows that a chassis is dead.
type Sign struct{ Source, Says string }

// A Death is what is known of whether a chassis is dead.
type Death struct {
	// Behind is that it has not followed changes of the Southbound which others have
	// followed. Without this sign the chassis may well be alive.
	Behind *Sign
	// Others are the further signs.
	Others []Sign
	// Alive is why it is alive; empty: nothing shows that it is.
	Alive string
	// Quiet: nothing was asked of any chassis since, so a dead one looks like the others.
	Quiet bool
	// Successor is the chassis that has taken its place, by hostname or by address; empty: none.
	Successor string
	// Since is when it last reported, by its own clock; zero: never.
	Since time.Time
}

// Certain reports whether two signs agree and nothing contradicts them.
func (d Death) Certain() bool { return d.Behind != nil && len(d.Others) > 0 && d.Alive == "" }

// chassisGrace is how long a chassis may be behind the others before that is a sign.
const chassisGrace = 30 * time.Second

// ChassisDeath looks for signs that a chassis is dead.
func ChassisDeath(d *snapshot.Deployment, z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis) Death {
	var out Death
	if h := d.Host(c.Name); h != nil && runsAs(h, c.Name) {
		out.Alive = fmt.Sprintf("ovn-controller of %s has its system-id and replies", h.Name)
	}
	out.behind(d, south, c)
	out.successor(d, z, south, c)
	out.tunnels(d, south, c)
	if out.Behind != nil && out.Alive == "" && len(out.Others) == 0 {
		out.silent(d, south, c)
	}
	return out
}

// runsAs reports whether a host's ovn-controller may be running under a system-id.
func runsAs(h *snapshot.Host, id string) bool {
	name, _, err := h.ChassisName()
	if err != nil || name != id {
		return false
	}
	daemon, err := h.Daemon("ovn-controller")
	return err != nil || daemon.Liveness == snapshot.Answers
}

// behind compares how far the chassis has followed the Southbound with the others.
func (out *Death) behind(d *snapshot.Deployment, south *snapshot.Southbound, c *sb.Chassis) {
	if len(south.Globals) == 0 {
		return
	}
	asked := south.Globals[0].NBCfg
	var own *sb.ChassisPrivate
	reached, latest := "", 0
	for i := range south.ChassisPrivate {
		r := &south.ChassisPrivate[i]
		switch {
		case r.Name == c.Name:
			own = r
		case r.NBCfg >= asked && r.NBCfgTimestamp > latest:
			reached, latest = r.Name, r.NBCfgTimestamp
		}
	}
	if own == nil {
		out.Behind = &Sign{"Southbound Chassis_Private", "has no row for it, which its ovn-controller would write first"}
		return
	}
	if own.NBCfgTimestamp > 0 {
		out.Since = time.UnixMilli(int64(own.NBCfgTimestamp))
	}
	if own.NBCfg >= asked {
		out.Quiet = true
		return
	}
	if waited := d.Time().Sub(time.UnixMilli(int64(latest))); reached != "" && latest > 0 && waited >= chassisGrace {
		out.Behind = &Sign{
			fmt.Sprintf("Southbound Chassis_Private %.8s", own.UUID),
			fmt.Sprintf("nb_cfg=%d, and %s reached %d at %s", own.NBCfg, reached, asked, time.UnixMilli(int64(latest)).UTC().Format(time.RFC3339)),
		}
	}
}

// successor looks for a node that has the tunnel addresses of the chassis and another system-id.
func (out *Death) successor(d *snapshot.Deployment, z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis) {
	for _, h := range d.Hosts {
		if h.Zone() != z {
			continue
		}
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		name, _, err := h.ChassisName()
		if err != nil || name == c.Name || name == "" {
			continue
		}
		if v, _ := sw.Setting("ovn-encap-ip", c.Name); sw.ID("ovn-encap-ip-"+c.Name) != "" && v != "" {
			continue // several ovn-controllers share this host
		}
		network, err := h.Network()
		if err != nil {
			continue
		}
		for ip := range encapsOn(network, south, c) {
			out.Others = append(out.Others, Sign{"addresses of " + h.Name, fmt.Sprintf("its tunnel address %s is on this node, which has system-id %s", ip, name)})
			out.Successor = name
		}
	}
	for o := range south.OwnChassis() {
		if o.Name != c.Name && c.Hostname != "" && o.Hostname == c.Hostname {
			out.Successor = cmp.Or(out.Successor, o.Name)
		}
	}
}

// tunnels reads BFD and the neighbour tables of the nodes with tunnels to the chassis.
func (out *Death) tunnels(d *snapshot.Deployment, south *snapshot.Southbound, c *sb.Chassis) {
	var down []string
	for _, h := range d.Hosts {
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		for _, i := range sw.Interfaces {
			id, _, _ := strings.Cut(i.ExternalIDs["ovn-chassis-id"], "@")
			switch {
			case id != c.Name:
			case i.BFDStatus["state"] == "up":
				out.Alive = fmt.Sprintf("BFD of %s reports the tunnel to it as up", h.Name)
			case i.BFDStatus["state"] == "down":
				down = append(down, h.Name)
			}
		}
		network, err := h.Network()
		if err != nil {
			continue
		}
		for _, n := range network.Neighbours {
			is := func(e sb.Encap) bool { return n.State == "failed" && n.Addr.String() == e.IP }
			if slices.ContainsFunc(south.EncapsOf(c), is) {
				out.Others = append(out.Others, Sign{"neighbour table of " + h.Name, fmt.Sprintf("its tunnel address %s does not reply: FAILED", n.Addr)})
			}
		}
	}
	if len(down) > 0 {
		out.Others = append(out.Others, Sign{"BFD on " + strings.Join(down, ", "), "the tunnel to it is down"})
	}
}

// silent sends to the tunnel addresses of the chassis. That they do not reply is a sign only if another chassis replies.
func (out *Death) silent(d *snapshot.Deployment, south *snapshot.Southbound, c *sb.Chassis) {
	for _, e := range south.EncapsOf(c) {
		answers, err := d.Answers(e.IP)
		if err != nil {
			return
		}
		if answers {
			if out.Successor == "" {
				out.Alive = fmt.Sprintf("its tunnel address %s replies", e.IP)
			}
			return
		}
	}
	other, at := firstReply(d, south, c)
	if other == nil {
		return
	}
	for _, mine := range south.EncapsOf(c) {
		out.Others = append(out.Others, Sign{"tunnel address " + mine.IP, fmt.Sprintf("does not reply, and that of %s, %s, does", other.Hostname, at)})
	}
}

// firstReply is a chassis other than c, with its tunnel address that replies; nil: none does.
func firstReply(d *snapshot.Deployment, south *snapshot.Southbound, c *sb.Chassis) (*sb.Chassis, string) {
	for o := range south.OwnChassis() {
		if o.Name == c.Name {
			continue
		}
		for _, e := range south.EncapsOf(o) {
			if replies, err := d.Answers(e.IP); err == nil && replies {
				return o, e.IP
			}
		}
	}
	return nil, ""
}

// ChassisHolds lists what a chassis holds that no other one would take over if its row were deleted.
func ChassisHolds(z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis, successor string) []string {
	var held []string
	ports := 0
	for i := range south.PortBindings {
		b := &south.PortBindings[i]
		if !b.Chassis.Has(c.UUID) && !b.AdditionalChassis.Has(c.UUID) {
			continue
		}
		switch {
		case b.Type == "l3gateway":
			held = append(held, "gateway router port "+b.LogicalPort)
		case b.Type == "chassisredirect" && !otherGateway(south, b, c):
			held = append(held, "gateway port "+b.LogicalPort)
		case b.Type != "chassisredirect" && successor == "":
			ports++
		}
	}
	if ports > 0 {
		held = append(held, fmt.Sprintf("%d ports", ports))
	}
	if north, err := z.Northbound(); err == nil {
		for _, r := range north.Routers {
			if r.Options["chassis"] == c.Name && !slices.ContainsFunc(held, func(s string) bool { return strings.HasPrefix(s, "gateway router ") }) {
				held = append(held, "gateway router "+r.Name)
			}
		}
	}
	if len(held) > 6 {
		held = append(held[:6], fmt.Sprintf("%d more", len(held)-6))
	}
	return held
}

// otherGateway reports whether a gateway port may move to another chassis.
func otherGateway(south *snapshot.Southbound, b *sb.PortBindingBrief, c *sb.Chassis) bool {
	for _, g := range south.GatewayChassis {
		if b.GatewayChassis.Has(g.UUID) && len(g.Chassis) > 0 && g.Chassis.Get() != c.UUID {
			return true
		}
	}
	for _, g := range south.HAGroups {
		if !b.HAChassisGroup.Has(g.UUID) {
			continue
		}
		for _, m := range south.HAChassis {
			if g.HAChassis.Has(m.UUID) && len(m.Chassis) > 0 && m.Chassis.Get() != c.UUID {
				return true
			}
		}
	}
	return false
}
