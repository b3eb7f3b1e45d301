package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

type recorder struct {
	Host
	dir string

	mu  sync.Mutex
	err error // the first file that could not be written
}

// Recorder is h, and what h answers is written into dir so that Offline gives
// the same answers. Secrets are not written. That a file cannot be written
// changes no answer: RecordingError tells.
func Recorder(h Host, dir string) Host { return &recorder{Host: h, dir: dir} }

// RecordingError is why the recording of a host is incomplete; nil for a host
// that is not recorded.
func RecordingError(h Host) error {
	r, ok := h.(*recorder)
	if !ok {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// RecordingName is the name of a node's directory in a recording.
func RecordingName(node string) string { return safeName(node) }

// keep writes a file that is whole or not there at all.
func (r *recorder) keep(name string, b []byte) {
	if err := writeAtomic(filepath.Join(r.dir, filepath.FromSlash(name)), b); err != nil {
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

func (r *recorder) keepJSON(name string, v any) {
	b, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		r.lost(err)
		return
	}
	r.keep(name, append(b, '\n'))
}

func writeAtomic(name string, b []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(b); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// A backuper can give its whole Open_vSwitch database as a file.
type backuper interface {
	backup(ctx context.Context) (name string, b []byte, err error)
}

func (r *recorder) Vswitch(ctx context.Context) (ovsdb.Reader, error) {
	db, err := r.Host.Vswitch(ctx)
	if err != nil {
		return nil, err
	}
	b, ok := r.Host.(backuper)
	if !ok {
		r.lost(errors.New("its Open_vSwitch database cannot be saved from here"))
		return db, nil
	}
	if name, text, err := b.backup(ctx); err != nil {
		r.lost(err)
	} else {
		r.keep(name, text)
	}
	return db, nil
}

func (r *recorder) Control(ctx context.Context, daemon, command string, args ...string) (string, error) {
	reply, err := r.Host.Control(ctx, daemon, command, args...)
	refusal, refused := errors.AsType[*ControlError](err)
	text := reply
	if refused {
		text = refusal.Text
	}
	if err == nil || refused {
		line := request(daemon, command, args) + "\n"
		r.keep(controlFile(daemon, command, args, refused), append([]byte(line), hideText([]byte(text))...))
	}
	return reply, err
}

func (r *recorder) Dump(ctx context.Context, bridge string, kind DumpKind) (string, error) {
	text, err := r.Host.Dump(ctx, bridge, kind)
	if err == nil {
		r.keep(dumpFile(bridge, kind), hideText([]byte(text)))
	}
	return text, err
}

func (r *recorder) Network(ctx context.Context) (*Network, error) {
	n, err := r.Host.Network(ctx)
	if err == nil {
		r.keepJSON(networkFile, n)
	}
	return n, err
}

func (r *recorder) Route(ctx context.Context, q RouteQuery) (*Route, error) {
	route, err := r.Host.Route(ctx, q)
	if err == nil {
		r.keepJSON(routeFile("route", q), savedRoute{q, route})
	}
	return route, err
}

func (r *recorder) NAT(ctx context.Context) ([]NATRule, error) {
	rules, err := r.Host.NAT(ctx)
	if err == nil {
		r.keepJSON(natFile, rules)
	}
	return rules, err
}

func (r *recorder) ReadFile(ctx context.Context, name string) ([]byte, error) {
	b, err := r.Host.ReadFile(ctx, name)
	if err == nil {
		r.keep(hostFile(name), hideFile(b))
	}
	return b, err
}

func (r *recorder) Pod(ctx context.Context, link string) (*PodNet, error) {
	pod, err := r.Host.Pod(ctx, link)
	if err != nil {
		return nil, err
	}
	r.keepJSON(podFile(link), pod)
	recorded := *pod
	recorded.route = func(ctx context.Context, q RouteQuery) (*Route, error) {
		route, err := pod.route(ctx, q)
		if err == nil {
			r.keepJSON(routeFile(podRoutes(link), q), savedRoute{q, route})
		}
		return route, err
	}
	return &recorded, nil
}
