package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/reach"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// FindingsMap draws the faults of a report on the map of the deployment.
func FindingsMap(doc doctor.Document, v DoctorView) *picture.Picture {
	t := v.Map
	if t == nil {
		t = &topology.Topology{}
	}
	return picture.Pinned("Findings", FindingsResult(doc, v), t, findingPins(doc.Report, v))
}

// FindingsResult is the result of a report in a few words.
func FindingsResult(doc doctor.Document, v DoctorView) string {
	words, _ := resultWords(doc.Report, v, len(gaps(doc.Report, v.Unread)) > 0)
	return words + ", " + count(len(doc.Passed), "check") + " passed"
}

// findingPins returns a pin for each fault of a report.
func findingPins(r doctor.Report, v DoctorView) []picture.Pin {
	var pins []picture.Pin
	for _, f := range r.Findings {
		if !f.Result.Fault() {
			continue
		}
		pin := picture.Pin{Level: picture.Fault, Title: f.Title + "  (" + foundBy(f) + ")"}
		if f.Result == doctor.Warning {
			pin.Level = picture.Warning
		}
		for _, o := range slices.Insert(slices.Clone(f.Also), 0, f.Object) {
			pin.At = append(pin.At, picture.Spot{UUID: string(o.Row), Kind: o.Kind, Name: o.Name, Node: o.Node})
		}
		if f.Effect != "" {
			pin.Notes = append(pin.Notes, "breaks: "+f.Effect)
		}
		switch {
		case f.Fix != nil:
			pin.Notes = append(pin.Notes, "fix: "+v.command(f.Fix))
		case f.Next != "":
			pin.Notes = append(pin.Notes, "next: "+f.Next)
		}
		if n := len(f.Consequences); n > 0 {
			pin.Notes = append(pin.Notes, "also caused by this: "+count(n, "finding"))
		}
		pins = append(pins, pin)
	}
	return pins
}

// changesMap draws what differs on the map of a state: what people configure, nodes are made of, and OVN has learned. What
// follows from that is left out.
func changesMap(doc compare.Document, t *topology.Topology, changes []compare.Change) *picture.Picture {
	if t == nil {
		t = &topology.Topology{}
	}
	note := doc.A.Path + "  →  " + doc.B.Path
	if doc.Equal {
		note += ": no difference"
	}
	return picture.Pinned("Changes", note, t, changePins(changes))
}

// changePins returns a pin for each change that is not derived from others.
func changePins(changes []compare.Change) []picture.Pin {
	var pins []picture.Pin
	for _, c := range changes {
		if !slices.Contains([]compare.Group{compare.Nodes, compare.Bindings, compare.Configuration, compare.Learned}, c.Group) {
			continue
		}
		p := comparePrinter{}
		p.change(c)
		lines := strings.Split(strings.TrimSpace(p.out.String()), "\n")
		pin := picture.Pin{Title: lines[0], Notes: lines[1:]}
		for _, uuid := range []string{c.UUIDB, c.UUIDA} {
			if uuid != "" {
				pin.At = append(pin.At, picture.Spot{UUID: uuid, Kind: c.Kind, Name: c.Name, Node: c.Node})
			}
		}
		if kind, name, ok := strings.Cut(c.On, " "); ok {
			pin.At = append(pin.At, picture.Spot{Kind: kind, Name: name, Node: c.Node})
		}
		if _, port, ok := strings.Cut(c.Name, " behind "); ok { // a neighbour
			pin.At = append(pin.At, picture.Spot{Kind: "port", Name: port})
		}
		if c.Change == compare.Removed {
			pin.Level = picture.Warning
		}
		pins = append(pins, pin)
	}
	return pins
}

// mostCells is how many rows and columns a picture of a matrix has without grouping those that are alike.
const mostCells = 36

// ReachPicture draws who can talk to whom as a matrix, with the causes below.
func ReachPicture(doc reach.Document, v ReachView) *picture.Picture {
	r := doc.Result
	p := &reachPrinter{result: r}
	m := picture.Matrix{Title: "Reach", Note: asked(r) + ", " + tally(r.Summary), Notes: v.Notes}
	for _, c := range r.Causes {
		m.Causes = append(m.Causes, picture.MatrixCause{Outcome: c.Outcome, Text: fmt.Sprintf("%s: %s", count(c.Pairs, "pair"), c.Text)})
	}
	if cells := r.Matrix(max(len(r.From), len(r.To)) > mostCells); cells != nil {
		m.Rows, m.Columns, m.At = p.names(cells.From), p.names(cells.To), cells.At
	}
	return m.Picture()
}
