package ovsdb

import (
	"errors"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/decompress"
)

// An Error names the database that could not be read or written, where, and what to try next.
type Error struct {
	Database string // OVN_Southbound
	Remote   string // "unix:/run/ovn/ovnsb_db.sock", or the list that was tried
	Err      error
	Hint     string // the next step, empty if none is known
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at %s: %v", e.Database, e.Remote, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrUnknownOutcome is a write whose reply was lost: it may or may not have been applied. Read the rows back
	// before sending anything again.
	ErrUnknownOutcome = errors.New("the reply was lost, the change may have been made")
	// ErrNotServed is a server that does not have the database.
	ErrNotServed = errors.New("the server does not have this database")
	// ErrNoLeader means that no reachable member of the cluster leads.
	ErrNoLeader = errors.New("no server that replied is the cluster's leader")
	// ErrNoColumn is a condition on a column that the schema lacks.
	ErrNoColumn = errors.New("no such column")
	// ErrTooLarge is a reply or a record above the bound.
	ErrTooLarge = decompress.ErrTooLarge
	// ErrNoMemory is a reply or a row for which no memory is left.
	ErrNoMemory = fmt.Errorf("%w: the memory limit is reached", ErrTooLarge)
	// ErrNotJoined is the file of a server that has yet to join its cluster.
	ErrNotJoined = errors.New("the server has not joined its cluster yet and has no data; read the file of another member")
	// ErrClosed is a Client that has been closed.
	ErrClosed = errors.New("closed")
)

// errReplaced is a connection given up for a better one.
var errReplaced = errors.New("the connection was replaced")

// errLost is a broken connection; sent reports whether the request may have reached the server.
type errLost struct {
	err  error
	sent bool
}

func (e *errLost) Error() string { return e.err.Error() }
func (e *errLost) Unwrap() error { return e.err }
