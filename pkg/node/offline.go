package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// maxSaved bounds a saved reply, in bytes.
const maxSaved = 256 << 20

type offline struct {
	tree *archive.Tree
	dir  string
}

// Offline is a node saved as a directory of a tree. A missing file is ErrUnavailable.
func Offline(tree *archive.Tree, dir string) Host { return &offline{tree, dir} }

func (o *offline) Name() string   { return path.Base(o.dir) }
func (o *offline) Origin() string { return path.Join(o.tree.Path(), o.dir) }

// read reads a file; settle says how to get a missing one.
func (o *offline) read(name, settle string) ([]byte, error) {
	b, err := o.tree.ReadFile(path.Join(o.dir, name), maxSaved)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unavailable("%s: no such file, %s", path.Join(o.Origin(), name), settle)
	}
	return b, err
}

func (o *offline) readJSON(name, settle string, v any) error {
	b, err := o.read(name, settle)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", path.Join(o.Origin(), name), err)
	}
	return nil
}

func (o *offline) Vswitch(context.Context) (ovsdb.Reader, error) {
	name := path.Join(o.dir, confDB)
	f, err := o.tree.File(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.dump()
	}
	if err != nil {
		return nil, err
	}
	origin := path.Join(o.tree.Path(), name)
	db, err := ovsdb.ParseFile(origin, f)
	if err != nil {
		return nil, err
	}
	if db.Name() != "Open_vSwitch" {
		_ = db.Close()
		return nil, fmt.Errorf("%s: this is a database of %s", origin, db.Name())
	}
	return db, nil
}

func (o *offline) dump() (ovsdb.Reader, error) {
	name := path.Join(o.dir, confJSON)
	f, err := o.tree.File(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unavailable("%s: neither %s nor %s, save what `ovsdb-client backup` prints there as %[2]s", o.Origin(), confDB, confJSON)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	db, err := ovsdb.ParseDump("Open_vSwitch", path.Join(o.tree.Path(), name), f)
	if err != nil {
		return nil, err
	}
	return db, nil
}

func (o *offline) Control(_ context.Context, daemon, command string, args ...string) (string, error) {
	if err := checkControl(daemon, command, args); err != nil {
		return "", err
	}
	for _, refused := range []bool{false, true} {
		name := controlFile(daemon, command, args, refused)
		b, err := o.tree.ReadFile(path.Join(o.dir, name), maxSaved)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		first, reply, _ := strings.Cut(string(b), "\n")
		if first != archive.Request(daemon, command, args) {
			return "", fmt.Errorf("%s: the reply to another request, %.100s", path.Join(o.Origin(), name), first)
		}
		if refused {
			return "", &ControlError{Daemon: daemon, Command: command, Text: reply}
		}
		return reply, nil
	}
	return "", unavailable("%s: no saved reply of %s to %s, ask it there or record it with --record", o.Origin(), daemon, strings.Join(append([]string{command}, args...), " "))
}

func (o *offline) Dump(_ context.Context, bridge string, kind DumpKind) (string, error) {
	if err := checkDump(bridge, kind); err != nil {
		return "", err
	}
	b, err := o.read(dumpFile(bridge, kind), "save what `ovs-ofctl "+ofctlCommands.Get()[kind]+" "+bridge+"` prints there")
	return string(b), err
}

func (o *offline) Network(context.Context) (*Network, error) {
	n := &Network{}
	if err := o.readJSON(networkFile, "record it on the node with --record", n); err != nil {
		return nil, err
	}
	n.sort()
	return n, nil
}

func (o *offline) Route(ctx context.Context, q RouteQuery) (*Route, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	return o.route("route", q, func() (*Network, error) { return o.Network(ctx) })
}

// route is the saved reply to a lookup, else computed from the saved tables.
func (o *offline) route(dir string, q RouteQuery, tables func() (*Network, error)) (*Route, error) {
	r, err := o.savedRoute(dir, q)
	if !errors.Is(err, ErrUnavailable) {
		return r, err
	}
	n, nerr := tables()
	if nerr != nil {
		return nil, err
	}
	if r, lerr := n.lookup(q); lerr == nil {
		return r, nil
	}
	return nil, err
}

func (o *offline) savedRoute(dir string, q RouteQuery) (*Route, error) {
	var saved savedRoute
	name := routeFile(dir, q)
	if err := o.readJSON(name, "`ip route get "+q.String()+"` on the node tells", &saved); err != nil {
		return nil, err
	}
	if saved.Query != q || saved.Route == nil {
		return nil, fmt.Errorf("%s: the reply to another lookup, %s", path.Join(o.Origin(), name), saved.Query)
	}
	return saved.Route, nil
}

func (o *offline) ReadFile(_ context.Context, name string) ([]byte, error) {
	if o.tree.Has(path.Join(o.dir, absentFile(archive.HostFile(name)))) {
		return nil, fmt.Errorf("%s on %s: %w", name, o.Name(), fs.ErrNotExist)
	}
	return o.read(archive.HostFile(name), "copy "+name+" of the node there")
}

func (o *offline) Pod(_ context.Context, link string) (*PodNet, error) {
	pod := &PodNet{}
	if err := o.readJSON(podFile(link), "record it on the node with --record", pod); err != nil {
		return nil, fmt.Errorf("pod behind %s: %w", link, err)
	}
	if pod.Network == nil {
		return nil, fmt.Errorf("pod behind %s: %s: no network in it", link, path.Join(o.Origin(), podFile(link)))
	}
	pod.Network.sort()
	pod.route = func(_ context.Context, q RouteQuery) (*Route, error) {
		return o.route(podRoutes(link), q, func() (*Network, error) { return pod.Network, nil })
	}
	return pod, nil
}
