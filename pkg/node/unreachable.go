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

// Unreachable is a host that cannot be read; every call returns the reason.
func Unreachable(name string, reason error) Host { return unreachable{name, reason} }

func (u unreachable) Name() string   { return u.name }
func (u unreachable) Origin() string { return "" }

func (u unreachable) fail() error { return fmt.Errorf("node %s: %w", u.name, u.err) }

func (u unreachable) Vswitch(context.Context) (ovsdb.Reader, error) { return nil, u.fail() }
func (u unreachable) Control(context.Context, string, string, ...string) (string, error) {
	return "", u.fail()
}
func (u unreachable) Dump(context.Context, string, DumpKind) (string, error)    { return "", u.fail() }
func (u unreachable) Network(context.Context) (*Network, error)                 { return nil, u.fail() }
func (u unreachable) Route(context.Context, RouteQuery) (*Route, error)         { return nil, u.fail() }
func (u unreachable) ReadFile(context.Context, string) ([]byte, error)          { return nil, u.fail() }
func (u unreachable) Pod(context.Context, string) (*PodNet, error)              { return nil, u.fail() }
func (u unreachable) Dirs(context.Context) (Dirs, error)                        { return Dirs{}, u.fail() }
func (u unreachable) Daemons(context.Context) ([]Daemon, error)                 { return nil, u.fail() }
func (u unreachable) Log(context.Context, string) (string, error)               { return "", u.fail() }
func (u unreachable) Glob(context.Context, string) ([]string, error)            { return nil, u.fail() }
func (u unreachable) Processes(context.Context) ([]Process, error)              { return nil, u.fail() }
func (u unreachable) Space(context.Context, string) (Space, error)              { return Space{}, u.fail() }
func (u unreachable) Unit(context.Context, string) (Unit, error)                { return Unit{}, u.fail() }
func (u unreachable) Features(context.Context, string) (map[string]bool, error) { return nil, u.fail() }
func (u unreachable) Firewall(context.Context) ([]Chain, error)                 { return nil, u.fail() }
func (u unreachable) Sockets(context.Context) ([]Socket, error)                 { return nil, u.fail() }
