package topology

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/held"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// A physicalNode is what a node's own database has: the same, whatever the zones have. It is immutable once read.
type physicalNode struct {
	name, zone string
	node       *Node // nil if the database has no row of Open_vSwitch
	bridges    *bridgesHeld
	attached   []attached
}

// bridgesHeld are a node's bridges.
type bridgesHeld = held.Value[[]*Bridge]

// An attached is an interface that carries a logical port.
type attached struct {
	port string
	*Attachment
}

// read reads a node's database. The bridges of one that stays the same are made again when somebody asks for them, if only ways are
// wanted.
func (n *physicalNode) read(ctx context.Context, db ovsdb.Reader, ways bool) error {
	node, bridges, err := readPhysical(ctx, db, n.name, n.zone)
	if err != nil {
		return err
	}
	n.node = node
	for _, br := range bridges {
		for _, bp := range br.Ports {
			n.attached = append(n.attached, attachments(node, bridges, br, bp)...)
		}
	}
	again := func() (*[]*Bridge, error) {
		_, bridges, err := readPhysical(context.WithoutCancel(ctx), db, n.name, n.zone)
		return together(bridges), err
	}
	if !ways || !held.Stays(db) {
		again = nil
	}
	n.bridges = held.New(together(bridges), again)
	return nil
}

// together makes bridges a value that stays as long as one of them does.
func together(bridges []*Bridge) *[]*Bridge {
	all := &bridges
	for _, b := range bridges {
		b.with = all
	}
	return all
}

// readPhysical reads a node and its bridges from its database; both are nil if it has no row of Open_vSwitch.
func readPhysical(ctx context.Context, db ovsdb.Reader, name, zone string) (*Node, []*Bridge, error) {
	vs, err := read[vsTables](ctx, db)
	if err != nil || len(vs.Roots) == 0 {
		return nil, nil, err
	}
	row := vs.Roots[0]
	ids := row.ExternalIDs
	n := &Node{
		UUID: string(row.UUID), Name: name, Zone: zone,
		SystemID:          ids["system-id"],
		OVSVersion:        row.OVSVersion.Get(),
		System:            strings.TrimSpace(row.SystemType.Get() + " " + row.SystemVersion.Get()),
		IntegrationBridge: integrationBridge(vs, ids),
		Encaps:            []Encap{},
		BridgeMappings:    bridgeMappings(ids["ovn-bridge-mappings"]),
		Managers:          []Connection{},
		Bridges:           []string{},
		ExternalIDs:       secret.Map(ids),
	}
	for _, ip := range names(ids["ovn-encap-ip"]) {
		for _, kind := range names(ids["ovn-encap-type"]) {
			n.Encaps = append(n.Encaps, Encap{Type: kind, IP: ip})
		}
	}
	slices.SortFunc(n.Encaps, compareEncaps)
	for _, m := range vs.Managers {
		n.Managers = append(n.Managers, Connection{Target: m.Target, Connected: m.IsConnected})
	}
	slices.SortFunc(n.Managers, compareConnections)
	b := nodeBuilder{node: n, vs: vs}
	return n, b.bridges(), nil
}

// addNode adds a node, with its bridges unless they are as many as LoadWays leaves out.
func (g *Graph) addNode(data *physicalNode) {
	if data.node == nil {
		g.Notes = append(g.Notes, "node "+data.name+": its Open_vSwitch database has no row of Open_vSwitch: ovs-vswitchd has never run there")
		return
	}
	n := *data.node // other Graphs have it too
	if c := g.chassis[n.SystemID]; c != nil {
		n.Chassis = c.Name
		c.Node = n.Name
	}
	g.Nodes = append(g.Nodes, &n)
	g.nodes[n.Name], g.bridges[n.Name] = &n, data.bridges
	if g.ways {
		return
	}
	for _, br := range g.BridgesOf(n.Name) {
		g.Bridges = append(g.Bridges, br)
		g.byUUID[br.UUID] = br
	}
}

// BridgesOf returns a node's bridges; nil if it was not read. In a Graph of [LoadWays] they are read again unless somebody has one of them.
func (g *Graph) BridgesOf(node string) []*Bridge {
	h := g.bridges[node]
	if h == nil {
		return nil
	}
	bridges, err := h.Get()
	if err != nil {
		return nil // what is held can be read again
	}
	return *bridges
}

