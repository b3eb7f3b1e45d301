package decode

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// Read makes the decoder of a node in a zone. What the databases and the node say is
// read side by side. Either may be nil; the node's database is open.
func Read(ctx context.Context, zone *cluster.Zone, n *cluster.Node) (*Decoder, error) {
	d := &Decoder{}
	var (
		wait                sync.WaitGroup
		logical             *Logical
		here                host
		logicalErr, hostErr error
	)
	if zone != nil && zone.SB != nil {
		d.Flows = NewLogicalFlows(zone.SB)
		wait.Go(func() { logical, logicalErr = ReadLogical(ctx, zone.SB) })
	}
	if zone != nil && zone.NB != nil {
		d.Objects = NewObjects(zone.NB)
	}
	if n != nil {
		here, hostErr = readHost(ctx, n)
	}
	wait.Wait()
	if err := cmp.Or(logicalErr, hostErr); err != nil {
		return nil, err
	}
	d.Names = NewNames(logical, here.rows, here.tlvs, here.release)
	return d, nil
}

// ReadLogical reads the Southbound's part of the names.
func ReadLogical(ctx context.Context, southbound ovsdb.Reader) (*Logical, error) {
	var rows Southbound
	if err := ovsdb.Load(ctx, southbound, &rows); err != nil {
		return nil, err
	}
	return NewLogical(rows), nil
}

// ReadNames joins them with what a node's database, tunnel options and release
// say. The node's database is open; l may be nil.
func ReadNames(ctx context.Context, n *cluster.Node, l *Logical) (*Names, error) {
	h, err := readHost(ctx, n)
	if err != nil {
		return nil, err
	}
	return NewNames(l, h.rows, h.tlvs, h.release), nil
}

// A host is what a node says of its own numbers.
type host struct {
	rows    Vswitch
	tlvs    []openflow.TLV
	release release.Version
}

func readHost(ctx context.Context, n *cluster.Node) (host, error) {
	var (
		h    host
		v    release.Version
		wait sync.WaitGroup
	)
	wait.Go(func() { v = controllerRelease(ctx, n) })
	err := ovsdb.Load(ctx, n.Vswitch, &h.rows)
	if err == nil {
		bridge := NewNames(nil, Vswitch{OpenvSwitch: h.rows.OpenvSwitch}, nil, release.Version{}).Bridge
		switch text, err := n.Host.Dump(ctx, bridge, node.TLVMap); {
		case err == nil:
			h.tlvs = openflow.ParseTLVMap(text)
		case errors.Is(err, node.ErrUnavailable): // it was not saved
			h.tlvs = []openflow.TLV{openflow.OVNTunnelOption}
		}
	}
	wait.Wait()
	if err != nil {
		return host{}, fmt.Errorf("node %s: %w", n.Name, err)
	}
	h.release = v
	return h, nil
}

// release is that of a node's ovn-controller, zero if it does not say so soon:
// which flag bits it uses depends on it, and no more. A controller that hangs
// must not hold the answer.
func controllerRelease(ctx context.Context, n *cluster.Node) release.Version {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	text, err := n.Host.Control(ctx, "ovn-controller", "version")
	if err != nil {
		return release.Version{}
	}
	return release.Parse(text)
}
