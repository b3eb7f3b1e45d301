package node

import (
	"context"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

type unreachable struct {
	name string
	err  error
}

// Unreachable is a host of which nothing can be read, for a reason that
// every answer repeats.
func Unreachable(name string, reason error) Host { return unreachable{name, reason} }

func (u unreachable) Name() string   { return u.name }
func (u unreachable) Origin() string { return "" }

func (u unreachable) fail() error { return fmt.Errorf("node %s: %w", u.name, u.err) }

func (u unreachable) Vswitch(context.Context) (ovsdb.Reader, error) { return nil, u.fail() }

func (u unreachable) Control(context.Context, string, string, ...string) (string, error) {
	return "", u.fail()
}

func (u unreachable) Dump(context.Context, string, DumpKind) (string, error) { return "", u.fail() }

func (u unreachable) Network(context.Context) (*Network, error) { return nil, u.fail() }

func (u unreachable) Route(context.Context, RouteQuery) (*Route, error) { return nil, u.fail() }

func (u unreachable) NAT(context.Context) ([]NATRule, error) { return nil, u.fail() }

func (u unreachable) ReadFile(context.Context, string) ([]byte, error) { return nil, u.fail() }

func (u unreachable) Pod(context.Context, string) (*PodNet, error) { return nil, u.fail() }
