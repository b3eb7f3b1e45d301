package topology

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// southbound adds what ovn-northd and the chassis made of the Northbound. It completes what the Northbound has and
// adds what it lacks: without a Northbound, everything.
func (b *zoneBuilder) southbound() {
	chassis := b.addChassis()
	b.datapathBindings()
	b.portBindings(chassis)
	for _, p := range b.ports {
		for _, name := range p.requested {
			p.RequestedChassis = addUnique(p.RequestedChassis, b.chassisCalled(name))
		}
	}
}

// addChassis adds the zone's Chassis rows and returns their names.
func (b *zoneBuilder) addChassis() map[ovsdb.UUID]string {
	encaps := byID(b.sb.Encaps, func(r *sb.Encap) ovsdb.UUID { return r.UUID })
	chassisName := map[ovsdb.UUID]string{}
	for i := range b.sb.Chassis {
		row := &b.sb.Chassis[i]
		chassisName[row.UUID] = row.Name
		c := &Chassis{
			UUID: string(row.UUID), Name: row.Name, Hostname: row.Hostname, Zone: b.zone,
			Remote:         config(row)["is-remote"] == "true",
			Encaps:         []Encap{},
			BridgeMappings: bridgeMappings(config(row)["ovn-bridge-mappings"]),
			TransportZones: list(row.TransportZones...),
			Ports:          []string{},
			OtherConfig:    secret.Map(config(row)),
			ExternalIDs:    secret.Map(row.ExternalIDs),
		}
		for e := range those(row.Encaps, encaps) {
			c.Encaps = append(c.Encaps, Encap{UUID: string(e.UUID), Type: e.Type, IP: e.IP, Options: secret.Map(e.Options)})
		}
		slices.SortFunc(c.Encaps, compareEncaps)
		slices.Sort(c.TransportZones)
		b.mergeChassis(c)
	}
	return chassisName
}

// mergeChassis adds c, unless its own zone already has.
func (b *zoneBuilder) mergeChassis(c *Chassis) {
	known := b.chassis[c.Name]
	switch {
	case known == nil:
		b.Chassis = append(b.Chassis, c)
		b.chassis[c.Name] = c
	case known.Remote && !c.Remote:
		*known = *c
	case !known.Remote && !c.Remote:
		b.Notes = append(b.Notes, "chassis "+c.Name+" is in zone "+known.Zone+" and in zone "+c.Zone+", remote in neither")
	}
}

// config returns other_config, which holds a chassis' capabilities since 20.09; before, external_ids did.
func config(row *sb.Chassis) map[string]string {
	if len(row.OtherConfig) == 0 {
		return row.ExternalIDs
	}
	return row.OtherConfig
}

func compareEncaps(a, b Encap) int {
	return cmp.Or(cmp.Compare(encapRank(b.Type), encapRank(a.Type)), CompareNames(a.IP, b.IP))
}

// encapRank orders encapsulations by ovn-controller's preference.
func encapRank(kind string) int {
	return slices.Index([]string{"vxlan", "stt", "geneve"}, kind)
}

// bridgeMappings parses NETWORK:BRIDGE[,…].
func bridgeMappings(text string) []BridgeMapping {
	out := []BridgeMapping{}
	for _, pair := range names(text) {
		network, bridge, ok := strings.Cut(pair, ":")
		if ok {
			out = append(out, BridgeMapping{Network: network, Bridge: bridge})
		}
	}
	slices.SortFunc(out, func(a, b BridgeMapping) int { return CompareNames(a.Network, b.Network) })
	return out
}

// chassisCalled returns the name of the chassis with that name or hostname, else text itself.
func (b *zoneBuilder) chassisCalled(text string) string {
	if b.chassis[text] != nil {
		return text
	}
	for _, row := range b.sb.Chassis {
		if row.Hostname == text {
			return row.Name
		}
	}
	return text
}

