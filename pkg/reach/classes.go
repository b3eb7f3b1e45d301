package reach

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// Classes tell which senders fare alike, so that one of them is followed for all.
//
// Two workloads are of one class if, were they to change places with their names and addresses, the logical networks would stay
// what they are but for the port groups and address sets that they are in: they are on one switch and one chassis, and each
// mention of the one in a logical flow or a prefix has its like for the other. A workload of which that cannot be said is alone.
//
// What became of a packet from one of a class, and of its reply, becomes of those from another to the same receiver if both are in
// the same of those groups and sets that a lookup on the way rested on, and if no flow on the way names one of the two in its
// actions, as a load balancer's names its backends.
type Classes struct {
	of      map[string]int32 // by logical port; those that are alone have none
	numbers map[string]int32 // of the workloads, by logical port
	sets    map[string]int32 // numbers of the groups (@NAME) and sets ($NAME) that a workload is in
	members [][]member       // by a workload's number, ordered by set
	flows   map[ovsdb.UUID]naming
}

// A member is a set that a workload is in, by which of its names and addresses.
type member struct {
	set int32
	by  uint64
}

// naming is which workloads a logical flow names.
type naming struct {
	single  int32   // the only one in its match; several: none, or more than one
	foreign []int32 // others in its actions
	open    bool    // its actions may name any
}

// A Likeness is what a round trip rests on as far as its sender is concerned: other senders of its class that have it fare the same.
type Likeness struct {
	consulted []int32  // sets, ordered
	members   []member // the sender's among them
	except    []int32  // workloads that flows on the way name in their actions
}

// has reports whether a workload has it.
func (l *Likeness) has(number int32, members []member) bool {
	if slices.Contains(l.except, number) {
		return false
	}
	left := l.members
	for _, m := range members {
		if _, rests := slices.BinarySearch(l.consulted, m.set); !rests {
			continue
		}
		if len(left) == 0 || left[0] != m {
			return false
		}
		left = left[1:]
	}
	return len(left) == 0
}

// rest returns what round trips rest on, one for each choice on the way; nil if that cannot be said.
func (c *Classes) rest(ctx context.Context, from *topology.Port, rounds []*trace.Round) (*Likeness, error) {
	if c == nil || from == nil {
		return nil, nil
	}
	if _, ok := c.of[from.Name]; !ok {
		return nil, nil
	}
	l, even, sets := &Likeness{}, true, map[int32]bool{}
	var failed error
	see := func(name string) {
		if n, ok := c.sets[name]; ok {
			sets[n] = true
		}
	}
	for _, r := range rounds {
		even = r.Lookups(func(at trace.Lookup) {
			priority := -1
			if at.Flow != nil {
				n := c.flows[at.Flow.Row.UUID]
				priority, even, l.except = at.Flow.Row.Priority, even && !n.open, append(l.except, n.foreign...)
			}
			failed = cmp.Or(failed, at.Network.Consulted(ctx, at.Table, at.Packet, at.Resident, priority, from.Name, see))
		}) && even
		if !even || failed != nil {
			return nil, failed
		}
	}
	l.consulted = slices.Sorted(maps.Keys(sets))
	number := c.numbers[from.Name]
	for _, m := range c.members[number] {
		if sets[m.set] {
			l.members = append(l.members, m)
		}
	}
	if !l.has(number, c.members[number]) {
		return nil, nil // a flow names the sender
	}
	return l, nil
}

// sameCause reports whether what stops a round trip is the same row whichever workload of a class it is from: an ACL whose flow does
// not name the sender alone.
func (c *Classes) sameCause(from *topology.Port, r *trace.Round, stopped Cause) bool {
	_, end := r.Deciding()
	if stopped.Object == nil || stopped.Object.Kind != "ACL" || end == nil || len(end.Steps) == 0 {
		return false
	}
	for _, f := range []*logicalflow.Flow{end.Steps[len(end.Steps)-1].Flow, judging(end)} {
		if f == nil {
			continue
		}
		if n, ok := c.flows[f.Row.UUID]; ok && n.single == c.numbers[from.Name] {
			return false
		}
	}
	return true
}

// alike are the cells that were found for one sender of a class and are those of others, by class, receiver and question.
type alike struct {
	*Classes
	from                 []sender
	receivers, questions int
	known                []atomic.Pointer[[]answer]
}

// A sender is one that others are like.
type sender struct{ class, number int32 }

type answer struct {
	*Likeness
	cell uint32
}

// maxAnswers bounds the memory for answers.
const maxAnswers = 1 << 24

// between returns what senders of a plan have in common, nothing so far; nil if hardly any are like others.
func (c *Classes) between(p *Plan) *alike {
	if c == nil {
		return nil
	}
	a := &alike{Classes: c, receivers: len(p.to), questions: len(p.questions)}
	classes := map[int32]int32{}
	alone := 0
	for _, party := range p.from {
		s := sender{several, several}
		if port := party.match.Port; port != nil {
			if of, ok := c.of[port.Name]; ok {
				if _, ok := classes[of]; !ok {
					classes[of] = int32(len(classes))
				}
				s = sender{classes[of], c.numbers[port.Name]}
			}
		}
		if s.class == several {
			alone++
		}
		a.from = append(a.from, s)
	}
	n := len(classes) * a.receivers * a.questions
	if len(classes)+alone == len(p.from) || n > maxAnswers {
		return nil
	}
	a.known = make([]atomic.Pointer[[]answer], n)
	return a
}

func (a *alike) at(pair asked) (s sender, known *atomic.Pointer[[]answer]) {
	if s = a.from[pair.from]; s.class != several {
		known = &a.known[(int(s.class)*a.receivers+int(pair.to))*a.questions+int(pair.question)]
	}
	return s, known
}

// cell returns the cell of a pair, if it is known from another.
func (a *alike) cell(pair asked) (cell uint32, ok bool) {
	if a == nil {
		return notAsked, false
	}
	s, known := a.at(pair)
	if known == nil {
		return notAsked, false
	}
	if list := known.Load(); list != nil {
		for _, other := range *list {
			if other.has(s.number, a.members[s.number]) {
				return other.cell, true
			}
		}
	}
	return notAsked, false
}

// keep keeps the cell of a pair for others.
func (a *alike) keep(pair asked, l *Likeness, cell uint32) {
	if a == nil || l == nil {
		return
	}
	_, known := a.at(pair)
	for known != nil {
		old := known.Load()
		list := []answer{{l, cell}}
		if old != nil {
			list = append(list, *old...)
		}
		if known.CompareAndSwap(old, &list) {
			return
		}
	}
}
