package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ChassisMeant returns the only chassis with this hostname, or else the only one with this hostname up to the first
// dot: a hostname was used in place of a system-id. It is nil if there is none, or more than one.
func ChassisMeant(rows *snapshot.Southbound, wrong string) *sb.Chassis {
	host, _, _ := strings.Cut(wrong, ".")
	var full, short []*sb.Chassis
	for c := range rows.OwnChassis() {
		name, _, _ := strings.Cut(c.Hostname, ".")
		switch {
		case c.Hostname == wrong:
			full = append(full, c)
		case wrong != "" && strings.EqualFold(name, host):
			short = append(short, c)
		}
	}
	switch {
	case len(full) == 1:
		return full[0]
	case len(full) == 0 && len(short) == 1:
		return short[0]
	}
	return nil
}

// Maps reports whether a chassis has a bridge for a physical network.
func Maps(c *sb.Chassis, network string) bool {
	for m := range strings.SplitSeq(c.OtherConfig["ovn-bridge-mappings"]+","+c.ExternalIDs["ovn-bridge-mappings"], ",") {
		if name, _, ok := strings.Cut(m, ":"); ok && strings.TrimSpace(name) == network {
			return true
		}
	}
	return false
}

// RouterChassisMeant returns the chassis that a gateway router belongs on, by the hostname in its options:chassis or
// in its name; nil if unknown.
func RouterChassisMeant(rows *snapshot.Southbound, r *nb.LogicalRouter) *sb.Chassis {
	if is := r.Options["chassis"]; is != "" {
		if c := ChassisMeant(rows, is); c != nil {
			return c
		}
	}
	for i, ch := range r.Name {
		if ch != '_' && ch != '-' {
			continue
		}
		if c := ChassisMeant(rows, r.Name[i+1:]); c != nil {
			return c
		}
	}
	return nil
}

// RequestedChassis returns the chassis that a port's options request, by name or hostname. During a live migration
// there are two: it is the first, which has the port before the move.
func RequestedChassis(options map[string]string) string {
	first, _, _ := strings.Cut(options["requested-chassis"], ",")
	return strings.TrimSpace(first)
}

// ChassisNamed returns the chassis of a list of names or hostnames, as options:requested-chassis has it. What names no chassis is left
// out, as ovn-northd leaves it out of requested_chassis and requested_additional_chassis.
func ChassisNamed(south *snapshot.Southbound, names string) []*sb.Chassis {
	var all []*sb.Chassis
	for name := range strings.SplitSeq(names, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		i := slices.IndexFunc(south.Chassis, func(c sb.Chassis) bool { return c.Name == name })
		if i < 0 {
			i = slices.IndexFunc(south.Chassis, func(c sb.Chassis) bool { return c.Hostname == name })
		}
		if i >= 0 {
			all = append(all, &south.Chassis[i])
		}
	}
	return all
}

// A Sign is evidence that a chassis is dead.
type Sign struct{ Source, Says string }

// Death is the evidence on whether a chassis is dead.
type Death struct {
	// Behind: it has not followed Southbound changes that others have. Without this sign the chassis may well be
	// alive.
	Behind *Sign
	// Others are further signs.
	Others []Sign
	// Alive is why it is alive; empty if nothing shows that.
	Alive string
	// Quiet: nothing was requested of any chassis since, so a dead one looks like the others.
	Quiet bool
	// Successor is the chassis that replaced it, by hostname or address; empty if none.
	Successor string
	// Since is when it last reported, by its own clock; zero if never.
	Since time.Time
}

// Certain reports whether two signs agree and nothing contradicts them.
func (d Death) Certain() bool { return d.Behind != nil && len(d.Others) > 0 && d.Alive == "" }

// chassisGrace is how long a chassis may lag behind the others before it is a sign.
const chassisGrace = 30 * time.Second

// ChassisDeath collects signs that a chassis is dead.
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

// behind compares the chassis' progress in following the Southbound with the others'.
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
	if waited := d.Now().Sub(time.UnixMilli(int64(latest))); reached != "" && latest > 0 && waited >= chassisGrace {
		out.Behind = &Sign{
			fmt.Sprintf("Southbound Chassis_Private %.8s", own.UUID),
			fmt.Sprintf("nb_cfg=%d, and %s reached %d at %s", own.NBCfg, reached, asked, time.UnixMilli(int64(latest)).UTC().Format(time.RFC3339)),
		}
	}
}

