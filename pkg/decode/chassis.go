package decode

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// Vswitch holds the rows of a node's own database, as loaded by ovsdb.Load.
type Vswitch struct {
	OpenvSwitch []vswitch.OpenvSwitch
	Bridges     []vswitch.BridgeBrief
	Ports       []vswitch.PortBrief
	Interfaces  []vswitch.InterfaceBrief
}

// An OFPort is an OpenFlow port of a bridge and its role in OVN.
type OFPort struct {
	Bridge    string
	Number    int
	Interface string
	Type      string // Interface.type: geneve, vxlan, patch, internal; empty for a device

	LogicalPort string     // iface-id, or the localnet or l2gateway port of a patch port
	Peer        string     // the interface at the other end of a patch port
	PeerBridge  string     // and its bridge
	Tunnel      *TunnelEnd // if the port is a tunnel that ovn-controller made
}

// String describes the port: "port default_web", "tunnel to node2 (172.30.0.12)", "patch to br-ex (localnet)".
func (p OFPort) String() string {
	switch {
	case p.Tunnel != nil:
		return fmt.Sprintf("tunnel to %s (%s)", cmp.Or(p.Tunnel.Node, p.Tunnel.Chassis), p.Tunnel.Remote)
	case p.Peer != "" && p.LogicalPort != "":
		return fmt.Sprintf("port %s, patch to %s", p.LogicalPort, p.PeerBridge)
	case p.Peer != "":
		return "patch to " + p.PeerBridge
	case p.LogicalPort != "":
		return "port " + p.LogicalPort
	}
	return p.Interface
}

// A Zone is a conntrack zone of one chassis.
type Zone struct {
	Number   int
	Name     string    // as in ct-zone-NAME
	Port     string    // the logical port that owns it; empty for NAT
	NAT      string    // a datapath's "dnat" or "snat"
	Datapath *Datapath // with NAT; nil if not in the Southbound
}

// String formats the zone, for example "zone of default_web" or "snat zone of GR_node1".
func (z Zone) String() string {
	switch {
	case z.Datapath != nil:
		return z.NAT + " zone of " + z.Datapath.Name
	case z.NAT != "":
		return z.NAT + " zone of " + strings.TrimSuffix(z.Name, "_"+z.NAT)
	}
	return "zone of " + z.Port
}

// Names maps the numbers of one chassis to names. It is immutable. Either part may be missing.
type Names struct {
	*Logical
	// Bridge is the name of the integration bridge.
	Bridge string
	// Chassis is the system-id of the node.
	Chassis string

	ofports    map[string]map[int]OFPort // by bridge
	interfaces map[string]OFPort         // by interface
	zones      map[int][]Zone
	encaps     []string // of this node, in the order of the encap IDs
	option     int      // index of the tun_metadata field that holds OVN's option
	haveOption bool
	plain      bool            // no Southbound: numbers are explained, not named
	Version    release.Version // of ovn-controller; zero if unknown
}

// NewNames joins the Southbound's names with those from a node's own database and the tunnel option map of its
// integration bridge. Any of them may be empty or nil.
func NewNames(l *Logical, node Vswitch, tlvs []openflow.TLV, controller release.Version) *Names {
	n := &Names{
		Logical: l, Bridge: "br-int", Version: controller,
		ofports: map[string]map[int]OFPort{}, interfaces: map[string]OFPort{}, zones: map[int][]Zone{},
	}
	if l == nil {
		n.Logical, n.plain = &Logical{}, true
	}
	n.option, n.haveOption = OVNOption(tlvs)
	for _, row := range node.OpenvSwitch {
		n.Chassis = row.ExternalIDs["system-id"]
		if bridge := n.setting(row.ExternalIDs, "ovn-bridge"); bridge != "" {
			n.Bridge = bridge
		}
		n.encaps = encapIPs(n.setting(row.ExternalIDs, "ovn-encap-ip"))
	}
	n.joinPorts(node)
	for _, bridge := range node.Bridges {
		if bridge.Name == n.Bridge {
			n.joinZones(bridge.ExternalIDs)
		}
	}
	return n
}

// setting reads an external_id of Open_vSwitch, which may be set for one chassis only (ovn-controller(8)).
func (n *Names) setting(ids map[string]string, key string) string {
	if v, ok := ids[key+"-"+n.Chassis]; ok && n.Chassis != "" {
		return v
	}
	return ids[key]
}

// encapIPs returns the addresses in the order of their encap IDs.
func encapIPs(list string) []string {
	var ips []string
	for _, ip := range strings.Split(list, ",") {
		if ip = strings.TrimSpace(ip); ip != "" {
			ips = append(ips, ip)
		}
	}
	slices.Sort(ips)
	return slices.Compact(ips)
}

