package doctor

import (
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Check looks for one fault.
type Check struct {
	Name     string // "bridge-ip-lost": flags, JSON, docs/checks/bridge-ip-lost.md
	Category string // "node-os", "ovs", "sb", …
	Doc      string // the title, which names the fault; then a paragraph
	// Causes are the checks whose findings explain this one's, on the same node
	// or object.
	Causes []string
	// CausesOn are findings that explain this check's only if both are about one object that is not a node.
	CausesOn []Kind
	// Sample is the minimum time between two samples of a counter; 0: one sample is enough.
	Sample time.Duration
	// Settle is for state that may be passing, such as a port being added: a fault is reported only if found again some
	// seconds later.
	Settle bool
	// Begin starts the slowest reads of Run before any check runs, without waiting; may be nil.
	Begin func(*snapshot.Deployment)
	// Ground: it follows packets beneath OVN by [GroundOf], which reads all hosts: that begins before any check runs.
	Ground bool
	// Flows: Host reads the flow table of the integration bridge, which is the largest thing that a host has.
	Flows bool
	// Host judges one host by that host and the databases alone, and is called for each: [Gather] calls it as it reads the
	// host. For what it reports it may look at others. May be nil.
	Host func(*Pass, *snapshot.Host)
	// Run judges the rest, databases and what is between hosts, once Host has judged them; nil if there is nothing.
	Run func(*Pass)
}

// A Kind is that of findings: what a check finds for one reason.
type Kind struct{ Check, Reason string }

// Title returns the first line of Doc.
func (c *Check) Title() string {
	title, _, _ := strings.Cut(c.Doc, "\n")
	return title
}

// A Result is the result of a check for an object.
type Result string

// Results, the worst first.
const (
	Error   Result = "error"
	Warning Result = "warning"
	Unknown Result = "unknown" // could not be determined; the title is the reason
	Skipped Result = "skipped" // does not apply here; the title is the reason
	OK      Result = "ok"
)

// A Finding is one fault that a check found, or why the check could not be decided.
type Finding struct {
	Check  string `json:"check"`
	Result Result `json:"result"`
	Object Object `json:"object"`
	// Reason distinguishes a check's findings about one object: a constant word such as "no-address". Check, Zone,
	// Object and Reason identify a finding; its texts may hold counters and change between samples.
	Reason string `json:"reason,omitempty"`
	// Zone is the zone of a logical object if several zones were read: names are unique only within a zone.
	Zone string `json:"zone,omitempty"`
	// Also are other objects that it concerns, including nodes. They link causes to consequences, and findings to the
	// objects that a person names.
	Also     []Object   `json:"also"`
	Title    string     `json:"title"` // what is seen, one sentence without period
	Evidence []Evidence `json:"evidence"`
	Cause    string     `json:"cause,omitempty"`
	Effect   string     `json:"effect,omitempty"` // what it breaks
	Next     string     `json:"next,omitempty"`   // what to do if no Fix does it: a command or a sentence
	// Fix repairs it; nil if there is only advice.
	Fix *fixes.Call `json:"fix,omitzero"`
	// Consequences are findings that this one explains.
	Consequences []Finding `json:"consequences"`

	// Chosen means that a user of the CMS wanted it so: it concerns only those who ask about the object.
	Chosen bool `json:"-"`
	// Lasting means that it was observed over seconds, so it need not settle.
	Lasting bool `json:"-"`
}

// An ID identifies a finding within a report.
type ID struct {
	Check  string
	Zone   string
	Object Object
	Reason string
}

// ID returns what stays the same when the fault is found again.
func (f *Finding) ID() ID { return ID{f.Check, f.Zone, f.Object, f.Reason} }

// Concern adds other objects that the finding concerns, skipping unnamed ones.
func (f *Finding) Concern(objects ...Object) {
	f.Also = append(f.Also, slices.DeleteFunc(objects, func(o Object) bool { return o.Name == "" })...)
}

// Show adds evidence that is not empty.
func (f *Finding) Show(evidence ...Evidence) {
	f.Evidence = append(f.Evidence, slices.DeleteFunc(evidence, func(e Evidence) bool { return e.Says == "" })...)
}
