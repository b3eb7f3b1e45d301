package topology

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// What OVN puts in the key and options of a tunnel, ovn-architecture(7), "Tunnel Encapsulations".
var carries = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"geneve": "VNI: datapath key; option 0x0102/0x80: ingress port key, egress port key",
		"vxlan":  "VNI: datapath key (12 bits), egress port key (12 bits)",
		"stt":    "key: datapath key, egress port key, ingress port key",
	}
}}

// addTunnels joins the chassis' encaps with the tunnel ports that the nodes made of them.
func (g *Graph) addTunnels() {
	ends := g.tunnelPorts()
	for i, a := range g.Chassis {
		for _, b := range g.Chassis[i+1:] {
			if t := g.between(a, b, ends); t != nil {
				g.Tunnels = append(g.Tunnels, t)
			}
		}
	}
	for _, e := range ends {
		if !e.used {
			g.Tunnels = append(g.Tunnels, g.loose(e))
		}
	}
}

// A tunnelPort is a tunnel interface of a node that was read.
type tunnelPort struct {
	TunnelEnd
	iface *Interface
	to    string // chassis in ovn-chassis-id
	used  bool
}

func (g *Graph) tunnelPorts() []*tunnelPort {
	var out []*tunnelPort
	for _, br := range g.Bridges {
		node := g.nodes[br.Node]
		for _, p := range br.Ports {
			if p.Role != RoleTunnel {
				continue
			}
			for _, i := range p.Interfaces {
				id := cmp.Or(p.ExternalIDs["ovn-chassis-id"], i.ExternalIDs["ovn-chassis-id"])
				to, _, _ := strings.Cut(id, "@")
				out = append(out, &tunnelPort{
					TunnelEnd: TunnelEnd{
						Chassis: node.Chassis, Node: br.Node, Bridge: br.Name,
						Port: p.Name, OFPort: i.OFPort, Type: i.Type,
						LocalIP: i.Options["local_ip"], RemoteIP: i.Options["remote_ip"],
						Key: i.Options["key"], ChassisID: id,
						Egress:    i.egress,
						LinkState: i.LinkState, Error: i.Error,
					},
					iface: i, to: to,
				})
			}
		}
	}
	return out
}

// between returns the tunnel that two chassis should have, nil if none: both in another zone, or in different
// transport zones.
func (g *Graph) between(a, b *Chassis, ports []*tunnelPort) *Tunnel {
	if a.Remote && b.Remote || !shareZone(a, b) || len(a.Encaps) == 0 || len(b.Encaps) == 0 {
		return nil
	}
	t := &Tunnel{Name: chassisLabel(a) + " " + chassisLabel(b), Chassis: []string{a.Name, b.Name}, Types: []string{}, Ends: []TunnelEnd{}}
	t.UUID = b.Encaps[0].UUID
	var whys []string
	read := 0
	for _, dir := range [][2]*Chassis{{a, b}, {b, a}} {
		ends, iface, known, why := g.directed(dir[0], dir[1], ports)
		t.Ends = append(t.Ends, ends...)
		if known {
			read++
		}
		if iface != "" && (read == 1 || t.UUID == b.Encaps[0].UUID) {
			t.UUID = iface
		}
		if why != "" {
			whys = append(whys, why)
		}
	}
	for _, e := range t.Ends {
		t.Types = addUnique(t.Types, e.Type)
	}
	slices.Sort(t.Types)
	t.Why = strings.Join(whys, "; ")
	switch {
	case len(whys) > 0:
		t.State = StateDown
	case read > 0:
		t.State = StateUp
	default:
		t.State = StateUnknown
		t.Why = "neither node could be read"
	}
	return t
}

func shareZone(a, b *Chassis) bool {
	if len(a.TransportZones) == 0 && len(b.TransportZones) == 0 {
		return true
	}
	for _, z := range a.TransportZones {
		if slices.Contains(b.TransportZones, z) {
			return true
		}
	}
	return false
}

