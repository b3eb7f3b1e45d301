package ovsdb

import (
	"context"
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

// Config says which database of which servers to talk to, and how.
type Config struct {
	DB      string // OVN_Southbound
	Remotes string // comma list: unix:PATH, tcp:HOST:PORT, tcp:[V6]:PORT, ssl:HOST:PORT
	TLS     TLSFiles
	// LeaderOnly makes reads, too, come from the cluster's leader; writes
	// always go there.
	LeaderOnly bool
	Timeout    time.Duration // bounds Dial and every Select and Transact; 0 means 10 s
	MaxReply   int           // bytes of one reply; 0 means 512 MiB
}

const (
	defaultTimeout  = 10 * time.Second
	defaultMaxReply = 512 << 20
)

// A Client reads and writes one database of one server, or of the members of
// one cluster. Its methods may be called at the same time.
type Client struct {
	config  Config
	remotes []remote
	tls     *tls.Config

	mu      sync.Mutex // guards what follows
	session *session
	closed  bool

	dialing sync.Mutex // held while a new session is sought
}

// Dial connects to the first of the servers that answers and has the database.
// A member that is cut off from its cluster is taken only if no other answers.
// The error is an *Error.
func Dial(ctx context.Context, config Config) (*Client, error) {
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	if config.MaxReply <= 0 {
		config.MaxReply = defaultMaxReply
	}
	c := &Client{config: config}
	var err error
	if c.remotes, err = parseRemotes(config.Remotes); err != nil {
		return nil, c.error(config.Remotes, err)
	}
	if slices.ContainsFunc(c.remotes, func(r remote) bool { return r.scheme == "ssl" }) {
		if c.tls, err = config.TLS.config(); err != nil {
			return nil, c.error(config.Remotes, err)
		}
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

// Origin returns the remote in use, or the list while there is none.
func (c *Client) Origin() string {
	if s := c.current(); s != nil {
		return s.remote.text
	}
	return c.config.Remotes
}

// Version returns the version of the server's schema.
func (c *Client) Version() string {
	if s := c.current(); s != nil {
		return s.schema.Version
	}
	return ""
}

// Has reports whether the server's schema has the column, or the table if
// column is empty.
func (c *Client) Has(table, column string) bool {
	s := c.current()
	return s != nil && s.schema.has(table, column)
}

// Status tells of the member that was read last.
func (c *Client) Status() Status {
	s := c.current()
	if s == nil {
		return Status{}
	}
	return s.state()
}

// Close ends the connection.
func (c *Client) Close() error {
	c.mu.Lock()
	s := c.session
	c.closed = true
	c.mu.Unlock()
	if s != nil {
		s.conn.close()
	}
	return nil
}

func (c *Client) current() *session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Select fills the queries' rows. When the connection breaks, or the member
// turns out to be cut off from its cluster, it is tried once more elsewhere.
func (c *Client) Select(ctx context.Context, queries ...*Query) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	s, err := c.reach(ctx, nil, c.config.LeaderOnly)
	if err != nil {
		return err
	}
	err = c.read(ctx, s, queries)
	var lost *errLost
	if errors.As(err, &lost) && ctx.Err() == nil {
		if s, err = c.reach(ctx, s, c.config.LeaderOnly); err != nil {
			return err
		}
		err = c.read(ctx, s, queries)
	}
	if err != nil {
		return c.error(s.remote.text, err)
	}
	return nil
}

func (c *Client) read(ctx context.Context, s *session, queries []*Query) error {
	return s.read(ctx, queries)
}

// reach returns the session in use, or another if that is broken or is the one
// to avoid.
func (c *Client) reach(ctx context.Context, avoid *session, leader bool) (*session, error) {
	c.dialing.Lock()
	defer c.dialing.Unlock()
	c.mu.Lock()
	s, closed := c.session, c.closed
	c.mu.Unlock()
	if closed {
		return nil, c.error(c.config.Remotes, ErrClosed)
	}
	if s != nil && s != avoid && s.conn.cause() == nil {
		return s, nil
	}
	s, err := c.seek(ctx, avoid, leader)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	old := c.session
	c.session, closed = s, c.closed
	c.mu.Unlock()
	if old != nil {
		old.conn.close()
	}
	if closed {
		s.conn.close()
		return nil, c.error(c.config.Remotes, ErrClosed)
	}
	return s, nil
}

func (c *Client) error(remote string, err error) error {
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	return &Error{Database: c.config.DB, Remote: strings.TrimSpace(remote), Err: err, Hint: hint(err)}
}
