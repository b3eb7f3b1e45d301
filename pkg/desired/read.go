package desired

import (
	"context"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// Switch holds the rows of a node's own database that compilation depends on, as loaded by ovsdb.Load.
type Switch struct {
	Interfaces []vswitch.InterfaceBrief
	Datapaths  []vswitch.Datapath
	Collectors []vswitch.FlowSampleCollectorSet
}

// Switch takes what a node's database says. A database without datapaths says that the node has one of the oldest kind.
func (n *Node) Switch(rows Switch) {
	n.Interfaces = map[string]bool{}
	for _, i := range rows.Interfaces {
		if port := i.ExternalIDs["iface-id"]; port != "" {
			n.Interfaces[port] = true
		}
	}
	for _, d := range rows.Datapaths {
		n.ZeroSNAT = n.ZeroSNAT || d.Capabilities["ct_zero_snat"] == "true"
	}
	n.Collectors = map[uint64]bool{}
	for _, c := range rows.Collectors {
		n.Collectors[uint64(c.ID)] = true
	}
}

// Installed takes the integration bridge's flows: the datapaths that they are for are those that the node has. A flow
// without a cookie says nothing: it may be anybody's.
func (n *Node) Installed(flows []openflow.FlowEntry) {
	n.Datapaths = map[uint64]bool{}
	for i := range flows {
		if m, ok := flows[i].Match.Field("metadata"); ok && flows[i].Cookie != 0 {
			n.Datapaths[m.Value.Lo] = true
		}
	}
}

// ParseGroups takes the integration bridge's groups, as ovs-ofctl dump-groups prints them.
func (n *Node) ParseGroups(dump string) {
	for line := range strings.Lines(dump) {
		if !strings.Contains(line, "group_id=") {
			continue
		}
		if g, err := openflow.ParseGroupEntry(strings.TrimSpace(line)); err == nil {
			n.Groups = append(n.Groups, g)
		}
	}
}

// ParseMeters takes ovn-controller's meters, as its command meter-table-list prints them.
func (n *Node) ParseMeters(text string) {
	n.Meters = map[string]uint32{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		i := strings.LastIndex(line, ": ")
		if i < 0 {
			continue
		}
		if id, err := strconv.ParseUint(line[i+2:], 10, 32); err == nil {
			n.Meters[line[:i]] = uint32(id)
		}
	}
}

// LogicalFlows are logical flows with the datapath groups that they may be of.
type LogicalFlows struct {
	Rows    []sb.LogicalFlow
	members map[ovsdb.UUID][]ovsdb.UUID
}

// Read reads the rows that compilation depends on and the logical flows that meet some conditions; none means all.
func Read(ctx context.Context, southbound ovsdb.Reader, where ...ovsdb.Condition) (*Inputs, *LogicalFlows, error) {
	var rows Inputs
	if err := ovsdb.Load(ctx, southbound, &rows); err != nil {
		return nil, nil, err
	}
	flows, err := ovsdb.Find[sb.LogicalFlow](ctx, southbound, where...)
	if err != nil {
		return nil, nil, err
	}
	groups, err := ovsdb.Find[sb.LogicalDPGroup](ctx, southbound)
	if err != nil {
		return nil, nil, err
	}
	return &rows, NewLogicalFlows(flows, groups), nil
}

// NewLogicalFlows joins logical flows with the datapath groups that they may be of.
func NewLogicalFlows(rows []sb.LogicalFlow, groups []sb.LogicalDPGroup) *LogicalFlows {
	l := &LogicalFlows{Rows: rows, members: make(map[ovsdb.UUID][]ovsdb.UUID, len(groups))}
	for _, g := range groups {
		l.members[g.UUID] = g.Datapaths
	}
	return l
}

// A Problem is a logical flow that could not be compiled.
type Problem struct {
	Row sb.LogicalFlow
	Err error
}

// All compiles logical flows for all their datapaths that the chassis has, on all processors.
func (c *Chassis) All(l *LogicalFlows) (flows []openflow.FlowEntry, problems []Problem) {
	byUUID := make(map[ovsdb.UUID]*Datapath, len(c.Datapaths))
	for _, d := range c.Datapaths {
		byUUID[d.UUID] = d
	}
	type compiled struct {
		flows    []openflow.FlowEntry
		problems []Problem
	}
	const atOnce = 64
	var parts []*compiled
	var compiling errgroup.Group
	compiling.SetLimit(runtime.GOMAXPROCS(0))
	for rows := range slices.Chunk(l.Rows, atOnce) {
		p := &compiled{}
		parts = append(parts, p)
		compiling.Go(func() error {
			for _, row := range rows {
				made, err := c.row(row, l, byUUID)
				p.flows = append(p.flows, made...)
				if err != nil {
					p.problems = append(p.problems, Problem{row, err})
				}
			}
			return nil
		})
	}
	_ = compiling.Wait() // none returns an error
	for _, p := range parts {
		flows, problems = append(flows, p.flows...), append(problems, p.problems...)
	}
	return flows, problems
}

// row compiles a logical flow for its datapaths, up to the first for which it cannot.
func (c *Chassis) row(row sb.LogicalFlow, l *LogicalFlows, datapaths map[ovsdb.UUID]*Datapath) (flows []openflow.FlowEntry, err error) {
	of := row.LogicalDatapath
	if group := row.LogicalDPGroup.Get(); group != "" {
		of = append(slices.Clone(of), l.members[group]...)
	}
	var parsed *Flow
	for _, id := range of {
		d := datapaths[id]
		if d == nil {
			continue
		}
		if parsed == nil {
			if parsed, err = c.Parse(row); err != nil {
				return flows, err
			}
		}
		made, err := c.Flows(parsed, d)
		if err != nil {
			return flows, err
		}
		flows = append(flows, made...)
	}
	return flows, nil
}

// Verified reports whether what this package compiles was compared with an ovn-controller of a release. Others may
// encode some actions in another way.
func Verified(v release.Version) bool {
	return slices.Contains([]release.Series{2303, 2503, 2603}, v.Series())
}

// TablesAt are the tables of a release whose pipelines begin at these tables.
func TablesAt(v release.Version, ingress, egress int) (Tables, bool) {
	layout, known := release.LayoutOf(v)
	if !known || layout.Egress != egress || ingress != release.IngressBase {
		return Tables{}, false
	}
	t := Tables{Ingress: ingress, Egress: egress, Helpers: layout.Tables(v)}
	for _, first := range []release.PhysicalTable{release.RemoteOutput, release.DetectLargePkt, release.OutputInit} {
		if of, ok := t.Helpers[first]; ok {
			t.Output = of
		}
	}
	return t, true
}

// In reports whether a flow is in a table of a logical pipeline: others are not made from logical flows.
func (t Tables) In(f *openflow.FlowEntry) bool {
	table := max(f.Table.Number, 0)
	return table >= t.Ingress && table < t.Output || table >= t.Egress && table < t.Helpers[release.SaveInport]
}

// Logical is the pipeline and the number in it of an OpenFlow table.
func (t Tables) Logical(table int) (pipeline string, id int) {
	if table >= t.Egress {
		return "egress", table - t.Egress
	}
	return "ingress", table - t.Ingress
}
