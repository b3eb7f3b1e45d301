package decode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Seen is what the decoder needs of an OpenFlow flow of the integration bridge: the fields that a dumped flow and a
// step of a trace share.
type Seen struct {
	Table    int
	Priority int
	Cookie   uint64
	// Metadata is the datapath's tunnel key that the flow matches on, or that the packet carries there; 0 if unknown.
	Metadata uint64
	// Resubmits are the tables of the flow's resubmit actions, in order, including nested actions.
	Resubmits []int
}

// Evidence is a flow with the Logical_Flow rows that its cookie may refer to.
type Evidence struct {
	Seen Seen
	Rows []sb.LogicalFlowNames
}

// A Vote counts the flows for and against a pipeline's base.
type Vote struct{ For, Against int }

// A Calibration maps the OpenFlow tables of one chassis to their meaning. The zero value maps none.
type Calibration struct {
	// Version is the release of the chassis, zero if unknown.
	Version release.Version

	// IngressVote and EgressVote count how the flows voted on the bases; both are zero if the base comes from a
	// profile.
	IngressVote, EgressVote Vote

	ingress, egress int // bases; 0 if unknown
	tables          map[release.PhysicalTable]int
	names           map[int]release.PhysicalTable
	stages          map[stageKey]string
	flows           int
	source          string
}

type stageKey struct {
	kind     Kind
	pipeline Pipeline
	table    int
}

// A Place is where a packet is, by OpenFlow table: a stage of a logical pipeline, or one of ovn-controller's own
// tables.
type Place struct {
	OpenFlow int                   // the table's number
	Pipeline Pipeline              // empty outside the logical pipelines
	Table    int                   // Logical_Flow.table_id, with Pipeline
	Stage    string                // stage-name, if the flows seen so far taught it
	Physical release.PhysicalTable // if Pipeline is empty; empty itself if unknown
}

// String formats the place, for example "ingress 8 ls_in_acl" or "LOCAL_OUTPUT".
func (p Place) String() string {
	switch {
	case p.Pipeline != "":
		return strings.TrimSpace(fmt.Sprintf("%s %d %s", p.Pipeline, p.Table, p.Stage))
	case p.Physical != "":
		return string(p.Physical)
	}
	return fmt.Sprintf("table %d", p.OpenFlow)
}

// calibrate learns the tables of one chassis from its flows: each flow that belongs to a logical flow votes for the
// offset between its table and the logical one, and the majority wins. What the flows leave open comes from the
// profile of the chassis's release v, or, if v is zero or the flows contradict it, from the releases that agree with
// the flows. calibrate(nil, v) is the profile alone.
func calibrate(evidence []Evidence, v release.Version) Calibration {
	c := Calibration{Version: v, tables: map[release.PhysicalTable]int{}, stages: map[stageKey]string{}}
	c.ingress, c.IngressVote = elect(evidence, Ingress)
	c.egress, c.EgressVote = elect(evidence, Egress)
	for _, e := range evidence {
		if len(e.Rows) > 0 {
			c.flows++
		}
		for _, row := range e.Rows {
			c.learnStage(row)
		}
	}
	c.learnOutput(evidence)
	c.adopt(v)
	c.learnHelpers(evidence)
	c.names = map[int]release.PhysicalTable{}
	for _, table := range slices.Sorted(maps.Keys(c.tables)) {
		c.names[c.tables[table]] = table
	}
	return c
}

// Source describes what the calibration is based on: "derived from 57 flows", "profile 23.03.1".
func (c Calibration) Source() string {
	if c.source == "" {
		return "unknown: neither flows nor release"
	}
	return c.source
}

// Base returns the OpenFlow table of a pipeline's first stage, 0 if unknown.
func (c Calibration) Base(p Pipeline) int {
	switch p {
	case Ingress:
		return c.ingress
	case Egress:
		return c.egress
	}
	return 0
}

// Physical returns the OpenFlow table of one of ovn-controller's own tables; false if unknown, or this release lacks it.
func (c Calibration) Physical(t release.PhysicalTable) (of int, ok bool) {
	of, ok = c.tables[t]
	return of, ok
}

// Output returns the table where output leads to in the ingress pipeline; false if unknown.
func (c Calibration) Output() (of int, ok bool) {
	for _, t := range []release.PhysicalTable{release.OutputInit, release.DetectLargePkt, release.RemoteOutput} {
		if of, ok := c.tables[t]; ok {
			return of, true
		}
	}
	return 0, false
}

// Table returns what an OpenFlow table means for a datapath of this kind; kind is needed only for the stage's name.
func (c Calibration) Table(of int, kind Kind) Place {
	place := Place{OpenFlow: of, Physical: c.names[of]}
	if place.Physical != "" || c.ingress == 0 {
		return place
	}
	switch {
	case of >= c.ingress && of < c.ingressEnd():
		place.Pipeline, place.Table = Ingress, of-c.ingress
	case c.egress != 0 && of >= c.egress && of < c.egressEnd():
		place.Pipeline, place.Table = Egress, of-c.egress
	default:
		return place
	}
	place.Stage = c.stages[stageKey{kind, place.Pipeline, place.Table}]
	return place
}

// ingressEnd returns the first table after the ingress pipeline.
func (c Calibration) ingressEnd() int {
	end := c.egress
	for _, table := range []release.PhysicalTable{release.OutputInit, release.DetectLargePkt, release.RemoteOutput} {
		if of, ok := c.tables[table]; ok && (end == 0 || of < end) {
			end = of
		}
	}
	return end
}

func (c Calibration) egressEnd() int {
	if of, ok := c.tables[release.SaveInport]; ok {
		return of
	}
	return release.EgressEnd
}
