package text

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// The JSON of a text that was decoded. A field keeps its name and its meaning;
// docs/json.md describes them.
type (
	// A DecodedLine is a line of the text.
	DecodedLine struct {
		Line  string       `json:"line"`  // without its line break and colours
		Names []Name       `json:"names"` // of its numbers, in their order
		Flow  *DecodedFlow `json:"flow,omitempty"`
	}
	// A Name is what a number means.
	Name struct {
		At    int    `json:"at"`    // the byte of the line behind the number
		Field string `json:"field"` // what it is: metadata, reg15, table, cookie, in_port, …
		Value string `json:"value"` // as it is written in the line
		Name  string `json:"name"`
	}
	// A DecodedFlow is the flow of the integration bridge that a line shows, or
	// that matched in a step of a trace.
	DecodedFlow struct {
		Table    int      `json:"table"`
		Pipeline string   `json:"pipeline"`         // ingress, egress, or physical for ovn-controller's own tables
		Stage    string   `json:"stage"`            // stage-name, or the table's name in lower case
		Datapath string   `json:"datapath"`         // "switch node1"; empty where it is none, or not known
		Priority int      `json:"priority"`         //
		Cookie   string   `json:"cookie,omitempty"` //
		Logical  *Logical `json:"logical,omitempty"`
		For      string   `json:"for"`               // the objects in words, else what the flow does
		Objects  []Object `json:"objects"`           // what the flow was made for
		Unknown  string   `json:"unknown,omitempty"` // why there is neither logical flow nor object, or what does not fit
	}
	// Logical is the logical flow behind a flow.
	Logical struct {
		UUID     string `json:"uuid"`
		Table    int    `json:"table"`
		Priority int    `json:"priority"`
		Match    string `json:"match"`
		Actions  string `json:"actions"`
	}
	// An Object is a row of the Northbound or the Southbound.
	Object struct {
		Kind  string `json:"kind"` // ACL, load balancer, port, …
		Name  string `json:"name"`
		UUID  string `json:"uuid"`
		Owner string `json:"owner"` // what the CMS calls it; may be empty
		Text  string `json:"text"`  // all of it in one line
	}
)

// JSON is a line as the contract has it.
func (l Line) JSON(text string) DecodedLine {
	out := DecodedLine{Line: text, Names: []Name{}}
	for _, g := range l.Glosses {
		out.Names = append(out.Names, Name{At: g.At, Field: g.Field, Value: g.Value, Name: g.Text})
	}
	if l.Flow != nil {
		f := l.Flow.JSON()
		out.Flow = &f
	}
	return out
}

// JSON is a flow as the contract has it.
func (f *Flow) JSON() DecodedFlow {
	out := DecodedFlow{
		Table: f.Seen.Table, Pipeline: string(f.Pipeline), Stage: f.StageName(), Priority: f.Priority,
		For: f.For(), Objects: []Object{}, Unknown: f.Unknown,
	}
	if f.UnknownObject != "" && out.Unknown == "" {
		out.Unknown = f.UnknownObject
	}
	if f.Pipeline == "" {
		out.Pipeline = "physical"
	}
	if f.Datapath != nil {
		out.Datapath = f.Datapath.String()
	}
	if f.Cookie != 0 {
		out.Cookie = fmt.Sprintf("0x%08x", f.Cookie)
	}
	if f.Flow != nil {
		out.Logical = &Logical{
			UUID: string(f.Flow.UUID), Table: f.Flow.TableID, Priority: f.Flow.Priority,
			Match: f.Flow.Match, Actions: f.Flow.Actions,
		}
	}
	for _, o := range f.Objects {
		out.Objects = append(out.Objects, objectOf(o))
	}
	return out
}

func objectOf(o decode.Object) Object {
	return Object{Kind: o.Kind, Name: o.Name, UUID: string(o.UUID), Owner: o.Owner.String(), Text: o.Text}
}
