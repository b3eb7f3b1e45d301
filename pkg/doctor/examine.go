package doctor

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/probe"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Report is what the checks found.
type Report struct {
	Findings []Finding `json:"findings"` // the worst first; then in the order of the checks
	Passed   []string  `json:"passed"`   // checks that were decided and found nothing
}

// Examine runs checks concurrently on one snapshot. It calls done as each check ends, one at a time; done may be nil.
func Examine(d *snapshot.Deployment, checks []*Check, done func(*Check, []Finding)) Report {
	return (*Gathering)(nil).Examine(d, checks, done)
}

// Examine is [Examine] for what Gather left to do.
func (g *Gathering) Examine(d *snapshot.Deployment, checks []*Check, done func(*Check, []Finding)) Report {
	begin(d, checks)
	passes := make([]*Pass, len(checks))
	var wg sync.WaitGroup
	var telling sync.Mutex
	for i, c := range checks {
		hosts, before := g.rest(d, c)
		passes[i] = &Pass{Deployment: d, Check: c, outcome: before}
		wg.Go(func() {
			passes[i].run(hosts)
			if done != nil {
				telling.Lock()
				defer telling.Unlock()
				done(c, passes[i].Findings)
			}
		})
	}
	wg.Wait()
	r := Report{Findings: []Finding{}, Passed: []string{}}
	var found []Finding
	for i, p := range passes {
		if len(p.Findings) == 0 {
			r.Passed = append(r.Passed, checks[i].Name)
		}
		found = append(found, p.Findings...)
	}
	r.Findings = append(r.Findings, explain(found, checks)...)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.Worst().weight(), b.Worst().weight()) })
	return r
}

// begin starts the slowest reads.
func begin(d *snapshot.Deployment, checks []*Check) {
	for _, c := range checks {
		if c.Begin != nil {
			c.Begin(d)
		}
	}
	if needGround(d, checks) {
		go func() { _, _ = GroundOf(d) }()
	}
}

// run has the check judge hosts and the rest. A check that fails has an unknown result, and the others go on.
func (p *Pass) run(hosts []*snapshot.Host) {
	found, err := p.judge(hosts, true)
	if err == nil && p.Check.Settle {
		err = p.settle(found)
	}
	if err != nil {
		p.Findings = nil
		p.Unknown(Object{}, err)
	}
	switch {
	case len(p.Findings) > 0:
	case !p.applied && p.nowhere != "":
		p.Skip(p.nowhere)
	case p.noOVN:
		p.Skip(snapshot.ErrNoOVN.Error())
	case p.noSwitch && !slices.ContainsFunc(p.Hosts, func(h *snapshot.Host) bool { return !h.Central() }):
		p.Skip("no Open vSwitch here: this host runs OVN's databases alone")
	}
}

// weight orders results, the worst first.
func (r Result) weight() int { return slices.Index([]Result{Error, Warning, Unknown, Skipped, OK}, r) }

// AtLeast reports whether a result is as bad as another, or worse.
func (r Result) AtLeast(other Result) bool { return r.weight() <= other.weight() }

// Fault reports whether something is wrong, not just unknown.
func (r Result) Fault() bool { return r == Error || r == Warning }

// Worst returns the worst result of a finding and its consequences.
func (f *Finding) Worst() Result { return worst(f.Result, f.Consequences) }

// worst returns the worst result of findings and their consequences, at least the one that is given.
func worst(least Result, findings []Finding) Result {
	for i := range findings {
		if w := findings[i].Worst(); !least.AtLeast(w) {
			least = w
		}
	}
	return least
}

// Faults returns the findings that are faults, each before its consequences.
func (r *Report) Faults() []Finding { return faults(r.Findings) }

func faults(findings []Finding) []Finding {
	var all []Finding
	for _, f := range findings {
		if f.Result.Fault() {
			all = append(all, f)
		}
		all = append(all, faults(f.Consequences)...)
	}
	return all
}

// Worst returns the worst result of a report, OK if nothing was found.
func (r *Report) Worst() Result { return worst(OK, r.Findings) }

// A Document is the JSON and YAML form of what the checks found.
type Document struct {
	document.Envelope
	Report
	// Commands are the classic commands that show the same, with --show-commands.
	Commands []string    `json:"commands,omitempty"`
	Fixes    []fixes.Fix `json:"fixes,omitempty"` // what --fix did before this report
	// Groups and Nodes are the faults by cause and by node, with --all-nodes.
	Groups []Group      `json:"groups,omitzero"`
	Nodes  []NodeResult `json:"nodes,omitzero"`
	// Tunnels is what became of packets that the nodes sent each other, with --send.
	Tunnels *probe.Mesh `json:"tunnels,omitzero"`
	// Stats is what was read, with --stats.
	Stats *Stats `json:"stats,omitzero"`
}

// Stats are timings of a report.
type Stats struct {
	Took  time.Duration   `json:"took"`  // from the first read to the last check, in nanoseconds
	Reads []snapshot.Read `json:"reads"` // the slowest first
}
