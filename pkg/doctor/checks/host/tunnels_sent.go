package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/probe"
)

// TunnelsSent is TunnelPortBlocked, decided by packets that were sent instead of by counters.
func TunnelsSent(m *probe.Mesh) *doctor.Check {
	c := *TunnelPortBlocked
	c.Sample = 0
	c.Run = func(p *doctor.Pass) { lostInTunnels(p, m) }
	return &c
}

// lostInTunnels reports what nodes do not receive, and what could not be tried.
func lostInTunnels(p *doctor.Pass, m *probe.Mesh) {
	unsure := map[string]bool{}
	small, full := map[string][]probe.MeshTunnel{}, map[string][]probe.MeshTunnel{} // by receiver
	for _, t := range m.Tunnels {
		switch {
		case t.Small.Result == probe.Unsure:
			if why := t.From + ": " + t.Small.Between; !unsure[why] {
				unsure[why] = true
				p.Unknown(doctor.NodeObject(t.From), errors.New(t.Small.Between))
			}
		case t.Small.Result.Lost():
			small[t.To] = append(small[t.To], t)
		case t.Full.Result.Lost():
			full[t.To] = append(full[t.To], t)
		}
	}
	for _, to := range m.Nodes {
		lostFrom(p, m, small[to], false)
		lostFrom(p, m, full[to], true)
	}
}

// lostFrom reports the tunnels to one node that lose packets, all or those of full size.
func lostFrom(p *doctor.Pass, m *probe.Mesh, lost []probe.MeshTunnel, full bool) {
	if len(lost) == 0 {
		return
	}
	to := lost[0].To
	f := doctor.Finding{
		Object: doctor.NodeObject(to), Reason: "lost", Lasting: true,
		Effect: "pods and VMs on these nodes do not reach each other",
		Next:   "tcpdump -nei any udp port " + udpPort(lost[0].Type) + "  # on " + to,
	}
	what := "packets"
	if full {
		f.Reason, what = "large-lost", fmt.Sprintf("packets of %d bytes", lost[0].Full.Size)
		f.Cause = "the MTU of something between the nodes is smaller than that of their links"
		f.Effect = "large packets between pods and VMs on these nodes are lost, and only these: connections open and then stall"
		f.Next = "raise the MTU of the network between the nodes, or lower that of pods and VMs"
	}
	var from []string
	for _, t := range lost {
		c := t.Small
		if full {
			c = t.Full
		}
		if !slices.Contains(from, t.From) {
			from = append(from, t.From)
			f.Also = append(f.Also, doctor.NodeObject(t.From))
		}
		f.Evidence = append(f.Evidence, doctor.Other(fmt.Sprintf("%d bytes by %s to %s", c.Size, t.Type, t.Remote)).On(t.From).Says(c.Between))
	}
	switch {
	case len(from) == len(m.Nodes)-1 && len(from) > 1:
		f.Title = fmt.Sprintf("%s receives no %s through its tunnels", to, what)
	default:
		f.Title = fmt.Sprintf("%s from %s do not come to %s through the tunnel", what, strings.Join(from, ", "), to)
	}
	const shown = 6
	if n := len(f.Evidence); n > shown {
		f.Evidence = append(f.Evidence[:shown-1], doctor.Other("tunnels").Says(fmt.Sprintf("%d more lose them", n-shown+1)))
	}
	p.Report(f)
}
