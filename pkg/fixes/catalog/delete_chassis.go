package catalog

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/fixes"
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

// DeleteChassis removes the row that a node has left behind in the Southbound.
var DeleteChassis = &fixes.Repair{
	Name: "delete-chassis",
	Doc: `Delete the rows of a chassis that is no more

Deletes its Chassis, Encap and Chassis_Private rows, as ovn-sbctl chassis-del does, so that the
node can register under its new name. It refuses unless two witnesses say that the chassis is
dead: it has not followed what others have followed, and its address is another's, gives no
answer, or its tunnels are down. It refuses while the chassis holds ports or gateways
that no other one would take over, and for chassis of other zones and VTEPs.`,
	Params: []fixes.Param{{Name: "CHASSIS", Doc: "its system-id (Chassis.name), or its hostname where that is one chassis'"}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "duplicate-chassis-stale",
	Plan:   planDeleteChassis,
}

func planDeleteChassis(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
	z, south, c, err := chassisNamed(d, a["CHASSIS"])
	if err != nil {
		return nil, err
	}
	if snapshot.Elsewhere(c) {
		return nil, fixes.Refuse("", "chassis %s stands for a node of another zone or a VTEP: it never reports", c.Name)
	}
	death := ChassisDeath(d, z, south, c)
	switch {
	case death.Alive != "":
		return nil, fixes.Refuse("", "chassis %s lives: %s", c.Name, death.Alive)
	case death.Behind == nil && death.Quiet:
		return nil, fixes.Refuse("ovn-nbctl --wait=hv --timeout=30 sync, which asks all, and again half a minute later",
			"chassis %s is as far as the others, because nothing has been asked of them since: it may live", c.Name)
	case death.Behind == nil:
		return nil, fixes.Refuse("wait half a minute and try again", "chassis %s has been behind the others for too short a time to tell", c.Name)
	case len(death.Others) == 0:
		return nil, fixes.Refuse("run this on a node that has a tunnel to it", "one witness only says that chassis %s is dead: %s", c.Name, death.Behind.Says)
	}
	if held := ChassisHolds(z, south, c, death.Heir); len(held) > 0 {
		return nil, fixes.Refuse("move them to a living chassis first; ovnctl doctor --only gateway-router-without-chassis,dgp-chassis-not-bound names them",
			"chassis %s still holds %s, and nobody would take over", c.Name, strings.Join(held, ", "))
	}
	db, err := z.SB()
	if err != nil {
		return nil, err
	}
	var changes []fixes.Change
	for _, r := range south.ChassisPrivate {
		if r.Name == c.Name {
			private, err := fixes.DeleteRow(d.Context(), db, "Chassis_Private", r.UUID)
			if err != nil {
				return nil, err
			}
			changes = append(changes, private)
		}
	}
	rows, err := fixes.DeleteRows(d.Context(), db, "Chassis", c.UUID)
	if err != nil {
		return nil, err
	}
	// Its private row goes with it, and says itself which chassis it is of.
	rows[0].In = slices.DeleteFunc(rows[0].In, func(r fixes.Ref) bool { return r.Table == "Chassis_Private" })
	changes = append(changes, rows...)
	title := fmt.Sprintf("delete chassis %s of %s", c.Name, c.Hostname)
	p := &fixes.Plan{
		Title:    title,
		Touches:  "tunnels of all nodes to " + c.Hostname + ", which lead nowhere",
		Warnings: []string{"a node that still goes by this name registers again when its ovn-controller starts"},
		Steps: []fixes.Step{fixes.Rows{
			DB: "OVN_Southbound", Zone: z.Name, What: title, Changes: changes,
			Classic: []string{fixes.Command("ovn-sbctl chassis-del %s", c.Name)},
		}},
	}
	if death.Heir != "" {
		p.Warnings = append(p.Warnings, fmt.Sprintf("once %s has registered in its place, this cannot be taken back: the tunnel address is taken", death.Heir))
	}
	return p, nil
}

// chassisNamed finds a chassis by its system-id, or by a hostname that only one has.
func chassisNamed(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Southbound, *sb.Chassis, error) {
	type found struct {
		z *snapshot.Zone
		s *snapshot.Southbound
		c *sb.Chassis
	}
	var byHost []found
	var names []string
	for _, z := range d.Zones {
		south, err := z.Southbound()
		if err != nil {
			return nil, nil, nil, err
		}
		for i := range south.Chassis {
			c := &south.Chassis[i]
			if c.Name == name {
				return z, south, c, nil
			}
			if c.Hostname == name {
				byHost = append(byHost, found{z, south, c})
			}
			names = append(names, fmt.Sprintf("%s (%s)", c.Name, c.Hostname))
		}
	}
	if len(byHost) == 1 {
		return byHost[0].z, byHost[0].s, byHost[0].c, nil
	}
	if len(byHost) > 1 {
		return nil, nil, nil, fmt.Errorf("%d chassis have the hostname %s: name one of %s by its system-id", len(byHost), name, several(names))
	}
	return nil, nil, nil, fmt.Errorf("no chassis %q; there are %s", name, several(names))
}