// directed returns how a sends to b: its ports for it, or what to expect if its node was not read (known is false).
// why is what is wrong.
func (g *Graph) directed(a, b *Chassis, ports []*tunnelPort) (ends []TunnelEnd, iface string, known bool, why string) {
	expected, ok := commonEncap(a, b)
	if !ok {
		return []TunnelEnd{{Chassis: a.Name, Node: a.Node, Type: expected.Type, RemoteIP: expected.IP, Error: "no encapsulation in common"}},
			"", true, chassisLabel(a) + " does not speak " + expected.Type + " to " + chassisLabel(b)
	}
	if a.Node == "" {
		return []TunnelEnd{{
			Chassis: a.Name, Type: expected.Type, RemoteIP: expected.IP, Key: "flow", Carries: carries.Get()[expected.Type],
		}}, "", false, ""
	}
	for _, p := range ports {
		flowBased := p.to == "" && p.RemoteIP == "flow" && p.Bridge == g.nodes[a.Node].IntegrationBridge && p.Type == expected.Type
		if p.Node != a.Node || p.to != b.Name && !flowBased {
			continue
		}
		p.used = true
		end := p.TunnelEnd
		end.Carries = carries.Get()[p.Type]
		ends = append(ends, end)
		iface = cmp.Or(iface, p.iface.UUID)
		why = cmp.Or(why, p.fault(b))
	}
	if len(ends) == 0 {
		why = chassisLabel(a) + " has no tunnel port to " + chassisLabel(b)
		ends = []TunnelEnd{{Chassis: a.Name, Node: a.Node, Type: expected.Type, RemoteIP: expected.IP, Error: "no such port"}}
	}
	return ends, iface, true, why
}

// commonEncap returns how a sends to b: the first encap in b's preference that a has too; if none, b's preferred one
// and false.
func commonEncap(a, b *Chassis) (Encap, bool) {
	for _, e := range b.Encaps {
		if slices.ContainsFunc(a.Encaps, func(own Encap) bool { return own.Type == e.Type }) {
			return e, true
		}
	}
	return b.Encaps[0], false
}

// fault returns what is wrong with a tunnel port to b.
func (p *tunnelPort) fault(b *Chassis) string {
	at := p.Port + " on " + p.Node
	switch {
	case p.Error != "":
		return at + ": " + p.Error
	case p.OFPort < 0:
		return at + " could not be opened"
	case p.LinkState == "down":
		return at + ": link down"
	case p.iface.noCarrier:
		return at + ": no carrier on " + p.Egress
	case p.iface.bfdDown:
		return at + ": BFD says down"
	}
	if p.RemoteIP == "flow" {
		return ""
	}
	for _, e := range b.Encaps {
		if e.IP == p.RemoteIP && e.Type == p.Type {
			return ""
		}
	}
	return at + " goes to " + p.Type + " " + p.RemoteIP + ", where " + chassisLabel(b) + " is not"
}

// loose returns a tunnel port that joins no two chassis: made by hand or by another controller, or left over from a
// removed chassis.
func (g *Graph) loose(p *tunnelPort) *Tunnel {
	t := &Tunnel{
		UUID: p.iface.UUID, Name: p.Node + " " + p.Port, Chassis: []string{},
		Types: []string{p.Type}, State: StateUp, Ends: []TunnelEnd{p.TunnelEnd},
	}
	switch {
	case p.Error != "":
		t.State, t.Why = StateDown, p.Error
	case p.OFPort < 0:
		t.State, t.Why = StateDown, "could not be opened"
	case p.LinkState == "down":
		t.State, t.Why = StateDown, "link down"
	case p.to != "" && len(g.Chassis) > 0:
		t.Why = "no chassis " + p.to + " in the Southbound that was read"
	}
	return t
}

// chassisLabel returns the display name of a chassis: its hostname.
func chassisLabel(c *Chassis) string { return cmp.Or(c.Hostname, c.Name) }
