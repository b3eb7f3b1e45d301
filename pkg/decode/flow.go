package decode

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A Flow is an OpenFlow flow of the integration bridge with its meaning: a decoded [Seen].
type Flow struct {
	Seen
	Meaning
}

// A LogicalFlow is the row of a logical flow, in the JSON of decoded flows and trace steps.
type LogicalFlow = sb.LogicalFlowNames

// A DecodedFlow is the JSON contract of a [Flow]: docs/json.md.
type DecodedFlow struct {
	Table    int          `json:"table"`
	Pipeline string       `json:"pipeline"`         // ingress, egress, or physical for ovn-controller's own tables
	Stage    string       `json:"stage"`            // stage-name, or the table's name in lower case
	Datapath string       `json:"datapath"`         // "switch node1"; empty if none or unknown
	Priority int          `json:"priority"`         //
	Cookie   string       `json:"cookie,omitempty"` //
	Logical  *LogicalFlow `json:"logical,omitempty"`
	For      string       `json:"for"`               // the objects in words, else the flow's effect
	Objects  []Object     `json:"objects"`           // what the flow is for
	Unknown  string       `json:"unknown,omitempty"` // why neither logical flow nor object was found, or what is inconsistent
}

// JSON returns the flow in its JSON form.
func (f *Flow) JSON() DecodedFlow {
	out := DecodedFlow{
		Table: f.Seen.Table, Pipeline: string(f.Pipeline), Stage: f.StageName(), Priority: f.Priority,
		Logical: f.Flow, For: f.For(), Objects: append([]Object{}, f.Objects...), Unknown: f.Unknown,
	}
	if f.UnknownObject != "" && out.Unknown == "" {
		out.Unknown = f.UnknownObject
	}
	if f.Pipeline == "" {
		out.Pipeline = "physical"
	}
	if f.Datapath != nil {
		out.Datapath = f.Datapath.String()
	}
	if f.Cookie != 0 {
		out.Cookie = fmt.Sprintf("0x%08x", f.Cookie)
	}
	return out
}

// For returns what the flow is for, else what it does; empty if neither is known.
func (f *Flow) For() string {
	var texts []string
	for _, o := range f.Objects {
		texts = append(texts, o.Text)
	}
	switch {
	case len(texts) > 0:
		return strings.Join(texts, " or ")
	case f.Flow != nil:
		return explainFlow(*f.Flow)
	}
	return ""
}

// StageName returns the stage of a flow, or the name of its table in lower case;
// empty if neither is known.
func (f *Flow) StageName() string {
	if f.Stage != "" {
		return f.Stage
	}
	return strings.ToLower(string(f.Physical))
}

// SeenIn returns what the decoder needs of a dumped flow.
func SeenIn(e *openflow.FlowEntry) Seen {
	return Seen{
		Table: max(e.Table.Number, 0), Priority: e.Priority, Cookie: e.Cookie,
		Metadata: metadataOf(e.Match), Resubmits: resubmits(e.Actions, nil),
	}
}

// SeenInStep returns what the decoder needs of the flow that a step of a trace matched.
func SeenInStep(s *openflow.Step) Seen {
	seen := Seen{Table: s.Table, Priority: s.Priority, Cookie: s.Cookie}
	if s.Match != nil {
		seen.Metadata = metadataOf(*s.Match)
	}
	return seen
}

// metadataOf returns the datapath in a match, 0 if it has none.
func metadataOf(m openflow.Match) uint64 {
	for _, t := range m.Terms {
		if t.Field != nil && t.Field.Name == "metadata" && t.Mask == t.Field.Mask() {
			return t.Value.Lo
		}
	}
	return 0
}

// resubmits appends the tables that the actions resubmit to.
func resubmits(list openflow.Actions, tables []int) []int {
	for _, a := range list {
		switch a := a.(type) {
		case openflow.Resubmit:
			if a.Table != openflow.NoTable {
				tables = append(tables, a.Table.Number)
			}
		case openflow.Clone:
			tables = resubmits(a.Actions, tables)
		}
	}
	return tables
}

// mentionsDatapath reports whether a flow matches on metadata or sets it, as OVN's flows do.
func mentionsDatapath(e *openflow.FlowEntry) bool {
	for _, t := range e.Match.Terms {
		if isMetadata(t.Field) {
			return true
		}
	}
	return writesDatapath(e.Actions)
}

func writesDatapath(list openflow.Actions) bool {
	for _, a := range list {
		var written bool
		switch a := a.(type) {
		case openflow.SetField:
			written = isMetadata(a.Field)
		case openflow.Load:
			written = isMetadata(a.Dst.Field)
		case openflow.Move:
			written = isMetadata(a.Dst.Field)
		case openflow.Clone:
			written = writesDatapath(a.Actions)
		}
		if written {
			return true
		}
	}
	return false
}

func isMetadata(f *packet.Field) bool { return f != nil && f.Name == "metadata" }
