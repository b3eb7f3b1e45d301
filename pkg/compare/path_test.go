package compare

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A path by the logical flows and one by the nodes' flows diverge where the packet ends, not at the first step that the logical
// flows do not have.
func TestDivergenceOfProducers(t *testing.T) {
	logical := func(stage string) journey.Step {
		return journey.Step{Pipeline: "ingress", Stage: stage, Priority: 50, Logical: &decode.LogicalFlow{Priority: 50, Match: "1"}}
	}
	physical := func(stage string, priority int) journey.Step {
		return journey.Step{Stage: stage, Priority: priority}
	}
	hop := func(node, datapath, kind string, steps ...journey.Step) journey.Hop {
		return journey.Hop{Node: node, Datapath: datapath, Kind: kind, Steps: steps}
	}
	by := func(producer string, outcome journey.Outcome, hops ...journey.Hop) *journey.Trace {
		return &journey.Trace{Forward: &journey.Direction{Producer: producer, Verdict: journey.Verdict{Outcome: outcome}, Hops: hops}}
	}
	expected := by(journey.LogicalFlows, journey.Delivered, hop("node1", "lan", "switch", logical("ls_in_check_port_sec"), logical("ls_in_l2_lkup")), hop("node2", "lan", "switch", logical("ls_out_check_port_sec")))
	delivered := by(journey.OpenFlow, journey.Delivered, hop("node1", "lan", "switch", physical("phy_to_log", 100), logical("ls_in_check_port_sec"), logical("ls_in_l2_lkup")), hop("node1", "", "tunnel"),
		hop("node2", "lan", "switch", physical("phy_to_log", 100), logical("ls_out_check_port_sec"), physical("log_to_phy", 100)))
	dropped := by(journey.OpenFlow, journey.Dropped, hop("node1", "lan", "switch", physical("phy_to_log", 100), logical("ls_in_check_port_sec"), logical("ls_in_l2_lkup")), hop("node1", "", "tunnel"),
		hop("node2", "br-int", "bridge", physical("phy_to_log", 60000)))
	if d := DiffPaths(expected, delivered, nil).Divergence; d != nil {
		t.Errorf("paths that agree diverge at %+v and %+v", d.A, d.B)
	}
	for _, d := range []*Divergence{DiffPaths(expected, dropped, nil).Divergence, DiffPaths(delivered, dropped, nil).Divergence} {
		if d == nil || d.B == nil || d.B.Step == nil || d.B.Step.Priority != 60000 {
			t.Errorf("not at what drops the packet: %+v", d)
		}
	}
}