// integrationBridge returns the bridge that ovn-controller uses, empty on a node without OVN.
func integrationBridge(vs *vsTables, ids map[string]string) string {
	name := cmp.Or(ids["ovn-bridge"], "br-int")
	for _, b := range vs.Bridges {
		if b.Name == name {
			return name
		}
	}
	return ""
}

func compareConnections(a, b Connection) int { return strings.Compare(a.Target, b.Target) }

type nodeBuilder struct {
	node *Node
	vs   *vsTables
}

func (b *nodeBuilder) bridges() []*Bridge {
	var all []*Bridge
	ports := byID(b.vs.Ports, func(r *vswitch.Port) ovsdb.UUID { return r.UUID })
	interfaces := byID(b.vs.Interfaces, func(r *vswitch.Interface) ovsdb.UUID { return r.UUID })
	controllers := byID(b.vs.Controllers, func(r *vswitch.Controller) ovsdb.UUID { return r.UUID })
	mirrors := byID(b.vs.Mirrors, func(r *vswitch.Mirror) ovsdb.UUID { return r.UUID })
	for _, row := range b.vs.Bridges {
		br := &Bridge{
			UUID: string(row.UUID), Name: row.Name, Node: b.node.Name,
			DatapathType: row.DatapathType, FailMode: row.FailMode.Get(),
			Protocols:   list(row.Protocols...),
			Controllers: []Connection{},
			Uplinks:     []string{}, Networks: []string{},
			Ports:       []*BridgePort{},
			ExternalIDs: secret.Map(row.ExternalIDs),
		}
		slices.Sort(br.Protocols)
		for c := range those(row.Controller, controllers) {
			br.Controllers = append(br.Controllers, Connection{Target: c.Target, Connected: c.IsConnected, Role: c.Role.Get()})
		}
		slices.SortFunc(br.Controllers, compareConnections)
		for _, m := range b.node.BridgeMappings {
			if m.Bridge == br.Name {
				br.Networks = append(br.Networks, m.Network)
			}
		}
		for p := range those(row.Ports, ports) {
			br.Ports = append(br.Ports, b.bridgePort(br, p, interfaces))
		}
		for m := range those(row.Mirrors, mirrors) {
			br.mirrorTo(m)
		}
		slices.SortFunc(br.Ports, func(x, y *BridgePort) int { return CompareNames(x.Name, y.Name) })
		for _, p := range br.Ports {
			if p.Role == RoleUplink {
				br.Uplinks = append(br.Uplinks, p.Name)
			}
		}
		b.node.Bridges = append(b.node.Bridges, br.Name)
		all = append(all, br)
	}
	slices.SortFunc(b.node.Bridges, CompareNames)
	return all
}

// mirrorTo notes a mirror at the port that it sends to.
func (br *Bridge) mirrorTo(m *vswitch.Mirror) {
	for _, p := range br.Ports {
		if m.OutputPort.Has(ovsdb.UUID(p.UUID)) {
			p.Mirror = cmp.Or(m.Name, string(m.UUID))
		}
	}
}

func (b *nodeBuilder) bridgePort(br *Bridge, row *vswitch.Port, interfaces map[ovsdb.UUID]*vswitch.Interface) *BridgePort {
	p := &BridgePort{
		UUID: string(row.UUID), Name: row.Name,
		Tag: row.Tag.Get(), Trunks: append([]int{}, row.Trunks...),
		VLANMode: row.VLANMode.Get(), BondMode: row.BondMode.Get(),
		Interfaces:  []*Interface{},
		LogicalPort: cmp.Or(row.ExternalIDs["ovn-localnet-port"], row.ExternalIDs["ovn-l2gateway-port"]),
		ExternalIDs: secret.Map(row.ExternalIDs),
	}
	slices.Sort(p.Trunks)
	driver := ""
	for i := range those(row.Interfaces, interfaces) {
		p.Interfaces = append(p.Interfaces, newInterface(i))
		driver = cmp.Or(driver, i.Status["driver_name"])
		p.LogicalPort = cmp.Or(p.LogicalPort, i.ExternalIDs["iface-id"])
	}
	slices.SortFunc(p.Interfaces, func(x, y *Interface) int { return CompareNames(x.Name, y.Name) })
	for _, i := range p.Interfaces {
		if len(p.Interfaces) > 1 && i.MAC != "" && i.MAC == row.BondActiveSlave.Get() {
			p.BondActive = i.Name
		}
	}
	p.Role = b.role(br, p, driver)
	return p
}