func (n *Names) joinPorts(node Vswitch) {
	interfaces := map[ovsdb.UUID]*vswitch.InterfaceBrief{}
	for i := range node.Interfaces {
		interfaces[node.Interfaces[i].UUID] = &node.Interfaces[i]
	}
	bridges := map[ovsdb.UUID]string{} // by port UUID
	for _, bridge := range node.Bridges {
		for _, port := range bridge.Ports {
			bridges[port] = bridge.Name
		}
	}
	for i := range node.Ports {
		port := &node.Ports[i]
		for _, uuid := range port.Interfaces {
			if iface := interfaces[uuid]; iface != nil && bridges[port.UUID] != "" {
				n.interfaces[iface.Name] = n.newOFPort(bridges[port.UUID], port, iface)
			}
		}
	}
	for name, p := range n.interfaces {
		if p.Peer != "" {
			p.PeerBridge = n.interfaces[p.Peer].Bridge
			n.interfaces[name] = p
		}
		if n.ofports[p.Bridge] == nil {
			n.ofports[p.Bridge] = map[int]OFPort{}
		}
		if p.Number > 0 {
			n.ofports[p.Bridge][p.Number] = p
		}
	}
}

func (n *Names) newOFPort(bridge string, port *vswitch.PortBrief, iface *vswitch.InterfaceBrief) OFPort {
	p := OFPort{
		Bridge: bridge, Number: iface.OFPort.Get(), Interface: iface.Name, Type: iface.Type,
		LogicalPort: iface.ExternalIDs["iface-id"],
	}
	if iface.Type == "patch" {
		p.Peer = iface.Options["peer"]
	}
	for _, key := range []string{"ovn-localnet-port", "ovn-l2gateway-port"} {
		if lport := port.ExternalIDs[key]; lport != "" {
			p.LogicalPort = lport
		}
	}
	if end, ok := parseTunnelID(port.ExternalIDs["ovn-chassis-id"]); ok {
		end.Node = n.hostnames[end.Chassis]
		p.Tunnel = &end
	}
	return p
}

func (n *Names) joinZones(ids map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(ids)) {
		name, ok := strings.CutPrefix(key, "ct-zone-")
		if !ok {
			continue
		}
		if number, err := strconv.ParseUint(ids[key], 10, 16); err == nil {
			n.zones[int(number)] = append(n.zones[int(number)], n.zone(int(number), name))
		}
	}
}

// zone parses a zone's name: a logical port, or a datapath with the suffix _dnat or _snat, by UUID up to 23.06 and by
// name from 23.09 on.
func (n *Names) zone(number int, name string) Zone {
	z := Zone{Number: number, Name: name}
	if n.byName[name] != nil {
		z.Port = name
		return z
	}
	for _, nat := range []string{"dnat", "snat"} {
		if datapath, ok := strings.CutSuffix(name, "_"+nat); ok {
			z.NAT, z.Datapath = nat, n.datapathNamed(datapath)
			return z
		}
	}
	z.Port = name
	return z
}

func (l *Logical) datapathNamed(name string) *Datapath {
	if d := l.datapaths[ovsdb.UUID(strings.ToLower(name))]; d != nil {
		return d
	}
	return l.byDatapathName[name]
}

// OFPort finds an OpenFlow port by its number; an empty bridge is the
// integration bridge.
func (n *Names) OFPort(bridge string, number int) (OFPort, bool) {
	if bridge == "" {
		bridge = n.Bridge
	}
	p, ok := n.ofports[bridge][number]
	return p, ok
}

// interfaceCalled finds an OpenFlow port by its interface name.
func (n *Names) interfaceCalled(name string) (OFPort, bool) {
	p, ok := n.interfaces[name]
	return p, ok
}

// OFPorts returns the ports of a bridge by number; an empty bridge is the
// integration bridge.
func (n *Names) OFPorts(bridge string) []OFPort {
	if bridge == "" {
		bridge = n.Bridge
	}
	var ports []OFPort
	for _, number := range slices.Sorted(maps.Keys(n.ofports[bridge])) {
		ports = append(ports, n.ofports[bridge][number])
	}
	return ports
}

// TunnelFrom returns the first tunnel port of the integration bridge that receives packets from remote. local is their
// destination address; it may be invalid if the chassis has only one.
func (n *Names) TunnelFrom(remote, local netip.Addr) (OFPort, bool) {
	var first OFPort
	for number, p := range n.ofports[n.Bridge] {
		if p.Tunnel != nil && p.Tunnel.Remote == remote &&
			(!local.IsValid() || !p.Tunnel.Local.IsValid() || p.Tunnel.Local == local) && (first.Number == 0 || number < first.Number) {
			first = p
		}
	}
	return first, first.Number > 0
}

// Zones returns the zones with that number, usually one.
func (n *Names) Zones(number int) []Zone { return n.zones[number] }

// OptionField returns the index of the tun_metadata field that holds OVN's Geneve option on this chassis; false if
// the map was not read.
func (n *Names) OptionField() (int, bool) { return n.option, n.haveOption }
