package ovs

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DatapathFlowLimit = &doctor.Check{
	Name:     "datapath-flow-limit",
	Category: "ovs",
	Doc: `The datapath may not hold as many flows as there is traffic for

Above the limit no flow is installed: each packet of the others goes through
ovs-vswitchd.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		for _, l := range doctor.TakeSamples(p, readFlowLimit, flowLimit.openQuestion) {
			for _, u := range l.First.upcalls {
				hits, kills := doctor.Increase(l.First.hit, l.Second.hit), doctor.Increase(l.First.kill, l.Second.kill)
				over := l.First.hit > 0 && u.Current > u.Limit
				if !l.Both {
					hits, kills = 0, 0
				}
				if !over && hits == 0 && kills == 0 {
					continue
				}
				l.First.report(p, l.Host, u, l.Second, l.Both)
				break // the counters are those of all datapaths
			}
		}
	},
}

// flowLimit is how the flows of a host's datapaths stand to their limit.
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

func (f flowLimit) openQuestion() bool { return f.hit > 0 || f.kill > 0 }

func (f flowLimit) report(p *doctor.Pass, h *snapshot.Host, u snapshot.Upcalls, later flowLimit, twice bool) {
	finding := doctor.Finding{
		Object: doctor.Object{Kind: "daemon", Name: "ovs-vswitchd", Node: h.Name}, Also: []doctor.Object{doctor.NodeObject(h.Name)},
		Title: fmt.Sprintf("%s on %s has more traffic than its limit of %d flows allows", u.Datapath, h.Name, u.Limit),
		Evidence: []doctor.Evidence{
			{Source: doctor.Other("upcall/show " + u.Datapath), Says: fmt.Sprintf("flows: current %d, avg %d, max %d, limit %d; dump duration %d ms", u.Current, u.Average, u.Max, u.Limit, u.DumpMillis)},
		},
		Effect: "packets of flows above the limit go through ovs-vswitchd one by one: throughput falls, its CPU time rises",
	}
	for _, c := range []struct {
		name          string
		first, second uint64
	}{{"upcall_flow_limit_hit", f.hit, later.hit}, {"upcall_flow_limit_kill", f.kill, later.kill}, {"upcall_flow_limit_reduced", f.reduced, later.reduced}} {
		e := doctor.Evidence{Source: doctor.Counter("coverage " + c.name), Says: fmt.Sprint(c.first)}
		if twice {
			e = doctor.CounterEvidence(e.Source, c.first, c.second, p.Sample())
		}
		finding.Evidence = append(finding.Evidence, e)
	}
	most := f.configured
	if most == 0 {
		most = catalog.DefaultFlowLimit
	} else {
		finding.Evidence = append(finding.Evidence, doctor.Evidence{Source: doctor.Other("Open_vSwitch other_config"), Says: "flow-limit=" + strconv.Itoa(f.configured)})
	}
	if u.Limit >= most {
		finding.Cause = fmt.Sprintf("other_config:flow-limit is %d, and there are more flows than that", most)
		finding.Fix = catalog.RaiseFlowLimit.With()
	} else {
		finding.Cause = fmt.Sprintf("ovs-vswitchd has lowered the limit from %d by itself, because it takes too long to look through its flows", most)
		finding.Next = "give ovs-vswitchd more CPU time or more revalidators: ovs-vsctl set Open_vSwitch . other_config:n-revalidator-threads=N"
	}
	p.Report(finding)
}
