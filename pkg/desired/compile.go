package desired

import (
	"math/bits"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Tables are the OpenFlow tables of a chassis.
type Tables struct {
	Ingress, Egress int // the first of each pipeline
	Output          int // where output leads to in ingress; in egress it is SaveInport
	Helpers         map[release.PhysicalTable]int
}

// A Datapath is a logical switch or router on the chassis.
type Datapath struct {
	UUID   ovsdb.UUID
	Key    uint64
	Switch bool
	// SNATZone: the zone of its translations is that for SNAT even where one serves all.
	SNATZone bool
	// Ports are the keys of the ports and multicast groups in it by name.
	Ports map[string]uint64
	// Related are the keys of those ports that concern the chassis: in a switch others get no flows.
	Related map[uint64]bool

	sets datapathSets
}

// A Chassis is what ovn-controller knows on one node.
type Chassis struct {
	Version   release.Version // of ovn-controller
	Tables    Tables
	Datapaths []*Datapath // those that the chassis has
	// Variables are the values of template variables.
	Variables map[string]string
	// Resident reports whether a port resides on the chassis.
	Resident func(port string) bool
	// Related reports whether a port, by name, concerns the chassis.
	Related func(port string) bool
	// ZeroSNAT: the datapath can translate to the same address, which ovn-controller then asks of each commit.
	ZeroSNAT bool
	// Collectors are the sets of collectors that the node has, by number: without its set, a sample action is left out.
	Collectors map[uint64]bool
	// Groups and Meters are numbers as the switch has them. A group is asked for by its text without number.
	Groups func(group openflow.GroupEntry) (uint32, bool)
	Meters func(name string) (uint32, bool)
	// Options are the codes and types of DHCP options.
	Options4, Options6 map[string]Option
}

// An Option is a DHCP option.
type Option struct {
	Code int
	Type string
}

// limit bounds the alternatives of one match.
const limit = 1 << 22

// A Flow is a logical flow, parsed for a chassis.
type Flow struct {
	Row     sb.LogicalFlow
	match   *ovnexpr.Match
	actions ovnexpr.Actions
	needs   []string
	symbols *ovnexpr.Symbols
}

// Parse parses a logical flow. The error is an *[ovnexpr.SyntaxError].
func (c *Chassis) Parse(row sb.LogicalFlow) (f *Flow, err error) {
	value := func(name string) (string, bool) { v, ok := c.Variables[name]; return v, ok }
	f = &Flow{Row: row, symbols: ovnexpr.SymbolsOf(ovnexpr.Profile{Version: c.Version.Series(), Conntrack: row.Tags["acl_ct_translation"] == "true"})}
	match, actions := ovnexpr.Expand(row.Match, value), ovnexpr.Expand(row.Actions, value)
	if f.match, err = ovnexpr.ParseMatch(match); err != nil {
		return nil, err
	}
	if f.actions, err = ovnexpr.ParseActions(actions); err != nil {
		return nil, err
	}
	if _, err = f.actions.Annotate(actions, f.symbols); err != nil {
		return nil, err
	}
	f.needs, err = f.actions.Needs(actions, f.symbols)
	return f, err
}

// Flows compiles a logical flow for a datapath of the chassis. Several flows may have one match: those that are
// clauses of several conjunctions.
func (c *Chassis) Flows(f *Flow, d *Datapath) ([]openflow.FlowEntry, error) {
	if port := f.Row.Tags["in_out_port"]; port != "" && !c.Related(port) {
		return nil, nil
	}
	normal, err := f.match.Normalize(f.symbols, d.sets, f.needs, c.Resident, limit)
	if err != nil {
		return nil, err
	}
	if len(normal) == 0 {
		return nil, nil
	}
	matches, conjunctions := alternatives(normal, func(name string) (uint64, bool) { key, ok := d.Ports[name]; return key, ok })
	if len(matches) == 0 {
		return nil, nil
	}
	actions, err := c.encode(f, d)
	if err != nil {
		return nil, err
	}
	base, direction := c.Tables.Ingress, "reg14"
	if f.Row.Pipeline == "egress" {
		base, direction = c.Tables.Egress, "reg15"
	}
	first := uint32(0)
	if conjunctions > 0 {
		first = conjunctionID(f.Row.UUID, d.UUID)
	}
	port, metadata := packet.MustField(direction), &packet.Metadata
	flows := make([]openflow.FlowEntry, 0, len(matches))
	for _, m := range matches {
		if key := m.value.Get(port).Lo; d.Switch && key != 0 && !d.Related[key] {
			continue
		}
		m.value.Set(metadata, packet.Uint(d.Key))
		m.mask.Set(metadata, metadata.Mask())
		m.fields = append(m.fields, metadata)
		flow := openflow.FlowEntry{Table: openflow.Table{Number: base + f.Row.TableID}, Priority: f.Row.Priority, Cookie: uint64(firstWord(f.Row.UUID)), Actions: actions}
		if id := m.value.Get(conjID).Lo; id != 0 {
			m.value.Set(conjID, packet.Uint(uint64(first)+id-1))
		}
		if len(m.clauses) > 0 {
			flow.Cookie, flow.Actions = 0, nil
			for _, clause := range m.clauses {
				clause.ID += first - 1
				flow.Actions = append(flow.Actions, clause)
			}
		}
		if flow.Match, err = m.openflow(); err != nil {
			return nil, err
		}
		flows = append(flows, flow)
	}
	return flows, nil
}

// conjunctionID is the first number that ovn-controller tries for the conjunctions of a logical flow in a datapath: a
// hash of both, Open vSwitch's for two words.
func conjunctionID(flow, datapath ovsdb.UUID) uint32 {
	h := firstWord(flow)
	for _, word := range []uint32{0, firstWord(datapath)} {
		h ^= bits.RotateLeft32(word*0xcc9e2d51, 15) * 0x1b873593
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	h ^= 8 // bytes
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return max(h^h>>16, 1)
}

// firstWord is the beginning of a UUID; 0 if it is none.
func firstWord(id ovsdb.UUID) uint32 {
	if len(id) < 8 {
		return 0
	}
	word, _ := strconv.ParseUint(string(id[:8]), 16, 32)
	return uint32(word)
}
