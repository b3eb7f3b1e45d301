package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Host is one machine that can be asked: a node, or one with databases.
type Host struct {
	Name     string // as Cluster names it
	SystemID string // Chassis.name; empty: it is no chassis
	Local    bool   // ovnctl runs on it

	d       *Deployment
	node    *cluster.Node
	memo    once
	central bool     // it runs databases alone
	silent  sync.Map // daemons that did not answer in time, by name
	before  *Host    // in the look of which this is the second; nil: this is the first
}

// ErrNoSwitch says that a host has no Open vSwitch and is not meant to have one:
// it runs databases alone.
var ErrNoSwitch = errors.New("no Open vSwitch: this host runs only OVN's databases")

// Central says that the host runs OVN's databases alone, without an Open vSwitch.
func (h *Host) Central() bool { return h.central }

// Deployment is the look that the host is of.
func (h *Host) Deployment() *Deployment { return h.d }

// Node is the host itself, for repairs and for what no method here reads.
func (h *Host) Node() node.Host { return h.node.Host }

// OVSDB is the host's Open_vSwitch database itself.
func (h *Host) OVSDB() (ovsdb.Reader, error) {
	return Derive(h, "", func() (ovsdb.Reader, error) {
		if h.central {
			return nil, fmt.Errorf("%s: %w", h.Name, ErrNoSwitch)
		}
		h.d.cluster.Gather(h.d.ctx, h.node)
		if h.node.Vswitch == nil {
			return nil, fmt.Errorf("the Open_vSwitch database of %s was not read", h.Name)
		}
		return h.node.Vswitch, nil
	})
}

// Switch reads the host's Open_vSwitch database. While ovs-vswitchd does not
// answer (Daemon), its Interface rows are what it knew last.
func (h *Host) Switch() (*Switch, error) {
	return read(&h.memo, question{what: "switch"}, func() (*Switch, error) {
		db, err := h.OVSDB()
		if err != nil {
			return nil, err
		}
		var s Switch
		if err := ovsdb.Load(h.d.ctx, db, &s); err != nil {
			return nil, err
		}
		return &s, nil
	})
}

// Network is the kernel's view of the host.
func (h *Host) Network() (*node.Network, error) {
	return read(&h.memo, question{what: "network"}, func() (*node.Network, error) { return h.node.Host.Network(h.d.ctx) })
}

// Pod looks into the network namespace at the other end of a veth.
func (h *Host) Pod(link string) (*node.PodNet, error) {
	return read(&h.memo, question{"pod", link}, func() (*node.PodNet, error) { return h.node.Host.Pod(h.d.ctx, link) })
}

// NAT lists the host's own rules that may translate addresses.
func (h *Host) NAT() ([]node.NATRule, error) {
	return read(&h.memo, question{what: "nat"}, func() ([]node.NATRule, error) { return h.node.Host.NAT(h.d.ctx) })
}

// Flows is the flow table of a bridge.
func (h *Host) Flows(bridge string) ([]openflow.FlowEntry, error) {
	return dump[openflow.FlowEntry](h, bridge, node.Flows)
}

// PlainFlows are the flows of a bridge as ovs-vswitchd itself prints them, for who asks neither for cookies nor for
// timeouts: a fraction of the work of Flows, which starts a process. Flows that Open vSwitch keeps for itself are among
// them. Of saved data without them it is Flows.
func (h *Host) PlainFlows(bridge string) ([]openflow.FlowEntry, error) {
	return Derive(h, bridge, func() ([]openflow.FlowEntry, error) {
		text, err := h.Control("ovs-vswitchd", "bridge/dump-flows", bridge)
		if errors.Is(err, node.ErrUnavailable) {
			return h.Flows(bridge)
		}
		if err != nil {
			return nil, err
		}
		return entriesOf[openflow.FlowEntry](text, fmt.Sprintf("%s: flows of bridge %s", h.Name, bridge))
	})
}

// Groups is the group table of a bridge.
func (h *Host) Groups(bridge string) ([]openflow.GroupEntry, error) {
	return dump[openflow.GroupEntry](h, bridge, node.Groups)
}

// OpenFlowPorts are the ports of a bridge as OpenFlow has them.
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

// entriesOf reads the entries of a kind in a dump; what says which dump it is.
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

// File is a file below the host's root, of at most 16 MiB. One that does not
// exist is fs.ErrNotExist.
func (h *Host) File(path string) ([]byte, error) {
	return read(&h.memo, question{"file", path}, func() ([]byte, error) { return h.node.Host.ReadFile(h.d.ctx, path) })
}

// OptionalFile is File, and nil without an error where the file does not exist.
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

// Dirs are where the host's daemons keep things, as paths of the host.
func (h *Host) Dirs() node.Dirs {
	d, _ := Derive(h, "", func() (node.Dirs, error) { return h.node.Host.Dirs(h.d.ctx) })
	return d
}

// Log is the end of a daemon's log, at most the last MiB in whole lines. The
// daemon's name is that of its file without ".log": "ovs-vswitchd",
// "ovsdb-server", "ovn-controller", "ovn-northd", "ovsdb-server-nb", "ovsdb-server-sb".
func (h *Host) Log(daemon string) (string, error) {
	return read(&h.memo, question{"log", daemon}, func() (string, error) { return h.node.Host.Log(h.d.ctx, daemon) })
}

// Glob lists the paths of the host that match a pattern of path.Match, in order.
func (h *Host) Glob(pattern string) ([]string, error) {
	return read(&h.memo, question{"glob", pattern}, func() ([]string, error) { return h.node.Host.Glob(h.d.ctx, pattern) })
}

// Processes are those of Open vSwitch and OVN, by their pid.
func (h *Host) Processes() ([]node.Process, error) {
	return read(&h.memo, question{what: "processes"}, func() ([]node.Process, error) { return h.node.Host.Processes(h.d.ctx) })
}

// Space is the room of the file system that a path lies on.
func (h *Host) Space(path string) (node.Space, error) {
	return read(&h.memo, question{"space", path}, func() (node.Space, error) { return h.node.Host.Space(h.d.ctx, path) })
}

// Unit is a service as systemd has it. Where systemd is not PID 1 the error is
// node.ErrUnavailable.
func (h *Host) Unit(name string) (node.Unit, error) {
	return read(&h.memo, question{"unit", name}, func() (node.Unit, error) { return h.node.Host.Unit(h.d.ctx, name) })
}

// Features are the offloads of a link, as `ethtool -k` names them.
func (h *Host) Features(link string) (map[string]bool, error) {
	return read(&h.memo, question{"features", link}, func() (map[string]bool, error) { return h.node.Host.Features(h.d.ctx, link) })
}
