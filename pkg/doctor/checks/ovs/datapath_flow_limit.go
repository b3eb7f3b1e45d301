package ovs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DatapathFlowLimit = &doctor.Check{
	Name:     "datapath-flow-limit",
	Category: "ovs",
	Doc: `The OVS datapath has reached its flow limit

Above the limit no flow is installed: each further packet goes through ovs-vswitchd.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		for _, s := range doctor.TakeSamples(p, readFlowLimit, flowLimit.undecided) {
			grew := s.Both && (doctor.Increase(s.First.hit, s.Second.hit) > 0 || doctor.Increase(s.First.kill, s.Second.kill) > 0)
			at := slices.IndexFunc(s.First.upcalls, func(u snapshot.Upcalls) bool { return grew || s.First.hit > 0 && u.Current > u.Limit })
			if at >= 0 { // the counters are those of all datapaths
				reportFlowLimit(p, &s, s.First.upcalls[at])
			}
		}
	},
}

// flowLimit is how the flows of a host's datapaths compare to their limit.
type flowLimit struct {
	upcalls            []snapshot.Upcalls
	hit, kill, reduced uint64 // how often since ovs-vswitchd started
	configured         int    // other_config:flow-limit; 0: it is not set
}

func readFlowLimit(h *snapshot.Host) (f flowLimit, err error) {
	if f.upcalls, err = h.Upcalls(); err != nil {
		return f, err
	}
	counters, err := h.Coverage("ovs-vswitchd")
	if err != nil {
		return f, err
	}
	f.hit, f.kill, f.reduced = counters["upcall_flow_limit_hit"], counters["upcall_flow_limit_kill"], counters["upcall_flow_limit_reduced"]
	s, err := h.Switch()
	if err != nil {
		return f, err
	}
	for _, o := range s.OpenvSwitch {
		f.configured, _ = strconv.Atoi(o.OtherConfig["flow-limit"])
	}
	return f, nil
}

// undecided reports whether the limit was reached before, so that a second sample shows whether it still is.
func (f flowLimit) undecided() bool { return f.hit > 0 || f.kill > 0 }

func reportFlowLimit(p *doctor.Pass, s *doctor.Samples[flowLimit], u snapshot.Upcalls) {
	first, second := s.First, s.Second
	f := doctor.Finding{
		Object: doctor.DaemonObject(s.Host, "ovs-vswitchd"),
		Also:   []doctor.Object{doctor.NodeObject(s.Name)},
		Title:  fmt.Sprintf("%s on %s has reached its limit of %d flows", u.Datapath, s.Name, u.Limit),
		Evidence: []doctor.Evidence{
			{Source: doctor.Reply("ovs-vswitchd", "upcall/show"), Says: fmt.Sprintf("%s: flows: current %d, avg %d, max %d, limit %d; dump duration %d ms", u.Datapath, u.Current, u.Average, u.Max, u.Limit, u.DumpMillis)},
		},
		Effect: "packets of flows above the limit go through ovs-vswitchd one by one: throughput falls, its CPU time rises",
	}
	for _, c := range []struct {
		name          string
		first, second uint64
	}{{"upcall_flow_limit_hit", first.hit, second.hit}, {"upcall_flow_limit_kill", first.kill, second.kill}, {"upcall_flow_limit_reduced", first.reduced, second.reduced}} {
		e := doctor.Evidence{Source: doctor.Coverage("ovs-vswitchd", c.name), Says: fmt.Sprint(c.first)}
		if s.Both {
			e = doctor.CounterEvidence(e.Source, c.first, c.second, p.Sample())
		}
		f.Evidence = append(f.Evidence, e)
	}
	configured := cmp.Or(first.configured, catalog.DefaultFlowLimit)
	if first.configured != 0 {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Setting("other_config:flow-limit"), Says: strconv.Itoa(configured)})
	}
	if u.Limit >= configured {
		f.Cause = fmt.Sprintf("other_config:flow-limit is %d, and there are more flows than that", configured)
		f.Fix = catalog.RaiseFlowLimit.With()
	} else {
		f.Cause = fmt.Sprintf("ovs-vswitchd has lowered the limit from %d by itself, because a pass over its flows takes too long", configured)
		f.Next = "give ovs-vswitchd more CPU time or more revalidators: ovs-vsctl set Open_vSwitch . other_config:n-revalidator-threads=N"
	}
	p.Report(f)
}
