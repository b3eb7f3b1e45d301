package ovsdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// stagger is the head start of each server over the next in the list.
	stagger = 250 * time.Millisecond
	// grace is how long to wait for others once an unsuitable server has replied: a follower where the leader is
	// wanted, or a member that is cut off.
	grace = time.Second
	// pause is the time between two queries of a cluster that may be electing.
	pause = 100 * time.Millisecond
)

// seek finds a server: the leader if wanted, else one in touch with its cluster, else one that is cut off.
// Servers are dialled in list order, that of avoid last.
func (c *Client) seek(ctx context.Context, avoid *session, leader bool) (*session, error) {
	remotes := slices.Clone(c.remotes)
	if avoid != nil {
		slices.SortStableFunc(remotes, func(a, b remote) int {
			return boolInt(a == avoid.remote) - boolInt(b == avoid.remote)
		})
	}
	began := time.Now()
	for {
		r := c.round(ctx, remotes, leader)
		switch {
		case r.found != nil:
			return r.found, nil
		case r.spare == nil:
			return nil, c.unreached(r.errs)
		case leader && len(remotes) == 1 && r.spare.state().Connected,
			leader && ctx.Err() != nil:
			r.spare.conn.close()
			return nil, c.unreached(append(r.errs, c.failure(r.spare.remote.text, ErrNoLeader)))
		case !leader && (time.Since(began) > grace || len(remotes) == 1 || ctx.Err() != nil):
			return r.spare, nil
		}
		r.spare.conn.close()
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return nil, c.unreached(append(r.errs, c.failure(r.spare.remote.text, ErrNoLeader)))
		}
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// round is the result of asking every server once.
type round struct {
	found *session // what was wanted
	spare *session // the best of the others
	errs  []*Error
}

type attempt struct {
	remote  remote
	session *session
	err     error
}

// round dials the servers in turn, stagger apart or as soon as one has failed, until a suitable one is found.
func (c *Client) round(ctx context.Context, remotes []remote, leader bool) round {
	ctx, done := c.first(ctx)
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var r round
	index := 0
	attempts := make(chan attempt)
	started, pending := 0, 0
	start := func() {
		if started == len(remotes) {
			return
		}
		remote := remotes[started]
		started++
		pending++
		go func() {
			s, err := c.open(ctx, remote)
			attempts <- attempt{remote, s, err}
		}()
	}
	start()
	next := time.NewTicker(stagger)
	defer next.Stop()
	var late <-chan time.Time
	for pending > 0 || started < len(remotes) {
		select {
		case <-next.C:
			start()
			continue
		case <-late:
			cancel()
			started = len(remotes)
			late = nil
			continue
		case a := <-attempts:
			pending--
			switch {
			case a.err != nil:
				r.errs = append(r.errs, c.failure(a.remote.text, a.err))
			case r.found == nil && a.session.suits(leader):
				r.found = a.session
				cancel()
				started = len(remotes)
			case r.found == nil:
				index = max(index, a.session.state().Index)
				r.keep(a.session)
				late = time.After(grace)
			default:
				a.session.conn.close()
			}
			start()
		}
	}
	if r.found != nil && r.spare != nil {
		r.spare.conn.close()
		r.spare = nil
	}
	if r.spare != nil {
		r.spare.lag(index)
	}
	return r
}

// keep makes s the spare if it is better than the current one: in touch, then newer.
func (r *round) keep(s *session) {
	if r.spare == nil {
		r.spare = s
		return
	}
	old, now := r.spare.state(), s.state()
	if now.Connected && !old.Connected || now.Connected == old.Connected && now.Index > old.Index {
		r.spare, s = s, r.spare
	}
	s.conn.close()
}

// unreached returns the error of a search that found no server.
func (c *Client) unreached(errs []*Error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	e := &Error{Database: c.config.DB, Remote: c.config.Remotes, Err: attempts(errs)}
	for _, one := range errs {
		if e.Hint == "" || errors.Is(one, ErrNoLeader) {
			e.Hint = one.Hint
		}
	}
	return e
}

// attempts are the errors of all servers of a list.
type attempts []*Error

func (a attempts) Error() string {
	texts := make([]string, len(a))
	for i, e := range a {
		texts[i] = fmt.Sprintf("%s: %v", e.Remote, e.Err)
	}
	return strings.Join(texts, "; ")
}

func (a attempts) Unwrap() []error {
	errs := make([]error, len(a))
	for i, e := range a {
		errs[i] = e
	}
	return errs
}
