package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A Deployment is one sample of a deployment. Its methods, and those of its Zones and Hosts, are safe for concurrent
// use.
type Deployment struct {
	Zones []*Zone
	// Hosts are the reachable nodes, and the local host whatever it runs: one with only the databases is a host, too.
	// Unreachable nodes are in Far.
	Hosts []*Host
	Far   []*cluster.Node
	// Problems are sources that were named, or belong to this host, and could not be read.
	Problems []cluster.Problem

	ctx     context.Context
	cluster *cluster.Cluster
	sample  time.Duration
	now     time.Time
	memo    once

	parallel int
	kept     *Kept
	whole    *Deployment // of a sample of some hosts, the one that it is part of
}

// Options configure the sampling.
type Options struct {
	// Sample is how long Later waits before the second sample; 0: there is none.
	Sample time.Duration
	// Parallel is how many hosts Visit reads at a time; 0: a few.
	Parallel int
	// Kept has what earlier samples have read; nil: all is read.
	Kept *Kept
	// Timed has Reads return all reads, which of hundreds of hosts are many; else it returns what was too large to read.
	Timed bool
}

// fewHosts is how many hosts are read at a time by default.
const fewHosts = 16

// Look samples an open deployment. It reads only which hosts there are; all later reads end with ctx.
func Look(ctx context.Context, c *cluster.Cluster, o Options) *Deployment {
	d := &Deployment{ctx: ctx, cluster: c, sample: o.Sample / hurry, Problems: c.Problems, parallel: cmp.Or(o.Parallel, fewHosts), kept: o.Kept, memo: once{timed: o.Timed}}
	for _, z := range c.Zones {
		d.Zones = append(d.Zones, &Zone{Name: z.Name, d: d, nb: z.NB, sb: z.SB, opened: z.Chassis, memo: once{timed: o.Timed}})
	}
	for _, n := range c.Hosts {
		if c.Inactive && n.SystemID == c.Central.SystemID {
			continue // this host
		}
		if n.Far() {
			if !n.VTEP() {
				d.Far = append(d.Far, n)
			}
			continue
		}
		d.Hosts = append(d.Hosts, &Host{Name: n.Name, SystemID: n.SystemID, Local: n.Local, d: d, node: n, memo: once{timed: o.Timed}})
	}
	if n := c.Central; n != nil {
		d.Hosts = append(d.Hosts, &Host{Name: n.Name, SystemID: n.SystemID, Local: n.Local, d: d, node: n, memo: once{timed: o.Timed}, central: !c.Inactive})
	}
	d.now = time.Now()
	if at, err := time.Parse(time.RFC3339, c.Source().Time); err == nil && d.saved() {
		d.now = at
	}
	return d
}

// ErrNoSample means that two samples are needed and only one was requested.
var ErrNoSample = errors.New("needs two samples: add --sample 15s")

// errOneSample means that a capture has no second sample.
type errOneSample struct{}

func (errOneSample) Error() string { return "needs two samples; this capture has one" }
func (errOneSample) Unwrap() error { return node.ErrUnavailable }

// Later returns a second sample, Options.Sample after the call: what the caller has read of this one is at least that
// much older. All callers get the same one, so call it once everything to compare was read. Without a Sample the
// error is ErrNoSample; a capture has no second sample.
func (d *Deployment) Later() (*Deployment, error) {
	switch {
	case d.saved():
		return nil, errOneSample{}
	case d.sample == 0:
		return nil, ErrNoSample
	}
	select {
	case <-d.ctx.Done():
		return nil, d.ctx.Err()
	case <-time.After(d.sample):
	}
	return Derive(d, "later", func() (*Deployment, error) {
		return Look(d.ctx, d.cluster.Again(), Options{Parallel: d.parallel}), nil
	})
}

// Now returns when this sample began; for a capture, when it was saved.
func (d *Deployment) Now() time.Time { return d.now }

// Cluster returns the open deployment itself, for answers that do their own reading.
func (d *Deployment) Cluster() *cluster.Cluster { return d.cluster }

// Context bounds all reading.
func (d *Deployment) Context() context.Context { return d.ctx }

// Host returns a host by name, hostname or system-id, nil if none is reachable.
func (d *Deployment) Host(name string) *Host {
	for _, h := range d.Hosts {
		if h.Name == name || h.SystemID == name {
			return h
		}
	}
	return nil
}

// Local returns the host that ovnctl runs on; nil if the source is a capture or only a remote database.
func (d *Deployment) Local() *Host {
	for _, h := range d.Hosts {
		if h.Local {
			return h
		}
	}
	return nil
}

// A Zone is a Northbound and a Southbound; either may be unreadable.
type Zone struct {
	Name string

	d      *Deployment
	nb, sb ovsdb.Reader
	opened []sb.ChassisIdentity // as in the Southbound when it was opened
	memo   once
	flows  logicalFlows
}

// Deployment returns the zone's sample.
func (z *Zone) Deployment() *Deployment { return z.d }

// ErrUnavailable means that a source lacks what was asked for.
var ErrUnavailable = node.ErrUnavailable

// ErrNoOVN means that an OVN database is not missing: Open vSwitch is used here without OVN.
var ErrNoOVN = errors.New("plain Open vSwitch: no OVN here")

// MissingDatabase returns the error for a database that is not among the sources, or that could not be opened: then
// it is the Problem. flag is the one that names it.
func (d *Deployment) MissingDatabase(name, flag string) error {
	for _, p := range d.Problems {
		if p.What == name {
			return p
		}
	}
	if d.withoutOVN() {
		return fmt.Errorf("no %s: %w", name, ErrNoOVN)
	}
	if d.saved() {
		return fmt.Errorf("no %s in the capture", name)
	}
	return errors.New(name + " was not read: name it with " + flag)
}

// withoutOVN reports whether the switches of all hosts could be read, nothing in them is for OVN, and no OVN daemon
// or database is present.
func (d *Deployment) withoutOVN() bool {
	none, _ := Derive(d, "", func() (bool, error) {
		for _, z := range d.Zones {
			if z.nb != nil || z.sb != nil {
				return false, nil
			}
		}
		for _, h := range d.Hosts {
			s, err := h.Switch()
			if err != nil || s.RunsOVN() {
				return false, nil
			}
			daemons, _ := h.Daemons() // a capture may have none
			if slices.ContainsFunc(daemons, func(d node.Daemon) bool { return strings.HasPrefix(d.Name, "ovn") && d.State != node.Refused }) {
				return false, nil
			}
		}
		return len(d.Hosts) > 0, nil
	})
	return none
}

// NB returns the Northbound itself, for repairs and for what no method here reads.
func (z *Zone) NB() (ovsdb.Reader, error) {
	if z.nb == nil {
		return nil, z.d.MissingDatabase("OVN_Northbound", "--nb")
	}
	return z.nb, nil
}

// SB returns the Southbound itself.
func (z *Zone) SB() (ovsdb.Reader, error) {
	if z.sb == nil {
		return nil, z.d.MissingDatabase("OVN_Southbound", "--sb")
	}
	return z.sb, nil
}
