package decode

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// A Host is what a node knows of its numbers beside its database.
type Host interface {
	// TLVMap returns the tunnel options of a bridge, as ovs-ofctl dump-tlv-map prints them.
	TLVMap(ctx context.Context, bridge string) (string, error)
	// ControllerVersion returns the reply of ovn-controller to the command version, empty if there is none soon.
	ControllerVersion(ctx context.Context) string
}

// Read makes the decoder of a node from the databases of its zone and its own, read side by side. Each may be nil;
// without a node's database its host is not asked.
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

// ReadNames joins them with what a node knows of its numbers; l may be nil.
func ReadNames(ctx context.Context, vswitch ovsdb.Reader, host Host, l *Logical) (*Names, error) {
	n, err := readNumbers(ctx, vswitch, host)
	return NewNames(l, n.rows, n.tlvs, n.release), err
}

// ownNumbers are those of a node: its rows, tunnel options and the release of its ovn-controller, which says which flag
// bits it uses.
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
		n.tlvs = []openflow.TLV{openflow.OVNTunnelOption} // unless the node says otherwise
		if text, err := host.TLVMap(ctx, bridge); err == nil {
			n.tlvs = openflow.ParseTLVMap(text)
		}
	} else {
		err = fmt.Errorf("%s at %s: %w", vswitch.Name(), vswitch.Origin(), err)
	}
	wait.Wait()
	n.release = release.Parse(version)
	return n, err
}
