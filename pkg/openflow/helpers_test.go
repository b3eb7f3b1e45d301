package openflow

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// String writes the dump as it was printed.
func (d Dump) String() string {
	var b strings.Builder
	for _, e := range d {
		switch e.(type) {
		case FlowEntry, GroupEntry, PortDesc:
			b.WriteByte(' ')
		}
		b.WriteString(e.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// ties returns all flows of a table that match p and have the same priority as
// one that Lookup finds. Which of several is found is nowhere defined.
func (c *Classifier) ties(table int, p *packet.Flow) []int {
	best, _ := c.Lookup(table, p, nil)
	if best < 0 {
		return nil
	}
	var list []int
	for _, tu := range c.tables[table].tuples {
		for m, at := tu.find(p); m != nil; m, at = tu.next(p, at) {
			if m.priority == c.flows[best].Priority {
				list = append(list, m.index)
			}
		}
	}
	return list
}

// ParseFlowEntry reads one line.
func ParseFlowEntry(line string) (FlowEntry, error) { return new(Reader).FlowEntry(line) }

var eventNames = [...]string{"step", "drop", "output", "controller", "recirculate", "commit", "group",
	"check-pkt-larger", "error", "warning", "unknown"}

// String returns the name of the kind.
func (k EventKind) String() string { return eventNames[k] }

var outputNames = [...]string{"port", "local", "patch", "native-tunnel", "kernel-tunnel", "normal", "flood", "table"}

// String returns the name of the kind.
func (k OutputKind) String() string { return outputNames[k] }

// Opcode returns the number that OVN puts in front of its user data.
func (c *ControllerEvent) Opcode() (opcode uint32, ok bool) {
	if len(c.Userdata) < 8 {
		return 0, false
	}
	return uint32(packet.FromBytes(c.Userdata[:4]).Lo), true
}

// Agrees reports whether the flow after execution is the one that the reply
// prints. A pass whose reply prints none, or with lines cut out, does not agree.
// The priority that a queue gives the packet is the datapath's secret.
func (r *Replayed) Agrees() bool {
	if r.Pass.Final == nil || r.Elided {
		return false
	}
	got, want := r.Final, *r.Pass.Final
	unhide(&want, &got)
	priority := &packet.SkbPriority
	want.Set(priority, got.Get(priority))
	return got.String() == want.String()
}
