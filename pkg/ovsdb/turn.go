package ovsdb

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// A server answers one request at a time, and everybody else waits: ovn-northd, ovn-controllers, the CMS. Where several
// ovnctl ask one server at once, they take turns, so that others wait for one request and not for all of them.

// turns are those that this process has, by the server's name. Requests of one process share a turn.
var turns = struct {
	sync.Mutex
	held  map[string]*turn
	never bool // somebody keeps a turn for good
}{held: map[string]*turn{}}

type turn struct {
	lock  io.Closer
	users int
	since time.Time
	over  *time.Timer // ends a turn that nobody uses
}

// A request soon follows another, and to take a turn takes a tenth of a short one's time: a turn is kept for that long after a request,
// and given up after the first one that ends when it has lasted for mostKept.
const (
	kept     = 2 * time.Millisecond
	mostKept = 20 * time.Millisecond
)

// mostTurn is how long to wait for a turn, if the context allows twice that.
const mostTurn = 30 * time.Second

// turnOf is the name of the turns to ask a database.
func turnOf(c Config) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(c.Remotes+" "+c.DB)))[:32]
}

// turn waits for the turn to ask a server, or until it has waited long enough. waited reports whether others had it.
func (c *Client) turn(ctx context.Context) (done func(), waited bool) {
	limit := mostTurn
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	until := time.Now().Add(limit)
	for {
		if done = joinTurn(c.turns); done != nil {
			return done, waited
		}
		if time.Now().After(until) {
			turns.Lock()
			turns.never = true
			turns.Unlock()
		}
		waited = true
		select {
		case <-ctx.Done():
			return func() {}, waited
		case <-time.After(5*time.Millisecond + rand.N(20*time.Millisecond)):
		}
	}
}

// joinTurn takes the turn or shares it; nil if another process has it.
func joinTurn(name string) func() {
	turns.Lock()
	defer turns.Unlock()
	if turns.never {
		return func() {}
	}
	t := turns.held[name]
	if t == nil {
		lock, free := lockTurn(name)
		if !free {
			return nil
		}
		t = &turn{lock: lock, since: time.Now()}
		turns.held[name] = t
	}
	t.users++
	return func() {
		turns.Lock()
		defer turns.Unlock()
		if t.users--; t.users > 0 {
			return
		}
		if time.Since(t.since) >= mostKept {
			t.giveUp(name)
			return
		}
		if t.over != nil {
			t.over.Reset(kept)
			return
		}
		t.over = time.AfterFunc(kept, func() {
			turns.Lock()
			defer turns.Unlock()
			t.giveUp(name)
		})
	}
}

// giveUp ends a turn, unless it is in use or over.
func (t *turn) giveUp(name string) {
	if t.users == 0 && turns.held[name] == t {
		delete(turns.held, name)
		_ = t.lock.Close()
	}
}

// slow is an echo time that shows that a server is behind with its work, beyond that of the idle server.
const slow = 100 * time.Millisecond

// breathe gives a server that is behind the time that its echo took to catch up: others use it, too.
func (s *session) breathe(ctx context.Context) {
	start := time.Now()
	if _, err := s.conn.call(ctx, "echo", []any{}); err != nil {
		return // what follows says why
	}
	took := time.Since(start)
	if took < slow {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(took, time.Second)):
	}
}
