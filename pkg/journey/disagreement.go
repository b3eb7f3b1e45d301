package journey

// A Disagreement is where a node's state differs from the databases, on the path of a packet.
type Disagreement struct {
	Kind     DisagreementKind `json:"kind"`
	Node     string           `json:"node"`     // empty for the databases themselves
	Datapath string           `json:"datapath"` // logical switch or router; empty if none
	Stage    string           `json:"stage"`    // logical stage, or the table's role in OVN's OpenFlow; empty if none
	Row      string           `json:"row"`      // that is not implemented: "Logical_Flow 1f4a9c02"; empty if none
	Flow     string           `json:"flow"`     // the flow that differs from the row, as ovs-ofctl prints it; empty if none
	Sentence string           `json:"sentence"`
	Repair   string           `json:"repair"` // the repair command, filled in, and where to run it
}

// A DisagreementKind is how a node and the databases disagree.
type DisagreementKind string

// Kinds of disagreements.
const (
	MissingFlow      DisagreementKind = "missing-flow"
	ExtraFlow        DisagreementKind = "extra-flow"
	EditedFlow       DisagreementKind = "edited-flow"
	StaleMACBinding  DisagreementKind = "stale-mac-binding"
	ControllerBehind DisagreementKind = "controller-behind" // ovn-controller has not installed flows for the current Southbound
	NorthdBehind     DisagreementKind = "northd-behind"     // ovn-northd has not made logical flows for the current Northbound
)
