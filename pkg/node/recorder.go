package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// A Keeper stores a recorded host's replies. Its methods may be called concurrently.
type Keeper interface {
	// Keep saves a file under its name in the node's directory, whole or not at all; what describes the reply.
	Keep(name, what string, content []byte) error
	// Miss notes a request without a reply.
	Miss(what string, err error)
}

type recorder struct {
	Host
	keeper Keeper

	mu  sync.Mutex
	err error // the first file that could not be kept
}

// Recorder returns h with its replies kept, without secrets, so that Offline gives the same. A file that cannot be
// written changes no reply: see RecordingError.
func Recorder(h Host, k Keeper) Host { return &recorder{Host: h, keeper: k} }

// RecordingError is why a host's recording is incomplete; nil for a host that is not recorded.
func RecordingError(h Host) error {
	r, ok := h.(*recorder)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// keep saves a reply, or notes why there is none.
func (r *recorder) keep(name, what string, b []byte, err error) {
	if err != nil {
		r.keeper.Miss(what, err)
		return
	}
	if err := r.keeper.Keep(name, what, b); err != nil {
		r.lost(err)
	}
}

func (r *recorder) lost(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = fmt.Errorf("node %s: recording is incomplete: %w", r.Name(), err)
	}
}

func (r *recorder) keepJSON(name, what string, v any, err error) {
	b, jerr := json.MarshalIndent(v, "", "\t")
	if jerr != nil {
		r.lost(jerr)
		return
	}
	r.keep(name, what, append(secret.Text(b), '\n'), err)
}

// A backuper can save its whole Open_vSwitch database as a file.
type backuper interface {
	backup(ctx context.Context) (name string, b []byte, err error)
}

func (r *recorder) Vswitch(ctx context.Context) (ovsdb.Reader, error) {
	const what = "Open_vSwitch"
	db, err := r.Host.Vswitch(ctx)
	if err != nil {
		r.keeper.Miss(what, err)
		return nil, err
	}
	b, ok := r.Host.(backuper)
	if !ok {
		r.lost(errors.New("its Open_vSwitch database cannot be saved from here"))
		return db, nil
	}
	name, text, err := b.backup(ctx)
	if err != nil {
		r.lost(err)
	}
	r.keep(name, what, text, err)
	return db, nil
}

func (r *recorder) Control(ctx context.Context, daemon, command string, args ...string) (string, error) {
	reply, err := r.Host.Control(ctx, daemon, command, args...)
	refusal, refused := errors.AsType[*ControlError](err)
	text, failed := reply, err
	if refused {
		text, failed = refusal.Text, nil
	}
	line := archive.Request(daemon, command, args) + "\n"
	what := daemon + " " + strings.Join(append([]string{command}, args...), " ")
	r.keep(controlFile(daemon, command, args, refused), what, secret.Text([]byte(line+text)), failed)
	return reply, err
}

func (r *recorder) Dump(ctx context.Context, bridge string, kind DumpKind) (string, error) {
	text, err := r.Host.Dump(ctx, bridge, kind)
	r.keep(dumpFile(bridge, kind), string(kind)+" of bridge "+bridge, secret.Text([]byte(text)), err)
	return text, err
}

func (r *recorder) Network(ctx context.Context) (*Network, error) {
	n, err := r.Host.Network(ctx)
	r.keepJSON(networkFile, "links, addresses, routes, rules and neighbours", n, err)
	return n, err
}

func (r *recorder) Route(ctx context.Context, q RouteQuery) (*Route, error) {
	route, err := r.Host.Route(ctx, q)
	r.keepJSON(routeFile("route", q), "ip route get "+q.String(), savedRoute{q, route}, err)
	return route, err
}

func (r *recorder) ReadFile(ctx context.Context, name string) ([]byte, error) {
	b, err := r.Host.ReadFile(ctx, name)
	r.keepFile(archive.HostFile(name), "file "+name, withoutSecrets(b), err)
	return b, err
}

// keepFile saves a file of the host, or that it is known not to exist.
func (r *recorder) keepFile(saved, what string, b []byte, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		saved, b, err = absentFile(saved), nil, nil
	}
	r.keep(saved, what, b, err)
}

func (r *recorder) Pod(ctx context.Context, link string) (*PodNet, error) {
	pod, err := r.Host.Pod(ctx, link)
	r.keepJSON(podFile(link), "network of the pod behind "+link, pod, err)
	if err != nil {
		return nil, err
	}
	recorded := *pod
	recorded.route = func(ctx context.Context, q RouteQuery) (*Route, error) {
		route, err := pod.route(ctx, q)
		r.keepJSON(routeFile(podRoutes(link), q), "ip route get "+q.String()+" behind "+link, savedRoute{q, route}, err)
		return route, err
	}
	return &recorded, nil
}

func (r *recorder) Dirs(ctx context.Context) (Dirs, error) {
	d, err := r.Host.Dirs(ctx)
	r.keepJSON(dirsFile, "directories of the daemons", d, err)
	return d, err
}

func (r *recorder) Daemons(ctx context.Context) ([]Daemon, error) {
	list, err := r.Host.Daemons(ctx)
	r.keepJSON(daemonsFile, "daemons", emptyNotNull(list), err)
	return list, err
}

func (r *recorder) Log(ctx context.Context, daemon string) (string, error) {
	text, err := r.Host.Log(ctx, daemon)
	r.keepFile(logFile(daemon), "log of "+daemon, withoutSecrets([]byte(text)), err)
	return text, err
}

func (r *recorder) Glob(ctx context.Context, pattern string) ([]string, error) {
	paths, err := r.Host.Glob(ctx, pattern)
	r.keepJSON(globFile(pattern), "names that match "+pattern, savedGlob{pattern, paths}, err)
	return paths, err
}

func (r *recorder) Processes(ctx context.Context) ([]Process, error) {
	list, err := r.Host.Processes(ctx)
	r.keepJSON(processesFile, "processes", withoutSecretArgs(list), err)
	return list, err
}

func (r *recorder) Firewall(ctx context.Context) ([]Chain, error) {
	chains, err := r.Host.Firewall(ctx)
	r.keepJSON(firewallFile, "packet filter", emptyNotNull(chains), err)
	return chains, err
}

func (r *recorder) Sockets(ctx context.Context) ([]Socket, error) {
	sockets, err := r.Host.Sockets(ctx)
	r.keepJSON(socketsFile, "sockets that receive packets", emptyNotNull(sockets), err)
	return sockets, err
}

func (r *recorder) Space(ctx context.Context, name string) (Space, error) {
	s, err := r.Host.Space(ctx, name)
	r.keepJSON(spaceFile(name), "room below "+name, savedSpace{name, s}, err)
	return s, err
}

func (r *recorder) Unit(ctx context.Context, name string) (Unit, error) {
	u, err := r.Host.Unit(ctx, name)
	r.keepJSON(unitFile(name), "service "+name, u, err)
	return u, err
}

func (r *recorder) Features(ctx context.Context, link string) (map[string]bool, error) {
	features, err := r.Host.Features(ctx, link)
	r.keepJSON(featuresFile(link), "offloads of "+link, savedFeatures{link, features}, err)
	return features, err
}
