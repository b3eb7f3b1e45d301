package snapshot

import (
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

// A Deployment is one look at a deployment. Its methods, and those of its Zones
// and Hosts, may be called concurrently.
type Deployment struct {
	Zones []*Zone
	// Hosts are the nodes that can be asked, and the local host whatever it runs:
	// one with the databases alone is a host, too. Nodes to which there is no way
	// are in Far.
	Hosts []*Host
	Far   []*cluster.Node
	// Problems is what was named, or is of this host, and could not be read.
	Problems []cluster.Problem

	ctx     context.Context
	cluster *cluster.Cluster
	sample  time.Duration
	now     time.Time
	memo    once
}

// Options say how to look.
type Options struct {
	// Sample is how long Later waits before it looks again; 0: there is no
	// second look.
	Sample time.Duration
}

// Look is a look at a deployment that is open. It reads no more than which hosts
// there are; all later reading ends with ctx.
func Look(ctx context.Context, c *cluster.Cluster, o Options) *Deployment {
	d := &Deployment{ctx: ctx, cluster: c, sample: o.Sample / hurry, Problems: c.Problems}
	for _, z := range c.Zones {
		d.Zones = append(d.Zones, &Zone{Name: z.Name, d: d, nb: z.NB, sb: z.SB, opened: z.Chassis})
	}
	for _, n := range c.Hosts {
		if c.Inactive && n.SystemID == c.Central.SystemID {
			continue // that is this host
		}
		if n.Far() {
			if !n.VTEP() {
				d.Far = append(d.Far, n)
			}
			continue
		}
		d.Hosts = append(d.Hosts, &Host{Name: n.Name, SystemID: n.SystemID, Local: n.Local, d: d, node: n})
	}
	if n := c.Central; n != nil {
		d.Hosts = append(d.Hosts, &Host{Name: n.Name, SystemID: n.SystemID, Local: n.Local, d: d, node: n, central: !c.Inactive})
	}
	d.now = time.Now()
	if at, err := time.Parse(time.RFC3339, c.Source().Time); err == nil && d.saved() {
		d.now = at
	}
	return d
}

// ErrNoSample is of a question that needs two samples where only one was asked for.
var ErrNoSample = errors.New("needs two samples: add --sample 15s")

// errOneSample is why a capture has no second sample.
type errOneSample struct{}

func (errOneSample) Error() string { return "needs two samples; this capture has one" }
func (errOneSample) Unwrap() error { return node.ErrUnavailable }

// Later is a second look, Options.Sample after the call: what the caller has read
// of this one by then is at least that much older. It is the same for all who
// ask, so ask once, when all of the first look that is compared was read. Without
// a Sample the error is ErrNoSample; of saved data there is no second look.
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
		return Look(d.ctx, d.cluster.Again(), Options{}), nil
	})
}

// Now is when this look began; of saved data, when it was saved.
func (d *Deployment) Now() time.Time { return d.now }

// Context bounds all reading.
func (d *Deployment) Context() context.Context { return d.ctx }

// Host finds a host by name, hostname or system-id; nil: there is none that can be asked.
func (d *Deployment) Host(name string) *Host {
	for _, h := range d.Hosts {
		if h.Name == name || h.SystemID == name {
			return h
		}
	}
	return nil
}

// Local is the host that ovnctl runs on; nil where the source is saved data or a
// remote database alone.
func (d *Deployment) Local() *Host {
	for _, h := range d.Hosts {
		if h.Local {
			return h
		}
	}
	return nil
}

// A Zone is a Northbound and a Southbound, of which either may not be readable.
type Zone struct {
	Name string

	d      *Deployment
	nb, sb ovsdb.Reader
	opened []sb.ChassisIdentity // as the Southbound had them when it was opened
	memo   once
	flows  logicalFlows
}

// Deployment is the look that the zone is of.
func (z *Zone) Deployment() *Deployment { return z.d }

// ErrUnavailable says that a source does not hold what was asked for.
var ErrUnavailable = node.ErrUnavailable

// ErrNoOVN says that a database of OVN is not missing: Open vSwitch is used here
// without OVN.
var ErrNoOVN = errors.New("plain Open vSwitch: no OVN here")

// MissingDatabase is the error of a database that is not among the sources, or that could not be opened: then it is the
// Problem. The flag is the one that names it.
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

// withoutOVN reports whether the switches of all hosts could be read, that nothing in them is meant for OVN, and that no
// daemon or database of it is there.
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
			daemons, _ := h.Daemons() // of saved data there may be none to see
			if slices.ContainsFunc(daemons, func(d node.Daemon) bool { return strings.HasPrefix(d.Name, "ovn") && d.State != node.Refused }) {
				return false, nil
			}
		}
		return len(d.Hosts) > 0, nil
	})
	return none
}

// NB is the Northbound itself, for repairs and for what no method here reads.
func (z *Zone) NB() (ovsdb.Reader, error) {
	if z.nb == nil {
		return nil, z.d.MissingDatabase("OVN_Northbound", "--nb")
	}
	return z.nb, nil
}

// SB is the Southbound itself.
func (z *Zone) SB() (ovsdb.Reader, error) {
	if z.sb == nil {
		return nil, z.d.MissingDatabase("OVN_Southbound", "--sb")
	}
	return z.sb, nil
}
