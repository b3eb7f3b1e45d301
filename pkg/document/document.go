// Package document holds the head of every JSON and YAML document of ovnctl, and the document of a failed command.
//
// The rest of a document is in the package that owns its values; docs/json.md describes them all.
package document

import "strings"

// APIVersion is the version of every document.
const APIVersion = "ovnctl/v1"

// An Envelope is the head of every document. A document embeds it and adds its own fields beside these.
type Envelope struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`   // Topology, Trace, Error
	Source     any      `json:"source"` // what was read, and when: a cluster.Source
	Notes      []string `json:"notes"`  // what could not be read or is not certain
}

// New returns the head of a document of a kind.
func New(kind string, source any, notes []string) Envelope {
	if notes == nil {
		notes = []string{}
	}
	return Envelope{APIVersion: APIVersion, Kind: kind, Source: source, Notes: notes}
}

// A Failure is what a failed command prints if a document was requested: kind Error.
type Failure struct {
	Envelope
	Error    string   `json:"error"`
	Hints    []string `json:"hints"`
	ExitCode int      `json:"exitCode"`
}

// NewFailure returns the document of an error. Its lines that begin with "hint: " become its hints.
func NewFailure(err error, exitCode int) Failure {
	f := Failure{Envelope: New("Error", nil, nil), Hints: []string{}, ExitCode: exitCode}
	var text []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if hint, ok := strings.CutPrefix(line, "hint: "); ok {
			f.Hints = append(f.Hints, hint)
			continue
		}
		text = append(text, line)
	}
	f.Error = strings.Join(text, "\n")
	return f
}
