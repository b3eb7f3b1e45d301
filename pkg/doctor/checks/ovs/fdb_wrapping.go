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
	Doc: `A bridge's MAC table is too small

When it is full, each new address evicts another, and packets to the evicted one are
flooded to all ports until it is learned again.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		anyFull := func(bridges map[string]snapshot.FDBStats) bool {
			for _, s := range bridges {
				if s.Current >= s.Max && s.Evicted > 0 {
					return true
				}
			}
			return false
		}
		for _, s := range doctor.TakeSamples(p, readFDB, anyFull) {
			for _, name := range slices.Sorted(maps.Keys(s.Second)) {
				if s.Both {
					wrapping(p, s.Host, name, s.First[name], s.Second[name])
				}
			}
		}
	},
}

func wrapping(p *doctor.Pass, h *snapshot.Host, bridge string, first, second snapshot.FDBStats) {
	if first.Current < first.Max || second.Current < second.Max || doctor.Increase(first.Evicted, second.Evicted) == 0 {
		return
	}
	source := doctor.Reply("ovs-vswitchd", "fdb/stats-show "+bridge)
	p.Report(doctor.Finding{
		Object: doctor.BridgeObject(h, bridge),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Title:  fmt.Sprintf("the MAC table of bridge %s on %s is full with %d addresses and evicts others", bridge, h.Name, second.Current),
		Evidence: []doctor.Evidence{
			{Source: source, Says: fmt.Sprintf("current/maximum MAC entries: %d/%d", second.Current, second.Max)},
			doctor.CounterEvidence(source, first.Evicted, second.Evicted, p.Sample()),
		},
		Cause:  fmt.Sprintf("this network has more MAC addresses than the %d of other_config:mac-table-size", second.Max),
		Effect: "packets to evicted addresses are flooded to all ports, and ovs-vswitchd revalidates all flows again and again",
		Fix:    catalog.EnlargeMACTable.With(bridge),
	})
}

// readFDB reads the MAC tables of a host's bridges; none if no address was ever evicted. An Open vSwitch before 2.10 does
// not count that.
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
