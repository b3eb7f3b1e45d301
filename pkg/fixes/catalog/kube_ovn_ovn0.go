package catalog

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// An OVN0 is a node's interface to kube-ovn's join switch, compared with its logical
// port.
type OVN0 struct {
	Node      *KubeNode
	Interface *vswitch.InterfaceBrief // nil if Open vSwitch has none
	Name      string                  // of the link: ovn0, unless configured otherwise
	Link      *node.Link              // nil if the kernel has none

	WrongMAC bool           // Link.MAC is not Node.MAC
	Down     bool           // it exists and is down
	Missing  []netip.Prefix // addresses it lacks

	network *node.Network
	kube    *KubeOVN
}

// ReadOVN0 reads a node's interface to the join switch. It is nil on a host that is not a kube-ovn node, or has no port
// on the join switch.
func ReadOVN0(d *snapshot.Deployment, h *snapshot.Host) (*OVN0, error) {
	z := h.Zone()
	if z == nil {
		return nil, nil
	}
	if rows, err := z.Northbound(); err != nil || !isKubeOVN(rows) {
		return nil, err
	}
	k, err := ReadKubeOVN(d, z)
	if errors.Is(err, ErrNoKubeOVN) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(k.Nodes, func(n KubeNode) bool {
		return n.Name == h.Name || n.chassis != nil && n.chassis.Name == h.SystemID
	})
	if i < 0 || k.Nodes[i].Port == nil || k.Nodes[i].MAC == "" {
		return nil, nil
	}
	o := &OVN0{Node: &k.Nodes[i], Name: "ovn0", kube: k}
	s, err := h.Switch()
	if err != nil {
		return nil, err
	}
	for i := range s.Interfaces {
		if s.Interfaces[i].ExternalIDs["iface-id"] == "node-"+o.Node.Name {
			o.Interface, o.Name = &s.Interfaces[i], s.Interfaces[i].Name
		}
	}
	if o.network, err = h.Network(); err != nil {
		return nil, err
	}
	if o.Link = o.network.Link(o.Name); o.Link == nil {
		return o, nil
	}
	o.WrongMAC = !strings.EqualFold(o.Link.MAC, o.Node.MAC)
	o.Down = !o.Link.Up
	for _, f := range families {
		ip := o.Node.IPs[f]
		if ip.IsValid() && k.joinNet[f].IsValid() && !slices.ContainsFunc(o.network.Addresses, func(a node.Address) bool { return a.Prefix.Addr() == ip && a.Link == o.Name }) {
			o.Missing = append(o.Missing, netip.PrefixFrom(ip, k.joinNet[f].Bits()))
		}
	}
	return o, nil
}

// KubeOVNOVN0 gives ovn0 what its logical port has.
var KubeOVNOVN0 = &fixes.Repair{
	Name: "kube-ovn-ovn0",
	Doc: `Give a node's ovn0 the MAC address and the addresses of its logical port

Sets what differs: the MAC address, the addresses, and the link up, with the routes to
the subnets, which the kernel drops when a link is down. Only kube-ovn-cni can create a
missing link.`,
	Params: []fixes.Param{kubeNodeParam},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "kube-ovn-ovn0-wrong",
	Plan: onHost(func(h *snapshot.Host, a fixes.Args) (*fixes.Plan, error) {
		o, err := ReadOVN0(h.Deployment(), h)
		switch {
		case err != nil:
			return nil, err
		case o == nil:
			return nil, fixes.Refuse("", "%s has no port on kube-ovn's join switch", h.Name)
		case o.Link == nil:
			return nil, fixes.Refuse(RestartKubeOVNCNI(o.Node.Name), "%s is missing on %s, and only kube-ovn-cni can create it", o.Name, h.Name)
		}
		return o.plan(h)
	}),
}

// RestartKubeOVNCNI returns the command that makes kube-ovn set up a node's ovn0 again.
func RestartKubeOVNCNI(node string) string {
	return "kubectl -n kube-system delete pod -l app=kube-ovn-cni --field-selector spec.nodeName=" + fixes.Word(node)
}

func (o *OVN0) plan(h *snapshot.Host) (*fixes.Plan, error) {
	plan := &fixes.Plan{
		Title: fmt.Sprintf("set %s on %s to what port node-%s has", o.Name, h.Name, o.Node.Name), Host: h.Name,
		Touches:  "traffic between pods and " + h.Name + ", and what its pods send out",
		Warnings: []string{"kube-ovn-cni sets the link up when it starts: if you can restart it, that is better: " + RestartKubeOVNCNI(o.Node.Name)},
	}
	if i := o.Interface; i != nil && len(i.MAC) > 0 && !strings.EqualFold(i.MAC.Get(), o.Node.MAC) {
		plan.Steps = append(plan.Steps, fixes.Set{
			DB: "Open_vSwitch", What: "set the MAC address of " + o.Name + " in Open vSwitch to " + o.Node.MAC,
			Row: i, Name: o.Name, Columns: fixes.Row{"mac": []string{o.Node.MAC}},
		}.Step())
	}
	step := fixes.Network{What: "set " + o.Name}
	change := func(c fixes.LinkChange) {
		c.Link, c.Index = o.Name, o.Link.Index
		step.Changes = append(step.Changes, c)
	}
	if o.WrongMAC {
		change(fixes.LinkChange{MAC: o.Node.MAC, Was: o.Link.MAC})
	}
	if o.Down {
		change(linkUp(o.Link))
	}
	for _, p := range o.Missing {
		a := node.Address{Link: o.Name, Prefix: p, Scope: "global"}
		if p.Addr().Is6() {
			a.Flags = []string{"nodad"}
		}
		change(fixes.LinkChange{Add: &a})
	}
	if o.Down || len(o.Missing) > 0 {
		for _, r := range o.lostRoutes() {
			change(fixes.LinkChange{Route: &r})
		}
	}
	if len(step.Changes) > 0 {
		plan.Steps = append(plan.Steps, step)
	}
	if len(plan.Steps) == 0 {
		return nil, fixes.Refuse("", "%s on %s has what its logical port has", o.Name, h.Name)
	}
	return plan, nil
}

// lostRoutes returns the routes to subnets behind the join switch that the host lacks.
func (o *OVN0) lostRoutes() []node.Route {
	var out []node.Route
	for _, s := range o.kube.Subnets {
		for _, f := range families {
			cidr, gateway := s.CIDRs[f], o.kube.joinNet[f]
			if s.join || s.Underlay || !cidr.IsValid() || !gateway.IsValid() || !o.Node.IPs[f].IsValid() {
				continue
			}
			if slices.ContainsFunc(o.network.Routes, func(r node.Route) bool { return r.Dst == cidr && r.Dev == o.Name }) {
				continue
			}
			r := node.Route{Type: "unicast", Dst: cidr, Via: gateway.Addr(), Dev: o.Name, Table: 254, Protocol: "boot", Scope: "global"}
			p, _ := o.kube.nodePolicy(o.Node, f)
			if src, ok := matchAddress(p.Match); ok && facts.Holder(o.network, src) != nil {
				r.Src = src
			}
			if f == 6 {
				r.Metric = 1024
			}
			out = append(out, r)
		}
	}
	return out
}
