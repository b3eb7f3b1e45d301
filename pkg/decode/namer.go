package decode

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// A Namer names the numbers in the flows of one node. In addition to a [Decoder] it knows groups, meters and OVS
// datapath ports. It caches what it decoded, within bounds.
type Namer struct {
	*Names
	Decoder *Decoder

	node     NodeNumbers
	evidence learned
	meanings map[flowID]Meaning
}

// NodeNumbers are the numbers that only the node itself can explain. Each function is called when such a number is
// first seen, and may be nil.
type NodeNumbers struct {
	// Backends returns the backends of each group of the integration bridge, in words.
	Backends func() map[uint32][]string
	// Meters returns the names of the integration bridge's meters.
	Meters func() map[uint32]string
	// DatapathPorts returns the interfaces by OVS datapath port number, which differs from the OpenFlow number.
	DatapathPorts func() map[int]string
}

// NewNamer returns a Namer that uses d and node.
func NewNamer(d *Decoder, node NodeNumbers) *Namer {
	return &Namer{Names: d.Names, Decoder: d, node: node, meanings: map[flowID]Meaning{}}
}

// Backends returns the addresses that a group translates to, in the order of its
// buckets.
func Backends(g openflow.GroupEntry) []string {
	var list []string
	for _, b := range g.Buckets {
		for _, action := range b.Actions {
			ct, ok := action.(openflow.CT)
			switch {
			case !ok || ct.NAT == nil || !ct.NAT.Min.IsValid():
			case ct.NAT.MinPort != 0:
				list = append(list, netip.AddrPortFrom(ct.NAT.Min, ct.NAT.MinPort).String())
			default:
				list = append(list, ct.NAT.Min.String())
			}
		}
	}
	return list
}

// maxLearned is how many flows per table are kept for calibration.
const maxLearned = 256

// learned holds flows seen so far, some for each table.
type learned struct {
	flows []Seen
	count [256]int
	used  int // how many the calibration is based on
}

// Wants reports whether a flow of that table would add information.
func (n *Namer) Wants(table int) bool {
	return table >= 0 && table < len(n.evidence.count) && n.evidence.count[table] < maxLearned
}

// Learn keeps a flow for [Namer.Calibrate].
func (n *Namer) Learn(seen Seen) {
	if n.Wants(seen.Table) {
		n.evidence.count[seen.Table]++
		n.evidence.flows = append(n.evidence.flows, seen)
	}
}

// Calibrate has the decoder learn the tables from the learned flows. Without a Southbound only the release is used.
func (n *Namer) Calibrate(ctx context.Context) {
	n.evidence.used = len(n.evidence.flows)
	n.Decoder.Calibrate(ctx, n.evidence.flows)
	clear(n.meanings)
}

// Recalibrate calls Calibrate if twice as much is known as last time.
func (n *Namer) Recalibrate(ctx context.Context) {
	if e := &n.evidence; len(e.flows) >= 2*e.used+16 {
		n.Calibrate(ctx)
	}
}

type flowID struct {
	table, priority  int
	cookie, metadata uint64
}

// maxMeanings bounds the cache.
const maxMeanings = 1 << 14

// Flow decodes a flow of the integration bridge.
func (n *Namer) Flow(ctx context.Context, seen Seen) *Flow {
	id := flowID{seen.Table, seen.Priority, seen.Cookie, seen.Metadata}
	m, ok := n.meanings[id]
	if !ok {
		if len(n.meanings) >= maxMeanings {
			clear(n.meanings)
		}
		m = n.Decoder.Decode(ctx, seen)
		n.meanings[id] = m
	}
	return &Flow{seen, m}
}

// Entry decodes a bridge's flow; nil if it is not OVN's.
func (n *Namer) Entry(ctx context.Context, bridge string, e *openflow.FlowEntry) *Flow {
	seen := SeenIn(e)
	if !n.IsOVN(Context{Bridge: bridge, Metadata: seen.Metadata, OVN: mentionsDatapath(e)}) {
		return nil
	}
	return n.Flow(ctx, seen)
}

// Step decodes the flow that a step of a trace matched in a bridge; nil if it is not OVN's.
func (n *Namer) Step(ctx context.Context, bridge string, s *openflow.Step) *Flow {
	if bridge != n.Bridge {
		return nil
	}
	return n.Flow(ctx, SeenInStep(s))
}

// IsOVN reports whether the tables and cookies at a place are OVN's. Without a database that confirms it, a bridge's
// name is not enough: its flows must mention datapaths.
func (n *Namer) IsOVN(at Context) bool {
	return at.Bridge == n.Bridge && (!n.plain || at.OVN || at.Metadata != 0)
}

// TableName names a table, by its stage if known.
func (n *Namer) TableName(p Place) string {
	switch {
	case p.Stage != "":
		return p.Stage
	case p.Pipeline == "" && p.Physical == "" && n.plain:
		return plainTable(p.OpenFlow)
	case p.Pipeline == "" && p.Physical == "":
		return ""
	}
	return p.String()
}

// Target names the table that a flow in a datapath sends the packet to.
func (n *Namer) Target(ctx context.Context, of int, metadata uint64) string {
	var kind Kind
	d := n.Datapath(metadata)
	if d != nil {
		kind = d.Kind
	}
	p := n.Decoder.Calibration.Table(of, kind)
	if p.Pipeline != "" && p.Stage == "" {
		p.Stage = n.Decoder.Flows.stage(ctx, d, p.Pipeline, p.Table)
	}
	return n.TableName(p)
}

// fewBackends is how many backends a group's name lists.
const fewBackends = 4

// GroupName describes where a group balances packets to, and for which load balancer or route; either may be unknown.
func (n *Namer) GroupName(id uint32, what string) string {
	backends := n.backends()[id]
	more := ""
	if len(backends) > fewBackends {
		more = fmt.Sprintf(" and %d more", len(backends)-fewBackends)
		backends = backends[:fewBackends]
	}
	if len(backends) > 0 {
		return strings.TrimSpace(what + " to " + strings.Join(backends, ", ") + more)
	}
	return what
}

// Balances returns what a flow that sends packets to a group is balancing.
func (f *Flow) Balances() string {
	if f == nil || len(f.Objects) == 0 {
		return ""
	}
	return f.Objects[len(f.Objects)-1].Text
}

// MeterName names a meter of the integration bridge.
func (n *Namer) MeterName(id uint32) string {
	if n.node.Meters == nil {
		return ""
	}
	return n.node.Meters()[id]
}

func (n *Namer) backends() map[uint32][]string {
	if n.node.Backends == nil {
		return nil
	}
	return n.node.Backends()
}

func (n *Namer) datapathPorts() map[int]string {
	if n.node.DatapathPorts == nil {
		return nil
	}
	return n.node.DatapathPorts()
}
