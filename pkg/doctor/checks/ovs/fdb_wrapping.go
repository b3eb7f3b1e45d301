package ovs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var FDBWrapping = &doctor.Check{
	Name:     "fdb-wrapping",
	Category: "ovs",
	Doc: `A bridge's table of learned MAC addresses is too small

When it is full each new address drives out another, and packets to that one are
flooded to all ports until it is learned again.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		full := func(bridges map[string]snapshot.FDBStats) bool {
			for _, s := range bridges {
				if s.Current >= s.Max && s.Evicted > 0 {
					return true
				}
			}
			return false
		}
		for _, l := range doctor.TakeSamples(p, readFDB, full) {
			for _, name := range slices.Sorted(maps.Keys(l.First)) {
				first := l.First[name]
				second, ok := l.Second[name]
				if !l.Both || !ok || first.Current < first.Max || second.Current < second.Max || doctor.Increase(first.Evicted, second.Evicted) == 0 {
					continue
				}
				p.Report(doctor.Finding{
					Object: doctor.Object{Kind: "bridge", Name: name, Node: l.Name}, Also: []doctor.Object{doctor.NodeObject(l.Name)},
					Title: fmt.Sprintf("bridge %s on %s knows %d MAC addresses, as many as it may, and drives out others", name, l.Name, second.Current),
					Evidence: []doctor.Evidence{
						{Source: doctor.Other("fdb/stats-show " + name), Says: fmt.Sprintf("current/maximum MAC entries: %d/%d", second.Current, second.Max)},
						doctor.CounterEvidence(doctor.Counter("fdb/stats-show "+name+" evicted"), first.Evicted, second.Evicted, p.Sample()),
					},
					Cause:  fmt.Sprintf("there are more MAC addresses on this network than the %d of other_config:mac-table-size", second.Max),
					Effect: "packets to the addresses driven out are flooded to all ports, and ovs-vswitchd revalidates all flows again and again",
					Fix:    catalog.EnlargeMACTable.With(name),
				})
			}
		}
	},
}

// readFDB is of all bridges of a host: none where no address was ever driven out of any. An Open vSwitch before 2.10
// does not count.
func readFDB(h *snapshot.Host) (map[string]snapshot.FDBStats, error) {
	if counters, err := h.Coverage("ovs-vswitchd"); err == nil && counters["mac_learning_evicted"] == 0 {
		return nil, nil
	}
	s, err := h.Switch()
	if err != nil {
		return nil, err
	}
	all := map[string]snapshot.FDBStats{}
	var last error
	for _, b := range s.Bridges {
		stats, err := h.FDBStats(b.Name)
		if _, refused := errors.AsType[*node.ControlError](err); refused {
			continue
		}
		if err != nil {
			last = err
			continue
		}
		all[b.Name] = stats
	}
	if len(all) == 0 {
		return nil, last
	}
	return all, nil
}
