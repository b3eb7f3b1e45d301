package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
)

var IPv6DADFailed = &doctor.Check{
	Name:     "ipv6-dad-failed",
	Category: "node-os",
	Doc: `An IPv6 address is a duplicate

When the kernel gave the link the address, another machine on the segment answered for
it: the address is there and is not used.`,
	Run: func(p *doctor.Pass) {
		p.NetNodes(func(e *doctor.NetNode) {
			for _, a := range e.Net.Addresses {
				if !a.Has("dadfailed") {
					continue
				}
				ip := a.Prefix.Addr().String()
				mac := ""
				if l := e.Net.Link(a.Link); l != nil {
					mac = l.MAC
				}
				proof := []doctor.Evidence{{Source: doctor.Addresses(a.Link), Says: a.Prefix.String() + " dadfailed"}}
				also := []doctor.Object{doctor.NodeObject(e.Name)}
				twins, objects := twins(p, e, a.Link, ip, mac)
				cause := "another machine on the segment has the address, or the same MAC address: a copied machine, or two configured alike"
				if len(twins) > 0 {
					cause = twins[0].Source.String() + " has it, too"
				}
				p.Report(doctor.Finding{
					Object:   e.LinkObject(a.Link),
					Also:     append(also, objects...),
					Title:    fmt.Sprintf("%s has %s, which is a duplicate on its segment", a.Link, a.Prefix),
					Evidence: append(append(proof, doctor.Evidence{Source: doctor.Link(a.Link), Says: "its MAC address is " + mac}), twins...),
					Cause:    cause,
					Effect:   "the kernel does not use the address: IPv6 through " + a.Link + " is dead on " + e.Name,
					Next:     fmt.Sprintf("find the twin: ip -6 neigh show %s on another machine of the segment; when it is gone: ip addr del %s dev %s; ip addr add %[2]s dev %[3]s", ip, a.Prefix, a.Link),
				})
			}
		})
	},
}

// twins are who else has an address or a MAC address, as far as can be read.
func twins(p *doctor.Pass, e *doctor.NetNode, link, ip, mac string) (list []doctor.Evidence, also []doctor.Object) {
	for _, h := range p.Hosts {
		n, err := h.Network()
		if err != nil {
			continue
		}
		for _, a := range n.Addresses {
			if a.Prefix.Addr().String() == ip && (h.Name != e.Name || a.Link != link) {
				list = append(list, doctor.Evidence{Source: doctor.Link(a.Link).On(h.Name), Says: a.Prefix.String()})
				also = append(also, doctor.Object{Kind: "link", Name: a.Link, Node: h.Name})
			}
		}
		for _, l := range n.Links {
			if mac != "" && l.MAC == mac && h.Name != e.Name {
				list = append(list, doctor.Evidence{Source: doctor.Link(l.Name).On(h.Name), Says: "MAC address " + mac})
			}
		}
	}
	for _, z := range p.Zones {
		if rows, err := z.Northbound(); err == nil {
			for _, port := range rows.SwitchPorts {
				for _, a := range port.Addresses {
					f := strings.Fields(a)
					if len(f) > 1 && (f[0] == mac || slices.Contains(f[1:], ip)) && port.Type == "" {
						list = append(list, doctor.Evidence{Source: doctor.NB("Logical_Switch_Port", port.Name), Says: a})
						also = append(also, doctor.Object{Kind: "port", Name: port.Name})
					}
				}
			}
			for _, port := range rows.RouterPorts {
				for _, network := range port.Networks {
					if strings.HasPrefix(network, ip+"/") {
						list = append(list, doctor.Evidence{Source: doctor.NB("Logical_Router_Port", port.Name), Says: network})
						also = append(also, doctor.Object{Kind: "port", Name: port.Name})
					}
				}
			}
		}
		if learned, err := z.Learned(); err == nil {
			for _, b := range learned.MACBindings {
				if b.IP == ip && b.MAC != mac {
					list = append(list, doctor.Evidence{Source: doctor.SB("MAC_Binding", doctor.Short(b.UUID)), Says: fmt.Sprintf("%s is at %s", b.IP, b.MAC)})
				}
			}
		}
	}
	return list, also
}
