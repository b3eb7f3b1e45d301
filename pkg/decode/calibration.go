package decode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Seen is what the decoder needs to know of an OpenFlow flow of the integration
// bridge: what a line of a dump and a step of a trace have in common.
type Seen struct {
	Table    int
	Priority int
	Cookie   uint64
	// Metadata is the datapath's tunnel key that the flow matches on, or that
	// the packet has there; 0 if neither is known.
	Metadata uint64
	// Resubmits are the tables of the flow's resubmit actions, in order, those
	// of nested actions included.
	Resubmits []int
}

// Evidence is a flow together with the rows of Logical_Flow that its cookie may
// stand for.
type Evidence struct {
	Seen Seen
	Rows []sb.LogicalFlowNames
}

// A Vote counts the flows that spoke for and against a pipeline's base.
type Vote struct{ For, Against int }

// A Calibration knows what the OpenFlow tables of one chassis mean. The zero
// value knows nothing, and says so.
type Calibration struct {
	// Version is the release of the chassis, zero if not known.
	Version release.Version

	// IngressVote and EgressVote tell how the flows agreed on the bases; both
	// zero if the base is a profile's.
	IngressVote, EgressVote Vote

	ingress, egress int // bases; 0 when not known
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

// A Place is where a packet is, by OpenFlow table: a stage of a logical
// pipeline, or a table of ovn-controller's own.
type Place struct {
	OpenFlow int                   // the table's number
	Pipeline Pipeline              // empty outside the logical pipelines
	Table    int                   // Logical_Flow.table_id, with Pipeline
	Stage    string                // stage-name, as far as the flows at hand taught it
	Physical release.PhysicalTable // with an empty Pipeline; itself empty when not known
}

// String returns the place as in "ingress 8 ls_in_acl" or "LOCAL_OUTPUT".
func (p Place) String() string {
	switch {
	case p.Pipeline != "":
		return strings.TrimSpace(fmt.Sprintf("%s %d %s", p.Pipeline, p.Table, p.Stage))
	case p.Physical != "":
		return string(p.Physical)
	}
	return fmt.Sprintf("table %d", p.OpenFlow)
}

// calibrate learns the tables of one chassis from its flows: each flow that
// stands for a logical flow says how far its table is from that flow's, and
// the majority wins. What the flows leave open comes from the profile of the
// chassis's release v, or, where v is zero or the flows prove it wrong, from
// the releases that agree with the flows. calibrate(nil, v) is the profile
// alone.
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

// Source says in words what the calibration rests on: "derived from 57 flows",
// "profile 23.03.1".
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

// Table says what OpenFlow table of means to a packet in a datapath of that
// kind; the kind is only needed for the stage's name.
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

// ingressEnd returns the first table behind the ingress pipeline.
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
