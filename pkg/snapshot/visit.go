package snapshot

import (
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/cluster"
)

// Visit calls visit for each host, side by side, at most Options.Parallel at a time. A host that cannot be reached is left
// out of this sample and of later ones: nothing waits for it again. Why is among the Problems of the cluster. Visit tells
// each host that is done, one at a time; tell may be nil. The local host is always reached.
func (d *Deployment) Visit(visit func(*Host), tell func(h *Host, reached bool)) {
	reached := make([]bool, len(d.Hosts))
	var telling sync.Mutex
	d.SideBySide(len(d.Hosts), func(i int) {
		h := d.Hosts[i]
		if reached[i] = h.Local || h.answers(); reached[i] {
			rows, _ := h.Switch()
			network, _ := h.Network()
			visit(h)
			runtime.KeepAlive(rows) // else it is read again and again
			runtime.KeepAlive(network)
		}
		if tell != nil {
			telling.Lock()
			defer telling.Unlock()
			tell(h, reached[i])
		}
	})
	var hosts []*Host
	var silent []*cluster.Node
	for i, h := range d.Hosts {
		if reached[i] {
			hosts = append(hosts, h)
		} else {
			silent = append(silent, h.node)
		}
	}
	d.Hosts = hosts
	d.cluster.Drop(silent...)
	d.Problems = d.cluster.Problems
}

// InTurn reports whether the hosts are more than are read side by side.
func (d *Deployment) InTurn() bool { return len(d.Hosts) > d.parallel }

// SideBySide calls f with each number below n, at most Options.Parallel at a time.
func (d *Deployment) SideBySide(n int, f func(int)) {
	var calls errgroup.Group
	calls.SetLimit(d.parallel)
	for i := range n {
		calls.Go(func() error {
			f(i)
			return nil
		})
	}
	_ = calls.Wait()
}

// answers reports whether anything of a host can be read: its Open vSwitch, or its network.
func (h *Host) answers() bool {
	_, err := h.Switch()
	if err == nil || errors.Is(err, ErrUnavailable) {
		return true
	}
	_, err = h.Network()
	return err == nil
}

// OneHost returns a sample of one host, with all databases. What is read of the host is read once for both. There is no later sample of it.
func (d *Deployment) OneHost(h *Host) *Deployment {
	one := d.Alone(h)
	one.Zones = d.Zones
	return one
}

// Alone is OneHost without the databases.
func (d *Deployment) Alone(h *Host) *Deployment {
	return &Deployment{Hosts: []*Host{h}, Problems: d.Problems, ctx: d.ctx, cluster: d.cluster, now: d.now, parallel: 1, whole: d}
}

// Whole returns the sample that one of some hosts is part of, else d itself.
func (d *Deployment) Whole() *Deployment {
	if d.whole != nil {
		return d.whole
	}
	return d
}
