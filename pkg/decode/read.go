package decode

import (
	"cmp"
	"context"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/held"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// A Host provides what a node knows of its numbers besides its database.
type Host interface {
	// TLVMap returns the tunnel options of a bridge, as ovs-ofctl dump-tlv-map prints them.
	TLVMap(ctx context.Context, bridge string) (string, error)
	// ControllerVersion returns ovn-controller's reply to the version command, empty if it does not reply soon.
	ControllerVersion(ctx context.Context) string
}

// Read returns the decoder of a node, from its zone's databases and its own, read concurrently. Each may be nil;
// without a node's database, its host is not asked.
func Read(ctx context.Context, north, south, vswitch ovsdb.Reader, host Host) (*Decoder, error) {
	d := &Decoder{}
	var (
		wait                sync.WaitGroup
		logical             *Logical
		own                 ownNumbers
		logicalErr, hostErr error
	)
	if south != nil {
		d.Flows = NewLogicalFlows(south)
		wait.Go(func() { logical, logicalErr = ReadLogical(ctx, south) })
	}
	if north != nil {
		d.Objects = NewObjects(north)
	}
	if vswitch != nil {
		own, hostErr = readNumbers(ctx, vswitch, host)
	}
	wait.Wait()
	d.Names = NewNames(logical, own.rows, own.tlvs, own.release)
	return d, cmp.Or(logicalErr, hostErr)
}

// ReadLogical reads the Southbound's part of the names.
func ReadLogical(ctx context.Context, southbound ovsdb.Reader) (*Logical, error) {
	var rows Southbound
	if err := ovsdb.Load(ctx, southbound, &rows); err != nil {
		return nil, err
	}
	return NewLogical(rows), nil
}

// HoldNames joins l, which may be nil, with a node's own numbers. From a database that stays the same they are joined again unless
// somebody has them: each node of hundreds has a tunnel port for each other.
func HoldNames(ctx context.Context, vswitch ovsdb.Reader, host Host, l *Logical) (*held.Value[Names], error) {
	n, err := readNumbers(ctx, vswitch, host)
	if err != nil {
		return nil, err
	}
	first := NewNames(l, n.rows, n.tlvs, n.release)
	if !held.Stays(vswitch) {
		return held.New(first, nil), nil
	}
	tlvs, version := n.tlvs, n.release
	return held.New(first, func() (*Names, error) {
		var rows Vswitch
		if err := ovsdb.Load(context.WithoutCancel(ctx), vswitch, &rows); err != nil {
			return nil, err
		}
		return NewNames(l, rows, tlvs, version), nil
	}), nil
}

// ownNumbers are a node's rows, tunnel options and ovn-controller release, which determines the flag bits in use.
type ownNumbers struct {
	rows    Vswitch
	tlvs    []openflow.TLV
	release release.Version
}

func readNumbers(ctx context.Context, vswitch ovsdb.Reader, host Host) (ownNumbers, error) {
	var n ownNumbers
	var version string
	var wait sync.WaitGroup
	wait.Go(func() { version = host.ControllerVersion(ctx) })
	err := ovsdb.Load(ctx, vswitch, &n.rows)
	if err == nil {
		bridge := NewNames(nil, Vswitch{OpenvSwitch: n.rows.OpenvSwitch}, nil, release.Version{}).Bridge
		n.tlvs = []openflow.TLV{openflow.OVNTunnelOption} // unless the node reports another
		if text, err := host.TLVMap(ctx, bridge); err == nil {
			n.tlvs = openflow.ParseTLVMap(text)
		}
	}
	wait.Wait()
	n.release = release.Parse(version)
	return n, err
}
