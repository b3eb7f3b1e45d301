package compare

import "github.com/ovnctl/ovnctl/pkg/document"

// The JSON of a comparison. A field keeps its name and its meaning; docs/json.md describes them.
type (
	// A Document is what differs between two states: kind Comparison.
	Document struct {
		document.Envelope
		A Side `json:"a"`
		B Side `json:"b"`
		Comparison
	}

	// A Side is one of the two states.
	Side struct {
		Path   string `json:"path"`   // as it was given
		Source any    `json:"source"` // what was read of it
		Time   string `json:"-"`      // when that was
	}

	// A Comparison is what differs between two states, A the earlier one.
	Comparison struct {
		Equal       bool         `json:"equal"`       // nothing that was compared differs
		Changes     []Change     `json:"changes"`     // what matters most comes first
		Flows       []FlowChange `json:"flows"`       // by what they were made for
		NotCompared []Gap        `json:"notCompared"` // what one side or both lack
	}

	// A Change is a row, or a thing of a node, that one state has and the other has not, or has differently.
	Change struct {
		Group    Group    `json:"group"`
		Change   Sign     `json:"change"`
		Kind     string   `json:"kind"` // "port", "route": what people call it
		Name     string   `json:"name"`
		On       string   `json:"on,omitempty"`    // what holds it, "switch node1"
		Owner    string   `json:"owner,omitempty"` // what the CMS calls it, "NetworkPolicy shop/web"
		Node     string   `json:"node,omitempty"`
		Zone     string   `json:"zone,omitempty"`
		Database string   `json:"database,omitempty"`
		Table    string   `json:"table,omitempty"`
		UUIDA    string   `json:"uuidA,omitempty"`
		UUIDB    string   `json:"uuidB,omitempty"`
		Columns  []Column `json:"columns"`

		id string // the name, without what is added where only one side has it
	}

	// A Column is a column, or a key of one, as both states have it.
	Column struct {
		Name    string   `json:"name"`             // "chassis", "options:requested-chassis"
		A       string   `json:"a,omitempty"`      // absent: no value
		B       string   `json:"b,omitempty"`      //
		Added   []string `json:"added,omitzero"`   // of a column with several values, those that only B has
		Removed []string `json:"removed,omitzero"` // and those that only A has
	}

	// A FlowChange is how the flows differ that were made for one thing.
	FlowChange struct {
		For     string        `json:"for"`            // what they were made for; empty: not known, or for nothing but themselves
		Node    string        `json:"node,omitempty"` // absent: logical flows
		Bridge  string        `json:"bridge,omitempty"`
		Zone    string        `json:"zone,omitempty"` // of logical flows, where there are several
		Stages  []string      `json:"stages"`
		Added   int           `json:"added"`
		Removed int           `json:"removed"`
		Changed int           `json:"changed"` // the same match with other actions
		Flows   []ChangedFlow `json:"flows"`   // the first of them
	}

	// A ChangedFlow is a flow that differs.
	ChangedFlow struct {
		Change   Sign   `json:"change"`
		Stage    string `json:"stage"`
		Table    int    `json:"table"`
		Priority int    `json:"priority"`
		Match    string `json:"match"`
		A        string `json:"a,omitempty"` // the actions
		B        string `json:"b,omitempty"`
		Datapath string `json:"datapath,omitempty"` // of a logical flow
	}

	// A Gap is something that was not compared.
	Gap struct {
		What string `json:"what"`
		Why  string `json:"why"`
	}
)

// A Sign says how something differs.
type Sign string

// The signs.
const (
	Added   Sign = "added"   // only B has it
	Removed Sign = "removed" // only A has it
	Changed Sign = "changed"
)

// A Group is a part of a deployment, as people look for differences.
type Group string

// The groups, in the order in which they matter.
const (
	Nodes         Group = "nodes"         // chassis, and what of each node is its own
	Bindings      Group = "bindings"      // which chassis has which port
	Configuration Group = "configuration" // the Northbound
	Learned       Group = "learned"       // neighbours, addresses and routes that were learned
	Derived       Group = "derived"       // what ovn-northd and the chassis make of the others
	LogicalFlows  Group = "logical-flows"
	OpenFlow      Group = "openflow"
)

// Groups are all groups in their order.
var Groups = []Group{Nodes, Bindings, Configuration, Learned, Derived, LogicalFlows, OpenFlow}
