package catalog

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Witness is a sign that a chassis is no more.
type Witness struct{ Source, Says string }

// A Death is what is known of whether a chassis is no more.
type Death struct {
	// Behind is that it has not followed the Southbound which others have followed. It
	// is the first witness, and needed: without it the chassis may well live.
	Behind *Witness
	// Others are the further ones.
	Others []Witness
	// Alive is why it lives; empty: nothing shows that it does.
	Alive string
	// Quiet is that nothing has been asked of any chassis since, so that a dead one cannot be told from the others.
	Quiet bool
	// Heir is the chassis that has taken its place, by name or by address, if one has.
	Heir string
	// Since is when it has reported last by its own clock; zero: never.
	Since time.Time
}

// Certain says that two witnesses agree and nothing speaks against them.
func (d Death) Certain() bool { return d.Behind != nil && len(d.Others) > 0 && d.Alive == "" }

// chassisGrace is for how long a chassis may be behind the others before that is a sign.
const chassisGrace = 30 * time.Second

// ChassisDeath looks for signs that a chassis is no more.
func ChassisDeath(d *snapshot.Deployment, z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis) Death {
	var out Death
	if h := d.Host(c.Name); h != nil {
		if name, _, err := h.ChassisName(); err == nil && name == c.Name {
			if daemon, err := h.Daemon("ovn-controller"); err != nil || daemon.Liveness == snapshot.Answers {
				out.Alive = fmt.Sprintf("ovn-controller of %s goes by its name and answers", h.Name)
			}
		}
	}
	out.behind(d, south, c)
	out.heir(d, z, south, c)
	out.tunnels(d, south, c)
	if out.Behind != nil && out.Alive == "" && len(out.Others) == 0 {
		out.silent(d, south, c)
	}
	return out
}

// behind compares how far the chassis has come with the others.
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
		out.Behind = &Witness{"Southbound Chassis_Private", "has no row for it, which its ovn-controller writes first"}
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
		out.Behind = &Witness{
			fmt.Sprintf("Southbound Chassis_Private %.8s", own.UUID),
			fmt.Sprintf("nb_cfg=%d, and %s reached %d at %s", own.NBCfg, reached, asked, time.UnixMilli(int64(latest)).UTC().Format(time.RFC3339)),
		}
	}
}

// heir looks for a node that has the addresses of the chassis and goes by another name.
func (out *Death) heir(d *snapshot.Deployment, z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis) {
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
			continue // several controllers share this host
		}
		network, err := h.Network()
		if err != nil {
			continue
		}
		for _, e := range south.EncapsOf(c) {
			if ip, err := netip.ParseAddr(e.IP); err == nil && Holds(network, ip) {
				out.Others = append(out.Others, Witness{"addresses of " + h.Name, fmt.Sprintf("its tunnel address %s is on this node, which goes by the name %s", e.IP, name)})
				out.Heir = name
			}
		}
	}
	for i := range south.Chassis {
		if o := &south.Chassis[i]; o.Name != c.Name && !snapshot.Elsewhere(o) && c.Hostname != "" && o.Hostname == c.Hostname {
			out.Heir = cmp.Or(out.Heir, o.Name)
		}
	}
}

// tunnels asks the nodes that watch their tunnels to the chassis by BFD.
func (out *Death) tunnels(d *snapshot.Deployment, south *snapshot.Southbound, c *sb.Chassis) {
	var down []string
	for _, h := range d.Hosts {
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		for _, i := range sw.Interfaces {
			if id, _, _ := strings.Cut(i.ExternalIDs["ovn-chassis-id"], "@"); id != c.Name {
				continue
			}
			switch i.BFDStatus["state"] {
			case "up":
				out.Alive = fmt.Sprintf("the tunnel of %s to it is up by BFD", h.Name)
			case "down":
				down = append(down, h.Name)
			}
		}
		if network, err := h.Network(); err == nil {
			for _, e := range south.EncapsOf(c) {
				for _, n := range network.Neighbours {
					if n.State == "failed" && n.Addr.String() == e.IP {
						out.Others = append(out.Others, Witness{"neighbour table of " + h.Name, fmt.Sprintf("its tunnel address %s does not answer: FAILED", e.IP)})
					}
				}
			}
		}
	}
	if len(down) > 0 {
		out.Others = append(out.Others, Witness{"BFD on " + strings.Join(down, ", "), "the tunnel to it is down"})
	}
}

// silent asks the addresses of the chassis themselves. No answer is a sign only where that of another chassis gives one.
func (out *Death) silent(d *snapshot.Deployment, south *snapshot.Southbound, c *sb.Chassis) {
	for _, e := range south.EncapsOf(c) {
		answers, err := d.Answers(e.IP)
		if err != nil {
			return
		}
		if answers {
			if out.Heir == "" {
				out.Alive = fmt.Sprintf("its tunnel address %s answers", e.IP)
			}
			return
		}
	}
	for i := range south.Chassis {
		o := &south.Chassis[i]
		if o.Name == c.Name || snapshot.Elsewhere(o) {
			continue
		}
		for _, e := range south.EncapsOf(o) {
			if answers, err := d.Answers(e.IP); err == nil && answers {
				for _, mine := range south.EncapsOf(c) {
					out.Others = append(out.Others, Witness{"tunnel address " + mine.IP, fmt.Sprintf("gives no answer, and that of %s, %s, does", o.Hostname, e.IP)})
				}
				return
			}
		}
	}
}

// ChassisHolds lists what a chassis still holds that nobody would take over if its row went.
func ChassisHolds(z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis, heir string) []string {
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
		case b.Type != "chassisredirect" && heir == "":
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

// otherGateway says whether a gateway port may go to another chassis.
func otherGateway(south *snapshot.Southbound, b *snapshot.PortBinding, c *sb.Chassis) bool {
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
