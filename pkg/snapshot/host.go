package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/held"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Host is one reachable machine: a node, or one with databases.
type Host struct {
	Name     string // as in Cluster
	SystemID string // Chassis.name; empty if it is no chassis
	Local    bool   // ovnctl runs on it

	d       *Deployment
	node    *cluster.Node
	memo    once
	central bool     // it runs only databases
	silent  sync.Map // daemons that did not reply in time, by name
	before  *Host    // the host in the first sample if this is the second; else nil
}

// ErrNoSwitch means that a host has no Open vSwitch and needs none: it runs only databases.
var ErrNoSwitch = errors.New("no Open vSwitch: this host runs only OVN's databases")

// Central reports whether the host runs only OVN's databases, without Open vSwitch.
func (h *Host) Central() bool { return h.central }

// Deployment returns the host's sample.
func (h *Host) Deployment() *Deployment { return h.d }

// Node returns the host itself, for repairs and for what no method here reads.
func (h *Host) Node() node.Host { return h.node.Host }

// OVSDB returns the host's Open_vSwitch database itself.
func (h *Host) OVSDB() (ovsdb.Reader, error) {
	return Distil(h, "", func() (ovsdb.Reader, error) {
		if h.central {
			return nil, fmt.Errorf("%s: %w", h.Name, ErrNoSwitch)
		}
		h.d.cluster.Gather(h.d.ctx, h.node)
		if h.node.Vswitch() == nil {
			return nil, fmt.Errorf("the Open_vSwitch database of %s was not read", h.Name)
		}
		return h.node.Vswitch(), nil
	})
}

// Switch reads the host's Open_vSwitch database. While ovs-vswitchd does not reply (Daemon), its Interface rows are
// outdated.
func (h *Host) Switch() (*Switch, error) {
	rows, err := read(&h.memo, question{what: "switch"}, func() (*held.Value[Switch], error) {
		db, err := h.OVSDB()
		if err != nil {
			return nil, err
		}
		return hold(db, func() (*Switch, error) {
			var s Switch
			return &s, ovsdb.Load(h.d.ctx, db, &s)
		})
	})
	if err != nil {
		return nil, err
	}
	return rows.Get()
}

// hold loads a value from a source. It is loaded again later if the source then says the same: a server, or a kernel, does not.
func hold[T any](source any, load func() (*T, error)) (*held.Value[T], error) {
	first, err := load()
	if err != nil {
		return nil, err
	}
	if !held.Stays(source) {
		load = nil
	}
	return held.New(first, load), nil
}

// Network returns the kernel's view of the host.
func (h *Host) Network() (*node.Network, error) {
	network, err := read(&h.memo, question{what: "network"}, func() (*held.Value[node.Network], error) {
		return hold(h.node.Host, func() (*node.Network, error) { return h.node.Host.Network(h.d.ctx) })
	})
	if err != nil {
		return nil, err
	}
	return network.Get()
}

// Pod reads the network namespace at the other end of a veth.
func (h *Host) Pod(link string) (*node.PodNet, error) {
	return read(&h.memo, question{"pod", link}, func() (*node.PodNet, error) { return h.node.Host.Pod(h.d.ctx, link) })
}

// Flows returns the flow table of a bridge.
func (h *Host) Flows(bridge string) ([]openflow.FlowEntry, error) {
	return dump[openflow.FlowEntry](h, bridge, node.Flows)
}

// plainFlows is the command that has ovs-vswitchd print flows.
const plainFlows = "bridge/dump-flows"

// PlainFlows returns a bridge's flows as printed by ovs-vswitchd itself, without cookies and timeouts: a fraction of
// the work of Flows, which starts a process. They include Open vSwitch's hidden flows. For a capture without them it
// is Flows.
func (h *Host) PlainFlows(bridge string) ([]openflow.FlowEntry, error) {
	return Derive(h, bridge, func() ([]openflow.FlowEntry, error) {
		text, err := h.Control("ovs-vswitchd", plainFlows, bridge)
		if errors.Is(err, node.ErrUnavailable) {
			return h.Flows(bridge)
		}
		if err != nil {
			return nil, err
		}
		return entriesOf[openflow.FlowEntry](text, fmt.Sprintf("%s: flows of bridge %s", h.Name, bridge))
	})
}

