package journey

// A Disagreement is where what a node has is not what the databases say, on the path of a packet.
type Disagreement struct {
	Kind     DisagreementKind `json:"kind"`
	Node     string           `json:"node"`     // empty of the databases themselves
	Datapath string           `json:"datapath"` // logical switch or router; empty where it is of none
	Stage    string           `json:"stage"`    // logical stage, or the table's part in OVN's OpenFlow; empty where it is of none
	Row      string           `json:"row"`      // that is not followed: "Logical_Flow 1f4a9c02"; empty where there is none
	Flow     string           `json:"flow"`     // the flow that is not the row's, as ovs-ofctl prints it; empty where there is none
	Sentence string           `json:"sentence"`
	Repair   string           `json:"repair"` // the command that repairs it, filled in, and where it is to be run
}

// A DisagreementKind says how a node and the databases disagree.
type DisagreementKind string

// The kinds of disagreements.
const (
	MissingFlow      DisagreementKind = "missing-flow"
	ExtraFlow        DisagreementKind = "extra-flow"
	EditedFlow       DisagreementKind = "edited-flow"
	StaleMACBinding  DisagreementKind = "stale-mac-binding"
	ControllerBehind DisagreementKind = "controller-behind" // ovn-controller has not made flows of what is in the Southbound
	NorthdBehind     DisagreementKind = "northd-behind"     // ovn-northd has not made logical flows of what is in the Northbound
)
