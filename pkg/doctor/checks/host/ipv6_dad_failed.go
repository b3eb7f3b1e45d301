package host

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var IPv6DADFailed = &doctor.Check{
	Name:     "ipv6-dad-failed",
	Category: "node-os",
	Doc: `An IPv6 address is a duplicate

Duplicate address detection found another host on the segment with the address. The
kernel keeps the address on the link and does not use it.`,
	Host: doctor.OnNode(func(p *doctor.Pass, n *doctor.Node) {
		for _, a := range n.Net.Addresses {
			if a.Has("dadfailed") {
				duplicateAddress(p, n, a)
			}
		}
	}),
}

func duplicateAddress(p *doctor.Pass, n *doctor.Node, a node.Address) {
	f := doctor.Finding{
		Object: doctor.Object{Kind: "address", Name: a.Prefix.String() + " dev " + a.Link, Node: n.Name},
		Also:   []doctor.Object{doctor.NodeObject(n.Name), doctor.LinkObject(n.Host, a.Link)},
		Title:  fmt.Sprintf("%s of %s is a duplicate on its segment", a.Prefix, a.Link),
		Cause:  "another host on the segment has the address or the same MAC address: a cloned machine, or two with the same configuration",
		Effect: fmt.Sprintf("the kernel does not use the address: IPv6 through %s is dead on %s", a.Link, n.Name),
		Next: fixes.Command("find the other host: ip -6 neigh show %s on a host of the segment; once it is gone: ip addr del %s dev %s; ip addr add %[2]s dev %[3]s",
			a.Prefix.Addr(), a.Prefix, a.Link),
		Evidence: []doctor.Evidence{{Source: doctor.Addresses(a.Link), Says: a.Prefix.String() + " dadfailed"}},
	}
	d := duplicates{node: n, link: a.Link, ip: a.Prefix.Addr()}
	if l := n.Net.Link(a.Link); l != nil {
		d.mac = l.MAC
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Link(a.Link), Says: "MAC address " + d.mac})
	}
	for _, h := range p.Hosts {
		d.onHost(h)
	}
	for z := range p.EachZone() {
		d.inZone(z)
	}
	if len(d.evidence) > 0 {
		f.Cause = d.evidence[0].Source.String() + " has it too"
	}
	f.Evidence = append(f.Evidence, d.evidence...)
	f.Also = append(f.Also, d.objects...)
	p.Report(f)
}

// duplicates collects other owners of a link's address or MAC address.
type duplicates struct {
	node     *doctor.Node
	link     string
	ip       netip.Addr
	mac      string // empty if unknown
	evidence []doctor.Evidence
	objects  []doctor.Object
}

func (d *duplicates) onHost(h *snapshot.Host) {
	n, err := h.Network()
	if err != nil {
		return
	}
	for _, a := range n.Addresses {
		if a.Prefix.Addr() == d.ip && (h.Name != d.node.Name || a.Link != d.link) {
			d.evidence = append(d.evidence, doctor.Evidence{Source: doctor.Link(a.Link).On(h.Name), Says: a.Prefix.String()})
			d.objects = append(d.objects, doctor.LinkObject(h, a.Link))
		}
	}
	for _, l := range n.Links {
		if d.mac != "" && l.MAC == d.mac && h.Name != d.node.Name {
			d.evidence = append(d.evidence, doctor.Evidence{Source: doctor.Link(l.Name).On(h.Name), Says: "MAC address " + d.mac})
		}
	}
}

func (d *duplicates) inZone(z *snapshot.Zone) {
	if rows, err := z.Northbound(); err == nil {
		d.inNorthbound(rows)
	}
	learned, err := z.Learned()
	if err != nil {
		return
	}
	for _, b := range learned.MACBindings {
		if b.IP == d.ip.String() && b.MAC != d.mac {
			d.evidence = append(d.evidence, doctor.SBRow("MAC_Binding", b.UUID, "%s is at %s", b.IP, b.MAC))
		}
	}
}

func (d *duplicates) inNorthbound(rows *snapshot.Northbound) {
	ip := d.ip.String()
	for _, port := range rows.SwitchPorts {
		for _, a := range port.Addresses {
			if f := strings.Fields(a); len(f) > 1 && (f[0] == d.mac || slices.Contains(f[1:], ip)) && port.Type == "" {
				d.evidence = append(d.evidence, doctor.Evidence{Source: doctor.NB("Logical_Switch_Port", port.Name), Says: a})
				d.objects = append(d.objects, doctor.PortObject(port.Name))
			}
		}
	}
	for _, port := range rows.RouterPorts {
		for _, network := range port.Networks {
			if strings.HasPrefix(network, ip+"/") {
				d.evidence = append(d.evidence, doctor.Evidence{Source: doctor.NB("Logical_Router_Port", port.Name), Says: network})
				d.objects = append(d.objects, doctor.PortObject(port.Name))
			}
		}
	}
}
