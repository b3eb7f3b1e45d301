package decode

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// flowOf is a flow that stands for one logical flow.
func flowOf(of, table int, pipeline Pipeline, stage, actions string, resubmits ...int) Evidence {
	return Evidence{
		Seen: Seen{Table: of, Priority: 50, Cookie: 1, Metadata: 1, Resubmits: resubmits},
		Rows: []sb.LogicalFlowNames{{
			Pipeline: string(pipeline), TableID: table, Priority: 50, Actions: actions,
			ExternalIDs: map[string]string{"stage-name": stage},
		}},
	}
}

// chain are the default flows that lead from each table to the next.
func chain(tables ...int) []Evidence {
	var flows []Evidence
	for i, of := range tables[:len(tables)-1] {
		flows = append(flows, Evidence{Seen: Seen{Table: of, Resubmits: []int{tables[i+1]}}})
	}
	return flows
}

// Whatever the release, the flows alone tell its tables.
func TestLearnReleases(t *testing.T) {
	for _, name := range []string{"20.12.0", "21.03.0", "23.03.1", "23.06.0", "24.09.0", "25.03.0", "25.09.0", "26.03.0", "26.09.0"} {
		want := calibrate(nil, release.Parse(name))
		at := func(table release.PhysicalTable) int { return want.tables[table] }
		var output []int
		for _, table := range []release.PhysicalTable{release.OutputInit, release.DetectLargePkt, release.RemoteOutput, release.RemoteVTEP, release.LocalOutput} {
			if of, ok := want.tables[table]; ok {
				output = append(output, of)
			}
		}
		evidence := []Evidence{
			flowOf(8, 0, Ingress, "ls_in_check_port_sec", "next;", 9),
			flowOf(9, 1, Ingress, "lr_in_lookup_neighbor", "reg9[2] = lookup_arp(inport, arp.spa, arp.sha); next;", at(release.MACLookup), 10),
			flowOf(25, 17, Ingress, "lr_in_arp_resolve", "get_arp(outport, reg0); next;", at(release.MACBinding), 26),
			flowOf(22, 14, Ingress, "ls_in_pre_hairpin", "reg0[6] = chk_lb_hairpin(); reg0[12] = chk_lb_hairpin_reply(); next;", at(release.ChkLBHairpin), at(release.ChkLBReply), 23),
			flowOf(30, 22, Ingress, "ls_in_l2_lkup", `outport = "a"; output;`, output[0]),
			flowOf(want.egress, 0, Egress, "ls_out_pre_acl", "next;", want.egress+1),
			flowOf(want.egress+6, 6, Egress, "lr_out_delivery", "output;", at(release.SaveInport)),
		}
		evidence = append(evidence, chain(output...)...)
		evidence = append(evidence, chain(at(release.CheckLoopback), want.egress)...)
		evidence = append(evidence, chain(at(release.SaveInport), at(release.LogToPhy))...)
		got := calibrate(evidence, release.Version{})
		if got.Base(Ingress) != 8 || got.Base(Egress) != want.egress {
			t.Errorf("%s: bases %d and %d, want 8 and %d", name, got.Base(Ingress), got.Base(Egress), want.egress)
		}
		for table, of := range want.tables {
			if have, ok := got.tables[table]; !ok || have != of {
				t.Errorf("%s: %s is table %d, %t, want %d (%s)", name, table, have, ok, of, got.Source())
			}
		}
		if place := got.Table(9, Router); place.Stage != "lr_in_lookup_neighbor" || place.Table != 1 {
			t.Errorf("%s: table 9 of a router is %v", name, place)
		}
		if place := got.Table(9, Switch); place.Stage != "" {
			t.Errorf("%s: table 9 of a switch is %v, which no flow said", name, place)
		}
	}
}

// A few steps of a trace say little; the release says the rest, unless the
// steps prove it wrong.
func TestLearnLittle(t *testing.T) {
	steps := []Evidence{
		flowOf(8, 0, Ingress, "ls_in_check_port_sec", "next;", 9),
		flowOf(48, 3, Egress, "ls_out_acl_hint", "next;", 49),
		{Seen: Seen{Table: 65, Priority: 100, Cookie: 7}},
	}
	c := calibrate(steps, release.Parse("24.09.0"))
	if want := "derived from 2 flows; other tables as in 24.09.0"; c.Source() != want || c.Base(Egress) != 45 {
		t.Errorf("%q, egress %d", c.Source(), c.Base(Egress))
	}
	c = calibrate(steps, release.Parse("23.03.1"))
	if want := "derived from 2 flows; they are not those of 23.03.1; other tables as in 24.09 to 25.03"; c.Source() != want || c.Base(Egress) != 45 {
		t.Errorf("%q, egress %d", c.Source(), c.Base(Egress))
	}
	if of, _ := c.tables[release.LocalOutput]; of != 43 {
		t.Errorf("LOCAL_OUTPUT is table %d, want 43", of)
	}
	// Egress base 40 was that of two layouts: one more flow tells them apart.
	steps[1] = flowOf(43, 3, Egress, "ls_out_acl_hint", "next;", 44)
	if c = calibrate(steps, release.Version{}); c.Source() != "derived from 2 flows" || c.Table(37, Switch).Physical != "" {
		t.Errorf("%q: table 37 is %v", c.Source(), c.Table(37, Switch))
	}
	steps = append(steps, flowOf(32, 24, Ingress, "ls_in_l2_lkup", "output;", 37))
	if c = calibrate(steps, release.Version{}); c.Table(37, Switch).Physical != release.RemoteOutput {
		t.Errorf("%q: table 37 is %v", c.Source(), c.Table(37, Switch))
	}
}

// A stale flow, or a cookie that two rows share, does not sway the vote.
func TestLearnAgainstDissent(t *testing.T) {
	evidence := []Evidence{
		flowOf(8, 0, Ingress, "ls_in_check_port_sec", "next;", 9),
		flowOf(12, 4, Ingress, "ls_in_pre_acl", "next;", 13),
		flowOf(16, 7, Ingress, "ls_in_acl_hint", "next;", 17),
		flowOf(42, 0, Egress, "ls_out_pre_acl", "next;", 43),
	}
	evidence[1].Rows = append(evidence[1].Rows, sb.LogicalFlowNames{Pipeline: "ingress", TableID: 1})
	c := calibrate(evidence, release.Version{})
	if c.Base(Ingress) != 8 || c.IngressVote != (Vote{For: 2, Against: 1}) {
		t.Errorf("ingress %d by %+v", c.Base(Ingress), c.IngressVote)
	}
	if c.EgressVote != (Vote{For: 1}) {
		t.Errorf("egress by %+v", c.EgressVote)
	}
}
