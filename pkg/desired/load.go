package desired

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Inputs holds the rows that compilation depends on beside the logical flows, as loaded by ovsdb.Load.
type Inputs struct {
	Datapaths   []sb.DatapathBinding
	Ports       []sb.PortBindingResidence
	Groups      []sb.MulticastGroup
	Chassis     []sb.ChassisName
	AddressSets []sb.AddressSet
	PortGroups  []sb.PortGroup
	Options4    []sb.DHCPOptions
	Options6    []sb.DHCPv6Options
	Variables   []sb.ChassisTemplateVar
}

// A Node is what compilation depends on of the node itself.
type Node struct {
	SystemID   string
	Version    release.Version // of ovn-controller
	Tables     Tables
	Datapaths  map[uint64]bool // keys of the datapaths that the node has
	Interfaces map[string]bool // logical ports of the interfaces on the integration bridge
	ZeroSNAT   bool            // Datapath.capabilities:ct_zero_snat
	Collectors map[uint64]bool // numbers of Flow_Sample_Collector_Set
	Groups     []openflow.GroupEntry
	Meters     map[string]uint32 // meter-table-list of ovn-controller
}

// New is a chassis as its ovn-controller knows it.
func New(rows *Inputs, n *Node) *Chassis {
	c := &Chassis{
		Version: n.Version, Tables: n.Tables, ZeroSNAT: n.ZeroSNAT, Collectors: n.Collectors,
		Variables: map[string]string{}, Options4: map[string]Option{}, Options6: map[string]Option{},
	}
	for _, r := range rows.Options4 {
		c.Options4[r.Name] = Option{r.Code, r.Type}
	}
	for _, r := range rows.Options6 {
		c.Options6[r.Name] = Option{r.Code, r.Type}
	}
	for _, r := range rows.Variables {
		if r.Chassis == n.SystemID {
			c.Variables = r.Variables
		}
	}
	var own ovsdb.UUID
	for _, r := range rows.Chassis {
		if r.Name == n.SystemID {
			own = r.UUID
		}
	}
	resident, related := map[string]bool{}, map[string]bool{}
	byDatapath := map[ovsdb.UUID]*Datapath{}
	for _, r := range rows.Datapaths {
		if !n.Datapaths[uint64(r.TunnelKey)] {
			continue
		}
		d := &Datapath{
			UUID: r.UUID, Key: uint64(r.TunnelKey), Switch: r.ExternalIDs["logical-switch"] != "" || r.Type.Get() == "logical-switch",
			SNATZone: r.ExternalIDs["snat-ct-zone"] != "", Ports: map[string]uint64{"none": 0}, Related: map[uint64]bool{},
		}
		byDatapath[r.UUID] = d
		c.Datapaths = append(c.Datapaths, d)
	}
	for i := range rows.Ports {
		p := &rows.Ports[i]
		resident[p.LogicalPort] = p.Chassis.Has(own)
		d := byDatapath[p.Datapath]
		if d == nil {
			continue
		}
		d.Ports[p.LogicalPort] = uint64(p.TunnelKey)
		if n.concerns(p, own) {
			d.Related[uint64(p.TunnelKey)], related[p.LogicalPort] = true, true
		}
	}
	for _, g := range rows.Groups {
		if d := byDatapath[g.Datapath]; d != nil {
			d.Ports[g.Name] = uint64(g.TunnelKey)
			d.Related[uint64(g.TunnelKey)] = true
		}
	}
	c.Resident = func(port string) bool { return resident[port] }
	c.Related = func(port string) bool { return related[port] }
	sets := map[string]*ovnexpr.AddressSet{}
	for _, r := range rows.AddressSets {
		sets[r.Name] = ovnexpr.NewAddressSet(r.Name, r.Addresses)
	}
	for _, d := range c.Datapaths {
		d.sets = datapathSets{addresses: sets, groups: map[string]*ovnexpr.PortGroup{}}
	}
	for _, r := range rows.PortGroups {
		key, name, _ := strings.Cut(r.Name, "_")
		of, err := strconv.ParseUint(key, 10, 64)
		for _, d := range c.Datapaths {
			if err == nil && d.Key == of {
				ports := slices.DeleteFunc(slices.Clone(r.Ports), func(p string) bool { return !related[p] })
				d.sets.groups[name] = ovnexpr.NewPortGroup(name, ports)
			}
		}
	}
	groups := map[string]uint32{}
	for _, g := range n.Groups {
		groups[groupKey(g)] = g.ID
	}
	c.Groups = func(g openflow.GroupEntry) (uint32, bool) { id, ok := groups[groupKey(g)]; return id, ok }
	c.Meters = func(name string) (uint32, bool) { id, ok := n.Meters[name]; return id, ok }
	return c
}

// concerns reports whether a port of a datapath on the node concerns the node.
func (n *Node) concerns(p *sb.PortBindingResidence, own ovsdb.UUID) bool {
	switch p.Type {
	case "patch", "localnet", "vtep":
		return true
	case "remote":
		return n.Version.Series().Has(release.RemoteRelated)
	case "localport":
		return n.Interfaces[p.LogicalPort]
	}
	return p.Chassis.Has(own) || p.AdditionalChassis.Has(own)
}

// datapathSets are the sets that matches name, as one datapath has them.
type datapathSets struct {
	addresses map[string]*ovnexpr.AddressSet
	groups    map[string]*ovnexpr.PortGroup
}

func (s datapathSets) AddressSet(name string) (*ovnexpr.AddressSet, bool) {
	set, ok := s.addresses[name]
	return set, ok
}

// PortGroup is a group's ports in the datapath that concern the chassis; without any it has no row.
func (s datapathSets) PortGroup(name string) (*ovnexpr.PortGroup, bool) {
	if g := s.groups[name]; g != nil {
		return g, true
	}
	return ovnexpr.NewPortGroup(name, nil), true
}

// groupKey is equal for groups that are alike but for their number.
func groupKey(g openflow.GroupEntry) string {
	fields := strings.Split(g.Fields, ",") // a set
	slices.Sort(fields)
	key := []string{g.Type, g.Method, strings.Join(fields, ",")}
	for _, b := range g.Buckets {
		key = append(key, strconv.Itoa(b.Weight), actionsKey(b.Actions))
	}
	return strings.Join(key, " ")
}

// TablesOf are the tables as a node's flows show them.
func TablesOf(c decode.Calibration) Tables {
	t := Tables{Ingress: c.Base(decode.Ingress), Egress: c.Base(decode.Egress), Helpers: map[release.PhysicalTable]int{}}
	t.Output, _ = c.Output()
	for table := range release.PhysicalWords.Get() {
		if of, ok := c.Physical(table); ok {
			t.Helpers[table] = of
		}
	}
	return t
}
