package flowtable

import (
	"context"
	"fmt"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/document"
)

// The JSON of flows and megaflows. Fields keep their names and meanings; docs/json.md describes them.
type (
	// A FlowTable is the selected flows of a bridge.
	FlowTable struct {
		Node   string    `json:"node"`
		Bridge string    `json:"bridge"`
		Tables string    `json:"tables"` // source of the tables' meanings
		Total  int       `json:"total"`  // flows of the bridge
		Found  int       `json:"found"`  // those that pass the filter
		Flows  []FlowRow `json:"flows"`  // the first of those
		// Expected says how the flows differ from those that ovn-controller would install; nil if it was not asked.
		Expected *Expected `json:"expected,omitempty"`
	}
	// Expected counts the flows that pass the filter by how they differ from what is expected.
	Expected struct {
		Equal       int          `json:"equal"`
		Edited      int          `json:"edited"`  // installed with other actions or another cookie
		Missing     int          `json:"missing"` // expected and not installed
		Foreign     int          `json:"foreign"` // installed and not expected
		NotCompiled []Uncompiled `json:"notCompiled"`
	}
	// An Uncompiled is a logical flow that could not be compiled: what is expected of it is unknown.
	Uncompiled struct {
		UUID   string `json:"uuid"` // of its Logical_Flow row
		Reason string `json:"reason"`
	}
	// A Wanted is an OpenFlow flow that ovn-controller would install.
	Wanted struct {
		Cookie         string `json:"cookie"`
		Actions        string `json:"actions"`
		DecodedActions string `json:"decodedActions"`
	}
	// A FlowRow is the JSON contract of a [Flow].
	FlowRow struct {
		Table          int                 `json:"table"`
		Priority       int                 `json:"priority"`
		Match          string              `json:"match"`
		Actions        string              `json:"actions"`
		DecodedMatch   string              `json:"decodedMatch"` // with names in angle brackets
		DecodedActions string              `json:"decodedActions"`
		Does           string              `json:"does"` // what happens to a packet, in words
		Drop           bool                `json:"drop"`
		Packets        uint64              `json:"packets"`
		Bytes          uint64              `json:"bytes"`
		Idle           *int                `json:"idle,omitempty"` // seconds
		Rate           *float64            `json:"rate,omitempty"` // packets per second
		Flow           *decode.DecodedFlow `json:"flow,omitempty"`
		Difference     string              `json:"difference,omitempty"` // equal, edited, missing or foreign
		Expected       []Wanted            `json:"expected,omitempty"`   // one of these
	}
	// A Cache is the datapath's cache.
	Cache struct {
		Node      string        `json:"node"`
		Stats     CacheStats    `json:"stats"`
		Found     int           `json:"found"`
		Megaflows []MegaflowRow `json:"megaflows"`
	}
	// CacheStats are the cache's statistics since ovs-vswitchd started.
	CacheStats struct {
		Datapath  string   `json:"datapath"` // system@ovs-system, netdev@ovs-netdev
		Flows     int      `json:"flows"`
		FlowLimit *int     `json:"flowLimit,omitempty"`
		Masks     int      `json:"masks"`
		Hits      uint64   `json:"hits"`
		Missed    uint64   `json:"missed"`
		Lost      uint64   `json:"lost"`
		HitRate   *float64 `json:"hitRate,omitempty"` // of all packets, 0 to 1
		PerPacket *float64 `json:"masksPerPacket,omitempty"`
	}
	// A MegaflowRow is the JSON contract of a [Megaflow].
	MegaflowRow struct {
		UFID           string     `json:"ufid"`
		Match          string     `json:"match"` // the fields examined, with their masks
		DecodedMatch   string     `json:"decodedMatch"`
		Mask           []string   `json:"mask"` // names of those fields
		Actions        string     `json:"actions"`
		DecodedActions string     `json:"decodedActions"`
		Packets        uint64     `json:"packets"`
		Bytes          uint64     `json:"bytes"`
		Used           *float64   `json:"used,omitempty"` // seconds since the last packet
		Flags          string     `json:"flags,omitempty"`
		Rate           *float64   `json:"rate,omitempty"`
		Rules          []FlowRule `json:"rules"`
		Unknown        string     `json:"unknown,omitempty"` // why there are no rules
	}
	// A FlowRule is an OpenFlow flow that a megaflow came from, as far as a trace shows it.
	FlowRule struct {
		Bridge   string `json:"bridge"`
		Table    int    `json:"table"`
		Stage    string `json:"stage"`
		Priority int    `json:"priority"`
		Cookie   string `json:"cookie,omitempty"`
		Match    string `json:"match"`
		For      string `json:"for"` // the object it was made for, or what it does
	}
)

// JSON converts a bridge's flow to its contract, with numbers named by n; rated: there was an earlier dump.
func (f *Flow) JSON(ctx context.Context, bridge string, n *decode.Namer, rated bool) FlowRow {
	match, actions := n.NamedEntry(ctx, bridge, &f.Entry, f.Decoded)
	row := FlowRow{
		Table: max(f.Entry.Table.Number, 0), Priority: f.Entry.Priority, Match: match.Text, Actions: actions.Text,
		DecodedMatch: match.String(), DecodedActions: actions.String(), Does: f.does(actions.Names), Drop: f.Drop,
		Packets: f.Packets, Bytes: f.Bytes,
	}
	if f.Idle >= 0 {
		idle := int(f.Idle / time.Second)
		row.Idle = &idle
	}
	if rated {
		row.Rate = &f.Rate
	}
	if f.Decoded != nil {
		decoded := f.Decoded.JSON()
		row.Flow = &decoded
	}
	row.Difference = string(f.Difference)
	for _, w := range f.Desired {
		_, actions := n.NamedEntry(ctx, bridge, w, f.Decoded)
		row.Expected = append(row.Expected, Wanted{fmt.Sprintf("0x%x", w.Cookie), actions.Text, actions.String()})
	}
	return row
}

// StageText returns the table's number and its stage.
func (r FlowRow) StageText() string {
	if r.Flow == nil || r.Flow.Stage == "" {
		return fmt.Sprint(r.Table)
	}
	return fmt.Sprintf("%d %s", r.Table, r.Flow.Stage)
}

// For returns what the flow was made for; empty if unknown.
func (r FlowRow) For() string {
	if r.Flow == nil {
		return ""
	}
	return r.Flow.For
}

// A FlowsDocument is the JSON and YAML form of the flows of a bridge.
type FlowsDocument struct {
	document.Envelope
	FlowTable
}

// A MegaflowsDocument is the JSON and YAML form of the datapath's cache.
type MegaflowsDocument struct {
	document.Envelope
	Cache
}
