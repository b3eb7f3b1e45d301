package doctor

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A judgement is what a check found on one host, or with a nil host in the rest.
type judgement struct {
	host     *snapshot.Host
	findings []Finding
	outcome
}

// fleeting reports whether there is a fault that may pass.
func (j *judgement) fleeting() bool {
	return slices.ContainsFunc(j.findings, func(f Finding) bool { return f.Result.Fault() && !f.Lasting })
}

// clean reports whether nothing was found, and nothing is unknown.
func (j *judgement) clean() bool {
	return !slices.ContainsFunc(j.findings, func(f Finding) bool { return f.Result != Skipped })
}

// onHost has a check judge one host.
func onHost(d *snapshot.Deployment, c *Check, h *snapshot.Host) (j judgement, err error) {
	p := &Pass{Deployment: d, Check: c}
	err = guarded(func() { c.Host(p, h) })
	return judgement{h, p.Findings, p.outcome}, err
}

// guarded calls f, and returns its panic as an error: input may be damaged, and a check that fails must not end the others.
func guarded(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the check itself failed: %v", r)
		}
	}()
	f()
	return nil
}

// judge has the check judge hosts side by side, and then the rest.
func (p *Pass) judge(hosts []*snapshot.Host, rest bool) (all []judgement, err error) {
	if p.Check.Host != nil {
		all = make([]judgement, len(hosts))
		errs := make([]error, len(hosts))
		p.SideBySide(len(hosts), func(i int) { all[i], errs[i] = onHost(p.Deployment, p.Check, hosts[i]) })
		for i := range all {
			if errs[i] != nil {
				return nil, errs[i]
			}
		}
	}
	p.take(all)
	if rest && p.Check.Run != nil {
		before := len(p.Findings)
		if err := guarded(func() { p.Check.Run(p) }); err != nil {
			return nil, err
		}
		all = append(all, judgement{findings: slices.Clone(p.Findings[before:])})
	}
	return all, nil
}

// take adds judgements to the findings. A fault that is seen on two hosts, such as a port with an interface on both, is one.
func (p *Pass) take(all []judgement) {
	for _, j := range all {
		before := p.Findings
		for _, f := range j.findings {
			if !slices.ContainsFunc(before, func(b Finding) bool { return b.ID() == f.ID() && b.Result == f.Result }) {
				p.Findings = append(p.Findings, f)
			}
		}
		p.outcome = p.and(j.outcome)
	}
}

// settle drops faults that are not found again some seconds later. There is no second look where the first found no fault,
// or only lasting ones.
func (p *Pass) settle(first []judgement) error {
	var hosts []string
	rest := false
	for _, j := range first {
		switch {
		case !j.fleeting():
		case j.host == nil:
			rest = true
		default:
			hosts = append(hosts, j.host.Name)
		}
	}
	if len(hosts) == 0 && !rest {
		return nil
	}
	later, err := p.Again()
	if err != nil {
		return err
	}
	second := &Pass{Deployment: later, Check: p.Check}
	if rest {
		gatherAgain(later, p.Check)
	}
	again, err := second.judge(slices.DeleteFunc(slices.Clone(later.Hosts), func(h *snapshot.Host) bool { return !slices.Contains(hosts, h.Name) }), rest)
	if err != nil {
		return err
	}
	p.Findings, p.outcome = nil, p.and(second.outcome)
	settled := make([]judgement, len(first))
	for i, j := range first {
		settled[i] = j
		if k := slices.IndexFunc(again, func(a judgement) bool { return sameHost(a.host, j.host) }); j.fleeting() {
			settled[i].findings = nil
			if k >= 0 {
				settled[i].findings = bothTimes(j.findings, again[k].findings)
			}
		}
	}
	p.take(settled)
	return nil
}

// sameHost reports whether two samples of a host are of the same one; nil is the rest.
func sameHost(a, b *snapshot.Host) bool {
	return a == b || a != nil && b != nil && a.Name == b.Name
}

// bothTimes returns what a second look found of what the first did, and the lasting faults of the first.
func bothTimes(first, second []Finding) []Finding {
	before, again := map[ID]bool{}, map[ID]bool{}
	for i := range first {
		before[first[i].ID()] = true
	}
	both := slices.DeleteFunc(second, func(f Finding) bool {
		return !before[f.ID()] && (f.Result.Fault() || f.Reason == NeedsSample) // the second look takes no samples
	})
	for i := range both {
		again[both[i].ID()] = true
	}
	for _, f := range first {
		if f.Lasting && !again[f.ID()] {
			both = append(both, f)
		}
	}
	return both
}
