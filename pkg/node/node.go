package node

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// ErrUnavailable means that a source lacks what was requested: a saved directory without the file, a host without
// the tool. The wrapping error names what would provide it.
var ErrUnavailable = errors.New("not in this source")

func unavailable(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrUnavailable)
}

// A DumpKind names an OpenFlow table of a bridge that ovs-ofctl(8) prints; its text is what a saved directory
// holds.
type DumpKind string

// The tables a Host can dump.
const (
	TLVMap DumpKind = "tlv-map" // dump-tlv-map: Geneve options and their tun_metadata fields
	Flows  DumpKind = "flows"   // dump-flows
	Groups DumpKind = "groups"  // dump-groups
	Ports  DumpKind = "ports"   // dump-ports-desc
	Meters DumpKind = "meters"  // dump-meters
)

// A Host is a node (or network namespace) that runs Open vSwitch. Its methods may be called concurrently; each
// ends with the context or the host's own deadline, whichever is first.
type Host interface {
	// Name is Chassis.hostname, the system-id, or "local".
	Name() string
	// Origin is where the replies come from, for display: "local", "node-exec: ssh node1", "saved/node1".
	Origin() string
	// Vswitch opens the host's Open_vSwitch database. The caller closes it.
	Vswitch(ctx context.Context) (ovsdb.Reader, error)
	// Control sends a command to a daemon's control socket (ovs-appctl(8)). Daemons are "ovs-vswitchd",
	// "ovsdb-server", "ovn-controller", "ovn-northd", "ovnnb_db", "ovnsb_db". A daemon's refusal is a
	// *ControlError. Each daemon gets one command at a time.
	Control(ctx context.Context, daemon, command string, args ...string) (string, error)
	// Dump is an OpenFlow table of a bridge as ovs-ofctl(8) prints it with the highest protocol version the
	// bridge speaks.
	Dump(ctx context.Context, bridge string, kind DumpKind) (string, error)
	// Network is the kernel's view: links, addresses, routes of all tables,
	// rules, neighbours and the forwarding settings. Callers share it and must not change it.
	Network(ctx context.Context) (*Network, error)
	// Route asks the kernel where it would send a packet. Blackhole,
	// unreachable, prohibit and "none" are results, not errors.
	Route(ctx context.Context, q RouteQuery) (*Route, error)
	// ReadFile reads a file of at most 16 MiB below the host's root. /proc and /sys are the kernel's; /proc/net
	// and /proc/sys/net are those of the host's own network.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// Pod reads the network namespace at the other end of a veth.
	Pod(ctx context.Context, link string) (*PodNet, error)
	System
}

// A RouteQuery is a packet whose route the kernel is asked for. Only Dst is required. With Iif, the packet arrives
// there; without, the host sends it.
type RouteQuery struct {
	Dst  netip.Addr `json:"dst"`
	Src  netip.Addr `json:"src,omitzero"`
	Iif  string     `json:"iif,omitempty"`
	Mark uint32     `json:"mark,omitempty"`

	traffic *Traffic
}

// Traffic is what rules may ask about a packet beside its addresses, ip-rule(8).
type Traffic struct {
	Protocol         uint8
	SrcPort, DstPort uint16 // of TCP, UDP and SCTP
}

func (q RouteQuery) check() error {
	switch {
	case !q.Dst.IsValid():
		return errors.New("route lookup: no destination")
	case q.Dst.Zone() != "" || q.Src.Zone() != "":
		return fmt.Errorf("route lookup for %s: address with a zone", q.Dst)
	case q.Src.IsValid() && q.Src.Is4() != q.Dst.Is4():
		return fmt.Errorf("route lookup for %s from %s: two address families", q.Dst, q.Src)
	case q.Iif != "" && !validLink(q.Iif):
		return fmt.Errorf("route lookup for %s: %q is not an interface name", q.Dst, q.Iif)
	}
	return nil
}

// String is q in ip-route(8) get syntax.
func (q RouteQuery) String() string {
	s := q.Dst.String()
	if q.Src.IsValid() {
		s += " from " + q.Src.String()
	}
	if q.Iif != "" {
		s += " iif " + q.Iif
	}
	if q.Mark != 0 {
		s += fmt.Sprintf(" mark %#x", q.Mark)
	}
	return s
}
