package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
)

const (
	// largest is the largest size that an IP header can tell.
	largest = 65535
	// steps is how many sizes are tried at once: 65535 take four rounds.
	steps = 20
)

// A sweep is what trying sizes found.
type sweep struct {
	fits  int // the largest size that came through
	fails int // the smallest above it that did not; 0 if the sender's link takes none larger
}

// sizes finds the largest packet that comes through, between one that did and the largest that there is. Sizes are sent
// in rounds, each between what fitted and what did not in the one before.
func (r *run) sizes(ctx context.Context, s node.Sending, out *outgoing) sweep {
	low, high := r.packet.Size, largest+1
	sizes := map[int]int{} // by index
	for high-low > 1 {
		first := out.count
		s.Packets = nil
		step := (high-low-1)/(steps+1) + 1
		for size := low + step; size < high; size += step {
			sizes[out.count] = size
			s.Packets = append(s.Packets, r.packet.sized(out.count, size))
			out.count++
		}
		err := r.nodes[r.trace.Request.From.Node].prober.Send(ctx, s)
		if err != nil && !errors.Is(err, node.ErrNotSent) {
			out.err = err
			return sweep{}
		}
		sleep(ctx, grace)
		r.await(ctx, patience/2, func() bool {
			for i := first; i < out.count; i++ {
				if r.left(i) && !r.came(i) {
					return false
				}
			}
			return true
		})
		for i := first; i < out.count; i++ {
			if r.came(i) {
				low = max(low, sizes[i])
			}
		}
		for i := first; i < out.count; i++ {
			if sizes[i] > low {
				high = min(high, sizes[i])
			}
		}
		if ctx.Err() != nil {
			return sweep{}
		}
	}
	found := sweep{fits: low}
	shown := map[int]bool{}
	for i, size := range sizes {
		if size == high && r.left(i) {
			found.fails, shown[i] = size, true
		}
	}
	if found.fails == 0 {
		for i, size := range sizes {
			shown[i] = size == low
		}
		if !slices.Contains(slices.Collect(maps.Values(sizes)), low) {
			return found // the first packet was the largest
		}
	}
	r.packet.Size = max(found.fits, found.fails)
	r.only(shown)
	return found
}

// only keeps what was seen of some packets.
func (r *run) only(shown map[int]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = slices.DeleteFunc(r.seen, func(s sighting) bool { return !shown[s.sight.index] })
}

// left reports whether a packet left the sender; true, too, where that is not watched.
func (r *run) left(index int) bool {
	return r.any(index, func(places []journey.Watchpoint) (journey.Watchpoint, bool) { return places[0], true })
}

// came reports whether a packet came through: echoes as far as back again, others to the destination, for their replies are
// small.
func (r *run) came(index int) bool {
	return r.any(index, func(places []journey.Watchpoint) (journey.Watchpoint, bool) {
		for _, p := range slices.Backward(places) {
			if p.Reply == (r.packet.Protocol == "icmp") && r.unwatched(p) == "" {
				return p, true
			}
		}
		return journey.Watchpoint{}, false
	})
}

// any reports whether a packet was seen at a place of any path, or that place is not watched.
func (r *run) any(index int, place func([]journey.Watchpoint) (journey.Watchpoint, bool)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.paths {
		if len(p.watchpoints) == 0 {
			continue
		}
		w, ok := place(p.watchpoints)
		if !ok {
			continue
		}
		if r.unwatched(w) != "" || slices.ContainsFunc(r.seen, func(s sighting) bool { return s.sight.index == index && s.sight.what <= reply && at(w, s) }) {
			return true
		}
	}
	return false
}

// describe words what trying sizes found.
func (s sweep) describe(sent *journey.Sent, verdict journey.Verdict) {
	if s.fits == 0 {
		return
	}
	sent.PathMTU = s.fits
	sent.Agrees = verdict.Outcome == journey.Delivered // as small ones are
	through := fmt.Sprintf("packets of up to %d bytes come through", s.fits)
	switch {
	case s.fails == 0:
		sent.Sentence = through + ", and the sender's link takes none larger"
	case sent.Result == journey.Refused:
		sent.Result, sent.Missing = journey.Answered, -1
		sent.Sentence = through + ": of a larger one an ICMP error tells the sender"
	default:
		sent.Sentence = fmt.Sprintf("%s, and of one of %d bytes: %s", through, s.fails, sent.Sentence)
	}
}