func (b *zoneBuilder) datapathBindings() {
	for i := range b.sb.Datapaths {
		row := &b.sb.Datapaths[i]
		uuid, isRouter := datapathOwner(row)
		name := row.ExternalIDs["name"]
		if isRouter {
			r := b.routerOf[uuid]
			if r == nil {
				r = &Router{
					UUID: string(uuid), Name: name, Zone: b.zone, Enabled: true,
					DisplayName: row.ExternalIDs["name2"],
					Ports:       []string{}, Routes: []*Route{},
				}
				b.Routers = append(b.Routers, r)
				b.routers[r.UUID] = r
			}
			r.Datapath, r.TunnelKey = string(row.UUID), row.TunnelKey
			b.routerOf[row.UUID] = r
			continue
		}
		s := b.switchOf[uuid]
		if s == nil {
			s = &Switch{
				UUID: string(uuid), Name: name, Zone: b.zone,
				DisplayName: row.ExternalIDs["name2"],
				Transit:     row.ExternalIDs["interconn-ts"] != "",
				Subnets:     []string{}, Ports: []string{}, ACLs: []*ACL{},
			}
			b.Switches = append(b.Switches, s)
			b.switches[s.UUID] = s
		}
		s.Datapath, s.TunnelKey = string(row.UUID), row.TunnelKey
		b.switchOf[row.UUID] = s
	}
}

// datapathOwner returns the UUID of the Northbound row that a datapath was made from, else the datapath's own.
func datapathOwner(row *sb.DatapathBinding) (uuid ovsdb.UUID, isRouter bool) {
	if id := row.ExternalIDs["logical-router"]; id != "" {
		return ovsdb.UUID(id), true
	}
	if id := row.ExternalIDs["logical-switch"]; id != "" {
		return ovsdb.UUID(id), false
	}
	isRouter = row.Type.Get() == "logical-router"
	if id := row.NBUUID.Get(); id != "" {
		return id, isRouter
	}
	return row.UUID, isRouter
}

func (b *zoneBuilder) portBindings(chassis map[ovsdb.UUID]string) {
	for i := range b.sb.Ports {
		row := &b.sb.Ports[i]
		p := b.ports[row.LogicalPort]
		if p == nil {
			p = b.portFromBinding(row)
		}
		p.Binding, p.TunnelKey, p.bound = string(row.UUID), row.TunnelKey, true
		p.sbUp = row.Up
		p.VirtualParent = row.VirtualParent.Get()
		p.Chassis = chassis[row.Chassis.Get()]
		if p.Kind == RouterPort {
			p.Type = row.Type
		}
		if len(p.MACs) == 0 && len(p.Addresses) == 0 && p.Type != "router" { // its router port has them
			p.addAddresses(row.MAC)
		}
		for _, id := range row.AdditionalChassis {
			p.AdditionalChassis = addUnique(p.AdditionalChassis, chassis[id])
		}
		slices.SortFunc(p.AdditionalChassis, CompareNames)
		if len(p.requested) == 0 {
			for _, id := range append(slices.Clone(row.RequestedChassis), row.RequestedAdditionalChassis...) {
				p.requested = append(p.requested, chassis[id])
			}
			if len(p.requested) == 0 {
				p.requested = names(row.Options["requested-chassis"])
			}
		}
		if p.Gateway == nil {
			p.Gateway = b.bindingGateway(row, chassis)
		}
	}
}

// portFromBinding returns the port of a Port_Binding without a Northbound port: a chassisredirect port, or any port
// if no Northbound was read.
func (b *zoneBuilder) portFromBinding(row *sb.PortBinding) *Port {
	kind := SwitchPort
	r := b.routerOf[row.Datapath]
	if r != nil {
		kind = RouterPort
	}
	p := b.newPort(kind, string(row.UUID), row.LogicalPort)
	b.ports[p.Name] = p
	p.Type = row.Type
	p.Options = secret.Map(row.Options)
	p.Parent = row.ParentPort.Get()
	p.Tag = row.Tag.Get()
	p.PortSecurity = list(row.PortSecurity...)
	p.peerName = row.Options["peer"]
	if r != nil {
		p.Router = &Ref{UUID: r.UUID, Name: r.Name}
		p.ExternalIDs = secret.Map(row.ExternalIDs)
		if chassis := row.Options["l3gateway-chassis"]; chassis != "" && r.Chassis == "" {
			r.Chassis = chassis
		}
		b.bindingNetworks(p, row)
		return p
	}
	p.owner(row.ExternalIDs)
	if s := b.switchOf[row.Datapath]; s != nil {
		p.Switch = &Ref{UUID: s.UUID, Name: s.Name}
	}
	if p.Type == "patch" || p.Type == "l3gateway" {
		p.Type = "router" // the Northbound's type
	}
	return p
}

