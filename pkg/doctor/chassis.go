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
type chassis struct {
	*snapshot.Host
	sw     *snapshot.Switch
	name   string // system-id; empty: it has none
	bridge string // the integration bridge
	zone   *snapshot.Zone
	sb     *snapshot.Southbound // nil: it was not read
	row    *sb.Chassis          // nil: the Southbound has none of that name, or was not read
}

// chassis calls f for each node that can be read and is meant to run OVN. What it
// cannot tell of a node it says.
func (p *Pass) chassis(f func(*chassis)) {
	any := false
	for _, h := range p.Hosts {
		sw, err := h.Switch()
		if err != nil {
			if !errors.Is(err, node.ErrUnavailable) {
				p.Unknown(nodeObject(h.Name), err)
			}
			continue
		}
		name, _, err := h.ChassisName()
		if err != nil {
			p.Unknown(nodeObject(h.Name), err)
			continue
		}
		c := &chassis{Host: h, sw: sw, name: name, bridge: sw.IntegrationBridge(name), zone: h.Zone()}
		if c.zone != nil {
			if c.sb, err = c.zone.Southbound(); err == nil {
				c.row = c.sb.ChassisNamed(name)
			}
		}
		if c.row == nil && !sw.RunsOVN() && !ovnAnswers(h) {
			continue
		}
		any = true
		f(c)
	}
	if !any && len(p.findings) == 0 {
		p.Skip("no node that runs OVN can be read from here")
	}
}

func ovnAnswers(h *snapshot.Host) bool {
	d, err := h.Daemon("ovn-controller")
	return err == nil && d.Liveness != snapshot.Refused
}

// southbound is the Southbound of the node's zone, or why there is none.
func (c *chassis) southbound() (*snapshot.Southbound, error) {
	if c.zone == nil {
		return nil, fmt.Errorf("the zone of node %s is not among those read: name its databases with --nb and --sb", c.Name)
	}
	return c.zone.Southbound()
}

// switchLives says whether the rows of Interface are of now: while ovs-vswitchd does not answer
// they are what it knew last, and nothing is said of them.
func (p *Pass) switchLives(h *snapshot.Host) bool {
	d, err := h.Daemon("ovs-vswitchd")
	switch {
	case err != nil:
		return true // saved data: the rows are as good as the rest
	case d.Liveness == snapshot.Answers:
		return true
	}
	p.Unknown(nodeObject(h.Name), fmt.Errorf("ovs-vswitchd of %s %s: its interfaces are as it knew them last; start it first", h.Name, d.Liveness))
	return false
}

func nodeObject(name string) Object { return Object{Kind: "node", Name: name} }

// persistent reports what a look finds that is found again some seconds later: what
// is only passing, such as a port that is being plugged, is no finding. There
// is no second look where the first finds nothing, or nothing but what lasts.
func (p *Pass) persistent(look func(*Pass)) {
	first := &Pass{Deployment: p.Deployment, check: p.check}
	look(first)
	fault := false
	for _, f := range first.findings {
		fault = fault || f.Result.Fault() && !f.lasting
	}
	p.without, p.plain = p.without || first.without, p.plain || first.plain
	if !fault {
		p.findings = append(p.findings, first.findings...)
		return
	}
	d, err := p.Again()
	if err != nil {
		p.Unknown(Object{}, err)
		return
	}
	before := map[string]bool{}
	for _, f := range first.findings {
		before[f.Object.String()+f.Title] = true
	}
	second := &Pass{Deployment: d, check: p.check}
	look(second)
	for _, f := range second.findings {
		if !f.Result.Fault() || before[f.Object.String()+f.Title] {
			p.findings = append(p.findings, f)
		}
	}
}

// bindings are the Port_Bindings by their names.
func bindings(s *snapshot.Southbound) map[string]*sb.PortBindingBrief {
	all := make(map[string]*sb.PortBindingBrief, len(s.PortBindings))
	for i := range s.PortBindings {
		all[s.PortBindings[i].LogicalPort] = &s.PortBindings[i]
	}
	return all
}

// chassisName says for people which chassis a row is: its hostname and its name.
func chassisName(s *snapshot.Southbound, id ovsdb.UUID) string {
	for _, c := range s.Chassis {
		if c.UUID == id {
			return whichChassis(&c)
		}
	}
	return fmt.Sprintf("a chassis that is gone (%.8s)", id)
}

func whichChassis(c *sb.Chassis) string {
	if c.Hostname == "" || c.Hostname == c.Name {
		return c.Name
	}
	return fmt.Sprintf("%s (%s)", c.Hostname, c.Name)
}

// ids shows some keys of a map as ovs-vsctl does, those that it has.
func ids(m map[string]string, keys ...string) string {
	var out []string
	for _, k := range keys {
		if v, ok := m[k]; ok {
			out = append(out, k+"="+v)
		}
	}
	return strings.Join(out, " ")
}

// firstLogged is when a daemon's log first has a line with a text; zero: never.
func firstLogged(h *snapshot.Host, daemon, text string) time.Time {
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
func globals(n *node.Network) string {
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
