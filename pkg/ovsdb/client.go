package ovsdb

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/memory"
)

// Config names a database, the servers that have it and how to reach them.
type Config struct {
	DB      string // OVN_Southbound
	Remotes string // comma list: unix:PATH, tcp:HOST:PORT, tcp:[V6]:PORT, ssl:HOST:PORT
	TLS     TLSFiles
	// Socket, if not nil, opens the unix sockets instead of this host's: those of the host On.
	Socket func(ctx context.Context, path string) (net.Conn, error)
	On     string
	// LeaderOnly makes reads use the cluster's leader, too; writes always do.
	LeaderOnly bool
	Timeout    time.Duration // bounds Dial and every Select and Transact; 0 means 10 s
	MaxReply   int           // bytes of one reply; 0 means 512 MiB
}

const (
	defaultTimeout  = 10 * time.Second
	defaultMaxReply = 512 << 20
)

// A Client reads and writes one database of one server or cluster. Its methods are safe for concurrent use.
type Client struct {
	config  Config
	remotes []remote
	tls     *tls.Config
	turns   string // their name

	seeking sync.Mutex // held while looking for a session

	mu      sync.Mutex // guards the fields below
	session *session
	retired []*session         // replaced, but with calls in progress
	stop    context.CancelFunc // ends a search in progress
	closed  bool
	missed  miss
}

// Dial connects to the first of the servers that replies and has the database.
// A member that is cut off from its cluster is taken only if no other replies.
// The error is an *Error.
func Dial(ctx context.Context, config Config) (*Client, error) {
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	if config.MaxReply <= 0 {
		config.MaxReply = defaultMaxReply
	}
	c := &Client{config: config, turns: turnOf(config)}
	var err error
	if c.remotes, err = parseRemotes(config.Remotes); err != nil {
		return nil, c.failure(config.Remotes, err)
	}
	if slices.ContainsFunc(c.remotes, func(r remote) bool { return r.scheme == "ssl" }) {
		if c.tls, err = config.TLS.config(); err != nil {
			return nil, c.failure(config.Remotes, err)
		}
	}
	for i := range c.remotes {
		c.remotes[i].on(config.On)
	}
	ctx, cancel := context.WithTimeout(ctx, config.Timeout)
	defer cancel()
	if _, err := c.reach(ctx, nil, config.LeaderOnly); err != nil {
		return nil, err
	}
	return c, nil
}

// Name returns the database's name.
func (c *Client) Name() string { return c.config.DB }

// Origin returns the remote in use; that of another host's socket ends with " on HOST".
func (c *Client) Origin() string { return c.current().remote.text }

// Version returns the version of the server's schema.
func (c *Client) Version() string { return c.current().schema.Version }

// Has reports whether the server's schema has the column, or the table if
// column is empty.
func (c *Client) Has(table, column string) bool { return c.current().schema.has(table, column) }

// Status returns that of the member last read.
func (c *Client) Status() Status { return c.current().state() }

// Close ends the connection; calls in progress return ErrClosed.
func (c *Client) Close() error {
	c.mu.Lock()
	open, stop := append(c.retired, c.session), c.stop
	c.retired = nil
	c.closed = true
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
	for _, s := range open {
		s.conn.close()
	}
	return nil
}

// current returns the session in use, which may be broken. Dial made the first.
func (c *Client) current() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Select fills the queries' rows. If the connection breaks, or the member turns out to be cut off from its
// cluster, it retries once elsewhere.
func (c *Client) Select(ctx context.Context, queries ...*Query) error {
	if memory.Left() <= 0 {
		return c.failure(c.Origin(), ErrNoMemory)
	}
	done, waited := c.turn(ctx)
	defer done()
	if err := c.missing(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	s, err := c.reach(ctx, nil, c.config.LeaderOnly)
	if err != nil {
		return err
	}
	if waited {
		s.breathe(ctx)
	}
	first, cancelFirst := c.first(ctx)
	defer cancelFirst()
	store, again, err := c.read(first, s, queries)
	if again && ctx.Err() == nil {
		if s, err = c.reach(ctx, s, c.config.LeaderOnly); err != nil {
			return err
		}
		store, _, err = c.read(ctx, s, queries)
	}
	if err != nil {
		return c.failure(s.remote.text, err)
	}
	store()
	return nil
}

// Alive returns nil if a server replies within the time limit: the one in use, or else one to which it connects anew.
func (c *Client) Alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	s, err := c.reach(ctx, nil, c.config.LeaderOnly)
	if err != nil {
		return err
	}
	echo, stop := context.WithTimeout(ctx, c.patience()) // a connection that was cut off says nothing for long
	defer stop()
	if _, err := s.conn.call(echo, "echo", []any{}); err == nil {
		return nil
	}
	_, err = c.reach(ctx, s, c.config.LeaderOnly)
	return err
}

// A miss is when no server replied in time, and how that reads.
type miss struct {
	at  time.Time
	err error
}

// patience is what a time limit leaves for an attempt before another one.
func (c *Client) patience() time.Duration { return c.config.Timeout / 3 }

// miss notes that no server replied, if it was given time.
func (c *Client) miss(began time.Time, err error) {
	if now := time.Now(); errors.Is(err, context.DeadlineExceeded) && now.Sub(began) >= c.patience() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.missed = miss{now, err}
	}
}

// missing returns why no server replied a moment ago: who reads many tables must not wait as often.
func (c *Client) missing() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.missed.at) < c.patience() {
		return c.missed.err
	}
	return nil
}

// first bounds the first attempt to leave time for another server.
func (c *Client) first(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if len(c.remotes) == 1 || !ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, time.Until(deadline)/2)
}

// read runs the queries on s. It returns the function that stores their rows, and whether to try another
// server. It asks for the member's cluster state after the rows: one that is cut off serves old rows without
// an error.
func (c *Client) read(ctx context.Context, s *session, queries []*Query) (store func(), again bool, err error) {
	was := s.suits(c.config.LeaderOnly)
	store, err = s.read(ctx, queries)
	var lost *errLost
	if errors.As(err, &lost) {
		return nil, !errors.Is(lost, ErrClosed), err
	}
	return store, err == nil && was && !s.suits(c.config.LeaderOnly), err
}

// reach returns the session in use, or finds another if that is broken, is the one to avoid, or is not the
// leader when a leader is needed.
func (c *Client) reach(ctx context.Context, avoid *session, leader bool) (*session, error) {
	c.seeking.Lock()
	defer c.seeking.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	s, closed := c.session, c.closed
	c.stop = cancel
	c.mu.Unlock()
	if closed {
		return nil, c.failure(c.config.Remotes, ErrClosed)
	}
	if s != nil && s != avoid && s.conn.cause() == nil && (!leader || s.suits(true)) {
		return s, nil
	}
	began := time.Now()
	found, err := c.seek(ctx, avoid, leader)
	if err != nil {
		if leader == c.config.LeaderOnly { // else another member may do for reading
			c.miss(began, err)
		}
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		found.conn.close()
		return nil, c.failure(c.config.Remotes, ErrClosed)
	}
	if s != nil {
		found.remember(s)
		c.retire(s)
	}
	c.session = found
	return found, nil
}

// retire closes a session once its calls have ended. Needs c.mu.
func (c *Client) retire(s *session) {
	s.conn.retire()
	c.retired = slices.DeleteFunc(append(c.retired, s), func(s *session) bool { return s.conn.cause() != nil })
}
