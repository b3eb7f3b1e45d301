package node

// A queue is a queueing discipline, with those of its options by which it may drop a packet that comes alone.
type queue struct {
	kind  string
	limit *int // of pfifo in packets, of bfifo in bytes
	burst *int // of tbf, in bytes
	loses bool // netem loses all
}

// limit notes the size of the largest packet that a link's queueing discipline passes; nil: any.
func (n *Network) limit(link string, size *int) {
	if size == nil {
		return
	}
	if l := n.Link(link); l != nil {
		l.Passes = size
	}
}

// passes returns the size of the largest packet that passes, as [Link.Passes].
func (q queue) passes() *int {
	none := 0
	switch q.kind {
	case "blackhole":
		return &none
	case "netem":
		if q.loses {
			return &none
		}
	case "pfifo":
		if q.limit != nil && *q.limit == 0 {
			return &none
		}
	case "bfifo":
		return q.limit
	case "tbf":
		return q.burst
	}
	return nil
}
