package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A chassis is a node that runs ovn-controller, or is meant to.
type Chassis struct {
	*snapshot.Host
	OVS      *snapshot.Switch
	SystemID string               // system-id; empty: it has none
	Bridge   string               // the integration bridge
	SB       *snapshot.Southbound // nil: it was not read
	Row      *sb.Chassis          // nil: the Southbound has none of that name, or was not read
}

// chassis calls f for each node that can be read and is meant to run OVN. What it
// cannot tell of a node it says.
func (p *Pass) Chassis(f func(*Chassis)) {
	any := false
	for _, h := range p.Hosts {
		sw, err := h.Switch()
		if err != nil {
			if !errors.Is(err, node.ErrUnavailable) {
				p.Unknown(NodeObject(h.Name), err)
			}
			continue
		}
		name, _, err := h.ChassisName()
		if err != nil {
			p.Unknown(NodeObject(h.Name), err)
			continue
		}
		c := &Chassis{Host: h, OVS: sw, SystemID: name, Bridge: sw.IntegrationBridge(name)}
		if z := h.Zone(); z != nil {
			if c.SB, err = z.Southbound(); err == nil {
				c.Row = c.SB.ChassisNamed(name)
			}
		}
		if c.Row == nil && !sw.RunsOVN() && !ControllerAnswers(h) {
			continue
		}
		any = true
		f(c)
	}
	if !any && len(p.Findings) == 0 {
		p.Skip("no node that runs OVN can be read from here")
	}
}

func ControllerAnswers(h *snapshot.Host) bool {
	d, err := h.Daemon("ovn-controller")
	return err == nil && d.Liveness != snapshot.Refused
}

// southbound is the Southbound of the node's zone, or why there is none.
func (c *Chassis) NeedSouthbound() (*snapshot.Southbound, error) {
	z := c.Zone()
	if z == nil {
		return nil, fmt.Errorf("the zone of node %s is not among those read: name its databases with --nb and --sb", c.Name)
	}
	return z.Southbound()
}

// switchLives says whether the rows of Interface are of now: while ovs-vswitchd does not answer
// they are what it knew last, and nothing is said of them.
func (p *Pass) SwitchLives(h *snapshot.Host) bool {
	d, err := h.Daemon("ovs-vswitchd")
	switch {
	case err != nil:
		return true // saved data: the rows are as good as the rest
	case d.Liveness == snapshot.Answers:
		return true
	}
	p.Unknown(NodeObject(h.Name), fmt.Errorf("ovs-vswitchd of %s %s: its interfaces are as it knew them last; start it first", h.Name, d.Liveness))
	return false
}

func NodeObject(name string) Object { return Object{Kind: "node", Name: name} }

// bindings are the Port_Bindings by their names.
func Bindings(s *snapshot.Southbound) map[string]*sb.PortBindingBrief {
	all := make(map[string]*sb.PortBindingBrief, len(s.PortBindings))
	for i := range s.PortBindings {
		all[s.PortBindings[i].LogicalPort] = &s.PortBindings[i]
	}
	return all
}

// chassisName says for people which chassis a row is: its hostname and its name.
func ChassisName(s *snapshot.Southbound, id ovsdb.UUID) string {
	for _, c := range s.Chassis {
		if c.UUID == id {
			return WhichChassis(&c)
		}
	}
	return fmt.Sprintf("a chassis that is gone (%.8s)", id)
}

func WhichChassis(c *sb.Chassis) string {
	if c.Hostname == "" || c.Hostname == c.Name {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Hostname, c.Name)
}

// firstLogged is when a daemon's log first has a line with a text; zero: never.
func FirstLogged(h *snapshot.Host, daemon, text string) time.Time {
	log, err := h.Log(daemon)
	if err != nil {
		return time.Time{}
	}
	for line := range strings.Lines(log) {
		if strings.Contains(line, text) {
			stamp, _, _ := strings.Cut(line, "|")
			if t, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
				return t
			}
		}
	}
	return time.Time{}
}

// globals lists the addresses of a host that others can reach.
func GlobalAddresses(n *node.Network) string {
	var out []string
	for _, a := range n.Addresses {
		if a.Scope == "global" {
			out = append(out, a.Prefix.String()+" on "+a.Link)
		}
		if len(out) == 12 {
			out = append(out, "…")
			break
		}
	}
	return strings.Join(out, ", ")
}
