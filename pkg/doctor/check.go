package doctor

import (
	"errors"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Check looks for one fault.
type Check struct {
	Name     string // "bridge-ip-lost": flags, JSON, docs/checks/bridge-ip-lost.md
	Category string // "node-os", "ovs", "sb", …
	Doc      string // the title: what is wrong when it finds something
	// Causes are the checks whose findings explain this one's, on the same node
	// or object.
	Causes []string
	// Sample is how far apart two looks at counters must be for it to tell; 0: it
	// needs one look.
	Sample time.Duration
	// Settle is for state that may be passing, such as a port that is being plugged: a fault is reported only if it is
	// found again some seconds later.
	Settle bool
	// Begin puts reading under way before any check runs, and does not wait: of what takes longest, and of what would wait
	// for an answer that does. nil: nothing does.
	Begin func(*snapshot.Deployment)
	Run   func(*Pass)
}

// Title is the first line of Doc.
func (c *Check) Title() string {
	title, _, _ := strings.Cut(c.Doc, "\n")
	return title
}

// A Result is what a check says of an object.
type Result string

// Results, the worst first.
const (
	Error   Result = "error"
	Warning Result = "warning"
	Unknown Result = "unknown" // could not tell, and why
	Skipped Result = "skipped" // cannot apply here, and why
	OK      Result = "ok"
)

// An Object is something a finding is about.
type Object struct {
	// Kind is a word of the field: "node", "bridge", "interface", "link", "file", "daemon",
	// "chassis", "switch", "router", "port" (logical), "load balancer", "ACL",
	// "port group", "MAC binding", "database", "tunnel", "zone".
	Kind string `json:"kind"`
	Name string `json:"name"`           // as an operator can paste it
	Node string `json:"node,omitempty"` // where it is, of what is on a node
}

// String is the object in words, "bridge br-ex on node1".
func (o Object) String() string {
	s := o.Kind + " " + o.Name
	if o.Node != "" && o.Kind != "node" {
		s += " on " + o.Node
	}
	return s
}

// A Finding is one fault as it was found, or that it could not be looked for.
type Finding struct {
	Check  string `json:"check"`
	Result Result `json:"result"`
	Object Object `json:"object"`
	// Reason tells apart what one check can find about one object: a constant word such as "no-address". Check,
	// Object and Reason identify a finding; its texts may hold counters and change from one sample to the next.
	Reason string `json:"reason,omitempty"`
	// Also are the other objects that it concerns, nodes among them: what ties
	// causes to consequences, and findings to the objects that a person names.
	Also     []Object   `json:"also"`
	Title    string     `json:"title"` // what is seen, one sentence without period
	Evidence []Evidence `json:"evidence"`
	Cause    string     `json:"cause,omitempty"`  // why it is so
	Effect   string     `json:"effect,omitempty"` // what it breaks
	Next     string     `json:"next,omitempty"`   // what to do, where no Fix does it: a command or a sentence
	// Fix mends it; nil: advice only.
	Fix *fixes.Call `json:"fix,omitzero"`
	// Consequences are findings that this one explains.
	Consequences []Finding `json:"consequences"`

	// Lasting says that it took seconds to be seen, so that settling adds nothing.
	Lasting bool `json:"-"`
}

// An ID identifies a finding within a report.
type ID struct {
	Check  string
	Object Object
	Reason string
}

// ID is what stays the same when the fault is found again.
func (f *Finding) ID() ID { return ID{f.Check, f.Object, f.Reason} }

// A Pass is one run of one check.
type Pass struct {
	*snapshot.Deployment

	Check    *Check
	Findings []Finding
	without  bool // a host was passed over that has no Open vSwitch
	plain    bool // a database of OVN was passed over that there is none of
}

// Report adds a finding. Its Check is filled in; without a Result it is an Error.
func (p *Pass) Report(f Finding) {
	f.Check = p.Check.Name
	if f.Result == "" {
		f.Result = Error
	}
	p.Findings = append(p.Findings, f)
}

// Unknown says that the check cannot tell of an object, because of err; what
// would settle it is in the error.
// A host that runs databases alone is passed over: it has no Open vSwitch to ask. So are the databases of
// OVN where Open vSwitch is used without it.
func (p *Pass) Unknown(o Object, err error) {
	switch {
	case errors.Is(err, snapshot.ErrNoSwitch):
		p.without = true
		return
	case errors.Is(err, snapshot.ErrNoOVN):
		p.plain = true
		return
	}
	p.Report(Finding{Result: Unknown, Object: o, Title: err.Error()})
}

// Skip says why the check cannot apply here.
func (p *Pass) Skip(why string) {
	p.Report(Finding{Result: Skipped, Title: why})
}
