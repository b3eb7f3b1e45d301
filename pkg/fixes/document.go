package fixes

import (
	"github.com/ovnctl/ovnctl/pkg/document"
)

// A Document is the JSON and YAML form of repairs: each with its plan and outcome.
type Document struct {
	document.Envelope
	Fixes []Fix `json:"fixes"`
}

// A RepairsDocument is the JSON and YAML form of the list of repairs.
type RepairsDocument struct {
	document.Envelope
	Repairs []RepairSummary `json:"repairs"`
}

// NewRepairsDocument lists repairs.
func NewRepairsDocument(all []*Repair) RepairsDocument {
	doc := RepairsDocument{Envelope: document.New("Repairs", nil, nil), Repairs: []RepairSummary{}}
	for _, r := range all {
		doc.Repairs = append(doc.Repairs, r.Summary())
	}
	return doc
}

// A JournalDocument is the JSON and YAML form of the journal.
type JournalDocument struct {
	document.Envelope
	Runs []RunSummary `json:"runs"`
}

// NewJournalDocument lists runs.
func NewJournalDocument(runs []*Run) JournalDocument {
	doc := JournalDocument{Envelope: document.New("Journal", nil, nil), Runs: []RunSummary{}}
	for _, r := range runs {
		doc.Runs = append(doc.Runs, r.Summary())
	}
	return doc
}
