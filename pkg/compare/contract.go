package compare

import "github.com/ovnctl/ovnctl/pkg/document"

// The JSON of a comparison. Fields keep their names and meanings; docs/json.md describes them.
type (
	// A Document is the differences between two states: kind Comparison.
	Document struct {
		document.Envelope
		A Side `json:"a"`
		B Side `json:"b"`
		Comparison
	}

	// A Side is one of the two states.
	Side struct {
		Path   string `json:"path"`   // as given
		Source any    `json:"source"` // what was read from it
		Time   string `json:"-"`      // when it was read
	}

	// A Comparison is the differences between two states, A the earlier one.
	Comparison struct {
		Equal       bool         `json:"equal"`       // nothing compared differs
		Changes     []Change     `json:"changes"`     // most important first
		Flows       []FlowChange `json:"flows"`       // by what they were made for
		NotCompared []Gap        `json:"notCompared"` // what one side or both lack
	}

	// A Change is a row, or a thing of a node, that only one state has or that differs.
	Change struct {
		Group    Group    `json:"group"`
		Change   Sign     `json:"change"`
		Kind     string   `json:"kind"` // "port", "route"
		Name     string   `json:"name"`
		On       string   `json:"on,omitempty"`    // what holds it, "switch node1"
		Owner    string   `json:"owner,omitempty"` // its name in the CMS, "NetworkPolicy shop/web"
		Node     string   `json:"node,omitempty"`
		Zone     string   `json:"zone,omitempty"`
		Database string   `json:"database,omitempty"`
		Table    string   `json:"table,omitempty"`
		UUIDA    string   `json:"uuidA,omitempty"`
		UUIDB    string   `json:"uuidB,omitempty"`
		Columns  []Column `json:"columns"`

		id string // the name, without what is added if only one side has it
	}

	// A Column is a column, or a key of one, in both states.
	Column struct {
		Name    string   `json:"name"`             // "chassis", "options:requested-chassis"
		A       string   `json:"a,omitempty"`      // absent: no value
		B       string   `json:"b,omitempty"`      //
		Added   []string `json:"added,omitzero"`   // for a column with several values: those that only B has
		Removed []string `json:"removed,omitzero"` // those that only A has
		Terms   []Term   `json:"terms,omitempty"`  // for a match: the conditions that differ
	}

	// A Term is a condition in a match, or the value that a field is compared with.
	Term struct {
		Name string `json:"name,omitempty"` // the field, with the operator unless it is ==; absent: a whole condition
		A    string `json:"a,omitempty"`
		B    string `json:"b,omitempty"`
	}

	// A FlowChange is the difference between the flows made for one thing.
	FlowChange struct {
		For     string        `json:"for"`             // what they were made for; empty if unknown, or if only for themselves
		Owner   string        `json:"owner,omitempty"` // of a row that they were made for, as for a Change
		Node    string        `json:"node,omitempty"`  // absent: logical flows
		Bridge  string        `json:"bridge,omitempty"`
		Zone    string        `json:"zone,omitempty"` // of logical flows, if there are several
		Stages  []string      `json:"stages"`
		Added   int           `json:"added"`
		Removed int           `json:"removed"`
		Changed int           `json:"changed"` // the same match with different actions
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
		Datapath string `json:"datapath,omitempty"` // for a logical flow
	}

	// A Gap is something that was not compared.
	Gap struct {
		What string `json:"what"`
		Why  string `json:"why"`
	}
)

// A Sign is how something differs.
type Sign string

// Values of Sign.
const (
	Added   Sign = "added"   // only B has it
	Removed Sign = "removed" // only A has it
	Changed Sign = "changed"
)

// A Group is a part of a deployment, as people look for differences.
type Group string

// Values of Group, in order of importance.
const (
	Nodes         Group = "nodes"         // chassis, and what is each node's own
	Bindings      Group = "bindings"      // which chassis has which port
	Configuration Group = "configuration" // the Northbound
	Learned       Group = "learned"       // learned neighbours, addresses and routes
	Derived       Group = "derived"       // what ovn-northd and the chassis derive from the others
	LogicalFlows  Group = "logical-flows"
	OpenFlow      Group = "openflow"
)

// Groups are all groups in order.
var Groups = []Group{Nodes, Bindings, Configuration, Learned, Derived, LogicalFlows, OpenFlow}
