package ovn

// Steps and changes come by the hundreds, so those of a path share memory. Most visits take no more steps once a visit
// below them takes its first, so their steps are contiguous.

// memory holds the steps and changes of a path.
type memory struct {
	steps   []Step // of the visit that takes steps, followed by free space
	owner   *Visit
	changes []Change
}

// Sizes for a packet from a pod to a pod on another node.
const (
	stepsTogether   = 128
	leastSteps      = 12 // of an egress pipeline
	changesTogether = 96
)

// claim gives a visit space for its steps.
func (m *memory) claim(v *Visit) {
	if o := m.owner; o != nil {
		taken := len(o.Steps)
		o.Steps = o.Steps[:taken:taken]
		m.steps = m.steps[min(taken, cap(m.steps)):cap(m.steps)]
	}
	if cap(m.steps) < leastSteps {
		m.steps = make([]Step, 0, stepsTogether)
	}
	m.owner, v.Steps = v, m.steps[:0]
}

// keep appends a change to a step's changes.
func (m *memory) keep(of []Change, c Change) []Change {
	n := len(of)
	if n == 0 || &of[n-1] != &m.changes[len(m.changes)-1] {
		return m.begin(of, c)
	}
	m.changes = append(m.changes, c)
	return m.changes[len(m.changes)-n-1 : len(m.changes) : len(m.changes)]
}

// begin appends a change to a step's changes if they are not the last ones kept.
func (m *memory) begin(of []Change, c Change) []Change {
	if len(of) > 0 {
		return append(of, c)
	}
	if m.changes == nil {
		m.changes = make([]Change, 0, changesTogether)
	}
	m.changes = append(m.changes, c)
	return m.changes[len(m.changes)-1 : len(m.changes) : len(m.changes)]
}