// successor looks for a node with the tunnel addresses of the chassis and another system-id.
func (out *Death) successor(d *snapshot.Deployment, z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis) {
	encaps := south.EncapsOf(c)
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
			continue // several ovn-controllers on one host
		}
		network, err := h.Network()
		if err != nil {
			continue
		}
		for ip := range encapsOn(network, encaps) {
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

// tunnels reads BFD state and neighbor tables on nodes with tunnels to the chassis. A node whose own link is down hears nobody: only one
// that hears another machine is a witness.
func (out *Death) tunnels(d *snapshot.Deployment, south *snapshot.Southbound, c *sb.Chassis) {
	var down []string
	encaps := south.EncapsOf(c)
	for _, h := range d.Hosts {
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		isDown, hears := false, false
		for _, i := range sw.Interfaces {
			id, _, _ := strings.Cut(i.ExternalIDs["ovn-chassis-id"], "@")
			switch state := i.BFDStatus["state"]; {
			case id != c.Name:
				hears = hears || id != "" && state == "up"
			case state == "up":
				out.Alive = fmt.Sprintf("BFD of %s reports the tunnel to it as up", h.Name)
			case state == "down":
				isDown = true
			}
		}
		network, err := h.Network()
		if err != nil {
			network = &node.Network{}
		}
		for _, n := range network.Neighbours {
			is := func(e sb.Encap) bool { return n.State == "failed" && n.Addr.String() == e.IP }
			if slices.ContainsFunc(encaps, is) && hearsOn(network, n.Link) {
				hears = true
				out.Others = append(out.Others, Sign{"neighbour table of " + h.Name, fmt.Sprintf("its tunnel address %s does not reply: FAILED", n.Addr)})
			}
		}
		if isDown && hears {
			down = append(down, h.Name)
		}
	}
	if len(down) > 0 {
		out.Others = append(out.Others, Sign{"BFD on " + strings.Join(down, ", "), "the tunnel to it is down"})
	}
}

// hearsOn reports whether a neighbour replied on a link within the last seconds.
func hearsOn(n *node.Network, link string) bool {
	return slices.ContainsFunc(n.Neighbours, func(o node.Neighbour) bool { return o.Link == link && o.State == "reachable" })
}

// silent probes the tunnel addresses of the chassis. No reply is a sign only if another chassis replies.
func (out *Death) silent(d *snapshot.Deployment, south *snapshot.Southbound, c *sb.Chassis) {
	mine := south.EncapsOf(c)
	asked := append(slices.Clone(mine), peers(d, south, c)...)
	replies, errs := make([]bool, len(asked)), make([]error, len(asked))
	d.SideBySide(len(asked), func(i int) { replies[i], errs[i] = d.Answers(asked[i].IP) })
	for i, e := range mine {
		if replies[i] && out.Successor == "" {
			out.Alive = fmt.Sprintf("its tunnel address %s replies", e.IP)
		}
		if replies[i] || errs[i] != nil {
			return
		}
	}
	other := slices.Index(replies, true)
	if other < 0 {
		return
	}
	name := asked[other].ChassisName
	if o := south.ChassisNamed(name); o != nil {
		name = cmp.Or(o.Hostname, name)
	}
	for _, e := range mine {
		out.Others = append(out.Others, Sign{"tunnel address " + e.IP, fmt.Sprintf("does not reply, and that of %s, %s, does", name, asked[other].IP)})
	}
}

// peers returns the tunnel addresses of some chassis that follow the Southbound, so that they should reply if c does. That of this
// host replies to it whatever its links do, and is left out.
func peers(d *snapshot.Deployment, south *snapshot.Southbound, c *sb.Chassis) []sb.Encap {
	const enough = 8
	follow := map[string]bool{}
	for i := range south.ChassisPrivate {
		if r := &south.ChassisPrivate[i]; len(south.Globals) > 0 && r.NBCfg >= south.Globals[0].NBCfg {
			follow[r.Name] = true
		}
	}
	var found []sb.Encap
	local := d.Local()
	for o := range south.OwnChassis() {
		if follow[o.Name] && o.Name != c.Name && (local == nil || o.Name != local.SystemID) && len(found) < enough {
			found = append(found, south.EncapsOf(o)...)
		}
	}
	return found
}

// ChassisHolds returns what a chassis holds that no other would take over if its row were deleted.
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

// otherGateway reports whether another chassis may take over a gateway port.
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