// Forget drops what was read of a host and is not distilled, but for its databases and network, which the paths between hosts are made of. With
// hundreds of hosts that is most of what is held. Who asks again reads again.
func (h *Host) Forget() {
	h.memo.forget(func(key any) bool {
		switch k := key.(type) {
		case question:
			return !slices.Contains([]string{"switch", "network", "database"}, k.what)
		case derived:
			return !k.stays
		}
		return false
	})
}

// Groups returns the group table of a bridge.
func (h *Host) Groups(bridge string) ([]openflow.GroupEntry, error) {
	return dump[openflow.GroupEntry](h, bridge, node.Groups)
}

// OpenFlowPorts returns the OpenFlow ports of a bridge.
func (h *Host) OpenFlowPorts(bridge string) ([]openflow.PortDesc, error) {
	return dump[openflow.PortDesc](h, bridge, node.Ports)
}

func dump[E openflow.Entry](h *Host, bridge string, kind node.DumpKind) ([]E, error) {
	return read(&h.memo, question{"dump", string(kind) + " " + bridge}, func() ([]E, error) {
		text, err := h.ask("ovs-vswitchd", func(ctx context.Context) (string, error) { return h.node.Host.Dump(ctx, bridge, kind) })
		if _, silent := errors.AsType[silentError](err); silent || errors.Is(err, ErrNotRunning) {
			return nil, fmt.Errorf("%s of bridge %s: %w", kind, bridge, err)
		}
		if err != nil {
			return nil, err
		}
		return entriesOf[E](text, fmt.Sprintf("%s: %s of bridge %s", h.Name, kind, bridge))
	})
}

// entriesOf parses the entries of one kind in a dump; what names the dump.
func entriesOf[E openflow.Entry](text, what string) ([]E, error) {
	parsed, err := openflow.ParseDump(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	entries := make([]E, 0, len(parsed))
	for _, e := range parsed {
		if e, ok := e.(E); ok {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// File returns a file below the host's root, at most 16 MiB. A missing one is fs.ErrNotExist.
func (h *Host) File(path string) ([]byte, error) {
	return read(&h.memo, question{"file", path}, func() ([]byte, error) { return h.node.Host.ReadFile(h.d.ctx, path) })
}

// OptionalFile is File, but returns nil without an error if the file does not exist.
func (h *Host) OptionalFile(path string) ([]byte, error) {
	text, err := h.File(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// Dirs returns the directories of the host's daemons, as paths on the host.
func (h *Host) Dirs() node.Dirs {
	d, _ := Distil(h, "", func() (node.Dirs, error) { return h.node.Host.Dirs(h.d.ctx) })
	return d
}

// Log returns the end of a daemon's log, at most the last MiB in whole lines. The daemon's name is the file name
// without ".log": "ovs-vswitchd", "ovsdb-server", "ovn-controller", "ovn-northd", "ovsdb-server-nb",
// "ovsdb-server-sb".
func (h *Host) Log(daemon string) (string, error) {
	return read(&h.memo, question{"log", daemon}, func() (string, error) { return h.node.Host.Log(h.d.ctx, daemon) })
}

// Glob returns the paths on the host that match a path.Match pattern, sorted.
func (h *Host) Glob(pattern string) ([]string, error) {
	return read(&h.memo, question{"glob", pattern}, func() ([]string, error) { return h.node.Host.Glob(h.d.ctx, pattern) })
}

// Processes returns the processes of Open vSwitch and OVN, by pid.
func (h *Host) Processes() ([]node.Process, error) {
	return read(&h.memo, question{what: "processes"}, func() ([]node.Process, error) { return h.node.Host.Processes(h.d.ctx) })
}

// Space returns the space of the file system that contains a path.
func (h *Host) Space(path string) (node.Space, error) {
	return read(&h.memo, question{"space", path}, func() (node.Space, error) { return h.node.Host.Space(h.d.ctx, path) })
}

// Unit returns a systemd unit. If systemd is not PID 1 the error is node.ErrUnavailable.
func (h *Host) Unit(name string) (node.Unit, error) {
	return read(&h.memo, question{"unit", name}, func() (node.Unit, error) { return h.node.Host.Unit(h.d.ctx, name) })
}

// Features returns the offloads of a link, by their `ethtool -k` names.
func (h *Host) Features(link string) (map[string]bool, error) {
	return read(&h.memo, question{"features", link}, func() (map[string]bool, error) { return h.node.Host.Features(h.d.ctx, link) })
}