// bindingNetworks parses Port_Binding.mac of a router port: its MAC, then its networks.
func (b *zoneBuilder) bindingNetworks(p *Port, row *sb.PortBinding) {
	for _, entry := range row.MAC {
		for word := range strings.FieldsSeq(entry) {
			switch {
			case isMAC(word):
				p.LinkLocal = linkLocal(word)
			case strings.Contains(word, "/"):
				p.Networks = addUnique(p.Networks, word)
			}
		}
	}
}

// bindingGateway returns the Gateway as in the Southbound.
func (b *zoneBuilder) bindingGateway(row *sb.PortBinding, chassis map[ovsdb.UUID]string) *Gateway {
	g := &Gateway{}
	for _, group := range b.sb.HAGroups {
		if !row.HAChassisGroup.Has(group.UUID) {
			continue
		}
		g.Group = group.Name
		for _, member := range b.sb.HAChassis {
			if group.HAChassis.Has(member.UUID) {
				g.Chassis = append(g.Chassis, GatewayChassis{Chassis: chassis[member.Chassis.Get()], Priority: member.Priority})
			}
		}
	}
	for _, member := range b.sb.Gateways {
		if row.GatewayChassis.Has(member.UUID) {
			g.Chassis = append(g.Chassis, GatewayChassis{Chassis: chassis[member.Chassis.Get()], Priority: member.Priority})
		}
	}
	if len(g.Chassis) == 0 {
		return nil
	}
	return g
}

// peers joins the two ends of each patch, and each chassisredirect port with the port it stands for.
func (b *zoneBuilder) peers() {
	for _, p := range b.ports {
		other := b.ports[p.peerName]
		if other == nil {
			continue
		}
		p.Peer = &Ref{UUID: other.UUID, Name: other.Name}
		if other.Peer == nil { // only one end names the other
			other.Peer = &Ref{UUID: p.UUID, Name: p.Name}
		}
	}
	for _, p := range b.ports {
		distributed := p.Options["distributed-port"]
		if p.Type != "chassisredirect" || distributed == "" {
			continue
		}
		port := b.ports[distributed]
		if port == nil {
			continue
		}
		p.Peer = &Ref{UUID: port.UUID, Name: port.Name}
		switch {
		case port.Gateway == nil:
			port.Gateway = p.Gateway
		case p.Gateway == nil || len(port.Gateway.Chassis) > 0:
			p.Gateway = port.Gateway
		}
		if port.Gateway != nil {
			port.Gateway.Active = p.Chassis
		}
	}
	for _, p := range b.ports {
		if g := p.Gateway; g != nil {
			if p.Type == "external" {
				g.Active = p.Chassis
			}
			b.complete(g)
		}
	}
}

// complete sorts a Gateway's chassis and marks those that exist.
func (b *zoneBuilder) complete(g *Gateway) {
	if g.Chassis == nil {
		g.Chassis = []GatewayChassis{}
	}
	slices.SortFunc(g.Chassis, func(x, y GatewayChassis) int {
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), CompareNames(x.Chassis, y.Chassis))
	})
	g.Expected = ""
	for i := range g.Chassis {
		_, exists := b.chassis[g.Chassis[i].Chassis]
		if b.sb != nil {
			g.Chassis[i].Exists = &exists
		}
		if exists && g.Expected == "" {
			g.Expected = g.Chassis[i].Chassis
		}
	}
}

// subnets gives a switch without configured subnets those of its router ports.
func (b *zoneBuilder) subnets() {
	for _, p := range b.ports {
		if p.Kind != RouterPort || p.Peer == nil || p.Type == "chassisredirect" {
			continue
		}
		peer := b.ports[p.Peer.Name]
		if peer == nil || peer.Switch == nil {
			continue
		}
		s := b.switches[peer.Switch.UUID]
		if s == nil || s.OtherConfig["subnet"] != "" || s.OtherConfig["ipv6_prefix"] != "" {
			continue
		}
		for _, prefix := range prefixesOf(p.Networks) {
			s.Subnets = addUnique(s.Subnets, prefix.Masked().String())
		}
	}
	for _, s := range b.Switches {
		slices.SortFunc(s.Subnets, comparePrefixes)
	}
}
