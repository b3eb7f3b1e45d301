package doctor

import (
	"errors"
	"iter"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Pass is one run of one check.
type Pass struct {
	*snapshot.Deployment

	Check    *Check
	Findings []Finding
	zone     string // the current zone, if there are several
	outcome
}

// An outcome is what a pass remembers beside its findings.
type outcome struct {
	noSwitch bool   // a host without Open vSwitch was skipped
	noOVN    bool   // an OVN database was skipped, as the deployment does not use OVN
	applied  bool   // the check applies to a host
	nowhere  string // why it does not apply to another
}

// and returns the outcome of both, whichever is first.
func (o outcome) and(other outcome) outcome {
	nowhere := o.nowhere
	if nowhere == "" || other.nowhere != "" && other.nowhere < nowhere {
		nowhere = other.nowhere
	}
	return outcome{o.noSwitch || other.noSwitch, o.noOVN || other.noOVN, o.applied || other.applied, nowhere}
}

// Applies notes whether the check applies to a host. If it applies to none and finds nothing, it is skipped with reason why.
func (p *Pass) Applies(applies bool, why string) {
	if p.applied = p.applied || applies; !applies {
		p.nowhere = why
	}
}

// Report adds a finding. It fills in the check and the zone, and the node of a repair that changes the finding's first
// one; without a Result the finding is an Error.
func (p *Pass) Report(f Finding) {
	f.Check, f.Zone = p.Check.Name, p.zone
	if f.Result == "" {
		f.Result = Error
	}
	if f.Fix != nil && f.Fix.Local && f.Fix.Node == "" {
		if nodes := f.Nodes(); len(nodes) > 0 {
			f.Fix.Node = nodes[0]
		}
	}
	p.Findings = append(p.Findings, f)
}

// Unknown reports that the check could not be decided for an object, with err as the reason.
//
// A host that only runs databases has no Open vSwitch to read, and a deployment of Open vSwitch alone has no OVN
// databases: neither is a finding.
func (p *Pass) Unknown(o Object, err error) {
	switch {
	case errors.Is(err, snapshot.ErrNoSwitch):
		p.noSwitch = true
	case errors.Is(err, snapshot.ErrNoOVN):
		p.noOVN = true
	default:
		p.Report(Finding{Result: Unknown, Object: o, Reason: unknownReason(err), Title: err.Error()})
	}
}

// Skip reports why the check does not apply here.
func (p *Pass) Skip(why string) {
	p.Report(Finding{Result: Skipped, Title: why})
}

// Need reads what a check requires. On failure it reports the object as unknown, and ok is false.
func Need[T any](p *Pass, o Object, read func() (T, error)) (value T, ok bool) {
	value, err := read()
	if err != nil {
		p.Unknown(o, err)
	}
	return value, err == nil
}

// EachZone yields the zones. Findings reported meanwhile belong to that zone.
func (p *Pass) EachZone() iter.Seq[*snapshot.Zone] {
	return func(yield func(*snapshot.Zone) bool) {
		defer func(outer string) { p.zone = outer }(p.zone)
		for _, z := range p.Zones {
			if len(p.Zones) > 1 {
				p.zone = z.Name
			}
			if !yield(z) {
				return
			}
		}
	}
}

// ZonesOf yields the zones whose databases a host may serve: its own, or any if it is in none.
func (p *Pass) ZonesOf(h *snapshot.Host) iter.Seq[*snapshot.Zone] {
	return func(yield func(*snapshot.Zone) bool) {
		own := h.Zone()
		for z := range p.EachZone() {
			if (own == nil || own == z) && !yield(z) {
				return
			}
		}
	}
}

// Own reports whether repairs that name a database mean that of a zone: the one that this host belongs to.
func (p *Pass) Own(z *snapshot.Zone) bool {
	if len(p.Zones) > 1 && p.Local() != nil {
		return z == p.Local().Zone()
	}
	return z == nil || z == p.Zones[0]
}

// Northbounds yields the zones whose Northbound can be read; the others' is reported as unknown.
func (p *Pass) Northbounds() iter.Seq2[*snapshot.Zone, *facts.Logical] {
	return zones(p, NorthboundObject, facts.LogicalOf)
}

// Southbounds yields the zones whose Southbound can be read; the others' is reported as unknown.
func (p *Pass) Southbounds() iter.Seq2[*snapshot.Zone, *snapshot.Southbound] {
	return zones(p, SouthboundObject, (*snapshot.Zone).Southbound)
}

// GivenSouthbounds is [Pass.Southbounds] for a check that is skipped if none was given.
func (p *Pass) GivenSouthbounds() iter.Seq2[*snapshot.Zone, *snapshot.Southbound] {
	if len(p.Zones) == 0 {
		p.Skip("no Southbound was given")
	}
	return p.Southbounds()
}

func zones[T any](p *Pass, o Object, read func(*snapshot.Zone) (*T, error)) iter.Seq2[*snapshot.Zone, *T] {
	return func(yield func(*snapshot.Zone, *T) bool) {
		for z := range p.EachZone() {
			rows, ok := Need(p, o, func() (*T, error) { return read(z) })
			if ok && !yield(z, rows) {
				return
			}
		}
	}
}

// On is the Host of a check that looks at something of a host, such as a daemon. If it applies to no host and nothing is unknown, the check is
// skipped with reason why.
func On[T any](why string, of func(*Pass, *snapshot.Host) (value *T, applies bool), look func(*Pass, *T)) func(*Pass, *snapshot.Host) {
	return func(p *Pass, h *snapshot.Host) {
		value, applies := of(p, h)
		if p.Applies(applies, why); value != nil {
			look(p, value)
		}
	}
}

// OnSwitch is the Host of a check that looks at a host's Open_vSwitch database. Other checks report that it cannot be read.
func OnSwitch(look func(*Pass, *snapshot.Host, *snapshot.Switch)) func(*Pass, *snapshot.Host) {
	return func(p *Pass, h *snapshot.Host) {
		if s, err := h.Switch(); err == nil {
			look(p, h, s)
		}
	}
}

// Each yields pointers to a table's rows, which are large.
func Each[T any](rows []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range rows {
			if !yield(&rows[i]) {
				return
			}
		}
	}
}

// Index maps keys to a table's rows.
func Index[K comparable, T any](rows []T, key func(*T) K) map[K]*T {
	all := make(map[K]*T, len(rows))
	for r := range Each(rows) {
		all[key(r)] = r
	}
	return all
}

// Over is the Run of a check that examines one thing after another.
func Over[T any](each func(*Pass) iter.Seq[T], look func(*Pass, T)) func(*Pass) {
	return func(p *Pass) {
		for x := range each(p) {
			look(p, x)
		}
	}
}

// Over2 is like [Over], with two values each.
func Over2[K, V any](each func(*Pass) iter.Seq2[K, V], look func(*Pass, K, V)) func(*Pass) {
	return func(p *Pass) {
		for k, v := range each(p) {
			look(p, k, v)
		}
	}
}

// Common reasons of Unknown findings.
const (
	NeedsSample  = "needs-sample" // two samples; the run took one
	NotInCapture = "not-in-capture"
	TooLarge     = "too-large" // more than may be read, such as than the memory limit
)

// unknownReason returns the Reason of what err left undetermined.
func unknownReason(err error) string {
	switch {
	case errors.Is(err, snapshot.ErrNoSample):
		return NeedsSample
	case errors.Is(err, snapshot.ErrUnavailable):
		return NotInCapture
	case errors.Is(err, ovsdb.ErrTooLarge):
		return TooLarge
	}
	return ""
}