func newInterface(row *vswitch.Interface) *Interface {
	return &Interface{
		UUID: string(row.UUID), Name: row.Name, Type: row.Type,
		OFPort: row.OFPort.Get(),
		MAC:    row.MACInUse.Get(), MTU: row.MTU.Get(),
		AdminState: row.AdminState.Get(), LinkState: row.LinkState.Get(),
		Error:       row.Error.Get(),
		Options:     secret.Map(row.Options),
		ExternalIDs: secret.Map(row.ExternalIDs),
		egress:      row.Status["tunnel_egress_iface"],
		noCarrier:   row.Status["tunnel_egress_iface_carrier"] == "down",
		bfdDown:     row.BFDStatus["state"] == "down",
	}
}

// tunnelTypes are the interface types of ovs-vswitchd.conf.db(5) that
// encapsulate.
var tunnelTypes = []string{"geneve", "vxlan", "gre", "ip6gre", "erspan", "ip6erspan", "stt", "lisp", "gtpu", "bareudp", "srv6"}

// role returns the purpose of a port. An uplink is the device that the host's configuration names, else a device on a
// bridge that OVN sends through; on a node without OVN a device that is not virtual, since there veths are workloads.
func (b *nodeBuilder) role(br *Bridge, p *BridgePort, driver string) string {
	if len(p.Interfaces) == 0 {
		return RoleDevice
	}
	kind := p.Interfaces[0].Type
	switch {
	case kind == "patch":
		return RolePatch
	case slices.Contains(tunnelTypes, kind):
		return RoleTunnel
	case p.Name == br.Name:
		return RoleLocal
	case p.LogicalPort != "":
		return RoleVIF
	case kind == "internal" || kind == "tap":
		return RoleInternal
	case br.ExternalIDs["bridge-uplink"] == p.Name:
		return RoleUplink
	case br.Name == b.node.IntegrationBridge:
		return RoleDevice
	case b.node.ExternalIDs["ovn-remote"] != "" || b.node.ExternalIDs["ovn-encap-ip"] != "":
		return RoleUplink
	case driver == "" || driver == "veth" || driver == "tun":
		return RoleDevice
	}
	return RoleUplink
}

// attach links each logical port to its interfaces.
func (g *Graph) attach(nodes []*physicalNode) {
	for _, n := range nodes {
		for _, a := range n.attached {
			for _, p := range g.portsByName[a.port] {
				p.Interfaces = append(p.Interfaces, a.Attachment)
			}
		}
	}
	for _, p := range g.Ports {
		slices.SortFunc(p.Interfaces, func(a, b *Attachment) int {
			return cmp.Or(CompareNames(a.Node, b.Node), CompareNames(a.Bridge, b.Bridge), CompareNames(a.Interface, b.Interface))
		})
		if c := g.chassis[p.Chassis]; c != nil {
			c.Ports = append(c.Ports, p.Name)
		}
	}
	for _, c := range g.Chassis {
		slices.SortFunc(c.Ports, CompareNames)
		c.Ports = slices.Compact(c.Ports) // several zones may have a row for the port
	}
}

// attachments returns the interfaces of a bridge's port that carry its logical port.
func attachments(n *Node, all []*Bridge, br *Bridge, bp *BridgePort) []attached {
	if bp.LogicalPort == "" {
		return nil
	}
	var list []attached
	for _, i := range bp.Interfaces {
		if i.Type == "patch" && br.Name != n.IntegrationBridge {
			continue // other end of the same patch
		}
		a := &Attachment{
			Node: br.Node, Bridge: br.Name, Interface: i.Name, OFPort: i.OFPort,
			Installed: i.ExternalIDs["ovn-installed"] == "true",
			LinkState: i.LinkState, Error: i.Error,
		}
		if i.Type == "patch" {
			a.Peer = i.Options["peer"]
			a.PeerBridge = bridgeWith(all, a.Peer)
		}
		list = append(list, attached{bp.LogicalPort, a})
	}
	return list
}

// bridgeWith returns the name of the bridge with an interface of that name; empty if none has.
func bridgeWith(bridges []*Bridge, iface string) string {
	named := func(i *Interface) bool { return i.Name == iface }
	for _, br := range bridges {
		if slices.ContainsFunc(br.Ports, func(p *BridgePort) bool { return slices.ContainsFunc(p.Interfaces, named) }) {
			return br.Name
		}
	}
	return ""
}
